/**
 * What may go at all, and what takes other objects with it.
 */
import { controllerOf, madeByCluster, titleOf } from '../cluster-state.mjs';
import {
	garbageCollector,
	isByActor,
	namespaceController,
	there,
	whereActorDeletes,
	whereDeleted,
	whereTeardownDeletes,
} from './rule.mjs';

/** @typedef {import('./rule.mjs').KubeObject} KubeObject */
/** @typedef {import('./rule.mjs').OrderRule} OrderRule */

/** An owner re-creates its dependents, or has them collected in another order, so it goes first. */
export const owner = whereActorDeletes(({ object: { metadata }, state }) => {
	const found = (metadata.ownerReferences ?? [])
		.map((/** @type {any} */ { uid }) => state.objects.get(uid))
		.find(
			(/** @type {KubeObject|undefined} */ it) =>
				it && (!it.metadata.namespace || it.metadata.namespace === metadata.namespace),
		);
	return found && `its owner ${titleOf(found)} is there`;
});

/** A namespace is deleted without content, because the order of the content is left to chance. */
export const namespaceWithContent = whereDeleted(({ object: { kind, metadata }, state }, { actor }) => {
	if (kind !== 'Namespace') return;
	const content = state
		.contentOf(metadata.name)
		// A user cannot delete their own RoleBinding and then continue.
		.filter((each) => !madeByCluster(each) && !grants(each, actor));
	if (content.length > 0) return `still contains ${content.map(titleOf).join(', ')}`;
});

/** Whether a binding gives the judged user rights. @param {KubeObject} binding @param {(user: string) => boolean} actor */
export const grants = ({ kind, subjects }, actor) =>
	kind === 'RoleBinding' &&
	(subjects ?? []).some((/** @type {any} */ subject) =>
		actor(
			subject.kind === 'ServiceAccount' ? `system:serviceaccount:${subject.namespace}:${subject.name}` : subject.name,
		),
	);

/** An object that the judged user deleted was created again, because its controller remained. @type {OrderRule} */
export const recreated = ({ event, object }, facts) => {
	if (event.type !== 'ADDED') return;
	const { unit, deleted, requestOf } = facts;
	const controller = controllerOf(object);
	const sibling = deleted.find((other) => {
		if (!unit.has(other.metadata.uid) || other.kind !== object.kind || !isByActor(other, facts)) return false;
		if (controller) return controllerOf(other) === controller;
		return other.metadata.namespace === object.metadata.namespace && other.metadata.name === object.metadata.name;
	});
	if (sibling) return `made after ${titleOf(sibling)} had been deleted by ${requestOf(sibling)?.user}`;
};

/**
 * A GitOps parent makes what it declares again, so it is suspended or on its way out first. Flux marks objects with labels; Argo CD
 * with an annotation that begins with the application's name, or, outside Argo CD's own namespace, with NAMESPACE_NAME, and else
 * with a label.
 */
export const declared = whereTeardownDeletes(({ object, state }) => {
	const { uid, labels = {}, annotations = {} } = object.metadata;
	const byFlux = [
		{ kind: 'Kustomization', group: 'kustomize.toolkit.fluxcd.io' },
		{ kind: 'HelmRelease', group: 'helm.toolkit.fluxcd.io' },
	].map(({ kind, group }) => state.find(kind, labels[`${group}/namespace`], labels[`${group}/name`]));
	const application =
		annotations['argocd.argoproj.io/tracking-id']?.split(':')[0] ?? labels['argocd.argoproj.io/instance'];
	const byArgoCd = state
		.all('Application')
		.find(({ metadata: { namespace, name } }) => [name, `${namespace}_${name}`].includes(application));
	const active = [...byFlux, byArgoCd].find(
		(parent) =>
			parent &&
			parent.metadata.uid !== uid &&
			!parent.metadata.deletionTimestamp &&
			(parent.kind === 'Application' ? parent.spec?.syncPolicy?.automated : !parent.spec?.suspend),
	);
	return there(active, 'is active and would make it again');
});

/** Controllers that delete Pods whose node is gone. A teardown does not cause that. */
const nodeControllers = new Set(
	['node-controller', 'taint-eviction-controller', 'pod-garbage-collector'].map(
		(name) => `system:serviceaccount:kube-system:${name}`,
	),
);

/** The role of an object for bystanders. @param {KubeObject} object @param {import('./rule.mjs').RunFacts} facts */
const forBystander = ({ metadata: { uid } }, { bystanders: { own, needed } }) =>
	own.has(uid) ? 'belongs to a bystander' : needed.has(uid) ? `a bystander needs it: ${needed.get(uid)}` : undefined;

