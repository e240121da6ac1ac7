/**
 * A real Kubernetes control plane for tests: the released etcd, API server, controller manager and scheduler, and nodes whose
 * kubelets KWOK simulates by the stages in `stages/`. Several clusters can run side by side. Each ends, and its files are removed,
 * when the process that started it ends.
 *
 *   const cluster = await start({ sample: true });
 *   await cluster.request('developer', 'GET', '/api/v1/pods');
 *   await cluster.stop();
 */
import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { startAttacher } from './attacher.mjs';
import { bootApiServer, bootControllers, writeKubeconfigs } from './boot.mjs';
import { Client } from './client.mjs';
import { SupervisedServers } from './supervised.mjs';
import { Kinds } from './kinds.mjs';
import { RealKubelet } from './kubelet.mjs';
import { egressFile, PodNetwork } from './network.mjs';
import { startProvisioner } from './provisioner.mjs';
import { sample as sampleObjects } from './sample/consortium.mjs';
import { waitUntilSettled } from './sample/wait-until-settled.mjs';
import { nodes } from './servers.mjs';
import { until } from './until.mjs';
import { namespaceRights } from './users.mjs';

/** @typedef {import('./client.mjs').KubeObject} KubeObject */
/** @typedef {import('./client.mjs').WatchEvent} WatchEvent */
/** @typedef {import('./boot.mjs').Access} Access */
/** @typedef {(line: string) => void} Log */

/**
 * Starts a cluster. Builds the binaries first if they are missing, which takes minutes once.
 * @param {{dir?: string, sample?: boolean, programs?: boolean, leads?: boolean, log?: Log}} [options]
 *   dir: of its files; has to be new or empty, and is removed with the cluster. Default: a temporary directory.
 *   sample: with the sample application, settled
 *   programs: the API server reaches Pods through `cluster.network`, so that programs can run as Pods; see program.mjs
 *   leads: the controller manager leads by a lease that it renews, as those of most clusters do
 * @returns {Promise<Cluster>}
 */
export async function start({ dir, sample = false, programs = false, leads = false, log = () => {} } = {}) {
	await build(log);
	const began = performance.now();
	const servers = new SupervisedServers(await emptyDirectory(dir));
	/** @type {Cluster|undefined} */
	let cluster;
	/** @type {PodNetwork|undefined} */
	let network;
	try {
		if (programs) network = await PodNetwork.open(servers.dir);
		const access = await bootApiServer(servers, network && egressFile(servers.dir));
		log(`API server answers after ${seconds(began)}`);
		await writeKubeconfigs(servers.dir, access);
		cluster = new Cluster(servers, access, log, network);
		await bootControllers(servers, cluster, leads);
		log(`control plane ready after ${seconds(began)}`);
		if (sample) {
			await cluster.apply([...sampleObjects, ...namespaceRights]);
			await waitUntilSettled(cluster);
			log(`sample settled after ${seconds(began)}`);
		}
		servers.whenServerEnds((name, how) => log(`${name} exited: ${how}`));
		return cluster;
	} catch (error) {
		const logs = await logTails(servers.dir);
		network?.close();
		await (cluster ?? servers).stop();
		throw new Error(`the cluster did not start: ${error instanceof Error ? error.message : error}\n${logs}`, {
			cause: error,
		});
	}
}

export class Cluster {
	/** The directory of all files; removed by `stop`. @type {string} */
	dir;
	/** Path of a kubeconfig with one context per person: admin, developer, reader. @type {string} */
	kubeconfig;
	/** Path of the API server's audit log, one JSON event per line. @type {string} */
	audit;
	/** URL of the API server. @type {string} */
	server;
	/** Certificate authority of the API server, PEM. @type {string} */
	ca;
	/** Provisions and reclaims volumes. @type {import('./provisioner.mjs').Provisioner} */
	provisioner;
	/** Attaches volumes to nodes and detaches them. @type {import('./attacher.mjs').Attacher} */
	attacher;
	/** The way of the API server to the Pods, if it was started for programs. @type {PodNetwork|undefined} */
	network;

