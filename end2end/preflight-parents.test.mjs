/**
 * Parents that declare objects, on a real control plane: what the preflight says of those outside a plan, and whether the objects
 * come back; and what it says of the PATCH that suspends those in a plan, and how that is answered. Their controllers are stand-ins
 * that apply what is missing, as those of Argo CD and of Flux do.
 */
import assert from 'node:assert/strict';
import { once, EventEmitter } from 'node:events';
import { after, before, test } from 'node:test';
import { start } from './cluster/cluster.mjs';
import { configMap, findings, inForce, labelsOf, makeUnit, meaningOf, preflight, stateOf } from './cluster/preflight.mjs';
import { definitionOf, pathTo, shapeOf } from './conformance/definitions.mjs';
import { startWebhookServer } from './conformance/webhook.mjs';

/** @typedef {import('./cluster/client.mjs').KubeObject} KubeObject */

/** @type {import('./cluster/cluster.mjs').Cluster} */
let cluster;
/** @type {import('./conformance/webhook.mjs').Webhooks} */
let webhooks;
before(async () => {
	cluster = await start();
	webhooks = await startWebhookServer(cluster.dir, cluster.ca);
});
after(async () => {
	await webhooks?.stop();
	await cluster?.stop();
});

const options = { timeout: 240_000 };
const merge = { 'content-type': 'application/merge-patch+json' };
/** @param {string} unit @param {string} [name] */
const maps = (unit, name) => `/api/v1/namespaces/${unit}/configmaps${name ? `/${name}` : ''}`;

/** What a test waits for, for so long at most. @param {EventEmitter} events @param {string} name */
const signal = (events, name) => once(events, name, { signal: AbortSignal.timeout(60_000) });

/**
 * A controller that creates an object again as soon as it is gone, unless it is told that this object is left alone. It
 * emits `applied` or `left` after each time.
 * @param {KubeObject} declared a ConfigMap @param {() => Promise<boolean>} isActive
 * @returns {Promise<EventEmitter & {stop: () => void}>}
 */
async function declaring(declared, isActive) {
	const { name, namespace } = declared.metadata;
	const events = new EventEmitter();
	const following = cluster.watch('system:kwok', maps(namespace), { fieldSelector: `metadata.name=${name}` }, async ({ type }) => {
		if (type !== 'DELETED') return;
		const active = await isActive();
		if (active) await cluster.request('system:kwok', 'POST', maps(namespace), declared);
		events.emit(active ? 'applied' : 'left');
	});
	await following.synced;
	return Object.assign(events, { stop: () => following.close() });
}

/**
 * Deletes a ConfigMap, waits for its controller, and says what is there then.
 * @param {KubeObject} object @param {EventEmitter} controller @param {'applied'|'left'} expected
 */
async function remove({ metadata: { name, namespace } }, controller, expected) {
	const path = maps(namespace, name);
	const { uid } = (await cluster.request('admin', 'GET', path)).body.metadata;
	const answered = signal(controller, expected);
	const { status } = await cluster.request('admin', 'DELETE', path, { preconditions: { uid } });
	assert.equal(status, 200);
	await answered;
	const { status: found, body } = await cluster.request('admin', 'GET', path);
	return found === 404 ? 'gone' : body.metadata.uid === uid ? 'the same' : 'made again';
}

test('parent in another cluster is a warning, and its object comes back while its controller runs', options, async () => {
	const unit = 'remote';
	const annotations = { 'argocd.argoproj.io/tracking-id': `elsewhere:/ConfigMap:${unit}/web` };
	const web = configMap(unit, 'web', { annotations });
	await makeUnit(cluster, unit);
	await cluster.apply([web, configMap(unit, 'free')]);
	const found = await preflight(cluster, unit);
	const title = 'These objects are managed by Application elsewhere, which cannot be seen';
	assert.deepEqual(findings(found, 'web'), [`warning: ${title}`]);
	assert.deepEqual(findings(found, 'free'), []);
	assert.match(meaningOf(found, title), /may be in another cluster/);
	let runs = true;
	const controller = await declaring(web, async () => runs);
	try {
		assert.equal(await remove(web, controller, 'applied'), 'made again');
		runs = false;
		assert.equal(await remove(web, controller, 'left'), 'gone', 'the warning leaves that open');
	} finally {
		controller.stop();
	}
});

