/**
 * Remedies that a person has Unwind do, in the browser: a finalizer by hand in S4, and in S5 a node that is marked out of
 * service and put back. Without --allow-remedies nothing is offered, and a guest who may only act cannot do one.
 */
import { destroyed } from './session.mjs';
import { Unwind } from './unwind.mjs';
import { anotherLink, expect, signIn, test } from './fixtures.mjs';
import { ask, cardOf, choose, named, openTrouble, start, story, wayOf } from './story.mjs';

/** Starts an incident in the sandbox at ten times the speed, and opens the card whose cause has these words. */
async function startIncident(page, incident, cause) {
	await start(await openTrouble(page), new RegExp(`^${incident}:`));
	return cardOf(page, cause);
}

test('finalizer is removed by hand once its object is named and somebody answers for it', async ({ visit }) => {
	const unwind = await Unwind.before(['--sandbox', 's4', '--allow-remedies']);
	try {
		const page = await visit();
		await signIn(page, unwind.link);
		const card = await startIncident(page, 'S4', /^The finalizer queue\.example\/topic is left/);
		const title = /^Remove the finalizer queue\.example\/topic/;
		const dialog = await choose(card, title);
		const button = dialog.getByRole('button', { name: 'Do it' });
		await expect(button).toHaveAttribute('aria-disabled', 'true');
		const topic = await named(dialog);
		await expect(dialog).toContainText(new RegExp(`Unwind sends PATCH /apis/queue\\.example/\\S+/topics/${topic} \\(JSON patch\\)`));
		await dialog.getByLabel(/^Type /).fill(topic);
		await expect(button).toHaveAttribute('aria-disabled', 'true');
		await dialog.getByLabel(/^Who checked what/).fill('Li checked that the queue is empty');
		await expect(button).not.toHaveAttribute('aria-disabled', 'true');
		await button.click();
		await expect(card.getByText('The API server accepted it').first()).toBeVisible();
		// The page leads there, wherever the button was.
		await expect(card.locator('.way-attempts')).toBeFocused();
		await expect(card.getByText('The API server accepted it').first()).toBeInViewport();
		await expect(card.getByText('Li checked that the queue is empty').first()).toBeVisible();

		// The record of it, and the request with its guards.
		const [attempt] = await (await page.request.get(`${unwind.origin}/api/remedies`)).json();
		expect(attempt).toMatchObject({ by: 'Li', statement: 'Li checked that the queue is empty' });
		expect(attempt.request.body[0]).toMatchObject({ op: 'test', path: '/metadata/uid' });
		expect(attempt.request.object.name).toBe(topic);
		await expect(card.locator('.diagnosis-chain').getByText(topic, { exact: true })).toHaveCount(0);

		// A guest who may act has the same card, and cannot.
		const guest = await visit();
		await signIn(guest, await anotherLink(page, { right: 'act', name: 'Ana' }));
		await guest.goto(`${unwind.origin}/trouble`);
		const theirs = guest.getByRole('button', { name: ask }).first();
		await expect(guest.getByText('The API server accepted it').first()).toBeVisible();
		const locked = guest.locator('details.way').filter({ hasText: title }).first();
		await locked.locator('summary').click();
		await expect(theirs).toHaveAttribute('aria-disabled', 'true');
		// The reason stands on the page, for those without a pointer too.
		await expect(locked.getByText('Your link does not allow remedies. Ask for one that may force.')).toBeVisible();
		const refused = await guest.request.post(`${unwind.origin}/api/remedies`, { data: { diagnosis: '', remedy: '', confirm: '' } });
		expect(refused.status()).toBe(403);
	} finally {
		await unwind.stop();
	}
});

