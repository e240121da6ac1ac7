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
/** @typedef {['marked'|'gone'|'made'|'changed', KubeObject, Request?, string?]} Step  a change, the request that caused it, and its time */

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
	claim: make('PersistentVolumeClaim', 'data-db-0', { spec: { volumeName: 'v' }, status: { phase: 'Bound' } }),
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
		steps.map(([change, object, , at]) => /** @type {any} */ ([change, object, at])),
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

/** An object gets annotations before the honest story. @param {Part} part @param {Record<string, string>} annotations @returns {Step[]} */
const annotated = (part, annotations) => [
	['changed', { ...world[part], metadata: { ...world[part].metadata, annotations } }],
	...honest,
];
/** The objects that hold data, and what has to stay with them. @type {Part[]} */
const data = ['claim', 'volume', 'plugin', 'archiver'];
const kept = {
	keptExpected: [{ kind: 'PersistentVolumeClaim', namespace: 'ns', name: 'data-db-0' }],
	mayRemain: () => true,
};

/**
 * Of each rule a story that breaks it and no other rule, or the others that are named; with what the judge expects, if that matters.
 * @type {Record<string, () => [Step[], string[]?, Partial<import('./verdict.mjs').Expectations>?, import('./verdict.mjs').ExpectedEnd?]>}
 */
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
	'data-not-kept': () => [without('volume', 'plugin', 'archiver'), [], { keepsData: true }, { mayRemain: () => true }],
	'asked-to-keep': () => [annotated('declared', { 'helm.sh/resource-policy': 'keep' })],
	hinted: () => [annotated('declared', { 'config.kubernetes.io/depends-on': '/namespaces/ns/Secret/tls' })],
	'left-over': () => [without('settings')],
	'not-kept': () => [honest, [], {}, kept],
	'data-destroyed-unsaid': () => [honest, [], {}, { destroyed: [] }],
	'kept-data': () => [without(...data), [], {}, { ...kept, bound: 2 }],
	'unguarded-delete': () => [
		changed(([change, object, request]) => [change, object, request && { ...request, preconditionUid: undefined }]),
	],
};

test('honest teardown breaks no rule', () => {
	assert.deepEqual(broken(honest), []);
});

for (const [rule, make] of Object.entries(mutants)) {
	test(`${rule} detects its mutant`, () => {
		const [story, others = [], expected, expectedEnd] = make();
		assert.deepEqual(broken(story, expected, expectedEnd), [rule, ...others].sort());
	});
}

test('driver detects a plugin that goes before what it has to unmount', () => {
	assert.deepEqual(broken(before('archiver', 'claim')), ['driver'], 'a claim whose volume is retained');
	assert.deepEqual(broken(before('keys', 'operatorPod')), ['driver'], 'a Pod with an inline volume');
});

test('driver detects a provisioner that goes before a volume whose data it deletes', () => {
	const told = { containers: [{ name: 'main', env: [{ name: 'PROVISIONER_NAME', value: 'example.com/nfs' }] }] };
	const provisioner = make('Deployment', 'nfs', { spec: { template: template('nfs', told) } });
	/** @param {string} policy @param {string} by */
	const made = (policy, by) => {
		const volume = make('PersistentVolume', 'shared', { ...global, spec: { persistentVolumeReclaimPolicy: policy } });
		return { ...volume, metadata: { ...volume.metadata, annotations: { 'pv.kubernetes.io/provisioned-by': by } } };
	};
	/** @param {KubeObject} volume @param {boolean} isFirst whether the provisioner goes before the volume */
	const story = (volume, isFirst) => {
		/** @type {Step} */
		const provisionerGoes = ['gone', provisioner, { preconditionUid: provisioner.metadata.uid, ...person }];
		/** @type {Step} */
		const volumeGoes = ['gone', volume, { user: 'system:provisioner' }];
		/** @type {Step[]} */
		const made = [['made', provisioner], ['made', volume]];
		return [...made, ...(isFirst ? [provisionerGoes, volumeGoes] : [volumeGoes, provisionerGoes]), ...honest];
	};
	const destroyed = { destroyed: ['v', 'shared'] };
	assert.deepEqual(broken(story(made('Delete', 'example.com/nfs'), true), {}, destroyed), ['driver']);
	assert.deepEqual(broken(story(made('Delete', 'example.com/nfs'), false), {}, destroyed), []);
	assert.deepEqual(broken(story(made('Delete', 'example.com/other'), true), {}, destroyed), [], 'of another provisioner');
	assert.deepEqual(broken(story(made('Retain', 'example.com/nfs'), true), {}, destroyed), [], 'nothing is deleted');
});

