/**
 * The history waits at its end for watches that lag behind a list.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { History } from './history.mjs';

/** A cluster with one kind, whose watch reports events when the test says so. */
function fakeCluster() {
	/** @type {Map<string, Record<string, any>>} */
	const known = new Map();
	/** @type {(event: any) => void} */
	let onEvent = () => {};
	/** @param {number} revision */
	const object = (revision) => ({
		kind: 'ConfigMap',
		metadata: { name: 'a', uid: 'a', resourceVersion: String(revision) },
	});
	/** @param {number} revision */
	const report = (revision) => {
		known.set('a', object(revision));
		onEvent({ type: 'MODIFIED', object: object(revision), revision, inferred: false });
	};
	const resource = {
		resource: 'configmaps',
		responseKind: { kind: 'ConfigMap' },
		scope: 'Namespaced',
		verbs: ['list', 'watch'],
	};
	/** @type {import('./history.mjs').ClusterAccess} */
	const cluster = {
		audit: '',
		request: async (_user, _method, path) => {
			if (path === '/apis') return { status: 200, body: { items: [] } };
			if (path === '/api')
				return { status: 200, body: { items: [{ metadata: {}, versions: [{ version: 'v1', resources: [resource] }] }] } };
			return { status: 200, body: { metadata: { resourceVersion: '7' }, items: [object(7)] } };
		},
		watch: (_user, _path, _params, listener) => {
			onEvent = listener;
			return { synced: Promise.resolve(), known, close: () => {} };
		},
	};
	return { cluster, report };
}

test('watch that lags behind the list is waited for', async () => {
	const { cluster, report } = fakeCluster();
	const history = await History.open(cluster);
	report(5);
	let closed = false;
	const closing = history.close().then((events) => {
		closed = true;
		return events;
	});
	await new Promise((resolve) => setImmediate(resolve));
	report(6);
	await new Promise((resolve) => setImmediate(resolve));
	assert.equal(closed, false);
	report(7);
	assert.deepEqual(
		(await closing).map(({ revision }) => revision),
		[5, 6, 7],
	);
});
