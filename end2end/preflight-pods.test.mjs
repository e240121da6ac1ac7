/**
 * Pods on nodes that do not end them, drivers that are missing or not ready, Jobs of another controller and disruption budgets, on
 * a real control plane: what the preflight says, and how the deletion then goes. What only a kubelet does is done by the kubelet
 * of `cluster/kubelet`.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { finalizer as attacherFinalizer } from './cluster/attacher.mjs';
import { start } from './cluster/cluster.mjs';
import { cases, objectsOf, podName } from './cluster/kubelet/cases.mjs';
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
import { driver, finalizer as provisionerFinalizer, startProvisioner } from './cluster/provisioner.mjs';
import {
	claim,
	claimSpec,
	csiDriver,
	deployment,
	disruptionBudget,
	podTemplate,
	service,
	serviceAccount,
	storageClass,
} from './cluster/sample/objects.mjs';

/** @typedef {import('./cluster/client.mjs').KubeObject} KubeObject */

/** @type {import('./cluster/cluster.mjs').Cluster} */
let cluster;
/**
 * Starts with the first test that needs it: its Node has the driver registered.
 * @type {import('./cluster/kubelet.mjs').RealKubelet|undefined}
 */
let kubelet;
before(async () => {
	cluster = await start({ programs: true });
});
after(() => cluster?.stop());

const options = { timeout: 400_000 };
const onLinux = { ...options, skip: process.platform !== 'linux' && 'a kubelet runs on Linux only' };
const within = 120_000;
const merge = { 'content-type': 'application/merge-patch+json' };
/** @param {string} name */
const only = (name) => ({ within, params: { fieldSelector: `metadata.name=${name}` } });
/** @param {string} unit @param {string} [name] */
const pods = (unit, name) => `/api/v1/namespaces/${unit}/pods${name ? `/${name}` : ''}`;

/**
 * A Pod that stays on its node when that is silent: without its toleration it would be evicted after 3 s.
 * @param {string} unit @param {string} name @param {KubeObject} spec @param {KubeObject} [metadata]
 */
const pod = (unit, name, spec, { labels, ...metadata } = {}) => ({
	apiVersion: 'v1',
	kind: 'Pod',
	metadata: { name, namespace: unit, labels: { ...labelsOf(unit), ...labels }, ...metadata },
	spec: {
		terminationGracePeriodSeconds: 1,
		tolerations: [{ operator: 'Exists' }],
		containers: [{ name: 'main', image: 'registry.example/main:1' }],
		...spec,
	},
});

/** @param {string} unit @param {number} count */
const running = (unit, count) =>
	cluster.until(pods(unit), (found) => found.filter(({ status }) => status?.phase === 'Running').length === count, {
		what: `${count} running Pods`,
		within,
	});

/** Waits until a node has a status of the condition Ready. @param {string} name @param {string} status */
const ready = (name, status) =>
	cluster.until(
		'/api/v1/nodes',
		([it]) => it?.status.conditions.some((/** @type {any} */ each) => each.type === 'Ready' && each.status === status),
		{ what: `${name} to be Ready=${status}`, ...only(name) },
	);

/**
 * Deletes a Pod that is predicted to stay, then one that is not, which goes: the first one stays.
 * @param {string} unit @param {string} held @param {string} free
 */
async function stays(unit, held, free) {
	await accepted(cluster, pods(unit, held));
	await accepted(cluster, pods(unit, free));
	await gone(cluster, pods(unit, free));
	assert.equal(await stateOf(cluster, pods(unit, held)), 'terminating');
}

/**
 * Stands in for the kubelet of a node whose container runtime is down: it ends no Pods, says that the node is not ready, and
 * renews its lease, until the returned function is called.
 * @param {string} node @returns {Promise<() => Promise<void>>}
 */
async function withoutRuntime(node) {
	await cluster.stopKubelet(node);
	const lease = `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${node}`;
	const end = new AbortController();
	const beat = async () => {
		const now = new Date().toISOString();
		const condition = {
			type: 'Ready',
			status: 'False',
			reason: 'KubeletNotReady',
			message: 'container runtime is down',
			lastHeartbeatTime: now,
			lastTransitionTime: now,
		};
		const renewTime = now.replace('Z', '000Z');
		await cluster.request('system:kwok', 'PATCH', lease, { spec: { renewTime } }, merge);
		await cluster.request('system:kwok', 'PATCH', `/api/v1/nodes/${node}/status`, { status: { conditions: [condition] } }, {
			'content-type': 'application/strategic-merge-patch+json',
		});
	};
	const beats = async () => {
		while (!end.signal.aborted) {
			await beat();
			await sleep(1_000, undefined, { signal: end.signal }).catch(() => {});
		}
	};
	const beating = beats();
	await ready(node, 'False');
	return async () => {
		end.abort();
		await beating;
		await cluster.startKubelet(node);
	};
}

