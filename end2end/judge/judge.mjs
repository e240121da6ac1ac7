/**
 * The judge: decides whether a teardown was done right, from what the cluster itself says.
 *
 * It knows nothing of the product and nothing of its plans. Its witnesses are its own watches of every kind, merged into
 * the cluster's one order of changes, and the API server's audit log. It has to be opened before the teardown begins.
 *
 *   const judge = await Judge.open(cluster, { unit: { label }, bystander: { label } });
 *   … the teardown …
 *   const { convictions } = await judge.close({ keptExpected });
 *
 * Rules: claim-in-use, volume-before-claim, namespace-not-empty, needed-by-pod, re-created, bystander-touched,
 * unguarded-delete, left-over, not-kept. See rules.mjs.
 */
import { endOf, readAudit } from './audit.mjs';
import { History } from './history.mjs';
import { bystanders, unit } from './parties.mjs';
import { ending, orderRules, unguarded } from './rules.mjs';
import { titleOf, World } from './world.mjs';

/**
 * @typedef {import('./rules.mjs').Conviction} Conviction
 * @typedef {{kind: string, namespace?: string, name: string}} Name
 *
 * @typedef {object} Charge
 * @property {{label: string}} unit what is to be taken apart, "key=value"
 * @property {{label: string}} [bystander] whose objects must not be touched, "key=value"
 * @property {string} [accused] the user whose requests are judged; by default everybody who is no part of the cluster
 *
 * @typedef {object} Verdict
 * @property {Conviction[]} convictions none: acquitted
 * @property {{changes: number, deletions: number, requests: number}} seen what the verdict rests on
 * @property {import('./audit.mjs').PodList[]} podLists reads of Pods by the accused
 * @property {string[]} gaps deletions that were concluded from a list after a gap in a watch; their order is an upper bound
 */

/** Kinds whose uniqueness is by cluster, with no namespace, need none in a name. @param {Name} name */
const same = ({ kind, namespace, name }) => (/** @type {Record<string, any>} */ object) =>
	object.kind === kind && object.metadata.name === name && (object.metadata.namespace ?? '') === (namespace ?? '');

export class Judge {
	#charge;
	#history;
	#audit;

	/** @param {Charge} charge @param {History} history @param {{file: string, from: number}} audit */
	constructor(charge, history, audit) {
		this.#charge = charge;
		this.#history = history;
		this.#audit = audit;
	}

	/** @param {import('./history.mjs').Court} cluster @param {Charge} charge */
	static async open(cluster, charge) {
		const from = await endOf(cluster.audit);
		return new Judge(charge, await History.open(cluster), { file: cluster.audit, from });
	}

	/**
	 * Ends the hearing. To be called when the teardown says that it is over.
	 * @param {{keptExpected?: Name[], mayRemain?: (object: Record<string, any>) => boolean}} [end]
	 *   keptExpected: objects of the unit that have to be there at the end; mayRemain: those that are allowed to be.
	 *   What bystanders need is never a left-over, whether it is named here or not.
	 * @returns {Promise<Verdict>}
	 */
	async close({ keptExpected = [], mayRemain = () => false } = {}) {
		const changes = await this.#history.close();
		const { asked, podLists } = await readAudit(this.#audit.file, this.#audit.from);
		const { unit: defendant, bystander, accused: name } = this.#charge;
		const accused = name ? (/** @type {string} */ user) => user === name : (/** @type {string} */ user) => !user.startsWith('system:');

		const world = new World();
		const isEarlier = (/** @type {{revision: number}} */ { revision }) => revision <= this.#history.began;
		for (const change of changes.filter(isEarlier)) world.apply(change);
		const others = bystander ? bystanders(world, bystander.label) : { own: new Set(), needed: new Map() };
		const everything = [...new Map(changes.map(({ object }) => [object.metadata.uid, object])).values()];

		/** @type {import('./rules.mjs').Case} */
		const known = {
			accused,
			unit: unit(everything, defendant.label, bystander?.label),
			bystanders: others,
			asked,
			askedBy: requesters(asked.filter(({ user, dryRun, code }) => accused(user) && !dryRun && code < 300)),
			deleted: [],
		};

		/** @type {Conviction[]} */
		const convictions = [];
		const run = changes.filter((change) => !isEarlier(change));
		for (const event of run) {
			const before = world.objects.get(event.object.metadata.uid);
			const ends = event.type === 'DELETED' || event.object.metadata.deletionTimestamp !== undefined;
			const deletionBegins = ends && before?.metadata.deletionTimestamp === undefined;
			// Judged by what it was before: the change that deletes may also be the one that hides what it was.
			const object = deletionBegins && before ? before : event.object;
			for (const [rule, check] of Object.entries(orderRules)) {
				const why = check({ event, before, object, deletionBegins, world }, known);
				if (!why) continue;
				const by = deletionBegins ? known.askedBy(object) : undefined;
				const where = `revision ${event.revision}${event.inferred ? ' or earlier' : ''}${by ? `, deleted by ${by}` : ''}`;
				convictions.push({ rule, object: titleOf(object), evidence: `${why} (${where})` });
			}
			if (deletionBegins) known.deleted.push(object);
			world.apply(event);
		}

		const expected = keptExpected.map(same);
		const kept = (/** @type {Record<string, any>} */ object) => mayRemain(object) || expected.some((is) => is(object));
		convictions.push(...unguarded(known), ...ending(world, known, { kept, expected: keptExpected }));
		return {
			convictions,
			seen: { changes: run.length, deletions: known.deleted.length, requests: asked.filter(({ user }) => accused(user)).length },
			podLists: podLists.filter(({ user }) => accused(user)),
			gaps: run.filter(({ inferred }) => inferred).map(({ object, revision }) => `${titleOf(object)} gone by revision ${revision}`),
		};
	}
}

/**
 * Who asked for an object to go, by UID; by name for those requests whose answer does not say the UID.
 * @param {import('./audit.mjs').Asked[]} asked @returns {(object: Record<string, any>) => string|undefined}
 */
function requesters(asked) {
	const byUid = new Map(asked.filter(({ uid }) => uid).map(({ uid, user }) => [uid, user]));
	const nameless = asked.filter(({ uid, collection }) => !uid && !collection);
	return ({ kind, metadata }) =>
		byUid.get(metadata.uid) ??
		nameless.find(
			({ resource, namespace, name }) =>
				name === metadata.name && namespace === metadata.namespace && resource.split('.')[0].startsWith(kind.toLowerCase()),
		)?.user;
}
