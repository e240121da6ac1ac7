/**
 * Every healthy application of the sandbox is torn down from the page to its end. If an operator went before the objects whose
 * finalizers it clears (S4), those objects, their definition and their namespace would stay for ever.
 */
import { Unwind } from './unwind.mjs';
import { anotherLink, expect, signIn, tearDown, test } from './fixtures.mjs';

/** Objects that the bystander uses are kept, so the bystander is torn down last. */
const units = ['consortium', 'shop', 's1', 's1-twin', 's2', 's3', 's4', 's4-forced', 's5', 's5-cut-off', 'load-balancer', 'manager'];
const last = 'bystander';

test('every application of the sandbox is torn down to its end', async ({ visit }) => {
	test.setTimeout(240_000);
	const unwind = await Unwind.before(['--sandbox']);
	try {
		const li = await visit();
		await signIn(li, unwind.link);
		const sandbox = li.getByRole('group').filter({ hasText: 'nothing real is touched' });
		await sandbox.getByText('Sandbox.').click();
		await sandbox.getByRole('button', { name: 'Time ×10' }).click();
		const finish = async (unit) => {
			const page = await visit();
			await signIn(page, await anotherLink(li));
			await tearDown(page, unit);
			await expect(page.getByText('Finished', { exact: true }), unit).toBeVisible({ timeout: 120_000 });
			await page.close();
		};
		for (const unit of [...units, last]) await finish(unit);
		const { snapshot } = await (await li.request.get(`${unwind.origin}/api/units`)).json();
		const left = snapshot.records.map((record) => record.unit?.id).filter((id) => units.includes(id));
		// A unit that shares an object with the bystander keeps that object. The incidents share none.
		expect(left.filter((unit) => /^s\d/.test(unit))).toEqual([]);
	} finally {
		await unwind.stop();
	}
});
