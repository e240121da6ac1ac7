/**
 * The steps of a story: a world of the sandbox is opened with remedies, its incident is started from the bar, and the page is
 * read and used as a person would. Used by the specs of the stories, of trouble and of remedies.
 */
import { fileURLToPath } from 'node:url';
import { Unwind } from './unwind.mjs';
import { expect, signIn } from './fixtures.mjs';

/** The most of a card that a picture of it shows, in pixels. */
const tallest = 900;

/** The button of a way out that Unwind can do. */
export const ask = 'Have Unwind do it…';

/**
 * Lives one story on the page of all trouble, at ten times the speed.
 * @param {(options?: object) => Promise<import('@playwright/test').Page>} visit @param {string} world
 * @param {(scene: Scene) => Promise<void>} live
 *
 * @typedef {object} Scene
 * @property {import('@playwright/test').Page} page
 * @property {Unwind} unwind
 * @property {import('@playwright/test').Locator} bar
 * @property {(card: import('@playwright/test').Locator) => Promise<void>} picture takes the story's picture anew, where the
 *   variable PICTURES is set
 */
export async function story(visit, world, live) {
	const unwind = await Unwind.before(['--sandbox', world, '--allow-remedies']);
	try {
		const page = await visit();
		await signIn(page, unwind.link);
		const picture = async (/** @type {import('@playwright/test').Locator} */ card) => {
			if (process.env.PICTURES) await take(card, world);
		};
		await live({ page, unwind, bar: await openTrouble(page), picture });
	} finally {
		await unwind.stop();
	}
}

/** Takes the picture of a card for the README of the worlds. @param {import('@playwright/test').Locator} card @param {string} world */
async function take(card, world) {
	const file = new URL(`../server/sandbox/src/world/pictures/${world}.png`, import.meta.url);
	const box = await card.evaluate((element) => {
		const { x, y, width, height } = element.getBoundingClientRect();
		return { x: x + scrollX, y: y + scrollY, width, height };
	});
	const clip = { ...box, height: Math.min(box.height, tallest) };
	await card.page().screenshot({ path: fileURLToPath(file), fullPage: true, clip });
}

/** The page of all trouble, with the sandbox's bar open and the time at ten times the speed. @param {import('@playwright/test').Page} page */
export async function openTrouble(page) {
	await page.getByRole('link', { name: 'Trouble' }).click();
	await expect(page.getByText('No deletion is in trouble')).toBeVisible();
	const bar = page.getByRole('group').filter({ hasText: 'nothing real is touched' });
	await bar.getByText('Sandbox.').click();
	await bar.getByRole('button', { name: 'Time ×10' }).click();
	return bar;
}

/** Starts the incident, whose button says in two lines what is about to happen. @param {import('@playwright/test').Locator} bar @param {RegExp} label */
export async function start(bar, label) {
	const button = bar.getByRole('button', { name: label });
	await expect(button.locator('small')).not.toBeEmpty();
	await button.click();
}

/** Repairs what the incident broke, by its switch in the bar. @param {import('@playwright/test').Locator} bar @param {string} name */
export async function repair(bar, name) {
	const button = bar.getByRole('button', { name, exact: true });
	await expect(button).toHaveAttribute('aria-pressed', 'true');
	await button.click();
	// A volume that is free may be gone at once, and its switch with it.
	await expect(bar.getByRole('button', { name, exact: true, pressed: true })).toHaveCount(0);
}

/** The open card of a cause. @param {import('@playwright/test').Page} page @param {RegExp} cause */
export async function cardOf(page, cause) {
	const card = page.locator('details.diagnosis').filter({ has: page.getByText(cause) }).first();
	await expect(card).toBeVisible({ timeout: 90_000 });
	if ((await card.getAttribute('open')) === null) await card.locator('summary').first().click();
	return card;
}

/** An open way out of a card. @param {import('@playwright/test').Locator} card @param {string | RegExp} title */
export async function wayOf(card, title) {
	const way = card.locator('details.way').filter({ has: card.page().locator('.way-title', { hasText: title }) }).first();
	await expect(way).toBeVisible();
	if ((await way.getAttribute('open')) === null) await way.locator('summary').click();
	return way;
}

/** The question before Unwind takes a way out. @param {import('@playwright/test').Locator} card @param {string | RegExp} title */
export async function choose(card, title) {
	const way = await wayOf(card, title);
	// A node is not given up before its lease was watched for 40 s.
	await way.getByRole('button', { name: ask }).click({ timeout: 90_000 });
	const dialog = card.page().getByRole('dialog', { name: title });
	await expect(dialog).toBeVisible();
	return dialog;
}

/** The name that the question wants to be typed. @param {import('@playwright/test').Locator} dialog */
export async function named(dialog) {
	const label = await dialog.getByText(/^Type /).innerText();
	return /Type (\S+) to confirm/.exec(label.replace(/[\u2066-\u2069]/g, ''))?.[1] ?? '';
}

/** Confirms it. @param {import('@playwright/test').Locator} dialog @param {string} [statement] who checked what the cluster does not show */
export async function confirm(dialog, statement) {
	const name = await named(dialog);
	await dialog.getByLabel(/^Type /).fill(name);
	if (statement !== undefined) await dialog.getByLabel(/^Who checked what/).fill(statement);
	await dialog.getByRole('button', { name: 'Do it' }).click();
	return name;
}

/**
 * Puts back the one thing that is switched off, from the banner of the page, and comes back to the page of all trouble with the bar open.
 * @param {import('@playwright/test').Page} page @param {RegExp} title @param {RegExp} consequence of putting it back @returns {Promise<void>}
 */
export async function putBack(page, title, consequence) {
	const off = page.locator('.banner').filter({ hasText: '1 thing is switched off' });
	await expect(off.locator('time').first()).toBeVisible();
	await off.getByRole('link', { name: 'Put back…' }).click();
	await expect(page.getByRole('heading', { name: title })).toBeVisible();
	await expect(page.getByText(consequence)).toBeVisible();
	// The page has the frame of the others.
	const main = page.getByRole('navigation', { name: 'Main' });
	await expect(main.getByRole('link', { name: 'Trouble' })).toHaveAttribute('href', '/trouble');
	await expect(page.getByText('Cluster: sandbox (simulated)')).toBeVisible();
	const field = page.getByLabel(/^Type /);
	const name = /Type (\S+) to confirm/.exec((await page.getByText(/^Type /).innerText()).replace(/[\u2066-\u2069]/g, ''))?.[1] ?? '';
	await field.fill(name);
	await page.getByRole('button', { name: title }).click();
	// What came of it stands below, and it is no longer on any page once the cluster shows it.
	await expect(page.getByText(/Taken back: .*(accepted it|on its way)/)).toBeVisible();
	await page.goto(new URL('/trouble', page.url()).href);
	await expect(off).toBeHidden({ timeout: 20_000 });
	const bar = page.getByRole('group').filter({ hasText: 'nothing real is touched' });
	await bar.getByText('Sandbox.').click();
}

/** The end of a story. @param {import('@playwright/test').Page} page @param {number} [timeout] in ms */
export async function end(page, timeout = 20_000) {
	await expect(page.getByText('No deletion is in trouble')).toBeVisible({ timeout });
}
