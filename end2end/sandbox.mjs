/**
 * The sandbox with the sample application, as a process. The secret of its port allows acting as any user, so the same users
 * have the same rights as in end2end/cluster.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Client } from './cluster/client.mjs';
import { kubeconfig, parseKubeconfig } from './cluster/kubeconfig.mjs';
import { collection, Kinds } from './cluster/kinds.mjs';
import { clusterRights, namespaceRights, people, sandboxTokens } from './cluster/users.mjs';

/** @typedef {import('./cluster/client.mjs').KubeObject} KubeObject */

const root = fileURLToPath(new URL('..', import.meta.url));
export const program = join(process.env.CARGO_TARGET_DIR ?? join(root, 'target'), 'debug', 'sandbox');

export class Sandbox {
	#process;
	#answers;
	#clients;
	#kinds;

	/**
	 * @param {string} dir @param {import('node:child_process').ChildProcess} process @param {import('node:readline').Interface} answers
	 * @param {string} server @param {Map<string, string>} tokens
	 */
	constructor(dir, process, answers, server, tokens) {
		this.dir = dir;
		this.#answers = answers;
		/** Path of a kubeconfig with one context per person. */
		this.kubeconfig = join(dir, 'kubeconfig');
		this.#process = process;
		this.#clients = new Map([...tokens].map(([name, token]) => [name, new Client({ server, token })]));
	}

	/** Starts it with the sample application, whose Pods run within two seconds. */
	static async start() {
		const dir = await mkdtemp(join(tmpdir(), 'unwind-sandbox-'));
		const file = join(dir, 'admin.kubeconfig');
		const process = spawn(program, ['--kubeconfig', file, '--world', 'consortium', '--timing', 'brisk', '--obey'], { stdio: ['pipe', 'pipe', 'inherit'] });
		const ended = once(process, 'close').then(([code]) => Promise.reject(new Error(`the sandbox exited with ${code}`)));
		ended.catch(() => {});
		const answers = createInterface({ input: process.stdout });
		await Promise.race([once(answers, 'line'), ended]);
		const written = parseKubeconfig(await readFile(file, 'utf8'));
		const [server, tokens] = [written.server, sandboxTokens(written)];
		const sandbox = new Sandbox(dir, process, answers, server, tokens);
		await writeFile(sandbox.kubeconfig, kubeconfig({ server, ca: '', tokens }, people));
		sandbox.#kinds = await Kinds.discover((...request) => sandbox.request('admin', ...request));
		await sandbox.apply([...clusterRights, ...namespaceRights]);
		return sandbox;
	}

	/**
	 * One request as a user; resolves with any status.
	 * @param {string} user @param {string} method @param {string} path @param {unknown} [body] @param {Record<string, string>} [headers]
	 */
	request(user, method, path, body, headers) {
		return this.#clients.get(user).request(method, path, body, headers);
	}

	/** Creates objects. @param {KubeObject[]} objects */
	async apply(objects) {
		for (const object of objects) {
			const { status, body } = await this.request('admin', 'POST', collection(this.#kinds.of(object), object.metadata.namespace), object);
			if (status !== 201) throw new Error(`${object.kind} ${object.metadata.name}: ${status} ${body.message}`);
		}
	}

	/** Has one fault happen now. @param {string} fault a line of a fault script, without its time */
	async inject(fault) {
		const answered = once(this.#answers, 'line');
		this.#process.stdin.write(`at 0s ${fault}\n`);
		const { refused, why } = JSON.parse((await answered)[0]);
		if (refused) throw new Error(`${refused}: ${why}`);
	}

	async stop() {
		for (const client of this.#clients.values()) client.close();
		this.#process.kill('SIGTERM');
		await once(this.#process, 'close');
		await rm(this.dir, { recursive: true, force: true });
	}
}
