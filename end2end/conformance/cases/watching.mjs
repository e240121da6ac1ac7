/**
 * Watches: their first revision, their events, their end.
 */
import { configMap, held, pod } from '../objects.mjs';
import { define } from '../suite.mjs';

/** @typedef {import('../test-context.mjs').TestContext} TestContext */

const metadataOnly = { accept: 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io' };
const table = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' };
const of = 'of=case';
/** @param {string} name */
const labelled = (name) => configMap(name, { labels: { of: 'case' } });
/** @param {string} of */
const relabel = (of) => ({ metadata: { labels: { of } } });

/** @param {TestContext} t @param {...string} names */
async function several(t, ...names) {
	for (const name of names) await t.create(labelled(name), { unrecorded: true });
}
/** @param {TestContext} t */
const revision = async (t) => (await t.get('configmaps', { show: () => 'a revision' })).body.metadata.resourceVersion;
/** @param {number} count */
const seen = (count) => (/** @type {any[]} */ events) => events.length >= count;

export default [
	define('watch-from-now', 'A watch without a resourceVersion begins with the existing objects', async (t) => {
		await several(t, 'a', 'b');
		const watch = await t.watch('configmaps', { query: { labelSelector: of }, events: 'each' });
		await watch.until('both', seen(2));
		await several(t, 'c');
		await watch.until('the third', seen(3));
		watch.end();
	}),
	define('watch-from-revision', 'A watch from a resourceVersion reports later events', async (t) => {
		await several(t, 'a');
		const resourceVersion = await revision(t);
		await several(t, 'b');
		await t.delete('configmaps/a', undefined, { unrecorded: true });
		const watch = await t.watch('configmaps', { query: { labelSelector: of }, events: 'each', from: resourceVersion });
		await watch.until('both', seen(2));
		watch.end();
	}),
	define('watch-from-zero', 'A watch from 0 begins with the existing objects', async (t) => {
		await several(t, 'a');
		const watch = await t.watch('configmaps', { query: { labelSelector: of, resourceVersion: 0 }, events: 'each' });
		await watch.until('it', seen(1));
		watch.end();
	}),
	define(
		'watch-deleted-object',
		'DELETED contains the last state of the object, with the revision of the deletion',
		async (t) => {
			const { body } = await t.create(configMap('a', {}, { data: { k: 'v' } }));
			const watch = await t.watch('configmaps', { fields: ['data'], events: 'each', from: body.metadata.resourceVersion });
			await t.delete('configmaps/a');
			await watch.gone('a');
			watch.end();
			t.note(
				'a later revision',
				Number(watch.events[0].object.metadata.resourceVersion) > Number(body.metadata.resourceVersion),
			);
		},
	),
	define('watch-leaves-selector', 'An object that leaves the selector is DELETED, one that enters it is ADDED', async (t) => {
		await several(t, 'a');
		const watch = await t.watch('configmaps', {
			query: { labelSelector: of },
			fields: ['metadata.labels.of'],
			events: 'each',
		});
		await watch.until('it', seen(1));
		await t.patch('configmaps/a', 'merge', relabel('other'), { unrecorded: true });
		await t.patch('configmaps/a', 'merge', relabel('case'), { unrecorded: true });
		await t.delete('configmaps/a', undefined, { unrecorded: true });
		await watch.until('all', seen(4));
		watch.end();
	}),
	define('watch-field-selector', 'A watch can select one object by name', async (t) => {
		const watch = await t.watch('configmaps', { query: { fieldSelector: 'metadata.name=b' }, events: 'each' });
		await several(t, 'a', 'b');
		await t.delete('configmaps/a', undefined, { unrecorded: true });
		await t.delete('configmaps/b', undefined, { unrecorded: true });
		await watch.gone('b');
		watch.end();
	}),
	define('watch-field-of-pods', 'A Pod that starts leaves a watch of Pending Pods', async (t) => {
		const watch = await t.watch('pods', {
			query: { fieldSelector: 'status.phase=Pending' },
			fields: ['status.phase'],
			events: 'each',
		});
		await t.create(pod('p', held));
		await watch.gone('p');
		watch.end();
	}),
	define('watch-initial-events', '§6.4 sendInitialEvents sends the existing objects, then a bookmark', async (t) => {
		await several(t, 'a', 'b');
		const watch = await t.watch('configmaps', {
			query: {
				sendInitialEvents: true,
				resourceVersionMatch: 'NotOlderThan',
				allowWatchBookmarks: true,
				labelSelector: of,
			},
			events: 'each',
		});
		await watch.until('the bookmark', (events) => events.some(({ type }) => type === 'BOOKMARK'));
		await several(t, 'c');
		await watch.until('the third', seen(4));
		watch.end();
	}),
	define('watch-initial-events-empty', '§6.4 sendInitialEvents without objects sends the bookmark at once', async (t) => {
		const watch = await t.watch('pods', {
			query: { sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan', allowWatchBookmarks: true },
			events: 'each',
		});
		await watch.until('the bookmark', seen(1));
		watch.end();
		t.note('with a revision', Number(watch.events[0].object.metadata.resourceVersion) > 0);
	}),
	define('watch-initial-events-invalid', '§6.4 sendInitialEvents with missing or wrong parameters is refused', async (t) => {
		await t.get('configmaps', { query: { watch: 1, sendInitialEvents: true } });
		await t.get('configmaps', {
			query: { watch: 1, sendInitialEvents: true, resourceVersionMatch: 'Exact', allowWatchBookmarks: true },
		});
		await t.get('configmaps', { query: { sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' } });
		await t.get('configmaps', { query: { watch: 1, resourceVersionMatch: 'NotOlderThan' } });
	}),
	define('watch-no-initial-events', '§6.4 sendInitialEvents=false sends later events only', async (t) => {
		await several(t, 'a');
		const watch = await t.watch('configmaps', {
			query: {
				sendInitialEvents: false,
				resourceVersionMatch: 'NotOlderThan',
				allowWatchBookmarks: true,
				labelSelector: of,
			},
			events: 'each',
		});
		await several(t, 'b');
		await watch.until('it', seen(1));
		watch.end();
	}),
	define('watch-metadata-only', '§2.2 A watch can report metadata only, also in its bookmark', async (t) => {
		await several(t, 'a');
		const watch = await t.watch('configmaps', {
			query: {
				sendInitialEvents: true,
				resourceVersionMatch: 'NotOlderThan',
				allowWatchBookmarks: true,
				labelSelector: of,
			},
			headers: metadataOnly,
			fields: ['apiVersion'],
			events: 'each',
		});
		await watch.until('both', seen(2));
		await t.delete('configmaps/a', undefined, { unrecorded: true });
		await watch.gone('a');
		watch.end();
	}),
	define('watch-table', 'A watch can report rows of a table', async (t) => {
		await several(t, 'a');
		const watch = await t.watch('configmaps', { query: { labelSelector: of }, headers: table, events: 'each' });
		await watch.until('it', seen(1));
		await t.delete('configmaps/a', undefined, { unrecorded: true });
		await watch.until('its end', seen(2));
		watch.drop();
		t.note(
			'events',
			watch.events.map(({ type, object }) => [
				type,
				object.kind,
				object.columnDefinitions?.map((/** @type {any} */ { name }) => name) ?? null,
				object.rows.map((/** @type {any} */ { cells }) => cells.slice(0, 2)),
			]),
		);
	}),
	define('watch-timeout', 'timeoutSeconds ends a watch without an event', async (t) => {
		await several(t, 'a');
		const watch = await t.watch('configmaps', { query: { labelSelector: of, timeoutSeconds: 1 }, events: 'each' });
		await watch.ended();
	}),
	define('watch-invalid', 'A watch from an invalid revision is refused', async (t) => {
		await t.get('configmaps', { query: { watch: 1, resourceVersion: 'soon' } });
		await t.get('configmaps', { query: { watch: 1, timeoutSeconds: 'long' } });
	}),
	define('watch-old-path', 'The deprecated watch path works', async (t) => {
		await several(t, 'a');
		const watch = await t.watch(`/api/v1/watch/namespaces/${t.ns}/configmaps`, {
			query: { labelSelector: of },
			events: 'each',
		});
		await watch.until('it', seen(1));
		watch.end();
	}),
	define('watch-all-namespaces', 'A watch can cover all namespaces', async (t) => {
		const other = await t.namespace(t.name('n'));
		const watch = await t.watch('/api/v1/configmaps', {
			query: { labelSelector: `of=${t.ns}` },
			fields: ['metadata.namespace'],
			events: 'each',
		});
		await t.create(configMap('a', { labels: { of: t.ns } }), { unrecorded: true });
		await t.post(`/api/v1/namespaces/${other}/configmaps`, configMap('b', { labels: { of: t.ns } }), { unrecorded: true });
		await watch.until('both', seen(2));
		watch.end();
	}),
	define('watch-recreated', '§3 X10 A recreated object is DELETED and ADDED, with another UID', async (t) => {
		await several(t, 'a');
		const watch = await t.watch('configmaps', { query: { labelSelector: of }, fields: ['metadata.uid'], events: 'each' });
		await watch.until('it', seen(1));
		await t.delete('configmaps/a', undefined, { unrecorded: true });
		await several(t, 'a');
		await watch.until('both', seen(3));
		watch.end();
	}),
	define('watch-no-op', 'An update without a change causes no event', async (t) => {
		const { body } = await t.create(configMap('a', {}, { data: { k: 'v' } }));
		const watch = await t.watch('configmaps', { fields: ['data'], events: 'each', from: body.metadata.resourceVersion });
		const same = await t.patch('configmaps/a', 'merge', { data: { k: 'v' } });
		t.note('the same revision', same.body.metadata.resourceVersion === body.metadata.resourceVersion);
		await t.patch('configmaps/a', 'merge', { data: { k: 'w' } });
		await watch.until('one', seen(1));
		watch.end();
	}),
	define('watch-forbidden', 'A watch needs the verb watch', async (t) => {
		await t.watch('configmaps', { as: 'nobody-in-particular' });
	}),
];
