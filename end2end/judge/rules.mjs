/**
 * The rules that a teardown must not break, one function each. Order rules look at one change and at the cluster just before it;
 * request rules look at the audit log; end rules look at the remaining objects.
 */
import { hasName, nameOf, titleOf } from './cluster-state.mjs';
import { definition, finisher, guarded, named } from './rules/extensions.mjs';
import { hinted } from './rules/hint.mjs';
import {
	askedToKeep,
	bystander,
	collateral,
	declared,
	grants,
	isProtected,
	namespaceWithContent,
	owner,
	recreated,
	unclaimedTouched,
} from './rules/scope.mjs';
import { accountRights, role, secretInUse, selector, usedByPods } from './rules/pods.mjs';
import {
	autoscaled,
	ingressClass,
	podsBehindService,
	serviceBehindIngress,
	webhookBackend,
} from './rules/requests.mjs';
import { attached, claim, dataNotKept, driver, endedByForce, madeFromTemplate, retained, volume } from './rules/storage.mjs';

/**
 * @typedef {Record<string, any>} KubeObject
 * @typedef {{rule: string, object: string, evidence: string}} Violation
 * @typedef {import('./rules/rule.mjs').RunFacts} RunFacts
 * @typedef {import('./rules/rule.mjs').OrderRule} OrderRule
 */

/**
 * By name. The rules of the simulation have the same names: those for the order (server/tests/simulation/order.rs), those for what a
 * DELETE takes (server/tests/simulation/oracle/deletion.rs), and those for the end (server/tests/simulation/oracle/end.rs).
 * @type {Record<string, OrderRule>}
 */
export const orderRules = {
	owner,
	claim,
	attached,
	'ended-by-force': endedByForce,
	'namespace-with-content': namespaceWithContent,
	volume,
	retained,
	'used-by-pods': usedByPods,
	'secret-in-use': secretInUse,
	named,
	'account-rights': accountRights,
	role,
	selector,
	autoscaled,
	'service-behind-ingress': serviceBehindIngress,
	'ingress-class': ingressClass,
	definition,
	finisher,
	driver,
	guarded,
	'webhook-backend': webhookBackend,
	'pods-behind-service': podsBehindService,
	'made-from-template': madeFromTemplate,
	declared,
	bystander,
	protected: isProtected,
	're-created': recreated,
	'unclaimed-touched': unclaimedTouched,
	'data-not-kept': dataNotKept,
	collateral,
	'asked-to-keep': askedToKeep,
	hinted,
};

/** The names of the rules for what remains at the end. */
export const endRules = {
	leftOver: 'left-over',
	notKept: 'not-kept',
	unsaid: 'data-destroyed-unsaid',
	keptData: 'kept-data',
};

/**
 * A DELETE that could affect other objects than intended: a later object of the same name (no UID precondition), dependents by a
 * default policy (no propagation policy), or any object of a collection.
 * @param {RunFacts} known @returns {Violation[]}
 */
export function unguarded({ deletionRequests, actor }) {
	return (
		deletionRequests
			.filter(({ user, dryRun, eviction }) => actor(user) && !dryRun && !eviction)
			// Refused before its body was read: the audit log has no options to judge, and nothing was deleted.
			.filter(({ code }) => code !== 401 && code !== 403)
			.flatMap(({ user, at, code, collection, resource, namespace, name, preconditionUid, propagationPolicy }) => {
				const faults = collection
					? ['a whole collection at once']
					: [
							...(preconditionUid ? [] : ['no UID precondition']),
							...(propagationPolicy ? [] : ['no propagation policy']),
						];
				if (faults.length === 0) return [];
				const object = nameOf({ kind: resource, namespace, name: name ?? '(all)' });
				return [
					{ rule: 'unguarded-delete', object, evidence: `${user} at ${at}: ${faults.join(', ')} (answered ${code})` },
				];
			})
	);
}

/**
 * Objects of the unit that remain, and objects that should remain and do not.
 * @param {import('./cluster-state.mjs').ClusterState} state @param {RunFacts} known
 * @param {{kept: (object: KubeObject) => boolean, expected: import('./cluster-state.mjs').Name[], destroyed?: string[], bound?: number}} end
 *   `destroyed`: the volumes of which the plan said that their data is destroyed; `bound`: the number of kept claims of which the run
 *   said that they are bound; both if that is known
 * @returns {Violation[]}
 */
export function checkEnd(
	state,
	{ unit, actor, bystanders: { needed }, unclaimed, deleted },
	{ kept, expected, destroyed, bound = 0 },
) {
	const nobodys = [...state.objects.values()].filter(({ metadata }) => unclaimed.has(metadata.uid));
	const stays = new Set(nobodys.map(({ metadata }) => metadata.namespace));
	const left = [...state.objects.values()]
		.filter(({ kind, metadata }) => kind !== 'Namespace' || !stays.has(metadata.name))
		.filter(({ metadata }) => unit.has(metadata.uid) && !needed.has(metadata.uid))
		.filter((object) => !kept(object) && !grants(object, actor))
		.map((object) => ({
			rule: endRules.leftOver,
			object: titleOf(object),
			evidence: object.metadata.deletionTimestamp
				? `terminating since ${object.metadata.deletionTimestamp}, finalizers: ${(object.metadata.finalizers ?? []).join(', ') || 'none'}`
				: 'never deleted',
		}));
	// A terminating object counts as gone, and a recreated object is another object.
	const lost = expected.flatMap((name) => {
		const wasDeleted = deleted.some(hasName(name));
		if (!wasDeleted && state.find(name.kind, name.namespace, name.name)) return [];
		return [
			{
				rule: endRules.notKept,
				object: nameOf(name),
				evidence: wasDeleted ? 'should be kept and was deleted' : 'should be kept and is gone',
			},
		];
	});
	const unsaid = deleted
		.filter(({ kind, metadata, spec }) => {
			const goes = kind === 'PersistentVolume' && spec.persistentVolumeReclaimPolicy === 'Delete';
			return goes && unit.has(metadata.uid) && destroyed && !destroyed.includes(metadata.name);
		})
		.map((volume) => ({
			rule: endRules.unsaid,
			object: titleOf(volume),
			evidence: 'its data is destroyed, and the plan did not say so',
		}));
	const isBound = (/** @type {KubeObject} */ { metadata, status }) =>
		unit.has(metadata.uid) && !metadata.deletionTimestamp && status?.phase === 'Bound';
	const reallyBound = state.all('PersistentVolumeClaim').filter(isBound).length;
	const saidOnly =
		bound > reallyBound
			? [{ rule: endRules.keptData, object: 'the run', evidence: `it says that ${bound} kept claims are bound, and ${reallyBound} are` }]
			: [];
	return [...left, ...lost, ...unsaid, ...saidOnly];
}
