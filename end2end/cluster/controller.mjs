/**
 * Shared by the simulated controllers: one reconcile at a time per object, and finalizer changes without lost updates.
 */

/** @typedef {import('./client.mjs').Client} Client */
/** @typedef {import('./client.mjs').KubeObject} KubeObject */

/**
 * Runs `work` for an object, but never twice at the same time. If changes arrive meanwhile, only the latest is processed
 * afterwards.
 * @param {(object: KubeObject) => Promise<void>} work @param {(object: KubeObject, error: unknown) => void} onError
 * @returns {{look: (object: KubeObject) => void, stop: () => void}}
 */
export function oneAtATime(work, onError) {
	/** The objects in process by UID, with the latest change that arrived meanwhile. @type {Map<string, KubeObject|undefined>} */
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
 * Adds or removes a finalizer of the object with this UID; retries on a conflict.
 * @param {Client} client @param {string} path @param {string} uid
 * @param {(finalizers: string[]) => string[]} change
 */
export async function changeFinalizers(client, path, uid, change) {
	for (let attempt = 0; attempt < 20; attempt++) {
		const { status, body } = await client.request('GET', path);
		if (status === 404) return;
		if (status !== 200) throw new Error(`finalizers of ${path}: ${status} ${body.message}`);
		if (body.metadata.uid !== uid) return;
		const before = body.metadata.finalizers ?? [];
		const after = change(before);
		if (after.length === before.length) return;
		const patch = { metadata: { uid, resourceVersion: body.metadata.resourceVersion, finalizers: after } };
		const patched = await client.request('PATCH', path, patch, { 'content-type': 'application/merge-patch+json' });
		if (patched.status === 200 || patched.status === 404) return;
		if (patched.status !== 409) throw new Error(`finalizers of ${path}: ${patched.status} ${patched.body.message}`);
	}
	throw new Error(`finalizers of ${path}: 20 conflicts in a row`);
}

/** @param {string} finalizer @returns {(finalizers: string[]) => string[]} */
export const without = (finalizer) => (finalizers) => finalizers.filter((each) => each !== finalizer);
/** @param {string} finalizer @returns {(finalizers: string[]) => string[]} */
export const withOne = (finalizer) => (finalizers) =>
	finalizers.includes(finalizer) ? finalizers : [...finalizers, finalizer];