	#servers;
	#log;
	#tokens;
	#etcd;
	/** @type {Map<string, Client>} */
	#clients = new Map();
	/** @type {Set<() => void>} */
	#watches = new Set();

	/** @param {SupervisedServers} servers @param {Access} access @param {Log} log @param {PodNetwork} [network] */
	constructor(servers, { server, ca, tokens, etcd }, log, network) {
		this.network = network;
		this.#servers = servers;
		this.#tokens = tokens;
		this.#etcd = etcd;
		this.dir = servers.dir;
		this.audit = join(this.dir, 'audit.log');
		this.kubeconfig = join(this.dir, 'kubeconfig');
		this.server = server;
		this.ca = ca;
		this.#log = log;
		this.provisioner = this.startProvisioner();
		this.attacher = this.startAttacher();
	}

	/** The bearer token of a user. @param {string} user */
	token(user) {
		const token = this.#tokens.get(user);
		if (!token) throw new Error(`unknown user ${user}; known are ${[...this.#tokens.keys()].join(', ')}`);
		return token;
	}

	/** A client that acts as a user. @param {string} user */
	client(user) {
		let client = this.#clients.get(user);
		if (!client) {
			client = new Client({ server: this.server, ca: this.ca, token: this.token(user) });
			this.#clients.set(user, client);
		}
		return client;
	}

	/**
	 * One request as a user; resolves with any status, rejects only without an answer.
	 * @param {string} user @param {string} method @param {string} path @param {unknown} [body] @param {Record<string, string>} [headers]
	 */
	request(user, method, path, body, headers) {
		return this.client(user).request(method, path, body, headers);
	}

	/**
	 * Reports every object of a collection, then every change, until closed. See Client.follow.
	 * @param {string} user @param {string} path @param {Record<string, string>} params selectors
	 * @param {(event: WatchEvent) => void} onEvent
	 */
	watch(user, path, params, onEvent) {
		const following = this.client(user).follow(path, params, onEvent);
		const close = () => {
			this.#watches.delete(close);
			following.close();
		};
		this.#watches.add(close);
		return { ...following, close };
	}

	/**
	 * Waits with a watch until a collection matches.
	 * @param {string} path @param {(objects: KubeObject[]) => boolean} wanted
	 * @param {{what?: string, within?: number, params?: Record<string, string>, user?: string}} [options]
	 * @returns {Promise<KubeObject[]>} the matching objects
	 */
	until(path, wanted, { user = 'admin', ...options } = {}) {
		return until(this, user, path, wanted, options);
	}

	/** The kinds that the server has now. */
	kinds() {
		return Kinds.discover((...request) => this.request('admin', ...request));
	}

	/** Creates or updates objects as admin, in order, by server-side apply. @param {KubeObject[]} objects */
	async apply(objects) {
		let kinds = await this.kinds();
		const deadline = performance.now() + 10_000;
		for (const object of objects) {
			// A kind that an object before this one defines is served a moment later.
			while (!kinds.has(object) && performance.now() < deadline) kinds = await this.kinds();
			const path = `${kinds.pathOf(object)}?fieldManager=unwind-test&force=true`;
			const { status, body } = await this.request('admin', 'PATCH', path, object, {
				'content-type': 'application/apply-patch+yaml',
			});
			if (status !== 200 && status !== 201)
				throw new Error(`applying ${object.kind} ${object.metadata.name}: ${status} ${body.message}`);
		}
	}

	/** Suspends the API server: connections stay open, nothing is answered. */
	suspendApiServer() {
		return this.#servers.suspend('apiserver');
	}

	resumeApiServer() {
		return this.#servers.resume('apiserver');
	}

	suspendControllers() {
		return this.#servers.suspend('controller-manager');
	}

	resumeControllers() {
		return this.#servers.resume('controller-manager');
	}

	/** Suspends etcd: the API server answers from its caches only. */
	suspendStore() {
		return this.#servers.suspend('etcd');
	}

