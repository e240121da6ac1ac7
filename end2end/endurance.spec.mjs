/**
 * A page that is open for a day: an hour's worth of changes passes in a minute, and the second half of it leaves nothing behind.
 */
import { launchOptions } from './browser.mjs';
import { expect, signIn, test } from './fixtures.mjs';

// A trace keeps what the page showed, in the page; and the compilers of V8 fill the heap with code for as long as some is new.
const { args, ...rest } = await launchOptions();
test.use({ trace: 'off', launchOptions: { ...rest, args: [...args, '--js-flags=--no-opt --no-maglev --no-sparkplug'] } });

/** One change each second for an hour. */
const hour = 3_600;

/** The growth that the second half may have. */
const allowed = 1.01;

const namespace = 'bystander';
const labels = { 'app.kubernetes.io/part-of': namespace };
const merge = { 'content-type': 'application/merge-patch+json' };

/** @param {string} plural @param {string} [name] */
const path = (plural, name) => `/api/v1/namespaces/${namespace}/${plural}${name ? `/${name}` : ''}`;

/** The objects of one tide: settings, claims, and Pods that use both. @param {string} tide @param {string} node */
function objects(tide, node) {
	const named = (/** @type {string} */ kind, /** @type {number} */ number, /** @type {object} */ rest) => ({
		apiVersion: 'v1',
		kind,
		metadata: { name: `${tide}-${number}`, namespace, labels },
		...rest,
	});
	const claim = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } };
	const pod = (/** @type {number} */ number) => ({
		nodeName: node,
		containers: [{ name: 'main', image: 'main' }],
		volumes: [
			{ name: 'settings', configMap: { name: `${tide}-${number}` } },
			{ name: 'data', persistentVolumeClaim: { claimName: `${tide}-${number % 2}` } },
		],
	});
	return {
		configmaps: [...Array(10).keys()].map((number) => named('ConfigMap', number, { data: { a: 'b' } })),
		persistentvolumeclaims: [0, 1].map((number) => named('PersistentVolumeClaim', number, { spec: claim })),
		pods: [...Array(5).keys()].map((number) => named('Pod', number, { spec: pod(number) })),
	};
}

/** Remembers what the page's module exports. @param {import('@playwright/test').Page} page */
const rememberModule = (page) =>
	page.addInitScript(() => {
		const instantiate = WebAssembly.instantiateStreaming;
		WebAssembly.instantiateStreaming = async (...given) => {
			const made = await instantiate(...given);
			Object.assign(window, { module: made.instance.exports });
			return made;
		};
	});

/**
 * The pages of the module's memory, and the bytes of it that are in use. Every subscriber, effect and row is in these; a page of
 * 64 KiB would hide hundreds of them, so the smallest blocks are taken until the memory grows: as much was free. What it grows by for
 * that is no page of its own.
 * @param {import('@playwright/test').Page} page
 */
const moduleMemory = (page) =>
	page.evaluate(() => {
		// @ts-expect-error: set by `rememberModule`
		const { memory, __wbindgen_malloc: allocate, __wbindgen_free: free } = window.module;
		// A block of 8 bytes takes 16, and no piece of free memory is smaller.
		const [size, header] = [8, 8];
		const whole = memory.buffer.byteLength;
		const blocks = [];
		do blocks.push(allocate(size, 1));
		while (memory.buffer.byteLength === whole);
		for (const block of blocks) free(block, size, 1);
		// @ts-expect-error: set here
		const borrowed = window.borrowed ?? 0;
		Object.assign(window, { borrowed: borrowed + memory.buffer.byteLength - whole });
		return { wasmPages: (whole - borrowed) / 65_536, wasm: whole - (blocks.length - 1) * (size + header) };
	});

/** The memory of a page after a collection, the numbers of its nodes and listeners, and the size of its map. @param {import('@playwright/test').Page} page */
async function measure(page) {
	const session = await page.context().newCDPSession(page);
	await session.send('Performance.enable');
	for (let time = 0; time < 3; time++) await session.send('HeapProfiler.collectGarbage');
	const { usedSize: heap } = await session.send('Runtime.getHeapUsage');
	const { metrics } = await session.send('Performance.getMetrics');
	const metric = (/** @type {string} */ wanted) => metrics.find(({ name }) => name === wanted)?.value ?? Number.NaN;
	const memory = await moduleMemory(page);
	await session.detach();
	const { shown, map } = await page.evaluate(() => {
		const nodes = document.createTreeWalker(document);
		let shown = 1;
		while (nodes.nextNode()) shown++;
		const box = document.querySelector('svg.graph')?.getAttribute('viewBox')?.split(' ').map(Number);
		return { shown, map: box ? { width: box[2], height: box[3] } : {} };
	});
	// Nodes outside of the document are what was left behind. How many are in it depends on what is near on the map.
	return { ...memory, heap, left: metric('Nodes') - shown, listeners: metric('JSEventListeners'), shown, ...map };
}

