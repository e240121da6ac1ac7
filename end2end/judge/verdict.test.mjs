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
		const rule = {
			RoleBinding: 'account-rights',
			ClusterRoleBinding: 'account-rights',
			NetworkPolicy: 'selector',
			PodDisruptionBudget: 'selector',
			Service: 'selector',
		}[object.kind];
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
	assert.deepEqual(rules(verdict([volume], [['gone', volume]], [], undefined, keeps)), [
		'data-not-kept: PersistentVolume v',
	]);
	assert.deepEqual(rules(verdict([owned], [['marked', owned]], [], undefined, keeps)), []);
	const judged = (/** @type {string[]} */ destroyed) => verdict([volume], [['gone', volume]], [], { destroyed });
	assert.deepEqual(rules(judged([])), ['data-destroyed-unsaid: PersistentVolume v']);
	assert.deepEqual(rules(judged(['v'])), []);
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

/** The rules that a deletion by the judged user breaks, in a cluster with these objects. @param {KubeObject[]} there @param {KubeObject} object @param {Partial<import('./verdict.mjs').Expectations>} [more] */
const deleting = (there, object, more) =>
	verdict(
		[...there, object],
		[['gone', object]],
		[{ uid: object.metadata.uid, preconditionUid: 'u', propagationPolicy: 'Background' }],
		undefined,
		more,
	).violations.map(({ rule }) => rule);

test('guarded: what the webhook is not asked about, and what its own Pods need, does not count', () => {
	const labels = { part: 'check' };
	const service = make('Service', 'check', { spec: { selector: labels } });
	const answers = make('Pod', 'check', {
		labels: { ...unitLabels, ...labels },
		spec: { containers: [{ envFrom: [{ configMapRef: { name: 'own' } }] }] },
	});
	const namespace = make('Namespace', 'ns', { namespace: '', labels: { ...unitLabels, team: 'a' } });
	const [guardedOne, own] = [make('ConfigMap', 'guarded'), make('ConfigMap', 'own')];
	const there = [namespace, service, answers, own];
	/** @param {KubeObject} [rule] @param {KubeObject} [webhook] */
	const hook = (rule, webhook) =>
		make('MutatingWebhookConfiguration', 'check', {
			namespace: '',
			webhooks: [
				{
					clientConfig: { service: { namespace: 'ns', name: 'check' } },
					rules: [{ operations: ['DELETE'], apiGroups: [''], resources: ['configmaps'], ...rule }],
					...webhook,
				},
			],
		});
	assert.deepEqual(deleting(there, hook()), [], 'only what its own Pods need is left');
	const all = [...there, guardedOne];
	assert.deepEqual(deleting(all, hook()), ['guarded']);
	assert.deepEqual(deleting(all, hook({ operations: ['*'], apiGroups: ['*'], resources: ['*/*'] })), ['guarded']);
	assert.deepEqual(deleting(all, hook({ operations: ['UPDATE'] })), [], 'no finalizer waits');
	assert.deepEqual(deleting(all, hook({ resources: ['secrets'] })), []);
	assert.deepEqual(deleting(all, hook({ apiGroups: ['apps'] })), []);
	assert.deepEqual(deleting(all, hook({ scope: 'Cluster' })), []);
	assert.deepEqual(deleting(all, hook({}, { namespaceSelector: { matchLabels: { team: 'b' } } })), []);
	assert.deepEqual(deleting(all, hook({}, { objectSelector: { matchLabels: { team: 'a' } } })), []);
	const waiting = { ...guardedOne, metadata: { ...guardedOne.metadata, finalizers: ['a.example/b'] } };
	assert.deepEqual(deleting([...there, waiting], hook({ operations: ['UPDATE'] })), ['guarded']);
});

test('declared: an active parent counts, one that is suspended, going, or of another namespace does not', () => {
	const marks = (/** @type {string} */ tool) => ({
		[`${tool}.toolkit.fluxcd.io/namespace`]: 'ns',
		[`${tool}.toolkit.fluxcd.io/name`]: 'app',
	});
	const byFlux = make('ConfigMap', 'settings', { labels: { ...unitLabels, ...marks('kustomize') } });
	const byHelm = make('ConfigMap', 'settings', { labels: { ...unitLabels, ...marks('helm') } });
	const plain = make('ConfigMap', 'settings');
	const byArgoCd = (/** @type {string} */ name) => ({
		...plain,
		metadata: {
			...plain.metadata,
			annotations: { 'argocd.argoproj.io/tracking-id': `${name}:/ConfigMap:ns/settings` },
		},
	});
	const application = (/** @type {any} */ automated) => make('Application', 'app', { spec: { syncPolicy: { automated } } });
	const flux = (spec = {}, namespace = 'ns') => make('Kustomization', 'app', { namespace, spec });
	const going = { ...flux(), metadata: { ...flux().metadata, deletionTimestamp: 'now' } };
	assert.deepEqual(deleting([flux()], byFlux), ['declared']);
	assert.deepEqual(deleting([make('HelmRelease', 'app', { spec: {} })], byHelm), ['declared']);
	assert.deepEqual(deleting([application({})], byArgoCd('app')), ['declared']);
	assert.deepEqual(deleting([application({})], byArgoCd('ns_app')), ['declared']);
	const labelled = make('ConfigMap', 'settings', { labels: { ...unitLabels, 'argocd.argoproj.io/instance': 'app' } });
	assert.deepEqual(deleting([application({})], labelled), ['declared']);
	assert.deepEqual(deleting([application(undefined)], byArgoCd('app')), []);
	assert.deepEqual(deleting([flux({ suspend: true })], byFlux), []);
	assert.deepEqual(deleting([going], byFlux), []);
	assert.deepEqual(deleting([flux({}, 'elsewhere')], byFlux), []);
	assert.deepEqual(deleting([flux()], plain), []);
});

