/**
 * The real kubectl works with the sandbox: its commands and their output.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { claim, configMap, deployment, using, volume } from './objects.mjs';
import { sandbox } from './targets.mjs';

const program = fileURLToPath(new URL('../../target/cluster/bin/kubectl', import.meta.url));
/** @type {import('./targets.mjs').Target} */
let world;
/** @type {string} kubectl's cache directory, separate from the one for other clusters */
let cache;

before(async () => {
	cache = await mkdtemp(join(tmpdir(), 'unwind-kubectl-'));
	world = await sandbox((line) => process.stderr.write(`${line}\n`));
	await said('create', 'namespace', 'shop');
});
after(async () => {
	await world?.stop();
	await rm(cache, { recursive: true });
});

/** @param {string[]} args */
function start(args) {
	const env = { ...process.env, KUBECONFIG: world.kubeconfig, KUBECACHEDIR: cache };
	return spawn(program, args, { env, stdio: ['pipe', 'pipe', 'pipe'] });
}

/** Runs a command to its end. @param {string[]} args @param {string} [input] */
async function run(args, input = '') {
	const child = start(args);
	let [out, err] = ['', ''];
	child.stdout.on('data', (text) => (out += text));
	child.stderr.on('data', (text) => (err += text));
	child.stdin.end(input);
	const [code] = await once(child, 'close');
	return { code, out, err };
}

/** The output of a command that succeeds without warnings. @param {string[]} args */
async function said(...args) {
	const { code, out, err } = await run(args);
	assert.deepEqual({ code, err }, { code: 0, err: '' }, `kubectl ${args.join(' ')}`);
	return out;
}

/** In the namespace of this file. @param {string[]} args */
const shop = (...args) => said('--namespace', 'shop', ...args);

/** @param {Record<string, any>[]} objects @param {string[]} args */
async function apply(objects, ...args) {
	const input = objects.map((object) => JSON.stringify(object)).join('\n---\n');
	const { code, out, err } = await run(['--namespace', 'shop', 'apply', ...args, '--filename', '-'], input);
	assert.deepEqual({ code, err }, { code: 0, err: '' }, `kubectl apply ${args.join(' ')}`);
	return out.trim().split('\n');
}

/** The cells of a printed table. @param {string} out */
const table = (out) => {
	const lines = out.trimEnd().split('\n');
	return lines.map((line) => line.trim().split(/ {2,}/));
};

/** @param {Record<string, any>} [spec] */
const web = (spec) => {
	const made = deployment('web', { replicas: 1, podSpec: using('data'), spec });
	made.spec.template.spec.containers = [{ name: 'main', image: 'example.com/web:1', ports: [{ containerPort: 80 }] }];
	return made;
};

test('kubectl version and api-resources answer', async () => {
	assert.match(await said('version'), /^Client Version: v1\.\d+\.\d+\n(.*\n)*Server Version: v1\.36\.\d+\n$/);
	const kinds = table(await said('api-resources'));
	assert.deepEqual(kinds[0], ['NAME', 'SHORTNAMES', 'APIVERSION', 'NAMESPACED', 'KIND']);
	assert.ok(kinds.some((row) => row.join(' ') === 'deployments deploy apps/v1 true Deployment'));
	assert.ok(kinds.some((row) => row.join(' ') === 'persistentvolumes pv v1 false PersistentVolume'));
});

test('unknown kind makes kubectl discover again and finds the other kinds', async () => {
	for (let times = 0; times < 2; times++) {
		const { code, err } = await run(['get', 'gadgets']);
		assert.deepEqual([code, err], [1, 'error: the server doesn\'t have a resource type "gadgets"\n']);
	}
	assert.match(await said('get', 'nodes', '--output', 'name'), /^node\/node-a\nnode\/node-b\nnode\/node-c\n$/);
});

