/**
 * Pods: grace periods, the final DELETE of the kubelet, finalizers, and missing nodes.
 */
import { runtimeDown, bareNode, container, withHeartbeat, podOnBareNode, running as ready, runningState, reportEvent, getEvents } from '../bare-node.mjs';
import { condition } from '../conditions.mjs';
import { claim, completing, deployment, held, mounting, pod, unplacedPod, volume } from '../objects.mjs';
import { longTimeout } from '../test-context.mjs';
import { define } from '../suite.mjs';

/** @typedef {import('../test-context.mjs').TestContext} TestContext */

const hold = 'unwind.test/hold';
const x = ['example.com/x'];
const free = { metadata: { finalizers: null } };

/** @param {any} one */
const running = (one) => one?.status?.phase === 'Running';
/** @param {any} one */
const deleting = (one) => one?.metadata.deletionTimestamp;

/** A running Pod that stays terminating. @param {TestContext} t @param {Record<string, any>} [metadata] @param {Record<string, any>} [spec] */
async function runningPod(t, metadata = held, spec = {}) {
	const { body } = await t.create(pod('p', metadata, spec));
	await t.until('pods/p', 'runs', running, { unrecorded: true });
	return body;
}

/**
 * A Pod whose containers end, whose kubelet hangs at first, and finishes later.
 * @param {TestContext} t @param {Record<string, any>} spec @param {() => Promise<void>} [meanwhile]
 */
async function heldByUnmount(t, spec, meanwhile) {
	// Only the volume of the case is mounted.
	const own = { automountServiceAccountToken: false, ...spec };
	const { body } = await t.create(pod('p', { annotations: { [hold]: 'unmount' } }, own), {
		fields: ['spec.volumes', 'spec.containers[0].volumeMounts'],
	});
	await t.until('pods/p', 'runs', running, { unrecorded: true });
	await t.delete('pods/p');
	const fields = ['status.phase', 'status.conditions', 'status.containerStatuses[0].state.terminated.exitCode'];
	await t.until('pods/p', 'has Failed', (one) => one.status.phase === 'Failed', { fields });
	await t.get('events', { query: { fieldSelector: `type=Warning,involvedObject.uid=${body.metadata.uid}` } });
	await meanwhile?.();
	await t.annotate('p', hold, null);
	await t.gone('pods/p');
}

/**
 * A Pod whose kubelet cannot end it, and says so. The IDs of its container and sandbox are those of the runtime, and a stage of the
 * control plane's nodes does not know its UID.
 * @param {TestContext} t @param {string} how
 */
async function failsToEnd(t, how) {
	await runningPod(t, { annotations: { [hold]: how } });
	await t.delete('pods/p');
	const isWarning = (/** @type {any} */ { type }) => type === 'Warning';
	const withoutIds = (/** @type {string} */ message) =>
		message.replaceAll(/[0-9a-f]{64}/g, '(its ID)').replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '(its UID)');
	await t.until('events', 'contain a warning', (all) => all.some(isWarning), {
		show: (all) => all.filter(isWarning).map((/** @type {any} */ { reason, message }) => [reason, withoutIds(message)]),
	});
}

/** The seconds from the request to deletionTimestamp. @param {any} one */
const due = ({ metadata }) => metadata.deletionGracePeriodSeconds;

const onBareNode = { tolerations: [{ key: 'conformance', operator: 'Exists' }] };

