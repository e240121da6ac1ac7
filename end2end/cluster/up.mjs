/**
 * Starts a cluster from the command line and keeps it until it is stopped.
 *
 *   node end2end/cluster/up.mjs [--sample] [--dir DIR]
 *
 * stdout gets one line of JSON once everything is ready; logs go to stderr:
 *   {"ready":true,"kubeconfig":"…","server":"https://127.0.0.1:…","dir":"…","audit":"…","contexts":["admin","developer","reader"]}
 *
 * It ends on SIGINT or SIGTERM, or when stdin closes if that is a pipe. If it is killed, the cluster is stopped too.
 * The pipe also takes commands, one JSON object per line, which are answered on stdout in the same way:
 *   {"do":"stopKubelet","name":"node-a"} · startKubelet · suspendApiServer · resumeApiServer
 *   stopProvisioner · startProvisioner · stopAttacher · startAttacher
 *   → {"done":"stopKubelet"} or {"failed":"stopKubelet","why":"…"}
 */
import { fstatSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { start } from './cluster.mjs';
import { people } from './users.mjs';

const { sample, dir } = parseArgs({
	options: { sample: { type: 'boolean', default: false }, dir: { type: 'string' } },
}).values;

/** @param {object} message */
const send = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);
/** @param {string} line */
const log = (line) => process.stderr.write(`${line}\n`);

/** @type {(why: string) => void} */
let end = () => {};
/** @type {Promise<string>} */
const ended = new Promise((resolve) => (end = resolve));
// Before the cluster is up the exit of this process is enough: the supervisor stops the servers.
let starting = true;
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => (starting ? process.exit(130) : end(signal)));

const stdin = fstatSync(0);
const lines = stdin.isFIFO() || stdin.isSocket() ? createInterface({ input: process.stdin }) : undefined;
lines?.on('close', () => (starting ? process.exit(0) : end('stdin closed')));
/** @type {string[]} commands before the cluster was ready */
const early = [];
lines?.on('line', (line) => (starting ? early.push(line) : execute(line)));

/** @type {import('./cluster.mjs').Cluster} */
let cluster;
try {
	cluster = await start({ dir, sample, log });
} catch (error) {
	log(error instanceof Error ? error.message : String(error));
	process.exit(1);
}

/** @type {Record<string, (name: string) => unknown>} */
const orders = {
	stopKubelet: (name) => cluster.stopKubelet(name),
	startKubelet: (name) => cluster.startKubelet(name),
	suspendApiServer: () => cluster.suspendApiServer(),
	resumeApiServer: () => cluster.resumeApiServer(),
	stopProvisioner: () => cluster.provisioner.stop(),
	startProvisioner: () => cluster.startProvisioner(),
	stopAttacher: () => cluster.attacher.stop(),
	startAttacher: () => cluster.startAttacher(),
};
let last = Promise.resolve();
/** Executes one command after the other, so that the answers come in order. @param {string} line */
function execute(line) {
	last = last.then(async () => {
		let name = line;
		try {
			const order = JSON.parse(line);
			name = order.do;
			if (!Object.hasOwn(orders, name))
				throw new Error(`unknown command; known are ${Object.keys(orders).join(', ')}`);
			await orders[name](order.name);
			send({ done: name });
		} catch (error) {
			send({ failed: name, why: error instanceof Error ? error.message : String(error) });
		}
	});
}

const { server, kubeconfig, audit } = cluster;
send({ ready: true, kubeconfig, server, dir: cluster.dir, audit, contexts: people });
log(`KUBECONFIG=${kubeconfig}   stop with Ctrl-C`);
starting = false;
early.forEach(execute);
log(`stopping: ${await ended}`);
await cluster.stop();
process.exit(0);
