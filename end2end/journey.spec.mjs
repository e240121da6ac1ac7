/**
 * The journey all this is for: a printed link, a unit, a plan, a confirmation, a run to its end, seen by two people, through
 * a `kill -9`; and on a real control plane judged by somebody who knows nothing of our plans.
 */
import { readFile } from 'node:fs/promises';
import { collection, Kinds } from './cluster/kinds.mjs';
import { kept, unitLabel, bystanderLabel, canaries } from './cluster/sample/names.mjs';
import { Judge } from './judge/judge.mjs';
import { anotherLink, expect, hold, signIn, tearDown, test, tickAll } from './world.mjs';

/** Until something is gone, and not everything. @param {import('@playwright/test').Page} page */
const halfway = (page) =>
	page.waitForFunction(() => {
		const [, gone, total] = /(\d+) of (\d+) gone/.exec(document.querySelector('.run-head-progress')?.textContent ?? '') ?? [];
		return Number(gone) > 0 && Number(gone) < Number(total);
	});

/** Two people take the application apart, while the program is killed in the middle. @returns what the first of them saw last */
async function takenApart({ unwind, visit }) {
	const li = await visit();
	await signIn(li, unwind.link);
	const wang = await visit();
	await signIn(wang, await anotherLink(li));

	await tearDown(li, 'consortium');
	const run = li.url();
	await wang.goto(run);
	await expect(wang.getByRole('heading', { name: 'Tearing down consortium' })).toBeVisible();

	await halfway(li);
	await unwind.kill();
	await expect(li.getByText(/Reconnecting|Offline/).first()).toBeVisible();
	await unwind.launch();
	for (const page of [li, wang]) {
		await expect(page.getByText('Live', { exact: true })).toBeVisible({ timeout: 40_000 });
		await expect(page.getByText('Finished', { exact: true })).toBeVisible({ timeout: 60_000 });
		await expect(page.getByText('Everything in the plan is gone')).toBeVisible();
		await expect(page.getByText(/continued after a restart of the server/)).toBeVisible();
		await expect(page.getByText('The server was restarted; the run continues')).toHaveCount(1);
		// A screen reader is told the same, some seconds later and further down.
		await expect(page.getByText(/^(\d+) of \1 gone$/).first()).toBeVisible();
	}
	const secrets = await Promise.all([li.content(), readFile(`${unwind.options.state}/journal.redb`, 'latin1')]);
	for (const text of [...secrets, unwind.errors]) expect(text).not.toMatch(canaries);
}

/** Nobody declared this volume: it is left as Released, and the plan has named it as data left behind. */
const leftVolume = 'org1-couchdb';
const phaseOf = async (cluster, volume) => (await cluster.request('admin', 'GET', `/api/v1/persistentvolumes/${volume}`)).body.status?.phase;

/** What there is with a label, as `Kind namespace/name`. */
async function standing(cluster, label) {
	const admin = (...request) => cluster.request('admin', ...request);
	const { all } = await Kinds.discover(admin);
	const lists = all.filter(({ verbs }) => verbs.includes('list') && verbs.includes('delete')).map(async (kind) => {
		const { status, body } = await admin('GET', `${collection(kind)}?labelSelector=${encodeURIComponent(label)}`);
		expect(status, kind.kind).toBe(200);
		return body.items.map(({ metadata }) => title({ kind: kind.kind, ...metadata }));
	});
	return (await Promise.all(lists)).flat().sort();
}

const title = ({ kind, namespace, name }) => `${kind} ${namespace ? `${namespace}/` : ''}${name}`;

test('an application is taken apart through a kill, before two people', { tag: '@unjudged' }, async ({ cluster, unwind, visit }) => {
	const [own, bystander] = [await standing(cluster, unitLabel), await standing(cluster, bystanderLabel)];
	expect([own.length > 30, bystander.length > 2]).toEqual([true, true]);
	const keeps = kept.map(title);
	await takenApart({ unwind, visit });
	// What a controller makes of a Service goes after it, when the controller comes to it.
	await expect.poll(() => standing(cluster, unitLabel)).toEqual(own.filter((one) => keeps.includes(one)));
	for (const { kind, name } of kept) if (kind === 'PersistentVolume') expect(await phaseOf(cluster, name)).toBe('Bound');
	expect(await standing(cluster, bystanderLabel)).toEqual(bystander);
	await expect.poll(() => phaseOf(cluster, leftVolume)).toBe('Released');
});

