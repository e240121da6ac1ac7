/**
 * Records what a real kubelet says while a Pod does not go: its log as text and as JSON, its events, the Pod's status over time, its
 * metrics and the answers of its server through `nodes/proxy`. Takes about six minutes.
 *
 *   node end2end/cluster/kubelet/record.mjs [DIR]      default: server/sandbox/recordings/kubelet
 */
import { randomUUID } from 'node:crypto';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { start } from '../cluster.mjs';
import { cases, objectsOf, ofNodes, podName } from './cases.mjs';
import { recordProxy } from './record-proxy.mjs';

/** @typedef {import('../client.mjs').KubeObject} KubeObject */
/** @typedef {import('../kubelet.mjs').RealKubelet} RealKubelet */
/** @typedef {import('./cases.mjs').Case} Case */

/** The time of a recording in seconds: the second retry after the longest back-off of 2m2s has been announced by then. */
const duration = 270;
/** The number of events that are kept. */
const mostEvents = 12;

const here = fileURLToPath(new URL('.', import.meta.url));
const out = resolve(process.argv[2] ?? join(here, '../../../server/sandbox/recordings/kubelet'));
/** @param {string} line */
const log = (line) => process.stderr.write(`${line}\n`);

await rm(out, { recursive: true, force: true });
const cluster = await start({ programs: true, log });
/** @param {string} method @param {string} path @param {unknown} [body] */
const admin = (method, path, body) => cluster.request('admin', method, path, body);

try {
	const formats = /** @type {const} */ (['text', 'json']);
	const groups = await Promise.all(
		formats.map(async (logFormat) => {
			const options = { logFormat, logQuery: true };
			const kubelet = await cluster.startRealKubelet(`node-${logFormat}`, options);
			/** @type {Record<string, RealKubelet>} */
			const failing = {};
			for (const fault of ofNodes) failing[fault] = await cluster.startRealKubelet(`node-${logFormat}-${fault}`, options);
			return { logFormat, kubelet, failing };
		}),
	);
	const recordings = await Promise.all(
		groups.flatMap((group) =>
			cases.map((recorded) => {
				const kubelet = group.failing[recorded.fault ?? ''] ?? group.kubelet;
				return begin(recorded, group.logFormat, kubelet);
			}),
		),
	);
	const orphan = await recordOrphan(groups[0].kubelet);
	await pause(duration * 1000);
	await orphan.end();
	const busy = recordings[cases.findIndex(({ name }) => name === 'busy')];
	await recordProxy(cluster, join(out, 'proxy'), busy.uid, log);
	const pods = await Promise.all(recordings.map((recording) => recording.end()));
	const metrics = await admin('GET', '/api/v1/nodes/node-text/proxy/metrics');
	await writeFile(join(out, 'metrics.txt'), chosenMetrics(metrics.body));
	log(`recorded ${pods.length} Pods in ${out}`);
} finally {
	await cluster.stop();
}

/**
 * Runs the Pod of a case, gives it its fault, deletes it, and records from then on.
 * @param {Case} recorded @param {'text'|'json'} logFormat @param {RealKubelet} kubelet
 */
