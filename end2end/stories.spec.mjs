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

/** What the API answers at a path. @param {import('./unwind.mjs').Unwind} unwind @param {string} path @param {Record<string, string>} [headers] */
async function read(unwind, path, headers) {
	const { server, tokens } = parseKubeconfig(await readFile(kubeconfig(unwind), 'utf8'));
	const client = new Client({ server, token: tokens.get('sandbox') });
	const answer = await client.request('GET', path, undefined, headers);
	client.close();
	return answer;
}

/** The Pods of a namespace, as the API shows them. @param {import('./unwind.mjs').Unwind} unwind @param {string} namespace */
const pods = async (unwind, namespace) => (await read(unwind, `/api/v1/namespaces/${namespace}/pods`)).body.items;

/** The keys of the taints of a node. @param {import('./unwind.mjs').Unwind} unwind @param {string} node */
async function taints(unwind, node) {
	const { body } = await read(unwind, `/api/v1/nodes/${node}`);
	return (body.spec.taints ?? []).map((/** @type {any} */ { key }) => key);
}

/** One of the first lines of a card. @param {import('@playwright/test').Locator} card @param {string} name */
const lineOf = (card, name) => card.locator('.diagnosis-first > div').filter({ has: card.page().locator('dt').getByText(name, { exact: true }) });

/** What happens if nobody acts. @param {import('@playwright/test').Locator} card */
const course = (card) => lineOf(card, 'If nobody acts');

/** The address of a card that a ticket keeps. @param {import('@playwright/test').Locator} card */
const linkOf = (card) => card.getByRole('link', { name: 'Link to this card' }).getAttribute('href');

/** A time on the page, in seconds since 1970. @param {string} said such as `2026-11-21 12:03:41` */
const seconds = (said) => Date.parse(`${said.replace(' ', 'T')}Z`) / 1000;

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
		await putBack(page, /^Put APIService v1beta1\.metrics\.k8s\.io back/, /still has no ready endpoint: namespaces cannot be emptied while it is back/);
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

test('S3: after the repair the page says who looks again and by when, and an annotation speeds it up', async ({ visit }) => {
	await story(visit, 's3', async ({ page, unwind, bar }) => {
		await start(bar, /^S3:/);
		const down = await cardOf(page, /^The API metrics\.k8s\.io\/v1beta1 does not answer/);
		await expect(course(down)).toContainText('Nothing, as long as the API is down');
		await expect(await wayOf(down, /^Repair the API metrics/)).toContainText('After the repair namespaces go on within 150 s');
		await expect(await wayOf(down, /^Delete APIService/)).toContainText('Namespaces go on within 75 s');
		const force = await wayOf(down, 'Finish Namespace s3 without its controller');
		await expect(force.getByRole('listitem').filter({ hasText: 'Every kind in the namespace can be listed.' })).toContainText('Not so:');

		// At the ordinary speed, the next look of the controller is up to a minute away.
		await bar.getByRole('button', { name: 'Time ×10' }).click();
		await expect(bar.getByRole('button', { name: 'Time ×10', pressed: false })).toBeVisible();
		await repair(bar, 'Stop the metrics API');
		const card = await cardOf(page, /^The API metrics\.k8s\.io\/v1beta1 no longer blocks this\. The namespace-controller has not checked since\.$/);
		await expect(course(card)).toContainText(/The namespace-controller looks again by \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC\./);
		await expect(course(card)).toContainText('Any change to the namespace, such as an annotation, speeds it up.');
		const wait = await wayOf(card, 'Wait');
		await expect(wait).toContainText(/The controller looks again by \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC, and the namespace goes then/);
		const { body } = await read(unwind, '/apis/apiregistration.k8s.io/v1/apiservices/v1beta1.metrics.k8s.io');
		const { lastTransitionTime } = body.status.conditions.find((/** @type {any} */ { type }) => type === 'Available');
		const [, by = ''] = /looks again by (\S+ \S+) UTC/.exec(await wait.innerText()) ?? [];
		expect(seconds(by) - Date.parse(lastTransitionTime) / 1000, 'after a repair at most 150 s').toBe(150);
		await expect(course(card), 'one time for both').toContainText(`looks again by ${by} UTC`);
		await confirm(await choose(card, 'Have Namespace s3 looked at again'));
		await end(page, 10_000);
		expect((await read(unwind, '/api/v1/namespaces/s3')).status).toBe(404);
	});
});

