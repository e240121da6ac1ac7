/**
 * The browser of the tests: the Chromium of the system, or the one that Playwright installed. As a program it prints its path.
 */
import { accessSync, constants } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const names = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome'];

/** @param {string} path */
function isExecutable(path) {
	try {
		accessSync(path, constants.X_OK);
		return true;
	} catch {
		return false;
	}
}

/** @returns {Promise<string | undefined>} */
export async function browser() {
	const folders = (process.env.PATH ?? '').split(':').filter(Boolean);
	const found = names.flatMap((name) => folders.map((folder) => join(folder, name))).find(isExecutable);
	if (found) return found;
	process.env.PLAYWRIGHT_BROWSERS_PATH ??= join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'unwind', 'browsers');
	const { chromium } = await import('@playwright/test');
	return isExecutable(chromium.executablePath()) ? chromium.executablePath() : undefined;
}

/** Launch options without network requests of the browser's own. */
export const launchOptions = async () => ({
	executablePath: await browser(),
	args: [
		'--no-sandbox',
		'--disable-gpu',
		'--disable-background-networking',
		'--disable-component-update',
		'--disable-sync',
		'--no-first-run',
	],
});

if (process.argv[1] === fileURLToPath(import.meta.url)) {
	const path = await browser();
	if (!path) process.exit(1);
	process.stdout.write(`${path}\n`);
}
