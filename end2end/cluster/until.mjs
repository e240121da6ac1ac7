/**
 * Waits for the cluster with watches, and with a timeout whose error says what is missing.
 */

/** @typedef {import('./client.mjs').KubeObject} KubeObject */
/** @typedef {{what?: string, within?: number, params?: Record<string, string>}} Options */
/** @typedef {(path: string, wanted: (objects: KubeObject[]) => boolean, options?: Options) => Promise<KubeObject[]>} Until */

/**
 * @param {{watch: (user: string, path: string, params: Record<string, string>, onEvent: (event: import('./client.mjs').WatchEvent) => void) => import('./client.mjs').Following}} cluster @param {string} user @param {string} path of a collection
 * @param {(objects: KubeObject[]) => boolean} wanted
 * @param {Options} [options]
 * @returns {Promise<KubeObject[]>} the matching objects
 */
export function until(cluster, user, path, wanted, { what = path, within = 30_000, params = {} } = {}) {
	return new Promise((resolve, reject) => {
		let listed = false;
		const look = () => {
			const objects = [...watch.known.values()];
			if (!listed || !wanted(objects)) return;
			end();
			resolve(objects);
		};
		const watch = cluster.watch(user, path, params, look);
		const timer = setTimeout(() => {
			const now = [...watch.known.values()].map(describe).join(', ');
			end();
			reject(new Error(`waited ${within / 1000} s for ${what}; found: ${now || 'nothing'}`));
		}, within);
		const end = () => {
			clearTimeout(timer);
			watch.close();
		};
		watch.synced.then(
			() => {
				listed = true;
				look();
			},
			(error) => {
				end();
				reject(error);
			},
		);
	});
}

/** @param {KubeObject} object */
function describe({ kind, metadata, status }) {
	const name = metadata.namespace ? `${metadata.namespace}/${metadata.name}` : metadata.name;
	return `${kind} ${name}${status?.phase ? ` ${status.phase}` : ''}${metadata.deletionTimestamp ? ' terminating' : ''}`;
}
