/**
 * The five incidents, each lived through from the bar of the sandbox to its end, from the page alone: it happens, the page says
 * why with the cluster's own words, and a way out of the page ends it. server/sandbox/src/world/README.md describes them.
 */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Client } from './cluster/client.mjs';
import { parseKubeconfig } from './cluster/kubeconfig.mjs';
import { expect, tearDown, test } from './fixtures.mjs';
import { ask, cardOf, choose, confirm, end, putBack, repair, start, story, wayOf } from './story.mjs';

const kubectl = fileURLToPath(new URL('../target/cluster/bin', import.meta.url));

/** @param {import('./unwind.mjs').Unwind} unwind */
const kubeconfig = (unwind) => join(unwind.options.state, 'sandbox', 'kubeconfig');

/** The Pods of a namespace, as the API shows them. @param {import('./unwind.mjs').Unwind} unwind @param {string} namespace */
async function pods(unwind, namespace) {
	const { server, tokens } = parseKubeconfig(await readFile(kubeconfig(unwind), 'utf8'));
	const client = new Client({ server, token: tokens.get('sandbox') });
	const { body } = await client.request('GET', `/api/v1/namespaces/${namespace}/pods`);
	client.close();
	return body.items;
}

/** Whether a Pod is ready. @param {any} pod */
const isReady = ({ status }) => status.conditions?.some((/** @type {any} */ { type, status }) => type === 'Ready' && status === 'True');

test('S3: empty namespace goes once the dead API is removed, or repaired', async ({ visit }) => {
	await story(visit, 's3', async ({ page, bar, picture }) => {
		const down = /^The API metrics\.k8s\.io\/v1beta1 does not answer/;
		await start(bar, /^S3:/);
		let card = await cardOf(page, down);
		await expect(card.getByText(/condition NamespaceDeletionDiscoveryFailure is True/)).toBeVisible();
		await expect(card.getByText(/condition Available is False MissingEndpoints/)).toBeVisible();
		await picture(card);
		const force = await wayOf(card, 'Finish Namespace s3 without its controller');
		await expect(force).toContainText('Not now: metrics.k8s.io/v1beta1 cannot be listed');
		await expect(force.getByRole('button', { name: ask })).toHaveCount(0);
		// The API is down for certain, so looking again now is not offered either.
		const again = await wayOf(card, 'Have Namespace s3 looked at again');
		await expect(again.getByRole('button', { name: ask })).toHaveCount(0);

		// The first end: the API is taken away, and put back once the namespace is gone.
		await confirm(await choose(card, 'Delete APIService v1beta1.metrics.k8s.io'));
		await end(page);
		const off = page.locator('.banner').filter({ hasText: '1 thing is switched off' });
		await page.getByRole('link', { name: 'Units', exact: true }).first().click();
		await expect(off).toBeVisible();
		await expect(page.getByRole('link', { name: 's3', exact: true })).toBeHidden();
		await putBack(page, /^Put back: APIService v1beta1\.metrics\.k8s\.io/);
		// It is back, and as dead as it was.
		await expect(page.getByText(/^Cannot list/)).toBeVisible();
		await repair(bar, 'Stop the metrics API');
		await expect(page.getByText(/^Cannot list/)).toBeHidden();

		// The second end: what serves the API is repaired, and the page notices by itself.
		await bar.getByRole('button', { name: 'Start over…' }).click();
		await page.getByRole('dialog').getByRole('button', { name: 'Start over' }).click();
		await expect(bar.getByRole('button', { name: /^S3:/ })).toBeEnabled();
		await start(bar, /^S3:/);
		card = await cardOf(page, down);
		await expect(card.getByText('To look').first()).toBeVisible();
		await repair(bar, 'Stop the metrics API');
		await end(page);
	});
});

