/**
 * The objects that a Pod's specification refers to.
 *
 * Written from the Kubernetes API reference for the judge alone. The server reads the same fields with code of its own: two
 * implementations that agree are evidence, a shared one is not.
 */

/** @typedef {Record<string, any>} KubeObject */

/** @param {KubeObject} pod @returns {Set<string>} names of the claims it mounts */
export function claimsOf({ metadata, spec }) {
	const names = new Set();
	for (const volume of spec.volumes ?? []) {
		if (volume.persistentVolumeClaim) names.add(volume.persistentVolumeClaim.claimName);
		if (volume.ephemeral) names.add(`${metadata.name}-${volume.name}`);
	}
	return names;
}

/** @param {KubeObject} pod */
const containersOf = ({ spec }) => [
	...(spec.initContainers ?? []),
	...spec.containers,
	...(spec.ephemeralContainers ?? []),
];

/** @param {KubeObject} pod @returns {Set<string>} names of the ConfigMaps it reads */
export function configMapsOf(pod) {
	const names = new Set();
	for (const volume of pod.spec.volumes ?? []) {
		if (volume.configMap) names.add(volume.configMap.name);
		for (const source of volume.projected?.sources ?? []) if (source.configMap) names.add(source.configMap.name);
	}
	for (const { env, envFrom } of containersOf(pod)) {
		for (const { configMapRef } of envFrom ?? []) if (configMapRef) names.add(configMapRef.name);
		for (const { valueFrom } of env ?? []) if (valueFrom?.configMapKeyRef) names.add(valueFrom.configMapKeyRef.name);
	}
	return names;
}

/** The field that names a Secret, by volume type. */
const loginSecret = {
	azureFile: 'secretName',
	secret: 'secretName',
	cephfs: 'secretRef',
	cinder: 'secretRef',
	csi: 'nodePublishSecretRef',
	flexVolume: 'secretRef',
	iscsi: 'secretRef',
	rbd: 'secretRef',
	scaleIO: 'secretRef',
	storageos: 'secretRef',
};

/** @param {KubeObject} pod @returns {Set<string>} names of the Secrets it reads */
export function secretsOf(pod) {
	const names = new Set();
	for (const { name } of pod.spec.imagePullSecrets ?? []) names.add(name);
	for (const volume of pod.spec.volumes ?? []) {
		for (const [type, field] of Object.entries(loginSecret)) {
			const reference = volume[type]?.[field];
			if (reference) names.add(reference.name ?? reference);
		}
		for (const source of volume.projected?.sources ?? []) if (source.secret) names.add(source.secret.name);
	}
	for (const { env, envFrom } of containersOf(pod)) {
		for (const { secretRef } of envFrom ?? []) if (secretRef) names.add(secretRef.name);
		for (const { valueFrom } of env ?? []) if (valueFrom?.secretKeyRef) names.add(valueFrom.secretKeyRef.name);
	}
	return names;
}

/** @param {KubeObject} pod */
export const serviceAccountOf = ({ spec }) => spec.serviceAccountName ?? 'default';

/** @param {Record<string, string>|undefined} labels @param {KubeObject|undefined} selector a LabelSelector; empty selects all */
export function selects(selector, labels = {}) {
	if (!selector) return false;
	const { matchLabels = {}, matchExpressions = [] } = selector;
	return (
		Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
		matchExpressions.every((/** @type {any} */ { key, operator, values = [] }) => {
			if (operator === 'In') return key in labels && values.includes(labels[key]);
			if (operator === 'NotIn') return !(key in labels) || !values.includes(labels[key]);
			return operator === 'Exists' ? key in labels : !(key in labels);
		})
	);
}

/** The template of a workload's Pods. @param {KubeObject} workload @returns {KubeObject|undefined} */
export const templateOf = ({ kind, spec }) =>
	kind === 'CronJob' ? spec?.jobTemplate?.spec?.template : workloads.has(kind) ? spec?.template : undefined;

const workloads = new Set(['Deployment', 'ReplicaSet', 'StatefulSet', 'DaemonSet', 'Job', 'ReplicationController']);

/** Whether a kubelet reported that every container of a Pod has ended, or none ever got the Pod. @param {KubeObject} pod */
export const hasEnded = ({ spec, status }) =>
	!spec.nodeName ||
	(spec.containers ?? []).every((/** @type {any} */ { name }) =>
		(status?.containerStatuses ?? []).some((/** @type {any} */ it) => it.name === name && it.state?.terminated),
	);
