/**
 * A watch of a case, and its record in the transcript.
 */
import { isBackground, viewOf } from './view.mjs';

/** @typedef {Record<string, any>} KubeObject */
/** @typedef {{type: string, object: KubeObject}} WatchEvent */
/** @typedef {{learn: (object: KubeObject) => void, say: (asked: string, seen: string) => void, expire: (why: string) => never}} Recorder */
/** @typedef {{fields?: string[], events?: 'each'|'by object'}} WatchOptions */

export class Watch {
	/** All events so far. @type {WatchEvent[]} */
	events = [];
	#asked;
	#options;
	#timeout;
	#recorder;
	/** @type {import('./wire.mjs').Stream|undefined} */
	#stream;
	/** @type {() => void} */
	#wake = () => {};

	/** @param {string} asked @param {WatchOptions} options @param {number} timeout in milliseconds @param {Recorder} recorder */
	constructor(asked, options, timeout, recorder) {
		this.#timeout = timeout;
		this.#asked = asked;
		this.#options = options;
		this.#recorder = recorder;
	}

	/** @param {(onEvent: (event: WatchEvent) => void) => Promise<import('./wire.mjs').Stream>} open */
	async begin(open) {
		this.#stream = await open((event) => {
			if (event.type !== 'ERROR') this.#recorder.learn(event.object);
			if (isBackground(event.object)) return;
			this.events.push(event);
			this.#wake();
		});
		if (this.#stream.status !== 200)
			this.#recorder.say(this.#asked, `${this.#stream.status} ${viewOf(this.#stream.body)}`);
		void this.#stream.ended.then(() => this.#wake());
	}

	/** Waits until the events match. @param {string} what @param {(events: WatchEvent[]) => unknown} wanted */
	async until(what, wanted) {
		const deadline = performance.now() + this.#timeout;
		while (!wanted(this.events)) {
			const left = deadline - performance.now();
			if (left <= 0) {
				const seen = this.events.map((event) => this.#view(event)).join(', ');
				this.#recorder.expire(`no match within ${this.#timeout / 1000} s: ${what}; events: ${seen || 'none'}`);
			}
			await new Promise((resolve) => {
				const timer = setTimeout(resolve, left);
				this.#wake = () => (clearTimeout(timer), resolve(undefined));
			});
		}
	}

	/** Waits until an object with that name has been deleted. @param {string} name */
	gone(name) {
		return this.until(`DELETED ${name}`, (events) =>
			events.some(({ type, object }) => type === 'DELETED' && object.metadata.name === name),
		);
	}

	/** Waits until the server ends the watch, and records its events. */
	async ended() {
		const timer = setTimeout(() => this.#stream?.close(), this.#timeout);
		await this.#stream?.ended;
		clearTimeout(timer);
		this.record();
	}

	/** Ends the watch, and records its events. */
	end() {
		this.drop();
		this.record();
	}

	drop() {
		this.#stream?.close();
	}

	/**
	 * Records the events. With several writers only the order per object is deterministic, so events are grouped by object unless
	 * the case needs the order across objects (`events: 'each'`). Equal consecutive records are merged.
	 */
	record() {
		/** @type {Map<string, string[]>} */
		const threads = new Map();
		for (const event of this.events.filter(isRecorded)) {
			const thread = this.#options.events === 'each' ? '' : (event.object.metadata?.name ?? '');
			const seen = threads.get(thread) ?? [];
			threads.set(thread, seen);
			const view = this.#view(event);
			if (seen.at(-1) !== view) seen.push(view);
		}
		const sorted = [...threads].sort(([one], [other]) => (one < other ? -1 : 1));
		const lines = sorted.flatMap(([, views]) => views);
		this.#recorder.say(this.#asked, lines.length > 0 ? lines.join('\n    ') : 'nothing');
	}

	/** @param {WatchEvent} event */
	#view({ type, object }) {
		if (type !== 'BOOKMARK') return `${type} ${viewOf(object, this.#options.fields)}`;
		return `BOOKMARK ${object.kind} initial-events-end=${object.metadata.annotations['k8s.io/initial-events-end']}`;
	}
}

/**
 * Whether an event is recorded. Periodic bookmarks come at irregular times, about every minute; only the one that ends the
 * initial events is recorded.
 * @param {WatchEvent} event
 */
function isRecorded({ type, object }) {
	return type !== 'BOOKMARK' || object.metadata.annotations?.['k8s.io/initial-events-end'] !== undefined;
}
