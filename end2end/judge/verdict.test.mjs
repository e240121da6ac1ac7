/**
 * Every rule against small invented histories: one that breaks it, and one that nearly does.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { developer, make, mounts, pod, rules, unitLabels, verdict } from './fixture.mjs';

/** @typedef {Record<string, any>} KubeObject */

const claim = make('PersistentVolumeClaim', 'data');

test('claim: ended Pod counts, Pod of another namespace does not', () => {
	const user = pod('user', mounts('data'));
	assert.deepEqual(rules(verdict([claim, user], [['marked', claim]])), ['claim: PersistentVolumeClaim ns/data']);
	assert.deepEqual(
		rules(
			verdict(
				[claim, user],
				[
					['marked', user],
					['gone', claim],
				],
			),
		),
		['claim: PersistentVolumeClaim ns/data'],
	);
	const done = pod('done', mounts('data'), { status: { phase: 'Succeeded' } });
	assert.deepEqual(rules(verdict([claim, done], [['marked', claim]])), ['claim: PersistentVolumeClaim ns/data']);
	const ephemeral = pod('job', { volumes: [{ name: 'scratch', ephemeral: {} }] });
	const scratch = make('PersistentVolumeClaim', 'job-scratch');
	assert.deepEqual(rules(verdict([ephemeral, scratch], [['marked', scratch]])), [
		'claim: PersistentVolumeClaim ns/job-scratch',
	]);

	assert.deepEqual(
		rules(
			verdict(
				[claim, user],
				[
					['marked', user],
					['gone', user],
					['marked', claim],
					['gone', claim],
				],
			),
		),
		[],
	);
	assert.deepEqual(
		rules(verdict([claim, pod('elsewhere', mounts('data'), { namespace: 'other' })], [['marked', claim]])),
		[],
	);
	assert.deepEqual(
		rules(
			verdict(
				[claim],
				[
					['marked', claim],
					['made', user],
				],
			),
		),
		[],
		'the Pod came after the deletion had begun',
	);
});

test('deletion that began before the run is no violation', () => {
	const going = { ...claim, metadata: { ...claim.metadata, deletionTimestamp: 'earlier' } };
	assert.deepEqual(
		rules(
			verdict(
				[going, pod('user', mounts('data'))],
				[
					['changed', going],
					['gone', going],
				],
			),
		),
		[],
	);
});

test('volume: bound claim counts, later claim of the same name does not', () => {
	const volume = make('PersistentVolume', 'v', {
		namespace: '',
		spec: { claimRef: { namespace: 'ns', name: 'data', uid: claim.metadata.uid } },
	});
	const successor = { ...claim, metadata: { ...claim.metadata, uid: 'another' } };
	assert.deepEqual(
		rules(
			verdict(
				[claim, volume],
				[
					['marked', claim],
					['marked', volume],
				],
			),
		),
		['volume: PersistentVolume v'],
	);
	assert.deepEqual(
		rules(
			verdict(
				[claim, volume],
				[
					['marked', claim],
					['gone', claim],
					['marked', volume],
				],
			),
		),
		[],
	);
	assert.deepEqual(rules(verdict([successor, volume], [['marked', volume]])), []);
});

test("namespace-with-content: default objects and the user's own RoleBinding do not count", () => {
	const namespace = make('Namespace', 'ns', { namespace: '' });
	const defaultObjects = [
		make('ServiceAccount', 'default', { labels: {} }),
		make('ConfigMap', 'kube-root-ca.crt', { labels: {} }),
		make('RoleBinding', 'rights', {
			labels: {},
			subjects: [{ kind: 'User', name: developer }],
			roleRef: { kind: 'ClusterRole', name: 'x' },
		}),
	];
	const rest = make('Secret', 'rest', { labels: {} });
	assert.deepEqual(rules(verdict([namespace, ...defaultObjects], [['marked', namespace]])), []);
	assert.deepEqual(rules(verdict([namespace, ...defaultObjects, rest], [['marked', namespace]])), [
		'namespace-with-content: Namespace ns',
	]);
	assert.deepEqual(
		rules(
			verdict(
				[namespace, rest],
				[
					['marked', rest],
					['marked', namespace],
				],
			),
		),
		['namespace-with-content: Namespace ns'],
	);
});

