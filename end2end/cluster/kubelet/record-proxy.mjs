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

/** The longest body that is kept whole, in bytes. */
const longest = 1500;

/**
 * @param {Cluster} cluster with the nodes node-text and node-json @param {string} out directory
 * @param {string} pod UID of a Pod that the log tells of @param {(line: string) => void} log
 */
export async function recordProxy(cluster, out, pod, log) {
	await mkdir(out, { recursive: true });
	const kubelets = {
		off: await cluster.startRealKubelet('node-query-off'),
		closed: await cluster.startRealKubelet('node-closed', { logHandler: false }),
		authenticating: await cluster.startRealKubelet('node-authenticating', { logQuery: true, authenticate: true }),
		silent: await cluster.startRealKubelet('node-silent'),
		disconnected: await cluster.startRealKubelet('node-disconnected'),
	};
	await cluster.suspendRealKubelet(kubelets.silent);
	kubelets.disconnected.disconnect();
	await bare(cluster, 'node-loopback', '127.0.0.1');
	await bare(cluster, 'node-addressless');

	/** @param {string} name @param {string} path @param {Record<string, string>} [headers] @param {Cluster} [at] @param {string} [user] */
	const record = async (name, path, headers = {}, at = cluster, user = 'admin') => {
		await writeFile(join(out, `${name}.http`), await answer(at, user, `/api/v1/nodes/${path}`, headers));
		log(`recorded ${name}`);
	};
	const any = { accept: '*/*' };
	const query = 'proxy/logs/?query=kubelet';
	const on = `node-text/${query}`;
	await record('query', `${on}&pattern=${pod}&tailLines=8`, any);
	await record('query-of-json', `node-json/${query}&pattern=nestedpendingoperations&tailLines=2`, any);
	await record('query-type-kubectl', `${on}&tailLines=2`, { accept: 'application/json, */*' });
	await record('query-type-plain', `${on}&tailLines=2`, { accept: 'text/plain' });
	await record('query-type-json', `${on}&tailLines=2`, { accept: 'application/json' });
	await record('query-no-entries', `${on}&pattern=nothing-like-this`, any);
	await record('query-unknown-service', 'node-text/proxy/logs/?query=kubelett', any);
	await record('query-empty', 'node-text/proxy/logs/?query=%20', any);
	await record('query-bad-time', `${on}&sinceTime=yesterday`, any);
	await record('query-bad-lines', `${on}&tailLines=many`, any);
	await record('query-too-many-lines', `${on}&tailLines=100001`, any);
	await record('query-bad-pattern', `${on}&pattern=%5B`, any);
	await record('query-bad-boot', `${on}&boot=1`, any);
	await record('query-bad-service', 'node-text/proxy/logs/?query=kubelet%20-x', any);
	await record('query-path', 'node-text/proxy/logs/kubelet.log?query=kubelet', any);
	await record('query-no-slash', 'node-text/proxy/logs?query=kubelet', any);
	await record('query-off', `node-query-off/${query}&tailLines=5`, any);
	await record('query-off-file', 'node-query-off/proxy/logs/messages', any);
	await record('handler-off', `node-closed/${query}`, any);
	await record('unauthenticated', `node-authenticating/${query}`, any);
	await record('forbidden', on, any, cluster, 'reader');
	await record('no-node', `node-nowhere/${query}`, any);
	await record('address-not-allowed', `node-loopback/${query}`, any);
	await record('no-address', `node-addressless/${query}`, any);
	await record('pods', 'node-text/proxy/pods', { accept: 'application/json' });
	await record('running-pods', 'node-text/proxy/runningpods/', { accept: 'application/json' });
	await record('metrics', 'node-text/proxy/metrics', any);
	await record('disconnected-egress', `node-disconnected/${query}`, any);
	await record('silent', `node-silent/${query}`, any);

	// A cluster that dials its nodes itself, as most do.
	const dialing = await start({ log });
	try {
		await bare(dialing, 'node-closed-port', ownAddress(), 1);
		await bare(dialing, 'node-gone', ownAddress().replace(/\d+$/, '254'));
		await record('refused', `node-closed-port/${query}`, any, dialing);
		await record('unreachable', `node-gone/${query}`, any, dialing);
	} finally {
		await dialing.stop();
	}
}

/** Creates a Node without a kubelet. @param {Cluster} cluster @param {string} name @param {string} [address] @param {number} [Port] */
async function bare(cluster, name, address, Port = 10250) {
	await cluster.apply([{ apiVersion: 'v1', kind: 'Node', metadata: { name } }]);
	const addresses = address ? [{ type: 'InternalIP', address }] : [];
	const status = { addresses, daemonEndpoints: { kubeletEndpoint: { Port } } };
	await cluster.request('admin', 'PATCH', `/api/v1/nodes/${name}/status`, { status }, merge);
}

const merge = { 'content-type': 'application/merge-patch+json' };

/** @param {Cluster} cluster @param {string} user @param {string} path @param {Record<string, string>} headers */
async function answer(cluster, user, path, headers) {
	const asked = request(new URL(path, cluster.server), {
		ca: cluster.ca,
		headers: { authorization: `Bearer ${cluster.token(user)}`, 'accept-encoding': 'identity', ...headers },
		agent: false,
	}).end();
	const [response] = await once(asked, 'response');
	let body = '';
	for await (const chunk of response.setEncoding('utf8')) body += chunk;
	body = body.replaceAll(new RegExp(`${cluster.dir}/node-[a-z-]+/root`, 'g'), '/var/lib/kubelet');
	body = body.replaceAll(cluster.dir, '/run/cluster');
	// Of the listing of /var/log only what most machines have.
	body = body.replaceAll(/^<a href="(?!journal|private|btmp|lastlog|wtmp).*\n/gm, '');
	const kept = body.length > longest ? `${body.slice(0, longest)}\n[${body.length - longest} more characters]\n` : body;
	const lines = [`GET ${path}`, ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`), ''];
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
