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
	define('delete-answers', 'DELETE answers a Status with the UID, or the object if it is still there', async (t) => {
		await t.create(configMap('a'));
		await t.delete('configmaps/a');
		await t.create(service('s'));
		await t.delete('services/s');
		await t.delete('configmaps/a');
	}),
	define('delete-precondition-uid', '§3 A1 §6.1 A DELETE for another UID is a conflict', async (t) => {
		const { body } = await t.create(configMap('a'));
		await t.delete('configmaps/a', { preconditions: { uid: otherUid } });
		await t.delete('configmaps/a', { preconditions: { uid: body.metadata.uid } });
		await t.get('configmaps/a');
	}),
	define(
		'delete-precondition-resource-version',
		'§6.1 A DELETE for another resourceVersion is a conflict',
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
		'§6.1 The UID protects an object that was made again under the same name',
		async (t) => {
			const { body } = await t.create(configMap('a'));
			await t.delete('configmaps/a');
			await t.create(configMap('a'));
			await t.delete('configmaps/a', { preconditions: { uid: body.metadata.uid } });
			await t.get('configmaps/a');
		},
	),
	define('delete-precondition-pod', '§6.1 Preconditions of a graceful deletion', async (t) => {
		const { body } = await t.create(pod('p', held));
		await t.until('pods/p', 'runs', (found) => found?.status.phase === 'Running');
		await t.delete('pods/p', { preconditions: { uid: otherUid } });
		await t.delete('pods/p', { preconditions: { uid: body.metadata.uid } });
		await t.delete('pods/p', { preconditions: { uid: otherUid }, gracePeriodSeconds: 0 });
		await t.delete('pods/p', { preconditions: { uid: body.metadata.uid }, gracePeriodSeconds: 0 });
		await t.gone('pods/p');
	}),
	define('delete-dry-run', '§6.1 A dry run of DELETE answers what would be, and changes nothing', async (t) => {
		await t.create(configMap('a', { finalizers: ['example.com/x'] }));
		await t.create(configMap('b'));
		await t.delete('configmaps/a', { dryRun: ['All'] });
		await t.delete('configmaps/b', undefined, { query: { dryRun: 'All' } });
		await t.get('configmaps/a');
		await t.get('configmaps/b');
		await t.delete('configmaps/none', { dryRun: ['All'] });
		await t.delete('configmaps/b', { dryRun: ['All'], preconditions: { uid: otherUid } });
	}),
	define('delete-dry-run-pod', '§6.1 A dry run of DELETE of a running Pod', async (t) => {
		await t.create(pod('p', held));
		await t.until('pods/p', 'runs', (found) => found?.status.phase === 'Running');
		await t.delete('pods/p', { dryRun: ['All'] });
		await t.get('pods/p');
	}),
	define('delete-dry-run-namespace', '§6.1 A dry run of DELETE of a namespace', async (t) => {
		const other = await t.namespace(t.name('n'));
		await t.delete(`namespaces/${other}`, { dryRun: ['All'] });
		await t.get(`namespaces/${other}`, { fields: ['status.phase', 'spec.finalizers'] });
	}),
	define('delete-dry-run-unknown', 'There is no dry run but All', async (t) => {
		await t.create(configMap('a'));
		await t.delete('configmaps/a', { dryRun: ['Some'] });
		await t.delete('configmaps/a', undefined, { query: { dryRun: 'Some' } });
		await t.get('configmaps/a');
	}),
	define('delete-propagation-unknown', 'There are three propagation policies', async (t) => {
		await t.create(configMap('a'));
		await t.delete('configmaps/a', { propagationPolicy: 'Sideways' });
		await t.delete('configmaps/a', { propagationPolicy: 'Orphan', orphanDependents: true });
		await t.delete('configmaps/a', undefined, { query: { propagationPolicy: 'Sideways' } });
		await t.get('configmaps/a');
	}),
	define('delete-options-unknown-kind', 'DELETE takes DeleteOptions as its body', async (t) => {
		await t.create(configMap('a'));
		await t.delete('configmaps/a', configMap('a'));
		await t.delete('configmaps/a', { kind: 'DeleteOptions', apiVersion: 'v1', propagationPolicy: 'Background' });
	}),
	define('delete-options-in-query', 'Options in the query count, when there is no body', async (t) => {
		await t.create(configMap('a', { finalizers: ['example.com/x'] }));
		await t.delete('configmaps/a', undefined, { query: { propagationPolicy: 'Foreground' } });
		await t.until('configmaps/a', 'was looked at by the collector', (one) => one.metadata.finalizers.length === 1);
	}),
	define('delete-unknown-field', 'A field that DeleteOptions does not have is passed over', async (t) => {
		await t.create(configMap('a'));
		await t.delete('configmaps/a', { kind: 'DeleteOptions', apiVersion: 'v1', colour: 'red' });
	}),
	define('deletecollection', '§6.1 deletecollection deletes all, and answers what it found', async (t) => {
		for (const name of ['a', 'b', 'c']) await t.create(configMap(name, { labels: { of: 'case' } }));
		await t.create(configMap('d'));
		await t.delete('configmaps', undefined, { query: { labelSelector: 'of=case' } });
		await t.get('configmaps');
	}),
	define('deletecollection-field-selector', '§6.1 deletecollection with a field selector', async (t) => {
		for (const name of ['a', 'b']) await t.create(configMap(name));
		await t.delete('configmaps', undefined, { query: { fieldSelector: 'metadata.name=a' } });
		await t.get('configmaps');
	}),
	define('deletecollection-finalizers', '§6.1 Options of deletecollection apply to each object', async (t) => {
		await t.create(configMap('a', { labels: { of: 'case' }, finalizers: ['example.com/x'] }));
		await t.create(configMap('b', { labels: { of: 'case' } }));
		await t.delete('configmaps', { propagationPolicy: 'Background' }, { query: { labelSelector: 'of=case' } });
		await t.get('configmaps');
	}),
	define(
		'deletecollection-foreground',
		'§3 G1 §6.1 deletecollection with Foreground: each waits for its own dependents',
		async (t) => {
			await families(t, { finalizers: ['example.com/x'] });
			await t.delete('configmaps', { propagationPolicy: 'Foreground' }, ofCase);
			for (const name of ['child-of-a', 'child-of-b'])
				await t.until(`configmaps/${name}`, 'is told to go', (one) => one?.metadata.deletionTimestamp);
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
		'§3 G2 §6.1 deletecollection with Orphan: the children lose their owners and stay',
		async (t) => {
			await families(t);
			await t.delete('configmaps', { propagationPolicy: 'Orphan' }, ofCase);
			await t.gone('configmaps/a', 'configmaps/b');
			await t.get('configmaps');
		},
	),
	define(
		'deletecollection-precondition',
		'§3 A1 §6.1 The UID that deletecollection is given counts for each: it ends at the first that has another',
		async (t) => {
			const { body } = await t.create(configMap('a'));
			for (const name of ['b', 'c']) await t.create(configMap(name));
			await t.delete('configmaps', { preconditions: { uid: otherUid } });
			await t.get('configmaps');
			await t.delete('configmaps', { preconditions: { uid: body.metadata.uid } });
			await t.get('configmaps');
		},
	),
	define('deletecollection-dry-run', '§6.1 A dry run of deletecollection', async (t) => {
		await t.create(configMap('a', { labels: { of: 'case' } }));
		await t.delete('configmaps', { dryRun: ['All'] }, { query: { labelSelector: 'of=case' } });
		await t.get('configmaps');
	}),
	define('deletecollection-not-everywhere', 'Some collections cannot be deleted as a whole', async (t) => {
		await t.delete('namespaces');
		await t.delete('/api/v1/configmaps');
	}),
	define('deletecollection-pods', '§6.1 deletecollection of Pods with a grace period', async (t) => {
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
		'A token-less ServiceAccount is deleted at once; default comes back with a new UID',
		async (t) => {
			const { body } = await t.get('serviceaccounts/default');
			await t.delete('serviceaccounts/default', undefined, { fields: [] });
			await t.until('serviceaccounts/default', 'is back', (found) => found && found.metadata.uid !== body.metadata.uid);
		},
	),
];
