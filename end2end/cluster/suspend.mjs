/**
 * Processes stopped in their tracks, as a machine without power or a server that hangs: their connections stay open, and
 * nothing is answered.
 */
import { readdir, readFile } from 'node:fs/promises';
import { setImmediate as turn } from 'node:timers/promises';

/** How long a busy machine may take to stop one, in milliseconds. */
const timeout = 10_000;

/** @typedef {import('node:child_process').ChildProcess} ChildProcess */

/**
 * Resolves once nothing of it runs any more. The signal alone does not say so: each thread stops when its turn comes, and
 * until then it answers; on a busy machine that was seen to take 30 ms.
 * @param {ChildProcess} child
 */
export async function suspend(child) {
	if (!child.kill('SIGSTOP')) throw new Error(`process ${child.pid} has ended`);
	const deadline = performance.now() + timeout;
	while (!(await states(child)).every((state) => state === 'T')) {
		if (performance.now() > deadline)
			throw new Error(`process ${child.pid} still runs ${timeout / 1000} s after it was told to stop`);
		await turn();
	}
}

/** Lets it go on where it was. @param {ChildProcess} child */
export function resume(child) {
	if (!child.kill('SIGCONT')) throw new Error(`process ${child.pid} has ended`);
}

/** What each thread does now, as a letter of proc(5). @param {ChildProcess} child @returns {Promise<string[]>} */
async function states({ pid }) {
	const tasks = `/proc/${pid}/task`;
	const stats = (await readdir(tasks)).map((task) => readFile(`${tasks}/${task}/stat`, 'utf8').catch(() => ''));
	// A thread that ended meanwhile says nothing. The name before the letter is in brackets, and may hold any.
	const told = (await Promise.all(stats)).filter(Boolean);
	return told.map((stat) => stat[stat.lastIndexOf(')') + 2]);
}
