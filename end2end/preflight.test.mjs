/**
 * A preflight on a real control plane: each cause is produced, predicted by the program, and then met by a real DELETE of the same
 * user. The audit log says that the prediction deleted nothing.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { start } from './cluster/cluster.mjs';
import { configMap as configMapOf, findings, inForce, labelsOf, meaningOf, preflight } from './cluster/preflight.mjs';
import { startWebhookServer } from './conformance/webhook.mjs';
import { readAudit } from './judge/audit.mjs';

const namespace = 'shop';
const maps = `/api/v1/namespaces/${namespace}/configmaps`;
const labels = labelsOf(namespace);

/** @type {import('./cluster/cluster.mjs').Cluster} */
let cluster;
/** @type {import('./conformance/webhook.mjs').Webhooks} */
let webhooks;
before(async () => {
	cluster = await start();
	webhooks = await startWebhookServer(cluster.dir, cluster.ca);
	await cluster.apply([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace, labels } }]);
});
after(async () => {
	await webhooks?.stop();
	await cluster?.stop();
});

/** @param {string} name @param {Record<string, string>} [more] labels @param {string[]} [finalizers] */
const configMap = (name, more = {}, finalizers = []) => configMapOf(namespace, name, { labels: more, finalizers });
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

/** Waits until a dry run of the DELETE of a ConfigMap is answered so. @param {string} name @param {number} code */
const answers = (name, code) =>
	inForce(
		`the configuration about ${name}`,
		() => cluster.request('admin', 'DELETE', `${maps}/${name}`, { dryRun: ['All'] }),
		({ status }) => status === code,
	);

/** The refusals about one ConfigMap, by their titles. @param {import('./cluster/preflight.mjs').Found} found @param {string} name */
const refusals = ({ notes }, name) =>
	notes
		.filter(({ severity, objects }) => severity === 'refusal' && objects.some((object) => object.name === name))
		.map(({ title }) => title);

test('what a preflight predicts comes true when the same user deletes', async () => {
	await cluster.apply([
		configMap('free'),
		configMap('denied', { gate: 'deny' }),
		configMap('dead', { gate: 'dead' }),
		configMap('held', {}, ['example.com/clean-up']),
		webhook('deny', webhooks.config('deny.example.com')),
		webhook('dead', { service: { namespace: 'guards', name: 'gone', path: '/' } }),
	]);
	await answers('denied', 400);
	await answers('dead', 500);

	const began = new Date().toISOString();
	const found = await preflight(cluster, namespace);
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
	assert.match(meaningOf(found, 'Webhook deny'), /not on a Friday/);

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
	const found = await preflight(cluster, namespace, 'developer');
	assert.deepEqual(refusals(found, 'locked'), ['You may not delete configmaps']);
	const { status, body } = await cluster.request('developer', 'DELETE', `${maps}/locked`);
	assert.equal(status, 403);
	// One note quotes the answer about its first object.
	const reason = /User "developer" cannot delete resource "configmaps" .* in the namespace "shop"/;
	assert.match(meaningOf(found, 'You may not delete configmaps'), reason);
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
	await answers('frozen', 422);
	await inForce('the webhook', () => release('watched', '?dryRun=All'), ({ status }) => status === 500);

	const found = await preflight(cluster, namespace);
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

test('webhook without a ready Pod is predicted to refuse as its failurePolicy and its matchConditions say', async () => {
	const service = { namespace, name: 'guards', path: '/' };
	const lenient = webhook('lenient', { service });
	lenient.webhooks[0].failurePolicy = 'Ignore';
	const choosy = webhook('choosy', { service });
	const condition = { name: 'chosen', expression: 'request.name == "chosen"' };
	await cluster.apply([
		{
			apiVersion: 'v1',
			kind: 'Service',
			metadata: { name: 'guards', namespace },
			spec: { selector: { app: 'nobody' }, ports: [{ port: 443 }] },
		},
		webhook('strict', { service }),
		lenient,
		{ ...choosy, webhooks: [{ ...choosy.webhooks[0], matchConditions: [condition] }] },
		configMap('strict', { gate: 'strict' }),
		configMap('lenient', { gate: 'lenient' }),
		configMap('chosen', { gate: 'choosy' }),
		configMap('spared', { gate: 'choosy' }),
	]);
	await answers('strict', 500);
	await answers('chosen', 500);

	const found = await preflight(cluster, namespace);
	const why = 'cannot answer: Service shop/guards has no ready Pod';
	const names = ['strict', 'lenient', 'chosen', 'spared'];
	const predicted = Object.fromEntries(names.map((name) => [name, findings(found, name, 'ConfigMap')]));
	assert.deepEqual(predicted, {
		strict: [`refusal: Webhook strict.example.com ${why}`],
		lenient: [`info: Webhook lenient.example.com ${why}`],
		chosen: [`refusal: Webhook choosy.example.com ${why}`],
		// Its configuration looks the same from outside. The dry run was accepted.
		spared: [],
	});

	for (const [name, gate] of [['strict', 'strict'], ['chosen', 'choosy']]) {
		const { status, body } = await cluster.request('admin', 'DELETE', `${maps}/${name}`);
		assert.equal(status, 500);
		assert.match(body.message, new RegExp(`failed calling webhook "${gate}.example.com": .*no endpoints available`));
	}
	for (const name of ['lenient', 'spared']) {
		assert.equal((await cluster.request('admin', 'DELETE', `${maps}/${name}`)).status, 200);
		assert.equal((await cluster.request('admin', 'GET', `${maps}/${name}`)).status, 404);
	}
});

test('webhook outside the cluster that does not answer is found by the dry run', async () => {
	await cluster.apply([webhook('away', webhooks.config('hang.example.com')), configMap('awaited', { gate: 'away' })]);
	await answers('awaited', 500);
	const found = await preflight(cluster, namespace);
	const title = 'Webhook away.example.com does not answer, and the deletion is refused';
	assert.deepEqual(findings(found, 'awaited'), [`refusal: ${title}`]);
	const { status, body } = await cluster.request('admin', 'DELETE', `${maps}/awaited`);
	assert.equal(status, 500);
	const words = /failed calling webhook "away.example.com": .*(deadline exceeded|Timeout)/i;
	assert.match(body.message, words);
	assert.match(meaningOf(found, title), words);
});

test('object that the API server itself protects is predicted to be refused with its words', async () => {
	const name = 'system-cluster-critical';
	const path = `/apis/scheduling.k8s.io/v1/priorityclasses/${name}`;
	const labelled = await cluster.request('admin', 'PATCH', path, { metadata: { labels } }, {
		'content-type': 'application/merge-patch+json',
	});
	assert.equal(labelled.status, 200);
	const found = await preflight(cluster, namespace);
	assert.deepEqual(findings(found, name), ['refusal: The API server would refuse the deletion']);
	const { status, body } = await cluster.request('admin', 'DELETE', path);
	assert.equal(status, 403);
	const words = /this is a system priority class and cannot be deleted/;
	assert.match(body.message, words);
	assert.match(meaningOf(found, 'The API server would refuse'), words);
});
