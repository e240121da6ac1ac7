/**
 * APIs that are stale, hidden or cannot convert, on a real control plane: the preflight names the namespace that will not end, and
 * it does not end until the cause is repaired.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { start } from './cluster/cluster.mjs';
import {
	accepted,
	adviceOf,
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
import { driver } from './cluster/provisioner.mjs';
import { claim, claimSpec, csiDriver, storageClass } from './cluster/sample/objects.mjs';
import * as statistics from './cluster/sample/statistics.mjs';
import { otherTurn } from './cluster/turn.mjs';
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
/** @param {string} unit @param {string} name */
const maps = (unit, name) => `/api/v1/namespaces/${unit}/configmaps/${name}`;
/** @param {string} name */
const namespaceOf = (name) => `/api/v1/namespaces/${name}`;

/**
 * Waits until a namespace says why it does not end.
 * @param {string} name @param {string} type of its condition @returns {Promise<string>} its words
 */
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

/**
 * Starts a run, and waits until it has deleted the ConfigMap `web` and waits before the object of a kind because another kind is
 * hidden.
 * @param {Preflights} preflights @param {any} plan @param {string} kind @param {string} hidden its resource
 * @returns {Promise<string>} the run
 */
async function waitsBefore({ session }, plan, kind, hidden) {
	const confirmed = { plan: plan.id, hash: plan.hash, confirm: plan.unit, ...destroyed(plan) };
	const { status, body } = await session.request('POST', '/api/runs', confirmed);
	assert.equal(status, 201, JSON.stringify(body));
	const isHeld = (/** @type {any} */ { step }) => step?.object.kind === kind && step.problem?.unknown?.reason;
	const isGone = (/** @type {any} */ { step }) => step?.object.name === 'web' && step.state === 'Gone';
	const records = await session.until(`run:${body.run}`, (records) => records.some(isHeld) && records.some(isGone), {
		what: `the run to delete the ConfigMap web, and to wait before the ${kind}`,
		within: 120_000,
	});
	const { reason } = /** @type {any} */ (records.find(isHeld)).step.problem.unknown;
	assert.deepEqual([reason.code, reason.resource], ['hidden', hidden]);
	return body.run;
}

const group = 'wares.example';
/**
 * A kind in two versions, the first of which is preferred.
 * @param {string} stored the version in which the API server stores it @param {object} [conversion]
 */
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
			schema: {
				openAPIV3Schema: {
					type: 'object',
					'x-kubernetes-preserve-unknown-fields': true,
					// An object that is made says which definition was in force.
					properties: { stored: { type: 'string', default: stored } },
				},
			},
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

test('dead webhook about the RoleBinding of a person is predicted to hold its namespace, and does until it is removed', options, async () => {
	const unit = 'bound';
	await makeUnit(cluster, unit);
	const gate = `${unit}.example.com`;
	const webhooks = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';
	const bindings = `/apis/${rbac}/v1/namespaces/${unit}/rolebindings`;
	await cluster.apply([
		configMap(unit, 'web'),
		{
			apiVersion: `${rbac}/v1`,
			kind: 'RoleBinding',
			metadata: { name: 'team', namespace: unit },
			roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: 'view' },
			subjects: [{ kind: 'User', apiGroup: rbac, name: 'developer' }],
		},
	]);
	assert.deepEqual(findings(await preflight(cluster, unit), unit, 'Namespace'), []);
	await cluster.apply([
		{
			apiVersion: 'admissionregistration.k8s.io/v1',
			kind: 'ValidatingWebhookConfiguration',
			metadata: { name: unit },
			webhooks: [
				{
					name: gate,
					clientConfig: { service: { namespace: 'guards', name: 'gone', path: '/' } },
					rules: [{ apiGroups: [rbac], apiVersions: ['v1'], resources: ['rolebindings'], operations: ['DELETE'] }],
					namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': unit } },
					sideEffects: 'None',
					admissionReviewVersions: ['v1'],
					failurePolicy: 'Fail',
				},
			],
		},
	]);
	await inForce(
		'the webhook',
		() => cluster.request('admin', 'DELETE', `${bindings}/team`, { dryRun: ['All'] }),
		({ status }) => status === 500,
	);

	// The dry run of the DELETE of the namespace is accepted: it asks no webhook about what is in the namespace.
	const found = await preflight(cluster, unit);
	const title = `Webhook ${gate} cannot answer: Service guards/gone does not exist`;
	assert.deepEqual(findings(found, unit, 'Namespace'), [`refusal: ${title}`]);
	assert.match(meaningOf(found, title), /RoleBindings/);
	assert.deepEqual(findings(found, 'web'), []);

	await accepted(cluster, namespaceOf(unit));
	assert.match(await whyItStays(unit, 'NamespaceDeletionContentFailure'), new RegExp(`failed calling webhook "${gate}"`));
	assert.equal(await stateOf(cluster, `${bindings}/team`), 'present');
	await accepted(cluster, `${webhooks}/${unit}`);
	await gone(cluster, namespaceOf(unit));
});

