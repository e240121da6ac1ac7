/**
 * An API server behind an APIService, which runs as a Pod: it stores objects of its own, has its own opinion about each DELETE, and
 * remembers what it was asked.
 */
import { createServer } from 'node:https';
import { selfSigned } from './certificate.mjs';
import { runAsPods } from './program.mjs';
import { inForce } from './preflight.mjs';
import { deployment, podTemplate } from './sample/objects.mjs';

/** @typedef {import('./client.mjs').KubeObject} KubeObject */
/** @typedef {import('./cluster.mjs').Cluster} Cluster */

export const group = 'warehouse.example';
const groupVersion = `${group}/v1`;
const name = 'warehouse-server';
const port = 6443;

const read = ['get', 'list', 'watch'];
/** The kinds: their plurals, and their verbs at the start. */
const atStart = [
	{ plural: 'wares', kind: 'Ware', verbs: [...read, 'delete'] },
	{ plural: 'reports', kind: 'Report', verbs: read },
];

/** The path of an object. @param {string} namespace @param {string} plural @param {string} name */
export const pathTo = (namespace, plural, name) => `/apis/${groupVersion}/namespaces/${namespace}/${plural}/${name}`;

/** @param {number} code @param {string} reason @param {string} message */
const refused = (code, reason, message) => ({ apiVersion: 'v1', kind: 'Status', status: 'Failure', reason, message, code });

/**
 * Installs it in a namespace, until the returned function is called.
 * @param {Cluster} cluster started for programs @param {string} namespace of the server
 * @param {KubeObject[]} objects of its kinds
 * @param {(object: KubeObject) => string|undefined} refusal the words with which it refuses a DELETE
 * @returns {Promise<{deletes: string[], bar: () => void, end: () => void}>} deletes: the URLs of the DELETEs that it was sent;
 *   bar: from then on no kind can be deleted
 */
export async function install(cluster, namespace, objects, refusal) {
	/** @type {string[]} */
	const deletes = [];
	let kinds = atStart;
	const { cert, key } = selfSigned(`${name}.${namespace}.svc`);
	const stored = objects.map((object, at) => ({
		...object,
		metadata: {
			uid: `00000000-0000-4000-8000-${String(at).padStart(12, '0')}`,
			resourceVersion: String(at + 1),
			creationTimestamp: new Date().toISOString(),
			...object.metadata,
		},
	}));

	/** @param {string} method @param {URL} url @returns {[number, object]} the answer to all but a watch */
	function answer(method, { pathname, href }) {
		const resources = kinds.map(({ plural, kind, verbs }) => ({ name: plural, singularName: '', namespaced: true, kind, verbs }));
		if (pathname === `/apis/${groupVersion}`) return [200, { apiVersion: 'v1', kind: 'APIResourceList', groupVersion, resources }];
		const [, plural, asked] = pathname.match(/\/(wares|reports)(?:\/([^/]+))?$/) ?? [];
		const found = kinds.find((it) => it.plural === plural);
		if (!found) return [404, refused(404, 'NotFound', `${pathname} is not known`)];
		const items = stored.filter(({ kind }) => kind === found.kind);
		if (!asked) {
			const metadata = { resourceVersion: String(stored.length) };
			return [200, { apiVersion: groupVersion, kind: `${found.kind}List`, metadata, items }];
		}
		const object = items.find(({ metadata }) => metadata.name === asked);
		if (!object) return [404, refused(404, 'NotFound', `${plural}.${group} "${asked}" not found`)];
		if (method !== 'DELETE') return [200, object];
		deletes.push(href);
		if (!found.verbs.includes('delete')) return [405, refused(405, 'MethodNotAllowed', `no ${plural} can be deleted`)];
		const words = refusal(object);
		// It ignores dryRun, as some do: the object is gone.
		if (!words) stored.splice(stored.indexOf(object), 1);
		return words ? [403, refused(403, 'Forbidden', words)] : [200, object];
	}

	/** @param {URL} url @param {import('node:http').ServerResponse} response */
	function watch(url, response) {
		const [, body] = answer('GET', url);
		const { kind, metadata, items } = /** @type {KubeObject} */ (body);
		response.writeHead(200, { 'content-type': 'application/json' });
		/** @param {object} event */
		const send = (event) => response.write(`${JSON.stringify(event)}\n`);
		if (!url.searchParams.has('sendInitialEvents')) return response.flushHeaders();
		for (const object of items) send({ type: 'ADDED', object });
		const annotations = { 'k8s.io/initial-events-end': 'true' };
		const bookmark = { apiVersion: groupVersion, kind: kind.replace(/List$/, ''), metadata: { ...metadata, annotations } };
		send({ type: 'BOOKMARK', object: bookmark });
	}

	/** @type {import('./program.mjs').Program} */
	const serve = ({ listen }) => {
		const server = createServer({ cert, key }, (request, response) => {
			const url = new URL(request.url ?? '', 'https://pod');
			if (url.searchParams.has('watch')) return watch(url, response);
			const [status, body] = answer(request.method ?? '', url);
			response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
		});
		listen(port, server);
		return () => server.closeAllConnections();
	};

	const labels = { app: name };
	await cluster.apply([
		deployment({ name, namespace, labels }, 1, podTemplate(labels, { containers: [{ name, image: 'registry.example/warehouse:1' }] })),
		{
			apiVersion: 'v1',
			kind: 'Service',
			metadata: { name, namespace },
			spec: { selector: labels, ports: [{ port: 443, targetPort: port }] },
		},
		{
			apiVersion: 'apiregistration.k8s.io/v1',
			kind: 'APIService',
			metadata: { name: `v1.${group}` },
			spec: {
				group,
				version: 'v1',
				groupPriorityMinimum: 100,
				versionPriority: 100,
				caBundle: Buffer.from(cert).toString('base64'),
				service: { namespace, name, port: 443 },
			},
		},
	]);
	const end = runAsPods(cluster, namespace, `app=${name}`, serve);
	// No watch reports what the discovery of the cluster has.
	await inForce('the discovery of the warehouse', () => cluster.kinds(), ({ all }) => all.some(({ kind }) => kind === 'Ware'));
	const bar = () => {
		kinds = atStart.map((kind) => ({ ...kind, verbs: read }));
	};
	return { deletes, bar, end };
}
