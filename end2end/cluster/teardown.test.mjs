/**
 * The applications of incidents S1 and S3 are torn down by the program itself, to their end, and judged.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { JudgedCluster } from './judged.mjs';
import * as peers from './sample/peers.mjs';
import * as statistics from './sample/statistics.mjs';

/** @typedef {import('../session.mjs').Json} Json */

/** @type {JudgedCluster} */
let judged;
/** @type {import('./cluster.mjs').Cluster} */
let cluster;
before(async () => {
	judged = await JudgedCluster.start(peers.install, statistics.install);
	cluster = judged.cluster;
});
after(() => judged?.stop());

/** Whether a plan deletes so many objects of a kind. @param {string} kind @param {number} count @returns {(plan: Json) => boolean} */
const deletes =
	(kind, count) =>
	({ steps }) =>
		steps.filter((/** @type {Json} */ step) => step.object.kind === kind).length === count;

test('volumes that a person keeps outlive their Pods and the set that owns them (S1)', async () => {
	const { plan } = await judged.tearDown(peers, {
		choices: [{ keep: 'data' }],
		expectations: { keepsData: true },
		end: {
			keptExpected: peers.claims,
			mayRemain: ({ kind }) => ['Namespace', 'PersistentVolume'].includes(kind),
		},
	});
	assert.deepEqual(
		plan.data.map((/** @type {Json} */ { fate }) => fate),
		['kept', 'kept', 'kept'],
	);
	const { body } = await cluster.request('admin', 'GET', `/api/v1/namespaces/${peers.unit}/persistentvolumeclaims`);
	assert.deepEqual(
		body.items.map((/** @type {Json} */ { metadata, status }) => [metadata.name, status.phase]),
		[
			['data-couchdb-0', 'Bound'],
			['data-couchdb-1', 'Bound'],
			['ledger', 'Bound'],
		],
	);
});

test('volumes are released only after the Pods that mount them (S1)', async () => {
	await peers.install(cluster);
	const { plan } = await judged.tearDown(peers, { wanted: deletes('Pod', 4) });
	assert.deepEqual(
		plan.data.map((/** @type {Json} */ { fate }) => fate),
		['destroyed', 'destroyed', 'destroyed'],
	);
	assert.deepEqual(await judged.left(peers), []);
	assert.equal(cluster.provisioner.volumes.size, 0);
});

test('aggregated API goes before its Pods, so that its namespace ends (S3)', async () => {
	const { plan } = await judged.tearDown(statistics);
	assert.deepEqual(plan.hidden, []);
	assert.deepEqual(await judged.left(statistics), []);
});

test('namespace beside a dead aggregated API waits and says why, and goes once the API is removed (S3)', async () => {
	await statistics.installBesideDeadApi(cluster);
	const api = statistics.deadApi;
	await judged.tearDown(statistics.haunted, {
		wanted: (plan) => deletes('Pod', 1)(plan) && plan.hidden.includes('metrics.k8s.io/v1beta1'),
		during: async (run) => {
			const saysWhy = (/** @type {Json} */ { step }) =>
				step?.object.kind === 'Namespace' && step.problem?.unknown?.reason;
			const records = await judged.session.until(`run:${run}`, (records) => records.some(saysWhy), {
				what: 'the reason',
			});
			const { problem } = /** @type {Json} */ (records.find(saysWhy)).step;
			assert.deepEqual(problem.unknown.reason, {
				code: 'hidden',
				resource: 'metrics.k8s.io/v1beta1',
				message: { code: 'stale' },
			});
			// Somebody else removes it, whose requests are not judged.
			const { status } = await cluster.request('system:kwok', 'DELETE', (await cluster.kinds()).pathOf(api));
			assert.equal(status, 200);
		},
	});
	assert.deepEqual(await judged.left(statistics.haunted), []);
});