/** The first lines of a card that end below the first screen, by their names. @param {import('@playwright/test').Locator} card */
const below = (card) =>
	card.locator('.diagnosis-first > div').evaluateAll((lines) =>
		lines.filter((line) => line.getBoundingClientRect().bottom > window.innerHeight).map((line) => line.querySelector('dt')?.textContent),
	);

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
		// Nobody evicts the Pod of the DaemonSet, so it does not wait. The taint ends it too, and it has no disk.
		await expect(card.locator('.diagnosis-chain')).toContainText('Pod s5/ledger-0');
		await expect(card.locator('.diagnosis-chain')).not.toContainText('s5/agent-');

		// Whoever is woken at night reads the first lines of it without scrolling: on a desk, on a phone, and without JavaScript.
		const lines = ['Cluster', 'Harm now', 'Data', 'If nobody acts', 'Do not', 'Since then', 'Whose it is'];
		const names = (/** @type {import('@playwright/test').Locator} */ of) => of.locator('.diagnosis-first dt');
		const checkLines = async (/** @type {import('@playwright/test').Locator} */ of) => {
			await expect(names(of)).toHaveText(lines);
			await expect(lineOf(of, 'Cluster')).toContainText('sandbox, seen as kubernetes-admin.');
			await expect(lineOf(of, 'Harm now')).toContainText('The Pods on node node-a count as not ready');
			await expect(lineOf(of, 'Data')).toContainText('Mounted on the silent node');
			await expect(lineOf(of, 'Whose it is').locator('p')).toHaveText([
				'team: ledger-sre',
				'topology.kubernetes.io/zone: zone-1',
				'spec.providerID: rack:///zone-1/machine-07',
			]);
		};
		await page.goto(`${unwind.origin}/trouble`);
		await checkLines(card);
		expect(await below(card), 'below the first screen of a desk').toEqual([]);
		await page.setViewportSize({ width: 390, height: 844 });
		await page.evaluate(() => window.scrollTo(0, 0));
		await expect(card.locator('.diagnosis-cause')).toBeInViewport({ ratio: 1 });
		await expect(lineOf(card, 'Harm now')).toBeInViewport({ ratio: 1 });
		await expect(lineOf(card, 'Data').locator('dt')).toBeInViewport({ ratio: 1 });
		await page.setViewportSize({ width: 1440, height: 900 });
		const plain = await visit({ javaScriptEnabled: false });
		await plain.context().addCookies(await page.context().cookies());
		await plain.goto(`${unwind.origin}/trouble`);
		await checkLines(plain.locator('details.diagnosis').first());
		await bar.getByText('Sandbox.').click();

		const taint = await choose(card, 'Mark node node-a as out of service');
		const disk = (/** @type {string} */ pod, /** @type {string} */ claim) =>
			new RegExp(`Pod s5/${pod}\\S*: PersistentVolumeClaim s5/${claim} \\(ReadWriteOnce: one node at a time\\)`);
		await expect(taint).toContainText(disk('ledger-0', 'data-ledger-0'));
		await expect(taint).toContainText(disk('singleton-', 'spool'));
		await expect(taint).toContainText('Without a claim: Pod s5/agent-');
		await confirm(taint, 'Li saw in the rack that node-a is off');
		await end(page);
		const back = (/** @type {any[]} */ all) =>
			['ledger-', 'singleton-'].every((name) =>
				all.some((pod) => pod.metadata.name.startsWith(name) && pod.spec.nodeName !== 'node-a' && isReady(pod)),
			);
		await expect.poll(async () => back(await pods(unwind, 's5'))).toBe(true);

		const off = page.locator('.banner').filter({ hasText: '1 thing is switched off' });
		await expect(off).toBeVisible();
		expect(await taints(unwind, 'node-a')).toContain('node.kubernetes.io/out-of-service');
		await repair(bar, 'Break node-a');
		// The node is back, and the page still says that it takes no Pod.
		await expect.poll(() => taints(unwind, 'node-a')).toEqual(['node.kubernetes.io/out-of-service']);
		await expect(off).toContainText('Node node-a is marked out of service');
		await putBack(page, /^Put Node node-a back/, /its Pods and volumes wait for it again/);
		await expect.poll(() => taints(unwind, 'node-a')).toEqual([]);
		await page.goto(`${unwind.origin}/switched-off`);
		await expect(page.getByText('Nothing is switched off.')).toBeVisible();
	});
});