test('used-by-pods, account-rights and selector: every reference of an existing Pod counts', () => {
	const needed = {
		volume: make('ConfigMap', 'volume'),
		env: make('ConfigMap', 'env'),
		projected: make('Secret', 'projected'),
		key: make('Secret', 'key'),
		pull: make('Secret', 'pull'),
		account: make('ServiceAccount', 'account'),
		binding: make('RoleBinding', 'binding', {
			roleRef: { kind: 'Role', name: 'role' },
			subjects: [{ kind: 'ServiceAccount', name: 'account', namespace: 'ns' }],
		}),
		global: make('ClusterRoleBinding', 'global', {
			namespace: '',
			roleRef: {},
			subjects: [{ kind: 'ServiceAccount', name: 'account', namespace: 'ns' }],
		}),
		policy: make('NetworkPolicy', 'policy', { spec: { podSelector: {} } }),
		budget: make('PodDisruptionBudget', 'budget', {
			spec: { selector: { matchExpressions: [{ key: 'app', operator: 'In', values: ['unit'] }] } },
		}),
		service: make('Service', 'service', { spec: { selector: unitLabels } }),
	};
	const user = pod('user', {
		serviceAccountName: 'account',
		imagePullSecrets: [{ name: 'pull' }],
		initContainers: [{ envFrom: [{ configMapRef: { name: 'env' } }] }],
		containers: [{ env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 'key', key: 'k' } } }] }],
		volumes: [
			{ name: 'a', configMap: { name: 'volume' } },
			{ name: 'b', projected: { sources: [{ secret: { name: 'projected' } }] } },
		],
	});
	const all = Object.values(needed);
	for (const object of all) {
		const rule = { RoleBinding: 'account-rights', ClusterRoleBinding: 'account-rights', NetworkPolicy: 'selector', PodDisruptionBudget: 'selector', Service: 'selector' }[object.kind];
		const found = verdict([user, ...all], [['gone', object]]).violations.map((it) => it.rule);
		assert.deepEqual(found, [rule ?? 'used-by-pods'], `${object.kind} ${object.metadata.name}`);
		assert.deepEqual(
			rules(
				verdict(
					[user, ...all],
					[
						['gone', user],
						['gone', object],
					],
				),
			),
			[],
			object.metadata.name,
		);
		if (!object.metadata.namespace) continue;
		const { metadata, ...rest } = object;
		const namesake = make(object.kind, metadata.name, { ...rest, namespace: 'other', subjects: [] });
		assert.deepEqual(rules(verdict([user, namesake], [['gone', namesake]])), [], `namesake of ${object.metadata.name}`);
	}
	const balancer = make('Service', 'balancer', { spec: { type: 'LoadBalancer', selector: unitLabels } });
	assert.deepEqual(rules(verdict([user, balancer], [['gone', balancer]])), [], 'a load balancer goes first');
});

test('re-created: only objects that the judged user deleted count', () => {
	const owner = make('ReplicaSet', 'owner');
	const old = pod('old', {}, { owner });
	const successor = pod('new', {}, { owner });
	/** @type {['marked'|'gone'|'made', KubeObject][]} */
	const steps = [
		['marked', old],
		['made', successor],
	];
	assert.deepEqual(
		rules(
			verdict([owner, old], steps, [{ uid: old.metadata.uid, preconditionUid: 'x', propagationPolicy: 'Background' }]),
		),
		['owner: Pod ns/old', 're-created: Pod ns/new'],
	);
	assert.deepEqual(
		rules(
			verdict([owner, old], steps, [
				{ uid: old.metadata.uid, user: 'system:serviceaccount:kube-system:node-controller' },
			]),
		),
		[],
	);
	assert.deepEqual(rules(verdict([owner, old], steps, [{ uid: old.metadata.uid, dryRun: true }])), []);
	const again = { ...claim, metadata: { ...claim.metadata, uid: 'again' } };
	const guarded = { uid: claim.metadata.uid, preconditionUid: claim.metadata.uid, propagationPolicy: 'Background' };
	assert.deepEqual(
		rules(
			verdict(
				[claim],
				[
					['gone', claim],
					['made', again],
				],
				[guarded],
			),
		),
		['re-created: PersistentVolumeClaim ns/data'],
	);
});