test('page that is open for an hour of changes keeps its size', async ({ cluster, unwind, visit }) => {
	test.setTimeout(300_000);
	const ask = async (/** @type {string} */ method, /** @type {string} */ path, /** @type {unknown} */ body, /** @type {Record<string, string>} */ headers) => {
		const answer = await cluster.request('admin', method, path, body, headers);
		expect(answer.status, `${method} ${path}`).toBeLessThan(300);
		return answer.body;
	};
	const node = (await ask('GET', '/api/v1/nodes')).items[0].metadata.name;
	const revision = async () => Number((await ask('GET', path('configmaps'))).metadata.resourceVersion);

	const first = await visit();
	await signIn(first, unwind.link);
	const open = async (/** @type {string} */ address) => {
		const page = await visit();
		await page.context().addCookies(await first.context().cookies());
		await rememberModule(page);
		await page.goto(`${unwind.origin}${address}`);
		await expect(page.getByText('Live', { exact: true })).toBeVisible();
		return page;
	};
	const list = await open(`/u/${namespace}?view=list`);
	const trouble = await open('/trouble');
	const pages = { list, trouble, map: await open(`/u/${namespace}?view=map`), units: await open('/') };

	const row = pages.units.getByRole('row').filter({ has: pages.units.getByRole('link', { name: namespace, exact: true }) });
	const count = row.locator('[data-label=Objects]');
	const whole = await count.innerText();

	let tides = 0;
	/** Objects come, change, wait for each other, and go. */
	const tide = async () => {
		const name = `tide-${tides++}`;
		const { configmaps, persistentvolumeclaims, pods } = objects(name, node);
		await cluster.apply([...configmaps, ...persistentvolumeclaims, ...pods]);
		for (const { metadata } of configmaps) await ask('PATCH', path('configmaps', metadata.name), { metadata: { labels: { turn: 'two' } } }, merge);
		await expect(list.getByRole('link', { name: `Pod ${name}-4` })).toBeVisible();
		for (const { metadata } of persistentvolumeclaims) await ask('DELETE', path('persistentvolumeclaims', metadata.name));
		await expect(trouble.locator('details.diagnosis').first()).toBeVisible();
		for (const { metadata } of pods) await ask('DELETE', path('pods', metadata.name), { gracePeriodSeconds: 0 });
		for (const { metadata } of configmaps) await ask('DELETE', path('configmaps', metadata.name));
		for (const page of [list, pages.map]) await expect(page.locator('main')).not.toContainText(name);
		await expect(trouble.getByText('No deletion is in trouble')).toBeVisible();
		await expect(count).toHaveText(whole);
	};
	const begin = await revision();
	const until = async (/** @type {number} */ changes) => {
		while ((await revision()) - begin < changes) await tide();
		const measured = await Promise.all(Object.entries(pages).map(async ([name, page]) => [name, await measure(page)]));
		return Object.fromEntries(measured);
	};
	// The browser's and Playwright's own parts of these numbers go up and down; a leak only goes up.
	const [early, late] = [[], []];
	for (const part of [2, 3, 4]) early.push(await until((hour * part) / 8));
	for (const part of [7, 8]) late.push(await until((hour * part) / 8));
	const lasting = ['wasmPages', 'wasm', 'heap', 'left', 'listeners'];
	const sizes = Object.keys(pages).flatMap((name) =>
		lasting.map((what) => ({
			what: `${what} of the page ${name}`,
			before: Math.max(...early.map((sizes) => sizes[name][what])),
			after: Math.min(...late.map((sizes) => sizes[name][what])),
		})),
	);
	const fresh = await measure(await open(`/u/${namespace}?view=map`));
	for (const [what, more] of Object.entries({ width: 2, height: 2, shown: 1.1 }))
		sizes.push({ what: `${what} of the map, beside a page that was opened now`, before: more * fresh[what], after: late[1].map[what] });
	test.info().annotations.push({ type: 'size', description: JSON.stringify({ tides, sizes }) });
	expect(sizes.filter(({ before, after }) => !(after <= before * allowed)), `grown in ${tides} tides`).toEqual([]);
});