/** The groups beside the core one whose objects a preflight looks at. */
const otherGroups = [
	'apps',
	'batch',
	'policy',
	'storage.k8s.io',
	'apiextensions.k8s.io',
	'apiregistration.k8s.io',
	'admissionregistration.k8s.io',
	'rbac.authorization.k8s.io',
];

/** The node with a real kubelet. */
const realKubelet = async () => (kubelet ??= await cluster.startRealKubelet('node-k'));

/** Creates the Pod of a recorded case as a unit. @param {string} name of the case @param {string} [unit] @returns {Promise<KubeObject>} the Pod, running */
async function run(name, unit = name) {
	const recorded = cases.find((it) => it.name === name);
	assert.ok(recorded);
	await makeUnit(cluster, unit);
	const objects = objectsOf(recorded, unit, await realKubelet());
	await cluster.apply(objects.map((it) => ({ ...it, metadata: { ...it.metadata, labels: labelsOf(unit) } })));
	const [found] = await running(unit, 1);
	return found;
}

test('Pod on a silent node is predicted to stay, and goes once the node is back', options, async () => {
	const unit = 'silent';
	await makeUnit(cluster, unit);
	await cluster.apply([pod(unit, 'held', { nodeName: 'node-a' }), pod(unit, 'free', { nodeName: 'node-b' })]);
	await running(unit, 2);
	assert.deepEqual(findings(await preflight(cluster, unit), 'held'), []);
	await cluster.stopKubelet('node-a');
	await ready('node-a', 'Unknown');
	const found = await preflight(cluster, unit);
	assert.deepEqual(findings(found, 'held'), ['refusal: Node node-a has stopped reporting']);
	assert.deepEqual(findings(found, 'free'), []);
	// Without the right to see nodes the silence is not known, and that is said.
	const volumes = ['persistentvolumeclaims', 'persistentvolumes'];
	const known = ['namespaces', 'pods', 'configmaps', 'secrets', 'serviceaccounts', 'services', ...volumes];
	const nodeless = await personWith(cluster, 'nodeless', [
		{ apiGroups: [''], resources: known, verbs: ['*'] },
		...otherGroups.map((group) => ({ apiGroups: [group], resources: ['*'], verbs: ['get', 'list', 'watch'] })),
	]);
	const blind = await preflight(nodeless, unit);
	for (const name of ['held', 'free']) assert.deepEqual(findings(blind, name), ['info: Not checked: nodes cannot be seen']);
	await stays(unit, 'held', 'free');
	await cluster.startKubelet('node-a');
	await gone(cluster, pods(unit, 'held'));
});

test('Pod on a node that says it is not ready may stay, and stays until the node is ready', options, async () => {
	const unit = 'unready';
	await makeUnit(cluster, unit);
	await cluster.apply([pod(unit, 'held', { nodeName: 'node-c' }), pod(unit, 'free', { nodeName: 'node-b' })]);
	await running(unit, 2);
	const repair = await withoutRuntime('node-c');
	try {
		const found = await preflight(cluster, unit);
		assert.deepEqual(findings(found, 'held'), ['warning: Node node-c is not ready']);
		assert.deepEqual(findings(found, 'free'), []);
		await stays(unit, 'held', 'free');
	} finally {
		await repair();
	}
	await gone(cluster, pods(unit, 'held'));
});

test('application about which nothing is found is torn down to its end', options, async () => {
	const unit = 'sound';
	const part = (/** @type {string} */ name) => ({ name, namespace: unit, labels: { ...labelsOf(unit), app: name } });
	await makeUnit(cluster, unit);
	await cluster.apply([
		storageClass({ name: unit }, driver, 'Delete'),
		csiDriver({ name: driver }),
		claim(part('data'), claimSpec(unit, '1Gi', 'ReadWriteOnce')),
		configMap(unit, 'settings'),
		service(part('web'), 80),
		deployment(
			part('web'),
			2,
			podTemplate(part('web').labels, {
				containers: [{ name: 'web', image: 'registry.example/web:1', envFrom: [{ configMapRef: { name: 'settings' } }] }],
				volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }],
			}),
		),
	]);
	await running(unit, 2);
	const preflights = await Preflights.open(cluster);
	try {
		const found = await preflights.check(await preflights.plan(unit));
		assert.deepEqual(found.notes, []);
		assert.ok(found.checked >= 5 && found.checked === found.total, `${found.checked} of ${found.total}`);
		const { run } = await preflights.session.start(unit);
		assert.equal((await preflights.session.ended(run, within)).state, 'finished');
		assert.equal(await stateOf(cluster, `/api/v1/namespaces/${unit}`), 'gone');
	} finally {
		await preflights.stop();
	}
});

