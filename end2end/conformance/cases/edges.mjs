/**
 * The kinds that the relations of the planner refer to: third-party kinds with the finalizers of their controllers, and create,
 * read, update and delete of each built-in kind.
 */
import { hasCondition } from '../conditions.mjs';
import { definitionOf, pathTo, shapeOf, shapes } from '../definitions.mjs';
import { pluralOf } from '../kinds.mjs';
import { configMap, disruptionBudget, role, roleBinding, storageClass } from '../objects.mjs';
import { define } from '../suite.mjs';

/** @typedef {import('../test-context.mjs').TestContext} TestContext */
/** @typedef {import('../definitions.mjs').Shape} Shape */
/** @typedef {Record<string, any>} KubeObject */

const table = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' };
const free = { metadata: { finalizers: null } };

/** Columns and cells, without ages. @param {any} answer */
const rows = ({ columnDefinitions, rows }) => ({
	columns: columnDefinitions.map((/** @type {any} */ { name, type, priority }) => [name, type, priority].join(':')),
	rows: rows.map(({ cells }) =>
		cells.filter(
			(/** @type {any} */ _, /** @type {number} */ at) => !/^(Age|Created At)$/.test(columnDefinitions[at].name),
		),
	),
});

/** Creates the definition of a kind, and returns the path of its collection. @param {TestContext} t @param {Shape} shape @param {{unrecorded?: boolean}} [options] */
async function defined(t, shape, options = { unrecorded: true }) {
	const definition = definitionOf(shape);
	const crd = `customresourcedefinitions/${definition.metadata.name}`;
	await t.create(definition, { ...options, fields: ['spec.scope', 'spec.names', 'metadata.annotations'] });
	await t.until(crd, 'is established', (one) => hasCondition(one, 'Established', 'True'), { unrecorded: true });
	const path = pathTo(shape, t.ns);
	await t.eventually('it is served', 'GET', path, ({ status }) => status === 200);
	return { crd, path };
}

/** @param {Shape} shape @param {string} name @param {KubeObject} [metadata] @param {KubeObject} [rest] */
const one = ({ group, kind, versions: [version] }, name, metadata = {}, rest = {}) => ({
	apiVersion: `${group}/${version}`,
	kind,
	metadata: { name, ...metadata },
	...rest,
});

/** The finalizers that the controller of a kind adds, and an object of the kind. @type {Record<string, {finalizers: string[], spec?: KubeObject, status?: KubeObject, rest?: KubeObject}>} */
const lives = {
	GatewayClass: {
		finalizers: ['gateway-exists-finalizer.gateway.networking.k8s.io'],
		spec: { controllerName: 'example.com/gateways', description: 'of the case' },
		status: { conditions: [{ type: 'Accepted', status: 'True' }] },
	},
	Gateway: {
		finalizers: ['example.com/gateways'],
		spec: { gatewayClassName: 'one', listeners: [{ name: 'http', port: 80, protocol: 'HTTP' }] },
		status: { addresses: [{ value: '192.0.2.1' }], conditions: [{ type: 'Programmed', status: 'True' }] },
	},
	HTTPRoute: {
		finalizers: ['example.com/routes'],
		spec: { hostnames: ['a.example.com', 'b.example.com'], rules: [{ backendRefs: [{ name: 'web', port: 80 }] }] },
		status: { parents: [] },
	},
	VolumeSnapshot: {
		finalizers: [
			'snapshot.storage.kubernetes.io/volumesnapshot-bound-protection',
			'snapshot.storage.kubernetes.io/volumesnapshot-as-source-protection',
		],
		spec: { volumeSnapshotClassName: 'one', source: { persistentVolumeClaimName: 'data' } },
		status: { readyToUse: true, restoreSize: '1Gi' },
	},
	VolumeSnapshotContent: {
		finalizers: ['snapshot.storage.kubernetes.io/volumesnapshotcontent-bound-protection'],
		spec: {
			deletionPolicy: 'Delete',
			driver: 'csi.example.com',
			volumeSnapshotRef: { name: 'one', namespace: 'some' },
		},
		status: { readyToUse: false, restoreSize: 1073741824 },
	},
	VolumeSnapshotClass: {
		finalizers: ['example.com/x'],
		rest: { driver: 'csi.example.com', deletionPolicy: 'Retain' },
	},
	ScaledObject: {
		finalizers: ['finalizer.keda.sh'],
		spec: { scaleTargetRef: { name: 'web' }, minReplicaCount: 0, maxReplicaCount: 5, triggers: [] },
		status: { conditions: [{ type: 'Ready', status: 'True' }] },
	},
	Application: {
		finalizers: ['resources-finalizer.argocd.argoproj.io'],
		spec: { project: 'default', destination: { namespace: 'shop' } },
		rest: { status: { sync: { status: 'Synced', revision: 'abc' }, health: { status: 'Healthy' } } },
	},
	Kustomization: {
		finalizers: ['finalizers.fluxcd.io'],
		spec: { prune: true, path: './shop', sourceRef: { kind: 'GitRepository', name: 'shop' } },
		status: { conditions: [{ type: 'Ready', status: 'True', message: 'Applied revision: main' }] },
	},
	HelmRelease: {
		finalizers: ['finalizers.fluxcd.io'],
		spec: { chart: { spec: { chart: 'shop' } } },
		status: { conditions: [{ type: 'Ready', status: 'False', message: 'install retries exhausted' }] },
	},
};

