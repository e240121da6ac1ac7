/**
 * Finalizers: how they hold a deleted object, and how they are added and removed.
 */
import { configMap } from '../objects.mjs';
import { define } from '../suite.mjs';

const held = (/** @type {string[]} */ ...finalizers) => configMap('a', { finalizers });
const x = 'example.com/x';
const y = 'example.com/y';
const finalizers = (/** @type {string[]|null} */ list) => ({ metadata: { finalizers: list } });

export default [
	define(
		'finalizer-holds',
		'§1.1 §1.2 DELETE of an object with a finalizer sets deletionTimestamp to the request time and the grace period to 0',
		async (t) => {
			await t.create(held(x));
			await t.delete('configmaps/a');
			await t.get('configmaps/a');
		},
	),
	define('finalizer-removed', '§1.7 Removing the last finalizer deletes the object in the same request', async (t) => {
		await t.create(held(x));
		await t.delete('configmaps/a');
		await t.patch('configmaps/a', 'merge', finalizers(null));
		await t.get('configmaps/a');
	}),
	define('finalizer-one-of-two', '§1.7 Removing one of two finalizers keeps the object', async (t) => {
		await t.create(held(x, y));
		await t.delete('configmaps/a');
		await t.patch('configmaps/a', 'merge', finalizers([y]));
		await t.get('configmaps/a');
		await t.patch('configmaps/a', 'merge', finalizers([]));
		await t.get('configmaps/a');
	}),
	define(
		'finalizer-added-late',
		'§1.7 §8 R-S4a A finalizer cannot be added to a terminating object',
		async (t) => {
			await t.create(held(x));
			await t.delete('configmaps/a');
			await t.patch('configmaps/a', 'merge', finalizers([x, y]));
			await t.patch('configmaps/a', 'merge', finalizers([y]));
			await t.get('configmaps/a');
		},
	),
	define('finalizer-removed-by-put', '§1.7 Removing the last finalizer by PUT deletes the object', async (t) => {
		await t.create(held(x));
		const { body } = await t.delete('configmaps/a');
		delete body.metadata.finalizers;
		await t.put('configmaps/a', body);
		await t.get('configmaps/a');
	}),
	define(
		'finalizer-removed-by-json-patch',
		'§6.1 A JSON patch can test UID and finalizer before it removes the finalizer',
		async (t) => {
			const { body } = await t.create(held(x));
			await t.delete('configmaps/a');
			const guarded = (/** @type {string} */ uid, /** @type {string} */ finalizer) => [
				{ op: 'test', path: '/metadata/uid', value: uid },
				{ op: 'test', path: '/metadata/finalizers/0', value: finalizer },
				{ op: 'remove', path: '/metadata/finalizers/0' },
			];
			await t.patch('configmaps/a', 'json', guarded('another', x));
			await t.patch('configmaps/a', 'json', guarded(body.metadata.uid, y));
			await t.patch('configmaps/a', 'json', guarded(body.metadata.uid, x));
			await t.get('configmaps/a');
		},
	),
	define(
		'finalizer-guarded-merge',
		'§6.1 A merge patch with UID and resourceVersion is refused if either differs',
		async (t) => {
			const { body } = await t.create(held(x));
			const { uid, resourceVersion } = body.metadata;
			await t.patch('configmaps/a', 'merge', { data: { changed: 'yes' } });
			await t.patch('configmaps/a', 'merge', { metadata: { uid, resourceVersion, finalizers: [] } });
			await t.patch('configmaps/a', 'merge', {
				metadata: { uid: '6e7a1b0e-0000-4000-8000-000000000000', finalizers: [] },
			});
			await t.get('configmaps/a');
		},
	),
	define(
		'finalizer-change-while-deleting',
		'§1.1 A terminating object can be changed, except for its deletionTimestamp',
		async (t) => {
			await t.create(held(x));
			await t.delete('configmaps/a');
			await t.patch('configmaps/a', 'merge', { data: { k: 'v' } }, { fields: ['data'] });
			await t.patch('configmaps/a', 'merge', { metadata: { deletionTimestamp: null } });
			await t.patch('configmaps/a', 'merge', { metadata: { deletionTimestamp: '2030-01-01T00:00:00Z' } });
			await t.patch('configmaps/a', 'merge', { metadata: { deletionGracePeriodSeconds: 17 } });
		},
	),
	define(
		'finalizer-second-delete',
		'§1.8 A second DELETE of a terminating object returns 200 and changes nothing',
		async (t) => {
			await t.create(held(x));
			const first = await t.delete('configmaps/a');
			const second = await t.delete('configmaps/a');
			t.note('same resourceVersion', first.body.metadata.resourceVersion === second.body.metadata.resourceVersion);
		},
	),
	define('finalizer-grace-is-for-pods', '§1.2 §6.1 gracePeriodSeconds is ignored for other kinds than Pods', async (t) => {
		await t.create(held(x));
		await t.delete('configmaps/a', { gracePeriodSeconds: 60 });
		await t.create(configMap('b'));
		await t.delete('configmaps/b', { gracePeriodSeconds: 60 });
		await t.get('configmaps/b');
	}),
	define('finalizer-invalid-name', 'A finalizer needs a qualified name', async (t) => {
		await t.create(held('x'));
		await t.create(held('Not A Name/x'));
		await t.create(configMap('b'));
		await t.patch('configmaps/b', 'merge', finalizers(['plain']));
		await t.patch('configmaps/b', 'merge', finalizers(['foregroundDeletion']));
	}),
	define('finalizer-orphan-and-foreground', '§1.7 §3 A4 The finalizers orphan and foregroundDeletion exclude each other', async (t) => {
		await t.create(held('orphan', 'foregroundDeletion'));
		await t.create(configMap('b', { finalizers: ['orphan'] }));
		await t.patch('configmaps/b', 'merge', finalizers(['orphan', 'foregroundDeletion']));
	}),
	define(
		'finalizer-removed-alive',
		'Removing a finalizer of an object that is not terminating deletes nothing',
		async (t) => {
			await t.create(held(x));
			await t.patch('configmaps/a', 'merge', finalizers(null));
			await t.get('configmaps/a');
		},
	),
	define(
		'finalizer-watch',
		'§1.7 A watch reports MODIFIED for deletionTimestamp and DELETED for the removal of the finalizer',
		async (t) => {
			await t.create(held(x));
			const watch = await t.watch('configmaps', { events: 'each' });
			await t.delete('configmaps/a');
			await t.patch('configmaps/a', 'merge', finalizers(null));
			await watch.gone('a');
			watch.end();
		},
	),
	define('finalizer-on-cluster-scoped', '§1.7 A finalizer holds a cluster-scoped object', async (t) => {
		const name = t.name('role');
		await t.create({
			apiVersion: 'rbac.authorization.k8s.io/v1',
			kind: 'ClusterRole',
			metadata: { name, finalizers: [x] },
			rules: [],
		});
		await t.delete(`clusterroles/${name}`);
		await t.patch(`clusterroles/${name}`, 'merge', finalizers(null));
		await t.get(`clusterroles/${name}`);
	}),
	define('finalizer-managed-fields', '§2.3 managedFields name the manager that added a finalizer', async (t) => {
		await t.create(configMap('a', {}, { data: { k: 'v' } }), { headers: { 'user-agent': 'maker/1.0' } });
		const query = { fieldManager: 'guard' };
		await t.patch('configmaps/a', 'merge', finalizers([x]), { query });
		const whose = (/** @type {any} */ { metadata }) =>
			metadata.managedFields
				.map((/** @type {any} */ { manager, operation, fieldsV1, subresource }) => [
					manager,
					operation,
					subresource,
					fieldsV1['f:metadata']?.['f:finalizers'],
				])
				// The API orders managers by time, and both may have written within one second.
				.sort((/** @type {any} */ [one], /** @type {any} */ [other]) => (one < other ? -1 : 1));
		await t.get('configmaps/a', { show: whose });
	}),
	define(
		'finalizer-remover-fights-conflict',
		'§6.1 The second of two concurrent PUTs that remove a finalizer is a conflict',
		async (t) => {
			await t.create(held(x, y));
			const { body } = await t.delete('configmaps/a');
			const without = (/** @type {string} */ gone) => ({
				...body,
				metadata: {
					...body.metadata,
					finalizers: body.metadata.finalizers.filter((/** @type {string} */ each) => each !== gone),
				},
			});
			await t.put('configmaps/a', without(x));
			await t.put('configmaps/a', without(y));
			await t.get('configmaps/a');
		},
	),
	define('finalizer-name-taken', '§1.7 §3 A1 The name of a terminating object cannot be used again', async (t) => {
		await t.create(held(x));
		await t.delete('configmaps/a');
		await t.create(configMap('a'));
		await t.patch('configmaps/a', 'merge', finalizers(null));
		await t.create(configMap('a'));
	}),
	define(
		'finalizer-apply',
		'§1.7 Server-side apply without a finalizer that the manager had applied removes it',
		async (t) => {
			const query = { fieldManager: 'owner' };
			await t.patch('configmaps/a', 'apply', { ...held(x), metadata: { name: 'a', finalizers: [x] } }, { query });
			await t.delete('configmaps/a');
			await t.patch('configmaps/a', 'apply', configMap('a'), { query });
			await t.get('configmaps/a');
		},
	),
];
