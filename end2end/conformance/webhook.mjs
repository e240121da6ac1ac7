/**
 * Webhooks that answer: an HTTPS server for the real control plane, fault script lines for the sandbox.
 */
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import { join } from 'node:path';

/** @typedef {{allowed: boolean, status?: {code?: number, message?: string}, change?: object[]}} Decision  `change`: a JSON patch */

/** The fixed decision of each webhook, by name. @type {Record<string, Decision>} */
const decisions = {
	'allow.example.com': { allowed: true },
	'deny.example.com': { allowed: false, status: { message: 'not on a Friday' } },
	'forbid.example.com': { allowed: false, status: { code: 403, message: 'ask the owner' } },
	'low.example.com': { allowed: false, status: { code: 200, message: 'all is well' } },
	'nousages.apiextensions.crossplane.io': {
		allowed: false,
		status: { code: 409, message: 'This resource is in-use by 1 usage(s), including the Usage "shop".' },
	},
	'silent.example.com': { allowed: false },
	'label.example.com': { allowed: true, change: [{ op: 'add', path: '/metadata/labels', value: { by: 'webhook' } }] },
	'rewrite.example.com': { allowed: true, change: [{ op: 'add', path: '/spec/hostname', value: 'other' }] },
};

/** A webhook that never answers. The sandbox cannot reach it, which fails at once. */
const neverAnswers = 'hang.example.com';

/** The same decisions as a fault script: the sandbox calls no webhook. */
export const webhookFaults = Object.entries(decisions)
	.map(([name, { allowed, status, change }]) => {
		const action = change
			? ['patch', JSON.stringify(change)]
			: [allowed ? 'allow' : 'deny', status?.code, status?.message];
		return [`at 0s webhook ${name}`, ...action].filter(Boolean).join(' ');
	})
	.join('\n');

/**
 * @typedef {object} Webhooks
 * @property {(name: string) => Record<string, unknown>} config the `clientConfig` of the webhook with that name
 * @property {() => Promise<void>} stop
 */

/** The sandbox calls no webhook, so any address will do. @type {Webhooks} */
export const sandboxWebhooks = {
	config: (name) => ({ url: `https://127.0.0.1:1/${name}` }),
	stop: async () => {},
};

/** Without a serving certificate only the cases that need an answer fail. @param {Error} error @returns {Webhooks} */
export const unavailableWebhooks = (error) => ({
	config: () => {
		throw new Error(`webhooks cannot answer on this cluster: ${error.message}`);
	},
	stop: async () => {},
});

/** @param {Decision} decision */
const toReview = ({ change, ...rest }) =>
	change ? { ...rest, patchType: 'JSONPatch', patch: Buffer.from(JSON.stringify(change)).toString('base64') } : rest;

/** Converts by changing only the apiVersion. @param {any} asked */
const convertReview = ({ objects, desiredAPIVersion: apiVersion }) => ({
	result: { status: 'Success' },
	convertedObjects: objects.map((/** @type {object} */ object) => ({ ...object, apiVersion })),
});

/**
 * Serves the webhooks with the certificate of the API server, which is valid for this machine and whose authority goes into
 * the `clientConfig`.
 * @param {string} dir of the cluster @param {string} ca @returns {Promise<Webhooks>}
 */
export async function startWebhookServer(dir, ca) {
	const [cert, key] = await Promise.all(
		['apiserver.crt', 'apiserver.key'].map((file) => readFile(join(dir, 'certificates', file))),
	);
	const server = createServer({ cert, key }, async (request, response) => {
		let text = '';
		for await (const part of request) text += part;
		const { apiVersion, kind, request: asked } = JSON.parse(text);
		const name = new URL(request.url ?? '', 'https://localhost').pathname.slice(1);
		if (name === neverAnswers) return;
		const known = decisions[name];
		const decision = known ? toReview(known) : convertReview(asked);
		response.setHeader('content-type', 'application/json');
		response.end(JSON.stringify({ apiVersion, kind, response: { uid: asked.uid, ...decision } }));
	});
	server.listen(0, '127.0.0.1');
	await once(server, 'listening');
	const address = /** @type {import('node:net').AddressInfo} */ (server.address());
	return {
		config: (name) => ({
			url: `https://127.0.0.1:${address.port}/${name}`,
			caBundle: Buffer.from(ca).toString('base64'),
		}),
		stop: async () => {
			server.closeAllConnections();
			server.close();
			await once(server, 'close');
		},
	};
}
