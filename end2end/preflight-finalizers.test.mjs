/**
 * Finalizers whose program is absent, not ready or unknown, on a real control plane: what the preflight says about an object, and
 * how its deletion then goes. The programs act only as their Pods, with their rights.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { start } from './cluster/cluster.mjs';
import { finishing } from './cluster/operator.mjs';
import {
	accepted,
	configMap,
	findings,
	gone,
	labelsOf,
	makeUnit,
	personWith,
	preflight,
	Preflights,
	stateOf,
} from './cluster/preflight.mjs';
import { runAsPods } from './cluster/program.mjs';
import { deployment, podTemplate, serviceAccount } from './cluster/sample/objects.mjs';
import * as queue from './cluster/sample/queue.mjs';

/** @type {import('./cluster/cluster.mjs').Cluster} */
let cluster;
/** Ends the operator of the queue. */
let endQueue = () => {};
before(async () => {
	cluster = await start({ programs: true });
	endQueue = await queue.install(cluster);
});
after(async () => {
	endQueue();
	await cluster?.stop();
});

const options = { timeout: 400_000 };
const merge = { 'content-type': 'application/merge-patch+json' };
const operator = `/apis/apps/v1/namespaces/${queue.unit}/deployments/${queue.finisher.name}`;
/** @param {string} name */
const topic = (name) => `${queue.topics.replace(/topics$/, `namespaces/${queue.unit}/topics`)}/${name}`;

/** Waits until a Deployment has so many ready Pods. @param {string} path @param {number} count */
async function scale(path, count) {
	await cluster.request('admin', 'PATCH', path, { spec: { replicas: count } }, merge);
	await cluster.until(
		'/apis/apps/v1/deployments',
		([it]) => (it?.status?.readyReplicas ?? 0) === count && it.status.observedGeneration === it.metadata.generation,
		{ what: `${count} ready`, within: 120_000, params: { fieldSelector: `metadata.name=${path.split('/').at(-1)}` } },
	);
}

/** Waits until the last Pod of the queue's operator has ended: until then it acts, although its Deployment counts it no more. */
const noPods = () =>
	cluster.until(`/api/v1/namespaces/${queue.unit}/pods`, (found) => found.length === 0, {
		what: 'the operator to end',
		within: 120_000,
		params: { labelSelector: `app.kubernetes.io/name=${queue.finisher.name}` },
	});

/**
 * Deletes an object that is predicted to stay, then one that is not, which goes: the first one stays.
 * @param {string} held @param {string} free
 */
async function stays(held, free) {
	await accepted(cluster, held);
	await accepted(cluster, free);
	await gone(cluster, free);
	assert.equal(await stateOf(cluster, held), 'terminating');
}

test('finalizer whose operator is ready is no finding for a user who sees it, and unknown to one who does not', options, async () => {
	assert.deepEqual(findings(await preflight(cluster, queue.unit), 'orders', 'Topic'), []);
	const read = ['get', 'list', 'watch'];
	const narrow = await personWith(cluster, 'narrow', [
		{ apiGroups: [''], resources: ['namespaces', 'configmaps', 'services', 'persistentvolumes', 'persistentvolumeclaims'], verbs: read },
		{ apiGroups: ['apiextensions.k8s.io', 'apiregistration.k8s.io', 'storage.k8s.io'], resources: ['*'], verbs: read },
		{ apiGroups: ['queue.example'], resources: ['topics'], verbs: [...read, 'delete'] },
	]);
	const [unchecked, finding, ...others] = findings(await preflight(narrow, queue.unit), 'orders', 'Topic');
	assert.match(unchecked, /^info: Not checked: mutatingwebhookconfigurations\S+, validatingwebhookconfigurations\S+ cannot be seen$/);
	assert.match(finding, /^warning: Whether anything clears the finalizer queue.example\/topic is not known: \S+ cannot be seen$/);
	assert.deepEqual(others, []);
	await cluster.apply([queue.spare]);
	await cluster.until(queue.topics, ([it]) => !!it?.metadata.finalizers, {
		what: 'its finalizer',
		params: { fieldSelector: `metadata.name=${queue.spare.metadata.name}` },
	});
	await accepted(cluster, topic(queue.spare.metadata.name));
	await gone(cluster, topic(queue.spare.metadata.name));
});

