/**
 * Replays the history and applies every rule to every change. Plain data in and out, so that the rules are tested without a
 * cluster.
 */
import { bystanders, labelled, unclaimed, unitMembers } from './membership.mjs';
import { hasEnded } from './pod.mjs';
import { checkEnd, orderRules, unguarded } from './rules.mjs';
import { hasName, resourceOf, titleOf, ClusterState } from './cluster-state.mjs';

/**
 * @typedef {import('./rules.mjs').Violation} Violation
 * @typedef {Record<string, any>} KubeObject
 * @typedef {import('./cluster-state.mjs').Name} Name
 *
 * @typedef {object} Expectations
 * @property {{label: string}} unit the label of the unit, "key=value"
 * @property {{label: string}} [bystander] the label of the bystanders, "key=value"
 * @property {(object: KubeObject) => boolean} [included] whether a person included this unclaimed object; by default none
 * @property {boolean} [keepsData] whether a person chose to keep the data
 * @property {(claim: KubeObject) => boolean} [takenOn] whether a person took it on that no Pod writes to this claim any more; by
 *   default none
 * @property {Record<string, Name>} [finishers] the workload that clears a finalizer, by finalizer
 * @property {string} [actor] the user whose requests are judged; by default every user without the prefix `system:`
 *
 * @typedef {object} Evidence
 * @property {import('../cluster/client.mjs').WatchEvent[]} changes in the cluster's order
 * @property {number} began the revision after which changes belong to the run
 * @property {import('./audit.mjs').DeletionRequest[]} deletionRequests
 * @property {import('./audit.mjs').PodList[]} podLists
 *
 * @typedef {object} ExpectedEnd
 * @property {Name[]} [keptExpected] objects of the unit that have to exist at the end
 * @property {(object: KubeObject) => boolean} [mayRemain] whether an object may exist at the end. An object
 *   that bystanders need always may.
 * @property {string[]} [destroyed] the volumes of which the plan said that their data is destroyed
 *
 * @typedef {object} Verdict
 * @property {Violation[]} violations empty if the teardown was right
 * @property {{changes: number, deletions: number, requests: number}} seen the amount of evidence
 * @property {import('./audit.mjs').PodList[]} podLists lists of Pods by the judged user
 * @property {string[]} uncheckedClaims claims that the judged user deleted without a consistent list of Pods just before
 * @property {string[]} gaps deletions inferred from a list after a gap in a watch; their revision is an upper bound
 */

/** @param {Expectations} expectations @param {Evidence} evidence @param {ExpectedEnd} [end] @returns {Verdict} */
export function reachVerdict(
	expectations,
	{ changes, began, deletionRequests, podLists },
	{ keptExpected = [], mayRemain = () => false, destroyed } = {},
) {
	const actor = (/** @type {string} */ user) =>
		expectations.actor ? user === expectations.actor : !user.startsWith('system:');
	const earlier = changes.filter(({ revision }) => revision <= began);
	const run = changes.filter(({ revision }) => revision > began);
	// Every observed state of every object: an object that loses its label stays in the unit.
	const everything = changes.map(({ object }) => object);

	const state = new ClusterState();
	for (const change of earlier) state.apply(change);
	const expected = keptExpected.map(hasName);
	const volumeOf = (/** @type {KubeObject} */ { spec }) => spec.source?.persistentVolumeName;
	const attachments = everything.filter(({ kind }) => kind === 'VolumeAttachment');
	/** @type {import('./rules.mjs').RunFacts} */
	const facts = {
		actor,
		unit: unitMembers(everything, expectations.unit.label, expectations.bystander?.label),
		bystanders: bystanders(state, expectations.bystander?.label),
		unclaimed: unclaimed(everything, expectations.unit.label, expectations.bystander?.label),
		declared: labelled(expectations.unit.label),
		included: expectations.included ?? (() => false),
		kept: (object) => expected.some((is) => is(object)),
		keepsData: expectations.keepsData ?? false,
		takenOn: expectations.takenOn ?? (() => false),
		finishers: expectations.finishers ?? {},
		deletionRequests,
		requestOf: requests(deletionRequests.filter(({ dryRun, code }) => !dryRun && code < 300)),
		deleted: [],
		endedByForce: [],
		everAttached: new Set(attachments.map(volumeOf)),
	};

	/** @type {Violation[]} */
	const violations = [];
	for (const event of run) {
		const before = state.objects.get(event.object.metadata.uid);
		const ends = event.type === 'DELETED' || event.object.metadata.deletionTimestamp !== undefined;
		const deletionBegins = ends && before?.metadata.deletionTimestamp === undefined;
		// The state before the change counts, because the deleting change may also alter the object.
		const object = deletionBegins && before ? before : event.object;
		for (const [rule, check] of Object.entries(orderRules)) {
			const why = check({ event, before, object, deletionBegins, state }, facts);
			if (!why) continue;
			const by = deletionBegins ? facts.requestOf(object)?.user : undefined;
			const where = `revision ${event.revision}${event.inferred ? ' or earlier' : ''}${by ? `, deleted by ${by}` : ''}`;
			violations.push({ rule, object: titleOf(object), evidence: `${why} (${where})` });
		}
		if (deletionBegins) facts.deleted.push(object);
		if (event.type === 'DELETED' && event.object.kind === 'Pod' && !hasEnded(event.object)) facts.endedByForce.push(event.object);
		state.apply(event);
	}

	const kept = (/** @type {KubeObject} */ object) => mayRemain(object) || facts.kept(object);
	violations.push(...unguarded(facts), ...checkEnd(state, facts, { kept, expected: keptExpected, destroyed }));
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
/** The age up to which a list of Pods counts as current, in milliseconds. */
const maxListAge = 60_000;

/**
 * Whether the user listed the Pods of a claim's namespace, and not from a cache, just before deleting the claim.
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
		age < maxListAge
	);
}

/**
 * Finds the request that deleted an object: by UID, or by name if the answer has no UID. A person's request takes precedence over
 * one of the cluster's own controllers.
 * @param {import('./audit.mjs').DeletionRequest[]} deletionRequests
 * @returns {(object: KubeObject) => import('./audit.mjs').DeletionRequest|undefined}
 */
function requests(deletionRequests) {
	/** @type {Map<string, import('./audit.mjs').DeletionRequest>} */
	const byUid = new Map();
	for (const request of deletionRequests) {
		const { uid, user } = request;
		if (uid && (!byUid.has(uid) || !user.startsWith('system:'))) byUid.set(uid, request);
	}
	const nameless = deletionRequests.filter(({ uid, collection }) => !uid && !collection);
	return (object) =>
		byUid.get(object.metadata.uid) ??
		nameless.find(
			({ resource, namespace, name }) =>
				name === object.metadata.name &&
				namespace === object.metadata.namespace &&
				resource.split('.')[0] === resourceOf(object),
		);
}
