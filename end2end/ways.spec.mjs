/**
 * Navigation within a page: filters by state, shortcuts, the drawer's deletion progress, the confirmation before a start, and the
 * announcements for screen readers.
 */
import { expect, hold, signIn, tearDown, test } from './fixtures.mjs';

test.use({ rights: 'admin' });

/** Adds a finalizer, so that the object stays terminating. @param {any} cluster @param {string} path */
async function hang(cluster, path) {
	const patch = { metadata: { finalizers: ['example.com/hold'] } };
	const held = await cluster.request('admin', 'PATCH', path, patch, { 'content-type': 'application/merge-patch+json' });
	expect(held.status).toBe(200);
	expect((await cluster.request('admin', 'DELETE', path)).status).toBeLessThan(300);
}

const configMap = '/api/v1/namespaces/consortium-orderers/configmaps/orderer-config';
const another = {
	apiVersion: 'v1',
	kind: 'ConfigMap',
	metadata: { name: 'held', namespace: 'consortium-orderers', labels: { 'app.kubernetes.io/part-of': 'consortium' } },
};

test('state counts link to their objects, and the address keeps the filter', async ({
	cluster,
	unwind,
	visit,
}) => {
	await hang(cluster, configMap);
	const page = await visit();
	await signIn(page, unwind.link);
	const bystander = page.getByRole('link', { name: 'bystander', exact: true });
	await expect(bystander).toBeVisible();
	const chosen = page.getByRole('main').getByRole('link', { name: /^\d (with )?slow( objects)?$/ });
	// There are two units: the application, and its namespace.
	await expect(chosen).toHaveText('2 with slow objects', { timeout: 60_000 });
	await chosen.click();
	await expect(bystander).toBeHidden();
	await expect(page).toHaveURL(/state=slow/);
	await page.reload();
	await expect(chosen).toHaveAttribute('aria-current', 'true');
	await expect(bystander).toBeHidden();
	await chosen.click();
	await expect(bystander).toBeVisible();

	await page.goto(`${unwind.origin}/u/consortium?view=list`);
	const rows = page.getByRole('row').filter({ has: page.getByRole('link') });
	await expect.poll(() => rows.count()).toBeGreaterThan(20);
	await chosen.click();
	await expect(rows).toHaveCount(1);
	await expect(rows).toContainText('orderer-config');
	// A second state is added, then the first is removed.
	await page.getByRole('main').getByRole('link', { name: /to delete$/ }).click();
	await expect(page).toHaveURL(/state=slow%2Cto-delete/);
	await expect.poll(() => rows.count()).toBeGreaterThan(20);
	await chosen.click();
	await expect(page).not.toHaveURL(/slow/);
	await expect.poll(() => rows.count()).toBeGreaterThan(20);
	// The slow object is also to be deleted.
	await expect(page.getByRole('link', { name: /orderer-config/ })).toBeVisible();
});

test("drawer shows an object's deletion progress, and a key selects the next stuck object", async ({
	cluster,
	unwind,
	visit,
}) => {
	const page = await visit();
	await signIn(page, unwind.link);
	await page.goto(`${unwind.origin}/u/consortium?view=list`);
	const drawer = page.getByRole('complementary', { name: 'Details' });
	const phase = drawer.locator('[aria-current=step]');
	await page.getByRole('link', { name: /orderer-config/ }).click();
	await expect(phase).toContainText('Not deleted');
	await expect(drawer.getByText('Pods gone')).toHaveCount(0);
	await hang(cluster, configMap);
	await expect(phase).toContainText('Deletion accepted');
	await expect(drawer.getByText('This UID is confirmed gone.')).toBeVisible();
	await page.keyboard.press('Escape');
	await expect(drawer).toBeHidden();
	// A workload has one more phase.
	await page
		.getByRole('link', { name: /Deployment/ })
		.first()
		.click();
	await expect(drawer.getByText('None of its Pods is left.')).toBeVisible();
	await page.keyboard.press('Escape');

	// With two blocked objects the key goes forward, around and back.
	await cluster.apply([another]);
	await hang(cluster, configMap.replace('orderer-config', another.metadata.name));
	await expect(page.getByRole('main').getByRole('link', { name: '2 slow' })).toBeVisible({ timeout: 90_000 });
	const seen = [];
	for (const key of ['n', 'n', 'n', 'p']) {
		await page.keyboard.press(key);
		const title = drawer.getByRole('heading').first();
		if (seen.length > 0) await expect(title).not.toHaveText(seen.at(-1));
		seen.push(await title.textContent());
	}
	const [first, second] = seen;
	expect(seen).toEqual([first, second, first, second]);
	expect(seen.slice(0, 2).sort().join(' ')).toMatch(/held.*orderer-config/);
});

