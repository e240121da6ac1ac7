/**
 * Eviction, and disruption budgets that refuse it.
 */
import { completing, disruptionBudget, held, pod, replicaSet, unplacedPod } from '../objects.mjs';
import { define } from '../suite.mjs';

/** @typedef {import('../test-context.mjs').TestContext} TestContext */

/** @param {string} name @param {Record<string, any>} [deleteOptions] */
const eviction = (name, deleteOptions) => ({
	apiVersion: 'policy/v1',
	kind: 'Eviction',
	metadata: { name },
	...(deleteOptions ? { deleteOptions } : {}),
});
/** @param {any} one */
const running = (one) => one?.status?.phase === 'Running';
const fields = [
	'status.disruptionsAllowed',
	'status.currentHealthy',
	'status.desiredHealthy',
	'status.expectedPods',
	'status.conditions',
];

/** Pods of a ReplicaSet that stay terminating, and a budget for them. @param {TestContext} t @param {number} replicas @param {Record<string, any>} spec */
async function guarded(t, replicas, spec) {
	await t.create(replicaSet('web', { replicas, pods: { labels: { app: 'web' }, ...held } }), { unrecorded: true });
	const pods = await t.until('pods', 'all run', (all) => all.length === replicas && all.every(running), {
		unrecorded: true,
	});
	await t.create(disruptionBudget('budget', 'web', spec), { unrecorded: true });
	await t.until(
		'poddisruptionbudgets/budget',
		'has been counted',
		(one) => one.status?.observedGeneration && one.status.currentHealthy === replicas,
		{ fields },
	);
	return pods.map((/** @type {any} */ { metadata }) => metadata.name);
}

