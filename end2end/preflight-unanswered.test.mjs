/**
 * What a preflight cannot predict, on a real control plane: it says so, and the DELETE then ends in a way that it left open.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import * as warehouse from './cluster/aggregated.mjs';
import { Client } from './cluster/client.mjs';
import { start } from './cluster/cluster.mjs';
import {
	accepted,
	configMap,
	findings,
	gone,
	inForce,
	labelsOf,
	makeUnit,
	meaningOf,
	personWith,
	preflight,
	Preflights,
	stateOf,
} from './cluster/preflight.mjs';
import { otherTurn } from './cluster/turn.mjs';
import { startWebhookServer } from './conformance/webhook.mjs';
import { readAudit } from './judge/audit.mjs';

/** @type {import('./cluster/cluster.mjs').Cluster} */
let cluster;
/** @type {import('./conformance/webhook.mjs').Webhooks} */
let webhooks;
before(async () => {
	cluster = await start({ programs: true });
	webhooks = await startWebhookServer(cluster.dir, cluster.ca);
});
after(async () => {
	await webhooks?.stop();
	await cluster?.stop();
});

const options = { timeout: 400_000 };
/** @param {string} unit @param {string} name */
const pathOf = (unit, name) => `/api/v1/namespaces/${unit}/configmaps/${name}`;
/** @param {string} user @param {string} path @param {object} [options] */
const remove = (user, path, options) => cluster.request(user, 'DELETE', path, options);

