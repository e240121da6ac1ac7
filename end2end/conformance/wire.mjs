/**
 * Plain HTTP, so that the cases see headers and bodies as the server sent them: one request and its answer, or one stream of
 * lines.
 */
import http from 'node:http';
import https from 'node:https';

/** @typedef {{server: string, ca?: string, tokens: Map<string, string>}} Access */
/** @typedef {{status: number, type: string, headers: import('node:http').IncomingHttpHeaders, body: any}} Answer  `body`: parsed if it is JSON, else text */
/** @typedef {{user?: string, method?: string, path: string, body?: string|Buffer, headers?: Record<string, string>}} Request */
/** @typedef {{status: number, body: any, ended: Promise<void>, close: () => void}} Stream  `body`: of an answer that is not a stream */

/**
 * An unused connection is closed after this time, in milliseconds. The API server closes it after 90 s, and a request that leaves in
 * that moment would get no answer (`IdleTimeout` in k8s.io/apiserver/pkg/server/secure_serving.go).
 */
const idle = 30_000;

export class Wire {
	#access;
	#agent;
	#request;

	/** @param {Access} access @param {number} [timeout] of an unused connection, in milliseconds */
	constructor(access, timeout = idle) {
		const secure = access.server.startsWith('https:');
		this.#access = access;
		this.#request = secure ? https.request : http.request;
		const options = { keepAlive: true, timeout };
		this.#agent = secure ? new https.Agent({ ca: access.ca, ...options }) : new http.Agent(options);
	}

	close() {
		this.#agent.destroy();
	}

	/** Resolves with any status; rejects only without an answer. @param {Request} request @returns {Promise<Answer>} */
	async ask(request) {
		const response = await this.#send(request, AbortSignal.timeout(60_000));
		let text = '';
		for await (const chunk of response.setEncoding('utf8')) text += chunk;
		const type = response.headers['content-type'] ?? '';
		const body = type.startsWith('application/json') && text ? JSON.parse(text) : text;
		return { status: response.statusCode ?? 0, type, headers: response.headers, body };
	}

	/**
	 * A watch: calls `onEvent` for every line until the stream ends or is closed.
	 * @param {Request} request @param {(event: any) => void} onEvent @returns {Promise<Stream>}
	 */
	async stream(request, onEvent) {
		const end = new AbortController();
		const response = await this.#send(request, end.signal);
		const status = response.statusCode ?? 0;
		const lines = async () => {
			let rest = '';
			for await (const chunk of response.setEncoding('utf8')) {
				const parts = (rest + chunk).split('\n');
				rest = parts.pop() ?? '';
				if (status === 200) for (const line of parts) onEvent(JSON.parse(line));
				else rest = [...parts, rest].join('\n');
			}
			return rest;
		};
		const read = lines();
		const ended = read.then(
			() => {},
			() => {}, // closed here or cut off: the stream has ended
		);
		const text = status === 200 ? '' : await read;
		const json = response.headers['content-type']?.startsWith('application/json');
		return { status, body: json && text ? JSON.parse(text) : text, ended, close: () => end.abort() };
	}

	/** @param {Request} request @param {AbortSignal} signal @returns {Promise<import('node:http').IncomingMessage>} */
	#send({ user = 'admin', method = 'GET', path, body, headers = {} }, signal) {
		const token = this.#access.tokens.get(user);
		return new Promise((resolve, reject) => {
			const request = this.#request(new URL(path, this.#access.server), {
				method,
				agent: this.#agent,
				headers: {
					accept: 'application/json',
					...(token ? { authorization: `Bearer ${token}` } : {}),
					...(body === undefined
						? {}
						: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
					...headers,
				},
			});
			const giveUp = () => request.destroy(new Error(`${method} ${path}: no answer in time`));
			signal.addEventListener('abort', giveUp);
			request.once('close', () => signal.removeEventListener('abort', giveUp));
			request.once('response', (response) => resolve(response.on('error', () => {})));
			request.on('error', reject).end(body);
		});
	}
}
