/**
 * The page while the server is down, after a reconnect, and for objects that no longer exist.
 */
import { expect, ownTime, signIn, test } from './fixtures.mjs';

test.use({ rights: 'admin' });

const label = 'app.kubernetes.io/part-of';
/** A unit of one object. */
const late = {
	apiVersion: 'v1',
	kind: 'ConfigMap',
	metadata: { name: 'late', namespace: 'bystander', labels: { [label]: 'late' } },
};
const path = '/api/v1/namespaces/bystander/configmaps/late';

/** @param {import('@playwright/test').Page} page */
const live = (page) => page.getByText('Live', { exact: true });

test('offline page shows the age of the last message during retries, and catches up after reconnecting', async ({
	unwind,
	visit,
}) => {
	const page = await visit();
	await ownTime(page);
	await signIn(page, unwind.link);
	await unwind.kill();
	await expect(page.getByText(/^Reconnecting/)).toBeVisible();
	await page.clock.runFor(60_000);
	await expect(page.getByText('Stale', { exact: true })).toBeVisible();
	await expect(page.getByRole('status').filter({ hasText: 'This page is out of date.' })).toBeAttached();
	const age = page.getByText(/^data as of/);
	const since = await age.textContent();
	await page.clock.runFor(120_000);
	await expect(age).toHaveText(since);
	await expect(page.getByText('Stale', { exact: true })).toBeVisible();

	await unwind.launch();
	await page.getByRole('button', { name: 'Try now' }).click();
	await expect(live(page)).toBeVisible({ timeout: 5_000 });
	await expect(page.getByRole('button', { name: 'Try now' })).toBeHidden();
	await expect(page.getByText(/^Caught up/)).toBeAttached();
});

test('page reconnects by itself after a server shutdown and says what it caught up with', async ({
	cluster,
	unwind,
	visit,
}) => {
	const page = await visit();
	await signIn(page, unwind.link);
	await unwind.quit();
	await cluster.apply([late]);
	await unwind.launch();
	await expect(live(page)).toBeVisible();
	await expect(page.getByRole('link', { name: 'late', exact: true })).toBeVisible();
	await expect(page.getByText(/^Caught up/)).toBeAttached();
});

test('page without a network says so and later shows the changes it missed', async ({ cluster, unwind, visit }) => {
	const page = await visit();
	await signIn(page, unwind.link);
	await page.context().setOffline(true);
	await expect(page.getByText('Offline', { exact: true })).toBeVisible();
	await expect(page.getByRole('button', { name: 'Try now' })).toBeVisible();
	await cluster.apply([late]);
	await page.context().setOffline(false);
	await expect(live(page)).toBeVisible();
	await expect(page.getByRole('link', { name: 'late', exact: true })).toBeVisible();
});

test('objects that changed while the page was offline are marked for a while', async ({ cluster, unwind, visit }) => {
	const page = await visit();
	await signIn(page, unwind.link);
	await page.goto(`${unwind.origin}/u/consortium?view=list`);
	await expect(live(page)).toBeVisible();
	const changed = page.getByRole('row').filter({ hasText: 'orderer-config' });
	const marked = page.locator('tr.list-fresh');
	await expect(changed).toBeVisible();
	await expect(marked).toHaveCount(0);
	await unwind.quit();
	const config = '/api/v1/namespaces/consortium-orderers/configmaps/orderer-config';
	const patch = { metadata: { finalizers: ['example.com/hold'] } };
	await cluster.request('admin', 'PATCH', config, patch, { 'content-type': 'application/merge-patch+json' });
	await cluster.request('admin', 'DELETE', config);
	await unwind.launch();
	await expect(changed).toHaveClass(/fresh/);
	await expect(marked).toHaveCount(1);
	await expect(marked).toHaveCount(0, { timeout: 10_000 });
});

test('unit that no longer exists is shown as gone and is shown again once it is recreated', async ({
	cluster,
	unwind,
	visit,
}) => {
	await cluster.apply([late]);
	const page = await visit();
	await signIn(page, unwind.link);
	await page.goto(`${unwind.origin}/u/late?view=list`);
	const row = page.getByRole('link', { name: 'ConfigMap late' });
	await expect(row).toBeVisible();
	await unwind.kill();
	const { status } = await cluster.request('admin', 'DELETE', path);
	expect(status).toBe(200);
	await unwind.launch();
	await expect(page.getByText('This unit is not known')).toBeVisible({ timeout: 30_000 });
	await expect(row).toBeHidden();
	await expect(live(page)).toBeVisible();

	await cluster.apply([late]);
	await expect(row).toBeVisible({ timeout: 30_000 });
});

