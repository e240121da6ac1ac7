/**
 * DELETE and its options: preconditions, dry run, propagation, collections.
 */
import { configMap, held, ownedBy, pod, service } from '../objects.mjs';
import { define } from '../suite.mjs';

/** @typedef {import('../test-context.mjs').TestContext} TestContext */

const otherUid = '6e7a1b0e-0000-4000-8000-000000000000';
const ofCase = { query: { labelSelector: 'of=case' } };

/** Two parents that are deleted by deletecollection, each with a child that is not. @param {TestContext} t @param {Record<string, any>} [child] metadata */
async function families(t, child = {}) {
	for (const name of ['a', 'b']) {
		const { body } = await t.create(configMap(name, { labels: { of: 'case' } }));
		await t.create(configMap(`child-of-${name}`, { ...ownedBy(body, { blockOwnerDeletion: true }), ...child }));
	}
}

export default [
	define('delete-answers', 'DELETE returns a Status with the UID, or the object if it still exists', async (t) => {
		await t.create(configMap('a'));
		await t.delete('configmaps/a');
		await t.create(service('s'));
		await t.delete('services/s');
		await t.delete('configmaps/a');
	}),
	define('delete-precondition-uid', '§3 A1 §6.1 A DELETE with another UID is a conflict', async (t) => {
		const { body } = await t.create(configMap('a'));
		await t.delete('configmaps/a', { preconditions: { uid: otherUid } });
		await t.delete('configmaps/a', { preconditions: { uid: body.metadata.uid } });
		await t.get('configmaps/a');
	}),
	define(
		'delete-precondition-resource-version',
		'§6.1 A DELETE with another resourceVersion is a conflict',
		async (t) => {
			const { body } = await t.create(configMap('a'));
			await t.patch('configmaps/a', 'merge', { data: { k: 'v' } });
			await t.delete('configmaps/a', { preconditions: { resourceVersion: body.metadata.resourceVersion } });
			const { body: now } = await t.get('configmaps/a');
			await t.delete('configmaps/a', {
				preconditions: { uid: now.metadata.uid, resourceVersion: now.metadata.resourceVersion },
			});
		},
	),
	define(
		'delete-precondition-recreated',
		'§6.1 A UID precondition protects an object that was created again under the same name',
		async (t) => {
			const { body } = await t.create(configMap('a'));
			await t.delete('configmaps/a');
			await t.create(configMap('a'));
			await t.delete('configmaps/a', { preconditions: { uid: body.metadata.uid } });
			await t.get('configmaps/a');
		},
	),
	define('delete-precondition-pod', '§6.1 Preconditions apply to a graceful deletion', async (t) => {
		const { body } = await t.create(pod('p', held));
		await t.until('pods/p', 'runs', (found) => found?.status.phase === 'Running');
		await t.delete('pods/p', { preconditions: { uid: otherUid } });
		await t.delete('pods/p', { preconditions: { uid: body.metadata.uid } });
		await t.delete('pods/p', { preconditions: { uid: otherUid }, gracePeriodSeconds: 0 });
		await t.delete('pods/p', { preconditions: { uid: body.metadata.uid }, gracePeriodSeconds: 0 });
		await t.gone('pods/p');
	}),
	define('delete-dry-run', '§6.1 A dry run of DELETE returns the result and changes nothing', async (t) => {
		await t.create(configMap('a', { finalizers: ['example.com/x'] }));
		await t.create(configMap('b'));
		await t.delete('configmaps/a', { dryRun: ['All'] });
		await t.delete('configmaps/b', undefined, { query: { dryRun: 'All' } });
		await t.get('configmaps/a');
		await t.get('configmaps/b');
		await t.delete('configmaps/none', { dryRun: ['All'] });
		await t.delete('configmaps/b', { dryRun: ['All'], preconditions: { uid: otherUid } });
	}),
	define('delete-dry-run-pod', '§6.1 A dry run of DELETE returns a running Pod with its deadline', async (t) => {
		await t.create(pod('p', held));
		await t.until('pods/p', 'runs', (found) => found?.status.phase === 'Running');
		await t.delete('pods/p', { dryRun: ['All'] });
		await t.get('pods/p');
	}),
	define('delete-dry-run-namespace', '§6.1 A dry run of DELETE returns a namespace and changes nothing', async (t) => {
		const other = await t.namespace(t.name('n'));
		await t.delete(`namespaces/${other}`, { dryRun: ['All'] });
		await t.get(`namespaces/${other}`, { fields: ['status.phase', 'spec.finalizers'] });
	}),
	define('delete-dry-run-unknown', 'dryRun accepts only All', async (t) => {
		await t.create(configMap('a'));
		await t.delete('configmaps/a', { dryRun: ['Some'] });
		await t.delete('configmaps/a', undefined, { query: { dryRun: 'Some' } });
		await t.get('configmaps/a');
	}),
	define('delete-propagation-unknown', 'propagationPolicy accepts only Background, Foreground and Orphan', async (t) => {
		await t.create(configMap('a'));
		await t.delete('configmaps/a', { propagationPolicy: 'Sideways' });
		await t.delete('configmaps/a', { propagationPolicy: 'Orphan', orphanDependents: true });
		await t.delete('configmaps/a', undefined, { query: { propagationPolicy: 'Sideways' } });
		await t.get('configmaps/a');
	}),
	define('delete-options-unknown-kind', 'A DELETE body of another kind than DeleteOptions is refused', async (t) => {
		await t.create(configMap('a'));
		await t.delete('configmaps/a', configMap('a'));
		await t.delete('configmaps/a', { kind: 'DeleteOptions', apiVersion: 'v1', propagationPolicy: 'Background' });
	}),
	define('delete-options-in-query', 'Options in the query apply if there is no body', async (t) => {
		await t.create(configMap('a', { finalizers: ['example.com/x'] }));
		await t.delete('configmaps/a', undefined, { query: { propagationPolicy: 'Foreground' } });
		await t.until('configmaps/a', 'has one finalizer', (one) => one.metadata.finalizers.length === 1);
	}),
	define('delete-unknown-field', 'An unknown field in DeleteOptions is ignored', async (t) => {
		await t.create(configMap('a'));
		await t.delete('configmaps/a', { kind: 'DeleteOptions', apiVersion: 'v1', colour: 'red' });
	}),
	define('deletecollection', '§6.1 deletecollection deletes every object and returns the list', async (t) => {
		for (const name of ['a', 'b', 'c']) await t.create(configMap(name, { labels: { of: 'case' } }));
		await t.create(configMap('d'));
		await t.delete('configmaps', undefined, { query: { labelSelector: 'of=case' } });
		await t.get('configmaps');
	}),
	define('deletecollection-field-selector', '§6.1 deletecollection deletes only what its field selector matches', async (t) => {
		for (const name of ['a', 'b']) await t.create(configMap(name));
		await t.delete('configmaps', undefined, { query: { fieldSelector: 'metadata.name=a' } });
		await t.get('configmaps');
	}),
	define('deletecollection-finalizers', '§6.1 deletecollection applies its options to each object', async (t) => {
		await t.create(configMap('a', { labels: { of: 'case' }, finalizers: ['example.com/x'] }));
		await t.create(configMap('b', { labels: { of: 'case' } }));
		await t.delete('configmaps', { propagationPolicy: 'Background' }, { query: { labelSelector: 'of=case' } });
		await t.get('configmaps');
	}),
	define(
		'deletecollection-foreground',
		'§3 G1 §6.1 deletecollection with Foreground makes each object wait for its own dependents',
		async (t) => {
			await families(t, { finalizers: ['example.com/x'] });
			await t.delete('configmaps', { propagationPolicy: 'Foreground' }, ofCase);
			for (const name of ['child-of-a', 'child-of-b'])
				await t.until(`configmaps/${name}`, 'is terminating', (one) => one?.metadata.deletionTimestamp);
			await t.get('configmaps');
			await t.patch('configmaps/child-of-a', 'merge', { metadata: { finalizers: null } });
			await t.gone('configmaps/a');
			await t.get('configmaps');
			await t.patch('configmaps/child-of-b', 'merge', { metadata: { finalizers: null } });
			await t.gone('configmaps/b');
		},
	),
	define(
		'deletecollection-orphan',
		'§3 G2 §6.1 deletecollection with Orphan removes the owner references of the dependents',
		async (t) => {
			await families(t);
			await t.delete('configmaps', { propagationPolicy: 'Orphan' }, ofCase);
			await t.gone('configmaps/a', 'configmaps/b');
			await t.get('configmaps');
		},
	),
	define(
		'deletecollection-precondition',
		'§3 A1 §6.1 deletecollection with a UID precondition stops at the first object with another UID',
		async (t) => {
			const { body } = await t.create(configMap('a'));
			for (const name of ['b', 'c']) await t.create(configMap(name));
			await t.delete('configmaps', { preconditions: { uid: otherUid } });
			await t.get('configmaps');
			await t.delete('configmaps', { preconditions: { uid: body.metadata.uid } });
			await t.get('configmaps');
		},
	),
	define('deletecollection-dry-run', '§6.1 A dry run of deletecollection changes nothing', async (t) => {
		await t.create(configMap('a', { labels: { of: 'case' } }));
		await t.delete('configmaps', { dryRun: ['All'] }, { query: { labelSelector: 'of=case' } });
		await t.get('configmaps');
	}),
	define('deletecollection-not-everywhere', 'Namespaces, and collections across namespaces, have no deletecollection', async (t) => {
		await t.delete('namespaces');
		await t.delete('/api/v1/configmaps');
	}),
	define('deletecollection-pods', '§6.1 deletecollection of Pods uses the grace period', async (t) => {
		for (const name of ['a', 'b']) await t.create(pod(name, { ...held, labels: { of: 'case' } }));
		await t.until(
			'pods',
			'both run',
			(all) => all.length === 2 && all.every((/** @type {any} */ p) => p.status.phase === 'Running'),
		);
		await t.delete('pods', { gracePeriodSeconds: 7 }, { query: { labelSelector: 'of=case' } });
		await t.get('pods');
		await t.delete('pods', { gracePeriodSeconds: 0 }, { query: { labelSelector: 'of=case' } });
		await t.get('pods');
	}),
	define(
		'delete-service-account',
		'A ServiceAccount is deleted at once; default is recreated with a new UID',
		async (t) => {
			const { body } = await t.get('serviceaccounts/default');
			await t.delete('serviceaccounts/default', undefined, { fields: [] });
			await t.until('serviceaccounts/default', 'is recreated', (found) => found && found.metadata.uid !== body.metadata.uid);
		},
	),
];
