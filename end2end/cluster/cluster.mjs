/**
 * A real Kubernetes control plane for tests: etcd, API server, controller manager and scheduler as they are released, and
 * nodes whose kubelets are played by KWOK after our own stages. Ready in seconds, any number side by side, gone without
 * a trace with the process that started it.
 *
 *   const cluster = await start({ sample: true });
 *   await cluster.request('developer', 'GET', '/api/v1/pods');
 *   await cluster.stop();
 */
import { spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client } from './client.mjs';
import { Kinds } from './kinds.mjs';
import { kubeconfig } from './kubeconfig.mjs';
import { startProvisioner } from './provisioner.mjs';
import { sample as sampleObjects } from './sample/consortium.mjs';
import { settled } from './sample/settled.mjs';
import { apiServer, controllerManager, etcd, machine, nodes, scheduler } from './servers.mjs';
import { clusterRights, namespaceRights, newTokens, people, tokenFile } from './users.mjs';
import { until } from './until.mjs';

/** @typedef {import('./client.mjs').KubeObject} KubeObject */
/** @typedef {import('./client.mjs').WatchEvent} WatchEvent */
/** @typedef {import('./servers.mjs').Server} Server */
/** @typedef {(line: string) => void} Log */

const here = fileURLToPath(new URL('.', import.meta.url));
const bin = resolve(here, '../../target/cluster/bin');

/** How long the control plane may take to come up; ten times what it takes on an idle machine with two cores. */
const startDeadline = 90_000;

/**
 * Starts a cluster. Builds the binaries first if they are not there, which takes minutes once.
 * @param {{dir?: string, sample?: boolean, log?: Log}} [options]
 *   dir: where its files go; has to be new or empty, and is removed with the cluster. Default: a temporary directory.
 *   sample: with the sample application, settled
 * @returns {Promise<Cluster>}
 */
export async function start({ dir, sample = false, log = () => {} } = {}) {
	await build(log);
	const began = performance.now();
	const home = await emptyDirectory(dir);
	const guardian = new Guardian(home);
	const cluster = new Cluster(home, guardian);
	try {
		await cluster._start(log);
		log(`control plane ready after ${seconds(began)}`);
		if (sample) {
			await cluster.apply(sampleObjects);
			await cluster.apply(namespaceRights);
			await settled(cluster);
			log(`sample settled after ${seconds(began)}`);
		}
		return cluster;
	} catch (error) {
		const logs = await lastWords(home);
		await cluster.stop();
		throw new Error(`the cluster did not start: ${error instanceof Error ? error.message : error}\n${logs}`, { cause: error });
	}
}

export class Cluster {
	/** Path of a kubeconfig with one context per person: admin, developer, reader. @type {string} */
	kubeconfig;
	/** URL of the API server. */
	server = '';
	/** Where all files of the cluster are; gone after stop. @type {string} */
	dir;
	/** Path of the API server's audit log, one JSON event per line. @type {string} */
	audit;
	/** Certificate authority of the API server, PEM. */
	ca = '';
	/** What a CSI driver would run. @type {import('./provisioner.mjs').Provisioner} */
	provisioner;

	#guardian;
	#tokens = newTokens();
	/** @type {Map<string, Client>} */
	#clients = new Map();
	/** @type {Set<() => void>} */
	#watches = new Set();
	/** @type {Promise<Kinds>|undefined} */
	#kinds;

	/** @param {string} dir @param {Guardian} guardian */
	constructor(dir, guardian) {
		this.dir = dir;
		this.audit = join(dir, 'audit.log');
		this.kubeconfig = join(dir, 'kubeconfig');
		this.#guardian = guardian;
	}

	/** The bearer token of a user. @param {string} user */
	token(user) {
		const token = this.#tokens.get(user);
		if (!token) throw new Error(`no user is called ${user}; there are ${[...this.#tokens.keys()].join(', ')}`);
		return token;
	}

	/** A client that acts as a user. @param {string} user */
	client(user) {
		let client = this.#clients.get(user);
		if (!client) this.#clients.set(user, (client = new Client({ server: this.server, ca: this.ca, token: this.token(user) })));
		return client;
	}

	/**
	 * One request as a user; resolves whatever the status, rejects only if there is no answer.
	 * @param {string} user @param {string} method @param {string} path @param {unknown} [body] @param {Record<string, string>} [headers]
	 */
	request(user, method, path, body, headers) {
		return this.client(user).request(method, path, body, headers);
	}

	/**
	 * Everything in a collection, then every change to it, until closed. See Client.follow.
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
	 * Waits until a collection is as it should be, seen by a watch and not by asking again and again.
	 * @param {string} path @param {(objects: KubeObject[]) => boolean} wanted
	 * @param {{what?: string, within?: number, params?: Record<string, string>, user?: string}} [options]
	 * @returns {Promise<KubeObject[]>} the objects as they then were
	 */
	until(path, wanted, { user = 'admin', ...options } = {}) {
		return until(this, user, path, wanted, options);
	}