test('S5: disk of a Pod that was forced is detached after six minutes, at the time that the page says', async ({ visit }) => {
	await story(visit, 's5', async ({ page, unwind, bar }) => {
		await start(bar, /^S5:/);
		await cardOf(page, /^Node node-a stopped reporting, so nobody confirms that its Pods ended\.$/);
		const card = await cardOf(page, /^Node node-a stopped reporting/);
		// A Pod whose containers may run keeps its disk, so no time is known yet.
		await expect(course(card)).toContainText(/6 min after no Pod there wants the volume any more: the attach-detach controller detaches pvc-\S+, pvc-\S+ from node node-a by force/);
		const { body: claim } = await read(unwind, '/api/v1/namespaces/s5/persistentvolumeclaims/spool');
		const volume = claim.spec.volumeName;
		const attached = async () => {
			const { body } = await read(unwind, '/apis/storage.k8s.io/v1/volumeattachments');
			const of = body.items.filter((/** @type {any} */ { spec }) => spec.source.persistentVolumeName === volume);
			return of.map((/** @type {any} */ { spec }) => spec.nodeName);
		};
		expect(await attached()).toEqual(['node-a']);
		await confirm(await choose(card, /^Remove Pod s5\/singleton-\S+ from the API by force/), 'Li saw in the rack that node-a is off');

		// The ledger still waits for the node, so the card stays. It has the time now.
		const due = new RegExp(`At (\\S+ \\S+) UTC: the attach-detach controller detaches ${volume} from node node-a by force, unless the node is ready by then`);
		await expect(course(card)).toContainText(due);
		// The time that is left is counted down on the page.
		const left = course(card).locator('p').filter({ hasText: due }).locator('time');
		await expect(left).toHaveText(/^in (\d+ min )?\d+ s$/);
		const shown = await left.innerText();
		await expect(left).not.toHaveText(shown);
		await expect(left).toHaveText(/^in /);
		const [attempt] = await (await page.request.get(`${unwind.origin}/api/remedies`)).json();
		const [, at = ''] = due.exec(await course(card).innerText()) ?? [];
		const wait = seconds(at) - Date.parse(attempt.asked) / 1000;
		expect(wait).toBeGreaterThan(355);
		// At this speed a second of the machine is ten of the cluster.
		expect(wait).toBeLessThan(420);
		// Meanwhile the replacement is on another node and cannot have the disk.
		const replacement = async () => (await pods(unwind, 's5')).find((/** @type {any} */ { metadata, spec }) => metadata.name.startsWith('singleton-') && spec.nodeName !== 'node-a');
		await expect.poll(replacement).toBeTruthy();
		expect(isReady(await replacement())).toBe(false);
		expect(await attached()).toEqual(['node-a']);
		await expect(card.getByText(/^Pod s5\/singleton-\S+ hangs in ContainerCreating \(Multi-Attach error\): its disk is still attached to another node\.$/)).toBeVisible();
		await expect(card.locator('.diagnosis-chain')).toContainText('cannot start before its disk is detached');

		await expect(course(card)).not.toContainText(volume, { timeout: 60_000 });
		await expect.poll(async () => isReady(await replacement())).toBe(true);
		const moved = (await replacement()).spec.nodeName;
		await expect.poll(attached).toEqual([moved]);
		// It was not before that time: the new attachment is younger.
		const { body } = await read(unwind, '/apis/storage.k8s.io/v1/volumeattachments');
		const [born] = body.items.filter((/** @type {any} */ { spec }) => spec.source.persistentVolumeName === volume);
		expect(Date.parse(born.metadata.creationTimestamp) / 1000).toBeGreaterThanOrEqual(seconds(at) - 20);
	});
});