/** @param {Shape} shape */
const custom = (shape) =>
	define(
		`kind-${shape.plural}`,
		`${shape.kind} of ${shape.group} can be defined, created, labelled and shown, is held by its finalizers, and goes with its definition`,
		async (t) => {
			const { finalizers, spec, status, rest } = lives[shape.kind];
			const { crd, path } = await defined(t, shape, {});
			const object = (/** @type {string} */ name) => one(shape, name, { finalizers }, { spec, ...rest });
			await t.post(path, object('a'), { fields: ['apiVersion', 'spec', 'status'] });
			await t.patch(`${path}/a`, 'merge', { metadata: { labels: { 'app.kubernetes.io/part-of': 'shop' } } });
			await t.patch(`${path}/a/status`, 'merge', { status }, { fields: ['status'] });
			await t.get(path, { query: { labelSelector: 'app.kubernetes.io/part-of=shop' }, fields: ['metadata.labels'] });
			await t.get(path, { headers: table, show: rows });
			for (const version of shape.versions.slice(1))
				await t.get(`${pathTo({ ...shape, versions: [version] }, t.ns)}/a`, { fields: ['apiVersion'] });
			await t.delete(`${path}/a`);
			await t.get(`${path}/a`);
			for (let left = finalizers.length - 1; left >= 0; left--)
				await t.patch(`${path}/a`, 'merge', { metadata: { finalizers: finalizers.slice(0, left) } });
			await t.get(`${path}/a`);
			await t.post(path, object('b'));
			await t.delete(crd);
			await t.until(`${path}/b`, 'is terminating', (it) => it.metadata.deletionTimestamp);
			await t.patch(`${path}/b`, 'merge', free);
			await t.gone(crd);
			await t.eventually('it is not served', 'GET', path, ({ status }) => status === 404);
		},
	);

/** Objects of the built-in kinds. No other case uses them. @type {Record<string, (t: TestContext) => KubeObject>} */
const builtIn = {
	VolumeAttachment: (t) => ({
		apiVersion: 'storage.k8s.io/v1',
		spec: { attacher: 'csi.nobody.example.com', nodeName: 'nowhere', source: { persistentVolumeName: t.name('pv') } },
	}),
	CSIDriver: () => ({ apiVersion: 'storage.k8s.io/v1', spec: { attachRequired: false } }),
	CSINode: () => ({ apiVersion: 'storage.k8s.io/v1', spec: { drivers: [] } }),
	StorageClass: (t) => storageClass(t.name('one')),
	IngressClass: () => ({ apiVersion: 'networking.k8s.io/v1', spec: { controller: 'example.com/ingress' } }),
	Ingress: () => ({
		apiVersion: 'networking.k8s.io/v1',
		spec: { defaultBackend: { service: { name: 'web', port: { number: 80 } } } },
	}),
	NetworkPolicy: () => ({
		apiVersion: 'networking.k8s.io/v1',
		spec: { podSelector: { matchLabels: { app: 'web' } }, policyTypes: ['Ingress'] },
	}),
	PodDisruptionBudget: () => disruptionBudget('one', 'web', { minAvailable: 1 }),
	EndpointSlice: () => ({ apiVersion: 'discovery.k8s.io/v1', addressType: 'IPv4', endpoints: [], ports: [] }),
	Secret: () => ({ apiVersion: 'v1', type: 'Opaque' }),
	ServiceAccount: () => ({ apiVersion: 'v1' }),
	ResourceQuota: () => ({ apiVersion: 'v1', spec: { hard: { persistentvolumeclaims: '9' } } }),
	LimitRange: () => ({ apiVersion: 'v1', spec: { limits: [] } }),
	Role: () => role('one', []),
	RoleBinding: () => roleBinding('one', 'nobody'),
	ClusterRole: () => ({ apiVersion: 'rbac.authorization.k8s.io/v1', rules: [] }),
	ClusterRoleBinding: (t) => ({
		apiVersion: 'rbac.authorization.k8s.io/v1',
		roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: t.name('none') },
		subjects: [{ kind: 'ServiceAccount', name: 'default', namespace: t.ns }],
	}),
	PriorityClass: () => ({ apiVersion: 'scheduling.k8s.io/v1', value: 1 }),
	RuntimeClass: () => ({ apiVersion: 'node.k8s.io/v1', handler: 'one' }),
	Lease: () => ({ apiVersion: 'coordination.k8s.io/v1', spec: { holderIdentity: 'nobody' } }),
	ControllerRevision: () => ({ apiVersion: 'apps/v1', revision: 1, data: {} }),
	ValidatingWebhookConfiguration: () => ({ apiVersion: 'admissionregistration.k8s.io/v1', webhooks: [] }),
	MutatingWebhookConfiguration: () => ({ apiVersion: 'admissionregistration.k8s.io/v1', webhooks: [] }),
};

