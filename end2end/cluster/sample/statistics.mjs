/**
 * Two applications for incident S3. One serves an aggregated API from its own namespace: while that API has no backend, no
 * namespace of the cluster can end. The other needs no API at all.
 */
import { createServer } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { selfSigned } from '../certificate.mjs';
import { runAsPods } from '../program.mjs';
import { configMap, deployment, labels, namespace, podTemplate, service } from './objects.mjs';

/** @typedef {import('./objects.mjs').KubeObject} KubeObject */
/** @typedef {import('../cluster.mjs').Cluster} Cluster */

export const unit = 'statistics';
export const unitLabel = `app.kubernetes.io/part-of=${unit}`;
const plain = 'haunted';
/** The application without an API of its own. */
export const haunted = { unit: plain, unitLabel: `app.kubernetes.io/part-of=${plain}` };

const server = 'statistics-server';
const port = 6443;
const group = 'statistics.example';
const { cert, key } = selfSigned(`${server}.${unit}.svc`);

/** @param {string} of @param {string} name @param {string} [inNamespace] */
const part = (of, name, inNamespace) => ({
	name,
	...(inNamespace ? { namespace: inNamespace } : {}),
	labels: labels(of, name),
});
/** @param {string} of @param {string} name @param {KubeObject} [container] */
const running = (of, name, container) =>
	deployment(
		part(of, name, of),
		1,
		podTemplate(part(of, name).labels, { containers: [{ name, image: `registry.example/${name}:1`, ...container }] }),
	);

/** @param {string} name @param {KubeObject} metadata @param {KubeObject} [trust] */
const apiService = (name, metadata, trust = { insecureSkipTLSVerify: true }) => ({
	apiVersion: 'apiregistration.k8s.io/v1',
	kind: 'APIService',
	metadata: { ...metadata, name: `v1beta1.${name}` },
	spec: { group: name, version: 'v1beta1', groupPriorityMinimum: 100, versionPriority: 100, ...trust },
});
/** @param {KubeObject} api @param {string} namespace @param {string} name */
const servedBy = ({ spec, ...api }, namespace, name) => ({
	...api,
	spec: { ...spec, service: { namespace, name, port: 443 } },
});

const api = servedBy(
	apiService(group, part(unit, server), { caBundle: Buffer.from(cert).toString('base64') }),
	unit,
	server,
);
/** An API of the platform, without a backend. */
export const deadApi = servedBy(apiService('metrics.k8s.io', {}), 'kube-system', 'metrics-server');

/** The discovery of the API: a kind that can be listed. */
const resources = [
	{ name: 'samples', singularName: 'sample', namespaced: true, kind: 'Sample', verbs: ['get', 'list'] },
];
/** @type {import('../program.mjs').Program} */
const serve = ({ listen }) => {
	const answers = createServer({ cert, key }, ({ url = '' }, response) => {
		const { pathname } = new URL(url, 'https://pod');
		const groupVersion = `${group}/v1beta1`;
		const list = { apiVersion: groupVersion, kind: 'SampleList', metadata: { resourceVersion: '1' }, items: [] };
		const body =
			pathname === `/apis/${groupVersion}`
				? { apiVersion: 'v1', kind: 'APIResourceList', groupVersion, resources }
				: pathname.endsWith('/samples')
					? list
					: undefined;
		response.writeHead(body ? 200 : 404, { 'content-type': 'application/json' }).end(JSON.stringify(body ?? {}));
	});
	listen(port, answers);
	return () => answers.closeAllConnections();
};

/** @param {string} name */
const only = (name) => ({ params: { fieldSelector: `metadata.name=${name}` } });
/** @param {Cluster} cluster @param {KubeObject} api @param {string} status @param {string} what */
const waitForApi = (cluster, { metadata: { name } }, status, what) =>
	cluster.until(
		'/apis/apiregistration.k8s.io/v1/apiservices',
		([it]) =>
			it?.status?.conditions?.some((/** @type {any} */ each) => each.type === 'Available' && each.status === status),
		{ what, ...only(name) },
	);

/** Waits until the discovery of the cluster has that of the API. No watch reports that. @param {Cluster} cluster */
async function waitForDiscovery(cluster) {
	const deadline = performance.now() + 90_000;
	while (!(await cluster.kinds()).all.some(({ kind }) => kind === 'Sample')) {
		if (performance.now() > deadline) throw new Error('the aggregated API is not in the discovery');
		await sleep(100);
	}
}

/**
 * Installs the application with an API, and runs its server, until the returned function is called.
 * @param {Cluster} cluster started for programs @returns {Promise<() => void>}
 */
export async function install(cluster) {
	await cluster.apply([
		namespace(part(unit, unit)),
		running(unit, server),
		{
			apiVersion: 'v1',
			kind: 'Service',
			metadata: part(unit, server, unit),
			spec: { selector: part(unit, server).labels, ports: [{ port: 443, targetPort: port }] },
		},
		api,
	]);
	const end = runAsPods(cluster, unit, `app.kubernetes.io/name=${server}`, serve);
	await waitForApi(cluster, api, 'True', 'the aggregated API to be available');
	await waitForDiscovery(cluster);
	return end;
}

/** Installs the application without an API, and the API of the platform that is dead. @param {Cluster} cluster */
export async function installBesideDeadApi(cluster) {
	await cluster.apply([
		service({ name: 'metrics-server', namespace: 'kube-system', labels: { 'k8s-app': 'metrics-server' } }, 443),
		deadApi,
		namespace(part(plain, plain)),
		configMap(part(plain, 'settings', plain), { data: { mode: 'plain' } }),
		running(plain, 'web', { envFrom: [{ configMapRef: { name: 'settings' } }] }),
	]);
	await waitForApi(cluster, deadApi, 'False', 'the API of the platform to be dead');
	await cluster.until('/apis/apps/v1/deployments', ([it]) => it?.status?.readyReplicas === 1, {
		what: 'the application',
		...only('web'),
	});
}