async function begin(recorded, logFormat, kubelet) {
	const namespace = logFormat === 'text' ? recorded.name : `${recorded.name}-${logFormat}`;
	const objects = objectsOf(recorded, namespace, kubelet);
	await cluster.apply([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } }]);
	const configMaps = `/api/v1/namespaces/${namespace}/configmaps`;
	await cluster.until(configMaps, (found) => found.length > 0, { what: 'the root certificates' });
	await cluster.apply(objects);
	const pods = `/api/v1/namespaces/${namespace}/pods`;
	const [pod] = await cluster.until(pods, ([pod]) => pod?.status?.phase === 'Running', {
		what: `Pod of ${namespace}`,
		within: 120_000,
	});
	await recorded.prepare?.(kubelet, pod);
	if (recorded.fault) await kubelet.fail(ofNodes.includes(recorded.fault) ? 'node' : pod, recorded.fault);
	if (recorded.fault === 'unregistered') {
		await cluster.until('/apis/storage.k8s.io/v1/csinodes', ([node]) => !node?.spec.drivers?.length, {
			what: 'the driver unregistered',
			params: { fieldSelector: `metadata.name=${kubelet.node}` },
		});
	}
	const began = Date.now();
	const since = () => `+${((Date.now() - began) / 1000).toFixed(1)}s`;
	/** @type {string[]} */
	const states = [];
	/** @type {string[]} */
	const events = [];
	let last = pod;
	const podWatch = cluster.watch('admin', pods, {}, ({ type, object }) => {
		const line = type === 'DELETED' ? 'deleted' : stateOf(object);
		if (type !== 'DELETED') last = object;
		if (states.at(-1)?.split(' ').slice(1).join(' ') !== line) states.push(`${since()} ${line}`);
	});
	const eventWatch = cluster.watch('admin', `/api/v1/namespaces/${namespace}/events`, {}, ({ type, object }) => {
		// The events of its start arrive late.
		if (type === 'DELETED' || ['Pulled', 'Created', 'Started'].includes(object.reason)) return;
		const { involvedObject, reason, message, count } = object;
		const subject = [involvedObject.kind, involvedObject.fieldPath].filter(Boolean).join(' ');
		events.push(JSON.stringify({ after: since(), type: object.type, reason, count, subject, message }));
	});
	await podWatch.synced;
	await eventWatch.synced;
	const logged = (await readFile(kubelet.log, 'utf8')).length;
	await admin('DELETE', `${pods}/${podName}`, recorded.options);
	return {
		/** Of the Pod. @type {string} */
		uid: pod.metadata.uid,
		/** Ends the recording, and writes it. */
		end: async () => {
			podWatch.close();
			eventWatch.close();
			const text = (await readFile(kubelet.log, 'utf8')).slice(logged);
			const names = [pod.metadata.uid, `"${namespace}/${podName}"`];
			const lines = about(text, names, recorded.most).replaceAll(kubelet.root, '/var/lib/kubelet').replaceAll(cluster.dir, '/run/cluster');
			const dir = join(out, recorded.name);
			await mkdir(dir, { recursive: true });
			if (logFormat === 'json') return writeFile(join(dir, 'log.json'), lines);
			await writeFile(join(dir, 'log.txt'), lines);
			await writeFile(join(dir, 'states.txt'), states.map((line) => `${line}\n`).join(''));
			if (events.length > 0) await writeFile(join(dir, 'events.json'), events.slice(0, mostEvents).map((line) => `${line}\n`).join(''));
			const { managedFields: _, ...metadata } = last.metadata;
			const shown = { ...last, metadata };
			await writeFile(join(dir, 'pod.json'), `${JSON.stringify(shown, null, '\t').replaceAll(kubelet.root, '/var/lib/kubelet')}\n`);
		},
	};
}

/** Leaves the directory of a Pod that is unknown to the API server on a node, and records that. @param {RealKubelet} kubelet */
async function recordOrphan(kubelet) {
	const uid = randomUUID();
	const logged = (await readFile(kubelet.log, 'utf8')).length;
	const volume = join(kubelet.root, 'pods', uid, 'volumes/kubernetes.io~nfs/data');
	await mkdir(volume, { recursive: true });
	await writeFile(join(volume, 'file'), '');
	return {
		end: async () => {
			const text = (await readFile(kubelet.log, 'utf8')).slice(logged);
			await mkdir(join(out, 'orphan'), { recursive: true });
			await writeFile(join(out, 'orphan/log.txt'), about(text, [uid], 4).replaceAll(kubelet.root, '/var/lib/kubelet'));
		},
	};
}

/** The lines of a log that contain one of these names, with the lines that continue them. @param {string} text @param {string[]} names */
function about(text, names, most = 40) {
	let is = false;
	let count = 0;
	const lines = text.split(/(?<=\n)/).filter((line) => {
		// A message of several lines goes on without klog's header.
		if (/^[IWEF]\d{4} |^{/.test(line)) is = names.some((name) => line.includes(name)) && ++count <= most;
		return is;
	});
	return lines.join('');
}

/** What a Pod's status shows of its end, in one line. @param {KubeObject} pod */
function stateOf({ metadata, status }) {
	const containers = (status.containerStatuses ?? []).map((/** @type {any} */ { name, state }) => {
		const [[kind, { exitCode, reason }]] = /** @type {[string, any][]} */ (Object.entries(state));
		return `${name}=${[kind, exitCode, reason].filter((it) => it !== undefined).join(':')}`;
	});
	const conditions = (status.conditions ?? [])
		.filter((/** @type {any} */ { type }) => !['Initialized', 'PodScheduled'].includes(type))
		.map((/** @type {any} */ { type, status, reason }) => `${type}=${[status, reason].filter(Boolean).join(':')}`);
	const grace = metadata.deletionGracePeriodSeconds;
	return [status.phase, grace === undefined ? 'present' : `grace=${grace}`, ...containers, ...conditions].join(' ');
}

/** The lines of the kubelet's metrics that count Pods and volumes that do not go. @param {string} text */
function chosenMetrics(text) {
	const chosen = [
		'kubelet_orphaned_runtime_pods_total',
		'kubelet_running_containers',
		'kubelet_running_pods',
		'kubelet_runtime_operations_errors_total',
		'kubelet_working_pods',
		'kubelet_orphan_pod_cleaned_volumes',
		'kubelet_orphan_pod_cleaned_volumes_errors',
		'storage_operation_duration_seconds_count',
		'volume_manager_total_volumes',
	];
	const lines = text.split(/(?<=\n)/).filter((line) => {
		const name = line.replace(/^# (HELP|TYPE) /, '').match(/^[a-z_]+/)?.[0] ?? '';
		return chosen.includes(name) || (line.startsWith('#') && name === 'storage_operation_duration_seconds');
	});
	return lines.join('');
}
