/**
 * Pods that do not terminate for reasons that only a kubelet knows. The case writes what the kubelet would report to the API.
 */
import {
	bareNode,
	container,
	terminatedState,
	withHeartbeat,
	hasCurrentLease,
	waitForDeadline,
	podOnBareNode,
	running,
	runningState,
	reportEvent,
	serverTime,
	getEvents,
} from '../bare-node.mjs';
import { condition } from '../conditions.mjs';
import { claim, mounting, ownedBy, pod, storageClass } from '../objects.mjs';
import { longTimeout } from '../test-context.mjs';
import { define } from '../suite.mjs';

/** @typedef {import('../test-context.mjs').TestContext} TestContext */

/** The phase of a Pod and the states of its containers. @param {any} pod */
const states = ({ status }) => [
	status.phase,
	...status.containerStatuses.map((/** @type {any} */ { state }) => Object.keys(state)[0]),
];
/** Deletes the node at the end of a case. @param {TestContext} t */
const removeNode = (t) => t.delete(`nodes/${t.name('node')}`, undefined, { unrecorded: true });
/** The DeleteOptions of a kubelet that has finished with a Pod. @param {any} pod */
const last = ({ metadata }) => ({ gracePeriodSeconds: 0, preconditions: { uid: metadata.uid } });

const protection = 'resource.kubernetes.io/delete-protection';

