/**
 * The Playwright fixtures: a cluster with the sample application, the program in front of it, and pages that fail their test
 * when the browser reports a problem. Also steps that several tests share.
 */
import { test as base, expect } from '@playwright/test';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { start } from './cluster/cluster.mjs';
import { Sandbox } from './sandbox.mjs';
import { Unwind } from './unwind.mjs';

export { expect };

/**
 * Messages of the browser that are not failures: a server or network that is down, which some tests cause, and refusals that the
 * page explains: 401, 404, 409, and 503 until the cluster has been read.
 */
const expected =
	/net::ERR_(CONNECTION_REFUSED|INCOMPLETE_CHUNKED_ENCODING|CONNECTION_RESET|EMPTY_RESPONSE|CONNECTION_CLOSED|INTERNET_DISCONNECTED)|status of (401|404|409|503)/;

/**
 * The messages about a file that a killed program was sending, or was about to be asked for, such as the icon, which a browser loads
 * late; and the time after the kill in which they may come, in ms.
 */
const cut = { text: /net::ERR_(CONTENT_LENGTH_MISMATCH|SOCKET_NOT_CONNECTED)/, within: 5_000 };

/**
 * Collects the problems that the browser reports on a page: errors, hydration warnings, violations of the content security policy.
 * @param {import('@playwright/test').Page} page @param {string[]} problems
 */
function listen(page, problems) {
	page.on('pageerror', (error) => problems.push(`uncaught: ${error}`));
	page.on('console', (message) => {
		const text = message.text();
		const isCut = cut.text.test(text) && performance.now() - Unwind.killed < cut.within;
		if (!['error', 'warning'].includes(message.type()) || expected.test(text) || isCut) return;
		problems.push(`${message.type()}: ${text} ${message.location().url}`);
	});
}

export const test = base.extend({
	/** The cluster: `real`, a control plane with an audit log for the judge, or `sandbox`. */
	backend: ['sandbox', { option: true }],
	/** A cluster with the sample application, for one test. */
	cluster: async ({ backend }, use) => {
		const real = async () => start({ dir: await mkdtemp(join(tmpdir(), 'unwind-cluster-')), sample: true });
		const cluster = await (backend === 'real' ? real() : Sandbox.start());
		await use(cluster);
		await cluster.stop();
	},
	/** The user whose rights the program has. */
	rights: ['developer', { option: true }],
	/** The program in front of it. */
	unwind: async ({ cluster, rights }, use) => {
		const unwind = await Unwind.start({ kubeconfig: cluster.kubeconfig, context: rights });
		await use(unwind);
		await unwind.stop();
	},
	/**
	 * Opens a page for another person, with a separate browser profile. At the end no page may have reported a problem, except a
	 * page that the test breaks.
	 */
	visit: async ({ browser }, use) => {
		const contexts = [];
		const problems = [];
		await use(async ({ breaks = false, ...options } = {}) => {
			const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
			contexts.push(context);
			const page = await context.newPage();
			// Without scripts the browser reports that their preloaded files are unused.
			if (options.javaScriptEnabled !== false && !breaks) listen(page, problems);
			return page;
		});
		for (const context of contexts) await context.close();
		expect(problems, 'problems that the browser reported').toEqual([]);
	},
});

/**
 * Gives a page a clock that the test moves. The clock's timers have ids beyond 32 bits, which the page cannot store, so they
 * get smaller ones.
 * @param {import('@playwright/test').Page} page
 */
export async function ownTime(page) {
	await page.clock.install();
	await page.addInitScript(() => {
		/** @type {Map<number, number>} */
		const timers = new Map();
		for (const what of ['Timeout', 'Interval']) {
			const [start, stop] = [window[`set${what}`], window[`clear${what}`]];
			window[`set${what}`] = (...given) => timers.set(timers.size + 1, start(...given)) && timers.size;
			window[`clear${what}`] = (number) => stop(timers.get(number) ?? number);
		}
	});
}

/** Signs in a browser with the printed link. @param {import('@playwright/test').Page} page @param {string} link */
export async function signIn(page, link) {
	await page.goto(link);
	await expect(page.getByRole('heading', { name: 'Units', level: 1 })).toBeVisible();
	await expect(page.getByText('Live', { exact: true })).toBeVisible();
	// Until then no plan can be made.
	await expect(page.getByText('Still reading the cluster')).toBeHidden();
}

/**
 * Creates a sign-in link for another browser.
 * @param {import('@playwright/test').Page} page @param {{right?: 'look' | 'act', name?: string}} guest
 */
export async function anotherLink(page, guest = {}) {
	const data = { right: 'act', ...guest };
	const made = await page.request.post(`${new URL(page.url()).origin}/api/session/link`, { data });
	expect(made.status()).toBe(201);
	return (await made.json()).url;
}

/**
 * Keeps a Pod terminating, or releases it with null.
 * @param {{request: Sandbox['request']}} cluster @param {string} namespace @param {string} name @param {'silent' | null} how
 */
export async function hold(cluster, namespace, name, how = 'silent') {
	const path = `/api/v1/namespaces/${namespace}/pods/${name}`;
	const patch = { metadata: { annotations: { 'unwind.test/hold': how } } };
	const { status } = await cluster.request('admin', 'PATCH', path, patch, {
		'content-type': 'application/merge-patch+json',
	});
	expect(status).toBe(200);
}

/** Ticks every volume that is destroyed. @param {import('@playwright/test').Locator} dialog */
export async function tickAll(dialog) {
	await expect(dialog).toBeVisible();
	for (const tick of await dialog.getByRole('checkbox').all()) await tick.check();
}

/** From the units to a running teardown. @param {import('@playwright/test').Page} page @param {string} unit */
export async function tearDown(page, unit) {
	await page.getByRole('link', { name: unit, exact: true }).click();
	await expect(page.getByRole('heading', { name: unit, level: 1 })).toBeVisible();
	await page.getByRole('button', { name: 'Plan teardown…' }).click();
	await confirm(page, unit);
}

/** From a plan to a running teardown. @param {import('@playwright/test').Page} page @param {string} unit */
export async function confirm(page, unit) {
	await expect(page.getByRole('heading', { name: `Teardown of ${unit}` })).toBeVisible();
	await page.getByRole('button', { name: 'Start teardown…' }).click();
	const dialog = page.getByRole('dialog');
	await tickAll(dialog);
	await dialog.getByRole('textbox').fill(unit);
	await dialog.getByRole('button', { name: /^(Start|Tear)/ }).click();
	await expect(dialog.getByText('Nothing has been sent yet.')).toBeVisible();
	await page.waitForURL(/\/r\//);
}
