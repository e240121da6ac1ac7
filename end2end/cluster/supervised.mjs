/**
 * The client of supervisor.mjs: sends its commands, and holds the pipe whose end signals that this process has ended.
 */
import { spawn } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** @typedef {import('./servers.mjs').Server} Server */

const script = fileURLToPath(new URL('./supervisor.mjs', import.meta.url));

export class SupervisedServers {
	/** The directory of the cluster. */
	dir;
	#child;
	#gone;
	#last = 0;
	/** @type {Map<number, {resolve: (answer: any) => void, reject: (error: Error) => void}>} */
	#open = new Map();
	/** @type {number[]} */
	#pids = [];
	#stopped = false;
	/** @type {(name: string, how: string) => void} */
	#onEnd = () => {};

	/** @param {string} dir removed at the end */
	constructor(dir) {
		this.dir = dir;
		this.#child = spawn(process.execPath, [script, dir], { detached: true, stdio: ['pipe', 'pipe', 'ignore'] });
		this.#child.stdin.on('error', () => {}); // the exit reports it
		this.#gone = new Promise((resolve) => this.#child.once('exit', resolve)).then(() => this.#cleanUp());
		createInterface({ input: this.#child.stdout }).on('line', (line) => {
			const answer = JSON.parse(line);
			if (answer.ended) return this.#onEnd(answer.ended, answer.how);
			const order = this.#open.get(answer.id);
			this.#open.delete(answer.id);
			if (answer.error) order?.reject(new Error(answer.error));
			else order?.resolve(answer);
		});
	}

	/** @param {Server} server */
	async start({ name, argv, rank }) {
		const { pid } = await this.#order({ start: { name, argv, rank, log: join(this.dir, `${name}.log`) } });
		this.#pids.push(pid);
	}

	/** Suspends a server; resolves once none of its threads runs. @param {string} name */
	async suspend(name) {
		await this.#order({ suspend: name });
	}

	/** @param {string} name */
	async resume(name) {
		await this.#order({ resume: name });
	}

	/** Sets the callback for servers that exit by themselves. @param {(name: string, how: string) => void} onEnd */
	whenServerEnds(onEnd) {
		this.#onEnd = onEnd;
	}

	/** Resolves when every server has ended and the directory is gone. */
	async stop() {
		this.#stopped = true;
		this.#child.stdin.end();
		await this.#gone;
	}

	/** If the supervisor was killed, its servers are killed and its directory is removed here. */
	async #cleanUp() {
		for (const { reject } of this.#open.values()) reject(new Error('the supervisor has exited'));
		if (this.#stopped) return;
		for (const pid of this.#pids) {
			try {
				process.kill(pid, 'SIGKILL');
			} catch {
				// It has exited already.
			}
		}
		await rm(this.dir, { recursive: true, force: true, maxRetries: 5 });
		this.#onEnd('supervisor', 'killed');
	}

	/** @param {object} order @returns {Promise<any>} */
	#order(order) {
		const id = ++this.#last;
		return new Promise((resolve, reject) => {
			this.#open.set(id, { resolve, reject });
			this.#child.stdin.write(`${JSON.stringify({ id, ...order })}\n`);
		});
	}
}
