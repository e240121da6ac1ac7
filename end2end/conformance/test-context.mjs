/**
 * The context of a running case: a namespace of its own on one target, requests and waits, and the transcript that records them.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { noFaultInjector } from './fault-injector.mjs';
import { pathOf, pluralOf } from './kinds.mjs';
import { Normaliser } from './normalise.mjs';
import { isBackground, json, viewOf, viewOfObject } from './view.mjs';
import { Watch } from './watch.mjs';

/** @typedef {Record<string, any>} KubeObject */
/** @typedef {import('./wire.mjs').Wire} Wire */
/** @typedef {import('./wire.mjs').Answer} Answer */
/**
 * @typedef {object} RequestOptions
 * @property {string} [user] the user whose token is sent: admin, developer or reader; admin by default
 * @property {string} [as] the user to impersonate
 * @property {string[]} [groups] the groups to impersonate
 * @property {Record<string, string|number|boolean>} [query]
 * @property {Record<string, string>} [headers]
 * @property {string[]} [fields] further fields of the objects to record, as paths: `status.phase`
 * @property {(body: any) => unknown} [show] the value to record instead, if the answer is 2xx
 * @property {boolean} [unrecorded] records nothing; a refusal ends the case
 * @property {boolean} [ignored] records nothing, whatever the answer is: the case notes what matters
 * @property {string} [raw] a body that is not JSON, or not to be changed
 */

const patchTypes = {
	json: 'application/json-patch+json',
	merge: 'application/merge-patch+json',
	strategic: 'application/strategic-merge-patch+json',
	apply: 'application/apply-patch+yaml',
};

/** Generous: seven other cases may keep the controllers busy at the same time. */
const timeout = 40_000;
/** The garbage collector looks for new kinds every 30 s and may miss one pass. */
export const longTimeout = 110_000;

/** Ends a case that cannot continue. The transcript already has the reason. */
export class CaseAborted extends Error {}

/** Ends a case whose wait took too long, which says nothing about the answers of the target. */
export class WaitExpired extends CaseAborted {}

export class TestContext {
	/** The namespace of the case. @type {string} */
	ns;
	#wire;
	#normaliser;
	#timeout;
	#speed;
	/** @type {import('./webhook.mjs').Webhooks|undefined} */
	#webhooks;
	/** @type {import('./fault-injector.mjs').FaultInjector} */
	faultInjector;
	/** @type {string[]} */
	#lines = [];
	/** @type {Set<Watch>} */
	#watches = new Set();

	/**
	 * @param {Wire} wire @param {string} name of the case @param {string} token makes the names of this run unique
	 * @param {{speed?: number, timeout?: number, webhooks?: import('./webhook.mjs').Webhooks, faultInjector?: import('./fault-injector.mjs').FaultInjector}} [target] speed: of the target's clock relative to this machine's; timeout: of a wait, in milliseconds
	 */
	constructor(wire, name, token, { speed = 1, timeout: given, webhooks, faultInjector = noFaultInjector() } = {}) {
		this.#wire = wire;
		this.#timeout = given ?? (speed > 1 ? timeout / 4 : timeout);
		this.#speed = speed;
		this.#webhooks = webhooks;
		this.faultInjector = faultInjector;
		this.#normaliser = new Normaliser(token);
		this.ns = `${name}-${token}`;
		this.title = name;
	}

	/** A name for a cluster-scoped object that no other case uses. @param {string} name */
	name(name) {
		return `${name}-${this.ns}`;
	}

