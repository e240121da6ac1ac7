/**
 * Storage goes after its last writer, and only if its data may go.
 */
import { claimsOf } from '../pod.mjs';
import { titleOf } from '../cluster-state.mjs';
import { usedBy } from './pods.mjs';
import { there, whereActorDeletes, whereDeleted, whereTeardownDeletes } from './rule.mjs';

/** A claim goes after every Pod that mounts it, so that no volume becomes stale under a Pod that still unmounts it. */
export const claim = whereDeleted(({ object: { kind, metadata }, state }) => {
	if (kind !== 'PersistentVolumeClaim') return;
	return usedBy(
		state.usersThat(metadata.namespace, (pod) => claimsOf(pod).has(metadata.name)),
		'mounted by',
	);
});

/** A node may write to a volume that is attached to it. */
export const attached = whereTeardownDeletes(({ object: { kind, metadata, spec }, state }) => {
	const volume = { PersistentVolumeClaim: spec?.volumeName, PersistentVolume: metadata.name }[
		/** @type {string} */ (kind)
	];
	const attachment =
		volume && state.all('VolumeAttachment').find((it) => it.spec.source?.persistentVolumeName === volume);
	return attachment && `its volume is attached to ${attachment.spec.nodeName}`;
});

/**
 * A Pod that was deleted by force may still write. A volume that was detached from a node that is gone, or a person, says that it
 * does not.
 */
export const endedByForce = whereTeardownDeletes(({ object, state }, { endedByForce, everAttached, takenOn }) => {
	if (object.kind !== 'PersistentVolumeClaim' || takenOn(object)) return;
	const { name, namespace } = object.metadata;
	const mayWrite = (/** @type {string} */ node) =>
		!everAttached.has(object.spec?.volumeName) || state.find('Node', undefined, node);
	const pod = endedByForce.find(
		(pod) => pod.metadata.namespace === namespace && claimsOf(pod).has(name) && mayWrite(pod.spec.nodeName),
	);
	return there(pod, 'was deleted by force, and its node may still run it');
});

/**
 * The claim that is bound to a volume.
 * @param {import('../cluster-state.mjs').KubeObject} volume @param {import('../cluster-state.mjs').ClusterState} state
 */
function boundTo({ spec }, state) {
	if (!spec.claimRef) return;
	const { uid, namespace, name } = spec.claimRef;
	const claim = state.find('PersistentVolumeClaim', namespace, name);
	return claim && (!uid || claim.metadata.uid === uid) ? claim : undefined;
}

/** A volume goes after the claim that is bound to it. */
export const volume = whereDeleted(({ object, state }) => {
	const claim = object.kind === 'PersistentVolume' && boundTo(object, state);
	if (claim) return `still bound to ${titleOf(claim)}`;
});

/** A retained volume stays, unless a label declares it part of the unit. */
export const retained = whereActorDeletes(({ object }, { declared }) => {
	const { kind, spec } = object;
	if (kind === 'PersistentVolume' && spec.persistentVolumeReclaimPolicy === 'Retain' && !declared(object))
		return 'it is retained, and nobody declared it part of the unit';
});

/** The provisioners that containers are told to be, by a variable or an argument. @param {any[]} containers */
const told = (containers) =>
	containers.flatMap(({ env = [], args = [] }) => [
		...env.flatMap((/** @type {any} */ { name, value }) => (name === 'PROVISIONER_NAME' && value ? [value] : [])),
		...args.flatMap((/** @type {string} */ arg) => /^--?provisioner(?:-name)?=(.+)$/.exec(arg)?.[1] ?? []),
	]);

/**
 * A driver removes its volumes and unmounts them, so that its plugin, which mounts the driver's folder from the node, outlives the
 * volumes that it deletes, the claims of the others, and the Pods with inline volumes. A provisioner that is no CSI driver outlives
 * the volumes that it made and deletes.
 */
export const driver = whereTeardownDeletes(({ object: { kind, spec }, state }) => {
	const { volumes = [], containers = [] } = (kind === 'Pod' ? spec : spec?.template?.spec) ?? {};
	const provisioners = told(containers);
	const made = state
		.all('PersistentVolume')
		.filter(({ spec }) => spec.persistentVolumeReclaimPolicy === 'Delete')
		.find(({ metadata }) => provisioners.includes(metadata.annotations?.['pv.kubernetes.io/provisioned-by']));
	if (made) return there(made, 'is removed by it');
	const drivers = volumes.flatMap((/** @type {any} */ { hostPath }) => {
		const folder = /\/plugins\/([^/]+)/.exec(hostPath?.path ?? '');
		return folder ? [folder[1]] : [];
	});
	if (drivers.length === 0) return;
	const isOurs = (/** @type {any} */ { csi }) => drivers.includes(csi?.driver);
	const ours = state.all('PersistentVolume').filter(({ spec }) => isOurs(spec));
	const removed = ours.find(({ spec }) => spec.persistentVolumeReclaimPolicy === 'Delete');
	const claim = ours.map((volume) => boundTo(volume, state)).find((claim) => claim);
	const pod = state.all('Pod').find(({ spec }) => spec.volumes?.some(isOurs));
	return there(removed, 'is removed by it') ?? there(claim ?? pod, 'is unmounted by it');
});

/** A claim from a template belongs to its StatefulSet until the set is gone. */
export const madeFromTemplate = whereTeardownDeletes(({ object: { kind, metadata }, state }) => {
	if (kind !== 'PersistentVolumeClaim') return;
	const set = state.all('StatefulSet', metadata.namespace).find(({ metadata: { name }, spec }) =>
		(spec.volumeClaimTemplates ?? []).some((/** @type {any} */ template) => {
			const prefix = `${template.metadata.name}-${name}-`;
			return metadata.name.startsWith(prefix) && /^\d+$/.test(metadata.name.slice(prefix.length));
		}),
	);
	return there(set, 'has it from a template');
});

/** A claim or volume of the unit goes only if nobody chose to keep the data. A claim that a Pod owns cannot be kept. */
export const dataNotKept = whereDeleted(({ object: { kind, metadata } }, { unit, keepsData }) => {
	if (!keepsData || !unit.has(metadata.uid)) return;
	const ofPod = metadata.ownerReferences?.some((/** @type {any} */ { kind }) => kind === 'Pod');
	if (['PersistentVolumeClaim', 'PersistentVolume'].includes(kind) && !ofPod) return 'its data was to be kept';
});