test('bystander: its own and needed objects count, neighbours do not', () => {
	const labels = { app: 'bystander' };
	const theirs = pod('theirs', { ...mounts('data'), serviceAccountName: 'theirs' }, { labels });
	const volume = make('PersistentVolume', 'v', {
		namespace: '',
		spec: { claimRef: { namespace: 'ns', name: 'data', uid: claim.metadata.uid } },
	});
	const bound = { ...claim, spec: { volumeName: 'v' } };
	const account = make('ServiceAccount', 'theirs');
	const namespace = make('Namespace', 'ns', { namespace: '' });
	const beside = make('ConfigMap', 'beside');
	const there = [theirs, bound, volume, account, namespace, beside];
	for (const object of [theirs, bound, volume, account, namespace]) {
		const found = rules(verdict(there, [['marked', object]])).filter((rule) => rule.startsWith('bystander'));
		assert.equal(found.length, 1, object.kind);
	}
	assert.deepEqual(rules(verdict(there, [['gone', beside]])), []);
	assert.deepEqual(
		rules(verdict(there, [['changed', { ...theirs, status: { phase: 'Failed' } }]])),
		[],
		'a changed status is allowed',
	);
	assert.deepEqual(rules(verdict(there, [['changed', { ...bound, spec: { volumeName: 'v', more: 1 } }]])), [
		'bystander: PersistentVolumeClaim ns/data',
	]);
	const evicted = { uid: theirs.metadata.uid, user: 'system:serviceaccount:kube-system:node-controller' };
	assert.deepEqual(rules(verdict(there, [['marked', theirs]], [evicted])), [], 'its node died');
});