test('operator that is not ready is named, and its object stays until the operator is ready', options, async () => {
	await scale(operator, 0);
	await noPods();
	// Without the operator nobody gives it a finalizer.
	await cluster.apply([queue.spare]);
	const found = await preflight(cluster, queue.unit);
	assert.deepEqual(findings(found, 'orders', 'Topic'), [
		'refusal: Deployment queue/queue-operator clears the finalizer queue.example/topic and has no ready Pod',
	]);
	assert.deepEqual(findings(found, 'spare', 'Topic'), []);
	await stays(topic('orders'), topic('spare'));
	await scale(operator, 1);
	await gone(cluster, topic('orders'));
});

test('operator that was deleted while the program watched is named, and its object stays until it is installed again', options, async () => {
	await cluster.apply([{ ...queue.spare, metadata: { ...queue.spare.metadata, name: 'orders' } }]);
	await cluster.until(queue.topics, (found) => found.every(({ metadata }) => metadata.finalizers), { what: 'the finalizers' });
	const preflights = await Preflights.open(cluster);
	try {
		const has = (/** @type {any} */ { steps }) =>
			steps.some((/** @type {any} */ { object }) => object.kind === 'Deployment' && object.name === queue.finisher.name);
		assert.ok(has(await preflights.plan(queue.unit)));
		const { apiVersion, kind, metadata, spec } = (await cluster.request('admin', 'GET', operator)).body;
		const { name, namespace, labels } = metadata;
		await accepted(cluster, operator, { propagationPolicy: 'Foreground' });
		await gone(cluster, operator);
		await noPods();
		await cluster.apply([queue.spare]);
		const plan = await preflights.plan(
			queue.unit,
			(plan) => !has(plan) && plan.steps.some((/** @type {any} */ { object }) => object.name === 'spare'),
		);
		const found = await preflights.check(plan);
		const title = 'Nothing is left that clears the finalizer queue.example/topic';
		assert.deepEqual(findings(found, 'payments', 'Topic'), [`refusal: ${title}`]);
		const note = /** @type {any} */ (found.notes.find((note) => note.title === title));
		assert.match(note.whatToDo, /Deleted lately: Deployment queue\/queue-operator/);
		assert.deepEqual(findings(found, 'spare', 'Topic'), []);
		await stays(topic('payments'), topic('spare'));
		await cluster.apply([{ apiVersion, kind, metadata: { name, namespace, labels }, spec }]);
		await gone(cluster, topic('payments'));
	} finally {
		await preflights.stop();
	}
});