/** Cluster-scoped kinds: their names need to be unique across cases. */
const clusterFaultInjector = new Set([
	'VolumeAttachment',
	'CSIDriver',
	'CSINode',
	'StorageClass',
	'IngressClass',
	'ClusterRole',
	'ClusterRoleBinding',
	'PriorityClass',
	'RuntimeClass',
	'ValidatingWebhookConfiguration',
	'MutatingWebhookConfiguration',
]);

/** @param {string} kind */
const life = (kind) =>
	define(`life-${kind.toLowerCase()}`, `${kind} can be created and shown, is held by a finalizer, and goes`, async (t) => {
		const name = clusterFaultInjector.has(kind) ? t.name('one') : 'one';
		const { metadata, ...rest } = builtIn[kind](t);
		const object = { ...rest, kind, metadata: { ...metadata, name, finalizers: ['example.com/x'] } };
		const { body } = await t.create(object, { fields: ['apiVersion', 'metadata.finalizers'] });
		const path = `${pluralOf(kind)}/${name}`;
		// The table shows numbers that the controller counts.
		if (kind === 'ResourceQuota') await t.until(path, 'is counted', (one) => one.status?.used, { unrecorded: true });
		await t.get(path, { headers: table, show: rows });
		await t.delete(path, { preconditions: { uid: body.metadata.uid } });
		await t.delete(path);
		await t.patch(path, 'merge', { metadata: { finalizers: null } }, { unrecorded: true });
		await t.gone(path);
		await t.get(path);
	});

