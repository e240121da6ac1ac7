/**
 * Tests of the suite itself: a transcript that differs in one word fails with a diff that shows the word, and normalising
 * removes only what carries no meaning.
 */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { mechanisms, reasons, shows } from './catalogue.mjs';
import { readableDiff } from './diff.mjs';
import { Goldens, withDifferences } from './goldens.mjs';
import { Normaliser } from './normalise.mjs';
import { define, loadCases, runCases } from './suite.mjs';
import { viewOf } from './view.mjs';
import { Wire } from './wire.mjs';

/** A target that answers every request as the test says. @param {import('node:test').TestContext} t @param {(path: string) => [number, object]} answer */
async function fakeTarget(t, answer) {
	const server = createServer((request, response) => {
		const [status, body] = answer(`${request.method} ${request.url}`);
		response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
	});
	await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
	t.after(() => server.close());
	const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
	return { server: `http://127.0.0.1:${port}`, tokens: new Map(), kubeconfig: '', stop: async () => {} };
}

/** @param {import('node:test').TestContext} t */
async function emptyGoldens(t) {
	const dir = await mkdtemp(join(tmpdir(), 'unwind-expected-'));
	t.after(() => rm(dir, { recursive: true }));
	return { dir, goldens: new Goldens(dir) };
}

/** @type {(name?: string) => [number, object]} */
const found = (name = 'a') => [
	200,
	{ kind: 'ConfigMap', metadata: { name, uid: '6e7a1b0e-0000-4000-8000-000000000001', resourceVersion: '7' } },
];
const one = {
	...define('one', 'An object is there', (t) => t.get('configmaps/a'), { bare: true }),
	file: 'some',
};

test('equal answers with other UIDs and revisions do not differ', async (t) => {
	const { goldens } = await emptyGoldens(t);
	await goldens.record([one], await runCases(await fakeTarget(t, () => found()), [one]), true);
	const other = await runCases(
		await fakeTarget(t, () => [
			200,
			{ ...found()[1], metadata: { name: 'a', uid: '7f000000-0000-4000-8000-000000000002', resourceVersion: '9' } },
		]),
		[one],
	);
	assert.deepEqual(await goldens.compare('sandbox', [one], other, true), []);
});

test('case whose wait took too long is run once more, and any other difference counts the first time', async (t) => {
	let runs = 0;
	const late = {
		...define('late', 'An object comes', (t) => ((runs += 1), t.eventually('it is there', 'GET', 'configmaps/a', () => runs > 1)), {
			bare: true,
		}),
		file: 'some',
	};
	const target = { ...(await fakeTarget(t, () => found())), timeout: 0 };
	const transcripts = await runCases(target, [late]);
	assert.equal(runs, 2);
	assert.doesNotMatch(transcripts.get('late') ?? '', /HALT/);
	runs = 0;
	const never = { ...late, run: (/** @type {any} */ t) => ((runs += 1), t.eventually('it is there', 'GET', 'configmaps/a', () => false)) };
	assert.match((await runCases(target, [never])).get('late') ?? '', /HALT no match within/);
	assert.equal(runs, 2, 'once more, and not again');
	runs = 0;
	const refused = { ...late, run: (/** @type {any} */ t) => ((runs += 1), t.abort('refused')) };
	assert.match((await runCases(target, [refused])).get('late') ?? '', /HALT refused/);
	assert.equal(runs, 1);
});

test('connection that is not used is closed before the API server closes it', async (t) => {
	const server = createServer((_, response) => void response.end('{}'));
	server.keepAliveTimeout = 0;
	await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
	t.after(() => server.close());
	const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
	/** @type {Promise<import('node:net').Socket>} */
	const accepted = new Promise((resolve) => server.once('connection', resolve));
	const wire = new Wire({ server: `http://127.0.0.1:${port}`, tokens: new Map() }, 1);
	await wire.ask({ path: '/' });
	const socket = await accepted;
	if (!socket.destroyed) await new Promise((resolve) => socket.once('close', resolve));
	wire.close();
});

test('changed answer is reported with the line that differs', async (t) => {
	const { goldens } = await emptyGoldens(t);
	await goldens.record([one], await runCases(await fakeTarget(t, () => found()), [one]), true);
	const [difference, ...more] = await goldens.compare(
		'sandbox',
		[one],
		await runCases(await fakeTarget(t, () => found('b')), [one]),
		true,
	);
	assert.equal(more.length, 0);
	assert.equal(difference.title, 'some/one');
	assert.match(difference.text, /^-     200 ConfigMap a$/m);
	assert.match(difference.text, /^\+     200 ConfigMap b$/m);
});

