/**
 * The story of an honest teardown, which breaks no rule, and of each rule a mutant of it that does: the same cluster, watched in
 * the same way, with another audit log.
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { make, pod, verdict } from './fixture.mjs';
import { endRules, orderRules } from './rules.mjs';
import { garbageCollector } from './rules/rule.mjs';

/** @typedef {Record<string, any>} KubeObject */
/** @typedef {Partial<import('./audit.mjs').DeletionRequest>} Request */
/** @typedef {['marked'|'gone'|'made'|'changed', KubeObject, Request?]} Step  a change, and the request that caused it */

const nobodys = { labels: {} };
const global = { namespace: '' };
/** @param {string} app */
const template = (app, spec = {}) => ({
	metadata: { labels: { app: 'unit', part: app } },
	spec: { containers: [{ name: 'main' }], ...spec },
});
/** @param {string} app */
const select = (app) => ({ part: app });
/** @param {string} app @param {KubeObject} [spec] @param {KubeObject} [rest] */
const podOf = (app, spec, rest) => {
	const { metadata, spec: own } = template(app, spec);
	return pod(app, { nodeName: 'n1', ...own }, { labels: metadata.labels, ...rest });
};
/** @param {KubeObject} it */
const ended = (it) => ({ ...it, status: { containerStatuses: [{ name: 'main', state: { terminated: {} } }] } });
const finalizer = 'databases.example/cleanup';
const answers = { clientConfig: { service: { namespace: 'ns', name: 'operator' } } };

const webSpec = {
	serviceAccountName: 'web',
	containers: [{ name: 'main', envFrom: [{ configMapRef: { name: 'web' } }] }],
};
const web = make('Deployment', 'web', { spec: { template: template('web', webSpec) } });
const set = make('StatefulSet', 'db', {
	spec: { template: template('db'), volumeClaimTemplates: [{ metadata: { name: 'data' } }] },
});
/** @param {string} name @param {string} driver */
const pluginOf = (name, driver) => {
	const folder = { name: 'plugin', hostPath: { path: `/var/lib/kubelet/plugins/${driver}` } };
	return make('DaemonSet', name, { spec: { template: template(name, { volumes: [folder] }) } });
};
const operator = make('Deployment', 'operator', { spec: { template: template('operator') } });

const parent = make('Kustomization', 'app', { spec: {} });
const suspended = { ...parent, spec: { suspend: true } };
const byFlux = {
	'kustomize.toolkit.fluxcd.io/namespace': 'ns',
	'kustomize.toolkit.fluxcd.io/name': 'app',
};

