/**
 * From evidence to verdict: replays the history and asks every rule about every change. Plain data in, plain data out, so
 * that the rules can be tested without a cluster.
 */
import { bystanders, unit } from './parties.mjs';
import { ending, orderRules, unguarded } from './rules.mjs';
import { called, titleOf, World } from './world.mjs';

/**
 * @typedef {import('./rules.mjs').Conviction} Conviction
 * @typedef {Record<string, any>} KubeObject
 * @typedef {import('./world.mjs').Name} Name
 *
 * @typedef {object} Charge
 * @property {{label: string}} unit what is to be taken apart, "key=value"
 * @property {{label: string}} [bystander] whose objects must not be touched, "key=value"
 * @property {string} [accused] the user whose requests are judged; by default everybody who is no part of the cluster
 *
 * @typedef {object} Evidence
 * @property {import('../cluster/client.mjs').WatchEvent[]} changes in the cluster's order
 * @property {number} began the revision after which changes belong to the run
 * @property {import('./audit.mjs').Asked[]} asked
 * @property {import('./audit.mjs').PodList[]} podLists
 *
 * @typedef {object} Ending
 * @property {Name[]} [keptExpected] objects of the unit that have to be there at the end
 * @property {(object: KubeObject) => boolean} [mayRemain] those that are allowed to be there, and those only. What
 *   bystanders need is never a left-over, whether it is named or not.
 *
 * @typedef {object} Verdict
 * @property {Conviction[]} convictions none: acquitted
 * @property {{changes: number, deletions: number, requests: number}} seen what the verdict rests on
 * @property {import('./audit.mjs').PodList[]} podLists reads of Pods by the accused
 * @property {string[]} unread claims that the accused deleted without having read just before which Pods there are
 * @property {string[]} gaps deletions that were concluded from a list after a gap in a watch; their order is an upper bound
 */

/** @param {Charge} charge @param {Evidence} evidence @param {Ending} [end] @returns {Verdict} */
export function reachVerdict(
	charge,
	{ changes, began, asked, podLists },
	{ keptExpected = [], mayRemain = () => false } = {},
) {
	const accused = (/** @type {string} */ user) =>
		charge.accused ? user === charge.accused : !user.startsWith('system:');
	const earlier = changes.filter(({ revision }) => revision <= began);
	const run = changes.filter(({ revision }) => revision > began);
	// Every object in every state it was seen in: who once was part of the unit does not leave it by losing a label.
	const everything = changes.map(({ object }) => object);

	const world = new World();
	for (const change of earlier) world.apply(change);
	/** @type {import('./rules.mjs').Case} */
	const known = {
		accused,
		unit: unit(everything, charge.unit.label, charge.bystander?.label),
		bystanders: bystanders(world, charge.bystander?.label),
		asked,
		whoAsked: requesters(asked.filter(({ dryRun, code }) => !dryRun && code < 300)),
		deleted: [],
	};

	/** @type {Conviction[]} */
	const convictions = [];
	for (const event of run) {
		const before = world.objects.get(event.object.metadata.uid);
		const ends = event.type === 'DELETED' || event.object.metadata.deletionTimestamp !== undefined;
		const deletionBegins = ends && before?.metadata.deletionTimestamp === undefined;
		// Judged by what it was before: the change that deletes may also be the one that hides what it was.
		const object = deletionBegins && before ? before : event.object;
		for (const [rule, check] of Object.entries(orderRules)) {
			const why = check({ event, before, object, deletionBegins, world }, known);
			if (!why) continue;
			const by = deletionBegins ? known.whoAsked(object) : undefined;
			const where = `revision ${event.revision}${event.inferred ? ' or earlier' : ''}${by ? `, deleted by ${by}` : ''}`;
			convictions.push({ rule, object: titleOf(object), evidence: `${why} (${where})` });
		}
		if (deletionBegins) known.deleted.push(object);
		world.apply(event);
	}

	const expected = keptExpected.map(called);
	const kept = (/** @type {KubeObject} */ object) => mayRemain(object) || expected.some((is) => is(object));
	convictions.push(...unguarded(known), ...ending(world, known, { kept, expected: keptExpected }));
	return {
		convictions,
		seen: {
			changes: run.length,
			deletions: known.deleted.length,
			requests: asked.filter(({ user }) => accused(user)).length,
		},
		podLists: podLists.filter(({ user }) => accused(user)),
		unread: asked
			.filter(({ user, resource, code, dryRun }) => accused(user) && resource === claims && code < 300 && !dryRun)
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
 * @param {import('./audit.mjs').PodList} read @param {import('./audit.mjs').Asked} deletion
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
 * Who asked for an object to go, by UID; by name for those requests whose answer does not say the UID. An accused who
 * asked comes before a part of the cluster that asked as well.
 * @param {import('./audit.mjs').Asked[]} asked @returns {(object: KubeObject) => string|undefined}
 */
function requesters(asked) {
	/** @type {Map<string, string>} */
	const byUid = new Map();
	for (const { uid, user } of asked) if (uid && (!byUid.has(uid) || !user.startsWith('system:'))) byUid.set(uid, user);
	const nameless = asked.filter(({ uid, collection }) => !uid && !collection);
	return ({ kind, metadata }) =>
		byUid.get(metadata.uid) ??
		nameless.find(
			({ resource, namespace, name }) =>
				name === metadata.name &&
				namespace === metadata.namespace &&
				resource.split('.')[0].startsWith(kind.toLowerCase()),
		)?.user;
}
