/**
 * Pods need other objects until they are gone, and so do the workloads that would make such Pods again.
 */
import { titleOf } from '../cluster-state.mjs';
import { configMapsOf, secretsOf, serviceAccountOf, selects } from '../pod.mjs';
import { there, whereDeleted, whereTeardownDeletes } from './rule.mjs';

/** @typedef {import('./rule.mjs').KubeObject} KubeObject */

/** @param {KubeObject} object */
const stateOf = ({ metadata, status }) => (metadata.deletionTimestamp ? 'terminating' : status?.phase);

/** @param {KubeObject[]} users @param {string} verb @returns {string|undefined} */
export const usedBy = (users, verb) =>
	users.length > 0
		? `${verb} ${users.map((user) => `${titleOf(user)}${stateOf(user) ? ` (${stateOf(user)})` : ''}`).join(', ')}`
		: undefined;

/**
 * The Pods and workloads that need a ConfigMap, Secret or ServiceAccount.
 * @param {KubeObject} object @param {import('../cluster-state.mjs').ClusterState} state @returns {KubeObject[]}
 */
export function usersOf({ kind, metadata: { name, namespace } }, state) {
	/** @type {Record<string, (pod: KubeObject) => boolean>} */
	const uses = {
		ConfigMap: (pod) => configMapsOf(pod).has(name),
		Secret: (pod) => secretsOf(pod).has(name),
		ServiceAccount: (pod) => serviceAccountOf(pod) === name,
	};
	return uses[kind] ? state.usersThat(namespace, uses[kind]) : [];
}

/** ConfigMaps, Secrets and ServiceAccounts go after the Pods and workloads that need them. */
export const usedByPods = whereDeleted(({ object, state }) => usedBy(usersOf(object, state), 'still needed by'));

/** A binding goes after the Pods that have its rights. */
export const accountRights = whereDeleted(({ object: { kind, metadata, subjects }, state }) => {
	if (kind !== 'RoleBinding' && kind !== 'ClusterRoleBinding') return;
	const users = (subjects ?? [])
		.filter((/** @type {any} */ subject) => subject.kind === 'ServiceAccount')
		.flatMap((/** @type {any} */ subject) =>
			state.usersThat(subject.namespace ?? metadata.namespace, (pod) => serviceAccountOf(pod) === subject.name),
		);
	return usedBy(users, 'still gives rights to');
});

/** A role goes after the bindings that refer to it. */
export const role = whereTeardownDeletes(({ object: { kind, metadata }, state }) => {
	if (kind !== 'Role' && kind !== 'ClusterRole') return;
	const bindings = [...state.all('RoleBinding'), ...state.all('ClusterRoleBinding')];
	const giving = bindings.find(
		(binding) =>
			binding.roleRef.kind === kind &&
			binding.roleRef.name === metadata.name &&
			(kind === 'ClusterRole' || binding.metadata.namespace === metadata.namespace),
	);
	return there(giving, 'gives it');
});

/** Services, disruption budgets and policies go after the Pods that they select. A load balancer goes first, so that clients are drained. */
export const selector = whereDeleted(({ object: { kind, metadata, spec }, state }) => {
	/** @type {Record<string, () => KubeObject|undefined>} */
	const selectors = {
		Service: () => (spec.type === 'LoadBalancer' || !spec.selector ? undefined : { matchLabels: spec.selector }),
		PodDisruptionBudget: () => spec.selector,
		NetworkPolicy: () => spec.podSelector,
	};
	const wanted = selectors[kind]?.();
	const pods = state.all('Pod', metadata.namespace).filter((pod) => selects(wanted, pod.metadata.labels));
	return usedBy(pods, 'still selects');
});

/** A Secret goes after the ServiceAccount that refers to it and after the Ingress that serves it. */
export const secretInUse = whereTeardownDeletes(({ object: { kind, metadata }, state }) => {
	if (kind !== 'Secret') return;
	const { name, namespace } = metadata;
	const account = state
		.all('ServiceAccount', namespace)
		.find(({ secrets = [], imagePullSecrets = [] }) =>
			[...secrets, ...imagePullSecrets].some((it) => it.name === name),
		);
	const ingress = state
		.all('Ingress', namespace)
		.find(({ spec }) => (spec.tls ?? []).some((/** @type {any} */ { secretName }) => secretName === name));
	return there(account ?? ingress, 'refers to it');
});
