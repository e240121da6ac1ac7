/**
 * Workload controllers, as far as they matter for a teardown.
 */
import {
	claim,
	configMap,
	cronJob,
	daemonSet,
	deployment,
	held,
	job,
	ownedBy,
	replicaSet,
	service,
	statefulSet,
	storageClass,
	unplacedPod,
} from '../objects.mjs';
import { define } from '../suite.mjs';

/** @typedef {import('../test-context.mjs').TestContext} TestContext */

const hold = 'unwind.test/hold';
/** @param {any} one */
const running = (one) => one?.status?.phase === 'Running' && !one.metadata.deletionTimestamp;
/** @param {number} count */
const run = (count) => (/** @type {any[]} */ all) => all.length === count && all.every(running);
/** @param {any[]} all */
const names = (all) => all.map(({ metadata }) => metadata.name);
/** @param {any[]} all */
const count = (all) => all.length;
const deploymentFields = [
	'status.observedGeneration',
	'status.replicas',
	'status.readyReplicas',
	'status.availableReplicas',
	'status.conditions',
];

/** A StatefulSet with a claim template. @param {TestContext} t @param {Record<string, any>} [policy] @param {Record<string, any>} [rest] */
async function withClaims(t, policy, rest = {}) {
	const className = t.name('class');
	await t.create(storageClass(className), { unrecorded: true });
	const spec = {
		...(policy ? { persistentVolumeClaimRetentionPolicy: policy } : {}),
		volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: claim('data', className).spec }],
	};
	await t.create(statefulSet('db', { replicas: 2, spec, ...rest }), { unrecorded: true });
	await t.until('pods', 'both run', run(2), { show: names });
	await t.until(
		'persistentvolumeclaims',
		'both bound',
		// The owners of the claims are set by a later sync than the one that creates them.
		(all) =>
			all.length === 2 &&
			all.every(
				(/** @type {any} */ { metadata, status }) =>
					status.phase === 'Bound' && (policy?.whenDeleted !== 'Delete' || metadata.ownerReferences),
			),
		{ fields: ['status.phase'] },
	);
}

