/**
 * The stream of a tab: its backoff after a refusal, the detection of a silent connection, and hidden tabs, which close their stream
 * and reopen it. All times are measured by the clock of the page.
 */
import { expect, ownTime, signIn, test } from './fixtures.mjs';

test.use({ rights: 'admin' });

const label = 'app.kubernetes.io/part-of';
/** An object of the unit `late`. @param {number} number */
const late = (number) => ({
	apiVersion: 'v1',
	kind: 'ConfigMap',
	metadata: { name: `late-${number}`, namespace: 'bystander', labels: { [label]: 'late' } },
});

/** The same times as in app/src/state/live.rs, in ms. */
const [shortest, longest, silence, hidden] = [500, 15_000, 25_000, 60_000];
/** The interval at which the page checks its clock, plus the delay of a timer on a busy machine. */
const look = 2_000;

/**
 * One stream, with times by the clock of the page.
 * @typedef {{url: string, opened: number, received: number, refused?: number, closed?: number}} Stream
 */

/**
 * Makes a page record each stream that it opens.
 * @param {import('@playwright/test').Page} page
 */
const noteStreams = (page) =>
	page.addInitScript(() => {
		const streams = Object.assign(window, { streams: /** @type {Stream[]} */ ([]) }).streams;
		window.EventSource = class extends EventSource {
			/** @param {string} url */
			constructor(url) {
				super(url);
				this.noted = { url, opened: Date.now(), received: Date.now() };
				streams.push(this.noted);
				for (const name of ['open', 'snapshot', 'delta', 'ping', 'bye'])
					this.addEventListener(name, () => (this.noted.received = Date.now()));
				this.addEventListener(
					'error',
					() => this.readyState === EventSource.CLOSED && (this.noted.refused = Date.now()),
				);
			}
			close() {
				super.close();
				this.noted.closed ??= Date.now();
			}
		};
	});

/**
 * Makes a page lose the next delta of its stream once `lose` is set, as if the network had dropped it.
 * @param {import('@playwright/test').Page} page
 */
const loseDeltas = (page) =>
	page.addInitScript(() => {
		window.EventSource = class extends EventSource {
			/** @param {string} url */
			constructor(url) {
				super(url);
				// Runs before the listeners of the page.
				this.addEventListener('delta', (event) => {
					if (!(/** @type {any} */ (window).lose)) return;
					Object.assign(window, { lose: false, lost: event.data });
					event.stopImmediatePropagation();
				});
			}
		};
	});

/** @param {import('@playwright/test').Page} page @returns {Promise<Stream[]>} */
const streams = (page) => page.evaluate(() => /** @type {any} */ (window).streams);
/** @param {import('@playwright/test').Page} page */
const last = async (page) => /** @type {Stream} */ ((await streams(page)).at(-1));
/** @param {import('@playwright/test').Page} page */
const now = (page) => page.evaluate(() => Date.now());
/** @param {import('@playwright/test').Page} page */
const live = (page) => page.getByText('Live', { exact: true });

/** Hides the tab, as if another one were opened, or shows it again. @param {import('@playwright/test').Page} page @param {boolean} hidden */
const turn = (page, hidden) =>
	page.evaluate((hidden) => {
		Object.defineProperty(document, 'hidden', { configurable: true, get: () => hidden });
		document.dispatchEvent(new Event('visibilitychange', { bubbles: true }));
	}, hidden);

test('refused stream reconnects with exponential backoff and jitter, without end', async ({
	unwind,
	visit,
}) => {
	const page = await visit();
	await ownTime(page);
	await noteStreams(page);
	await signIn(page, unwind.link);
	await page.clock.pauseAt(Date.now() + 60_000);
	await page.route('**/api/events*', (route) => route.fulfill({ status: 503 }));
	const tries = 10;
	/** The delays, with a fixed random number or with random ones. @param {number} [lot] */
	const pauses = async (lot) => {
		const script = lot === undefined ? undefined : await page.addInitScript((lot) => (Math.random = () => lot), lot);
		await page.goto(unwind.origin);
		await expect.poll(async () => (await streams(page)).length).toBe(1);
		while ((await streams(page)).length <= tries) {
			await expect.poll(async () => (await last(page)).refused).toBeDefined();
			await page.clock.runFor(longest);
		}
		await script?.dispose();
		const tried = await streams(page);
		return tried.slice(1, tries + 1).map(({ opened }, i) => opened - /** @type {number} */ (tried[i].refused));
	};
	const grown = Array.from({ length: tries }, (_, i) => Math.min(shortest * 2 ** i, longest));

	expect(await pauses(0)).toEqual(grown.map((pause) => pause / 2));
	expect(await pauses(0.5)).toEqual(grown);
	expect(await pauses(1 - 2 ** -20)).toEqual(grown.map((pause) => (pause * 1.5 > longest ? longest : pause * 1.5 - 1)));
	const drawn = await pauses();
	const shares = drawn.map((pause, i) => pause / grown[i]);
	for (const share of shares) {
		expect(share).toBeGreaterThanOrEqual(0.49);
		expect(share).toBeLessThanOrEqual(1.5);
	}
	expect(new Set(shares).size).toBeGreaterThan(3);
	expect(Math.max(...drawn)).toBeLessThanOrEqual(longest);
});

