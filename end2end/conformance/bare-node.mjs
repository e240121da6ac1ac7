/**
 * Nodes that no machine stands behind: what a kubelet would say there, a case says itself. What the API and the controllers
 * make of it is theirs.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { ownedBy, pod } from './objects.mjs';

/** @typedef {import('./test-context.mjs').TestContext} TestContext */
/** @typedef {import('./wire.mjs').Answer} Answer */

const leases = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases';
const leaseSeconds = 8;

/** What the kubelet of a node that is well says of it. */
const healthy = { status: 'True', reason: 'KubeletReady', message: 'kubelet is posting ready status' };
/** What it says when its runtime does not answer. */
export const runtimeDown = {
	status: 'False',
	reason: 'KubeletNotReady',
	message: 'PLEG is not healthy: pleg was last seen active 3m5s ago; threshold is 3m0s',
};

/**
 * A node that no machine stands behind; nothing is put on it that does not ask for it.
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

/** What the world takes for now. @param {Answer} answer */
export const serverTime = ({ headers }) => Date.parse(headers.date ?? '');

/**
 * Lets the kubelet of a bare node say, while something is played, how it is, and that it is there itself: again and again,
 * because what it said counts for seconds only.
 * @param {TestContext} t @param {string} name @param {() => Promise<void>} action @param {typeof healthy} [ready]
 */
export async function withHeartbeat(t, name, action, ready = healthy) {
	const answer = await t.get(`nodes/${name}`, { unrecorded: true });
	/** In the time of the world, which need not be ours. */
	let now = serverTime(answer);
	const renewed = () => ({ renewTime: new Date(now).toISOString().replace('Z', '000Z') });
	const metadata = { name, ...ownedBy({ apiVersion: 'v1', kind: 'Node', metadata: answer.body.metadata }) };
	const spec = { holderIdentity: name, leaseDurationSeconds: leaseSeconds, ...renewed() };
	await t.post(leases, { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec }, { unrecorded: true });
	const since = new Date(now).toISOString();
	const speak = async () => {
		const lastHeartbeatTime = new Date(now).toISOString();
		const conditions = [{ type: 'Ready', ...ready, lastHeartbeatTime, lastTransitionTime: since }];
		now = serverTime(await t.patch(`${leases}/${name}`, 'merge', { spec: renewed() }, { unrecorded: true }));
		await t.patch(`nodes/${name}/status`, 'strategic', { status: { conditions } }, { unrecorded: true });
	};
	await speak();
	let speaks = true;
	const said = (async () => {
		for (; speaks; await pause(100)) await speak();
	})();
	said.catch(() => {}); // told at the end
	try {
		await action();
	} finally {
		speaks = false;
		await said;
	}
}

/** Whether the kubelet of a node is heard: its lease is not over. @param {TestContext} t @param {string} name */
export async function hasCurrentLease(t, name) {
	const answer = await t.get(`${leases}/${name}`, { unrecorded: true });
	const { renewTime, leaseDurationSeconds } = answer.body.spec;
	return serverTime(answer) - Date.parse(renewTime) < leaseDurationSeconds * 1000;
}

/**
 * A bare node, and a Pod `p` there of which its kubelet said something.
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

/** What the kubelet says of the only container. @param {Record<string, any>} state */
export const container = (state) => ({
	containerStatuses: [
		{ name: 'main', image: 'example.com/main:1', imageID: '', ready: 'running' in state, restartCount: 0, state },
	],
});
/** A container that runs. */
export const runs = () => ({ running: { startedAt: new Date().toISOString() } });
/** A container that was killed. */
export const ended = () => {
	const now = new Date().toISOString();
	return { terminated: { exitCode: 137, reason: 'Error', startedAt: now, finishedAt: now } };
};
export const running = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };

/**
 * What the kubelet tells of a Pod: an event.
 * @param {TestContext} t @param {any} pod @param {string} reason @param {string} message @param {'Warning'|'Normal'} [type]
 */
export const tell = (t, { metadata, spec }, reason, message, type = 'Warning') =>
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

/** The events of a Pod, of one reason. @param {TestContext} t @param {any} pod @param {string} reason */
export const told = (t, { metadata }, reason) =>
	t.get('events', {
		query: { fieldSelector: `involvedObject.uid=${metadata.uid},reason=${reason}` },
		fields: ['type', 'message', 'source.component'],
	});

/** Waits until the deadline of the Pod is over, by the clock of whoever answers. @param {TestContext} t */
export async function waitForDeadline(t) {
	await t.eventually(
		'the deadline is over',
		'GET',
		'pods/p',
		(answer) => serverTime(answer) > Date.parse(answer.body.metadata.deletionTimestamp),
	);
	t.note('the deadline', 'is over');
}
