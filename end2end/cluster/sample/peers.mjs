/**
 * The application of incident S1: Pods that share a volume through subPath mounts, and a set with a volume for each Pod. Whoever
 * deletes the claims first leaves Pods that cannot unmount them.
 */
import { driver } from '../provisioner.mjs';
import {
	claim,
	claimSpec,
	csiDriver,
	deployment,
	labels,
	namespace,
	podTemplate,
	service,
	statefulSet,
	storageClass,
} from './objects.mjs';

/** @typedef {import('./objects.mjs').KubeObject} KubeObject */

export const unit = 'peers';
export const unitLabel = `app.kubernetes.io/part-of=${unit}`;

/** @param {string} name @param {string} [inNamespace] */
const part = (name, inNamespace) => ({
	name,
	...(inNamespace ? { namespace: inNamespace } : {}),
	labels: labels(unit, name),
});
/** @param {string} name @param {object[]} [volumes] */
const template = (name, volumes) =>
	podTemplate(part(name).labels, {
		containers: [
			{
				name,
				image: `registry.example/${name}:1`,
				volumeMounts: [{ name: 'data', mountPath: '/data', subPath: 'production' }],
			},
		],
		...(volumes ? { volumes } : {}),
	});

const set = statefulSet(part('couchdb', unit), 2, template('couchdb'), [
	{ metadata: { name: 'data', labels: part('couchdb').labels }, spec: claimSpec('peers', '5Gi', 'ReadWriteOnce') },
]);
// The set owns its claims, so a deletion with the wrong propagation policy takes them with it.
set.spec.persistentVolumeClaimRetentionPolicy = { whenDeleted: 'Delete', whenScaled: 'Retain' };

/** The claims of the application. */
export const claims = ['ledger', 'data-couchdb-0', 'data-couchdb-1'].map((name) => ({
	kind: 'PersistentVolumeClaim',
	namespace: unit,
	name,
}));

const objects = [
	storageClass({ name: 'peers' }, driver, 'Delete'),
	csiDriver({ name: driver }),
	namespace(part(unit)),
	claim(part('ledger', unit), claimSpec('peers', '20Gi', 'ReadWriteMany')),
	deployment(
		part('peer', unit),
		2,
		template('peer', [{ name: 'data', persistentVolumeClaim: { claimName: 'ledger' } }]),
	),
	service(part('peer', unit), 7051),
	service(part('couchdb', unit), 5984, { headless: true }),
	set,
];

/** Installs the application, until its volumes are attached to the nodes of its Pods. @param {import('../cluster.mjs').Cluster} cluster */
export async function install(cluster) {
	await cluster.apply(objects);
	const params = { labelSelector: unitLabel };
	const isReady = (/** @type {KubeObject} */ { status }) => status.phase === 'Running';
	await cluster.until('/api/v1/pods', (pods) => pods.length === 4 && pods.every(isReady), {
		what: 'four Pods',
		params,
	});
	const isOwned = (/** @type {KubeObject} */ { metadata }) =>
		metadata.name === 'ledger' || metadata.ownerReferences?.length === 1;
	await cluster.until('/api/v1/persistentvolumeclaims', (found) => found.length === 3 && found.every(isOwned), {
		what: 'the set to own its claims',
		params,
	});
	await cluster.until(
		'/apis/storage.k8s.io/v1/volumeattachments',
		(found) => found.length >= 3 && found.every(({ status }) => status?.attached),
		{
			what: 'the volumes to be attached',
		},
	);
}
