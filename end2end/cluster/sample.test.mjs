/**
 * The sample application is complete, and its Pods, nodes and volumes can be directed as the incidents need.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { readFile } from 'node:fs/promises';
import { finalizer as attached } from './attacher.mjs';
import { start } from './cluster.mjs';
import { collection } from './kinds.mjs';
import { finalizer } from './provisioner.mjs';
import { sample } from './sample/consortium.mjs';
import { nodes } from './servers.mjs';
import { canary, namespaceOf, orderers, unitLabel } from './sample/names.mjs';

/** @typedef {import('./client.mjs').KubeObject} KubeObject */

/** @type {import('./cluster.mjs').Cluster} */
let cluster;
before(async () => (cluster = await start({ sample: true })));
after(() => cluster?.stop());

const merge = { 'content-type': 'application/merge-patch+json' };
const org1 = namespaceOf('org1');
const org2 = namespaceOf('org2');

/** @param {string} path @returns {Promise<KubeObject[]>} */
const list = async (path) => (await cluster.request('admin', 'GET', path)).body.items;
/** @param {KubeObject} pod */
const pathOf = ({ metadata }) => `/api/v1/namespaces/${metadata.namespace}/pods/${metadata.name}`;
/** @param {KubeObject} pod */
const one = ({ metadata }) => ({ params: { fieldSelector: `metadata.name=${metadata.name}` } });

test('sample settles with every object ready', async () => {
	assert.ok(sample.length >= 60, `${sample.length} objects`);
	const kinds = await cluster.kinds();
	for (const object of sample) {
		const { status } = await cluster.request('admin', 'GET', kinds.pathOf(object));
		assert.equal(status, 200, `${object.kind} ${object.metadata.name}`);
	}
	const selector = `?labelSelector=${encodeURIComponent(unitLabel)}`;
	const pods = await list(`/api/v1/pods${selector}`);
	assert.deepEqual(
		pods.map(({ status }) => status.phase).sort(),
		[...Array(13).fill('Running'), 'Succeeded', 'Succeeded'],
		'3 orderers; per organisation 2 × 2 peers and a CouchDB; a finished CLI job each',
	);
	const claims = await list(`/api/v1/persistentvolumeclaims${selector}`);
	assert.equal(claims.length, 7, 'claims made from templates carry the label too');
	const volumes = await list('/api/v1/persistentvolumes');
	assert.deepEqual(volumes.map(({ spec }) => spec.persistentVolumeReclaimPolicy).sort(), [
		'Delete',
		...Array(6).fill('Retain'),
	]);
	const dynamic = volumes.find(({ spec }) => spec.csi);
	assert.ok(dynamic?.metadata.finalizers.includes(finalizer));
	assert.ok(
		pods.some(({ spec }) => spec.containers[0].volumeMounts?.some((/** @type {any} */ { subPath }) => subPath)),
	);
});

test('every Secret of the sample carries the canary', async () => {
	for (const namespace of [orderers, org1, org2, 'bystander']) {
		const secrets = await list(`/api/v1/namespaces/${namespace}/secrets`);
		assert.ok(secrets.length > 0, namespace);
		for (const { metadata, data } of secrets) {
			for (const value of Object.values(data))
				assert.ok(Buffer.from(value, 'base64').toString().startsWith(canary), metadata.name);
		}
	}
});

test('developer and reader have exactly their rights', async () => {
	/** @param {string} user @param {string} verb @param {string} resource @param {{group?: string, namespace?: string, name?: string}} [at] */
	const may = async (user, verb, resource, at = {}) => {
		const review = {
			apiVersion: 'authorization.k8s.io/v1',
			kind: 'SelfSubjectAccessReview',
			spec: { resourceAttributes: { verb, resource, ...at } },
		};
		const { body } = await cluster.request(
			user,
			'POST',
			'/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
			review,
		);
		return body.status.allowed;
	};
	const namespace = org1;
	for (const [verb, resource, at, developer, reader] of /** @type {[string, string, object, boolean, boolean][]} */ ([
		['list', 'pods', {}, true, true],
		['watch', 'persistentvolumes', {}, true, true],
		['list', 'customresourcedefinitions', { group: 'apiextensions.k8s.io' }, true, true],
		['delete', 'pods', { namespace }, true, false],
		['deletecollection', 'pods', { namespace }, true, false],
		['list', 'secrets', { namespace }, true, false],
		['delete', 'namespaces', { namespace, name: namespace }, true, false],
		['delete', 'persistentvolumes', { name: 'org1-shared' }, true, false],
		['delete', 'persistentvolumes', { name: 'somebody-elses' }, false, false],
		['list', 'secrets', {}, false, false],
		['list', 'secrets', { namespace: 'kube-system' }, false, false],
		['delete', 'pods', { namespace: 'bystander' }, false, false],
		['delete', 'namespaces', { namespace: 'bystander', name: 'bystander' }, false, false],
	])) {
		const what = `${verb} ${resource} ${JSON.stringify(at)}`;
		assert.equal(await may('developer', verb, resource, at), developer, `developer: ${what}`);
		assert.equal(await may('reader', verb, resource, at), reader, `reader: ${what}`);
		assert.equal(await may('admin', verb, resource, at), true, `admin: ${what}`);
	}
});