/** What is there at the start, by a name for this test. */
const world = {
	node: make('Node', 'n1', { ...global, ...nobodys }),
	namespace: make('Namespace', 'ns', global),
	side: make('Namespace', 'side', global),
	inside: make('ConfigMap', 'inside', { namespace: 'side' }),
	report: {
		...make('Report', 'report', { namespace: 'side', spec: { sources: [{ settingsConfigMap: 'inside' }] } }),
		apiVersion: 'reports.example/v1',
	},
	class: make('IngressClass', 'fast', global),
	ingress: make('Ingress', 'web', {
		spec: { ingressClassName: 'fast', tls: [{ secretName: 'tls' }], defaultBackend: { service: { name: 'web' } } },
	}),
	scaler: make('HorizontalPodAutoscaler', 'web', { spec: { scaleTargetRef: { kind: 'Deployment', name: 'web' } } }),
	web,
	webPod: podOf('web', webSpec, { owner: web }),
	service: make('Service', 'web', { spec: { selector: select('web') } }),
	account: make('ServiceAccount', 'web', { imagePullSecrets: [{ name: 'pull' }] }),
	pull: make('Secret', 'pull'),
	tls: make('Secret', 'tls'),
	role: make('Role', 'web'),
	binding: make('RoleBinding', 'web', {
		roleRef: { kind: 'Role', name: 'web' },
		subjects: [{ kind: 'ServiceAccount', name: 'web' }],
	}),
	settings: make('ConfigMap', 'web'),
	parent,
	declared: make('ConfigMap', 'declared', { labels: { app: 'unit', ...byFlux } }),
	set,
	setPod: podOf(
		'db',
		{ volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data-db-0' } }] },
		{ owner: set },
	),
	budget: make('PodDisruptionBudget', 'db', { spec: { selector: { matchLabels: select('db') } } }),
	claim: make('PersistentVolumeClaim', 'data-db-0', { spec: { volumeName: 'v' } }),
	attachment: make('VolumeAttachment', 'a', {
		...global,
		...nobodys,
		spec: { nodeName: 'n1', source: { persistentVolumeName: 'v' } },
	}),
	volume: make('PersistentVolume', 'v', {
		...global,
		spec: {
			persistentVolumeReclaimPolicy: 'Delete',
			claimRef: { namespace: 'ns', name: 'data-db-0' },
			csi: { driver: 'disk.example' },
		},
	}),
	plugin: pluginOf('plugin', 'disk.example'),
	archiver: pluginOf('archiver', 'archive.example'),
	keys: pluginOf('keys', 'keys.example'),
	retained: make('PersistentVolume', 'archive', {
		...global,
		...nobodys,
		spec: {
			persistentVolumeReclaimPolicy: 'Retain',
			claimRef: { namespace: 'ns', name: 'data-db-0', uid: 'PersistentVolumeClaim-data-db-0' },
			csi: { driver: 'archive.example' },
		},
	}),
	definition: make('CustomResourceDefinition', 'databases.example', {
		...global,
		spec: { group: 'example', names: { kind: 'Database' }, conversion: { webhook: answers } },
	}),
	database: {
		...make('Database', 'orders'),
		apiVersion: 'example/v1',
		metadata: { ...make('Database', 'orders').metadata, finalizers: [finalizer] },
	},
	guard: make('ValidatingWebhookConfiguration', 'databases', {
		...global,
		webhooks: [{ ...answers, rules: [{ operations: ['DELETE'], apiGroups: ['example'], resources: ['databases'] }] }],
	}),
	operator,
	operatorPod: podOf('operator', { volumes: [{ name: 'keys', csi: { driver: 'keys.example' } }] }, { owner: operator }),
	operatorService: make('Service', 'operator', { spec: { selector: select('operator') } }),
	notes: make('ConfigMap', 'notes', nobodys),
	theirs: make('ConfigMap', 'theirs', { labels: { app: 'bystander' }, namespace: 'other' }),
	platform: make('ConfigMap', 'dns', { ...nobodys, namespace: 'kube-system' }),
};

/** @typedef {keyof typeof world} Part */

const person = { user: 'developer', propagationPolicy: 'Background' };
/** @param {Part} part @param {Request} [by] @returns {Step} */
const gone = (part, by = person) => ['gone', world[part], { preconditionUid: world[part].metadata.uid, ...by }];
const collected = { user: garbageCollector };

/** The deletions in an order that breaks no rule. @type {Step[]} */
const honest = [
	['changed', suspended],
	gone('scaler'),
	gone('ingress'),
	gone('class'),
	gone('web'),
	['marked', world.webPod, collected],
	['gone', ended(world.webPod)],
	gone('service'),
	gone('binding'),
	gone('role'),
	gone('account'),
	gone('pull'),
	gone('tls'),
	gone('settings'),
	gone('declared'),
	gone('set'),
	['marked', world.setPod, collected],
	['gone', ended(world.setPod)],
	gone('attachment', { user: 'system:attacher' }),
	gone('budget'),
	gone('claim'),
	gone('volume', { user: 'system:provisioner' }),
	gone('plugin'),
	gone('archiver'),
	gone('database'),
	gone('definition'),
	gone('guard'),
	gone('operator'),
	['marked', world.operatorPod, collected],
	['gone', ended(world.operatorPod)],
	gone('keys'),
	gone('operatorService'),
	gone('parent'),
	gone('report'),
	gone('inside'),
	gone('side'),
];

const expectations = { finishers: { [finalizer]: { kind: 'Deployment', namespace: 'ns', name: 'operator' } } };
/** The retained volume stays as Released. */
const end = { mayRemain: (/** @type {KubeObject} */ { metadata }) => metadata.name === 'archive', destroyed: ['v'] };

/**
 * The rules that a story breaks, each once.
 * @param {Step[]} steps @param {Partial<import('./verdict.mjs').Expectations>} [more] @param {import('./verdict.mjs').ExpectedEnd} [expectedEnd]
 */
function broken(steps, more, expectedEnd) {
	const requests = steps.flatMap(([, object, request]) => (request ? [{ uid: object.metadata.uid, ...request }] : []));
	const { violations } = verdict(
		Object.values(world),
		steps.map(([change, object]) => /** @type {any} */ ([change, object])),
		requests,
		{ ...end, ...expectedEnd },
		{ ...expectations, ...more },
	);
	return [...new Set(violations.map(({ rule }) => rule))].sort();
}

/** @param {Part} part */
const is =
	(part) =>
	(/** @type {Step} */ [, object]) =>
		object.metadata.uid === world[part].metadata.uid;
/** The honest story, with one object deleted just before the deletion of another one begins. @param {Part} part @param {Part} other */
function before(part, other) {
	const rest = honest.filter((step) => !is(part)(step));
	const at = rest.findIndex(is(other));
	return [...rest.slice(0, at), ...honest.filter(is(part)), ...rest.slice(at)];
}
/** The honest story without the deletion of some objects. @param {Part[]} parts */
const without = (...parts) => honest.filter((step) => !parts.some((part) => is(part)(step)));
/** @param {(step: Step) => Step} change */
const changed = (change) => honest.map(change);

/** Of each rule a story that breaks it and no other rule, or the others that are named. @type {Record<string, () => [Step[], string[]?]>} */
const mutants = {
	owner: () => [
		before('webPod', 'web').map((step) =>
			is('webPod')(step) && step[2] ? [step[0], step[1], { ...person, preconditionUid: 'any' }] : step,
		),
	],
	claim: () => [before('claim', 'setPod'), ['attached']],
	attached: () => [before('claim', 'attachment')],
	'ended-by-force': () => [
		changed((step) => (step[0] === 'gone' && is('setPod')(step) ? ['gone', world.setPod] : step)),
	],
	'namespace-with-content': () => [before('side', 'inside')],
	volume: () => [before('volume', 'claim')],
	retained: () => [[...honest, gone('retained')]],
	'used-by-pods': () => [before('settings', 'webPod')],
	'secret-in-use': () => [before('pull', 'account')],
	'account-rights': () => [before('binding', 'webPod')],
	role: () => [before('role', 'binding')],
	selector: () => [before('budget', 'setPod')],
	autoscaled: () => [before('web', 'scaler'), ['pods-behind-service']],
	'service-behind-ingress': () => [before('service', 'ingress'), ['selector']],
	'ingress-class': () => [before('class', 'ingress')],
	definition: () => [before('definition', 'database')],
	finisher: () => [before('operator', 'database'), ['pods-behind-service']],
	driver: () => [before('plugin', 'volume')],
	guarded: () => [before('guard', 'database')],
	'webhook-backend': () => [before('operatorService', 'guard'), ['selector']],
	'pods-behind-service': () => [before('operator', 'guard')],
	'made-from-template': () => [before('claim', 'set'), ['attached', 'claim']],
	named: () => [before('inside', 'report')],
	declared: () => [honest.filter(([change]) => change !== 'changed')],
	bystander: () => [[...honest, gone('theirs')]],
	protected: () => [[...honest, gone('platform')]],
	're-created': () => [
		[...honest, ['made', { ...world.settings, metadata: { ...world.settings.metadata, uid: 'again' } }]],
		['left-over'],
	],
	'unclaimed-touched': () => [[...honest, gone('notes')], ['left-over']],
	'left-over': () => [without('settings')],
	'unguarded-delete': () => [
		changed(([change, object, request]) => [change, object, request && { ...request, preconditionUid: undefined }]),
	],
};

test('honest teardown breaks no rule', () => {
	assert.deepEqual(broken(honest), []);
});

for (const [rule, make] of Object.entries(mutants)) {
	test(`${rule} detects its mutant`, () => {
		const [story, others = []] = make();
		assert.deepEqual(broken(story), [rule, ...others].sort());
	});
}

test('driver detects a plugin that goes before what it has to unmount', () => {
	assert.deepEqual(broken(before('archiver', 'claim')), ['driver'], 'a claim whose volume is retained');
	assert.deepEqual(broken(before('keys', 'operatorPod')), ['driver'], 'a Pod with an inline volume');
});

const kept = {
	keptExpected: [{ kind: 'PersistentVolumeClaim', namespace: 'ns', name: 'data-db-0' }],
	mayRemain: () => true,
};

test('data-not-kept detects a teardown that deletes data that was to be kept', () => {
	const keeps = { keepsData: true };
	assert.deepEqual(broken(without('claim', 'volume', 'plugin', 'archiver'), keeps, kept), []);
	assert.deepEqual(broken(without('volume', 'plugin', 'archiver'), keeps, { mayRemain: () => true }), ['data-not-kept']);
});

test('not-kept detects a teardown that deletes what somebody else needs', () => {
	assert.deepEqual(broken(without('claim', 'volume', 'plugin', 'archiver'), {}, kept), []);
	assert.deepEqual(broken(honest, {}, kept), ['not-kept']);
});

test('data-destroyed-unsaid detects a teardown that did not name the volume', () => {
	assert.deepEqual(broken(honest, {}, { destroyed: [] }), ['data-destroyed-unsaid']);
	assert.deepEqual(broken(honest, {}, { destroyed: undefined }), [], 'unknown');
});

test('collateral detects a DELETE that lets the garbage collector take what stays', () => {
	const owned = make('PersistentVolumeClaim', 'data-db-0', { owner: set, spec: { volumeName: 'v' } });
	const steps = without('claim', 'volume', 'plugin', 'archiver', 'set');
	const at = steps.findIndex(is('setPod'));
	const withSet = (/** @type {string} */ propagationPolicy) => [
		...steps.slice(0, at),
		gone('set', { ...person, propagationPolicy }),
		...steps.slice(at),
	];
	const story = (/** @type {Step[]} */ steps) => [/** @type {Step} */ (['changed', owned]), ...steps];
	assert.deepEqual(broken(story(withSet('Orphan')), { keepsData: true }, kept), []);
	assert.deepEqual(broken(story([...withSet('Background'), ['gone', owned, collected]]), { keepsData: true }, kept), [
		'collateral',
		'data-not-kept',
		'not-kept',
	]);
});

test('every rule has a mutant', () => {
	const elsewhere = ['data-not-kept', 'collateral'];
	assert.deepEqual(
		Object.keys(orderRules)
			.filter((rule) => !mutants[rule])
			.sort(),
		elsewhere.sort(),
	);
});

/** The rules that a list in a file of the simulation names. @param {string} file @param {string} type of one entry @param {RegExp} entry */
async function simulated(file, type, entry) {
	const source = await readFile(new URL(`../../server/tests/simulation/${file}`, import.meta.url), 'utf8');
	const start = `const RULES: [${type}; `;
	const [, rest = ''] = source.split(start);
	const count = Number.parseInt(rest, 10);
	const [list = ''] = rest.slice(rest.indexOf('= [') + 3).split('\n];');
	const names = [...list.matchAll(entry)].map(([, name]) => name.replaceAll('_', '-'));
	assert.equal(names.length, count, `${file}: ${names}`);
	return names;
}

test('every order rule of the simulation is a rule of the judge', async () => {
	const names = await simulated('order.rs', 'Rule', /(\w+),/g);
	assert.ok(names.length >= 26, `${names}`);
	assert.deepEqual(
		names.filter((name) => !orderRules[name]),
		[],
	);
});

test('every rule of the simulation for what a DELETE takes is a rule of the judge', async () => {
	const names = await simulated('oracle/deletion.rs', '(&str, Rule)', /\("I\d+", (\w+)\),/g);
	assert.ok(names.length >= 4, `${names}`);
	const judged = [...Object.keys(orderRules), ...Object.values(endRules)];
	assert.deepEqual(
		names.filter((name) => !judged.includes(name)),
		[],
	);
});
