/**
 * CustomResourceDefinitions and custom resources.
 */
import { condition, conditions, deleteUntilBlocked, failureMessage, hasCondition } from '../conditions.mjs';
import { configMap, definition, ownedBy, widget } from '../objects.mjs';
import { longTimeout } from '../test-context.mjs';
import { define } from '../suite.mjs';

/** @typedef {import('../test-context.mjs').TestContext} TestContext */

const x = ['example.com/x'];
const free = { metadata: { finalizers: null } };

/** A definition that is served. @param {TestContext} t @param {Parameters<typeof definition>[1]} [shape] */
async function served(t, shape = {}) {
	await t.create(definition(t.ns, shape), { unrecorded: true });
	const crd = `customresourcedefinitions/widgets.${t.ns}.example.com`;
	await t.until(crd, 'is established', (one) => hasCondition(one, 'Established', 'True'), { unrecorded: true });
	const root = `/apis/${t.ns}.example.com/v1`;
	const path = shape.scope === 'Cluster' ? `${root}/widgets` : `${root}/namespaces/${t.ns}/widgets`;
	await t.eventually('it is served', 'GET', path, ({ status }) => status === 200);
	return { crd, path };
}

/**
 * A definition with two served versions, the older of which is the storage version; with a conversion webhook if one is given.
 * @param {TestContext} t @param {Record<string, any>} [webhook]
 */
async function inTwoVersions(t, webhook) {
	const openAPIV3Schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
	const version = (/** @type {string} */ name) => ({
		name,
		served: true,
		storage: name === 'v1',
		schema: { openAPIV3Schema },
	});
	const conversion = webhook
		? { strategy: 'Webhook', webhook: { conversionReviewVersions: ['v1'], ...webhook } }
		: { strategy: 'None' };
	const { crd } = await served(t, { versions: [version('v1'), version('v2')], spec: { conversion } });
	const at = (/** @type {string} */ name) => `/apis/${t.ns}.example.com/${name}/namespaces/${t.ns}/widgets`;
	await t.eventually('both are served', 'GET', at('v2'), ({ status }) => status === 200);
	return { crd, at };
}

const schema = {
	type: 'object',
	required: ['spec'],
	properties: {
		spec: {
			type: 'object',
			required: ['size'],
			properties: { size: { type: 'integer', minimum: 1 }, colour: { type: 'string', enum: ['red', 'blue'] } },
		},
		status: { type: 'object', properties: { phase: { type: 'string' } } },
	},
};
const withSchema = (/** @type {Record<string, any>} */ rest = {}) => ({
	versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema }, ...rest }],
});

