/**
 * The server and the browser render the same page: the server's HTML is compared with the hydrated page, and with the page that
 * the browser renders from data alone.
 */
import { expect, hold, signIn, tearDown, test } from './fixtures.mjs';

test.use({ rights: 'admin' });

/** A window in which the whole map is in the document. */
const viewport = { width: 3000, height: 2400 };

/** @param {import('@playwright/test').Page} page */
const live = (page) => expect(page.getByText('Live', { exact: true })).toBeVisible();

/**
 * The structure of `main`, one line per element and text, of an HTML text or of the page itself. Relative times and the elapsed
 * time of a run are left out, because only a hydrated page updates them.
 * @param {import('@playwright/test').Page} page @param {string} [html]
 */
const structure = (page, html) =>
	page.evaluate((html) => {
		const main = (html === undefined ? document : new DOMParser().parseFromString(html, 'text/html')).querySelector(
			'main',
		);
		const compared = [
			'id',
			'href',
			'role',
			'scope',
			'for',
			'name',
			'type',
			'aria-label',
			'aria-labelledby',
			'aria-current',
			'data-uid',
		];
		const [lines, open] = [/** @type {string[]} */ ([]), { text: '' }];
		const flush = () => {
			const text = open.text.replace(/\s+/g, ' ').trim();
			if (text) lines.push(text);
			open.text = '';
		};
		/** @param {Node} node */
		const read = (node) => {
			if (node instanceof Text || node.nodeType === Node.TEXT_NODE) {
				open.text += node.nodeValue;
				return;
			}
			if (node.nodeType !== Node.ELEMENT_NODE) return;
			const element = /** @type {Element} */ (node);
			if (element.localName === 'span' && /^(Elapsed|Deleting for) /.test(element.textContent ?? '')) return;
			flush();
			const attributes = compared
				.filter((name) => element.hasAttribute(name))
				.map((name) => ` ${name}=${element.getAttribute(name)}`);
			lines.push(`<${element.localName}${attributes.join('')}>`);
			if (element.localName === 'time') lines.push(element.getAttribute('datetime') ?? '');
			// A time within a drawing.
			else if (element.hasAttribute('data-relative')) lines.push(element.getAttribute('data-at') ?? '');
			// The server sends the inside of a closed card of a diagnosis, and the browser fetches it when the card is opened.
			else if (element.localName === 'details' && !element.hasAttribute('open') && element.closest('.diagnosis-list'))
				read(/** @type {Element} */ (element.firstElementChild));
			else element.childNodes.forEach(read);
			flush();
			lines.push(`</${element.localName}>`);
		};
		if (main) read(main);
		return lines;
	}, html);

/** The first difference of two structures, with context. @param {string[]} one @param {string[]} other */
function parting(one, other) {
	const at = one.findIndex((line, i) => line !== other[i]);
	if (at < 0 && one.length === other.length) return [];
	const from = Math.max(0, (at < 0 ? one.length : at) - 3);
	return [one, other].map((lines) => lines.slice(from, from + 7).join(' '));
}

/** Navigates like the page's own links. @param {import('@playwright/test').Page} page @param {string} path */
const goWithin = (page, path) =>
	page.evaluate((path) => {
		history.pushState(null, '', path);
		dispatchEvent(new PopStateEvent('popstate'));
	}, path);

test('server-rendered, hydrated and client-rendered pages are identical', async ({
	cluster,
	unwind,
	visit,
}) => {
	test.setTimeout(300_000);
	const first = await visit();
	await signIn(first, unwind.link);
	const plan = async (/** @type {string} */ unit) =>
		(await (await first.request.post(`${unwind.origin}/api/plans`, { data: { unit } })).json()).id;
	const planned = `/u/consortium/plan/${await plan('consortium')}`;
	// The pages include a finished run and a blocked one.
	await tearDown(first, 'bystander');
	await expect(first.getByText('Finished', { exact: true })).toBeVisible({ timeout: 60_000 });
	const ended = new URL(first.url()).pathname;
	await hold(cluster, 'consortium-orderers', 'orderer-1');
	await first.goto(unwind.origin);
	await tearDown(first, 'consortium');
	await expect(first.locator('tr').filter({ hasText: 'Namespace consortium-org1' })).toContainText('Gone', {
		timeout: 60_000,
	});
	const running = new URL(first.url()).pathname;
	const selected = await first.evaluate(async () => {
		const { snapshot } = await (await fetch('/api/units/consortium')).json();
		return snapshot.records.find((/** @type {any} */ { object }) => object).object.uid;
	});

	const routes = [
		'/',
		'/?q=consort',
		'/u/consortium',
		'/u/consortium?view=list',
		`/u/consortium?view=list&sel=${selected}`,
		planned,
	];
	routes.push(running, `${running}?view=map`, ended, '/u/nothing-of-that-name', '/r/nothing-of-that-name', '/nowhere');
	const page = await visit({ viewport });
	await page.context().addCookies(await first.context().cookies());
	for (const route of routes) {
		// If the cluster changes between the three, the comparison is repeated.
		await expect(async () => {
			const answer = await page.goto(unwind.origin + route);
			const sent = await structure(page, await answer?.text());
			// The page of an unknown address opens no stream.
			if (route === '/nowhere') await page.waitForLoadState('networkidle');
			else await live(page);
			expect(sent.length, route).toBeGreaterThan(8);
			expect(parting(sent, await structure(page)), `${route}, sent and alive`).toEqual([]);

			await goWithin(page, route === '/nowhere' ? '/' : '/nowhere');
			await expect(async () => expect(parting(sent, await structure(page))).not.toEqual([])).toPass({ timeout: 5_000 });
			await goWithin(page, route);
			const made = async () => parting(sent, await structure(page));
			await expect.poll(made, { message: `${route}, sent and made by the browser`, timeout: 5_000 }).toEqual([]);
		}).toPass({ timeout: 40_000 });
	}
});

test("hydration check reports a page that differs from the server's HTML", async ({ unwind, visit }) => {
	const page = await visit({ viewport });
	await signIn(page, unwind.link);
	/** The result of the comparison for HTML that is altered in transit. @param {string | RegExp} what @param {string} by */
	const altered = async (what, by) => {
		let sent = '';
		const address = `${unwind.origin}/u/consortium?view=list`;
		await page.route(address, async (route) => {
			const response = await route.fetch();
			sent = await response.text();
			await route.fulfill({ response, body: sent.replace(what, by) });
		});
		await page.goto(address);
		await live(page);
		await page.unroute(address);
		return parting(await structure(page, sent), await structure(page)).join(' | ');
	};
	expect(await altered('nothing of this is there', '')).toBe('');
	expect(await altered('>Step<', '>Setp<')).toContain('Setp');
	expect(await altered('<th scope="col">', '<th scope="row">')).toContain('scope=row');
	expect(await altered(/<p class="needs-script">[^<]*/, '$&!')).toContain('need JavaScript.! ');
});
