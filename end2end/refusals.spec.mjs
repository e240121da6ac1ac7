/**
 * Failures as a person sees them: the program when it cannot start, and the page when the cluster is unreachable, refuses, hides
 * kinds, or has unusual objects.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import http from 'node:http';
import https from 'node:https';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseKubeconfig } from './cluster/kubeconfig.mjs';
import { program, Unwind } from './unwind.mjs';
import { expect, signIn, test } from './fixtures.mjs';

const built = new URL('../target/site', import.meta.url).pathname;

/**
 * Starts the program with arguments that it should refuse, and returns its output.
 * @param {string[]} words @param {{site?: string, state?: string}} [places]
 */
async function refused(words, { site = built, state } = {}) {
	const home = await mkdtemp(join(tmpdir(), 'unwind-home-'));
	const started = spawn(program, ['--site', site, '--state', state ?? join(home, 'state'), ...words], {
		env: { PATH: process.env.PATH, HOME: home, USER: 'li' },
		stdio: ['ignore', 'pipe', 'pipe'],
	});
	let said = '';
	started.stdout.on('data', (data) => (said += data));
	started.stderr.on('data', (data) => (said += data));
	const [code] = await once(started, 'close');
	await rm(home, { recursive: true });
	expect(code, said).toBeGreaterThan(0);
	expect(said).not.toMatch(/panicked|RUST_BACKTRACE/);
	return said;
}

/** A kubeconfig with one context. @param {string} server @param {string} token */
const kubeconfig = (server, token) =>
	JSON.stringify({
		apiVersion: 'v1',
		kind: 'Config',
		clusters: [{ name: 'one', cluster: { server, 'insecure-skip-tls-verify': true } }],
		users: [{ name: 'li', user: { token } }],
		contexts: [{ name: 'one', context: { cluster: 'one', user: 'li' } }],
		'current-context': 'one',
	});

/**
 * A proxy of an API server. A switch makes it answer 401, as after a token has expired, and cuts open connections.
 * @param {string} server @param {string} ca
 */
async function doorTo(server, ca) {
	const to = server.startsWith('https:') ? https : http;
	const { host } = new URL(server);
	let isExpired = false;
	const door = http.createServer((request, response) => {
		if (isExpired) {
			response.writeHead(401, { 'content-type': 'application/json' });
			const status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', reason: 'Unauthorized', code: 401 };
			return response.end(JSON.stringify({ ...status, message: 'Unauthorized' }));
		}
		const { method, headers } = request;
		// A server refuses requests for another host.
		const onward = to.request(server + request.url, { method, headers: { ...headers, host }, ca }, (answer) => {
			response.writeHead(answer.statusCode ?? 500, answer.headers);
			answer.pipe(response);
			answer.on('error', () => response.destroy());
		});
		onward.on('error', () => response.destroy());
		response.on('close', () => onward.destroy());
		request.pipe(onward);
	});
	door.listen(0, '127.0.0.1');
	await once(door, 'listening');
	return {
		server: `http://127.0.0.1:${door.address().port}`,
		expire() {
			isExpired = true;
			door.closeAllConnections();
		},
		renew() {
			isExpired = false;
		},
		close() {
			door.close();
			door.closeAllConnections();
		},
	};
}

