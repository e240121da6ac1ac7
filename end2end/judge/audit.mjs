/**
 * The API server's audit log: the requests that delete, the lists, and when each change was made.
 */
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createInterface } from 'node:readline';

/**
 * @typedef {object} DeletionRequest  a DELETE, deletecollection or eviction
 * @property {string} user the impersonated user, if there is one
 * @property {boolean} collection deletecollection
 * @property {string} resource plural, with its group if it has one
 * @property {string} [namespace] @property {string} [name]
 * @property {string} [uid] of the deleted object, if the answer has it
 * @property {string} [preconditionUid] @property {string} [propagationPolicy]
 * @property {boolean} dryRun
 * @property {boolean} eviction asked for through the eviction subresource
 * @property {number} code status of the answer
 * @property {string} at time of receipt
 *
 * @typedef {{user: string, uri: string, at: string}} List  a list that was answered
 *
 * @typedef {{revision: number, from: string, to: string}} Write  an update or patch that was answered: the revision of the object in the
 *   answer, and the times of receipt and answer
 */

/** The current size of the log: an offset for `readAudit`. @param {string} file */
export const endOf = async (file) => (await stat(file)).size;

/** @param {string} file @param {number} from byte offset @returns {Promise<{deletionRequests: DeletionRequest[], lists: List[], writes: Write[]}>} */
export async function readAudit(file, from) {
	/** @type {DeletionRequest[]} */
	const deletionRequests = [];
	/** @type {List[]} */
	const lists = [];
	/** @type {Write[]} */
	const writes = [];
	for await (const line of createInterface({ input: createReadStream(file, { start: from }) })) {
		if (!line) continue;
		const event = JSON.parse(line);
		if (event.stage !== 'ResponseComplete') continue;
		const { verb, objectRef, requestURI, requestReceivedTimestamp: at } = event;
		const user = event.impersonatedUser?.username ?? event.user.username;
		const eviction = verb === 'create' && objectRef?.subresource === 'eviction';
		if (verb === 'delete' || verb === 'deletecollection' || eviction)
			deletionRequests.push({ ...read(event), user, eviction, at });
		else if (verb === 'list' && event.responseStatus?.code === 200) lists.push({ user, uri: requestURI, at });
		else if ((verb === 'update' || verb === 'patch') && event.responseStatus?.code < 300) {
			const revision = Number(event.responseObject?.metadata?.resourceVersion);
			// A dry run changes nothing, and its answer has the revision of before.
			const dryRun = new URL(requestURI, 'https://apiserver').searchParams.has('dryRun');
			if (revision && !dryRun) writes.push({ revision, from: at, to: event.stageTimestamp });
		}
	}
	return { deletionRequests, lists, writes };
}

/** DeleteOptions come in the body, in the query, or both. @param {any} event */
function read({ verb, objectRef, requestURI, requestObject, responseStatus, responseObject }) {
	const query = new URL(requestURI, 'https://apiserver').searchParams;
	const options = requestObject ?? {};
	return {
		collection: verb === 'deletecollection',
		resource: objectRef.apiGroup ? `${objectRef.resource}.${objectRef.apiGroup}` : objectRef.resource,
		namespace: objectRef.resource === 'namespaces' ? undefined : objectRef.namespace,
		name: objectRef.name,
		uid: responseStatus?.details?.uid ?? responseObject?.details?.uid ?? responseObject?.metadata?.uid,
		preconditionUid: options.preconditions?.uid,
		propagationPolicy: options.propagationPolicy ?? query.get('propagationPolicy') ?? undefined,
		dryRun: (options.dryRun?.length ?? 0) > 0 || query.has('dryRun'),
		code: responseStatus?.code ?? 0,
	};
}
