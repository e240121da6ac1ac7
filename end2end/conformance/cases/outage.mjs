/**
 * The cluster while a part of it is down: controllers, nodes, conversion webhooks, the store.
 */
import { nodes } from '../../cluster/servers.mjs';
import { waitForDeadline } from '../bare-node.mjs';
import { condition, deleteUntilBlocked } from '../conditions.mjs';
import { configMap, definition, disruptionBudget, held, job, ownedBy, pod, widget } from '../objects.mjs';
import { define } from '../suite.mjs';

/** @typedef {import('../test-context.mjs').TestContext} TestContext */

/** Runs an action while the controllers are stopped, and starts them again in any case. @param {TestContext} t @param {() => Promise<void>} action */
async function withoutControllers(t, action) {
	try {
		await t.faultInjector.stopControllers();
		await action();
	} finally {
		await t.faultInjector.startControllers();
	}
}

/** @param {any} node */
const ready = (node) => condition(node, 'Ready').status;
/** @param {any} node */
const taints = ({ spec }) => (spec.taints ?? []).map((/** @type {any} */ { key, effect }) => `${key}:${effect}`).sort();

export default [
	define(
		'controllers-away-namespace',
		'§3 N7 §8 R-S4f Without its controller a terminating namespace has no conditions, and its content stays',
		async (t) => {
			const other = await t.namespace(t.name('n'));
			await t.post(`/api/v1/namespaces/${other}/configmaps`, configMap('a'));
			await withoutControllers(t, async () => {
				await t.delete(`namespaces/${other}`);
				await t.get(`namespaces/${other}`, { fields: ['status', 'spec.finalizers'] });
				await t.get(`/api/v1/namespaces/${other}/configmaps/a`);
				await t.post(`/api/v1/namespaces/${other}/configmaps`, configMap('b'));
			});
			await t.gone(`namespaces/${other}`);
		},
		{ alone: true },
	),
	define(
		'controllers-away-eviction',
		'§3 A3 Without its controller a budget refuses an eviction that it would allow, with Retry-After',
		async (t) => {
			await t.create(pod('p', { labels: { app: 'web' }, ...held }), { unrecorded: true });
			await t.until('pods/p', 'runs', (one) => one?.status?.phase === 'Running', { unrecorded: true });
			await t.create(disruptionBudget('budget', 'web', { minAvailable: 1 }), { unrecorded: true });
			await t.until('poddisruptionbudgets/budget', 'has been counted', (one) => one.status?.currentHealthy === 1, {
				fields: ['status.disruptionsAllowed', 'status.observedGeneration'],
			});
			const evict = async () => {
				const { headers } = await t.post('pods/p/eviction', {
					apiVersion: 'policy/v1',
					kind: 'Eviction',
					metadata: { name: 'p' },
				});
				t.note('retry-after', headers['retry-after'] ?? 'none');
			};
			await withoutControllers(t, async () => {
				await t.patch('poddisruptionbudgets/budget', 'merge', { spec: { minAvailable: 0 } });
				await evict();
			});
			await t.until('poddisruptionbudgets/budget', 'allows a disruption', (one) => one.status.disruptionsAllowed === 1);
			await evict();
			await t.get('pods/p');
		},
		{ alone: true },
	),
	define(
		'controllers-away-collector',
		'§3 G3 §8 R-S4f Without the garbage collector dependents stay, and an owner deleted with Foreground waits for ever',
		async (t) => {
			const { body: parent } = await t.create(configMap('parent'));
			await t.create(configMap('child', ownedBy(parent, { blockOwnerDeletion: true })));
			const { body: other } = await t.create(configMap('other'));
			await t.create(configMap('left', ownedBy(other)));
			await withoutControllers(t, async () => {
				await t.delete('configmaps/parent', { propagationPolicy: 'Foreground' });
				await t.delete('configmaps/other', { propagationPolicy: 'Background' });
				await t.delete('configmaps/child');
				await t.get('configmaps/parent');
				await t.get('configmaps/left');
			});
			await t.gone('configmaps/parent', 'configmaps/left');
		},
		{ alone: true },
	),
	define(
		'controllers-away-job',
		'§3 P16 Without its controller a Pod of a Job keeps the finalizer job-tracking',
		async (t) => {
			await t.create(job('work', { pods: held }), { unrecorded: true });
			const runs = (/** @type {any[]} */ all) => all.some(({ status }) => status.phase === 'Running');
			const [{ metadata }] = await t.until('pods', 'one runs', runs, { unrecorded: true });
			await withoutControllers(t, async () => {
				await t.delete(`pods/${metadata.name}`, { gracePeriodSeconds: 0 });
				await t.get(`pods/${metadata.name}`);
				await t.delete('jobs/work', { propagationPolicy: 'Orphan' });
				await t.get(`pods/${metadata.name}`);
			});
			await t.gone(`pods/${metadata.name}`);
		},
		{ alone: true },
	),
	define(
		'silent-node-returns',
		'§8 R-S5 §3 P4 A Pod that terminates while its node is silent goes once the node is back',
		async (t) => {
			const [name] = nodes;
			const there = { nodeName: name, tolerations: [{ operator: 'Exists' }], terminationGracePeriodSeconds: 1 };
			await t.create(pod('p', {}, there), { unrecorded: true });
			await t.until('pods/p', 'runs', (one) => one?.status?.phase === 'Running', { unrecorded: true });
			try {
				await t.faultInjector.stopKubelets(name);
				await t.until(`nodes/${name}`, 'is Unknown', (node) => ready(node) === 'Unknown', { show: ready });
				await t.delete('pods/p');
				await waitForDeadline(t);
				await t.get('pods/p', { fields: ['status.phase'] });
			} finally {
				await t.faultInjector.startKubelets();
			}
			await t.gone('pods/p');
			const isWell = (/** @type {any} */ node) => ready(node) === 'True' && taints(node).length === 0;
			await t.until(`nodes/${name}`, 'is ready again', isWell, { show: (node) => [ready(node), taints(node)] });
		},
		{ alone: true },
	),
	define(
		'store-away',
		'§3 A6 Without etcd caches answer, and a DELETE times out with an unknown result',
		async (t) => {
			await t.create(configMap('a'));
			// Watches and reads are served from the cache.
			const watch = await t.watch('configmaps');
			await watch.until('a', (events) => events.some(({ object }) => object.metadata.name === 'a'));
			watch.end();
			const cached = () => t.get('configmaps', { query: { resourceVersion: '0' } });
			try {
				await t.faultInjector.stopStore('configmaps', t.ns, 'a');
				await cached();
				await t.delete('configmaps/a');
				await cached();
			} finally {
				await t.faultInjector.startStore();
			}
			await t.create(configMap('b'));
		},
		{
			alone: true,
			differs: [
				{
					real: '504 Failure 504 Timeout "Timeout: request did not complete within requested timeout - context deadline exceeded"',
					sandbox: '504 Failure 504 Timeout "Timeout: request did not complete within the allotted timeout"',
					why: 'the sandbox has no separate store and injects the timeout, with the message of the 60 s limit, the only one it has',
				},
			],
		},
	),
	define(
		'all-nodes-silent',
		'§8 R-S5 §3 P4 If every node is silent no Pod is evicted, because the network of the control plane may have failed',
		async (t) => {
			const [first, ...others] = nodes;
			const drives = (/** @type {any} */ node) => taints(node).includes('node.kubernetes.io/unreachable:NoExecute');
			const silent = (/** @type {any} */ node) =>
				ready(node) === 'Unknown' && taints(node).includes('node.kubernetes.io/unreachable:NoSchedule');
			const all = (/** @type {any[]} */ found) => found.map((node) => [node.metadata.name, ready(node), taints(node)]);
			try {
				await t.faultInjector.stopKubelets(first);
				await t.until(`nodes/${first}`, 'evicts its Pods', (node) => silent(node) && drives(node), { show: taints });
				await t.faultInjector.stopKubelets(...others);
				// The controller may still taint the last node in the pass that finds all nodes silent. The rule is that it removes the taints
				// of the earlier nodes.
				await t.until(
					'nodes',
					'are all silent, and the first evicts no Pods',
					(/** @type {any[]} */ found) =>
						found.every(silent) && !found.some((node) => node.metadata.name === first && drives(node)),
					{ show: (/** @type {any[]} */ found) => found.map((node) => [node.metadata.name, ready(node)]) },
				);
			} finally {
				await t.faultInjector.startKubelets();
			}
			await t.until(
				'nodes',
				'are ready again',
				(/** @type {any[]} */ found) => found.every((node) => ready(node) === 'True' && taints(node).length === 0),
				{ show: all },
			);
		},
		{ alone: true },
	),
	define(
		'corrupt-object',
		'§3 A5 An object that cannot be decoded makes its kind impossible to list and holds its namespace',
		async (t) => {
			const [group, ns] = [`${t.ns}.example.com`, await t.namespace(t.name('n'))];
			await t.create(definition(t.ns), { unrecorded: true });
			const path = `/apis/${group}/v1/namespaces/${ns}/widgets`;
			await t.eventually('it is served', 'GET', path, ({ status }) => status === 200);
			await t.post(path, widget(t.ns, 'good'));
			await t.post(path, widget(t.ns, 'bad'));
			try {
				await t.faultInjector.corrupt(`${path}/bad`);
				await t.eventually('it is not read', 'GET', `${path}/bad`, ({ status }) => status !== 200);
				await t.get(`${path}/bad`);
				await t.get(`${path}/good`);
				await t.get(path);
				await t.get(path, { query: { watch: 1, timeoutSeconds: 1 } });
				await t.get(`/apis/${group}/v1/namespaces/${t.ns}/widgets`, { query: { watch: 1, timeoutSeconds: 1 } });
				await t.get(`/apis/${group}/v1/widgets`);
				await t.get(`/apis/${group}/v1/namespaces/${t.ns}/widgets`);
				await t.delete(path);
				await t.delete(`${path}/bad`);
				await t.patch(`${path}/bad`, 'merge', { metadata: { finalizers: null } });
				await t.delete(`${path}/bad`, { ignoreStoreReadErrorWithClusterBreakingPotential: true });
				await deleteUntilBlocked(t, { ns });
			} finally {
				await t.faultInjector.erase(`${path}/bad`);
			}
			await t.gone(`namespaces/${ns}`);
			await t.delete(`customresourcedefinitions/widgets.${group}`);
			await t.gone(`customresourcedefinitions/widgets.${group}`);
		},
		{ alone: true },
	),
];
