/**
 * Users and rights: three people, and the servers of the cluster, each with a token of its own.
 *
 *   admin      everything
 *   developer  reads the cluster except Secrets, has every right inside the application's three namespaces, may delete and
 *              patch those namespaces themselves and the application's static PersistentVolumes
 *   reader     reads the cluster except Secrets
 *
 * The developer's rights come from one RoleBinding in each namespace: deleting the binding or its namespace removes them.
 */
import { randomBytes } from 'node:crypto';
import { namespaces, staticVolumes } from './sample/names.mjs';

export const people = ['admin', 'developer', 'reader'];

/** @type {Record<string, string[]>} user → groups */
const groups = {
	admin: ['system:masters'],
	developer: ['developers'],
	reader: ['readers'],
	'system:kube-controller-manager': ['system:masters'],
	'system:kube-scheduler': ['system:masters'],
	'system:kwok': ['system:masters'],
	'system:provisioner': ['system:masters'],
	'system:attacher': ['system:masters'],
};

/**
 * The tokens of the same users for a sandbox. The secret of its port allows acting as any user.
 * @param {{tokens: Map<string, string>}} kubeconfig  the kubeconfig that the sandbox wrote
 */
export const sandboxTokens = ({ tokens }) =>
	new Map(people.map((user) => [user, `${tokens.get('sandbox')}.user:${user}:${groups[user].join(',')}`]));

/** @returns {Map<string, string>} a new secret token for every user */
export const newTokens = () => new Map(Object.keys(groups).map((user) => [user, randomBytes(24).toString('hex')]));

/** @param {Map<string, string>} tokens @returns {string} the API server's --token-auth-file */
export const tokenFile = (tokens) =>
	[...tokens].map(([user, token]) => `${token},${user},${user},"${groups[user].join(',')}"\n`).join('');

const read = ['get', 'list', 'watch'];
/** RBAC has no exclusion: every core resource by name, except Secrets and those that run commands in containers. */
const coreWithoutSecrets = [
	'bindings',
	'componentstatuses',
	'configmaps',
	'endpoints',
	'events',
	'limitranges',
	'namespaces',
	'nodes',
	'persistentvolumeclaims',
	'persistentvolumes',
	'pods',
	'pods/status',
	'podtemplates',
	'replicationcontrollers',
	'resourcequotas',
	'serviceaccounts',
	'services',
];
const otherGroups = [
	'admissionregistration.k8s.io',
	'apiextensions.k8s.io',
	'apiregistration.k8s.io',
	'apps',
	'autoscaling',
	'batch',
	'coordination.k8s.io',
	'discovery.k8s.io',
	'events.k8s.io',
	'flowcontrol.apiserver.k8s.io',
	'networking.k8s.io',
	'node.k8s.io',
	'policy',
	'rbac.authorization.k8s.io',
	'resource.k8s.io',
	'scheduling.k8s.io',
	'storage.k8s.io',
];

const apiVersion = 'rbac.authorization.k8s.io/v1';
const apiGroup = 'rbac.authorization.k8s.io';
/** @param {string} group */
const subjects = (group) => [{ kind: 'Group', apiGroup, name: group }];
/** @param {string} name @param {string} role @param {string} group */
const clusterBinding = (name, role, group) => ({
	apiVersion,
	kind: 'ClusterRoleBinding',
	metadata: { name },
	roleRef: { apiGroup, kind: 'ClusterRole', name: role },
	subjects: subjects(group),
});

/** Rights that exist before any application does. */
export const clusterRights = [
	{
		apiVersion,
		kind: 'ClusterRole',
		metadata: { name: 'unwind-reader' },
		rules: [
			{ apiGroups: [''], resources: coreWithoutSecrets, verbs: read },
			{ apiGroups: otherGroups, resources: ['*'], verbs: read },
		],
	},
	{
		apiVersion,
		kind: 'ClusterRole',
		metadata: { name: 'unwind-developer' },
		rules: [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }],
	},
	{
		apiVersion,
		kind: 'ClusterRole',
		metadata: { name: 'unwind-developer-cluster' },
		rules: [
			{ apiGroups: [''], resources: ['namespaces'], resourceNames: namespaces, verbs: ['delete', 'patch', 'update'] },
			{
				apiGroups: [''],
				resources: ['persistentvolumes'],
				resourceNames: staticVolumes,
				verbs: ['delete', 'patch', 'update'],
			},
		],
	},
	clusterBinding('unwind-reader', 'unwind-reader', 'readers'),
	clusterBinding('unwind-developer-reads', 'unwind-reader', 'developers'),
	clusterBinding('unwind-developer-cluster', 'unwind-developer-cluster', 'developers'),
];

/** The developer's rights inside the application, once its namespaces exist. */
export const namespaceRights = namespaces.map((namespace) => ({
	apiVersion,
	kind: 'RoleBinding',
	metadata: { name: 'unwind-developer', namespace },
	roleRef: { apiGroup, kind: 'ClusterRole', name: 'unwind-developer' },
	subjects: [{ kind: 'User', apiGroup, name: 'developer' }],
}));
