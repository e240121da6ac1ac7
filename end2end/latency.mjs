/**
 * Measures the time from a write to the API server to the sentence that it is the reason for, and to a fact that Unwind has to
 * fetch for it, in a browser that shows the page of all trouble. Part of `bench.mjs`; alone it measures the sandbox.
 *
 *   node end2end/latency.mjs
 *
 * Each sample deletes a Pod on a node without a machine, and then says of the node that it stopped reporting: a reason that is shown
 * at once and waits for no deadline. The Event about the Pod is asked for only then, because nobody asks before there is a reason.
 */
import { chromium } from '@playwright/test';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { launchOptions } from './browser.mjs';
import { Client } from './cluster/client.mjs';
import { parseKubeconfig } from './cluster/kubeconfig.mjs';
import { Unwind } from './unwind.mjs';

/** The number of samples, and the longest time in ms for 99 of 100 of them. */
const samples = 100;
export const longest = 2_000;

const node = 'machine-1';
const namespace = '/api/v1/namespaces/default';
const merge = { 'content-type': 'application/merge-patch+json' };

/**
 * The times in ms from the API server's answer to the sentence, and to the sentence with what was fetched.
 * @param {import('@playwright/test').Browser} browser @param {string} link signs the browser in
 * @param {(method: string, path: string, body?: unknown, headers?: Record<string, string>) => Promise<{status: number, body: any}>} request
 */
export async function measure(browser, link, request) {
	/** @type {typeof request} */
	const send = async (method, path, body, headers) => {
		const answer = await request(method, path, body, headers);
		if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
		return answer;
	};
	/** @param {'True' | 'Unknown'} status */
	const report = (status) => {
		const now = new Date().toISOString();
		const reason = status === 'True' ? 'KubeletReady' : 'NodeStatusUnknown';
		const ready = { type: 'Ready', status, reason, message: '', lastHeartbeatTime: now, lastTransitionTime: now };
		return send('PATCH', `/api/v1/nodes/${node}/status`, { status: { conditions: [ready] } }, merge);
	};
	const taints = [{ key: 'bench', value: 'own', effect: 'NoSchedule' }];
	await send('POST', '/api/v1/nodes', { apiVersion: 'v1', kind: 'Node', metadata: { name: node }, spec: { taints } });
	await report('True');
	const spec = {
		nodeName: node,
		terminationGracePeriodSeconds: 1,
		tolerations: [{ operator: 'Exists' }],
		containers: [{ name: 'main', image: 'registry.example/main:1' }],
	};
	const running = { name: 'main', image: 'registry.example/main:1', imageID: '', ready: true, restartCount: 0, state: { running: {} } };
	/** A Pod on the node that is being deleted, with an Event about it. @param {string} name @param {string} message */
	const held = async (name, message) => {
		const { body: pod } = await send('POST', `${namespace}/pods`, { apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec });
		await send('PATCH', `${namespace}/pods/${name}/status`, { status: { phase: 'Running', containerStatuses: [running] } }, merge);
		await send('POST', `${namespace}/events`, {
			apiVersion: 'v1',
			kind: 'Event',
			metadata: { name: `${name}.1` },
			involvedObject: { apiVersion: 'v1', kind: 'Pod', namespace: 'default', name, uid: pod.metadata.uid },
			type: 'Warning',
			reason: 'NodeNotReady',
			source: { component: 'node-controller' },
			lastTimestamp: new Date().toISOString(),
			message,
		});
		await send('DELETE', `${namespace}/pods/${name}`);
	};

	const context = await browser.newContext();
	const page = await context.newPage();
	await page.goto(link);
	await page.getByText('Live', { exact: true }).waitFor();
	await page.getByRole('link', { name: 'Trouble' }).click();
	await page.getByRole('heading', { name: 'Trouble', level: 1 }).waitFor();
	const sentence = `Node ${node} stopped reporting`;
	/** @type {number[]} */
	const sentences = [];
	/** @type {number[]} */
	const facts = [];
	for (let sample = 0; sample < samples; sample += 1) {
		const [name, fact] = [`held-${sample}`, `look number ${sample}.`];
		await held(name, fact);
		const seen = page.evaluate(whenSeen, { sentence, fact });
		await report('Unknown');
		const answered = Date.now();
		const at = await seen;
		sentences.push(Math.max(0, at.sentence - answered));
		facts.push(Math.max(0, at.fact - answered));
		await send('DELETE', `${namespace}/pods/${name}`, { gracePeriodSeconds: 0 });
		await report('True');
		await page.waitForFunction(isGone, sentence);
	}
	await context.close();
	await send('DELETE', `/api/v1/nodes/${node}`);
	return { sentences, facts };
}

/** Runs in the page: the times at which a card says the sentence, and at which it has the fact, once it is opened. @param {{sentence: string, fact: string}} wanted */
function whenSeen({ sentence, fact }) {
	return new Promise((/** @type {(at: {sentence: number, fact: number}) => void} */ resolve) => {
		const plain = (/** @type {Element | null} */ it) => (it?.textContent ?? '').replace(/[\u2066-\u2069]/g, '');
		let first = 0;
		const look = () => {
			for (const card of document.querySelectorAll('details.diagnosis')) {
				if (!plain(card.querySelector('summary')).includes(sentence)) continue;
				first ||= Date.now();
				/** @type {HTMLDetailsElement} */ (card).open = true;
				if (!plain(card).includes(fact)) continue;
				observer.disconnect();
				resolve({ sentence: first, fact: Date.now() });
				return;
			}
		};
		const observer = new MutationObserver(look);
		observer.observe(document.body, { subtree: true, childList: true, characterData: true });
		look();
	});
}

/** Runs in the page: whether no card says the sentence. @param {string} sentence */
function isGone(sentence) {
	const cards = [...document.querySelectorAll('details.diagnosis summary')];
	return cards.every((card) => !(card.textContent ?? '').replace(/[\u2066-\u2069]/g, '').includes(sentence));
}

/** Median, 99 of 100, longest. @param {number[]} times */
export function figures(times) {
	const sorted = [...times].sort((a, b) => a - b);
	const at = (/** @type {number} */ share) => sorted[Math.ceil(sorted.length * share) - 1];
	return { p50: at(0.5), p99: at(0.99), most: at(1) };
}

/** Measures, prints the figures, and says whether they are within their limit. @param {Parameters<typeof measure>} what */
export async function reportLatency(...what) {
	const { sentences, facts } = await measure(...what);
	for (const [name, times] of Object.entries({ 'its sentence': sentences, 'its sentence with what was fetched': facts })) {
		const { p50, p99, most } = figures(times);
		process.stdout.write(`a write's answer → ${name} in the browser: p50 ${p50} ms, p99 ${p99} ms, longest ${most} ms `);
		process.stdout.write(`(${times.length} samples, goal p99 ${longest} ms)\n`);
	}
	return figures(facts).p99 <= longest;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
	const unwind = await Unwind.before(['--sandbox', 's4']);
	const browser = await chromium.launch(await launchOptions());
	const { server, tokens } = parseKubeconfig(await readFile(join(unwind.options.state, 'sandbox', 'kubeconfig'), 'utf8'));
	const client = new Client({ server, token: tokens.get('sandbox') });
	try {
		const isWithin = await reportLatency(browser, unwind.link, (...asked) => client.request(...asked));
		process.exitCode = isWithin ? 0 : 1;
	} finally {
		client.close();
		await browser.close();
		await unwind.stop();
	}
}