test('volume whose driver is not installed may stay, and stays with its attachment until the driver is back', options, async () => {
	const unit = 'driverless';
	await makeUnit(cluster, unit);
	await cluster.apply([
		storageClass({ name: unit }, driver, 'Delete'),
		csiDriver({ name: driver }),
		claim({ name: 'data', namespace: unit, labels: labelsOf(unit) }, claimSpec(unit, '1Gi', 'ReadWriteOnce')),
		pod(unit, 'writer', {
			nodeName: 'node-b',
			volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }],
		}),
	]);
	const attachments = '/apis/storage.k8s.io/v1/volumeattachments';
	const [{ metadata, spec }] = await cluster.until(attachments, ([it]) => it?.status?.attached, { what: 'the attachment', within });
	const volume = spec.source.persistentVolumeName;
	await running(unit, 1);
	assert.deepEqual(findings(await preflight(cluster, unit), volume), []);
	cluster.provisioner.stop();
	cluster.attacher.stop();
	await accepted(cluster, `/apis/storage.k8s.io/v1/csidrivers/${driver}`);

	const found = await preflight(cluster, unit);
	assert.deepEqual(findings(found, volume), [`warning: The driver ${driver} is not installed`]);
	assert.deepEqual(findings(found, 'writer'), []);
	await accepted(cluster, pods(unit, 'writer'));
	await gone(cluster, pods(unit, 'writer'));
	const claims = `/api/v1/namespaces/${unit}/persistentvolumeclaims/data`;
	await accepted(cluster, claims);
	await gone(cluster, claims);
	await cluster.until(attachments, ([it]) => !!it?.metadata.deletionTimestamp, {
		what: 'the attachment to wait for the driver',
		...only(metadata.name),
	});
	const [released] = await cluster.until('/api/v1/persistentvolumes', ([it]) => it?.status.phase === 'Released', {
		what: 'the volume to be released',
		...only(volume),
	});
	assert.ok(released.metadata.finalizers.includes(provisionerFinalizer));

	cluster.startAttacher();
	await gone(cluster, `${attachments}/${metadata.name}`);
	cluster.startProvisioner();
	await gone(cluster, `/api/v1/persistentvolumes/${volume}`);
});

