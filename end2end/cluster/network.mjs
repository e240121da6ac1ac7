/**
 * The network from the API server to the Pods. There are no containers here, so nothing listens at the address of a Pod. The
 * API server reaches Pods, for webhooks, conversions and aggregated APIs, through a proxy of its egress selector
 * (KEP-1281), and the proxy passes each connection to the program that runs as that Pod, or refuses it.
 */
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';

/** @typedef {import('node:net').Socket} Socket */
/** @typedef {{emit: (event: 'connection', socket: Socket) => boolean}} Listener  a server of node:http or node:https */

/** The configuration that an API server reads at its start. @param {string} dir of the cluster */
export const egressFile = (dir) => join(dir, 'egress.json');

export class PodNetwork {
	/** By address, such as `10.244.1.2:443`. @type {Map<string, {listener: Listener, sockets: Set<Socket>}>} */
	#listeners = new Map();
	#proxy = createServer((_, response) => response.writeHead(405).end());

	/** Has to be open before the API server of the cluster starts. @param {string} dir of the cluster */
	static async open(dir) {
		const network = new PodNetwork();
		const udsName = join(dir, 'pods.sock');
		network.#proxy.on('connect', (request, socket) =>
			network.#connect(request.url ?? '', /** @type {Socket} */ (socket)),
		);
		network.#proxy.listen(udsName);
		await once(network.#proxy, 'listening');
		const connection = { proxyProtocol: 'HTTPConnect', transport: { uds: { udsName } } };
		const configuration = {
			apiVersion: 'apiserver.k8s.io/v1beta1',
			kind: 'EgressSelectorConfiguration',
			egressSelections: [{ name: 'cluster', connection }],
		};
		await writeFile(egressFile(dir), JSON.stringify(configuration));
		return network;
	}

	/**
	 * Passes connections to an address on, until the returned function cuts them all.
	 * @param {string} address @param {Listener} listener @returns {() => void}
	 */
	listen(address, listener) {
		const entry = { listener, sockets: /** @type {Set<Socket>} */ (new Set()) };
		this.#listeners.set(address, entry);
		return () => {
			if (this.#listeners.get(address) === entry) this.#listeners.delete(address);
			for (const socket of entry.sockets) socket.destroy();
		};
	}

	close() {
		for (const { sockets } of this.#listeners.values()) for (const socket of sockets) socket.destroy();
		this.#listeners.clear();
		this.#proxy.close();
		this.#proxy.closeAllConnections();
	}

	/** @param {string} address @param {Socket} socket */
	#connect(address, socket) {
		socket.on('error', () => {}); // either side may cut it at any time
		const entry = this.#listeners.get(address);
		if (!entry) return void socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n');
		entry.sockets.add(socket);
		socket.once('close', () => entry.sockets.delete(socket));
		socket.write('HTTP/1.1 200 OK\r\n\r\n');
		entry.listener.emit('connection', socket);
	}
}
