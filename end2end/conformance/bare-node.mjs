/**
 * Node objects without a machine. The case writes what a kubelet would report; the API server and the controllers react to it.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { ownedBy, pod } from './objects.mjs';

/** @typedef {import('./test-context.mjs').TestContext} TestContext */
/** @typedef {import('./wire.mjs').Answer} Answer */

const leases = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases';
const leaseSeconds = 8;

/** The Ready condition of a healthy node. */
const healthy = { status: 'True', reason: 'KubeletReady', message: 'kubelet is posting ready status' };
/** The Ready condition of a node whose container runtime does not answer. */
export const runtimeDown = {
	status: 'False',
	reason: 'KubeletNotReady',
	message: 'PLEG is not healthy: pleg was last seen active 3m5s ago; threshold is 3m0s',
};

/**
 * Creates a node without a machine. Its taint keeps away Pods that do not tolerate it.
 * @param {TestContext} t @param {string} name @param {Record<string, string>} [annotations]
 */
export async function bareNode(t, name, annotations = {}) {
	const taints = [{ key: 'conformance', value: 'own', effect: 'NoSchedule' }];
	const { body: node } = await t.create(
		{ apiVersion: 'v1', kind: 'Node', metadata: { name, labels: { of: t.ns }, annotations }, spec: { taints } },
		{ unrecorded: true },
	);
	const now = new Date().toISOString();
	const conditions = [
		{ type: 'Ready', status: 'True', reason: 'KubeletReady', lastHeartbeatTime: now, lastTransitionTime: now },
	];
	const allocatable = { cpu: '4', memory: '8Gi', pods: '10' };
	await t.patch(
		`nodes/${name}/status`,
		'strategic',
		{ status: { conditions, allocatable, capacity: allocatable } },
		{ unrecorded: true },
	);
	return node;
}

/** The time by the clock of the target. @param {Answer} answer */
export const serverTime = ({ headers }) => Date.parse(headers.date ?? '');

/**
 * Renews the lease and the Ready condition of a bare node, like a kubelet, while an action runs. Both are repeated, because a
 * lease lasts for seconds only.
 * @param {TestContext} t @param {string} name @param {() => Promise<void>} action @param {typeof healthy} [ready]
 */
export async function withHeartbeat(t, name, action, ready = healthy) {
	const answer = await t.get(`nodes/${name}`, { unrecorded: true });
	/** By the target's clock, which may differ from this machine's. */
	let now = serverTime(answer);
	const renewed = () => ({ renewTime: new Date(now).toISOString().replace('Z', '000Z') });
	const metadata = { name, ...ownedBy({ apiVersion: 'v1', kind: 'Node', metadata: answer.body.metadata }) };
	const spec = { holderIdentity: name, leaseDurationSeconds: leaseSeconds, ...renewed() };
	await t.post(leases, { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec }, { unrecorded: true });
	const since = new Date(now).toISOString();
	const report = async () => {
		const lastHeartbeatTime = new Date(now).toISOString();
		const conditions = [{ type: 'Ready', ...ready, lastHeartbeatTime, lastTransitionTime: since }];
		now = serverTime(await t.patch(`${leases}/${name}`, 'merge', { spec: renewed() }, { unrecorded: true }));
		await t.patch(`nodes/${name}/status`, 'strategic', { status: { conditions } }, { unrecorded: true });
	};
	await report();
	let running = true;
	const reports = (async () => {
		for (; running; await pause(100)) await report();
	})();
	reports.catch(() => {}); // awaited at the end
	try {
		await action();
	} finally {
		running = false;
		await reports;
	}
}

/** Whether the lease of a node has not expired. @param {TestContext} t @param {string} name */
export async function hasCurrentLease(t, name) {
	const answer = await t.get(`${leases}/${name}`, { unrecorded: true });
	const { renewTime, leaseDurationSeconds } = answer.body.spec;
	return serverTime(answer) - Date.parse(renewTime) < leaseDurationSeconds * 1000;
}

/**
 * Creates a bare node and a Pod `p` on it, with the status that a kubelet would write.
 * @param {TestContext} t @param {Record<string, any>} status @param {Record<string, any>} [spec] @param {Record<string, any>} [metadata]
 */
export async function podOnBareNode(t, status, spec = {}, metadata = {}) {
	const name = t.name('node');
	const node = await bareNode(t, name);
	const there = { nodeName: name, tolerations: [{ operator: 'Exists' }], ...spec };
	const { body } = await t.create(pod('p', metadata, there), { unrecorded: true });
	await t.patch('pods/p/status', 'strategic', { status }, { unrecorded: true });
	return { name, node, pod: body };
}

/** The status of the Pod's only container. @param {Record<string, any>} state */
export const container = (state) => ({
	containerStatuses: [
		{ name: 'main', image: 'example.com/main:1', imageID: '', ready: 'running' in state, restartCount: 0, state },
	],
});
export const runningState = () => ({ running: { startedAt: new Date().toISOString() } });
export const terminatedState = () => {
	const now = new Date().toISOString();
	return { terminated: { exitCode: 137, reason: 'Error', startedAt: now, finishedAt: now } };
};
export const running = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };

/**
 * Creates the event that a kubelet would emit for a Pod.
 * @param {TestContext} t @param {any} pod @param {string} reason @param {string} message @param {'Warning'|'Normal'} [type]
 */
export const reportEvent = (t, { metadata, spec }, reason, message, type = 'Warning') =>
	t.create(
		{
			apiVersion: 'v1',
			kind: 'Event',
			metadata: { name: `${metadata.name}.${reason.toLowerCase()}` },
			involvedObject: { apiVersion: 'v1', kind: 'Pod', namespace: t.ns, name: metadata.name, uid: metadata.uid },
			type,
			reason,
			message,
			source: { component: 'kubelet', host: spec.nodeName },
		},
		{ unrecorded: true },
	);

/** Lists the events of a Pod with one reason. @param {TestContext} t @param {any} pod @param {string} reason */
export const getEvents = (t, { metadata }, reason) =>
	t.get('events', {
		query: { fieldSelector: `involvedObject.uid=${metadata.uid},reason=${reason}` },
		fields: ['type', 'message', 'source.component'],
	});

/** Waits until the deletion deadline of the Pod `p` has passed by the target's clock. @param {TestContext} t */
export async function waitForDeadline(t) {
	await t.eventually(
		'the deadline is over',
		'GET',
		'pods/p',
		(answer) => serverTime(answer) > Date.parse(answer.body.metadata.deletionTimestamp),
	);
	t.note('the deadline', 'is over');
}