test('an application is taken apart in order, through a kill, before two people', { tag: '@judged' }, async ({ cluster, unwind, visit }) => {
	const judge = await Judge.open(cluster, { unit: { label: unitLabel }, bystander: { label: bystanderLabel }, accused: 'developer' });
	await takenApart({ unwind, visit });
	const { convictions, seen, gaps, unread } = await judge.close({
		keptExpected: kept,
		mayRemain: ({ metadata }) => metadata.name === leftVolume,
	});
	expect(convictions).toEqual([]);
	// Which Pods there are was asked of the API server itself before each claim went.
	expect(unread).toEqual([]);
	await expect.poll(() => phaseOf(cluster, leftVolume)).toBe('Released');
	// It has seen them all, and knows whose they were.
	expect(gaps).toEqual([]);
	expect(seen.requests).toBeGreaterThan(40);
});

test('what is shared is kept, and says why', async ({ unwind, visit }) => {
	const page = await visit();
	await signIn(page, unwind.link);
	await page.getByRole('link', { name: 'consortium', exact: true }).click();
	await page.getByRole('button', { name: 'Plan teardown…' }).click();
	const keptList = page.getByRole('region', { name: 'Kept, and why' });
	for (const { kind, namespace, name } of kept) {
		const line = keptList.getByRole('listitem').filter({ hasText: new RegExp(`^${title({ kind, namespace, name })}`) });
		await expect(line).toHaveCount(1);
		await expect(line).toContainText(/uses it and is not part of the unit|is kept and needs it/);
	}
	await expect(keptList.getByText(/auditor uses it and is not part of the unit/).first()).toBeVisible();
	// Nobody declared this volume, and it is not to be deleted with its claim.
	await expect(keptList.getByRole('listitem').filter({ hasText: 'PersistentVolume org1-couchdb' })).toContainText('Retain');
	const data = page.getByRole('row').or(page.getByRole('listitem')).filter({ hasText: 'Left in place' });
	await expect(data.filter({ hasText: 'org1-couchdb' })).not.toHaveCount(0);
	await expect(page.getByText('Destroyed', { exact: true })).toBeVisible();
});

test('a plan the cluster has moved away from is refused with the differences', async ({ cluster, unwind, visit }) => {
	const page = await visit();
	await signIn(page, unwind.link);
	await page.getByRole('link', { name: 'consortium', exact: true }).click();
	await page.getByRole('button', { name: 'Plan teardown…' }).click();
	await page.getByRole('button', { name: 'Start teardown…' }).click();
	await cluster.apply([
		{
			apiVersion: 'v1',
			kind: 'ConfigMap',
			metadata: { name: 'late', namespace: 'consortium-org1', labels: { 'app.kubernetes.io/part-of': 'consortium' } },
		},
	]);
	const dialog = page.getByRole('dialog');
	await tickAll(dialog);
	await dialog.getByRole('textbox').fill('consortium');
	await dialog.getByRole('button', { name: /^(Start|Tear)/ }).click();
	await expect(page.getByText('The cluster has moved since this plan was made')).toBeVisible();
	await expect(page.getByText('consortium-org1/late')).toBeVisible();
	await page.getByRole('button', { name: 'Make a new plan' }).first().click();
	await expect(page.getByText('The cluster has moved since this plan was made')).toBeHidden();
});

test('a Pod that never goes holds what is behind it and nothing else, and the run can be stopped', async ({ cluster, unwind, visit }) => {
	await hold(cluster, 'consortium-orderers', 'orderer-1');
	const page = await visit();
	await signIn(page, unwind.link);
	await tearDown(page, 'consortium');

	// Everything that does not hang on that Pod goes, its namespace's neighbours to the last.
	const row = (name) => page.locator('tr').filter({ hasText: name });
	await expect(row('Namespace consortium-org1')).toContainText('Gone', { timeout: 60_000 });
	await expect(row('Pod consortium-orderers/orderer-0')).toContainText('Gone');
	await expect(row('PersistentVolumeClaim consortium-orderers/ledger-orderer-1')).toContainText('Waiting');
	await expect(row('PersistentVolumeClaim consortium-orderers/ledger-orderer-1')).toContainText('orderer-1');
	await expect(row('Namespace consortium-orderers')).toContainText('Waiting');
	const claim = await cluster.request('admin', 'GET', '/api/v1/namespaces/consortium-orderers/persistentvolumeclaims/ledger-orderer-1');
	expect(claim.body.metadata.deletionTimestamp).toBeUndefined();

	// Long enough for the server to have said which build it serves: it is still this one.
	await expect(page.getByText('The server was updated.')).toBeHidden();
	await page.getByRole('button', { name: 'Stop…' }).click();
	await page.getByRole('dialog').getByRole('button', { name: /Stop/ }).click();
	await expect(page.getByText('Stopped', { exact: true })).toBeVisible();
});