test('audit log records user, preconditions and options of a deletion, and no Secret values', async () => {
	const path = `/api/v1/namespaces/${org1}/configmaps/temporary`;
	await cluster.apply([{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'temporary', namespace: org1 } }]);
	const { uid } = (await cluster.request('admin', 'GET', path)).body.metadata;
	await cluster.request('developer', 'DELETE', path, {
		preconditions: { uid },
		propagationPolicy: 'Foreground',
		dryRun: ['All'],
	});
	await cluster.request('admin', 'DELETE', `/api/v1/namespaces/${org1}/secrets/peer-msp?dryRun=All`);
	await cluster.request('admin', 'DELETE', path);
	const text = await readFile(cluster.audit, 'utf8');
	const deletion = text
		.trim()
		.split('\n')
		.map((line) => JSON.parse(line))
		.find(
			({ verb, user, objectRef }) =>
				verb === 'delete' && user.username === 'developer' && objectRef.name === 'temporary',
		);
	const { preconditions, propagationPolicy, dryRun } = deletion.requestObject;
	assert.deepEqual(
		{ preconditions, propagationPolicy, dryRun },
		{ preconditions: { uid }, propagationPolicy: 'Foreground', dryRun: ['All'] },
	);
	assert.ok(text.includes('"name":"peer-msp"'));
	assert.ok(!text.includes(canary) && !text.includes(Buffer.from(canary).toString('base64').slice(0, 16)));
});

