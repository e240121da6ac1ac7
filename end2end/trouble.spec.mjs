/**
 * Why a deletion waits: the incidents of the sandbox, each described on the page of all trouble and on the unit's own, with its cause,
 * the harm, the chain and the evidence; and gone from there after the repair.
 */
import AxeBuilder from '@axe-core/playwright';
import { Unwind } from './unwind.mjs';
import { expect, signIn, test } from './fixtures.mjs';
import { illegible } from './legible.mjs';
import { cardOf, openTrouble, start } from './story.mjs';

/** The sentence of each incident, and a fact from the cluster behind it. */
const said = {
	S2: { cause: /^All containers ended, but node \S+ has not unmounted a volume of Pod s2\/archive-\S+/, fact: /status = Failed;.*terminated/ },
	S3: { cause: /^The API metrics\.k8s\.io\/v1beta1 does not answer/, fact: /condition NamespaceDeletionDiscoveryFailure is True/ },
	S4: { cause: /^The finalizer queue\.example\/topic is left, and the program that probably cleared it was deleted/, fact: /queue-operator was deleted/ },
	S5: { cause: /^Node \S+ stopped reporting, so nobody confirms that its Pods? ended\.$/, fact: /condition Ready is Unknown NodeStatusUnknown/ },
};

test('page of all trouble names the cause of each incident, and nothing once it is repaired', async ({ visit }) => {
	const unwind = await Unwind.before(['--sandbox']);
	try {
		const page = await visit();
		await signIn(page, unwind.link);
		const sandbox = await openTrouble(page);
		for (const [incident, { cause, fact }] of Object.entries(said)) {
			await start(sandbox, new RegExp(`^${incident}:`));
			const card = await cardOf(page, cause);
			// The advice is read when the card is opened; the least harmful way out comes first, and with a command where there is one.
			await expect(card.getByText('Loses nothing').first(), incident).toBeVisible();
			await expect(card.getByText(fact).first(), incident).toBeVisible();
			await expect(card.getByText('If nobody acts'), incident).toBeVisible();
		}
		// Without a script the same is there to be read.
		const plain = await visit({ javaScriptEnabled: false });
		await plain.context().addCookies(await page.context().cookies());
		await plain.goto(`${unwind.origin}/trouble`);
		// The node that S5 breaks runs the Pod of S2, which then waits for the node.
		for (const { cause } of [said.S3, said.S4, said.S5]) await expect(plain.getByText(cause).first()).toBeVisible();
		const { violations } = await new AxeBuilder({ page }).include('main').analyze();
		expect(violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)])).toEqual([]);
		// The unit's page has its own cause alone.
		await page.getByRole('link', { name: 'Units', exact: true }).first().click();
		await page.getByRole('link', { name: 's5', exact: true }).click();
		await expect(page.getByText(said.S5.cause).first()).toBeVisible();
		await expect(page.getByText(said.S4.cause)).toHaveCount(0);
		await page.getByRole('button', { name: 'Repair everything' }).click();
		await page.getByRole('link', { name: 'Trouble' }).click();
		await expect(page.getByText('No deletion is in trouble')).toBeVisible({ timeout: 90_000 });
	} finally {
		await unwind.stop();
	}
});

