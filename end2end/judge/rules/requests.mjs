/**
 * Who sends requests to a Pod goes before the Pod, and before what leads there.
 */
import { titleOf } from '../cluster-state.mjs';
import { selects, templateOf } from '../pod.mjs';
import { there, whereTeardownDeletes } from './rule.mjs';

/** @typedef {import('./rule.mjs').KubeObject} KubeObject */
/** @typedef {import('../cluster-state.mjs').ClusterState} ClusterState */

/** The Ingress in front of a Service. @param {ClusterState} state @param {KubeObject} service */
function ingressOf(state, { metadata: { name, namespace } }) {
	const isIt = (/** @type {any} */ backend) => backend?.service?.name === name;
	return state
		.all('Ingress', namespace)
		.find(
			({ spec }) =>
				isIt(spec.defaultBackend) ||
				(spec.rules ?? []).some((/** @type {any} */ { http }) =>
					(http?.paths ?? []).some((/** @type {any} */ path) => isIt(path.backend)),
				),
		);
}

/** The Services that the API server calls for an object. @param {KubeObject} object @returns {{name: string, namespace: string}[]} */
function calledFor({ kind, spec, webhooks }) {
	const services = {
		ValidatingWebhookConfiguration: () => (webhooks ?? []).map((/** @type {any} */ it) => it.clientConfig?.service),
		MutatingWebhookConfiguration: () => (webhooks ?? []).map((/** @type {any} */ it) => it.clientConfig?.service),
		APIService: () => [spec.service],
		CustomResourceDefinition: () => [spec.conversion?.webhook?.clientConfig?.service],
	}[/** @type {string} */ (kind)];
	return (services?.() ?? []).filter(Boolean);
}

/** The object for which the API server calls a Service. @param {ClusterState} state @param {KubeObject} service */
const callerOf = (state, { metadata: { name, namespace } }) =>
	[...state.objects.values()].find((object) =>
		calledFor(object).some((service) => service.name === name && service.namespace === namespace),
	);

/** The Services that lead to Pods with these labels. @param {ClusterState} state @param {string} namespace @param {Record<string, string>} labels */
const servicesOf = (state, namespace, labels) =>
	state
		.all('Service', namespace)
		.filter(({ spec }) => spec.selector && selects({ matchLabels: spec.selector }, labels));

/** Traffic stops before its backend goes. */
export const serviceBehindIngress = whereTeardownDeletes(({ object, state }) =>
	object.kind === 'Service' ? there(ingressOf(state, object), 'sends traffic to it') : undefined,
);

/** An ingress controller finds its Ingresses by their class. */
export const ingressClass = whereTeardownDeletes(({ object: { kind, metadata }, state }) => {
	if (kind !== 'IngressClass') return;
	return there(
		state.all('Ingress').find(({ spec }) => spec.ingressClassName === metadata.name),
		'is served by it',
	);
});

/** An autoscaler would scale its target up again. */
export const autoscaled = whereTeardownDeletes(({ object: { kind, metadata }, state }) =>
	there(
		state
			.all('HorizontalPodAutoscaler', metadata.namespace ?? '')
			.find(({ spec: { scaleTargetRef: to } }) => to.kind === kind && to.name === metadata.name),
		'scales it',
	),
);

/** A webhook without a backend refuses every request, an APIService without one breaks discovery, and a definition without one breaks its objects. */
export const webhookBackend = whereTeardownDeletes(({ object, state }) =>
	object.kind === 'Service' ? there(callerOf(state, object), 'is answered by it') : undefined,
);

/** The Pods behind a Service give its answers, so they stay as long as it has callers. Those of a load balancer are outside of the cluster. */
export const podsBehindService = whereTeardownDeletes(({ object, state }) => {
	const { kind, metadata } = object;
	const labels = kind === 'Pod' ? metadata.labels : templateOf(object)?.metadata?.labels;
	if (!labels) return;
	for (const service of servicesOf(state, metadata.namespace, labels)) {
		const balancer = service.spec.type === 'LoadBalancer' ? service : undefined;
		const caller = ingressOf(state, service) ?? callerOf(state, service) ?? balancer;
		if (caller) return `${titleOf(caller)} is answered by it through ${titleOf(service)}`;
	}
});
