/**
 * What a case acts on: a namespace of its own in one of the two worlds, and a transcript of all that was asked and answered.
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
 * @property {string} [user] whose token is used: admin, developer, reader. Default: admin
 * @property {string} [as] whom to impersonate
 * @property {string[]} [groups] of whom is impersonated
 * @property {Record<string, string|number|boolean>} [query]
 * @property {Record<string, string>} [headers]
 * @property {string[]} [fields] what else of the objects in the answer is observed, as paths: `status.phase`
 * @property {(body: any) => unknown} [show] what is observed instead, if the answer is 2xx
 * @property {boolean} [unrecorded] nothing is observed; what is refused ends the case
 * @property {boolean} [ignored] nothing is observed, whatever the answer is: the case makes a note of what counts
 * @property {string} [raw] a body that is not JSON, or not to be changed
 */

/** The media types of PATCH. */
const patchTypes = {
	json: 'application/json-patch+json',
	merge: 'application/merge-patch+json',
	strategic: 'application/strategic-merge-patch+json',
	apply: 'application/apply-patch+yaml',
};

/** Far more than anything takes that does not say how long it takes itself, even while seven other cases keep the controllers busy. */
const timeout = 40_000;
/** For what is asked for once in half a minute, and may be missed once: how the collector learns of new kinds. */
export const longTimeout = 110_000;

/** A case that cannot go on: what it waited for did not come. Already in the transcript. */
export class CaseAborted extends Error {}

export class TestContext {
	/** The namespace of the case. @type {string} */
	ns;
	#wire;
	#normaliser;
	#timeout;
	#speed;
	/** @type {import('./webhook.mjs').Webhooks|undefined} */
	#webhooks;
	/** What it can do beside asking. @type {import('./fault-injector.mjs').FaultInjector} */
	faultInjector;
	/** @type {string[]} */
	#lines = [];
	/** @type {Set<Watch>} */
	#watches = new Set();

	/**
	 * @param {Wire} wire @param {string} name of the case @param {string} token  makes the names of this run unique
	 * @param {{speed?: number, webhooks?: import('./webhook.mjs').Webhooks, faultInjector?: import('./fault-injector.mjs').FaultInjector}} [world] speed: how many times faster than ours its clock goes
	 */
	constructor(wire, name, token, { speed = 1, webhooks, faultInjector = noFaultInjector() } = {}) {
		this.#wire = wire;
		this.#timeout = speed > 1 ? timeout / 4 : timeout;
		this.#speed = speed;
		this.#webhooks = webhooks;
		this.faultInjector = faultInjector;
		this.#normaliser = new Normaliser(token);
		this.ns = `${name}-${token}`;
		this.title = name;
	}

	/** A name for an object of the cluster that no other case has. @param {string} name */
	name(name) {
		return `${name}-${this.ns}`;
	}

	/** Makes a namespace and waits until Pods may be made in it. @param {string} [name] @param {KubeObject} [metadata] */
	async namespace(name = this.ns, metadata = {}) {
		const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name, ...metadata } };
		const made = await this.#ask('POST', '/api/v1/namespaces', body, {});
		if (made.status !== 201) this.abort(`no namespace: ${made.status} ${JSON.stringify(made.body)}`);
		this.#normaliser.learn(made.body);
		const account = (/** @type {KubeObject[]} */ all) => all.some(({ metadata }) => metadata.name === 'default');
		await this.#wait(`/api/v1/namespaces/${name}/serviceaccounts`, 'its service account', account, this.#timeout);
		return name;
	}

	/** What leads to the webhook of that name, which answers. @param {string} name */
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

	/** POSTs objects to where they belong; answers the last. @param {KubeObject} object @param {RequestOptions} [options] */
	create(object, options) {
		return this.post(pluralOf(object.kind), object, options);
	}

	/** Adds an annotation, or takes it away with null: how the nodes are told what to do with a Pod. @param {string} pod @param {string} key @param {string|null} value */
	annotate(pod, key, value) {
		return this.patch(`pods/${pod}`, 'merge', { metadata: { annotations: { [key]: value } } }, { unrecorded: true });
	}

	/**
	 * @param {string} method @param {string} path  `plural/name`, in the namespace of the case, or a whole path
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
	 * Begins a watch. What it saw goes into the transcript when it is ended.
	 * @param {string} path of a collection @param {RequestOptions & {events?: 'each'|'by object', from?: string}} [options]
	 *   from: the revision to begin at, which is not told
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
			abort: (why) => this.abort(why),
		});
		this.#watches.add(watch);
		await watch.begin((onEvent) => this.#wire.stream({ user: options.user, path: whole, headers }, onEvent));
		return watch;
	}

	/**
	 * Waits until an object, or a collection, is as wanted, seen by list and watch; then shows it.
	 * @param {string} path  `plural/name` for an object, which is undefined while it is not there; `plural` for all
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
	 * Waits for what no watch tells of, like a webhook being known to the server: asks until the answer is as wanted.
	 * @param {string} what @param {string} method @param {string} path @param {(answer: Answer) => unknown} wanted
	 * @param {{body?: unknown, headers?: Record<string, string>, query?: RequestOptions['query']}} [options]
	 */
	async eventually(what, method, path, wanted, { body, headers, query } = {}) {
		const deadline = performance.now() + this.#timeout;
		for (;;) {
			const answer = await this.#ask(method, path, body, { headers, query });
			if (wanted(answer)) return answer;
			if (performance.now() > deadline)
				this.abort(`asked for ${this.#timeout / 1000} s in vain: ${what}; ${answer.status} ${viewOf(answer.body)}`);
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
			// Asks to be asked again: it opens the storage of a definition anew.
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
				this.abort(`waited ${within / 1000} s in vain: ${what}; there is ${there.join(', ') || 'nothing'}`);
			}
		}
	}

	// --- the transcript -------------------------------------------------------------------------------------------------

	/** @param {string} asked @param {string} seen */
	say(asked, seen) {
		this.#lines.push(`${asked}\n    ${seen}`);
	}

	/** Anything else that was observed. @param {string} what @param {unknown} value */
	note(what, value) {
		this.say(`NOTE ${what}`, typeof value === 'string' ? value : json(value));
	}

	/** Takes out of what was just said what cannot be compared. @param {(line: string) => string} change */
	amend(change) {
		this.#lines.push(change(this.#lines.pop() ?? ''));
	}

	/** @param {string} why @returns {never} */
	abort(why) {
		this.#lines.push(`HALT ${why}`);
		throw new CaseAborted(why);
	}

	transcript() {
		return this.#normaliser.apply(`${this.#lines.join('\n')}\n`);
	}

	/** Ends what is still open. */
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
