/**
 * A stand-in for a CSI driver with its external-provisioner sidecar: makes a PersistentVolume for every claim that the
 * cluster assigns to it, and reclaims released ones, with the annotations and the finalizer of the real one and in its
 * order: volume in the backend, then DELETE of the PersistentVolume, then its finalizer.
 *
 * Once it is stopped, a PersistentVolume that is to be reclaimed hangs on the finalizer of a controller that is gone.
 */
import { revisionOf } from './client.mjs';

/** @typedef {import('./client.mjs').Client} Client */
/** @typedef {import('./client.mjs').KubeObject} KubeObject */

/** Its name as a CSI driver, for StorageClasses. */
export const driver = 'csi.unwind.test';
export const finalizer = 'external-provisioner.volume.kubernetes.io/finalizer';
const provisionedBy = 'pv.kubernetes.io/provisioned-by';
const assignedTo = 'volume.kubernetes.io/storage-provisioner';

/** @typedef {{volumes: Set<string>, stop: () => void}} Provisioner  `volumes`: handles of the volumes in the backend */

/** @param {Client} client @param {(line: string) => void} log @returns {Provisioner} */
export function startProvisioner(client, log) {
	/** @type {Set<string>} */
	const volumes = new Set();
	/** One object at a time: what is being worked on, so that its own changes do not start it twice. @type {Set<string>} */
	const busy = new Set();
	let stopped = false;

	/** @param {KubeObject} object @param {(object: KubeObject) => Promise<void>} work */
	const once = async (object, work) => {
		const key = object.metadata.uid;
		if (stopped || busy.has(key)) return;
		busy.add(key);
		try {
			await work(object);
		} catch (error) {
			if (!stopped) log(`provisioner: ${object.kind} ${object.metadata.name}: ${error}`);
		} finally {
			busy.delete(key);
		}
	};

	/** @param {KubeObject} claim */
	const provision = async (claim) => {
		const { name, namespace, uid } = claim.metadata;
		const found = await client.request('GET', `/apis/storage.k8s.io/v1/storageclasses/${claim.spec.storageClassName}`);
		if (found.status !== 200) throw new Error(`its StorageClass: ${found.status}`);
		const volume = `pvc-${uid}`;
		volumes.add(volume);
		const made = await client.request('POST', '/api/v1/persistentvolumes', {
			apiVersion: 'v1',
			kind: 'PersistentVolume',
			metadata: {
				name: volume,
				annotations: {
					[provisionedBy]: driver,
					'volume.kubernetes.io/provisioner-deletion-secret-name': '',
					'volume.kubernetes.io/provisioner-deletion-secret-namespace': '',
				},
				finalizers: [finalizer],
			},
			spec: {
				storageClassName: claim.spec.storageClassName,
				accessModes: claim.spec.accessModes,
				capacity: claim.spec.resources.requests,
				persistentVolumeReclaimPolicy: found.body.reclaimPolicy,
				volumeMode: claim.spec.volumeMode,
				csi: { driver, volumeHandle: volume, fsType: 'ext4' },
				claimRef: { apiVersion: 'v1', kind: 'PersistentVolumeClaim', name, namespace, uid, resourceVersion: String(revisionOf(claim)) },
			},
		});
		if (made.status !== 201 && made.status !== 409) throw new Error(`${made.status} ${made.body.message}`);
	};

	/** @param {KubeObject} volume */
	const reclaim = async ({ metadata: { name, uid }, spec }) => {
		const path = `/api/v1/persistentvolumes/${name}`;
		volumes.delete(spec.csi.volumeHandle);
		const asked = await client.request('DELETE', path, { preconditions: { uid } });
		if (asked.status === 404) return;
		if (asked.status !== 200) throw new Error(`${asked.status} ${asked.body.message}`);
		const index = asked.body.metadata.finalizers?.indexOf(finalizer) ?? -1;
		if (index < 0) return;
		const patch = [
			{ op: 'test', path: `/metadata/uid`, value: uid },
			{ op: 'test', path: `/metadata/finalizers/${index}`, value: finalizer },
			{ op: 'remove', path: `/metadata/finalizers/${index}` },
		];
		const { status, body } = await client.request('PATCH', path, patch, { 'content-type': 'application/json-patch+json' });
		if (status !== 200 && status !== 404) throw new Error(`${status} ${body.message}`);
	};

	const claims = client.follow('/api/v1/persistentvolumeclaims', {}, ({ type, object: claim }) => {
		const ours = claim.metadata.annotations?.[assignedTo] === driver;
		if (type !== 'DELETED' && ours && !claim.spec.volumeName && !claim.metadata.deletionTimestamp) void once(claim, provision);
	});
	const released = client.follow('/api/v1/persistentvolumes', {}, ({ type, object: volume }) => {
		const ours = volume.metadata.annotations?.[provisionedBy] === driver && volume.metadata.finalizers?.includes(finalizer);
		const done = volume.status?.phase === 'Released' && volume.spec.persistentVolumeReclaimPolicy === 'Delete';
		if (type !== 'DELETED' && ours && done) void once(volume, reclaim);
	});

	return {
		volumes,
		stop: () => {
			stopped = true;
			claims.close();
			released.close();
		},
	};
}
