/**
 * Waits until the sample application is complete: workloads ready, claims bound, volumes attached.
 */
import { bystanderNamespace, namespaces } from './names.mjs';

/** @typedef {import('../client.mjs').KubeObject} KubeObject */

const selector = { labelSelector: 'app.kubernetes.io/part-of in (consortium,bystander)' };
const all = [...namespaces, bystanderNamespace];

/** @param {KubeObject} workload whose controller has observed the last change and whose Pods are ready */
const complete = ({ metadata, spec, status }) =>
	status?.observedGeneration === metadata.generation && (status.readyReplicas ?? 0) === spec.replicas;

/** @param {KubeObject} pod */
const alive = ({ metadata, status }) =>
	!metadata.deletionTimestamp &&
	(status.phase === 'Succeeded' ||
		(status.phase === 'Running' &&
			status.conditions.some((/** @type {any} */ { type, status }) => type === 'Ready' && status === 'True')));

/**
 * @param {{until: import('../until.mjs').Until}} cluster @param {number} [within] milliseconds
 */
export async function waitUntilSettled(cluster, within = 60_000) {
	/** @param {string} path @param {string} what @param {(object: KubeObject) => boolean} good */
	const every = (path, what, good) =>
		cluster.until(path, (objects) => objects.length > 0 && objects.every(good), { what, within, params: selector });
	await Promise.all([
		every('/apis/apps/v1/deployments', 'all Deployments complete', complete),
		every('/apis/apps/v1/statefulsets', 'all StatefulSets complete', complete),
		every('/apis/batch/v1/jobs', 'all Jobs done', ({ status }) => status?.succeeded === 1),
		every('/api/v1/persistentvolumeclaims', 'all claims bound', ({ status }) => status?.phase === 'Bound'),
		cluster.until(
			'/api/v1/persistentvolumes',
			(volumes) => volumes.length > 0 && volumes.every(({ status }) => status?.phase === 'Bound'),
			{
				what: 'all volumes bound',
				within,
			},
		),
		cluster.until(
			'/apis/storage.k8s.io/v1/volumeattachments',
			(found) => found.length > 0 && found.every(({ status }) => status?.attached),
			{
				what: 'the provisioned volume attached',
				within,
			},
		),
		// The cluster creates these two in every namespace.
		cluster.until('/api/v1/configmaps', inEveryNamespace, {
			what: 'kube-root-ca.crt in every namespace',
			within,
			params: { fieldSelector: 'metadata.name=kube-root-ca.crt' },
		}),
		cluster.until('/api/v1/serviceaccounts', inEveryNamespace, {
			what: 'a default service account in every namespace',
			within,
			params: { fieldSelector: 'metadata.name=default' },
		}),
	]);
	// Checked last, because the workloads above determine the expected number.
	await every('/api/v1/pods', 'all Pods running or done', alive);
}

/** @param {KubeObject[]} objects */
const inEveryNamespace = (objects) =>
	all.every((namespace) => objects.some(({ metadata }) => metadata.namespace === namespace));
