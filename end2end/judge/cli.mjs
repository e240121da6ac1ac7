/**
 * The judge as a program: observes until stdin closes, then prints its verdict.
 *
 *   node end2end/judge/cli.mjs --kubeconfig FILE --audit FILE --unit KEY=VALUE
 *        [--bystander KEY=VALUE] [--actor USER] [--keep KIND/NAMESPACE/NAME | KIND/NAME]… [--allow-leftovers]
 *
 * stdout gets {"open":true} once every watch is synced, so that the teardown may begin, and at the end the verdict as one line.
 * Exit code 0: no violation; 1: violations; 2: cannot judge.
 */
import { readFile } from 'node:fs/promises';
import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { Client } from '../cluster/client.mjs';
import { parseKubeconfig } from '../cluster/kubeconfig.mjs';
import { Judge } from './judge.mjs';

const { values } = parseArgs({
	options: {
		kubeconfig: { type: 'string' },
		audit: { type: 'string' },
		unit: { type: 'string' },
		bystander: { type: 'string' },
		actor: { type: 'string' },
		keep: { type: 'string', multiple: true, default: [] },
		'allow-leftovers': { type: 'boolean', default: false },
	},
});

/** @param {'kubeconfig'|'audit'|'unit'} option @returns {string} */
function required(option) {
	const value = values[option];
	if (value) return value;
	process.stderr.write(`--${option} is required\n`);
	process.exit(2);
}

/** @param {string} path KIND/NAMESPACE/NAME or KIND/NAME */
function nameFrom(path) {
	const parts = path.split('/');
	return parts.length === 3
		? { kind: parts[0], namespace: parts[1], name: parts[2] }
		: { kind: parts[0], name: parts[1] };
}

/** @param {object} message */
const send = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);

try {
	const { server, ca, tokens } = parseKubeconfig(await readFile(required('kubeconfig'), 'utf8'));
	/** @type {Map<string, Client>} */
	const clients = new Map([...tokens].map(([user, token]) => [user, new Client({ server, ca, token })]));
	/** @param {string} user */
	const as = (user) => {
		const client = clients.get(user);
		if (!client) throw new Error(`the kubeconfig has no user ${user}`);
		return client;
	};
	const cluster = {
		audit: required('audit'),
		request: (/** @type {string} */ user, /** @type {Parameters<Client['request']>} */ ...request) =>
			as(user).request(...request),
		watch: (/** @type {string} */ user, /** @type {Parameters<Client['follow']>} */ ...follow) =>
			as(user).follow(...follow),
	};
	const judge = await Judge.open(cluster, {
		unit: { label: required('unit') },
		bystander: values.bystander ? { label: values.bystander } : undefined,
		actor: values.actor,
	});
	send({ open: true });
	process.stdin.resume();
	await once(process.stdin, 'end');
	const verdict = await judge.close({
		keptExpected: (values.keep ?? []).map(nameFrom),
		mayRemain: () => values['allow-leftovers'] ?? false,
	});
	send(verdict);
	process.exitCode = verdict.violations.length > 0 ? 1 : 0;
	for (const client of clients.values()) client.close();
} catch (error) {
	process.stderr.write(`cannot judge: ${error instanceof Error ? error.message : error}\n`);
	process.exit(2);
}
