/**
 * Measures Unwind on this machine against the real control plane: the time that it adds per dependency level, the latency of a
 * change from the API server's answer to the stream and to the browser, that to the sentence about a deletion, and the bytes of the
 * first load.
 *
 *   node end2end/bench.mjs
 */
import { chromium } from '@playwright/test';
import { mkdtemp } from 'node:fs/promises';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';
import { launchOptions } from './browser.mjs';
import { start } from './cluster/cluster.mjs';
import { reportLatency } from './latency.mjs';
import { destroyed } from './session.mjs';
import { Unwind } from './unwind.mjs';

const levels = 40;
const changes = 300;
const json = { 'content-type': 'application/json' };
const label = { 'app.kubernetes.io/part-of': 'bench' };
const configMaps = '/api/v1/namespaces/default/configmaps';

/** @param {number[]} sorted @param {number} share */
const quantile = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
/** @param {string} name @param {number[]} values in ms */
function report(name, values) {
	const sorted = [...values].sort((a, b) => a - b);
	const figures = [0.5, 0.9, 0.99].map((share) => `p${share * 100} ${quantile(sorted, share).toFixed(1)} ms`);
	process.stdout.write(`${name}: ${figures.join(', ')} (${values.length} samples)\n`);
}

/** A signed-in session. @param {Unwind} unwind */
async function signedIn(unwind) {
	const token = new URL(unwind.link).hash.slice('#k='.length);
	const entered = await fetch(`${unwind.origin}/api/session`, { method: 'POST', headers: json, body: JSON.stringify({ token }) });
	const cookie = entered.headers.get('set-cookie')?.split(';')[0] ?? '';
	return {
		cookie,
		/** @param {string} path @param {unknown} [body] */
		async ask(path, body) {
			const answer = await fetch(unwind.origin + path, {
				method: body === undefined ? 'GET' : 'POST',
				headers: { cookie, ...json },
				body: body === undefined ? undefined : JSON.stringify(body),
			});
			if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
			return answer.json();
		},
	};
}

/** Reads a topic; the returned function resolves with the time of the first message that passes a test. @param {string} url @param {string} cookie */
async function follow(url, cookie) {
	const answer = await fetch(url, { headers: { cookie } });
	/** @type {{test: (text: string) => boolean, resolve: (at: number) => void}[]} */
	let waiting = [];
	(async () => {
		const decoder = new TextDecoder();
		let rest = '';
		for await (const chunk of answer.body) {
			const parts = (rest + decoder.decode(chunk, { stream: true })).split('\n\n');
			rest = parts.pop() ?? '';
			const at = performance.now();
			for (const part of parts) {
				waiting = waiting.filter(({ test, resolve }) => !(test(part) && (resolve(at), true)));
			}
		}
	})().catch(() => {});
	return (test) => new Promise((resolve) => waiting.push({ test, resolve }));
}

/**
 * Opens the drawer of an object in a browser; the returned function resolves with the wall-clock time at which the document
 * contains a text.
 * @param {import('@playwright/test').Browser} browser @param {string} url @param {string} cookie
 */
async function look(browser, url, cookie) {
	const context = await browser.newContext();
	const [name, value] = cookie.split('=');
	await context.addCookies([{ name, value, url: new URL(url).origin }]);
	const page = await context.newPage();
	/** @type {Map<string, (at: number) => void>} */
	const waiting = new Map();
	await page.exposeFunction('report', (/** @type {string} */ text, /** @type {number} */ at) => {
		for (const [wanted, resolve] of waiting) {
			if (!text.includes(wanted)) continue;
			waiting.delete(wanted);
			resolve(at);
		}
	});
	await page.goto(url);
	await page.getByText('Live', { exact: true }).waitFor();
	const drawer = page.getByRole('complementary');
	await drawer.waitFor();
	await page.evaluate(() => {
		let before = '';
		const report = () => {
			const text = document.querySelector('aside')?.textContent ?? '';
			if (text !== before) window.report(text, Date.now());
			before = text;
		};
		new MutationObserver(report).observe(document.body, { subtree: true, childList: true, characterData: true });
	});
	return (/** @type {string} */ wanted) => new Promise((resolve) => waiting.set(wanted, resolve));
}

/** Fetches a document, and counts its bytes on the wire. @param {string} url @param {Record<string, string>} headers */
const loaded = (url, headers) =>
	new Promise((resolve, reject) => {
		get(url, { headers: { 'accept-encoding': 'br', accept: 'text/html', ...headers } }, async (answer) => {
			const chunks = [];
			for await (const chunk of answer) chunks.push(chunk);
			const sent = Buffer.concat(chunks);
			const body = answer.headers['content-encoding'] === 'br' ? brotliDecompressSync(sent) : sent;
			resolve({ size: sent.length, text: body.toString() });
		}).on('error', reject);
	});

