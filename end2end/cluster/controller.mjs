/**
 * What our stand-ins for controllers have in common: they look at one object at a time, with its latest state, and change
 * finalizers so that nobody else's change is lost.
 */

/** @typedef {import('./client.mjs').Client} Client */
/** @typedef {import('./client.mjs').KubeObject} KubeObject */

/**
 * Runs `work` for an object, never twice at once for the same one. What comes while it is at work is looked at afterwards,
 * in its latest state only.
 * @param {(object: KubeObject) => Promise<void>} work @param {(object: KubeObject, error: unknown) => void} onError
 * @returns {{look: (object: KubeObject) => void, stop: () => void}}
 */
export function oneAtATime(work, onError) {
	/** Objects at work, by UID, with what has come meanwhile. @type {Map<string, KubeObject|undefined>} */
	const busy = new Map();
	let stopped = false;
	/** @param {KubeObject} object */
	const look = async (object) => {
		const { uid } = object.metadata;
		if (stopped) return;
		if (busy.has(uid)) return void busy.set(uid, object);
		busy.set(uid, undefined);
		try {
			await work(object);
		} catch (error) {
			if (!stopped) onError(object, error);
		}
		const later = busy.get(uid);
		busy.delete(uid);
		if (later) void look(later);
	};
	return { look: (object) => void look(object), stop: () => void (stopped = true) };
}

/**
 * Adds or removes one finalizer of one object, if it is still that object; tries again when somebody else was faster.
 * @param {Client} client @param {string} path @param {string} uid
 * @param {(finalizers: string[]) => string[]} change
 */
export async function changeFinalizers(client, path, uid, change) {
	for (let attempt = 0; attempt < 20; attempt++) {
		const { status, body } = await client.request('GET', path);
		if (status === 404 || body.metadata?.uid !== uid) return;
		const before = body.metadata.finalizers ?? [];
		const after = change(before);
		if (after.length === before.length) return;
		const patch = { metadata: { uid, resourceVersion: body.metadata.resourceVersion, finalizers: after } };
		const patched = await client.request('PATCH', path, patch, { 'content-type': 'application/merge-patch+json' });
		if (patched.status === 200 || patched.status === 404) return;
		if (patched.status !== 409) throw new Error(`finalizers of ${path}: ${patched.status} ${patched.body.message}`);
	}
	throw new Error(`finalizers of ${path}: somebody else was always faster`);
}

/** @param {string} finalizer @returns {(finalizers: string[]) => string[]} */
export const without = (finalizer) => (finalizers) => finalizers.filter((each) => each !== finalizer);
/** @param {string} finalizer @returns {(finalizers: string[]) => string[]} */
export const withOne = (finalizer) => (finalizers) =>
	finalizers.includes(finalizer) ? finalizers : [...finalizers, finalizer];
