/**
 * Brings the module's glue in line with what wasm-opt left of the module: what is no longer imported is taken out, the
 * classes of exports that app/snip.mjs left out too, and what is left goes by the short names that the module has now.
 * A long name ends in a hash, which no compression makes smaller, and stands in both files.
 *
 *     node app/glue.mjs GLUE NAMES        NAMES is what wasm-opt said when it shortened them
 */
import { readFileSync, writeFileSync } from 'node:fs';

const [file, names] = process.argv.slice(2);
/** @type {{imports: [string, string, string][], exports: [string, string][]}} */
const { imports, exports } = JSON.parse(readFileSync(names, 'utf8'));
const imported = new Map(imports.map(([, name, short]) => [name, short]));
const exported = new Map(exports);
let glue = readFileSync(file, 'utf8');

/**
 * Replaces what must be there: glue of another make is not to be half changed.
 * @param {RegExp} pattern @param {(...found: string[]) => string} by
 */
function replace(pattern, by) {
	if (!pattern.test(glue)) throw new Error(`${file} has nothing that looks like ${pattern}`);
	glue = glue.replace(pattern, by);
}

replace(/^export class Into\w+ \{\n[^]*?^\}\n/gm, () => '');
replace(/^if \(Symbol\.dispose\) Into\w+\..*\n/gm, () => '');
replace(/^const Into\w+Finalization = [^]*?;\n/gm, () => '');
replace(/^ {8}(\w+): (function\([^]*?\n {8}\}(?:, arguments\); \})?,)\n/gm, (_, name, what) => {
	const short = imported.get(name);
	imported.delete(name);
	return short === undefined ? '' : `        ${short}: ${what}\n`;
});
if (imported.size > 0) throw new Error(`${file} has no ${[...imported.keys()].join(', ')}`);
// All that is imported is imported from one place, which is called this.
replace(/^ {8}"\.\/\w+_bg\.js": /gm, () => '        a: ');
replace(/\bwasm\.(\w+)/g, (_, name) => `wasm.${exported.get(name) ?? name}`);
// Our server and start.js give no cause for these warnings; in other hands they are as clear in fewer words.
replace(/"`WebAssembly\.instantiateStreaming` failed[^"]*"/, () => '"not application/wasm"');
replace(/'using deprecated parameters for the initialization[^']*'/, () => "'deprecated'");
// What is not loaded in turn with everything else is not loaded at all.
replace(/^export \{ initSync, /m, () => 'export { ');
const left = /\bInto[A-Z]\w+/.exec(glue);
if (left) throw new Error(`${file} still speaks of ${left[0]}`);
writeFileSync(file, glue);
