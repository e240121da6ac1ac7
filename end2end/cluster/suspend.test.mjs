/**
 * Suspended processes do nothing.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { suspend, resume } from './suspend.mjs';

/** A process with four busy threads. It prints a line once all run. */
const busy = `
	const { Worker } = require('node:worker_threads');
	const count = "require('node:worker_threads').parentPort.postMessage(0); for (;;);";
	const workers = Array.from({ length: 4 }, () => new Worker(count, { eval: true }));
	Promise.all(workers.map((worker) => new Promise((done) => worker.once('message', done)))).then(() => console.log('ready'));
`;

/** The CPU time of a process, in nanoseconds. @param {number} pid */
async function spent(pid) {
	const tasks = await readdir(`/proc/${pid}/task`);
	const stats = await Promise.all(tasks.map((task) => readFile(`/proc/${pid}/task/${task}/schedstat`, 'utf8')));
	return stats.reduce((sum, stat) => sum + BigInt(stat.split(' ')[0]), 0n);
}

test('suspended process gets no CPU time, on a busy machine too', async (t) => {
	// Several busy processes compete for the cores, so that none stops at once.
	const crowd = Array.from({ length: 4 }, () => spawn(process.execPath, ['-e', busy]));
	t.after(() => crowd.forEach((child) => child.kill('SIGKILL')));
	await Promise.all(crowd.map((child) => once(child.stdout, 'data')));
	const [child] = crowd;
	const pid = /** @type {number} */ (child.pid);
	for (let time = 0; time < 5; time++) {
		await suspend(child);
		const then = await spent(pid);
		await sleep(100);
		// The last time slice is accounted for a little later.
		assert.ok((await spent(pid)) - then < 1_000_000n);
		resume(child);
		while ((await spent(pid)) - then < 5_000_000n) await sleep(1);
	}
});

test('ended process cannot be suspended', async () => {
	const child = spawn(process.execPath, ['-e', '']);
	await once(child, 'exit');
	await assert.rejects(suspend(child), /process \d+ has ended/);
	assert.throws(() => resume(child), /process \d+ has ended/);
});