test('named: any field that names the kind counts, another name, kind, namespace and built-in object do not', () => {
	const secret = make('Secret', 'keys');
	const custom = (/** @type {any} */ spec, namespace = 'ns', apiVersion = 'queue.example/v1') => ({
		...make('Broker', 'main', { namespace, spec }),
		apiVersion,
	});
	for (const spec of [
		{ storage: [{ credentialsSecret: 'keys' }] },
		{ secretRef: { name: 'keys' } },
		{ backup: { kind: 'Secret', name: 'keys' } },
		{ imagePullSecrets: [{ name: 'keys' }] },
		{ secretNames: ['other', 'keys'] },
	])
		assert.deepEqual(deleting([custom(spec)], secret), ['named'], JSON.stringify(spec));
	for (const other of [
		custom({ secretName: 'others' }),
		custom({ configMapName: 'keys' }),
		custom({ secretName: 'keys' }, 'elsewhere'),
		custom({ secretName: 'keys' }, 'ns', 'apps/v1'),
		custom({ secretRef: { name: 'keys', namespace: 'elsewhere' } }),
		custom({ secretRef: { name: 'keys' } }, ''),
	])
		assert.deepEqual(deleting([other], secret), []);
	for (const namespace of ['', 'elsewhere'])
		assert.deepEqual(
			deleting([custom({ secretRef: { name: 'keys', namespace: 'ns' } }, namespace)], secret),
			['named'],
			'a reference says its namespace',
		);
});

test('finisher: its controller and its own Pod count, another finalizer and another workload do not', () => {
	const finalizer = 'queue.example/topic';
	const more = { finishers: { [finalizer]: { kind: 'Deployment', namespace: 'ns', name: 'operator' } } };
	const operator = make('Deployment', 'operator');
	const replicas = make('ReplicaSet', 'operator-1', { owner: operator });
	const its = pod('operator-1-a', {}, { owner: replicas });
	const topic = {
		...make('Topic', 'orders'),
		metadata: { ...make('Topic', 'orders').metadata, finalizers: [finalizer] },
	};
	assert.deepEqual(deleting([topic], operator, more), ['finisher']);
	assert.deepEqual(deleting([topic, operator, replicas], its, more), ['owner', 'finisher']);
	assert.deepEqual(deleting([topic], make('Deployment', 'other'), more), []);
	assert.deepEqual(deleting([make('Topic', 'orders')], operator, more), []);
	assert.deepEqual(
		rules(
			verdict(
				[topic, operator],
				[['gone', operator]],
				[{ uid: operator.metadata.uid, user: 'system:serviceaccount:ns:other' }],
				undefined,
				more,
			),
		),
		[],
		'somebody else did it',
	);
});

test('ended-by-force: a report of the end, a node that is gone and a person that knows do not count', () => {
	const node = make('Node', 'n1', { namespace: '', labels: {} });
	const attachment = make('VolumeAttachment', 'a', {
		namespace: '',
		labels: {},
		spec: { nodeName: 'n1', source: { persistentVolumeName: 'v' } },
	});
	const bound = { ...claim, spec: { volumeName: 'v' } };
	const writer = pod('writer', { ...mounts('data'), nodeName: 'n1', containers: [{ name: 'main' }] });
	const ended = { ...writer, status: { containerStatuses: [{ name: 'main', state: { terminated: {} } }] } };
	/** @param {KubeObject[]} there @param {KubeObject} last @param {Partial<import('./verdict.mjs').Expectations>} [more] */
	const broken = (there, last, more) =>
		verdict(
			[bound, writer, ...there],
			[
				...(there.includes(attachment) ? [/** @type {any} */ (['gone', attachment])] : []),
				['gone', last],
				['gone', bound],
			],
			[],
			undefined,
			more,
		).violations.map(({ rule }) => rule);
	assert.deepEqual(broken([node], writer), ['ended-by-force']);
	assert.deepEqual(broken([node], ended), []);
	assert.deepEqual(broken([node], writer, { takenOn: () => true }), []);
	assert.deepEqual(broken([], writer), ['ended-by-force'], 'nothing proves that the volume was detached');
	assert.deepEqual(broken([attachment], writer), [], 'detached from a node that is gone');
	assert.deepEqual(broken([node, attachment], writer), ['ended-by-force']);
});

test('collateral: rights of people and what the cluster makes go with a namespace', () => {
	const namespace = make('Namespace', 'ns', { namespace: '' });
	const rights = make('RoleBinding', 'rights', {
		labels: {},
		subjects: [{ kind: 'User', name: developer }],
		roleRef: { kind: 'ClusterRole', name: 'x' },
	});
	const made = make('ConfigMap', 'kube-root-ca.crt', { labels: {} });
	const notes = make('ConfigMap', 'notes', { labels: {} });
	const request = [{ uid: namespace.metadata.uid, preconditionUid: 'u', propagationPolicy: 'Background' }];
	/** @param {KubeObject} object */
	const taken = (object) =>
		verdict(
			[namespace, claim, object],
			[
				['gone', claim],
				['marked', namespace],
				['gone', object],
			],
			request,
		).violations.map(({ rule }) => rule);
	assert.deepEqual(taken(rights), []);
	assert.deepEqual(taken(made), []);
	assert.deepEqual(taken(notes), ['namespace-with-content', 'collateral']);
});
