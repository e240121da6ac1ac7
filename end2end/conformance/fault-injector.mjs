/**
 * Faults that a case injects into its target beside the API: parts that stop, and stored objects that are corrupted.
 */
import { once } from 'node:events';
import { nodes } from '../cluster/servers.mjs';

/**
 * @typedef {object} FaultInjector
 * @property {() => Promise<void>} stopControllers every controller of the controller manager
 * @property {() => Promise<void>} startControllers
 * @property {() => Promise<void>} stopAttacher the controller that attaches volumes to nodes
 * @property {() => Promise<void>} startAttacher
 * @property {(...names: string[]) => Promise<void>} stopKubelets of these nodes
 * @property {() => Promise<void>} startKubelets of all nodes
 * @property {(path: string) => Promise<void>} corrupt overwrites a stored custom resource, by its path, with bytes that do not decode
 * @property {(path: string) => Promise<void>} erase removes a stored custom resource from the store, past the API
 * @property {(definition: string) => Promise<void>} answerConversions makes the conversion webhook of that definition answer, if it is `webhookAt('convert')`
 * @property {(plural: string, namespace: string, name: string) => Promise<void>} delayNextDelete makes the next DELETE of the object exceed the time limit of the server, if it waits for `webhookAt('hang.example.com')`
 * @property {(plural: string, namespace: string, name: string) => Promise<void>} stopStore suspends the store of the API server; the only write until `startStore` is the DELETE of that object
 * @property {() => Promise<void>} startStore
 */

/** For a target that was already running: its conversion webhooks answer by themselves, and no fault can be injected. @returns {FaultInjector} */
export function noFaultInjector() {
	const cannot = async () => {
		throw new Error('no fault can be injected into a cluster that was already running');
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
 * Writes fault script lines to a sandbox, one at a time, and waits for the answer to each.
 * @param {import('node:stream').Writable} script the sandbox's stdin @param {import('node:readline').Interface} answers
 * @param {Promise<never>} ended rejects when the sandbox has exited @returns {FaultInjector}
 */
export function sandboxFaultInjector(script, answers, ended) {
	script.on('error', () => {}); // `ended` reports it
	/** @param {string} line */
	const send = async (line) => {
		const answered = once(answers, 'line');
		script.write(`${line}\n`);
		const { refused, why } = JSON.parse((await Promise.race([answered, ended]))[0]);
		if (refused) throw new Error(`${refused}: ${why}`);
	};
	/** Serialises the lines, because an answer does not say which line it belongs to. @type {Promise<unknown>} */
	let last = Promise.resolve();
	/** @param {string[]} lines */
	const sendAll = async (...lines) => {
		for (const line of lines) {
			const sent = last.then(() => send(line));
			last = sent.catch(() => {});
			await sent;
		}
	};
	/** @param {string} plural @param {string} namespace @param {string} name */
	const delayNextDelete = (plural, namespace, name) => sendAll(`on delete ${plural} ${namespace}/${name} 1x -> 504`);
	/** @param {string[]} faults */
	const inject = (...faults) => sendAll(...faults.map((fault) => `at 0s ${fault}`));
	return {
		stopControllers: () => inject('controller kube-controller-manager off'),
		startControllers: () => inject('controller kube-controller-manager on'),
		stopAttacher: () => inject('controller external-attacher off'),
		startAttacher: () => inject('controller external-attacher on'),
		stopKubelets: (...names) => inject(...names.map((node) => `node ${node} silent`)),
		startKubelets: () => inject(...nodes.map((node) => `node ${node} repaired`)),
		corrupt: (path) => inject(`corrupt ${resourceOf(path)}`),
		erase: (path) => inject(`erase ${resourceOf(path)}`),
		answerConversions: (definition) => inject(`webhook ${definition} allow`),
		delayNextDelete,
		stopStore: delayNextDelete,
		startStore: async () => {},
	};
}

/** @param {string} path of a namespaced custom resource */
function partsOf(path) {
	const [, group, namespace, plural, name] =
		path.match(/^\/apis\/([^/]+)\/[^/]+\/namespaces\/([^/]+)\/([^/]+)\/([^/]+)$/) ?? [];
	if (!name) throw new Error(`${path} is not the path of a namespaced custom resource`);
	return { group, namespace, plural, name };
}

/** The key of the object in etcd. @param {string} path */
const keyOf = (path) => {
	const { group, namespace, plural, name } = partsOf(path);
	return `/registry/${group}/${plural}/${namespace}/${name}`;
};

/** The name of the object in a fault script. @param {string} path */
const resourceOf = (path) => {
	const { group, namespace, plural, name } = partsOf(path);
	return `${plural}.${group} ${namespace}/${name}`;
};