/** Prints the bytes of a page and of everything that it loads. @param {string} what @param {string} url @param {Record<string, string>} headers */
async function weigh(what, url, headers) {
	const { size, text } = await loaded(url, headers);
	const named = [...text.matchAll(/<(?:link|script|use)[^>]* (?:href|src)="([^"#]+)/g)].map(([, path]) => path);
	const files = await Promise.all([...new Set(named)].map(async (path) => ({ path, ...(await loaded(new URL(path, url).href, headers)) })));
	const each = [{ path: 'HTML', size }, ...files].map(({ path, size }) => `${path.replace(/\?.*/, '')} ${size}`);
	const total = files.reduce((sum, { size }) => sum + size, size);
	process.stdout.write(`first load of ${what}: ${total} bytes as sent (${each.join(', ')})\n`);
}

const cluster = await start({ dir: await mkdtemp(join(tmpdir(), 'unwind-cluster-')) });
const unwind = await Unwind.start({ kubeconfig: cluster.kubeconfig, context: 'admin' });
const browser = await chromium.launch(await launchOptions());
try {
	const session = await signedIn(unwind);

	// A chain of owners: each level is one object that is gone when its DELETE is answered.
	let owner;
	for (let level = 0; level < levels; level += 1) {
		const ownerReferences = owner ? [{ apiVersion: 'v1', kind: 'ConfigMap', name: owner.metadata.name, uid: owner.metadata.uid }] : [];
		const metadata = { name: `level-${level}`, labels: label, ownerReferences };
		owner = (await cluster.request('admin', 'POST', configMaps, { apiVersion: 'v1', kind: 'ConfigMap', metadata })).body;
	}

	const seen = await follow(`${unwind.origin}/api/events?topic=unit:bench`, session.cookie);
	const { uid } = (await cluster.request('admin', 'GET', `${configMaps}/level-0`)).body.metadata;
	const shown = await look(browser, `${unwind.origin}/u/bench?view=list&sel=${uid}`, session.cookie);
	const [late, later] = [[], []];
	for (let change = 0; change < changes; change += 1) {
		const mark = `m${change}x`;
		const arrival = seen((text) => text.includes(`"${mark}"`));
		const sight = shown(`mark=${mark}`);
		await cluster.request('admin', 'PATCH', `${configMaps}/level-0`, { metadata: { labels: { mark } } }, { 'content-type': 'application/merge-patch+json' });
		const [answered, answeredAt] = [performance.now(), Date.now()];
		late.push(Math.max(0, (await arrival) - answered));
		later.push(Math.max(0, (await sight) - answeredAt));
	}
	report('change answered by the API server → on the stream', late);
	report('change answered by the API server → shown by a browser', later);
	const { url } = await session.ask('/api/session/link', { right: 'look' });
	if (!(await reportLatency(browser, url, (...asked) => cluster.request('admin', ...asked)))) process.exitCode = 1;
	await browser.close();
	await weigh('the sign-in page', unwind.origin, {});
	await weigh('the list of units', unwind.origin, { cookie: session.cookie });

	const plan = await session.ask('/api/plans', { unit: 'bench' });
	const { run } = await session.ask('/api/runs', { plan: plan.id, hash: plan.hash, confirm: 'bench', ...destroyed(plan) });
	const finished = await follow(`${unwind.origin}/api/events?topic=run:${run}`, session.cookie);
	await finished((text) => text.includes('"finished"'));
	const { snapshot } = await session.ask(`/api/runs/${run}`);
	const steps = snapshot.records.flatMap(({ step }) => step ?? []);
	const gone = steps.map((step) => Number(new Date(step.gone))).sort((a, b) => a - b);
	const perLevel = (gone.at(-1) - gone[0]) / (levels - 1);

	// The baseline: the same objects without proof of deletion, each DELETE sent after the answer to the one before.
	const baseline = [];
	for (let level = 0; level < levels; level += 1) {
		const metadata = { name: `level-${level}` };
		await cluster.request('admin', 'POST', configMaps, { apiVersion: 'v1', kind: 'ConfigMap', metadata });
		const asked = performance.now();
		await cluster.request('admin', 'DELETE', `${configMaps}/level-${level}`);
		baseline.push(performance.now() - asked);
	}
	report('baseline: a bare DELETE', baseline);
	const own = quantile(baseline.sort((a, b) => a - b), 0.5);
	process.stdout.write(`per dependency level: ${perLevel.toFixed(1)} ms, of which the object's own ${own.toFixed(1)} ms: `);
	process.stdout.write(`added ${(perLevel - own).toFixed(1)} ms (${steps.length} levels, goal 25 ms)\n`);
} finally {
	await browser.close();
	await unwind.stop();
	await cluster.stop();
}
