/**
 * HorizontalPodAutoscalers without a metrics API: the replicas that they write.
 */
import { conditions, hasCondition } from '../conditions.mjs';
import { daemonSet, definition, deployment, replicaSet, statefulSet, widget } from '../objects.mjs';
import { define } from '../suite.mjs';

/** @typedef {import('../test-context.mjs').TestContext} TestContext */

const ofApps = { apiVersion: 'apps/v1', kind: 'Deployment' };

/** @param {string} name @param {Record<string, any>} [spec] @param {{apiVersion?: string, kind: string}} [target] of the same name */
const autoscaler = (name, spec = {}, target = ofApps) => ({
	apiVersion: 'autoscaling/v2',
	kind: 'HorizontalPodAutoscaler',
	metadata: { name },
	spec: { scaleTargetRef: { ...target, name }, maxReplicas: 4, ...spec },
});

/** Its status, without times. @param {any} one */
const status = (one) => {
	const { currentReplicas, desiredReplicas, lastScaleTime, currentMetrics } = one.status;
	return {
		currentReplicas,
		desiredReplicas,
		hasScaled: lastScaleTime !== undefined,
		currentMetrics,
		conditions: conditions(one),
	};
};

/** @param {TestContext} t @param {string} name @param {string} type @param {string} is @param {string} reason */
const untilSays = (t, name, type, is, reason) =>
	t.until(`horizontalpodautoscalers/${name}`, `reports ${reason}`, (one) => hasCondition(one, type, is, reason), { show: status });

/** The events of the autoscaler with that name. @param {TestContext} t @param {string} name @param {number} count of different events */
const untilReported = (t, name, count) => {
	const seen = (/** @type {any[]} */ all) => [
		...new Set(
			all
				.filter(
					({ involvedObject }) => involvedObject.kind === 'HorizontalPodAutoscaler' && involvedObject.name === name,
				)
				.map(({ type, reason, message, source }) => [type, reason, message, source.component].join(' | ')),
		),
	];
	return t.until('events', `report on ${name}`, (all) => seen(all).length >= count, { show: (all) => seen(all).sort() });
};

/** @param {TestContext} t @param {string} name @param {number} replicas */
const untilScaled = (t, name, replicas) =>
	t.until(`deployments/${name}`, `has ${replicas}`, ({ spec }) => spec.replicas === replicas, {
		fields: ['spec.replicas'],
	});

