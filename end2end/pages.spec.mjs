/**
 * Every page as different people meet it: wide and narrow, light and dark, with assistive technology, without JavaScript.
 */
import AxeBuilder from '@axe-core/playwright';
import { canaries } from './cluster/sample/names.mjs';
import { expect, signIn, tearDown, test } from './world.mjs';

// The bystander lives where the developer has no rights.
test.use({ rights: 'admin' });

const schemes = ['light', 'dark'];
const widths = [1440, 1024, 390];

/** @param {import('@playwright/test').Page} page */
async function violations(page) {
	const { violations } = await new AxeBuilder({ page }).analyze();
	return violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.target.join(' ')).join(', ')}`);
}

/** Texts that are cut off although nothing says so, and pages wider than their window. @param {import('@playwright/test').Page} page */
const cutOff = (page) =>
	page.evaluate(() => {
		const wide = document.documentElement.scrollWidth > window.innerWidth ? [`the page is ${document.documentElement.scrollWidth} wide`] : [];
		const buttons = [...document.querySelectorAll('button, h1, h2, .pill, .badge')]
			.filter((element) => element.checkVisibility() && element.scrollWidth > element.clientWidth + 1 && getComputedStyle(element).overflowX !== 'visible')
			.map((element) => `cut off: ${element.textContent?.trim().slice(0, 60)}`);
		return [...wide, ...buttons];
	});

test('every route is readable at every width, in light and dark, and axe finds nothing', async ({ unwind, visit }) => {
	test.setTimeout(240_000);
	const first = await visit();
	await signIn(first, unwind.link);
	const cookies = await first.context().cookies();
	await first.getByRole('link', { name: 'consortium', exact: true }).click();
	await first.getByRole('button', { name: 'Plan teardown…' }).click();
	await first.waitForURL(/\/plan\//);
	const plan = new URL(first.url()).pathname;
	await first.goto(unwind.origin);
	await tearDown(first, 'bystander');
	const run = new URL(first.url()).pathname;
	await expect(first.getByText('Finished', { exact: true })).toBeVisible({ timeout: 60_000 });

	const routes = ['/', '/u/consortium', '/u/consortium?view=list', plan, run, `${run}?view=map`, '/u/nothing-of-that-name', '/nowhere'];
	for (const colorScheme of schemes) {
		const page = await visit({ colorScheme });
		await page.context().addCookies(cookies);
		for (const route of routes) {
			const missing = route.startsWith('/u/nothing') || route === '/nowhere';
			await page.goto(unwind.origin + route);
			if (!missing) await expect(page.getByText('Live', { exact: true })).toBeVisible();
			for (const width of widths) {
				await page.setViewportSize({ width, height: width < 500 ? 844 : 900 });
				await expect(page.locator('main')).toBeVisible();
				expect(await cutOff(page), `${route} at ${width}`).toEqual([]);
			}
			await page.setViewportSize({ width: 1440, height: 900 });
			expect(await violations(page), `${route} in ${colorScheme}`).toEqual([]);
		}
	}
});

test('what a page fetches ahead it uses: each file comes once', async ({ unwind, visit }) => {
	const page = await visit();
	await signIn(page, unwind.link);
	/** @type {string[]} */
	const fetched = [];
	page.on('request', (request) => {
		const { pathname } = new URL(request.url());
		if (pathname.startsWith('/pkg/')) fetched.push(pathname);
	});
	await page.goto(`${unwind.origin}/u/consortium`);
	await expect(page.getByText('Live', { exact: true })).toBeVisible();
	expect(fetched.filter((path) => path.endsWith('.wasm'))).toHaveLength(1);
	expect(fetched).toEqual([...new Set(fetched)]);
});

test('the content of a Secret is in nothing that leaves the program, even for who may read it', async ({ cluster, unwind, visit }) => {
	// That the pattern finds what it should: the API server, asked by the same person, gives it away.
	const { body } = await cluster.request('admin', 'GET', '/api/v1/secrets');
	expect(JSON.stringify(body)).toMatch(canaries);

	const page = await visit();
	await signIn(page, unwind.link);
	const planned = await page.request.post(`${unwind.origin}/api/plans`, { data: { unit: 'consortium' } });
	const plan = await planned.json();
	await tearDown(page, 'bystander');
	const run = new URL(page.url()).pathname;
	await expect(page.getByText('Finished', { exact: true })).toBeVisible({ timeout: 60_000 });
	const paths = ['/', '/u/consortium', '/u/consortium?view=list', `/u/consortium/plan/${plan.id}`, run];
	paths.push('/api/units', '/api/units/consortium', `/api/plans/${plan.id}`, `/api/runs/${run.split('/').at(-1)}`);
	for (const path of paths) {
		const answer = await page.request.get(unwind.origin + path);
		expect(answer.status(), path).toBe(200);
		const text = await answer.text();
		expect(text).toContain('consortium');
		expect(text, path).not.toMatch(canaries);
	}
	expect(unwind.errors).not.toMatch(canaries);
});

test('without JavaScript a unit and a run can be read', async ({ unwind, visit }) => {
	const first = await visit();
	await signIn(first, unwind.link);
	const cookies = await first.context().cookies();
	await tearDown(first, 'bystander');
	const run = first.url();
	await expect(first.getByText('Finished', { exact: true })).toBeVisible({ timeout: 60_000 });

	const page = await visit({ javaScriptEnabled: false });
	await page.context().addCookies(cookies);
	await page.goto(unwind.origin);
	await page.getByRole('link', { name: 'consortium', exact: true }).click();
	await expect(page.getByRole('heading', { name: 'consortium', level: 1 })).toBeVisible();
	await page.goto(`${unwind.origin}/u/consortium?view=list`);
	await expect(page.getByRole('link', { name: /ledger-orderer-0/ }).first()).toBeVisible();
	await page.goto(run);
	await expect(page.getByText('Finished', { exact: true })).toBeVisible();
	await expect(page.getByText('Everything in the plan is gone')).toBeVisible();
});

test('the map is walked with the keyboard, and an object says everything that is known of it', async ({ unwind, visit }) => {
	const page = await visit();
	await signIn(page, unwind.link);
	await page.goto(`${unwind.origin}/u/consortium?view=list&q=org2-shared`);
	await page.getByRole('link', { name: /org2-shared/ }).first().click();
	const drawer = page.getByRole('complementary').filter({ hasText: 'org2-shared' });
	await expect(drawer.getByText(/auditor uses it and is not part of the unit/).first()).toBeVisible();
	await expect(drawer.getByText(/claimName = org2-shared/).first()).toBeVisible();
	await page.keyboard.press('Escape');
	await expect(drawer).toBeHidden();
});

test('links, the way back and the address agree, and the page is loaded once', async ({ unwind, visit }) => {
	const page = await visit();
	await signIn(page, unwind.link);
	const address = () => new URL(page.url()).pathname + new URL(page.url()).search;
	await page.evaluate(() => Object.assign(window, { loadedOnce: true }));

	await page.getByRole('link', { name: 'consortium', exact: true }).click();
	await expect(page).toHaveTitle('consortium · Unwind');
	await page.getByRole('link', { name: 'List', exact: true }).click();
	await expect.poll(address).toBe('/u/consortium?view=list');
	// What is typed replaces the address: one step back leads to before the list.
	await page.getByRole('searchbox').fill('org2 sh&red');
	await expect.poll(address).toBe('/u/consortium?view=list&q=org2%20sh%26red');
	await page.goBack();
	await expect.poll(address).toBe('/u/consortium');
	await expect(page.getByRole('searchbox')).toHaveValue('');
	await page.goForward();
	await expect(page.getByRole('searchbox')).toHaveValue('org2 sh&red');
	await page.goBack();
	await page.goBack();
	await expect(page.getByRole('heading', { name: 'Units', level: 1 })).toBeVisible();
	await expect(page.getByText('Live', { exact: true })).toBeVisible();
	await expect(page).toHaveTitle('Unwind');
	await page.goForward();
	await expect(page.getByRole('heading', { name: 'consortium', level: 1 })).toBeVisible();
	await page.getByRole('link', { name: 'Runs', exact: true }).click();
	await expect(page.locator('#runs')).toBeInViewport();
	expect(new URL(page.url()).hash).toBe('#runs');
	expect(await page.evaluate(() => 'loadedOnce' in window)).toBe(true);

	// What is reloaded, and what a form without scripts would ask for, is what was seen.
	await page.goto(`${unwind.origin}/u/consortium?q=org2+sh%26red`);
	await expect(page.getByRole('searchbox')).toHaveValue('org2 sh&red');
	const [other] = await Promise.all([page.context().waitForEvent('page'), page.getByRole('link', { name: 'Units' }).first().click({ modifiers: ['Control'] })]);
	await expect(other.getByRole('heading', { name: 'Units', level: 1 })).toBeVisible();
	expect(address()).toBe('/u/consortium?q=org2+sh%26red');
});
