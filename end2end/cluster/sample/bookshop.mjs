/**
 * An application on an operator: one unit in two namespaces.
 *
 *   bookshop            two Databases, and a web shop whose Pods use the Secrets that the operator makes for them. The operator
 *                       also makes a set with a volume for each Database
 *   bookshop-operators  the operator: its Pods clear the finalizers of Databases, validate their deletion and convert them
 *
 * Databases are stored in the old version, so that each read of the preferred one needs the operator's Pods. Each part is needed to
 * delete another one: without the Pods no Database is deleted, converted or finished, and without its rights the operator is dead.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { selfSigned } from '../certificate.mjs';
import { finishing, reviewing, together } from '../operator.mjs';
import { runAsPods } from '../program.mjs';
import { driver } from '../provisioner.mjs';
import {
	claimSpec,
	configMap,
	csiDriver,
	deployment,
	labels,
	namespace,
	podTemplate,
	secret,
	service,
	serviceAccount,
	statefulSet,
	storageClass,
} from './objects.mjs';

/** @typedef {import('./objects.mjs').KubeObject} KubeObject */
/** @typedef {import('../cluster.mjs').Cluster} Cluster */

export const unit = 'bookshop';
export const unitLabel = `app.kubernetes.io/part-of=${unit}`;
/** The namespace of the operator. */
export const operators = 'bookshop-operators';
export const operator = 'database-operator';
export const finalizer = 'databases.bookshop.example/cleanup';
/** The workload that clears it. */
export const finisher = { kind: 'Deployment', namespace: operators, name: operator };
/** The path of the Database that the shop uses. */
export const orders = `/apis/databases.example/v1/namespaces/${unit}/databases/orders`;

const group = 'databases.example';
const databases = `/apis/${group}/v1/databases`;
/** The StorageClass of the Databases. */
const storage = 'bookshop-databases';
const port = 9443;
/** @param {string} database the Secret that the operator makes for it */
const credentials = (database) => `${database}-credentials`;

/** @param {string} name @param {string} [inNamespace] @param {string} [component] */
const part = (name, inNamespace, component = name) => ({
	name,
	...(inNamespace ? { namespace: inNamespace } : {}),
	labels: labels(unit, component),
});

const apiGroup = 'rbac.authorization.k8s.io';
/** A role and its binding to the operator; cluster-wide without a namespace. @param {string} name @param {string|undefined} inNamespace @param {KubeObject[]} rules */
const rights = (name, inNamespace, rules) => {
	const kind = inNamespace ? 'Role' : 'ClusterRole';
	const metadata = part(name, inNamespace, operator);
	return [
		{ apiVersion: `${apiGroup}/v1`, kind, metadata, rules },
		{
			apiVersion: `${apiGroup}/v1`,
			kind: `${kind}Binding`,
			metadata,
			roleRef: { apiGroup, kind, name },
			subjects: [{ kind: 'ServiceAccount', name: operator, namespace: operators }],
		},
	];
};

const { cert, key } = selfSigned(`${operator}.${operators}.svc`);
/** @param {string} path */
const clientConfig = (path) => ({
	caBundle: Buffer.from(cert).toString('base64'),
	service: { namespace: operators, name: operator, port: 443, path },
});

/** @param {string} name @param {Record<string, object>} properties of the spec @param {boolean} storage */
const version = (name, properties, storage) => ({
	name,
	served: true,
	storage,
	schema: { openAPIV3Schema: { type: 'object', properties: { spec: { type: 'object', properties } } } },
});

const definition = {
	apiVersion: 'apiextensions.k8s.io/v1',
	kind: 'CustomResourceDefinition',
	metadata: part(`databases.${group}`, undefined, operator),
	spec: {
		group,
		scope: 'Namespaced',
		names: { kind: 'Database', listKind: 'DatabaseList', plural: 'databases', singular: 'database' },
		versions: [
			version('v1', { size: { type: 'string' } }, false),
			version('v1beta1', { sizeGi: { type: 'integer' } }, true),
		],
		conversion: {
			strategy: 'Webhook',
			webhook: { conversionReviewVersions: ['v1'], clientConfig: clientConfig('/convert') },
		},
	},
};