test('controller of a CSI driver that is not ready is predicted to leave a volume behind, until it is back', options, async (t) => {
	const unit = 'idle';
	const apiGroup = 'rbac.authorization.k8s.io';
	const name = 'unwind-csi-controller';
	await makeUnit(cluster, unit);
	await makeUnit(cluster, 'csi');
	// The driver acts only as its Pod, with the rights of its account.
	cluster.provisioner.stop();
	const end = runAsPods(cluster, 'csi', 'app.kubernetes.io/instance=csi-release', ({ client }) => {
		const provisioner = startProvisioner(client, () => {});
		return () => provisioner.stop();
	});
	t.after(() => {
		end();
		cluster.startProvisioner();
	});
	// One release: that makes the Deployment the driver's own.
	const labels = { 'app.kubernetes.io/instance': 'csi-release' };
	const read = ['get', 'list', 'watch'];
	const verbs = ['get', 'list', 'watch', 'create', 'delete', 'patch', 'update'];
	await cluster.apply([
		storageClass({ name: unit }, driver, 'Delete'),
		csiDriver({ name: driver, labels }),
		serviceAccount({ name, namespace: 'csi', labels }),
		{
			apiVersion: `${apiGroup}/v1`,
			kind: 'ClusterRole',
			metadata: { name },
			rules: [
				{ apiGroups: [''], resources: ['persistentvolumes'], verbs },
				{ apiGroups: [''], resources: ['persistentvolumeclaims'], verbs: read },
				{ apiGroups: ['storage.k8s.io'], resources: ['storageclasses'], verbs: read },
				{ apiGroups: ['storage.k8s.io'], resources: ['volumeattachments'], verbs },
			],
		},
		{
			apiVersion: `${apiGroup}/v1`,
			kind: 'ClusterRoleBinding',
			metadata: { name },
			roleRef: { apiGroup, kind: 'ClusterRole', name },
			subjects: [{ kind: 'ServiceAccount', name, namespace: 'csi' }],
		},
		deployment(
			{ name, namespace: 'csi', labels },
			1,
			podTemplate(labels, { serviceAccountName: name, containers: [{ name, image: 'registry.example/csi:1' }] }),
		),
		claim({ name: 'data', namespace: unit, labels: labelsOf(unit) }, claimSpec(unit, '1Gi', 'ReadWriteOnce')),
	]);
	const deployments = '/apis/apps/v1/namespaces/csi/deployments';
	/** @param {number} replicas */
	const scale = async (replicas) => {
		const { status } = await cluster.request('admin', 'PATCH', `${deployments}/${name}`, { spec: { replicas } }, merge);
		assert.equal(status, 200);
		await running('csi', replicas);
		await cluster.until(deployments, ([it]) => (it?.status?.readyReplicas ?? 0) === replicas, {
			what: `${replicas} ready Pods of ${name}`,
			...only(name),
		});
	};
	const claims = `/api/v1/namespaces/${unit}/persistentvolumeclaims`;
	const [{ spec }] = await cluster.until(claims, ([it]) => it?.status?.phase === 'Bound', { what: 'the claim to be bound', within });
	const volume = spec.volumeName;
	assert.deepEqual(findings(await preflight(cluster, unit), volume), []);
	await scale(0);
	const found = await preflight(cluster, unit);
	assert.deepEqual(findings(found, volume), [
		`refusal: Deployment csi/${name} clears the finalizer ${provisionerFinalizer} and has no ready Pod`,
	]);
	assert.deepEqual(findings(found, 'data'), []);
	await accepted(cluster, `${claims}/data`);
	await gone(cluster, `${claims}/data`);
	await cluster.until('/api/v1/persistentvolumes', ([it]) => it?.status.phase === 'Released', {
		what: 'the volume to be released',
		...only(volume),
	});
	await scale(1);
	await gone(cluster, `/api/v1/persistentvolumes/${volume}`);
});

test('kept volume with the finalizer of an attacher that is not installed may stay, and stays until it is back', options, async () => {
	const unit = 'unattached';
	const path = '/api/v1/persistentvolumes/static';
	await makeUnit(cluster, unit);
	cluster.attacher.stop();
	await cluster.request('admin', 'DELETE', `/apis/storage.k8s.io/v1/csidrivers/${driver}`);
	await cluster.apply([
		{
			apiVersion: 'v1',
			kind: 'PersistentVolume',
			metadata: { name: 'static', labels: labelsOf(unit), finalizers: [attacherFinalizer] },
			spec: {
				capacity: { storage: '1Gi' },
				accessModes: ['ReadWriteOnce'],
				storageClassName: 'static',
				persistentVolumeReclaimPolicy: 'Retain',
				csi: { driver, volumeHandle: 'static' },
			},
		},
	]);
	const found = await preflight(cluster, unit);
	assert.deepEqual(findings(found, 'static'), [`warning: The driver ${driver} is not installed`]);
	await accepted(cluster, path);
	const [held] = await cluster.until('/api/v1/persistentvolumes', ([it]) => it?.metadata.finalizers.length === 1, {
		what: 'the other finalizer to go',
		...only('static'),
	});
	assert.deepEqual(held.metadata.finalizers, [attacherFinalizer]);
	assert.equal(await stateOf(cluster, path), 'terminating');
	cluster.startAttacher();
	await gone(cluster, path);
});

test('disruption budget is information: it refuses the eviction, and not the DELETE', options, async () => {
	const unit = 'budget';
	await makeUnit(cluster, unit);
	const budget = disruptionBudget({ name: 'guard', namespace: unit, labels: { app: unit } });
	await cluster.apply([
		pod(unit, 'only', { nodeName: 'node-b' }, { labels: { app: unit } }),
		{ ...budget, spec: { minAvailable: 1, selector: budget.spec.selector } },
	]);
	await running(unit, 1);
	await cluster.until('/apis/policy/v1/poddisruptionbudgets', ([it]) => it?.status?.currentHealthy === 1, {
		what: 'the budget to count the Pod',
		...only('guard'),
	});
	const found = await preflight(cluster, unit);
	assert.deepEqual(findings(found, 'guard'), ['info: Disruption budgets do not hold a teardown']);
	assert.deepEqual(findings(found, 'only'), []);
	const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'only', namespace: unit } };
	const evicted = await cluster.request('admin', 'POST', `${pods(unit, 'only')}/eviction`, eviction);
	assert.equal(evicted.status, 429);
	await accepted(cluster, pods(unit, 'only'));
	await gone(cluster, pods(unit, 'only'));
});