test('parent outside the plan is predicted to bring its objects back until it is suspended', options, async () => {
	const unit = 'declared';
	const shape = shapeOf('Kustomization');
	const parent = `${pathTo(shape, 'flux-system')}/apps`;
	const mark = 'kustomize.toolkit.fluxcd.io';
	const web = configMap(unit, 'web', { labels: { [`${mark}/name`]: 'apps', [`${mark}/namespace`]: 'flux-system' } });
	await makeUnit(cluster, unit);
	await cluster.apply([
		definitionOf(shape),
		{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'flux-system' } },
		{
			apiVersion: `${shape.group}/v1`,
			kind: shape.kind,
			metadata: { name: 'apps', namespace: 'flux-system' },
			spec: { interval: '1m', prune: true },
		},
		web,
		configMap(unit, 'free'),
	]);
	const controller = await declaring(web, async () => !(await cluster.request('system:kwok', 'GET', parent)).body.spec.suspend);
	try {
		const found = await preflight(cluster, unit);
		const [finding, ...others] = findings(found, 'web');
		assert.match(finding, /^refusal: Kustomization flux-system\/apps declares these objects and is not in the plan$/);
		assert.deepEqual(others, []);
		assert.deepEqual(findings(found, 'free'), []);
		assert.equal(await remove(web, controller, 'applied'), 'made again');
		assert.equal((await cluster.request('admin', 'PATCH', parent, { spec: { suspend: true } }, merge)).status, 200);
		assert.deepEqual(findings(await preflight(cluster, unit), 'web'), []);
		assert.equal(await remove(web, controller, 'left'), 'gone');
	} finally {
		controller.stop();
	}
});

