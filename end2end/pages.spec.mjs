/**
 * Every page wide and narrow, light and dark, with axe, and without JavaScript.
 */
import AxeBuilder from '@axe-core/playwright';
import { canaries } from './cluster/sample/names.mjs';
import { illegible } from './legible.mjs';
import { Unwind } from './unwind.mjs';
import { expect, hold, signIn, tearDown, test } from './fixtures.mjs';

// The bystander is in a namespace where the developer has no rights.
test.use({ rights: 'admin' });

const schemes = ['light', 'dark'];
const widths = [1440, 1024, 390];
/** The widths at which axe runs too: to axe, the layout for a phone is another page. */
const judgedWidths = [1440, 390];

/** @param {import('@playwright/test').Page} page */
async function violations(page) {
	// All rules run, but only violations are described: axe spends three quarters of its time on describing passed rules. The
	// page has no frames.
	const axe = new AxeBuilder({ page }).setLegacyMode(true).options({ resultTypes: ['violations'] });
	const { violations } = await axe.analyze();
	return violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.target.join(' ')).join(', ')}`);
}

/** Checks the open page at every width, also with axe. @param {import('@playwright/test').Page} page @param {string} what */
async function inspect(page, what) {
	for (const width of widths) {
		await page.setViewportSize({ width, height: width < 500 ? 844 : 900 });
		await expect(page.locator('main')).toBeVisible();
		expect(await illegible(page), `${what} at ${width}`).toEqual([]);
		if (judgedWidths.includes(width)) expect(await violations(page), `${what} at ${width}`).toEqual([]);
	}
	await page.setViewportSize({ width: 1440, height: 900 });
}

test('route at every width and in both themes is readable and passes axe', { tag: '@real' }, async ({ unwind, visit }) => {
	test.setTimeout(360_000);
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

	const routes = ['/', '/u/consortium', '/u/consortium?view=list', plan, run, `${run}?view=map`, '/trouble', '/u/nothing-of-that-name', '/nowhere'];
	for (const colorScheme of schemes) {
		const page = await visit({ colorScheme });
		await page.context().addCookies(cookies);
		for (const route of routes) {
			const missing = route.startsWith('/u/nothing') || route === '/nowhere';
			await page.goto(unwind.origin + route);
			if (!missing) await expect(page.getByText('Live', { exact: true })).toBeVisible();
			await inspect(page, `${route} in ${colorScheme}`);
		}
	}
});

test('theme switch goes from system to light to dark and survives a reload without a flash', async ({ unwind, visit }) => {
	const first = await visit();
	await signIn(first, unwind.link);
	const storageState = await first.context().storageState();
	for (const colorScheme of schemes) {
		const page = await visit({ colorScheme, storageState });
		await page.goto(unwind.origin);
		await expect(page.getByText('Live', { exact: true })).toBeVisible();
		const ground = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
		const scheme = () => page.evaluate(() => document.documentElement.dataset.theme);
		const button = page.getByRole('button', { name: /^Theme/ });
		const own = await ground();
		await button.click();
		const light = await ground();
		await button.click();
		const dark = await ground();
		expect(light).not.toBe(dark);
		expect(own).toBe(colorScheme === 'dark' ? dark : light);
		// The stored theme applies before the first paint and before hydration.
		await page.route('**/*.wasm', () => {});
		await page.reload({ waitUntil: 'domcontentloaded' });
		expect(await scheme()).toBe('dark');
		expect(await ground()).toBe(dark);
		await expect(page.getByText('Live', { exact: true })).toBeHidden();
		await page.unroute('**/*.wasm');
		await page.reload();
		await expect(page.getByText('Live', { exact: true })).toBeVisible();
		await button.click();
		expect(await scheme()).toBeUndefined();
		expect(await ground()).toBe(own);
		await page.reload();
		expect(await scheme()).toBeUndefined();
	}
});

test('signed-out page is readable at every width, in light and dark', async ({ unwind, visit }) => {
	for (const colorScheme of schemes) {
		const page = await visit({ colorScheme });
		await page.goto(unwind.origin);
		await expect(page.getByText('This browser is not signed in.')).toBeVisible();
		await inspect(page, `the sign-in page in ${colorScheme}`);
		await page.goto(`${unwind.origin}/#k=of-no-link`);
		// Only the fragment of the address has changed, so the browser has not loaded the page again.
		await page.reload();
		await expect(page.getByRole('alert')).toContainText('This link is not valid');
		await inspect(page, `a link that is not valid in ${colorScheme}`);
	}
});

