/**
 * Suspends processes with SIGSTOP, which looks like a machine without power or a server that hangs: connections stay open, and
 * nothing is answered.
 */
import { readdir, readFile } from 'node:fs/promises';
import { setImmediate as turn } from 'node:timers/promises';

/** The time that a busy machine may take to suspend a process, in milliseconds. */
const timeout = 10_000;

/** @typedef {import('node:child_process').ChildProcess} ChildProcess */

/**
 * Resolves once no thread of the process runs. The signal alone does not guarantee that: each thread stops when it is next
 * scheduled, up to 30 ms later on a busy machine, and answers until then.
 * @param {ChildProcess} child
 */
export async function suspend(child) {
	if (!child.kill('SIGSTOP')) throw new Error(`process ${child.pid} has ended`);
	const deadline = performance.now() + timeout;
	while (!(await states(child)).every((state) => state === 'T')) {
		if (performance.now() > deadline)
			throw new Error(`process ${child.pid} still runs ${timeout / 1000} s after SIGSTOP`);
		await turn();
	}
}

/** Continues a suspended process. @param {ChildProcess} child */
export function resume(child) {
	if (!child.kill('SIGCONT')) throw new Error(`process ${child.pid} has ended`);
}

/** The state of each thread, as a letter of proc(5). @param {ChildProcess} child @returns {Promise<string[]>} */
async function states({ pid }) {
	const tasks = `/proc/${pid}/task`;
	const stats = (await readdir(tasks)).map((task) => readFile(`${tasks}/${task}/stat`, 'utf8').catch(() => ''));
	// A thread that has ended has no stat. The name before the letter is in brackets and may contain brackets.
	const present = (await Promise.all(stats)).filter(Boolean);
	return present.map((stat) => stat[stat.lastIndexOf(')') + 2]);
}
