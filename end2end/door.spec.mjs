/**
 * Access control of the running program: unauthenticated and foreign requests are refused.
 */
import { request } from 'node:http';
import { Unwind } from './unwind.mjs';
import { expect, test } from './fixtures.mjs';

const json = { 'content-type': 'application/json' };

/**
 * Sends a request with arbitrary headers, and returns the status, the error code and the cookie.
 * @param {Unwind} unwind @param {string} method @param {string} path @param {Record<string, string>} headers @param {string} body
 * @returns {Promise<{code: number, error: string | undefined, cookie: string | undefined}>}
 */
const send = (unwind, method, path, headers = {}, body = '') =>
	new Promise((resolve, reject) => {
		const asked = request(unwind.origin + path, { method, headers: { ...headers, 'content-length': Buffer.byteLength(body) } }, async (answer) => {
			let text = '';
			for await (const chunk of answer) text += chunk;
			const error = answer.headers['content-type']?.includes('json') ? JSON.parse(text).error?.code : undefined;
			resolve({ code: answer.statusCode ?? 0, error, cookie: answer.headers['set-cookie']?.[0] });
		});
		asked.on('error', reject);
		asked.end(body);
	});

test('request without a valid session, host or origin is refused, and a sign-in link works once', async () => {
	const unwind = await Unwind.before(['--sandbox', 'shop']);
	try {
		const token = new URL(unwind.link).hash.slice('#k='.length);
		const enter = () => send(unwind, 'POST', '/api/session', json, JSON.stringify({ token }));

		expect(await send(unwind, 'GET', '/api/units')).toMatchObject({ code: 401, error: 'notSignedIn' });
		const host = { host: `evil.example:${new URL(unwind.origin).port}` };
		expect(await send(unwind, 'GET', '/api/units', host)).toMatchObject({ code: 421, error: 'wrongHost' });
		const foreign = await send(unwind, 'POST', '/api/session', { ...json, origin: 'http://evil.example' }, JSON.stringify({ token }));
		expect(foreign).toMatchObject({ code: 403, error: 'foreignOrigin', cookie: undefined });

		const entered = await enter();
		expect(entered.code).toBe(201);
		expect(entered.cookie).toMatch(/; HttpOnly/i);
		expect(entered.cookie).toMatch(/; SameSite=Strict/i);
		expect(await enter()).toMatchObject({ code: 401, error: 'wrongToken', cookie: undefined });

		const cookie = entered.cookie?.split(';')[0] ?? '';
		expect(await send(unwind, 'GET', '/api/units', { cookie })).toMatchObject({ code: 200 });
		const plan = JSON.stringify({ unit: 'shop' });
		const plain = await send(unwind, 'POST', '/api/plans', { cookie, 'content-type': 'text/plain' }, plan);
		expect(plain).toMatchObject({ code: 415, error: 'notJson' });
		const large = JSON.stringify({ unit: 'x'.repeat(300 * 1024) });
		expect(await send(unwind, 'POST', '/api/plans', { cookie, ...json }, large)).toMatchObject({ code: 413, error: 'tooLarge' });
		expect(await send(unwind, 'POST', '/api/plans', { cookie, ...json }, plan)).toMatchObject({ code: 201 });
	} finally {
		await unwind.stop();
	}
});
