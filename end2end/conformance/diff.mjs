/**
 * A readable line-by-line difference of two texts.
 */

/** @param {string[]} expected @param {string[]} found @returns {{mark: ' '|'-'|'+', line: string}[]} */
export function diff(expected, found) {
	// The longest common subsequence; transcripts are short.
	const lengths = Array.from({ length: expected.length + 1 }, () => new Array(found.length + 1).fill(0));
	for (let i = expected.length - 1; i >= 0; i--)
		for (let j = found.length - 1; j >= 0; j--)
			lengths[i][j] =
				expected[i] === found[j] ? lengths[i + 1][j + 1] + 1 : Math.max(lengths[i + 1][j], lengths[i][j + 1]);
	/** @type {{mark: ' '|'-'|'+', line: string}[]} */
	const lines = [];
	let [i, j] = [0, 0];
	while (i < expected.length || j < found.length) {
		if (i < expected.length && expected[i] === found[j]) lines.push({ mark: ' ', line: expected[(j++, i++)] });
		else if (j === found.length || (i < expected.length && lengths[i + 1][j] >= lengths[i][j + 1]))
			lines.push({ mark: '-', line: expected[i++] });
		else lines.push({ mark: '+', line: found[j++] });
	}
	return lines;
}

/** The differences with two lines of context; undefined if the texts are equal. @param {string} expected @param {string} found */
export function readableDiff(expected, found) {
	if (expected === found) return undefined;
	const lines = diff(expected.split('\n'), found.split('\n'));
	const near = lines.map((_, at) => lines.slice(Math.max(0, at - 2), at + 3).some(({ mark }) => mark !== ' '));
	return lines
		.map(({ mark, line }, at) => (near[at] ? `${mark} ${line}` : near[at - 1] ? '  ⋮' : undefined))
		.filter((line) => line !== undefined)
		.join('\n');
}
