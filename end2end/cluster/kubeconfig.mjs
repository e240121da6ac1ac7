/**
 * Kubeconfig files, written as JSON (which is YAML): one with a context per user for people and tools, and one per part
 * of the cluster. The certificate authority travels inside, so the file works in any directory.
 */

/** Empty over plain HTTP. @param {string} ca */
const authority = (ca) => (ca ? { 'certificate-authority-data': Buffer.from(ca).toString('base64') } : {});

/**
 * @param {{server: string, ca: string, tokens: Map<string, string>}} cluster
 * @param {string[]} users whose contexts to write; the first is the current one
 */
export const kubeconfig = ({ server, ca, tokens }, users) =>
	JSON.stringify(
		{
			apiVersion: 'v1',
			kind: 'Config',
			clusters: [{ name: 'unwind', cluster: { server, ...authority(ca) } }],
			users: users.map((name) => ({ name, user: { token: tokens.get(name) } })),
			contexts: users.map((name) => ({ name, context: { cluster: 'unwind', user: name, namespace: 'default' } })),
			'current-context': users[0],
		},
		null,
		'\t',
	);

/**
 * Reads back what `kubeconfig` wrote.
 * @param {string} text @returns {{server: string, ca: string, tokens: Map<string, string>}}
 */
export function parseKubeconfig(text) {
	const { clusters, users } = JSON.parse(text);
	const [{ cluster }] = clusters;
	return {
		server: cluster.server,
		ca: Buffer.from(cluster['certificate-authority-data'] ?? '', 'base64').toString(), // empty over plain HTTP
		tokens: new Map(users.map((/** @type {any} */ { name, user }) => [name, user.token])),
	};
}
