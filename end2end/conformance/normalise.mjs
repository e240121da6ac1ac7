/**
 * Replaces the parts of a transcript that differ from run to run: UIDs, times, revisions, generated names, hashes, ports, addresses.
 * A UID becomes the name of its object, so that two different UIDs stay different.
 */

/** @typedef {Record<string, any>} KubeObject */

export class Normaliser {
	#token;
	/** Replacements by text. @type {Map<string, string>} */
	#known = new Map();
	/** UIDs by the name that their objects had. @type {Map<string, Set<string>>} */
	#uidsByName = new Map();

	/** @param {string} token makes the names of this run unique, and is removed */
	constructor(token) {
		this.#token = token;
	}

	/** Learns the UIDs and generated names of an answer. @param {any} body */
	learn(body) {
		if (Array.isArray(body?.items)) return void body.items.forEach((/** @type {any} */ item) => this.learn(item));
		if (Array.isArray(body?.rows)) return void body.rows.forEach((/** @type {any} */ row) => this.learn(row.object));
		const metadata = body?.metadata;
		if (!metadata?.name) return;
		const hash = metadata.labels?.['pod-template-hash'];
		if (hash) this.#known.set(hash, '<hash>');
		const revision = metadata.labels?.['controller-revision-hash'];
		if (revision && revision.length < 20) this.#known.set(revision, '<hash>');
		// A StatefulSet sets generateName too, but numbers its Pods.
		const { generateName = '', name } = metadata;
		if (generateName && name.startsWith(generateName) && isRandom(name.slice(generateName.length)))
			this.#known.set(name, `${generateName}<generated>`);
		if (metadata.uid) this.#known.set(metadata.uid, this.#uidText(metadata.name, metadata.uid));
	}

	/** @param {string} name @param {string} uid */
	#uidText(name, uid) {
		const uids = this.#uidsByName.get(name) ?? new Set();
		this.#uidsByName.set(name, uids.add(uid));
		const number = [...uids].indexOf(uid) + 1;
		return `<uid of ${name}${number > 1 ? `, number ${number} of that name` : ''}>`;
	}

	/** @param {string} text */
	apply(text) {
		let result = text;
		// Long texts first: a generated name contains the hash.
		const known = [...this.#known].sort(([one], [other]) => other.length - one.length);
		for (const [from, to] of known) result = result.replaceAll(from, to);
		for (const [pattern, to] of replacements) result = result.replace(pattern, to);
		return result.replaceAll(`-${this.#token}`, '').replaceAll(this.#token, '');
	}
}

/** @param {string} suffix */
const isRandom = (suffix) => /^[bcdfghjklmnpqrstvwxz2456789]{5}$/.test(suffix);

/** @type {[RegExp, string][]} */
const replacements = [
	[/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, '<uid>'],
	[/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)/g, '<time>'],
	[/(127\.0\.0\.1|localhost|\[::1\]):\d{4,5}/g, '127.0.0.1:<port>'],
	[/\b10\.(0|244)\.\d+\.\d+/g, '<address>'],
	[
		/(in record \(|in the precondition \(|UID in object meta: |[Rr]esource ?[Vv]ersion: |current: )\d+( \(\d+\))?/g,
		'$1<revision>',
	],
	[/-\d{8}\b/g, '-<minute>'],
	[/\b0\/\d+ nodes/g, '0/<some> nodes'], // other cases add nodes
];