test('data-not-kept detects a teardown that deletes data that was to be kept', () => {
	const keeps = { keepsData: true };
	assert.deepEqual(broken(without(...data), keeps, kept), []);
	assert.deepEqual(broken(without('volume', 'plugin', 'archiver'), keeps, { mayRemain: () => true }), ['data-not-kept']);
});

test('not-kept detects a teardown that deletes what somebody else needs', () => {
	assert.deepEqual(broken(without(...data), {}, kept), []);
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

test('asked-to-keep detects a DELETE that arrived while the mark was there, and none that arrived before', () => {
	const { declared } = world;
	const marked = { ...declared, metadata: { ...declared.metadata, annotations: { 'helm.sh/resource-policy': 'keep' } } };
	/** The honest story, with a change of the object while a webhook holds its DELETE. @param {KubeObject} to @returns {Step[]} */
	const held = (to) =>
		honest.flatMap((step) => {
			if (!is('declared')(step)) return [step];
			const [change, object, request] = step;
			return [
				['changed', to, undefined, '2027-01-15T08:00:06.000000Z'],
				[change, object, { ...request, at: '2027-01-15T08:00:05.000000Z' }],
			];
		});
	assert.deepEqual(broken(held(marked)), [], 'set meanwhile');
	assert.deepEqual(broken([['changed', marked], ...held(declared)]), ['asked-to-keep'], 'taken away meanwhile');
});

test('kept-data believes a run that says of as many claims that they are bound as are', () => {
	assert.deepEqual(broken(without(...data), {}, { ...kept, bound: 1 }), []);
	assert.deepEqual(broken(without(...data), {}, kept), [], 'it said nothing');
	assert.deepEqual(broken(honest, {}, { bound: 1 }), ['kept-data']);
});

const judged = [...Object.keys(orderRules), ...Object.values(endRules), 'unguarded-delete'];
/** The rules whose mutant needs a test of its own. */
const elsewhere = ['collateral'];
const withMutant = [...Object.keys(mutants), ...elsewhere];

test('every rule has a mutant', () => {
	assert.deepEqual([...withMutant].sort(), [...judged].sort());
});

/** The lists of rules in the simulation, with the type and the form of an entry, and the number of rules that each has at least. */
const lists = /** @type {[string, string, RegExp, number][]} */ ([
	['order.rs', 'Rule', /(\w+)/g, 26],
	['oracle/deletion.rs', '(&str, Rule)', /\("I\d+", (\w+)\)/g, 6],
	['oracle/end.rs', 'Rule', /(\w+)/g, 3],
]);

for (const [file, type, entry, least] of lists) {
	test(`every rule in ${file} of the simulation is a rule of the judge and has a mutant`, async () => {
		const source = await readFile(new URL(`../../server/tests/simulation/${file}`, import.meta.url), 'utf8');
		const [, rest = ''] = source.split(`const RULES: [${type}; `);
		const count = Number.parseInt(rest, 10);
		const [list = ''] = rest.slice(rest.indexOf('= [') + 3).split('];');
		const names = [...list.matchAll(entry)].map(([, name]) => name.replaceAll('_', '-'));
		assert.equal(names.length, count, `${names}`);
		assert.ok(names.length >= least, `${names}`);
		assert.deepEqual(
			names.filter((name) => !withMutant.includes(name)),
			[],
		);
	});
}