export default [
	...shapes.map(custom),
	...Object.keys(builtIn).map(life),
	define('definition-unapproved', 'A definition in a Kubernetes group needs an approval annotation', async (t) => {
		const shape = { ...shapeOf('VolumeSnapshot'), group: `${t.ns}.k8s.io` };
		await t.create(definitionOf({ ...shape, metadata: undefined }));
		await t.create(definitionOf({ ...shape, metadata: { annotations: { 'api-approved.kubernetes.io': 'yes' } } }));
		const metadata = { annotations: { 'api-approved.kubernetes.io': 'unapproved, for a test' } };
		await t.create(definitionOf({ ...shape, metadata }), { fields: ['metadata.annotations'] });
		await t.delete(`customresourcedefinitions/${shape.plural}.${shape.group}`, undefined, { unrecorded: true });
	}),
	define(
		'snapshot-held',
		'§3 V10 A snapshot and its content are held by finalizers that the case sets, because no controller runs here',
		async (t) => {
			const shape = { ...shapeOf('VolumeSnapshot'), group: `${t.ns}.example.com` };
			const contents = { ...shapeOf('VolumeSnapshotContent'), group: shape.group };
			const { crd, path } = await defined(t, shape);
			const { crd: otherCrd, path: all } = await defined(t, contents);
			const protection = (/** @type {string} */ what) => `snapshot.storage.kubernetes.io/${what}-protection`;
			const [bound, source] = [protection('volumesnapshot-bound'), protection('volumesnapshot-as-source')];
			const ofContent = [protection('volumesnapshotcontent-bound')];
			await t.post(path, one(shape, 'snap', { finalizers: [source, bound] }, { spec: {} }));
			await t.post(all, one(contents, 'content', { finalizers: ofContent }, { spec: { deletionPolicy: 'Delete' } }));
			await t.delete(`${path}/snap`);
			await t.delete(`${all}/content`);
			const being = { 'snapshot.storage.kubernetes.io/volumesnapshot-being-deleted': 'yes' };
			const shown = { fields: ['metadata.annotations'] };
			await t.patch(`${all}/content`, 'merge', { metadata: { annotations: being } }, shown);
			await t.patch(`${path}/snap`, 'merge', { metadata: { finalizers: [bound] } });
			await t.patch(`${all}/content`, 'merge', free);
			await t.get(`${all}/content`);
			await t.patch(`${path}/snap`, 'merge', free);
			await t.get(`${path}/snap`);
			for (const one of [crd, otherCrd]) await t.delete(one, undefined, { unrecorded: true });
		},
	),
	define('usage-denies', '§3 X11 The webhook of a Usage denies the deletion of a protected object with 409', async (t) => {
		const name = 'nousages.apiextensions.crossplane.io';
		const inUse = { 'crossplane.io/in-use': 'true' };
		await t.create(configMap('used', { labels: inUse }), { unrecorded: true });
		await t.create(configMap('free'), { unrecorded: true });
		await t.create(
			{
				apiVersion: 'admissionregistration.k8s.io/v1',
				kind: 'ValidatingWebhookConfiguration',
				metadata: { name: t.name('usages') },
				webhooks: [
					{
						name,
						clientConfig: t.webhookAt(name),
						rules: [{ apiGroups: ['*'], apiVersions: ['*'], resources: ['*'], operations: ['DELETE'] }],
						namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': t.ns } },
						objectSelector: { matchLabels: inUse },
						sideEffects: 'None',
						admissionReviewVersions: ['v1'],
						timeoutSeconds: 5,
					},
				],
			},
			{ unrecorded: true },
		);
		const denies = (/** @type {any} */ { status }) => status === 409;
		await t.eventually('it denies', 'DELETE', 'configmaps/used', denies, { body: { dryRun: ['All'] } });
		await t.delete('configmaps/used');
		await t.delete('configmaps/free');
		await t.delete('configmaps', undefined, { query: { labelSelector: 'crossplane.io/in-use=true' } });
		await t.patch('configmaps/used', 'merge', { metadata: { labels: null } }, { unrecorded: true });
		await t.delete('configmaps/used');
		await t.delete(`validatingwebhookconfigurations/${t.name('usages')}`, undefined, { unrecorded: true });
	}),
	define(
		'deletion-is-blocked',
		'§3 X11 An operator can report in a condition that it blocks a deletion',
		async (t) => {
			const shape = {
				...shapeOf('Kustomization'),
				group: `${t.ns}.example.com`,
				plural: 'pools',
				kind: 'Pool',
				shortNames: [],
			};
			const { crd, path } = await defined(t, shape);
			const shown = { fields: ['status.conditions'] };
			await t.post(path, one(shape, 'pool', { finalizers: ['cephblockpool.ceph.rook.io'] }));
			await t.delete(`${path}/pool`);
			const blocked = (/** @type {string} */ status, /** @type {string} */ reason) => ({
				status: { conditions: [{ type: 'DeletionIsBlocked', status, reason }] },
			});
			await t.patch(`${path}/pool/status`, 'merge', blocked('True', 'ObjectHasDependents'), shown);
			await t.delete(`${path}/pool`, undefined, shown);
			await t.patch(`${path}/pool/status`, 'merge', blocked('False', 'ObjectHasNoDependents'), shown);
			await t.patch(`${path}/pool`, 'merge', free);
			await t.get(`${path}/pool`);
			await t.delete(crd, undefined, { unrecorded: true });
		},
	),
	define('ingress-cloud-finalizer', '§3 X9 A finalizer of a cloud controller holds an Ingress, whatever its name', async (t) => {
		const spec = { defaultBackend: { service: { name: 'web', port: { number: 80 } } } };
		const finalizers = ['ingress.k8s.aws/resources', 'networking.gke.io/ingress-finalizer-V2'];
		await t.create({
			apiVersion: 'networking.k8s.io/v1',
			kind: 'Ingress',
			metadata: { name: 'web', finalizers },
			spec,
		});
		await t.delete('ingresses/web');
		await t.get('ingresses/web');
		await t.patch('ingresses/web', 'json', [{ op: 'remove', path: '/metadata/finalizers/0' }]);
		await t.patch('ingresses/web', 'json', [{ op: 'add', path: '/metadata/finalizers/-', value: 'example.com/late' }]);
		await t.patch('ingresses/web', 'merge', free);
		await t.get('ingresses/web');
	}),
];
