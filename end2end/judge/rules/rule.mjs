/**
 * The shape of an order rule, and what several of them share.
 */
import { titleOf } from '../cluster-state.mjs';

/**
 * @typedef {Record<string, any>} KubeObject
 *
 * @typedef {object} Change  one change, and the cluster just before it
 * @property {import('../../cluster/client.mjs').WatchEvent} event
 * @property {KubeObject|undefined} before the object as it was
 * @property {KubeObject} object the object before the change, or a new object
 * @property {boolean} deletionBegins the change sets deletionTimestamp, or removes an object without one
 * @property {import('../cluster-state.mjs').ClusterState} state
 *
 * @typedef {object} RunFacts  the facts about the run
 * @property {(user: string) => boolean} actor whether the requests of this user are judged
 * @property {Set<string>} unit UIDs
 * @property {(object: KubeObject) => boolean} declared whether the object carries the label of the unit
 * @property {{own: Set<string>, needed: Map<string, string>}} bystanders
 * @property {Set<string>} unclaimed UIDs
 * @property {(object: KubeObject) => boolean} included whether a person included this unclaimed object
 * @property {(object: KubeObject) => boolean} overridden whether a person chose to delete this object although an annotation asks to keep it
 * @property {(object: KubeObject) => boolean} kept whether the object has to exist at the end
 * @property {boolean} keepsData whether a person chose to keep the data
 * @property {(object: KubeObject) => boolean} takenOn whether a person took it on that no Pod writes to this claim any more
 * @property {Record<string, import('../cluster-state.mjs').Name>} finishers the workload that clears a finalizer, by finalizer
 * @property {import('../audit.mjs').DeletionRequest[]} deletionRequests
 * @property {(object: KubeObject) => import('../audit.mjs').DeletionRequest|undefined} requestOf the request that deleted this object itself, not through its owner or namespace
 * @property {(object: KubeObject) => string|undefined} arrivalOf when the first of the judged user's DELETEs of this object arrived
 * @property {(object: KubeObject) => import('../../cluster/client.mjs').WatchEvent[]} changesOf all changes of this object, in order
 * @property {import('../revision-times.mjs').RevisionTimes} times
 * @property {KubeObject[]} deleted objects whose deletion has begun so far, in order
 * @property {KubeObject[]} endedByForce Pods that are gone although no kubelet reported that their containers had ended
 * @property {Set<string>} everAttached the names of the volumes that a node had attached
 *
 * @typedef {(change: Change, facts: RunFacts) => string|undefined} OrderRule  the evidence, if the rule is broken
 */

export const garbageCollector = 'system:serviceaccount:kube-system:generic-garbage-collector';
export const namespaceController = 'system:serviceaccount:kube-system:namespace-controller';

/** Whether the judged user deleted the object itself. @param {KubeObject} object @param {RunFacts} facts */
export function isByActor(object, { requestOf, actor }) {
	const request = requestOf(object);
	return !!request && actor(request.user);
}

/**
 * Whether the teardown deletes the object: by a request, or through an owner or a namespace that it deleted. A controller that
 * replaces a Pod, or deletes it with its node, does so whatever the teardown does. The deletion of a namespace's content leaves no
 * request for a single object.
 * @param {KubeObject} object @param {RunFacts} facts
 */
export function isByTeardown(object, facts) {
	const user = facts.requestOf(object)?.user;
	if (user && facts.actor(user)) return true;
	return facts.unit.has(object.metadata.uid) && (!user || user === garbageCollector || user === namespaceController);
}

/** A rule about what the teardown deletes. @param {OrderRule} rule @returns {OrderRule} */
export const whereTeardownDeletes = (rule) => (change, facts) =>
	change.deletionBegins && isByTeardown(change.object, facts) ? rule(change, facts) : undefined;

/** A rule about what the judged user deletes. @param {OrderRule} rule @returns {OrderRule} */
export const whereActorDeletes = (rule) => (change, facts) =>
	change.deletionBegins && isByActor(change.object, facts) ? rule(change, facts) : undefined;

/** A rule about everything that is deleted, whoever does it. @param {OrderRule} rule @returns {OrderRule} */
export const whereDeleted = (rule) => (change, facts) => (change.deletionBegins ? rule(change, facts) : undefined);

/** The evidence that an object is there, if it is. @param {KubeObject|undefined} object @param {string} verb @returns {string|undefined} */
export const there = (object, verb) => object && `${titleOf(object)} ${verb}`;
