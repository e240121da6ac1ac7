/**
 * GET: objects, lists, pages, selectors, tables, metadata only.
 */
import { configMap, deployment, unplacedPod } from '../objects.mjs';
import { define } from '../suite.mjs';

/** @typedef {import('../test-context.mjs').TestContext} TestContext */

const table = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' };
const metadataOnly = { accept: 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io' };
const metadataList = { accept: 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io' };
const of = 'of=case';

/** ConfigMaps with the label of=case and a label size=…. @param {TestContext} t @param {...string} names */
async function several(t, ...names) {
	for (const name of names) await t.create(configMap(name, { labels: { of: 'case', called: name } }), { unrecorded: true });
}
/** Leases, because a new namespace has none, so that pages can be counted. @param {TestContext} t @param {...string} names */
async function leases(t, ...names) {
	for (const name of names)
		await t.create(
			{ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name, labels: { of: 'case' } }, spec: {} },
			{ unrecorded: true },
		);
}
/** @param {any} list */
const names = (list) => list.items.map((/** @type {any} */ { metadata }) => metadata.name);
/** @param {any} list */
const page = (list) => ({
	names: names(list),
	continues: Boolean(list.metadata.continue),
	remaining: list.metadata.remainingItemCount,
});

export default [
	define('get-not-found', 'GET of a missing object or kind is answered with 404', async (t) => {
		await t.get('configmaps/none');
		await t.get('deployments/none');
		await t.get('/api/v1/gadgets');
		await t.get('/apis/nowhere.example.com/v1/gadgets');
		await t.get('/apis/apps/v9/deployments');
		await t.get('/nowhere');
	}),
	define('get-object', 'An object has kind and apiVersion; an item of a list has neither', async (t) => {
		await several(t, 'a');
		await t.get('configmaps/a', {
			show: ({ apiVersion, kind, metadata }) => [apiVersion, kind, Object.keys(metadata).sort()],
		});
		await t.get('configmaps', {
			query: { labelSelector: of },
			show: ({ apiVersion, kind, metadata, items }) => [
				apiVersion,
				kind,
				Object.keys(metadata),
				Object.keys(items[0]).sort(),
			],
		});
	}),
	define('list-sorted', 'A list is sorted by namespace and name', async (t) => {
		await several(t, 'c', 'a', 'b');
		await t.get('configmaps', { query: { labelSelector: of }, show: names });
	}),
	define('list-all-namespaces', 'A list can cover all namespaces', async (t) => {
		const other = await t.namespace(t.name('n'));
		await t.create(configMap('a', { labels: { of: t.ns } }));
		await t.post(`/api/v1/namespaces/${other}/configmaps`, configMap('b', { labels: { of: t.ns } }));
		await t.get('/api/v1/configmaps', { query: { labelSelector: `of=${t.ns}` }, fields: ['metadata.namespace'] });
	}),
	define('list-pages', 'A list in pages has limit, continue and the remaining count', async (t) => {
		await leases(t, 'a', 'b', 'c', 'd', 'e');
		const { body: first } = await t.get('leases', { query: { limit: 2 }, show: page });
		const { body: second } = await t
			.get(`leases?limit=2&continue=${first.metadata.continue}`, { show: page })
			.then(unsaid(t));
		await t.get(`leases?limit=10&continue=${second.metadata.continue}`, { show: page }).then(unsaid(t));
	}),
	define('list-pages-with-selector', 'A paged list with a selector has no remaining count', async (t) => {
		await leases(t, 'a', 'b', 'c');
		await t.get('leases', { query: { limit: 2, labelSelector: of }, show: page });
		await t.get('leases', { query: { limit: 3, labelSelector: of }, show: page });
	}),
	define('list-pages-are-consistent', 'All pages show the state of the first page', async (t) => {
		await leases(t, 'a', 'b', 'c');
		const { body: first } = await t.get('leases', { query: { limit: 1, labelSelector: of }, show: page });
		await t.delete('leases/c');
		await leases(t, 'bb');
		await t.get(`leases?labelSelector=of%3Dcase&continue=${first.metadata.continue}`, { show: page }).then(unsaid(t));
		await t.get('leases', { query: { labelSelector: of }, show: names });
	}),
	define('list-continue-nonsense', 'An invalid continue token is refused', async (t) => {
		await t.get('configmaps', { query: { continue: 'nonsense' } });
		await t.get('configmaps', { query: { limit: 'many' } });
		await t.get('configmaps', { query: { limit: -1 } });
	}),
	define('list-continue-with-version', 'A continue token and a resourceVersion exclude each other', async (t) => {
		await several(t, 'a', 'b');
		const { body } = await t.get('configmaps', { query: { limit: 1, labelSelector: of }, show: page });
		await t.get(`configmaps?limit=1&continue=${body.metadata.continue}&resourceVersion=1`).then(unsaid(t));
	}),
	define('select-labels', 'Label selectors support equal, not equal, in, notin, exists and not exists', async (t) => {
		await several(t, 'a', 'b', 'c');
		await t.create(configMap('d'), { unrecorded: true });
		for (const labelSelector of [
			'called=a',
			'called==a',
			'called!=a',
			'called in (a,b)',
			'called notin (a,b)',
			'called',
			'!called',
			'of=case,called!=b',
		])
			await t.get('configmaps', {
				query: { labelSelector },
				show: (list) => names(list).filter((/** @type {string} */ name) => name.length === 1),
			});
	}),
	define('select-labels-invalid', 'Invalid label selectors are refused', async (t) => {
		await t.get('configmaps', { query: { labelSelector: 'a in b' } });
		await t.get('configmaps', { query: { labelSelector: '=a' } });
		await t.get('configmaps', { query: { labelSelector: 'a=-b-' } });
	}),
	define('select-fields', 'Field selectors support name and namespace for all kinds, and more for some', async (t) => {
		await several(t, 'a', 'b');
		await t.get('configmaps', { query: { fieldSelector: 'metadata.name=a' }, show: names });
		await t.get('configmaps', {
			query: { fieldSelector: 'metadata.name!=a,metadata.name!=kube-root-ca.crt' },
			show: names,
		});
		await t.create(unplacedPod('p'), { unrecorded: true });
		await t.get('pods', { query: { fieldSelector: 'status.phase=Pending' }, show: names });
		await t.get('pods', { query: { fieldSelector: 'spec.nodeName=' }, show: names });
		await t.get('pods', { query: { fieldSelector: 'spec.nodeName=node-a' }, show: names });
		await t.get('namespaces', { query: { fieldSelector: `metadata.name=${t.ns},status.phase=Active` }, show: names });
	}),
	define('select-fields-invalid', 'Unsupported field selectors are refused', async (t) => {
		await t.get('configmaps', { query: { fieldSelector: 'data.k=v' } });
		await t.get('pods', { query: { fieldSelector: 'spec.colour=red' } });
		await t.get('configmaps', { query: { fieldSelector: 'metadata.name' } });
		await t.get('deployments', { query: { fieldSelector: 'status.replicas=1' } });
	}),
	define('list-resource-version', 'A list honours resourceVersion and resourceVersionMatch', async (t) => {
		await several(t, 'a');
		const { body } = await t.get('configmaps', { query: { labelSelector: of }, show: names });
		await several(t, 'b');
		const at = body.metadata.resourceVersion;
		const ask = (/** @type {string} */ query) =>
			t.get(`configmaps?labelSelector=of%3Dcase&${query}`, { show: names }).then(unsaid(t));
		await ask(`resourceVersion=${at}&resourceVersionMatch=Exact`);
		await ask(`resourceVersion=${at}&resourceVersionMatch=NotOlderThan`);
		await ask('resourceVersion=0');
		await ask('resourceVersionMatch=Exact');
		await ask('resourceVersion=0&resourceVersionMatch=Exact');
		await ask(`resourceVersion=${at}&resourceVersionMatch=Sometimes`);
		await ask('resourceVersion=soon');
	}),
	define('list-resource-version-future', 'A list at a future resourceVersion is answered with 504', async (t) => {
		const ask = (/** @type {string} */ query) => t.get(`configmaps?${query}`, { show: names });
		await ask('resourceVersion=999999999&resourceVersionMatch=Exact');
	}),
	define('list-metadata-only', '§2.2 A list can return metadata only', async (t) => {
		await several(t, 'a');
		await t.get('configmaps', {
			query: { labelSelector: of },
			headers: metadataList,
			show: ({ apiVersion, kind, items }) => [
				apiVersion,
				kind,
				items.map((/** @type {any} */ item) => Object.keys(item).sort()),
				items[0].kind,
				items[0].apiVersion,
			],
		});
	}),
	define('get-metadata-only', '§2.2 GET can return metadata only', async (t) => {
		await t.create(configMap('a', { finalizers: ['example.com/x'] }, { data: { k: 'v' } }));
		await t.get('configmaps/a', { headers: metadataOnly, fields: ['apiVersion', 'data'] });
		await t.get('configmaps/none', { headers: metadataOnly });
		await t.delete('configmaps/a', undefined, { headers: metadataOnly });
	}),
	define('metadata-only-wrong', '§2.2 A list requested as PartialObjectMetadata of one object is refused', async (t) => {
		await several(t, 'a');
		await t.get('configmaps/a', { headers: metadataList });
	}),
	define('table-configmaps', 'ConfigMaps as a table, as kubectl get shows them', async (t) => {
		await t.create(configMap('a', {}, { data: { one: '1', two: '2' } }));
		await t.get('configmaps/a', {
			headers: table,
			show: ({ kind, columnDefinitions, rows }) => [
				kind,
				columnDefinitions.map((/** @type {any} */ { name }) => name),
				rows.map((/** @type {any} */ { cells, object }) => [cells.slice(0, 2), object.kind]),
			],
		});
	}),
	define('table-pods', 'Pods as a table', async (t) => {
		await t.create(unplacedPod('p'), { unrecorded: true });
		await t.until('pods/p', 'cannot be scheduled', (one) => one?.status.conditions, { unrecorded: true });
		await t.get('pods', {
			headers: table,
			show: ({ columnDefinitions, rows }) => [
				columnDefinitions.map((/** @type {any} */ { name, priority }) => [name, priority]),
				rows.map((/** @type {any} */ { cells }) =>
					cells.filter((/** @type {any} */ _, /** @type {number} */ at) => at !== 4),
				),
			],
		});
	}),
	define('table-deployments', 'Deployments as a table', async (t) => {
		await t.create(deployment('web', { replicas: 0 }), { unrecorded: true });
		await t.until('deployments/web', 'has been seen', (one) => one?.status.observedGeneration === 1, { unrecorded: true });
		await t.get('deployments', {
			headers: table,
			show: ({ columnDefinitions, rows }) => [
				columnDefinitions.map((/** @type {any} */ { name, priority }) => [name, priority]),
				rows.map((/** @type {any} */ { cells }) =>
					cells.filter((/** @type {any} */ _, /** @type {number} */ at) => at !== 4),
				),
			],
		});
	}),
	define('table-objects', 'The rows of a table contain metadata, nothing, or the whole object', async (t) => {
		await several(t, 'a');
		const show = ({ rows }) =>
			rows.map((/** @type {any} */ { object }) => object && [object.kind, Object.keys(object).sort()]);
		for (const includeObject of ['Metadata', 'None', 'Object'])
			await t.get('configmaps', { query: { labelSelector: of, includeObject }, headers: table, show });
		await t.get('configmaps', { query: { includeObject: 'Some' }, headers: table });
	}),
	define('table-namespaces', 'A namespace as a table', async (t) => {
		await t.get(`namespaces/${t.ns}`, {
			headers: table,
			show: ({ columnDefinitions, rows }) => [
				columnDefinitions.map((/** @type {any} */ { name, type }) => [name, type]),
				rows.map((/** @type {any} */ { cells }) => cells.slice(0, 2)),
			],
		});
	}),
	define('accept-unknown', 'An unsupported Accept header is answered with 406', async (t) => {
		await several(t, 'a');
		await t.get('configmaps/a', { headers: { accept: 'text/csv' } });
		await t.get('configmaps/a', { headers: { accept: 'text/csv, application/json' } });
		await t.get('configmaps/a', { headers: { accept: '*/*' } });
		await t.get('configmaps/a', { headers: { accept: 'application/json;as=Table;v=v9;g=meta.k8s.io' } });
	}),
	define('pretty', 'The pretty option selects indented JSON', async (t) => {
		await several(t, 'a');
		const { body: text } = await t.get('configmaps/a', { query: { pretty: true }, show: ({ kind }) => kind });
		t.note('read', text.metadata.name);
	}),
];

/**
 * Removes continue tokens and revisions from the recorded query.
 * @param {TestContext} t @returns {<T>(answer: T) => T}
 */
function unsaid(t) {
	return (answer) => (t.amend((line) => line.replace(/(continue|resourceVersion)=[^&\n]{4,}/g, '$1=…')), answer);
}
