/**
 * The kinds of a server and the paths of their objects, from discovery.
 */

/** @typedef {{apiVersion: string, kind: string, plural: string, namespaced: boolean, verbs: string[]}} Kind */
/** @typedef {(method: string, path: string, body?: unknown, headers?: Record<string, string>) => Promise<{status: number, body: any}>} Request */

const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';

export class Kinds {
	/** @type {Kind[]} each in the version its group prefers */
	all;

	/** @param {Kind[]} all */
	constructor(all) {
		this.all = all;
	}

	/** @param {Request} request */
	static async discover(request) {
		/** @type {Map<string, Kind>} by group and plural: the first version of a group that has it is the preferred one */
		const found = new Map();
		for (const root of ['/api', '/apis']) {
			const { status, body } = await request('GET', root, undefined, { accept });
			if (status !== 200) throw new Error(`discovery of ${root}: ${status}`);
			for (const group of body.items) {
				for (const { version, resources } of group.versions) {
					for (const { resource, responseKind, scope, verbs } of resources ?? []) {
						const key = `${group.metadata.name ?? ''}/${resource}`;
						if (found.has(key)) continue;
						const apiVersion = group.metadata.name ? `${group.metadata.name}/${version}` : version;
						found.set(key, {
							apiVersion,
							kind: responseKind.kind,
							plural: resource,
							namespaced: scope === 'Namespaced',
							verbs,
						});
					}
				}
			}
		}
		return new Kinds([...found.values()]);
	}

	/** @param {Record<string, any>} object */
	has({ apiVersion, kind }) {
		return this.all.some((each) => each.apiVersion === apiVersion && each.kind === kind);
	}

	/** @param {Record<string, any>} object @returns {Kind} */
	of({ apiVersion, kind }) {
		const found = this.all.find((each) => each.apiVersion === apiVersion && each.kind === kind);
		if (!found) throw new Error(`the server has no kind ${kind} in ${apiVersion}`);
		return found;
	}

	/** The path of an object. @param {Record<string, any>} object */
	pathOf(object) {
		return `${collection(this.of(object), object.metadata.namespace)}/${object.metadata.name}`;
	}
}

/** The path of the collection of a kind, in one namespace or in all. @param {Kind} kind @param {string} [namespace] */
export function collection({ apiVersion, plural }, namespace) {
	const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
	return namespace ? `${root}/namespaces/${namespace}/${plural}` : `${root}/${plural}`;
}
