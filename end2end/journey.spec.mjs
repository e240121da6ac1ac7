/**
 * The main journey: a printed link, a unit, a plan, a confirmation, a run to its end, seen by two people, with a `kill -9` in the
 * middle; on a real control plane the judge checks it from the outside.
 */
import { readFile } from 'node:fs/promises';
import { collection, Kinds } from './cluster/kinds.mjs';
import { bystanderLabel, canaries, kept, namespaceOf, sharedConfigMap, sharedOrg, unitLabel } from './cluster/sample/names.mjs';
import { Judge } from './judge/judge.mjs';
import { destroyedBy } from './session.mjs';
import { anotherLink, confirm, expect, hold, signIn, tearDown, test, tickAll } from './fixtures.mjs';

/** Waits until some objects are gone, but not all. @param {import('@playwright/test').Page} page */
const halfway = (page) =>
	page.waitForFunction(() => {
		const [, gone, total] = /(\d+) of (\d+) gone/.exec(document.querySelector('.run-head-progress')?.textContent ?? '') ?? [];
		return Number(gone) > 0 && Number(gone) < Number(total);
	});

/**
 * The volumes of which the confirmed plan said that their data is destroyed.
 * @param {import('@playwright/test').Page} page of a run
 */
async function announcedAsDestroyed(page) {
	const { origin, pathname } = new URL(page.url());
	const { snapshot } = await (await page.request.get(`${origin}/api/runs/${pathname.split('/').pop()}`)).json();
	const { plan } = snapshot.records.find((record) => record.run).run;
	return destroyedBy(await (await page.request.get(`${origin}/api/plans/${plan}`)).json());
}

/** Runs a teardown before two viewers, and kills and restarts the program half way. Returns the page of the first. */
async function tearDownThroughKill({ unwind, visit }) {
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
		await expect(page.getByText('Everything to delete is gone')).toBeVisible();
		await expect(page.getByText(/continued after a restart of the server/)).toBeVisible();
		await expect(page.getByText('The server was restarted; the run continues')).toHaveCount(1);
		// The live region says the same some seconds later.
		await expect(page.getByText(/^(\d+) of \1 gone$/).first()).toBeVisible();
	}
	const secrets = await Promise.all([li.content(), readFile(`${unwind.options.state}/journal.redb`, 'latin1')]);
	for (const text of [...secrets, unwind.errors]) expect(text).not.toMatch(canaries);
	return li;
}

/** This volume has no label of the unit: it stays as Released, and the plan lists it as data left behind. */
const leftVolume = 'org1-couchdb';
const phaseOf = async (cluster, volume) => (await cluster.request('admin', 'GET', `/api/v1/persistentvolumes/${volume}`)).body.status?.phase;

