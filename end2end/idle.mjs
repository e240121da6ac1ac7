/**
 * Measures the share of a core that Unwind uses while nothing happens in a real cluster of 17,000 objects, without a reader
 * and with one of the list of units. More than the goal is a failure.
 *
 *   UNWIND_PROGRAM=target/release/unwind node end2end/idle.mjs
 */
import { mkdtemp, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { start } from './cluster/cluster.mjs';
import { Session } from './session.mjs';
import { Unwind } from './unwind.mjs';

const objects = 17_000;
const eachUnit = 50;
const atOnce = 40;
const measured = 20_000;
/** The most of a core. */
const goal = 0.02;
/** Clock ticks per second in `/proc`, the same on every Linux. */
const ticks = 100;
const configMaps = '/api/v1/namespaces/default/configmaps';

/** The processor time of a process, in ms. @param {number} pid */
async function used(pid) {
	const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
	const [user, system] = stat.slice(stat.lastIndexOf(')')).split(' ').slice(12, 14).map(Number);
	return ((user + system) * 1000) / ticks;
}

/** @param {string} what @param {number} pid */
async function report(what, pid) {
	const [before, began] = [await used(pid), performance.now()];
	await sleep(measured);
	const share = ((await used(pid)) - before) / (performance.now() - began);
	process.stdout.write(`${objects} objects, ${what}: ${(share * 100).toFixed(1)} % of a core (goal ${goal * 100} %)\n`);
	if (share > goal) process.exitCode = 1;
}

const cluster = await start({ dir: await mkdtemp(join(tmpdir(), 'unwind-cluster-')) });
/** @type {Unwind|undefined} */
let unwind;
try {
	let next = 0;
	const create = async () => {
		while (next < objects) {
			const number = next++;
			const labels = { 'app.kubernetes.io/part-of': `unit-${Math.floor(number / eachUnit)}` };
			const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: `object-${number}`, labels } };
			await cluster.request('admin', 'POST', configMaps, body);
		}
	};
	await Promise.all(Array.from({ length: atOnce }, create));
	unwind = await Unwind.start({ kubeconfig: cluster.kubeconfig, context: 'admin' });
	const session = await Session.open(unwind);
	await session.plan('unit-0');
	await sleep(5_000);
	await report('no reader', unwind.pid);
	const stream = await fetch(`${unwind.origin}/api/events?topic=units`, { headers: { cookie: session.cookie } });
	const read = stream.body.pipeTo(new WritableStream());
	read.catch(() => {});
	await report('a reader of the list of units', unwind.pid);
} finally {
	await unwind?.stop();
	await cluster.stop();
}