test('card is copied as a note for the incident, and its link leads to it', async ({ visit }) => {
	const unwind = await Unwind.before(['--sandbox', 's4']);
	try {
		const page = await visit({ permissions: ['clipboard-read', 'clipboard-write'] });
		await signIn(page, unwind.link);
		await page.getByRole('link', { name: 'Trouble' }).click();
		const sandbox = page.getByRole('group').filter({ hasText: 'nothing real is touched' });
		await sandbox.getByText('Sandbox.').click();
		await sandbox.getByRole('button', { name: 'Time ×10' }).click();
		await sandbox.getByRole('button', { name: /^S4:/ }).click();
		const card = page.locator('details.diagnosis').filter({ has: page.getByText(said.S4.cause) });
		await expect(card).toBeVisible({ timeout: 90_000 });
		// The last evidence that is fetched: the card is drawn again with it, and its buttons with their labels.
		await expect(card).toContainText(/Topic s4\/payments: the field manager/);
		await card.getByRole('button', { name: 'Copy incident note' }).click();
		await expect(card.getByRole('button', { name: 'Note copied' })).toBeVisible();
		const note = await page.evaluate(() => navigator.clipboard.readText());
		for (const line of ['**The finalizer queue.example/topic', '- Cluster: sandbox', '- Do not: remove the finalizer first', 'queue-operator was deleted', `${unwind.origin}/trouble/card?id=`]) {
			expect(note).toContain(line);
		}
		const link = await card.getByRole('link', { name: 'Link to this card' }).getAttribute('href');
		await page.goto(unwind.origin + link);
		const linked = page.locator('details.diagnosis:target');
		await expect(linked).toContainText('The finalizer queue.example/topic');
		// Whoever is woken at night needs the first lines of it, and does not scroll for them.
		await page.setViewportSize({ width: 1440, height: 900 });
		await page.goto(`${unwind.origin}/trouble`);
		const first = card.locator('.diagnosis-first > *');
		await expect(first.first()).toBeVisible();
		const below = await first.evaluateAll((lines) => lines.filter((line) => line.getBoundingClientRect().bottom > window.innerHeight).map((line) => line.textContent));
		expect(below, 'below the first screen').toEqual([]);
		await page.setViewportSize({ width: 390, height: 844 });
		expect(await illegible(page)).toEqual([]);
	} finally {
		await unwind.stop();
	}
});

test('everything that is being deleted is on one page, in three orders, with the end that is expected of what is not late', async ({ visit }) => {
	const unwind = await Unwind.before(['--sandbox', 's5']);
	try {
		const page = await visit();
		await signIn(page, unwind.link);
		await page.getByRole('link', { name: 'Trouble' }).click();
		const bar = page.getByRole('group').filter({ hasText: 'nothing real is touched' });
		await bar.getByText('Sandbox.').click();
		// A Pod is late 15 s after its grace period, and the node is called silent after 40 s; until then nothing is in trouble.
		await start(bar, /^S5:/);
		const within = page.locator('main details').filter({ hasText: /being deleted, within the expected time/ });
		await expect(within).toBeVisible({ timeout: 20_000 });
		await within.locator('summary').click();
		await expect(within.getByText(/^Pod/).first()).toBeVisible();
		await expect(within.getByText(/expected to end by \d/).first()).toBeVisible();
		await expect(page.getByText('No deletion is in trouble')).toBeVisible();
		await bar.getByRole('button', { name: 'Time ×10' }).click();
		const card = await cardOf(page, said.S5.cause);
		const order = page.getByRole('navigation', { name: 'Order' });
		await expect(order.getByRole('link', { name: 'By cause, harm first' })).toHaveAttribute('aria-current', 'true');
		await order.getByRole('link', { name: 'By namespace' }).click();
		await expect(page.getByRole('heading', { name: /^Namespace s5/ })).toBeVisible();
		await expect(page).toHaveURL(/\/trouble\?by=namespace$/);
		await order.getByRole('link', { name: 'By age' }).click();
		await expect(page.getByRole('heading', { name: /^Namespace/ })).toHaveCount(0);
		await expect(card).toBeVisible();
		// The same by a link alone.
		const plain = await visit({ javaScriptEnabled: false });
		await plain.context().addCookies(await page.context().cookies());
		await plain.goto(`${unwind.origin}/trouble`);
		await plain.getByRole('link', { name: 'By namespace' }).click();
		await expect(plain.getByRole('heading', { name: /^Namespace s5/ })).toBeVisible();
	} finally {
		await unwind.stop();
	}
});
