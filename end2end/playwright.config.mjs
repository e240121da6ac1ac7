import { defineConfig } from '@playwright/test';
import { launchOptions } from './browser.mjs';

// One worker: two cores can run only one control plane at a time. `make e2e` gives the tests of the sandbox two.
export default defineConfig({
	testDir: '.',
	testMatch: '*.spec.mjs',
	workers: 1,
	retries: 0,
	timeout: 120_000,
	expect: { timeout: 20_000 },
	forbidOnly: Boolean(process.env.CI),
	// Most tests use the sandbox, which starts at once. Tests that need the judge or a real API server use the real control plane.
	projects: [
		{ name: 'sandbox', grepInvert: /@judged/, use: { backend: 'sandbox' } },
		{ name: 'real', testMatch: ['journey.spec.mjs', 'refusals.spec.mjs'], grepInvert: /@unjudged/, use: { backend: 'real' } },
		{ name: 'real pages', testMatch: 'pages.spec.mjs', grep: /@real/, use: { backend: 'real' } },
	],
	reporter: [['list'], ['./summary.mjs']],
	outputDir: 'results',
	use: {
		launchOptions: await launchOptions(),
		viewport: { width: 1440, height: 900 },
		screenshot: 'only-on-failure',
		trace: 'retain-on-failure',
	},
});
