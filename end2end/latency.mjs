/**
 * Measures the time from a write to the API server to the sentence that it is the reason for, and to a fact that Unwind has to
 * fetch for it, in a browser that shows the page of all trouble. Part of `bench.mjs`; alone it measures the sandbox.
 *
 *   node end2end/latency.mjs
 *
 * Each situation is a reason that is shown at once and waits for no deadline: a node that stops reporting under a Pod, a claim that
 * is deleted while a Pod uses it, and a namespace whose content a dead webhook refuses. What is fetched is an Event, and for the
 * webhook the endpoints behind its Service; both are asked for only once there is a reason.
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

/** @typedef {(method: string, path: string, body?: unknown, headers?: Record<string, string>) => Promise<{status: number, body: any}>} Send */

/**
 * A reason for which deletions wait. `before` and `after` are done around each sample, and `write` is the one whose
 * answer starts the clock.
 * @typedef {object} Situation
 * @property {string} is
 * @property {(sample: number) => string} sentence a part of what the card says
 * @property {(sample: number) => string} fact a part of what was fetched
 * @property {(send: Send, sample: number) => Promise<void>} [before]
 * @property {(send: Send, sample: number) => Promise<unknown>} write
 * @property {(send: Send, sample: number) => Promise<void>} after
 */

const running = { name: 'main', image: 'registry.example/main:1', imageID: '', ready: true, restartCount: 0, state: { running: {} } };

const onNode = {
	nodeName: node,
	terminationGracePeriodSeconds: 1,
	tolerations: [{ operator: 'Exists' }],
	containers: [{ name: 'main', image: 'registry.example/main:1' }],
};

/** @param {Send} send @param {{kind: string, name: string, uid: string}} object @param {string} reason @param {string} message */
const tell = (send, { kind, name, uid }, reason, message) =>
	send('POST', `${namespace}/events`, {
		apiVersion: 'v1',
		kind: 'Event',
		metadata: { name: `${name}.1` },
		involvedObject: { apiVersion: 'v1', kind, namespace: 'default', name, uid },
		type: 'Warning',
		reason,
		source: { component: 'bench' },
		lastTimestamp: new Date().toISOString(),
		message,
	});

/** @param {Send} send @param {'True' | 'Unknown'} status */
const report = (send, status) => {
	const now = new Date().toISOString();
	const reason = status === 'True' ? 'KubeletReady' : 'NodeStatusUnknown';
	const ready = { type: 'Ready', status, reason, message: '', lastHeartbeatTime: now, lastTransitionTime: now };
	return send('PATCH', `/api/v1/nodes/${node}/status`, { status: { conditions: [ready] } }, merge);
};

/** @type {Situation} */
const silentNode = {
	is: 'a node stops reporting',
	sentence: () => `Node ${node} stopped reporting`,
	fact: (sample) => `look number ${sample}.`,
	async before(send, sample) {
		const name = `held-${sample}`;
		const { body: pod } = await send('POST', `${namespace}/pods`, { apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec: onNode });
		await send('PATCH', `${namespace}/pods/${name}/status`, { status: { phase: 'Running', containerStatuses: [running] } }, merge);
		await tell(send, { kind: 'Pod', name, uid: pod.metadata.uid }, 'NodeNotReady', this.fact(sample));
		await send('DELETE', `${namespace}/pods/${name}`);
	},
	write: (send) => report(send, 'Unknown'),
	async after(send, sample) {
		await send('DELETE', `${namespace}/pods/held-${sample}`, { gracePeriodSeconds: 0 });
		await report(send, 'True');
	},
};

/** @type {Situation} */
const claim = {
	is: 'a claim that a Pod uses',
	sentence: (sample) => `in use by Pod default/user-${sample}`,
	fact: (sample) => `claim number ${sample}.`,
	async before(send, sample) {
		const claims = `${namespace}/persistentvolumeclaims`;
		const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, storageClassName: '' };
		const metadata = { name: `data-${sample}` };
		const { body } = await send('POST', claims, { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata, spec });
		await send('POST', `${namespace}/pods`, {
			apiVersion: 'v1',
			kind: 'Pod',
			metadata: { name: `user-${sample}` },
			spec: { ...onNode, volumes: [{ name: 'data', persistentVolumeClaim: { claimName: metadata.name } }] },
		});
		await tell(send, { kind: 'PersistentVolumeClaim', name: metadata.name, uid: body.metadata.uid }, 'Busy', this.fact(sample));
	},
	write: (send, sample) => send('DELETE', `${namespace}/persistentvolumeclaims/data-${sample}`),
	async after(send, sample) {
		await send('DELETE', `${namespace}/pods/user-${sample}`, { gracePeriodSeconds: 0 });
	},
};