/** The objects with a label, as `Kind namespace/name`. */
async function objectsWith(cluster, label) {
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

test('teardown continues after kill -9 and two viewers see it finish', { tag: '@unjudged' }, async ({ cluster, unwind, visit }) => {
	const [own, bystander] = [await objectsWith(cluster, unitLabel), await objectsWith(cluster, bystanderLabel)];
	expect([own.length > 30, bystander.length > 2]).toEqual([true, true]);
	const keeps = kept.map(title);
	await tearDownThroughKill({ unwind, visit });
	// EndpointSlices are deleted by their controller some time after their Service.
	await expect.poll(() => objectsWith(cluster, unitLabel)).toEqual(own.filter((one) => keeps.includes(one)));
	for (const { kind, name } of kept) if (kind === 'PersistentVolume') expect(await phaseOf(cluster, name)).toBe('Bound');
	expect(await objectsWith(cluster, bystanderLabel)).toEqual(bystander);
	await expect.poll(() => phaseOf(cluster, leftVolume)).toBe('Released');
});

test('teardown continues after kill -9 in the right order and two viewers see it finish', { tag: '@judged' }, async ({ cluster, unwind, visit }) => {
	const judge = await Judge.open(cluster, { unit: { label: unitLabel }, bystander: { label: bystanderLabel }, actor: 'developer' });
	const page = await tearDownThroughKill({ unwind, visit });
	const destroyed = await announcedAsDestroyed(page);
	// The only volume with the reclaim policy Delete.
	expect(destroyed).toHaveLength(1);
	const { violations, seen, gaps, uncheckedClaims, uncheckedNamespaces } = await judge.close({
		keptExpected: kept,
		mayRemain: ({ metadata }) => metadata.name === leftVolume,
		destroyed,
	});
	expect(violations).toEqual([]);
	// Before each claim was deleted, its Pods were listed from the API server.
	expect(uncheckedClaims).toEqual([]);
	// Before each namespace was deleted, everything in it was listed.
	expect(uncheckedNamespaces).toEqual([]);
	await expect.poll(() => phaseOf(cluster, leftVolume)).toBe('Released');
	// The judge saw all requests, and no watch had gaps.
	expect(gaps).toEqual([]);
	expect(seen.requests).toBeGreaterThan(40);
});

test('data that a person keeps outlives the teardown', { tag: '@judged' }, async ({ cluster, unwind, visit }) => {
	const judge = await Judge.open(cluster, { unit: { label: unitLabel }, bystander: { label: bystanderLabel }, actor: 'developer', keepsData: true });
	const page = await visit();
	await signIn(page, unwind.link);
	await page.goto(`${unwind.origin}/u/consortium/plan?keep=data`);
	await confirm(page, 'consortium');
	await expect(page.getByText('Finished', { exact: true })).toBeVisible({ timeout: 60_000 });
	const { violations, gaps } = await judge.close({
		keptExpected: kept,
		// Claims stay in their namespaces, with their volumes.
		mayRemain: ({ kind }) => ['Namespace', 'PersistentVolumeClaim', 'PersistentVolume'].includes(kind),
		destroyed: await announcedAsDestroyed(page),
	});
	expect(violations).toEqual([]);
	expect(gaps).toEqual([]);
});

test('shared objects are kept and the plan says why', async ({ unwind, visit }) => {
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
	// This volume has no label of the unit, and its reclaim policy keeps it.
	await expect(keptList.getByRole('listitem').filter({ hasText: 'PersistentVolume org1-couchdb' })).toContainText('Retain');
	const data = page.getByRole('row').or(page.getByRole('listitem')).filter({ hasText: 'Left in place' });
	await expect(data.filter({ hasText: 'org1-couchdb' })).not.toHaveCount(0);
	await expect(page.getByText('Destroyed', { exact: true })).toBeVisible();
});

test('shared object goes once a person waives it by name and confirms what the others lose', async ({ unwind, visit }) => {
	const page = await visit();
	await signIn(page, unwind.link);
	await page.goto(`${unwind.origin}/u/consortium/plan`);
	const shared = `ConfigMap ${namespaceOf(sharedOrg)}/${sharedConfigMap}`;
	await page.getByText('Choices', { exact: true }).click();
	const offered = page.getByRole('group', { name: 'Delete although an annotation asks to keep it, or others use it' });
	await expect(offered.getByRole('checkbox', { name: /PersistentVolumeClaim|Namespace/ })).toHaveCount(0);
	await offered.getByRole('checkbox', { name: shared }).check();
	await page.getByRole('button', { name: 'Make the plan' }).click();
	await expect(page).toHaveURL(/[?&]waive=ConfigMap/);
	const loss = new RegExp(`${shared} goes although others use it: .*auditor.*they fail when they next need it`);
	await expect(page.getByText(loss).first()).toBeVisible();
	const keptList = page.getByRole('region', { name: 'Kept, and why' });
	await expect(keptList.getByRole('listitem').filter({ hasText: new RegExp(`^${shared}`) })).toHaveCount(0);
	await page.getByRole('button', { name: 'Start teardown…' }).click();
	await expect(page.getByRole('dialog').getByRole('checkbox', { name: loss })).not.toBeChecked();
});

test('plan that the cluster has changed since is refused with the differences', async ({ cluster, unwind, visit }) => {
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

test('Pod that never terminates blocks only what depends on it, and the run can be stopped', async ({ cluster, unwind, visit }) => {
	await hold(cluster, 'consortium-orderers', 'orderer-1');
	const page = await visit();
	await signIn(page, unwind.link);
	await tearDown(page, 'consortium');

	// Everything that does not depend on that Pod goes, also in its namespace.
	const row = (name) => page.locator('tr').filter({ hasText: name });
	await expect(row('Namespace consortium-org1')).toContainText('Gone', { timeout: 60_000 });
	await expect(row('Pod consortium-orderers/orderer-0')).toContainText('Gone');
	await expect(row('PersistentVolumeClaim consortium-orderers/ledger-orderer-1')).toContainText('Waiting');
	await expect(row('PersistentVolumeClaim consortium-orderers/ledger-orderer-1')).toContainText('orderer-1');
	await expect(row('Namespace consortium-orderers')).toContainText('Waiting');
	const claim = await cluster.request('admin', 'GET', '/api/v1/namespaces/consortium-orderers/persistentvolumeclaims/ledger-orderer-1');
	expect(claim.body.metadata.deletionTimestamp).toBeUndefined();

	// The server has announced its build by now, and it is the build of the page.
	await expect(page.getByText('The server was updated.')).toBeHidden();
	await page.getByRole('button', { name: 'Stop…' }).click();
	await page.getByRole('dialog').getByRole('button', { name: /Stop/ }).click();
	await expect(page.getByText('Stopped', { exact: true })).toBeVisible();
});
