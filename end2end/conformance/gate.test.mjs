/** Tests of the choice of cases that meet the real control plane in every test run. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readdir } from 'node:fs/promises';
import { test } from 'node:test';
import { choose, concerned, inTurn, stateOf } from './gate.mjs';
import { loadCases } from './suite.mjs';

const all = await loadCases();
/** @param {import('./suite.mjs').Case[]} cases */
const filesOf = (cases) => [...new Set(cases.map(({ file }) => file))].sort();

test('ten turns ask every case once', () => {
	const asked = Array.from({ length: 10 }, (_, turn) => inTurn(all, 640 + turn)).flat();
	assert.equal(asked.length, all.length);
	assert.equal(new Set(asked).size, all.length);
});

test('changed golden, file of cases or controller concerns its cases alone', () => {
	assert.deepEqual(
		concerned(all, ['end2end/conformance/expected/owners/foreground.txt', 'README.md']).map(({ file }) => file),
		all.filter(({ file, name }) => file === 'owners' && name === 'foreground').map(({ file }) => file),
	);
	assert.deepEqual(filesOf(concerned(all, ['end2end/conformance/cases/pods.mjs'])), ['pods']);
	assert.deepEqual(filesOf(concerned(all, ['server/sandbox/src/controller/garbage.rs'])), ['owners']);
	assert.deepEqual(filesOf(concerned(all, ['server/sandbox/src/controller/stateful_set/update.rs'])), ['workloads']);
});

test('change of the suite, of the control plane or of what every answer passes through concerns every case', () => {
	const shared = ['api.rs', 'service/body.rs', 'kind/table.rs', 'status.rs', 'clock.rs'].map((file) => `server/sandbox/src/${file}`);
	for (const path of ['end2end/conformance/normalise.mjs', 'end2end/cluster/go.mod', ...shared]) {
		assert.equal(concerned(all, [path]).length, all.length, path);
	}
});

test('change elsewhere concerns no case and leaves the turn', () => {
	const state = { changed: ['app/src/lib.rs', 'end2end/judge/judge.mjs', 'server/sandbox/src/demo.rs'], turn: 3 };
	assert.deepEqual(choose(all, state), inTurn(all, 3));
});

test('every module of the simulated API and its controllers that answers requests is listed', async () => {
	// What starts the program, fills it or shows it, and what controllers are made of.
	const starts = ['main.rs', 'lib.rs', 'log.rs', 'demo.rs', 'kubectl.rs', 'world.rs', 'kubectl', 'world', 'tests', 'tests.rs'];
	const quiet = ['client', 'queue', 'read', 'resource', 'timing', 'gitops', 'kustomize', 'operator', 'address', 'bootstrap', 'readable'];
	const root = new URL('../../server/sandbox/src/', import.meta.url);
	/** @param {string} folder @returns {Promise<string[]>} */
	const below = async (folder) =>
		(await readdir(new URL(folder, root), { withFileTypes: true })).map((entry) => folder + entry.name + (entry.isDirectory() ? '/' : ''));
	const folders = ['', 'controller/', 'api/', 'cluster/', 'kind/', 'service/', 'store/', 'fault/', 'patch/', 'quota/'];
	for (const path of (await Promise.all(folders.map(below))).flat()) {
		const name = path.replace(/\/$/, '').replace(/^.*\//, '');
		if (starts.includes(name) || quiet.includes(name.replace(/\.rs$/, ''))) continue;
		if (folders.includes(path)) continue;
		assert.ok(concerned(all, [`server/sandbox/src/${path}`]).length > 0, `no case is listed for ${path}`);
	}
});

test('change is what the base lacks, with files that are not committed', async (t) => {
	const root = await mkdtemp(join(tmpdir(), 'unwind-gate-'));
	t.after(() => rm(root, { recursive: true }));
	/** @param {string[]} args */
	const git = (...args) => execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args], { cwd: root });
	git('init', '-q');
	await writeFile(join(root, 'old'), '1');
	git('add', '.');
	git('commit', '-qm', 'first');
	const base = git('rev-parse', 'HEAD').toString().trim();
	await writeFile(join(root, 'new'), '1');
	git('add', '.');
	git('commit', '-qm', 'second');
	await writeFile(join(root, 'loose'), '1');
	const before = process.env.UNWIND_BASE;
	process.env.UNWIND_BASE = base;
	t.after(() => (before === undefined ? delete process.env.UNWIND_BASE : (process.env.UNWIND_BASE = before)));
	const state = await stateOf(root);
	assert.deepEqual({ ...state, changed: state.changed.sort() }, { changed: ['loose', 'new'], turn: 2 });
});

test('folder without history has no change and still a turn', async (t) => {
	const root = await mkdtemp(join(tmpdir(), 'unwind-gate-'));
	t.after(() => rm(root, { recursive: true }));
	const state = await stateOf(root);
	assert.deepEqual(state.changed, []);
	assert.ok(Number.isInteger(state.turn));
});
