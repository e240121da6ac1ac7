/**
 * The real kubelet fails and recovers on command, and says what `server/sandbox/recordings` has.
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { start } from './cluster.mjs';
import { cases, objectsOf, podName } from './kubelet/cases.mjs';
import { ask, fixed, startKubelets } from './kubelet/record-proxy.mjs';

const linux = process.platform === 'linux';
const recordings = new URL('../../server/sandbox/recordings/kubelet/', import.meta.url);
/** @param {string} file */
const recorded = (file) => readFile(new URL(file, recordings), 'utf8');

/** @type {import('./cluster.mjs').Cluster} */
let cluster;
/** @type {import('./kubelet.mjs').RealKubelet} */
let kubelet;
before(async () => {
	if (!linux) return;
	cluster = await start({ programs: true });
	kubelet = await cluster.startRealKubelet('node-text', { logQuery: true });
});
after(() => cluster?.stop());

const options = { skip: !linux && 'a kubelet runs on Linux only', timeout: 90_000 };

/** An error of the log without what differs from Pod to Pod and from time to time. @param {string} entry */
const words = (entry) =>
	entry
		.replace(/^E\d{4} [\d:.]+ +\d+/, 'E')
		.replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'UID')
		.replace(/until .*? m=\+[\d.]+/, 'until TIME');

/** The entries of a log that begin with an error of a volume operation. @param {string} log @returns {string[]} */
const failures = (log) => log.match(/^E.*nestedpendingoperations.go(.*\n)(?![IWE]\d{4} )(.*\n)*?(?=[IWE]\d{4} |$)/gm) ?? [];

test('busy volume holds its Pod with the recorded words until it is released', options, async () => {
	const busy = cases.find(({ name }) => name === 'busy-nfs');
	assert.ok(busy);
	const namespace = busy.name;
	await cluster.apply([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } }]);
	await cluster.until(`/api/v1/namespaces/${namespace}/configmaps`, (found) => found.length > 0);
	await cluster.apply(objectsOf(busy, namespace, kubelet));
	const pods = `/api/v1/namespaces/${namespace}/pods`;
	const [pod] = await cluster.until(pods, ([pod]) => pod?.status?.phase === 'Running');
	await kubelet.fail(pod, 'busy');
	await cluster.request('admin', 'DELETE', `${pods}/${podName}`);
	await cluster.until(pods, ([pod]) => pod?.status?.phase === 'Failed', { what: 'the terminal phase' });

	/** @returns {Promise<string[]>} */
	const said = async () => {
		const log = (await readFile(kubelet.log, 'utf8')).replaceAll(kubelet.root, '/var/lib/kubelet');
		return failures(log).map(words);
	};
	// The third retry is announced after 1.5 s; the log is a file, which cannot be watched for its content.
	while ((await said()).length < 3) await pause(100);
	const expected = failures(await recorded('busy-nfs/log.txt')).map(words);
	assert.deepEqual((await said()).slice(0, 3), expected.slice(0, 3));

	await kubelet.repair(pod);
	await cluster.until(pods, (found) => found.length === 0, { what: 'the Pod gone' });
});

/** Kubernetes issue 83916. Once this fails, the text of `RemedyAct::ShortenGrace` and the sandbox's kubelet are out of date. */
test('second DELETE with a shorter grace period does not cut a running preStop hook short', options, async () => {
	const grace = 15;
	const namespace = 'pre-stop-shortened';
	await cluster.apply([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } }]);
	await cluster.until(`/api/v1/namespaces/${namespace}/configmaps`, (found) => found.length > 0);
	const hangs = { name: namespace, what: '', preStop: ['sleep', '600'], grace };
	await cluster.apply(objectsOf(hangs, namespace, kubelet));
	const pods = `/api/v1/namespaces/${namespace}/pods`;
	await cluster.until(pods, ([pod]) => pod?.status?.phase === 'Running');
	const began = Date.now();
	await cluster.request('admin', 'DELETE', `${pods}/${podName}`);
	await pause(1_000);
	const { body } = await cluster.request('admin', 'DELETE', `${pods}/${podName}`, { gracePeriodSeconds: 4 });
	assert.equal(body.metadata.deletionGracePeriodSeconds, 4);
	await cluster.until(pods, (found) => found.length === 0, { what: 'the Pod gone' });
	assert.ok(Date.now() - began > (grace - 1) * 1_000, `gone after ${Date.now() - began} ms`);
	const log = await readFile(kubelet.log, 'utf8');
	const overrun = log.split('\n').find((line) => line.includes('PreStop hook not completed') && line.includes(namespace));
	assert.match(overrun ?? '', new RegExp(`gracePeriod=${grace}$`));
});

test('answers of nodes/proxy are the recorded ones', options, async () => {
	await startKubelets(cluster);
	/** Without what differs from answer to answer. @param {string} text */
	const stable = (text) => text.replaceAll(/^(Date|Audit-Id|Last-Modified|Content-Length): .*\n/gm, '');
	for (const request of fixed) {
		const answer = await ask(cluster, request);
		assert.equal(stable(answer), stable(await recorded(`proxy/${request.name}.http`)), request.name);
	}
});
