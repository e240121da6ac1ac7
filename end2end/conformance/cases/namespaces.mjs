/**
 * Namespaces: the order of deletion, what blocks it, and the conditions that report it.
 */
import { conditions, deleteUntilBlocked, hasCondition } from '../conditions.mjs';
import { configMap, definition, held, pod, unplacedPod, widget } from '../objects.mjs';
import { define } from '../suite.mjs';

/** @typedef {import('../test-context.mjs').TestContext} TestContext */

const x = ['example.com/x'];
const free = { metadata: { finalizers: null } };
/** Without a resourceVersion, because the controller may write conditions at the same time. @param {string} name */
const finalized = (name) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name }, spec: { finalizers: [] } });
/** Content that a namespace waits for. It is terminating already, so that the namespace controller does not change it. @param {TestContext} t */
async function lastOne(t) {
	await t.create(configMap('a', { finalizers: x }));
	await t.delete('configmaps/a');
}

export default [
	define('ns-created', 'A new namespace is Active and has a finalizer in its spec', async (t) => {
		await t.create(
			{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: t.name('n') } },
			{ fields: ['status.phase', 'spec.finalizers', 'metadata.labels'] },
		);
	}),
	define('ns-deleted', 'Deleting a namespace deletes its content', async (t) => {
		await t.create(configMap('a'));
		const watch = await t.watch('namespaces', {
			query: { fieldSelector: `metadata.name=${t.ns}` },
			fields: ['status.phase', 'spec.finalizers'],
			events: 'each',
		});
		await t.delete(`namespaces/${t.ns}`, undefined, { fields: ['status.phase', 'spec.finalizers'] });
		await watch.gone(t.ns);
		t.note(
			'seen',
			watch.events
				.map(({ type, object }) => [type, object.status.phase])
				.filter(([type, phase], at, all) => at === 0 || type !== all[at - 1][0] || phase !== all[at - 1][1]),
		);
		await t.get('configmaps/a');
	}),
	define('ns-second-delete', '§0c §1.8 A second DELETE of a namespace returns 200 and changes nothing', async (t) => {
		await lastOne(t);
		await t.delete(`namespaces/${t.ns}`, undefined, { fields: ['status.phase'] });
		await t.delete(`namespaces/${t.ns}`, undefined, { fields: ['status.phase'] });
		await t.patch('configmaps/a', 'merge', free);
	}),
	define('ns-no-creation', '§1.6 Nothing can be created in a terminating namespace', async (t) => {
		await lastOne(t);
		await t.delete(`namespaces/${t.ns}`);
		await t.create(configMap('b'));
		await t.create(pod('p'));
		await t.create({
			apiVersion: 'v1',
			kind: 'Event',
			metadata: { name: 'e' },
			involvedObject: { kind: 'ConfigMap', name: 'a', namespace: t.ns },
		});
		await t.patch('configmaps/a', 'merge', { data: { k: 'v' } }, { fields: ['data'] });
		await t.patch('configmaps/a', 'merge', free);
	}),
	define(
		'ns-event-patched',
		'§1.6 An existing Event of a terminating namespace can be patched, but none can be created',
		async (t) => {
			// While a Pod remains, no other kind is deleted.
			const { body } = await t.create(unplacedPod('p', { finalizers: x }));
			const { name, uid } = body.metadata;
			/** @param {string} event */
			const about = (event) => ({
				apiVersion: 'v1',
				kind: 'Event',
				metadata: { name: event },
				involvedObject: { apiVersion: 'v1', kind: 'Pod', namespace: t.ns, name, uid },
				reason: 'FailedKillPod',
				type: 'Warning',
				count: 1,
			});
			await t.create(about('before'), { fields: ['count'] });
			await t.delete(`namespaces/${t.ns}`);
			await t.until('pods/p', 'is terminating', (one) => one.metadata.deletionTimestamp);
			await t.patch('events/before', 'strategic', { count: 2, message: 'again' }, { fields: ['count', 'message'] });
			await t.create(about('after'));
			await t.patch('pods/p', 'merge', free);
			await t.gone(`namespaces/${t.ns}`);
		},
	),
	define('ns-remaining', '§3 N4 Conditions count the remaining objects of a namespace and their finalizers', async (t) => {
		await t.create(configMap('a', { finalizers: x }));
		await t.create(configMap('b', { finalizers: x }));
		await t.create(configMap('c'));
		await t.delete(`namespaces/${t.ns}`);
		await t.until(`namespaces/${t.ns}`, 'reports what remains', (ns) => hasCondition(ns, 'NamespaceContentRemaining', 'True'), {
			show: conditions,
		});
		await t.get('configmaps');
		for (const name of ['a', 'b']) await t.patch(`configmaps/${name}`, 'merge', free);
		await t.gone(`namespaces/${t.ns}`);
	}),
	define('ns-pods-first', '§3 N5 Pods are deleted first, and other content only when no Pod remains', async (t) => {
		await t.create(configMap('a'));
		await t.create(pod('p', held));
		await t.until('pods/p', 'runs', (one) => one?.status.phase === 'Running');
		await t.delete(`namespaces/${t.ns}`);
		await t.until('pods/p', 'is terminating', (one) => one.metadata.deletionTimestamp);
		await t.until(`namespaces/${t.ns}`, 'has conditions', (ns) => ns.status.conditions?.length === 5, {
			show: conditions,
		});
		await t.get('configmaps/a');
		await t.annotate('p', 'unwind.test/hold', null);
		await t.gone(`namespaces/${t.ns}`);
	}),
	define(
		'ns-pod-finalizer',
		'§3 N5 §8 R-S3 A Pod with a finalizer holds the namespace although no condition reports a problem',
		async (t) => {
			await t.create(unplacedPod('p', { finalizers: x }));
			await t.create(configMap('a'));
			await t.delete(`namespaces/${t.ns}`);
			await t.until(`namespaces/${t.ns}`, 'has conditions', (ns) => ns.status.conditions?.length === 5, {
				show: conditions,
			});
			await t.get('configmaps/a');
			await t.patch('pods/p', 'merge', free);
			await t.gone(`namespaces/${t.ns}`);
		},
	),
	define('ns-pod-past-grace', '§3 N3 N5 A Pod past its grace period without a finalizer is reported as unexpected', async (t) => {
		await t.create(pod('p', held, { terminationGracePeriodSeconds: 1 }));
		await t.until('pods/p', 'runs', (one) => one?.status.phase === 'Running');
		await deleteUntilBlocked(t);
		await t.get('pods/p');
		await t.annotate('p', 'unwind.test/hold', null);
		await t.gone(`namespaces/${t.ns}`);
	}),
	define(
		'ns-extra-spec-finalizer',
		'§3 N6 An additional finalizer in the spec holds the namespace until PUT finalize removes it',
		async (t) => {
			const name = t.name('n');
			await t.create(
				{ apiVersion: 'v1', kind: 'Namespace', metadata: { name }, spec: { finalizers: ['example.com/own'] } },
				{ fields: ['spec.finalizers'] },
			);
			await t.delete(`namespaces/${name}`);
			await t.until(
				`namespaces/${name}`,
				'has no finalizer kubernetes',
				(one) => one.spec.finalizers.length === 1,
				{ fields: ['spec.finalizers', 'status.conditions'] },
			);
			await t.put(`namespaces/${name}/finalize`, finalized(name), { fields: ['spec.finalizers', 'status.phase'] });
			await t.gone(`namespaces/${name}`);
		},
	),
	define(
		'ns-metadata-finalizer',
		'§3 N6 A finalizer in the metadata holds the namespace after its content is gone',
		async (t) => {
			const name = t.name('n');
			await t.namespace(name, { finalizers: x });
			await t.delete(`namespaces/${name}`);
			await t.until(`namespaces/${name}`, 'has no finalizer in the spec', (ns) => !ns.spec.finalizers, {
				fields: ['status.phase', 'spec', 'status.conditions'],
			});
			await t.patch(`namespaces/${name}`, 'merge', free, { fields: ['status.phase'] });
			await t.get(`namespaces/${name}`);
		},
	),
	define('ns-finalize-only-there', '§3 N6 spec.finalizers can be changed only by PUT finalize', async (t) => {
		const name = t.name('n');
		await t.namespace(name);
		await t.patch(
			`namespaces/${name}`,
			'merge',
			{ spec: { finalizers: ['example.com/own'] } },
			{ fields: ['spec.finalizers'] },
		);
		await t.patch(`namespaces/${name}/finalize`, 'merge', { spec: { finalizers: [] } });
		await t.get(`namespaces/${name}/finalize`);
		await t.put(
			`namespaces/${name}/finalize`,
			{
				apiVersion: 'v1',
				kind: 'Namespace',
				metadata: { name },
				spec: { finalizers: ['kubernetes', 'example.com/own'] },
			},
			{ fields: ['spec.finalizers'] },
		);
		await t.put(`namespaces/${name}/finalize`, {
			apiVersion: 'v1',
			kind: 'Namespace',
			metadata: { name },
			spec: { finalizers: ['nonsense'] },
		});
	}),
	define(
		'ns-forced-finalize',
		'§3 N8 §8 R-S4e After a forced finalize the content of a namespace can be read but not changed until the namespace is recreated',
		async (t) => {
			const name = t.name('n');
			await t.namespace(name);
			const inside = `/api/v1/namespaces/${name}/configmaps`;
			await t.post(inside, configMap('a', { finalizers: x }));
			await t.delete(`namespaces/${name}`);
			await t.until(
				`namespaces/${name}`,
				'reports what remains',
				(one) => hasCondition(one, 'NamespaceContentRemaining', 'True'),
				{ unrecorded: true },
			);
			await t.put(`namespaces/${name}/finalize`, finalized(name), { fields: ['spec'] });
			await t.get(`namespaces/${name}`);
			await t.get(`${inside}/a`);
			await t.patch(`${inside}/a`, 'merge', free);
			await t.delete(`${inside}/a`);
			await t.post(inside, configMap('b'));
			await t.namespace(name);
			await t.patch(`${inside}/a`, 'merge', free);
			await t.get(`${inside}/a`);
		},
	),
	define('ns-immortal', '§3 N9 Three namespaces cannot be deleted', async (t) => {
		await t.delete('namespaces/default');
		await t.delete('namespaces/kube-system', undefined, { query: { dryRun: 'All' } });
		await t.delete('namespaces/kube-public', undefined, { query: { dryRun: 'All' } });
	}),
	define('ns-recreated', '§3 N9 A namespace can be recreated, with another UID', async (t) => {
		const name = t.name('n');
		const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
		const { body: first } = await t.create({ ...body, metadata: { name, finalizers: x } });
		await t.create(body);
		await t.delete(`namespaces/${name}`);
		await t.create(body);
		await t.patch(`namespaces/${name}`, 'merge', free, { unrecorded: true });
		await t.gone(`namespaces/${name}`);
		const { body: second } = await t.create(body);
		t.note('another UID', first.metadata.uid !== second.metadata.uid);
	}),
	define('ns-uid-precondition', '§6.1 A DELETE of a namespace with another UID is a conflict', async (t) => {
		await t.delete(`namespaces/${t.ns}`, { preconditions: { uid: '6e7a1b0e-0000-4000-8000-000000000000' } });
	}),
	define('ns-invalid-name', 'The name of a namespace has to be a DNS label', async (t) => {
		await t.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'Not.A.Label' } });
		await t.create({ apiVersion: 'v1', kind: 'Namespace', metadata: {} });
	}),
	define('ns-missing', 'Nothing can be created in a namespace that does not exist', async (t) => {
		await t.post('/api/v1/namespaces/nowhere-at-all/configmaps', configMap('a'));
		await t.get('/api/v1/namespaces/nowhere-at-all/configmaps');
		await t.get('/api/v1/namespaces/nowhere-at-all/configmaps/a');
		await t.delete('/api/v1/namespaces/nowhere-at-all/configmaps/a');
		await t.patch('/api/v1/namespaces/nowhere-at-all/configmaps/a', 'merge', {});
		await t.delete('namespaces/nowhere-at-all');
	}),
	define('ns-other-in-body', 'The namespace in the body has to equal the one in the path', async (t) => {
		await t.create(configMap('a', { namespace: 'default' }));
		await t.create(configMap('a', { namespace: t.ns }));
	}),
	define(
		'ns-custom-resource',
		'§3 N4 X2 §8 R-S4e A custom resource without its operator holds the namespace',
		async (t) => {
			const { body } = await t.create(definition(t.ns), { unrecorded: true });
			await t.until(
				`customresourcedefinitions/${body.metadata.name}`,
				'is established',
				(crd) => hasCondition(crd, 'Established', 'True'),
				{ unrecorded: true },
			);
			const path = `/apis/${t.ns}.example.com/v1/namespaces/${t.ns}/widgets`;
			await t.post(path, widget(t.ns, 'w', { finalizers: x }));
			await t.delete(`namespaces/${t.ns}`);
			await t.until(`namespaces/${t.ns}`, 'reports what remains', (ns) => hasCondition(ns, 'NamespaceContentRemaining', 'True'), {
				show: conditions,
			});
			await t.patch(`${path}/w`, 'merge', free);
			await t.gone(`namespaces/${t.ns}`);
		},
	),
	define('ns-owner-and-finalizers', '§3 N4 Owner references do not order the deletion of the content of a namespace', async (t) => {
		const { body } = await t.create(configMap('parent', { finalizers: x }));
		await t.create(
			configMap('child', {
				ownerReferences: [
					{ apiVersion: 'v1', kind: 'ConfigMap', name: 'parent', uid: body.metadata.uid, blockOwnerDeletion: true },
				],
			}),
		);
		await t.delete(`namespaces/${t.ns}`);
		await t.gone('configmaps/child');
		await t.until('configmaps/parent', 'is terminating', (one) => one.metadata.deletionTimestamp);
		await t.patch('configmaps/parent', 'merge', free);
		await t.gone(`namespaces/${t.ns}`);
	}),
];
