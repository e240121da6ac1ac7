/**
 * From evidence to verdict: replays the history and asks every rule about every change. Plain data in, plain data out, so
 * that the rules can be tested without a cluster.
 */
import { bystanders, unitMembers } from './membership.mjs';
import { checkEnd, orderRules, unguarded } from './rules.mjs';
import { hasName, titleOf, ClusterState } from './cluster-state.mjs';

/**
 * @typedef {import('./rules.mjs').Violation} Violation
 * @typedef {Record<string, any>} KubeObject
 * @typedef {import('./cluster-state.mjs').Name} Name
 *
 * @typedef {object} Expectations
 * @property {{label: string}} unit what is to be taken apart, "key=value"
 * @property {{label: string}} [bystander] whose objects must not be touched, "key=value"
 * @property {string} [actor] the user whose requests are judged; by default everybody who is no part of the cluster
 *
 * @typedef {object} Evidence
 * @property {import('../cluster/client.mjs').WatchEvent[]} changes in the cluster's order
 * @property {number} began the revision after which changes belong to the run
 * @property {import('./audit.mjs').DeletionRequest[]} deletionRequests
 * @property {import('./audit.mjs').PodList[]} podLists
 *
 * @typedef {object} ExpectedEnd
 * @property {Name[]} [keptExpected] objects of the unit that have to be there at the end
 * @property {(object: KubeObject) => boolean} [mayRemain] those that are allowed to be there, and those only. What
 *   bystanders need is never a left-over, whether it is named or not.
 *
 * @typedef {object} Verdict
 * @property {Violation[]} violations none: acquitted
 * @property {{changes: number, deletions: number, requests: number}} seen what the verdict rests on
 * @property {import('./audit.mjs').PodList[]} podLists reads of Pods by the actor
 * @property {string[]} uncheckedClaims claims that the actor deleted without having read just before which Pods there are
 * @property {string[]} gaps deletions that were concluded from a list after a gap in a watch; their order is an upper bound
 */

/** @param {Expectations} expectations @param {Evidence} evidence @param {ExpectedEnd} [end] @returns {Verdict} */
export function reachVerdict(
	expectations,
	{ changes, began, deletionRequests, podLists },
	{ keptExpected = [], mayRemain = () => false } = {},
) {
	const actor = (/** @type {string} */ user) =>
		expectations.actor ? user === expectations.actor : !user.startsWith('system:');
	const earlier = changes.filter(({ revision }) => revision <= began);
	const run = changes.filter(({ revision }) => revision > began);
	// Every object in every state it was seen in: who once was part of the unit does not leave it by losing a label.
	const everything = changes.map(({ object }) => object);

	const state = new ClusterState();
	for (const change of earlier) state.apply(change);
	/** @type {import('./rules.mjs').RunFacts} */
	const facts = {
		actor,
		unit: unitMembers(everything, expectations.unit.label, expectations.bystander?.label),
		bystanders: bystanders(state, expectations.bystander?.label),
		deletionRequests,
		requesterOf: requesters(deletionRequests.filter(({ dryRun, code }) => !dryRun && code < 300)),
		deleted: [],
	};

	/** @type {Violation[]} */
	const violations = [];
	for (const event of run) {
		const before = state.objects.get(event.object.metadata.uid);
		const ends = event.type === 'DELETED' || event.object.metadata.deletionTimestamp !== undefined;
		const deletionBegins = ends && before?.metadata.deletionTimestamp === undefined;
		// Judged by what it was before: the change that deletes may also be the one that hides what it was.
		const object = deletionBegins && before ? before : event.object;
		for (const [rule, check] of Object.entries(orderRules)) {
			const why = check({ event, before, object, deletionBegins, state }, facts);
			if (!why) continue;
			const by = deletionBegins ? facts.requesterOf(object) : undefined;
			const where = `revision ${event.revision}${event.inferred ? ' or earlier' : ''}${by ? `, deleted by ${by}` : ''}`;
			violations.push({ rule, object: titleOf(object), evidence: `${why} (${where})` });
		}
		if (deletionBegins) facts.deleted.push(object);
		state.apply(event);
	}

	const expected = keptExpected.map(hasName);
	const kept = (/** @type {KubeObject} */ object) => mayRemain(object) || expected.some((is) => is(object));
	violations.push(...unguarded(facts), ...checkEnd(state, facts, { kept, expected: keptExpected }));
	return {
		violations,
		seen: {
			changes: run.length,
			deletions: facts.deleted.length,
			requests: deletionRequests.filter(({ user }) => actor(user)).length,
		},
		podLists: podLists.filter(({ user }) => actor(user)),
		uncheckedClaims: deletionRequests
			.filter(({ user, resource, code, dryRun }) => actor(user) && resource === claims && code < 300 && !dryRun)
			.filter((deletion) => !podLists.some((read) => precedes(read, deletion)))
			.map(({ namespace, name }) => `${namespace}/${name ?? 'all'}`),
		gaps: run
			.filter(({ inferred }) => inferred)
			.map(({ object, revision }) => `${titleOf(object)} gone by revision ${revision}`),
	};
}

const claims = 'persistentvolumeclaims';
/** A read of Pods that is older says nothing of those there are, in ms. */
const fresh = 60_000;

/**
 * Whether somebody read the Pods of a claim's namespace before they deleted it, and not from a cache.
 * @param {import('./audit.mjs').PodList} read @param {import('./audit.mjs').DeletionRequest} deletion
 */
function precedes({ user, uri, at }, { user: by, namespace, at: then }) {
	const { pathname, searchParams } = new URL(uri, 'https://apiserver');
	const age = Date.parse(then) - Date.parse(at);
	return (
		user === by &&
		pathname.endsWith(`/namespaces/${namespace}/pods`) &&
		!searchParams.has('resourceVersion') &&
		!searchParams.has('watch') &&
		age >= 0 &&
		age < fresh
	);
}

/**
 * Who deletionRequests for an object to go, by UID; by name for those requests whose answer does not say the UID. An actor who
 * deletionRequests comes before a part of the cluster that deletionRequests as well.
 * @param {import('./audit.mjs').DeletionRequest[]} deletionRequests @returns {(object: KubeObject) => string|undefined}
 */
function requesters(deletionRequests) {
	/** @type {Map<string, string>} */
	const byUid = new Map();
	for (const { uid, user } of deletionRequests) if (uid && (!byUid.has(uid) || !user.startsWith('system:'))) byUid.set(uid, user);
	const nameless = deletionRequests.filter(({ uid, collection }) => !uid && !collection);
	return ({ kind, metadata }) =>
		byUid.get(metadata.uid) ??
		nameless.find(
			({ resource, namespace, name }) =>
				name === metadata.name &&
				namespace === metadata.namespace &&
				resource.split('.')[0].startsWith(kind.toLowerCase()),
		)?.user;
}
