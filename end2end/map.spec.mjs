/**
 * The map with a mouse: the position of a card before and after drag, zoom and fit.
 */
import { Unwind } from './unwind.mjs';
import { expect, signIn, test } from './fixtures.mjs';
import { repair, start } from './story.mjs';

test.use({ rights: 'admin' });

/** The page draws and scrolls whole pixels, so a position is exact to two pixels. */
const near = 2;

test('map follows a drag, zooms around the pointer and fits its window', async ({ unwind, visit }) => {
	const page = await visit();
	await signIn(page, unwind.link);
	// At 150 %, the map is larger than its frame in both directions.
	await page.goto(`${unwind.origin}/u/consortium?view=map&z=150`);
	await expect(page.getByText('Live', { exact: true })).toBeVisible();
	const { mouse, keyboard } = page;
	const frame = page.getByRole('group', { name: 'Dependency graph' });
	const card = page.getByRole('button', { name: /consortium-orderers\/orderer-0,/ });
	const box = async () => {
		const found = await card.boundingBox();
		if (!found) throw new Error('the card is not drawn');
		return found;
	};
	/** The final position of the card. @param {{x: number, y: number}} place */
	const expectAt = async ({ x, y }) => {
		const off = async () => {
			const now = await box();
			return Math.max(Math.abs(now.x - x), Math.abs(now.y - y));
		};
		await expect.poll(off).toBeLessThanOrEqual(near);
	};
	/** A point within the frame that no card covers, with a margin around it. */
	const background = () =>
		frame.evaluate((frame) => {
			const { left, top, right, bottom } = frame.getBoundingClientRect();
			for (let y = (top + bottom) / 2; y < bottom - 20; y += 5) {
				for (let x = (left + right) / 2; x < right - 20; x += 5) {
					const at = document.elementFromPoint(x, y);
					if (at && frame.contains(at) && !at.closest('[data-uid]')) return { x, y };
				}
			}
			throw new Error('the frame is full of cards');
		});
	await card.scrollIntoViewIfNeeded();
	await frame.evaluate((frame) => frame.scrollBy(200, 150));

	// A drag of the background moves the map with the pointer.
	const [before, from] = [await box(), await background()];
	await mouse.move(from.x, from.y);
	await mouse.down();
	await mouse.move(from.x + 60, from.y + 40, { steps: 3 });
	await expectAt({ x: before.x + 60, y: before.y + 40 });
	await mouse.move(from.x - 70, from.y + 90, { steps: 3 });
	await expectAt({ x: before.x - 70, y: before.y + 90 });
	await mouse.up();
	await mouse.move(from.x + 100, from.y - 100, { steps: 3 });
	await expectAt({ x: before.x - 70, y: before.y + 90 });

	// A card cannot be dragged.
	const lying = await box();
	const middle = { x: lying.x + lying.width / 2, y: lying.y + lying.height / 2 };
	await mouse.move(middle.x, middle.y);
	await mouse.down();
	await mouse.move(middle.x + 50, middle.y + 30, { steps: 3 });
	await mouse.up();
	await expectAt(lying);

	// The wheel alone scrolls.
	await mouse.move(from.x, from.y);
	await mouse.wheel(0, 50);
	await expectAt({ x: lying.x, y: lying.y - 50 });
	await mouse.wheel(0, -50);
	await expectAt(lying);

	// With the zoom key the wheel scales, and the point under the pointer keeps its place.
	const under = { x: lying.x + lying.width / 4, y: lying.y + lying.height / 2 };
	await mouse.move(under.x, under.y);
	for (const turn of [-30, -30, 30, 30]) {
		const old = await box();
		await keyboard.down('Control');
		await mouse.wheel(0, turn);
		await keyboard.up('Control');
		const grown = Math.exp(-turn * 0.004);
		await expect.poll(async () => Math.abs((await box()).width / (old.width * grown) - 1)).toBeLessThan(0.02);
		await expectAt({ x: under.x - (under.x - old.x) * grown, y: under.y - (under.y - old.y) * grown });
	}

	// Fit shows the whole map: the last card of this unit, which was far outside, and the first.
	await page.goto(`${unwind.origin}/u/bystander?view=map&z=200`);
	await expect(page.getByText('Live', { exact: true })).toBeVisible();
	const cards = frame.getByRole('button', { name: / after it(, (Ready|Not ready))?$/ });
	/** The distance by which the drawing and its outermost cards exceed the frame. */
	const outside = () =>
		frame.evaluate((frame) => {
			const around = frame.getBoundingClientRect();
			const boxes = [...frame.querySelectorAll('svg, [data-uid]')].map((drawn) => drawn.getBoundingClientRect());
			return Math.max(
				...boxes.flatMap(({ left, top, right, bottom }) => [
					around.left - left,
					around.top - top,
					right - around.right,
					bottom - around.bottom,
				]),
			);
		});
	// At this scale the document lacks cards further away than a screen, so the expected number comes from the count on the page. A
	// namespace of the unit has no card: its object is the heading of its lane.
	const [, members, others] = (await page.locator('.graph-note').textContent())?.match(/^(\d+) objects · (\d+) outside/) ?? [];
	const headings = frame.getByRole('button', { name: /^Namespace \S+$/ });
	expect(await cards.count()).toBeGreaterThan(5);
	expect(await outside()).toBeGreaterThan(100);
	await page.getByRole('button', { name: 'Fit the whole graph' }).click();
	await expect.poll(outside).toBeLessThanOrEqual(near);
	await expect(headings).toHaveCount(1);
	await expect(cards).toHaveCount(Number(members) + Number(others) - 1);
});

