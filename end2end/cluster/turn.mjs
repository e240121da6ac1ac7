/**
 * Tests that take half a minute each, because a controller of the real control plane takes that time. A test run has one of six in
 * turn, by the number of commits, so that six changes run them all; `UNWIND_TURN=all` runs all of them.
 */
import { fileURLToPath } from 'node:url';
import { stateOf } from '../conformance/gate.mjs';

const parts = 6;
const { turn } = await stateOf(fileURLToPath(new URL('../..', import.meta.url)));

/** Why a test is left out of this run; false if it is not. @param {number} place of the test among those that take long */
export const otherTurn = (place) =>
	process.env.UNWIND_TURN !== 'all' && place % parts !== turn % parts && 'in another turn; UNWIND_TURN=all runs it';
