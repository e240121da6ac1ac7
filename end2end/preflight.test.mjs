/**
 * A preflight on a real control plane: each cause is produced, predicted by the program, and then met by a real DELETE of the same
 * user. The audit log says that the prediction deleted nothing.
 */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { after, before, test } from 'node:test';
import { start } from './cluster/cluster.mjs';
import { startWebhookServer } from './conformance/webhook.mjs';
import { readAudit } from './judge/audit.mjs';
import { Unwind } from './unwind.mjs';

const namespace = 'shop';
const maps = `/api/v1/namespaces/${namespace}/configmaps`;
const labels = { 'app.kubernetes.io/part-of': namespace };

/** @type {import('./cluster/cluster.mjs').Cluster} */
let cluster;
/** @type {import('./conformance/webhook.mjs').Webhooks} */
let webhooks;
before(async () => {
	cluster = await start();
	webhooks = await startWebhookServer(cluster.dir, cluster.ca);
});
after(async () => {
	await webhooks?.stop();
	await cluster?.stop();
});

/** @param {string} name @param {object} [more] labels @param {string[]} [finalizers] */
const configMap = (name, more = {}, finalizers = []) => ({
	apiVersion: 'v1',
	kind: 'ConfigMap',
	metadata: { name, namespace, labels: { ...labels, ...more }, finalizers },
});
/** A webhook for DELETEs of the ConfigMaps with a label. @param {string} gate @param {object} clientConfig */
const webhook = (gate, clientConfig) => ({
	apiVersion: 'admissionregistration.k8s.io/v1',
	kind: 'ValidatingWebhookConfiguration',
	metadata: { name: gate },
	webhooks: [
		{
			name: `${gate}.example.com`,
			clientConfig,
			rules: [{ apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'], operations: ['DELETE'] }],
			objectSelector: { matchLabels: { gate } },
			sideEffects: 'None',
			admissionReviewVersions: ['v1'],
			timeoutSeconds: 2,
			failurePolicy: 'Fail',
		},
	],
});

/** A session with the program: asks its API, and reads JSON. @param {Unwind} unwind */
async function signIn(unwind) {
	const headers = { 'content-type': 'application/json' };
	const body = JSON.stringify({ token: unwind.link.split('#k=')[1] });
	const answer = await fetch(`${unwind.origin}/api/session`, { method: 'POST', headers, body });
	assert.equal(answer.status, 201);
	const cookie = answer.headers.get('set-cookie')?.split(';')[0] ?? '';
	/** @param {string} path @param {unknown} [data] makes it a POST */
	return async (path, data) => {
		const post = data === undefined ? {} : { method: 'POST', body: JSON.stringify(data) };
		const response = await fetch(`${unwind.origin}${path}`, { headers: { ...headers, cookie }, ...post });
		return { status: response.status, body: await response.json() };
	};
}

/**
 * The preflight of the unit, with the rights of a user, once it is done.
 * @param {string} context
 * @returns {Promise<{checked: number, total: number, notes: {severity: string, title: string, meaning: string, objects: {name: string}[]}[]}>}
 */
async function preflight(context) {
	const unwind = await Unwind.start({ kubeconfig: cluster.kubeconfig, context });
	try {
		const ask = await signIn(unwind);
		const deadline = performance.now() + 60_000;
		let plan;
		// Until every kind is listed, no plan is made.
		while ((plan = await ask('/api/plans', { unit: namespace })).status !== 201) {
			assert.ok(performance.now() < deadline, JSON.stringify(plan.body));
			await sleep(200);
		}
		const path = `/api/plans/${plan.body.id}/preflight`;
		let found = await ask(path, {});
		assert.equal(found.status, 202);
		while (found.body.state !== 'done') {
			assert.ok(performance.now() < deadline, JSON.stringify(found.body));
			await sleep(200);
			found = await ask(path);
		}
		return found.body;
	} finally {
		await unwind.stop();
	}
}

/** The refusals about one ConfigMap, by their titles. @param {Awaited<ReturnType<typeof preflight>>} found @param {string} name */
const refusals = ({ notes }, name) =>
	notes
		.filter(({ severity, objects }) => severity === 'refusal' && objects.some((object) => object.name === name))
		.map(({ title }) => title);

test('what a preflight predicts comes true when the same user deletes', async () => {
	await cluster.apply([
		{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace, labels } },
		configMap('free'),
		configMap('denied', { gate: 'deny' }),
		configMap('dead', { gate: 'dead' }),
		configMap('held', {}, ['example.com/clean-up']),
		webhook('deny', webhooks.config('deny.example.com')),
		webhook('dead', { service: { namespace: 'guards', name: 'gone', path: '/' } }),
	]);
	// The API server reads a new configuration a moment later.
	for (const [name, code] of /** @type {[string, number][]} */ ([['denied', 400], ['dead', 500]])) {
		const deadline = performance.now() + 20_000;
		while ((await cluster.request('admin', 'DELETE', `${maps}/${name}`, { dryRun: ['All'] })).status !== code)
			assert.ok(performance.now() < deadline, `the webhook for ${name} is not in force`);
	}

	const began = new Date().toISOString();
	const found = await preflight('admin');
	const { deletionRequests } = await readAudit(cluster.audit, 0);
	const asked = deletionRequests.filter(({ user, at }) => user === 'admin' && at > began);
	assert.ok(asked.length >= 5 && found.checked === found.total, JSON.stringify({ asked, found }));
	for (const request of asked) assert.ok(request.dryRun && request.preconditionUid, JSON.stringify(request));

	/** @type {Record<string, string[]>} */
	const predicted = Object.fromEntries(['free', 'denied', 'dead', 'held'].map((name) => [name, refusals(found, name)]));
	assert.deepEqual(predicted, {
		free: [],
		denied: ['Webhook deny.example.com denies the deletion'],
		dead: ['Webhook dead.example.com cannot answer: Service guards/gone does not exist'],
		held: ['Nothing in the cluster is known to clear the finalizer example.com/clean-up'],
	});
	const words = found.notes.find(({ title }) => title.startsWith('Webhook deny'))?.meaning;
	assert.match(words ?? '', /not on a Friday/);

	/** @type {Record<string, boolean>} */
	const gone = {};
	for (const name of Object.keys(predicted)) {
		await cluster.request('admin', 'DELETE', `${maps}/${name}`);
		const { status, body } = await cluster.request('admin', 'GET', `${maps}/${name}`);
		gone[name] = status === 404;
		// The finalizer is a refusal of another kind: the DELETE is accepted, and the object stays.
		assert.equal(Boolean(body.metadata?.deletionTimestamp), name === 'held', name);
	}
	const expected = Object.fromEntries(Object.entries(predicted).map(([name, titles]) => [name, titles.length === 0]));
	assert.deepEqual(gone, expected, 'gone is what had no refusal');
});

test('what a user may not delete is predicted, and refused', async () => {
	await cluster.apply([configMap('locked')]);
	const found = await preflight('developer');
	assert.deepEqual(refusals(found, 'locked'), ['You may not delete configmaps']);
	const { status, body } = await cluster.request('developer', 'DELETE', `${maps}/locked`);
	assert.equal(status, 403);
	// One note quotes the answer about its first object.
	const reason = /User "developer" cannot delete resource "configmaps" .* in the namespace "shop"/;
	const words = found.notes.find(({ title }) => title.startsWith('You may not delete configmaps'))?.meaning;
	assert.match(words ?? '', reason);
	assert.match(body.message, reason);
});

test('a policy that refuses, and a dead webhook that would hold a finalizer, are predicted and come true', async () => {
	await cluster.apply([
		{
			apiVersion: 'admissionregistration.k8s.io/v1',
			kind: 'ValidatingAdmissionPolicy',
			metadata: { name: 'freeze' },
			spec: {
				failurePolicy: 'Fail',
				matchConstraints: {
					objectSelector: { matchLabels: { gate: 'policy' } },
					resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'], operations: ['DELETE'] }],
				},
				validations: [{ expression: 'false', message: 'change freeze' }],
			},
		},
		{
			apiVersion: 'admissionregistration.k8s.io/v1',
			kind: 'ValidatingAdmissionPolicyBinding',
			metadata: { name: 'freeze' },
			spec: { policyName: 'freeze', validationActions: ['Deny'] },
		},
		configMap('frozen', { gate: 'policy' }),
		configMap('watched', { gate: 'update' }, ['example.com/clean-up']),
	]);
	const update = webhook('update', { service: { namespace: 'guards', name: 'gone', path: '/' } });
	update.webhooks[0].rules[0].operations = ['UPDATE'];
	await cluster.apply([update]);
	/** Takes the finalizer off. @param {string} name @param {string} [query] */
	const release = (name, query = '') =>
		cluster.request('admin', 'PATCH', `${maps}/${name}${query}`, { metadata: { finalizers: [] } }, {
			'content-type': 'application/merge-patch+json',
		});
	// The API server reads a new policy and a new configuration a moment later.
	const deadline = performance.now() + 20_000;
	while ((await cluster.request('admin', 'DELETE', `${maps}/frozen`, { dryRun: ['All'] })).status !== 422)
		assert.ok(performance.now() < deadline, 'the policy is not in force');
	while ((await release('watched', '?dryRun=All')).status !== 500)
		assert.ok(performance.now() < deadline, 'the webhook is not in force');

	const found = await preflight('admin');
	assert.deepEqual(refusals(found, 'frozen'), ['A policy denies the deletion']);
	assert.deepEqual(refusals(found, 'watched').toSorted(), [
		'Nothing in the cluster is known to clear the finalizer example.com/clean-up',
		'Webhook update.example.com cannot answer: Service guards/gone does not exist',
	]);

	const refused = await cluster.request('admin', 'DELETE', `${maps}/frozen`);
	assert.equal(refused.status, 422);
	assert.match(refused.body.message, /ValidatingAdmissionPolicy 'freeze' .* change freeze/);
	const { status } = await cluster.request('admin', 'DELETE', `${maps}/watched`);
	assert.equal(status, 200);
	const { body } = await cluster.request('admin', 'GET', `${maps}/watched`);
	assert.ok(body.metadata.deletionTimestamp, 'it stays');
	assert.equal((await release('watched')).status, 500, 'its finalizer cannot be cleared');
});
