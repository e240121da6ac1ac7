/**
 * A person at the program's HTTP API: plans, runs, and the stream of a run.
 */
import { setTimeout as sleep } from 'node:timers/promises';

/** @typedef {Record<string, any>} Json */

export class Session {
	/** @param {string} origin @param {string} cookie */
	constructor(origin, cookie) {
		this.origin = origin;
		this.cookie = cookie;
	}

	/** Signs in with the printed link, and waits until the cluster has been read. @param {import('./unwind.mjs').Unwind} unwind */
	static async open({ link, origin }) {
		const token = new URLSearchParams(new URL(link).hash.slice(1)).get('k');
		const answer = await fetch(`${origin}/api/session`, {
			method: 'POST',
			headers: { 'content-type': 'application/json' },
			body: JSON.stringify({ token }),
		});
		if (answer.status !== 201) throw new Error(`sign-in: ${answer.status} ${await answer.text()}`);
		return new Session(
			origin,
			answer.headers
				.getSetCookie()
				.map((one) => one.split(';')[0])
				.join('; '),
		);
	}

	/** @param {string} method @param {string} path @param {Json} [body] @returns {Promise<{status: number, body: Json}>} */
	async request(method, path, body) {
		const answer = await fetch(this.origin + path, {
			method,
			headers: { cookie: this.cookie, ...(body ? { 'content-type': 'application/json' } : {}) },
			body: body && JSON.stringify(body),
		});
		const text = await answer.text();
		return { status: answer.status, body: text ? JSON.parse(text) : {} };
	}

	/**
	 * Plans a teardown, once the program has read the cluster.
	 * @param {string} unit @param {Json[]} [choices] @param {(plan: Json) => boolean} [wanted] whether the program has seen the last
	 *   changes of the cluster, for a unit that is being installed
	 * @returns {Promise<Json>}
	 */
	async plan(unit, choices = [], wanted = () => true) {
		const deadline = performance.now() + 30_000;
		for (;;) {
			const { status, body } = await this.request('POST', '/api/plans', { unit, choices });
			if (status === 201 && wanted(body)) return body;
			if (![201, 404, 503].includes(status) || performance.now() > deadline)
				throw new Error(`plan of ${unit}: ${status} ${JSON.stringify(body)}`);
			await sleep(50);
		}
	}

	/**
	 * Plans a teardown and confirms the plan; makes another one if the cluster has changed in between.
	 * @param {string} unit @param {Json[]} [choices] @param {(plan: Json) => boolean} [wanted] see `plan`
	 * @returns {Promise<{plan: Json, run: string}>}
	 */
	async start(unit, choices, wanted) {
		for (let attempt = 0; ; attempt++) {
			const plan = await this.plan(unit, choices, wanted);
			const confirmed = { plan: plan.id, hash: plan.hash, confirm: unit, ...destroyed(plan) };
			const { status, body } = await this.request('POST', '/api/runs', confirmed);
			if (status === 201) return { plan, run: body.run };
			if (body.error?.code !== 'stalePlan' || attempt === 10)
				throw new Error(`run of ${unit}: ${status} ${JSON.stringify(body)}`);
		}
	}

	/**
	 * Reads the stream of a topic until its records are as wanted.
	 * @param {string} topic @param {(records: Json[]) => boolean} wanted
	 * @param {{what: string, within?: number}} options within: in milliseconds
	 * @returns {Promise<Json[]>} all records
	 */
	async until(topic, wanted, { what, within = 60_000 }) {
		const end = new AbortController();
		const timer = setTimeout(() => end.abort(), within);
		/** @type {Map<string, Json>} */
		const records = new Map();
		try {
			const { body } = await fetch(`${this.origin}/api/events?topic=${topic}`, {
				headers: { cookie: this.cookie },
				signal: end.signal,
			});
			let rest = '';
			for await (const part of /** @type {ReadableStream} */ (body).pipeThrough(new TextDecoderStream())) {
				const events = (rest + part).split('\n\n');
				rest = events.pop() ?? '';
				for (const event of events) {
					const data = event.split('\n').find((line) => line.startsWith('data: '));
					if (data) fold(records, JSON.parse(data.slice('data: '.length)));
				}
				if (wanted([...records.values()])) return [...records.values()];
			}
			throw new Error(`the stream of ${topic} ended before ${what}`);
		} catch (error) {
			if (!end.signal.aborted) throw error;
			throw new Error(`waited ${within / 1000} s for ${what}; open are: ${open([...records.values()])}`);
		} finally {
			clearTimeout(timer);
			end.abort();
		}
	}

