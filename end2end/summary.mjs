/**
 * A reporter that repeats the failures at the end, a few lines each, so that the tail of a log has them.
 * @implements {import('@playwright/test/reporter').Reporter}
 */
export default class Summary {
	/** @type {string[]} */
	#failures = [];

	/** @param {import('@playwright/test/reporter').TestCase} test @param {import('@playwright/test/reporter').TestResult} result */
	onTestEnd(test, result) {
		for (const { message = '', value = '' } of result.errors) {
			// Colours are for terminals.
			const said = `${message}${value}`.replaceAll(/\u001b\[[0-9;]*m/g, '').split('\n').filter((line) => line.trim());
			this.#failures.push(`${test.title}\n${said.slice(0, 12).map((line) => `    ${line.slice(0, 300)}`).join('\n')}`);
		}
	}

	onExit() {
		if (this.#failures.length > 0) process.stdout.write(`\nWhat failed:\n${this.#failures.join('\n')}\n`);
	}
}
