/**
 * The mechanisms of the catalogue of deletions, by its sections: each has a case, or a reason why none can show it.
 */

/** @type {Record<string, string>} the reason by the mechanism; none: there is a case */
export const reasons = {
	'§1.5': 'is what a kubelet does not say, and there is none behind these nodes that could',
	N2: 'cannot be any more: controllers discover groups and versions by the names of APIServices, which are checked',
};

/** @param {string} letter @param {number} last */
const numbered = (letter, last) => Array.from({ length: last }, (_, index) => `${letter}${index + 1}`);

/** Sections 1, 3, 6 and 8. */
export const mechanisms = [
	...numbered('§1.', 9),
	...numbered('P', 18),
	'W1',
	...numbered('V', 11),
	...numbered('N', 9),
	...numbered('G', 10),
	...numbered('X', 11),
	...numbered('A', 9),
	...numbered('§6.', 4),
	...numbered('R-S', 5),
];

/** Whether a case says that it shows a mechanism. @param {string} about @param {string} mechanism */
export const shows = (about, mechanism) =>
	about.split(' ').some((word) => word === mechanism || word.replace(/[a-z]$/, '') === mechanism);
