/**
 * Client.follow loses no change, whatever happens to the connection. The server is scripted, so that each failure can be
 * produced.
 */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { Client } from './client.mjs';

/** @param {string} name @param {number} revision */
const object = (name, revision) => ({
	kind: 'ConfigMap',
	metadata: { name, uid: name, resourceVersion: String(revision) },
});
/** @param {number} revision @param {object[]} items */
const list = (revision, ...items) => ({
	kind: 'ConfigMapList',
	apiVersion: 'v1',
	metadata: { resourceVersion: String(revision) },
	items,
});
/** @param {string} type @param {object} object */
const event = (type, object) => ({ type, object });

/**
 * Follows a list on a server that gives the answers of a script, one per request, and collects what is reported.
 * @param {import('node:test').TestContext} t @param {((request: URL, response: import('node:http').ServerResponse) => void)[]} script
 * @param {number} expected how many events to wait for
 */
async function follow(t, script, expected) {
	/** @type {URL[]} */
	const asked = [];
	const server = createServer((request, response) => {
		const url = new URL(request.url ?? '', 'http://server');
		const answer = script[asked.length];
		asked.push(url);
		response.setHeader('content-type', 'application/json');
		if (answer) answer(url, response);
		// The script has ended: this watch stays open and silent.
	});
	await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
	const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
	const client = new Client({ server: `http://127.0.0.1:${port}`, token: 'test' });
	/** @type {string[]} */
	const seen = [];
	let enough = () => {};
	const reached = new Promise((resolve) => (enough = () => resolve(undefined)));
	const following = client.follow('/api/v1/configmaps', {}, ({ type, object, revision, inferred }) => {
		seen.push(`${type} ${object.metadata.name} ${revision}${inferred ? ' inferred' : ''}`);
		if (seen.length === expected) enough();
	});
	t.after(() => {
		following.close();
		client.close();
		server.closeAllConnections();
		server.close();
	});
	await reached;
	return { seen, asked, following };
}

/** @param {object} body */
const whole = (body) => (/** @type {URL} */ _, /** @type {import('node:http').ServerResponse} */ response) =>
	response.end(JSON.stringify(body));
/** @param {object[]} events */
const stream =
	(...events) =>
	(/** @type {URL} */ _, /** @type {import('node:http').ServerResponse} */ response) =>
		response.end(events.map((each) => `${JSON.stringify(each)}\n`).join(''));

test('watch that ended is resumed at its last revision', async (t) => {
	const { seen, asked } = await follow(
		t,
		[whole(list(5, object('a', 3))), stream(event('ADDED', object('b', 6))), stream(event('DELETED', object('a', 7)))],
		3,
	);
	assert.deepEqual(seen, ['ADDED a 3', 'ADDED b 6', 'DELETED a 7']);
	assert.deepEqual(
		asked.map(({ searchParams }) => searchParams.get('resourceVersion')),
		[null, '5', '6'],
	);
});

test('bookmark moves the resume revision and is not reported', async (t) => {
	const { seen, asked } = await follow(
		t,
		[whole(list(5)), stream(event('BOOKMARK', object('', 90))), stream(event('ADDED', object('a', 91)))],
		1,
	);
	assert.deepEqual(seen, ['ADDED a 91']);
	assert.equal(asked[2].searchParams.get('resourceVersion'), '90');
});

for (const [how, gone] of /** @type {[string, any][]} */ ([
	['an error event', stream(event('ERROR', { kind: 'Status', code: 410, metadata: {} }))],
	['status 410', (/** @type {URL} */ _, /** @type {any} */ response) => response.writeHead(410).end('{}')],
])) {
	test(`follow after 410 as ${how} reports the changes it missed`, async (t) => {
		const { seen, following } = await follow(
			t,
			[
				whole(list(5, object('stays', 1), object('goes', 2), object('changes', 3))),
				gone,
				whole(list(90, object('stays', 1), object('changes', 50), object('comes', 60))),
			],
			6,
		);
		assert.deepEqual(seen, [
			'ADDED stays 1',
			'ADDED goes 2',
			'ADDED changes 3',
			'DELETED goes 90 inferred',
			'MODIFIED changes 50',
			'ADDED comes 60',
		]);
		assert.deepEqual([...following.known.keys()].sort(), ['changes', 'comes', 'stays']);
	});
}

test('event cut off by a broken connection is read again', async (t) => {
	const torn = JSON.stringify(event('ADDED', object('b', 7))).slice(0, 40);
	const { seen, asked } = await follow(
		t,
		[
			whole(list(5)),
			(_, response) =>
				response.write(`${JSON.stringify(event('ADDED', object('a', 6)))}\n${torn}`, () => response.destroy()),
			stream(event('ADDED', object('b', 7))),
		],
		2,
	);
	assert.deepEqual(seen, ['ADDED a 6', 'ADDED b 7']);
	assert.equal(asked[2].searchParams.get('resourceVersion'), '6');
});

test('refused first list rejects synced', async (t) => {
	const refuse = (/** @type {URL} */ _, /** @type {any} */ response) =>
		response.writeHead(403).end('{"message":"not for you"}');
	const { following } = await follow(t, [refuse, whole(list(5, object('a', 1)))], 1);
	await assert.rejects(following.synced, /403 not for you/);
});