export default [
	define('hpa-raises', 'An autoscaler without metrics raises replicas to its minimum, repeatedly', async (t) => {
		await t.create(deployment('web'), { unrecorded: true });
		await t.create(autoscaler('web', { minReplicas: 2 }), { fields: ['spec'] });
		await untilSays(t, 'web', 'AbleToScale', 'True', 'SucceededRescale');
		await untilScaled(t, 'web', 2);
		await untilSays(t, 'web', 'ScalingActive', 'False', 'FailedGetResourceMetric');
		await t.patch('deployments/web/scale', 'merge', { spec: { replicas: 1 } }, { fields: ['spec'] });
		await untilScaled(t, 'web', 2);
		await untilReported(t, 'web', 3);
	}),
	define('hpa-lowers', 'An autoscaler without metrics lowers replicas to its maximum', async (t) => {
		await t.create(deployment('web', { replicas: 5 }), { unrecorded: true });
		await t.create(autoscaler('web', { metrics: [] }), { fields: ['spec.minReplicas', 'spec.metrics'] });
		await untilSays(t, 'web', 'AbleToScale', 'True', 'SucceededRescale');
		await untilScaled(t, 'web', 4);
		await untilReported(t, 'web', 1);
	}),
	define(
		'hpa-disabled',
		'An autoscaler ignores a workload with 0 replicas until somebody scales it up',
		async (t) => {
			await t.create(deployment('web', { replicas: 0 }), { unrecorded: true });
			await t.create(autoscaler('web', { minReplicas: 2 }), { unrecorded: true });
			await untilSays(t, 'web', 'ScalingActive', 'False', 'ScalingDisabled');
			await t.get('deployments/web', { fields: ['spec.replicas'] });
			await t.patch('deployments/web', 'merge', { spec: { replicas: 1 } }, { fields: ['spec.replicas'] });
			await untilSays(t, 'web', 'AbleToScale', 'True', 'SucceededRescale');
			await untilScaled(t, 'web', 2);
		},
	),
	define('hpa-within', 'Within its bounds an autoscaler without metrics changes nothing and reports the reason', async (t) => {
		const target = { type: 'AverageValue', averageValue: '1' };
		const metric = { name: 'queue' };
		const metrics = {
			resource: { type: 'Resource', resource: { name: 'memory', target } },
			container: { type: 'ContainerResource', containerResource: { name: 'cpu', container: 'main', target } },
			pods: { type: 'Pods', pods: { metric, target } },
			object: { type: 'Object', object: { metric, target, describedObject: { ...ofApps, name: 'object' } } },
			external: { type: 'External', external: { metric, target } },
			both: undefined,
		};
		for (const [name, one] of Object.entries(metrics)) {
			await t.create(deployment(name, { replicas: 2 }), { unrecorded: true });
			const all = one ? [one] : [metrics.external, metrics.resource];
			await t.create(autoscaler(name, { metrics: all }), { unrecorded: true });
		}
		for (const [name, one] of Object.entries(metrics)) {
			await t.until(`horizontalpodautoscalers/${name}`, 'reports that scaling is inactive', (it) => hasCondition(it, 'ScalingActive', 'False'), {
				show: status,
			});
			// One event for each metric, and one for the missing replica count.
			await untilReported(t, name, one ? 2 : 3);
			await t.get(`deployments/${name}`, { fields: ['spec.replicas'] });
		}
	}),
	define('hpa-no-target', 'An autoscaler whose target does not exist, or has no scale, reports it', async (t) => {
		await t.create(daemonSet('agent'), { unrecorded: true });
		await t.create(autoscaler('none'), { unrecorded: true });
		await t.create(autoscaler('agent', {}, { apiVersion: 'apps/v1', kind: 'DaemonSet' }), { unrecorded: true });
		await t.create(autoscaler('gadget', {}, { apiVersion: 'apps/v1', kind: 'Gadget' }), { unrecorded: true });
		for (const name of ['none', 'agent', 'gadget']) {
			await untilSays(t, name, 'AbleToScale', 'False', 'FailedGetScale');
			await untilReported(t, name, 1);
		}
		await t.create(deployment('none'), { unrecorded: true });
		await untilSays(t, 'none', 'AbleToScale', 'True', 'SucceededGetScale');
	}),
	define('hpa-of-others', 'An autoscaler scales a StatefulSet, a ReplicaSet and a custom resource', async (t) => {
		const group = `${t.ns}.example.com`;
		const paths = { specReplicasPath: '.spec.size', statusReplicasPath: '.status.size' };
		const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
		const versions = [{ name: 'v1', served: true, storage: true, schema, subresources: { scale: paths } }];
		await t.create(definition(t.ns, { versions }), { unrecorded: true });
		const path = `/apis/${group}/v1/namespaces/${t.ns}/widgets`;
		await t.eventually('it is served', 'GET', path, (answer) => answer.status === 200);
		await t.post(path, widget(t.ns, 'web', {}, { spec: { size: 1 } }), { unrecorded: true });
		await t.create(statefulSet('db'), { unrecorded: true });
		await t.create(replicaSet('old'), { unrecorded: true });
		const least = { minReplicas: 2 };
		await t.create(autoscaler('web', least, { apiVersion: `${group}/v1`, kind: 'Widget' }), { unrecorded: true });
		await t.create(autoscaler('db', least, { apiVersion: 'apps/v1', kind: 'StatefulSet' }), { unrecorded: true });
		// A version that does not exist: only group and kind matter.
		await t.create(autoscaler('old', least, { apiVersion: 'apps/v7', kind: 'ReplicaSet' }), { unrecorded: true });
		const hasScaled = (/** @type {any} */ one) => one.status.lastScaleTime;
		for (const name of ['web', 'db', 'old'])
			await t.until(`horizontalpodautoscalers/${name}`, 'has scaled', hasScaled, { fields: ['status.desiredReplicas'] });
		await t.get(`${path}/web`, { fields: ['spec'] });
		await t.get('statefulsets/db', { fields: ['spec.replicas'] });
		await t.get('replicasets/old', { fields: ['spec.replicas'] });
		await untilSays(t, 'web', 'ScalingActive', 'False', 'InvalidSelector');
		await t.delete(`customresourcedefinitions/widgets.${group}`, undefined, { unrecorded: true });
	}),
	define(
		'hpa-through-scale',
		'An autoscaler updates the scale subresource as its own manager, and continues after a refusal',
		async (t) => {
			const resourceRules = [
				{ apiGroups: ['apps'], apiVersions: ['v1'], resources: ['deployments/scale'], operations: ['*'] },
			];
			const words = [
				"'by ' + request.userInfo.username",
				"'; ' + request.operation + ' of ' + request.resource.resource + '/' + request.subResource + ' ' + request.name",
				"'; a ' + request.kind.group + ' ' + request.kind.version + ' ' + request.kind.kind",
				"'; a ' + object.kind + ' of ' + string(object.spec.replicas) + ' was ' + string(oldObject.spec.replicas)",
			];
			await t.create(
				{
					apiVersion: 'admissionregistration.k8s.io/v1',
					kind: 'ValidatingAdmissionPolicy',
					metadata: { name: t.name('policy') },
					spec: {
						matchConstraints: { resourceRules },
						validations: [{ expression: 'false', messageExpression: words.join(' + ') }],
					},
				},
				{ unrecorded: true },
			);
			await t.create(
				{
					apiVersion: 'admissionregistration.k8s.io/v1',
					kind: 'ValidatingAdmissionPolicyBinding',
					metadata: { name: t.name('binding') },
					spec: {
						policyName: t.name('policy'),
						validationActions: ['Deny'],
						matchResources: { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': t.ns } } },
					},
				},
				{ unrecorded: true },
			);
			await t.create(deployment('web'), { unrecorded: true });
			const more = {
				body: { spec: { replicas: 3 } },
				headers: { 'content-type': 'application/merge-patch+json' },
				query: { dryRun: 'All' },
			};
			await t.eventually('it is in force', 'PATCH', 'deployments/web/scale', ({ status }) => status === 422, more);
			await t.patch('deployments/web/scale', 'merge', more.body);
			const { body } = await t.get('deployments/web/scale', { fields: ['spec'] });
			// Without a resourceVersion, because the Deployment's status may have changed.
			const { resourceVersion, ...metadata } = body.metadata;
			await t.put('deployments/web/scale', { ...body, metadata, spec: { replicas: 3 } });
			await t.patch('deployments/web', 'merge', { metadata: { labels: { a: 'b' } } });
			await t.create(autoscaler('web', { minReplicas: 2 }), { unrecorded: true });
			await untilSays(t, 'web', 'AbleToScale', 'False', 'FailedUpdateScale');
			await untilReported(t, 'web', 1);
			await t.get('deployments/web', { fields: ['spec.replicas'] });
			await t.delete(`validatingadmissionpolicybindings/${t.name('binding')}`, undefined, { unrecorded: true });
			await untilScaled(t, 'web', 2);
			await t.delete(`validatingadmissionpolicies/${t.name('policy')}`, undefined, { unrecorded: true });
		},
	),
	define('hpa-held', 'An autoscaler that a finalizer holds continues to scale', async (t) => {
		await t.create(deployment('web'), { unrecorded: true });
		const metadata = { name: 'web', finalizers: ['example.com/x'] };
		await t.create({ ...autoscaler('web', { minReplicas: 2 }), metadata }, { unrecorded: true });
		await t.delete('horizontalpodautoscalers/web');
		await untilScaled(t, 'web', 2);
		await t.patch('horizontalpodautoscalers/web', 'merge', { metadata: { finalizers: null } });
		await t.get('horizontalpodautoscalers/web');
	}),
	define('hpa-invalid', 'An autoscaler with impossible bounds is refused', async (t) => {
		await t.create(autoscaler('web', { minReplicas: 3, maxReplicas: 2 }));
		await t.create(autoscaler('web', { minReplicas: 0 }));
		await t.create(autoscaler('web', { maxReplicas: 0 }));
		await t.create(autoscaler('web', { maxReplicas: undefined }));
		await t.create(autoscaler('web', { minReplicas: -1, maxReplicas: -1 }));
		await t.create(autoscaler('web', {}, { apiVersion: 'a/b/c', kind: 'Deployment' }));
		await t.create(autoscaler('web', {}, { kind: 'Deployment' }));
		await t.create(autoscaler('', {}));
	}),
];