	/** The kinds the server has. */
	kinds() {
		this.#kinds ??= Kinds.discover((...request) => this.request('admin', ...request));
		return this.#kinds;
	}

	/** Creates or updates objects as admin, in order, by server-side apply. @param {KubeObject[]} objects */
	async apply(objects) {
		const kinds = await this.kinds();
		for (const object of objects) {
			const path = `${kinds.pathOf(/** @type {any} */ (object))}?fieldManager=unwind-test&force=true`;
			const { status, body } = await this.request('admin', 'PATCH', path, object, { 'content-type': 'application/apply-patch+yaml' });
			if (status !== 200 && status !== 201) throw new Error(`applying ${object.kind} ${object.metadata.name}: ${status} ${body.message}`);
		}
	}

	/** Stops the API server in its tracks: connections stay open, nothing is answered. */
	freezeApiServer() {
		return this.#guardian.signal('apiserver', 'SIGSTOP');
	}

	thawApiServer() {
		return this.#guardian.signal('apiserver', 'SIGCONT');
	}

	/** Takes the power off a node: its lease ages, its Pods neither start nor end. @param {string} name */
	silenceNode(name) {
		return this.#guardian.signal(knownNode(name), 'SIGSTOP');
	}

	/** @param {string} name */
	reviveNode(name) {
		return this.#guardian.signal(knownNode(name), 'SIGCONT');
	}

	/** Stops everything and removes the directory. Resolves when nothing is left. */
	async stop() {
		this.provisioner?.stop();
		for (const close of this.#watches) close();
		await this.#guardian.stop();
		for (const client of this.#clients.values()) client.close();
	}

	/** @param {Log} log */
	async _start(log) {
		const [etcdPort, peer, port] = await freePorts(3);
		const ports = { etcd: etcdPort, peer, apiserver: port };
		this.server = `https://127.0.0.1:${port}`;

		const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
		await this.#write('service-account.key', privateKey.export({ type: 'pkcs8', format: 'pem' }).toString());
		await this.#write('tokens.csv', tokenFile(this.#tokens));

		await Promise.all([
			this.#guardian.start(etcd(bin, this.dir, ports)),
			this.#guardian.start(apiServer(bin, this.dir, ports, join(here, 'audit-policy.yaml'))),
		]);
		this.ca = await this.#authority();
		await this.#write('ca.crt', this.ca);
		await this.#write('kubeconfig', this.#kubeconfig(people));
		await this.#write('controller-manager.kubeconfig', this.#kubeconfig(['system:kube-controller-manager']));
		await this.#write('scheduler.kubeconfig', this.#kubeconfig(['system:kube-scheduler']));
		await this.#write('kwok.kubeconfig', this.#kubeconfig(['system:kwok']));
		await this.#answering();
		log('API server answers');

		const stages = (await readdir(join(here, 'stages'))).map((file) => join(here, 'stages', file));
		this.provisioner = startProvisioner(this.client('system:provisioner'), log);
		await Promise.all([
			this.#guardian.start(controllerManager(bin, this.dir)),
			this.#guardian.start(scheduler(bin, this.dir)),
			...nodes.map((node) => this.#guardian.start(machine(bin, this.dir, node, stages))),
			this.apply([...nodes.map(nodeObject), ...clusterRights]),
		]);
		await Promise.all([
			this.until('/api/v1/nodes', (found) => found.length === nodes.length && found.every(isReady), {
				what: 'all nodes ready',
				within: startDeadline,
			}),
			// Pods are refused before their namespace has this.
			this.until('/api/v1/namespaces/default/serviceaccounts', (found) => found.length > 0, {
				what: 'the default service account',
				within: startDeadline,
			}),
		]);
		this.#guardian.whenServerEnds((name, how) => log(`${name} ended by itself: ${how}`));
	}

	/** The API server makes its certificate and the authority that signed it when it starts; the file has both. */
	async #authority() {
		const file = join(this.dir, 'certificates', 'apiserver.crt');
		return this.#eventually('the certificate of the API server', async () => {
			const text = await readFile(file, 'utf8').catch(() => '');
			const [, authority] = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----\n/g) ?? [];
			return authority;
		});
	}

	#answering() {
		return this.#eventually('the API server', async () => {
			const { status } = await this.client('admin').request('GET', '/readyz', undefined, {}, 5_000).catch(() => ({ status: 0 }));
			return status === 200 ? true : undefined;
		});
	}

	/**
	 * For the time before there is anything to watch: asks until there is an answer, a server has died, or time is up.
	 * @template T @param {string} what @param {() => Promise<T|undefined>} ask @returns {Promise<T>}
	 */
	async #eventually(what, ask) {
		/** @type {string|undefined} */
		let dead;
		this.#guardian.whenServerEnds((name, how) => (dead = `${name} ended by itself: ${how}`));
		const deadline = performance.now() + startDeadline;
		while (performance.now() < deadline) {
			if (dead) throw new Error(dead);
			const answer = await ask();
			if (answer !== undefined) return answer;
			await sleep(50);
		}
		throw new Error(`${what} was not there after ${startDeadline / 1000} s`);
	}

	/** @param {string[]} users */
	#kubeconfig(users) {
		return kubeconfig({ server: this.server, ca: this.ca, tokens: this.#tokens }, users);
	}

	/** @param {string} name @param {string} text */
	#write(name, text) {
		return writeFile(join(this.dir, name), text, { mode: 0o600 });
	}
}