const validation = {
	apiVersion: 'admissionregistration.k8s.io/v1',
	kind: 'ValidatingWebhookConfiguration',
	metadata: part('databases.bookshop.example', undefined, operator),
	webhooks: [
		{
			name: 'databases.bookshop.example',
			clientConfig: clientConfig('/validate'),
			rules: [{ apiGroups: [group], apiVersions: ['v1', 'v1beta1'], resources: ['databases'], operations: ['DELETE'] }],
			sideEffects: 'None',
			admissionReviewVersions: ['v1'],
			failurePolicy: 'Fail',
		},
	],
};

const operatorParts = [
	namespace(part(operators)),
	serviceAccount(part(operator, operators)),
	...rights('bookshop-databases', undefined, [
		{ apiGroups: [group], resources: ['databases'], verbs: ['get', 'list', 'watch', 'update', 'patch'] },
	]),
	...rights(operator, unit, [
		{ apiGroups: [''], resources: ['secrets'], verbs: ['create'] },
		{ apiGroups: ['apps'], resources: ['statefulsets'], verbs: ['create'] },
		{ apiGroups: [''], resources: ['pods'], verbs: ['list'] },
	]),
	secret(part(`${operator}-tls`, operators, operator), ['tls.key']),
	deployment(
		part(operator, operators),
		2,
		podTemplate(part(operator).labels, {
			serviceAccountName: operator,
			containers: [{ name: 'operator', image: 'registry.example/database-operator:1' }],
			volumes: [{ name: 'tls', secret: { secretName: `${operator}-tls` } }],
		}),
	),
	{
		apiVersion: 'v1',
		kind: 'Service',
		metadata: part(operator, operators),
		spec: { selector: part(operator).labels, ports: [{ name: 'webhook', port: 443, targetPort: port }] },
	},
	definition,
];

const databaseParts = [
	{ apiVersion: `${group}/v1beta1`, kind: 'Database', metadata: part('catalogue', unit), spec: { sizeGi: 5 } },
	{ apiVersion: `${group}/v1`, kind: 'Database', metadata: part('orders', unit), spec: { size: '20Gi' } },
];

const shopParts = [
	configMap(part('shop', unit), { data: { theme: 'paper' } }),
	deployment(
		part('shop', unit),
		2,
		podTemplate(part('shop').labels, {
			containers: [
				{
					name: 'shop',
					image: 'registry.example/shop:1',
					envFrom: [{ configMapRef: { name: 'shop' } }, { secretRef: { name: credentials('orders') } }],
				},
			],
			volumes: [{ name: 'catalogue', secret: { secretName: credentials('catalogue') } }],
		}),
	),
	service(part('shop', unit), 80),
	validation,
];

/** Makes the Secret and the set of a Database. @param {import('../client.mjs').Client} client @param {KubeObject} database */
async function provide(client, { apiVersion, kind, metadata: { namespace, name, uid } }) {
	const ownerReferences = [{ apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true }];
	const own = { 'databases.example/name': name };
	const set = statefulSet(
		{ namespace, name, labels: own, ownerReferences },
		1,
		podTemplate(own, { containers: [{ name: 'database', image: 'registry.example/database:1' }] }),
		[{ metadata: { name: 'data' }, spec: claimSpec(storage, '5Gi', 'ReadWriteOnce') }],
	);
	const password = secret({ namespace, name: credentials(name), ownerReferences }, ['password']);
	/** @type {[string, KubeObject][]} */
	const made = [
		['/apis/apps/v1', set],
		['/api/v1', password],
	];
	for (const [path, object] of made) {
		const collection = `${path}/namespaces/${namespace}/${object.kind.toLowerCase()}s`;
		const { status, body } = await client.request('POST', collection, object);
		if (status !== 201 && status !== 409) throw new Error(`${object.kind} of ${name}: ${status} ${body.message}`);
	}
}

