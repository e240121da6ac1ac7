// Brings the page to life with what its head loads, and lets it be seen where something in it is dead: buttons that do
// nothing, with nothing said, would be the worst of all. In the page itself, so that it is there where nothing else is.
const halt = () => {
	document.documentElement.dataset.halted = '';
	// Under an open dialog nothing could be read or pressed.
	for (const dialog of document.querySelectorAll('dialog[open]')) dialog.close();
};
// The last is what Firefox calls a stack that is full, where others speak of a range.
const deadly = ['RuntimeError', 'RangeError', 'InternalError'];
const judge = (error) => deadly.includes(error?.name) && halt();
addEventListener('error', (event) => judge(event.error));
addEventListener('unhandledrejection', (event) => judge(event.reason));
const loaded = (rel) => document.querySelector(`link[rel=${rel}]`).href;
try {
	const page = await import(loaded('modulepreload'));
	await page.default({ module_or_path: loaded('preload') });
	page.hydrate();
} catch (error) {
	halt();
	throw error;
}
