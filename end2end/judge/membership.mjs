/**
 * The objects that belong to the unit, those that belong to bystanders, and those that the bystanders need.
 */
import { claimsOf, configMapsOf, secretsOf, serviceAccountOf } from './pod.mjs';
import { madeByCluster } from './cluster-state.mjs';

/** @typedef {Record<string, any>} KubeObject */
/** @typedef {import('./cluster-state.mjs').ClusterState} ClusterState */

/** @param {string} label "key=value" @returns {(object: KubeObject) => boolean} */
export function labelled(label) {
	const [key, value] = label.split('=');
	return ({ metadata }) => metadata.labels?.[key] === value;
}

/**
 * The UIDs of the matching objects and of everything that they own.
 * @param {KubeObject[]} all @param {(object: KubeObject) => boolean} member @returns {Set<string>} UIDs
 */
function withOwned(all, member) {
	/** @type {Set<string>} */
	const uids = new Set();
	let grown = true;
	while (grown) {
		grown = false;
		for (const object of all) {
			const owned = object.metadata.ownerReferences?.some((/** @type {any} */ { uid }) => uids.has(uid));
			if (!uids.has(object.metadata.uid) && (owned || member(object))) grown = !!uids.add(object.metadata.uid);
		}
	}
	return uids;
}

/**
 * The bystanders' objects by label and ownership, and the objects that those need, at the start.
 * @param {ClusterState} state @param {string} [label] @returns {{own: Set<string>, needed: Map<string, string>}}
 *   `needed`: the reason by UID
 */
export function bystanders(state, label) {
	const own = label ? withOwned([...state.objects.values()], labelled(label)) : new Set();
	/** @type {Map<string, string>} */
	const needed = new Map();
	/** @param {KubeObject|undefined} object @param {string} why */
	const need = (object, why) => {
		if (object && !own.has(object.metadata.uid)) needed.set(object.metadata.uid, why);
	};
	for (const uid of own) {
		const object = /** @type {KubeObject} */ (state.objects.get(uid));
		const { kind, metadata } = object;
		if (!metadata.namespace) continue;
		need(state.find('Namespace', undefined, metadata.namespace), `${kind} ${metadata.name} lives in it`);
		if (kind !== 'Pod') continue;
		/** @param {string} what @param {Iterable<string>} names */
		const needs = (what, names) => {
			for (const name of names) need(state.find(what, metadata.namespace, name), `Pod ${metadata.name} uses it`);
		};
		needs('PersistentVolumeClaim', claimsOf(object));
		needs('ConfigMap', configMapsOf(object));
		needs('Secret', secretsOf(object));
		needs('ServiceAccount', [serviceAccountOf(object)]);
		for (const name of claimsOf(object)) {
			const volume = state.find('PersistentVolumeClaim', metadata.namespace, name)?.spec.volumeName;
			if (volume)
				need(state.find('PersistentVolume', undefined, volume), `Pod ${metadata.name} mounts it through claim ${name}`);
		}
	}
	return { own, needed };
}

/**
 * The UIDs of the unit's objects: objects with its label, objects that those own, content of its namespaces, and volumes bound to
 * its claims. Bystanders and unclaimed objects in its namespaces are not part of it, nor is anything that they own.
 * @param {KubeObject[]} everything every object ever seen, in every state @param {string} label @param {string} [bystanderLabel]
 */
export function unitMembers(everything, label, bystanderLabel) {
	const nobodys = unclaimed(everything, label, bystanderLabel);
	const carries = labelled(label);
	const others = bystanderLabel ? withOwned(everything, labelled(bystanderLabel)) : new Set();
	const namespaces = new Set(
		everything.filter((object) => object.kind === 'Namespace' && carries(object)).map(({ metadata }) => metadata.name),
	);
	const members = withOwned(
		everything.filter((object) => !others.has(object.metadata.uid)),
		(object) =>
			carries(object) ||
			(namespaces.has(object.metadata.namespace) && !madeByCluster(object) && !nobodys.has(object.metadata.uid)),
	);
	for (const { kind, metadata, spec } of everything) {
		if (kind === 'PersistentVolume' && members.has(spec?.claimRef?.uid)) members.add(metadata.uid);
	}
	return members;
}

/**
 * The UIDs of the objects that nothing declares part of an application, in namespaces of the unit that hold declared objects:
 * top-level objects without either label, apart from those that the cluster makes.
 * @param {KubeObject[]} everything every object ever seen, in every state @param {string} label @param {string} [bystanderLabel]
 */
export function unclaimed(everything, label, bystanderLabel) {
	const carries = labelled(label);
	const theirs = bystanderLabel ? labelled(bystanderLabel) : () => false;
	const own = everything.filter((object) => object.kind === 'Namespace' && carries(object));
	const namespaces = new Set(own.map(({ metadata }) => metadata.name));
	const declared = new Set(
		everything.filter((object) => carries(object) || theirs(object)).map(({ metadata }) => metadata.namespace),
	);
	const named = new Set(everything.filter((it) => carries(it) || theirs(it)).map(({ metadata }) => metadata.uid));
	const templates = everything
		.filter(({ kind }) => kind === 'StatefulSet')
		.flatMap(({ metadata, spec }) =>
			(spec?.volumeClaimTemplates ?? []).map((/** @type {any} */ template) => ({
				namespace: metadata.namespace,
				prefix: `${template.metadata.name}-${metadata.name}-`,
			})),
		);
	/** @param {KubeObject} object */
	const fromTemplate = ({ kind, metadata }) =>
		kind === 'PersistentVolumeClaim' &&
		templates.some(({ namespace, prefix }) => {
			const ordinal = metadata.name.startsWith(prefix) ? metadata.name.slice(prefix.length) : '';
			return metadata.namespace === namespace && /^\d+$/.test(ordinal);
		});
	const nobodys = everything.filter(
		(object) =>
			namespaces.has(object.metadata.namespace) &&
			declared.has(object.metadata.namespace) &&
			!named.has(object.metadata.uid) &&
			!object.metadata.ownerReferences?.length &&
			!madeByCluster(object) &&
			!fromTemplate(object),
	);
	return new Set(nobodys.map(({ metadata }) => metadata.uid));
}