test('unknown run is reported at once, with and without JavaScript', async ({ unwind, visit }) => {
	const page = await visit();
	await signIn(page, unwind.link);
	await page.goto(`${unwind.origin}/r/nothing-of-that-name`);
	await expect(page.getByRole('heading', { name: 'This run is not known' })).toBeVisible();
	const plain = await visit({ javaScriptEnabled: false });
	await plain.context().addCookies(await page.context().cookies());
	await plain.goto(`${unwind.origin}/u/nothing-of-that-name`);
	await expect(plain.getByText('This unit is not known')).toBeVisible();
});

test('page whose session has ended says so and stops asking until somebody signs in', async ({
	unwind,
	visit,
}) => {
	const page = await visit();
	await ownTime(page);
	await signIn(page, unwind.link);
	await page.goto(`${unwind.origin}/u/bystander?view=list`);
	await expect(live(page)).toBeVisible();
	await unwind.kill();
	await page.context().clearCookies();
	await unwind.launch();
	await page.clock.runFor(5_000);
	await expect(page.getByText('Read only')).toBeVisible();
	await expect(page.getByText('Stale', { exact: true })).toBeVisible();
	let asked = 0;
	page.on('request', () => asked++);
	await page.clock.runFor(300_000);
	expect(asked).toBe(0);
	// The last known state stays.
	await expect(page.getByRole('heading', { name: 'bystander', level: 1 })).toBeVisible();

	const other = await page.context().newPage();
	await signIn(other, unwind.link);
	await other.close();
	await page.getByRole('button', { name: 'Try now' }).click();
	await expect(live(page)).toBeVisible();
	await expect(page.getByText('Read only')).toBeHidden();
});

test('page that fails to start, or crashes, says so', async ({ unwind, visit }) => {
	const page = await visit({ breaks: true });
	const stopped = page.getByRole('alert').filter({ hasText: 'This page has stopped working' });
	await signIn(page, unwind.link);
	await expect(live(page)).toBeVisible();
	await expect(stopped).toBeHidden();

	// An error outside the page's own code is not reported as a crash.
	const thrown = page.waitForEvent('pageerror');
	await page.evaluate(
		() =>
			void setTimeout(() => {
				throw new Error('of another script');
			}),
	);
	await thrown;
	await expect(stopped).toBeHidden();
	const deaths = [
		() =>
			void setTimeout(() => {
				throw new WebAssembly.RuntimeError('unreachable');
			}),
		() => void Promise.reject(new WebAssembly.RuntimeError('unreachable')),
	];
	for (const death of deaths) {
		await page.getByRole('button', { name: 'Keyboard shortcuts', exact: true }).click();
		await expect(page.getByRole('dialog')).toBeVisible();
		await page.evaluate(death);
		await expect(stopped).toBeVisible();
		await expect(page.getByRole('dialog')).toBeHidden();
		await stopped.getByRole('link', { name: 'Reload' }).click();
		await expect(live(page)).toBeVisible();
		await expect(stopped).toBeHidden();
	}

	await page.route('**/*.wasm*', (route) => route.abort());
	await page.goto(`${unwind.origin}/`);
	await expect(stopped).toBeVisible();
	await page.unroute('**/*.wasm*');
	await stopped.getByRole('link', { name: 'Reload' }).click();
	await expect(live(page)).toBeVisible();
	await expect(stopped).toBeHidden();

	// Removes an element, like some browser extensions.
	await page.route(`${unwind.origin}/`, async (route) => {
		const response = await route.fetch();
		const body = await response.text();
		await route.fulfill({ response, body: body.replace(/<main .*<\/main>/s, '') });
	});
	/** @type {string[]} */
	const errors = [];
	page.on('console', (message) => void (message.type() === 'error' && errors.push(message.text())));
	await page.goto(`${unwind.origin}/`);
	await expect(stopped).toBeVisible();
	await expect.poll(() => errors.join('\n')).toMatch(/panicked at \S+\.rs:\d+/);
});
