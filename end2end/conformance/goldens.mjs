/**
 * The goldens: recorded transcripts of the real control plane, `expected/<file>/<case>.txt`.
 */
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readableDiff } from './diff.mjs';

/** @typedef {import('./suite.mjs').Case} Case */
/** @typedef {{title: string, about: string, text: string}} Difference */

export class Goldens {
	#dir;

	/** @param {string} [dir] */
	constructor(dir = fileURLToPath(new URL('./expected/', import.meta.url))) {
		this.#dir = dir;
	}

	/** Records transcripts as goldens. @param {Case[]} cases @param {Map<string, string>} transcripts @param {boolean} all the cases are the whole suite, so every other golden is removed */
	async record(cases, transcripts, all) {
		if (all) await rm(this.#dir, { recursive: true, force: true });
		for (const one of cases) {
			const path = this.#path(one);
			await mkdir(dirname(path), { recursive: true });
			await writeFile(path, heading(one) + transcripts.get(one.name));
		}
	}

	/**
	 * @param {'real'|'sandbox'} target @param {Case[]} cases @param {Map<string, string>} transcripts
	 * @param {boolean} all the cases are the whole suite, so every other golden is a difference
	 * @returns {Promise<Difference[]>}
	 */
	async compare(target, cases, transcripts, all) {
		/** @type {Difference[]} */
		const found = [];
		for (const one of cases) {
			const kept = await readFile(this.#path(one), 'utf8').catch(() => '');
			const said = heading(one) + transcripts.get(one.name);
			const { text: expected, stale } =
				target === 'sandbox' ? withDifferences(kept, one.differs ?? []) : { text: kept, stale: [] };
			const text = [...stale, readableDiff(expected, said)].filter(Boolean).join('\n');
			if (text) found.push({ title: `${one.file}/${one.name}`, about: one.about, text });
		}
		if (!all) return found;
		const known = new Set(cases.map((one) => this.#path(one)));
		for (const file of await readdir(this.#dir, { recursive: true }))
			if (file.endsWith('.txt') && !known.has(join(this.#dir, file)))
				found.push({ title: file, about: 'no case has this golden', text: 'remove it' });
		return found;
	}

	/** @param {Case} one */
	#path({ file, name }) {
		return join(this.#dir, file, `${name}.txt`);
	}
}

/** @param {Case} one */
const heading = ({ about }) => `# ${about}\n`;

/**
 * The golden for the sandbox: the recorded transcript with the intended differences applied. An intended difference whose line
 * is not in the golden is stale and is reported.
 * @param {string} kept @param {import('./suite.mjs').IntendedDifference[]} differs
 */
export function withDifferences(kept, differs) {
	let lines = kept.split('\n');
	const stale = [];
	for (const { real, sandbox, why } of differs) {
		if (!lines.some((line) => line.trim() === real))
			stale.push(`! stale difference: the golden has no line «${real}» (${why})`);
		lines = lines.flatMap((line) => {
			if (line.trim() !== real) return [line];
			return sandbox === undefined ? [] : [line.replace(real, () => sandbox)];
		});
	}
	return { text: lines.join('\n'), stale };
}
