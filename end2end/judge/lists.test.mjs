/**
 * The lists that must come before a deletion.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { developer, make, verdict } from './fixture.mjs';

test('namespace is unchecked unless everything in it was listed just before and after the last DELETE in it', () => {
	const namespace = make('Namespace', 'ns', { namespace: '' });
	const settings = make('ConfigMap', 'settings');
	const at = (/** @type {number} */ second) => `2026-01-01T00:00:${String(second).padStart(2, '0')}.000000Z`;
	const deletions = [
		{ resource: 'configmaps', namespace: 'ns', name: 'settings', uid: settings.metadata.uid, at: at(10) },
		{ resource: 'namespaces', name: 'ns', uid: namespace.metadata.uid, at: at(30) },
	].map((each) => ({ preconditionUid: 'any', propagationPolicy: 'Background', ...each }));
	const of = (/** @type {string} */ uri, second = 20, user = developer) => [{ user, uri, at: at(second) }];
	const unchecked = (/** @type {import('./audit.mjs').List[]} */ lists, /** @type {typeof deletions} */ more = []) =>
		verdict(
			[namespace, settings],
			[
				['gone', settings],
				['gone', namespace],
			],
			[...more, ...deletions],
			undefined,
			{},
			lists,
		).uncheckedNamespaces;
	const path = '/api/v1/namespaces/ns/configmaps?limit=500';
	assert.deepEqual(unchecked(of(path)), []);
	assert.deepEqual(unchecked(of('/api/v1/configmaps?limit=500')), [], 'of all namespaces');
	for (const [lists, what] of /** @type {const} */ ([
		[[], 'no list'],
		[of(path, 5), 'before the last DELETE'],
		[of(path, 40), 'after the namespace went'],
		[of(path, 20, 'somebody'), 'by somebody else'],
		[of(`${path}&resourceVersion=0`), 'from a cache'],
		[of('/api/v1/namespaces/other/configmaps'), 'in another namespace'],
		[of('/api/v1/namespaces/ns/secrets'), 'of another kind'],
	]))
		assert.deepEqual(unchecked([...lists]), ['ns: configmaps'], what);
	const definition = { ...deletions[1], resource: 'customresourcedefinitions.apiextensions.k8s.io', uid: 'd', name: 'configmaps.example' };
	assert.deepEqual(unchecked([], [{ ...definition, at: at(15) }]), [], 'a kind that is gone');
	assert.deepEqual(unchecked([], [{ ...definition, at: at(35) }]), ['ns: configmaps']);
});
