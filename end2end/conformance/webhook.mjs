/**
 * A webhook that answers: for the real control plane an HTTPS server, for the sandbox lines of its script.
 */
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import { join } from 'node:path';

/** @typedef {{allowed: boolean, status?: {code?: number, message?: string}, change?: object[]}} Decision  `change`: a JSON patch */

/** What each of them says, whatever it is asked. @type {Record<string, Decision>} */
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

/** Who is asked and never says anything. In the sandbox it is not reached, which ends at once. */
const neverAnswers = 'hang.example.com';

/** What they say for the sandbox, which asks nobody: a script. */
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
 * @property {(name: string) => Record<string, unknown>} config the `clientConfig` that leads to the one of that name
 * @property {() => Promise<void>} stop
 */

/** Nobody has to be reached in the sandbox. @type {Webhooks} */
export const sandboxWebhooks = {
	config: (name) => ({ url: `https://127.0.0.1:1/${name}` }),
	stop: async () => {},
};

/** Where there is no certificate to answer with, only the cases that need an answer fail. @param {Error} error @returns {Webhooks} */
export const unavailableWebhooks = (error) => ({
	config: () => {
		throw new Error(`no webhook can answer here: ${error.message}`);
	},
	stop: async () => {},
});

/** @param {Decision} decision */
const toReview = ({ change, ...rest }) =>
	change ? { ...rest, patchType: 'JSONPatch', patch: Buffer.from(JSON.stringify(change)).toString('base64') } : rest;

/** What is asked for in another version: the same, which says that it is of that version. @param {any} asked */
const convertReview = ({ objects, desiredAPIVersion: apiVersion }) => ({
	result: { status: 'Success' },
	convertedObjects: objects.map((/** @type {object} */ object) => ({ ...object, apiVersion })),
});

/**
 * Answers with the certificate of the API server, which is for this machine, and which that one trusts if it is told to.
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