/** An object of a bystander, or one that it needs, is deleted, replaced or changed. @type {OrderRule} */
export const bystander = ({ event, before, object, deletionBegins }, facts) => {
	const { bystanders, deleted, requestOf } = facts;
	const role = forBystander(object, facts);
	/** @param {KubeObject} object */
	const removedWithItsNode = (object) => nodeControllers.has(requestOf(object)?.user ?? '');
	if (role) {
		if (deletionBegins) return removedWithItsNode(object) ? undefined : `deleted; ${role}`;
		if (before && event.type === 'MODIFIED' && relevantFields(before) !== relevantFields(object))
			return `changed; ${role}`;
		return;
	}
	if (event.type !== 'ADDED') return;
	const controller = controllerOf(object);
	if (!controller || !bystanders.own.has(controller)) return;
	const siblings = deleted.filter((other) => controllerOf(other) === controller);
	if (siblings.length === 0 || !siblings.every(removedWithItsNode))
		return 'new, under the control of a bystander that had what it needed';
};

/** An object without metadata and status: what users set, as opposed to what the cluster reports. @param {KubeObject} object */
function relevantFields({ apiVersion: _, kind: __, metadata: ___, status: ____, ...chosen }) {
	return JSON.stringify(chosen, (_key, value) =>
		value && typeof value === 'object' && !Array.isArray(value)
			? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
			: value,
	);
}

/** Objects that the cluster itself needs stay. */
export const isProtected = whereActorDeletes(({ object: { kind, metadata } }) => {
	const needs = (/** @type {string|undefined} */ name) => name === 'default' || name?.startsWith('kube-');
	if ((kind === 'Namespace' && needs(metadata.name)) || needs(metadata.namespace)) return 'the cluster needs it';
});

/** An object that nothing declares part of an application goes only if somebody included it. */
export const unclaimedTouched = whereActorDeletes(({ object }, { unclaimed, included }) => {
	if (unclaimed.has(object.metadata.uid) && !included(object))
		return 'nothing says that it is part of the unit, and nobody included it';
});

/** The annotations that ask a tool not to delete an object. @type {Record<string, (value: string) => boolean>} */
const keepMarks = {
	'helm.sh/resource-policy': (value) => value === 'keep',
	'argocd.argoproj.io/sync-options': (value) =>
		value.split(',').some((option) => ['Delete=false', 'Prune=false'].includes(option.trim())),
	'kustomize.toolkit.fluxcd.io/prune': (value) => value === 'disabled',
	'kapp.k14s.io/delete-strategy': (value) => value === 'orphan',
};

/** The annotation that asks to keep an object. @param {KubeObject} object */
const keepMark = ({ metadata }) =>
	Object.entries(metadata.annotations ?? {})
		.find(([key, value]) => keepMarks[key]?.(value))
		?.join(': ');

/**
 * An object that an annotation asks to keep goes only if a person chose so. The annotation has to be there when the DELETE arrives:
 * nobody can respect one that is set while a webhook holds the request, and one that is taken away meanwhile was there to be seen.
 */
export const askedToKeep = whereActorDeletes(({ event, object }, facts) => {
	if (facts.overridden(object)) return;
	const arrival = facts.arrivalOf(object);
	const earlier = facts.changesOf(object).filter(({ revision }) => revision < event.revision);
	const counts = earlier.find(({ object, revision }, i) => {
		const next = earlier[i + 1]?.revision ?? event.revision;
		const isLater = facts.times.isAfter(revision, arrival);
		const stays = next === event.revision || facts.times.isAfter(next, arrival);
		return keepMark(object) && !isLater && stays;
	});
	if (counts) return `its annotation ${keepMark(counts.object)} asks to keep it`;
});

/**
 * An object that stays is collected with an owner, or with its namespace, that the judged user deleted: the owner should have been
 * deleted with Orphan, and the namespace not at all.
 */
export const collateral = whereDeleted(({ object, state }, facts) => {
	const { actor, unclaimed, included, kept, keepsData, unit, deleted, requestOf } = facts;
	const user = requestOf(object)?.user;
	if (user && user !== garbageCollector && user !== namespaceController) return;
	const isData = ['PersistentVolumeClaim', 'PersistentVolume'].includes(object.kind) && unit.has(object.metadata.uid);
	const stays =
		kept(object) ||
		!!forBystander(object, facts) ||
		(unclaimed.has(object.metadata.uid) && !included(object)) ||
		(keepsData && isData && !object.metadata.ownerReferences?.some((/** @type {any} */ { kind }) => kind === 'Pod'));
	if (!stays || madeByCluster(object) || grants(object, actor)) return;
	const owners = (object.metadata.ownerReferences ?? []).map((/** @type {any} */ { uid }) => uid);
	const namespace = state.find('Namespace', undefined, object.metadata.namespace)?.metadata.uid;
	const cause = deleted.find(({ metadata: { uid } }) => owners.includes(uid) || uid === namespace);
	if (!cause || !isByActor(cause, facts)) return;
	return `it stays, and went with ${titleOf(cause)}, which was deleted with ${requestOf(cause)?.propagationPolicy ?? 'no propagation policy'}`;
});