	resumeStore() {
		return this.#servers.resume('etcd');
	}

	/** Overwrites a stored object in etcd, past the API server. @param {string} key as in etcd @param {string} text */
	async overwrite(key, text) {
		await this.#store('put', { key: base64(key), value: base64(text) });
	}

	/** Deletes a stored object in etcd, past the API server. @param {string} key as in etcd */
	async erase(key) {
		await this.#store('deleterange', { key: base64(key) });
	}

	/** @param {string} what @param {object} body */
	async #store(what, body) {
		const answer = await fetch(`${this.#etcd}/v3/kv/${what}`, { method: 'POST', body: JSON.stringify(body) });
		if (!answer.ok) throw new Error(`etcd: ${answer.status} ${await answer.text()}`);
	}

	/** Suspends the kubelet of a node: its lease expires, its Pods neither start nor end. @param {string} name */
	async stopKubelet(name) {
		await this.#servers.suspend(knownNode(name));
	}

	/** @param {string} name */
	async startKubelet(name) {
		await this.#servers.resume(knownNode(name));
	}

	/** Starts a node with a real kubelet. @param {string} name @param {import('./kubelet.mjs').Options} [options] */
	startRealKubelet(name, options = {}) {
		return RealKubelet.start(this.#servers, this, name, options);
	}

	/** Suspends a real kubelet: its server accepts connections and does not answer. @param {RealKubelet} kubelet */
	suspendRealKubelet({ node }) {
		return this.#servers.suspend(node);
	}

	/** @param {RealKubelet} kubelet */
	resumeRealKubelet({ node }) {
		return this.#servers.resume(node);
	}

	/** Restarts the provisioner after `provisioner.stop()`. */
	startProvisioner() {
		return (this.provisioner = startProvisioner(this.client('system:provisioner'), this.#log));
	}

	/** Restarts the attacher after `attacher.stop()`. */
	startAttacher() {
		return (this.attacher = startAttacher(this.client('system:attacher'), this.#log));
	}

	/** Stops everything and removes the directory. */
	async stop() {
		this.provisioner.stop();
		this.attacher.stop();
		for (const close of this.#watches) close();
		await this.#servers.stop();
		this.network?.close();
		for (const client of this.#clients.values()) client.close();
	}
}

/** Builds the binaries unless they exist. @param {Log} log */
async function build(log) {
	const child = spawn(fileURLToPath(new URL('./build', import.meta.url)), { stdio: ['ignore', 'inherit', 'pipe'] });
	createInterface({ input: child.stderr }).on('line', log);
	const code = await new Promise((resolve, reject) => child.once('close', resolve).once('error', reject));
	if (code !== 0) throw new Error('the control plane could not be built: run end2end/cluster/build to see why');
}

/** @param {string} [wanted] */
async function emptyDirectory(wanted) {
	if (!wanted) return mkdtemp(join(tmpdir(), 'unwind-cluster-'));
	const dir = resolve(wanted);
	await mkdir(dir, { recursive: true });
	if ((await readdir(dir)).length > 0)
		throw new Error(`${dir} is not empty, and it would be removed with the cluster: choose a new directory`);
	return dir;
}

/** @param {string} text */
const base64 = (text) => Buffer.from(text).toString('base64');

/** @param {string} name */
function knownNode(name) {
	if (!nodes.includes(name)) throw new Error(`unknown node ${name}; known are ${nodes.join(', ')}`);
	return name;
}

/** The end of every server's log, for the error of a failed start. @param {string} dir */
async function logTails(dir) {
	const logs = (await readdir(dir)).filter((file) => file.endsWith('.log') && file !== 'audit.log');
	const tails = await Promise.all(
		logs.map(
			async (file) => `--- ${file}\n${(await readFile(join(dir, file), 'utf8')).split('\n').slice(-8).join('\n')}`,
		),
	);
	return tails.join('\n');
}

/** @param {number} began */
const seconds = (began) => `${((performance.now() - began) / 1000).toFixed(1)} s`;
