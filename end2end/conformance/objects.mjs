/**
 * Minimal objects of the kinds that the cases use.
 */

/** @typedef {Record<string, any>} KubeObject */

/** @param {string} name @param {KubeObject} [metadata] @param {KubeObject} [rest] */
export const configMap = (name, metadata = {}, rest = {}) => ({
	apiVersion: 'v1',
	kind: 'ConfigMap',
	metadata: { name, ...metadata },
	...rest,
});

/** Metadata with an owner reference. @param {KubeObject} owner as the API server returned it @param {KubeObject} [rest] */
export const ownedBy = ({ apiVersion, kind, metadata: { name, uid } }, rest = {}) => ({
	ownerReferences: [{ apiVersion, kind, name, uid, ...rest }],
});

/** Keeps a Pod terminating until the annotation is removed. */
export const held = { annotations: { 'unwind.test/hold': 'silent' } };
/** Makes a Pod succeed. */
export const completing = { annotations: { 'unwind.test/completes': 'true' } };

const containers = [{ name: 'main', image: 'example.com/main:1' }];

/** @param {string} name @param {KubeObject} [metadata] @param {KubeObject} [spec] */
export const pod = (name, metadata = {}, spec = {}) => ({
	apiVersion: 'v1',
	kind: 'Pod',
	metadata: { name, ...metadata },
	spec: { containers, ...spec },
});

/** A Pod that cannot be scheduled. @param {string} name @param {KubeObject} [metadata] */
export const unplacedPod = (name, metadata = {}) => pod(name, metadata, { nodeSelector: { nowhere: 'ever' } });

/** @param {string} app @param {KubeObject} [metadata] @param {KubeObject} [spec] */
const template = (app, metadata = {}, spec = {}) => ({
	metadata: { labels: { app }, ...metadata },
	spec: { containers, ...spec },
});
/** @param {string} app */
const selector = (app) => ({ matchLabels: { app } });

/** @typedef {{replicas?: number, pods?: KubeObject, podSpec?: KubeObject, metadata?: KubeObject, spec?: KubeObject}} Shape  pods: the metadata of the Pods */

/** @param {string} name @param {Shape} [shape] */
export const deployment = (name, { replicas = 1, pods, podSpec, metadata, spec } = {}) => ({
	apiVersion: 'apps/v1',
	kind: 'Deployment',
	metadata: { name, ...metadata },
	spec: { replicas, selector: selector(name), template: template(name, pods, podSpec), ...spec },
});

/** @param {string} name @param {Shape} [shape] */
export const replicaSet = (name, { replicas = 1, pods, podSpec, metadata, spec } = {}) => ({
	apiVersion: 'apps/v1',
	kind: 'ReplicaSet',
	metadata: { name, ...metadata },
	spec: { replicas, selector: selector(name), template: template(name, pods, podSpec), ...spec },
});

/** @param {string} name @param {Shape} [shape] */
export const replicationController = (name, { replicas = 1, pods, podSpec } = {}) => ({
	apiVersion: 'v1',
	kind: 'ReplicationController',
	metadata: { name },
	spec: { replicas, selector: { app: name }, template: template(name, pods, podSpec) },
});

/** @param {string} name @param {Shape} [shape] */
export const statefulSet = (name, { replicas = 1, pods, podSpec, metadata, spec } = {}) => ({
	apiVersion: 'apps/v1',
	kind: 'StatefulSet',
	metadata: { name, ...metadata },
	spec: { replicas, serviceName: name, selector: selector(name), template: template(name, pods, podSpec), ...spec },
});

/** @param {string} name @param {Shape} [shape] */
export const daemonSet = (name, { pods, podSpec, metadata, spec } = {}) => ({
	apiVersion: 'apps/v1',
	kind: 'DaemonSet',
	metadata: { name, ...metadata },
	spec: { selector: selector(name), template: template(name, pods, podSpec), ...spec },
});

/** @param {string} name @param {Shape} [shape] */
export const job = (name, { pods = completing, podSpec, metadata, spec } = {}) => ({
	apiVersion: 'batch/v1',
	kind: 'Job',
	metadata: { name, ...metadata },
	spec: { template: { metadata: { ...pods }, spec: { containers, restartPolicy: 'Never', ...podSpec } }, ...spec },
});

