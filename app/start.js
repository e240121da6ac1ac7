// Starts the module that the head loads, and reports on the page when it stops, because otherwise the buttons would do
// nothing without a reason. This script is inline, so it runs even if no other file loads. The console has the cause: a panic
// writes its message and location there before it traps.
const halt = () => {
	document.documentElement.dataset.halted = '';
	// An open dialog would cover the report.
	for (const dialog of document.querySelectorAll('dialog[open]')) dialog.close();
};
// Firefox reports a full stack as InternalError, other browsers as RangeError.
const fatal = ['RuntimeError', 'RangeError', 'InternalError'];
const check = (error) => fatal.includes(error?.name) && halt();
addEventListener('error', (event) => check(event.error));
addEventListener('unhandledrejection', (event) => check(event.reason));
const loaded = (rel) => document.querySelector(`link[rel=${rel}]`).href;
try {
	const page = await import(loaded('modulepreload'));
	await page.default({ module_or_path: loaded('preload') });
	page.hydrate();
} catch (error) {
	halt();
	throw error;
}
