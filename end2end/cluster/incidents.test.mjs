/**
 * The incidents that the product explains occur on this control plane, and end when their cause is repaired. sample.test.mjs has
 * the two incidents with Pods and volumes; this file has those with namespaces, finalizers and nodes.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { start } from './cluster.mjs';

/** @typedef {import('./client.mjs').KubeObject} KubeObject */

/** @type {import('./cluster.mjs').Cluster} */
let cluster;
before(async () => {
	cluster = await start();
});
after(() => cluster?.stop());

const merge = { 'content-type': 'application/merge-patch+json' };
/** @param {string} name */
const only = (name) => ({ params: { fieldSelector: `metadata.name=${name}` } });
/** @param {KubeObject[]} objects */
const none = (objects) => objects.length === 0;

test('empty namespace stays while an aggregated API is unavailable', async () => {
	const api = 'v1beta1.metrics.k8s.io';
	const apis = '/apis/apiregistration.k8s.io/v1/apiservices';
	await cluster.apply([
		{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'haunted' } },
		{
			apiVersion: 'v1',
			kind: 'Service',
			metadata: { name: 'metrics-server', namespace: 'kube-system' },
			spec: { selector: { app: 'nobody' }, ports: [{ port: 443 }] },
		},
		{
			apiVersion: 'apiregistration.k8s.io/v1',
			kind: 'APIService',
			metadata: { name: api },
			spec: {
				group: 'metrics.k8s.io',
				version: 'v1beta1',
				groupPriorityMinimum: 100,
				versionPriority: 100,
				insecureSkipTLSVerify: true,
				service: { name: 'metrics-server', namespace: 'kube-system' },
			},
		},
	]);
	// The reason is EndpointsNotFound until the Service has an EndpointSlice, which is empty.
	await cluster.until(apis, ([it]) => it?.status?.conditions?.[0].reason === 'MissingEndpoints', {
		what: 'the API to be without endpoints',
		...only(api),
	});

	await cluster.request('admin', 'DELETE', '/api/v1/namespaces/haunted');
	/** @param {KubeObject} namespace */
	const failure = ({ status }) => status.conditions?.find((/** @type {any} */ { status }) => status === 'True');
	const [haunted] = await cluster.until('/api/v1/namespaces', ([it]) => it && failure(it), {
		what: 'the reason',
		within: 60_000,
		...only('haunted'),
	});
	assert.equal(failure(haunted).type, 'NamespaceDeletionDiscoveryFailure');
	assert.match(failure(haunted).message, /stale GroupVersion discovery: metrics.k8s.io\/v1beta1/);
	assert.deepEqual(haunted.spec.finalizers, ['kubernetes']);

	await cluster.request('admin', 'DELETE', `${apis}/${api}`);
	await cluster.until('/api/v1/namespaces', none, { what: 'the namespace to end', within: 90_000, ...only('haunted') });
});

test('finalizer without a controller blocks foreground deletion of its owner', async () => {
	const at = '/api/v1/namespaces/default/configmaps';
	await cluster.apply([{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'parent', namespace: 'default' } }]);
	const { uid } = (await cluster.request('admin', 'GET', `${at}/parent`)).body.metadata;
	const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'parent', uid, blockOwnerDeletion: true }];
	const finalizers = ['gone.example/cleanup'];
	const metadata = { name: 'child', namespace: 'default', finalizers, ownerReferences };
	await cluster.apply([{ apiVersion: 'v1', kind: 'ConfigMap', metadata }]);

	await cluster.request('admin', 'DELETE', `${at}/parent`, { propagationPolicy: 'Foreground' });
	await cluster.until(at, ([it]) => !!it?.metadata.deletionTimestamp, {
		what: 'the child to be terminating',
		...only('child'),
	});
	const { body } = await cluster.request('admin', 'GET', `${at}/parent`);
	assert.deepEqual(body.metadata.finalizers, ['foregroundDeletion']);

	await cluster.request('admin', 'PATCH', `${at}/child`, { metadata: { finalizers: null } }, merge);
	await cluster.until(at, none, { what: 'both to go', ...only('parent') });
});

test('Recreate Deployment starts no new Pod while its old Pod is on a silent node', async () => {
	const labels = { app: 'singleton' };
	const params = { labelSelector: 'app=singleton' };
	/** @param {string} version */
	const deployment = (version) => ({
		apiVersion: 'apps/v1',
		kind: 'Deployment',
		metadata: { name: 'singleton', namespace: 'default' },
		spec: {
			replicas: 1,
			strategy: { type: 'Recreate' },
			selector: { matchLabels: labels },
			template: {
				metadata: { labels },
				spec: { containers: [{ name: 'main', image: `registry.example/singleton:${version}` }] },
			},
		},
	});
	const running =
		(/** @type {string} */ version) =>
		(/** @type {KubeObject[]} */ [pod]) =>
			pod?.status.phase === 'Running' && pod.spec.containers[0].image.endsWith(version);
	await cluster.apply([deployment('1')]);
	const [old] = await cluster.until('/api/v1/pods', running('1'), { what: 'the first Pod', params });
	const node = old.spec.nodeName;
	await cluster.stopKubelet(node);
	await cluster.until(
		'/api/v1/nodes',
		([it]) =>
			it.status.conditions.some((/** @type {any} */ { type, status }) => type === 'Ready' && status === 'Unknown'),
		{
			what: `${node} to be unknown`,
			...only(node),
		},
	);

	// Recreate waits only after a change of the template. With the same template the ReplicaSet replaces an evicted Pod at once.
	await cluster.apply([deployment('2')]);
	const replicaSets = '/apis/apps/v1/replicasets';
	await cluster.until(replicaSets, ([it, ...others]) => it?.spec.replicas === 0 && others.length === 0, {
		what: 'the old ReplicaSet at zero',
		params,
	});
	const isOld = (/** @type {KubeObject} */ { metadata }) => metadata.uid === old.metadata.uid;
	const pods = await cluster.until('/api/v1/pods', (pods) => !!pods.find(isOld)?.metadata.deletionTimestamp, {
		what: 'the old Pod to be terminating',
		params,
	});
	assert.equal(pods.find(isOld)?.status.phase, 'Running', 'nobody is there to say otherwise');

	await cluster.startKubelet(node);
	await cluster.until('/api/v1/pods', running('2'), { what: 'the second Pod', within: 60_000, params });
});
