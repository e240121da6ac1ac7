/**
 * Programs of operators, for `runAsPods`: a controller that clears the finalizers of its custom resources, and a server that
 * validates and converts them.
 */
import { createServer } from 'node:https';
import { changeFinalizers, oneAtATime, without, withOne } from './controller.mjs';

/** @typedef {import('./client.mjs').Client} Client */
/** @typedef {import('./client.mjs').KubeObject} KubeObject */
/** @typedef {import('./program.mjs').Program} Program */

/** @param {string} collection @param {KubeObject} object */
const pathOf = (collection, { metadata: { namespace, name } }) =>
	`${collection.slice(0, collection.lastIndexOf('/'))}/namespaces/${namespace}${collection.slice(collection.lastIndexOf('/'))}/${name}`;

/**
 * Puts a finalizer on each object of a kind, and clears it once the object is deleted. Whatever else the operator does for an
 * object happens between the two.
 * @param {object} operator
 * @param {string} operator.collection the path of all objects
 * @param {string} operator.finalizer
 * @param {(client: Client, object: KubeObject) => Promise<void>} [operator.provide] makes what the object stands for
 * @param {(object: KubeObject, error: unknown) => void} [operator.onError] learns of a failure, which is repaired with the next
 *   change of the object
 * @returns {Program}
 */
export const finishing =
	({ collection, finalizer, provide = async () => {}, onError = () => {} }) =>
	({ client }) => {
		/** @param {KubeObject} object */
		async function reconcile(object) {
			const { uid, deletionTimestamp } = object.metadata;
			const path = pathOf(collection, object);
			if (deletionTimestamp) return changeFinalizers(client, path, uid, without(finalizer));
			await changeFinalizers(client, path, uid, withOne(finalizer));
			await provide(client, object);
		}
		const reconciles = oneAtATime(reconcile, onError);
		const objects = client.follow(collection, {}, ({ type, object }) => {
			if (type !== 'DELETED') reconciles.look(object);
		});
		return () => {
			reconciles.stop();
			objects.close();
		};
	};

/**
 * Answers AdmissionReviews and ConversionReviews over HTTPS.
 * @param {object} webhook
 * @param {{cert: string, key: string}} webhook.certificate
 * @param {number} webhook.port of the container
 * @param {(client: Client, object: KubeObject) => Promise<string|undefined>} webhook.refusal why an object may not be deleted
 * @param {(object: KubeObject, apiVersion: string) => KubeObject} webhook.convert
 * @returns {Program}
 */
export const reviewing =
	({ certificate, port, refusal, convert }) =>
	({ client, listen }) => {
		/** @param {any} asked @returns {Promise<object>} */
		const answer = async ({ kind, request }) => {
			if (kind === 'ConversionReview') {
				const objects = request.objects.map((/** @type {KubeObject} */ it) => convert(it, request.desiredAPIVersion));
				return { result: { status: 'Success' }, convertedObjects: objects };
			}
			const message = await refusal(client, request.oldObject);
			return message ? { allowed: false, status: { code: 403, message } } : { allowed: true };
		};
		const server = createServer(certificate, async (request, response) => {
			try {
				let text = '';
				for await (const part of request) text += part;
				const review = JSON.parse(text);
				const { apiVersion, kind } = review;
				response.setHeader('content-type', 'application/json');
				response.end(
					JSON.stringify({ apiVersion, kind, response: { uid: review.request.uid, ...(await answer(review)) } }),
				);
			} catch {
				response.destroy();
			}
		});
		listen(port, server);
		return () => server.closeAllConnections();
	};

/** The programs of one container. @param {Program[]} programs @returns {Program} */
export const together =
	(...programs) =>
	(container) => {
		const ends = programs.map((program) => program(container));
		return () => ends.forEach((end) => end());
	};
