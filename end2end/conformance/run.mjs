/**
 * Runs the cases on one target or both, and compares the transcripts with the goldens in `expected/`.
 *
 *   node end2end/conformance/run.mjs [real|sandbox|both] [--only PART] [--at KUBECONFIG] [--record]
 *
 *   real, sandbox, both   the targets to start; both is the default
 *   --only PART           only cases whose `file/name` contains PART
 *   --gate                only the cases that the change concerns, and a tenth of the others in turn (gate.mjs); never records
 *   --at KUBECONFIG       a cluster that already runs: of end2end/cluster/up.mjs, or a sandbox. Faults cannot be injected
 *                         there, so the cases in outage differ, and delete-outlasts-server in a sandbox; webhooks of
 *                         a sandbox answer only if it was started with the fault script of webhook.mjs
 *   --record               records the goldens from the real control plane
 *
 * Exit code 0: no difference; 1: differences, on stdout; 2: could not compare.
 */
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { choose, concerned, stateOf } from './gate.mjs';
import { Goldens } from './goldens.mjs';
import { loadCases, runCases } from './suite.mjs';
import { existing, real, sandbox } from './targets.mjs';

const { values, positionals } = parseArgs({
	allowPositionals: true,
	options: {
		only: { type: 'string' },
		gate: { type: 'boolean', default: false },
		at: { type: 'string' },
		record: { type: 'boolean', default: false },
	},
});
if (values.gate && values.record) throw new Error('--gate compares and never records; leave out one of --gate and --record');
const names = !positionals[0] || positionals[0] === 'both' ? ['real', 'sandbox'] : [positionals[0]];
const startTarget = { real, sandbox };

/** @param {string} line */
const log = (line) => process.stderr.write(`${line}\n`);
/** @param {string} line */
const print = (line) => process.stdout.write(`${line}\n`);

/** The cases to run, and whether they are all cases of the suite. */
async function chooseCases() {
	const cases = await loadCases(values.only);
	if (!values.gate) return { chosen: cases, isWhole: !values.only };
	const state = await stateOf(fileURLToPath(new URL('../../', import.meta.url)));
	const chosen = choose(cases, state);
	const concern = concerned(cases, state.changed).length;
	log(`gate: ${chosen.length} of ${cases.length} cases: ${concern} for ${state.changed.length} changed files, part ${state.turn % 10} of 10`);
	return { chosen, isWhole: false };
}

/** @param {'real'|'sandbox'} name @returns {Promise<number>} the number of cases that differ */
async function compareTarget(name) {
	const { chosen, isWhole } = await chooseCases();
	const began = performance.now();
	const target = await (values.at ? existing(values.at) : startTarget[name](log));
	/** @type {import('./suite.mjs').CaseResult[]} */
	const results = [];
	try {
		const transcripts = await runCases(target, chosen, (result) => {
			results.push(result);
			if (results.length % 20 === 0) log(`${name}: ${results.length} of ${chosen.length} cases`);
		});
		log(`${name}: slowest cases: ${slowest(results)}`);
		const goldens = new Goldens();
		if (values.record && name === 'real') await goldens.record(chosen, transcripts, isWhole);
		const differences = await goldens.compare(name, chosen, transcripts, isWhole);
		for (const { title, about, text } of differences) print(`✗ ${name}: ${title}\n  ${about}\n${indent(text)}\n`);
		const seconds = ((performance.now() - began) / 1000).toFixed(1);
		print(
			`${name}: ${chosen.length} cases in ${seconds} s, ${differences.length || 'none'} different from the goldens`,
		);
		return differences.length;
	} finally {
		await target.stop();
	}
}

/** The cases closest to their time limits, which fail first on a loaded machine. @param {import('./suite.mjs').CaseResult[]} results */
const slowest = (results) =>
	[...results]
		.sort((one, other) => other.seconds - one.seconds)
		.slice(0, 5)
		.map(({ name, seconds }) => `${name} ${seconds.toFixed(1)} s`)
		.join(', ');

/** @param {string} text */
const indent = (text) => text.replace(/^/gm, '  ');

try {
	let differences = 0;
	for (const name of names) {
		if (name !== 'real' && name !== 'sandbox')
			throw new Error(`unknown target ${name}: use real, sandbox or both`);
		differences += await compareTarget(name);
	}
	process.exit(differences > 0 ? 1 : 0);
} catch (error) {
	log(`cannot compare: ${error instanceof Error ? (error.stack ?? error.message) : error}`);
	process.exit(2);
}