test('apply creates, leaves unchanged and changes', async () => {
	const objects = [volume('data'), claim('data', 'data'), configMap('settings', {}, { data: { mood: 'good' } }), web()];
	const names = ['persistentvolume/data', 'persistentvolumeclaim/data', 'configmap/settings', 'deployment.apps/web'];
	assert.deepEqual(
		await apply(objects, '--validate=false'),
		names.map((name) => `${name} created`),
	);
	await shop('wait', 'deployment/web', '--for=condition=Available', '--timeout=30s');
	assert.deepEqual(await apply([web(), objects[2]], '--validate=false'), [
		'deployment.apps/web unchanged',
		'configmap/settings unchanged',
	]);
	assert.deepEqual(await apply([configMap('settings', {}, { data: { light: 'on' } })], '--validate=false'), [
		'configmap/settings configured',
	]);
	assert.equal(await shop('get', 'configmap', 'settings', '--output', 'jsonpath={.data}'), '{"light":"on"}');
});

test('server-side apply creates and changes', async () => {
	for (const mood of ['good', 'bad']) {
		const map = configMap('applied', {}, { data: { mood } });
		assert.deepEqual(await apply([map], '--server-side'), ['configmap/applied serverside-applied']);
		assert.equal(await shop('get', 'configmap', 'applied', '--output', 'jsonpath={.data.mood}'), mood);
	}
});

test("server-side apply by a second manager conflicts, and force takes the field", async () => {
	const map = (/** @type {string} */ mood) => configMap('shared', {}, { data: { mood } });
	await apply([map('good')], '--server-side', '--field-manager=one');
	const asTwo = ['--namespace', 'shop', 'apply', '--server-side', '--field-manager=two', '--filename', '-'];
	const { code, out, err } = await run(asTwo, JSON.stringify(map('bad')));
	assert.deepEqual([code, out], [1, '']);
	assert.match(err, /^error: Apply failed with 1 conflict: conflict with "one": \.data\.mood\n/);
	assert.match(err, /--force-conflicts/);
	const forced = ['--server-side', '--field-manager=two', '--force-conflicts'];
	assert.deepEqual(await apply([map('bad')], ...forced), ['configmap/shared serverside-applied']);
	const owners = '{range .metadata.managedFields[*]}{.manager} {.operation}{end}';
	const shown = ['get', 'configmap', 'shared', '--show-managed-fields', '--output', `jsonpath={.data.mood} ${owners}`];
	assert.equal(await shop(...shown), 'bad two Apply');
});

test('object applied client-side can be applied server-side', async () => {
	const map = (/** @type {string} */ mood) => configMap('moved', {}, { data: { mood } });
	await apply([map('good')], '--validate=false');
	assert.deepEqual(await apply([map('bad')], '--server-side'), ['configmap/moved serverside-applied']);
	const shown = ['get', 'configmap', 'moved', '--output', 'jsonpath={.data.mood}'];
	assert.equal(await shop(...shown), 'bad');
});

test('get prints tables, wide tables and YAML', async () => {
	assert.deepEqual(table(await shop('get', 'deployments'))[0], ['NAME', 'READY', 'UP-TO-DATE', 'AVAILABLE', 'AGE']);
	const [, row] = table(await shop('get', 'deployments', '--output', 'wide'));
	assert.deepEqual(row.slice(0, 4), ['web', '1/1', '1', '1']);
	assert.deepEqual(row.slice(5), ['main', 'example.com/web:1', 'app=web']);
	const [head, pod] = table(await shop('get', 'pods', '--output', 'wide'));
	assert.deepEqual(head.slice(0, 7), ['NAME', 'READY', 'STATUS', 'RESTARTS', 'AGE', 'IP', 'NODE']);
	assert.deepEqual(pod.slice(1, 4), ['1/1', 'Running', '0']);
	assert.match(pod[6], /^node-[abc]$/);
	const [set] = table(await shop('get', 'replicasets', '--output', 'wide', '--no-headers'));
	assert.deepEqual(set.slice(5, 7), ['main', 'example.com/web:1']);
	const [claimed] = table(await shop('get', 'persistentvolumeclaims', '--no-headers'));
	assert.deepEqual(claimed.slice(0, 7), ['data', 'Bound', 'data', '1Gi', 'RWO', 'data', '<unset>']);
	const yaml = await shop('get', 'configmap', 'settings', '--output', 'yaml');
	assert.match(yaml, /^apiVersion: v1\ndata:\n {2}light: "on"\nkind: ConfigMap\nmetadata:\n/);
	assert.match(await said('get', 'all', '--all-namespaces', '--output', 'name'), /^deployment\.apps\/web$/m);
});

