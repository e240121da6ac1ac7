/**
 * The API paths of the built-in kinds, so that a case can write `deployments/web` for an object in its own namespace.
 */

/** @typedef {Record<string, any>} KubeObject */

/** @type {Record<string, string>} namespaced kinds by plural; all others are in core/v1 */
const groupOf = {
	deployments: 'apps/v1',
	replicasets: 'apps/v1',
	statefulsets: 'apps/v1',
	daemonsets: 'apps/v1',
	controllerrevisions: 'apps/v1',
	jobs: 'batch/v1',
	cronjobs: 'batch/v1',
	horizontalpodautoscalers: 'autoscaling/v2',
	poddisruptionbudgets: 'policy/v1',
	networkpolicies: 'networking.k8s.io/v1',
	ingresses: 'networking.k8s.io/v1',
	endpointslices: 'discovery.k8s.io/v1',
	leases: 'coordination.k8s.io/v1',
	roles: 'rbac.authorization.k8s.io/v1',
	rolebindings: 'rbac.authorization.k8s.io/v1',
	localsubjectaccessreviews: 'authorization.k8s.io/v1',
	resourceclaims: 'resource.k8s.io/v1',
};

/** @type {Record<string, string>} cluster-scoped kinds */
const clusterGroupOf = {
	namespaces: 'v1',
	nodes: 'v1',
	persistentvolumes: 'v1',
	storageclasses: 'storage.k8s.io/v1',
	volumeattributesclasses: 'storage.k8s.io/v1',
	volumeattachments: 'storage.k8s.io/v1',
	csidrivers: 'storage.k8s.io/v1',
	csinodes: 'storage.k8s.io/v1',
	ingressclasses: 'networking.k8s.io/v1',
	runtimeclasses: 'node.k8s.io/v1',
	clusterroles: 'rbac.authorization.k8s.io/v1',
	clusterrolebindings: 'rbac.authorization.k8s.io/v1',
	priorityclasses: 'scheduling.k8s.io/v1',
	customresourcedefinitions: 'apiextensions.k8s.io/v1',
	apiservices: 'apiregistration.k8s.io/v1',
	validatingwebhookconfigurations: 'admissionregistration.k8s.io/v1',
	mutatingwebhookconfigurations: 'admissionregistration.k8s.io/v1',
	validatingadmissionpolicies: 'admissionregistration.k8s.io/v1',
	validatingadmissionpolicybindings: 'admissionregistration.k8s.io/v1',
	servicecidrs: 'networking.k8s.io/v1',
	ipaddresses: 'networking.k8s.io/v1',
	selfsubjectaccessreviews: 'authorization.k8s.io/v1',
	selfsubjectrulesreviews: 'authorization.k8s.io/v1',
	subjectaccessreviews: 'authorization.k8s.io/v1',
	selfsubjectreviews: 'authentication.k8s.io/v1',
};

/** @param {string} group */
const root = (group) => (group.includes('/') ? `/apis/${group}` : `/api/${group}`);

/**
 * The absolute path of `plural/name/subresource`, in the namespace if the kind is namespaced. An absolute path is unchanged.
 * @param {string} short @param {string} namespace
 */
export function pathOf(short, namespace) {
	if (short.startsWith('/')) return short;
	const plural = short.split(/[/?]/, 1)[0];
	if (clusterGroupOf[plural]) return `${root(clusterGroupOf[plural])}/${short}`;
	return `${root(groupOf[plural] ?? 'v1')}/namespaces/${namespace}/${short}`;
}

/** The plural of a built-in kind. @param {string} kind */
export const pluralOf = (kind) => {
	const lower = kind.toLowerCase();
	if (lower === 'ingress') return 'ingresses';
	if (/(s|x|ch)$/.test(lower)) return `${lower}es`;
	return lower.endsWith('y') ? `${lower.slice(0, -1)}ies` : `${lower}s`;
};
