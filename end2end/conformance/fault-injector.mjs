/**
 * What a case can do to a world beside asking its API: switch off what a cluster consists of, and spoil what it keeps.
 */
import { once } from 'node:events';
import { nodes } from '../cluster/servers.mjs';

/**
 * @typedef {object} FaultInjector
 * @property {() => Promise<void>} stopControllers all that are part of the controller manager
 * @property {() => Promise<void>} startControllers
 * @property {() => Promise<void>} stopAttacher who attaches volumes to nodes
 * @property {() => Promise<void>} startAttacher
 * @property {(...names: string[]) => Promise<void>} stopKubelets machines
 * @property {() => Promise<void>} startKubelets every machine there is
 * @property {(path: string) => Promise<void>} corrupt a custom resource, by its path: what is kept of it is no object
 * @property {(path: string) => Promise<void>} erase it, from where it is kept
 * @property {(definition: string) => Promise<void>} answerConversions lets who converts the resources of that definition answer, if it is `webhookAt('convert')`
 * @property {(plural: string, namespace: string, name: string) => Promise<void>} delayNextDelete lets the next DELETE of it take longer than a server waits, if what it waits for is `webhookAt('hang.example.com')`
 * @property {(plural: string, namespace: string, name: string) => Promise<void>} stopStore what the API server keeps everything in is away; the one write that is tried meanwhile is the DELETE of that object
 * @property {() => Promise<void>} startStore
 */

/** In a world that somebody else started: who converts answers there as it does, the rest is not ours to switch off. @returns {FaultInjector} */
export function noFaultInjector() {
	const cannot = async () => {
		throw new Error('nothing can be switched off in a world that was there before');
	};
	return {
		stopControllers: cannot,
		startControllers: cannot,
		stopAttacher: cannot,
		startAttacher: cannot,
		stopKubelets: cannot,
		startKubelets: cannot,
		corrupt: cannot,
		erase: cannot,
		answerConversions: async () => {},
		delayNextDelete: async () => {},
		stopStore: cannot,
		startStore: cannot,
	};
}

/** @param {import('../cluster/cluster.mjs').Cluster} cluster @returns {FaultInjector} */
export const clusterFaultInjector = (cluster) => ({
	stopControllers: () => cluster.suspendControllers(),
	startControllers: () => cluster.resumeControllers(),
	stopAttacher: async () => cluster.attacher.stop(),
	startAttacher: async () => void cluster.startAttacher(),
	stopKubelets: async (...names) => void (await Promise.all(names.map((node) => cluster.stopKubelet(node)))),
	startKubelets: async () => void (await Promise.all(nodes.map((node) => cluster.startKubelet(node)))),
	corrupt: (path) => cluster.overwrite(keyOf(path), 'garbage'),
	erase: (path) => cluster.erase(keyOf(path)),
	answerConversions: async () => {},
	delayNextDelete: async () => {},
	stopStore: () => cluster.suspendStore(),
	startStore: () => cluster.resumeStore(),
});

/**
 * Tells a sandbox what happens, a line at a time, and waits until it has.
 * @param {import('node:stream').Writable} script what it reads @param {import('node:readline').Interface} answers
 * @param {Promise<never>} ended rejects when it has @returns {FaultInjector}
 */
export function sandboxFaultInjector(script, answers, ended) {
	script.on('error', () => {}); // told by its end
	/** @param {string} line */
	const tell = async (line) => {
		const answered = once(answers, 'line');
		script.write(`${line}\n`);
		const { refused, why } = JSON.parse((await Promise.race([answered, ended]))[0]);
		if (refused) throw new Error(`${refused}: ${why}`);
	};
	/** One after the other, whoever says it: answers do not tell what they answer. @type {Promise<unknown>} */
	let last = Promise.resolve();
	/** @param {string[]} lines */
	const tellAll = async (...lines) => {
		for (const line of lines) {
			const told = last.then(() => tell(line));
			last = told.catch(() => {});
			await told;
		}
	};
	/** @param {string} plural @param {string} namespace @param {string} name */
	const delayNextDelete = (plural, namespace, name) => tellAll(`on delete ${plural} ${namespace}/${name} 1x -> 504`);
	/** @param {string[]} happenings */
	const say = (...happenings) => tellAll(...happenings.map((happening) => `at 0s ${happening}`));
	return {
		stopControllers: () => say('controller kube-controller-manager off'),
		startControllers: () => say('controller kube-controller-manager on'),
		stopAttacher: () => say('controller external-attacher off'),
		startAttacher: () => say('controller external-attacher on'),
		stopKubelets: (...names) => say(...names.map((node) => `node ${node} silent`)),
		startKubelets: () => say(...nodes.map((node) => `node ${node} repaired`)),
		corrupt: (path) => say(`corrupt ${resourceOf(path)}`),
		erase: (path) => say(`erase ${resourceOf(path)}`),
		answerConversions: (definition) => say(`webhook ${definition} allow`),
		delayNextDelete,
		stopStore: delayNextDelete,
		startStore: async () => {},
	};
}

/** @param {string} path of a custom resource in a namespace */
function partsOf(path) {
	const [, group, namespace, plural, name] =
		path.match(/^\/apis\/([^/]+)\/[^/]+\/namespaces\/([^/]+)\/([^/]+)\/([^/]+)$/) ?? [];
	if (!name) throw new Error(`${path} is no path of a custom resource in a namespace`);
	return { group, namespace, plural, name };
}

/** Where the API server keeps it. @param {string} path */
const keyOf = (path) => {
	const { group, namespace, plural, name } = partsOf(path);
	return `/registry/${group}/${plural}/${namespace}/${name}`;
};

/** As a script of faults names it. @param {string} path */
const resourceOf = (path) => {
	const { group, namespace, plural, name } = partsOf(path);
	return `${plural}.${group} ${namespace}/${name}`;
};
