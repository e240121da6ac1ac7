/**
 * Small builders for the manifests of the sample: one per kind, with parameters for what the sample varies and constants for the
 * rest. They return plain Kubernetes objects.
 */
import { canary } from './names.mjs';

/** @typedef {Record<string, any>} KubeObject */

/** The labels of an object that is part of an application. @param {string} partOf @param {string} name */
export const labels = (partOf, name) => ({ 'app.kubernetes.io/part-of': partOf, 'app.kubernetes.io/name': name });

/** @param {Record<string, string>} all the labels that never change, so that selectors can rely on them */
const selector = (all) => ({ matchLabels: all });

/**
 * @param {string} apiVersion @param {string} kind
 * @returns {(metadata: KubeObject, rest?: KubeObject) => KubeObject}
 */
const builder =
	(apiVersion, kind) =>
	(metadata, rest = {}) => ({ apiVersion, kind, metadata, ...rest });

export const namespace = builder('v1', 'Namespace');
export const serviceAccount = builder('v1', 'ServiceAccount');
export const configMap = builder('v1', 'ConfigMap');

/** A Secret whose values can be recognised wherever they turn up. @param {KubeObject} metadata @param {string[]} keys */
export const secret = (metadata, keys) =>
	builder('v1', 'Secret')(metadata, {
		type: 'Opaque',
		data: Object.fromEntries(
			keys.map((key) => [
				key,
				Buffer.from(`${canary}${metadata.namespace}-${metadata.name}-${key}`).toString('base64'),
			]),
		),
	});

/** A ServiceAccount that may read ConfigMaps, with the Role and RoleBinding that let it. @param {KubeObject} metadata */
export const identity = (metadata) => {
	const apiGroup = 'rbac.authorization.k8s.io';
	return [
		serviceAccount(metadata),
		builder(`${apiGroup}/v1`, 'Role')(metadata, {
			rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'list', 'watch'] }],
		}),
		builder(`${apiGroup}/v1`, 'RoleBinding')(metadata, {
			roleRef: { apiGroup, kind: 'Role', name: metadata.name },
			subjects: [{ kind: 'ServiceAccount', name: metadata.name, namespace: metadata.namespace }],
		}),
	];
};

/** @param {KubeObject} metadata @param {number} port @param {{headless?: boolean}} [options] */
export const service = (metadata, port, { headless = false } = {}) =>
	builder('v1', 'Service')(metadata, {
		spec: { ...(headless ? { clusterIP: 'None' } : {}), selector: metadata.labels, ports: [{ name: 'main', port }] },
	});

/** @param {KubeObject} metadata @param {string} host @param {number} port of the Service of the same name */
export const ingress = (metadata, host, port) =>
	builder('networking.k8s.io/v1', 'Ingress')(metadata, {
		spec: {
			rules: [
				{
					host,
					http: {
						paths: [
							{ path: '/', pathType: 'Prefix', backend: { service: { name: metadata.name, port: { number: port } } } },
						],
					},
				},
			],
		},
	});

/** @param {KubeObject} metadata */
export const disruptionBudget = (metadata) =>
	builder('policy/v1', 'PodDisruptionBudget')(metadata, {
		spec: { maxUnavailable: 1, selector: selector(metadata.labels) },
	});

/** @param {KubeObject} metadata @param {number} port */
export const networkPolicy = (metadata, port) =>
	builder('networking.k8s.io/v1', 'NetworkPolicy')(metadata, {
		spec: {
			podSelector: selector(metadata.labels),
			policyTypes: ['Ingress'],
			ingress: [{ from: [{ namespaceSelector: {} }], ports: [{ port }] }],
		},
	});

/** @param {KubeObject} metadata @param {string} deployment */
export const autoscaler = (metadata, deployment) =>
	builder('autoscaling/v2', 'HorizontalPodAutoscaler')(metadata, {
		spec: {
			scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: deployment },
			minReplicas: 1,
			maxReplicas: 4,
			metrics: [
				{ type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } } },
			],
		},
	});

/** @param {string} storageClassName @param {string} size @param {string} mode */
export const claimSpec = (storageClassName, size, mode) => ({
	storageClassName,
	accessModes: [mode],
	resources: { requests: { storage: size } },
});

/** @param {KubeObject} metadata @param {KubeObject} spec */
export const claim = (metadata, spec) => builder('v1', 'PersistentVolumeClaim')(metadata, { spec });

/**
 * A static NFS volume, reserved for one claim.
 * @param {KubeObject} metadata @param {KubeObject} claimed the claim's spec @param {{namespace: string, name: string}} claimRef
 */
export const nfsVolume = (metadata, { storageClassName, accessModes, resources }, claimRef) =>
	builder('v1', 'PersistentVolume')(metadata, {
		spec: {
			storageClassName,
			accessModes,
			capacity: resources.requests,
			persistentVolumeReclaimPolicy: 'Retain',
			nfs: { server: 'nfs.consortium.example', path: `/exports/${metadata.name}` },
			claimRef: { apiVersion: 'v1', kind: 'PersistentVolumeClaim', ...claimRef },
		},
	});

/**
 * @param {Record<string, string>} podLabels @param {KubeObject} spec
 * @param {Record<string, string>} [annotations] see ../stages for the ones that direct how the Pod lives and ends
 */
export const podTemplate = (podLabels, spec, annotations) => ({
	metadata: { labels: podLabels, ...(annotations ? { annotations } : {}) },
	spec: { terminationGracePeriodSeconds: 5, ...spec },
});

/** @param {KubeObject} metadata @param {number} replicas @param {KubeObject} template */
export const deployment = (metadata, replicas, template) =>
	builder('apps/v1', 'Deployment')(metadata, { spec: { replicas, selector: selector(metadata.labels), template } });

/** @param {KubeObject} metadata @param {number} replicas @param {KubeObject} template @param {KubeObject[]} volumeClaimTemplates */
export const statefulSet = (metadata, replicas, template, volumeClaimTemplates) =>
	builder('apps/v1', 'StatefulSet')(metadata, {
		spec: {
			serviceName: metadata.name,
			replicas,
			podManagementPolicy: 'Parallel',
			selector: selector(metadata.labels),
			template,
			volumeClaimTemplates,
		},
	});

/** @param {KubeObject} metadata @param {KubeObject} template */
export const job = (metadata, template) =>
	builder('batch/v1', 'Job')(metadata, { spec: { backoffLimit: 2, template } });

/** @param {KubeObject} metadata @param {string} provisioner @param {'Delete'|'Retain'} reclaimPolicy */
export const storageClass = (metadata, provisioner, reclaimPolicy) =>
	builder('storage.k8s.io/v1', 'StorageClass')(metadata, {
		provisioner,
		reclaimPolicy,
		volumeBindingMode: 'Immediate',
	});

/** @param {KubeObject} metadata */
export const csiDriver = (metadata) =>
	builder('storage.k8s.io/v1', 'CSIDriver')(metadata, { spec: { attachRequired: true, podInfoOnMount: false } });
