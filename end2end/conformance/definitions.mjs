/**
 * CustomResourceDefinitions of the third-party kinds that deletions meet most often, reduced to what the API server uses:
 * group, versions, scope, names, subresources, columns. Their schemas accept everything.
 */

/** @typedef {Record<string, any>} KubeObject */
/** @typedef {[name: string, jsonPath: string, more?: KubeObject]} Column */

/**
 * @typedef {object} Shape
 * @property {string} group
 * @property {string} kind
 * @property {string} plural
 * @property {string[]} [shortNames]
 * @property {string[]} versions the first is the storage version
 * @property {boolean} [cluster] cluster-scoped
 * @property {boolean} [status] has the status subresource
 * @property {Column[]} [columns]
 * @property {KubeObject} [metadata]
 */

const age = /** @type {Column} */ (['Age', '.metadata.creationTimestamp', { type: 'date' }]);
/** @param {string} type */
const condition = (type, field = 'status') => `.status.conditions[?(@.type=="${type}")].${field}`;
const ready = /** @type {Column[]} */ ([age, ['Ready', condition('Ready')], ['Status', condition('Ready', 'message')]]);
/** The annotation that definitions in a Kubernetes group need. @param {string} where */
const approved = (where) => ({ annotations: { 'api-approved.kubernetes.io': `https://github.com/${where}` } });

const gateways = {
	group: 'gateway.networking.k8s.io',
	versions: ['v1', 'v1beta1'],
	status: true,
	metadata: approved('kubernetes-sigs/gateway-api/pull/3328'),
};
const snapshots = {
	group: 'snapshot.storage.k8s.io',
	versions: ['v1'],
	status: true,
	metadata: approved('kubernetes-csi/external-snapshotter/pull/814'),
};

/** @type {Shape[]} */
export const shapes = [
	{
		...gateways,
		kind: 'GatewayClass',
		plural: 'gatewayclasses',
		shortNames: ['gc'],
		cluster: true,
		columns: [
			['Controller', '.spec.controllerName'],
			['Accepted', condition('Accepted')],
			age,
			['Description', '.spec.description', { priority: 1 }],
		],
	},
	{
		...gateways,
		kind: 'Gateway',
		plural: 'gateways',
		shortNames: ['gtw'],
		columns: [
			['Class', '.spec.gatewayClassName'],
			['Address', '.status.addresses[*].value'],
			['Programmed', condition('Programmed')],
			age,
		],
	},
	{
		...gateways,
		kind: 'HTTPRoute',
		plural: 'httproutes',
		columns: [['Hostnames', '.spec.hostnames'], age],
	},
	{
		...snapshots,
		kind: 'VolumeSnapshot',
		plural: 'volumesnapshots',
		shortNames: ['vs'],
		columns: [
			['ReadyToUse', '.status.readyToUse', { type: 'boolean' }],
			['SourcePVC', '.spec.source.persistentVolumeClaimName'],
			['RestoreSize', '.status.restoreSize'],
			['SnapshotClass', '.spec.volumeSnapshotClassName'],
			age,
		],
	},
	{
		...snapshots,
		kind: 'VolumeSnapshotContent',
		plural: 'volumesnapshotcontents',
		shortNames: ['vsc', 'vscs'],
		cluster: true,
		columns: [
			['ReadyToUse', '.status.readyToUse', { type: 'boolean' }],
			['RestoreSize', '.status.restoreSize', { type: 'integer' }],
			['DeletionPolicy', '.spec.deletionPolicy'],
			['VolumeSnapshot', '.spec.volumeSnapshotRef.name'],
			age,
		],
	},
	{
		...snapshots,
		kind: 'VolumeSnapshotClass',
		plural: 'volumesnapshotclasses',
		shortNames: ['vsclass', 'vsclasses'],
		cluster: true,
		status: false,
		columns: [['Driver', '.driver'], ['DeletionPolicy', '.deletionPolicy'], age],
	},
	{
		group: 'keda.sh',
		versions: ['v1alpha1'],
		kind: 'ScaledObject',
		plural: 'scaledobjects',
		shortNames: ['so'],
		status: true,
		columns: [
			['ScaleTargetName', '.spec.scaleTargetRef.name'],
			['Min', '.spec.minReplicaCount', { type: 'integer' }],
			['Max', '.spec.maxReplicaCount', { type: 'integer' }],
			['Ready', condition('Ready')],
			['Active', condition('Active')],
			age,
		],
	},
	{
		group: 'argoproj.io',
		versions: ['v1alpha1'],
		kind: 'Application',
		plural: 'applications',
		shortNames: ['app', 'apps'],
		columns: [
			['Sync Status', '.status.sync.status'],
			['Health Status', '.status.health.status'],
			['Revision', '.status.sync.revision', { priority: 10 }],
			['Project', '.spec.project', { priority: 10 }],
		],
	},
	{
		group: 'kustomize.toolkit.fluxcd.io',
		versions: ['v1', 'v1beta2'],
		kind: 'Kustomization',
		plural: 'kustomizations',
		shortNames: ['ks'],
		status: true,
		columns: ready,
	},
	{
		group: 'helm.toolkit.fluxcd.io',
		versions: ['v2', 'v2beta2'],
		kind: 'HelmRelease',
		plural: 'helmreleases',
		shortNames: ['hr'],
		status: true,
		columns: ready,
	},
];

/** @param {string} kind @returns {Shape} */
export function shapeOf(kind) {
	const shape = shapes.find((one) => one.kind === kind);
	if (!shape) throw new Error(`definitions.mjs has no definition of ${kind}`);
	return shape;
}

/** The CustomResourceDefinition of a shape. @param {Shape} shape */
export const definitionOf = ({
	group,
	kind,
	plural,
	shortNames,
	versions,
	cluster,
	status,
	columns = [],
	metadata,
}) => ({
	apiVersion: 'apiextensions.k8s.io/v1',
	kind: 'CustomResourceDefinition',
	metadata: { name: `${plural}.${group}`, ...metadata },
	spec: {
		group,
		scope: cluster ? 'Cluster' : 'Namespaced',
		names: { kind, listKind: `${kind}List`, plural, singular: kind.toLowerCase(), shortNames },
		versions: versions.map((name, at) => ({
			name,
			served: true,
			storage: at === 0,
			schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
			subresources: status ? { status: {} } : {},
			additionalPrinterColumns: columns.map(([name, jsonPath, more]) => ({ name, jsonPath, type: 'string', ...more })),
		})),
	},
});

/** The path of the collection of a kind. @param {Shape} shape @param {string} namespace */
export const pathTo = ({ group, plural, versions: [version], cluster }, namespace) =>
	`/apis/${group}/${version}/${cluster ? '' : `namespaces/${namespace}/`}${plural}`;
