/**
 * The commands to a run, and their confirmations.
 */
import { Unwind } from './unwind.mjs';
import { expect, hold, ownTime, signIn, tearDown, test } from './fixtures.mjs';

test.use({ rights: 'admin' });

/** The program with the rights of a reader: every deletion is refused. */
const refusing = test.extend({
	unwind: async ({ cluster }, use) => {
		const unwind = await Unwind.start({ kubeconfig: cluster.kubeconfig, context: 'reader' });
		await use(unwind);
		await unwind.stop();
	},
});

/** A plan of the bystander, on a page with a clock of its own. @param {Unwind} unwind @param {() => Promise<import('@playwright/test').Page>} visit */
async function planned(unwind, visit) {
	const page = await visit();
	await ownTime(page);
	await signIn(page, unwind.link);
	await page.goto(`${unwind.origin}/u/bystander`);
	await page.getByRole('button', { name: 'Plan teardown…' }).click();
	await page.waitForURL(/\/plan\//);
	return page;
}

test('countdown sends nothing for ten seconds, focuses Cancel, and a cancelled start is never sent', async ({ unwind, visit }) => {
	const page = await planned(unwind, visit);
	/** @type {string[]} */
	const sent = [];
	page.on('request', (request) => {
		const { pathname } = new URL(request.url());
		// The checks before a teardown change nothing.
		if (request.method() === 'POST' && !pathname.endsWith('/preflight')) sent.push(pathname);
	});
	const dialog = page.getByRole('dialog');
	const ask = async () => {
		await page.getByRole('button', { name: 'Start teardown…' }).click();
		const start = dialog.getByRole('button', { name: /^Start/ });
		await expect(start).toBeDisabled();
		await dialog.getByRole('textbox').fill('by');
		await expect(dialog.getByText('That is not the unit’s name.')).toBeVisible();
		await dialog.getByRole('textbox').fill('bystander');
		await start.click();
		await expect(dialog.getByText('Nothing has been sent yet.')).toBeVisible();
		await page.clock.runFor(100);
		await expect(dialog.getByRole('button', { name: 'Cancel' })).toBeFocused();
	};
	// A page receives nothing while its clock jumps, and the countdown counts only seconds with a live stream.
	const toTheLastSecond = async () => {
		const last = dialog.getByRole('button', { name: 'Starts in 1 s' });
		const begun = await page.evaluate(() => Date.now());
		await expect(async () => {
			const there = await last.isVisible();
			if (!there) await page.clock.runFor(1_000);
			expect(there).toBe(true);
		}).toPass({ intervals: [20] });
		expect((await page.evaluate(() => Date.now())) - begun).toBeGreaterThanOrEqual(8_900);
	};
	await page.clock.pauseAt(Date.now() + 5_000);
	await ask();
	await toTheLastSecond();
	await page.clock.runFor(800);
	await page.keyboard.press('Enter');
	await expect(dialog).toBeHidden();
	await page.clock.runFor(60_000);
	expect(sent).toEqual([]);
	expect(page.url()).toContain('/plan/');
	// The page received nothing while its clock jumped. The answer to its next request comes in real time.
	await expect(async () => {
		await page.clock.runFor(1_000);
		await expect(page.getByText('Live', { exact: true })).toBeVisible({ timeout: 500 });
	}).toPass();

	await ask();
	await toTheLastSecond();
	expect(sent).toEqual([]);
	let answer = () => {};
	const answered = new Promise((resolve) => (answer = () => resolve(undefined)));
	await page.route('**/api/runs', async (route) => {
		await answered;
		await route.continue();
	});
	await expect(async () => {
		await page.clock.runFor(1_000);
		await expect(dialog.getByText('Starting…')).toBeVisible({ timeout: 500 });
	}).toPass();
	// After the request has left, Cancel has no effect, even if the answer takes long.
	await expect(dialog.getByRole('button', { name: 'Cancel' })).toBeDisabled();
	await expect(dialog.getByText('Nothing has been sent yet.')).toBeHidden();
	await page.keyboard.press('Enter');
	await expect(dialog.getByRole('button', { name: 'Cancel' })).toBeFocused();
	// A browser closes a dialog at the second Escape even if the page prevents the first.
	for (let time = 0; time < 2; time++) {
		await page.keyboard.press('Escape');
		await page.clock.runFor(100);
		await expect(dialog.getByText('Starting…')).toBeVisible();
	}
	answer();
	await page.waitForURL(/\/r\//);
	expect(sent).toEqual(['/api/runs']);
});

test('countdown pauses while the page is offline', async ({ unwind, visit }) => {
	const page = await planned(unwind, visit);
	await expect(page.getByText('Live', { exact: true })).toBeVisible();
	let sent = 0;
	await page.route('**/api/runs', (route) => {
		sent++;
		return route.continue();
	});
	await page.clock.pauseAt(Date.now() + 5_000);
	const dialog = page.getByRole('dialog');
	await page.getByRole('button', { name: 'Start teardown…' }).click();
	await dialog.getByRole('textbox').fill('bystander');
	await dialog.getByRole('button', { name: /^Start/ }).click();
	await page.clock.runFor(3_050);
	await expect(dialog.getByRole('button', { name: 'Starts in 7 s' })).toBeVisible();
	await page.context().setOffline(true);
	await expect(page.getByText('Offline', { exact: true })).toBeAttached();
	await page.clock.runFor(60_000);
	await expect(dialog.getByRole('button', { name: 'Starts in 7 s' })).toBeVisible();
	expect(sent).toBe(0);
	await page.context().setOffline(false);
	await expect(async () => {
		await page.clock.runFor(1_000);
		expect(sent).toBe(1);
	}).toPass();
	await page.waitForURL(/\/r\//);
});

test('paused run sends nothing, and the resumed run finishes', async ({ cluster, unwind, visit }) => {
	await hold(cluster, 'consortium-orderers', 'orderer-1');
	const page = await visit();
	await signIn(page, unwind.link);
	await tearDown(page, 'consortium');
	const row = (name) => page.locator('tr').filter({ hasText: name });
	const claim = row('PersistentVolumeClaim consortium-orderers/ledger-orderer-1');
	await expect(row('Namespace consortium-org1')).toContainText('Gone', { timeout: 60_000 });
	await expect(claim).toContainText('Waiting');

	await page.getByRole('button', { name: 'Pause' }).click();
	await expect(page.getByText('Paused', { exact: true })).toBeVisible();
	await expect(page.getByText('Li paused the run')).toBeVisible();
	await hold(cluster, 'consortium-orderers', 'orderer-1', null);
	// The requested deletion continues. The step that waited for it could start now, but is not requested.
	await expect(row('Pod consortium-orderers/orderer-1')).toContainText('Gone', { timeout: 60_000 });
	await expect(claim).toContainText('Waiting');
	const { body } = await cluster.request('admin', 'GET', '/api/v1/namespaces/consortium-orderers/persistentvolumeclaims/ledger-orderer-1');
	expect(body.metadata.deletionTimestamp).toBeUndefined();

	await page.getByRole('button', { name: 'Resume' }).click();
	await expect(page.getByText('Finished', { exact: true })).toBeVisible({ timeout: 60_000 });
	await expect(page.getByText('Li resumed the run')).toBeVisible();
	await expect(page.getByText('Everything to delete is gone', { exact: true })).toBeVisible();
});

test('finished run is readable after its unit is gone, after a restart and without JavaScript', async ({
	unwind,
	visit,
}) => {
	const page = await visit();
	await signIn(page, unwind.link);
	await tearDown(page, 'bystander');
	await expect(page.getByText('Finished', { exact: true })).toBeVisible({ timeout: 60_000 });
	const plan = await page.getByRole('link', { name: 'The plan' }).getAttribute('href');
	const run = page.url();
	await unwind.quit();
	await unwind.launch();
	const plain = await visit({ javaScriptEnabled: false, storageState: await page.context().storageState() });
	for (const reader of [plain, page]) {
		expect((await reader.goto(`${unwind.origin}${plan}`))?.status()).toBe(200);
		await expect(reader.getByText('bystander/report').first()).toBeVisible();
		await reader.goto(run);
		await reader.getByRole('link', { name: 'All events as text' }).click();
		await reader.waitForURL(/\/events\.txt$/);
		const lines = (await reader.locator('body').innerText()).trim().split('\n');
		for (const line of lines) expect(line).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC \S/);
		expect(lines[0]).toContain(' started the run');
		expect(lines.filter((line) => line.endsWith(' Deployment bystander/report is gone'))).toHaveLength(1);
		expect(lines.at(-1)).toContain('Everything to delete is gone');
	}
});

/** Tears the bystander down in a new browser, while a Pod of it does not end. */
async function tearDownWithHeldPod(cluster, unwind, visit) {
	const { body } = await cluster.request('admin', 'GET', '/api/v1/namespaces/bystander/pods');
	const pod = body.items[0].metadata.name;
	await hold(cluster, 'bystander', pod);
	const page = await visit();
	await signIn(page, unwind.link);
	await tearDown(page, 'bystander');
	return { page, pod };
}

test('elapsed time counts while the run is open and stops at its end', async ({ cluster, unwind, visit }) => {
	const { page, pod } = await tearDownWithHeldPod(cluster, unwind, visit);
	const run = async () => {
		const { snapshot } = await (await page.request.get(`${unwind.origin}/api${new URL(page.url()).pathname.replace('/r/', '/runs/')}`)).json();
		const { started, ended } = snapshot.records.find(({ run }) => run).run;
		return { started: Math.floor(started / 1000), ended: ended && Math.floor(ended / 1000) };
	};
	/** The elapsed time on the page, in seconds. */
	const shown = async () => {
		const [, minutes = 0, seconds] = /(?:Elapsed|objects? in) (?:(\d+) min )?(\d+) s$/.exec((await page.getByText(/^Elapsed |^\d+ objects? in /).textContent()) ?? '') ?? [];
		return Number(minutes) * 60 + Number(seconds);
	};
	const { started } = await run();
	// The server sends whole seconds, the page's clock ticks once a second, and the page rounds down.
	const off = async () => Math.abs((await shown()) - (Date.now() / 1000 - started));
	await expect.poll(off).toBeLessThan(3.5);
	const first = await shown();
	await expect.poll(shown).toBeGreaterThanOrEqual(first + 4);
	expect(await off()).toBeLessThan(3.5);

	await hold(cluster, 'bystander', pod, null);
	await expect(page.getByText('Finished', { exact: true })).toBeVisible({ timeout: 60_000 });
	const { ended } = await run();
	expect(await shown()).toBe(ended - started);
	// The age of the end still grows.
	await expect(page.getByText(/Ended ([5-9]|\d\d) s ago/)).toBeVisible();
	expect(await shown()).toBe(ended - started);
});

test('late step says for how long it has been deleted, and within what time that was expected', async ({ cluster, unwind, visit }) => {
	const { page, pod } = await tearDownWithHeldPod(cluster, unwind, visit);
	const card = page.locator('#attention').getByRole('listitem').filter({ hasText: `Pod bystander/${pod}` });
	const said = card.getByText(/^Deleting for (\d+ min )?\d+ s; expected under (\d+ min )?\d+ s$/);
	await expect(said).toBeVisible({ timeout: 90_000 });
	const times = async () => [...((await said.textContent()) ?? '').matchAll(/(?:(\d+) min )?(\d+) s/g)].map(([, minutes = 0, seconds]) => Number(minutes) * 60 + Number(seconds));
	const [first, expected] = await times();
	// The page's clock ticks once a second and rounds down.
	expect(first).toBeGreaterThanOrEqual(expected - 2);
	// The expectation stands, and the time counts.
	await expect.poll(async () => (await times())[0]).toBeGreaterThan(first + 1);
	expect((await times())[1]).toBe(expected);
	// The server says it too, for a page without a script.
	expect(await (await page.request.get(page.url())).text()).toMatch(/Deleting for [^<]*\d s; expected under [^<]*\d s/);
	await hold(cluster, 'bystander', pod, null);
	await expect(page.getByText('Finished', { exact: true })).toBeVisible({ timeout: 60_000 });
	await expect(said).toHaveCount(0);
});

refusing('skipping a step first names the steps that are skipped with it', async ({ unwind, visit }) => {
	const page = await visit();
	await signIn(page, unwind.link);
	await tearDown(page, 'consortium');
	const card = page.getByRole('listitem').filter({ hasText: 'The API server refused with 403.' }).filter({ has: page.getByRole('button', { name: 'Stop waiting for it…' }) });
	const stateful = card.filter({ hasText: 'StatefulSet consortium-orderers/orderer' });
	await expect(stateful).toBeVisible({ timeout: 30_000 });
	await expect(stateful).toContainText('tried again at once');
	const skipped = page.locator('.steps').getByRole('row').filter({ hasText: 'Skipped' });
	const dialog = page.getByRole('dialog');

	// A cancelled dialog changes nothing.
	await stateful.getByRole('button', { name: 'Stop waiting for it…' }).click();
	await expect(dialog.getByRole('heading')).toHaveText('Stop waiting for StatefulSet consortium-orderers/orderer?');
	await expect(dialog).toContainText('PersistentVolumeClaim');
	await dialog.getByRole('button', { name: 'Cancel' }).click();
	await expect(skipped).toHaveCount(0);

	await stateful.getByRole('button', { name: 'Stop waiting for it…' }).click();
	const said = await dialog.getByText(/objects wait for it and stay as well/).textContent();
	const behind = Number.parseInt(said ?? '', 10);
	expect(behind).toBeGreaterThan(1);
	await dialog.getByRole('button', { name: 'Stop waiting for it', exact: true }).click();
	await expect(skipped).toHaveCount(behind + 1);
	await expect(stateful).toHaveCount(0);

	// No deletion was accepted, so nothing is irrevocable after a stop.
	await page.getByRole('button', { name: 'Stop…' }).click();
	await expect(dialog).toContainText(/\d+ untouched · 0 requested, which cannot be undone · 0 gone/);
	await dialog.getByRole('button', { name: 'Cancel' }).click();

	while (await page.getByRole('button', { name: 'Stop waiting for it…' }).count()) {
		const left = await skipped.count();
		await page.getByRole('button', { name: 'Stop waiting for it…' }).first().click();
		await dialog.getByRole('button', { name: 'Stop waiting for it', exact: true }).click();
		await expect.poll(() => skipped.count()).toBeGreaterThan(left);
	}
	await expect(page.getByText('Finished', { exact: true })).toBeVisible();
	await expect(page.getByText(/^Everything to delete is gone except \d+ objects$/)).toBeVisible();
});
