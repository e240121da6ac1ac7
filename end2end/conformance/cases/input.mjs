/**
 * Bad input: malformed requests, malformed JSON, wrong objects, bodies that are too large.
 */
import { configMap } from '../objects.mjs';
import { define } from '../suite.mjs';

const yaml = (/** @type {string} */ name) =>
	`apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\ndata:\n  k: v\n`;

export default [
	define('input-malformed', 'Truncated or invalid JSON is refused', async (t) => {
		for (const raw of [
			'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"}',
			'{"kind": ConfigMap}',
			'hello',
			'[]',
			'"text"',
			'null',
			'{}',
			'',
		])
			await t.post('configmaps', undefined, { raw });
	}),
	define('input-wrong-types', 'A field of the wrong type is refused', async (t) => {
		await t.post('configmaps', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 5 } });
		await t.post('configmaps', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', labels: ['x'] } });
		await t.post('configmaps', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' }, data: { k: 5 } });
		await t.post('configmaps', { apiVersion: 'v1', kind: 'ConfigMap', metadata: 'a' });
		await t.post('configmaps', { apiVersion: 1, kind: 'ConfigMap' });
		await t.post('configmaps', { apiVersion: 'a/b/c', kind: 'ConfigMap' });
		await t.post('deployments', {
			apiVersion: 'apps/v1',
			kind: 'Deployment',
			metadata: { name: 'a' },
			spec: { replicas: 'many' },
		});
	}),
	define(
		'input-yaml',
		'A YAML body with its content type is accepted',
		async (t) => {
			const headers = { 'content-type': 'application/yaml' };
			await t.post('configmaps', undefined, { raw: yaml('a'), headers, fields: ['data'] });
			await t.post('configmaps', undefined, { raw: 'a: [b', headers });
			await t.post('configmaps', undefined, { raw: yaml('b') });
		},
		{
			differs: [
				'201 ConfigMap a data={"k":"v"}',
				`400 Failure 400 BadRequest "the object provided is unrecognized (must be of type ConfigMap): yaml: line 1: did not find expected ',' or ']' (613a205b62)"`,
			].map((real) => ({
				real,
				sandbox:
					'415 Failure 415 UnsupportedMediaType "the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf"',
				why: 'the sandbox reads no YAML, because its clients send JSON',
			})),
		},
	),
	define('input-content-type', 'A body with an unknown content type is refused', async (t) => {
		for (const type of [
			'text/plain',
			'application/x-www-form-urlencoded',
			'nonsense',
			'application/json; charset=utf-8',
			'application/merge-patch+json',
		])
			await t.post('configmaps', configMap('a'), { headers: { 'content-type': type } });
	}),
	define('input-too-large', 'A request of more than 3 MB is refused', async (t) => {
		await t.post('configmaps', configMap('a', {}, { data: { k: 'x'.repeat(3_300_000) } }));
	}),
	define('input-object-too-large', 'A ConfigMap of more than 1 MB is refused', async (t) => {
		await t.post('configmaps', configMap('a', {}, { data: { k: 'x'.repeat(1_100_000) } }));
		await t.post('configmaps', configMap('a', { annotations: { k: 'x'.repeat(300_000) } }));
	}),
	define('input-deep', 'JSON that is nested too deeply is refused', async (t) => {
		await t.post('configmaps', undefined, { raw: `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}` });
	}),
	define('input-patch-too-many', 'A JSON patch with too many operations is refused', async (t) => {
		await t.create(configMap('a'), { unrecorded: true });
		await t.patch(
			'configmaps/a',
			'json',
			Array.from({ length: 10_001 }, () => ({ op: 'test', path: '/kind', value: 'ConfigMap' })),
		);
	}),
	define('input-delete-body', 'A malformed DELETE body is refused', async (t) => {
		await t.create(configMap('a'), { unrecorded: true });
		await t.delete('configmaps/a', undefined, { raw: '{"gracePeriodSeconds":' });
		await t.delete('configmaps/a', { gracePeriodSeconds: 'soon' });
		await t.delete('configmaps/a', { preconditions: 'none' });
		await t.delete('configmaps/a', { apiVersion: 'nowhere.example.com/v7', kind: 'DeleteOptions' });
		await t.get('configmaps/a');
	}),
	define('input-method', '§3 A9 A method that a path does not support is answered with 405', async (t) => {
		await t.put('configmaps', {});
		await t.post('configmaps/a', {});
		await t.post(`namespaces/${t.ns}`, {});
		await t.request('PATCH', 'configmaps', {}, { headers: { 'content-type': 'application/merge-patch+json' } });
		await t.delete('selfsubjectaccessreviews');
		await t.get('selfsubjectaccessreviews');
		await t.get('pods/p/eviction');
		await t.get('pods/p/binding');
		await t.request('OPTIONS', 'configmaps');
	}),
	define('input-paths', 'Unusual paths are normalised or not found', async (t) => {
		for (const path of [
			'/api/v1/namespaces//configmaps',
			`/api/v1/namespaces/${t.ns}`,
			`/api/v1/namespaces/${t.ns}/configmaps/a/b/c`,
			'/api/v1/namespaces/%2e%2e/configmaps',
			'/apis',
			'/apis/',
			'/api/v2',
			'/apis/apps/',
			`/apis/apps/v1/namespaces/${t.ns}/configmaps`,
		])
			await t.get(path, { show: ({ kind, metadata }) => [kind, metadata?.name ?? null] });
	}),
	define('input-odd-names', 'An impossible name in the path is not found', async (t) => {
		await t.get('configmaps/UPPER');
		await t.get('configmaps/%20');
		await t.get('configmaps/a%2Fb');
		await t.delete(`configmaps/${'a'.repeat(300)}`);
	}),
	define('input-query', 'Query parameters with invalid values are refused or interpreted, unknown ones are ignored', async (t) => {
		await t.create(configMap('a'), { unrecorded: true });
		await t.get('configmaps', { query: { timeoutSeconds: 'x' } });
		await t.get('configmaps/a', { query: { resourceVersion: 'x' } });
		await t.get('configmaps/a', { query: { unknown: 'x' } });
		await t.delete('configmaps/a', undefined, { query: { orphanDependents: 'perhaps' } });
		await t.create(configMap('b'), { query: { fieldManager: 'x'.repeat(200) } });
		await t.create(configMap('b'), { query: { fieldManager: 'one\u0000two' } });
	}),
	define('input-duplicate-keys', 'Of duplicate JSON keys the last one counts, and strict validation refuses them', async (t) => {
		const raw = '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"},"data":{"k":"v","k":"w"}}';
		await t.post('configmaps', undefined, { raw, query: { fieldValidation: 'Strict' } });
		await t.post('configmaps', undefined, { raw, fields: ['data'] });
	}),
	define('input-text', 'Unusual text is stored unchanged, or refused if its field has a format', async (t) => {
		await t.create(
			configMap(
				'a',
				{ annotations: { note: 'ä \u{1F600} </script> "quoted" \\ \n\t' } },
				{ data: { k: '\u202e reversed' } },
			),
			{ fields: ['metadata.annotations', 'data'] },
		);
		await t.create(configMap('b', {}, { data: { 'not a key!': 'v' } }));
		await t.create(configMap('b', {}, { binaryData: { k: '***' } }));
	}),
];
