/**
 * The rules that a teardown must not break, one function each. Order rules look at one change and at the cluster just
 * before it; request rules look at the audit log; end rules look at the remaining objects.
 */
import { claimsOf, configMapsOf, secretsOf, serviceAccountOf } from './pod.mjs';
import { hasName, controllerOf, madeByCluster, nameOf, titleOf } from './cluster-state.mjs';

/**
 * @typedef {Record<string, any>} KubeObject
 * @typedef {{rule: string, object: string, evidence: string}} Violation
 *
 * @typedef {object} Change  one change, and the cluster just before it
 * @property {import('../cluster/client.mjs').WatchEvent} event
 * @property {KubeObject|undefined} before the object as it was
 * @property {KubeObject} object the object before the change, or a new object
 * @property {boolean} deletionBegins the change sets deletionTimestamp, or removes an object without one
 * @property {import('./cluster-state.mjs').ClusterState} state
 *
 * @typedef {object} RunFacts  the facts about the run
 * @property {(user: string) => boolean} actor whether the requests of this user are judged
 * @property {Set<string>} unit UIDs
 * @property {{own: Set<string>, needed: Map<string, string>}} bystanders
 * @property {Set<string>} unclaimed UIDs
 * @property {(object: KubeObject) => boolean} included whether a person included this unclaimed object
 * @property {boolean} keepsData whether a person chose to keep the data
 * @property {import('./audit.mjs').DeletionRequest[]} deletionRequests
 * @property {(object: KubeObject) => string|undefined} requesterOf the user that deleted this object itself, not through its owner or namespace
 * @property {KubeObject[]} deleted objects whose deletion has begun so far, in order
 */

/** @typedef {(change: Change, facts: RunFacts) => string|undefined} OrderRule  the evidence, if the rule is broken */

/** @param {KubeObject[]} pods @returns {string} */
const list = (pods) =>
	pods
		.map((pod) => `${titleOf(pod)} (${pod.metadata.deletionTimestamp ? 'terminating' : pod.status?.phase})`)
		.join(', ');

/** A claim is deleted while a Pod that mounts it exists, so that its volume becomes stale under a Pod that still unmounts it. @type {OrderRule} */
const claimInUse = ({ object, deletionBegins, state }) => {
	if (!deletionBegins || object.kind !== 'PersistentVolumeClaim') return;
	const pods = state.all('Pod', object.metadata.namespace).filter((pod) => claimsOf(pod).has(object.metadata.name));
	if (pods.length > 0) return `mounted by ${list(pods)}`;
};

/** A volume is deleted before its claim is gone. @type {OrderRule} */
const volumeBeforeClaim = ({ object, deletionBegins, state }) => {
	if (!deletionBegins || object.kind !== 'PersistentVolume' || !object.spec.claimRef) return;
	const { uid, namespace, name } = object.spec.claimRef;
	const claim = state.find('PersistentVolumeClaim', namespace, name);
	if (claim && (!uid || claim.metadata.uid === uid)) return `still bound to ${titleOf(claim)}`;
};

/** A namespace is deleted with content, so that the order of the content is left to chance. @type {OrderRule} */
const namespaceNotEmpty = ({ object, deletionBegins, state }, { actor }) => {
	if (!deletionBegins || object.kind !== 'Namespace') return;
	const content = state
		.contentOf(object.metadata.name)
		// A user cannot delete their own RoleBinding and then continue.
		.filter((each) => !madeByCluster(each) && !grants(each, actor));
	if (content.length > 0) return `still contains ${content.map(titleOf).join(', ')}`;
};

/** @param {KubeObject} binding @param {(user: string) => boolean} actor */
const grants = ({ kind, subjects }, actor) =>
	kind === 'RoleBinding' &&
	(subjects ?? []).some((/** @type {any} */ subject) =>
		actor(
			subject.kind === 'ServiceAccount' ? `system:serviceaccount:${subject.namespace}:${subject.name}` : subject.name,
		),
	);

