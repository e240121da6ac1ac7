/**
 * The cluster at one revision. Applying the changes of a history moves it forward.
 */
import { templateOf } from './pod.mjs';

/** @typedef {Record<string, any>} KubeObject */

/** @typedef {{kind: string, namespace?: string, name: string}} Name  not unique over time: a later object may have the same name */

/** @param {Name} name @returns {(object: KubeObject) => boolean} */
export const hasName =
	({ kind, namespace, name }) =>
	(object) =>
		object.kind === kind && object.metadata.name === name && object.metadata.namespace === namespace;

/** For people. @param {Name} name */
export const nameOf = ({ kind, namespace, name }) => `${kind} ${namespace ? `${namespace}/` : ''}${name}`;
/** @param {KubeObject} object */
export const titleOf = ({ kind, metadata }) => nameOf({ kind, namespace: metadata.namespace, name: metadata.name });

/** @param {KubeObject} object @returns {string|undefined} the UID of its controller */
export const controllerOf = ({ metadata }) =>
	metadata.ownerReferences?.find((/** @type {any} */ { controller }) => controller)?.uid;

/** The plural of a kind, as apimachinery guesses it (meta.UnsafeGuessKindToResource). @param {KubeObject} object */
export function resourceOf({ kind }) {
	const singular = kind.toLowerCase();
	if (singular === 'endpoints') return singular;
	if (singular.endsWith('s')) return `${singular}es`;
	return singular.endsWith('y') ? `${singular.slice(0, -1)}ies` : `${singular}s`;
}

export class ClusterState {
	/** @type {Map<string, KubeObject>} what exists, by UID */
	objects = new Map();

	/** @param {import('../cluster/client.mjs').WatchEvent} event */
	apply({ type, object }) {
		if (type === 'DELETED') this.objects.delete(object.metadata.uid);
		else this.objects.set(object.metadata.uid, object);
	}

	/** @param {string} kind @param {string} [namespace] @returns {KubeObject[]} */
	all(kind, namespace) {
		return [...this.objects.values()].filter(
			(object) => object.kind === kind && (namespace === undefined || object.metadata.namespace === namespace),
		);
	}

	/** @param {string} kind @param {string|undefined} namespace @param {string} name */
	find(kind, namespace, name) {
		return this.all(kind, namespace).find(({ metadata }) => metadata.name === name);
	}

	/** @param {string} namespace @returns {KubeObject[]} */
	contentOf(namespace) {
		return [...this.objects.values()].filter(({ metadata }) => metadata.namespace === namespace);
	}

	/**
	 * The Pods of a namespace that match, and the workloads that would make such Pods.
	 * @param {string} namespace @param {(pod: KubeObject) => boolean} uses @returns {KubeObject[]}
	 */
	usersThat(namespace, uses) {
		return this.contentOf(namespace).filter((object) => {
			if (object.kind === 'Pod') return uses(object);
			const template = templateOf(object);
			return !!template && uses({ metadata: { namespace, ...template.metadata }, spec: template.spec });
		});
	}
}

/** Of Kubernetes, Istio and OpenShift. */
const rootCertificates = ['kube-root-ca.crt', 'istio-ca-root-cert', 'openshift-service-ca.crt'];

/**
 * Whether the cluster creates the object in every namespace by itself.
 * @param {KubeObject} object
 */
export const madeByCluster = ({ kind, metadata }) =>
	(kind === 'ServiceAccount' && metadata.name === 'default') ||
	(kind === 'ConfigMap' && rootCertificates.includes(metadata.name));