test('legibility check reports clipped text, overlapping text and a page that is too wide', async ({ unwind, visit }) => {
	const page = await visit();
	await signIn(page, unwind.link);
	expect(await illegible(page)).toEqual([]);
	const styled = async (/** @type {string} */ style) => {
		await page.getByRole('heading', { level: 1 }).evaluate((heading, style) => (heading.style.cssText = style), style);
		return (await illegible(page)).join('; ');
	};
	expect(await styled('width: 12px; overflow: hidden; white-space: nowrap')).toContain('cut off: Units');
	expect(await styled('transform: translateY(2rem)')).toContain('on each other: ');
	expect(await styled('width: 4000px')).toContain('wide');
});

test('axe reports an image without text, low contrast and a button without a name', async ({ unwind, visit }) => {
	const page = await visit();
	await signIn(page, unwind.link);
	expect(await violations(page)).toEqual([]);
	await page.getByRole('heading', { level: 1 }).evaluate((heading) => {
		heading.style.cssText = 'color: #777; background: #888';
		heading.append(document.createElement('button'), document.createElement('img'));
	});
	const found = (await violations(page)).map((violation) => violation.split(':')[0]);
	for (const rule of ['image-alt', 'color-contrast', 'button-name']) expect(found).toContain(rule);
});

test('preloaded file is used and fetched once', async ({ unwind, visit }) => {
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

test('Secret values appear in no response, log or journal, even with the right to read them', async ({ cluster, unwind, visit }) => {
	// Proves that the pattern works: the API server shows the values to the same user.
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

test('unit and run without JavaScript are readable', async ({ unwind, visit }) => {
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
	await expect(page.getByText('Everything to delete is gone')).toBeVisible();
	await expect(page.locator('time[data-at]').last()).toBeAttached();
	for (const time of await page.locator('time[data-at]').all()) await expect(time).toHaveText(/^20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC$/);

	// A live page leaves the date out where it is today's, and says it of another day.
	const time = first.locator('time[data-at]:not([data-relative])').first();
	const at = (/** @type {number} */ moment) => time.evaluate((time, moment) => time.setAttribute('data-at', String(moment)), moment);
	await at(Date.now());
	await expect(time).toHaveText(/^\d\d:\d\d:\d\d \S+$/);
	await at(Date.now() - 48 * 3_600_000);
	await expect(time).toHaveText(/20\d\d.* \d\d:\d\d:\d\d \S+$/);
});

test('open run without JavaScript is readable, and a reload shows its progress', { tag: '@real' }, async ({ cluster, unwind, visit }) => {
	// The held Pod keeps the run from progressing.
	await hold(cluster, 'consortium-orderers', 'orderer-1');
	const first = await visit();
	await signIn(first, unwind.link);
	const cookies = await first.context().cookies();
	await tearDown(first, 'consortium');
	const row = (/** @type {import('@playwright/test').Page} */ page, /** @type {string} */ name) => page.locator('tr').filter({ hasText: name });
	await expect(row(first, 'Namespace consortium-org1')).toContainText('Gone', { timeout: 60_000 });

	const page = await visit({ javaScriptEnabled: false });
	await page.context().addCookies(cookies);
	await page.goto(first.url());
	await expect(page.getByRole('heading', { name: 'Tearing down consortium' })).toBeVisible();
	await expect(page.getByText('Live updates and buttons need JavaScript.')).toBeVisible();
	await expect(page.getByText('Running', { exact: true })).toBeVisible();
	await expect(page.getByText(/^Started .* by Li/)).toBeVisible();
	const progress = page.getByRole('progressbar');
	const [gone, total] = [Number(await progress.getAttribute('value')), Number(await progress.getAttribute('max'))];
	expect(gone).toBeGreaterThan(0);
	expect(gone).toBeLessThan(total);
	await expect(page.getByText(`${gone} of ${total} gone`, { exact: true })).toBeVisible();
	const claim = row(page, 'PersistentVolumeClaim consortium-orderers/ledger-orderer-1');
	await expect(row(page, 'Pod consortium-orderers/orderer-0')).toContainText('Gone');
	await expect(claim).toContainText('Waiting');
	await expect(claim).toContainText('orderer-1');
	await expect(page.getByRole('region', { name: 'Events' }).getByRole('listitem').first()).toBeVisible();
	// Buttons that need JavaScript are disabled.
	for (const name of ['Pause', 'Stop…']) await expect(page.getByRole('button', { name })).toBeDisabled();

	await hold(cluster, 'consortium-orderers', 'orderer-1', null);
	await expect(first.getByText('Finished', { exact: true })).toBeVisible({ timeout: 60_000 });
	// Without JavaScript the page does not change until it is reloaded.
	await expect(claim).toContainText('Waiting');
	await page.reload();
	await expect(claim).toContainText('Gone');
	await expect(page.getByText(`${total} of ${total} gone`, { exact: true })).toBeVisible();
	await expect(page.getByText('Finished', { exact: true })).toBeVisible();
});

test('blocked run with its panels open is readable at every width and passes axe', async ({ cluster, visit }) => {
	test.setTimeout(360_000);
	// With the rights of a reader every deletion is refused.
	const unwind = await Unwind.start({ kubeconfig: cluster.kubeconfig, context: 'reader' });
	try {
		const first = await visit();
		await signIn(first, unwind.link);
		const cookies = await first.context().cookies();
		await tearDown(first, 'consortium');
		const run = new URL(first.url()).pathname;
		await expect(first.getByText('The API server refused with 403.').first()).toBeVisible({ timeout: 30_000 });
		for (const colorScheme of schemes) {
			const page = await visit({ colorScheme });
			await page.context().addCookies(cookies);
			const dialog = page.getByRole('dialog');
			/** @param {string} button @param {string} what */
			const opened = async (button, what) => {
				await page.getByRole('button', { name: button }).first().click();
				await expect(dialog).toBeVisible();
				await inspect(page, `${what} in ${colorScheme}`);
				await dialog.getByRole('button', { name: 'Cancel' }).click();
				await expect(dialog).toBeHidden();
			};
			await page.goto(unwind.origin + run);
			await expect(page.getByText('Running', { exact: true })).toBeVisible();
			await expect(page.getByText('The API server refused with 403.').first()).toBeVisible();
			await inspect(page, `a run in ${colorScheme}`);
			await opened('Stop waiting for it…', 'the question before a run stops waiting for an object');
			await opened('Stop…', 'the question before a stop');
			await page.goto(`${unwind.origin}${run}?view=map`);
			await page.getByRole('button', { name: /Refused/ }).first().press('Enter');
			await expect(page.getByRole('complementary')).toBeVisible();
			await inspect(page, `a run with the drawer open in ${colorScheme}`);
			await page.goto(`${unwind.origin}/u/bystander?view=list`);
			await page.getByRole('row').getByRole('link').first().click();
			await expect(page.getByRole('complementary')).toBeVisible();
			await inspect(page, `a unit with the drawer open in ${colorScheme}`);
			await page.getByRole('button', { name: 'Plan teardown…' }).click();
			await opened('Start teardown…', 'the confirmation');
		}
	} finally {
		await unwind.stop();
	}
});

test('object page shows everything known about the object', async ({ unwind, visit }) => {
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

test('keyboard alone navigates, opens, searches and zooms the map', async ({ unwind, visit }) => {
	const page = await visit();
	await signIn(page, unwind.link);
	await page.goto(`${unwind.origin}/u/consortium?view=map`);
	await expect(page.getByText('Live', { exact: true })).toBeVisible();
	const keys = page.keyboard;
	/** The focused card and its position. */
	const here = () =>
		page.evaluate(() => {
			const card = document.activeElement?.closest('[id^="node-"]');
			const [x, y] = /translate\((-?\d+) (-?\d+)\)/.exec(card?.getAttribute('transform') ?? '')?.slice(1).map(Number) ?? [];
			return { id: card?.id, label: card?.getAttribute('aria-label'), x, y };
		});
	/** Presses a key that moves the focus to another card. @param {string} key */
	async function walk(key) {
		const before = await here();
		await keys.press(key);
		await expect.poll(async () => (await here()).id).not.toBe(before.id);
		const after = await here();
		expect(after.id, key).toBeDefined();
		return { before, after };
	}

	await page.getByRole('group', { name: 'Dependency graph' }).focus();
	// The headings of the namespaces are tab stops too. All cards together are one.
	await expect(async () => {
		await keys.press('Tab');
		expect((await here()).id).toBeDefined();
	}).toPass();
	const [first] = [await here()];
	await keys.press('Tab');
	expect((await here()).id).toBeUndefined();
	await keys.press('Shift+Tab');
	expect(await here()).toEqual(first);

	// The arrow keys follow an edge and return, and move within a column.
	const orderer = page.getByRole('button', { name: /consortium-orderers\/orderer-0,/ });
	await orderer.focus();
	const right = await walk('ArrowRight');
	expect(right.after.x).toBeGreaterThan(right.before.x);
	const left = await walk('ArrowLeft');
	expect(left.after.x).toBeLessThan(left.before.x);
	const down = await walk('ArrowDown');
	expect([down.after.x, down.after.y > down.before.y]).toEqual([down.before.x, true]);
	const up = await walk('ArrowUp');
	expect(up.after).toEqual(down.before);

	// Opening and closing the drawer keeps the position.
	const drawer = page.getByRole('complementary');
	const { label } = await here();
	await keys.press('Enter');
	const name = /: (\S+),/.exec(label ?? '')?.[1].split('/').at(-1) ?? '';
	await expect(drawer).toContainText(name);
	await expect(page).toHaveURL(/sel=/);
	await keys.press('Escape');
	await expect(drawer).toBeHidden();
	expect((await here()).label).toBe(label);

	// Keys change the scale.
	const svg = page.locator('svg.graph');
	const width = async () => Number(await svg.getAttribute('width'));
	const whole = Number((await svg.getAttribute('viewBox'))?.split(' ')[2]);
	await keys.press('0');
	await expect.poll(width).toBe(whole);
	await keys.press('-');
	await expect.poll(width).toBeLessThan(whole);
	await keys.press('+');
	await expect.poll(width).toBe(whole);
	const fits = () =>
		svg.evaluate((svg) => {
			const [frame, box] = [svg.parentElement, svg.getBoundingClientRect()];
			return frame !== null && box.width <= frame.clientWidth + 1 && box.height <= frame.clientHeight + 1;
		});
	expect(await fits()).toBe(false);
	await keys.press('f');
	await expect.poll(fits).toBe(true);
	await expect(page).toHaveURL(/[?&]z=\d+/);

	// In the search field those keys are text.
	const fitted = await width();
	await keys.press('/');
	await expect(page.getByRole('searchbox')).toBeFocused();
	await keys.type('f0+-');
	await expect(page.getByRole('searchbox')).toHaveValue('f0+-');
	expect(await width()).toBe(fitted);

	// The buttons do the same.
	await page.getByRole('button', { name: 'Actual size' }).click();
	await expect.poll(width).toBe(whole);
	await page.getByRole('button', { name: 'Zoom in' }).click();
	await expect.poll(width).toBeGreaterThan(whole);
	await page.getByRole('button', { name: 'Zoom out' }).click();
	await expect.poll(width).toBe(whole);
	await page.getByRole('button', { name: 'Fit the whole graph' }).click();
	await expect.poll(width).toBe(fitted);
});

test('links, Back and the address agree, and the document is loaded once', async ({ unwind, visit }) => {
	const page = await visit();
	await signIn(page, unwind.link);
	const address = () => new URL(page.url()).pathname + new URL(page.url()).search;
	await page.evaluate(() => Object.assign(window, { loadedOnce: true }));

	await page.getByRole('link', { name: 'consortium', exact: true }).click();
	await expect(page).toHaveTitle('consortium · Unwind');
	await page.getByRole('link', { name: 'List', exact: true }).click();
	await expect.poll(address).toBe('/u/consortium?view=list');
	// A typed filter replaces the history entry, so Back leads to the page before the list.
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

	// A reload, and the form without JavaScript, show the same page.
	await page.goto(`${unwind.origin}/u/consortium?q=org2+sh%26red`);
	await expect(page.getByRole('searchbox')).toHaveValue('org2 sh&red');
	const [other] = await Promise.all([page.context().waitForEvent('page'), page.getByRole('link', { name: 'Units' }).first().click({ modifiers: ['Control'] })]);
	await expect(other.getByRole('heading', { name: 'Units', level: 1 })).toBeVisible();
	expect(address()).toBe('/u/consortium?q=org2+sh%26red');
});

test('times are in the time zone of the browser after hydration, and in UTC without JavaScript', async ({ unwind, visit }) => {
	const page = await visit({ timezoneId: 'Asia/Tokyo' });
	await signIn(page, unwind.link);
	const time = page.locator('time[data-at]').first();
	await expect(time).toHaveAttribute('title', /20\d\d.* GMT\+9$/);
	await expect(time).toHaveText(/ago$|^just now$/);
	await expect(time).toHaveAttribute('datetime', /^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
	const plain = await visit({ javaScriptEnabled: false, timezoneId: 'Asia/Tokyo' });
	await plain.context().addCookies(await page.context().cookies());
	await plain.goto(unwind.origin);
	await expect(plain.locator('time[data-at]').first()).toHaveText(/^20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC$/);
});