/** A Database is not deleted while a Pod uses its Secret. @param {import('../client.mjs').Client} client @param {KubeObject} database */
async function refusal(client, { metadata: { namespace, name } }) {
	const { status, body } = await client.request('GET', `/api/v1/namespaces/${namespace}/pods`);
	if (status !== 200) return `the operator may not list Pods: ${status}`;
	const user = body.items.find((/** @type {KubeObject} */ { spec }) =>
		JSON.stringify(spec).includes(`"${credentials(name)}"`),
	);
	return user && `Pod ${user.metadata.name} uses it`;
}

/** @param {KubeObject} database @param {string} apiVersion @returns {KubeObject} */
function convert({ spec, ...database }, apiVersion) {
	const size = spec.size ?? `${spec.sizeGi}Gi`;
	return {
		...database,
		apiVersion,
		spec: apiVersion.endsWith('/v1') ? { size } : { sizeGi: Number.parseInt(size, 10) },
	};
}

/** Waits until so many Pods of the operator answer. @param {Cluster} cluster @param {number} count */
export const waitForEndpoints = (cluster, count) =>
	cluster.until('/apis/discovery.k8s.io/v1/endpointslices', ([slice]) => (slice?.endpoints ?? []).length === count, {
		what: `${count} endpoints of the operator`,
		params: { labelSelector: `kubernetes.io/service-name=${operator}` },
	});

/**
 * Creates a Database in its version. The API server may need a moment to learn the endpoints of the operator, which converts it.
 * @param {Cluster} cluster @param {KubeObject} database
 */
async function create(cluster, database) {
	const path = `/apis/${database.apiVersion}/namespaces/${unit}/databases`;
	const deadline = performance.now() + 30_000;
	for (;;) {
		const { status, body } = await cluster.request('admin', 'POST', path, database);
		if (status === 201) return;
		if (performance.now() > deadline) throw new Error(`Database ${database.metadata.name}: ${status} ${body.message}`);
		await sleep(50);
	}
}

/**
 * Installs the application and runs its operator, until the returned function is called.
 * @param {Cluster} cluster started for programs @returns {Promise<() => void>}
 */
export async function install(cluster) {
	// The namespace of the shop has rights of the operator in it.
	await cluster.apply([
		storageClass({ name: storage }, driver, 'Delete'),
		csiDriver({ name: driver }),
		namespace(part(unit)),
		...operatorParts,
	]);
	const program = together(
		finishing({ collection: databases, finalizer, provide }),
		reviewing({ certificate: { cert, key }, port, refusal, convert }),
	);
	const end = runAsPods(cluster, operators, `app.kubernetes.io/name=${operator}`, program);
	const named = (/** @type {string} */ name) => ({ params: { fieldSelector: `metadata.name=${name}` } });
	const isReady = (/** @type {KubeObject[]} */ [it]) => it?.status?.readyReplicas === it?.spec.replicas;
	await cluster.until('/apis/apps/v1/deployments', isReady, { what: 'the operator', ...named(operator) });
	await waitForEndpoints(cluster, 2);
	for (const database of databaseParts) await create(cluster, database);
	await cluster.until(
		'/api/v1/secrets',
		(found) =>
			databaseParts.every(({ metadata: { name } }) => found.some((it) => it.metadata.name === credentials(name))),
		{
			what: 'the Secrets of the Databases',
			params: { fieldSelector: 'type=Opaque' },
		},
	);
	await cluster.until(
		'/apis/storage.k8s.io/v1/volumeattachments',
		(found) => found.length === databaseParts.length && found.every(({ status }) => status?.attached),
		{
			what: 'the volumes of the Databases to be attached',
		},
	);
	await cluster.apply(shopParts);
	await cluster.until('/apis/apps/v1/deployments', isReady, { what: 'the shop', ...named('shop') });
	return end;
}