test('S5, cut off: the same card for a node that lives, and it ends by itself', async ({ visit }) => {
	await story(visit, 's5-cut-off', async ({ page, unwind, bar }) => {
		await start(bar, /^S5, cut off:/);
		const card = await cardOf(page, /^Node node-b stopped reporting, so nobody confirms that its Pod ended\.$/);
		// Its replacement waits for the disk.
		await expect(card.getByText(/Deployment s5-cut-off\/writer starts no replacement until its Pod is gone/)).toBeVisible();
		await expect(card.getByText(/^Pod s5-cut-off\/writer-\S+: attachdetach-controller says FailedAttachVolume: Multi-Attach error for volume "pvc-\S+" Volume is already used by pod\(s\) writer-/)).toBeVisible();
		await expect(course(card)).toContainText(/6 min after no Pod there wants the volume any more: the attach-detach controller detaches pvc-\S+ from node node-b by force/);
		await expect(card.locator('.diagnosis-not').filter({ hasText: 'Do not' })).toContainText('while the machine may still run: a second copy of the Pod could write to the same volume');
		// Nobody has checked, so nothing by force can be confirmed.
		const taint = await choose(card, 'Mark node node-b as out of service');
		await expect(taint).toContainText('A broken network looks the same from here');
		await taint.getByLabel(/^Type /).fill('node-b');
		await expect(taint.getByRole('button', { name: 'Do it' })).toHaveAttribute('aria-disabled', 'true');
		// The field names the machine of which the answer has to be; one about another does not count.
		const answer = taint.getByLabel(/^Who checked what .* Name the machine that is off: node-b\./);
		for (const other of ['too short', 'Li saw in the rack that node-c is off']) {
			await answer.fill(other);
			await expect(taint.getByRole('button', { name: 'Do it' })).toHaveAttribute('aria-disabled', 'true');
		}
		await page.keyboard.press('Escape');
		await repair(bar, 'Break node-b');
		await end(page);
		const oneWriter = (/** @type {any[]} */ all) => all.length === 1 && isReady(all[0]);
		await expect.poll(async () => oneWriter(await pods(unwind, 's5-cut-off'))).toBe(true);
		// Nobody did anything, and nothing is left to be put back.
		expect(await (await page.request.get(`${unwind.origin}/api/remedies`)).json()).toEqual([]);
		expect(await taints(unwind, 'node-b')).toEqual([]);
	});
});

