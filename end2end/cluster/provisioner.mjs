/**
 * Simulates a CSI driver with its external-provisioner sidecar: creates a PersistentVolume for every claim that is assigned to it,
 * and reclaims released ones, with the annotations, the finalizer and the order of the real one: volume in the backend, DELETE of
 * the PersistentVolume, its finalizer.
 *
 * While it is stopped, the finalizer of a volume to reclaim remains.
 */
import { revisionOf } from './client.mjs';
import { changeFinalizers, oneAtATime, without } from './controller.mjs';

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

	/** @param {KubeObject} claim */
	async function provision(claim) {
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
				claimRef: {
					apiVersion: 'v1',
					kind: 'PersistentVolumeClaim',
					name,
					namespace,
					uid,
					resourceVersion: String(revisionOf(claim)),
				},
			},
		});
		if (made.status !== 201 && made.status !== 409) throw new Error(`${made.status} ${made.body.message}`);
	}

	/** @param {KubeObject} volume */
	async function reclaim({ metadata: { name, uid }, spec }) {
		const path = `/api/v1/persistentvolumes/${name}`;
		volumes.delete(spec.csi.volumeHandle);
		const { status, body } = await client.request('DELETE', path, { preconditions: { uid } });
		if (status === 404) return;
		if (status !== 200) throw new Error(`${status} ${body.message}`);
		await changeFinalizers(client, path, uid, without(finalizer));
	}

	/** @param {KubeObject} object @param {unknown} error */
	const report = ({ kind, metadata }, error) => log(`provisioner: ${kind} ${metadata.name}: ${error}`);
	const provisioning = oneAtATime(provision, report);
	const reclaiming = oneAtATime(reclaim, report);
	const claims = client.follow('/api/v1/persistentvolumeclaims', {}, ({ type, object: claim }) => {
		const ours = claim.metadata.annotations?.[assignedTo] === driver;
		if (type !== 'DELETED' && ours && !claim.spec.volumeName && !claim.metadata.deletionTimestamp)
			provisioning.look(claim);
	});
	const released = client.follow('/api/v1/persistentvolumes', {}, ({ type, object: volume }) => {
		const ours =
			volume.metadata.annotations?.[provisionedBy] === driver && volume.metadata.finalizers?.includes(finalizer);
		const done = volume.status?.phase === 'Released' && volume.spec.persistentVolumeReclaimPolicy === 'Delete';
		if (type === 'DELETED' || !ours) return;
		if (done) reclaiming.look(volume);
		else volumes.add(volume.spec.csi.volumeHandle); // provisioned before this start
	});

	return {
		volumes,
		stop: () => {
			for (const part of [provisioning, reclaiming]) part.stop();
			for (const watch of [claims, released]) watch.close();
		},
	};
}