const webhooks = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';
/** @type {Situation} */
const webhook = {
	is: 'a dead webhook refuses the content of a namespace',
	sentence: (sample) => `gate-${sample}.bench.example`,
	fact: (sample) => `gate-${sample} has no ready endpoint`,
	async before(send, sample) {
		const name = `gate-${sample}`;
		const ports = [{ port: 443 }];
		await send('POST', `${namespace}/services`, { apiVersion: 'v1', kind: 'Service', metadata: { name }, spec: { selector: { app: name }, ports } });
		await send('POST', webhooks, {
			apiVersion: 'admissionregistration.k8s.io/v1',
			kind: 'ValidatingWebhookConfiguration',
			metadata: { name },
			webhooks: [
				{
					name: this.sentence(sample),
					clientConfig: { service: { namespace: 'default', name, path: '/' } },
					rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['DELETE'], resources: ['endpoints'] }],
					sideEffects: 'None',
					admissionReviewVersions: ['v1'],
				},
			],
		});
		// Its own finalizer keeps the namespace once its controller has deleted what is in it.
		const held = `bench-${sample}`;
		const kept = { metadata: { name: held }, spec: { finalizers: ['bench.example/hold'] } };
		await send('POST', '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', ...kept });
		await send('DELETE', `/api/v1/namespaces/${held}`);
	},
	write: (send, sample) => {
		const now = new Date().toISOString();
		const message = `Failed to delete all resource types, 1 remaining: Internal error occurred: failed calling webhook "gate-${sample}.bench.example": failed to call webhook: Post "https://gate-${sample}.default.svc:443/?timeout=10s": no endpoints available for service "gate-${sample}"`;
		const failed = { type: 'NamespaceDeletionContentFailure', status: 'True', reason: 'ContentDeletionFailed', message, lastTransitionTime: now };
		const strategic = { 'content-type': 'application/strategic-merge-patch+json' };
		return send('PATCH', `/api/v1/namespaces/bench-${sample}/status`, { status: { conditions: [failed] } }, strategic);
	},
	async after(send, sample) {
		const held = `/api/v1/namespaces/bench-${sample}`;
		const { body } = await send('GET', held);
		await send('PUT', `${held}/finalize`, { ...body, spec: { finalizers: [] } });
		await send('DELETE', `${webhooks}/gate-${sample}`);
		await send('DELETE', `${namespace}/services/gate-${sample}`);
	},
};

/**
 * The times in ms from the API server's answer to the sentence of each situation, and to the sentence with what was fetched.
 * @param {import('@playwright/test').Browser} browser @param {string} link signs the browser in @param {Send} request
 * @returns {Promise<{is: string, sentences: number[], facts: number[]}[]>}
 */
export async function measure(browser, link, request) {
	/** @type {Send} */
	const send = async (method, path, body, headers) => {
		const answer = await request(method, path, body, headers);
		if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
		return answer;
	};
	const context = await browser.newContext();
	const page = await context.newPage();
	await page.goto(link);
	await page.getByText('Live', { exact: true }).waitFor();
	await page.getByRole('link', { name: 'Trouble' }).click();
	await page.getByRole('heading', { name: 'Trouble', level: 1 }).waitFor();
	const taints = [{ key: 'bench', value: 'own', effect: 'NoSchedule' }];
	await send('POST', '/api/v1/nodes', { apiVersion: 'v1', kind: 'Node', metadata: { name: node }, spec: { taints } });
	await report(send, 'True');
	const measured = [];
	for (const situation of [silentNode, claim, webhook]) {
		/** @type {number[]} */
		const sentences = [];
		/** @type {number[]} */
		const facts = [];
		for (let sample = 0; sample < samples; sample += 1) {
			const wanted = { sentence: situation.sentence(sample), fact: situation.fact(sample) };
			await situation.before?.(send, sample);
			const seen = page.evaluate(whenSeen, wanted);
			await situation.write(send, sample);
			const answered = Date.now();
			const at = await seen;
			sentences.push(Math.max(0, at.sentence - answered));
			facts.push(Math.max(0, at.fact - answered));
			await situation.after(send, sample);
			await page.waitForFunction(isGone, wanted.sentence);
		}
		measured.push({ is: situation.is, sentences, facts });
	}
	await context.close();
	await send('DELETE', `/api/v1/nodes/${node}`);
	return measured;
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
	let isWithin = true;
	for (const { is, sentences, facts } of await measure(...what)) {
		for (const [name, times] of Object.entries({ 'its sentence': sentences, 'its sentence with what was fetched': facts })) {
			const { p50, p99, most } = figures(times);
			process.stdout.write(`${is}: a write's answer → ${name} in the browser: p50 ${p50} ms, p99 ${p99} ms, longest ${most} ms `);
			process.stdout.write(`(${times.length} samples, goal p99 ${longest} ms)\n`);
		}
		isWithin &&= figures(facts).p99 <= longest;
	}
	return isWithin;
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
