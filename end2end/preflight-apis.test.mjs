/**
 * APIs that are stale, hidden or cannot convert, on a real control plane: the preflight names the namespace that will not end, and
 * it does not end until the cause is repaired.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
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
	preflight,
	Preflights,
	stateOf,
} from './cluster/preflight.mjs';
import * as statistics from './cluster/sample/statistics.mjs';
import { destroyed } from './session.mjs';

/** @typedef {import('./cluster/client.mjs').KubeObject} KubeObject */

/** @type {import('./cluster/cluster.mjs').Cluster} */
let cluster;
before(async () => {
	cluster = await start();
});
after(() => cluster?.stop());

const options = { timeout: 400_000 };
const rbac = 'rbac.authorization.k8s.io';
const merge = { 'content-type': 'application/merge-patch+json' };
/** @param {string} name */
const namespaceOf = (name) => `/api/v1/namespaces/${name}`;

/** Waits until a namespace says why it does not end. @param {string} name @param {string} type of its condition @returns {Promise<string>} its words */
async function whyItStays(name, type) {
	/** @param {KubeObject} [namespace] */
	const condition = (namespace) =>
		namespace?.status.conditions?.find((/** @type {any} */ it) => it.type === type && it.status === 'True');
	const [namespace] = await cluster.until('/api/v1/namespaces', ([it]) => !!condition(it), {
		what: `${type} of ${name}`,
		within: 120_000,
		params: { fieldSelector: `metadata.name=${name}` },
	});
	return condition(namespace).message;
}

const group = 'wares.example';
/** A kind in two versions, the first of which is preferred. @param {string} stored the version in which the API server stores it @param {object} [conversion] */
const definition = (stored, conversion = { strategy: 'None' }) => ({
	apiVersion: 'apiextensions.k8s.io/v1',
	kind: 'CustomResourceDefinition',
	metadata: { name: `wares.${group}` },
	spec: {
		group,
		scope: 'Namespaced',
		names: { plural: 'wares', singular: 'ware', kind: 'Ware', listKind: 'WareList' },
		versions: ['v1', 'v1beta1'].map((name) => ({
			name,
			served: true,
			storage: name === stored,
			schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
		})),
		conversion,
	},
});
const deadConverter = {
	strategy: 'Webhook',
	webhook: {
		conversionReviewVersions: ['v1'],
		clientConfig: { service: { namespace: 'guards', name: 'converter', path: '/' } },
	},
};
/** @param {string} unit @param {string} name */
const ware = (unit, name) => ({
	apiVersion: `${group}/v1`,
	kind: 'Ware',
	metadata: { name, namespace: unit, labels: labelsOf(unit) },
});
/** @param {string} unit @param {string} [name] */
const wares = (unit, name) => `/apis/${group}/v1/namespaces/${unit}/wares${name ? `/${name}` : ''}`;

test('namespace beside a dead aggregated API is predicted to stay, and stays until the API is removed', options, async () => {
	const { unit } = statistics.haunted;
	await statistics.installBesideDeadApi(cluster);
	const found = await preflight(cluster, unit);
	assert.deepEqual(findings(found, unit, 'Namespace'), ['refusal: The API metrics.k8s.io/v1beta1 does not answer']);

	await accepted(cluster, namespaceOf(unit));
	const words = await whyItStays(unit, 'NamespaceDeletionDiscoveryFailure');
	assert.match(words, /stale GroupVersion discovery: metrics.k8s.io\/v1beta1/);
	await accepted(cluster, (await cluster.kinds()).pathOf(statistics.deadApi));
	await gone(cluster, namespaceOf(unit));
});

