/**
 * Records the answers of `nodes/proxy`, good and bad, byte for byte: status line, headers, body.
 */
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { start } from '../cluster.mjs';

/** @typedef {import('../cluster.mjs').Cluster} Cluster */

/**
 * @typedef {object} ProxyRequest
 * @property {string} name of the file
 * @property {string} path after `/api/v1/nodes/`
 * @property {string} [accept] the header; anything without it
 * @property {string} [user] admin without it
 */

/** The longest body that is kept whole, in bytes. */
const longest = 1500;

/** The kubelets that have settings of their own, by their Node. @type {Record<string, import('../kubelet.mjs').Options>} */
export const settings = {
	'node-query-off': {},
	'node-closed': { logHandler: false },
	'node-authenticating': { logQuery: true, authenticate: true },
};

const query = 'proxy/logs/?query=kubelet';
const on = `node-text/${query}`;

/** Requests whose answer is the same each time. @type {ProxyRequest[]} */
export const fixed = [
	{ name: 'query-type-plain', path: `${on}&tailLines=2`, accept: 'text/plain' },
	{ name: 'query-type-json', path: `${on}&tailLines=2`, accept: 'application/json' },
	{ name: 'query-no-entries', path: `${on}&pattern=nothing-like-this` },
	{ name: 'query-unknown-service', path: 'node-text/proxy/logs/?query=kubelett' },
	{ name: 'query-empty', path: 'node-text/proxy/logs/?query=%20' },
	{ name: 'query-bad-time', path: `${on}&sinceTime=yesterday` },
	{ name: 'query-bad-lines', path: `${on}&tailLines=many` },
	{ name: 'query-too-many-lines', path: `${on}&tailLines=100001` },
	{ name: 'query-bad-pattern', path: `${on}&pattern=%5B` },
	{ name: 'query-bad-boot', path: `${on}&boot=1` },
	{ name: 'query-bad-service', path: 'node-text/proxy/logs/?query=kubelet%20-x' },
	{ name: 'query-path', path: 'node-text/proxy/logs/kubelet.log?query=kubelet' },
	{ name: 'query-no-slash', path: 'node-text/proxy/logs?query=kubelet' },
	{ name: 'query-off-file', path: 'node-query-off/proxy/logs/no-such-file' },
	{ name: 'handler-off', path: `node-closed/${query}` },
	{ name: 'unauthenticated', path: `node-authenticating/${query}` },
	{ name: 'forbidden', path: on, user: 'reader' },
	{ name: 'no-node', path: `node-nowhere/${query}` },
	{ name: 'address-not-allowed', path: `node-loopback/${query}` },
	{ name: 'no-address', path: `node-addressless/${query}` },
];

/** @param {string} pod UID @returns {ProxyRequest[]} */
const changing = (pod) => [
	{ name: 'query', path: `${on}&pattern=${pod}&tailLines=8` },
	{ name: 'query-of-json', path: `node-json/${query}&pattern=nestedpendingoperations&tailLines=2` },
	{ name: 'query-type-kubectl', path: `${on}&tailLines=2`, accept: 'application/json, */*' },
	{ name: 'query-off', path: `node-query-off/${query}&tailLines=5` },
	{ name: 'pods', path: 'node-text/proxy/pods', accept: 'application/json' },
	{ name: 'running-pods', path: 'node-text/proxy/runningpods/', accept: 'application/json' },
	{ name: 'metrics', path: 'node-text/proxy/metrics' },
	{ name: 'disconnected-egress', path: `node-disconnected/${query}` },
	{ name: 'silent', path: `node-silent/${query}` },
];

/**
 * @param {Cluster} cluster with the nodes node-text and node-json @param {string} out directory
 * @param {string} pod UID of a Pod that the log is about @param {(line: string) => void} log
 */
export async function recordProxy(cluster, out, pod, log) {
	await mkdir(out, { recursive: true });
	await startKubelets(cluster);
	await cluster.suspendRealKubelet(await cluster.startRealKubelet('node-silent'));
	(await cluster.startRealKubelet('node-disconnected')).disconnect();

	/** @param {ProxyRequest} request @param {Cluster} [at] */
	const record = async (request, at = cluster) => {
		await writeFile(join(out, `${request.name}.http`), await ask(at, request));
		log(`recorded ${request.name}`);
	};
	for (const request of [...fixed, ...changing(pod)]) await record(request);

	// A cluster that dials its nodes itself, as most do.
	const dialing = await start({ log });
	try {
		await bare(dialing, 'node-closed-port', ownAddress(), 1);
		await bare(dialing, 'node-gone', ownAddress().replace(/\d+$/, '254'));
		await record({ name: 'refused', path: `node-closed-port/${query}` }, dialing);
		await record({ name: 'unreachable', path: `node-gone/${query}` }, dialing);
	} finally {
		await dialing.stop();
	}
}

/** Starts the kubelets with settings of their own, and creates the Nodes that cannot be reached. @param {Cluster} cluster */
export async function startKubelets(cluster) {
	for (const [node, options] of Object.entries(settings)) await cluster.startRealKubelet(node, options);
	await bare(cluster, 'node-loopback', '127.0.0.1');
	await bare(cluster, 'node-addressless');
}

/** Creates a Node without a kubelet. @param {Cluster} cluster @param {string} name @param {string} [address] @param {number} [Port] */
async function bare(cluster, name, address, Port = 10250) {
	await cluster.apply([{ apiVersion: 'v1', kind: 'Node', metadata: { name } }]);
	const addresses = address ? [{ type: 'InternalIP', address }] : [];
	const status = { addresses, daemonEndpoints: { kubeletEndpoint: { Port } } };
	const merge = { 'content-type': 'application/merge-patch+json' };
	await cluster.request('admin', 'PATCH', `/api/v1/nodes/${name}/status`, { status }, merge);
}

/** The request and its answer, as text. @param {Cluster} cluster @param {ProxyRequest} asked */
export async function ask(cluster, { path, accept = '*/*', user = 'admin' }) {
	const sent = request(new URL(`/api/v1/nodes/${path}`, cluster.server), {
		ca: cluster.ca,
		headers: { authorization: `Bearer ${cluster.token(user)}`, 'accept-encoding': 'identity', accept },
		agent: false,
	}).end();
	const [response] = await once(sent, 'response');
	let body = '';
	for await (const chunk of response.setEncoding('utf8')) body += chunk;
	body = body.replaceAll(new RegExp(`${cluster.dir}/node-[a-z-]+/root`, 'g'), '/var/lib/kubelet');
	body = body.replaceAll(cluster.dir, '/run/cluster');
	// Of the listing of /var/log only what most machines have.
	body = body.replaceAll(/^<a href="(?!journal|private|btmp|lastlog|wtmp).*\n/gm, '');
	const kept = body.length > longest ? `${body.slice(0, longest)}\n[${body.length - longest} more characters]\n` : body;
	const lines = [`GET /api/v1/nodes/${path}`, `accept: ${accept}`, ''];
	lines.push(`HTTP/${response.httpVersion} ${response.statusCode} ${response.statusMessage}`);
	for (let index = 0; index < response.rawHeaders.length; index += 2)
		lines.push(`${response.rawHeaders[index]}: ${response.rawHeaders[index + 1]}`);
	return `${lines.join('\n')}\n\n${kept}`;
}

/** An address of this machine that a proxy may dial; nothing listens at its port 1. */
function ownAddress() {
	const addresses = Object.values(networkInterfaces()).flatMap((all) => all ?? []);
	return addresses.find(({ family, internal }) => family === 'IPv4' && !internal)?.address ?? '127.0.0.1';
}