/** A policy that denies the deletion of this ConfigMap. @param {string} name */
const denial = (name) => [
	{
		apiVersion: 'admissionregistration.k8s.io/v1',
		kind: 'ValidatingAdmissionPolicy',
		metadata: { name: 'keep' },
		spec: {
			matchConstraints: {
				resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['DELETE'], resources: ['configmaps'] }],
			},
			validations: [{ expression: `oldObject.metadata.name != '${name}'`, message: 'somebody wants to keep it' }],
		},
	},
	{
		apiVersion: 'admissionregistration.k8s.io/v1',
		kind: 'ValidatingAdmissionPolicyBinding',
		metadata: { name: 'keep' },
		spec: { policyName: 'keep', validationActions: ['Deny'] },
	},
];

test('run announces problems and progress, and its steps can be searched, opened and walked', async ({
	cluster,
	unwind,
	visit,
}) => {
	await hold(cluster, 'consortium-orderers', 'orderer-1');
	await cluster.apply(denial('orderer-config'));
	const page = await visit();
	await signIn(page, unwind.link);
	await tearDown(page, 'consortium');
	const [polite, alarm] = ['polite', 'assertive'].map((how) => page.locator(`main [aria-live=${how}]`));
	// The times of the announcements, by the page's clock.
	await polite.evaluate((region) => {
		const said = [];
		new MutationObserver(() => said.push(performance.now())).observe(region, {
			childList: true,
			characterData: true,
			subtree: true,
		});
		Object.assign(window, { said });
	});
	const waiting = page.getByRole('row').filter({ has: page.getByRole('link', { name: /orderer-config$/ }) });
	await expect(waiting).toContainText('Waiting');
	await expect(polite).toHaveText(/^\d+ of \d+ gone$/, { timeout: 15_000 });
	await expect(alarm).toBeEmpty();
	await hold(cluster, 'consortium-orderers', 'orderer-1', null);
	await expect(alarm).toHaveText('ConfigMap consortium-orderers/orderer-config Refused', { timeout: 30_000 });
	await expect(polite).toHaveText(/^\d+ of \d+ gone, 1 need attention$/, { timeout: 15_000 });
	const said = /** @type {number[]} */ (await page.evaluate(() => Reflect.get(window, 'said')));
	const spans = said.slice(1).map((at, index) => at - said[index]);
	// A timer may be a little early or late, but must not fire twice within its interval.
	expect(Math.min(Infinity, ...spans)).toBeGreaterThan(9_000);

	const drawer = page.getByRole('complementary', { name: 'Details' });
	await page.keyboard.press('n');
	await expect(drawer.getByRole('heading').first()).toContainText('orderer-config');
	await expect(drawer).toContainText('Refused');
	await page.keyboard.press('Escape');
	await expect(drawer).toBeHidden();
	await page.locator('#attention').getByRole('link', { name: /orderer-config/ }).click();
	await expect(drawer.getByRole('heading').first()).toContainText('orderer-config');
	await expect(waiting.getByRole('link')).toHaveAttribute('aria-current', 'true');
	const rows = page.locator('tbody').getByRole('row');
	// Gone steps are folded until they are opened.
	const open = await rows.count();
	await page.locator('.steps-gone > summary').click();
	await expect.poll(() => rows.count()).toBeGreaterThan(open + 20);
	await page.keyboard.press('/');
	await page.keyboard.type('statefulset');
	await expect(rows.filter({ hasText: 'orderer-config' })).toHaveCount(0);
	await expect(rows).toContainText(['StatefulSet', 'StatefulSet', 'StatefulSet']);
	await page.keyboard.type(' of nobody');
	await expect(rows).toHaveCount(0);
	await expect(page.getByText('Nothing matches')).toBeVisible();
	// A selected object that the search hides stays selected.
	await expect(drawer).toBeVisible();
});

