/**
 * The text that the transcript records of an answer: one line, or several for a table. It always has the fields that matter for
 * deletion; a case names further fields.
 */

/** @typedef {Record<string, any>} KubeObject */

/** Created in every namespace some time after it, so cases ignore it. */
const background = new Set(['kube-root-ca.crt']);
/** @param {KubeObject} object */
export const isBackground = (object) => background.has(object?.metadata?.name);

/** JSON with sorted keys. @param {any} value @returns {string} */
export const json = (value) =>
	JSON.stringify(value, (_, part) =>
		part && typeof part === 'object' && !Array.isArray(part)
			? Object.fromEntries(Object.entries(part).sort(([one], [other]) => (one < other ? -1 : 1)))
			: part,
	);

/** @param {any} value */
export const short = (value) => (typeof value === 'string' && /^[\w./:-]+$/.test(value) ? value : json(value));

/** @param {string[]} fields @param {any} body */
export function viewOf(body, fields = []) {
	if (typeof body === 'string') return JSON.stringify(body.length > 300 ? `${body.slice(0, 300)}…` : body);
	if (body?.kind === 'Status') return viewOfStatus(body);
	if (body?.kind === 'Table') return viewOfTable(body, fields);
	if (Array.isArray(body?.items)) return viewOfList(body, fields);
	if (body?.metadata) return viewOfObject(body, fields);
	return json(body);
}

/** @param {KubeObject} status */
function viewOfStatus({ status, reason, message, details, code, metadata }) {
	const { causes, ...rest } = details ?? {};
	const parts = [status, code, reason, message === undefined ? undefined : quoted(message)];
	const about = Object.entries(rest).map(([key, value]) => `${key}=${short(value)}`);
	if (about.length > 0) parts.push(`{${about.sort().join(' ')}}`);
	// PATCH validates twice, so some causes come twice.
	const said = (causes ?? []).map(
		(/** @type {any} */ { reason: why, field, message: text }) =>
			`\n      cause ${[why, field, text === undefined ? undefined : quoted(text)].filter(Boolean).join(' ')}`,
	);
	parts.push(...new Set(said));
	if (metadata?.continue) parts.push('continue');
	return parts
		.filter((part) => part !== undefined)
		.join(' ')
		.replaceAll(' \n', '\n');
}

/** A message without the whole objects and Go diffs that some messages contain. @param {string} message */
const quoted = (message) =>
	JSON.stringify(message.replace(/\n@@[^]*/, '…').replace(/(Invalid value: )"\{\\?"apiVersion.*\}"/s, '$1"{…}"'));

/** @param {KubeObject} table @param {string[]} fields */
function viewOfTable({ columnDefinitions, rows, metadata }, fields) {
	const columns = columnDefinitions?.map(
		(/** @type {any} */ { name, type, priority }) => `${name}:${type}${priority ? `/${priority}` : ''}`,
	);
	const lines = rows
		.filter((/** @type {any} */ row) => !isBackground(row.object))
		.map((/** @type {any} */ { cells, object }) => {
			const inside = object ? `  ${object.kind}${fields.length > 0 ? ` ${viewOfObject(object, fields)}` : ''}` : '';
			return `\n      | ${cells.map((/** @type {any} */ cell) => (cell === null ? '<none>' : String(cell))).join(' | ')}${inside}`;
		});
	return `Table ${columns ? columns.join(', ') : 'without columns'}${listEnd(metadata)}${lines.join('')}`;
}

/** @param {KubeObject} metadata of a list */
function listEnd(metadata = {}) {
	const { continue: more, remainingItemCount } = metadata;
	return `${more ? ' continue' : ''}${remainingItemCount === undefined ? '' : ` remaining=${remainingItemCount}`}`;
}

/** @param {KubeObject} list @param {string[]} fields */
function viewOfList({ kind, items, metadata }, fields) {
	const shown = items.filter((/** @type {KubeObject} */ item) => !isBackground(item));
	const lines = shown.map((/** @type {KubeObject} */ item) => `\n      - ${viewOfObject(item, fields)}`);
	return `${kind} of ${shown.length}${listEnd(metadata)}${lines.join('')}`;
}

/** @param {KubeObject} object @param {string[]} fields */
export function viewOfObject(object, fields = []) {
	const { metadata = {} } = object;
	const parts = [object.kind, metadata.name].filter(Boolean);
	if (metadata.generation !== undefined) parts.push(`generation=${metadata.generation}`);
	if (metadata.finalizers) parts.push(`finalizers=[${metadata.finalizers.join(' ')}]`);
	if (metadata.ownerReferences) parts.push(`owners=[${metadata.ownerReferences.map(viewOfOwner).join(' ')}]`);
	const { deletionTimestamp, deletionGracePeriodSeconds: grace } = metadata;
	if (deletionTimestamp) parts.push(grace === undefined ? 'deleting' : `deleting grace=${grace}`);
	for (const path of fields) {
		const value = at(object, path);
		if (value !== undefined) parts.push(`${path}=${viewOfValue(path, value)}`);
	}
	return parts.join(' ');
}

/** @param {KubeObject} owner */
function viewOfOwner({ kind, name, controller, blockOwnerDeletion }) {
	return `${kind}/${name}${controller ? '+controller' : ''}${blockOwnerDeletion ? '+blocks' : ''}`;
}

/** A value in an object by its path, `a.b[0].c`; a key with dots in it goes in quotes: `a."b.c"`. @param {any} object @param {string} path */
export function at(object, path) {
	let value = object;
	for (const [, quoted, index, key] of path.matchAll(/"([^"]+)"|\[(\d+)\]|([^.[\]"]+)/g))
		value = value?.[quoted ?? index ?? key];
	return value;
}

/** @param {string} path @param {any} value */
function viewOfValue(path, value) {
	if (!path.endsWith('conditions') || !Array.isArray(value)) return short(value);
	const each = value.map(({ type, status, reason }) => `${type}=${status}${reason ? `/${reason}` : ''}`);
	return `[${each.sort().join(' ')}]`;
}
