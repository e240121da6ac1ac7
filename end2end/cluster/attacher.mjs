/**
 * Simulates the external-attacher sidecar of the CSI driver in provisioner.mjs, with the same finalizers: attaches a volume for a
 * VolumeAttachment, detaches it when that is deleted, and releases a PersistentVolume once nothing is attached.
 *
 * While it is stopped, the finalizers of deleted VolumeAttachments remain, and those of their volumes.
 */
import { changeFinalizers, oneAtATime, without, withOne } from './controller.mjs';
import { driver } from './provisioner.mjs';

/** @typedef {import('./client.mjs').Client} Client */
/** @typedef {import('./client.mjs').KubeObject} KubeObject */

export const finalizer = `external-attacher/${driver.replace(/[^a-zA-Z0-9-]/g, '-')}`;

/** @typedef {{stop: () => void}} Attacher */

/** @param {Client} client @param {(line: string) => void} log @returns {Attacher} */
export function startAttacher(client, log) {
	const volumePath = (/** @type {string} */ name) => `/api/v1/persistentvolumes/${name}`;

	/** @param {KubeObject} attachment */
	async function reconcile({ metadata, spec, status }) {
		const path = `/apis/storage.k8s.io/v1/volumeattachments/${metadata.name}`;
		/** @param {boolean} attached */
		const setAttached = async (attached) => {
			const type = { 'content-type': 'application/merge-patch+json' };
			const patched = await client.request('PATCH', `${path}/status`, { status: { attached } }, type);
			if (patched.status !== 200 && patched.status !== 404) throw new Error(`${patched.status} ${patched.body.message}`);
		};
		if (metadata.deletionTimestamp) {
			if (status?.attached) await setAttached(false);
			await changeFinalizers(client, path, metadata.uid, without(finalizer));
		} else if (!status?.attached) {
			const volume = await client.request('GET', volumePath(spec.source.persistentVolumeName));
			if (volume.status !== 200) throw new Error(`its volume: ${volume.status}`);
			await changeFinalizers(
				client,
				volumePath(volume.body.metadata.name),
				volume.body.metadata.uid,
				withOne(finalizer),
			);
			await changeFinalizers(client, path, metadata.uid, withOne(finalizer));
			await setAttached(true);
		}
	}

	/** @param {KubeObject} volume */
	async function releaseVolume({ metadata }) {
		await changeFinalizers(client, volumePath(metadata.name), metadata.uid, without(finalizer));
	}

	/** @param {KubeObject} object @param {unknown} error */
	const report = ({ kind, metadata }, error) => log(`attacher: ${kind} ${metadata.name}: ${error}`);
	const reconciles = oneAtATime(reconcile, report);
	const releases = oneAtATime(releaseVolume, report);

	/** Releases deleted volumes that are attached nowhere. */
	const releaseDetachedVolumes = () => {
		const attached = new Set([...attachments.known.values()].map(({ spec }) => spec.source.persistentVolumeName));
		for (const volume of volumes.known.values()) {
			const { deletionTimestamp, finalizers, name } = volume.metadata;
			if (deletionTimestamp && finalizers?.includes(finalizer) && !attached.has(name)) releases.look(volume);
		}
	};
	const attachments = client.follow('/apis/storage.k8s.io/v1/volumeattachments', {}, ({ type, object }) => {
		if (object.spec.attacher !== driver) return;
		if (type === 'DELETED') releaseDetachedVolumes();
		else reconciles.look(object);
	});
	const volumes = client.follow('/api/v1/persistentvolumes', {}, releaseDetachedVolumes);

	return {
		stop: () => {
			for (const part of [reconciles, releases]) part.stop();
			for (const watch of [attachments, volumes]) watch.close();
		},
	};
}