test('shortcuts open pages, views and links, are listed, and can be switched off', async ({ unwind, visit }) => {
	const page = await visit({ permissions: ['clipboard-read', 'clipboard-write'] });
	await signIn(page, unwind.link);
	const { keyboard } = page;
	await expect(page.getByText('Live', { exact: true })).toBeVisible();
	await page.goto(`${unwind.origin}/u/consortium`);
	await expect(page.getByText('Live', { exact: true })).toBeVisible();
	await keyboard.press('2');
	await expect(page.getByRole('table')).toBeVisible();
	await expect(page).toHaveURL(/view=list/);
	await keyboard.press('1');
	await expect(page.getByRole('group', { name: 'Dependency graph' })).toBeVisible();
	await expect(page).toHaveURL(/view=map/);
	await keyboard.press('c');
	await expect(page.getByText('Link copied')).toBeVisible();
	expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(page.url());

	const list = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
	await keyboard.press('?');
	await expect(list).toBeVisible();
	// An open dialog disables the shortcuts.
	await keyboard.press('2');
	await expect(page).toHaveURL(/view=map/);
	const on = list.getByRole('checkbox', { name: 'Enable shortcuts' });
	await on.uncheck();
	await keyboard.press('Escape');
	await expect(list).toBeHidden();
	await keyboard.press('2');
	await keyboard.press('?');
	await expect(list).toBeHidden();
	await expect(page).toHaveURL(/view=map/);

	await page.getByRole('button', { name: 'Keyboard shortcuts', exact: true }).click();
	await expect(on).not.toBeChecked();
	await on.check();
	await list.getByRole('button', { name: 'Close' }).click();
	await keyboard.press('g');
	await keyboard.press('u');
	await expect(page.getByRole('heading', { name: 'Units', level: 1 })).toBeVisible();
	await expect(page.getByRole('main')).toBeFocused();
});

test('confirmation needs every destroyed volume ticked, and asks again when it is reopened', async ({
	unwind,
	visit,
}) => {
	const page = await visit();
	await signIn(page, unwind.link);
	await page.getByRole('link', { name: 'consortium', exact: true }).click();
	await page.getByRole('button', { name: 'Plan teardown…' }).click();
	const open = page.getByRole('button', { name: 'Start teardown…' });
	await open.click();
	const dialog = page.getByRole('dialog');
	const ticks = dialog.getByRole('checkbox');
	const start = dialog.getByRole('button', { name: /^(Start|Tear)/ });
	await expect(dialog.getByText(/will be destroyed/)).toBeVisible();
	const count = await ticks.count();
	expect(count).toBeGreaterThan(0);
	await dialog.getByRole('textbox').fill('consortium');
	for (const tick of await ticks.all()) {
		await expect(start).toBeDisabled();
		await tick.check();
	}
	await expect(start).toBeEnabled();
	await ticks.first().uncheck();
	await expect(start).toBeDisabled();
	await dialog.getByRole('textbox').press('Enter');
	await expect(dialog.getByText('Nothing has been sent yet.')).toBeHidden();
	await dialog.getByRole('button', { name: 'Cancel' }).click();
	await open.click();
	await expect(dialog.getByRole('textbox')).toHaveValue('');
	for (const tick of await ticks.all()) await expect(tick).not.toBeChecked();
});

test('unknown address shows a live page that links back', async ({ unwind, visit }) => {
	const page = await visit();
	await signIn(page, unwind.link);
	await page.goto(`${unwind.origin}/nowhere`);
	await expect(page.getByText('Live', { exact: true })).toBeVisible();
	await page.getByRole('link', { name: /units/i }).last().click();
	await expect(page.getByRole('heading', { name: 'Units', level: 1 })).toBeVisible();
});
