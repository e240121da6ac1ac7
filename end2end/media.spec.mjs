/**
 * The pages in print, with more contrast, with reduced motion, and in forced colours.
 */
import { illegible } from './legible.mjs';
import { expect, hold, signIn, tearDown, test } from './fixtures.mjs';

test.use({ rights: 'admin' });

test('printed unit, plan and run are complete and have no screen-only controls', async ({ unwind, visit }) => {
	const page = await visit();
	await signIn(page, unwind.link);
	await page.goto(`${unwind.origin}/u/consortium`);
	await page.getByRole('button', { name: 'Plan teardown…' }).click();
	await page.waitForURL(/\/plan\//);
	const plan = page.url();
	await page.goto(unwind.origin);
	await tearDown(page, 'bystander');
	await expect(page.getByText('Finished', { exact: true })).toBeVisible({ timeout: 60_000 });
	const run = page.url();
	const forScreens = [page.getByRole('link', { name: 'Map', exact: true }), page.getByRole('button', { name: /^Theme/ }), page.getByRole('searchbox')];
	for (const one of forScreens) await expect(one.first()).toBeVisible();
	// A4 portrait at 96 dpi, with margins of one centimetre.
	await page.setViewportSize({ width: 718, height: 1047 });
	await page.emulateMedia({ media: 'print' });
	for (const [url, last] of [
		[`${unwind.origin}/u/consortium`, 'org2-shared'],
		[plan, 'consortium-orderers'],
		[run, 'bystander/report'],
	]) {
		await page.goto(url);
		await expect(page.getByText('Live', { exact: true })).toBeHidden();
		await expect(page.getByText(last).filter({ visible: true }).first()).toBeVisible();
		expect(await illegible(page), url).toEqual([]);
		for (const one of forScreens) await expect(one.first(), url).toBeHidden();
		const pdf = (await page.pdf({ format: 'A4' })).toString('latin1');
		const sheets = pdf.match(/\/Type\s*\/Page\b(?!s)/g)?.length ?? 0;
		expect(sheets, url).toBeGreaterThan(0);
		expect(sheets, url).toBeLessThan(40);
	}
	// Scrolled content would be missing on paper.
	await page.goto(plan);
	const lost = await page.evaluate(() =>
		[...document.querySelectorAll('main *')]
			.filter((it) => it.checkVisibility() && ['auto', 'scroll', 'hidden'].includes(getComputedStyle(it).overflowY))
			.filter((it) => it.scrollHeight > it.clientHeight + 2 && it.clientHeight > 2)
			.map((it) => it.className),
	);
	expect(lost).toEqual([]);
});

test('page with prefers-contrast raises the contrast of all text and lines', async ({ unwind, visit }) => {
	const page = await visit();
	await signIn(page, unwind.link);
	await page.goto(`${unwind.origin}/u/consortium`);
	const of = (name) => page.evaluate((name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim(), name);
	const faint = page.locator('.frame-crumbs a').first();
	const contrast = () =>
		faint.evaluate((it) => {
			const light = (colour) => {
				const parts = colour.match(/[\d.]+/g).slice(0, 3);
				const [r, g, b] = parts.map((part) => part / 255).map((it) => (it > 0.04045 ? ((it + 0.055) / 1.055) ** 2.4 : it / 12.92));
				return 0.2126 * r + 0.7152 * g + 0.0722 * b;
			};
			const [dark, bright] = [light(getComputedStyle(it).color), light(getComputedStyle(document.querySelector('.frame-top')).backgroundColor)].sort((a, b) => a - b);
			return (bright + 0.05) / (dark + 0.05);
		});
	for (const colorScheme of ['light', 'dark']) {
		await page.emulateMedia({ colorScheme, contrast: 'no-preference' });
		const before = await contrast();
		await page.emulateMedia({ colorScheme, contrast: 'more' });
		expect(await contrast(), colorScheme).toBeGreaterThan(Math.max(before, 12));
		expect(await of('--ink-faint')).toBe(await of('--ink'));
	}
});

test('page has animations except with prefers-reduced-motion', async ({ cluster, unwind, visit }) => {
	const page = await visit();
	await signIn(page, unwind.link);
	await hold(cluster, 'consortium-orderers', 'orderer-1');
	await tearDown(page, 'consortium');
	const moving = () => page.evaluate(() => document.getAnimations().filter((it) => it.playState === 'running').length);
	await page.getByRole('link', { name: 'Map', exact: true }).click();
	await expect.poll(moving).toBeGreaterThan(0);
	await page.emulateMedia({ reducedMotion: 'reduce' });
	await expect.poll(moving).toBe(0);
});

test('state in forced colours keeps its shape, glyph and word', async ({ unwind, visit }) => {
	const page = await visit();
	await signIn(page, unwind.link);
	for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
		await page.emulateMedia({ forcedColors: 'active', colorScheme });
		await page.goto(`${unwind.origin}/u/consortium?view=list`);
		await expect(page.getByText('Kept', { exact: true }).filter({ visible: true }).first()).toBeVisible();
		expect(await illegible(page)).toEqual([]);
		const shapes = await page.locator('.state svg').first().evaluate((svg) => {
			const drawn = [...svg.querySelectorAll('*'), svg].map((it) => getComputedStyle(it));
			const paper = getComputedStyle(document.body).backgroundColor;
			return { paper, inks: drawn.flatMap(({ fill, stroke, color }) => [fill, stroke, color]) };
		});
		expect(shapes.inks.some((ink) => ink.startsWith('rgb') && ink !== shapes.paper), JSON.stringify(shapes)).toBe(true);
	}
});
