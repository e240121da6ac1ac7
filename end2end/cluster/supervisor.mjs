/**
 * The supervisor: the parent of every server of one cluster. No server outlives the process that started the cluster, the owner.
 *
 * The supervisor is a process in its own session. Its stdin is a pipe whose only writer is the owner (the launcher, or a test).
 * When the owner ends, by exit, exception or SIGKILL, the kernel closes the pipe; the supervisor then stops the servers in order
 * and removes the directory.
 *
 * Commands arrive on stdin, one JSON object per line; answers leave on stdout:
 *   {"id":1,"start":{"name":"etcd","argv":["…"],"log":"…","rank":0}}  → {"id":1,"pid":123} | {"id":1,"error":"…"}
 *   {"id":2,"suspend":"apiserver"}                                    → {"id":2}            | {"id":2,"error":"…"}
 *   {"id":3,"resume":"apiserver"}                                      → {"id":3}            | {"id":3,"error":"…"}
 *   (a server exited by itself)                         → {"ended":"etcd","how":"exit code 1"}
 *
 * Usage: node supervisor.mjs DIR
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { suspend, resume } from './suspend.mjs';

/** The time until SIGKILL, in milliseconds. Short, because all data is discarded. */
const timeout = 4_000;

const [dir] = process.argv.slice(2);

/** @typedef {{child: import('node:child_process').ChildProcess, rank: number, ended: Promise<void>}} Server */
/** @type {Map<string, Server>} */
const servers = new Map();
let stopping = false;

// Signals from a terminal are for the owner, whose exit closes the pipe.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {});
// Without the owner nobody reads the answers; the cleanup continues.
process.stdout.on('error', () => {});

/** @param {object} message */
const send = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);

/** @param {{name: string, argv: string[], log: string, rank: number}} order @returns {Promise<number>} its pid */
async function startServer({ name, argv, log, rank }) {
	const output = openSync(log, 'a');
	const child = spawn(argv[0], argv.slice(1), { cwd: dir, stdio: ['ignore', output, output] });
	closeSync(output);
	const ended = once(child, 'exit').then(([code, signal]) => {
		if (!stopping) send({ ended: name, how: signal ?? `exit code ${code}` });
	});
	ended.catch(() => {}); // a failed spawn is reported below
	await once(child, 'spawn');
	servers.set(name, { child, rank, ended });
	return /** @type {number} */ (child.pid);
}

/** @param {string} name */
function processOf(name) {
	const server = servers.get(name);
	if (!server) throw new Error(`unknown server ${name}`);
	return server.child;
}

/** @param {Server} server */
async function stopServer({ child, ended }) {
	child.kill('SIGTERM');
	child.kill('SIGCONT'); // a suspended server handles signals only after it is resumed
	const fallback = setTimeout(() => child.kill('SIGKILL'), timeout);
	await ended;
	clearTimeout(fallback);
}

/** Clients first, then the API server, etcd last: an API server without its etcd ignores SIGTERM and uses a whole core. */
async function stopAll() {
	if (stopping) return;
	stopping = true;
	const ranks = [...new Set([...servers.values()].map((server) => server.rank))].sort((a, b) => b - a);
	for (const rank of ranks) {
		await Promise.all([...servers.values()].filter((server) => server.rank === rank).map(stopServer));
	}
	await rm(dir, { recursive: true, force: true, maxRetries: 5 });
	process.exit(0);
}

const orders = createInterface({ input: process.stdin });
orders.on('line', async (line) => {
	const { id, ...order } = JSON.parse(line);
	try {
		if (stopping) throw new Error('the cluster is being stopped');
		if (order.start) return send({ id, pid: await startServer(order.start) });
		if (order.suspend) await suspend(processOf(order.suspend));
		else resume(processOf(order.resume));
		send({ id });
	} catch (error) {
		send({ id, error: error instanceof Error ? error.message : String(error) });
	}
});
orders.on('close', stopAll);