/** A webhook that denies DELETEs of the ConfigMaps with a label. @param {string} name @param {string} sideEffects */
const denying = (name, sideEffects) => ({
	apiVersion: 'admissionregistration.k8s.io/v1',
	kind: 'ValidatingWebhookConfiguration',
	metadata: { name },
	webhooks: [
		{
			name: `${name}.example.com`,
			clientConfig: webhooks.config('deny.example.com'),
			rules: [{ apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'], operations: ['DELETE'] }],
			objectSelector: { matchLabels: { gate: name } },
			sideEffects,
			admissionReviewVersions: ['v1'],
			failurePolicy: 'Fail',
		},
	],
});

test('webhook that has side effects is not asked, and nothing is predicted about its objects', async () => {
	const unit = 'effects';
	await makeUnit(cluster, unit);
	const configuration = denying('effects', 'None');
	await cluster.apply([configMap(unit, 'gated', { labels: { gate: 'effects' } }), configuration]);
	const ask = () => remove('admin', pathOf(unit, 'gated'), { dryRun: ['All'] });
	await inForce('the webhook', ask, ({ status }) => status === 400);
	// Only v1beta1 accepted such a configuration. A cluster that was upgraded since then still stores it.
	const path = `/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/effects`;
	const { body: stored } = await cluster.request('admin', 'GET', path);
	stored.webhooks[0].sideEffects = 'Some';
	await cluster.overwrite('/registry/validatingwebhookconfigurations/effects', JSON.stringify(stored));
	await inForce('the stored configuration', ask, ({ body }) => /does not support dry run/.test(body.message));

	const found = await preflight(cluster, unit);
	const title = 'A webhook cannot be asked without side effects';
	assert.deepEqual(findings(found, 'gated'), [`info: ${title}`]);
	assert.match(meaningOf(found, title), /effects.example.com.* does not support dry run/);
	const { status, body } = await remove('admin', pathOf(unit, 'gated'));
	assert.equal(status, 400);
	assert.match(body.message, /not on a Friday/, 'it was asked for the first time, and denied');
});

test('object of another API server is not deleted by a preflight, and only the right is predicted', options, async () => {
	const unit = 'warehouse';
	await makeUnit(cluster, unit);
	await makeUnit(cluster, 'warehouse-system');
	const labels = labelsOf(unit);
	/** @param {string} kind @param {string} name */
	const object = (kind, name) => ({
		apiVersion: `${warehouse.group}/v1`,
		kind,
		metadata: { name, namespace: unit, labels },
	});
	const { deletes, end } = await warehouse.install(
		cluster,
		'warehouse-system',
		[object('Ware', 'lamp'), object('Ware', 'chair'), object('Report', 'yearly')],
		({ metadata }) => (metadata.name === 'chair' ? 'somebody sits on it' : undefined),
	);
	try {
		const found = await preflight(cluster, unit);
		const reviewed = 'info: Only the right to delete wares.warehouse.example was checked';
		assert.deepEqual(
			Object.fromEntries(['lamp', 'chair'].map((name) => [name, findings(found, name)])),
			{ lamp: [reviewed], chair: [reviewed] },
		);
		const { kept } = found.plan;
		const ofReport = kept.filter((/** @type {any} */ it) => it.object.name === 'yearly');
		assert.deepEqual(ofReport.map((/** @type {any} */ it) => it.reason), ['noDeleteVerb'], 'nobody can delete it, so no step is planned');
		assert.deepEqual(deletes, [], 'an API server that ignores dryRun would have deleted the lamp');

		const refused = await personWith(cluster, 'visitor', [
			{ apiGroups: ['*'], resources: ['*'], verbs: ['get', 'list', 'watch'] },
		]);
		const title = 'You may not delete wares.warehouse.example';
		assert.deepEqual(findings(await preflight(refused, unit), 'lamp'), [`refusal: ${title}`]);
		assert.deepEqual(deletes, []);

		const wares = (/** @type {string} */ name) => warehouse.pathTo(unit, 'wares', name);
		assert.equal((await remove('developer', wares('lamp'))).status, 403);
		const outcomes = [await remove('admin', wares('lamp')), await remove('admin', wares('chair'))];
		assert.deepEqual(outcomes.map(({ status }) => status), [200, 403]);
		assert.match(outcomes[1].body.message, /somebody sits on it/);
		assert.equal((await remove('admin', warehouse.pathTo(unit, 'reports', 'yearly'))).status, 405);
		assert.deepEqual(deletes.map((url) => new URL(url).pathname.split('/').at(-1)), ['lamp', 'chair', 'yearly']);
	} finally {
		await cluster.request('admin', 'DELETE', `/apis/apiregistration.k8s.io/v1/apiservices/v1.${warehouse.group}`);
		end();
	}
});

test('kind that loses the verb delete after the plan is predicted to be refused, and is', options, async () => {
	const unit = 'barred';
	await makeUnit(cluster, unit);
	await makeUnit(cluster, 'barred-system');
	const lamp = {
		apiVersion: `${warehouse.group}/v1`,
		kind: 'Ware',
		metadata: { name: 'lamp', namespace: unit, labels: labelsOf(unit) },
	};
	const { deletes, bar, end } = await warehouse.install(cluster, 'barred-system', [lamp], () => undefined);
	const preflights = await Preflights.open(cluster);
	try {
		const plan = await preflights.plan(unit);
		const reviewed = 'info: Only the right to delete wares.warehouse.example was checked';
		assert.deepEqual(findings(await preflights.check(plan), 'lamp'), [reviewed]);
		bar();
		// The API server and the program each ask for the discovery of an API once a minute, the one after the other at worst.
		const isSeen = (/** @type {import('./cluster/preflight.mjs').Found} */ found) => !findings(found, 'lamp').includes(reviewed);
		const found = await preflights.until(async () => plan, isSeen, 180_000);
		assert.deepEqual(findings(found, 'lamp'), ['refusal: The API cannot delete wares.warehouse.example']);
		assert.deepEqual(deletes, []);
		assert.equal((await remove('admin', warehouse.pathTo(unit, 'wares', 'lamp'))).status, 405);
	} finally {
		await preflights.stop();
		await cluster.request('admin', 'DELETE', `/apis/apiregistration.k8s.io/v1/apiservices/v1.${warehouse.group}`);
		end();
	}
});

test('object that was made again after the plan is not predicted, and the DELETE of the plan misses it', async () => {
	const unit = 'renewed';
	await makeUnit(cluster, unit);
	await cluster.apply([configMap(unit, 'web')]);
	const preflights = await Preflights.open(cluster);
	try {
		const plan = await preflights.plan(unit);
		const { uid } = plan.steps.find((/** @type {any} */ { object }) => object.name === 'web');
		assert.equal((await remove('admin', pathOf(unit, 'web'))).status, 200);
		await cluster.apply([configMap(unit, 'web')]);
		const found = await preflights.check(plan);
		assert.deepEqual(findings(found, 'web'), ['warning: The cluster has changed since this plan was made']);
		assert.equal((await remove('admin', pathOf(unit, 'web'), { preconditions: { uid } })).status, 409);
		assert.equal(await stateOf(cluster, pathOf(unit, 'web')), 'present');
	} finally {
		await preflights.stop();
	}
});

test('API server that does not answer leaves everything unpredicted', async () => {
	const unit = 'silence';
	await makeUnit(cluster, unit);
	await cluster.apply([configMap(unit, 'web')]);
	const preflights = await Preflights.open(cluster);
	try {
		const plan = await preflights.plan(unit);
		await cluster.suspendApiServer();
		const found = await preflights.check(plan).finally(() => cluster.resumeApiServer());
		const title = 'The API server gave no usable answer';
		assert.deepEqual(findings(found, 'web'), [`warning: ${title}`]);
		assert.equal((await remove('admin', pathOf(unit, 'web'))).status, 200);
		await gone(cluster, pathOf(unit, 'web'));
	} finally {
		await preflights.stop();
	}
});

test('API server that asks for fewer requests is left alone, and the rest is unpredicted', { ...options, skip: otherTurn(4) }, async () => {
	const unit = 'throttled';
	const flow = 'flowcontrol.apiserver.k8s.io/v1';
	await makeUnit(cluster, unit);
	const person = await personWith(cluster, 'throttled', [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }]);
	const slow = denying('slow', 'None');
	const [hook] = slow.webhooks;
	await cluster.apply([
		...['one', 'two', 'three'].map((name) => configMap(unit, name)),
		configMap('default', 'slow', { labels: { gate: 'slow' } }),
		{ ...slow, webhooks: [{ ...hook, clientConfig: webhooks.config('hang.example.com'), timeoutSeconds: 30 }] },
		{
			apiVersion: flow,
			kind: 'PriorityLevelConfiguration',
			metadata: { name: 'none' },
			spec: {
				type: 'Limited',
				limited: { nominalConcurrencyShares: 0, lendablePercent: 0, borrowingLimitPercent: 0, limitResponse: { type: 'Reject' } },
			},
		},
		{
			apiVersion: flow,
			kind: 'FlowSchema',
			metadata: { name: 'deletions' },
			spec: {
				priorityLevelConfiguration: { name: 'none' },
				matchingPrecedence: 2,
				rules: [
					{
						subjects: [{ kind: 'ServiceAccount', serviceAccount: { name: 'throttled', namespace: 'default' } }],
						resourceRules: [{ verbs: ['delete'], apiGroups: ['*'], resources: ['*'], namespaces: ['*'], clusterScope: true }],
					},
				],
			},
		},
	]);
	const { server, ca } = cluster;
	const client = new Client({ server, ca, token: person.token });
	let isOver = false;
	// A priority level without seats admits one request while no other is executed. Of two that take turns, one has it always.
	const occupy = async () => {
		while (!isOver) {
			const { status = 0 } = await client.request('DELETE', pathOf('default', 'slow'), { dryRun: ['All'] }, {}, 60_000).catch(() => ({}));
			if (status === 429) await sleep(20);
		}
	};
	const occupying = Promise.all([occupy(), occupy()]);
	try {
		const ask = () => client.request('DELETE', pathOf(unit, 'one'), { dryRun: ['All'] });
		await inForce('the limit', ask, ({ status }) => status === 429);
		const found = await preflight(person, unit);
		const title = 'Not asked about every object';
		for (const name of ['one', 'two', 'three']) assert.deepEqual(findings(found, name), [`info: ${title}`]);
		assert.equal(meaningOf(found, title), 'The API server asked for fewer requests.');
		assert.ok(found.checked < found.total);
		// The same user is refused, and another one is not.
		assert.equal((await client.request('DELETE', pathOf(unit, 'two'))).status, 429);
		assert.equal((await remove('admin', pathOf(unit, 'two'))).status, 200);
	} finally {
		isOver = true;
		await accepted(cluster, '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/slow');
		await occupying;
		client.close();
	}
});

test('preflight asks about a limited number of objects, each kind first, and says that it left some out', options, async () => {
	const unit = 'many';
	await makeUnit(cluster, unit);
	await cluster.apply([denying('many', 'None'), configMap(unit, 'probe', { labels: { gate: 'many' } })]);
	await inForce('the webhook', () => remove('admin', pathOf(unit, 'probe'), { dryRun: ['All'] }), ({ status }) => status === 400);
	const names = Array.from({ length: 520 }, (_, at) => `map-${String(at).padStart(3, '0')}`);
	const create = (/** @type {string} */ name) =>
		cluster.request('admin', 'POST', `/api/v1/namespaces/${unit}/configmaps`, configMap(unit, name, { labels: { gate: 'many' } }));
	for (let at = 0; at < names.length; at += 20) {
		for (const { status } of await Promise.all(names.slice(at, at + 20).map(create))) assert.equal(status, 201);
	}

	const began = new Date().toISOString();
	const found = await preflight(cluster, unit);
	const { deletionRequests } = await readAudit(cluster.audit, 0);
	const asked = new Set(deletionRequests.filter(({ at, namespace }) => at > began && namespace === unit).map(({ name }) => name));
	const denied = found.notes.find(({ title }) => title === 'Webhook many.example.com denies the deletion');
	const left = found.notes.find(({ title }) => title === 'Not asked about every object');
	assert.ok(denied && left, JSON.stringify(found.notes));
	assert.equal(denied.objects.length + denied.more, asked.size);
	assert.equal(left.objects.length + left.more, names.length + 1 - asked.size);
	assert.equal(found.total, 500);
	assert.equal(found.checked, 500);
	// Each one that it left out is denied all the same: nothing was predicted about it.
	for (const { name } of left.objects) {
		assert.ok(!asked.has(name));
		assert.deepEqual(findings(found, name), ['info: Not asked about every object']);
		assert.equal((await remove('admin', pathOf(unit, name))).status, 400);
	}
});

test('preflight ends after its time while webhooks are slow, and predicts nothing about the rest', { ...options, skip: otherTurn(5) }, async () => {
	const unit = 'slow';
	await makeUnit(cluster, unit);
	const names = Array.from({ length: 40 }, (_, at) => `map-${at}`);
	const configuration = denying('tardy', 'None');
	const [hook] = configuration.webhooks;
	await cluster.apply([
		{ ...configuration, webhooks: [{ ...hook, clientConfig: webhooks.config('hang.example.com'), timeoutSeconds: 12 }] },
		...names.map((name) => configMap(unit, name, { labels: { gate: 'tardy' } })),
	]);
	await inForce('the webhook', () => remove('admin', pathOf(unit, 'map-0'), { dryRun: ['All'] }), ({ status }) => status === 500);
	const found = await preflight(cluster, unit);
	// A question is given up after 10 s, before the API server gives the webhook up.
	const [unanswered, unasked] = ['warning: The API server gave no usable answer', 'info: Not asked about every object'];
	const [asked, left] = [unanswered, unasked].map((wanted) => {
		const note = found.notes.find(({ severity, title }) => `${severity}: ${title}` === wanted);
		assert.ok(note, JSON.stringify(found.notes));
		return note;
	});
	assert.equal(left.meaning, 'A preflight ends after 30 s.');
	assert.equal(asked.objects.length + asked.more + left.objects.length + left.more, names.length);
	assert.equal(found.total - found.checked, left.objects.length + left.more);
	const refusals = found.notes.filter(({ severity }) => severity === 'refusal');
	assert.deepEqual(refusals, []);
	const [{ name }] = left.objects;
	assert.equal((await remove('admin', pathOf(unit, name))).status, 500, 'the webhook does not answer about that one either');
});
