/**
 * Self-signed serving certificates for webhooks, in DER by the grammar of RFC 5280: Node can sign, but cannot make a certificate.
 */
import { generateKeyPairSync, sign } from 'node:crypto';

/** @param {number} tag @param {Buffer[]} parts @returns {Buffer} */
function der(tag, ...parts) {
	const content = Buffer.concat(parts);
	const { length } = content;
	const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
	return Buffer.concat([Buffer.from([tag, ...size]), content]);
}
/** @param {Buffer[]} parts */
const sequence = (...parts) => der(0x30, ...parts);
/** @param {string} hex */
const identifier = (hex) => der(0x06, Buffer.from(hex, 'hex'));
/** @param {Date} time */
const utc = (time) => der(0x17, Buffer.from(`${time.toISOString().slice(2, 19).replace(/[-:T]/g, '')}Z`));

const ecdsaWithSha256 = sequence(identifier('2a8648ce3d040302'));
const commonName = identifier('550403');
const subjectAltName = identifier('551d11');
const day = 24 * 60 * 60 * 1000;

/**
 * A certificate for one host, valid for a day. It is its own authority.
 * @param {string} host @returns {{cert: string, key: string}} PEM
 */
export function selfSigned(host) {
	const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
	const name = sequence(der(0x31, sequence(commonName, der(0x0c, Buffer.from('unwind test')))));
	const names = sequence(der(0x82, Buffer.from(host)));
	const now = Date.now();
	const body = sequence(
		der(0xa0, der(0x02, Buffer.from([2]))), // version 3
		der(0x02, Buffer.from([1])),
		ecdsaWithSha256,
		name,
		sequence(utc(new Date(now - day)), utc(new Date(now + day))),
		name,
		publicKey.export({ type: 'spki', format: 'der' }),
		der(0xa3, sequence(sequence(subjectAltName, der(0x04, names)))),
	);
	const signature = der(0x03, Buffer.from([0]), sign('sha256', body, privateKey));
	const base64 = sequence(body, ecdsaWithSha256, signature).toString('base64');
	return {
		cert: `-----BEGIN CERTIFICATE-----\n${base64.replace(/.{1,64}/g, '$&\n')}-----END CERTIFICATE-----\n`,
		key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
	};
}