/** Our end of the guardian: see guardian.mjs. */
class Guardian {
	#child;
	#gone;
	#dir;
	#last = 0;
	/** @type {Map<number, {resolve: (answer: any) => void, reject: (error: Error) => void}>} */
	#open = new Map();
	/** @type {(name: string, how: string) => void} */
	#onEnd = () => {};

	/** @param {string} dir */
	constructor(dir) {
		this.#dir = dir;
		this.#child = spawn(process.execPath, [join(here, 'guardian.mjs'), dir], { detached: true, stdio: ['pipe', 'pipe', 'ignore'] });
		this.#child.stdin.on('error', () => {}); // told by the exit
		this.#gone = new Promise((resolve) => this.#child.once('exit', resolve));
		void this.#gone.then(() => {
			for (const { reject } of this.#open.values()) reject(new Error('the guardian has ended'));
		});
		createInterface({ input: this.#child.stdout }).on('line', (line) => {
			const answer = JSON.parse(line);
			if (answer.ended) return this.#onEnd(answer.ended, answer.how);
			const order = this.#open.get(answer.id);
			this.#open.delete(answer.id);
			if (answer.error) order?.reject(new Error(answer.error));
			else order?.resolve(answer);
		});
	}

	/** @param {Server} server */
	start({ name, argv, rank }) {
		return this.#order({ start: { name, argv, rank, log: join(this.#dir, `${name}.log`) } });
	}

	/** @param {string} name @param {NodeJS.Signals} signal */
	signal(name, signal) {
		return this.#order({ signal: { name, signal } });
	}

	/** @param {(name: string, how: string) => void} onEnd */
	whenServerEnds(onEnd) {
		this.#onEnd = onEnd;
	}

	/** Resolves when every server has ended and the directory is gone. */
	async stop() {
		this.#child.stdin.end();
		await this.#gone;
	}

	/** @param {object} order @returns {Promise<void>} */
	#order(order) {
		const id = ++this.#last;
		return new Promise((resolve, reject) => {
			this.#open.set(id, { resolve: () => resolve(), reject });
			this.#child.stdin.write(`${JSON.stringify({ id, ...order })}\n`);
		});
	}
}

/** Makes the binaries, or sees that they are there. @param {Log} log */
async function build(log) {
	const child = spawn(join(here, 'build'), { stdio: ['ignore', 'inherit', 'pipe'] });
	createInterface({ input: child.stderr }).on('line', log);
	const code = await new Promise((resolve, reject) => child.once('close', resolve).once('error', reject));
	if (code !== 0) throw new Error('the control plane could not be built: run end2end/cluster/build to see why');
}

/** @param {string} [wanted] */
async function emptyDirectory(wanted) {
	if (!wanted) return mkdtemp(join(tmpdir(), 'unwind-cluster-'));
	const dir = resolve(wanted);
	await mkdir(dir, { recursive: true });
	if ((await readdir(dir)).length > 0) throw new Error(`${dir} is not empty, and it would be removed with the cluster: name a new one`);
	return dir;
}

/** Ports nobody listens on. Held together until all are found, so that they differ. @param {number} count */
async function freePorts(count) {
	const holders = await Promise.all(
		Array.from({ length: count }, () => {
			const holder = createServer();
			return new Promise((resolve, reject) => holder.once('error', reject).listen(0, '127.0.0.1', () => resolve(holder)));
		}),
	);
	const ports = holders.map((holder) => holder.address().port);
	await Promise.all(holders.map((holder) => new Promise((resolve) => holder.close(resolve))));
	return ports;
}

/** @param {string} name */
const nodeObject = (name) => ({
	apiVersion: 'v1',
	kind: 'Node',
	metadata: { name, labels: { 'kubernetes.io/hostname': name, 'kubernetes.io/os': 'linux' } },
});

/** @param {KubeObject} node */
const isReady = ({ status }) =>
	status?.conditions?.some((/** @type {any} */ { type, status }) => type === 'Ready' && status === 'True') ?? false;

/** @param {string} name */
function knownNode(name) {
	if (!nodes.includes(name)) throw new Error(`no node is called ${name}; there are ${nodes.join(', ')}`);
	return name;
}

/** The end of every server's log, for whoever has to find out why it did not start. @param {string} dir */
async function lastWords(dir) {
	const logs = (await readdir(dir)).filter((file) => file.endsWith('.log') && file !== 'audit.log');
	const tails = await Promise.all(
		logs.map(async (file) => `--- ${file}\n${(await readFile(join(dir, file), 'utf8')).split('\n').slice(-8).join('\n')}`),
	);
	return tails.join('\n');
}

/** @param {number} began */
const seconds = (began) => `${((performance.now() - began) / 1000).toFixed(1)} s`;
