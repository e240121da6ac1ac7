/**
 * The program under test as a process, with a command line, a state directory and a printed link.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { suspend, resume } from './cluster/suspend.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
export const program = process.env.UNWIND_PROGRAM ?? join(process.env.CARGO_TARGET_DIR ?? join(root, 'target'), 'debug', 'unwind');

export class Unwind {
	/** The last `kill`, by the clock of `performance`. */
	static killed = -Infinity;
	#process;
	#errors = '';

	/** @param {{before: string[], state: string}} options before: the arguments that choose the cluster */
	constructor(options) {
		this.options = options;
		/** The link that signs in one browser. */
		this.link = '';
		this.origin = '';
	}

	/** @param {{kubeconfig: string, context: string}} cluster */
	static start({ kubeconfig, context }) {
		return Unwind.before(['--kubeconfig', kubeconfig, '--context', context]);
	}

	/** @param {string[]} before */
	static async before(before) {
		const unwind = new Unwind({ before, state: await mkdtemp(join(tmpdir(), 'unwind-state-')) });
		await unwind.launch();
		return unwind;
	}

	/** Starts the process, or restarts it with the same state. */
	async launch() {
		const { before, state } = this.options;
		const words = [...before, '--state', state, '--site', join(root, 'target', 'site')];
		this.#process = spawn(program, [...words, '--name', 'Li'], { stdio: ['ignore', 'pipe', 'pipe'] });
		this.#process.stderr.on('data', (data) => (this.#errors += data));
		const lines = createInterface({ input: this.#process.stdout });
		const ended = once(this.#process, 'exit').then(() => Promise.reject(new Error(`unwind exited:\n${this.#errors}`)));
		ended.catch(() => {});
		const [line] = await Promise.race([once(lines, 'line'), ended]);
		this.link = line;
		this.origin = new URL(line).origin;
	}

	/** Its stderr so far. */
	get errors() {
		return this.#errors;
	}

	/** The number of its process. */
	get pid() {
		return this.#process.pid;
	}

	/** `kill -9`. */
	async kill() {
		Unwind.killed = performance.now();
		this.#process.kill('SIGKILL');
		await once(this.#process, 'exit');
	}

	/** Suspends it: connections stay open, nothing is answered. */
	suspend() {
		return suspend(this.#process);
	}

	resume() {
		resume(this.#process);
	}

	/** Ends it with SIGTERM; it announces the shutdown to its pages. */
	async quit() {
		if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
		this.#process.kill('SIGTERM');
		// A suspended process handles signals only after it is resumed.
		this.resume();
		await once(this.#process, 'exit');
	}

	/** Ends it, and removes its state. */
	async stop() {
		await this.quit();
		await rm(this.options.state, { recursive: true, force: true });
	}
}
