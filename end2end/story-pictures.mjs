/**
 * Takes the screenshots of the stories in server/sandbox/src/world/README.md: the card of each incident, on the sandbox.
 *
 *   node end2end/story-pictures.mjs [STORY…]
 */
import { chromium } from '@playwright/test';
import { fileURLToPath } from 'node:url';
import { launchOptions } from './browser.mjs';
import { Unwind } from './unwind.mjs';

/** Each story with its button and the cause that its card begins with. @type {Record<string, [RegExp, RegExp]>} */
const stories = {
	s1: [/^S1:/, /claim ledger was deleted before the Pod/],
	s2: [/^S2:/, /has not unmounted the Pod’s volumes/],
	s3: [/^S3:/, /^The API metrics\.k8s\.io\/v1beta1 does not answer/],
	s4: [/^S4:/, /^The finalizer queue\.example\/topic is left/],
	s5: [/^S5:/, /^Node node-a stopped reporting, so nobody confirms that its Pods ended/],
};
const chosen = process.argv.slice(2);
const browser = await chromium.launch(await launchOptions());
try {
	for (const [world, [label, cause]] of Object.entries(stories)) {
		if (chosen.length > 0 && !chosen.includes(world)) continue;
		const unwind = await Unwind.before(['--sandbox', world, '--allow-remedies']);
		try {
			const page = await browser.newPage({ viewport: { width: 1000, height: 640 }, colorScheme: 'light' });
			await page.goto(unwind.link);
			await page.getByText('Live', { exact: true }).waitFor();
			await page.getByRole('link', { name: 'Trouble' }).click();
			await page.getByText('Sandbox.').click();
			await page.getByRole('button', { name: 'Time ×10' }).click();
			await page.getByRole('button', { name: label }).click();
			const card = page.locator('details.diagnosis').filter({ has: page.getByText(cause) }).first();
			await card.waitFor({ timeout: 60_000 });
			if ((await card.getAttribute('open')) === null) await card.locator('summary').first().click();
			await card.locator('.way').first().waitFor();
			await card.evaluate((element) => element.scrollIntoView({ block: 'start' }));
			const path = fileURLToPath(new URL(`../server/sandbox/src/world/${world}.png`, import.meta.url));
			await page.screenshot({ path });
			process.stdout.write(`${path}\n`);
			await page.close();
		} finally {
			await unwind.stop();
		}
	}
} finally {
	await browser.close();
}