test('S4: owner goes before its child, and the operator finishes the rest', async ({ visit }) => {
	await story(visit, 's4', async ({ page, bar, picture }) => {
		await start(bar, /^S4:/);
		const card = await cardOf(page, /^The finalizer queue\.example\/topic is left, and the program that probably cleared it was deleted: Deployment s4\/queue-operator/);
		const chain = card.locator('.diagnosis-chain');
		await expect(chain).toContainText('waits for Topic s4/audit, which it owns');
		await expect(chain).toContainText('waits for Topic s4/audit, which is of its kind');
		await expect(card.getByText(/^Deployment s4\/queue-operator was deleted at .*before the first deletion that waits$/)).toBeVisible();
		await expect(course(card)).toContainText('It waits until the program is back, or until a person removes the finalizer');
		await picture(card);
		await expect(await wayOf(card, /^Reinstall the program that clears queue\.example\/topic/)).toContainText('It may have been Deployment s4/queue-operator');
		const again = await choose(card, /^Delete ConfigMap s4\/tenant again/);
		await expect(again).toContainText('A second DELETE with policy Background takes foregroundDeletion off');
		await expect(again).toContainText('Also hits 1 object: Topic s4/audit');
		await confirm(again);
		await expect(chain).not.toContainText('which it owns');
		await repair(bar, 'Uninstall s4/queue-operator');
		await end(page);
	});
});

