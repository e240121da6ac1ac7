/**
 * Every change of every object while the judge observed, in the order of the cluster's revisions.
 *
 * Each change in the cluster is one revision of etcd, and a watch event carries it, deletions included. So the events of
 * all kinds, watched separately, can be merged into a single sequence without trusting any clock.
 */
import { createHash } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { collection, Kinds } from '../cluster/kinds.mjs';

/** @typedef {Record<string, any>} KubeObject */
/** @typedef {import('../cluster/kinds.mjs').Kind} Kind */
/** @typedef {import('../cluster/client.mjs').WatchEvent} WatchEvent */
/**
 * @typedef {object} ClusterAccess  the access that the judge needs
 * @property {string} audit path of the audit log
 * @property {(user: string, method: string, path: string, body?: unknown, headers?: Record<string, string>) => Promise<{status: number, body: any}>} request
 * @property {(user: string, path: string, params: Record<string, string>, onEvent: (event: WatchEvent) => void) => import('../cluster/client.mjs').Following} watch
 */

/** The judge observes as a user that may read everything. */
const observer = 'admin';

/** The cluster creates and deletes these by itself, so no rule applies to them. */
const ignoredKinds = new Set(['events', 'leases', 'endpoints', 'endpointslices']);

/** The time that watches get at the end to catch up with a list, in milliseconds. */
const catchUpDeadline = 60_000;
/** The time that the watch of a kind gets whose definition is gone, in milliseconds. Its last events were sent before that. */
const endOfKindDeadline = 5_000;

export class History {
	/** The revision at the start; later changes belong to the run. */
	began = 0;
	#cluster;
	/** Emits `event` after each event of any watch; every watch that catches up listens. */
	#arrivals = new EventEmitter().setMaxListeners(0);
	/** @type {WatchEvent[]} */
	#events = [];
	/** @type {{kind: Kind, following: import('../cluster/client.mjs').Following}[]} */
	#watches = [];

	/** @param {ClusterAccess} cluster */
	constructor(cluster) {
		this.#cluster = cluster;
	}

	/** Watches every kind that exists now; kinds defined later are not seen. @param {ClusterAccess} cluster */
	static async open(cluster) {
		const history = new History(cluster);
		const { all } = await Kinds.discover((...request) => cluster.request(observer, ...request));
		const kinds = all.filter(
			({ plural, verbs }) => verbs.includes('list') && verbs.includes('watch') && !ignoredKinds.has(plural),
		);
		history.#watches = kinds.map((kind) => ({
			kind,
			following: cluster.watch(observer, collection(kind), {}, (event) => {
				history.#events.push({ ...event, object: withoutSecretValues(event.object) });
				history.#arrivals.emit('event');
			}),
		}));
		await Promise.all(history.#watches.map(({ following }) => following.synced));
		history.began = Number((await history.#list('/api/v1/namespaces')).metadata.resourceVersion);
		return history;
	}

	/**
	 * Stops the watches once each has caught up with the current state, and returns all changes in order.
	 * @returns {Promise<WatchEvent[]>}
	 */
	async close() {
		try {
			await Promise.all(this.#watches.map((watch) => this.#catchUp(watch)));
		} finally {
			for (const { following } of this.#watches) following.close();
		}
		return this.#events.sort((a, b) => a.revision - b.revision || Number(a.inferred) - Number(b.inferred));
	}

	/**
	 * Compares a watch with a fresh list until it has caught up, so that no verdict misses the last events. A watch that does not
	 * catch up is an error.
	 * @param {{kind: Kind, following: import('../cluster/client.mjs').Following}} watch
	 */
	async #catchUp({ kind, following }) {
		const truth = await this.#list(collection(kind));
		if (!truth) return this.#untilEmpty(following);
		const at = Number(truth.metadata.resourceVersion);
		/** @type {Map<string, number>} */
		const listed = new Map(
			truth.items.map((/** @type {KubeObject} */ { metadata }) => [metadata.uid, Number(metadata.resourceVersion)]),
		);
		const behind = () => {
			for (const [uid, revision] of listed) {
				const known = following.known.get(uid);
				const seen = known ? Number(known.metadata.resourceVersion) : this.#lastSeen(uid);
				if (seen < revision) return true;
			}
			for (const [uid, { metadata }] of following.known)
				if (!listed.has(uid) && Number(metadata.resourceVersion) <= at) return true;
			return false;
		};
		const caughtUp = await this.#arrive(() => !behind(), catchUpDeadline);
		if (!caughtUp) throw new Error(`cannot judge: the watch of ${kind.plural} did not catch up with revision ${at}`);
	}

	/**
	 * Waits for the deletions of the last objects of a kind whose definition is gone. The API server may have ended the watch
	 * before it sent them; then their revision is an upper bound.
	 * @param {import('../cluster/client.mjs').Following} following
	 */
	async #untilEmpty(following) {
		if (await this.#arrive(() => following.known.size === 0, endOfKindDeadline)) return;
		const { metadata } = await this.#list('/api/v1/namespaces');
		for (const object of following.known.values())
			this.#events.push({ type: 'DELETED', object, revision: Number(metadata.resourceVersion), inferred: true });
	}

	/** Waits until the events of the watches are as wanted, or for some milliseconds. @param {() => boolean} wanted @param {number} deadline */
	async #arrive(wanted, deadline) {
		const signal = AbortSignal.timeout(deadline);
		// Only an event changes what the watches have seen.
		while (!wanted() && !signal.aborted) await once(this.#arrivals, 'event', { signal }).catch(() => {});
		return wanted();
	}

	/** @param {string} uid */
	#lastSeen(uid) {
		return this.#events.findLast(({ object }) => object.metadata.uid === uid)?.revision ?? 0;
	}

	/** The list at a path; none if its kind is gone. @param {string} path */
	async #list(path) {
		const { status, body } = await this.#cluster.request(observer, 'GET', path);
		if (status === 404) return;
		if (status !== 200) throw new Error(`cannot judge: listing ${path} was answered with ${status}`);
		return body;
	}
}

/** An object without managed fields; values of a Secret become hashes. @param {KubeObject} object @returns {KubeObject} */
function withoutSecretValues(object) {
	const { managedFields: _, ...metadata } = object.metadata;
	if (object.kind !== 'Secret') return { ...object, metadata };
	const data = Object.fromEntries(
		Object.entries(object.data ?? {}).map(([key, value]) => [
			key,
			createHash('sha256').update(String(value)).digest('hex'),
		]),
	);
	const { 'kubectl.kubernetes.io/last-applied-configuration': __, ...annotations } = metadata.annotations ?? {};
	return { ...object, metadata: { ...metadata, annotations }, data };
}
