/**
 * The sample in the format that the sandbox loads, a JSON list with one object per line:
 *
 *   node end2end/cluster/sample/sandbox-manifest.mjs     # writes server/sandbox/src/world/consortium.json
 */
import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { sample } from './consortium.mjs';

export const path = fileURLToPath(new URL('../../../server/sandbox/src/world/consortium.json', import.meta.url));

export const manifest = `[\n${sample.map((object) => JSON.stringify(object)).join(',\n')}\n]\n`;

if (process.argv[1] === fileURLToPath(import.meta.url)) await writeFile(path, manifest);
