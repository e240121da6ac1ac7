/**
 * The dashboard in front of a control plane of its own, for somebody who has no cluster at hand. Both end together.
 *
 *   node end2end/demo.mjs PROGRAM
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { start } from './cluster/cluster.mjs';

const program = process.argv[2];
/** @param {string} line */
const log = (line) => process.stderr.write(`${line}\n`);

log('No cluster was named: starting a control plane on this machine, with the sample application in it.');
const cluster = await start({ dir: await mkdtemp(join(tmpdir(), 'unwind-cluster-')), sample: true, log });
const words = ['--kubeconfig', cluster.kubeconfig, '--context', 'admin', '--state', join(cluster.dir, 'unwind'), '--site', 'target/site'];
const unwind = spawn(program, words, { stdio: 'inherit' });
// Ctrl-C reaches the whole group; the program ends first, then what it was in front of.
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => unwind.kill(signal));
const [code] = await once(unwind, 'exit');
await cluster.stop();
process.exit(code ?? 0);
