/**
 * The application of incident S4: a message queue and its operator in one namespace. Whoever uninstalls the operator first leaves
 * Topics behind whose finalizers nobody clears.
 */
import { finishing } from '../operator.mjs';
import { runAsPods } from '../program.mjs';
import { configMap, deployment, labels, namespace, podTemplate, serviceAccount } from './objects.mjs';

/** @typedef {import('./objects.mjs').KubeObject} KubeObject */

export const unit = 'queue';
export const unitLabel = `app.kubernetes.io/part-of=${unit}`;
export const finalizer = 'queue.example/topic';
const operator = 'queue-operator';
/** The workload that clears the finalizer. */
export const finisher = { kind: 'Deployment', namespace: unit, name: operator };

const apiGroup = 'rbac.authorization.k8s.io';
export const topics = '/apis/queue.example/v1/topics';
/** @param {string} name @param {string} [inNamespace] */
const part = (name, inNamespace) => ({
	name,
	...(inNamespace ? { namespace: inNamespace } : {}),
	labels: labels(unit, name),
});
/** @param {string} name */
const topic = (name) => ({
	apiVersion: 'queue.example/v1',
	kind: 'Topic',
	metadata: part(name, unit),
	spec: { partitions: 3 },
});

/** A Topic that a test may create. */
export const spare = topic('spare');

const reader = 'reporting';
const ofReader = { name: reader, labels: labels(reader, reader) };
/** An application of another team: a Topic in its own namespace, whose finalizer the same operator clears. */
export const reporting = { unit: reader, unitLabel: `app.kubernetes.io/part-of=${reader}` };
/** The parts of `reporting`. */
export const reportingParts = [
	namespace(ofReader),
	{
		apiVersion: 'queue.example/v1',
		kind: 'Topic',
		metadata: { ...ofReader, namespace: reader },
		spec: { partitions: 1 },
	},
];
/** The binding by which the operator may change Topics. */
export const binding = {
	apiVersion: `${apiGroup}/v1`,
	kind: 'ClusterRoleBinding',
	metadata: part('queue-topics'),
	roleRef: { apiGroup, kind: 'ClusterRole', name: 'queue-topics' },
	subjects: [{ kind: 'ServiceAccount', name: operator, namespace: unit }],
};

const objects = [
	namespace(part(unit)),
	{
		apiVersion: 'apiextensions.k8s.io/v1',
		kind: 'CustomResourceDefinition',
		metadata: part('topics.queue.example'),
		spec: {
			group: 'queue.example',
			scope: 'Namespaced',
			names: { plural: 'topics', singular: 'topic', kind: 'Topic', listKind: 'TopicList' },
			versions: [
				{
					name: 'v1',
					served: true,
					storage: true,
					schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
				},
			],
		},
	},
	serviceAccount(part(operator, unit)),
	{
		apiVersion: `${apiGroup}/v1`,
		kind: 'ClusterRole',
		metadata: part('queue-topics'),
		rules: [{ apiGroups: ['queue.example'], resources: ['topics'], verbs: ['get', 'list', 'watch', 'patch'] }],
	},
	binding,
	deployment(
		part(operator, unit),
		1,
		podTemplate(part(operator).labels, {
			serviceAccountName: operator,
			containers: [{ name: 'operator', image: 'registry.example/queue-operator:1' }],
		}),
	),
	configMap(part('broker', unit), { data: { retention: '7d' } }),
	deployment(
		part('broker', unit),
		1,
		podTemplate(part('broker').labels, {
			containers: [
				{ name: 'broker', image: 'registry.example/broker:1', envFrom: [{ configMapRef: { name: 'broker' } }] },
			],
		}),
	),
	topic('orders'),
	topic('payments'),
];

/**
 * Installs the application and runs its operator, until the returned function is called.
 * @param {import('../cluster.mjs').Cluster} cluster started for programs
 * @param {(object: KubeObject, error: unknown) => void} [onError] learns of each failure of the operator
 * @returns {Promise<() => void>}
 */
export async function install(cluster, onError) {
	await cluster.apply(objects);
	const end = runAsPods(
		cluster,
		unit,
		`app.kubernetes.io/name=${operator}`,
		finishing({ collection: topics, finalizer, onError }),
	);
	await cluster.until(topics, (found) => found.length === 2 && found.every(({ metadata }) => metadata.finalizers), {
		what: 'the finalizers of the Topics',
	});
	await cluster.until(
		'/apis/apps/v1/deployments',
		(found) => found.length === 2 && found.every(({ status }) => status?.readyReplicas === 1),
		{
			what: 'the broker and its operator',
			params: { labelSelector: unitLabel },
		},
	);
	return end;
}