test('node marked out of service stays on every page until it is put back', async ({ visit }) => {
	const unwind = await Unwind.before(['--sandbox', 's5', '--allow-remedies']);
	try {
		const page = await visit();
		await signIn(page, unwind.link);
		const card = await startIncident(page, 'S5', /^Node \S+ stopped reporting/);
		const title = /out of service/;
		const dialog = await choose(card, title);
		const node = await named(dialog);
		await dialog.getByLabel(/^Type /).fill(node);
		await dialog.getByLabel(/^Who checked what/).fill('node-a is off, Li saw it in the rack');
		await dialog.getByRole('button', { name: 'Do it' }).click();

		await page.getByRole('link', { name: 'Units', exact: true }).first().click();
		const banner = page.locator('.banner').filter({ hasText: '1 thing is switched off' });
		await expect(banner).toBeVisible({ timeout: 30_000 });
		await page.reload();
		await expect(banner.getByText(`Node ${node} is marked out of service`)).toBeVisible();
		// Every page of the app has it, each with the age and the way back; so has one that does not exist.
		const post = async (/** @type {string} */ path, /** @type {object} */ data) => (await page.request.post(unwind.origin + path, { data })).json();
		const plan = await post('/api/plans', { unit: 's5' });
		const { run } = await post('/api/runs', { plan: plan.id, hash: plan.hash, confirm: 's5', ...destroyed(plan) });
		for (const path of ['/', '/u/s5?view=map', '/u/s5?view=list', `/u/s5/plan/${plan.id}`, `/r/${run}`, '/trouble', '/nowhere']) {
			await page.goto(unwind.origin + path);
			await expect(banner.getByText(`Node ${node} is marked out of service`), path).toBeVisible();
			await expect(banner.locator('time'), path).toHaveText(/ago|just now/);
			await expect(banner.getByRole('link', { name: 'Put back…' }), path).toHaveAttribute('href', '/switched-off');
		}
		await page.goto(unwind.origin);
		// Somebody who may only look sees who may put it back, and finds no form.
		const guest = await visit();
		await signIn(guest, await anotherLink(page, { right: 'look' }));
		await guest.locator('.banner').filter({ hasText: '1 thing is switched off' }).getByRole('link', { name: 'Put back…' }).click();
		await expect(guest.getByText('Ask for one that may force')).toBeVisible();
		await expect(guest.locator('form')).toHaveCount(0);
		// Without a script the same form does it.
		const plain = await visit({ javaScriptEnabled: false });
		await plain.context().addCookies(await page.context().cookies());
		await plain.goto(unwind.origin);
		await plain.getByRole('link', { name: 'Put back…' }).click();
		// Loaded with its style, without which every line is as long as it likes.
		await plain.waitForURL('**/switched-off');
		await plain.setViewportSize({ width: 390, height: 800 });
		expect(await plain.evaluate(() => document.documentElement.scrollWidth), 'the command scrolls, not the page').toBe(390);
		await expect(plain.getByText(/While the node does not report, its Pods and volumes wait for it again\./)).toBeVisible();
		await expect(plain.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Units' })).toBeVisible();
		await plain.getByLabel(/^Type /).fill(node);
		await plain.getByRole('button', { name: `Put Node ${node} back` }).click();
		await expect(plain).toHaveURL(/\/switched-off$/);
		await expect(banner).toBeHidden({ timeout: 20_000 });
		await plain.reload();
		await expect(plain.getByText('Nothing is switched off.')).toBeVisible();
	} finally {
		await unwind.stop();
	}
});

test('whoever confirms that Pods ended reads what becomes of the data of the claim', async ({ visit }) => {
	const unwind = await Unwind.before(['--sandbox', 's5', '--allow-remedies']);
	try {
		const page = await visit();
		await signIn(page, unwind.link);
		const card = await startIncident(page, 'S5', /^Node \S+ stopped reporting/);
		const post = async (/** @type {string} */ path, /** @type {object} */ data) => (await page.request.post(unwind.origin + path, { data })).json();
		const plan = await post('/api/plans', { unit: 's5' });
		const { run } = await post('/api/runs', { plan: plan.id, hash: plan.hash, confirm: 's5', ...destroyed(plan) });
		// The Pods of the silent node go from the API by the taint, and nobody reports that they ended.
		const dialog = await choose(card, /out of service/);
		const node = await named(dialog);
		await dialog.getByLabel(/^Type /).fill(node);
		await dialog.getByLabel(/^Who checked what/).fill(`${node} is off, Li saw it in the rack`);
		await dialog.getByRole('button', { name: 'Do it' }).click();
		await page.goto(`${unwind.origin}/r/${run}`);
		const claim = page.locator('.attention-card').filter({ hasText: 'PersistentVolumeClaim' }).first();
		await claim.getByRole('button', { name: 'Confirm that these ended…' }).click({ timeout: 90_000 });
		const question = page.getByRole('dialog', { name: /^Confirm that these ended, then delete/ });
		await expect(question).toContainText('The data is deleted with the volume.');
		await page.keyboard.press('Escape');
		await expect(claim.getByRole('button', { name: 'Confirm that these ended…' })).toBeFocused();
	} finally {
		await unwind.stop();
	}
});

test('precondition that changes in the cluster is ticked anew on the open card, and stops a remedy that was about to be done', async ({ visit }) => {
	await story(visit, 's5', async ({ page, unwind, bar }) => {
		await start(bar, /^S5:/);
		const card = await cardOf(page, /^Node node-a stopped reporting/);
		const way = await wayOf(card, 'Mark node node-a as out of service');
		const alone = way.getByRole('listitem').filter({ hasText: 'No other node fell silent lately or together with it.' });
		const still = way.getByRole('listitem').filter({ hasText: 'Its lease is not renewed while you watch.' });
		const button = way.getByRole('button', { name: ask });
		await expect(alone).toContainText('Yes:');
		// A reload would lose this.
		await page.evaluate(() => Object.assign(window, { loaded: 'once' }));
		// Two looks at the lease, 20 s apart, say that it stands still. Nothing is offered before.
		await expect(still).toContainText('Yes:', { timeout: 60_000 });
		await expect(button).toBeVisible();

		// The question was asked while it held; meanwhile another node loses its power.
		const dialog = await choose(card, 'Mark node node-a as out of service');
		await dialog.getByLabel(/^Type /).fill('node-a');
		await dialog.getByLabel(/^Who checked what/).fill('Li saw in the rack that node-a is off');
		await page.evaluate(() => fetch('/api/demo', { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ command: 'turnOn', what: 'node', subject: 'node-c' }) }));
		await expect(alone).toContainText('Not so:', { timeout: 30_000 });
		await expect(way).toContainText('Not now: 2 nodes are silent at once');
		await expect(button).toHaveCount(0);
		// The open question follows, and leaves the fields and the focus alone.
		await expect(dialog.getByRole('status')).toContainText('Not now: 2 nodes are silent at once');
		await expect(dialog.getByRole('listitem').filter({ hasText: 'No other node fell silent' })).toContainText('Not so:');
		await expect(dialog.getByRole('button', { name: 'Do it' })).toHaveAttribute('aria-disabled', 'true');
		await expect(dialog.getByLabel(/^Type /)).toHaveValue('node-a');
		await expect(dialog.getByLabel(/^Who checked what/)).toHaveValue('Li saw in the rack that node-a is off');
		await expect(dialog.getByLabel(/^Who checked what/)).toBeFocused();
		await dialog.getByRole('button', { name: 'Do it' }).click({ force: true });
		expect(await (await page.request.get(`${unwind.origin}/api/remedies`)).json()).toEqual([]);

		await page.keyboard.press('Escape');
		// The button that opened it is gone, and the keyboard goes on beside it.
		await expect(card.getByRole('heading', { name: /^Ways out/ })).toBeFocused();
		await bar.getByRole('button', { name: 'Break node-c', exact: true, pressed: true }).click();
		await expect(alone).toContainText('Yes:', { timeout: 30_000 });
		await expect(button).toBeVisible();
		expect(await page.evaluate(() => Reflect.get(window, 'loaded'))).toBe('once');
	});
});

