/**
 * Takes the screenshot of the README: a run half way, on the sandbox. Some Pods are held, so that each screenshot shows the same
 * state: everything that does not wait for them is gone. Prints the progress in the screenshot.
 *
 *   node end2end/picture.mjs [FILE]
 */
import { chromium } from '@playwright/test';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { launchOptions } from './browser.mjs';
import { Client } from './cluster/client.mjs';
import { parseKubeconfig } from './cluster/kubeconfig.mjs';
import { destroyed } from './session.mjs';
import { Unwind } from './unwind.mjs';

const [file = fileURLToPath(new URL('run.png', import.meta.url))] = process.argv.slice(2);
const unit = 'consortium';
/** Whether the Pod is held. @param {{kind: string, namespace?: string, name: string}} object */
const isHeld = ({ kind, namespace, name }) =>
	kind === 'Pod' && (/^orderer-/.test(name) || (namespace === 'consortium-org1' && /^(couchdb|peer)/.test(name)));

const unwind = await Unwind.before(['--sandbox']);
const { server, tokens } = parseKubeconfig(await readFile(join(unwind.options.state, 'sandbox', 'kubeconfig'), 'utf8'));
const cluster = new Client({ server, token: tokens.get('sandbox') });
const browser = await chromium.launch(await launchOptions());
try {
	const page = await browser.newPage({ viewport: { width: 1440, height: 900 }, colorScheme: 'light' });
	await page.goto(unwind.link);
	await page.getByText('Live', { exact: true }).waitFor();
	/** @param {string} path @param {unknown} data */
	const ask = async (path, data) => {
		const answer = await page.request.post(unwind.origin + path, { data });
		if (!answer.ok()) throw new Error(`${path}: ${answer.status()} ${await answer.text()}`);
		return answer.json();
	};
	const plan = await ask('/api/plans', { unit });
	const { id, hash, steps } = plan;

	/** The steps of the held Pods, and every step that waits for them. @type {Set<number>} */
	const waits = new Set();
	for (const { id, object } of steps) {
		if (!isHeld(object)) continue;
		waits.add(id);
		const patch = { metadata: { annotations: { 'unwind.test/hold': 'silent' } } };
		const path = `/api/v1/namespaces/${object.namespace}/pods/${object.name}`;
		const { status, body } = await cluster.request('PATCH', path, patch, {
			'content-type': 'application/merge-patch+json',
		});
		if (status !== 200) throw new Error(`${path}: ${status} ${body.message}`);
	}
	for (let before = 0; before < waits.size;) {
		before = waits.size;
		for (const { id, after } of steps) if (after.some(({ step }) => waits.has(step))) waits.add(id);
	}

	const { run } = await ask('/api/runs', { plan: id, hash, confirm: unit, ...destroyed(plan) });
	await page.goto(`${unwind.origin}/r/${run}`);
	const said = `${steps.length - waits.size} of ${steps.length} gone`;
	await page.getByText(said, { exact: true }).waitFor();
	await page.getByText('Live', { exact: true }).waitFor();
	await page.screenshot({ path: file });
	process.stdout.write(`${file}: ${said}\n`);
} finally {
	await browser.close();
	cluster.close();
	await unwind.stop();
}