test.describe('before the server starts', () => {
	/** @type {string} */
	let folder;
	test.beforeAll(async () => {
		folder = await mkdtemp(join(tmpdir(), 'unwind-refusals-'));
	});
	test.afterAll(() => rm(folder, { recursive: true }));

	/** @param {string} text */
	async function file(text) {
		const path = join(folder, 'kubeconfig');
		await writeFile(path, text);
		return path;
	}

	test('missing, broken or incomplete kubeconfig is reported with a remedy', async () => {
		const none = await refused(['--context', 'production']);
		expect(none).toContain('no kubeconfig found');
		expect(none).toContain('--kubeconfig or KUBECONFIG');

		const missing = await refused(['--kubeconfig', '/nowhere/kubeconfig']);
		expect(missing).toContain('/nowhere/kubeconfig does not exist');
		expect(missing).toContain('Check the path');

		const broken = await refused(['--kubeconfig', await file('users:\n- name: li\n  user: {token: hunter2\n')]);
		expect(broken).toContain('not valid YAML');
		expect(broken).not.toContain('hunter2');

		const other = await refused(['--kubeconfig', await file(kubeconfig('https://127.0.0.1:1', 'hunter2')), '--context', 'two']);
		expect(other).toContain('no context is called "two"');
		expect(other).toContain('--context: one');
		expect(other).not.toContain('hunter2');

		const nowhere = await refused(['--kubeconfig', await file(kubeconfig('not a url', 'hunter2'))]);
		expect(nowhere).toContain('not a URL');
		expect(nowhere).toContain('kubectl config set-cluster');
	});

	test('unusable flag, port or directory is reported with a remedy', async () => {
		const known = ['--kubeconfig', await file(kubeconfig('https://127.0.0.1:1', 'token'))];
		expect(await refused([...known, '--address', '0.0.0.0'])).toMatch(/loopback/);
		expect(await refused([...known, '--port', 'http'])).toContain("'--port <PORT>'");
		expect(await refused([...known, '--colour'])).toContain('--help');
		expect(await refused([...known, '--log', 'what=ever=this'])).toContain('--log');

		const taken = createServer();
		taken.listen(0, '127.0.0.1');
		await once(taken, 'listening');
		const { port } = taken.address();
		const busy = await refused([...known, '--port', `${port}`]);
		expect(busy).toContain(`${port}`);
		expect(busy).toMatch(/--port/);
		taken.close();

		const blocked = join(folder, 'kubeconfig');
		expect(await refused(known, { state: blocked })).toContain(blocked);
		expect(await refused(known, { site: folder })).toContain('app/build');
	});
});

