// Starts the module that the head loads, and shows where it has stopped, for a page whose buttons do nothing without a
// word would be the worst of all. This script stands in the page itself, so that it runs even where nothing else loads.
// The console says what stopped it: a panic writes its message and place there before it traps.
const halt = () => {
	document.documentElement.dataset.halted = '';
	// Under an open dialog nothing could be read or pressed.
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
