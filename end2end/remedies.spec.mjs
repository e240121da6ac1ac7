/**
 * Remedies that a person has Unwind do, in the browser: a finalizer by hand in S4, and in S5 a node that is marked out of
 * service and put back. Without --allow-remedies nothing is offered, and a guest who may only act cannot do one.
 */
import { Unwind } from './unwind.mjs';
import { anotherLink, expect, signIn, test } from './fixtures.mjs';
import { ask, cardOf, choose, named, openTrouble, start } from './story.mjs';

/** Starts an incident in the sandbox at ten times the speed, and opens the card whose cause has these words. */
async function startIncident(page, incident, cause) {
	await start(await openTrouble(page), new RegExp(`^${incident}:`));
	return cardOf(page, cause);
}

test('finalizer is removed by hand once its object is named and somebody answers for it', async ({ visit }) => {
	const unwind = await Unwind.before(['--sandbox', 's4', '--allow-remedies']);
	try {
		const page = await visit();
		await signIn(page, unwind.link);
		const card = await startIncident(page, 'S4', /^The finalizer queue\.example\/topic is left/);
		const title = /^Remove the finalizer queue\.example\/topic/;
		const dialog = await choose(card, title);
		const button = dialog.getByRole('button', { name: 'Do it' });
		await expect(button).toHaveAttribute('aria-disabled', 'true');
		const topic = await named(dialog);
		await dialog.getByLabel(/^Type /).fill(topic);
		await expect(button).toHaveAttribute('aria-disabled', 'true');
		await dialog.getByLabel(/^Who checked what/).fill('Li checked that the queue is empty');
		await expect(button).not.toHaveAttribute('aria-disabled', 'true');
		await button.click();
		await expect(card.getByText('The API server accepted it').first()).toBeVisible();
		await expect(card.getByText('Li checked that the queue is empty').first()).toBeVisible();

		// The record of it, and the request with its guards.
		const [attempt] = await (await page.request.get(`${unwind.origin}/api/remedies`)).json();
		expect(attempt).toMatchObject({ by: 'Li', statement: 'Li checked that the queue is empty' });
		expect(attempt.request.body[0]).toMatchObject({ op: 'test', path: '/metadata/uid' });
		expect(attempt.request.object.name).toBe(topic);
		await expect(card.locator('.diagnosis-chain').getByText(topic, { exact: true })).toHaveCount(0);

		// A guest who may act has the same card, and cannot.
		const guest = await visit();
		await signIn(guest, await anotherLink(page, { right: 'act', name: 'Ana' }));
		await guest.goto(`${unwind.origin}/trouble`);
		const theirs = guest.getByRole('button', { name: ask }).first();
		await expect(guest.getByText('The API server accepted it').first()).toBeVisible();
		await guest.locator('details.way').filter({ hasText: title }).first().locator('summary').click();
		await expect(theirs).toHaveAttribute('title', 'Your link does not allow remedies. Ask for one that may force.');
		const refused = await guest.request.post(`${unwind.origin}/api/remedies`, { data: { diagnosis: '', remedy: '', confirm: '' } });
		expect(refused.status()).toBe(403);
	} finally {
		await unwind.stop();
	}
});

test('node marked out of service stays on every page until it is put back', async ({ visit }) => {
	const unwind = await Unwind.before(['--sandbox', 's5', '--allow-remedies']);
	try {
		const page = await visit();
		await signIn(page, unwind.link);
		const card = await startIncident(page, 'S5', /^Node \S+ stopped reporting/);
		const title = /out of service/;
		const dialog = await choose(card, title);
		const node = await named(dialog);
		await dialog.getByLabel(/^Type /).fill(node);
		await dialog.getByLabel(/^Who checked what/).fill('The machine is off, Li saw it in the rack');
		await dialog.getByRole('button', { name: 'Do it' }).click();

		await page.getByRole('link', { name: 'Units', exact: true }).first().click();
		const banner = page.locator('.banner').filter({ hasText: '1 thing is switched off' });
		await expect(banner).toBeVisible({ timeout: 30_000 });
		await page.reload();
		await expect(banner.getByText(`Node ${node} is marked out of service`)).toBeVisible();
		await expect(banner.locator('time')).toHaveText(/ago|just now/);
		// Somebody who may only look sees who may put it back, and finds no form.
		const guest = await visit();
		await signIn(guest, await anotherLink(page, { right: 'look' }));
		await guest.locator('.banner').filter({ hasText: '1 thing is switched off' }).getByRole('link', { name: 'Put back…' }).click();
		await expect(guest.getByText('Ask for one that may force')).toBeVisible();
		await expect(guest.locator('form')).toHaveCount(0);
		// Without a script the same form does it.
		const plain = await visit({ javaScriptEnabled: false });
		await plain.context().addCookies(await page.context().cookies());
		await plain.goto(unwind.origin);
		await plain.getByRole('link', { name: 'Put back…' }).click();
		await plain.setViewportSize({ width: 390, height: 800 });
		expect(await plain.evaluate(() => document.documentElement.scrollWidth), 'the command scrolls, not the page').toBe(390);
		await plain.getByLabel(/^Type /).fill(node);
		await plain.getByRole('button', { name: `Put back: Node ${node} is marked out of service` }).click();
		await expect(plain).toHaveURL(/\/switched-off$/);
		await expect(banner).toBeHidden({ timeout: 20_000 });
		await plain.reload();
		await expect(plain.getByText('Nothing is switched off.')).toBeVisible();
	} finally {
		await unwind.stop();
	}
});

test('server without the flag offers commands and no button', async ({ visit }) => {
	const unwind = await Unwind.before(['--sandbox', 's4']);
	try {
		const page = await visit();
		await signIn(page, unwind.link);
		const card = await startIncident(page, 'S4', /^The finalizer queue\.example\/topic is left/);
		await expect(card.locator('details.way').first()).toBeVisible();
		await expect(page.getByRole('button', { name: ask })).toHaveCount(0);
	} finally {
		await unwind.stop();
	}
});