	/** Creates a namespace and waits for its default service account: until then Pods are refused. @param {string} [name] @param {KubeObject} [metadata] */
	async namespace(name = this.ns, metadata = {}) {
		const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name, ...metadata } };
		const made = await this.#ask('POST', '/api/v1/namespaces', body, {});
		if (made.status !== 201) this.abort(`creating the namespace: ${made.status} ${JSON.stringify(made.body)}`);
		this.#normaliser.learn(made.body);
		const account = (/** @type {KubeObject[]} */ all) => all.some(({ metadata }) => metadata.name === 'default');
		await this.#wait(`/api/v1/namespaces/${name}/serviceaccounts`, 'its service account', account, this.#timeout);
		return name;
	}

	/** The `clientConfig` of the webhook with that name, see webhook.mjs. @param {string} name */
	webhookAt(name) {
		return this.#webhooks?.config(name);
	}

	// --- requests -------------------------------------------------------------------------------------------------------

	/** @param {string} path @param {RequestOptions} [options] */
	get(path, options) {
		return this.request('GET', path, undefined, options);
	}

	/** @param {string} path @param {unknown} body @param {RequestOptions} [options] */
	post(path, body, options) {
		return this.request('POST', path, body, options);
	}

	/** @param {string} path @param {unknown} body @param {RequestOptions} [options] */
	put(path, body, options) {
		return this.request('PUT', path, body, options);
	}

	/** @param {string} path @param {unknown} [deleteOptions] @param {RequestOptions} [options] */
	delete(path, deleteOptions, options) {
		return this.request('DELETE', path, deleteOptions, options);
	}

	/** @param {string} path @param {keyof typeof patchTypes} type @param {unknown} patch @param {RequestOptions} [options] */
	patch(path, type, patch, options = {}) {
		const headers = { 'content-type': patchTypes[type], ...options.headers };
		return this.request('PATCH', path, patch, { ...options, headers });
	}

	/** POSTs an object to the collection of its kind. @param {KubeObject} object @param {RequestOptions} [options] */
	create(object, options) {
		return this.post(pluralOf(object.kind), object, options);
	}

	/** Sets an annotation on a Pod, or removes it with null. Annotations direct how the simulated nodes treat the Pod. @param {string} pod @param {string} key @param {string|null} value */
	annotate(pod, key, value) {
		return this.patch(`pods/${pod}`, 'merge', { metadata: { annotations: { [key]: value } } }, { unrecorded: true });
	}

	/**
	 * @param {string} method @param {string} path  `plural/name` in the namespace of the case, or an absolute path
	 * @param {unknown} [body] @param {RequestOptions} [options]
	 */
	async request(method, path, body, options = {}) {
		const answer = await this.#ask(method, path, body, options);
		this.#normaliser.learn(answer.body);
		if (options.ignored) return answer;
		if (options.unrecorded) {
			if (answer.status >= 300) this.abort(`${method} ${path}: ${answer.status} ${viewOf(answer.body)}`);
			return answer;
		}
		const who = options.as ? ` as ${options.as}` : options.user ? ` as ${options.user}` : '';
		const shown = options.show && answer.status < 300 ? json(options.show(answer.body)) : viewOf(answer.body, options.fields);
		this.say(`${method} ${path}${queryOf(options)}${who}`, `${answer.status} ${shown}`);
		return answer;
	}

	/** @param {string} method @param {string} path @param {unknown} body @param {RequestOptions} options */
	#ask(method, path, body, options) {
		const whole = withQuery(pathOf(path, this.ns), options);
		const text = options.raw ?? (body === undefined ? undefined : JSON.stringify(body));
		/** @type {Record<string, any>} */
		const headers = { ...options.headers };
		if (options.as) headers['impersonate-user'] = options.as;
		if (options.groups) headers['impersonate-group'] = options.groups;
		return this.#wire.ask({ user: options.user, method, path: whole, body: text, headers });
	}

	// --- watches and waits ----------------------------------------------------------------------------------------------

	/**
	 * Starts a watch. Its events are recorded when it ends.
	 * @param {string} path of a collection @param {RequestOptions & {events?: 'each'|'by object', from?: string}} [options]
	 *   from: the revision to start at, which is not recorded
	 */
	async watch(path, options = {}) {
		const query = { watch: 1, ...(options.from ? { resourceVersion: options.from } : {}), ...options.query };
		const whole = withQuery(pathOf(path, this.ns), { query });
		/** @type {Record<string, any>} */
		const headers = { ...options.headers };
		if (options.as) headers['impersonate-user'] = options.as;
		const watch = new Watch(`WATCH ${path}${queryOf(options)}`, options, this.#timeout, {
			learn: (object) => this.#normaliser.learn(object),
			say: (asked, seen) => this.say(asked, seen),
			expire: (why) => this.expire(why),
		});
		this.#watches.add(watch);
		await watch.begin((onEvent) => this.#wire.stream({ user: options.user, path: whole, headers }, onEvent));
		return watch;
	}

	/**
	 * Waits with list and watch until an object or a collection matches, then records it.
	 * @param {string} path  `plural/name` for an object, which is undefined while it does not exist; `plural` for a collection
	 * @param {string} what for the transcript @param {(found: any) => unknown} wanted
	 * @param {{fields?: string[], within?: number, show?: (found: any) => unknown, unrecorded?: boolean}} [options]
	 */
	async until(path, what, wanted, { fields, within = this.#timeout, show, unrecorded } = {}) {
		const whole = pathOf(path, this.ns);
		const [, collection, name] =
			whole.match(/^((?:\/api\/v1|\/apis\/[^/]+\/[^/]+)(?:\/namespaces\/[^/]+)?\/[^/]+)(?:\/(.+))?$/) ?? [];
		/** @param {KubeObject[]} all */
		const pick = (all) => (name ? all.find(({ metadata }) => metadata.name === name) : all);
		const found = await this.#wait(
			collection,
			`${path} ${what}`,
			(all) => wanted(pick(all)),
			within > timeout ? Math.max(this.#timeout, within / this.#speed) : within,
		);
		const picked = pick(found);
		if (unrecorded) return picked;
		const shown = show
			? json(show(picked))
			: picked === undefined
				? 'gone'
				: Array.isArray(picked)
					? `${picked.length}${picked.map((object) => `\n      - ${viewOfObject(object, fields)}`).join('')}`
					: viewOfObject(picked, fields);
		this.say(`UNTIL ${path} ${what}`, shown);
		return picked;
	}

	/**
	 * Polls for a state that no watch reports, for example that the API server knows a webhook.
	 * @param {string} what @param {string} method @param {string} path @param {(answer: Answer) => unknown} wanted
	 * @param {{body?: unknown, headers?: Record<string, string>, query?: RequestOptions['query']}} [options]
	 */
	async eventually(what, method, path, wanted, { body, headers, query } = {}) {
		const deadline = performance.now() + this.#timeout;
		for (;;) {
			const answer = await this.#ask(method, path, body, { headers, query });
			if (wanted(answer)) return answer;
			if (performance.now() > deadline)
				this.expire(`no match within ${this.#timeout / 1000} s: ${what}; ${answer.status} ${viewOf(answer.body)}`);
			await pause(25);
		}
	}

	/** Waits until an object is gone. @param {string[]} paths */
	async gone(...paths) {
		for (const path of paths) await this.until(path, 'is gone', (found) => !found);
	}

	/**
	 * @param {string} collection @param {string} what @param {(all: KubeObject[]) => unknown} wanted @param {number} within
	 * @returns {Promise<KubeObject[]>}
	 */
	async #wait(collection, what, wanted, within) {
		const deadline = performance.now() + within;
		for (;;) {
			const { status, body } = await this.#wire.ask({ path: collection });
			// 429: the API server reopens the storage of a changed definition and asks for a retry.
			if (status === 429 && performance.now() < deadline) {
				await pause(25);
				continue;
			}
			if (status !== 200) this.abort(`${what}: listing ${collection}: ${status} ${viewOf(body)}`);
			/** @type {Map<string, KubeObject>} */
			const known = new Map();
			const kind = body.kind.replace(/List$/, '');
			const all = () => [...known.values()].sort((one, other) => (one.metadata.name < other.metadata.name ? -1 : 1));
			/** @param {KubeObject} object */
			const keep = (object) => {
				if (isBackground(object)) return;
				this.#normaliser.learn(object);
				known.set(`${object.metadata.namespace}/${object.metadata.name}`, { kind, ...object });
			};
			body.items.forEach(keep);
			if (wanted(all())) return all();
			const left = deadline - performance.now();
			const path = `${collection}?watch=1&resourceVersion=${body.metadata.resourceVersion}`;
			/** @type {Promise<boolean>} */
			const come = new Promise((resolve, reject) => {
				const timer = setTimeout(() => resolve(false), Math.max(left, 0));
				this.#wire
					.stream({ path }, ({ type, object }) => {
						if (type === 'ERROR' || type === 'BOOKMARK') return;
						if (type === 'DELETED') known.delete(`${object.metadata.namespace}/${object.metadata.name}`);
						else keep(object);
						if (wanted(all())) resolve(true);
					})
					.then((stream) => {
						void stream.ended.then(() => resolve(false));
						void come.finally(() => (clearTimeout(timer), stream.close())).catch(() => {});
					})
					.catch(reject);
			});
			if (await come) return all();
			if (performance.now() >= deadline) {
				const there = all().map((object) => viewOfObject(object, ['status.phase', 'status.conditions']));
				this.expire(`no match within ${within / 1000} s: ${what}; there is ${there.join(', ') || 'nothing'}`);
			}
		}
	}

	// --- the transcript -------------------------------------------------------------------------------------------------

	/** @param {string} asked @param {string} seen */
	say(asked, seen) {
		this.#lines.push(`${asked}\n    ${seen}`);
	}

	/** Records any other value. @param {string} what @param {unknown} value */
	note(what, value) {
		this.say(`NOTE ${what}`, typeof value === 'string' ? value : json(value));
	}

	/** Rewrites the last record, to remove what cannot be compared. @param {(line: string) => string} change */
	amend(change) {
		this.#lines.push(change(this.#lines.pop() ?? ''));
	}

	/** @param {string} why @returns {never} */
	abort(why) {
		this.#lines.push(`HALT ${why}`);
		throw new CaseAborted(why);
	}

	/** @param {string} why @returns {never} */
	expire(why) {
		this.#lines.push(`HALT ${why}`);
		throw new WaitExpired(why);
	}

	transcript() {
		return this.#normaliser.apply(`${this.#lines.join('\n')}\n`);
	}

	/** Closes the watches that are still open. */
	close() {
		for (const watch of this.#watches) watch.drop();
	}
}

/** @param {string} path @param {RequestOptions} options */
function withQuery(path, options) {
	const query = queryOf(options);
	return path.includes('?') ? path + query.replace('?', '&') : path + query;
}

/** @param {RequestOptions} options */
function queryOf({ query }) {
	if (!query) return '';
	const params = Object.entries(query).map(([key, value]) => `${key}=${encodeURIComponent(String(value))}`);
	return `?${params.join('&')}`;
}
