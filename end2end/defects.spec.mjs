/**
 * Defects that users found on the page. Each test failed before its fix.
 */
import { Unwind } from './unwind.mjs';
import { expect, hold, signIn, tearDown, test, tickAll } from './fixtures.mjs';

test.use({ rights: 'admin' });

/** The program with its own sandbox, at ten times the speed. @param {(page: import('@playwright/test').Page, unwind: Unwind) => Promise<void>} then */
async function sandbox(visit, then, options = {}) {
	const unwind = await Unwind.before(['--sandbox']);
	try {
		const page = await visit(options);
		await signIn(page, unwind.link);
		await then(page, unwind);
	} finally {
		await unwind.stop();
	}
}

/** The texts smaller than this number of pixels, with their content. @param {import('@playwright/test').Page} page */
const smallTexts = (page, least = 12) =>
	page.evaluate((least) => {
		const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
		const small = [];
		for (let text = texts.nextNode(); text; text = texts.nextNode()) {
			const element = text.parentElement;
			if (!text.data.trim() || !element?.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
			const scale = element instanceof SVGElement ? (element.ownerSVGElement?.getScreenCTM()?.a ?? 1) : 1;
			const size = Number.parseFloat(getComputedStyle(element).fontSize) * scale;
			if (size < least - 0.01) small.push(`${size.toFixed(1)}: ${text.data.trim().slice(0, 40)}`);
		}
		return small;
	}, least);

/** The targets of the page, or of its open dialog, that a finger misses: lower than 44 px, or a button narrower than that. @param {import('@playwright/test').Page} page */
const smallTargets = (page) =>
	page.evaluate(() => {
		const within = document.querySelector('dialog[open]') ?? document;
		const targets = 'button, summary, a.button, a.shape-link, a.chip, nav a, input:not([type=checkbox], [type=radio]), label.dialog-tick';
		return [...within.querySelectorAll(targets)]
			.filter((it) => it.checkVisibility() && !it.closest('svg, .frame-skip'))
			.map((it) => ({ it, box: it.getBoundingClientRect() }))
			.filter(({ it, box }) => box.height < 43.5 || (it.matches('button') && box.width < 43.5))
			.map(({ it, box }) => `${Math.round(box.width)} × ${Math.round(box.height)}: ${(it.getAttribute('aria-label') ?? it.textContent)?.trim().slice(0, 40)}`);
	});

test('text is at least 12 pixels high, and a target on a phone at least 44', async ({ cluster, unwind, visit }) => {
	const { body } = await cluster.request('admin', 'GET', '/api/v1/namespaces/bystander/pods');
	await hold(cluster, 'bystander', body.items[0].metadata.name);
	const page = await visit();
	await signIn(page, unwind.link);
	await tearDown(page, 'bystander');
	const run = new URL(page.url()).pathname;
	const planned = await page.request.post(`${unwind.origin}/api/plans`, { data: { unit: 'consortium' } });
	const { id } = await planned.json();
	for (const path of ['/', '/u/consortium', '/u/consortium?view=list', run, '/trouble', `/u/consortium/plan/${id}`]) {
		for (const width of [1440, 390]) {
			await page.setViewportSize({ width, height: 844 });
			await page.goto(unwind.origin + path);
			await expect(page.getByText('Live', { exact: true })).toBeVisible();
			expect(await smallTexts(page), `${path} at ${width}`).toEqual([]);
		}
		expect(await smallTargets(page), path).toEqual([]);
	}
	await page.getByRole('button', { name: 'Start teardown…' }).click();
	await expect(page.getByRole('dialog')).toBeVisible();
	expect(await smallTexts(page), 'the confirmation').toEqual([]);
	expect(await smallTargets(page), 'the confirmation').toEqual([]);
	const sizes = () => [document.documentElement, document.body].map((it) => getComputedStyle(it).fontSize);
	expect(await page.evaluate(sizes)).toEqual(['16px', '14px']);
});

test('page on a phone has navigation, the name of the cluster and the age of the data', async ({ visit }) => {
	await sandbox(
		visit,
		async (page, unwind) => {
			const navigation = page.getByRole('navigation', { name: 'Main' });
			await expect(navigation.getByRole('link', { name: 'Runs' })).toBeInViewport();
			await expect(page.getByText('Cluster: sandbox (simulated)')).toBeVisible();
			await page.getByRole('link', { name: 'shop', exact: true }).click();
			await expect(page.getByRole('heading', { name: 'shop', level: 1 })).toBeVisible();
			await navigation.getByRole('link', { name: 'Units' }).click();
			await expect(page.getByRole('heading', { name: 'Units', level: 1 })).toBeVisible();
			await unwind.kill();
			await expect(page.getByText(/^data as of/)).toBeVisible({ timeout: 60_000 });
		},
		{ viewport: { width: 390, height: 844 } },
	);
});

test('focus returns to the element that opened the drawer, and goes to a heading when a row vanishes', async ({ cluster, unwind, visit }) => {
	const page = await visit();
	await signIn(page, unwind.link);
	await page.goto(`${unwind.origin}/u/bystander?view=list`);
	await expect(page.getByText('Live', { exact: true })).toBeVisible();
	const drawer = page.getByRole('complementary', { name: 'Details' });
	const link = page.getByRole('row').getByRole('link').first();
	for (const close of [() => drawer.getByRole('link', { name: 'Close' }).press('Enter'), () => page.goBack()]) {
		await link.focus();
		await link.press('Enter');
		await expect(drawer).toBeVisible();
		await drawer.getByRole('link', { name: 'Close' }).focus();
		await close();
		await expect(drawer).toBeHidden();
		await expect(link).toBeFocused();
	}

	const metadata = { name: 'brief', namespace: 'bystander', labels: { 'app.kubernetes.io/part-of': 'bystander' } };
	await cluster.apply([{ apiVersion: 'v1', kind: 'ConfigMap', metadata }]);
	const brief = page.getByRole('link', { name: 'ConfigMap brief' });
	await brief.focus();
	await cluster.request('admin', 'DELETE', '/api/v1/namespaces/bystander/configmaps/brief');
	await expect(brief).toBeHidden();
	await expect(page.getByRole('heading', { name: 'bystander', level: 1 })).toBeFocused();
});

test('button keeps the focus when the network fails, and the reason why it does nothing is announced', async ({ unwind, visit }) => {
	const page = await visit();
	await signIn(page, unwind.link);
	await page.goto(`${unwind.origin}/u/bystander`);
	const plan = page.getByRole('button', { name: 'Plan teardown…' });
	await expect(page.getByText('Live', { exact: true })).toBeVisible();
	await plan.focus();
	await page.context().setOffline(true);
	await expect(plan).toHaveAttribute('aria-disabled', 'true');
	await expect(plan).toBeFocused();
	await expect(plan).toHaveAttribute('title', /Not available/);
	await expect(page.getByRole('status').filter({ hasText: 'Offline. This page is no longer updated.' })).toBeAttached();
	await plan.press('Enter');
	await page.context().setOffline(false);
	await expect(plan).not.toHaveAttribute('aria-disabled', 'true');
	expect(new URL(page.url()).pathname).toBe('/u/bystander');
});

test('confirmation names missing input, and its countdown is announced', async ({ unwind, visit }) => {
	const page = await visit();
	await signIn(page, unwind.link);
	await page.goto(`${unwind.origin}/u/consortium`);
	await page.getByRole('button', { name: 'Plan teardown…' }).click();
	await page.getByRole('button', { name: 'Start teardown…' }).click();
	const dialog = page.getByRole('dialog');
	await expect(dialog.getByText(/^To start: tick \d+ volumes?, type consortium$/)).toBeVisible();
	await expect(dialog.getByRole('checkbox', { name: /^PersistentVolumeClaim consortium-\S+, \d+/ }).first()).toBeVisible();
	await tickAll(dialog);
	await expect(dialog.getByText('To start: type consortium')).toBeVisible();
	await dialog.getByRole('textbox').fill('consortium');
	await dialog.getByRole('button', { name: 'Start teardown' }).click();
	await expect(dialog.getByRole('status')).toHaveText('Starts in 5 s', { timeout: 10_000 });
	await dialog.getByRole('button', { name: 'Cancel' }).click();
	await expect(dialog).toBeHidden();
});

test('unit that was torn down links its run, and the numbers of that run add up', async ({ visit }) => {
	await sandbox(visit, async (page, unwind) => {
		await page.getByRole('link', { name: 'shop', exact: true }).click();
		const head = page.locator('.unit-head');
		const text = (await head.textContent()) ?? '';
		const number = (/** @type {RegExp} */ what) => Number(what.exec(text)?.[1]);
		const [all, deleted, kept, left] = [/(\d+) objects/, /(\d+) to delete/, /(\d+) kept/, /(\d+) left to the cluster/].map(number);
		expect(deleted + kept + left).toBe(all);
		// Map, list and plan have the same numbers.
		await page.goto(`${unwind.origin}/u/shop?view=map`);
		await expect(page.locator('.graph-note')).toHaveText(new RegExp(`^${all} objects `));
		for (const [name, count] of Object.entries({ 'to delete': deleted, kept, 'left to the cluster': left })) {
			if (!count) continue;
			await page.goto(`${unwind.origin}/u/shop?view=list`);
			await page.getByRole('link', { name: `${count} ${name}` }).click();
			await expect(page.getByRole('row').filter({ has: page.getByRole('link') }), name).toHaveCount(count);
		}
		await page.goto(unwind.origin);
		await tearDown(page, 'shop');
		await expect(page.getByText(`0 of ${deleted} gone`).or(page.getByText(new RegExp(`of ${deleted} gone`))).first()).toBeVisible();
		await page.goto(`${unwind.origin}/u/shop`);
		await expect(page.getByRole('link', { name: 'Open the run' }).or(page.getByText('shop was torn down')).first()).toBeVisible();
		await expect(page.getByRole('heading', { name: 'shop was torn down' })).toBeVisible({ timeout: 90_000 });
		await page.getByRole('region', { name: 'Runs of this unit' }).getByRole('link', { name: 'shop' }).click();
		await expect(page.getByRole('heading', { name: 'shop torn down' })).toBeVisible();
		await expect(page.getByText(new RegExp(`^${deleted} objects in \\d+ `))).toBeVisible();
	});
});

test('“Start over” needs a confirmation before it deletes runs', async ({ visit }) => {
	await sandbox(visit, async (page) => {
		await page.getByText('Sandbox.').click();
		await page.getByRole('button', { name: 'Start over…' }).click();
		const dialog = page.getByRole('dialog');
		await expect(dialog).toContainText('every run of this sandbox is deleted');
		await dialog.getByRole('button', { name: 'Cancel' }).click();
		await expect(dialog).toBeHidden();
		await expect(page.getByText('Live', { exact: true })).toBeVisible();
	});
});

test('filter scrolls its matches into view on the map', async ({ unwind, visit }) => {
	const page = await visit({ viewport: { width: 800, height: 600 } });
	await signIn(page, unwind.link);
	await page.goto(`${unwind.origin}/u/consortium?view=map`);
	await expect(page.getByText('Live', { exact: true })).toBeVisible();
	// This object is among the last that are drawn.
	await page.getByRole('searchbox').fill('org2-shared');
	await expect(page.locator('.node-dim').first()).toBeAttached();
	const inView = () =>
		page.evaluate(() => {
			const frame = document.querySelector('.graph-scroller')?.getBoundingClientRect();
			return [...document.querySelectorAll('.node:not(.node-dim)')].some((node) => {
				const { left, right, top, bottom } = node.getBoundingClientRect();
				return frame && right > frame.left && left < frame.right && bottom > frame.top && top < frame.bottom;
			});
		});
	await expect.poll(inView).toBe(true);
});

test('map is printed whole, in portrait and in landscape', async ({ unwind, visit }) => {
	const page = await visit();
	await signIn(page, unwind.link);
	await tearDown(page, 'bystander');
	await expect(page.getByText('Finished', { exact: true })).toBeVisible({ timeout: 60_000 });
	const run = `${page.url()}?view=map`;
	for (const viewport of [{ width: 718, height: 1047 }, { width: 1047, height: 718 }]) {
		for (const url of [`${unwind.origin}/u/consortium?view=map`, run]) {
			await page.setViewportSize(viewport);
			await page.emulateMedia({ media: 'screen' });
			await page.goto(url);
			await expect(page.getByText('Live', { exact: true })).toBeVisible();
			await page.emulateMedia({ media: 'print' });
			const lost = await page.evaluate(() =>
				[...document.querySelectorAll('body *')]
					.filter((it) => it.checkVisibility() && ['auto', 'scroll', 'hidden'].includes(getComputedStyle(it).overflowY))
					.filter((it) => (it.scrollHeight > it.clientHeight + 2 || it.scrollWidth > it.clientWidth + 2) && it.clientHeight > 2)
					.map((it) => it.className),
			);
			expect(lost, `${url} at ${viewport.width}`).toEqual([]);
		}
	}
});

test('page without JavaScript shows no connection state', async ({ unwind, visit }) => {
	const first = await visit();
	await signIn(first, unwind.link);
	const page = await visit({ javaScriptEnabled: false });
	await page.context().addCookies(await first.context().cookies());
	await page.goto(unwind.origin);
	await expect(page.getByRole('heading', { name: 'Units', level: 1 })).toBeVisible();
	await expect(page.getByText('Connecting…')).toBeHidden();
});

test('active step is in view on a run, in the list, on the map and on a phone', async ({ cluster, unwind, visit }) => {
	await hold(cluster, 'consortium-orderers', 'orderer-1');
	const page = await visit();
	await signIn(page, unwind.link);
	await tearDown(page, 'consortium');
	const held = page.locator('.current').getByText(/orderer-1/);
	await expect(held.first()).toBeVisible({ timeout: 60_000 });
	const run = page.url();
	for (const viewport of [{ width: 1440, height: 900 }, { width: 390, height: 844 }]) {
		await page.setViewportSize(viewport);
		await page.goto(run);
		await expect(page.locator('.steps').first().locator('tbody tr').first()).toContainText('orderer-1');
		await expect(page.locator('.current')).toBeInViewport();
		await expect(page.locator('.steps-gone')).not.toHaveAttribute('open');
	}
	await page.setViewportSize({ width: 1440, height: 900 });
	await page.goto(`${run}?view=map`);
	await page.locator('.graph-scroller').scrollIntoViewIfNeeded();
	await expect(page.getByRole('button', { name: /orderer-1 Pod (Terminating|Finalizing|Slow|Stuck)/ })).toBeInViewport();
});

test('stop counts what the run requested, not what was terminating before', async ({ cluster, unwind, visit }) => {
	const path = '/api/v1/namespaces/consortium-orderers/configmaps/orderer-config';
	const patch = { metadata: { finalizers: ['unwind.test/held'] } };
	await cluster.request('admin', 'PATCH', path, patch, { 'content-type': 'application/merge-patch+json' });
	await cluster.request('admin', 'DELETE', path);
	await hold(cluster, 'consortium-orderers', 'orderer-1');
	const page = await visit();
	await signIn(page, unwind.link);
	await page.goto(`${unwind.origin}/u/consortium`);
	await page.getByRole('button', { name: 'Plan teardown…' }).click();
	await expect(page.getByText('Already terminating; the run waits for it.')).toBeVisible();
	await page.goto(unwind.origin);
	await tearDown(page, 'consortium');
	await page.getByRole('button', { name: 'Stop…' }).click();
	await expect(page.getByRole('dialog')).toContainText('1 object already terminating, not deleted by this run.');
	await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
});
