/**
 * Takes out of a module what is linked into it and never called, or only when it ends; wasm-opt then drops what only that
 * needed.
 *
 * A view or an attribute without its type holds pointers to all that can be done with it. So the linker keeps a second,
 * asynchronous hydration of every view, which only `hydrate_lazy` begins, while we begin with `hydrate_body`; the
 * hydration of attributes from a template, which only islands have; and their cloning, for attributes that are given to
 * a component, which none of ours are. The bodies become one trap. The names by which they are found are left out of
 * what is written.
 *
 * What is exported is kept too, the streams of server functions among it, and the promises they make of futures. We have
 * no server functions: the exports are left out, and the promises trapped.
 *
 * A panic ends the page, and start.js tells whoever looks at it. Here it is a trap at once: what would put its message
 * together is left out, and so are the places in the sources that it would name. `UNWIND_PROFILE=dev app/build` makes a
 * page that says which.
 *
 *     node app/snip.mjs FROM TO
 */
import { readFileSync, writeFileSync } from 'node:fs';

/**
 * The pointer's target, and the future it makes. Only these: functions with the same code are one under either's name,
 * so a name proves nothing for short ones; a future names the place it was written at, should it be polled too often.
 */
const dead = /::(into_any::hydrate_async(::\{\{closure\}\})?|into_any_attr::(clone|hydrate_from_template)|future_to_promise(::\{\{closure\}\})+)(::h[0-9a-f]{16})?$/;
/** Each type of attribute has one of both, and its number in it: where they are as many, none is under a dead one's name. */
const [alive, witness] = [/::into_any_attr::hydrate_from_server(::h[0-9a-f]{16})?$/, /::into_any_attr::clone(::h[0-9a-f]{16})?$/];
/** What is called where something panics, of the standard library alone. */
const panicking = /^(core|alloc|std|__rustc)(\[[0-9a-f]+\])?::(panicking::(panic(?!_count)|assert_failed|begin_panic|rust_panic)|option::(unwrap|expect)_failed$|result::unwrap_failed$|slice::index::slice_\w*fail$|str::slice_error_fail|cell::panic_|raw_vec::(handle_error|capacity_overflow)$|alloc::handle_alloc_error$|rust_begin_unwind$)/;
/** A place in the sources, as the compiler writes it for a panic. */
const source = /(?:\/rustc\/[0-9a-f]{40}\/|index\.crates\.io-[0-9a-f]{16}\/|(?:app|server\/teardown)\/src\/)[\w./-]+?\.rs/g;
const unasked = /^(__wbg_)?intounderlying(bytesource|source|sink)_/;
/** No locals, `unreachable`, `end`, and how long that is. */
const trap = Buffer.from([3, 0, 0x00, 0x0b]);
const [sectionOfImports, sectionOfExports, sectionOfCode, sectionOfData, sectionOfOwn] = [2, 7, 10, 11, 0];
/** A place in the sources: where its path is, how long that is, line, column; four bytes each. */
const lengthOfPlace = 16;

const [from, to] = process.argv.slice(2);
const module = readFileSync(from);
let at = 8;

/** An unsigned LEB128 number. */
function number() {
	let value = 0;
	for (let shift = 0; ; shift += 7) {
		const byte = module[at++];
		value += (byte & 0x7f) * 2 ** shift;
		if (byte < 0x80) return value;
	}
}

function text() {
	const length = number();
	at += length;
	return module.toString('utf8', at - length, at);
}

/** @param {number} value */
function written(value) {
	const bytes = [];
	for (; value >= 0x80; value = Math.floor(value / 0x80)) bytes.push((value % 0x80) + 0x80);
	return Buffer.from([...bytes, value]);
}

function skipLimits() {
	const flags = number();
	number();
	if (flags & 1) number();
}

/** How many functions are imported: they are numbered before our own. */
function importedFunctions() {
	let functions = 0;
	for (let left = number(); left > 0; left--) {
		text();
		text();
		const kind = module[at++];
		if (kind === 0) {
			functions++;
			number();
		} else if (kind === 3) {
			at += 2;
		} else {
			if (kind === 1) at++;
			skipLimits();
		}
	}
	return functions;
}

/** @param {number} end @returns {Map<number, string>} */
function functionNames(end) {
	const names = new Map();
	while (at < end) {
		const kind = module[at++];
		const size = number();
		const next = at + size;
		if (kind === 1) for (let left = number(); left > 0; left--) names.set(number(), text());
		at = next;
	}
	return names;
}

/** Blanks the places in the sources, and their paths, in initial memory; gives how many places there were. */
function blankPlaces() {
	const segments = [];
	for (let left = number(); left > 0; left--) {
		const [active, constant] = [number(), module[at++]];
		if (active !== 0 || constant !== 0x41) throw new Error(`in ${from} a piece of memory begins nobody knows where`);
		const begin = number();
		at++;
		const length = number();
		segments.push({ begin, bytes: module.subarray(at, at + length) });
		at += length;
	}
	const paths = new Map();
	for (const { begin, bytes } of segments) {
		for (const { 0: path, index } of bytes.toString('latin1').matchAll(source)) {
			paths.set(begin + index, path.length);
			bytes.fill(0, index, index + path.length);
		}
	}
	let places = 0;
	for (const { begin, bytes } of segments) {
		for (let index = -begin & 3; index + lengthOfPlace <= bytes.length; index += 4) {
			if (paths.get(bytes.readUInt32LE(index)) !== bytes.readUInt32LE(index + 4)) continue;
			bytes.fill(0, index, index + lengthOfPlace);
			places++;
		}
	}
	return places;
}

const sections = [];
let imported = 0;
let names = new Map();
while (at < module.length) {
	const id = module[at++];
	const size = number();
	const start = at;
	let named = false;
	if (id === sectionOfImports) imported = importedFunctions();
	if (id === sectionOfOwn && text() === 'name') {
		named = true;
		names = functionNames(start + size);
	}
	if (!named) sections.push({ id, start, end: start + size });
	at = start + size;
}
if (names.size === 0) throw new Error(`${from} does not name its functions`);
/** @param {RegExp} pattern */
const count = (pattern) => [...names.values()].filter((name) => pattern.test(name)).length;
if (count(alive) !== count(witness)) throw new Error(`in ${from} something alive may have the name of something dead`);

const parts = [module.subarray(0, 8)];
let snipped = 0;
let trapped = 0;
let places = 0;
for (const { id, start, end } of sections) {
	let content = module.subarray(start, end);
	if (id === sectionOfExports) {
		at = start;
		const kept = [];
		for (let left = number(); left > 0; left--) {
			const begin = at;
			const take = unasked.test(text());
			at++;
			number();
			if (!take) kept.push(module.subarray(begin, at));
		}
		content = Buffer.concat([written(kept.length), ...kept]);
	}
	if (id === sectionOfCode) {
		at = start;
		const functions = number();
		const bodies = [written(functions)];
		for (let index = 0; index < functions; index++) {
			const begin = at;
			const size = number();
			at += size;
			const name = names.get(imported + index) ?? '';
			const [isDead, panics] = [dead.test(name), panicking.test(name)];
			snipped += Number(isDead);
			trapped += Number(panics);
			bodies.push(isDead || panics ? trap : module.subarray(begin, at));
		}
		content = Buffer.concat(bodies);
	}
	if (id === sectionOfData) {
		at = start;
		places = blankPlaces();
	}
	parts.push(Buffer.from([id]), written(content.length), content);
}
if (!snipped || !trapped || !places) throw new Error(`nothing in ${from} is called what this looks for`);
writeFileSync(to, Buffer.concat(parts));