test('S4, forced: namespace that was emptied by hand is created again and deleted', async ({ visit }) => {
	await story(visit, 's4-forced', async ({ page, unwind, bar }) => {
		await start(bar, /^S4, forced:/);
		const card = await cardOf(page, /^Namespace s4-forced is gone and left objects behind that nobody can change/);
		await expect(card.getByText('Objects in a namespace that does not exist cannot be changed')).toBeVisible();
		// The operator runs in another namespace, and is refused. It is not to blame, and nobody has to remove a finalizer.
		await expect(card.locator('.way-title')).toHaveText(['Create namespace s4-forced again and delete it']);
		await expect(page.getByText('has not cleared the finalizer')).toHaveCount(0);
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

test('S4, forced: Unwind brings the namespace back under control, and nothing is left of it', async ({ visit }) => {
	await story(visit, 's4-forced', async ({ page, unwind, bar }) => {
		const orphan = '/apis/mail.example/v1/namespaces/s4-forced/mailboxes/sales';
		const namespace = '/api/v1/namespaces/s4-forced';
		await start(bar, /^S4, forced:/);
		const card = await cardOf(page, /^Namespace s4-forced is gone and left objects behind that nobody can change/);
		await expect(card.locator('.diagnosis-chain')).toContainText('Mailbox s4-forced/sales');
		expect((await read(unwind, namespace)).status).toBe(404);
		expect((await read(unwind, orphan)).status).toBe(200);
		const dialog = await choose(card, 'Create namespace s4-forced again and delete it');
		await expect(dialog).toContainText('Also hits 1 object: Mailbox s4-forced/sales');
		await expect(dialog).toContainText('Deployments and CronJobs that were left in the namespace start again for a moment');
		await confirm(dialog);
		await end(page);
		// It was deleted at once and in order, so nothing has to be put back.
		await expect.poll(async () => (await read(unwind, namespace)).status).toBe(404);
		expect((await read(unwind, orphan)).status).toBe(404);
		await expect(page.locator('.banner').filter({ hasText: 'switched off' })).toHaveCount(0);
	});
});

test('S2: busy mount is named, and the Pod goes once it is free', async ({ visit }) => {
	await story(visit, 's2', async ({ page, unwind, bar, picture }) => {
		await start(bar, /^S2:/);
		const card = await cardOf(page, /^All containers ended, but node \S+ has not unmounted a volume of Pod s2\/archive-\S+: something on the node still uses it\.$/);
		await picture(card);
		await expect(await wayOf(card, 'Wait')).toContainText('at most 2 min 2 s after its last try');
		const free = await wayOf(card, /^End what holds the mount on node/);
		await expect(free).toContainText('Volume s2-archive of claim archive is still mounted');
		await expect(free).toContainText('/proc/self/mountinfo');
		await expect(free).toContainText('fuser --verbose');
		// The mount that the kubelet names is the one whose holder the first command finds.
		const mount = await card.getByText(/^From the node’s log: s2-archive cannot be unmounted: something on the node still uses it\./).innerText();
		const [, path = ''] = /Mount: (\/var\/lib\/kubelet\/pods\/\S+\/s2-archive)\. The kubelet’s words: .*device is busy/.exec(mount) ?? [];
		await expect(free.locator('.way-command code').first()).toHaveText(new RegExp(`^timeout .* fuser --verbose --ismountpoint --mount '?${path}'?$`));
		await expect(free.locator('.way-place').first()).toHaveText(/^To look, as root on node node-\S+$/);
		// The next retry is the kubelet's own: the log that was read has it, to the second.
		const retry = /By the log that was read, the kubelet of (node-\S+) (?:tries next|was to try again) at (\S+) (\S+) UTC/;
		await expect(course(card)).toContainText(retry);
		const [, node, day, time] = retry.exec(await course(card).innerText()) ?? [];
		const { body: log } = await read(unwind, `/api/v1/nodes/${node}/proxy/logs/?query=kubelet`, { accept: '*/*' });
		expect(log).toContain(`No retries permitted until ${day} ${time}`);
		const force = await wayOf(card, /^Remove Pod s2\/archive-\S+ from the API by force/);
		await expect(force).toContainText('The mount stays on the node');
		await repair(bar, 'Hold s2-archive busy');
		// One back-off is 122 s, a tenth of that here; the page is at most 2 s behind the API.
		await expect.poll(async () => (await pods(unwind, 's2')).some((/** @type {any} */ pod) => pod.metadata.name.startsWith('archive-')), { timeout: 15_000, intervals: [100] }).toBe(false);
		await end(page, 2_000);
	});
});

test('S1: three mounts end in their own ways, and the twin is taken down without a hang', async ({ visit }) => {
	test.setTimeout(180_000);
	await story(visit, 's1', async ({ page, unwind, bar, picture }) => {
		await start(bar, /^S1:/);
		const gone = (/** @type {string} */ claim) =>
			page.locator('details.diagnosis').filter({ has: page.getByText(new RegExp(`has not unmounted a volume of Pod s1/\\S+, and claim ${claim} was deleted before the Pod`)) });
		await expect(gone('ledger')).toHaveCount(2, { timeout: 30_000 });
		await expect(gone('orders')).toHaveCount(1);
		await expect(gone('tools')).toHaveCount(1);
		// The first end: the server does not know the directory any more, and the data is lost.
		const stale = await cardOf(page, /claim ledger was deleted before the Pod/);
		await expect(stale.getByText(/^From the node’s log: a subPath mount of pvc-\S+ cannot be removed: the server does not know the mounted directory any more\. Mount: \/var\/lib\/kubelet\/pods\/\S+\/volume-subpaths\//)).toBeVisible();
		await expect(stale).toContainText('Lost already, unless the provisioner keeps deleted directories (archived-…): the claim and its volume are gone: PersistentVolumeClaim s1/ledger.');
		await expect(course(stale)).toContainText(/the kubelet of node-\S+ (tries next|was to try again) at \d{4}-/);
		// The second: a file lies below the mount.
		const card = await cardOf(page, /claim tools was deleted before the Pod/);
		await expect(card.getByText(/^From the node’s log: a subPath mount of s1-tools cannot be removed: files lie below the mount point\./)).toBeVisible();
		await expect(card).toContainText('The claim is gone, and its data is still on the volume: PersistentVolumeClaim s1/tools on PersistentVolume s1-tools (policy Retain).');
		await picture(card);
		await expect(await wayOf(card, /^Move the files out of the Pod’s directory on node/)).toContainText('If it prints nothing, move the files elsewhere');
		await expect(card.getByText('End what holds the mount')).toHaveCount(0);
		await expect(await wayOf(stale, 'Bring back the storage behind the mount')).toContainText('Do not delete the directories of the Pod by hand');
		await expect(await wayOf(card, /^Restart node/)).toBeVisible();
		const links = [await linkOf(stale), await linkOf(card)];
		// Beside all this the twin goes without a hang.
		await page.goto(unwind.origin);
		await tearDown(page, 's1-twin');
		await expect(page.getByText('Finished', { exact: true })).toBeVisible();
		await expect(page.getByRole('heading', { name: 's1-twin torn down' })).toBeVisible();
		await expect(page.getByText(/^\d+ objects in \d+ s$/)).toBeVisible();
		await expect(page.locator('#attention')).toBeHidden();
		// The claim went after the last of its Pods.
		const events = await page.request.get(`${page.url()}/events.txt`);
		const lines = (await events.text()).split('\n');
		const last = (/** @type {RegExp} */ line) => lines.findLastIndex((it) => line.test(it));
		expect(last(/Pod s1-twin\/peer-\S+ is gone/)).toBeGreaterThan(0);
		expect(lines.findIndex((it) => /PersistentVolumeClaim s1-twin\/ledger/.test(it))).toBeGreaterThan(last(/Pod s1-twin\/peer-\S+ is gone/));
		await page.goto(`${unwind.origin}/trouble`);
		await bar.getByText('Sandbox.').click();
		// The third: the server is dead. The kubelet says so only every two minutes, and its log is read once a minute.
		const hangs = await cardOf(page, /claim orders was deleted before the Pod/);
		await expect(course(hangs)).toContainText(/The kubelet of node-\S+ waits for an operation that does not answer, and starts no other\. No retry is scheduled\./, { timeout: 90_000 });
		await expect(hangs.getByText(/^From the node’s log: .*the operation started but never returned, as with a hard mount whose server is dead; no retry is scheduled\./)).toBeVisible();
		// A look at the mount of a dead server would hang as well, so it is bounded.
		const looks = (await wayOf(hangs, /^End what holds the mount/)).locator('.way-command code').filter({ hasText: /fuser/ });
		await expect(looks.first()).toHaveText(/^timeout --signal=KILL 20 /);
		links.push(await linkOf(hangs));
		await repair(bar, 'Make old-nfs.s1.example stale');
		await expect(gone('orders')).toHaveCount(0);
		await repair(bar, 'Hold s1-tools busy');
		await repair(bar, 'Make nfs.s1.example stale');
		await end(page);
		// Whoever has the link to a card is told that it is over.
		for (const link of links) {
			await page.goto(`${unwind.origin}${link}`);
			await expect(page.getByRole('heading', { name: 'Nothing waits for this any more' })).toBeVisible();
		}
	});
});

test('shutdown: Pod that was too slow waits for its node, and ends once the machine starts again', async ({ visit }) => {
	await story(visit, 'shutdown', async ({ page, unwind, bar }) => {
		await start(bar, /^Shutdown:/);
		const card = await cardOf(page, /^Node node-c stopped reporting/);
		const chain = card.locator('.diagnosis-chain');
		await expect(chain).toContainText(/Pod shutdown\/mail-\S+/);
		// Nothing waits for the Pod that ended in time: its replacement runs elsewhere.
		await expect(chain).not.toContainText('shutdown/web-');
		const phases = async () => (await pods(unwind, 'shutdown')).map((/** @type {any} */ { status }) => status.phase);
		expect(await phases()).toContain('Failed');
		await repair(bar, 'Break node-c');
		await end(page, 60_000);
	});
});

test('load balancer: the words of the cloud are on the card, and the Service goes once the cloud gives in', async ({ visit }) => {
	await story(visit, 'load-balancer', async ({ page, bar }) => {
		await start(bar, /^Load balancer:/);
		const card = await cardOf(page, /load balancer/);
		await expect(card.locator('.diagnosis-cause')).toContainText('the security group sg-4711 is in use', { timeout: 30_000 });
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
		await expect(lineOf(card, 'Harm now')).toContainText('No Pod is replaced, nothing is scaled or rolled out, and the endpoints of Services do not change.');
		await expect(page.locator('details.diagnosis'), 'its controllers are part of the card').toHaveCount(1);
		await repair(bar, 'Stop kube-controller-manager');
		await end(page, 60_000);
	});
});