test('S5: Pods of a machine that is off go by the taint, and the taint is taken off', async ({ visit }) => {
	await story(visit, 's5', async ({ page, unwind, bar, picture }) => {
		await start(bar, /^S5:/);
		const card = await cardOf(page, /^Node node-a stopped reporting, so nobody confirms that its Pods ended\.$/);
		await expect(card.getByText(/Deployment s5\/singleton, StatefulSet s5\/ledger start no replacement/)).toBeVisible();
		await picture(card);
		const titles = card.locator('.way-title');
		await expect(titles).toHaveText([
			/^Bring node node-a back/,
			/^Mark node node-a as out of service/,
			/^Delete the Node object node-a/,
			/^Remove Pod s5\/ledger-0 from the API by force/,
			/^Remove Pod s5\/singleton-\S+ from the API by force/,
		]);
		const taint = await choose(card, 'Mark node node-a as out of service');
		await expect(taint).toContainText('Pod s5/agent-');
		await confirm(taint, 'Li saw in the rack that the machine is off');
		await end(page);
		const back = (/** @type {any[]} */ all) =>
			['ledger-', 'singleton-'].every((name) =>
				all.some((pod) => pod.metadata.name.startsWith(name) && pod.spec.nodeName !== 'node-a' && isReady(pod)),
			);
		await expect.poll(async () => back(await pods(unwind, 's5'))).toBe(true);

		const off = page.locator('.banner').filter({ hasText: '1 thing is switched off' });
		await expect(off).toBeVisible();
		await repair(bar, 'Break node-a');
		await putBack(page, /^Put back: Node node-a is marked out of service/);
	});
});

test('S5, cut off: the same card for a node that lives, and it ends by itself', async ({ visit }) => {
	await story(visit, 's5-cut-off', async ({ page, unwind, bar }) => {
		await start(bar, /^S5, cut off:/);
		const card = await cardOf(page, /^Node node-b stopped reporting, so nobody confirms that its Pod ended\.$/);
		// Its replacement waits for the disk.
		await expect(card.getByText(/Deployment s5-cut-off\/writer starts no replacement until its Pod is gone/)).toBeVisible();
		// Nobody has checked, so nothing by force can be confirmed.
		const taint = await choose(card, 'Mark node node-b as out of service');
		await expect(taint).toContainText('A broken network looks the same from here');
		await taint.getByLabel(/^Type /).fill('node-b');
		await expect(taint.getByRole('button', { name: 'Do it' })).toHaveAttribute('aria-disabled', 'true');
		await page.keyboard.press('Escape');
		await repair(bar, 'Break node-b');
		await end(page);
		const oneWriter = (/** @type {any[]} */ all) => all.length === 1 && isReady(all[0]);
		await expect.poll(async () => oneWriter(await pods(unwind, 's5-cut-off'))).toBe(true);
	});
});

test('S4: owner goes before its child, and the operator finishes the rest', async ({ visit }) => {
	await story(visit, 's4', async ({ page, bar, picture }) => {
		await start(bar, /^S4:/);
		const card = await cardOf(page, /^The finalizer queue\.example\/topic is left, and what probably cleared it was deleted: Deployment s4\/queue-operator/);
		const chain = card.locator('.diagnosis-chain');
		await expect(chain).toContainText('waits for Topic s4/audit, which it owns');
		await picture(card);
		await confirm(await choose(card, /^Delete ConfigMap s4\/tenant again/));
		await expect(chain).not.toContainText('which it owns');
		await repair(bar, 'Uninstall s4/queue-operator');
		await end(page);
	});
});

test('S4, forced: namespace that was emptied by hand is created again and deleted', async ({ visit }) => {
	await story(visit, 's4-forced', async ({ page, unwind, bar }) => {
		await start(bar, /^S4, forced:/);
		const card = await cardOf(page, /^The finalizer mail\.example\/mailbox is left/);
		await expect(card.getByText('Objects in a namespace that does not exist cannot be changed')).toBeVisible();
		await expect(card.locator('.way-title').first()).toHaveText('Create namespace s4-forced again and delete it');
		const removal = await wayOf(card, 'Remove the finalizer mail.example/mailbox');
		await expect(removal).toContainText('Not now: its namespace does not exist');
		// A person pastes both lines into a shell.
		const way = await wayOf(card, 'Create namespace s4-forced again and delete it');
		const env = { PATH: `${kubectl}:${process.env.PATH}`, HOME: unwind.options.state, KUBECONFIG: kubeconfig(unwind) };
		for (const line of await way.locator('.way-command code').allInnerTexts()) {
			const { stderr } = await promisify(execFile)('sh', ['-c', line], { env });
			expect(stderr).toBe('');
		}
		await end(page);
	});
});