/** Scheduled once a year, so that it does not run during a case. @param {string} name @param {KubeObject} [spec] @param {Shape} [shape] */
export const cronJob = (name, spec = {}, shape = {}) => ({
	apiVersion: 'batch/v1',
	kind: 'CronJob',
	metadata: { name },
	spec: { schedule: '0 0 1 1 *', jobTemplate: { spec: job(name, shape).spec }, ...spec },
});

/** @param {string} name @param {string|undefined} storageClassName @param {KubeObject} [metadata] @param {KubeObject} [spec] */
export const claim = (name, storageClassName, metadata = {}, spec = {}) => ({
	apiVersion: 'v1',
	kind: 'PersistentVolumeClaim',
	metadata: { name, ...metadata },
	spec: { storageClassName, accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, ...spec },
});

/** A statically provisioned volume. @param {string} name @param {KubeObject} [spec] @param {KubeObject} [metadata] */
export const volume = (name, spec = {}, metadata = {}) => ({
	apiVersion: 'v1',
	kind: 'PersistentVolume',
	metadata: { name, ...metadata },
	spec: {
		capacity: { storage: '1Gi' },
		accessModes: ['ReadWriteOnce'],
		storageClassName: name,
		nfs: { server: 'nfs.example.com', path: '/exports/data' },
		...spec,
	},
});

/** @param {string} name @param {KubeObject} [rest] */
export const storageClass = (name, rest = {}) => ({
	apiVersion: 'storage.k8s.io/v1',
	kind: 'StorageClass',
	metadata: { name },
	provisioner: 'csi.unwind.test',
	...rest,
});

/** @param {string} name */
export const volumeAttributesClass = (name) => ({
	apiVersion: 'storage.k8s.io/v1',
	kind: 'VolumeAttributesClass',
	metadata: { name },
	driverName: 'csi.unwind.test',
	parameters: { iops: '100' },
});

/** The Pod spec that uses a claim. @param {string} claimName */
export const using = (claimName) => ({ volumes: [{ name: 'data', persistentVolumeClaim: { claimName } }] });

/** The Pod spec that mounts a volume. @param {KubeObject} source of the volume */
export const mounting = (source) => ({
	volumes: [{ name: 'data', ...source }],
	containers: [{ name: 'main', image: 'example.com/main:1', volumeMounts: [{ name: 'data', mountPath: '/data' }] }],
});

/** @param {string} name @param {string} app @param {KubeObject} spec */
export const disruptionBudget = (name, app, spec) => ({
	apiVersion: 'policy/v1',
	kind: 'PodDisruptionBudget',
	metadata: { name },
	spec: { selector: selector(app), ...spec },
});

/** @param {string} name @param {KubeObject} [spec] @param {KubeObject} [metadata] */
export const service = (name, spec = {}, metadata = {}) => ({
	apiVersion: 'v1',
	kind: 'Service',
	metadata: { name, ...metadata },
	spec: { selector: { app: name }, ports: [{ port: 80 }], ...spec },
});

/** @param {string} name @param {KubeObject[]} rules */
export const role = (name, rules) => ({
	apiVersion: 'rbac.authorization.k8s.io/v1',
	kind: 'Role',
	metadata: { name },
	rules,
});

/** @param {string} name @param {string} user @param {string} [kind] of the role of the same name */
export const roleBinding = (name, user, kind = 'Role') => ({
	apiVersion: 'rbac.authorization.k8s.io/v1',
	kind: 'RoleBinding',
	metadata: { name },
	roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind, name },
	subjects: [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: user }],
});

/**
 * A CustomResourceDefinition with the group `<ns>.example.com` and the plural `widgets`.
 * @param {string} ns @param {{scope?: string, versions?: KubeObject[], spec?: KubeObject}} [shape]
 */
export const definition = (ns, { scope = 'Namespaced', versions, spec } = {}) => ({
	apiVersion: 'apiextensions.k8s.io/v1',
	kind: 'CustomResourceDefinition',
	metadata: { name: `widgets.${ns}.example.com` },
	spec: {
		group: `${ns}.example.com`,
		scope,
		names: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList', shortNames: ['wd'] },
		versions: versions ?? [
			{
				name: 'v1',
				served: true,
				storage: true,
				schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
			},
		],
		...spec,
	},
});

/** @param {string} ns @param {string} name @param {KubeObject} [metadata] @param {KubeObject} [rest] */
export const widget = (ns, name, metadata = {}, rest = {}) => ({
	apiVersion: `${ns}.example.com/v1`,
	kind: 'Widget',
	metadata: { name, ...metadata },
	...rest,
});
