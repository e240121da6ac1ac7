/**
 * A node with the real kubelet of `kubelet/`, for what KWOK's stages cannot show: the kubelet's log, its events, its metrics and
 * the answers of its server. Its Pods name it in `spec.nodeName`; the scheduler does not use it.
 *
 *   const kubelet = await cluster.startRealKubelet('node-k');
 *   await kubelet.fail(pod, 'busy');
 *   await kubelet.repair(pod);
 */
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePorts } from './boot.mjs';

/** @typedef {import('./client.mjs').KubeObject} KubeObject */
/** @typedef {import('./supervised.mjs').SupervisedServers} SupervisedServers */
/** @typedef {import('./cluster.mjs').Cluster} Cluster */

/**
 * @typedef {object} Options
 * @property {'text'|'json'} [logFormat]
 * @property {boolean} [logHandler] enableSystemLogHandler of its configuration; true without it
 * @property {boolean} [logQuery] enableSystemLogQuery of its configuration; false without it
 * @property {boolean} [authenticate] its server refuses requests without a client certificate or token
 */

const program = resolve(fileURLToPath(new URL('.', import.meta.url)), '../../target/cluster/bin/kubelet');

/** The last number of the addresses given so far. */
let addresses = 100;

export class RealKubelet {
	/** The name of its Node. @type {string} */
	node;
	/** Its root directory; /var/lib/kubelet on a real machine. @type {string} */
	root;
	/** The file with its log. @type {string} */
	log;
	#dir;
	#close;

	/** @param {string} node @param {string} dir @param {string} log @param {() => void} close */
	constructor(node, dir, log, close) {
		this.node = node;
		this.root = join(dir, 'root');
		this.log = log;
		this.#dir = dir;
		this.#close = close;
	}

	/**
	 * Starts one; resolves when its Node is ready.
	 * @param {SupervisedServers} servers @param {Cluster} cluster started for programs @param {string} name @param {Options} options
	 */
	static async start(servers, cluster, name, { logFormat = 'text', logHandler = true, logQuery = false, authenticate = false }) {
		if (!cluster.network) throw new Error('the cluster was not started for programs');
		const dir = join(servers.dir, name);
		await mkdir(dir);
		const [port] = await freePorts(1);
		const address = `192.0.2.${++addresses}`;
		const close = cluster.network.listen(`${address}:${port}`, {
			emit: (_, socket) => {
				const server = connect(port, '127.0.0.1');
				server.on('error', () => socket.destroy());
				socket.on('error', () => server.destroy());
				server.pipe(socket).pipe(server);
				return true;
			},
		});
		await cluster.apply([node(name)]);
		const addressed = { status: { addresses: [{ type: 'InternalIP', address }] } };
		const merge = { 'content-type': 'application/merge-patch+json' };
		await cluster.request('admin', 'PATCH', `/api/v1/nodes/${name}/status`, addressed, merge);
		const log = join(servers.dir, `${name}.log`);
		const kubeconfig = join(servers.dir, 'kwok.kubeconfig');
		const argv = [
			program,
			`--kubeconfig=${kubeconfig}`,
			`--name=${name}`,
			`--dir=${dir}`,
			`--port=${port}`,
			`--log=${log}`,
			`--logging-format=${logFormat}`,
			`--system-log-handler=${logHandler}`,
			`--system-log-query=${logQuery}`,
			`--authenticate=${authenticate}`,
		];
		await servers.start({ name, argv, rank: 2 });
		await cluster.until('/api/v1/nodes', ([it]) => isReady(it), {
			what: `node ${name} ready`,
			params: { fieldSelector: `metadata.name=${name}` },
		});
		return new RealKubelet(name, dir, log, close);
	}

	/** Gives a Pod, or the whole node, a fault of `kubelet/fault.go`. @param {KubeObject|'node'} subject @param {string} fault */
	async fail(subject, fault) {
		await writeFile(this.#file(subject), fault);
	}

	/** @param {KubeObject|'node'} subject */
	async repair(subject) {
		await rm(this.#file(subject), { force: true });
	}

	/** Cuts the connections to its server, and refuses new ones. */
	disconnect() {
		this.#close();
	}

	/** @param {KubeObject|'node'} subject */
	#file(subject) {
		return join(this.#dir, 'faults', typeof subject === 'string' ? subject : subject.metadata.uid);
	}
}

/** @param {string} name */
const node = (name) => ({
	apiVersion: 'v1',
	kind: 'Node',
	metadata: {
		name,
		labels: { 'kubernetes.io/hostname': name, 'kubernetes.io/os': 'linux' },
		annotations: { 'volumes.kubernetes.io/controller-managed-attach-detach': 'true' },
	},
	spec: { taints: [{ key: 'unwind.test/kubelet', effect: 'NoSchedule' }] },
});

/** @param {KubeObject} [node] */
const isReady = (node) =>
	node?.status?.conditions?.some(
		(/** @type {any} */ { type, status }) => type === 'Ready' && status === 'True',
	) ?? false;
