/**
 * A cluster starts completely, beside other clusters, and leaves nothing behind however its owner ends.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { once } from 'node:events';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { start } from './cluster.mjs';
import { Client } from './client.mjs';
import { parseKubeconfig } from './kubeconfig.mjs';
import { processesOf, waitUntilGone } from './processes.mjs';

const upScript = fileURLToPath(new URL('./up.mjs', import.meta.url));

/** Runs the launcher as a person or another program would. @param {string[]} args */
async function up(...args) {
	// In a process group of its own, like a command in a shell.
	const child = spawn(process.execPath, [upScript, ...args], { stdio: ['pipe', 'pipe', 'pipe'], detached: true });
	let said = '';
	child.stderr.setEncoding('utf8').on('data', (text) => (said += text));
	const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
	const next = async () => {
		const { value, done } = await lines.next();
		if (done) throw new Error(`the launcher ended:\n${said}`);
		return JSON.parse(value);
	};
	return { child, ready: await next(), next };
}

test('two clusters run side by side and leave nothing behind', async (t) => {
	const began = performance.now();
	const clusters = await Promise.all([start(), start()]);
	t.diagnostic(`both ready after ${((performance.now() - began) / 1000).toFixed(1)} s`);
	const [one, two] = clusters;
	assert.notEqual(one.server, two.server);
	await one.apply([
		{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'only-here', namespace: 'default' }, data: {} },
	]);
	const path = '/api/v1/namespaces/default/configmaps/only-here';
	assert.equal((await one.request('admin', 'GET', path)).status, 200);
	assert.equal((await two.request('admin', 'GET', path)).status, 404);
	for (const cluster of clusters)
		assert.ok((await processesOf(cluster.dir)).length >= 8, 'supervisor, etcd, three servers, three nodes');
	await Promise.all(clusters.map((cluster) => cluster.stop()));
	for (const { dir } of clusters) {
		assert.deepEqual(await processesOf(dir), []);
		assert.ok(!existsSync(dir));
	}
});

test('built control plane is ready within fifteen seconds', async (t) => {
	const began = performance.now();
	const cluster = await start();
	const took = (performance.now() - began) / 1000;
	t.diagnostic(`ready after ${took.toFixed(1)} s`);
	await cluster.stop();
	assert.ok(took < 15, `${took.toFixed(1)} s`);
});

/** Sends SIGINT to the whole process group, like Ctrl-C in a terminal. @param {import('node:child_process').ChildProcess} child */
const interrupt = (child) => process.kill(-(/** @type {number} */ (child.pid)), 'SIGINT');

test('launcher on Ctrl-C stops every server in order and removes the directory', async () => {
	const { child, ready } = await up();
	assert.ok((await processesOf(ready.dir)).length >= 8);
	interrupt(child);
	const [code, signal] = await once(child, 'exit');
	assert.deepEqual([code, signal], [0, null]);
	assert.deepEqual(await processesOf(ready.dir), []);
	assert.ok(!existsSync(ready.dir));
});

test('launcher on Ctrl-C before it is ready leaves nothing behind', async (t) => {
	const dir = join(await mkdtemp(join(tmpdir(), 'unwind-early-')), 'cluster');
	t.after(() => rm(join(dir, '..'), { recursive: true }));
	const child = spawn(process.execPath, [upScript, '--dir', dir], { stdio: 'ignore', detached: true });
	// At least the supervisor, etcd and the API server run, and nothing is ready.
	while ((await processesOf(dir)).filter((line) => !line.includes('up.mjs')).length < 3)
		assert.equal(child.exitCode, null);
	interrupt(child);
	const [code] = await once(child, 'exit');
	assert.equal(code, 130);
	await waitUntilGone(dir);
});

test('killed launcher leaves nothing behind', async () => {
	const { child, ready } = await up();
	assert.ok((await processesOf(ready.dir)).length >= 8);
	child.kill('SIGKILL');
	await once(child, 'exit');
	await waitUntilGone(ready.dir);
});

test('launcher executes commands and ends when its stdin closes', async (t) => {
	const { child, ready, next } = await up();
	t.after(() => child.kill('SIGKILL'));
	assert.equal(ready.ready, true);
	assert.deepEqual(ready.contexts, ['admin', 'developer', 'reader']);
	const { server, ca, tokens } = parseKubeconfig(await readFile(ready.kubeconfig, 'utf8'));
	assert.equal(server, ready.server);
	const admin = new Client({ server, ca, token: /** @type {string} */ (tokens.get('admin')) });
	t.after(() => admin.close());
	assert.equal((await admin.request('GET', '/version')).body.gitVersion, 'v1.36.3');

	child.stdin.write('{"do":"suspendApiServer"}\n');
	assert.deepEqual(await next(), { done: 'suspendApiServer' });
	await assert.rejects(admin.request('GET', '/version', undefined, {}, 300), /no answer within 300 ms/);
	child.stdin.write('{"do":"resumeApiServer"}\n{"do":"stopKubelet","name":"node-z"}\n{"do":"nonsense"}\n');
	assert.deepEqual(await next(), { done: 'resumeApiServer' });
	assert.equal((await admin.request('GET', '/version')).status, 200);
	assert.match((await next()).why, /unknown node node-z; known are node-a/);
	assert.match((await next()).why, /unknown command/);

	child.stdin.end();
	const [code] = await once(child, 'exit');
	assert.equal(code, 0);
	assert.deepEqual(await processesOf(ready.dir), []);
	assert.ok(!existsSync(ready.dir));
});

test('suspended API server does not keep the cluster from stopping', async () => {
	const cluster = await start();
	await cluster.suspendApiServer();
	await cluster.stop();
	assert.deepEqual(await processesOf(cluster.dir), []);
});

test('killed supervisor is cleaned up after by its owner', async () => {
	const cluster = await start();
	const supervisor = (await processesOf(cluster.dir)).find((line) => line.includes('supervisor.mjs'));
	assert.ok(supervisor);
	process.kill(Number.parseInt(supervisor.trim(), 10), 'SIGKILL');
	await waitUntilGone(cluster.dir);
	await cluster.stop();
});

test('kind defined among the applied objects is usable at once', async (t) => {
	const cluster = await start();
	t.after(() => cluster.stop());
	const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
	const names = { plural: 'channels', singular: 'channel', kind: 'Channel' };
	const spec = {
		group: 'unwind.test',
		names,
		scope: 'Namespaced',
		versions: [{ name: 'v1', served: true, storage: true, schema }],
	};
	const definition = {
		apiVersion: 'apiextensions.k8s.io/v1',
		kind: 'CustomResourceDefinition',
		metadata: { name: 'channels.unwind.test' },
		spec,
	};
	await cluster.apply([
		definition,
		{ apiVersion: 'unwind.test/v1', kind: 'Channel', metadata: { name: 'one', namespace: 'default' } },
	]);
	assert.equal(
		(await cluster.request('admin', 'GET', '/apis/unwind.test/v1/namespaces/default/channels/one')).status,
		200,
	);
});

test('non-empty directory is refused and not removed', async (t) => {
	const dir = await mkdtemp(join(tmpdir(), 'unwind-precious-'));
	t.after(() => rm(dir, { recursive: true }));
	await writeFile(join(dir, 'thesis'), 'years of work');
	await assert.rejects(start({ dir }), /is not empty/);
	assert.ok(existsSync(join(dir, 'thesis')));
});
