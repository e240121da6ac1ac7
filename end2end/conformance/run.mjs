/**
 * Plays the cases in one world or both, and compares what was seen there with what is kept in `expected/`.
 *
 *   node end2end/conformance/run.mjs [real|sandbox|both] [--only PART] [--at KUBECONFIG] [--record]
 *
 *   real, sandbox, both   which targets to start; both is the default
 *   --only PART           only cases with that in `file/name`
 *   --at KUBECONFIG       not a new world but the one that is there (of end2end/cluster/up.mjs, or a sandbox; one that
 *                         webhook.mjs's script was not given to has no webhooks that answer, and in none can a
 *                         part be switched off: the cases in outage differ, and delete-outlasts-server in a sandbox)
 *   --record               what the real one says becomes what is expected
 *
 * Exit code 0: no difference; 1: differences, on stdout; 2: could not compare.
 */
import { parseArgs } from 'node:util';
import { Goldens } from './goldens.mjs';
import { loadCases, runCases } from './suite.mjs';
import { existing, real, sandbox } from './targets.mjs';

const { values, positionals } = parseArgs({
	allowPositionals: true,
	options: { only: { type: 'string' }, at: { type: 'string' }, record: { type: 'boolean', default: false } },
});
const names = !positionals[0] || positionals[0] === 'both' ? ['real', 'sandbox'] : [positionals[0]];
const startTarget = { real, sandbox };

/** @param {string} line */
const log = (line) => process.stderr.write(`${line}\n`);
/** @param {string} line */
const print = (line) => process.stdout.write(`${line}\n`);

/** @param {'real'|'sandbox'} name @returns {Promise<number>} how many cases differ */
async function examine(name) {
	const chosen = await loadCases(values.only);
	const began = performance.now();
	const target = await (values.at ? existing(values.at) : startTarget[name](log));
	let done = 0;
	try {
		const transcripts = await runCases(target, chosen, (played) => {
			done++;
			if (played.seconds > 20) log(`${name}: ${played.name} took ${played.seconds.toFixed(1)} s`);
			if (done % 20 === 0) log(`${name}: ${done} of ${chosen.length} cases`);
		});
		const goldens = new Goldens();
		if (values.record && name === 'real') await goldens.record(chosen, transcripts, !values.only);
		const differences = await goldens.compare(name, chosen, transcripts, !values.only);
		for (const { title, about, text } of differences) print(`✗ ${name}: ${title}\n  ${about}\n${indent(text)}\n`);
		const seconds = ((performance.now() - began) / 1000).toFixed(1);
		print(
			`${name}: ${chosen.length} cases in ${seconds} s, ${differences.length || 'none'} different from what is expected`,
		);
		return differences.length;
	} finally {
		await target.stop();
	}
}

/** @param {string} text */
const indent = (text) => text.replace(/^/gm, '  ');

try {
	let differences = 0;
	for (const name of names) {
		if (name !== 'real' && name !== 'sandbox')
			throw new Error(`no world is called ${name}: there are real and sandbox`);
		differences += await examine(name);
	}
	process.exit(differences > 0 ? 1 : 0);
} catch (error) {
	log(`cannot compare: ${error instanceof Error ? (error.stack ?? error.message) : error}`);
	process.exit(2);
}
