/**
 * The sandbox's consortium is the sample application, to the letter.
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { path, world } from './sample/world.mjs';

test('the sandbox has the sample as it is here', async () => {
	const kept = await readFile(path, 'utf8');
	assert.deepEqual(JSON.parse(kept), JSON.parse(world), 'node end2end/cluster/sample/world.mjs writes it anew');
	assert.equal(kept, world);
});
