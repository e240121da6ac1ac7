/**
 * The targets of the suite: the real control plane of end2end/cluster, and the sandbox.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { start } from '../cluster/cluster.mjs';
import { parseKubeconfig } from '../cluster/kubeconfig.mjs';
import { clusterRights, sandboxTokens } from '../cluster/users.mjs';
import { program } from '../sandbox.mjs';
import { noFaultInjector, clusterFaultInjector, sandboxFaultInjector } from './fault-injector.mjs';
import { pluralOf } from './kinds.mjs';
import { unavailableWebhooks, startWebhookServer, webhookFaults, sandboxWebhooks } from './webhook.mjs';
import { Wire } from './wire.mjs';

/** @typedef {import('./wire.mjs').Access & {kubeconfig: string, speed?: number, timeout?: number, webhooks: import('./webhook.mjs').Webhooks, faultInjector: import('./fault-injector.mjs').FaultInjector, stop: () => Promise<void>}} Target  speed: of its clock relative to this machine's; timeout: of a wait, in milliseconds */
/** @typedef {(line: string) => void} Log */

/** @param {Log} log @returns {Promise<Target>} */
export async function real(log) {
	const cluster = await start({ log });
	const access = parseKubeconfig(await readFile(cluster.kubeconfig, 'utf8'));
	const webhooks = await startWebhookServer(cluster.dir, access.ca);
	const stop = async () => {
		await cluster.stop();
		await webhooks.stop();
	};
	return { ...access, kubeconfig: cluster.kubeconfig, webhooks, faultInjector: clusterFaultInjector(cluster), stop };
}

/** The clock of the sandbox runs this much faster, because its nodes and controllers take as long as the real ones. */
const speed = 10;

/** @param {Log} log @returns {Promise<Target>} */
export async function sandbox(log) {
	const dir = await mkdtemp(join(tmpdir(), 'unwind-conformance-'));
	const [file, faults] = [join(dir, 'kubeconfig'), join(dir, 'faults')];
	// A real control plane has no Flux.
	await writeFile(faults, `${webhookFaults}\nat 0s controller kustomize-controller off\n`);
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
	const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'] });
	createInterface({ input: child.stderr }).on('line', log);
	const ended = once(child, 'close').then(([code]) => {
		throw new Error(`the sandbox exited with ${code}`);
	});
	ended.catch(() => {});
	const answers = createInterface({ input: child.stdout });
	await Promise.race([once(answers, 'line'), ended]);
	const written = parseKubeconfig(await readFile(file, 'utf8'));
	const access = { server: written.server, tokens: sandboxTokens(written) };
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
		webhooks: sandboxWebhooks,
		faultInjector: sandboxFaultInjector(child.stdin, answers, ended),
		stop,
	};
}

/** A cluster that already runs and is not stopped. @param {string} kubeconfig @returns {Promise<Target>} */
export async function existing(kubeconfig) {
	const access = parseKubeconfig(await readFile(kubeconfig, 'utf8'));
	const isSandbox = access.server.startsWith('http:');
	const webhooks = isSandbox ? sandboxWebhooks : await startWebhookServer(dirname(kubeconfig), access.ca).catch(unavailableWebhooks);
	const own = isSandbox ? { tokens: sandboxTokens(access), speed } : {};
	return { ...access, kubeconfig, ...own, webhooks, faultInjector: noFaultInjector(), stop: () => webhooks.stop() };
}

/** The rights that the real control plane gets at its start. @param {import('./wire.mjs').Access} access */
async function giveRights(access) {
	const wire = new Wire(access);
	for (const object of clusterRights) {
		const path = `/apis/rbac.authorization.k8s.io/v1/${pluralOf(object.kind)}`;
		const { status, body } = await wire.ask({ method: 'POST', path, body: JSON.stringify(object) });
		if (status !== 201) throw new Error(`${object.kind} ${object.metadata.name}: ${status} ${JSON.stringify(body)}`);
	}
	wire.close();
}
