/**
 * Takes screenshots of every route at three widths, light and dark, on the sandbox: to be looked at after a change of the page, and
 * never committed. Each route also gets a sheet with all of its screenshots.
 *
 *   node end2end/screenshots.mjs FOLDER [ROUTE…]
 */
import { chromium } from '@playwright/test';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { launchOptions } from './browser.mjs';
import { Client } from './cluster/client.mjs';
import { parseKubeconfig } from './cluster/kubeconfig.mjs';
import { destroyed } from './session.mjs';
import { cardOf, choose, confirm, start as play } from './story.mjs';
import { Unwind } from './unwind.mjs';

const [folder, ...wanted] = process.argv.slice(2);
if (!folder) {
	process.stderr.write('usage: node end2end/screenshots.mjs FOLDER [ROUTE…]\n');
	process.exit(2);
}
const [widths, schemes] = [[1440, 1024, 390], /** @type {const} */ (['light', 'dark'])];
/** A phone shows a long page in many screens; a screenshot ends after a few of them. */
const longest = 2_400;
const held = '/api/v1/namespaces/consortium-orderers/pods/orderer-1';

await mkdir(folder, { recursive: true });
const unwind = await Unwind.before(['--sandbox', '--allow-remedies']);
const { server, tokens } = parseKubeconfig(await readFile(join(unwind.options.state, 'sandbox', 'kubeconfig'), 'utf8'));
const cluster = new Client({ server, token: tokens.get('sandbox') });
const browser = await chromium.launch(await launchOptions());
try {
	const first = await browser.newPage();
	await first.goto(unwind.link);
	await first.getByText('Live', { exact: true }).waitFor();
	/** @param {string} path @param {unknown} [data] */
	const ask = async (path, data) => {
		const answer = await (data ? first.request.post(unwind.origin + path, { data }) : first.request.get(unwind.origin + path));
		if (!answer.ok()) throw new Error(`${path}: ${answer.status()} ${await answer.text()}`);
		return answer.json();
	};
	// A finished run, a run that waits for a Pod, and a deletion outside of any run that does not end.
	await first.getByText('Sandbox.').click();
	await first.getByRole('button', { name: 'Time ×10' }).click();
	await first.getByRole('button', { name: /^S4:/ }).click();
	const start = async (/** @type {string} */ unit) => {
		const plan = await ask('/api/plans', { unit });
		const confirmed = { plan: plan.id, hash: plan.hash, confirm: unit, ...destroyed(plan) };
		return { plan: plan.id, ...(await ask('/api/runs', confirmed)) };
	};
	const finished = await start('shop');
	const hold = { metadata: { annotations: { 'unwind.test/hold': 'silent' } } };
	await cluster.request('PATCH', held, hold, { 'content-type': 'application/merge-patch+json' });
	const planned = await ask('/api/plans', { unit: 'consortium' });
	const open = await start('consortium');
	await first.goto(`${unwind.origin}/r/${finished.run}`);
	await first.getByText('Finished', { exact: true }).waitFor({ timeout: 120_000 });
	await first.goto(`${unwind.origin}/r/${open.run}`);
	await first.getByRole('heading', { name: 'Why it waits' }).waitFor({ timeout: 120_000 });
	const { snapshot } = await ask('/api/units/consortium');
	const selected = snapshot.records.find((/** @type {any} */ { object }) => object?.object.name === 'orderer-1').object.uid;

	/** @type {Record<string, string>} */
	const routes = {
		units: '/',
		map: '/u/s5?view=map',
		list: '/u/s5?view=list',
		drawer: `/u/consortium?view=list&sel=${selected}`,
		plan: `/u/consortium/plan/${planned.id}`,
		run: `/r/${open.run}`,
		'run-map': `/r/${open.run}?view=map`,
		'finished-run': `/r/${finished.run}`,
		trouble: '/trouble',
		journal: '/journal',
		notifications: '/notifications',
		'not-found': '/nowhere',
		'switched-off': '/switched-off',
		'signed-out': '/',
	};
	// Marks a node out of service, which the banner of every later page says.
	const switchOff = async () => {
		await first.goto(`${unwind.origin}/trouble`);
		const bar = first.getByRole('group').filter({ hasText: 'nothing real is touched' });
		await bar.getByText('Sandbox.').click();
		await play(bar, /^S5:/);
		const card = await cardOf(first, /^Node node-a stopped reporting/);
		// Leases were looked at before the loss of power, so the last renewal before it may still be news. Nothing is offered until then.
		await card.getByText(/^Lease kube-node-lease\/node-a has not been renewed/).waitFor({ timeout: 90_000 });
		await confirm(await choose(card, /out of service/), 'node-a is off, Li saw it in the rack');
		await first.locator('.banner').filter({ hasText: 'switched off' }).waitFor({ timeout: 60_000 });
	};
	const storageState = await first.context().storageState();
	for (const [name, path] of Object.entries(routes)) {
		if (wanted.length > 0 && !wanted.includes(name)) continue;
		if (name === 'switched-off') await switchOff();
		/** @type {string[]} */
		const shots = [];
		for (const colorScheme of schemes) {
			const isOut = name === 'signed-out';
			const context = await browser.newContext({ colorScheme, ...(isOut ? {} : { storageState }) });
			const page = await context.newPage();
			for (const width of widths) {
				await page.setViewportSize({ width, height: width < 500 ? 844 : 900 });
				await page.goto(unwind.origin + path);
				if (!isOut && !['not-found', 'journal', 'notifications', 'switched-off'].includes(name)) await page.getByText('Live', { exact: true }).waitFor();
				await page.waitForLoadState('load');
				const height = Math.min(longest, await page.evaluate(() => document.documentElement.scrollHeight));
				const taken = await page.screenshot({ path: join(folder, `${name}-${width}-${colorScheme}.png`), fullPage: true, clip: { x: 0, y: 0, width, height } });
				shots.push(`<img width="${width / 2}" src="data:image/png;base64,${taken.toString('base64')}">`);
			}
			await context.close();
		}
		const sheet = await browser.newPage({ viewport: { width: 1480, height: 800 } });
		const style = 'body{margin:0;background:#888;display:flex;flex-wrap:wrap;align-items:start;gap:8px}';
		await sheet.setContent(`<style>${style}</style>${shots.join('')}`);
		await sheet.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
		await sheet.close();
		process.stdout.write(`${name}\n`);
	}
} finally {
	await browser.close();
	cluster.close();
	await unwind.stop();
}