test('Pods of a Job that another controller manages stay until the Job is gone, as the preflight says', options, async () => {
	const unit = 'managed';
	const manager = 'queue.example/controller';
	const tracking = 'batch.kubernetes.io/job-tracking';
	await makeUnit(cluster, unit);
	const jobs = `/apis/batch/v1/namespaces/${unit}/jobs`;
	const created = await cluster.request('admin', 'POST', jobs, {
		apiVersion: 'batch/v1',
		kind: 'Job',
		metadata: { name: 'night', namespace: unit, labels: labelsOf(unit) },
		spec: {
			managedBy: manager,
			template: { spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'registry.example/night:1' }] } },
		},
	});
	assert.equal(created.status, 201, created.body.message);
	const { uid } = created.body.metadata;
	// The other controller made this Pod, and does not run any more.
	const ownerReferences = [{ apiVersion: 'batch/v1', kind: 'Job', name: 'night', uid, controller: true, blockOwnerDeletion: true }];
	const labels = { 'batch.kubernetes.io/controller-uid': uid, 'batch.kubernetes.io/job-name': 'night' };
	await cluster.apply([
		pod(unit, 'held', { nodeName: 'node-b', restartPolicy: 'Never' }, { ownerReferences, labels, finalizers: [tracking] }),
		pod(unit, 'free', { nodeName: 'node-b' }),
	]);
	await running(unit, 2);
	const found = await preflight(cluster, unit);
	assert.deepEqual(findings(found, 'night'), [`info: Jobs that are left to the controller ${manager}`]);
	await stays(unit, 'held', 'free');
	await accepted(cluster, `${jobs}/night`, { propagationPolicy: 'Background' });
	await gone(cluster, pods(unit, 'held'));
});

test('Pod whose driver is not registered on its node is predicted to stay, and goes once it is', onLinux, async () => {
	const unit = 'csi-unregistered';
	const { spec } = await run(unit);
	const kubelet = await realKubelet();
	const registered = (/** @type {boolean} */ wanted) =>
		cluster.until(
			'/apis/storage.k8s.io/v1/csinodes',
			([it]) => it && (it.spec.drivers ?? []).some((/** @type {any} */ { name }) => name === driver) === wanted,
			{ what: `the driver to be ${wanted ? '' : 'un'}registered`, ...only(spec.nodeName) },
		);
	await registered(true);
	assert.deepEqual(findings(await preflight(cluster, unit), podName), []);
	await cluster.apply([pod(unit, 'free', { nodeName: spec.nodeName })]);
	await running(unit, 2);
	await kubelet.fail('node', 'unregistered');
	await registered(false);
	const found = await preflight(cluster, unit);
	assert.deepEqual(findings(found, podName), [`refusal: The driver ${driver} is not registered on node ${spec.nodeName}`]);
	assert.deepEqual(findings(found, 'free'), []);
	await accepted(cluster, pods(unit, podName));
	await cluster.until(pods(unit), ([it]) => it?.status.phase === 'Failed', { what: 'its containers to end', ...only(podName) });
	await stays(unit, podName, 'free');
	await kubelet.repair('node');
	await registered(true);
	await gone(cluster, pods(unit, podName));
});