test('kind that the user may not list is predicted to hold the namespace, and the run waits there until the right is given', { ...options, skip: otherTurn(0) }, async () => {
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
		assert.match(finding, /^refusal: secrets cannot be seen.*User "developer" cannot (list|watch) resource "secrets"/);
		assert.match(adviceOf(found, 'secrets'), /^Give Unwind the right to list and watch the kind, /);
		assert.deepEqual(others, []);
		assert.deepEqual(findings(found, 'web'), []);

		const { session } = preflights;
		const started = await waitsBefore(preflights, plan, 'Namespace', 'secrets');
		assert.equal(await stateOf(cluster, maps(unit, 'web')), 'gone');
		assert.equal(await stateOf(cluster, namespaceOf(unit)), 'present', 'it was never deleted');

		await cluster.apply(role('vault-secrets', [{ apiGroups: [''], resources: ['secrets'], verbs: ['list', 'watch'] }]));
		const run = await session.ended(started, 300_000);
		assert.equal(run.state, 'finished');
		assert.equal(await stateOf(cluster, namespaceOf(unit)), 'gone');
	} finally {
		await preflights.stop();
	}
});

test('attachments that the user may not list are predicted to hold a claim, and the run waits there until the right is given', { ...options, skip: otherTurn(1) }, async () => {
	const unit = 'attached';
	const read = ['get', 'list', 'watch'];
	await makeUnit(cluster, unit);
	await cluster.apply([
		storageClass({ name: unit }, driver, 'Delete'),
		csiDriver({ name: driver }),
		claim({ name: 'data', namespace: unit, labels: labelsOf(unit) }, claimSpec(unit, '1Gi', 'ReadWriteOnce')),
		configMap(unit, 'web'),
	]);
	const claims = `/api/v1/namespaces/${unit}/persistentvolumeclaims`;
	await cluster.until(claims, ([it]) => it?.status?.phase === 'Bound', { what: 'the claim to be bound', within: 120_000 });
	const { kubeconfig } = await personWith(cluster, 'unattached', [
		{ apiGroups: [''], resources: ['*'], verbs: ['*'] },
		...['apps', 'batch', 'apiextensions.k8s.io', 'apiregistration.k8s.io', 'admissionregistration.k8s.io', rbac].map((one) => ({
			apiGroups: [one],
			resources: ['*'],
			verbs: read,
		})),
		{ apiGroups: ['storage.k8s.io'], resources: ['storageclasses', 'csidrivers', 'csinodes'], verbs: read },
	]);
	const preflights = await Preflights.open({ kubeconfig });
	try {
		const plan = await preflights.plan(unit);
		const found = await preflights.check(plan);
		const [manager, finding, ...others] = findings(found, 'data');
		assert.equal(manager, 'info: Whether the kube-controller-manager runs is not known', 'leases may not be read either');
		assert.match(finding, /^refusal: volumeattachments.storage.k8s.io cannot be seen: .*unattached" cannot (list|watch)/);
		assert.deepEqual(others, []);
		assert.deepEqual(findings(found, 'web'), []);
		const run = await waitsBefore(preflights, plan, 'PersistentVolumeClaim', 'volumeattachments.storage.k8s.io');
		assert.equal(await stateOf(cluster, `${claims}/data`), 'present', 'it was never deleted');
		await personWith(cluster, 'unattached', [
			{ apiGroups: [''], resources: ['*'], verbs: ['*'] },
			{ apiGroups: ['*'], resources: ['*'], verbs: read },
		]);
		assert.equal((await preflights.session.ended(run, 300_000)).state, 'finished');
		await gone(cluster, `${claims}/data`);
	} finally {
		await preflights.stop();
	}
});

test('kind that cannot be listed by anybody is predicted to hold the namespace, and holds it', { ...options, skip: otherTurn(2) }, async (t) => {
	const unit = 'corrupt';
	await makeUnit(cluster, unit);
	await cluster.apply([definition('v1'), ware(unit, 'broken'), configMap(unit, 'web')]);
	const stored = `/registry/${group}/wares/${unit}/broken`;
	await cluster.overwrite(stored, 'garbage');
	t.after(() => cluster.erase(stored));
	await inForce('the corruption', () => cluster.request('admin', 'GET', wares(unit)), ({ status }) => status >= 400);
	const found = await preflight(cluster, unit);
	const [finding, ...others] = findings(found, unit, 'Namespace');
	assert.match(finding, /^refusal: wares.wares.example cannot be seen/);
	assert.deepEqual(others, []);
	assert.match(meaningOf(found, 'wares.wares.example'), /cannot prove that nothing of this kind is left/);
	assert.doesNotMatch(adviceOf(found, 'wares.wares.example'), /the right to list/);

	await accepted(cluster, namespaceOf(unit));
	assert.match(await whyItStays(unit, 'NamespaceDeletionContentFailure'), /invalid character 'g'/);
	await cluster.erase(stored);
	await gone(cluster, namespaceOf(unit));
});

test('definition whose objects cannot be listed is predicted to stay, and stays with its finalizer', { ...options, skip: otherTurn(3) }, async () => {
	const unit = 'relics';
	const name = `relics.${unit}.example`;
	const path = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${name}`;
	const { spec } = definition('v1');
	const names = { plural: 'relics', singular: 'relic', kind: 'Relic', listKind: 'RelicList' };
	await makeUnit(cluster, unit);
	await cluster.apply([
		{
			apiVersion: 'apiextensions.k8s.io/v1',
			kind: 'CustomResourceDefinition',
			metadata: { name, labels: labelsOf(unit) },
			spec: { ...spec, group: `${unit}.example`, names },
		},
		{ apiVersion: `${unit}.example/v1`, kind: 'Relic', metadata: { name: 'vase', namespace: unit, labels: labelsOf(unit) } },
	]);
	const stored = `/registry/${unit}.example/relics/${unit}/vase`;
	const preflights = await Preflights.open(cluster);
	try {
		const isPlanned = (/** @type {any} */ { steps }) => steps.some((/** @type {any} */ { object }) => object.name === name);
		const plan = await preflights.plan(unit, isPlanned);
		assert.deepEqual(findings(await preflights.check(plan), name), []);
		await cluster.overwrite(stored, 'garbage');
		const found = await preflights.until(async () => plan, (found) => findings(found, name).length > 0);
		const [finding, ...others] = findings(found, name);
		assert.match(finding, /^refusal: relics.relics.example cannot be seen/);
		assert.deepEqual(others, []);
		// A new plan leaves the definition out, and says why.
		const { kept } = await preflights.plan(unit, (plan) => !isPlanned(plan));
		const { reason } = kept.find((/** @type {any} */ { object }) => object.name === name);
		assert.equal(reason.hiddenUsers.resource, name);
	} finally {
		await preflights.stop();
	}

	await accepted(cluster, path);
	await cluster.until(
		'/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
		([it]) =>
			it.status.conditions.some(
				(/** @type {any} */ { type, reason }) => type === 'Terminating' && reason === 'InstanceDeletionFailed',
			),
		{ what: 'why the definition stays', within: 120_000, params: { fieldSelector: `metadata.name=${name}` } },
	);
	assert.equal(await stateOf(cluster, path), 'terminating');
	await cluster.erase(stored);
	const list = () => cluster.request('admin', 'GET', `/apis/${unit}.example/v1/relics`);
	await inForce('the repair', list, ({ status }) => status === 200);
	// Its controller looks again after a change.
	await cluster.request('admin', 'PATCH', path, { metadata: { annotations: { 'unwind.test/again': 'please' } } }, merge);
	await gone(cluster, path);
});

test('dead conversion webhook is a warning for what needs no conversion, and a refusal for what does', options, async (t) => {
	const unit = 'converted';
	await makeUnit(cluster, unit);
	await cluster.apply([definition('v1'), ware(unit, 'current')]);
	await inForce('the kind', () => cluster.request('admin', 'GET', wares(unit)), ({ status }) => status === 200);
	await cluster.apply([definition('v1', deadConverter)]);
	const why = 'cannot answer: Service guards/converter does not exist';
	const title = `The conversion webhook of CustomResourceDefinition wares.${group} ${why}`;
	const before = await preflight(cluster, unit);
	assert.deepEqual(findings(before, 'current', 'Ware'), [`warning: ${title}`]);
	assert.deepEqual(findings(before, unit, 'Namespace'), []);
	await accepted(cluster, wares(unit, 'current'));
	await gone(cluster, wares(unit, 'current'));

	// An object that is stored in the other version, as before an upgrade.
	const watching = await Preflights.open(cluster);
	t.after(() => watching.stop());
	await cluster.apply([definition('v1beta1')]);
	const create = (query = '') => cluster.request('admin', 'POST', `${wares(unit)}${query}`, ware(unit, 'old'));
	await inForce('the storage version', () => create('?dryRun=All'), ({ body }) => body.stored === 'v1beta1');
	assert.equal((await create()).status, 201);
	const { body } = await cluster.request('admin', 'GET', wares(unit, 'old'));
	assert.equal(body.apiVersion, `${group}/v1`);
	await watching.plan(unit, ({ steps }) => steps.some((/** @type {any} */ { object }) => object.name === 'old'));
	await cluster.apply([definition('v1beta1', deadConverter)]);
	await inForce('the dead converter', () => cluster.request('admin', 'GET', wares(unit, 'old')), ({ status }) => status === 500);

	const found = await preflight(cluster, unit);
	const [finding, ...others] = findings(found, unit, 'Namespace');
	assert.match(finding, /^refusal: wares.wares.example cannot be seen/);
	assert.deepEqual(others, []);
	assert.match(adviceOf(found, 'wares.wares.example'), /^Bring the conversion webhook of the kind back, /);
	// A program that had listed the object before says more about it.
	const answer = 'The API server would refuse the deletion';
	const earlier = await watching.until(
		() => watching.plan(unit),
		(found) => findings(found, 'old').some((it) => it.includes(answer)),
	);
	assert.deepEqual(findings(earlier, 'old'), [`refusal: ${answer}`, `warning: ${title}`]);
	assert.match(meaningOf(earlier, answer), /conversion webhook for wares.example\/v1beta1.* failed/);
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
