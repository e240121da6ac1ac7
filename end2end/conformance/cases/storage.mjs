/**
 * Claims and volumes: binding, protection, reclaim, attachment.
 */
import { bareNode, withHeartbeat } from '../bare-node.mjs';
import {
	claim,
	completing,
	held,
	pod,
	storageClass,
	unplacedPod,
	using,
	volume,
	volumeAttributesClass,
} from '../objects.mjs';
import { define } from '../suite.mjs';

/** @typedef {import('../test-context.mjs').TestContext} TestContext */

const hold = 'unwind.test/hold';
const free = { metadata: { finalizers: null } };
const fields = ['status.phase', 'spec.volumeName'];
const volumeFields = ['status.phase', 'spec.persistentVolumeReclaimPolicy', 'spec.claimRef.name'];

/** @param {string} phase */
const is = (phase) => (/** @type {any} */ one) => one?.status?.phase === phase;
/** @param {any} one */
const running = is('Running');

/** A claim bound to a static volume. @param {TestContext} t @param {Record<string, any>} [spec] of the volume */
async function noFaultInjector(t, spec = {}) {
	const name = t.name('pv');
	await t.create(volume(name, { persistentVolumeReclaimPolicy: 'Retain', ...spec }), { unrecorded: true });
	await t.create(claim('data', name), { unrecorded: true });
	await t.until('persistentvolumeclaims/data', 'is Bound', is('Bound'), { fields });
	return name;
}

/** A claim with a provisioned volume. @param {TestContext} t @param {Record<string, any>} [rest] of the class */
async function provisioned(t, rest = {}) {
	const name = t.name('class');
	await t.create(storageClass(name, rest), { unrecorded: true });
	await t.create(claim('data', name), { unrecorded: true });
	const { spec } = await t.until('persistentvolumeclaims/data', 'is Bound', is('Bound'), { fields: ['status.phase'] });
	await t.until(`persistentvolumes/${spec.volumeName}`, 'is Bound', is('Bound'), { fields: volumeFields });
	return spec.volumeName;
}

const onBareNode = { tolerations: [{ operator: 'Exists' }] };

/**
 * A bare node on which the controller attaches and detaches volumes.
 * @param {TestContext} t @param {string} name
 */
const attachingNode = (t, name) =>
	bareNode(t, name, { 'volumes.kubernetes.io/controller-managed-attach-detach': 'true' });

/**
 * Waits until a volume is attached to exactly these nodes. @param {TestContext} t @param {string} volume
 * @param {string[]} nodes by their names
 */
const attachedTo = (t, volume, ...nodes) =>
	t.until(
		'volumeattachments',
		`it is attached to ${nodes.length}`,
		(all) => {
			const of = all.filter(isOf(volume));
			const attached = of.filter(({ status }) => status?.attached).map(({ spec }) => spec.nodeName);
			return of.length === nodes.length && nodes.every((node) => attached.includes(node));
		},
		{ unrecorded: true },
	);

/** @param {string} volume */
const isOf = (volume) => (/** @type {any} */ attachment) => attachment.spec.source.persistentVolumeName === volume;
/** @param {any} attachment */
const howAttached = ({ status, metadata }) => [status, metadata.deletionTimestamp ? 'terminating' : 'stays'];

/**
 * A volume that a node still has mounted although its Pod is gone. Another volume was unmounted and is detached: the controller
 * processes all volumes in one pass, so it has seen this one. @param {TestContext} t @param {string} node
 */
async function stillMounted(t, node) {
	const used = await provisioned(t);
	await t.create(claim('idle', t.name('class')), { unrecorded: true });
	const { spec } = await t.until('persistentvolumeclaims/idle', 'is Bound', is('Bound'), { unrecorded: true });
	const idle = spec.volumeName;
	await t.create(pod('p', {}, { nodeName: node, ...onBareNode, ...using('data') }), { unrecorded: true });
	await t.create(pod('q', {}, { nodeName: node, ...onBareNode, ...using('idle') }), { unrecorded: true });
	await attachedTo(t, used, node);
	await attachedTo(t, idle, node);
	await hasMounted(t, node, used, idle);
	for (const name of ['p', 'q']) await t.delete(`pods/${name}`, { gracePeriodSeconds: 0 }, { unrecorded: true });
	await t.gone('pods/p', 'pods/q');
	await hasMounted(t, node, used);
	await attachedTo(t, idle);
	return used;
}

