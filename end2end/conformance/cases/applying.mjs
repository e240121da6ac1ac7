/**
 * Server-side apply: field owners, and the conflicts of other managers.
 */
import { configMap, definition, deployment, service, unplacedPod, widget } from '../objects.mjs';
import { define } from '../suite.mjs';

/** @typedef {import('../test-context.mjs').TestContext} TestContext */
/** @typedef {Record<string, any>} KubeObject */

/** The managed fields, without times. @param {any} body */
const owners = ({ metadata: { managedFields = [] } }) =>
	managedFields
		.map((/** @type {any} */ { manager, operation, apiVersion, subresource, fieldsV1 }) => [
			[manager, operation, apiVersion, subresource].filter(Boolean).join(' '),
			fieldsV1,
		])
		// The API orders them by time.
		.sort((/** @type {any} */ [one], /** @type {any} */ [other]) => (one < other ? -1 : 1));

/**
 * Applies an object as a manager.
 * @param {TestContext} t @param {string} path @param {KubeObject} object @param {string} fieldManager @param {{force?: boolean, fields?: string[], show?: (body: any) => unknown}} [options]
 */
const apply = (t, path, object, fieldManager, { force, ...options } = {}) =>
	t.patch(path, 'apply', object, { query: { fieldManager, ...(force ? { force } : {}) }, ...options });

/** @param {TestContext} t @param {Record<string, string>|undefined} data @param {string} manager @param {{force?: boolean, metadata?: KubeObject}} [options] */
const applyMap = (t, data, manager, { force, metadata } = {}) =>
	apply(t, 'configmaps/a', configMap('a', metadata, { data }), manager, { force, fields: ['data', 'metadata.labels'] });

/** @param {TestContext} t @param {string} path */
const whose = (t, path) => t.get(path, { show: owners });

