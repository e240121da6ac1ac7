/**
 * Rights of a session: a guest who may only look sees everything live and changes nothing, and a link is taken back on the page.
 */
import { anotherLink, expect, signIn, test } from './fixtures.mjs';
import { illegible } from './legible.mjs';

const reason = 'You can look, but not change anything. Ask for a link that may act.';

test('guest who may only look sees why nothing can be changed, and the server refuses it too', async ({ unwind, visit }) => {
	const li = await visit();
	await signIn(li, unwind.link);
	const guest = await visit({ viewport: { width: 390, height: 844 } });
	await signIn(guest, await anotherLink(li, { right: 'look', name: 'Ana' }));

	const note = guest.getByRole('group').filter({ hasText: 'Read only' });
	await note.getByText('Read only').press('Enter');
	await expect(note.getByText(reason)).toBeVisible();
	await note.getByText('Read only').press('Enter');
	await expect(note.getByText(reason)).toBeHidden();
	expect(await illegible(guest)).toEqual([]);

	await guest.getByRole('link', { name: 'consortium', exact: true }).click();
	const plan = guest.getByRole('button', { name: 'Plan teardown…' });
	await expect(plan).toHaveAttribute('aria-disabled', 'true');
	await expect(plan).toHaveAttribute('title', reason);
	const refused = await guest.request.post(`${unwind.origin}/api/plans`, { data: { unit: 'consortium' } });
	expect(refused.status()).toBe(403);
	expect((await refused.json()).error).toMatchObject({ code: 'notAllowed', needs: 'act' });

	await expect(li.getByText('Read only')).toHaveCount(0);
});

test('invitation gives the right to look unless its inviter chooses more, and can be taken back', async ({ unwind, visit }) => {
	const li = await visit({ permissions: ['clipboard-read', 'clipboard-write'] });
	await signIn(li, unwind.link);
	const here = `${unwind.origin}/u/consortium?view=list`;
	await li.goto(here);
	await expect(li.getByText('Live', { exact: true })).toBeVisible();
	await li.getByRole('button', { name: 'Invite another browser' }).click();
	const dialog = li.getByRole('dialog', { name: 'Invite another browser' });
	await expect(dialog.getByRole('radio', { name: /^Look only/ })).toBeChecked();
	await expect(dialog.getByText('You have none to take back.')).toBeVisible();
	await dialog.getByRole('textbox').fill('Wang');
	await dialog.getByRole('button', { name: 'Copy a link' }).click();
	const row = dialog.getByRole('listitem').filter({ hasText: 'Wang' });
	await expect(row).toContainText('Look only, invited by Li · not used yet');

	const wang = await visit();
	await wang.goto(await li.evaluate(() => navigator.clipboard.readText()));
	// The link opens the page that it was made on.
	await expect(wang).toHaveURL(here);
	await expect(wang.getByText('Live', { exact: true })).toBeVisible();
	await expect(wang.getByRole('group').filter({ hasText: 'Read only' })).toBeVisible();
	const started = performance.now();
	await row.getByRole('button', { name: 'Take back: Wang, Look only' }).click();
	await expect(dialog.getByText('You have none to take back.')).toBeVisible();
	// The stream ends at once; the page then asks once more before it says so.
	await expect(wang.getByText('sign in with the link that the server printed')).toBeVisible({ timeout: 5_000 });
	expect(performance.now() - started).toBeLessThan(5_000);
	await expect(li.getByText('Live', { exact: true })).toBeVisible();
});

test('session ends from the page, and its browser is signed out', async ({ unwind, visit }) => {
	const page = await visit();
	await signIn(page, unwind.link);
	await page.getByRole('button', { name: 'Sign out' }).click();
	await expect(page.getByText('This browser is not signed in.')).toBeVisible();
	const asked = await page.request.get(`${unwind.origin}/api/units`);
	expect(asked.status()).toBe(401);
});