/** An object that Pods need is deleted while those Pods exist. @type {OrderRule} */
const neededByPod = ({ object, deletionBegins, state }) => {
	if (!deletionBegins) return;
	const { kind, metadata } = object;
	const { name, namespace } = metadata;
	/** @param {(pod: KubeObject) => boolean} uses */
	const podsThat = (uses) => state.all('Pod', namespace).filter(uses);
	/** @param {KubeObject} binding */
	const podsBoundBy = ({ subjects, metadata }) =>
		(subjects ?? [])
			.filter((/** @type {any} */ subject) => subject.kind === 'ServiceAccount')
			.flatMap((/** @type {any} */ subject) =>
				state
					.all('Pod', subject.namespace ?? metadata.namespace)
					.filter((pod) => serviceAccountOf(pod) === subject.name),
			);
	const pods = (() => {
		switch (kind) {
			case 'ConfigMap':
				return podsThat((pod) => configMapsOf(pod).has(name));
			case 'Secret':
				return podsThat((pod) => secretsOf(pod).has(name));
			case 'ServiceAccount':
				return podsThat((pod) => serviceAccountOf(pod) === name);
			case 'RoleBinding':
			case 'ClusterRoleBinding':
				return podsBoundBy(object);
			case 'Role':
				return state
					.all('RoleBinding', namespace)
					.filter(({ roleRef }) => roleRef.kind === 'Role' && roleRef.name === name)
					.flatMap(podsBoundBy);
			case 'NetworkPolicy':
			case 'PodDisruptionBudget':
				return state.podsSelected(namespace, object.spec.podSelector ?? object.spec.selector);
			case 'Service':
				// A load balancer goes first, so that clients are drained.
				if (object.spec.type === 'LoadBalancer' || !object.spec.selector) return [];
				return state.podsSelected(namespace, { matchLabels: object.spec.selector });
			default:
				return [];
		}
	})();
	if (pods.length > 0) return `still needed by ${list(pods)}`;
};

/** An object that the judged user deleted was created again, because its controller remained. @type {OrderRule} */
const recreated = ({ event, object }, { unit, deleted, requesterOf, actor }) => {
	if (event.type !== 'ADDED') return;
	const controller = controllerOf(object);
	const sibling = deleted.find((other) => {
		if (!unit.has(other.metadata.uid) || other.kind !== object.kind || !actor(requesterOf(other) ?? 'system:'))
			return false;
		if (controller) return controllerOf(other) === controller;
		return other.metadata.namespace === object.metadata.namespace && other.metadata.name === object.metadata.name;
	});
	if (sibling) return `made after ${titleOf(sibling)} had been deleted by ${requesterOf(sibling)}`;
};

/** An object of a bystander, or one that it needs, is deleted, replaced or changed. @type {OrderRule} */
const bystanderTouched = (
	{ event, before, object, deletionBegins },
	{ bystanders: { own, needed }, deleted, requesterOf },
) => {
	const { uid } = object.metadata;
	const role = own.has(uid)
		? 'belongs to a bystander'
		: needed.has(uid)
			? `a bystander needs it: ${needed.get(uid)}`
			: undefined;
	/** @param {KubeObject} object */
	const removedWithItsNode = (object) => nodeControllers.has(requesterOf(object) ?? '');
	if (role) {
		if (deletionBegins) return removedWithItsNode(object) ? undefined : `deleted; ${role}`;
		if (before && event.type === 'MODIFIED' && relevantFields(before) !== relevantFields(object)) return `changed; ${role}`;
		return;
	}
	if (event.type !== 'ADDED') return;
	const controller = controllerOf(object);
	if (!controller || !own.has(controller)) return;
	const siblings = deleted.filter((other) => controllerOf(other) === controller);
	if (siblings.length === 0 || !siblings.every(removedWithItsNode))
		return 'new, under the control of a bystander that had what it needed';
};

/** Controllers that delete Pods whose node is gone. A teardown does not cause that. */
const nodeControllers = new Set(
	['node-controller', 'taint-eviction-controller', 'pod-garbage-collector'].map(
		(name) => `system:serviceaccount:kube-system:${name}`,
	),
);

/** An object without metadata and status: what users set, as opposed to what the cluster reports. @param {KubeObject} object */
function relevantFields({ apiVersion: _, kind: __, metadata: ___, status: ____, ...chosen }) {
	return JSON.stringify(chosen, (_key, value) =>
		value && typeof value === 'object' && !Array.isArray(value)
			? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
			: value,
	);
}

/** An object that nothing declares part of an application is deleted, and nobody included it. @type {OrderRule} */
const unclaimedTouched = ({ object, deletionBegins }, { unclaimed, included, requesterOf, actor }) => {
	if (!deletionBegins || !unclaimed.has(object.metadata.uid) || included(object)) return;
	if (actor(requesterOf(object) ?? 'system:')) return 'nothing says that it is part of the unit, and nobody included it';
};