test('map draws what its frame has room for once it grows', async ({ unwind, visit }) => {
	const page = await visit();
	await signIn(page, unwind.link);
	const low = '.page.full > .workspace { flex: none !important; min-block-size: 0 !important; block-size: 4rem }';
	await page.addInitScript((low) => {
		const sheet = new CSSStyleSheet();
		sheet.replaceSync(low);
		document.adoptedStyleSheets = [sheet];
	}, low);
	await page.goto(`${unwind.origin}/u/consortium?view=map&z=150`);
	await expect(page.getByText('Live', { exact: true })).toBeVisible();
	const frame = page.getByRole('group', { name: 'Dependency graph' });
	const height = async () => (await frame.boundingBox())?.height ?? 0;
	expect(await height()).toBeLessThan(100);
	const drawn = () => frame.locator('[data-uid].node').count();
	await expect.poll(drawn).toBeGreaterThan(0);
	// The first sight scrolls in two frames and draws in a third.
	await page.evaluate(async () => {
		for (let frame = 0; frame < 4; frame += 1) await new Promise(requestAnimationFrame);
	});
	const few = await drawn();
	await page.evaluate(() => (document.adoptedStyleSheets = []));
	await expect.poll(height).toBeGreaterThan(400);
	await expect.poll(drawn).toBeGreaterThan(few);
});

test('unit page keeps its map below many diagnoses and scrolls to it', async ({ visit }) => {
	const unwind = await Unwind.before(['--sandbox', 's1']);
	try {
		const page = await visit();
		await signIn(page, unwind.link);
		await page.goto(`${unwind.origin}/u/ns:s1?view=map`);
		await expect(page.getByText('Live', { exact: true })).toBeVisible();
		const frame = page.getByRole('group', { name: 'Dependency graph' });
		const height = async () => (await frame.boundingBox())?.height ?? 0;
		// Without a diagnosis it fills the window.
		await expect(frame).toBeInViewport({ ratio: 1 });
		const whole = await height();
		const bar = page.getByRole('group').filter({ hasText: 'nothing real is touched' });
		await bar.getByText('Sandbox.').click();
		await bar.getByRole('button', { name: 'Time ×10' }).click();
		await start(bar, /^S1:/);
		const diagnoses = page.locator('details.diagnosis');
		await expect(diagnoses).toHaveCount(4, { timeout: 90_000 });
		await diagnoses.first().locator('summary').first().click();
		await expect.poll(height).toBeLessThan(whole);
		expect(await height()).toBeGreaterThan(400);
		await page.mouse.move(720, 450);
		await page.mouse.wheel(0, 10_000);
		await expect(frame).toBeInViewport({ ratio: 0.9 });
	} finally {
		await unwind.stop();
	}
});