/** Deletes the nodes, because many unhealthy nodes change how the controller treats others. @param {TestContext} t @param {string[]} nodes */
async function deleteNodes(t, ...nodes) {
	for (const node of nodes) await t.delete(`nodes/${node}`, undefined, { unrecorded: true });
}

/** Writes the volumes in use that a kubelet would report. @param {TestContext} t @param {string} node @param {string[]} volumes */
async function hasMounted(t, node, ...volumes) {
	const inUse = [];
	for (const volume of volumes) {
		const { body } = await t.get(`persistentvolumes/${volume}`, { unrecorded: true });
		inUse.push(`kubernetes.io/csi/${body.spec.csi.driver}^${body.spec.csi.volumeHandle}`);
	}
	await t.patch(`nodes/${node}/status`, 'merge', { status: { volumesInUse: inUse } }, { unrecorded: true });
}

export default [
	define('claim-binds-static', 'A claim is bound to a volume of its class', async (t) => {
		const name = t.name('pv');
		await t.create(volume(name), { fields: volumeFields });
		await t.until(`persistentvolumes/${name}`, 'is Available', is('Available'), { fields: volumeFields });
		await t.create(claim('data', name), { fields });
		await t.until('persistentvolumeclaims/data', 'is Bound', is('Bound'), {
			fields: [...fields, 'metadata.annotations', 'status.capacity'],
		});
		await t.until(`persistentvolumes/${name}`, 'is Bound', is('Bound'), { fields: volumeFields });
	}),
	define('claim-binds-reserved', 'A volume that is reserved for a claim waits for it', async (t) => {
		const name = t.name('pv');
		await t.create(volume(name, { claimRef: { namespace: t.ns, name: 'data' } }), { fields: volumeFields });
		await t.create(claim('data', name, {}, { volumeName: name }));
		await t.until('persistentvolumeclaims/data', 'is Bound', is('Bound'), { fields });
	}),
	define('claim-pending', 'A claim without a volume is Pending and protected, and goes at once', async (t) => {
		await t.create(claim('data', t.name('nothing')), { fields });
		await t.until('persistentvolumeclaims/data', 'is Pending', is('Pending'), { fields });
		await t.delete('persistentvolumeclaims/data');
		await t.gone('persistentvolumeclaims/data');
	}),
	define('claim-too-small', 'A claim is not bound to a volume that is too small', async (t) => {
		const name = t.name('pv');
		await t.create(volume(name), { unrecorded: true });
		await t.create(claim('big', name, {}, { resources: { requests: { storage: '10Gi' } } }), { unrecorded: true });
		await t.create(claim('fits', name), { unrecorded: true });
		await t.until('persistentvolumeclaims/fits', 'is Bound', is('Bound'), { fields });
		await t.get('persistentvolumeclaims/big', { fields });
	}),
	define(
		'claim-in-use',
		'§3 V1 §8 R-S1 A claim that a Pod uses is held by pvc-protection and stays Bound',
		async (t) => {
			const name = await noFaultInjector(t);
			await t.create(pod('p', held, using('data')), { unrecorded: true });
			await t.until('pods/p', 'runs', running, { unrecorded: true });
			await t.delete('persistentvolumeclaims/data', undefined, { fields });
			await t.get('persistentvolumeclaims/data', { fields });
			await t.delete('pods/p');
			await t.get('persistentvolumeclaims/data', { fields });
			await t.annotate('p', hold, null);
			await t.gone('pods/p', 'persistentvolumeclaims/data');
			await t.until(`persistentvolumes/${name}`, 'is Released', is('Released'), { fields: volumeFields });
		},
	),
	define(
		'claim-of-a-pod',
		'§3 V1 A Pod owns the claim of its generic ephemeral volume, which is collected after it',
		async (t) => {
			const name = t.name('class');
			await t.create(storageClass(name), { unrecorded: true });
			const template = {
				metadata: { labels: { app: 'scratch' }, annotations: { team: 'a' } },
				spec: { accessModes: ['ReadWriteOnce'], storageClassName: name, resources: { requests: { storage: '1Gi' } } },
			};
			const volumes = [{ name: 'scratch', ephemeral: { volumeClaimTemplate: template } }];
			await t.create(pod('p', held, { volumes }), { unrecorded: true });
			const seen = ['metadata.labels', 'metadata.annotations.team', 'metadata.ownerReferences', 'spec.storageClassName'];
			await t.until('persistentvolumeclaims/p-scratch', 'is Bound', is('Bound'), { fields: [...seen, 'status.phase'] });
			await t.until('pods/p', 'runs', running, { unrecorded: true });
			await t.delete('persistentvolumeclaims/p-scratch', undefined, { fields });
			await t.get('persistentvolumeclaims/p-scratch', { fields });
			await t.delete('pods/p');
			await t.annotate('p', hold, null);
			await t.gone('pods/p', 'persistentvolumeclaims/p-scratch');
		},
	),
	define('claim-held-by-completed-pod', '§3 V2 §8 R-S1 A Pod that has ended still holds its claim', async (t) => {
		await noFaultInjector(t);
		await t.create(pod('p', completing, { restartPolicy: 'Never', ...using('data') }), { unrecorded: true });
		await t.until('pods/p', 'has ended', is('Succeeded'), { unrecorded: true });
		await t.delete('persistentvolumeclaims/data');
		await t.create(pod('other'), { unrecorded: true });
		await t.until('pods/other', 'runs', running, { unrecorded: true });
		await t.get('persistentvolumeclaims/data', { fields });
		await t.delete('pods/p');
		await t.gone('persistentvolumeclaims/data');
	}),
	define('claim-not-held-by-unplaced-pod', '§3 V1 A Pod without a node does not hold a claim', async (t) => {
		await noFaultInjector(t);
		await t.create({ ...unplacedPod('p'), spec: { ...unplacedPod('p').spec, ...using('data') } }, { unrecorded: true });
		await t.delete('persistentvolumeclaims/data');
		await t.gone('persistentvolumeclaims/data');
		await t.get('pods/p');
	}),
	define(
		'claim-stripped',
		'§3 V3 §8 R-S1 Without pvc-protection a claim goes while its Pod exists, and the volume is Released',
		async (t) => {
			const name = await noFaultInjector(t);
			await t.create(pod('p', held, using('data')), { unrecorded: true });
			await t.until('pods/p', 'runs', running, { unrecorded: true });
			await t.delete('persistentvolumeclaims/data');
			await t.patch('persistentvolumeclaims/data', 'merge', free);
			await t.get('persistentvolumeclaims/data');
			await t.until(`persistentvolumes/${name}`, 'is Released', is('Released'), { fields: volumeFields });
			await t.get('pods/p', { fields: ['status.phase'] });
		},
	),
	define(
		'pod-stale-handle',
		'§3 P10 V3 §8 R-S1 The API shows of a stale handle only: an ended Pod that stays, no claim, a Released volume, no event',
		async (t) => {
			const name = await noFaultInjector(t);
			// The containers end and the kubelet's final DELETE never comes. Only the kubelet's log says that a handle is stale; the API
			// shows the subPath mount, and that claim and volume have changed.
			const volumeMounts = [{ name: 'data', mountPath: '/data', subPath: 'shop' }];
			const containers = [{ name: 'main', image: 'example.com/main:1', volumeMounts }];
			await t.create(pod('p', { annotations: { [hold]: 'unmount' } }, { containers, ...using('data') }), {
				unrecorded: true,
			});
			await t.until('pods/p', 'runs', running, { unrecorded: true });
			await t.delete('persistentvolumeclaims/data');
			await t.patch('persistentvolumeclaims/data', 'merge', free);
			await t.until(`persistentvolumes/${name}`, 'is Released', is('Released'), { fields: volumeFields });
			await t.delete('pods/p');
			await t.until('pods/p', 'has Failed', is('Failed'), {
				fields: [
					'status.phase',
					'status.conditions',
					'status.containerStatuses[0].state.terminated.exitCode',
					'spec.volumes[0].persistentVolumeClaim.claimName',
					'spec.containers[0].volumeMounts[0].subPath',
				],
			});
			await t.get('events', { query: { fieldSelector: 'type=Warning,involvedObject.name=p' } });
			await t.get('persistentvolumeclaims/data');
			// Another claim of that name does not help: it waits for a volume, and the Pod waits for its old one.
			await t.create(claim('data', name), { unrecorded: true });
			await t.until('persistentvolumeclaims/data', 'is Pending', is('Pending'), { fields });
			await t.get('pods/p', { fields: ['status.phase'] });
			await t.annotate('p', hold, null);
			await t.gone('pods/p');
			await t.get(`persistentvolumes/${name}`, { fields: volumeFields });
		},
	),
	define('claim-stripped-by-force', '§3 V3 Force-deleting the Pod releases its claim', async (t) => {
		await noFaultInjector(t);
		await t.create(pod('p', held, using('data')), { unrecorded: true });
		await t.until('pods/p', 'runs', running, { unrecorded: true });
		await t.delete('persistentvolumeclaims/data');
		await t.delete('pods/p', { gracePeriodSeconds: 0 });
		await t.gone('persistentvolumeclaims/data');
	}),
	define('claim-deleted-new-pod', '§3 V1 A Pod that uses a terminating claim is not scheduled', async (t) => {
		await noFaultInjector(t);
		await t.create(pod('p', held, using('data')), { unrecorded: true });
		await t.until('pods/p', 'runs', running, { unrecorded: true });
		await t.delete('persistentvolumeclaims/data');
		await t.create(pod('late', {}, using('data')), { unrecorded: true });
		await t.until('pods/late', 'cannot be scheduled', (one) => one.status.conditions, {
			show: ({ status }) =>
				status.conditions.map((/** @type {any} */ { type, status, reason, message }) => [
					type,
					status,
					reason,
					message,
				]),
		});
	}),
	define('claim-own-finalizer', '§3 V4 A foreign finalizer holds a claim that no Pod uses', async (t) => {
		await noFaultInjector(t);
		await t.patch(
			'persistentvolumeclaims/data',
			'json',
			[{ op: 'add', path: '/metadata/finalizers/-', value: 'example.com/x' }],
			{ unrecorded: true },
		);
		await t.delete('persistentvolumeclaims/data');
		await t.until(
			'persistentvolumeclaims/data',
			'has only that finalizer',
			(one) => one.metadata.finalizers.length === 1,
		);
		await t.patch('persistentvolumeclaims/data', 'merge', free);
		await t.get('persistentvolumeclaims/data');
	}),
	define('claim-pod-missing', 'A Pod whose claim does not exist is not scheduled', async (t) => {
		await t.create(pod('p', {}, using('none')), { unrecorded: true });
		await t.until('pods/p', 'cannot be scheduled', (one) => one.status.conditions, {
			show: ({ status }) =>
				status.conditions.map((/** @type {any} */ { type, status, reason, message }) => [
					type,
					status,
					reason,
					message,
				]),
		});
	}),
	define('claim-immutable', 'The spec of a claim is immutable', async (t) => {
		await t.create(claim('data', t.name('nothing')), { unrecorded: true });
		await t.patch('persistentvolumeclaims/data', 'merge', { spec: { accessModes: ['ReadOnlyMany'] } });
	}),
	define('claim-invalid', 'A claim needs a size and an access mode', async (t) => {
		await t.create({ apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { name: 'data' }, spec: {} });
	}),
	define('volume-bound', '§3 V5 A bound volume that is deleted stays, with pv-protection', async (t) => {
		const name = await noFaultInjector(t);
		await t.delete(`persistentvolumes/${name}`, undefined, { fields: volumeFields });
		await t.get(`persistentvolumes/${name}`, { fields: volumeFields });
		await t.delete('persistentvolumeclaims/data');
		await t.gone(`persistentvolumes/${name}`);
	}),
	define('volume-stripped', '§3 V5 Without pv-protection a bound volume goes, and its claim is Lost', async (t) => {
		const name = await noFaultInjector(t);
		await t.delete(`persistentvolumes/${name}`, undefined, { unrecorded: true });
		await t.patch(`persistentvolumes/${name}`, 'merge', free);
		await t.until('persistentvolumeclaims/data', 'is Lost', is('Lost'), { fields });
	}),
	define('volume-retained', '§3 V9 With Retain the volume stays Released, and no later claim gets it before its claimRef is removed', async (t) => {
		const name = await noFaultInjector(t);
		await t.delete('persistentvolumeclaims/data');
		await t.until(`persistentvolumes/${name}`, 'is Released', is('Released'), { fields: volumeFields });
		await t.create(claim('next', name), { unrecorded: true });
		await t.until('persistentvolumeclaims/next', 'is Pending', is('Pending'), { fields });
		await t.patch(`persistentvolumes/${name}`, 'merge', { spec: { claimRef: null } }, { fields: volumeFields });
		await t.until('persistentvolumeclaims/next', 'is Bound', is('Bound'), { fields });
	}),
	define(
		'volume-no-deleter',
		'§8 R-S1 §3 V6 With Delete and no deleter the volume is Failed, and an event reports it',
		async (t) => {
			const name = await noFaultInjector(t, { persistentVolumeReclaimPolicy: 'Delete' });
			await t.delete('persistentvolumeclaims/data');
			await t.until(`persistentvolumes/${name}`, 'has Failed', is('Failed'), { fields: [...volumeFields, 'status.message'] });
			await t.until(
				'/api/v1/namespaces/default/events',
				'report it',
				(all) => all.some((/** @type {any} */ { involvedObject }) => involvedObject.name === name),
				{
					show: (all) =>
						all
							.filter((/** @type {any} */ { involvedObject }) => involvedObject.name === name)
							.map((/** @type {any} */ { type, reason, message }) => [type, reason, message]),
				},
			);
		},
	),
	define('volume-unused', '§3 V5 A volume without a claim goes at once', async (t) => {
		const name = t.name('pv');
		await t.create(volume(name), { unrecorded: true });
		await t.until(`persistentvolumes/${name}`, 'is Available', is('Available'), { fields: volumeFields });
		await t.delete(`persistentvolumes/${name}`);
		await t.gone(`persistentvolumes/${name}`);
	}),
	define('volume-immutable', 'The source of a volume is immutable', async (t) => {
		const name = t.name('pv');
		await t.create(volume(name), { unrecorded: true });
		await t.patch(
			`persistentvolumes/${name}`,
			'merge',
			{ spec: { persistentVolumeReclaimPolicy: 'Delete' } },
			{ fields: ['spec.persistentVolumeReclaimPolicy'] },
		);
	}),
	define(
		'provision-and-reclaim',
		'§3 V6 The driver provisions a volume for a claim and deletes it with the claim',
		async (t) => {
			const name = await provisioned(t);
			await t.get(`persistentvolumes/${name}`, {
				fields: ['metadata.annotations', 'spec.csi.driver', 'spec.accessModes', 'spec.capacity'],
			});
			await t.delete('persistentvolumeclaims/data');
			await t.gone('persistentvolumeclaims/data', `persistentvolumes/${name}`);
		},
	),
	define('provision-retain', '§3 V9 With a class with Retain the provisioned volume stays', async (t) => {
		const name = await provisioned(t, { reclaimPolicy: 'Retain' });
		await t.delete('persistentvolumeclaims/data');
		await t.until(`persistentvolumes/${name}`, 'is Released', is('Released'), { fields: volumeFields });
	}),
	define(
		'provision-volume-first',
		'§3 V5 V6 A volume that is deleted before its claim waits for it, and the driver still deletes its storage',
		async (t) => {
			const name = await provisioned(t);
			await t.delete(`persistentvolumes/${name}`, undefined, { fields: ['status.phase'] });
			await t.delete('persistentvolumeclaims/data');
			await t.gone('persistentvolumeclaims/data', `persistentvolumes/${name}`);
		},
	),
	define('provision-wait-for-consumer', 'WaitForFirstConsumer binds a claim only when a Pod uses it', async (t) => {
		const name = t.name('class');
		await t.create(storageClass(name, { volumeBindingMode: 'WaitForFirstConsumer' }), { unrecorded: true });
		await t.create(claim('data', name), { unrecorded: true });
		await t.until(
			'events',
			'report that it waits',
			(all) => all.some((/** @type {any} */ { reason }) => reason === 'WaitForFirstConsumer'),
			{
				show: (all) => all.map((/** @type {any} */ { type, reason, message }) => [type, reason, message]),
			},
		);
		await t.get('persistentvolumeclaims/data', { fields });
		await t.create(pod('p', {}, using('data')), { unrecorded: true });
		await t.until('persistentvolumeclaims/data', 'is Bound', is('Bound'), { fields: ['status.phase'] });
		await t.until('pods/p', 'runs', running, { fields: ['status.phase'] });
	}),
	define('attach-and-detach', '§3 V7 V8 A volume is attached for a Pod and detached after it', async (t) => {
		const name = await provisioned(t);
		const ofVolume = (/** @type {any[]} */ all) => all.filter(({ spec }) => spec.source.persistentVolumeName === name);
		const show = (/** @type {any[]} */ all) =>
			ofVolume(all).map(({ spec, status, metadata }) => [spec.attacher, status, metadata.finalizers]);
		await t.create(pod('p', {}, using('data')), { unrecorded: true });
		await t.until(
			'volumeattachments',
			'one is attached',
			(all) => ofVolume(all).some(({ status }) => status?.attached),
			{ show },
		);
		await t.until(
			`persistentvolumes/${name}`,
			'has the finalizer of the attacher',
			(one) => one.metadata.finalizers.length === 3,
		);
		await t.delete('pods/p', undefined, { unrecorded: true });
		await t.gone('pods/p');
		await t.until('volumeattachments', 'none is left', (all) => ofVolume(all).length === 0, { show });
		await t.delete('persistentvolumeclaims/data', undefined, { unrecorded: true });
		await t.gone(`persistentvolumes/${name}`);
	}),
	define(
		'attacher-away',
		'§3 V8 Without its attacher a volume is not detached',
		async (t) => {
			const name = await provisioned(t);
			const ofVolume = (/** @type {any[]} */ all) =>
				all.filter(({ spec }) => spec.source.persistentVolumeName === name);
			const isAttached = (/** @type {any[]} */ all) => ofVolume(all).some(({ status }) => status?.attached);
			await t.create(pod('p', {}, using('data')), { unrecorded: true });
			await t.until('volumeattachments', 'one is attached', isAttached, { unrecorded: true });
			const isGuarded = (/** @type {any} */ one) => one.metadata.finalizers.length === 3;
			await t.until(`persistentvolumes/${name}`, 'has the finalizer of the attacher', isGuarded, { unrecorded: true });
			try {
				await t.faultInjector.stopAttacher();
				await t.delete('pods/p', undefined, { unrecorded: true });
				await t.gone('pods/p');
				const isTerminating = (/** @type {any} */ one) => one?.metadata.deletionTimestamp;
				await t.until('volumeattachments', 'one is terminating', (all) => ofVolume(all).some(isTerminating), {
					show: (all) => ofVolume(all).map(({ status, metadata }) => [status, metadata.finalizers]),
				});
			} finally {
				await t.faultInjector.startAttacher();
			}
			await t.until('volumeattachments', 'none is left', (all) => ofVolume(all).length === 0, { show: ofVolume });
			await t.delete('persistentvolumeclaims/data', undefined, { unrecorded: true });
			await t.gone(`persistentvolumes/${name}`);
		},
		{ alone: true },
	),
	define(
		'attachment-guarded-by-its-status',
		'§3 V8 A JSON patch of an attachment can test what its status says, which it cannot change',
		async (t) => {
			const name = t.name('attachment');
			const path = `volumeattachments/${name}`;
			const { body } = await t.create({
				apiVersion: 'storage.k8s.io/v1',
				kind: 'VolumeAttachment',
				metadata: { name, finalizers: [hold] },
				spec: { attacher: 'gone.unwind.test', nodeName: t.name('node'), source: { persistentVolumeName: t.name('pv') } },
			});
			await t.delete(path);
			const fields = ['status.attached'];
			const guarded = (/** @type {boolean} */ attached) => [
				{ op: 'test', path: '/metadata/uid', value: body.metadata.uid },
				{ op: 'test', path: '/status/attached', value: attached },
				{ op: 'test', path: '/metadata/finalizers/0', value: hold },
				{ op: 'remove', path: '/metadata/finalizers/0' },
			];
			try {
				await t.faultInjector.stopAttacher();
				await t.patch(path, 'json', guarded(true));
				await t.patch(`${path}/status`, 'merge', { status: { attached: true } }, { fields });
				await t.patch(path, 'json', guarded(false));
				await t.patch(path, 'json', [{ op: 'replace', path: '/status/attached', value: false }], { fields });
				await t.patch(path, 'json', guarded(true));
			} finally {
				await t.faultInjector.startAttacher();
			}
			await t.get(path);
		},
		{ alone: true },
	),
	define(
		'volume-in-use',
		'§3 V8 A volume in volumesInUse of its node is not detached, and its VolumeAttachment is not deleted',
		async (t) => {
			const node = t.name('node');
			await attachingNode(t, node);
			await withHeartbeat(t, node, async () => {
				const used = await stillMounted(t, node);
				await t.get('volumeattachments', { show: ({ items }) => items.filter(isOf(used)).map(howAttached) });
				await hasMounted(t, node);
				await attachedTo(t, used);
			});
			await deleteNodes(t, node);
		},
	),
	define(
		'volume-out-of-service',
		'§3 V8 P4 A volume in use on an out-of-service node is detached at once',
		async (t) => {
			const node = t.name('node');
			await attachingNode(t, node);
			const used = await stillMounted(t, node);
			await t.get('volumeattachments', { show: ({ items }) => items.filter(isOf(used)).map(howAttached) });
			const out = [
				{
					op: 'add',
					path: '/spec/taints/-',
					value: { key: 'node.kubernetes.io/out-of-service', value: 'nodeshutdown', effect: 'NoExecute' },
				},
			];
			await t.patch(`nodes/${node}`, 'json', out, { unrecorded: true });
			await attachedTo(t, used);
			t.note('the attachment', 'is gone');
			await deleteNodes(t, node);
		},
	),
	define(
		'volume-of-another-node',
		'§3 V8 A volume for one node is not attached to a second, and an event names the Pod that uses it',
		async (t) => {
			const [here, there] = [t.name('here'), t.name('there')];
			for (const node of [here, there]) await attachingNode(t, node);
			const used = await provisioned(t);
			await t.create(pod('p', {}, { nodeName: here, ...onBareNode, ...using('data') }), { unrecorded: true });
			await attachedTo(t, used, here);
			await hasMounted(t, here, used);
			await t.create(pod('q', {}, { nodeName: there, ...onBareNode, ...using('data') }), { unrecorded: true });
			const isRefused = (/** @type {any} */ it) =>
				it.reason === 'FailedAttachVolume' && it.involvedObject.name === 'q';
			await t.until('events', 'report it', (all) => all.some(isRefused), {
				show: (all) =>
					all.filter(isRefused).map((/** @type {any} */ { type, message, source }) => [type, message, source.component]),
			});
			await t.delete('pods/p', { gracePeriodSeconds: 0 }, { unrecorded: true });
			await t.gone('pods/p');
			await hasMounted(t, here);
			await attachedTo(t, used, there);
			t.note('the volume', 'is attached to the other node');
			await deleteNodes(t, here, there);
		},
	),
	define(
		'volume-of-a-node-of-its-own',
		'The controller attaches nothing to a node whose kubelet attaches volumes itself',
		async (t) => {
			const [own, managed] = [t.name('own'), t.name('managed')];
			await bareNode(t, own);
			await attachingNode(t, managed);
			const first = await provisioned(t);
			await t.create(claim('other', t.name('class')), { unrecorded: true });
			const { spec } = await t.until('persistentvolumeclaims/other', 'is Bound', is('Bound'), { unrecorded: true });
			await t.create(pod('p', {}, { nodeName: own, ...onBareNode, ...using('data') }), { unrecorded: true });
			await t.create(pod('q', {}, { nodeName: managed, ...onBareNode, ...using('other') }), { unrecorded: true });
			await attachedTo(t, spec.volumeName, managed);
			await t.get('volumeattachments', { show: ({ items }) => items.filter(isOf(first)).length });
			await deleteNodes(t, own, managed);
		},
	),
	define('class-in-use', 'A StorageClass is not protected by its claims', async (t) => {
		await provisioned(t);
		await t.delete(`storageclasses/${t.name('class')}`);
		await t.get('persistentvolumeclaims/data', { fields: ['status.phase'] });
	}),
	define('attributes-class-unused', 'An unused VolumeAttributesClass is protected, and goes at once', async (t) => {
		const name = t.name('vac');
		await t.create(volumeAttributesClass(name));
		await t.delete(`volumeattributesclasses/${name}`);
		await t.gone(`volumeattributesclasses/${name}`);
	}),
	define('attributes-class-in-use', 'A VolumeAttributesClass stays while a claim uses it', async (t) => {
		const [used, other] = [t.name('used'), t.name('other')];
		for (const name of [used, other]) await t.create(volumeAttributesClass(name), { unrecorded: true });
		await t.create(claim('data', t.name('nothing'), {}, { volumeAttributesClassName: used }), { unrecorded: true });
		await t.until('persistentvolumeclaims/data', 'is Pending', is('Pending'), {
			fields: ['spec.volumeAttributesClassName'],
		});
		await t.delete(`volumeattributesclasses/${used}`);
		// The controller processes one after the other: when this one is released, it has seen the first.
		await t.delete(`volumeattributesclasses/${other}`, undefined, { unrecorded: true });
		await t.gone(`volumeattributesclasses/${other}`);
		await t.get(`volumeattributesclasses/${used}`);
		await t.delete('persistentvolumeclaims/data', undefined, { unrecorded: true });
		await t.gone('persistentvolumeclaims/data', `volumeattributesclasses/${used}`);
	}),
	define('attributes-class-of-volume', 'A VolumeAttributesClass stays while a volume uses it', async (t) => {
		const [used, other, pv] = [t.name('used'), t.name('other'), t.name('pv')];
		for (const name of [used, other]) await t.create(volumeAttributesClass(name), { unrecorded: true });
		const csi = { driver: 'csi.unwind.test', volumeHandle: pv };
		await t.create(volume(pv, { nfs: undefined, csi, volumeAttributesClassName: used }), { unrecorded: true });
		await t.until(`persistentvolumes/${pv}`, 'is Available', is('Available'), {
			fields: ['spec.volumeAttributesClassName'],
		});
		await t.delete(`volumeattributesclasses/${used}`, undefined, { unrecorded: true });
		await t.delete(`volumeattributesclasses/${other}`, undefined, { unrecorded: true });
		await t.gone(`volumeattributesclasses/${other}`);
		await t.get(`volumeattributesclasses/${used}`);
		await t.delete(`persistentvolumes/${pv}`, undefined, { unrecorded: true });
		await t.gone(`persistentvolumes/${pv}`, `volumeattributesclasses/${used}`);
	}),
];