test('audit log has every write with its user, and every deletion with the UID', async () => {
	const configMaps = '/api/v1/namespaces/default/configmaps';
	const secrets = '/api/v1/namespaces/default/secrets';
	const leases = '/apis/coordination.k8s.io/v1/namespaces/default/leases';
	/** @param {string} method @param {string} path @param {object} [body] @param {Record<string, string>} [headers] */
	const write = async (method, path, body, headers) => {
		const answer = await cluster.request('admin', method, path, body, headers);
		assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${answer.body.message}`);
		return answer.body;
	};
	const configMap = (/** @type {string} */ name) => ({
		apiVersion: 'v1',
		kind: 'ConfigMap',
		metadata: { name, labels: { written: 'twice' } },
	});
	const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: 'beat' } };
	const written = await write('POST', configMaps, configMap('written'));
	const changes = [
		await write('PUT', `${configMaps}/written`, { ...written, data: { a: 'b' } }),
		await write('PATCH', `${configMaps}/written`, { data: { c: 'd' } }, merge),
	];
	const second = await write('POST', configMaps, configMap('second'));
	await write('DELETE', `${configMaps}/written`);
	await write('DELETE', `${configMaps}?labelSelector=written`);
	const secret = await write('POST', secrets, { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'hidden' } });
	await write('PATCH', `${secrets}/hidden`, { metadata: { labels: { written: 'once' } } }, merge);
	await write('DELETE', `${secrets}/hidden`);
	const beat = await write('POST', leases, lease);
	await write('DELETE', `${leases}/beat`);
	// A refused request is in the log too.
	assert.equal((await cluster.request('reader', 'DELETE', `${secrets}/nothing`)).status, 403);

	const names = ['written', 'second', 'hidden', 'beat', 'nothing'];
	/** @param {any} event */
	const removed = ({ responseStatus, responseObject }) =>
		responseStatus.details?.uid ?? responseObject?.items?.map((/** @type {any} */ { metadata }) => metadata.uid).join();
	const lines = (await readFile(cluster.audit, 'utf8'))
		.trim()
		.split('\n')
		.map((line) => JSON.parse(line));
	const seen = lines
		.filter(
			({ verb, objectRef }) =>
				objectRef?.namespace === 'default' && (names.includes(objectRef.name) || verb === 'deletecollection'),
		)
		.map((event) => [
			event.user.username,
			event.verb,
			event.objectRef.resource,
			event.responseStatus.code,
			removed(event),
		]);
	assert.deepEqual(seen, [
		['admin', 'create', 'configmaps', 201, undefined],
		['admin', 'update', 'configmaps', 200, undefined],
		['admin', 'patch', 'configmaps', 200, undefined],
		['admin', 'create', 'configmaps', 201, undefined],
		['admin', 'delete', 'configmaps', 200, written.metadata.uid],
		['admin', 'deletecollection', 'configmaps', 200, second.metadata.uid],
		['admin', 'create', 'secrets', 201, undefined],
		['admin', 'patch', 'secrets', 200, undefined],
		['admin', 'delete', 'secrets', 200, secret.metadata.uid],
		// Of Leases and Events, which change all the time, the log has deletions only.
		['admin', 'delete', 'leases', 200, beat.metadata.uid],
		['reader', 'delete', 'secrets', 403, undefined],
	]);
	const answers = (/** @type {string} */ name) =>
		lines
			.filter(({ verb, objectRef }) => ['update', 'patch'].includes(verb) && objectRef?.name === name)
			.map(({ responseObject }) => responseObject?.metadata.resourceVersion);
	assert.deepEqual(
		answers('written'),
		changes.map(({ metadata }) => metadata.resourceVersion),
	);
	assert.deepEqual(answers('hidden'), [undefined]);
});

test('Pod runs on an existing node with an address from that node’s range', async () => {
	const found = await list('/api/v1/nodes');
	const addressOf = new Map(
		found.map(({ metadata, status }) => [
			metadata.name,
			status.addresses.find((/** @type {any} */ { type }) => type === 'InternalIP').address,
		]),
	);
	assert.deepEqual([...addressOf.keys()].sort(), nodes);
	const running = (await list('/api/v1/pods')).filter(({ status }) => status.phase === 'Running');
	assert.ok(running.length >= 13);
	for (const { metadata, spec, status } of running) {
		assert.equal(status.hostIP, addressOf.get(spec.nodeName), metadata.name);
		assert.ok(
			status.podIP.startsWith(`10.244.${nodes.indexOf(spec.nodeName) + 1}.`),
			`${metadata.name} ${status.podIP}`,
		);
		assert.ok(status.conditions.some((/** @type {any} */ { type, status }) => type === 'Ready' && status === 'True'));
	}
	const addresses = running.map(({ status }) => status.podIP);
	assert.equal(new Set(addresses).size, addresses.length, 'each has its own');
	assert.deepEqual([...new Set(running.map(({ spec }) => spec.nodeName))].sort(), nodes, 'no node is idle');
});

test('Pod with a delay annotation terminates after that delay', { timeout: 60_000 }, async () => {
	const delay = 'pod-delete.stage.kwok.x-k8s.io/delay';
	/** The requested delay, and its lower bound in ms. @type {Record<string, [string | undefined, number]>} */
	const wanted = { prompt: ['0s', 0], usual: [undefined, 900], slow: ['3500ms', 3_400] };
	const pod = (/** @type {string} */ name) => ({
		apiVersion: 'v1',
		kind: 'Pod',
		metadata: { name, namespace: 'default', annotations: wanted[name][0] ? { [delay]: wanted[name][0] } : {} },
		// All on one, whose kubelet goes by one clock.
		spec: { nodeName: nodes[0], containers: [{ name: 'main', image: 'registry.example/goes:1' }] },
	});
	const names = Object.keys(wanted);
	await cluster.apply(names.map(pod));
	const at = '/api/v1/namespaces/default/pods';
	await cluster.until(at, (pods) =>
		names.every((name) => pods.find(({ metadata }) => metadata.name === name)?.status.phase === 'Running'),
	);
	/** @type {Record<string, number>} */
	const asked = {};
	/** @type {Record<string, number>} */
	const took = {};
	let finish = () => {};
	/** @type {Promise<void>} */
	const all = new Promise((resolve) => (finish = resolve));
	const watch = cluster.watch('admin', at, {}, ({ type, object }) => {
		if (type === 'DELETED') took[object.metadata.name] = performance.now() - asked[object.metadata.name];
		if (names.every((name) => name in took)) finish();
	});
	try {
		await watch.synced;
		for (const name of names) {
			asked[name] = performance.now();
			assert.equal((await cluster.request('admin', 'DELETE', `${at}/${name}`)).status, 200);
		}
		await cluster.until(at, (pods) => !pods.some(({ metadata }) => names.includes(metadata.name)), {
			what: 'the three to go',
		});
		await all;
	} finally {
		watch.close();
	}
	for (const [name, [, least]] of Object.entries(wanted))
		assert.ok(took[name] >= least, `${name} took ${took[name].toFixed(0)} ms`);
	assert.deepEqual(Object.keys(took), names, 'a Pod with a shorter time is gone earlier');
	assert.ok(took.slow < 30_000, `${took.slow.toFixed(0)} ms`);
});

test('Pod with the hold annotation stays until the annotation is removed', async () => {
	const [pod] = await list(`/api/v1/namespaces/${org1}/pods?labelSelector=app.kubernetes.io/name=couchdb`);
	const path = pathOf(pod);
	await cluster.request(
		'admin',
		'PATCH',
		path,
		{ metadata: { annotations: { 'unwind.test/hold': 'unmount' } } },
		merge,
	);
	await cluster.request('admin', 'DELETE', path);
	// The state that a kubelet leaves when it cannot unmount: containers ended, sandbox gone, object still there.
	const [held] = await cluster.until(`/api/v1/namespaces/${org1}/pods`, ([it]) => it?.status.phase === 'Failed', {
		what: 'dead containers',
		...one(pod),
	});
	assert.equal(held.status.containerStatuses[0].state.terminated.exitCode, 143);
	assert.ok(held.metadata.deletionTimestamp);
	await cluster.request('admin', 'PATCH', path, { metadata: { annotations: { 'unwind.test/hold': null } } }, merge);
	await cluster.until(
		`/api/v1/namespaces/${org1}/pods`,
		([it]) => it && it.metadata.uid !== pod.metadata.uid && it.status.phase === 'Running',
		{
			what: 'its successor',
			...one(pod),
		},
	);
});

test('Pod whose containers cannot be killed reports FailedKillPod', async () => {
	const [pod] = await list(`/api/v1/namespaces/${orderers}/pods`);
	const path = pathOf(pod);
	await cluster.request('admin', 'PATCH', path, { metadata: { annotations: { 'unwind.test/hold': 'kill' } } }, merge);
	await cluster.request('admin', 'DELETE', path);
	const [event] = await cluster.until(`/api/v1/namespaces/${orderers}/events`, (events) => events.length > 0, {
		what: 'the event',
		params: { fieldSelector: 'reason=FailedKillPod' },
	});
	assert.equal(event.type, 'Warning');
	assert.equal(event.involvedObject.name, pod.metadata.name);
	const { body } = await cluster.request('admin', 'GET', path);
	assert.equal(body.metadata.uid, pod.metadata.uid, 'it is still there');
	await cluster.request('admin', 'PATCH', path, { metadata: { annotations: { 'unwind.test/hold': null } } }, merge);
	await cluster.until(
		`/api/v1/namespaces/${orderers}/pods`,
		(pods) => pods.every(({ metadata }) => metadata.uid !== pod.metadata.uid),
		{ what: 'it to go' },
	);
});

test('mounted claim stays until its Pod is gone, and its provisioned volume follows it', async () => {
	const claim = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { name: 'scratch', namespace: org1 } };
	const spec = {
		storageClassName: 'consortium-csi',
		accessModes: ['ReadWriteOnce'],
		resources: { requests: { storage: '1Gi' } },
	};
	const container = {
		name: 'main',
		image: 'registry.example/scratch:1',
		volumeMounts: [{ name: 'data', mountPath: '/data' }],
	};
	const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: 'scratch' } }];
	const pod = {
		apiVersion: 'v1',
		kind: 'Pod',
		metadata: { name: 'scratch', namespace: org1 },
		spec: { containers: [container], volumes },
	};
	await cluster.apply([{ ...claim, spec }, pod]);
	const pods = `/api/v1/namespaces/${org1}/pods`;
	const claims = `/api/v1/namespaces/${org1}/persistentvolumeclaims`;
	await cluster.until(pods, ([it]) => it?.status.phase === 'Running', { what: 'the Pod to run', ...one(pod) });
	const held = cluster.provisioner.volumes.size;

	const { body } = await cluster.request('admin', 'DELETE', `${claims}/scratch`);
	assert.deepEqual(body.metadata.finalizers, ['kubernetes.io/pvc-protection']);
	assert.ok(body.metadata.deletionTimestamp);
	await cluster.request('admin', 'DELETE', `${pods}/scratch`);
	await cluster.until(claims, (found) => found.length === 0, { what: 'the claim to go', ...one(claim) });
	await cluster.until(
		'/api/v1/persistentvolumes',
		(found) => !found.some(({ metadata }) => metadata.name === body.spec.volumeName),
		{ what: 'its volume to go' },
	);
	assert.equal(cluster.provisioner.volumes.size, held - 1);
});

test('volume stays attached while the attacher is stopped', async () => {
	const [attachment] = await list('/apis/storage.k8s.io/v1/volumeattachments');
	const volume = attachment.spec.source.persistentVolumeName;
	assert.deepEqual(attachment.metadata.finalizers, [attached]);
	const { body } = await cluster.request('admin', 'GET', `/api/v1/persistentvolumes/${volume}`);
	assert.ok(body.metadata.finalizers.includes(attached));

	cluster.attacher.stop();
	await cluster.request('admin', 'DELETE', `/apis/apps/v1/namespaces/${org2}/statefulsets/couchdb`, {
		propagationPolicy: 'Foreground',
	});
	await cluster.until(`/api/v1/namespaces/${org2}/pods`, (pods) => pods.length === 0, {
		what: 'the Pod to go',
		params: { labelSelector: 'app.kubernetes.io/name=couchdb' },
	});
	await cluster.until('/apis/storage.k8s.io/v1/volumeattachments', ([it]) => !!it?.metadata.deletionTimestamp, {
		what: 'the detaching to begin',
	});
	await cluster.request('admin', 'DELETE', `/api/v1/namespaces/${org2}/persistentvolumeclaims/data-couchdb-0`);
	const params = { fieldSelector: `metadata.name=${volume}` };
	const held = (/** @type {KubeObject[]} */ [it]) =>
		it?.metadata.deletionTimestamp && it.metadata.finalizers.join() === attached;
	await cluster.until('/api/v1/persistentvolumes', held, { what: 'the volume to hang on the attacher alone', params });

	cluster.startAttacher();
	// The attacher releases the two in no particular order.
	await cluster.until('/api/v1/persistentvolumes', (found) => found.length === 0, { what: 'the volume to go', params });
	await cluster.until('/apis/storage.k8s.io/v1/volumeattachments', (found) => found.length === 0, {
		what: 'the attachment to go',
	});
});

test('silent node becomes NotReady, its Pods hang terminating, and it recovers', async () => {
	const name = 'node-b';
	/** @param {string} status */
	const ready =
		(status) =>
		(/** @type {KubeObject[]} */ [node]) =>
			node?.status.conditions.find((/** @type {any} */ { type }) => type === 'Ready').status === status;
	const node = { params: { fieldSelector: `metadata.name=${name}` }, within: 40_000 };
	const victims = (await list(`/api/v1/pods?fieldSelector=spec.nodeName=${name}`)).map(({ metadata }) => metadata.uid);
	assert.ok(victims.length > 0);

	await cluster.stopKubelet(name);
	await cluster.until('/api/v1/nodes', ready('Unknown'), { what: `${name} to be unknown`, ...node });
	const params = { fieldSelector: `spec.nodeName=${name}` };
	await cluster.until(
		'/api/v1/pods',
		(pods) => pods.length > 0 && pods.every(({ metadata }) => metadata.deletionTimestamp),
		{
			what: 'its Pods to be evicted',
			within: 40_000,
			params,
		},
	);
	const stuck = await list(`/api/v1/pods?fieldSelector=spec.nodeName=${name}`);
	assert.ok(stuck.every(({ metadata }) => victims.includes(metadata.uid)));

	await cluster.startKubelet(name);
	await cluster.until('/api/v1/nodes', ready('True'), { what: `${name} to be ready`, ...node });
	await cluster.until('/api/v1/pods', (pods) => !pods.some(({ metadata }) => victims.includes(metadata.uid)), {
		what: 'the evicted Pods to go',
		params,
	});
});

test('follow survives an API server that hangs', { timeout: 60_000 }, async (t) => {
	let finish = () => {};
	/** @type {Promise<void>} */
	const seen = new Promise((resolve) => (finish = resolve));
	const kinds = await cluster.kinds();
	const configMaps = kinds.all.find(({ kind }) => kind === 'ConfigMap');
	assert.ok(configMaps);
	const watch = cluster.watch('reader', collection(configMaps, 'default'), {}, ({ type, object }) => {
		if (type === 'ADDED' && object.metadata.name === 'after-the-frost') finish();
	});
	t.after(() => watch.close());
	await watch.synced;
	await cluster.suspendApiServer();
	const made = cluster.apply([
		{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'after-the-frost', namespace: 'default' } },
	]);
	await cluster.resumeApiServer();
	await made;
	await seen;
});
