/**
 * The whole journey with a keyboard alone: from the units to the end of a run. The focus is always visible, and returns when a
 * dialog closes.
 */
import { expect, hold, signIn, test } from './fixtures.mjs';

test.use({ rights: 'admin' });

/** More tab stops than any page has. */
const stops = 150;

/**
 * The focused element, and what is wrong with its focus ring: it has to be visible and within the window.
 * @param {import('@playwright/test').Page} page
 */
const focused = (page) =>
	page.evaluate(() => {
		const at = document.activeElement;
		if (!at || at === document.body) return { at: 'nothing', wrong: [] };
		const name = `${at.localName} ${at.getAttribute('aria-label') ?? at.textContent?.trim().slice(0, 40)}`;
		// The ring of a card on the map is its outline.
		const card = at instanceof SVGGElement && at.querySelector('.node-card');
		const { outlineStyle, outlineWidth, outlineColor, stroke, strokeWidth } = getComputedStyle(card || at);
		const [line, width, colour] = card ? [stroke, strokeWidth, stroke] : [outlineStyle, outlineWidth, outlineColor];
		const wrong = [];
		if (line === 'none' || Number.parseFloat(width) < 2 || /, 0\)$|transparent/.test(colour))
			wrong.push(`no ring: ${line} ${width} ${colour}`);
		const { left, top, right, bottom } = at.getBoundingClientRect();
		const [x, y] = [
			(Math.max(left, 0) + Math.min(right, innerWidth)) / 2,
			(Math.max(top, 0) + Math.min(bottom, innerHeight)) / 2,
		];
		const seen = document.elementFromPoint(x, y);
		if (!(seen && (at.contains(seen) || seen.contains(at))))
			wrong.push(`behind ${seen?.outerHTML.slice(0, 80) ?? 'the edge'}`);
		return { at: name, wrong };
	});

/** @param {import('@playwright/test').Page} page */
async function expectSeen(page) {
	const { at, wrong } = await focused(page);
	expect(wrong, `the focus on ${at}`).toEqual([]);
}

/**
 * Presses Tab until the element has the focus, and checks the focus ring at each stop.
 * @param {import('@playwright/test').Page} page @param {import('@playwright/test').Locator} to
 */
async function tabTo(page, to) {
	await expect(to).toBeVisible();
	await expect(to).toBeEnabled();
	for (let stop = 0; stop < stops; stop += 1) {
		await page.keyboard.press('Tab');
		await expectSeen(page);
		if (await to.evaluate((element) => element === document.activeElement)) return;
	}
	throw new Error(`${stops} stops do not lead to ${to}`);
}

test('keyboard alone plans, starts, pauses, resumes and stops a run', async ({
	cluster,
	unwind,
	visit,
}) => {
	await hold(cluster, 'consortium-orderers', 'orderer-1');
	const page = await visit();
	await signIn(page, unwind.link);
	const { keyboard } = page;
	const button = (/** @type {string} */ name) => page.getByRole('button', { name, exact: true });
	const dialog = page.getByRole('dialog');

	await tabTo(page, page.getByRole('link', { name: 'consortium', exact: true }));
	await keyboard.press('Enter');
	await expect(page.getByRole('heading', { name: 'consortium', level: 1 })).toBeVisible();
	await tabTo(page, button('Plan teardown…'));
	await keyboard.press('Enter');
	await expect(page.getByRole('heading', { name: 'Teardown of consortium' })).toBeVisible();

	const start = button('Start teardown…');
	const field = dialog.getByRole('textbox');
	const tick = dialog.getByRole('checkbox');
	const confirm = async () => {
		await keyboard.press('Enter');
		await expect(tick).toBeFocused();
		await expectSeen(page);
		await keyboard.press('Space');
		await tabTo(page, field);
		await expectSeen(page);
		await keyboard.type('consortium');
		await keyboard.press('Enter');
		await expect(dialog.getByText('Nothing has been sent yet.')).toBeVisible();
		await expect(dialog.getByRole('button', { name: 'Cancel' })).toBeFocused();
		await expectSeen(page);
	};
	await tabTo(page, start);
	// Cancel works before and after the name was typed, and during the countdown.
	await keyboard.press('Space');
	await expect(tick).toBeFocused();
	await tabTo(page, field);
	await keyboard.type('consort');
	await keyboard.press('Enter');
	await expect(dialog.getByText('That is not the unit’s name.')).toBeVisible();
	await keyboard.press('Escape');
	await expect(dialog).toBeHidden();
	await expect(start).toBeFocused();
	await expectSeen(page);
	for (const key of ['Escape', 'Enter']) {
		await confirm();
		await keyboard.press(key);
		await expect(dialog).toBeHidden();
		await expect(start).toBeFocused();
	}
	await confirm();
	// Tab stays within the dialog, where only Cancel is enabled.
	await keyboard.press('Tab');
	const within = () =>
		dialog.evaluate((dialog) => dialog.contains(document.activeElement) || document.activeElement === document.body);
	expect(await within()).toBe(true);
	await page.waitForURL(/\/r\//);
	// On a new page the focus is after the navigation. Pause becomes Resume.
	await expect(page.getByRole('main')).toBeFocused();

	await tabTo(page, button('Pause'));
	await keyboard.press('Enter');
	await expect(page.getByText('Paused', { exact: true })).toBeVisible();
	await expect(button('Resume')).toBeFocused();
	await keyboard.press('Space');
	await expect(page.getByText('Running', { exact: true })).toBeVisible();
	await expect(button('Pause')).toBeFocused();

	await tabTo(page, button('Stop…'));
	await keyboard.press('Enter');
	await expect(dialog.getByRole('button', { name: 'Cancel' })).toBeFocused();
	await expectSeen(page);
	await keyboard.press('Escape');
	await expect(dialog).toBeHidden();
	await expect(button('Stop…')).toBeFocused();
	await keyboard.press('Enter');
	await tabTo(page, dialog.getByRole('button', { name: 'Stop the run' }));
	await keyboard.press('Enter');
	await expect(page.getByText('Stopped', { exact: true })).toBeVisible({ timeout: 60_000 });
	await expect(page.getByText('Li stopped the run').first()).toBeVisible();
});