test('two programs that may clear a finalizer are a warning while neither is ready, and one that returns clears it', options, async () => {
	const unit = 'gadgets';
	const group = 'tools.example';
	const finalizer = `${group}/clean`;
	const apiGroup = 'rbac.authorization.k8s.io';
	await makeUnit(cluster, unit);
	await makeUnit(cluster, 'tools');
	/** @param {string} name */
	const program = (name) => [
		serviceAccount({ name, namespace: 'tools' }),
		{
			apiVersion: `${apiGroup}/v1`,
			kind: 'ClusterRoleBinding',
			metadata: { name },
			roleRef: { apiGroup, kind: 'ClusterRole', name: 'gadgets' },
			subjects: [{ kind: 'ServiceAccount', name, namespace: 'tools' }],
		},
		deployment(
			{ name, namespace: 'tools', labels: { app: name } },
			0,
			podTemplate({ app: name }, { serviceAccountName: name, containers: [{ name, image: `registry.example/${name}:1` }] }),
		),
	];
	await cluster.apply([
		{
			apiVersion: 'apiextensions.k8s.io/v1',
			kind: 'CustomResourceDefinition',
			metadata: { name: `gadgets.${group}` },
			spec: {
				group,
				scope: 'Namespaced',
				names: { plural: 'gadgets', singular: 'gadget', kind: 'Gadget', listKind: 'GadgetList' },
				versions: [
					{
						name: 'v1',
						served: true,
						storage: true,
						schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
					},
				],
			},
		},
		{
			apiVersion: `${apiGroup}/v1`,
			kind: 'ClusterRole',
			metadata: { name: 'gadgets' },
			rules: [{ apiGroups: [group], resources: ['gadgets'], verbs: ['get', 'list', 'watch', 'patch'] }],
		},
		...program('mender'),
		...program('cleaner'),
		...[['held', [finalizer]], ['free', []]].map(([name, finalizers]) => ({
			apiVersion: `${group}/v1`,
			kind: 'Gadget',
			metadata: { name, namespace: unit, labels: labelsOf(unit), finalizers },
		})),
	]);
	const path = `/apis/${group}/v1/namespaces/${unit}/gadgets`;
	const found = await preflight(cluster, unit);
	assert.deepEqual(findings(found, 'held'), [`warning: No program that may clear the finalizer ${finalizer} is ready`]);
	assert.deepEqual(findings(found, 'free'), []);
	await stays(`${path}/held`, `${path}/free`);
	const end = runAsPods(cluster, 'tools', 'app=cleaner', finishing({ collection: `/apis/${group}/v1/gadgets`, finalizer }));
	try {
		await scale('/apis/apps/v1/namespaces/tools/deployments/cleaner', 1);
		await gone(cluster, `${path}/held`);
	} finally {
		end();
	}
});

test('load balancer whose cloud controller cannot be seen is unpredicted, and stays where there is none', async () => {
	const unit = 'balanced';
	await makeUnit(cluster, unit);
	await cluster.apply([
		{
			apiVersion: 'v1',
			kind: 'Service',
			metadata: { name: 'web', namespace: unit, labels: labelsOf(unit), finalizers: ['service.kubernetes.io/load-balancer-cleanup'] },
			spec: { type: 'LoadBalancer', ports: [{ port: 80 }], selector: { app: 'web' } },
		},
		configMap(unit, 'free'),
	]);
	const found = await preflight(cluster, unit);
	assert.deepEqual(findings(found, 'web'), ['info: Whether a cloud controller runs is not known']);
	assert.deepEqual(findings(found, 'free'), []);
	await stays(`/api/v1/namespaces/${unit}/services/web`, `/api/v1/namespaces/${unit}/configmaps/free`);
});

test('object that is being deleted already is predicted to wait, and another DELETE changes nothing', options, async () => {
	const unit = 'waiting';
	const finalizer = 'example.com/clean-up';
	await makeUnit(cluster, unit);
	await cluster.apply([configMap(unit, 'held', { finalizers: [finalizer] }), configMap(unit, 'free')]);
	const path = `/api/v1/namespaces/${unit}/configmaps`;
	await accepted(cluster, `${path}/held`);
	const preflights = await Preflights.open(cluster);
	try {
		// A deletion is late only after a while, and then there is a diagnosis.
		const isDiagnosed = (/** @type {import('./cluster/preflight.mjs').Found} */ found) =>
			findings(found, 'held').some((it) => it.includes('Already being deleted'));
		const found = await preflights.until(() => preflights.plan(unit), isDiagnosed);
		const waits = findings(found, 'held').filter((it) => it.includes('Already being deleted'));
		assert.equal(waits.length, 1, JSON.stringify(found.notes));
		assert.match(waits[0], /and waiting\. .*example\.com\/clean-up/);
		assert.deepEqual(findings(found, 'free'), []);
		await stays(`${path}/held`, `${path}/free`);
		await cluster.request('admin', 'PATCH', `${path}/held`, { metadata: { finalizers: [] } }, merge);
		await gone(cluster, `${path}/held`);
	} finally {
		await preflights.stop();
	}
});
