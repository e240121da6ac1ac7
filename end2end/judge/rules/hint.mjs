/**
 * The order that annotations of tools ask for, undone in reverse: `config.kubernetes.io/depends-on` (cli-utils), change rules (kapp)
 * and sync waves (Argo CD).
 */
import { there, whereActorDeletes } from './rule.mjs';
import { usersOf } from './pods.mjs';

/** @typedef {import('./rule.mjs').KubeObject} KubeObject */

/** @param {KubeObject} object @param {string} key @returns {string} */
const annotation = ({ metadata }, key) => metadata.annotations?.[key] ?? '';

/** Whether an object says that it depends on another. @param {KubeObject} object @param {KubeObject} on */
function dependsOn(object, { apiVersion = 'v1', kind, metadata }) {
	const group = apiVersion.includes('/') ? apiVersion.split('/')[0] : '';
	const wanted = [group, ...(metadata.namespace ? ['namespaces', metadata.namespace] : []), kind, metadata.name].join('/');
	return annotation(object, 'config.kubernetes.io/depends-on')
		.split(',')
		.some((entry) => entry.trim() === wanted);
}

/** Whether both are of one Application of Argo CD, and the first is in a later wave. @param {KubeObject} first @param {KubeObject} then */
function isInLaterWave(first, then) {
	const [application, other] = [first, then].map((it) => annotation(it, 'argocd.argoproj.io/tracking-id').split(':')[0]);
	const [wave, earlier] = [first, then].map((it) => Number(annotation(it, 'argocd.argoproj.io/sync-wave')));
	return !!application && application === other && wave > earlier;
}

/** Whether a change rule of one of two objects of an application of kapp puts the first in front. @param {KubeObject} first @param {KubeObject} then */
function hasRule(first, then) {
	const [app, other] = [first, then].map(({ metadata }) => metadata.labels?.['kapp.k14s.io/app']);
	/** @param {KubeObject} ruled @param {KubeObject} member @param {string[]} rules */
	const says = (ruled, member, rules) => {
		const group = annotation(member, 'kapp.k14s.io/change-group');
		return !!group && rules.some((rule) => annotation(ruled, 'kapp.k14s.io/change-rule') === `${rule} ${group}`);
	};
	return (
		!!app &&
		app === other &&
		(says(first, then, ['delete before deleting', 'upsert after upserting']) ||
			says(then, first, ['delete after deleting', 'upsert before upserting']))
	);
}

/**
 * A hint orders two ConfigMaps or Secrets of the unit that nothing uses: nothing else orders them, so that the hint closes no circle.
 * A hint keeps nothing, so what stays is in front of nothing.
 */
export const hinted = whereActorDeletes(({ object, state }, { unit, kept, bystanders: { own, needed } }) => {
	/** @param {KubeObject} it */
	const isFree = (it) =>
		['ConfigMap', 'Secret'].includes(it.kind) && !it.metadata.ownerReferences && usersOf(it, state).length === 0;
	if (!isFree(object)) return;
	const first = [...state.objects.values()].find((it) => {
		const { uid } = it.metadata;
		const stays = kept(it) || own.has(uid) || needed.has(uid);
		const isFirst = dependsOn(it, object) || isInLaterWave(it, object) || hasRule(it, object);
		return isFirst && uid !== object.metadata.uid && unit.has(uid) && !stays && isFree(it);
	});
	return there(first, 'goes before it by a hint');
});