test('S2: busy mount is named, and the Pod goes once it is free', async ({ visit }) => {
	await story(visit, 's2', async ({ page, unwind, bar, picture }) => {
		await start(bar, /^S2:/);
		const card = await cardOf(page, /^All containers ended, but node \S+ has not unmounted the Pod’s volumes\.$/);
		await picture(card);
		await expect(await wayOf(card, 'Wait')).toContainText('at most 2 min 2 s after its last try');
		const free = await wayOf(card, /^End what holds the mount on node/);
		await expect(free).toContainText('Volume s2-archive of claim archive is still mounted');
		await expect(free).toContainText('/proc/self/mountinfo');
		await expect(free).toContainText('fuser --verbose');
		const force = await wayOf(card, /^Remove Pod s2\/archive-\S+ from the API by force/);
		await expect(force).toContainText('The mount stays on the node');
		await repair(bar, 'Hold s2-archive busy');
		// One back-off is 122 s, a tenth of that here; the page is at most 2 s behind the API.
		await expect.poll(async () => (await pods(unwind, 's2')).some((/** @type {any} */ pod) => pod.metadata.name.startsWith('archive-')), { timeout: 15_000, intervals: [100] }).toBe(false);
		await end(page, 2_000);
	});
});

test('S1: three mounts end in their own ways, and the twin is taken down without a hang', async ({ visit }) => {
	await story(visit, 's1', async ({ page, bar, picture }) => {
		await start(bar, /^S1:/);
		const gone = (/** @type {string} */ claim) =>
			page.locator('details.diagnosis').filter({ has: page.getByText(new RegExp(`has not unmounted the Pod’s volumes, and claim ${claim} was deleted before the Pod`)) });
		await expect(gone('ledger')).toHaveCount(2, { timeout: 30_000 });
		await expect(gone('orders')).toHaveCount(1);
		await expect(gone('tools')).toHaveCount(1);
		const card = await cardOf(page, /claim tools was deleted before the Pod/);
		await picture(card);
		await expect(await wayOf(card, 'Bring back the storage behind the mount')).toContainText('Do not delete the directories of the Pod by hand');
		await expect(await wayOf(card, /^End what holds the mount/)).toContainText('Volume s1-tools of claim tools is still mounted');
		await expect(await wayOf(card, /^Restart node/)).toBeVisible();
		await repair(bar, 'Make old-nfs.s1.example stale');
		await expect(gone('orders')).toHaveCount(0);
		await repair(bar, 'Hold s1-tools busy');
		await repair(bar, 'Make nfs.s1.example stale');
		await end(page);
		await page.getByRole('link', { name: 'Units', exact: true }).first().click();
		await tearDown(page, 's1-twin');
		await expect(page.getByText('Finished', { exact: true })).toBeVisible();
	});
});

test('load balancer: the words of the cloud are on the card, and the Service goes once the cloud gives in', async ({ visit }) => {
	await story(visit, 'load-balancer', async ({ page, bar }) => {
		await start(bar, /^Load balancer:/);
		const card = await cardOf(page, /load balancer/);
		await expect(card.getByText(/the security group sg-4711 is in use/).first()).toBeVisible({ timeout: 30_000 });
		await repair(bar, 'Let the cloud refuse');
		await end(page, 60_000);
	});
});

test('manager: one card names it above all else, and the namespace goes once it runs again', async ({ visit }) => {
	await story(visit, 'manager', async ({ page, bar }) => {
		await start(bar, /^Manager:/);
		const card = await cardOf(page, /^The kube-controller-manager does not run\.$/);
		await expect(page.locator('details.diagnosis').first()).toContainText('The kube-controller-manager does not run.');
		await expect(card).toContainText('Namespace manager');
		await repair(bar, 'Stop kube-controller-manager');
		await end(page, 60_000);
	});
});
