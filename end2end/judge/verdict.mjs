/**
 * Replays the history and applies every rule to every change. Plain data in and out, so that the rules are tested without a
 * cluster.
 */
import { bystanders, labelled, unclaimed, unitMembers } from './membership.mjs';
import { hasEnded } from './pod.mjs';
import { RevisionTimes } from './revision-times.mjs';
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
 * @property {(object: KubeObject) => boolean} [overridden] whether a person chose to delete this object although an annotation asks
 *   to keep it; by default none
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
 * @property {import('./audit.mjs').List[]} lists
 * @property {import('./audit.mjs').Write[]} writes
 *
 * @typedef {object} ExpectedEnd
 * @property {Name[]} [keptExpected] objects of the unit that have to exist at the end
 * @property {(object: KubeObject) => boolean} [mayRemain] whether an object may exist at the end. An object
 *   that bystanders need always may.
 * @property {string[]} [destroyed] the volumes of which the plan said that their data is destroyed
 * @property {number} [bound] the kept claims of which the run said that they are bound, if it said so
 *
 * @typedef {object} Verdict
 * @property {Violation[]} violations empty if the teardown was right
 * @property {{changes: number, deletions: number, requests: number}} seen the amount of evidence
 * @property {string[]} uncheckedClaims claims that the judged user deleted without a consistent list of Pods just before
 * @property {string[]} uncheckedNamespaces namespaces that the judged user deleted without consistent lists just before, each with the
 *   kinds that were in it and were not listed after the user's last DELETE in it
 * @property {string[]} gaps deletions inferred from a list after a gap in a watch; their revision is an upper bound
 */

/** @param {Expectations} expectations @param {Evidence} evidence @param {ExpectedEnd} [end] @returns {Verdict} */
export function reachVerdict(
	expectations,
	{ changes, began, deletionRequests, lists, writes },
	{ keptExpected = [], mayRemain = () => false, destroyed, bound } = {},
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
	/** @type {Map<string, import('../cluster/client.mjs').WatchEvent[]>} */
	const byObject = new Map();
	for (const change of changes) {
		const { uid } = change.object.metadata;
		const known = byObject.get(uid);
		if (known) known.push(change);
		else byObject.set(uid, [change]);
	}
	const effective = deletionRequests.filter(({ dryRun, code }) => !dryRun && code < 300);
	const requestOf = requests(effective);
	const attachments = everything.filter(({ kind }) => kind === 'VolumeAttachment');
	/** @type {import('./rules.mjs').RunFacts} */
	const facts = {
		actor,
		unit: unitMembers(everything, expectations.unit.label, expectations.bystander?.label),
		bystanders: bystanders(state, expectations.bystander?.label),
		unclaimed: unclaimed(everything, expectations.unit.label, expectations.bystander?.label),
		declared: labelled(expectations.unit.label),
		included: expectations.included ?? (() => false),
		overridden: expectations.overridden ?? (() => false),
		kept: (object) => expected.some((is) => is(object)),
		keepsData: expectations.keepsData ?? false,
		takenOn: expectations.takenOn ?? (() => false),
		finishers: expectations.finishers ?? {},
		deletionRequests,
		requestOf,
		arrivalOf: ({ metadata: { uid } }) => {
			const own = effective.filter((request) => request.uid === uid && actor(request.user)).map(({ at }) => at);
			return own.sort()[0];
		},
		changesOf: ({ metadata }) => byObject.get(metadata.uid) ?? [],
		times: new RevisionTimes(writes, began),
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

	const own = deletionRequests.filter(({ user, code, dryRun }) => actor(user) && code < 300 && !dryRun);
	const kept = (/** @type {KubeObject} */ object) => mayRemain(object) || facts.kept(object);
	violations.push(...unguarded(facts), ...checkEnd(state, facts, { kept, expected: keptExpected, destroyed, bound }));
	return {
		violations,
		seen: {
			changes: run.length,
			deletions: facts.deleted.length,
			requests: deletionRequests.filter(({ user }) => actor(user)).length,
		},
		uncheckedClaims: own
			.filter(({ resource }) => resource === 'persistentvolumeclaims')
			.filter((deletion) => !lists.some((list) => precedes(list, deletion, deletion.namespace, '/pods')))
			.map(({ namespace, name }) => `${namespace}/${name ?? 'all'}`),
		uncheckedNamespaces: own
			.filter(({ resource }) => resource === 'namespaces')
			.flatMap((deletion) => uncheckedKinds(deletion, own, everything, lists)),
		gaps: run
			.filter(({ inferred }) => inferred)
			.map(({ object, revision }) => `${titleOf(object)} gone by revision ${revision}`),
	};
}

/** The age up to which a list counts as current, in milliseconds. */
const maxListAge = 60_000;

/**
 * Whether the user listed a collection in a namespace, or in all namespaces, and not from a cache, just before a deletion.
 * @param {import('./audit.mjs').List} list @param {import('./audit.mjs').DeletionRequest} deletion
 * @param {string|undefined} namespace @param {string} collection the end of its path
 */
function precedes({ user, uri, at }, { user: by, at: then }, namespace, collection) {
	const { pathname, searchParams } = new URL(uri, 'https://apiserver');
	const age = Date.parse(then) - Date.parse(at);
	const [, inside] = pathname.split('/namespaces/');
	return (
		user === by &&
		pathname.endsWith(collection) &&
		(inside === undefined || inside.startsWith(`${namespace}/`)) &&
		!searchParams.has('resourceVersion') &&
		!searchParams.has('watch') &&
		age >= 0 &&
		age < maxListAge
	);
}

/**
 * The namespace of a DELETE with the kinds that were in it, if they were not all listed after the user's last DELETE in it.
 * @param {import('./audit.mjs').DeletionRequest} deletion @param {import('./audit.mjs').DeletionRequest[]} own
 * @param {KubeObject[]} everything @param {import('./audit.mjs').List[]} lists
 */
function uncheckedKinds(deletion, own, everything, lists) {
	const { name, at } = deletion;
	const inside = own.filter((other) => other.namespace === name && other.at <= at).map((other) => Date.parse(other.at));
	const current = lists.filter((list) => inside.every((earlier) => Date.parse(list.at) >= earlier));
	const content = everything.filter(({ metadata }) => metadata.namespace === name);
	// A kind whose definition the user had deleted can no longer be listed.
	const definitions = own.filter((other) => other.resource.startsWith('customresourcedefinitions') && other.at <= at);
	const isServed = (/** @type {string} */ kind) => !definitions.some((it) => it.name?.startsWith(`${kind.slice(1)}.`));
	const kinds = new Set(content.map((object) => `/${resourceOf(object)}`).filter(isServed));
	const unlisted = [...kinds].filter((kind) => !current.some((list) => precedes(list, deletion, name, kind)));
	return unlisted.length > 0 ? [`${name}: ${unlisted.map((kind) => kind.slice(1)).sort().join(', ')}`] : [];
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
