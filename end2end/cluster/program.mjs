/**
 * Programs that run as Pods: an operator, a webhook, an aggregated API. A program runs as a Pod exactly while that Pod is ready,
 * with a token that is bound to the Pod, so that it is dead without its Pod, its ServiceAccount or its rights, as in a container.
 */
import { Client } from './client.mjs';

/** @typedef {import('./client.mjs').KubeObject} KubeObject */
/** @typedef {import('./network.mjs').Listener} Listener */

/**
 * @typedef {object} Container  the surroundings of a program in one Pod
 * @property {Client} client acts as the Pod's ServiceAccount
 * @property {(port: number, listener: Listener) => void} listen takes connections of the API server to the Pod
 *
 * @typedef {(container: Container) => () => void} Program  starts, and returns the function that ends it
 */

/** @param {KubeObject} pod */
const isReady = ({ status }) =>
	!!status?.podIP &&
	(status.conditions ?? []).some((/** @type {any} */ { type, status }) => type === 'Ready' && status === 'True');

/**
 * Runs a program as each ready Pod that a selector matches, until the returned function is called.
 * @param {import('./cluster.mjs').Cluster} cluster started for programs
 * @param {string} namespace @param {string} labelSelector @param {Program} program
 * @returns {() => void}
 */
export function runAsPods(cluster, namespace, labelSelector, program) {
	/** The ends of the programs, by the UID of their Pod. @type {Map<string, () => void>} */
	const running = new Map();

	/** @param {KubeObject} pod */
	const end = ({ metadata: { uid } }) => {
		running.get(uid)?.();
		running.delete(uid);
	};

	/** @param {KubeObject} pod */
	async function begin({ metadata: { name, uid }, spec, status }) {
		let isOver = false;
		running.set(uid, () => (isOver = true));
		const bound = { apiVersion: 'v1', kind: 'Pod', name, uid };
		const account = `/api/v1/namespaces/${namespace}/serviceaccounts/${spec.serviceAccountName}/token`;
		// A kubelet asks for the tokens of its Pods.
		const { body } = await cluster.request('system:kwok', 'POST', account, { spec: { boundObjectRef: bound } });
		// Without a token, as after the end of the Pod, nothing runs.
		if (isOver || !body.status?.token) return;
		const client = new Client({ server: cluster.server, ca: cluster.ca, token: body.status.token });
		/** @type {(() => void)[]} */
		const ends = [];
		const { network } = cluster;
		if (!network) throw new Error('the cluster was not started for programs');
		ends.push(
			program({
				client,
				listen: (port, listener) => void ends.push(network.listen(`${status.podIP}:${port}`, listener)),
			}),
			() => client.close(),
		);
		running.set(uid, () => ends.forEach((end) => end()));
	}

	const pods = cluster.watch(
		'system:kwok',
		`/api/v1/namespaces/${namespace}/pods`,
		{ labelSelector },
		({ type, object }) => {
			if (type === 'DELETED' || !isReady(object)) end(object);
			else if (!running.has(object.metadata.uid)) void begin(object);
		},
	);
	return () => {
		pods.close();
		for (const end of running.values()) end();
		running.clear();
	};
}
