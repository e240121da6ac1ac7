/**
 * Boots a control plane in an empty directory: files, servers in order, nodes, rights.
 */
import { generateKeyPairSync } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client } from './client.mjs';
import { kubeconfig } from './kubeconfig.mjs';
import { apiServer, controllerManager, etcd, machine, nodes, scheduler } from './servers.mjs';
import { clusterRights, newTokens, people, tokenFile } from './users.mjs';

/** @typedef {import('./client.mjs').KubeObject} KubeObject */
/** @typedef {import('./supervised.mjs').SupervisedServers} SupervisedServers */
/** @typedef {{server: string, ca: string, tokens: Map<string, string>, etcd: string}} Access  the addresses of the API server and its etcd, and the users' tokens */

const here = fileURLToPath(new URL('.', import.meta.url));
const bin = resolve(here, '../../target/cluster/bin');

/** Twenty times the start time of the control plane on two idle cores. */
const timeout = 90_000;

/** Starts etcd and the API server. @param {SupervisedServers} servers @param {string} [egress] see `apiServer` @returns {Promise<Access>} */
export async function bootApiServer(servers, egress) {
	const { dir } = servers;
	const [etcdPort, peer, apiserver] = await freePorts(3);
	const ports = { etcd: etcdPort, peer, apiserver };
	const server = `https://127.0.0.1:${apiserver}`;
	const tokens = newTokens();

	const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
	await write(dir, 'service-account.key', privateKey.export({ type: 'pkcs8', format: 'pem' }).toString());
	await write(dir, 'tokens.csv', tokenFile(tokens));

	/** @type {string|undefined} */
	let dead;
	servers.whenServerEnds((name, how) => (dead ??= `${name} exited: ${how}`));
	await servers.start(etcd(bin, dir, ports));
	await servers.start(apiServer(bin, dir, ports, join(here, 'audit-policy.yaml'), egress));

	/**
	 * Polls until there is an answer, a server has exited, or the timeout has passed: before the API server serves, nothing can be
	 * watched.
	 * @template T @param {string} what @param {() => Promise<T|undefined>} ask @returns {Promise<T>}
	 */
	const eventually = async (what, ask) => {
		const deadline = performance.now() + timeout;
		while (performance.now() < deadline) {
			if (dead) throw new Error(dead);
			const answer = await ask();
			if (answer !== undefined) return answer;
			await sleep(50);
		}
		throw new Error(`${what} was not ready after ${timeout / 1000} s`);
	};

	// The API server creates its certificate and its authority at its start; the file has both.
	const ca = await eventually('the certificate of the API server', async () => {
		const text = await readFile(join(dir, 'certificates', 'apiserver.crt'), 'utf8').catch(() => '');
		const [, authority] = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----\n/g) ?? [];
		return authority;
	});
	const admin = new Client({ server, ca, token: /** @type {string} */ (tokens.get('admin')) });
	await eventually('an API server that is ready', async () => {
		const { status } = await admin.request('GET', '/readyz', undefined, {}, 5_000).catch(() => ({ status: 0 }));
		return status === 200 || undefined;
	});
	admin.close();
	return { server, ca, tokens, etcd: `http://127.0.0.1:${ports.etcd}` };
}

/** Writes the kubeconfigs of people and of the other servers. @param {string} dir @param {Access} access */
export async function writeKubeconfigs(dir, access) {
	await write(dir, 'ca.crt', access.ca);
	await write(dir, 'kubeconfig', kubeconfig(access, people));
	await write(dir, 'controller-manager.kubeconfig', kubeconfig(access, ['system:kube-controller-manager']));
	await write(dir, 'scheduler.kubeconfig', kubeconfig(access, ['system:kube-scheduler']));
	await write(dir, 'kwok.kubeconfig', kubeconfig(access, ['system:kwok']));
}

/**
 * Starts the controllers, the scheduler and the nodes.
 * @param {SupervisedServers} servers @param {{until: import('./until.mjs').Until, apply: (objects: KubeObject[]) => Promise<void>}} cluster
 * @param {boolean} leads see `controllerManager`
 */
export async function bootControllers(servers, cluster, leads) {
	const { dir } = servers;
	const stages = (await readdir(join(here, 'stages'))).map((file) => join(here, 'stages', file));
	await Promise.all([
		servers.start(controllerManager(bin, dir, leads)),
		servers.start(scheduler(bin, dir)),
		...nodes.map((node) => servers.start(machine(bin, dir, node, stages))),
		cluster.apply([...nodes.map(nodeObject), ...clusterRights]),
	]);
	await Promise.all([
		cluster.until('/api/v1/nodes', (found) => found.length === nodes.length && found.every(isReady), {
			what: 'all nodes ready',
			within: timeout,
		}),
		// Until then Pods are refused.
		cluster.until('/api/v1/namespaces/default/serviceaccounts', (found) => found.length > 0, {
			what: 'the default service account',
			within: timeout,
		}),
	]);
}

/** Free ports. All are held until the last is found, so that they differ. @param {number} count */
export async function freePorts(count) {
	const holders = await Promise.all(
		Array.from({ length: count }, () => {
			const holder = createServer();
			/** @type {Promise<import('node:net').Server>} */
			const listening = new Promise((resolve, reject) =>
				holder.once('error', reject).listen(0, '127.0.0.1', () => resolve(holder)),
			);
			return listening;
		}),
	);
	const ports = holders.map((holder) => /** @type {import('node:net').AddressInfo} */ (holder.address()).port);
	await Promise.all(holders.map((holder) => new Promise((resolve) => holder.close(resolve))));
	return ports;
}

/** Writes a file that only its owner can read, because the files have keys and tokens. @param {string} dir @param {string} name @param {string} text */
const write = (dir, name, text) => writeFile(join(dir, name), text, { mode: 0o600 });

/** @param {string} name */
const nodeObject = (name) => ({
	apiVersion: 'v1',
	kind: 'Node',
	metadata: {
		name,
		labels: { 'kubernetes.io/hostname': name, 'kubernetes.io/os': 'linux' },
		annotations: { 'volumes.kubernetes.io/controller-managed-attach-detach': 'true' },
	},
});

/** @param {KubeObject} node */
const isReady = ({ status }) =>
	status?.conditions?.some((/** @type {any} */ { type, status }) => type === 'Ready' && status === 'True') ?? false;