	/**
	 * Waits for the end of a run.
	 * @param {string} run @param {number} [within] in milliseconds
	 * @returns {Promise<Json>} its record, and `bound`: the number of kept claims of which it said that they are bound, if it did
	 */
	async ended(run, within) {
		const ofRun = (/** @type {Json[]} */ records) => records.find((record) => record.run?.id === run)?.run;
		const records = await this.until(`run:${run}`, (records) => !!ofRun(records)?.ended, {
			what: `the end of run ${run}`,
			within,
		});
		const checked = records.find(({ event }) => event?.event.code === 'dataChecked');
		return { ...ofRun(records), bound: checked?.event.event.bound };
	}
}

/** The field that is a record's key. @type {Record<string, (record: Json) => string | number>} */
const keys = {
	run: ({ id }) => id,
	unit: ({ id }) => id,
	step: ({ id }) => id,
	object: ({ uid }) => uid,
	event: ({ number }) => number,
	diagnosis: ({ diagnosis: { id } }) => id,
};

/** Applies a message of a stream to its records. @param {Map<string, Json>} records @param {Json} message */
function fold(records, { snapshot, delta }) {
	if (snapshot) records.clear();
	for (const record of snapshot?.records ?? delta?.put ?? [])
		for (const [kind, value] of Object.entries(record))
			if (keys[kind]) records.set(`${kind} ${keys[kind](value)}`, record);
	for (const removed of delta?.remove ?? [])
		for (const [kind, key] of Object.entries(removed)) records.delete(`${kind} ${key}`);
}

/** The volumes of which a plan says that their data may be destroyed. @param {Json} plan @returns {string[]} names */
export const destroyedBy = ({ data }) =>
	data
		.filter((/** @type {Json} */ { fate }) => fate !== 'leftBehind' && fate !== 'kept')
		.map((/** @type {Json} */ { volume }) => volume.name);

/** An object as a plan is confirmed with it. @param {Json} object @returns {string} */
const address = ({ group, kind, namespace, name }) =>
	`${group ? `${kind}.${group}` : kind}/${namespace ?? ''}/${name}`;

/**
 * The parts of a plan that are confirmed one by one: what is destroyed, namespaces that nobody can prove empty, silent nodes,
 * objects that go although others use them.
 * @param {Json} plan @returns {{destroys: string[], unproven: string[], unreported: string[], waived: string[]}}
 */
export const destroyed = ({ data, by_name, steps, choices, waived = [] }) => ({
	destroys: [
		...data
			.filter((/** @type {Json} */ { fate }) => fate !== 'leftBehind' && fate !== 'kept')
			.map((/** @type {Json} */ { claim, volume }) => address(claim ?? volume)),
		...by_name.map(address),
	],
	unproven: steps.flatMap((/** @type {Json} */ { object, unproven = [] }) =>
		unproven.map((/** @type {string} */ resource) => `${object.name}/${resource}`),
	),
	unreported: choices.flatMap((/** @type {Json} */ { unreported }) => unreported ?? []),
	waived: waived.map((/** @type {Json} */ { object }) => address(object)),
});

/** The steps that are not gone, and the causes, for an error. @param {Json[]} records */
const open = (records) =>
	records
		.filter(({ step, diagnosis }) => diagnosis || (step && step.state !== 'Gone'))
		.map(({ step, diagnosis }) =>
			step ? `${step.object.kind} ${step.object.name} ${step.state}` : JSON.stringify(diagnosis),
		)
		.join('; ');
