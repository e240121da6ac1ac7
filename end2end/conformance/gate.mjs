/**
 * Chooses the cases that meet the real control plane in every test run: those that a change concerns, and a tenth of the others in
 * turn, so that ten changes ask them all. The rest is compared with the goldens on the sandbox alone.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** @typedef {import('./suite.mjs').Case} Case */

/** The cases of a turn are one of this many parts. */
const parts = 10;

/** Files of the suite through which every case speaks. A change there may change any answer. */
const suite = /^end2end\/conformance\/(?!gate)[^/.]+\.mjs$|^end2end\/cluster\/(go\.mod|stages\/|(cluster|boot|servers|attacher|controller|provisioner|users)\.mjs)/;

/** Sources through which the sandbox gives every answer. */
const shared = /^server\/sandbox\/src\/((api|cluster|controller|service|object|status|selector|label|kind|clock)\.rs|service\/|kind\/(element|shape|table))/;

/** The files of cases that a part of the sandbox answers. @type {[RegExp, string[]][]} */
const answeredBy = [
	[/^api\/(authorize|escalation|impersonate|review)|^cluster\/rbac/, ['access']],
	[/^api\/(discovery|openapi|proxy)/, ['discovery']],
	[/^api\/(columns|list|page|encode|protobuf)/, ['reading']],
	[/^(api\/watch|watch_cache|store)/, ['watching']],
	[/^api\/(body|query|request|strict)/, ['input']],
	[/^api\/(scale|write)|^cluster\/(scale|update)|^patch/, ['updating']],
	[/^cluster\/managed/, ['applying']],
	[/^cluster\/(create|defaults|rules|validate)/, ['creating']],
	[/^cluster\/delete/, ['delete-options', 'finalizers']],
	[/^cluster\/eviction|^controller\/budget/, ['eviction']],
	[/^cluster\/(admission|webhook|policy|api_service)/, ['extension']],
	[/^cluster\/definition|^controller\/definition|^kind\/custom/, ['custom']],
	[/^(cluster\/quota|quota|quantity|controller\/resource_quota)/, ['edges', 'creating']],
	[/^controller\/autoscaler/, ['autoscaling']],
	[/^controller\/(garbage|revision)/, ['owners']],
	[/^controller\/namespace/, ['namespaces']],
	[/^controller\/(kubelet|node_faults|runtime|pod_gc|pods|scheduler)/, ['kubelets', 'pods']],
	[/^controller\/(node_lifecycle|taint_eviction)/, ['kubelets', 'outage']],
	[/^controller\/(claim_protection|volume_protection|protection|attributes_class_protection)/, ['protection']],
	[/^controller\/(attach|binder|driver_pods|provisioner|ephemeral_volume|attacher)/, ['storage']],
	[/^(controller\/(daemon_set|deployment|job|replica_set|stateful_set|cron_job)|cron)/, ['workloads']],
	[/^controller\/(load_balancer|leader_election)/, ['workloads']],
	[/^controller\/(endpoint|service_account|root_ca|service_cidr|resource_claim)/, ['edges']],
	[/^(fault|control_plane)/, ['outage']],
];

/**
 * The cases whose definition, golden or answering code is among the changed files.
 * @param {Case[]} all @param {string[]} changed paths from the root of the repository @returns {Case[]}
 */
export function concerned(all, changed) {
	if (changed.some((path) => suite.test(path) || shared.test(path))) return all;
	/** @type {Set<string>} */
	const files = new Set();
	/** @type {Set<string>} */
	const titles = new Set();
	for (const path of changed) {
		const cases = path.match(/^end2end\/conformance\/cases\/([^/]+)\.mjs$/);
		if (cases) files.add(cases[1]);
		const golden = path.match(/^end2end\/conformance\/expected\/([^/]+)\/([^/]+)\.txt$/);
		if (golden) titles.add(`${golden[1]}/${golden[2]}`);
		const source = path.match(/^server\/sandbox\/src\/(.+)$/)?.[1];
		if (source) for (const [place, names] of answeredBy) if (place.test(source)) for (const name of names) files.add(name);
	}
	return all.filter(({ file, name }) => files.has(file) || titles.has(`${file}/${name}`));
}

/** The part of all cases that is asked in this turn. @param {Case[]} all @param {number} turn @returns {Case[]} */
export const inTurn = (all, turn) => all.filter((_, at) => at % parts === turn % parts);

/** The cases of a test run, in the order of the suite. @param {Case[]} all @param {{changed: string[], turn: number}} state */
export function choose(all, { changed, turn }) {
	const chosen = new Set([...concerned(all, changed), ...inTurn(all, turn)]);
	return all.filter((one) => chosen.has(one));
}

/**
 * The changed files and the number of the turn. The change is what `UNWIND_BASE` does not have; without it, what the branch of the
 * remote does not have; on that branch itself, the commits of the last day before the newest. The turn is the number of commits.
 * Where there is no history, nothing has changed, and the turn is the day.
 * @param {string} root of the repository @returns {Promise<{changed: string[], turn: number}>}
 */
export async function stateOf(root) {
	const run = promisify(execFile);
	/** @param {string[]} args */
	const git = async (...args) => (await run('git', args, { cwd: root, maxBuffer: 1 << 26 })).stdout.trim();
	/** @param {string[]} args */
	const tried = (...args) => git(...args).catch(() => '');
	const today = Math.floor(Date.now() / 86_400_000);
	const head = await tried('rev-parse', 'HEAD');
	if (!head) return { changed: [], turn: today };
	const shared = process.env.UNWIND_BASE ?? (await tried('merge-base', 'HEAD', 'origin/HEAD'));
	const newest = Number(await git('show', '-s', '--format=%ct', 'HEAD'));
	const aDayBefore = () => tried('rev-list', '-1', `--before=${newest - 86_400}`, 'HEAD');
	const base = shared && shared !== head ? shared : await aDayBefore();
	const committed = base ? await git('diff', '--name-only', base) : '';
	const added = await git('ls-files', '--others', '--exclude-standard');
	const changed = `${committed}\n${added}`.split('\n').filter(Boolean);
	return { changed, turn: Number(await git('rev-list', '--count', 'HEAD')) };
}