export default [
	define(
		'pod-prestop',
		'§3 P2 A preStop hook does not extend the deadline of 30 s after the DELETE, even if an event reports its failure',
		async (t) => {
			const lifecycle = { preStop: { exec: { command: ['/bin/drain'] } } };
			const containers = [{ name: 'main', image: 'example.com/main:1', lifecycle }];
			const { pod: p } = await podOnBareNode(t, { ...running, ...container(runningState()) }, { containers });
			const answer = await t.delete('pods/p', undefined, {
				fields: ['spec.terminationGracePeriodSeconds', 'spec.containers[0].lifecycle'],
			});
			const due = Date.parse(answer.body.metadata.deletionTimestamp);
			t.note('the deadline is 30 s after the request', due - serverTime(answer) > 25_000 && due - serverTime(answer) <= 30_000);
			await reportEvent(t, p, 'Killing', 'Stopping container main', 'Normal');
			await reportEvent(t, p, 'FailedPreStopHook', 'PreStopHook failed');
			await getEvents(t, p, 'Killing');
			await getEvents(t, p, 'FailedPreStopHook');
			const { body: now } = await t.get('pods/p', { show: states });
			t.note('the deadline is the same', Date.parse(now.metadata.deletionTimestamp) === due);
			await removeNode(t);
		},
	),
	define(
		'pod-not-noticed',
		'§3 P6 A Pod past its deadline is Running on a ready node with a fresh lease, and has no Killing event',
		async (t) => {
			const spec = { terminationGracePeriodSeconds: 1 };
			const { name, pod: p } = await podOnBareNode(t, { ...running, ...container(runningState()) }, spec);
			await withHeartbeat(t, name, async () => {
				await t.delete('pods/p');
				await waitForDeadline(t);
				await t.get(`nodes/${name}`, {
					show: (node) => [condition(node, 'Ready').status, condition(node, 'Ready').reason],
				});
				t.note('the lease is fresh', await hasCurrentLease(t, name));
				await t.get('pods/p', { fields: ['status.phase'] });
				await t.get('pods/p', { show: states });
				await getEvents(t, p, 'Killing');
			});
			await removeNode(t);
		},
		{ alone: true },
	),
	define(
		'pod-never-started',
		'§3 P14 A Pod that waits for its volume has a grace period like a running one, and stays until the final DELETE',
		async (t) => {
			const waiting = { reason: 'ContainerCreating' };
			const status = { phase: 'Pending', ...container({ waiting }) };
			const { pod: p } = await podOnBareNode(t, status, { terminationGracePeriodSeconds: 2 });
			await reportEvent(t, p, 'FailedMount', 'Unable to attach or mount volumes: timed out waiting for the condition');
			await getEvents(t, p, 'FailedMount');
			await t.delete('pods/p', undefined, { fields: ['status.phase'] });
			await waitForDeadline(t);
			await t.get('pods/p', { fields: ['status.phase', 'status.containerStatuses[0].state.waiting.reason'] });
			await t.delete('pods/p', last(p), { fields: ['status.phase'] });
			await t.get('pods/p');
			await removeNode(t);
		},
	),
	define(
		'pod-held-unmount-no-driver',
		'§3 P11 Dead containers, a CSI volume and no driver: terminal phase, grace above 0, no warning',
		async (t) => {
			await t.create(storageClass(t.name('class')), { unrecorded: true });
			await t.create(claim('data', t.name('class')), { unrecorded: true });
			const is = (/** @type {any} */ one) => one.status.phase === 'Bound';
			const { spec } = await t.until('persistentvolumeclaims/data', 'is Bound', is, { unrecorded: true });
			const pv = `persistentvolumes/${spec.volumeName}`;
			await t.until(pv, 'is Bound', is, { fields: ['spec.csi.driver'] });
			const mounted = mounting({ persistentVolumeClaim: { claimName: 'data' } });
			const { name, pod: p } = await podOnBareNode(t, { ...running, ...container(runningState()) }, mounted);
			const drivers = [{ name: 'other.example.com', nodeID: name }];
			await t.create(
				{ apiVersion: 'storage.k8s.io/v1', kind: 'CSINode', metadata: { name }, spec: { drivers } },
				{ unrecorded: true },
			);
			await t.delete('pods/p');
			await t.patch('pods/p/status', 'strategic', { status: { phase: 'Failed', ...container(terminatedState()) } }, { show: states });
			await t.get('pods/p', { fields: ['status.phase', 'spec.volumes[0].persistentVolumeClaim.claimName'] });
			await t.get('events', { query: { fieldSelector: `type=Warning,involvedObject.uid=${p.metadata.uid}` } });
			await t.get(`csinodes/${name}`, { show: (one) => one.spec.drivers.map((/** @type {any} */ { name }) => name) });
			await t.get('csidrivers/csi.unwind.test');
			await t.delete('pods/p', last(p));
			await t.get('pods/p');
			await t.delete(`csinodes/${name}`, undefined, { unrecorded: true });
			await removeNode(t);
		},
	),
	define(
		'pod-device-unprepared',
		'§3 P13 Dead containers in phase Running: the ResourceClaim stays until the Pod is gone',
		async (t) => {
			const { body: c } = await t.create(
				{
					apiVersion: 'resource.k8s.io/v1',
					kind: 'ResourceClaim',
					metadata: { name: 'c', finalizers: [protection] },
					spec: { devices: { requests: [{ name: 'one', exactly: { deviceClassName: 'gpu' } }] } },
				},
				{ unrecorded: true },
			);
			const resourceClaims = [{ name: 'one', resourceClaimName: c.metadata.name }];
			const { name, pod: p } = await podOnBareNode(t, { ...running, ...container(runningState()) }, { resourceClaims });
			const results = [{ request: 'one', driver: 'gpu.example.com', pool: name, device: 'gpu-0' }];
			const reservedFor = [{ resource: 'pods', name: 'p', uid: p.metadata.uid }];
			const status = { allocation: { devices: { results } }, reservedFor };
			await t.patch('resourceclaims/c/status', 'merge', { status }, { unrecorded: true });
			await t.delete('pods/p');
			await t.patch('pods/p/status', 'strategic', { status: container(terminatedState()) }, { show: states });
			await t.get('pods/p', { fields: ['status.phase', 'spec.resourceClaims'] });
			await getEvents(t, p, 'FailedKillPod');
			await t.delete('resourceclaims/c');
			await t.get('resourceclaims/c', { fields: ['status.reservedFor'] });
			await t.delete('pods/p', last(p));
			await t.gone('pods/p', 'resourceclaims/c');
			await removeNode(t);
		},
	),
	define(
		'pod-mirror',
		'§3 P15 A recreated mirror Pod has another UID, and is collected with its Node',
		async (t) => {
			const name = t.name('node');
			const node = await bareNode(t, name);
			const mirror = pod(
				'p',
				{
					annotations: { 'kubernetes.io/config.mirror': 'a1b2', 'kubernetes.io/config.source': 'file' },
					...ownedBy(node, { controller: true }),
				},
				{ nodeName: name, tolerations: [{ operator: 'Exists' }] },
			);
			const { body: first } = await t.create(mirror, { fields: ['metadata.annotations', 'spec.serviceAccountName'] });
			await t.delete('pods/p');
			await t.get('pods/p');
			await t.delete('pods/p', last(first));
			const { body: second } = await t.create(mirror);
			t.note('another UID', first.metadata.uid !== second.metadata.uid);
			await t.delete('pods/p', last(first));
			await t.delete(`nodes/${name}`);
			await t.until('pods/p', 'is terminating', (one) => one.metadata.deletionTimestamp);
			await t.until('pods/p', 'is gone', (one) => !one, { within: longTimeout });
		},
	),
];