// Its lease was renewed between a look before the loss of power and one after it.
test('machine that loses its power while its lease is watched is never said to live, and can be marked', async ({ visit }) => {
	const unwind = await Unwind.before(['--sandbox', '--allow-remedies']);
	try {
		const page = await visit();
		await signIn(page, unwind.link);
		// While something is late, the leases of all nodes are looked at.
		await startIncident(page, 'S4', /^The finalizer queue\.example\/topic is left/);
		await page.evaluate(() => {
			const said = new Set();
			const look = () => {
				for (const it of document.querySelectorAll('.diagnosis-cause')) if (/its kubelet lives/.test(it.textContent ?? '')) said.add(it.textContent);
			};
			new MutationObserver(look).observe(document.body, { childList: true, characterData: true, subtree: true });
			Object.assign(window, { lives: () => [...said] });
		});
		await start(page.getByRole('group').filter({ hasText: 'nothing real is touched' }), /^S5:/);
		const card = await cardOf(page, /^Node node-a stopped reporting/);
		await expect(card.getByText(/^Lease kube-node-lease\/node-a has not been renewed while Unwind watched/)).toBeVisible({ timeout: 90_000 });
		expect(await page.evaluate(() => Reflect.get(window, 'lives')())).toEqual([]);
		const dialog = await choose(card, /out of service/);
		await dialog.getByLabel(/^Type /).fill(await named(dialog));
		await dialog.getByLabel(/^Who checked what/).fill('node-a is off, Li saw it in the rack');
		await dialog.getByRole('button', { name: 'Do it' }).click();
		await expect(page.locator('.banner').filter({ hasText: '1 thing is switched off' })).toBeVisible();
	} finally {
		await unwind.stop();
	}
});

test('server without the flag offers commands and no button', async ({ visit }) => {
	const unwind = await Unwind.before(['--sandbox', 's4']);
	try {
		const page = await visit();
		await signIn(page, unwind.link);
		const card = await startIncident(page, 'S4', /^The finalizer queue\.example\/topic is left/);
		await expect(card.locator('details.way').first()).toBeVisible();
		await expect(page.getByRole('button', { name: ask })).toHaveCount(0);
	} finally {
		await unwind.stop();
	}
});
