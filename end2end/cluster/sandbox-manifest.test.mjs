/**
 * The manifest that the sandbox loads equals the sample application.
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { path, manifest } from './sample/sandbox-manifest.mjs';

test('sandbox manifest equals the sample', async () => {
	const kept = await readFile(path, 'utf8');
	assert.deepEqual(JSON.parse(kept), JSON.parse(manifest), 'node end2end/cluster/sample/sandbox-manifest.mjs regenerates it');
	assert.equal(kept, manifest);
});