test('silent stream is detected, closed, reopened and caught up with', async ({
	cluster,
	unwind,
	visit,
}) => {
	const page = await visit();
	await ownTime(page);
	await noteStreams(page);
	await signIn(page, unwind.link);
	const before = (await streams(page)).length;
	// The connection stays open; the server is suspended.
	await unwind.suspend();
	const { received } = await last(page);
	await page.clock.runFor(received + silence - 3 * look - (await now(page)));
	expect(await streams(page)).toHaveLength(before);
	expect((await last(page)).closed).toBeUndefined();
	await expect(live(page)).toBeVisible();

	await page.clock.runFor(4 * look);
	await expect.poll(async () => (await streams(page))[before - 1].closed).toBeDefined();
	const { closed = 0 } = (await streams(page))[before - 1];
	expect(closed - received).toBeGreaterThan(silence);
	expect(closed - received).toBeLessThan(silence + look);
	await expect(page.getByText(/^(Reconnecting|Stale)/)).toBeVisible();
	// The stream had delivered data, so the pause is the shortest.
	await page.clock.runFor(shortest * 1.5);
	expect(await streams(page)).toHaveLength(before + 1);
	const { url, opened } = await last(page);
	expect(opened - closed).toBeLessThan(shortest * 1.5 + look);
	expect(url).toMatch(/&after=/);

	// A new stream without an answer is closed as well.
	await page.clock.runFor(silence + look);
	expect((await streams(page))[before].closed).toBeDefined();
	await page.clock.runFor(longest);
	expect((await streams(page)).length).toBeGreaterThan(before + 1);
	await cluster.apply([late(1)]);
	unwind.resume();
	await expect(live(page)).toBeVisible();
	await expect(page.getByText(/^Caught up/)).toBeAttached();
	await expect(page.getByRole('link', { name: 'late', exact: true })).toBeVisible();
});

test('tab hidden for a minute closes its stream and resumes from its revision once it is visible', async ({
	cluster,
	unwind,
	visit,
}) => {
	const page = await visit();
	await ownTime(page);
	await noteStreams(page);
	await signIn(page, unwind.link);
	const before = (await streams(page)).length;

	// A tab that becomes visible in time keeps its stream, even many times in a row.
	for (let visit = 1; visit <= 4; visit += 1) {
		await turn(page, true);
		await page.clock.runFor(20_000);
		const { received } = await last(page);
		await cluster.apply([late(visit)]);
		await expect.poll(async () => (await last(page)).received).toBeGreaterThan(received);
		await turn(page, false);
	}
	expect(await streams(page)).toHaveLength(before);
	await expect(live(page)).toBeVisible();

	const left = await now(page);
	await turn(page, true);
	await page.clock.runFor(hidden - 3 * look);
	expect((await last(page)).closed).toBeUndefined();
	await page.clock.runFor(4 * look);
	const { closed = 0 } = await last(page);
	expect(closed - left).toBeGreaterThanOrEqual(hidden);
	expect(closed - left).toBeLessThan(hidden + 2 * look);
	let asked = 0;
	page.on('request', () => asked++);
	await page.clock.runFor(600_000);
	await cluster.apply([late(5)]);
	expect(await streams(page)).toHaveLength(before);
	expect(asked).toBe(0);

	await turn(page, false);
	expect(await streams(page)).toHaveLength(before + 1);
	expect((await last(page)).url).toMatch(/&after=/);
	await expect(live(page)).toBeVisible();
	const row = page.getByRole('row').filter({ has: page.getByRole('link', { name: 'late', exact: true }) });
	await expect(row).toContainText('5');
});

test('eight open tabs all load, and requests from each are answered', async ({ unwind, visit }) => {
	const page = await visit();
	await signIn(page, unwind.link);
	const tabs = [page];
	while (tabs.length < 8) {
		// Over HTTP/1.1 a browser opens at most six connections to a host. If all were streams, this request would wait.
		const tab = await page.context().newPage();
		await tab.goto(unwind.origin, { timeout: 15_000 });
		await expect(live(tab)).toBeVisible();
		tabs.push(tab);
	}
	for (const tab of tabs) {
		const asked = tab.evaluate(async () => (await fetch('/api/units')).status);
		expect(await asked).toBe(200);
	}
	// Tabs that gave up their stream for a newer tab become live again, one after the other.
	for (const tab of tabs) await expect(live(tab)).toBeVisible({ timeout: 30_000 });
});

