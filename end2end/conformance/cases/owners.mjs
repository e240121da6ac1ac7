/**
 * The garbage collector: owners, propagation, orphans, missing owners.
 */
import { configMap, deployment, held, job, ownedBy, pod, replicaSet, replicationController } from '../objects.mjs';
import { define } from '../suite.mjs';

/** @typedef {import('../test-context.mjs').TestContext} TestContext */

const otherUid = '6e7a1b0e-0000-4000-8000-000000000000';
const x = ['example.com/x'];
const free = { metadata: { finalizers: null } };

/** A parent and its child. @param {TestContext} t @param {Record<string, any>} [child] @param {Record<string, any>} [owner] */
async function family(t, child = {}, owner = { blockOwnerDeletion: true }) {
	const { body } = await t.create(configMap('parent'));
	await t.create(configMap('child', { ...ownedBy(body, owner), ...child }));
	return body;
}

/** @param {any} one */
const running = (one) => one?.status?.phase === 'Running';

export default [
	define('gc-background', '§8 R-S4b Background deletes the owner at once, then its dependents', async (t) => {
		await family(t);
		await t.delete('configmaps/parent', { propagationPolicy: 'Background' });
		await t.get('configmaps/parent');
		await t.gone('configmaps/child');
	}),
	define('gc-default-is-background', '§6.1 Without a policy most kinds use Background', async (t) => {
		await family(t);
		await t.delete('configmaps/parent');
		await t.gone('configmaps/parent', 'configmaps/child');
	}),
	define('gc-foreground', '§3 G1 Foreground makes the owner wait for its dependents', async (t) => {
		await family(t);
		const watch = await t.watch('configmaps', { events: 'each' });
		await t.delete('configmaps/parent', { propagationPolicy: 'Foreground' });
		await watch.gone('parent');
		watch.end();
	}),
	define(
		'gc-foreground-waits',
		'§3 G1 §8 R-S4b Foreground waits while a blocking dependent has a finalizer',
		async (t) => {
			await family(t, { finalizers: x });
			await t.delete('configmaps/parent', { propagationPolicy: 'Foreground' });
			await t.until('configmaps/child', 'is being deleted', (child) => child.metadata.deletionTimestamp);
			await t.get('configmaps/parent');
			await t.patch('configmaps/child', 'merge', free);
			await t.gone('configmaps/child', 'configmaps/parent');
		},
	),
	define('gc-foreground-not-blocking', '§3 G1 A dependent without blockOwnerDeletion does not hold its owner', async (t) => {
		await family(t, { finalizers: x }, {});
		await t.delete('configmaps/parent', { propagationPolicy: 'Foreground' });
		await t.gone('configmaps/parent');
		await t.until('configmaps/child', 'is being deleted', (child) => child?.metadata.deletionTimestamp);
	}),
	define(
		'gc-foreground-then-background',
		'§1.8 §3 G1 A second DELETE with Background removes foregroundDeletion',
		async (t) => {
			await family(t, { finalizers: x });
			await t.delete('configmaps/parent', { propagationPolicy: 'Foreground' });
			await t.until('configmaps/child', 'is being deleted', (child) => child.metadata.deletionTimestamp);
			await t.delete('configmaps/parent', { propagationPolicy: 'Background' });
			await t.gone('configmaps/parent');
			await t.get('configmaps/child');
		},
	),
	define('gc-foreground-then-unblocked', '§3 G1 Setting blockOwnerDeletion to false releases the owner', async (t) => {
		const parent = await family(t, { finalizers: x });
		await t.delete('configmaps/parent', { propagationPolicy: 'Foreground' });
		await t.until('configmaps/child', 'is being deleted', (child) => child.metadata.deletionTimestamp);
		await t.patch('configmaps/child', 'merge', { metadata: ownedBy(parent, { blockOwnerDeletion: false }) });
		await t.gone('configmaps/parent');
		await t.get('configmaps/child');
	}),
	define('gc-foreground-alone', '§3 G1 Foreground without dependents marks the object, then deletes it', async (t) => {
		await t.create(configMap('parent'));
		const watch = await t.watch('configmaps', { events: 'each' });
		await t.delete('configmaps/parent', { propagationPolicy: 'Foreground' });
		await watch.gone('parent');
		watch.end();
	}),
	define('gc-foreground-own-finalizer', '§3 G1 Foreground waits for another finalizer of the owner as well', async (t) => {
		await t.create(configMap('parent', { finalizers: x }));
		await t.delete('configmaps/parent', { propagationPolicy: 'Foreground' });
		await t.until(
			'configmaps/parent',
			'has no foregroundDeletion',
			(parent) => parent.metadata.finalizers.length === 1,
		);
		await t.patch('configmaps/parent', 'merge', free);
		await t.gone('configmaps/parent');
	}),
	define('gc-orphan', '§3 G2 §8 R-S4b Orphan removes the owner reference of the child, which stays', async (t) => {
		await family(t);
		const watch = await t.watch('configmaps');
		await t.delete('configmaps/parent', { propagationPolicy: 'Orphan' });
		await watch.gone('parent');
		watch.end();
		await t.get('configmaps/child');
	}),
	define('gc-orphan-dependents-flag', '§6.1 The deprecated orphanDependents has the same effect', async (t) => {
		await family(t);
		await t.delete('configmaps/parent', { orphanDependents: true });
		await t.gone('configmaps/parent');
		await t.get('configmaps/child');
	}),
	define('gc-orphan-many', '§3 G2 Orphan releases all dependents before the owner goes', async (t) => {
		const { body } = await t.create(configMap('parent'));
		for (const name of ['a', 'b', 'c', 'd']) await t.create(configMap(name, ownedBy(body)));
		await t.delete('configmaps/parent', { propagationPolicy: 'Orphan' });
		await t.gone('configmaps/parent');
		await t.get('configmaps');
	}),
	define(
		'gc-finalizer-is-policy',
		'§6.1 A finalizer orphan or foregroundDeletion on the object is the default policy',
		async (t) => {
			const { body } = await t.create(configMap('parent', { finalizers: ['orphan'] }));
			await t.create(configMap('child', ownedBy(body)));
			await t.delete('configmaps/parent');
			await t.gone('configmaps/parent');
			await t.get('configmaps/child');
		},
	),
	define('gc-finalizer-policy-overruled', '§6.1 An explicit policy overrides that finalizer', async (t) => {
		const { body } = await t.create(configMap('parent', { finalizers: ['orphan'] }));
		await t.create(configMap('child', ownedBy(body)));
		await t.delete('configmaps/parent', { propagationPolicy: 'Background' });
		await t.gone('configmaps/parent', 'configmaps/child');
	}),
	define('gc-absent-owner', '§3 G5 An object whose owner does not exist is deleted', async (t) => {
		const ghost = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'ghost', uid: otherUid } };
		await t.create(configMap('child', ownedBy(ghost)));
		await t.gone('configmaps/child');
	}),
	define('gc-owner-other-uid', '§3 G5 An owner of the same name with another UID does not count', async (t) => {
		const { body } = await t.create(configMap('parent'));
		await t.create(configMap('child', ownedBy({ ...body, metadata: { name: 'parent', uid: otherUid } })));
		await t.gone('configmaps/child');
		await t.get('configmaps/parent');
	}),
	define(
		'gc-cross-namespace',
		'§3 G6 §8 R-S4c An owner in another namespace causes an event and the deletion of the child',
		async (t) => {
			const other = await t.namespace(t.name('n'));
			const { body } = await t.post(`/api/v1/namespaces/${other}/configmaps`, configMap('parent'));
			await t.create(configMap('child', ownedBy(body)));
			await t.until(
				'events',
				'report it',
				(all) => all.some((/** @type {any} */ { reason }) => reason === 'OwnerRefInvalidNamespace'),
				{
					show: (all) =>
						all.map((/** @type {any} */ { type, reason, message, involvedObject, source }) => [
							type,
							reason,
							message,
							involvedObject.kind,
							source.component,
						]),
				},
			);
			await t.gone('configmaps/child');
			await t.get(`/api/v1/namespaces/${other}/configmaps/parent`);
		},
	),
	define('gc-unknown-owner-kind', '§3 G7 A child whose owner has an unknown kind is never collected', async (t) => {
		const ghost = { apiVersion: 'nowhere.example.com/v1', kind: 'Ghost', metadata: { name: 'ghost', uid: otherUid } };
		await t.create(configMap('child', { ...ownedBy(ghost) }));
		// The collector has completed a pass when another child with a missing owner is deleted.
		const absent = {
			apiVersion: 'v1',
			kind: 'ConfigMap',
			metadata: { name: 'ghost', uid: otherUid.replace(/0$/, '1') },
		};
		await t.create(configMap('other', ownedBy(absent)));
		await t.gone('configmaps/other');
		await t.get('configmaps/child');
	}),
	define(
		'gc-two-owners',
		'§3 G9 A child with another existing owner is kept and loses the reference to the deleted one',
		async (t) => {
			const { body: one } = await t.create(configMap('one'));
			const { body: two } = await t.create(configMap('two'));
			await t.create(
				configMap('child', { ownerReferences: [...ownedBy(one).ownerReferences, ...ownedBy(two).ownerReferences] }),
			);
			await t.delete('configmaps/one', { propagationPolicy: 'Background' });
			await t.until('configmaps/child', 'has one owner', (child) => child.metadata.ownerReferences.length === 1);
			await t.delete('configmaps/two', { propagationPolicy: 'Background' });
			await t.gone('configmaps/child');
		},
	),
	define(
		'gc-two-owners-foreground',
		'§3 G9 With Foreground, a child with another existing owner does not block and is kept',
		async (t) => {
			const { body: one } = await t.create(configMap('one'));
			const { body: two } = await t.create(configMap('two'));
			const blocks = { blockOwnerDeletion: true };
			await t.create(
				configMap('child', {
					ownerReferences: [...ownedBy(one, blocks).ownerReferences, ...ownedBy(two, blocks).ownerReferences],
				}),
			);
			await t.delete('configmaps/one', { propagationPolicy: 'Foreground' });
			await t.gone('configmaps/one');
			await t.until('configmaps/child', 'has one owner', (child) => child.metadata.ownerReferences.length === 1);
		},
	),
	define('gc-chain', '§6.2 Background deletes a whole chain of owners', async (t) => {
		const { body: a } = await t.create(configMap('a'));
		const { body: b } = await t.create(configMap('b', ownedBy(a)));
		await t.create(configMap('c', ownedBy(b)));
		await t.delete('configmaps/a', { propagationPolicy: 'Background' });
		await t.gone('configmaps/a', 'configmaps/b', 'configmaps/c');
	}),
	define('gc-chain-foreground', '§6.2 Foreground deletes a chain of owners from its last dependent', async (t) => {
		const blocks = { blockOwnerDeletion: true };
		const { body: a } = await t.create(configMap('a'));
		const { body: b } = await t.create(configMap('b', ownedBy(a, blocks)));
		await t.create(configMap('c', ownedBy(b, blocks)));
		const watch = await t.watch('configmaps');
		await t.delete('configmaps/a', { propagationPolicy: 'Foreground' });
		await watch.gone('a');
		t.note(
			'order',
			watch.events.filter(({ type }) => type === 'DELETED').map(({ object }) => object.metadata.name),
		);
		watch.end();
	}),
	define('gc-cycle', '§3 G8 Foreground breaks the cycle of two objects that own each other', async (t) => {
		const { body: a } = await t.create(configMap('a'));
		const { body: b } = await t.create(configMap('b', ownedBy(a, { blockOwnerDeletion: true })));
		await t.patch('configmaps/a', 'merge', { metadata: ownedBy(b, { blockOwnerDeletion: true }) });
		await t.delete('configmaps/a', { propagationPolicy: 'Foreground' });
		await t.gone('configmaps/a', 'configmaps/b');
	}),
	define('gc-cycle-background', '§3 G8 Background deletes two objects that own each other', async (t) => {
		const { body: a } = await t.create(configMap('a'));
		const { body: b } = await t.create(configMap('b', ownedBy(a)));
		await t.patch('configmaps/a', 'merge', { metadata: ownedBy(b) });
		await t.delete('configmaps/a', { propagationPolicy: 'Background' });
		await t.gone('configmaps/a', 'configmaps/b');
	}),
	define(
		'gc-self-owner',
		'§3 G8 Foreground makes an object that owns itself wait until a DELETE with Background',
		async (t) => {
			const { body: a } = await t.create(configMap('a'));
			await t.patch('configmaps/a', 'merge', { metadata: ownedBy(a, { blockOwnerDeletion: true }) });
			await t.delete('configmaps/a', { propagationPolicy: 'Foreground' });
			await t.create(configMap('later'));
			await t.delete('configmaps/later', { propagationPolicy: 'Foreground' });
			await t.gone('configmaps/later');
			await t.get('configmaps/a');
			await t.delete('configmaps/a', { propagationPolicy: 'Background' });
			await t.gone('configmaps/a');
		},
	),
	define('gc-two-controllers', 'An object has at most one controller', async (t) => {
		const { body: one } = await t.create(configMap('one'));
		const { body: two } = await t.create(configMap('two'));
		const controller = { controller: true };
		await t.create(
			configMap('child', {
				ownerReferences: [...ownedBy(one, controller).ownerReferences, ...ownedBy(two, controller).ownerReferences],
			}),
		);
	}),
	define('gc-owner-reference-invalid', 'An incomplete owner reference is refused', async (t) => {
		await t.create(configMap('a', { ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: '', uid: '' }] }));
		await t.create(configMap('a', { ownerReferences: [{ kind: 'ConfigMap', name: 'x', uid: otherUid }] }));
		await t.create(
			configMap('a', { ownerReferences: [{ apiVersion: 'v1', kind: 'Event', name: 'x', uid: otherUid }] }),
		);
	}),
	define('gc-deployment-background', '§6.2 Background deletes a Deployment at once, then its Pods', async (t) => {
		await t.create(deployment('web', { pods: { labels: { app: 'web' }, ...held } }));
		await t.until('pods', 'one runs', (all) => all.some(running));
		await t.delete('deployments/web', { propagationPolicy: 'Background' });
		await t.get('deployments/web');
		await t.gone('deployments/web');
		await t.until('replicasets', 'are gone', (all) => all.length === 0);
		await t.until('pods', 'are terminating', (all) =>
			all.every((/** @type {any} */ p) => p.metadata.deletionTimestamp),
		);
	}),
	define(
		'gc-deployment-foreground',
		'§6.2 Foreground makes a Deployment wait for its ReplicaSet and its Pods',
		async (t) => {
			await t.create(deployment('web', { pods: { labels: { app: 'web' }, ...held } }));
			const [{ metadata }] = await t.until('pods', 'one runs', (all) => all.some(running));
			await t.delete('deployments/web', { propagationPolicy: 'Foreground' });
			await t.until(`pods/${metadata.name}`, 'is terminating', (one) => one.metadata.deletionTimestamp);
			await t.get('deployments/web');
			await t.get('replicasets');
			await t.annotate(metadata.name, 'unwind.test/hold', null);
			await t.gone('deployments/web');
			await t.get('replicasets');
			await t.get('pods');
		},
	),
	define('gc-deployment-orphan', '§6.2 Orphan keeps the ReplicaSet of a Deployment without its owner', async (t) => {
		await t.create(deployment('web'));
		await t.until('pods', 'one runs', (all) => all.some(running));
		await t.delete('deployments/web', { propagationPolicy: 'Orphan' });
		await t.gone('deployments/web');
		await t.get('replicasets', {
			show: (list) => list.items.map((/** @type {any} */ one) => one.metadata.ownerReferences ?? null),
		});
		await t.get('pods');
	}),
	define('gc-replicaset-background', '§6.2 Background deletes a ReplicaSet at once, then its Pods', async (t) => {
		await t.create(replicaSet('web', { pods: { labels: { app: 'web' }, ...held } }));
		await t.until('pods', 'one runs', (all) => all.some(running));
		await t.delete('replicasets/web', { propagationPolicy: 'Background' });
		await t.get('replicasets/web');
		await t.until('pods', 'are terminating', (all) =>
			all.every((/** @type {any} */ p) => p.metadata.deletionTimestamp),
		);
	}),
	define('gc-replicaset-foreground', '§6.2 Foreground makes a ReplicaSet wait for its Pods', async (t) => {
		await t.create(replicaSet('web', { pods: { labels: { app: 'web' }, ...held } }));
		const [{ metadata }] = await t.until('pods', 'one runs', (all) => all.some(running));
		await t.delete('replicasets/web', { propagationPolicy: 'Foreground' });
		await t.until(`pods/${metadata.name}`, 'is terminating', (p) => p.metadata.deletionTimestamp);
		await t.get('replicasets/web');
		await t.annotate(metadata.name, 'unwind.test/hold', null);
		await t.gone('replicasets/web');
		await t.get('pods');
	}),
	define(
		'gc-replicationcontroller-foreground',
		'§6.2 Foreground makes a ReplicationController wait for its Pods',
		async (t) => {
			await t.create(replicationController('web', { pods: { labels: { app: 'web' }, ...held } }));
			const [{ metadata }] = await t.until('pods', 'one runs', (all) => all.some(running));
			await t.delete('replicationcontrollers/web', { propagationPolicy: 'Foreground' });
			await t.until(`pods/${metadata.name}`, 'is terminating', (p) => p.metadata.deletionTimestamp);
			await t.get('replicationcontrollers/web');
			await t.annotate(metadata.name, 'unwind.test/hold', null);
			await t.gone('replicationcontrollers/web');
			await t.get('pods');
		},
	),
	define(
		'gc-replicationcontroller-background',
		'§6.2 Background deletes a ReplicationController at once, then its Pods',
		async (t) => {
			await t.create(replicationController('web', { pods: { labels: { app: 'web' }, ...held } }));
			await t.until('pods', 'one runs', (all) => all.some(running));
			await t.delete('replicationcontrollers/web', { propagationPolicy: 'Background' });
			await t.get('replicationcontrollers/web');
			await t.until('pods', 'are terminating', (all) =>
				all.every((/** @type {any} */ p) => p.metadata.deletionTimestamp),
			);
		},
	),
	define(
		'gc-replicaset-orphan-then-adopt',
		'§6.2 Orphaned Pods are adopted by the next ReplicaSet that selects them',
		async (t) => {
			await t.create(replicaSet('one', { pods: { labels: { app: 'one' } } }));
			await t.until('pods', 'one runs', (all) => all.some(running));
			await t.delete('replicasets/one', { propagationPolicy: 'Orphan' });
			await t.gone('replicasets/one');
			await t.until('pods', 'has no owner', (all) => all.every((/** @type {any} */ p) => !p.metadata.ownerReferences));
			await t.create(
				replicaSet('two', {
					spec: {
						selector: { matchLabels: { app: 'one' } },
						template: { metadata: { labels: { app: 'one' } }, spec: { containers: [{ name: 'main', image: 'i' }] } },
					},
				}),
			);
			await t.until('pods', 'has an owner again', (all) =>
				all.every((/** @type {any} */ p) => p.metadata.ownerReferences),
			);
		},
	),
	define('gc-job-default-orphans', '§6.1 Without a policy a Job of batch/v1 orphans its Pods', async (t) => {
		await t.create(job('work', { pods: {} }));
		await t.until('pods', 'one runs', (all) => all.some(running));
		await t.delete('jobs/work');
		await t.gone('jobs/work');
		await t.until('pods', 'has no owner and no finalizer', (all) =>
			all.every((/** @type {any} */ p) => !p.metadata.ownerReferences && !p.metadata.finalizers),
		);
	}),
	define('gc-job-background', '§6.1 §6.2 Background deletes the Pods of a Job', async (t) => {
		await t.create(job('work', { pods: {} }));
		await t.until('pods', 'one runs', (all) => all.some(running));
		await t.delete('jobs/work', { propagationPolicy: 'Background' });
		await t.gone('jobs/work');
		await t.until('pods', 'are gone', (all) => all.length === 0);
	}),
	define('gc-job-foreground', '§6.2 Foreground makes a Job wait for its Pods', async (t) => {
		await t.create(job('work', { pods: held }));
		const [{ metadata }] = await t.until('pods', 'one runs', (all) => all.some(running));
		await t.delete('jobs/work', { propagationPolicy: 'Foreground' });
		await t.until(
			`pods/${metadata.name}`,
			'is terminating',
			(one) => one.metadata.deletionTimestamp && !one.metadata.finalizers,
		);
		await t.get('jobs/work');
		await t.annotate(metadata.name, 'unwind.test/hold', null);
		await t.gone('jobs/work');
		await t.get('pods');
	}),
	define(
		'gc-replicationcontroller-default-orphans',
		'§6.1 Without a policy a ReplicationController orphans its Pods',
		async (t) => {
			await t.create(replicationController('old'));
			await t.until('pods', 'one runs', (all) => all.some(running));
			await t.delete('replicationcontrollers/old');
			await t.gone('replicationcontrollers/old');
			await t.until('pods', 'has no owner reference', (all) =>
				all.every((/** @type {any} */ p) => !p.metadata.ownerReferences),
			);
		},
	),
	define('gc-pod-owned-by-configmap', '§6.2 A collected Pod has its grace period', async (t) => {
		const { body } = await t.create(configMap('parent'));
		await t.create(pod('p', { ...held, ...ownedBy(body) }));
		await t.until('pods/p', 'runs', running);
		await t.delete('configmaps/parent', { propagationPolicy: 'Background' });
		await t.until('pods/p', 'is terminating', (one) => one.metadata.deletionTimestamp);
	}),
	define('gc-cluster-owner', '§3 G6 A namespaced child of a cluster-scoped owner is collected', async (t) => {
		const name = t.name('role');
		const { body } = await t.create({
			apiVersion: 'rbac.authorization.k8s.io/v1',
			kind: 'ClusterRole',
			metadata: { name },
			rules: [],
		});
		await t.create(configMap('child', ownedBy(body)));
		await t.delete(`clusterroles/${name}`, { propagationPolicy: 'Background' });
		await t.gone('configmaps/child');
	}),
	define(
		'gc-cluster-dependent',
		'§3 G6 A cluster-scoped object with a namespaced owner is never collected',
		async (t) => {
			const { body } = await t.create(configMap('parent'));
			await t.create(configMap('sibling', ownedBy(body)));
			const name = t.name('role');
			await t.create({
				apiVersion: 'rbac.authorization.k8s.io/v1',
				kind: 'ClusterRole',
				metadata: { name, ...ownedBy(body) },
				rules: [],
			});
			await t.delete('configmaps/parent', { propagationPolicy: 'Background' });
			await t.gone('configmaps/sibling');
			await t.get(`clusterroles/${name}`);
		},
	),
	define(
		'gc-foreground-of-dependent',
		'§3 G1 Foreground applies to blocking dependents of dependents too',
		async (t) => {
			const blocks = { blockOwnerDeletion: true };
			const { body: a } = await t.create(configMap('a'));
			const { body: b } = await t.create(configMap('b', ownedBy(a, blocks)));
			await t.create(configMap('c', { ...ownedBy(b, blocks), finalizers: x }));
			await t.delete('configmaps/a', { propagationPolicy: 'Foreground' });
			await t.until('configmaps/c', 'is terminating', (one) => one.metadata.deletionTimestamp);
			await t.get('configmaps');
			await t.patch('configmaps/c', 'merge', free);
			await t.gone('configmaps/a');
		},
	),
];