test('unguarded-delete: only real requests of the judged user count', () => {
	const whole = { name: 'x', namespace: 'ns', preconditionUid: 'u', propagationPolicy: 'Background' };
	/** @param {Partial<import('./audit.mjs').DeletionRequest>} request */
	const faults = (request) =>
		verdict([], [], [{ ...whole, ...request }]).violations.map(({ evidence }) =>
			evidence.replace(/^.*?: | \(.*$/g, ''),
		);
	assert.deepEqual(faults({}), []);
	assert.deepEqual(faults({ preconditionUid: undefined }), ['no UID precondition']);
	assert.deepEqual(faults({ propagationPolicy: undefined }), ['no propagation policy']);
	assert.deepEqual(faults({ collection: true }), ['a whole collection at once']);
	assert.deepEqual(faults({ preconditionUid: undefined, dryRun: true }), []);
	assert.deepEqual(faults({ preconditionUid: undefined, user: 'system:kwok' }), []);
});

test('left-over and not-kept: membership by label, owner, namespace and binding counts', () => {
	const namespace = make('Namespace', 'ns', { namespace: '' });
	const owner = make('ReplicaSet', 'owner');
	const there = [
		namespace,
		owner,
		pod('child', {}, { owner, labels: {} }),
		make('ConfigMap', 'inside', { labels: {} }),
		make('ConfigMap', 'outside', { labels: {}, namespace: 'other' }),
		make('ConfigMap', 'kube-root-ca.crt', { labels: {} }),
		pod('theirs', { serviceAccountName: 'none' }, { labels: { app: 'bystander' }, namespace: 'ns' }),
		claim,
		make('PersistentVolume', 'v', {
			namespace: '',
			labels: {},
			spec: { claimRef: { uid: claim.metadata.uid, namespace: 'ns', name: 'data' } },
		}),
	];
	assert.deepEqual(rules(verdict(there, [], [], {})), [
		'left-over: ReplicaSet ns/owner',
		'left-over: Pod ns/child',
		'left-over: PersistentVolumeClaim ns/data',
		'left-over: PersistentVolume v',
	]);
	const named = { kind: 'ConfigMap', namespace: 'ns', name: 'inside' };
	const missing = { kind: 'ConfigMap', namespace: 'ns', name: 'missing' };
	assert.deepEqual(
		rules(
			verdict([namespace, make('ConfigMap', 'inside')], [], [], {
				keptExpected: [named, missing],
				mayRemain: ({ kind }) => kind === 'Namespace',
			}),
		),
		['not-kept: ConfigMap ns/missing'],
	);
});

test('unclaimed-touched: only what nobody declared counts, and only if nobody included it', () => {
	const namespace = make('Namespace', 'ns', { namespace: '' });
	const nobodys = make('ConfigMap', 'notes', { labels: {} });
	const there = [namespace, claim, nobodys];
	const request = [{ uid: nobodys.metadata.uid }];
	/** @param {KubeObject[]} all @param {Partial<import('./verdict.mjs').Expectations>} [more] */
	const touched = (all, more) =>
		rules(verdict(all, [['gone', nobodys]], request, undefined, more)).filter((it) => it.startsWith('unclaimed'));
	assert.deepEqual(touched(there), ['unclaimed-touched: ConfigMap ns/notes']);
	assert.deepEqual(touched(there, { included: () => true }), []);
	assert.deepEqual(touched([namespace, nobodys]), [], 'nothing there is declared');
	assert.deepEqual(touched([claim, nobodys]), [], 'the namespace is not of the unit');
	assert.deepEqual(
		rules(verdict(there, [['gone', nobodys]], [{ ...request[0], user: 'system:kwok' }])),
		[],
		'somebody else did it',
	);
});

test('data-not-kept and data-destroyed-unsaid: a claim that a Pod owns goes with it', () => {
	const keeps = { keepsData: true };
	const volume = make('PersistentVolume', 'v', { namespace: '', spec: { persistentVolumeReclaimPolicy: 'Delete' } });
	const owned = { ...claim, metadata: { ...claim.metadata, ownerReferences: [{ kind: 'Pod', uid: 'p' }] } };
	assert.deepEqual(rules(verdict([claim], [['marked', claim]], [], undefined, keeps)), [
		'data-not-kept: PersistentVolumeClaim ns/data',
	]);
	assert.deepEqual(rules(verdict([volume], [['gone', volume]], [], undefined, keeps)), ['data-not-kept: PersistentVolume v']);
	assert.deepEqual(rules(verdict([owned], [['marked', owned]], [], undefined, keeps)), []);
	const told = (/** @type {string[]} */ destroyed) => verdict([volume], [['gone', volume]], [], { destroyed });
	assert.deepEqual(rules(told([])), ['data-destroyed-unsaid: PersistentVolume v']);
	assert.deepEqual(rules(told(['v'])), []);
});

test('not-kept: terminating and recreated objects count', () => {
	const keep = { keptExpected: [{ kind: 'PersistentVolumeClaim', namespace: 'ns', name: 'data' }] };
	const again = { ...claim, metadata: { ...claim.metadata, uid: 'again' } };
	assert.deepEqual(rules(verdict([claim], [], [], keep)), []);
	assert.deepEqual(rules(verdict([claim], [['marked', claim]], [], keep)), ['not-kept: PersistentVolumeClaim ns/data']);
	assert.deepEqual(
		rules(
			verdict(
				[claim],
				[
					['gone', claim],
					['made', again],
				],
				[],
				keep,
			),
		),
		['not-kept: PersistentVolumeClaim ns/data'],
	);
});

test('object that loses its label stays in the unit', () => {
	const bare = { ...claim, metadata: { ...claim.metadata, labels: {} } };
	assert.deepEqual(rules(verdict([claim], [['changed', bare]], [], {})), ['left-over: PersistentVolumeClaim ns/data']);
});
