/**
 * Loads the cases and runs them: several at a time, each in a namespace of its own, and those that disturb others at the end.
 * A case whose wait took too long is run once more, alone: on a loaded machine the controllers of the target are late, and that is
 * no answer. Any other difference counts the first time.
 */
import { readdir } from 'node:fs/promises';
import { randomInt } from 'node:crypto';
import { CaseAborted, TestContext, WaitExpired } from './test-context.mjs';
import { Wire } from './wire.mjs';

/**
 * @typedef {object} Options
 * @property {boolean} [alone] it disturbs other cases (discovery, webhooks, a node), so it runs alone
 * @property {boolean} [bare] it needs no namespace
 * @property {IntendedDifference[]} [differs] intended differences of the sandbox
 */
/** @typedef {{real: string, sandbox: string, why: string}} IntendedDifference  one line of the transcript; without `sandbox` the line is missing there */
/** @typedef {{name: string, about: string, run: (context: TestContext) => Promise<unknown>, file: string} & Options} Case */
/** @typedef {{name: string, transcript: string, seconds: number}} CaseResult */

/**
 * Defines a case.
 * @param {string} name of the case, its namespace and its golden
 * @param {string} about what it shows, behind the identifiers of catalogue.mjs: `§1.7 …`
 * @param {(context: TestContext) => Promise<unknown>} run @param {Options} [options]
 */
export const define = (name, about, run, options = {}) => ({ name, about, run, ...options });

/** Cases that run at the same time. */
const concurrency = 8;
/** The time limit of a case, in milliseconds: more than the waits of any case together. */
const caseTimeout = 300_000;

/** @param {string} [only] a part of `file/name` @returns {Promise<Case[]>} */
export async function loadCases(only = '') {
	const folder = new URL('./cases/', import.meta.url);
	const files = (await readdir(folder)).filter((file) => file.endsWith('.mjs')).sort();
	const all = [];
	for (const file of files) {
		const { default: defined } = await import(new URL(file, folder).href);
		for (const each of defined) all.push({ ...each, file: file.replace('.mjs', '') });
	}
	const names = all.map(({ name }) => name);
	const twice = names.find((name, at) => names.indexOf(name) !== at);
	if (twice) throw new Error(`two cases are called ${twice}`);
	const long = names.find((name) => name.length > 45);
	if (long) throw new Error(`${long}: the name of a case becomes a namespace with a suffix, so it has at most 45 characters`);
	return all.filter(({ name, file }) => `${file}/${name}`.includes(only));
}

/**
 * Runs cases on a target.
 * @param {import('./targets.mjs').Target} target @param {Case[]} chosen @param {(result: CaseResult) => void} onResult
 * @returns {Promise<Map<string, string>>} transcripts by the name of the case
 */
export async function runCases(target, chosen, onResult = () => {}) {
	const wire = new Wire(target);
	const token = newToken();
	/** @type {Case[]} */
	const expired = [];
	/** @type {Map<string, string>} */
	const transcripts = new Map();
	/** @param {Case[]} queue @param {number} width */
	const work = async (queue, width) => {
		const waiting = [...queue];
		const worker = async () => {
			for (let next = waiting.shift(); next; next = waiting.shift()) {
				const began = performance.now();
				const { transcript, hasExpired } = await runCase(wire, next, token, target);
				if (hasExpired) expired.push(next);
				transcripts.set(next.name, transcript);
				onResult({ name: next.name, transcript, seconds: (performance.now() - began) / 1000 });
			}
		};
		await Promise.all(Array.from({ length: width }, worker));
	};
	await work(
		chosen.filter(({ alone }) => !alone),
		concurrency,
	);
	await work(
		chosen.filter(({ alone }) => alone),
		1,
	);
	for (const one of expired) {
		// Its namespace may still be there.
		const { transcript } = await runCase(wire, one, newToken(), target);
		transcripts.set(one.name, transcript);
	}
	wire.close();
	return transcripts;
}

/** What makes the names of a run unique. */
const newToken = () => Array.from({ length: 5 }, () => 'bcdfghjkmnpqrstvwxz'[randomInt(19)]).join('');

/** @param {Wire} wire @param {Case} one @param {string} token @param {import('./targets.mjs').Target} target */
async function runCase(wire, one, token, target) {
	const context = new TestContext(wire, one.name, token, target);
	let hasExpired = false;
	/** @type {NodeJS.Timeout|undefined} */
	let timer;
	try {
		const hangs = new Promise((_, reject) => {
			const expire = () => {
				const why = `not done after ${caseTimeout / 1000} s`;
				context.say('BROKEN', why);
				reject(new WaitExpired(why));
			};
			timer = setTimeout(expire, caseTimeout);
		});
		const finished = (async () => {
			if (!one.bare) await context.namespace();
			await one.run(context);
		})();
		await Promise.race([finished, hangs]);
	} catch (error) {
		hasExpired = error instanceof WaitExpired;
		// An exception in a case is a difference like any other.
		if (!(error instanceof CaseAborted)) context.say('BROKEN', error instanceof Error ? error.message : String(error));
	}
	clearTimeout(timer);
	context.close();
	return { transcript: context.transcript(), hasExpired };
}