export default [
	define('pod-runs', 'A Pod is bound to a node and runs there', async (t) => {
		const watch = await t.watch('pods', { fields: ['status.phase'] });
		await t.create(pod('p'), {
			fields: ['status.phase', 'status.qosClass', 'spec.terminationGracePeriodSeconds', 'spec.restartPolicy'],
		});
		await watch.until('Running', (events) => events.some(({ object }) => running(object)));
		watch.end();
	}),
	define('pod-grace', '§1.1 §3 P1 A running Pod terminates with a grace period of 30 s, and deletionTimestamp is the deadline', async (t) => {
		await runningPod(t);
		const { headers } = await t.delete('pods/p', undefined, { fields: ['status.phase'] });
		const { body } = await t.get('pods/p');
		// By the server's clock; both times are whole seconds.
		const left = Date.parse(body.metadata.deletionTimestamp) - Date.parse(headers.date ?? '');
		t.note('the deadline is 30 s after the request', left > 25_000 && left <= 30_000);
	}),
	define('pod-grace-from-spec', '§3 P1 terminationGracePeriodSeconds is the default grace period', async (t) => {
		await runningPod(t, held, { terminationGracePeriodSeconds: 7 });
		await t.delete('pods/p');
	}),
	define('pod-grace-shortened', '§3 P1 §1.8 A second DELETE can shorten the grace period but not extend it', async (t) => {
		await runningPod(t);
		// Long enough that no grace period ends before the next request.
		await t.delete('pods/p', { gracePeriodSeconds: 2_000 });
		const long = await t.delete('pods/p', { gracePeriodSeconds: 6_000 });
		const short = await t.delete('pods/p', { gracePeriodSeconds: 500 });
		await t.delete('pods/p');
		t.note('due', [due(long.body), due(short.body)]);
		t.note(
			'earlier',
			Date.parse(short.body.metadata.deletionTimestamp) < Date.parse(long.body.metadata.deletionTimestamp),
		);
	}),
	define('pod-grace-negative', '§6.1 A negative grace period counts as one second', async (t) => {
		await runningPod(t);
		await t.delete('pods/p', { gracePeriodSeconds: -5 });
	}),
	define('pod-grace-in-query', '§6.1 The query can set the grace period', async (t) => {
		await runningPod(t);
		await t.delete('pods/p', undefined, { query: { gracePeriodSeconds: 3 } });
		await t.delete('pods/p', undefined, { query: { gracePeriodSeconds: 'soon' } });
	}),
	define('pod-forced', '§1.2 §6.1 Grace period 0 removes the Pod from the API at once', async (t) => {
		await runningPod(t);
		const watch = await t.watch('pods', { events: 'each' });
		await t.delete('pods/p', { gracePeriodSeconds: 0 });
		await t.get('pods/p');
		await watch.gone('p');
		watch.end();
	}),
	define('pod-forced-while-terminating', '§6.1 A terminating Pod can be force-deleted', async (t) => {
		await runningPod(t);
		await t.delete('pods/p');
		await t.delete('pods/p', { gracePeriodSeconds: 0 });
		await t.get('pods/p');
	}),
	define('pod-unplaced', '§1.3 A Pod without a node is removed in the same request', async (t) => {
		await t.create(unplacedPod('p'));
		await t.until('pods/p', 'cannot be scheduled', (one) => one?.status.conditions, {
			fields: ['status.phase', 'status.conditions'],
		});
		await t.delete('pods/p');
		await t.get('pods/p');
	}),
	define('pod-completed', '§1.3 §3 P18 A Pod that has ended is removed in the same request', async (t) => {
		await t.create(pod('p', completing, { restartPolicy: 'Never' }));
		await t.until('pods/p', 'has ended', (one) => one?.status.phase === 'Succeeded', {
			fields: ['status.phase', 'status.conditions'],
		});
		await t.delete('pods/p');
		await t.get('pods/p');
	}),
	define('pod-completed-graceful', '§1.3 A Pod that has ended is removed at once even with a grace period', async (t) => {
		await t.create(pod('p', completing, { restartPolicy: 'Never' }));
		await t.until('pods/p', 'has ended', (one) => one?.status.phase === 'Succeeded');
		await t.delete('pods/p', { gracePeriodSeconds: 30 });
		await t.get('pods/p');
	}),
	define(
		'pod-finalizer',
		'§1.2 §1.7 §3 P3 After the final DELETE of the node only finalizers hold a Pod, with grace period 0',
		async (t) => {
			await runningPod(t, { ...held, finalizers: x });
			await t.delete('pods/p');
			await t.delete('pods/p', { gracePeriodSeconds: 0 });
			await t.patch('pods/p', 'merge', free);
			await t.get('pods/p');
		},
	),
	define(
		'pod-finalizer-within-grace',
		'§1.7 Removing the last finalizer within the grace period does not delete the Pod',
		async (t) => {
			await runningPod(t, { ...held, finalizers: x });
			await t.delete('pods/p');
			await t.patch('pods/p', 'merge', free);
			await t.get('pods/p');
			await t.annotate('p', hold, null);
			await t.gone('pods/p');
		},
	),
	define('pod-finalizer-unplaced', '§1.2 §1.3 A Pod with a finalizer and without a node is marked with grace period 0', async (t) => {
		await t.create(unplacedPod('p', { finalizers: x }));
		await t.delete('pods/p');
		await t.patch('pods/p', 'merge', free);
		await t.get('pods/p');
	}),
	define('pod-ends', '§1.4 A watch of a terminating Pod reports MODIFIED, then DELETED when the node is done', async (t) => {
		await runningPod(t, {});
		const watch = await t.watch('pods', { events: 'each' });
		await t.delete('pods/p');
		await watch.gone('p');
		watch.end();
	}),
	define(
		'pod-held-unmount',
		'§8 R-S2 §3 P12 Dead containers, an unfinished node and only an emptyDir: terminal phase, grace above 0, no warning',
		async (t) => {
			// Only the kubelet's log says which of its last steps failed. The volumes of the Pod determine the mechanism.
			await heldByUnmount(t, mounting({ emptyDir: {} }));
		},
	),
	define(
		'pod-held-unmount-of-claim',
		'§8 R-S2 §3 P9 Dead containers and a mounted claim: terminal phase, grace above 0, no warning, and the claim is held',
		async (t) => {
			const name = t.name('pv');
			await t.create(volume(name, { persistentVolumeReclaimPolicy: 'Retain' }), { unrecorded: true });
			await t.create(claim('data', name), { unrecorded: true });
			await t.until('persistentvolumeclaims/data', 'is Bound', (one) => one.status.phase === 'Bound', { unrecorded: true });
			await heldByUnmount(t, mounting({ persistentVolumeClaim: { claimName: 'data' } }), async () => {
				await t.delete('persistentvolumeclaims/data');
				await t.get('persistentvolumeclaims/data', { fields: ['status.phase'] });
			});
			await t.gone('persistentvolumeclaims/data');
		},
	),
	define(
		'pod-held-kill',
		'§8 R-S2 §3 P7 If the containers cannot be stopped, an event reports it and the phase does not change',
		async (t) => {
			await failsToEnd(t, 'kill');
			await t.until('pods/p', 'has its condition', (one) => condition(one, 'PodReadyToStartContainers').status === 'False', {
				fields: ['status.phase', 'status.conditions'],
			});
		},
	),
	define(
		'pod-held-network',
		'§8 R-S2 §3 P8 If the network of the sandbox cannot be taken down, an event reports it, and the containers have ended',
		async (t) => {
			await failsToEnd(t, 'network');
			await t.until('pods/p', 'has its condition', (one) => condition(one, 'Ready').status === 'False', {
				fields: ['status.phase', 'status.conditions'],
			});
			await t.get('pods/p', { show: ({ status }) => Object.keys(status.containerStatuses[0].state) });
		},
	),
	define(
		'pod-held-container',
		'§3 P7 P4 If a container cannot be killed, an event reports it and the node is not ready but still reachable',
		async (t) => {
			// No container can hang on these nodes, so the case reports what the kubelet would: the Pod's status, the failed kill,
			// its own condition. The API server and the controllers react to it.
			const { name, pod: p } = await podOnBareNode(t, { ...ready, ...container(runningState()) });
			const taints = (/** @type {any} */ node) => [
				...new Set(node.spec.taints.map((/** @type {any} */ { key }) => key).sort()),
			];
			const show = (/** @type {any} */ node) => {
				const { status, reason, message } = condition(node, 'Ready');
				return [status, reason, message, taints(node)];
			};
			/** Whether the node has this Ready status, and this taint alone. */
			const is = (/** @type {any} */ node, /** @type {string} */ ready, /** @type {string} */ taint) =>
				condition(node, 'Ready').status === ready &&
				taints(node).join() === ['conformance', `node.kubernetes.io/${taint}`].join();
			const refuseToEnd = async () => {
				await t.delete('pods/p');
				const message =
					'error killing pod: failed to "KillContainer" for "main" with KillContainerError: "rpc error: code = DeadlineExceeded desc = context deadline exceeded"';
				await reportEvent(t, p, 'FailedKillPod', message);
				await getEvents(t, p, 'FailedKillPod');
				await t.until(`nodes/${name}`, 'is not ready, but its lease is fresh', (node) => is(node, 'False', 'not-ready'), { show });
				await t.get('pods/p', { fields: ['status.phase'] });
				await t.get('pods/p', { show: ({ status }) => Object.keys(status.containerStatuses[0].state) });
			};
			await withHeartbeat(t, name, refuseToEnd, runtimeDown);
			// Without a fresh lease this would be another mechanism: the node is unreachable (P4).
			await t.until(`nodes/${name}`, 'is silent', (node) => is(node, 'Unknown', 'unreachable'), { show });
			await t.get('pods/p', { fields: ['status.phase'] });
			await t.delete(`nodes/${name}`, undefined, { unrecorded: true });
		},
		{ alone: true },
	),
	define('pod-binding', 'A Pod is bound once, by POST to its binding subresource', async (t) => {
		const unscheduled = pod('p', {}, { schedulerName: 'nobody' });
		await t.create(unscheduled);
		const binding = {
			apiVersion: 'v1',
			kind: 'Binding',
			metadata: { name: 'p' },
			target: { apiVersion: 'v1', kind: 'Node', name: 'node-a' },
		};
		await t.post('pods/p/binding', binding);
		await t.until('pods/p', 'runs', running, { fields: ['spec.nodeName', 'status.phase'] });
		await t.post('pods/p/binding', { ...binding, target: { kind: 'Node', name: 'node-b' } });
		await t.post('pods/none/binding', { ...binding, metadata: { name: 'none' } });
	}),
	define('pod-binding-terminating', 'A terminating Pod cannot be bound', async (t) => {
		await t.create(pod('p', { finalizers: x }, { schedulerName: 'nobody' }));
		await t.delete('pods/p');
		await t.post('pods/p/binding', {
			apiVersion: 'v1',
			kind: 'Binding',
			metadata: { name: 'p' },
			target: { kind: 'Node', name: 'node-a' },
		});
	}),
	define('pod-binding-no-target', 'A binding has to name a node', async (t) => {
		await t.create(pod('p', {}, { schedulerName: 'nobody' }));
		await t.post('pods/p/binding', { apiVersion: 'v1', kind: 'Binding', metadata: { name: 'p' } });
		await t.post('pods/p/binding', {
			apiVersion: 'v1',
			kind: 'Binding',
			metadata: { name: 'p' },
			target: { kind: 'Service', name: 'x' },
		});
	}),
	define('pod-spec-immutable', 'Almost no field in the spec of a Pod can be changed', async (t) => {
		await t.create(unplacedPod('p'));
		await t.patch(
			'pods/p',
			'strategic',
			{ spec: { containers: [{ name: 'main', image: 'example.com/main:2' }] } },
			{ fields: ['spec.containers[0].image'] },
		);
		await t.patch('pods/p', 'merge', { spec: { nodeName: 'node-a' } }, { show: () => 'changed' });
		await t.patch('pods/p', 'merge', { spec: { hostname: 'other' } }, { show: () => 'changed' });
	}),
	define('pod-invalid', 'A Pod without containers, or with invalid ones, is refused', async (t) => {
		await t.create({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec: {} });
		await t.create({
			apiVersion: 'v1',
			kind: 'Pod',
			metadata: { name: 'p' },
			spec: { containers: [{ name: 'UPPER', image: 'i' }, { name: 'b' }] },
		});
		await t.create(pod('p', {}, { restartPolicy: 'Sometimes' }));
	}),
	define('pod-no-service-account', 'A Pod whose ServiceAccount does not exist is refused', async (t) => {
		await t.create(pod('p', {}, { serviceAccountName: 'nobody' }));
	}),
	define(
		'pod-default-tolerations',
		'§3 P4 Admission adds tolerations for an unready node, for a limited time',
		async (t) => {
			await t.create(unplacedPod('p'), { fields: ['spec.tolerations', 'spec.serviceAccountName'] });
		},
	),
	define('pod-ephemeral-name-taken', 'The name of a terminating Pod cannot be used again', async (t) => {
		await runningPod(t);
		await t.delete('pods/p');
		await t.create(pod('p'));
	}),
	define('pod-log-none', 'The log of a Pod without a node is empty', async (t) => {
		await t.create(unplacedPod('p'));
		await t.get('pods/p/log');
		await t.get('pods/none/log');
	}),
	define('pod-ready-in-slices', 'An EndpointSlice follows the Pods that its Service selects', async (t) => {
		const ready = (/** @type {any} */ slices) =>
			slices
				.flatMap((/** @type {any} */ { endpoints }) => endpoints ?? [])
				.map((/** @type {any} */ { conditions }) => conditions);
		await t.create({
			apiVersion: 'v1',
			kind: 'Service',
			metadata: { name: 's' },
			spec: { selector: { app: 's' }, ports: [{ port: 80 }] },
		});
		await t.until('endpointslices', 'there is one', (all) => all.length === 1, { show: ready });
		await t.create(pod('p', { labels: { app: 's' }, ...held }));
		await t.until(
			'endpointslices',
			'has a ready endpoint',
			(all) => ready(all).some((/** @type {any} */ { ready }) => ready),
			{ show: ready },
		);
		await t.delete('pods/p');
		await t.until(
			'endpointslices',
			'has a terminating endpoint',
			(all) => ready(all).some((/** @type {any} */ { terminating }) => terminating),
			{ show: ready },
		);
		await t.delete('services/s');
		await t.until('endpointslices', 'are gone', (all) => all.length === 0);
	}),
	define(
		'node-unreachable',
		'§8 R-S5 §3 P4 A silent node becomes Unknown and is tainted; its Pods are deleted but stay terminating',
		async (t) => {
			const name = t.name('node');
			await bareNode(t, name);
			await t.create(pod('p', {}, { nodeName: name, ...onBareNode }), { unrecorded: true });
			await t.patch(
				'pods/p/status',
				'strategic',
				{ status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] } },
				{ unrecorded: true },
			);
			const taints = (/** @type {any} */ node) =>
				node.spec.taints.map((/** @type {any} */ { key, effect }) => `${key}:${effect}`).sort();
			const ready = (/** @type {any} */ node) =>
				node.status.conditions.find((/** @type {any} */ { type }) => type === 'Ready');
			await t.until(
				`nodes/${name}`,
				'is Unknown and tainted',
				(node) =>
					ready(node).status === 'Unknown' &&
					taints(node).some((/** @type {string} */ taint) => taint.endsWith('unreachable:NoExecute')),
				{
					show: (node) => [ready(node).status, ready(node).reason, ready(node).message, taints(node)],
				},
			);
			const fields = ['status.phase', 'status.conditions'];
			await t.until('pods/p', 'is terminating', deleting, { fields });
			await t.until(
				'events',
				'report the reason',
				(all) =>
					['NodeNotReady', 'TaintManagerEviction'].every((reason) =>
						all.some((/** @type {any} */ event) => event.reason === reason),
					),
				{
					show: (all) =>
						all
							.filter((/** @type {any} */ { reason }) => /NodeNotReady|TaintManager/.test(reason))
							.map((/** @type {any} */ { type, reason, message, source }) => [type, reason, message, source.component])
							.sort(),
				},
			);
			await t.get('pods/p', { fields });
			await t.delete(`nodes/${name}`, undefined, { unrecorded: true });
		},
	),
	define(
		'node-out-of-service',
		'§8 R-S5 §3 P4 With the out-of-service taint PodGC force-deletes the terminating Pods of a node',
		async (t) => {
			const name = t.name('node');
			await bareNode(t, name);
			await t.create(pod('p', {}, { nodeName: name, ...onBareNode }), { unrecorded: true });
			await t.until('pods/p', 'is terminating', deleting);
			const out = [
				{
					op: 'add',
					path: '/spec/taints/-',
					value: { key: 'node.kubernetes.io/out-of-service', value: 'nodeshutdown', effect: 'NoExecute' },
				},
			];
			const watch = await t.watch('pods', { fields: ['status.phase', 'status.conditions'], events: 'each' });
			await t.patch(`nodes/${name}`, 'json', out, { unrecorded: true });
			await watch.gone('p');
			watch.end();
			await t.delete(`nodes/${name}`, undefined, { unrecorded: true });
		},
	),
	define('node-gone', '§8 R-S5 §3 P5 PodGC force-deletes a Pod whose node is gone', async (t) => {
		await t.create(pod('p', {}, { nodeName: t.name('node') }));
		const watch = await t.watch('pods', { fields: ['status.phase', 'status.conditions'], events: 'each' });
		await t.until('pods/p', 'is gone', (one) => !one, { within: longTimeout });
		await watch.gone('p');
		watch.end();
	}),
	define(
		'node-gone-finalizer',
		'§3 P3 P5 A Pod whose node is gone is held by its finalizer, with grace period 0',
		async (t) => {
			await t.create(pod('p', { finalizers: x }, { nodeName: t.name('node') }));
			await t.until('pods/p', 'has grace 0', (one) => one.metadata.deletionGracePeriodSeconds === 0, {
				within: longTimeout,
				fields: ['status.phase', 'status.conditions'],
			});
			await t.patch('pods/p', 'merge', free);
			await t.get('pods/p');
		},
	),
	define(
		'recreate-blocked',
		'§8 R-S5 §3 W1 Recreate waits for a terminating Pod before it starts a Pod of the new template',
		async (t) => {
			await t.create(
				deployment('web', { pods: { labels: { app: 'web' }, ...held }, spec: { strategy: { type: 'Recreate' } } }),
			);
			const [{ metadata }] = await t.until('pods', 'one runs', (all) => all.some(running));
			await t.patch('deployments/web', 'merge', {
				spec: { template: { metadata: { annotations: { changed: 'yes' } } } },
			});
			await t.until(`pods/${metadata.name}`, 'is terminating', deleting);
			await t.until(
				'deployments/web',
				'has observed the change',
				(one) => one.status.observedGeneration === one.metadata.generation && !one.status.replicas,
				{ fields: ['status.replicas', 'status.terminatingReplicas'] },
			);
			await t.get('replicasets', { show: (list) => list.items.map((/** @type {any} */ one) => one.spec.replicas) });
			await t.annotate(metadata.name, hold, null);
			await t.until(
				'pods',
				'another one runs',
				(all) => all.length === 1 && all[0].metadata.name !== metadata.name && running(all[0]),
				{ show: (all) => all.length },
			);
			await t.get('replicasets', {
				show: (list) => list.items.map((/** @type {any} */ one) => one.spec.replicas).sort(),
			});
		},
	),
	define(
		'replaced-at-once',
		'§3 W1 A ReplicaSet replaces a terminating Pod at once, even if it never ends',
		async (t) => {
			await t.create(deployment('web', { pods: { labels: { app: 'web' }, ...held } }));
			const [{ metadata }] = await t.until('pods', 'one runs', (all) => all.some(running));
			await t.delete(`pods/${metadata.name}`);
			await t.until(
				'pods',
				'two, one of them terminating',
				(all) => all.length === 2 && all.filter(deleting).length === 1 && all.every(running),
				{ show: (all) => all.length },
			);
			await t.until(
				'deployments/web',
				'counts the terminating Pod',
				(one) => one.status.terminatingReplicas === 1 && one.status.readyReplicas === 1,
				{ fields: ['status.replicas', 'status.readyReplicas', 'status.terminatingReplicas'] },
			);
		},
	),
];
