/**
 * The two worlds: the real control plane of end2end/cluster, and the sandbox.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { start } from '../cluster/cluster.mjs';
import { parseKubeconfig } from '../cluster/kubeconfig.mjs';
import { clusterRights } from '../cluster/users.mjs';
import { bound, ofCluster, ofSandbox } from './hands.mjs';
import { pluralOf } from './kinds.mjs';
import { absent, answering, script, scripted } from './webhook.mjs';
import { Wire } from './wire.mjs';

/** @typedef {import('./wire.mjs').Access & {kubeconfig: string, speed?: number, webhooks: import('./webhook.mjs').Webhooks, hands: import('./hands.mjs').Hands, stop: () => Promise<void>}} World  speed: of its clock, beside ours */
/** @typedef {(line: string) => void} Log */

/** @param {Log} log @returns {Promise<World>} */
export async function real(log) {
	const cluster = await start({ log });
	const access = parseKubeconfig(await readFile(cluster.kubeconfig, 'utf8'));
	const webhooks = await answering(cluster.dir, access.ca);
	const stop = async () => {
		await cluster.stop();
		await webhooks.stop();
	};
	return { ...access, kubeconfig: cluster.kubeconfig, webhooks, hands: ofCluster(cluster), stop };
}

/** How many times faster than ours the clock of the sandbox goes: its nodes and controllers take no less than the real ones. */
const speed = 10;
/** Who has the secret of the sandbox's port may act as anybody. */
const identities = new Map([
	['admin', 'user:admin:system:masters'],
	['developer', 'user:developer:developers'],
	['reader', 'user:reader:readers'],
]);
/** @param {{tokens: Map<string, string>}} kubeconfig  the one that the sandbox wrote */
const tokensOf = ({ tokens }) =>
	new Map([...identities].map(([name, identity]) => [name, `${tokens.get('sandbox')}.${identity}`]));

/** @param {Log} log @returns {Promise<World>} */
export async function sandbox(log) {
	const binary = fileURLToPath(new URL('../../target/debug/sandbox', import.meta.url));
	const dir = await mkdtemp(join(tmpdir(), 'unwind-conformance-'));
	const [file, faults] = [join(dir, 'kubeconfig'), join(dir, 'faults')];
	await writeFile(faults, script);
	const args = [
		'--kubeconfig',
		file,
		'--world',
		'empty',
		'--timing',
		'brisk',
		'--speed',
		String(speed),
		'--seed',
		'1',
		'--faults',
		faults,
		'--obey',
	];
	const child = spawn(binary, args, { stdio: ['pipe', 'pipe', 'pipe'] });
	createInterface({ input: child.stderr }).on('line', log);
	const ended = once(child, 'close').then(([code]) => {
		throw new Error(`the sandbox ended by itself with ${code}`);
	});
	ended.catch(() => {});
	const answers = createInterface({ input: child.stdout });
	await Promise.race([once(answers, 'line'), ended]);
	const kubeconfig = parseKubeconfig(await readFile(file, 'utf8'));
	const access = { server: kubeconfig.server, tokens: tokensOf(kubeconfig) };
	await giveRights(access);
	const stop = async () => {
		child.kill('SIGTERM');
		await ended.catch(() => {});
		await rm(dir, { recursive: true });
	};
	return {
		...access,
		kubeconfig: file,
		speed,
		webhooks: scripted,
		hands: ofSandbox(child.stdin, answers, ended),
		stop,
	};
}

/** A world that is already there and stays. @param {string} kubeconfig @returns {Promise<World>} */
export async function existing(kubeconfig) {
	const access = parseKubeconfig(await readFile(kubeconfig, 'utf8'));
	const isSandbox = access.server.startsWith('http:');
	const webhooks = isSandbox ? scripted : await answering(dirname(kubeconfig), access.ca).catch(absent);
	const own = isSandbox ? { tokens: tokensOf(access), speed } : {};
	return { ...access, kubeconfig, ...own, webhooks, hands: bound(), stop: () => webhooks.stop() };
}

/** What the real control plane is given when it boots. @param {import('./wire.mjs').Access} access */
async function giveRights(access) {
	const wire = new Wire(access);
	for (const object of clusterRights) {
		const path = `/apis/rbac.authorization.k8s.io/v1/${pluralOf(object.kind)}`;
		const { status, body } = await wire.ask({ method: 'POST', path, body: JSON.stringify(object) });
		if (status !== 201) throw new Error(`${object.kind} ${object.metadata.name}: ${status} ${JSON.stringify(body)}`);
	}
	wire.close();
}
