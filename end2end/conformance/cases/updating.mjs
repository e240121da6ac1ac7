/**
 * PUT and PATCH: conflicts, patches of every type, status and scale.
 */
import { configMap, deployment, service } from '../objects.mjs';
import { define } from '../suite.mjs';

const data = ['data'];
const filled = (/** @type {Record<string, string>} */ data, /** @type {Record<string, any>} */ metadata = {}) =>
	configMap('a', metadata, { data });

export default [
	define('update-put', 'PUT replaces the object', async (t) => {
		const { body } = await t.create(filled({ k: 'v', l: 'w' }));
		await t.put('configmaps/a', { ...body, data: { k: 'x' } }, { fields: data });
	}),
	define('update-put-unconditional', 'PUT without a resourceVersion is unconditional for most kinds', async (t) => {
		await t.create(filled({ k: 'v' }));
		await t.put('configmaps/a', filled({ k: 'x' }), { fields: data });
	}),
	define('update-put-conflict', '§3 A1 PUT with an old resourceVersion is a conflict', async (t) => {
		const { body } = await t.create(filled({ k: 'v' }));
		await t.patch('configmaps/a', 'merge', { data: { k: 'w' } });
		await t.put('configmaps/a', body);
		await t.put('configmaps/a', { ...body, metadata: { ...body.metadata, resourceVersion: 'soon' } });
	}),
	define('update-put-missing', 'PUT of a missing object is answered with 404, except for kinds that PUT may create', async (t) => {
		await t.put('configmaps/a', filled({ k: 'v' }));
		await t.put('configmaps/a', filled({ k: 'v' }, { resourceVersion: '7' }));
		await t.put('configmaps/a', filled({ k: 'v' }, { uid: '6e7a1b0e-0000-4000-8000-000000000000' }));
		await t.put('leases/a', { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: 'a' }, spec: {} });
	}),
	define('update-put-other-uid', 'PUT with another UID is a conflict', async (t) => {
		await t.create(filled({ k: 'v' }));
		await t.put('configmaps/a', filled({ k: 'w' }, { uid: '6e7a1b0e-0000-4000-8000-000000000000' }));
	}),
	define('update-put-other-name', 'PUT with another name or namespace than the path is refused', async (t) => {
		await t.create(filled({ k: 'v' }));
		await t.put('configmaps/a', configMap('b'));
		await t.put('configmaps/a', { apiVersion: 'v1', kind: 'ConfigMap', metadata: {} });
		await t.put('configmaps/a', configMap('a', { namespace: 'default' }));
	}),
	define('update-immutable-metadata', 'Name, UID and creationTimestamp are immutable', async (t) => {
		await t.create(filled({ k: 'v' }));
		await t.patch('configmaps/a', 'merge', { metadata: { name: 'b' } });
		await t.patch('configmaps/a', 'merge', { metadata: { namespace: 'default' } });
		await t.patch('configmaps/a', 'merge', { metadata: { creationTimestamp: '2001-01-01T00:00:00Z' } });
		await t.patch('configmaps/a', 'merge', { metadata: { generation: 12 } });
		await t.patch('configmaps/a', 'merge', { kind: 'Pod' });
	}),
	define('update-dry-run', 'A dry run of PUT and PATCH changes nothing', async (t) => {
		const { body } = await t.create(filled({ k: 'v' }));
		const dryRun = { query: { dryRun: 'All' }, fields: data };
		await t.put('configmaps/a', { ...body, data: { k: 'w' } }, dryRun);
		await t.patch('configmaps/a', 'merge', { data: { k: 'x' } }, dryRun);
		await t.get('configmaps/a', { fields: data });
	}),
	define('update-dry-run-finalizer', '§6.1 A dry run that removes the last finalizer deletes nothing', async (t) => {
		await t.create(filled({ k: 'v' }, { finalizers: ['example.com/x'] }));
		await t.delete('configmaps/a');
		await t.patch('configmaps/a', 'merge', { metadata: { finalizers: null } }, { query: { dryRun: 'All' } });
		await t.get('configmaps/a');
	}),
	define('patch-json', 'A JSON patch supports add, replace, remove, move, copy and test', async (t) => {
		await t.create(filled({ k: 'v', l: 'w' }));
		await t.patch('configmaps/a', 'json', [{ op: 'add', path: '/data/m', value: 'x' }], { fields: data });
		await t.patch('configmaps/a', 'json', [{ op: 'replace', path: '/data/k', value: 'y' }], { fields: data });
		await t.patch('configmaps/a', 'json', [{ op: 'remove', path: '/data/l' }], { fields: data });
		await t.patch(
			'configmaps/a',
			'json',
			[
				{ op: 'move', from: '/data/m', path: '/data/n' },
				{ op: 'copy', from: '/data/k', path: '/data/o' },
			],
			{ fields: data },
		);
		await t.patch('configmaps/a', 'json', [{ op: 'test', path: '/data/k', value: 'y' }], { fields: data });
	}),
	define('patch-json-errors', 'A JSON patch that does not apply is refused', async (t) => {
		await t.create(filled({ k: 'v' }));
		await t.patch('configmaps/a', 'json', [{ op: 'remove', path: '/data/none' }]);
		await t.patch('configmaps/a', 'json', [{ op: 'replace', path: '/none/at/all', value: 1 }]);
		await t.patch('configmaps/a', 'json', [{ op: 'test', path: '/data/k', value: 'w' }]);
		await t.patch('configmaps/a', 'json', { data: { k: 'w' } });
		await t.patch('configmaps/a', 'json', [{ op: 'turn', path: '/data' }]);
		await t.patch('configmaps/none', 'json', [{ op: 'remove', path: '/data/k' }]);
		await t.get('configmaps/a', { fields: data });
	}),
	define('patch-json-escape', 'A JSON patch can address a key with a slash', async (t) => {
		await t.create(configMap('a', { annotations: { 'example.com/k': 'v' } }));
		await t.patch(
			'configmaps/a',
			'json',
			[{ op: 'replace', path: '/metadata/annotations/example.com~1k', value: 'w' }],
			{ fields: ['metadata.annotations'] },
		);
	}),
	define('patch-json-makes-invalid', 'A JSON patch with an invalid result is refused', async (t) => {
		await t.create(filled({ k: 'v' }));
		await t.patch('configmaps/a', 'json', [{ op: 'add', path: '/data/k', value: 5 }]);
		await t.patch('configmaps/a', 'json', [{ op: 'add', path: '/metadata/labels', value: { 'not a key': 'v' } }]);
	}),
	define('patch-merge', 'In a merge patch null removes a field and a list is replaced', async (t) => {
		await t.create(
			configMap(
				'a',
				{ finalizers: ['example.com/x', 'example.com/y'], labels: { a: 'b', c: 'd' } },
				{ data: { k: 'v' } },
			),
		);
		const fields = ['metadata.labels', 'data'];
		await t.patch(
			'configmaps/a',
			'merge',
			{ metadata: { labels: { a: null, e: 'f' }, finalizers: ['example.com/y'] } },
			{ fields },
		);
		await t.patch('configmaps/a', 'merge', { data: null }, { fields });
		await t.patch('configmaps/a', 'merge', {}, { fields });
		await t.patch('configmaps/a', 'merge', { metadata: { finalizers: null } }, { fields });
	}),
	define('patch-merge-errors', 'An invalid merge patch is refused', async (t) => {
		await t.create(filled({ k: 'v' }));
		await t.patch('configmaps/a', 'merge', undefined, { raw: '{"data":' });
		await t.patch('configmaps/a', 'merge', [1, 2]);
		await t.patch('configmaps/a', 'merge', { data: 'text' });
	}),
	define('patch-strategic', 'A strategic merge patch merges lists by key and supports directives', async (t) => {
		await t.create(deployment('web', { replicas: 0 }));
		const containers = (/** @type {any[]} */ ...containers) => ({ spec: { template: { spec: { containers } } } });
		const show = ({ spec }) => spec.template.spec.containers.map((/** @type {any} */ { name, image }) => [name, image]);
		await t.patch('deployments/web', 'strategic', containers({ name: 'main', image: 'example.com/main:2' }), { show });
		await t.patch('deployments/web', 'strategic', containers({ name: 'side', image: 'example.com/side:1' }), { show });
		await t.patch('deployments/web', 'strategic', containers({ name: 'side', $patch: 'delete' }), { show });
	}),
	define(
		'patch-strategic-finalizers',
		'A strategic merge patch adds finalizers, and removes them by directive',
		async (t) => {
			await t.create(configMap('a', { finalizers: ['example.com/x'] }));
			await t.patch('configmaps/a', 'strategic', { metadata: { finalizers: ['example.com/y'] } });
			await t.patch('configmaps/a', 'strategic', {
				metadata: { '$deleteFromPrimitiveList/finalizers': ['example.com/x'] },
			});
		},
	),
	define('patch-strategic-owners', 'A strategic merge patch merges owner references by UID', async (t) => {
		const { body: one } = await t.create(configMap('one'));
		const { body: two } = await t.create(configMap('two'));
		const owner = (/** @type {any} */ { metadata }) => ({
			apiVersion: 'v1',
			kind: 'ConfigMap',
			name: metadata.name,
			uid: metadata.uid,
		});
		await t.create(configMap('a', { ownerReferences: [owner(one)] }));
		await t.patch('configmaps/a', 'strategic', { metadata: { ownerReferences: [owner(two)] } });
		await t.patch('configmaps/a', 'strategic', {
			metadata: { ownerReferences: [{ $patch: 'delete', uid: one.metadata.uid }] },
		});
	}),
	define('patch-apply', 'Server-side apply creates an object, changes it, and removes fields that it no longer contains', async (t) => {
		const query = { fieldManager: 'one' };
		const apply = (/** @type {Record<string, string>} */ data, /** @type {Record<string, any>} */ options = {}) =>
			t.patch('configmaps/a', 'apply', configMap('a', {}, { data }), { query, fields: ['data'], ...options });
		await apply({ k: 'v', l: 'w' });
		await apply({ k: 'x' });
		await apply({ k: 'y' }, { query: { fieldManager: 'two' } });
		await apply({ k: 'y' }, { query: { fieldManager: 'two', force: true } });
	}),
	define('patch-apply-errors', 'Server-side apply needs a manager, a kind and the right name', async (t) => {
		await t.patch('configmaps/a', 'apply', configMap('a'));
		await t.patch('configmaps/a', 'apply', { metadata: { name: 'a' } }, { query: { fieldManager: 'one' } });
		await t.patch('configmaps/a', 'apply', configMap('b'), { query: { fieldManager: 'one' } });
		await t.patch('configmaps/a', 'merge', { data: {} }, { query: { force: true } });
	}),
	define('patch-type-unknown', 'A patch with an unknown type is refused', async (t) => {
		await t.create(filled({ k: 'v' }));
		await t.request('PATCH', 'configmaps/a', { data: {} }, { headers: { 'content-type': 'application/json' } });
		await t.request('PATCH', 'configmaps/a', { data: {} }, { headers: { 'content-type': 'text/plain' } });
	}),
	define('patch-missing', 'A patch of a missing object or of a collection is refused', async (t) => {
		await t.patch('configmaps/none', 'merge', { data: {} });
		await t.patch('configmaps', 'merge', { data: {} });
	}),
	define('update-generation', 'The generation counts changes of the spec only', async (t) => {
		await t.create(deployment('web', { replicas: 0, spec: { paused: true } }));
		await t.patch('deployments/web', 'merge', { metadata: { labels: { a: 'b' } } });
		await t.patch('deployments/web', 'merge', { spec: { revisionHistoryLimit: 2 } });
		await t.patch('deployments/web', 'merge', { spec: { revisionHistoryLimit: 2 } });
	}),
	define('status-through-main', 'PUT of the object does not change its status', async (t) => {
		await t.create(
			{
				apiVersion: 'v1',
				kind: 'ReplicationController',
				metadata: { name: 'rc' },
				spec: {
					replicas: 0,
					selector: { a: 'b' },
					template: { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } },
				},
			},
			{ unrecorded: true },
		);
		await t.patch(
			'replicationcontrollers/rc',
			'merge',
			{ status: { fullyLabeledReplicas: 9 } },
			{ fields: ['status.fullyLabeledReplicas'] },
		);
		await t.patch(
			'namespaces/default',
			'merge',
			{ status: { phase: 'Terminating' } },
			{ query: { dryRun: 'All' }, fields: ['status.phase'] },
		);
	}),
	define('status-subresource', 'PUT of the status does not change the spec', async (t) => {
		const pdb = {
			apiVersion: 'apps/v1',
			kind: 'DaemonSet',
			metadata: { name: 'd' },
			spec: {
				selector: { matchLabels: { a: 'b' } },
				template: {
					metadata: { labels: { a: 'b' } },
					spec: { nodeSelector: { nowhere: 'ever' }, containers: [{ name: 'c', image: 'i' }] },
				},
			},
		};
		await t.create(pdb, { unrecorded: true });
		await t.patch(
			'daemonsets/d/status',
			'merge',
			{ spec: { minReadySeconds: 9 }, status: { collisionCount: 3 } },
			{ fields: ['spec.minReadySeconds', 'status.collisionCount'] },
		);
		await t.get('daemonsets/d/status', { fields: ['status.collisionCount'] });
		await t.get('configmaps/kube-root-ca.crt/status');
	}),
	define('scale-read', 'GET scale returns the scale of a scalable object', async (t) => {
		await t.create(deployment('web', { replicas: 0 }), { unrecorded: true });
		await t.get('deployments/web/scale', { fields: ['apiVersion', 'spec', 'status'] });
		await t.get('configmaps/web/scale');
		await t.get('deployments/none/scale');
		await t.get('daemonsets/web/scale');
	}),
	define('scale-write', 'PUT and PATCH of the scale change the replicas', async (t) => {
		await t.create(deployment('web', { replicas: 0, spec: { paused: true } }), { unrecorded: true });
		// Its controller writes the status twice.
		await t.until(
			'deployments/web',
			'is known to be paused',
			(one) => one?.status.conditions && one.status.observedGeneration === 1,
			{ unrecorded: true },
		);
		const { body } = await t.get('deployments/web/scale', { fields: ['spec'] });
		await t.put('deployments/web/scale', { ...body, spec: { replicas: 2 } }, { fields: ['spec'] });
		await t.put('deployments/web/scale', { ...body, spec: { replicas: 1 } });
		await t.patch('deployments/web/scale', 'merge', { spec: { replicas: -1 } });
		await t.patch('deployments/web/scale', 'json', [{ op: 'replace', path: '/spec/replicas', value: 0 }], {
			fields: ['spec'],
		});
		await t.get('deployments/web', { fields: ['spec.replicas'] });
	}),
	define('scale-preconditions', 'A Scale honours UID and resourceVersion', async (t) => {
		await t.create(deployment('web', { replicas: 0, spec: { paused: true } }), { unrecorded: true });
		const { body } = await t.get('deployments/web/scale', { fields: ['spec'] });
		const { resourceVersion, ...metadata } = body.metadata;
		const spec = { replicas: 1 };
		await t.put('deployments/web/scale', { ...body, spec, metadata: { ...metadata, uid: 'another' } });
		await t.put('deployments/web/scale', { ...body, spec, metadata: { ...metadata, resourceVersion: '1' } });
		await t.put('deployments/web/scale', { ...body, spec, metadata }, { fields: ['spec'], query: { dryRun: 'All' } });
		await t.put('deployments/other/scale', { ...body, spec, metadata });
	}),
	define('service-immutable-address', 'The clusterIP of a Service is immutable', async (t) => {
		await t.create(service('s', { clusterIP: 'None' }), { fields: ['spec.clusterIP'] });
		await t.patch('services/s', 'merge', { spec: { clusterIP: '10.0.0.99', clusterIPs: ['10.0.0.99'] } });
	}),
];