/** A claim or volume of the unit is deleted although its data was to be kept. @type {OrderRule} */
const dataNotKept = ({ object, deletionBegins }, { unit, keepsData }) => {
	if (!deletionBegins || !keepsData || !unit.has(object.metadata.uid)) return;
	const ofPod = object.metadata.ownerReferences?.some((/** @type {any} */ { kind }) => kind === 'Pod');
	if (['PersistentVolumeClaim', 'PersistentVolume'].includes(object.kind) && !ofPod) return 'its data was to be kept';
};

/** @type {Record<string, OrderRule>} */
export const orderRules = {
	'claim-in-use': claimInUse,
	'volume-before-claim': volumeBeforeClaim,
	'namespace-not-empty': namespaceNotEmpty,
	'needed-by-pod': neededByPod,
	're-created': recreated,
	'bystander-touched': bystanderTouched,
	'unclaimed-touched': unclaimedTouched,
	'data-not-kept': dataNotKept,
};

/**
 * A DELETE that could affect other objects than intended: a later object of the same name (no UID precondition), dependents by a
 * default policy (no propagation policy), or any object of a collection.
 * @param {RunFacts} known @returns {Violation[]}
 */
export function unguarded({ deletionRequests, actor }) {
	return deletionRequests
		.filter(({ user, dryRun, eviction }) => actor(user) && !dryRun && !eviction)
		// Refused before its body was read: the audit log has no options to judge, and nothing was deleted.
		.filter(({ code }) => code !== 401 && code !== 403)
		.flatMap(({ user, at, code, collection, resource, namespace, name, preconditionUid, propagationPolicy }) => {
			const faults = collection
				? ['a whole collection at once']
				: [
						...(preconditionUid ? [] : ['no UID precondition']),
						...(propagationPolicy ? [] : ['no propagation policy']),
					];
			if (faults.length === 0) return [];
			const object = nameOf({ kind: resource, namespace, name: name ?? '(all)' });
			return [
				{ rule: 'unguarded-delete', object, evidence: `${user} at ${at}: ${faults.join(', ')} (answered ${code})` },
			];
		});
}

/**
 * Objects of the unit that remain, and objects that should remain and do not.
 * @param {import('./cluster-state.mjs').ClusterState} state @param {RunFacts} known
 * @param {{kept: (object: KubeObject) => boolean, expected: import('./cluster-state.mjs').Name[], destroyed?: string[]}} end
 *   `destroyed`: the volumes of which the person was told that their data is destroyed, if that is known
 * @returns {Violation[]}
 */
export function checkEnd(state, { unit, actor, bystanders: { needed }, unclaimed, deleted }, { kept, expected, destroyed }) {
	const nobodys = [...state.objects.values()].filter(({ metadata }) => unclaimed.has(metadata.uid));
	const stays = new Set(nobodys.map(({ metadata }) => metadata.namespace));
	const left = [...state.objects.values()]
		.filter(({ kind, metadata }) => kind !== 'Namespace' || !stays.has(metadata.name))
		.filter(({ metadata }) => unit.has(metadata.uid) && !needed.has(metadata.uid))
		.filter((object) => !kept(object) && !grants(object, actor))
		.map((object) => ({
			rule: 'left-over',
			object: titleOf(object),
			evidence: object.metadata.deletionTimestamp
				? `terminating since ${object.metadata.deletionTimestamp}, finalizers: ${(object.metadata.finalizers ?? []).join(', ') || 'none'}`
				: 'never deleted',
		}));
	// A terminating object counts as gone, and a recreated object is another object.
	const lost = expected.flatMap((name) => {
		const wasDeleted = deleted.some(hasName(name));
		if (!wasDeleted && state.find(name.kind, name.namespace, name.name)) return [];
		return [
			{
				rule: 'not-kept',
				object: nameOf(name),
				evidence: wasDeleted ? 'should be kept and was deleted' : 'should be kept and is gone',
			},
		];
	});
	const unsaid = deleted
		.filter(({ kind, metadata, spec }) => {
			const goes = kind === 'PersistentVolume' && spec.persistentVolumeReclaimPolicy === 'Delete';
			return goes && unit.has(metadata.uid) && destroyed && !destroyed.includes(metadata.name);
		})
		.map((volume) => ({
			rule: 'data-destroyed-unsaid',
			object: titleOf(volume),
			evidence: 'its data is destroyed, and nobody was told',
		}));
	return [...left, ...lost, ...unsaid];
}