test('lost delta is detected at the next one, and a new snapshot is requested', async ({
	cluster,
	unwind,
	visit,
}) => {
	const page = await visit();
	await noteStreams(page);
	await loseDeltas(page);
	await cluster.apply([late(1)]);
	await signIn(page, unwind.link);
	await page.goto(`${unwind.origin}/u/late?view=list`);
	const shown = (/** @type {number} */ number) => page.getByRole('link', { name: `ConfigMap ${late(number).metadata.name}`, exact: true });
	await expect(shown(1)).toBeVisible();
	await expect(live(page)).toBeVisible();
	const before = (await streams(page)).length;

	await page.evaluate(() => Object.assign(window, { lose: true }));
	await cluster.apply([late(2)]);
	await expect.poll(() => page.evaluate(() => /** @type {any} */ (window).lost ?? '')).toContain('late-2');
	await expect(shown(2)).toBeHidden();
	expect(await streams(page)).toHaveLength(before);

	await cluster.apply([late(3)]);
	for (const number of [1, 2, 3]) await expect(shown(number)).toBeVisible();
	const [first, second, ...more] = (await streams(page)).slice(before - 1);
	expect(first.closed).toBeDefined();
	// Without a revision, because the state of the page differs from what the server sent.
	expect(second.url).not.toContain('after=');
	expect(more).toEqual([]);
	await expect(live(page)).toBeVisible();
});

/**
 * Replaces the data of events of a kind while `window.garbled` has that kind.
 * @param {import('@playwright/test').Page} page
 */
const garble = (page) =>
	page.addInitScript(() => {
		window.EventSource = class extends EventSource {
			/** @param {string} url */
			constructor(url) {
				super(url);
				const garbled = /** @type {any} */ (window).garbled ?? {};
				for (const name of Object.keys(garbled)) {
					this.addEventListener(name, (event) => {
						const data = /** @type {any} */ (window).garbled[name];
						if (data === undefined || !event.isTrusted) return;
						event.stopImmediatePropagation();
						this.dispatchEvent(new MessageEvent(name, { data }));
					});
				}
			}
		};
	});

test('stream of another build disables the buttons and offers to reload', async ({ unwind, visit }) => {
	const page = await visit();
	await garble(page);
	await signIn(page, unwind.link);
	await page.addInitScript(() => Object.assign(window, { garbled: { build: '{"build":"0123456789abcdef"}' } }));
	await page.goto(`${unwind.origin}/u/bystander`);
	await expect(page.getByText('The server was updated.')).toBeVisible();
	await expect(page.getByRole('button', { name: 'Reload' })).toBeVisible();
	await expect(page.getByRole('button', { name: 'Plan teardown…' })).toBeDisabled();
});

test('unreadable message is reported, disables the buttons, and is requested again with backoff', async ({
	cluster,
	unwind,
	visit,
}) => {
	const page = await visit();
	await ownTime(page);
	await page.addInitScript(() => Object.assign(window, { garbled: { delta: undefined } }));
	await garble(page);
	await noteStreams(page);
	await cluster.apply([late(1)]);
	await signIn(page, unwind.link);
	await page.goto(`${unwind.origin}/u/late?view=list`);
	await expect(live(page)).toBeVisible();
	await expect(page.getByRole('button', { name: 'Plan teardown…' })).toBeEnabled();
	const before = (await streams(page)).length;

	await page.evaluate(() => Object.assign(window, { garbled: { delta: '{"delta":{"put":[{"novelty":{}}]}}' } }));
	await cluster.apply([late(2)]);
	await expect(page.getByText('Cannot read the server’s messages').first()).toBeVisible();
	await expect(page.getByRole('button', { name: 'Plan teardown…' })).toBeDisabled();
	// Within a minute the backoff allows only a few streams, and each resumes from the revision of the page.
	for (let second = 0; second < 60; second++) await page.clock.runFor(1_000);
	const opened = (await streams(page)).slice(before);
	expect(opened.length).toBeGreaterThan(1);
	expect(opened.length).toBeLessThan(16);
	for (const { url } of opened) expect(url).toMatch(/&after=/);
	await expect(live(page)).toBeHidden();

	await page.evaluate(() => Object.assign(window, { garbled: { delta: undefined } }));
	await page.getByRole('button', { name: 'Try now' }).click();
	await expect(live(page)).toBeVisible();
	await expect(page.getByRole('link', { name: 'ConfigMap late-2', exact: true })).toBeVisible();
});
