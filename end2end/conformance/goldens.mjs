/**
 * What the real control plane said, kept as text: `expected/<file>/<case>.txt`.
 */
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readableDiff } from './diff.mjs';

/** @typedef {import('./suite.mjs').Case} Case */
/** @typedef {{title: string, about: string, text: string}} Found  a difference, for people */

export class Goldens {
	#dir;

	/** @param {string} [dir] */
	constructor(dir = fileURLToPath(new URL('./expected/', import.meta.url))) {
		this.#dir = dir;
	}

	/** Keeps transcripts as the truth. @param {Case[]} cases @param {Map<string, string>} transcripts @param {boolean} all there are no other cases */
	async record(cases, transcripts, all) {
		if (all) await rm(this.#dir, { recursive: true, force: true });
		for (const one of cases) {
			const path = this.#path(one);
			await mkdir(dirname(path), { recursive: true });
			await writeFile(path, heading(one) + transcripts.get(one.name));
		}
	}

	/**
	 * @param {'real'|'sandbox'} world @param {Case[]} cases @param {Map<string, string>} transcripts
	 * @param {boolean} all there are no other cases, so there must be no other transcripts
	 * @returns {Promise<Found[]>}
	 */
	async compare(world, cases, transcripts, all) {
		/** @type {Found[]} */
		const found = [];
		for (const one of cases) {
			const kept = await readFile(this.#path(one), 'utf8').catch(() => '');
			const said = heading(one) + transcripts.get(one.name);
			const { text: expected, stale } =
				world === 'sandbox' ? withDifferences(kept, one.differs ?? []) : { text: kept, stale: [] };
			const text = [...stale, readableDiff(expected, said)].filter(Boolean).join('\n');
			if (text) found.push({ title: `${one.file}/${one.name}`, about: one.about, text });
		}
		if (!all) return found;
		const known = new Set(cases.map((one) => this.#path(one)));
		for (const file of await readdir(this.#dir, { recursive: true }))
			if (file.endsWith('.txt') && !known.has(join(this.#dir, file)))
				found.push({ title: file, about: 'is a transcript of no case', text: 'remove it' });
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
 * What is expected of the sandbox: what the real one said, but for the lines where it differs on purpose. A difference that
 * names a line that the real one does not say is itself one.
 * @param {string} kept @param {import('./suite.mjs').Difference[]} differs
 */
export function withDifferences(kept, differs) {
	let lines = kept.split('\n');
	const stale = [];
	for (const { real, sandbox, why } of differs) {
		if (!lines.some((line) => line.trim() === real))
			stale.push(`! the real one does not say «${real}», so it cannot differ there (${why})`);
		lines = lines.flatMap((line) => {
			if (line.trim() !== real) return [line];
			return sandbox === undefined ? [] : [line.replace(real, () => sandbox)];
		});
	}
	return { text: lines.join('\n'), stale };
}
