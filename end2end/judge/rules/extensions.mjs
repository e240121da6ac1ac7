/**
 * What extends the API goes after what it serves: definitions, guards, and the workloads that clear finalizers.
 */
import { controllerOf, hasName, madeByCluster, resourceOf, titleOf } from '../cluster-state.mjs';
import { configMapsOf, secretsOf, selects, serviceAccountOf } from '../pod.mjs';
import { there, whereTeardownDeletes } from './rule.mjs';

/** @typedef {import('./rule.mjs').KubeObject} KubeObject */
/** @typedef {import('../cluster-state.mjs').ClusterState} ClusterState */

/** @param {KubeObject} object */
const groupOf = ({ apiVersion }) => (apiVersion?.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : '');

/** The deletion of a definition deletes all its objects. */
export const definition = whereTeardownDeletes(({ object: { kind, spec }, state }) => {
	if (kind !== 'CustomResourceDefinition') return;
	return there(
		state.all(spec.names.kind).find((object) => groupOf(object) === spec.group),
		'is of its kind',
	);
});

/**
 * Whether a value has a field, at any depth, that names this object: `credentialsSecret`, `secretName`, `configMapRef`. A name
 * without a namespace is of the namespace of the object that says it.
 * @param {any} value @param {KubeObject} object @param {string|undefined} home @param {string} [field] @returns {boolean}
 */
function names(value, object, home, field = '') {
	const { kind, metadata } = object;
	if (Array.isArray(value)) return value.some((entry) => names(entry, object, home, field));
	const isOfKind = new RegExp(`${kind}s?(Name|Ref)?s?$`, 'i').test(field);
	if (isOfKind && value === metadata.name) return home === metadata.namespace;
	if (!value || typeof value !== 'object') return false;
	if ((isOfKind || value.kind === kind) && value.name === metadata.name)
		return (value.namespace ?? home) === metadata.namespace;
	return Object.entries(value).some(([inner, part]) => names(part, object, home, inner));
}

/** A ConfigMap or Secret goes after the custom resources whose specs name it. */
export const named = whereTeardownDeletes(({ object, state }) => {
	if (object.kind !== 'ConfigMap' && object.kind !== 'Secret') return;
	return there(
		[...state.objects.values()]
			.filter((it) => groupOf(it).includes('.') && !groupOf(it).endsWith('.k8s.io'))
			.find((it) => names(it.spec, object, it.metadata.namespace)),
		'names it',
	);
});

/** An object, its controller, and so on. @param {KubeObject} object @param {ClusterState} state */
function withControllers(object, state) {
	/** @type {KubeObject[]} */
	const chain = [];
	/** @type {KubeObject|undefined} */
	let next = object;
	while (next && !chain.includes(next)) {
		chain.push(next);
		next = state.objects.get(controllerOf(next) ?? '');
	}
	return chain;
}

/** An operator clears the finalizers of its objects, so it outlives them, as do its Pods. */
export const finisher = whereTeardownDeletes(({ object, state }, { finishers }) => {
	const chain = withControllers(object, state);
	for (const [finalizer, name] of Object.entries(finishers)) {
		if (!chain.some(hasName(name))) continue;
		const waiting = [...state.objects.values()].find(({ metadata }) => metadata.finalizers?.includes(finalizer));
		if (waiting) return `it clears the finalizer ${finalizer} of ${titleOf(waiting)}`;
	}
});

/**
 * A webhook decides whether objects may be deleted, or finalizers cleared, so it outlives them, except those that its own Pods
 * need. Configurations themselves are never sent to a webhook.
 */
export const guarded = whereTeardownDeletes(({ object: { kind, webhooks }, state }, { unit, bystanders }) => {
	if (!kind.endsWith('WebhookConfiguration')) return;
	for (const webhook of webhooks ?? []) {
		const isOwn = isOwnOf(webhook, state);
		const found = [...state.objects.values()].find(
			(it) =>
				(unit.has(it.metadata.uid) || bystanders.own.has(it.metadata.uid) || bystanders.needed.has(it.metadata.uid)) &&
				!madeByCluster(it) &&
				groupOf(it) !== 'admissionregistration.k8s.io' &&
				!isOwn(it) &&
				asksAbout(webhook, it, state),
		);
		if (found) return `it guards ${titleOf(found)}`;
	}
});

/** @param {KubeObject} webhook @param {KubeObject} object @param {ClusterState} state */
function asksAbout({ rules = [], namespaceSelector, objectSelector }, object, state) {
	const { namespace, labels, finalizers } = object.metadata;
	const within = object.kind === 'Namespace' ? object : namespace && state.find('Namespace', undefined, namespace);
	const isOne = (/** @type {string[]} */ list, /** @type {string} */ name) => list.includes('*') || list.includes(name);
	const operations = ['DELETE', ...(finalizers?.length ? ['UPDATE'] : [])];
	return (
		rules.some(
			(/** @type {any} */ rule) =>
				(rule.operations.includes('*') || operations.some((it) => rule.operations.includes(it))) &&
				isOne(rule.apiGroups, groupOf(object)) &&
				(isOne(rule.resources, resourceOf(object)) || rule.resources.includes('*/*')) &&
				(!rule.scope || rule.scope === '*' || (rule.scope === 'Namespaced') === !!namespace),
		) &&
		(!objectSelector || selects(objectSelector, labels)) &&
		(!namespaceSelector || !within || selects(namespaceSelector, within.metadata.labels))
	);
}

/** Whether an object is a Pod behind a webhook, an owner of one, or needed by one. @param {KubeObject} webhook @param {ClusterState} state @returns {(object: KubeObject) => boolean} */
function isOwnOf({ clientConfig }, state) {
	const { name, namespace } = clientConfig?.service ?? {};
	const service = name && state.find('Service', namespace, name);
	if (!service?.spec.selector) return () => false;
	const answers = state.usersThat(namespace, ({ metadata }) =>
		selects({ matchLabels: service.spec.selector }, metadata.labels),
	);
	const isOne = (/** @type {KubeObject} */ object) =>
		answers.some(({ metadata }) => metadata.uid === object.metadata.uid);
	/** @type {Record<string, (name: string) => (pod: KubeObject) => boolean>} */
	const uses = {
		ConfigMap: (name) => (pod) => configMapsOf(pod).has(name),
		Secret: (name) => (pod) => secretsOf(pod).has(name),
		ServiceAccount: (name) => (pod) => serviceAccountOf(pod) === name,
	};
	return (object) =>
		object === service ||
		object.kind === 'Namespace' ||
		isOne(object) ||
		(object.metadata.namespace === namespace &&
			!!uses[object.kind] &&
			state.usersThat(namespace, uses[object.kind](object.metadata.name)).some(isOne));
}