test('Pod whose driver has a Pod on its node that is not ready may stay, and stays until the driver answers', onLinux, async () => {
	const [unit, system] = ['csi-unready', 'csi-unready-system'];
	const { spec } = await run('csi-unregistered', unit);
	const kubelet = await realKubelet();
	const labels = { app: 'csi-node' };
	const daemonSets = `/apis/apps/v1/namespaces/${system}/daemonsets`;
	await cluster.apply([
		{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: system } },
		{
			apiVersion: 'apps/v1',
			kind: 'DaemonSet',
			metadata: { name: 'csi-node', namespace: system },
			spec: {
				selector: { matchLabels: labels },
				template: {
					metadata: { labels },
					spec: {
						terminationGracePeriodSeconds: 1,
						affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: [spec.nodeName] }] }] } } },
						tolerations: [{ operator: 'Exists' }],
						containers: [{ name: 'driver', image: 'registry.example/driver:1' }],
						// Nobody meets it: the Pod runs and is never ready, as one whose driver crashes.
						readinessGates: [{ conditionType: 'unwind.test/answers' }],
						volumes: [{ name: 'plugin', hostPath: { path: `/var/lib/kubelet/plugins/${driver}` } }],
					},
				},
			},
		},
	]);
	try {
		await running(system, 1);
		const { body } = await cluster.request('admin', 'GET', pods(system));
		const plugin = body.items[0].metadata.name;
		await cluster.apply([pod(unit, 'free', { nodeName: spec.nodeName })]);
		await running(unit, 2);
		await kubelet.fail('node', 'unavailable');
		const found = await preflight(cluster, unit);
		const unready = `Pod ${system}/${plugin} of the driver ${driver} is not ready on node ${spec.nodeName}`;
		assert.deepEqual(findings(found, podName), [`warning: ${unready}`]);
		assert.deepEqual(findings(found, 'free'), []);
		await accepted(cluster, pods(unit, podName));
		await cluster.until(pods(unit), ([it]) => it?.status.phase === 'Failed', { what: 'its containers to end', ...only(podName) });
		await stays(unit, podName, 'free');
		await kubelet.repair('node');
		await gone(cluster, pods(unit, podName));
	} finally {
		await kubelet.repair('node');
		await accepted(cluster, `${daemonSets}/csi-node`);
		await cluster.until(pods(system), (left) => left.length === 0, { what: 'the driver to be gone', within });
	}
});

test('Pod whose claim is gone may stay, and stays while its mount is stale', onLinux, async () => {
	const unit = 'stale';
	const found = await run(unit);
	const kubelet = await realKubelet();
	const claims = `/api/v1/namespaces/${unit}/persistentvolumeclaims/data`;
	await cluster.apply([pod(unit, 'free', { nodeName: found.spec.nodeName })]);
	await running(unit, 2);
	// Somebody takes the claim away by force, and with it goes the export.
	await accepted(cluster, claims);
	await cluster.request('admin', 'PATCH', claims, { metadata: { finalizers: [] } }, merge);
	await gone(cluster, claims);
	await kubelet.fail(found, 'stale');
	const predicted = await preflight(cluster, unit);
	const [finding, ...others] = findings(predicted, podName);
	assert.match(finding, /^warning: PersistentVolumeClaim stale\/data does not exist any more, and Pods mount it$/);
	assert.deepEqual(others, []);
	assert.deepEqual(findings(predicted, 'free'), []);
	await accepted(cluster, pods(unit, podName));
	await cluster.until(pods(unit), ([it]) => it?.status.phase === 'Failed', { what: 'its containers to end', ...only(podName) });
	await stays(unit, podName, 'free');
	await kubelet.repair(found);
	await gone(cluster, pods(unit, podName));
});

test('static Pod is predicted to stay, and is there again under another UID after a DELETE', options, async () => {
	const unit = 'static';
	const node = 'node-a';
	await makeUnit(cluster, unit);
	const { uid } = (await cluster.request('admin', 'GET', `/api/v1/nodes/${node}`)).body.metadata;
	const source = { 'kubernetes.io/config.source': 'file', 'kubernetes.io/config.hash': 'f1', 'kubernetes.io/config.mirror': 'f1' };
	const mirror = pod(unit, `proxy-${node}`, { nodeName: node }, {
		annotations: source,
		ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: node, uid, controller: true }],
	});
	const { name } = mirror.metadata;
	const free = pod(unit, 'free', { nodeName: node });
	await cluster.apply([mirror, free]);
	const [before] = (await running(unit, 2)).filter(({ metadata }) => metadata.name === name);
	const stay = [`info: Static Pods of node ${node} stay`];
	const found = await preflight(cluster, unit);
	assert.deepEqual(findings(found, name), stay);
	assert.deepEqual(findings(found, 'free'), []);
	for (const each of [name, 'free']) {
		await accepted(cluster, pods(unit, each));
		await gone(cluster, pods(unit, each));
	}
	// The part of a kubelet that still has the file: `mirror_client.go` creates the Pod again.
	await cluster.apply([mirror, free]);
	const [again] = (await running(unit, 2)).filter(({ metadata }) => metadata.name === name);
	assert.notEqual(again.metadata.uid, before.metadata.uid);
	assert.deepEqual(findings(await preflight(cluster, unit), name), stay);
});