/** The cards of a map, by name. @param {import('@playwright/test').Page} page */
const cards = (page) =>
	page.locator('.graph [data-uid].node, .graph .graph-block').evaluateAll((cards) => cards.map((card) => card.getAttribute('aria-label') ?? '').sort());

/** The UIDs of the objects that have a card. @param {import('@playwright/test').Page} page */
const uids = (page) => page.locator('.graph [data-uid].node').evaluateAll((cards) => cards.map((card) => card.getAttribute('data-uid')));

/** Whether objects have gone. @param {import('@playwright/test').Page} page @param {(string | null)[]} before the objects that there were */
async function hasFewer(page, before) {
	const now = await uids(page);
	return before.some((uid) => !now.includes(uid));
}

/**
 * The incidents, each with the unit that it happens to. The objects of most go until the incident holds the remaining ones. A machine
 * that is lost holds all of them, until it is back. `sign` has words of the last diagnosis, where there are others before.
 * @type {{incident: string, unit: string, machine?: string, sign?: RegExp}[]}
 */
const incidents = [
	{ incident: 'S1', unit: 'ns:s1' },
	{ incident: 'S2', unit: 'ns:s2' },
	{ incident: 'S3', unit: 'ns:s3' },
	{ incident: 'S4', unit: 'ns:s4' },
	// The namespace goes, so this is the application.
	{ incident: 'S4, forced', unit: 's4-forced', sign: /Namespace s4-forced is gone and left objects behind/ },
	{ incident: 'S5', unit: 'ns:s5', machine: 'node-a' },
	{ incident: 'S5, cut off', unit: 'ns:s5-cut-off', machine: 'node-b' },
];
for (const { incident, unit, machine, sign = /./ } of incidents) {
	test(`map after incident ${incident} equals a reloaded map`, async ({ visit }) => {
		const unwind = await Unwind.before(['--sandbox', unit.replace('ns:', '')]);
		try {
			const page = await visit();
			await signIn(page, unwind.link);
			// The document has the cards near the frame alone. At this scale that is all of them, wherever the two pages place them.
			await page.goto(`${unwind.origin}/u/${unit}?view=map&z=50`);
			await expect(page.getByText('Live', { exact: true })).toBeVisible();
			let before = await uids(page);
			const bar = page.getByRole('group').filter({ hasText: 'nothing real is touched' });
			await bar.getByText('Sandbox.').click();
			await bar.getByRole('button', { name: 'Time ×10' }).click();
			await start(bar, new RegExp(`^${incident}:`));
			const diagnosis = page.locator('details.diagnosis').filter({ hasText: sign });
			await expect(diagnosis.first()).toBeVisible({ timeout: 90_000 });
			if (machine) {
				before = await uids(page);
				await repair(bar, `Break ${machine}`);
				await expect(diagnosis).toHaveCount(0);
			}
			// The page that is loaded anew says what has gone: a card that stays on the first page is what this test is for.
			const again = await page.context().newPage();
			const load = async () => {
				await again.goto(page.url());
				await expect(again.getByText('Live', { exact: true })).toBeVisible();
			};
			await expect.poll(async () => (await load(), hasFewer(again, before)), { timeout: 60_000 }).toBe(true);
			const compare = async () => {
				await load();
				const [open, loaded] = [String(await cards(page)), String(await cards(again))];
				return open === loaded ? 'equal' : `${open}\n${loaded}`;
			};
			await expect.poll(compare, { timeout: 60_000 }).toBe('equal');
		} finally {
			await unwind.stop();
		}
	});
}
