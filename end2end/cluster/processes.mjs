/**
 * The processes and files of a cluster, for the tests that nothing of it remains.
 */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

/** Every process of a cluster has its directory on its command line. @param {string} dir @returns {Promise<string[]>} */
export async function processesOf(dir) {
	const { stdout } = await promisify(execFile)('ps', ['-eo', 'pid=,args=']);
	return stdout.split('\n').filter((line) => line.includes(dir));
}

/** Waits until neither processes nor directory of a cluster exist. @param {string} dir @param {number} [within] */
export async function waitUntilGone(dir, within = 20_000) {
	const deadline = performance.now() + within;
	for (;;) {
		const left = await processesOf(dir);
		if (left.length === 0 && !existsSync(dir)) return;
		if (performance.now() > deadline)
			throw new Error(`after ${within / 1000} s remain: ${left.join(', ')} ${existsSync(dir) ? dir : ''}`);
		await sleep(50);
	}
}