test('Application outside the plan is predicted to bring its objects back until it syncs no more by itself', options, async () => {
	const unit = 'synced';
	const shape = shapeOf('Application');
	const namespace = 'argocd';
	const parent = `${pathTo(shape, namespace)}/site`;
	const web = configMap(unit, 'web', { annotations: { 'argocd.argoproj.io/tracking-id': `site:/ConfigMap:${unit}/web` } });
	await makeUnit(cluster, unit);
	await cluster.apply([
		definitionOf(shape),
		{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
		{
			apiVersion: `${shape.group}/${shape.versions[0]}`,
			kind: shape.kind,
			metadata: { name: 'site', namespace },
			spec: { syncPolicy: { automated: { selfHeal: true } } },
		},
		web,
		configMap(unit, 'free'),
	]);
	const isActive = async () => !!(await cluster.request('system:kwok', 'GET', parent)).body.spec.syncPolicy?.automated;
	const controller = await declaring(web, isActive);
	try {
		const found = await preflight(cluster, unit);
		const title = `Application ${namespace}/site declares these objects and is not in the plan`;
		assert.deepEqual(findings(found, 'web'), [`refusal: ${title}`]);
		assert.deepEqual(findings(found, 'free'), []);
		assert.equal(await remove(web, controller, 'applied'), 'made again');
		assert.equal((await cluster.request('admin', 'PATCH', parent, { spec: { syncPolicy: null } }, merge)).status, 200);
		assert.deepEqual(findings(await preflight(cluster, unit), 'web'), []);
		assert.equal(await remove(web, controller, 'left'), 'gone');
	} finally {
		controller.stop();
	}
});

test('owner of a parent is predicted to make it active again, and does so until it is gone', options, async () => {
	const unit = 'generated';
	const application = shapeOf('Application');
	const set = { ...application, kind: 'ApplicationSet', plural: 'applicationsets', shortNames: ['appset'] };
	const apiVersion = `${set.group}/v1alpha1`;
	const namespace = 'argocd';
	const parent = `${pathTo(application, namespace)}/shop`;
	const owner = `${pathTo(set, namespace)}/all`;
	await makeUnit(cluster, unit);
	await cluster.apply([
		definitionOf(application),
		definitionOf(set),
		{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
		{ apiVersion, kind: set.kind, metadata: { name: 'all', namespace }, spec: {} },
	]);
	const { uid } = (await cluster.request('admin', 'GET', owner)).body.metadata;
	const ownerReferences = [{ apiVersion, kind: set.kind, name: 'all', uid, controller: true }];
	const annotations = { 'argocd.argoproj.io/tracking-id': `shop:/ConfigMap:${unit}/web` };
	const spec = { project: 'default', syncPolicy: { automated: { prune: true } } };
	await cluster.apply([
		{ apiVersion, kind: application.kind, metadata: { name: 'shop', namespace, labels: labelsOf(unit), ownerReferences }, spec },
		configMap(unit, 'web', { annotations }),
	]);
	const events = new EventEmitter();
	const controller = cluster.watch('system:kwok', pathTo(application, namespace), {}, async ({ type, object }) => {
		if (type !== 'MODIFIED' || object.spec.syncPolicy?.automated) return;
		const active = (await stateOf(cluster, owner)) === 'present';
		if (active) await cluster.request('system:kwok', 'PATCH', parent, { spec }, merge);
		events.emit(active ? 'applied' : 'left');
	});
	/** Suspends the Application, as a run does, and says whether it is active afterwards. @param {'applied'|'left'} expected */
	async function suspend(expected) {
		const answered = signal(events, expected);
		const { status } = await cluster.request('admin', 'PATCH', parent, { spec: { syncPolicy: { automated: null } } }, merge);
		assert.equal(status, 200);
		await answered;
		return !!(await cluster.request('admin', 'GET', parent)).body.spec.syncPolicy.automated;
	}
	try {
		await controller.synced;
		const [finding, ...others] = findings(await preflight(cluster, unit), 'shop', 'Application');
		assert.match(finding, /^refusal: ApplicationSet argocd\/all undoes the suspension$/);
		assert.deepEqual(others, []);
		assert.equal(await suspend('applied'), true);
		// What `--cascade=orphan` does, by hand: the garbage collector learns of new kinds up to 30 s late, and orphans nothing before.
		const released = await cluster.request('admin', 'PATCH', parent, { metadata: { ownerReferences: null } }, merge);
		assert.equal(released.status, 200);
		assert.equal((await cluster.request('admin', 'DELETE', owner)).status, 200);
		await cluster.until(pathTo(set, namespace), (found) => found.length === 0, { what: 'the owner to go', within: 60_000 });
		assert.deepEqual(findings(await preflight(cluster, unit), 'shop', 'Application'), []);
		assert.equal(await suspend('left'), false);
	} finally {
		controller.close();
	}
});

test('parent that the user may not patch is predicted to stay active, and the patch is refused', options, async () => {
	const unit = 'locked';
	const shape = shapeOf('Kustomization');
	const parent = `${pathTo(shape, unit)}/apps`;
	const apiGroup = 'rbac.authorization.k8s.io';
	await makeUnit(cluster, unit);
	await cluster.apply([
		definitionOf(shape),
		{
			apiVersion: `${shape.group}/v1`,
			kind: shape.kind,
			metadata: { name: 'apps', namespace: unit, labels: labelsOf(unit) },
			spec: { interval: '1m', prune: true },
		},
		{
			apiVersion: `${apiGroup}/v1`,
			kind: 'ClusterRole',
			metadata: { name: 'flux-deleter' },
			rules: [{ apiGroups: [shape.group], resources: ['*'], verbs: ['get', 'list', 'watch', 'delete'] }],
		},
		{
			apiVersion: `${apiGroup}/v1`,
			kind: 'ClusterRoleBinding',
			metadata: { name: 'flux-deleter' },
			roleRef: { apiGroup, kind: 'ClusterRole', name: 'flux-deleter' },
			subjects: [{ kind: 'User', apiGroup, name: 'developer' }],
		},
	]);
	const found = await preflight(cluster, unit, 'developer');
	assert.deepEqual(findings(found, 'apps'), ['refusal: You may not suspend kustomizations.kustomize.toolkit.fluxcd.io']);
	const { status, body } = await cluster.request('developer', 'PATCH', parent, { spec: { suspend: true } }, merge);
	assert.equal(status, 403);
	assert.match(body.message, /User "developer" cannot patch resource "kustomizations"/);
	assert.deepEqual(findings(await preflight(cluster, unit), 'apps'), []);
});

/** A webhook, a policy and its binding that refuse updates of Kustomizations with the labels `gate: webhook` and `gate: policy`. @param {string} group */
function gatesOf(group) {
	const apiVersion = 'admissionregistration.k8s.io/v1';
	const rule = { apiGroups: [group], apiVersions: ['*'], resources: ['kustomizations'], operations: ['UPDATE'] };
	return [
		{
			apiVersion,
			kind: 'ValidatingWebhookConfiguration',
			metadata: { name: 'keeps-active' },
			webhooks: [
				{
					name: 'deny.example.com',
					clientConfig: webhooks.config('deny.example.com'),
					rules: [rule],
					objectSelector: { matchLabels: { gate: 'webhook' } },
					sideEffects: 'None',
					admissionReviewVersions: ['v1'],
					failurePolicy: 'Fail',
				},
			],
		},
		{
			apiVersion,
			kind: 'ValidatingAdmissionPolicy',
			metadata: { name: 'keeps-active' },
			spec: {
				failurePolicy: 'Fail',
				matchConstraints: { objectSelector: { matchLabels: { gate: 'policy' } }, resourceRules: [rule] },
				validations: [{ expression: 'false', message: 'change freeze' }],
			},
		},
		{
			apiVersion,
			kind: 'ValidatingAdmissionPolicyBinding',
			metadata: { name: 'keeps-active' },
			spec: { policyName: 'keeps-active', validationActions: ['Deny'] },
		},
	];
}

test('suspension that a webhook or a policy refuses is predicted, and the patch is refused', options, async () => {
	const unit = 'unsuspendable';
	const shape = shapeOf('Kustomization');
	/** @param {string} name */
	const pathOf = (name) => `${pathTo(shape, unit)}/${name}`;
	/** @param {string} name @param {Record<string, string>} more labels */
	const parent = (name, more) => ({
		apiVersion: `${shape.group}/v1`,
		kind: shape.kind,
		metadata: { name, namespace: unit, labels: { ...labelsOf(unit), ...more } },
		spec: { interval: '1m', prune: true },
	});
	await makeUnit(cluster, unit);
	await cluster.apply([
		definitionOf(shape),
		parent('denied', { gate: 'webhook' }),
		parent('frozen', { gate: 'policy' }),
		parent('free', {}),
		...gatesOf(shape.group),
	]);
	/** Suspends a Kustomization as a run does. @param {string} name @param {string} [query] */
	async function suspend(name, query = '') {
		const { uid } = (await cluster.request('admin', 'GET', pathOf(name))).body.metadata;
		const patch = [
			{ op: 'test', path: '/metadata/uid', value: uid },
			{ op: 'add', path: '/spec/suspend', value: true },
		];
		const { status, body } = await cluster.request('admin', 'PATCH', `${pathOf(name)}${query}`, patch, {
			'content-type': 'application/json-patch+json',
		});
		return { status, message: body.message };
	}
	await inForce('the webhook', () => suspend('denied', '?dryRun=All'), ({ status }) => status === 400);
	await inForce('the policy', () => suspend('frozen', '?dryRun=All'), ({ status }) => status === 422);

	const found = await preflight(cluster, unit);
	const predicted = Object.fromEntries(['denied', 'frozen', 'free'].map((name) => [name, findings(found, name)]));
	const [byWebhook, byPolicy] = ['Webhook deny.example.com denies the suspension', 'A policy denies the suspension'];
	assert.deepEqual(predicted, {
		denied: [`refusal: ${byWebhook}`],
		frozen: [`refusal: ${byPolicy}`],
		free: [],
	});
	for (const name of Object.keys(predicted)) {
		const { body } = await cluster.request('admin', 'GET', pathOf(name));
		assert.equal(body.spec.suspend, undefined, `${name} is as it was`);
	}

	const [denied, frozen, free] = [await suspend('denied'), await suspend('frozen'), await suspend('free')];
	assert.deepEqual([denied.status, frozen.status, free.status], [400, 422, 200]);
	for (const [title, { message }, words] of /** @type {[string, {message: string}, RegExp][]} */ ([
		[byWebhook, denied, /not on a Friday/],
		[byPolicy, frozen, /ValidatingAdmissionPolicy 'keeps-active' .* change freeze/],
	])) {
		assert.match(message, words);
		assert.match(meaningOf(found, title), words);
	}
	assert.deepEqual(findings(await preflight(cluster, unit), 'free'), []);
});