const containers = (/** @type {KubeObject[]} */ ...all) => ({ spec: { template: { spec: { containers: all } } } });
/** @param {KubeObject} rest */
const web = (rest) => ({ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web' }, ...rest });

const images = (/** @type {any} */ { spec }) => ({
	replicas: spec.replicas,
	containers: spec.template.spec.containers.map((/** @type {any} */ { name, image, env, ports }) => ({
		name,
		image,
		env,
		ports,
	})),
});

const noted = 'the sandbox records the managed fields of a Pod only once it is applied, because there are thousands of Pods';

export default [
	define(
		'apply-conflicts',
		'Applying a field of another manager is a conflict that lists the fields, and force takes them',
		async (t) => {
			await applyMap(t, { a: '1', b: '1', c: '1' }, 'one');
			await applyMap(t, { a: '2' }, 'two');
			await applyMap(t, { a: '2', b: '2', c: '1', d: '2' }, 'two');
			await t.get('configmaps/a', { fields: ['data'] });
			await applyMap(t, { a: '2', b: '2', c: '1', d: '2' }, 'two', { force: true });
			await whose(t, 'configmaps/a');
			await applyMap(t, { a: '1', b: '1', c: '1' }, 'one');
			await applyMap(t, { c: '1' }, 'one');
			await whose(t, 'configmaps/a');
		},
	),
	define('apply-shares', 'A field that two managers apply with one value has both as owners, and goes when neither applies it', async (t) => {
		await applyMap(t, { a: '1', b: '1' }, 'one', {
			metadata: { labels: { 'app.kubernetes.io/name': 'x', only: 'one' } },
		});
		await applyMap(t, { a: '1' }, 'two', { metadata: { labels: { 'app.kubernetes.io/name': 'x' } } });
		await whose(t, 'configmaps/a');
		await applyMap(t, { b: '3' }, 'three', { metadata: { labels: { only: 'three' } } });
		await applyMap(t, undefined, 'one');
		await applyMap(t, undefined, 'two');
		await whose(t, 'configmaps/a');
	}),
	define('apply-over-updates', 'POST, PUT and PATCH record their manager as the owner of the fields they write', async (t) => {
		await t.create(configMap('a', { labels: { x: 'y' } }, { data: { a: '1', b: '1' } }), {
			query: { fieldManager: 'maker' },
			show: owners,
		});
		await applyMap(t, { a: '1', b: '2' }, 'one');
		await applyMap(t, { a: '1', c: '2' }, 'one');
		await t.patch(
			'configmaps/a',
			'merge',
			{ data: { c: '3', b: null } },
			{ query: { fieldManager: 'patcher' }, show: owners },
		);
		await applyMap(t, { a: '1', c: '2' }, 'one');
		await applyMap(t, { a: '1', c: '3' }, 'one');
		const { body } = await t.get('configmaps/a', { fields: ['data'] });
		await t.put('configmaps/a', { ...body, data: { a: '7' } }, { query: { fieldManager: 'one' }, show: owners });
		await applyMap(t, { a: '8' }, 'one');
		await applyMap(t, { a: '8' }, 'one', { force: true });
		await whose(t, 'configmaps/a');
	}),
	define(
		'apply-list-items',
		'Containers, their variables and ports have owners per item, by name',
		async (t) => {
			await t.create(deployment('web', { replicas: 0, spec: { paused: true } }), {
				unrecorded: true,
				query: { fieldManager: 'maker' },
			});
			const side = {
				name: 'side',
				image: 'example.com/side:1',
				env: [
					{ name: 'A', value: '1' },
					{ name: 'B', value: '1' },
				],
				ports: [{ containerPort: 80 }],
			};
			await apply(t, 'deployments/web', web(containers(side)), 'one', { show: images });
			await apply(t, 'deployments/web', web(containers({ name: 'main', image: 'example.com/main:2' })), 'one');
			await apply(
				t,
				'deployments/web',
				web(
					containers({
						name: 'side',
						image: 'example.com/side:1',
						env: [
							{ name: 'B', value: '2' },
							{ name: 'C', value: '2' },
						],
						ports: [{ containerPort: 80, name: 'http' }],
					}),
				),
				'two',
			);
			await apply(
				t,
				'deployments/web',
				web(containers({ name: 'side', env: [{ name: 'C', value: '2' }], ports: [{ containerPort: 81 }] })),
				'two',
				{ show: images },
			);
			await apply(t, 'deployments/web', web(containers({ ...side, env: [side.env[0]] })), 'one', { show: images });
			await apply(t, 'deployments/web', web({ spec: { selector: { matchLabels: { app: 'other' } } } }), 'two');
			await apply(t, 'deployments/web', web(containers()), 'one', { show: images });
			await apply(t, 'deployments/web', web({}), 'two', { show: images });
		},
	),
	define('apply-scaled', 'Scaling owns the replicas, so an apply with another number is a conflict', async (t) => {
		const paused = { replicas: 0, spec: { paused: true } };
		await apply(t, 'deployments/web', deployment('web', paused), 'one', { fields: ['spec.replicas'] });
		await t.patch(
			'deployments/web/scale',
			'merge',
			{ spec: { replicas: 2 } },
			{ query: { fieldManager: 'scaler' }, fields: ['spec'] },
		);
		await apply(t, 'deployments/web', deployment('web', paused), 'one');
		const { replicas, ...spec } = deployment('web', paused).spec;
		await apply(t, 'deployments/web', { ...deployment('web'), spec }, 'one', { fields: ['spec.replicas'] });
		await t.get('deployments/web', {
			show: (body) => owners(body).filter((/** @type {any} */ [who]) => !who.includes('kube-controller-manager')),
		});
	}),
	define('apply-finalizers', 'A finalizer that two managers apply goes when the second drops it', async (t) => {
		const x = { finalizers: ['example.com/x'] };
		await applyMap(t, undefined, 'one', { metadata: x });
		await applyMap(t, undefined, 'two', { metadata: { finalizers: ['example.com/y', 'example.com/x'] } });
		await whose(t, 'configmaps/a');
		await t.delete('configmaps/a');
		await applyMap(t, undefined, 'one');
		await applyMap(t, undefined, 'two', { metadata: { finalizers: ['example.com/x'] } });
		await applyMap(t, undefined, 'two');
		await t.get('configmaps/a');
	}),
	define('apply-ports', 'The ports of a Service have owners per port and protocol', async (t) => {
		const bare = (/** @type {KubeObject[]} */ ...ports) => ({ ...service('s'), spec: { ports } });
		await apply(
			t,
			'services/s',
			{ ...service('s'), spec: { selector: { app: 's' }, ports: [{ port: 80, name: 'a' }] } },
			'one',
			{ fields: ['spec.ports'] },
		);
		await apply(t, 'services/s', bare({ port: 80, protocol: 'UDP', name: 'b' }), 'two', { fields: ['spec.ports'] });
		await apply(t, 'services/s', bare({ port: 80, name: 'c' }), 'two');
		await apply(t, 'services/s', { ...service('s'), spec: { selector: { app: 't' } } }, 'two');
		await t.get('services/s', { show: owners });
		await apply(t, 'services/s', bare(), 'two', { fields: ['spec.ports'] });
	}),
	define(
		'apply-custom',
		'Lists of a custom resource have one owner unless the schema says otherwise',
		async (t) => {
			const list = { type: 'array', items: { type: 'string' } };
			const items = {
				type: 'array',
				items: { type: 'object', properties: { id: { type: 'string' }, size: { type: 'integer' } }, required: ['id'] },
			};
			const spec = {
				type: 'object',
				properties: {
					size: { type: 'integer' },
					list,
					set: { ...list, 'x-kubernetes-list-type': 'set' },
					map: { ...items, 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['id'] },
					whole: { type: 'object', 'x-kubernetes-map-type': 'atomic', additionalProperties: { type: 'string' } },
					free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
				},
			};
			const schema = {
				openAPIV3Schema: {
					type: 'object',
					properties: { spec, status: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
				},
			};
			const versions = [{ name: 'v1', served: true, storage: true, schema, subresources: { status: {} } }];
			await t.create(definition(t.ns, { versions }), { unrecorded: true });
			const path = `/apis/${t.ns}.example.com/v1/namespaces/${t.ns}/widgets`;
			await t.eventually('it is served', 'GET', path, ({ status }) => status === 200);
			const shown = { fields: ['spec', 'status'] };
			const whole = {
				list: ['a'],
				set: ['a'],
				map: [{ id: 'a', size: 1 }],
				whole: { a: '1' },
				free: { a: { b: [{ name: 'c' }] } },
			};
			await apply(t, `${path}/w`, widget(t.ns, 'w', {}, { spec: whole }), 'one', shown);
			await whose(t, `${path}/w`);
			const other = {
				list: ['b'],
				set: ['b'],
				map: [
					{ id: 'a', size: 2 },
					{ id: 'b', size: 2 },
				],
				whole: { b: '2' },
				free: { a: { b: [] } },
			};
			await apply(t, `${path}/w`, widget(t.ns, 'w', {}, { spec: other }), 'two', shown);
			await apply(t, `${path}/w`, widget(t.ns, 'w', {}, { spec: other }), 'two', { ...shown, force: true });
			await apply(t, `${path}/w/status`, widget(t.ns, 'w', {}, { spec: { size: 9 }, status: { a: 1 } }), 'two', shown);
			await apply(t, `${path}/w/status`, widget(t.ns, 'w', {}, { status: { a: 2 } }), 'one');
			await whose(t, `${path}/w`);
			await t.delete(`customresourcedefinitions/widgets.${t.ns}.example.com`, undefined, { unrecorded: true });
		},
	),
	define(
		'apply-twice',
		'Applying the same object again changes nothing, and a manager without fields is dropped',
		async (t) => {
			const revision = (/** @type {any} */ { body }) => body.metadata.resourceVersion;
			const first = revision(await applyMap(t, { a: '1' }, 'one'));
			t.note('changed by the same again', revision(await applyMap(t, { a: '1' }, 'one')) !== first);
			t.note('changed by another who shares', revision(await applyMap(t, { a: '1' }, 'two')) !== first);
			await applyMap(t, undefined, 'two');
			await whose(t, 'configmaps/a');
			await t.patch(
				'configmaps/a',
				'merge',
				{ metadata: { managedFields: [{}] } },
				{ query: { fieldManager: 'three' }, show: owners },
			);
			await applyMap(t, { a: '2' }, 'two');
			await whose(t, 'configmaps/a');
		},
	),
	define(
		'apply-after-client',
		'Server-side apply by kubectl takes over the fields of its client-side apply, and other managers conflict',
		async (t) => {
			const noted = JSON.stringify(configMap('a', {}, { data: { a: '1', b: '1', c: '1' } }));
			const annotations = { 'kubectl.kubernetes.io/last-applied-configuration': noted };
			await t.create(configMap('a', { annotations }, { data: { a: '1', b: '1', c: '1' } }), {
				query: { fieldManager: 'kubectl-client-side-apply' },
				show: owners,
			});
			await t.patch('configmaps/a', 'merge', { data: { c: '2' } }, { query: { fieldManager: 'other' }, fields: ['data'] });
			await applyMap(t, { a: '2' }, 'one');
			await applyMap(t, { a: '2', c: '3' }, 'kubectl');
			await applyMap(t, { a: '2', b: '1' }, 'kubectl');
			await whose(t, 'configmaps/a');
		},
	),
	define(
		'apply-over-pods',
		'Applying a field of another manager in a Pod is a conflict, with or without a finalizer',
		async (t) => {
			const show = (/** @type {any} */ { spec }) => ({ image: spec.containers[0].image });
			for (const [name, metadata] of [
				['a', {}],
				['b', { finalizers: ['example.com/x'] }],
			]) {
				const made = unplacedPod(name, metadata);
				await t.create(made, { query: { fieldManager: 'maker' }, unrecorded: true });
				const [{ name: container }] = made.spec.containers;
				const other = {
					apiVersion: 'v1',
					kind: 'Pod',
					metadata: { name },
					spec: { containers: [{ name: container, image: 'example.com/other:1' }] },
				};
				await apply(t, `pods/${name}`, other, 'two', { show });
				await apply(t, `pods/${name}`, other, 'two', { force: true, show });
				await apply(t, `pods/${name}`, { ...other, spec: made.spec }, 'three', { show });
			}
			await t.patch('pods/b', 'merge', { metadata: { finalizers: null } }, { unrecorded: true });
		},
		{
			differs: [
				{
					real: '409 Failure 409 Conflict "Apply failed with 1 conflict: conflict with \\"maker\\" using v1: .spec.containers[name=\\"main\\"].image"',
					sandbox:
						'409 Failure 409 Conflict "Apply failed with 1 conflict: conflict with \\"before-first-apply\\" using v1: .spec.containers[name=\\"main\\"].image"',
					why: noted,
				},
				{
					real: 'cause FieldManagerConflict .spec.containers[name="main"].image "conflict with \\"maker\\" using v1"',
					sandbox:
						'cause FieldManagerConflict .spec.containers[name="main"].image "conflict with \\"before-first-apply\\" using v1"',
					why: noted,
				},
			],
		},
	),
	define('apply-dry-run', 'A dry run of an apply reports conflicts and stores nothing', async (t) => {
		await applyMap(t, { a: '1' }, 'one');
		const query = { fieldManager: 'two', dryRun: 'All' };
		await t.patch('configmaps/a', 'apply', configMap('a', {}, { data: { a: '2' } }), { query });
		await t.patch('configmaps/a', 'apply', configMap('a', {}, { data: { b: '2' } }), { query, fields: ['data'] });
		await whose(t, 'configmaps/a');
	}),
];
