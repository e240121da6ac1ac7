/**
 * `status.conditions`: how a case reads them and waits for them.
 */

/** @typedef {import('./test-context.mjs').TestContext} TestContext */

/** @param {any} one @param {string} type @returns {any} */
export const condition = (one, type) =>
	one?.status?.conditions?.find((/** @type {any} */ condition) => condition.type === type);

/** Whether the condition has this status, and this reason if one is given. @param {any} one @param {string} type @param {string} status @param {string} [reason] */
export const hasCondition = (one, type, status, reason) =>
	condition(one, type)?.status === status && (!reason || condition(one, type).reason === reason);

/** All conditions, without times. @param {any} one */
export const conditions = (one) =>
	one.status.conditions
		.map((/** @type {any} */ { type, status, reason, message }) => [type, status, reason, message])
		.sort();

const failure = 'NamespaceDeletionContentFailure';
/** Why the content of a namespace cannot be deleted. @param {any} ns */
export const failureMessage = (ns) => condition(ns, failure).message;

/**
 * Deletes a namespace, the case's own by default, and waits for the condition that its content cannot be deleted.
 * @param {TestContext} t @param {{ns?: string, show?: (ns: any) => unknown}} [options]
 */
export async function deleteUntilBlocked(t, { ns = t.ns, show = conditions } = {}) {
	await t.delete(`namespaces/${ns}`);
	await t.until(`namespaces/${ns}`, 'reports ContentDeletionFailed', (it) => hasCondition(it, failure, 'True'), { show });
}
