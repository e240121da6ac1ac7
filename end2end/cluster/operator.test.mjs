/**
 * Applications on an operator are torn down to their end by the program itself, and judged. The operator acts only as its Pods,
 * with their rights, so a teardown that deletes either too early does not end.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Judge } from '../judge/judge.mjs';
import { JudgedCluster } from './judged.mjs';
import * as bookshop from './sample/bookshop.mjs';
import * as queue from './sample/queue.mjs';

/** @typedef {import('../session.mjs').Json} Json */

/** Learns of each failure of the queue's operator. @type {(error: string) => void} */
let onFailure = () => {};
/** @type {JudgedCluster} */
let judged;
/** @type {import('./cluster.mjs').Cluster} */
let cluster;
/** Ends the queue's operator. */
let endQueue = () => {};
before(async () => {
	judged = await JudgedCluster.start(bookshop.install, async (cluster) => {
		endQueue = await queue.install(cluster, (_, error) => onFailure(String(error)));
		return () => endQueue();
	});
	cluster = judged.cluster;
});
after(() => judged?.stop());

const merge = { 'content-type': 'application/merge-patch+json' };
/** @param {string} method @param {string} path @param {unknown} [body] @param {Record<string, string>} [headers] */
const admin = (method, path, body, headers) => cluster.request('admin', method, path, body, headers);

/** @param {string} finalizer @param {import('../judge/cluster-state.mjs').Name} finisher */
const finishedBy = (finalizer, finisher) => ({ expectations: { finishers: { [finalizer]: finisher } } });

test('operator without a ready Pod neither validates nor converts', async () => {
	const deployment = `/apis/apps/v1/namespaces/${bookshop.operators}/deployments/${bookshop.operator}`;
	const inUse = await admin('DELETE', bookshop.orders, { dryRun: ['All'] });
	assert.equal(inUse.status, 403);
	assert.match(inUse.body.message, /denied the request: Pod shop-\S+ uses it/);
	await admin('PATCH', deployment, { spec: { replicas: 0 } }, merge);
	await bookshop.waitForEndpoints(cluster, 0);
	const unconverted = await admin('GET', bookshop.orders);
	assert.equal(unconverted.status, 500);
	assert.match(unconverted.body.message, /no endpoints available for service/);
	await admin('PATCH', deployment, { spec: { replicas: 2 } }, merge);
	await bookshop.waitForEndpoints(cluster, 2);
});

test('operator without its rights clears no finalizer', { timeout: 60_000 }, async () => {
	const { metadata } = queue.spare;
	const path = `${queue.topics.replace(/topics$/, `namespaces/${queue.unit}/topics`)}/${metadata.name}`;
	const only = { params: { fieldSelector: `metadata.name=${metadata.name}` } };
	await cluster.apply([queue.spare]);
	await cluster.until(queue.topics, ([it]) => !!it?.metadata.finalizers, { what: 'the finalizer', ...only });
	/** @type {Promise<void>} */
	const refused = new Promise((resolve) => (onFailure = (error) => error.includes('403') && resolve()));
	await admin('DELETE', (await cluster.kinds()).pathOf(queue.binding));
	assert.equal((await admin('DELETE', path)).status, 200);
	await refused;
	assert.deepEqual((await admin('GET', path)).body.metadata.finalizers, [queue.finalizer]);
	await cluster.apply([queue.binding]);
	await admin('PATCH', path, { metadata: { annotations: { again: 'please' } } }, merge);
	await cluster.until(queue.topics, (found) => found.length === 0, { what: 'the spare Topic to go', ...only });
});

test('application on an operator with finalizers, conversion and a webhook is torn down in the right order', async () => {
	const { plan, verdict } = await judged.tearDown(bookshop, finishedBy(bookshop.finalizer, bookshop.finisher));
	assert.deepEqual(plan.kept, []);
	assert.deepEqual(plan.given_up, []);
	assert.ok(verdict.seen.requests >= 20, JSON.stringify(verdict.seen));
	assert.deepEqual(await judged.left(bookshop), []);
});

test('operator that another application needs is kept, and finishes that one too', async () => {
	await cluster.apply(queue.reportingParts);
	await cluster.until(
		queue.topics,
		(found) => found.length === 3 && found.every(({ metadata }) => metadata.finalizers),
		{
			what: 'the Topic of the other application',
		},
	);
	const { finisher } = queue;
	const { plan } = await judged.tearDown(queue, {
		wanted: ({ kept }) => kept.length > 0,
		expectations: {
			...finishedBy(queue.finalizer, finisher).expectations,
			bystander: { label: queue.reporting.unitLabel },
		},
		end: {
			keptExpected: [finisher, { kind: 'CustomResourceDefinition', name: 'topics.queue.example' }],
			mayRemain: ({ metadata }) => metadata.labels?.['app.kubernetes.io/name'] !== 'broker',
		},
	});
	assert.deepEqual(
		plan.steps
			.filter((/** @type {Json} */ { object }) => object.kind === 'Topic')
			.map((/** @type {Json} */ { object }) => object.name),
		['orders', 'payments'],
	);
	await judged.tearDown(queue.reporting, finishedBy(queue.finalizer, finisher));
	assert.deepEqual(await judged.left(queue.reporting), []);
});

test('message queue is torn down before its operator (S4)', async () => {
	endQueue();
	endQueue = await queue.install(cluster);
	const isWhole = (/** @type {Json} */ { steps, kept }) =>
		kept.length === 0 &&
		['broker', 'orders', 'payments', 'queue-operator'].every((name) =>
			steps.some((/** @type {Json} */ { object }) => object.name === name),
		);
	await judged.tearDown(queue, { wanted: isWhole, ...finishedBy(queue.finalizer, queue.finisher) });
	assert.deepEqual(await judged.left(queue), []);
});

test('operator that goes before its objects is detected', async () => {
	endQueue();
	endQueue = await queue.install(cluster);
	const { expectations } = finishedBy(queue.finalizer, queue.finisher);
	const judge = await Judge.open(cluster, { unit: { label: queue.unitLabel }, actor: 'admin', ...expectations });
	const kinds = await cluster.kinds();
	const path = kinds.pathOf({ ...queue.finisher, apiVersion: 'apps/v1', metadata: queue.finisher });
	const { body } = await admin('GET', path);
	const { status } = await admin('DELETE', path, {
		preconditions: { uid: body.metadata.uid },
		propagationPolicy: 'Background',
	});
	assert.equal(status, 200);
	const { violations } = await judge.close({ mayRemain: () => true });
	assert.deepEqual(
		violations.map(({ rule, object }) => [rule, object]),
		[['finisher', 'Deployment queue/queue-operator']],
	);
});
