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
	define('evict-without-budget', 'An eviction without a budget is a DELETE', async (t) => {
		await t.create(pod('p', held));
		await t.until('pods/p', 'runs', running);
		await t.post('pods/p/eviction', eviction('p'));
		await t.get('pods/p', { fields: ['status.conditions'] });
	}),
	define('evict-allowed', 'A budget allows as many evictions as it has disruptions, then refuses', async (t) => {
		// Pods without an owner, so that none is replaced.
		for (const name of ['a', 'b']) await t.create(pod(name, { labels: { app: 'web' }, ...held }), { unrecorded: true });
		await t.until('pods', 'both run', (all) => all.length === 2 && all.every(running), { unrecorded: true });
		await t.create(disruptionBudget('budget', 'web', { minAvailable: 1 }), { unrecorded: true });
		await t.until('poddisruptionbudgets/budget', 'allows a disruption', (one) => one.status?.disruptionsAllowed === 1, { fields });
		await t.post('pods/a/eviction', eviction('a'));
		await t.get('pods/a');
		await t.post('pods/b/eviction', eviction('b'));
		await t.get('pods/b');
		await t.until('poddisruptionbudgets/budget', 'allows no disruption', (one) => one.status.currentHealthy === 1, { fields });
	}),
	define('evict-refused', '§3 A3 A budget without allowed disruptions refuses an eviction with 429', async (t) => {
		const [one] = await guarded(t, 1, { minAvailable: 1 });
		const { headers } = await t.post(`pods/${one}/eviction`, eviction(one));
		t.note('retry-after', headers['retry-after'] ?? 'none');
		await t.get(`pods/${one}`);
	}),
	define('evict-refused-max-unavailable', 'A budget with maxUnavailable 0 refuses an eviction', async (t) => {
		const [one] = await guarded(t, 1, { maxUnavailable: 0 });
		await t.post(`pods/${one}/eviction`, eviction(one));
	}),
	define('evict-percent', 'A budget in percent allows the rounded number of evictions', async (t) => {
		await guarded(t, 3, { minAvailable: '50%' });
	}),
	define('evict-dry-run', 'A dry run of an eviction returns the answer and changes nothing', async (t) => {
		const [one] = await guarded(t, 2, { minAvailable: 1 });
		await t.post(`pods/${one}/eviction`, eviction(one, { dryRun: ['All'] }));
		await t.get(`pods/${one}`);
		await t.get('poddisruptionbudgets/budget', { fields });
	}),
	define('evict-two-budgets', '§3 A3 An eviction fails with 500 if two budgets match the Pod', async (t) => {
		const [one] = await guarded(t, 2, { minAvailable: 1 });
		await t.create(disruptionBudget('second', 'web', { minAvailable: 1 }), { unrecorded: true });
		await t.until('poddisruptionbudgets/second', 'has been counted', (budget) => budget.status?.currentHealthy === 2, {
			unrecorded: true,
		});
		await t.post(`pods/${one}/eviction`, eviction(one));
	}),
	define('evict-precondition', 'An eviction with another UID is a conflict', async (t) => {
		await t.create(pod('p', held));
		await t.until('pods/p', 'runs', running);
		await t.post('pods/p/eviction', eviction('p', { preconditions: { uid: '6e7a1b0e-0000-4000-8000-000000000000' } }));
	}),
	define('evict-none', 'An eviction of a missing Pod, or with another name in its body, is refused', async (t) => {
		await t.post('pods/none/eviction', eviction('none'));
		await t.create(unplacedPod('p'));
		await t.post('pods/p/eviction', eviction('other'));
	}),
	define('evict-pending', 'A Pending Pod is evicted whatever its budget allows', async (t) => {
		await t.create(unplacedPod('p', { labels: { app: 'web' } }));
		await t.create(disruptionBudget('budget', 'web', { minAvailable: 1 }));
		await t.until('poddisruptionbudgets/budget', 'has been counted', (one) => one.status?.observedGeneration, { fields });
		await t.post('pods/p/eviction', eviction('p'));
		await t.get('pods/p');
	}),
	define('evict-ended', '§3 A3 A Pod that has ended is evicted whatever its budget allows', async (t) => {
		await t.create(pod('p', { labels: { app: 'web' }, ...completing }, { restartPolicy: 'Never' }), { unrecorded: true });
		await t.until('pods/p', 'has ended', (one) => one?.status?.phase === 'Succeeded');
		await t.create(disruptionBudget('budget', 'web', { minAvailable: 1 }));
		await t.until('poddisruptionbudgets/budget', 'has been counted', (one) => one.status?.observedGeneration, { fields });
		await t.post('pods/p/eviction', eviction('p'));
		await t.get('pods/p');
	}),
	define('evict-terminating', 'An eviction of a terminating Pod ignores the budget', async (t) => {
		const [one] = await guarded(t, 1, { minAvailable: 1 });
		await t.delete(`pods/${one}`);
		await t.post(`pods/${one}/eviction`, eviction(one));
	}),
	define('evict-grace', 'An eviction can set a grace period', async (t) => {
		await t.create(pod('p', held));
		await t.until('pods/p', 'runs', running);
		await t.post('pods/p/eviction', eviction('p', { gracePeriodSeconds: 4 }));
		await t.get('pods/p');
	}),
	define('budget-deleted', 'Deleting a budget allows the evictions that it refused', async (t) => {
		const [one] = await guarded(t, 1, { minAvailable: 1 });
		await t.post(`pods/${one}/eviction`, eviction(one));
		await t.delete('poddisruptionbudgets/budget');
		await t.post(`pods/${one}/eviction`, eviction(one));
	}),
	define('budget-does-not-hold-delete', 'A budget refuses evictions, never a DELETE', async (t) => {
		const [one] = await guarded(t, 1, { minAvailable: 1 });
		await t.delete(`pods/${one}`);
	}),
	define('budget-counts-again', 'The status of a budget is updated when a Pod goes', async (t) => {
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
	define('budget-of-ended', 'A budget with a number counts Pods without a controller, one in percent or with maxUnavailable does not', async (t) => {
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
	define('budget-invalid', 'A budget has either minAvailable or maxUnavailable', async (t) => {
		await t.create(disruptionBudget('budget', 'web', { minAvailable: 1, maxUnavailable: 1 }));
		await t.create(disruptionBudget('budget', 'web', { minAvailable: -1 }));
		await t.create(disruptionBudget('budget', 'web', { minAvailable: '120%' }));
	}),
];