export default [
	define('evict-without-budget', 'Eviction without a budget is a DELETE', async (t) => {
		await t.create(pod('p', held));
		await t.until('pods/p', 'runs', running);
		await t.post('pods/p/eviction', eviction('p'));
		await t.get('pods/p', { fields: ['status.conditions'] });
	}),
	define('evict-allowed', 'A budget with room lets one go, and then no other', async (t) => {
		// Pods without an owner, so that none is replaced.
		for (const name of ['a', 'b']) await t.create(pod(name, { labels: { app: 'web' }, ...held }), { unrecorded: true });
		await t.until('pods', 'both run', (all) => all.length === 2 && all.every(running), { unrecorded: true });
		await t.create(disruptionBudget('budget', 'web', { minAvailable: 1 }), { unrecorded: true });
		await t.until('poddisruptionbudgets/budget', 'has room', (one) => one.status?.disruptionsAllowed === 1, { fields });
		await t.post('pods/a/eviction', eviction('a'));
		await t.get('pods/a');
		await t.post('pods/b/eviction', eviction('b'));
		await t.get('pods/b');
		await t.until('poddisruptionbudgets/budget', 'has no room', (one) => one.status.currentHealthy === 1, { fields });
	}),
	define('evict-refused', '§3 A3 A budget without room refuses: 429', async (t) => {
		const [one] = await guarded(t, 1, { minAvailable: 1 });
		const { headers } = await t.post(`pods/${one}/eviction`, eviction(one));
		t.note('retry-after', headers['retry-after'] ?? 'none');
		await t.get(`pods/${one}`);
	}),
	define('evict-refused-max-unavailable', 'maxUnavailable 0 refuses as well', async (t) => {
		const [one] = await guarded(t, 1, { maxUnavailable: 0 });
		await t.post(`pods/${one}/eviction`, eviction(one));
	}),
	define('evict-percent', 'A budget in percent', async (t) => {
		await guarded(t, 3, { minAvailable: '50%' });
	}),
	define('evict-dry-run', 'A dry run of an eviction answers and changes nothing', async (t) => {
		const [one] = await guarded(t, 2, { minAvailable: 1 });
		await t.post(`pods/${one}/eviction`, eviction(one, { dryRun: ['All'] }));
		await t.get(`pods/${one}`);
		await t.get('poddisruptionbudgets/budget', { fields });
	}),
	define('evict-two-budgets', '§3 A3 Two budgets for one Pod: eviction cannot be decided', async (t) => {
		const [one] = await guarded(t, 2, { minAvailable: 1 });
		await t.create(disruptionBudget('second', 'web', { minAvailable: 1 }), { unrecorded: true });
		await t.until('poddisruptionbudgets/second', 'has been counted', (budget) => budget.status?.currentHealthy === 2, {
			unrecorded: true,
		});
		await t.post(`pods/${one}/eviction`, eviction(one));
	}),
	define('evict-precondition', 'Eviction with the UID of another', async (t) => {
		await t.create(pod('p', held));
		await t.until('pods/p', 'runs', running);
		await t.post('pods/p/eviction', eviction('p', { preconditions: { uid: '6e7a1b0e-0000-4000-8000-000000000000' } }));
	}),
	define('evict-none', 'Eviction of what is not there, and under another name', async (t) => {
		await t.post('pods/none/eviction', eviction('none'));
		await t.create(unplacedPod('p'));
		await t.post('pods/p/eviction', eviction('other'));
	}),
	define('evict-pending', 'A Pod that does not run yet is evicted whatever the budget says', async (t) => {
		await t.create(unplacedPod('p', { labels: { app: 'web' } }));
		await t.create(disruptionBudget('budget', 'web', { minAvailable: 1 }));
		await t.until('poddisruptionbudgets/budget', 'has been counted', (one) => one.status?.observedGeneration, { fields });
		await t.post('pods/p/eviction', eviction('p'));
		await t.get('pods/p');
	}),
	define('evict-ended', '§3 A3 A Pod that has ended is evicted whatever the budget says', async (t) => {
		await t.create(pod('p', { labels: { app: 'web' }, ...completing }, { restartPolicy: 'Never' }), { unrecorded: true });
		await t.until('pods/p', 'has ended', (one) => one?.status?.phase === 'Succeeded');
		await t.create(disruptionBudget('budget', 'web', { minAvailable: 1 }));
		await t.until('poddisruptionbudgets/budget', 'has been counted', (one) => one.status?.observedGeneration, { fields });
		await t.post('pods/p/eviction', eviction('p'));
		await t.get('pods/p');
	}),
	define('evict-terminating', 'Eviction of a Pod that is already told to go', async (t) => {
		const [one] = await guarded(t, 1, { minAvailable: 1 });
		await t.delete(`pods/${one}`);
		await t.post(`pods/${one}/eviction`, eviction(one));
	}),
	define('evict-grace', 'Eviction with a grace of its own', async (t) => {
		await t.create(pod('p', held));
		await t.until('pods/p', 'runs', running);
		await t.post('pods/p/eviction', eviction('p', { gracePeriodSeconds: 4 }));
		await t.get('pods/p');
	}),
	define('budget-deleted', 'Deleting the budget lets go what it held', async (t) => {
		const [one] = await guarded(t, 1, { minAvailable: 1 });
		await t.post(`pods/${one}/eviction`, eviction(one));
		await t.delete('poddisruptionbudgets/budget');
		await t.post(`pods/${one}/eviction`, eviction(one));
	}),
	define('budget-does-not-hold-delete', 'A budget holds evictions, and not a DELETE', async (t) => {
		const [one] = await guarded(t, 1, { minAvailable: 1 });
		await t.delete(`pods/${one}`);
	}),
	define('budget-counts-again', 'The budget is counted again when a Pod goes', async (t) => {
		for (const name of ['p', 'q']) await t.create(pod(name, { labels: { app: 'web' } }), { unrecorded: true });
		await t.until('pods', 'both run', (all) => all.length === 2 && all.every(running), { unrecorded: true });
		await t.create(disruptionBudget('budget', 'web', { minAvailable: 1 }), { unrecorded: true });
		// A terminating Pod counts as expected and not as healthy.
		const healthy = (/** @type {number} */ count) => (/** @type {any} */ budget) =>
			budget.status?.currentHealthy === count && budget.status.expectedPods === count;
		await t.until('poddisruptionbudgets/budget', 'has counted both', healthy(2), { fields });
		await t.delete('pods/p', { gracePeriodSeconds: 0 });
		await t.until('poddisruptionbudgets/budget', 'has counted again', healthy(1), { fields });
	}),
	define('budget-of-ended', 'What a budget expects of Pods that nobody controls, one of which has ended', async (t) => {
		await t.create(pod('p', { labels: { app: 'web' } }), { unrecorded: true });
		await t.create(pod('q', { labels: { app: 'web' }, ...completing }, { restartPolicy: 'Never' }), { unrecorded: true });
		await t.until('pods/p', 'runs', running, { unrecorded: true });
		await t.until('pods/q', 'has ended', (one) => one.status?.phase === 'Succeeded', { unrecorded: true });
		const counted = (/** @type {any} */ one) => one.status?.observedGeneration;
		for (const [name, spec] of Object.entries({
			number: { minAvailable: 1 },
			percent: { minAvailable: '50%' },
			unavailable: { maxUnavailable: 1 },
		})) {
			await t.create(disruptionBudget(name, 'web', spec));
			await t.until(`poddisruptionbudgets/${name}`, 'has been counted', counted, { fields });
		}
	}),
	define('budget-invalid', 'A budget has minAvailable or maxUnavailable', async (t) => {
		await t.create(disruptionBudget('budget', 'web', { minAvailable: 1, maxUnavailable: 1 }));
		await t.create(disruptionBudget('budget', 'web', { minAvailable: -1 }));
		await t.create(disruptionBudget('budget', 'web', { minAvailable: '120%' }));
	}),
];
