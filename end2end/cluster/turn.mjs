/**
 * Tests that take half a minute each, because a controller of the real control plane takes that time. A test run has one of three in
 * turn, by the number of commits, so that three changes run them all; `UNWIND_TURN=all` runs all of them.
 */
import { fileURLToPath } from 'node:url';
import { stateOf } from '../conformance/gate.mjs';

const parts = 3;
const { turn } = await stateOf(fileURLToPath(new URL('../..', import.meta.url)));

/** Why a test is left out of this run; false if it is not. @param {number} place of the test among those that take long */
export const otherTurn = (place) =>
	process.env.UNWIND_TURN !== 'all' && place % parts !== turn % parts && 'in another turn; UNWIND_TURN=all runs it';