test('describe shows related objects', async () => {
	const deployed = await shop('describe', 'deployment', 'web');
	assert.match(deployed, /^Replicas: +1 desired \| 1 updated \| 1 total \| 1 available \| 0 unavailable$/m);
	assert.match(deployed, /^NewReplicaSet: +web-\w+ \(1\/1 replicas created\)$/m);
	assert.match(deployed, /ScalingReplicaSet/);
	const pod = await shop('describe', 'pod', '--selector', 'app=web');
	assert.match(pod, /^Status: +Running$/m);
	assert.match(pod, /^Controlled By: +ReplicaSet\/web-/m);
	assert.match(pod, /^ +Port: +80\/TCP$/m);
	assert.match(pod, /^ +ClaimName: +data$/m);
	assert.match(pod, /Successfully assigned shop\/web-/);
	const claimed = await shop('describe', 'pvc', 'data');
	assert.match(claimed, /^Status: +Bound$/m);
	assert.match(claimed, /^Used By: +web-/m);
	assert.match(claimed, /^Finalizers: +\[kubernetes\.io\/pvc-protection\]$/m);
});

test('scale, label and patch change objects', async () => {
	assert.equal(await shop('scale', 'deployment', 'web', '--replicas=2'), 'deployment.apps/web scaled\n');
	assert.match(await shop('rollout', 'status', 'deployment/web', '--timeout=30s'), /successfully rolled out\n$/);
	assert.equal(await shop('label', 'deployment', 'web', 'tier=front'), 'deployment.apps/web labeled\n');
	const containers = [{ name: 'main', image: 'example.com/web:2' }];
	const patch = JSON.stringify({ spec: { template: { spec: { containers } } } });
	assert.equal(await shop('patch', 'deployment', 'web', '--patch', patch), 'deployment.apps/web patched\n');
	const path = 'jsonpath={.metadata.labels.tier} {.spec.replicas} {.spec.template.spec.containers[*].image}';
	assert.equal(await shop('get', 'deployment', 'web', '--output', path), 'front 2 example.com/web:2');
	assert.match(await shop('rollout', 'status', 'deployment/web', '--timeout=30s'), /successfully rolled out\n$/);
});

test("auth can-i answers by the user's rights", async () => {
	assert.equal(await shop('auth', 'can-i', 'delete', 'pods'), 'yes\n');
	const { code, out } = await run(['--namespace', 'shop', 'auth', 'can-i', 'delete', 'pods', '--as', 'nobody']);
	assert.deepEqual([code, out], [1, 'no\n']);
	assert.match(await said('auth', 'whoami'), /^Username +kubernetes-admin$/m);
});

test('watch prints events and ends at its timeout', async () => {
	const options = ['--watch', '--output-watch-events', '--request-timeout=12s'];
	const watch = start(['--namespace', 'shop', 'get', 'configmaps', ...options]);
	const ended = once(watch, 'close');
	/** @type {string[]} */
	const events = [];
	const lines = createInterface({ input: watch.stdout });
	lines.on('line', (line) => events.push(line.split(/ +/).slice(0, 2).join(' ')));
	while (!events.includes('ADDED settings')) await once(lines, 'line');
	await shop('label', 'configmap', 'settings', 'a=b');
	assert.equal(await shop('delete', 'configmap', 'settings'), 'configmap "settings" deleted from shop namespace\n');
	assert.deepEqual(await ended, [0, null]);
	const ofSettings = events.filter((event) => event.endsWith(' settings'));
	assert.deepEqual(ofSettings, ['ADDED settings', 'MODIFIED settings', 'DELETED settings']);
});

test('delete waits until the object is gone', async () => {
	const gone = 'deployment.apps "web" deleted from shop namespace\n';
	assert.equal(await shop('delete', 'deployment', 'web', '--cascade=foreground', '--wait'), gone);
	assert.equal(await shop('get', 'pods', '--output', 'name'), '');
	assert.equal(await said('delete', 'namespace', 'shop'), 'namespace "shop" deleted\n');
	const { code, err } = await run(['get', 'namespace', 'shop']);
	assert.deepEqual([code, err], [1, 'Error from server (NotFound): namespaces "shop" not found\n']);
	assert.equal(await said('delete', 'persistentvolume', 'data'), 'persistentvolume "data" deleted\n');
});