export default [
	define('crd-created', 'A CustomResourceDefinition is accepted, then established', async (t) => {
		await t.create(definition(t.ns));
		const crd = `customresourcedefinitions/widgets.${t.ns}.example.com`;
		await t.until(crd, 'is established', (one) => hasCondition(one, 'Established', 'True'), {
			fields: ['status.conditions', 'status.acceptedNames', 'status.storedVersions'],
		});
	}),
	define('crd-invalid', 'A CustomResourceDefinition has the name plural.group and one storage version', async (t) => {
		await t.create({ ...definition(t.ns), metadata: { name: 'gadgets.example.com' } });
		await t.create(definition(t.ns, { versions: [] }));
		await t.create(definition(t.ns, { versions: [{ name: 'v1', served: true, storage: true }] }));
	}),
	define('cr-life', 'A custom resource is created, read, updated and deleted like a built-in one', async (t) => {
		const { path } = await served(t);
		await t.post(path, widget(t.ns, 'w', {}, { spec: { size: 1 } }), { fields: ['spec'] });
		await t.get(`${path}/w`, { fields: ['spec'] });
		await t.patch(`${path}/w`, 'merge', { spec: { size: 2 } }, { fields: ['spec'] });
		await t.patch(`${path}/w`, 'json', [{ op: 'replace', path: '/spec/size', value: 3 }], { fields: ['spec'] });
		await t.patch(`${path}/w`, 'strategic', { spec: { size: 4 } });
		await t.get(path);
		await t.delete(`${path}/w`);
		await t.get(`${path}/w`);
	}),
	define('cr-generation', 'The generation of a custom resource counts changes outside of metadata', async (t) => {
		const { path } = await served(t);
		await t.post(path, widget(t.ns, 'w', {}, { spec: { size: 1 } }));
		await t.patch(`${path}/w`, 'merge', { metadata: { labels: { a: 'b' } } });
		await t.patch(`${path}/w`, 'merge', { spec: { size: 2 } });
		await t.patch(`${path}/w`, 'merge', { spec: { size: 2 } });
		await t.patch(`${path}/w`, 'merge', { status: { phase: 'Here' } }, { fields: ['status'] });
	}),
	define('cr-status-subresource', 'With a status subresource the status changes only there, without a new generation', async (t) => {
		const { path } = await served(t, {
			versions: [
				{ name: 'v1', served: true, storage: true, subresources: { status: {} }, schema: { openAPIV3Schema: schema } },
			],
		});
		await t.post(path, widget(t.ns, 'w', {}, { spec: { size: 1 }, status: { phase: 'Made' } }), { fields: ['status'] });
		await t.patch(`${path}/w`, 'merge', { status: { phase: 'Main' }, spec: { size: 2 } }, { fields: ['status', 'spec'] });
		await t.patch(
			`${path}/w/status`,
			'merge',
			{ status: { phase: 'Status' }, spec: { size: 3 } },
			{ fields: ['status', 'spec'] },
		);
	}),
	define('cr-no-status-subresource', 'Without a status subresource its path does not exist', async (t) => {
		const { path } = await served(t);
		await t.post(path, widget(t.ns, 'w'));
		await t.patch(`${path}/w/status`, 'merge', { status: {} });
	}),
	define('cr-scale-subresource', 'A custom resource with a scale subresource can be scaled', async (t) => {
		const scale = { specReplicasPath: '.spec.size', statusReplicasPath: '.status.size' };
		const { path } = await served(t, {
			versions: [
				{
					name: 'v1',
					served: true,
					storage: true,
					subresources: { scale },
					schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
				},
			],
		});
		await t.post(path, widget(t.ns, 'w', {}, { spec: { size: 1 } }));
		await t.get(`${path}/w/scale`, { fields: ['spec', 'status'] });
		await t.patch(`${path}/w/scale`, 'merge', { spec: { replicas: 3 } }, { fields: ['spec', 'status'] });
		await t.get(`${path}/w`, { fields: ['spec'] });
	}),
	define('cr-validation', 'A custom resource that violates its schema is refused', async (t) => {
		const { path } = await served(t, withSchema());
		await t.post(path, widget(t.ns, 'a'));
		await t.post(path, widget(t.ns, 'a', {}, { spec: { size: 0 } }));
		await t.post(path, widget(t.ns, 'a', {}, { spec: { size: 1, colour: 'green' } }));
		await t.post(path, widget(t.ns, 'a', {}, { spec: { size: 'big' } }));
		await t.post(path, widget(t.ns, 'a', {}, { spec: { size: 1, unknown: true } }), { fields: ['spec'] });
	}),
	define('cr-columns', 'A definition determines the columns of its table', async (t) => {
		const additionalPrinterColumns = [{ name: 'Size', type: 'integer', jsonPath: '.spec.size' }];
		const { path } = await served(t, withSchema({ additionalPrinterColumns }));
		await t.post(path, widget(t.ns, 'a', {}, { spec: { size: 4 } }));
		await t.get(path, { headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' } });
	}),
	define('cr-columns-none', 'The table of a definition without columns shows the age', async (t) => {
		const show = ({ columnDefinitions, rows }) => [
			columnDefinitions.map((/** @type {any} */ { name, type, priority }) => [name, type, priority]),
			rows.map((/** @type {any} */ { cells }) => cells.slice(0, 1)),
		];
		const { path } = await served(t);
		await t.post(path, widget(t.ns, 'a'));
		await t.get(path, { headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' }, show });
	}),
	define('cr-columns-types', 'A cell whose value has another type than its column is empty, except for strings', async (t) => {
		const column = (/** @type {string} */ type, /** @type {string} */ jsonPath) => ({ name: type, type, jsonPath });
		const paths = [
			'.spec.text',
			'.spec.number',
			'.spec.float',
			'.spec.list',
			'.spec.map',
			'.spec.yes',
			'.spec.nothing',
			'.spec.list[*]',
			'.spec.list[-1]',
		];
		const additionalPrinterColumns = ['string', 'integer', 'number', 'boolean', 'date'].flatMap((type) =>
			paths.map((path) => column(type, path)),
		);
		const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
		const versions = [{ name: 'v1', served: true, storage: true, schema, additionalPrinterColumns }];
		const { path } = await served(t, { versions });
		const spec = { text: 'a', number: 4, float: 1.5, list: ['x', 'y'], map: { a: 1 }, yes: true, nothing: null };
		await t.post(path, widget(t.ns, 'a', {}, { spec }));
		await t.get(path, {
			headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' },
			show: ({ columnDefinitions, rows: [{ cells }] }) =>
				paths.map((of, at) => [
					of,
					...columnDefinitions
						.map((/** @type {any} */ { name }, /** @type {number} */ index) => [name, cells[index], index])
						.filter((/** @type {any} */ [, , index]) => index > 0 && (index - 1) % paths.length === at)
						.map((/** @type {any} */ [name, cell]) => ({ [name]: cell })),
				]),
		});
	}),
	define('cr-cluster-scoped', 'Cluster-scoped custom resources have no namespace in their path', async (t) => {
		const { path } = await served(t, { scope: 'Cluster' });
		await t.post(path, widget(t.ns, 'w'));
		await t.post(`/apis/${t.ns}.example.com/v1/namespaces/${t.ns}/widgets`, widget(t.ns, 'v'));
		await t.delete(`${path}/w`);
	}),
	define('cr-watch', 'Custom resources can be watched like built-in ones', async (t) => {
		const { path } = await served(t);
		await t.post(path, widget(t.ns, 'w', { finalizers: x }));
		const watch = await t.watch(path, { events: 'each' });
		await t.delete(`${path}/w`);
		await t.patch(`${path}/w`, 'merge', free);
		await watch.gone('w');
		watch.end();
	}),
	define(
		'watch-too-old',
		'§3 A7 A watch from before the oldest known revision of a kind ends with 410 in the stream',
		async (t) => {
			const { path } = await served(t);
			const watch = await t.watch(path, { query: { resourceVersion: 1 }, events: 'each' });
			await watch.ended();
		},
	),
	define('cr-finalizer', '§3 X2 A custom resource with a finalizer stays terminating without its operator', async (t) => {
		const { path } = await served(t);
		await t.post(path, widget(t.ns, 'w', { finalizers: x }));
		await t.delete(`${path}/w`);
		await t.patch(`${path}/w`, 'merge', { metadata: { finalizers: [...x, 'example.com/y'] } });
		await t.patch(`${path}/w`, 'merge', free);
		await t.get(`${path}/w`);
	}),
	define('cr-orphan', '§6.1 Orphaning removes the owner reference of a dependent of a custom resource', async (t) => {
		const { path } = await served(t);
		const { body } = await t.post(path, widget(t.ns, 'w'));
		await t.create(configMap('child', ownedBy(body)));
		await t.delete(`${path}/w`, { propagationPolicy: 'Orphan' });
		await t.until(`${path}/w`, 'is gone', (one) => !one, { within: longTimeout });
		await t.get('configmaps/child');
	}),
	define('cr-owner', '§6.1 A custom resource can own objects, and they are collected after it', async (t) => {
		const { path } = await served(t);
		const { body } = await t.post(path, widget(t.ns, 'w'));
		await t.create(configMap('child', ownedBy(body)));
		await t.delete(`${path}/w`, { propagationPolicy: 'Background' });
		await t.until('configmaps/child', 'is gone', (one) => !one, { within: longTimeout });
	}),
	define('crd-deleted', '§3 X1 Deleting a definition deletes its custom resources', async (t) => {
		const { crd, path } = await served(t);
		await t.post(path, widget(t.ns, 'w'));
		await t.delete(crd);
		await t.gone(crd);
		await t.eventually('it is not served', 'GET', path, ({ status }) => status === 404);
		await t.get(path);
	}),
	define(
		'crd-held',
		'§3 X1 §8 R-S4d A custom resource with a finalizer holds its definition, and a condition reports it',
		async (t) => {
			const { crd, path } = await served(t);
			await t.post(path, widget(t.ns, 'w', { finalizers: x }));
			await t.delete(crd);
			await t.until(crd, 'is Terminating', (one) => hasCondition(one, 'Terminating', 'True', 'InstanceDeletionInProgress'), {
				show: (one) =>
					one.status.conditions
						.filter((/** @type {any} */ { type }) => type === 'Terminating')
						.map((/** @type {any} */ { status, reason, message }) => [status, reason, message]),
			});
			await t.until(`${path}/w`, 'is terminating', (one) => one.metadata.deletionTimestamp);
			await t.patch(`${path}/w`, 'merge', free);
			await t.gone(crd);
		},
	),
	define(
		'crd-not-confirmed',
		'§3 X1 §8 R-S4d After a minute the condition of a definition says that a resource is still there',
		async (t) => {
			const { crd, path } = await served(t);
			await t.post(path, widget(t.ns, 'w', { finalizers: x }));
			await t.delete(crd);
			await t.until(
				crd,
				'reports InstanceDeletionCheck',
				(one) => hasCondition(one, 'Terminating', 'True', 'InstanceDeletionCheck'),
				{ show: (one) => condition(one, 'Terminating').message, within: 90_000 },
			);
			await t.patch(`${path}/w`, 'merge', free);
			await t.gone(crd);
		},
	),
	define('crd-no-creation', '§3 X1 A custom resource cannot be created while its definition is terminating', async (t) => {
		const { crd, path } = await served(t);
		await t.post(path, widget(t.ns, 'w', { finalizers: x }));
		await t.delete(crd);
		await t.until(crd, 'is Terminating', (one) => hasCondition(one, 'Terminating', 'True'), { unrecorded: true });
		await t.until(`${path}/w`, 'is terminating', (one) => one.metadata.deletionTimestamp);
		await t.post(path, widget(t.ns, 'v'));
		await t.patch(`${path}/w`, 'merge', free);
		await t.gone(crd);
	}),
	define(
		'crd-stripped',
		'§3 X1 After its finalizer is removed, a definition leaves its resources in the store; a new definition shows them',
		async (t) => {
			const { crd, path } = await served(t);
			const { body } = await t.post(path, widget(t.ns, 'w', { finalizers: x }));
			await t.delete(crd);
			await t.until(crd, 'is Terminating', (one) => hasCondition(one, 'Terminating', 'True'), { unrecorded: true });
			await t.until(`${path}/w`, 'is terminating', (one) => one.metadata.deletionTimestamp);
			await t.patch(crd, 'merge', free);
			await t.gone(crd);
			await t.create(definition(t.ns), { unrecorded: true });
			await t.until(crd, 'is established', (one) => hasCondition(one, 'Established', 'True'), { unrecorded: true });
			await t.eventually('it is served', 'GET', path, ({ status }) => status === 200);
			const again = await t.get(`${path}/w`);
			t.note('same UID', again.body.metadata?.uid === body.metadata.uid);
		},
	),
	define('crd-name-conflict', 'A second definition cannot take the names of the first', async (t) => {
		await served(t);
		const second = definition(t.ns);
		second.metadata.name = `gadgets.${t.ns}.example.com`;
		second.spec.names = { ...second.spec.names, plural: 'gadgets', singular: 'gadget' };
		await t.create(second, { unrecorded: true });
		await t.until(
			`customresourcedefinitions/${second.metadata.name}`,
			'has no accepted names',
			(one) => hasCondition(one, 'NamesAccepted', 'False'),
			{
				show: conditions,
			},
		);
	}),
	define('crd-discovery', 'A definition adds its group to discovery', async (t) => {
		await served(t);
		await t.eventually('its group is there', 'GET', `/apis/${t.ns}.example.com`, ({ status }) => status === 200);
		await t.get(`/apis/${t.ns}.example.com`, {
			show: ({ kind, name, preferredVersion }) => [kind, name, preferredVersion],
		});
		await t.get(`/apis/${t.ns}.example.com/v1`, {
			show: ({ kind, resources }) => [
				kind,
				resources.map((/** @type {any} */ { storageVersionHash, verbs, ...rest }) => ({
					...rest,
					verbs: [...verbs].sort(),
				})),
			],
		});
	}),
	define(
		'conversion-down',
		'§3 X7 N3 §2.2 Without a conversion webhook, objects stored in another version cannot be read and hold their namespace',
		async (t) => {
			const { crd, at } = await inTwoVersions(t, { clientConfig: { url: 'https://127.0.0.1:1/' } });
			await t.post(at('v1'), widget(t.ns, 'w', {}, { spec: { size: 1 } }));
			await t.get(`${at('v1')}/w`);
			await t.get(`${at('v2')}/w`);
			await t.get(at('v1'));
			await t.get(at('v2'));
			await t.get(at('v2'), {
				headers: { accept: 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io' },
			});
			const streamed = { sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan', allowWatchBookmarks: true };
			await t.get(at('v2'), { query: { watch: 1, timeoutSeconds: 1, ...streamed } });
			await t.get(`/apis/${t.ns}.example.com/v2/namespaces/default/widgets`, {
				query: { watch: 1, timeoutSeconds: 1 },
			});
			await t.get(at('v2'), { query: { watch: 1, timeoutSeconds: 1 } });
			await t.post(at('v2'), { ...widget(t.ns, 'v'), apiVersion: `${t.ns}.example.com/v2` });
			await t.patch(`${at('v2')}/w`, 'merge', { metadata: { labels: { a: 'b' } } });
			await t.delete(`${at('v2')}/w`);
			await t.get(`${at('v1')}/w`);
			await deleteUntilBlocked(t, { show: failureMessage });
			await t.patch(crd, 'merge', { spec: { conversion: { strategy: 'None', webhook: null } } }, { unrecorded: true });
			await t.gone(`namespaces/${t.ns}`);
		},
	),
	define(
		'conversion-down-definition',
		'§3 X1 X7 Without a conversion webhook, a definition reports that its instances cannot be deleted',
		async (t) => {
			const { crd, at } = await inTwoVersions(t, { clientConfig: { url: 'https://127.0.0.1:1/' } });
			await t.post(at('v1'), widget(t.ns, 'w'));
			await t.post(at('v1'), widget(t.ns, 'held', { finalizers: x }));
			const other = [
				{ op: 'replace', path: '/spec/versions/0/storage', value: false },
				{ op: 'replace', path: '/spec/versions/1/storage', value: true },
			];
			await t.patch(crd, 'json', other, { fields: ['status.storedVersions'] });
			await t.eventually('it is stored in the other', 'POST', at('v1'), ({ status }) => status === 500, {
				body: widget(t.ns, 'probe'),
				query: { dryRun: 'All' },
			});
			await t.get(`${at('v1')}/w`);
			await t.patch(`${at('v1')}/held`, 'merge', free);
			await t.patch(`${at('v1')}/w`, 'merge', { metadata: { labels: { a: 'b' } } });
			await t.delete(`${at('v1')}/held`);
			await t.get(`${at('v1')}/held`);
			await t.delete(crd);
			await t.until(crd, 'reports InstanceDeletionFailed', (one) => hasCondition(one, 'Terminating', 'True', 'InstanceDeletionFailed'), {
				show: (one) =>
					one.status.conditions
						.filter((/** @type {any} */ { type }) => type === 'Terminating')
						.map((/** @type {any} */ { status, reason, message }) => [status, reason, message]),
			});
			await t.patch(crd, 'merge', { spec: { conversion: { strategy: 'None', webhook: null } } }, { unrecorded: true });
			await t.until(`${at('v1')}/held`, 'is terminating', (one) => one?.metadata.deletionTimestamp, { unrecorded: true });
			await t.patch(`${at('v1')}/held`, 'merge', free, { unrecorded: true });
			await t.gone(crd);
		},
	),
	define('conversion-answers', '§3 X7 With a conversion webhook every version can be read and written', async (t) => {
		const { crd, at } = await inTwoVersions(t, { clientConfig: t.webhookAt('convert') });
		await t.faultInjector.answerConversions(`widgets.${t.ns}.example.com`);
		await t.post(at('v1'), widget(t.ns, 'w', {}, { spec: { size: 1 } }));
		await t.get(`${at('v2')}/w`, { fields: ['apiVersion', 'spec'] });
		await t.get(at('v2'));
		await t.post(at('v2'), { ...widget(t.ns, 'v'), apiVersion: `${t.ns}.example.com/v2` }, { fields: ['apiVersion'] });
		await t.get(`${at('v1')}/v`, { fields: ['apiVersion'] });
		await t.patch(`${at('v2')}/w`, 'merge', { spec: { size: 2 } }, { fields: ['apiVersion', 'spec'] });
		await t.delete(`${at('v2')}/w`);
		await t.delete(crd);
		await t.gone(crd);
	}),
	define('conversion-none', '§3 X7 With conversion None only the apiVersion changes', async (t) => {
		const { crd, at } = await inTwoVersions(t);
		await t.post(at('v2'), { ...widget(t.ns, 'v'), apiVersion: `${t.ns}.example.com/v2` }, { fields: ['apiVersion'] });
		await t.get(`${at('v1')}/v`, { fields: ['apiVersion'] });
		await t.get(`/apis/${t.ns}.example.com`, {
			show: ({ versions, preferredVersion }) => [versions, preferredVersion],
		});
		await t.delete(crd);
		await t.gone(crd);
	}),
];