test('altered golden fails the real control plane as well', async (t) => {
	const { dir, goldens } = await emptyGoldens(t);
	const there = await fakeTarget(t, () => found());
	await goldens.record([one], await runCases(there, [one]), true);
	const path = join(dir, 'some', 'one.txt');
	await writeFile(path, (await readFile(path, 'utf8')).replace('200', '404'));
	const differences = await goldens.compare('real', [one], await runCases(there, [one]), true);
	assert.match(differences[0].text, /^-     404 ConfigMap a$/m);
});

test('case without a golden and golden without a case are reported', async (t) => {
	const { goldens } = await emptyGoldens(t);
	const transcripts = await runCases(await fakeTarget(t, () => found()), [one]);
	await goldens.record([one], transcripts, true);
	const two = { ...one, name: 'two' };
	const differences = await goldens.compare('real', [two], new Map([['two', transcripts.get('one') ?? '']]), true);
	assert.deepEqual(
		differences.map(({ title }) => title),
		['some/two', 'some/one.txt'],
	);
});

test('case that throws is reported and does not stop the others', async (t) => {
	const broken = { ...one, name: 'broken', run: async () => assert.fail('no such thing') };
	const transcripts = await runCases(await fakeTarget(t, () => found()), [broken, one]);
	assert.match(transcripts.get('broken') ?? '', /^BROKEN\n {4}no such thing/);
	assert.match(transcripts.get('one') ?? '', /200 ConfigMap a/);
});

test('intended difference applies to its line and becomes stale with it', () => {
	const differs = [{ real: '200 yes', sandbox: '200 no', why: 'it has no need' }];
	assert.deepEqual(withDifferences('GET a\n    200 yes\nGET b\n    404\n', differs), {
		text: 'GET a\n    200 no\nGET b\n    404\n',
		stale: [],
	});
	const { text, stale } = withDifferences('GET a\n    200 maybe\n', differs);
	assert.equal(text, 'GET a\n    200 maybe\n');
	assert.match(stale[0], /«200 yes».*it has no need/);
});

test('normaliser keeps distinct UIDs distinct and removes generated names', () => {
	const normaliser = new Normaliser('qqqqq');
	const [first, second] = ['6e7a1b0e-0000-4000-8000-000000000001', '6e7a1b0e-0000-4000-8000-000000000002'];
	normaliser.learn({ metadata: { name: 'a', uid: first } });
	normaliser.learn({
		items: [
			{
				metadata: {
					name: 'web-5d4f-bcdfg',
					generateName: 'web-5d4f-',
					uid: second,
					labels: { 'pod-template-hash': '5d4f' },
				},
			},
		],
	});
	assert.equal(
		normaliser.apply(`n-case-qqqqq: ${first} ${second} web-5d4f-bcdfg 2026-01-02T03:04:05Z`),
		'n-case: <uid of a> <uid of web-<hash>-<generated>> web-<hash>-<generated> <time>',
	);
	normaliser.learn({ metadata: { name: 'a', uid: '6e7a1b0e-0000-4000-8000-000000000003' } });
	assert.match(normaliser.apply('6e7a1b0e-0000-4000-8000-000000000003'), /<uid of a, number 2 of that name>/);
});

test('view of an object always contains its deletion fields', () => {
	const metadata = {
		name: 'a',
		generation: 2,
		finalizers: ['x/y'],
		deletionTimestamp: 'now',
		deletionGracePeriodSeconds: 0,
		ownerReferences: [{ kind: 'Job', name: 'j', controller: true, blockOwnerDeletion: true }],
	};
	assert.equal(
		viewOf({ kind: 'Pod', metadata }),
		'Pod a generation=2 finalizers=[x/y] owners=[Job/j+controller+blocks] deleting grace=0',
	);
});

test('diff shows two lines around each difference', () => {
	const text = (/** @type {string} */ word) => `1\n2\n3\n${word}\n5\n6\n7\n8\n`;
	assert.equal(readableDiff(text('a'), text('a')), undefined);
	assert.equal(readableDiff(text('a'), text('b')), '  2\n  3\n- a\n+ b\n  5\n  6\n  ⋮');
});

test('suite has at least 150 cases, each with a description', async () => {
	const all = await loadCases();
	assert.ok(all.length >= 150);
	assert.ok(all.every(({ about }) => about.length > 8));
});

test('every mechanism of the catalogue has a case or a reason to have none', async () => {
	const all = await loadCases();
	const shown = (/** @type {string} */ mechanism) => all.some(({ about }) => shows(about, mechanism));
	const missing = Object.keys(mechanisms).filter((mechanism) => !shown(mechanism) && !reasons[mechanism]);
	assert.deepEqual(missing, []);
	const needless = Object.keys(reasons).filter((mechanism) => shown(mechanism) || !mechanisms[mechanism]);
	assert.deepEqual(needless, []);
});