export default [
	define('deployment-rolls-out', 'A Deployment creates a ReplicaSet, which creates Pods', async (t) => {
		await t.create(deployment('web', { replicas: 2 }), {
			fields: ['spec.strategy', 'spec.revisionHistoryLimit', 'spec.progressDeadlineSeconds'],
		});
		await t.until(
			'deployments/web',
			'is complete',
			(one) =>
				one?.status.availableReplicas === 2 &&
				one.status.conditions.some((/** @type {any} */ { reason }) => reason === 'NewReplicaSetAvailable'),
			{ fields: deploymentFields },
		);
		await t.get('replicasets', {
			fields: ['spec.replicas', 'status.readyReplicas', 'metadata.annotations."deployment.kubernetes.io/revision"'],
		});
		await t.get('pods', { fields: ['metadata.labels'] });
	}),
	define('deployment-updated', 'A changed template creates a second ReplicaSet, and the first stays with 0 replicas', async (t) => {
		await t.create(deployment('web'), { unrecorded: true });
		await t.until('pods', 'one runs', run(1), { show: count });
		await t.patch('deployments/web', 'strategic', { spec: { template: { metadata: { labels: { version: 'two' } } } } });
		await t.until(
			'replicasets',
			'two, and the old one is empty',
			(all) =>
				all.length === 2 &&
				all.filter((/** @type {any} */ { spec, status }) => spec.replicas === 0 && status.replicas === 0).length ===
					1 &&
				all.filter((/** @type {any} */ { status }) => status.readyReplicas === 1).length === 1,
			{
				show: (all) =>
					all
						.map((/** @type {any} */ { spec, metadata }) => [
							spec.replicas,
							metadata.annotations['deployment.kubernetes.io/revision'],
						])
						.sort(),
			},
		);
		await t.until('pods', 'one runs', run(1), { fields: ['metadata.labels.version'] });
	}),
	define('deployment-scaled-to-zero', '§7 A Deployment with 0 replicas has no Pods and still exists', async (t) => {
		await t.create(deployment('web', { replicas: 2 }), { unrecorded: true });
		await t.until('pods', 'both run', run(2), { show: count });
		// The status of the scale comes from the Deployment, which counts Pods some time after they run.
		await t.until('deployments/web', 'has counted them', (one) => one?.status.replicas === 2, { unrecorded: true });
		await t.patch('deployments/web/scale', 'merge', { spec: { replicas: 0 } }, { fields: ['spec', 'status'] });
		await t.until('pods', 'are gone', (all) => all.length === 0);
		await t.until(
			'deployments/web',
			'has none',
			(one) => !one.status.replicas && !one.status.terminatingReplicas && one.status.observedGeneration === 2,
			{ fields: ['status.replicas', 'status.observedGeneration'] },
		);
	}),
	define('deployment-paused', 'A paused Deployment does not roll out a changed template', async (t) => {
		await t.create(deployment('web'), { unrecorded: true });
		await t.until('pods', 'one runs', run(1), { show: count });
		await t.until('deployments/web', 'has counted it', (one) => one?.status.availableReplicas === 1, { unrecorded: true });
		await t.patch(
			'deployments/web',
			'merge',
			{ spec: { paused: true, template: { metadata: { annotations: { changed: 'yes' } } } } },
			{ unrecorded: true },
		);
		await t.until(
			'deployments/web',
			'has observed the change',
			(one) =>
				one.status.observedGeneration === one.metadata.generation &&
				one.status.conditions.some((/** @type {any} */ { reason }) => reason === 'DeploymentPaused'),
			{ fields: ['status.conditions'] },
		);
		await t.get('replicasets', { show: ({ items }) => items.length });
	}),
	define(
		'deployment-invalid',
		'The selector of a Deployment is required, matches its template and is immutable',
		async (t) => {
			await t.create({
				apiVersion: 'apps/v1',
				kind: 'Deployment',
				metadata: { name: 'web' },
				spec: { template: deployment('web').spec.template },
			});
			await t.create(deployment('web', { pods: { labels: { app: 'other' } } }));
			await t.create(deployment('web', { replicas: -1 }));
			await t.create(deployment('web', { replicas: 0 }), { unrecorded: true });
			await t.patch('deployments/web', 'merge', {
				spec: { selector: { matchLabels: { app: 'other' } }, template: { metadata: { labels: { app: 'other' } } } },
			});
		},
	),
	define('replicaset-replaces', 'A ReplicaSet replaces a deleted Pod', async (t) => {
		await t.create(replicaSet('web', { replicas: 2 }), { unrecorded: true });
		const [{ metadata }] = await t.until('pods', 'both run', run(2), { show: count });
		await t.delete(`pods/${metadata.name}`, { gracePeriodSeconds: 0 });
		await t.until('pods', 'both run', (all) => run(2)(all) && !names(all).includes(metadata.name), { show: count });
	}),
	define('replicaset-releases', 'A ReplicaSet releases a Pod that no longer matches and creates another', async (t) => {
		await t.create(replicaSet('web'), { unrecorded: true });
		const [{ metadata }] = await t.until('pods', 'one runs', run(1), { show: count });
		await t.patch(`pods/${metadata.name}`, 'merge', { metadata: { labels: { app: 'free' } } });
		await t.until('pods', 'two run', run(2), {
			show: (all) =>
				all
					.map((/** @type {any} */ one) => [one.metadata.labels.app, one.metadata.ownerReferences?.length ?? 0])
					.sort(),
		});
	}),
	define('replicaset-status', 'The status of a ReplicaSet counts its Pods', async (t) => {
		await t.create(replicaSet('web', { replicas: 2 }), { unrecorded: true });
		await t.until('replicasets/web', 'is complete', (one) => one?.status.availableReplicas === 2, { fields: ['status'] });
	}),
	define(
		'statefulset-in-order',
		'A StatefulSet starts its Pods in order and stops them in reverse order',
		async (t) => {
			const watch = await t.watch('pods', { fields: [] });
			await t.create(statefulSet('db', { replicas: 3 }), { unrecorded: true });
			await t.until('pods', 'all run', run(3), { show: names });
			await t.patch('statefulsets/db/scale', 'merge', { spec: { replicas: 0 } }, { unrecorded: true });
			await t.until('pods', 'are gone', (all) => all.length === 0);
			await watch.until('DELETED all', (events) => events.filter(({ type }) => type === 'DELETED').length === 3);
			watch.drop();
			const order = (/** @type {string} */ wanted) =>
				watch.events.filter(({ type }) => type === wanted).map(({ object }) => object.metadata.name);
			t.note('made', order('ADDED'));
			t.note('gone', order('DELETED'));
		},
	),
	define(
		'statefulset-same-name',
		'§3 W1 A StatefulSet does not replace a terminating Pod, because its name is taken',
		async (t) => {
			await t.create(statefulSet('db', { pods: { labels: { app: 'db' }, ...held } }), { unrecorded: true });
			const [{ metadata }] = await t.until('pods', 'one runs', run(1), { show: names });
			await t.delete('pods/db-0');
			// The controller has completed a pass when another object of the kind has its Pods.
			await t.create(statefulSet('other'), { unrecorded: true });
			await t.until('pods/other-0', 'runs', running);
			await t.get('pods/db-0');
			await t.annotate('db-0', hold, null);
			await t.until(
				'pods/db-0',
				'is recreated and runs',
				(one) => one && one.metadata.uid !== metadata.uid && running(one),
			);
		},
	),
	define('statefulset-claims-retained', '§6.3 By default the claims of a StatefulSet stay', async (t) => {
		await withClaims(t);
		await t.delete('statefulsets/db', { propagationPolicy: 'Foreground' });
		await t.gone('statefulsets/db');
		await t.get('persistentvolumeclaims', { fields: ['status.phase'] });
	}),
	define(
		'statefulset-claims-deleted',
		'§6.3 With whenDeleted Delete a StatefulSet owns its claims, which are collected after it',
		async (t) => {
			await withClaims(t, { whenDeleted: 'Delete', whenScaled: 'Retain' });
			await t.until('persistentvolumeclaims', 'are owned', (all) =>
				all.every((/** @type {any} */ one) => one.metadata.ownerReferences),
			);
			await t.delete('statefulsets/db', { propagationPolicy: 'Background' });
			await t.gone('statefulsets/db');
			await t.until('persistentvolumeclaims', 'are gone', (all) => all.length === 0);
		},
	),
	define(
		'statefulset-claims-scaled',
		'§6.3 With whenScaled Delete the claim of a Pod goes when the StatefulSet is scaled down',
		async (t) => {
			await withClaims(t, { whenDeleted: 'Retain', whenScaled: 'Delete' });
			await t.patch('statefulsets/db', 'merge', { spec: { replicas: 1 } }, { unrecorded: true });
			await t.until('persistentvolumeclaims', 'one is left', (all) => all.length === 1, { fields: ['status.phase'] });
		},
	),
	define('statefulset-claims-foreground', '§6.3 Foreground makes a StatefulSet wait for the claims that it owns', async (t) => {
		await withClaims(t, { whenDeleted: 'Delete', whenScaled: 'Delete' });
		await t.until('persistentvolumeclaims', 'are owned', (all) =>
			all.every((/** @type {any} */ one) => one.metadata.ownerReferences),
		);
		await t.delete('statefulsets/db', { propagationPolicy: 'Foreground' });
		await t.gone('statefulsets/db');
		await t.get('persistentvolumeclaims');
		await t.get('pods');
	}),
	define('statefulset-orphan', '§6.2 Orphan keeps the Pods of a StatefulSet without their owner', async (t) => {
		await t.create(statefulSet('db'), { unrecorded: true });
		await t.until('pods', 'one runs', run(1), { show: names });
		await t.delete('statefulsets/db', { propagationPolicy: 'Orphan' });
		await t.gone('statefulsets/db');
		await t.get('pods');
	}),
	define('statefulset-immutable', 'Most fields of a StatefulSet are immutable', async (t) => {
		await t.create(statefulSet('db', { replicas: 0 }), { unrecorded: true });
		await t.patch('statefulsets/db', 'merge', { spec: { serviceName: 'other' } });
	}),
	define('daemonset-everywhere', 'A DaemonSet creates a Pod on every matching node', async (t) => {
		const here = { podSpec: { nodeSelector: { 'kubernetes.io/hostname': 'node-b' } } };
		await t.create(daemonSet('agent', here), { unrecorded: true });
		await t.until('pods', 'one runs', run(1), { fields: ['spec.nodeName'] });
		await t.until('daemonsets/agent', 'is complete', (one) => one.status.numberAvailable === 1, { fields: ['status'] });
	}),
	define('daemonset-foreground', '§6.2 Foreground makes a DaemonSet wait for its Pods', async (t) => {
		const here = {
			pods: { labels: { app: 'agent' }, ...held },
			podSpec: { nodeSelector: { 'kubernetes.io/hostname': 'node-a' } },
		};
		await t.create(daemonSet('agent', here), { unrecorded: true });
		const [{ metadata }] = await t.until('pods', 'one runs', run(1));
		await t.delete('daemonsets/agent', { propagationPolicy: 'Foreground' });
		await t.until(`pods/${metadata.name}`, 'is terminating', (one) => one.metadata.deletionTimestamp);
		await t.get('daemonsets/agent');
		await t.annotate(metadata.name, hold, null);
		await t.gone('daemonsets/agent');
		await t.get('pods');
	}),
	define('daemonset-background', '§6.2 Background deletes a DaemonSet before its Pods', async (t) => {
		const here = {
			pods: { labels: { app: 'agent' }, ...held },
			podSpec: { nodeSelector: { 'kubernetes.io/hostname': 'node-a' } },
		};
		await t.create(daemonSet('agent', here), { unrecorded: true });
		await t.until('pods', 'one runs', run(1), { show: count });
		await t.delete('daemonsets/agent', { propagationPolicy: 'Background' });
		await t.get('daemonsets/agent');
		await t.until('pods', 'are terminating', (all) =>
			all.every((/** @type {any} */ one) => one.metadata.deletionTimestamp),
		);
	}),
	define('job-completes', '§3 P16 A Job completes; its Pod loses the finalizer job-tracking and stays', async (t) => {
		await t.create(job('work'), { fields: ['spec.completions', 'spec.parallelism', 'spec.backoffLimit'] });
		await t.until(
			'jobs/work',
			'is complete',
			(one) => one?.status.conditions?.some((/** @type {any} */ { type }) => type === 'Complete'),
			{ fields: ['status.succeeded', 'status.conditions'] },
		);
		await t.get('pods', { fields: ['status.phase'] });
	}),
	define(
		'job-pod-deleted',
		'§3 P16 A deleted Pod of an active Job counts as failed, loses job-tracking and is replaced',
		async (t) => {
			await t.create(job('work', { pods: held }), { unrecorded: true });
			const [{ metadata }] = await t.until('pods', 'one runs', run(1));
			await t.delete(`pods/${metadata.name}`);
			await t.until(`pods/${metadata.name}`, 'is counted', (one) => !one.metadata.finalizers);
			await t.delete(`pods/${metadata.name}`, { gracePeriodSeconds: 0 });
			await t.until('pods', 'a new one runs', (all) => run(1)(all) && all[0].metadata.name !== metadata.name);
			await t.until('jobs/work', 'has counted it', (one) => one.status.failed === 1, {
				fields: ['status.failed', 'status.active'],
			});
		},
	),
	define(
		'job-tracking-of-others',
		'§3 P16 A Pod without a Job loses job-tracking; one with another controller or an external Job manager keeps it',
		async (t) => {
			const finalizers = ['batch.kubernetes.io/job-tracking'];
			const { body: other } = await t.create(configMap('other'), { unrecorded: true });
			const { body: managed } = await t.create(job('managed', { spec: { managedBy: 'example.com/x' } }), {
				fields: ['spec.managedBy'],
			});
			const controlled = (/** @type {any} */ owner) => ownedBy(owner, { controller: true });
			await t.create(unplacedPod('of-other', { finalizers, ...controlled(other) }));
			await t.create(unplacedPod('of-managed', { finalizers, ...controlled(managed) }));
			await t.create(unplacedPod('of-none', { finalizers }), { unrecorded: true });
			await t.until('pods/of-none', 'has no finalizer', (one) => !one.metadata.finalizers);
			for (const name of ['of-other', 'of-managed']) {
				await t.delete(`pods/${name}`);
				await t.get(`pods/${name}`);
			}
			await t.delete('jobs/managed', { propagationPolicy: 'Background' });
			await t.gone('pods/of-managed');
			await t.get('pods/of-other');
			await t.patch('pods/of-other', 'merge', { metadata: { finalizers: null } }, { unrecorded: true });
		},
	),
	define('job-suspended', 'A suspended Job has no Pods', async (t) => {
		await t.create(job('work', { pods: {} }), { unrecorded: true });
		await t.until('pods', 'one runs', run(1), { show: count });
		await t.patch('jobs/work', 'merge', { spec: { suspend: true } }, { unrecorded: true });
		await t.until(
			'jobs/work',
			'is suspended',
			(one) =>
				one.status.conditions?.some((/** @type {any} */ { type, status }) => type === 'Suspended' && status === 'True'),
			{ fields: ['status.conditions'] },
		);
		await t.until('pods', 'are gone', (all) => all.length === 0);
	}),
	define('job-ttl', 'A Job with ttlSecondsAfterFinished is deleted with its Pods', async (t) => {
		await t.create(job('work', { spec: { ttlSecondsAfterFinished: 1 } }), { unrecorded: true });
		await t.gone('jobs/work');
		await t.until('pods', 'are gone', (all) => all.length === 0);
	}),
	define('job-template-immutable', 'The template of a Job is immutable', async (t) => {
		await t.create(job('work', { spec: { suspend: true } }), { unrecorded: true });
		await t.patch('jobs/work', 'merge', { spec: { completions: 5 } });
		await t.create(job('bad', { podSpec: { restartPolicy: 'Always' } }));
	}),
	define('cronjob-starts', 'A CronJob that is due creates a Job, which it owns', async (t) => {
		await t.create(cronJob('nightly'), { unrecorded: true });
		await t.patch(
			'cronjobs/nightly/status',
			'merge',
			{ status: { lastScheduleTime: '2020-06-01T00:00:00Z' } },
			{ fields: ['status'] },
		);
		await t.until('jobs', 'one is complete', (all) =>
			all.some((/** @type {any} */ { status }) => status.succeeded === 1),
		);
		await t.until(
			'cronjobs/nightly',
			'has nothing active',
			(one) => !one.status.active && one.status.lastSuccessfulTime,
			{ fields: ['status.active'] },
		);
	}),
	define('cronjob-suspended', '§7 A suspended CronJob creates no Job', async (t) => {
		await t.create(cronJob('nightly', { suspend: true }), { unrecorded: true });
		await t.patch(
			'cronjobs/nightly/status',
			'merge',
			{ status: { lastScheduleTime: '2020-06-01T00:00:00Z' } },
			{ unrecorded: true },
		);
		await t.create(cronJob('other', {}, { pods: held }), { unrecorded: true });
		await t.patch(
			'cronjobs/other/status',
			'merge',
			{ status: { lastScheduleTime: '2020-06-01T00:00:00Z' } },
			{ unrecorded: true },
		);
		await t.until('jobs', 'the Job of the other exists', (all) => all.length > 0, {
			show: (all) => all.map((/** @type {any} */ one) => one.metadata.ownerReferences[0].name),
		});
		// Once this Job has run, a Pod of the suspended Job would exist too.
		await t.until('pods', 'the Pod of the other runs', run(1), { show: count });
		await t.get('jobs', { show: ({ items }) => items.map((/** @type {any} */ one) => one.metadata.ownerReferences[0].name) });
	}),
	define('cronjob-foreground', '§6.2 Foreground makes a CronJob wait for its Jobs and their Pods', async (t) => {
		await t.create(cronJob('nightly', {}, { pods: held }), { unrecorded: true });
		await t.patch(
			'cronjobs/nightly/status',
			'merge',
			{ status: { lastScheduleTime: '2020-06-01T00:00:00Z' } },
			{ unrecorded: true },
		);
		const [{ metadata }] = await t.until('pods', 'one runs', run(1));
		await t.delete('cronjobs/nightly', { propagationPolicy: 'Foreground' });
		await t.until(
			`pods/${metadata.name}`,
			'is terminating without job-tracking',
			(one) => one.metadata.deletionTimestamp && !one.metadata.finalizers,
		);
		await t.get('cronjobs/nightly');
		await t.annotate(metadata.name, hold, null);
		await t.gone('cronjobs/nightly');
		await t.get('jobs');
	}),
	define('cronjob-background', '§6.2 Background deletes a CronJob, then its Jobs, then their Pods', async (t) => {
		await t.create(cronJob('nightly', {}, { pods: {} }), { unrecorded: true });
		await t.patch(
			'cronjobs/nightly/status',
			'merge',
			{ status: { lastScheduleTime: '2020-06-01T00:00:00Z' } },
			{ unrecorded: true },
		);
		await t.until('pods', 'one runs', run(1), { show: count });
		await t.delete('cronjobs/nightly', { propagationPolicy: 'Background' });
		await t.gone('cronjobs/nightly');
		await t.until('jobs', 'are gone', (all) => all.length === 0);
		await t.until('pods', 'are gone', (all) => all.length === 0);
	}),
	define('cronjob-invalid', 'The schedule of a CronJob needs five fields', async (t) => {
		await t.create(cronJob('nightly', { schedule: 'now and then' }));
	}),
	define('slices-of-service', 'A Service owns its EndpointSlice, which is collected after it', async (t) => {
		await t.create(service('s'), { fields: ['spec.type', 'spec.sessionAffinity'] });
		await t.until('endpointslices', 'there is one', (all) => all.length === 1, {
			fields: ['addressType', 'metadata.labels'],
		});
		await t.delete('services/s');
		await t.until('endpointslices', 'are gone', (all) => all.length === 0);
	}),
	define('service-load-balancer', '§3 X8 A finalizer of a cloud controller holds a Service', async (t) => {
		const metadata = { finalizers: ['service.kubernetes.io/load-balancer-cleanup'] };
		await t.create(service('s', { type: 'LoadBalancer' }, metadata));
		await t.delete('services/s');
		await t.patch('services/s', 'merge', { metadata: { finalizers: null } });
		await t.get('services/s');
	}),
	define('hpa-scales-nothing', 'Deleting a HorizontalPodAutoscaler does not change its target', async (t) => {
		await t.create(deployment('web', { replicas: 0 }), { unrecorded: true });
		const hpa = {
			apiVersion: 'autoscaling/v2',
			kind: 'HorizontalPodAutoscaler',
			metadata: { name: 'web' },
			spec: { scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' }, maxReplicas: 3 },
		};
		await t.create(hpa, { fields: ['spec.minReplicas'] });
		await t.delete('horizontalpodautoscalers/web');
		await t.get('deployments/web', { fields: ['spec.replicas'] });
	}),
];