test.describe('on the page', () => {
	/** @param {string} text @param {(unwind: Unwind) => Promise<void>} then */
	async function facing(text, then) {
		const folder = await mkdtemp(join(tmpdir(), 'unwind-refusals-'));
		const path = join(folder, 'kubeconfig');
		await writeFile(path, text);
		const unwind = await Unwind.start({ kubeconfig: path, context: 'one' });
		try {
			await then(unwind);
		} finally {
			await unwind.stop();
			await rm(folder, { recursive: true });
		}
	}

	test('unreachable API server is shown with the cause and the time', async ({ visit }) => {
		await facing(kubeconfig('https://127.0.0.1:1', 'token'), async (unwind) => {
			const page = await visit();
			await signIn(page, unwind.link);
			const alert = page.getByRole('alert');
			await expect(alert).toContainText('does not answer');
			await expect(alert).toContainText(/refused/i);
			await expect(alert).toContainText('See whether `kubectl cluster-info` gets through');
		});
	});

	test('forbidden kind is shown with the reason and a remedy', async ({
		cluster,
		visit,
	}) => {
		const unwind = await Unwind.start({ kubeconfig: cluster.kubeconfig, context: 'reader' });
		try {
			const page = await visit();
			await signIn(page, unwind.link);
			const hidden = page.getByText(/^Cannot list/).first();
			await hidden.click();
			await expect(page.getByText('secrets', { exact: true })).toBeVisible();
			await expect(page.getByText('not allowed to list or watch it').first()).toBeVisible();
			await expect(page.getByText(/let the account that Unwind uses `list` and `watch` them/)).toBeVisible();
		} finally {
			await unwind.stop();
		}
	});

	test('objects with hostile or unusual content are shown literally and break nothing', async ({ cluster, unwind, visit }) => {
		const namespace = 'consortium-org1';
		const labels = { 'app.kubernetes.io/part-of': 'consortium' };
		const script = '<img src=x onerror=alert(1)>';
		const long = 'l'.repeat(253);
		await cluster.apply([
			// The limits of the API server: 256 KiB of annotations, 1 MiB of content, names of 253 characters.
			{
				apiVersion: 'v1',
				kind: 'ConfigMap',
				metadata: { name: long, namespace, labels, annotations: { absurd: 'a'.repeat(262_000) } },
				data: { content: 'd'.repeat(900_000) },
			},
			{ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role', metadata: { name: script, namespace, labels }, rules: [] },
			{
				apiVersion: 'v1',
				kind: 'ConfigMap',
				metadata: { name: 'labels', namespace, labels: { ...labels, ...Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`l${i}`, `v${i}`])) } },
			},
		]);
		const page = await visit();
		let alerted = false;
		page.on('dialog', (dialog) => {
			alerted = true;
			return dialog.dismiss();
		});
		await signIn(page, unwind.link);
		await page.goto(`${unwind.origin}/u/consortium?view=list`);
		await expect(page.getByRole('link', { name: script }).first()).toBeVisible();
		// A row shows both ends of a long name. The tooltip and the drawer show the whole name.
		const shortened = page.getByRole('link', { name: `ConfigMap ${'l'.repeat(60)}…${'l'.repeat(59)}`, exact: true });
		await expect(shortened).toBeVisible();
		await expect(shortened.getByTitle(long, { exact: true })).toBeVisible();
		expect(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth)).toBe(true);
		await page.getByRole('link', { name: script }).first().click();
		await expect(page.getByRole('complementary').filter({ hasText: script })).toBeVisible();
		await shortened.click();
		await expect(page.getByRole('complementary').getByRole('heading', { name: long })).toBeVisible();
		expect(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth)).toBe(true);
		await page.goto(`${unwind.origin}/u/consortium?view=map`);
		await expect(page.getByText('Live', { exact: true })).toBeVisible();
		expect(alerted).toBe(false);
	});

	test('expired credentials at the start are reported', async ({ cluster, visit }) => {
		const { server } = parseKubeconfig(await readFile(cluster.kubeconfig, 'utf8'));
		await facing(kubeconfig(server, 'expired'), async (unwind) => {
			// The browser reports the 503 of a page that cannot be served yet.
			const page = await visit({ breaks: true });
			await signIn(page, unwind.link);
			for (const path of ['/', '/u/consortium']) {
				await page.goto(unwind.origin + path);
				const alert = page.getByRole('alert');
				await expect(alert).toContainText(/credentials/i);
				await expect(alert).toContainText('kubectl auth whoami');
			}
			await expect(page.getByText('Nothing in the cluster carries its name')).toHaveCount(0);
		});
	});

	test('expired credentials leave the data on the page, and renewed ones make it live again', async ({ cluster, visit }) => {
		const { server, ca, tokens } = parseKubeconfig(await readFile(cluster.kubeconfig, 'utf8'));
		const door = await doorTo(server, ca);
		try {
			await facing(kubeconfig(door.server, tokens.get('admin') ?? ''), async (unwind) => {
				const page = await visit();
				await signIn(page, unwind.link);
				await page.goto(`${unwind.origin}/u/bystander?view=list`);
				await expect(page.getByText('Live', { exact: true })).toBeVisible();
				const shown = () => page.getByRole('table').getByRole('link').allTextContents();
				const before = await shown();
				expect(before.length).toBeGreaterThan(5);

				door.expire();
				const alert = page.getByRole('alert');
				await expect(alert).toContainText(/credentials/i);
				// Without access the page must not say that anything is gone, or that nothing else exists.
				const metadata = { name: 'unseen', namespace: 'bystander', labels: { 'app.kubernetes.io/part-of': 'bystander' } };
				await cluster.apply([{ apiVersion: 'v1', kind: 'ConfigMap', metadata }]);
				expect(await shown()).toEqual(before);
				await page.reload();
				await expect(alert).toContainText(/credentials/i);
				expect(await shown()).toEqual(before);

				door.renew();
				await expect(page.getByRole('link', { name: 'ConfigMap unseen', exact: true })).toBeVisible({ timeout: 60_000 });
				await expect(alert).toBeHidden({ timeout: 60_000 });
				expect(await shown()).toHaveLength(before.length + 1);
			});
		} finally {
			door.close();
		}
	});
});