test('kind that the user may not list is predicted to hold the namespace, and the run waits there until the right is given', options, async () => {
	const unit = 'vault';
	await makeUnit(cluster, unit);
	/** @param {string} name @param {object[]} rules */
	const role = (name, rules) => [
		{ apiVersion: `${rbac}/v1`, kind: 'ClusterRole', metadata: { name }, rules },
		{
			apiVersion: `${rbac}/v1`,
			kind: 'ClusterRoleBinding',
			metadata: { name },
			roleRef: { apiGroup: rbac, kind: 'ClusterRole', name },
			subjects: [{ kind: 'User', apiGroup: rbac, name: 'developer' }],
		},
	];
	await cluster.apply([
		configMap(unit, 'web'),
		...role('vault-deleter', [
			{ apiGroups: [''], resources: ['configmaps'], verbs: ['delete', 'patch'] },
			{ apiGroups: [''], resources: ['namespaces'], resourceNames: [unit], verbs: ['delete', 'patch'] },
		]),
	]);
	const preflights = await Preflights.open(cluster, 'developer');
	try {
		const plan = await preflights.plan(unit);
		const found = await preflights.check(plan);
		const [finding, ...others] = findings(found, unit, 'Namespace');
		assert.match(finding, /^refusal: secrets cannot be seen.*User "developer" cannot list resource "secrets"/);
		assert.deepEqual(others, []);
		assert.deepEqual(findings(found, 'web'), []);

		const { session } = preflights;
		const confirmed = { plan: plan.id, hash: plan.hash, confirm: unit, ...destroyed(plan) };
		const { status, body } = await session.request('POST', '/api/runs', confirmed);
		assert.equal(status, 201, JSON.stringify(body));
		const topic = `run:${body.run}`;
		const isHeld = (/** @type {any} */ { step }) => step?.object.kind === 'Namespace' && step.problem?.unknown?.reason;
		const isGone = (/** @type {any} */ { step }) => step?.object.name === 'web' && step.state === 'Gone';
		const records = await session.until(topic, (records) => records.some(isHeld) && records.some(isGone), {
			what: 'the run to wait for the namespace',
			within: 120_000,
		});
		const { reason } = /** @type {any} */ (records.find(isHeld)).step.problem.unknown;
		assert.deepEqual([reason.code, reason.resource], ['hidden', 'secrets']);
		assert.equal(await stateOf(cluster, namespaceOf(unit)), 'present', 'it was never deleted');

		await cluster.apply(role('vault-secrets', [{ apiGroups: [''], resources: ['secrets'], verbs: ['list', 'watch'] }]));
		const run = await session.ended(body.run, 300_000);
		assert.equal(run.state, 'finished');
		assert.equal(await stateOf(cluster, namespaceOf(unit)), 'gone');
	} finally {
		await preflights.stop();
	}
});

test('kind that cannot be listed by anybody is predicted to hold the namespace, and holds it', options, async () => {
	const unit = 'corrupt';
	await makeUnit(cluster, unit);
	await cluster.apply([definition('v1'), ware(unit, 'broken')]);
	const stored = `/registry/${group}/wares/${unit}/broken`;
	await cluster.overwrite(stored, 'garbage');
	await inForce('the corruption', () => cluster.request('admin', 'GET', wares(unit)), ({ status }) => status >= 400);
	const found = await preflight(cluster, unit);
	const [finding, ...others] = findings(found, unit, 'Namespace');
	assert.match(finding, /^refusal: wares.wares.example cannot be seen/);
	assert.deepEqual(others, []);
	assert.match(meaningOf(found, 'wares.wares.example'), /has to prove that nothing of this kind is left/);

	await accepted(cluster, namespaceOf(unit));
	assert.match(await whyItStays(unit, 'NamespaceDeletionContentFailure'), /wares.example/);
	await cluster.erase(stored);
	await gone(cluster, namespaceOf(unit));
});

test('dead conversion webhook is a warning for what needs no conversion, and a refusal for what does', options, async () => {
	const unit = 'converted';
	await makeUnit(cluster, unit);
	await cluster.apply([definition('v1'), ware(unit, 'current')]);
	await inForce('the kind', () => cluster.request('admin', 'GET', wares(unit, 'current')), ({ status }) => status === 200);
	await cluster.apply([definition('v1', deadConverter)]);
	const title = `The conversion webhook of CustomResourceDefinition wares.${group} has no ready Pod`;
	const before = await preflight(cluster, unit);
	assert.deepEqual(findings(before, 'current', 'Ware'), [`warning: ${title}`]);
	assert.deepEqual(findings(before, unit, 'Namespace'), []);
	await accepted(cluster, wares(unit, 'current'));
	await gone(cluster, wares(unit, 'current'));

	// An object that is stored in the other version, as before an upgrade.
	await cluster.apply([definition('v1beta1')]);
	const create = () => cluster.request('admin', 'POST', wares(unit), ware(unit, 'old'));
	await inForce('the storage version', create, ({ status }) => status === 201);
	const { body } = await cluster.request('admin', 'GET', wares(unit, 'old'));
	assert.equal(body.apiVersion, `${group}/v1`);
	await cluster.apply([definition('v1beta1', deadConverter)]);
	await inForce('the dead converter', () => cluster.request('admin', 'GET', wares(unit, 'old')), ({ status }) => status === 500);

	const found = await preflight(cluster, unit);
	const [finding, ...others] = findings(found, unit, 'Namespace');
	assert.match(finding, /^refusal: wares.wares.example cannot be seen/);
	assert.deepEqual(others, []);
	const refused = await cluster.request('admin', 'DELETE', wares(unit, 'old'));
	assert.equal(refused.status, 500);
	assert.match(refused.body.message, /conversion webhook for wares.example\/v1beta1.* failed/);
	await accepted(cluster, namespaceOf(unit));
	assert.match(await whyItStays(unit, 'NamespaceDeletionContentFailure'), /wares|storage is \(re\)initializing/);

	await cluster.apply([definition('v1beta1')]);
	// The namespace is looked at again after a change.
	const annotations = { 'unwind.test/again': 'please' };
	await inForce('the conversion', () => cluster.request('admin', 'GET', wares(unit)), ({ status }) => status === 200);
	await cluster.request('admin', 'PATCH', namespaceOf(unit), { metadata: { annotations } }, merge);
	await gone(cluster, namespaceOf(unit));
});
