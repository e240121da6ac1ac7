/**
 * Authorisation: roles, reviews, impersonation, and the messages of refusals.
 */
import { configMap, definition, pod, role, roleBinding, unplacedPod } from '../objects.mjs';
import { define } from '../suite.mjs';

/** @typedef {import('../test-context.mjs').TestContext} TestContext */

/** Gives a user some rights in the namespace of the case. @param {TestContext} t @param {Record<string, any>[]} rules @param {string} [name] */
async function grant(t, rules, name = 'some') {
	const user = `${t.ns}-user`;
	await t.create(role(name, rules), { unrecorded: true });
	await t.create(roleBinding(name, user), { unrecorded: true });
	const [{ apiGroups, resources, verbs }] = rules;
	const resourceAttributes = {
		namespace: t.ns,
		verb: verbs[0],
		group: apiGroups[0],
		resource: resources[0].split('/')[0],
		subresource: resources[0].split('/')[1],
		name: rules[0].resourceNames?.[0],
	};
	await t.eventually('the rights count', 'POST', 'subjectaccessreviews', ({ body }) => body.status.allowed, {
		body: { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec: { user, resourceAttributes } },
	});
	return user;
}
/** @param {Record<string, any>} resourceAttributes */
const mayI = (resourceAttributes) => ({
	apiVersion: 'authorization.k8s.io/v1',
	kind: 'SelfSubjectAccessReview',
	spec: { resourceAttributes },
});
/** @param {any} review */
const allowed = ({ status }) => ({ allowed: status.allowed, denied: status.denied });

export default [
	define(
		'roles-that-aggregate',
		'An aggregated ClusterRole gets the rules of the roles that it selects',
		async (t) => {
			const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get'] }];
			const [part, whole] = [t.name('part'), t.name('whole')];
			const one = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole' };
			await t.create({ ...one, metadata: { name: part, labels: { of: t.ns } }, rules }, { unrecorded: true });
			const aggregationRule = { clusterRoleSelectors: [{ matchLabels: { of: t.ns } }] };
			await t.create({ ...one, metadata: { name: whole }, aggregationRule, rules: [] }, { unrecorded: true });
			// A controller aggregates the rules.
			const due = performance.now() + 5_000;
			await t.eventually(
				'it has been looked at',
				'GET',
				`clusterroles/${whole}`,
				({ body }) => body.rules?.length || performance.now() > due,
			);
			await t.get(`clusterroles/${whole}`, { show: ({ rules }) => rules });
			for (const name of [whole, part]) await t.delete(`clusterroles/${name}`, undefined, { unrecorded: true });
		},
		{
			differs: [
				{
					real: '200 [{"apiGroups":[""],"resources":["configmaps"],"verbs":["get"]}]',
					sandbox: '200 []',
					why: 'the sandbox does not aggregate roles: its admin, edit and view have their final rules',
				},
			],
		},
	),
	define('rbac-nothing', '§3 A2 A refusal for a user without rights names the missing right', async (t) => {
		const as = `${t.ns}-nobody`;
		await t.create(configMap('a'), { unrecorded: true });
		await t.get('configmaps/a', { as });
		await t.get('configmaps', { as });
		await t.get('/api/v1/configmaps', { as });
		await t.create(configMap('b'), { as });
		await t.put('configmaps/a', configMap('a'), { as });
		await t.patch('configmaps/a', 'merge', {}, { as });
		await t.delete('configmaps/a', undefined, { as });
		await t.delete('configmaps', undefined, { as });
		await t.get('nodes', { as });
		await t.get('deployments/web', { as });
		await t.get('/nowhere', { as });
	}),
	define('rbac-before-existence', 'A user without the right to read does not learn whether the object exists', async (t) => {
		await t.get('configmaps/none', { as: `${t.ns}-nobody` });
		await t.get('/apis/nowhere.example.com/v1/gadgets', { as: `${t.ns}-nobody` });
	}),
	define('rbac-role', 'A Role grants verbs on resources in its namespace', async (t) => {
		await t.create(configMap('a'), { unrecorded: true });
		const as = await grant(t, [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'list'] }]);
		await t.get('configmaps/a', { as });
		await t.get('configmaps', { as, query: { fieldSelector: 'metadata.name=a' } });
		await t.delete('configmaps/a', undefined, { as });
		await t.get('/api/v1/configmaps', { as });
		await t.get('secrets', { as });
	}),
	define('rbac-resource-names', 'A rule with resourceNames grants access to one object', async (t) => {
		for (const name of ['a', 'b']) await t.create(configMap(name), { unrecorded: true });
		const as = await grant(t, [
			{ apiGroups: [''], resources: ['configmaps'], resourceNames: ['a'], verbs: ['get', 'delete', 'list'] },
		]);
		await t.get('configmaps/a', { as });
		await t.get('configmaps/b', { as });
		await t.get('configmaps', { as });
		await t.get('configmaps', { as, query: { fieldSelector: 'metadata.name=a' } });
		await t.delete('configmaps/a', undefined, { as });
	}),
	define('rbac-subresource', 'A right to a subresource is not a right to the object', async (t) => {
		await t.create(unplacedPod('p'), { unrecorded: true });
		const as = await grant(t, [{ apiGroups: [''], resources: ['pods/eviction'], verbs: ['create'] }]);
		await t.post('pods/p/eviction', { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'p' } }, { as });
		await t.delete('pods/p', undefined, { as });
		await t.get('pods/p/log', { as });
	}),
	define('rbac-collection', 'deletecollection is a separate verb', async (t) => {
		await t.create(configMap('a', { labels: { of: 'case' } }), { unrecorded: true });
		const as = await grant(t, [{ apiGroups: [''], resources: ['configmaps'], verbs: ['delete'] }]);
		await t.delete('configmaps', undefined, { as, query: { labelSelector: 'of=case' } });
		await t.delete('configmaps/a', undefined, { as });
	}),
	define('rbac-dry-run', '§6.1 A dry run needs the same right', async (t) => {
		await t.create(configMap('a'), { unrecorded: true });
		await t.delete('configmaps/a', { dryRun: ['All'] }, { as: `${t.ns}-nobody` });
	}),
	define('rbac-patch', '§2.1 Removing a finalizer needs patch on the object', async (t) => {
		await t.create(configMap('a', { finalizers: ['example.com/x'] }), { unrecorded: true });
		await t.delete('configmaps/a', undefined, { unrecorded: true });
		const as = await grant(t, [{ apiGroups: [''], resources: ['configmaps/finalizers'], verbs: ['update', 'patch'] }]);
		await t.patch('configmaps/a', 'merge', { metadata: { finalizers: null } }, { as });
		await t.patch('configmaps/a/finalizers', 'merge', { metadata: { finalizers: null } }, { as });
	}),
	define('rbac-finalize', '§2.1 PUT finalize needs a separate right', async (t) => {
		await t.put(
			`namespaces/${t.ns}/finalize`,
			{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: t.ns } },
			{ as: `${t.ns}-nobody` },
		);
	}),
	define('rbac-cluster-role-in-namespace', 'A ClusterRole bound in a namespace applies there', async (t) => {
		const as = `${t.ns}-user`;
		await t.create(configMap('a'), { unrecorded: true });
		await t.create(roleBinding('view', as, 'ClusterRole'), { unrecorded: true });
		await t.eventually('the rights count', 'POST', 'subjectaccessreviews', ({ body }) => body.status.allowed, {
			body: {
				apiVersion: 'authorization.k8s.io/v1',
				kind: 'SubjectAccessReview',
				spec: { user: as, resourceAttributes: { namespace: t.ns, verb: 'get', resource: 'configmaps' } },
			},
		});
		await t.get('configmaps/a', { as });
		await t.get('secrets', { as });
		await t.get('/api/v1/configmaps', { as });
	}),
	define('rbac-binding-deleted', 'Deleting a binding ends the rights it gave', async (t) => {
		await t.create(configMap('a'), { unrecorded: true });
		const as = await grant(t, [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get'] }]);
		await t.get('configmaps/a', { as });
		await t.delete('rolebindings/some', undefined, { unrecorded: true });
		await t.eventually('the rights are gone', 'GET', 'configmaps/a', ({ status }) => status === 403, {
			headers: { 'impersonate-user': as },
		});
		await t.get('configmaps/a', { as });
	}),
	define('rbac-escalation', 'A user cannot grant rights that they do not have', async (t) => {
		const as = await grant(t, [{ apiGroups: ['rbac.authorization.k8s.io'], resources: ['roles'], verbs: ['create'] }]);
		await t.create(role('more', [{ apiGroups: [''], resources: ['secrets'], verbs: ['get'] }]), { as });
	}),
	define('rbac-escalation-listed', 'The refusal of an escalation lists only the missing rights', async (t) => {
		const rbac = ['rbac.authorization.k8s.io'];
		const as = await grant(t, [
			{ apiGroups: rbac, resources: ['roles'], verbs: ['create', 'update', 'patch'] },
			{ apiGroups: [''], resources: ['pods', '*/log'], verbs: ['get', 'list'] },
			{ apiGroups: [''], resources: ['secrets'], verbs: ['get'], resourceNames: ['mine'] },
		]);
		const of = (/** @type {Record<string, any>[]} */ ...rules) => role('more', rules);
		await t.create(of({ apiGroups: [''], resources: ['pods', 'secrets'], verbs: ['get', 'delete'] }), { as });
		await t.create(of({ apiGroups: ['', 'apps'], resources: ['pods'], verbs: ['list'] }), { as });
		await t.create(of({ apiGroups: [''], resources: ['secrets'], verbs: ['get'], resourceNames: ['mine', 'yours'] }), {
			as,
		});
		await t.create(of({ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }), { as });
		await t.create(
			of(
				{ apiGroups: [''], resources: ['pods', 'pods/log'], verbs: ['get'] },
				{ apiGroups: [''], resources: ['secrets'], verbs: ['get'], resourceNames: ['mine'] },
			),
			{ as },
		);
		await t.patch('roles/more', 'merge', { metadata: { finalizers: ['example.com/x'] } }, { as });
		await t.patch('roles/more', 'merge', { metadata: { finalizers: null } }, { as });
		await t.patch(
			'roles/more',
			'merge',
			{ rules: [{ apiGroups: [''], resources: ['nodes'], verbs: ['get'] }] },
			{ as },
		);
		await t.put('roles/more', of({ apiGroups: [''], resources: ['nodes'], verbs: ['get'] }), { as });
	}),
	define('rbac-escalate', 'A user with the verb escalate can grant any right', async (t) => {
		const rbac = ['rbac.authorization.k8s.io'];
		const as = await grant(t, [{ apiGroups: rbac, resources: ['roles'], verbs: ['create', 'escalate'] }]);
		await t.create(role('more', [{ apiGroups: [''], resources: ['secrets'], verbs: ['get'] }]), { as });
	}),
	define('rbac-bind', 'A user cannot bind a role with more rights than they have, unless they may bind it', async (t) => {
		const rbac = ['rbac.authorization.k8s.io'];
		const as = await grant(t, [
			{ apiGroups: rbac, resources: ['rolebindings'], verbs: ['create', 'patch'] },
			{ apiGroups: rbac, resources: ['roles'], verbs: ['bind'], resourceNames: ['free'] },
			{ apiGroups: [''], resources: ['configmaps'], verbs: ['get'] },
		]);
		const rules = [{ apiGroups: [''], resources: ['secrets'], verbs: ['get', 'list'] }];
		for (const name of ['free', 'kept']) await t.create(role(name, rules), { unrecorded: true });
		await t.create(role('less', [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get'] }]), { unrecorded: true });
		for (const name of ['free', 'kept', 'less']) await t.create(roleBinding(name, 'x'), { as });
		const { roleRef, ...rest } = roleBinding('strange', 'x');
		await t.create({ ...rest, roleRef: { ...roleRef, name: 'none' } }, { as });
		await t.create(roleBinding('cluster-admin', 'x', 'ClusterRole'), { as });
		await t.patch('rolebindings/less', 'merge', { subjects: null }, { as });
		await t.create(roleBinding('kept', 'x'), { unrecorded: true });
		await t.patch('rolebindings/kept', 'merge', { metadata: { labels: { a: 'b' } } }, { as });
		await t.patch('rolebindings/kept', 'merge', { metadata: { finalizers: ['example.com/x'] } }, { as });
		await t.patch('rolebindings/kept', 'merge', { metadata: { finalizers: null } }, { as });
	}),
	define('rbac-binding-immutable', 'The roleRef of a binding is immutable', async (t) => {
		await t.create(role('some', []), { unrecorded: true });
		await t.create(roleBinding('some', 'x'), { unrecorded: true });
		await t.patch('rolebindings/some', 'merge', { roleRef: { name: 'other' } });
	}),
	define('review-self', 'SelfSubjectAccessReview answers for the user that sends it', async (t) => {
		await t.post('selfsubjectaccessreviews', mayI({ namespace: t.ns, verb: 'delete', resource: 'pods' }), {
			show: allowed,
		});
		const as = await grant(t, [{ apiGroups: [''], resources: ['pods'], verbs: ['delete'] }]);
		await t.post('selfsubjectaccessreviews', mayI({ namespace: t.ns, verb: 'delete', resource: 'pods' }), {
			as,
			show: allowed,
		});
		await t.post('selfsubjectaccessreviews', mayI({ namespace: t.ns, verb: 'patch', resource: 'pods' }), {
			as,
			show: allowed,
		});
		await t.post('selfsubjectaccessreviews', mayI({ verb: 'delete', resource: 'pods' }), { as, show: allowed });
		await t.post(
			'selfsubjectaccessreviews',
			{
				apiVersion: 'authorization.k8s.io/v1',
				kind: 'SelfSubjectAccessReview',
				spec: { nonResourceAttributes: { path: '/version', verb: 'get' } },
			},
			{ as, show: allowed },
		);
	}),
	define('review-self-invalid', 'An access review names either a resource or a path', async (t) => {
		await t.post('selfsubjectaccessreviews', {
			apiVersion: 'authorization.k8s.io/v1',
			kind: 'SelfSubjectAccessReview',
			spec: {},
		});
		await t.post('subjectaccessreviews', {
			apiVersion: 'authorization.k8s.io/v1',
			kind: 'SubjectAccessReview',
			spec: { resourceAttributes: { verb: 'get', resource: 'pods' } },
		});
	}),
	define('review-reason', 'An access review returns the reason', async (t) => {
		const as = await grant(t, [{ apiGroups: [''], resources: ['pods'], verbs: ['delete'] }]);
		await t.post('selfsubjectaccessreviews', mayI({ namespace: t.ns, verb: 'delete', resource: 'pods' }), {
			as,
			show: ({ status }) => status.reason,
		});
		await t.post('selfsubjectaccessreviews', mayI({ namespace: t.ns, verb: 'get', resource: 'pods' }), {
			as,
			show: ({ status }) => status.reason ?? 'none',
		});
	}),
	define('review-other', 'SubjectAccessReview answers for another user', async (t) => {
		const user = await grant(t, [{ apiGroups: [''], resources: ['pods'], verbs: ['delete'] }]);
		const ask = (/** @type {Record<string, any>} */ spec, options = {}) =>
			t.post(
				'subjectaccessreviews',
				{ apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec },
				{ show: allowed, ...options },
			);
		await ask({ user, resourceAttributes: { namespace: t.ns, verb: 'delete', resource: 'pods' } });
		await ask({ user, resourceAttributes: { namespace: 'default', verb: 'delete', resource: 'pods' } });
		await ask({ user: 'x', groups: ['system:masters'], resourceAttributes: { verb: '*', resource: '*' } });
		await ask({ user, resourceAttributes: { namespace: t.ns, verb: 'delete', resource: 'pods' } }, { as: user });
	}),
	define('review-rules', 'SelfSubjectRulesReview lists the rights in a namespace', async (t) => {
		const as = await grant(t, [{ apiGroups: [''], resources: ['pods'], verbs: ['delete'] }]);
		await t.post(
			'selfsubjectrulesreviews',
			{ apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectRulesReview', spec: { namespace: t.ns } },
			{
				as,
				show: ({ status }) => [
					status.incomplete,
					status.resourceRules.filter((/** @type {any} */ { resources }) => resources.includes('pods')),
				],
			},
		);
	}),
	define(
		'review-who',
		'SelfSubjectReview returns the user',
		async (t) => {
			const ask = (/** @type {Record<string, any>} */ options) =>
				t.post(
					'selfsubjectreviews',
					{ apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' },
					{ show: ({ status }) => [status.userInfo.username, status.userInfo.groups], ...options },
				);
			await ask({});
			await ask({ user: 'developer' });
			await ask({ as: 'somebody', groups: ['some', 'others'] });
		},
		{ bare: true },
	),
	define(
		'impersonate',
		'Impersonation needs a right, and the groups are impersonated too',
		async (t) => {
			await t.get('namespaces/default', { user: 'reader', as: 'admin' });
			await t.get('namespaces/default', { as: 'x', groups: ['system:masters'] });
			await t.get('namespaces/default', { as: 'x' });
			await t.get('namespaces/default', { groups: ['system:masters'] });
		},
		{ bare: true },
	),
	define(
		'impersonate-wholly',
		'Impersonation can set a UID and extra values, and a review is about the impersonated user',
		async (t) => {
			const headers = (/** @type {Record<string, string|string[]>} */ rest) =>
				/** @type {Record<string, string>} */ (rest);
			const who = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
			const show = (/** @type {any} */ { status }) => status.userInfo;
			const review = (/** @type {Record<string, string|string[]>} */ rest, as = 'x') =>
				t.post('selfsubjectreviews', who, { as, headers: headers(rest), show });
			await review({ 'impersonate-uid': '0815' });
			await review({ 'impersonate-extra-scopes': ['view', 'edit'], 'impersonate-extra-Reason': 'a test' });
			await review({
				'impersonate-extra-example.com%2Fteam': 'shop',
				'impersonate-uid': '0815',
				'impersonate-group': 'g',
			});
			await review({ 'impersonate-extra-': 'nothing', 'impersonate-extra-empty': '' });
			await review({ 'impersonate-extra-%zz': 'odd' });
			await review({ 'impersonate-uid': '0815', 'impersonate-extra-a': 'b' }, `system:serviceaccount:${t.ns}:default`);
			await review({ 'impersonate-uid': '0815' }, 'system:anonymous');
			await t.get('namespaces/default', { headers: { 'impersonate-uid': '0815' } });
			await t.get('namespaces/default', { headers: { 'impersonate-extra-a': 'b' } });
			await t.get('namespaces/default', {
				headers: headers({ 'impersonate-extra-a': ['b', 'c'], 'impersonate-uid': '1' }),
			});
		},
	),
	define(
		'impersonate-parts',
		'Impersonating a user, a group, the UID and each extra value needs a right for each',
		async (t) => {
			const name = t.name('impersonator');
			const x = `x-${t.ns}`;
			const apiGroup = 'rbac.authorization.k8s.io';
			const rules = [{ apiGroups: ['example.com'], resources: ['nothing'], verbs: ['get'] }];
			await t.create(
				{ apiVersion: `${apiGroup}/v1`, kind: 'ClusterRole', metadata: { name }, rules },
				{ unrecorded: true },
			);
			await t.create(
				{
					apiVersion: `${apiGroup}/v1`,
					kind: 'ClusterRoleBinding',
					metadata: { name },
					roleRef: { apiGroup, kind: 'ClusterRole', name },
					subjects: [{ kind: 'User', apiGroup, name: 'developer' }],
				},
				{ unrecorded: true },
			);
			const grant = async (/** @type {string} */ group, /** @type {string} */ resources, /** @type {string} */ of) => {
				const rule = { apiGroups: [group], resources: [resources], resourceNames: [of], verbs: ['impersonate'] };
				await t.patch(`clusterroles/${name}`, 'json', [{ op: 'add', path: '/rules/0', value: rule }], { unrecorded: true });
				const [resource, subresource] = resources.split('/');
				const resourceAttributes = { group, resource, subresource, name: of, verb: 'impersonate' };
				await t.eventually('the right counts', 'POST', 'subjectaccessreviews', ({ body }) => body.status.allowed, {
					body: {
						apiVersion: 'authorization.k8s.io/v1',
						kind: 'SubjectAccessReview',
						spec: { user: 'developer', resourceAttributes },
					},
				});
			};
			const who = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
			const show = (/** @type {any} */ { status }) => status.userInfo;
			const review = (/** @type {Record<string, string>} */ headers) =>
				t.post('selfsubjectreviews', who, { user: 'developer', as: x, headers, show });
			const all = {
				'impersonate-group': 'g',
				'impersonate-uid': '1',
				'impersonate-extra-scopes': 'view',
			};
			// The API server remembers a granted impersonation, and then names the missing part. Only this case impersonates as this user.
			await review({});
			await grant('', 'users', x);
			await review({ 'impersonate-uid': '1' });
			await review({});
			await review(all);
			await grant('', 'groups', 'g');
			await review(all);
			await grant('authentication.k8s.io', 'uids', '1');
			await review(all);
			await review({ 'impersonate-uid': '2' });
			await grant('authentication.k8s.io', 'userextras/scopes', 'view');
			await review(all);
			await review({ 'impersonate-extra-scopes': 'edit' });
			await review({ 'impersonate-extra-reason': 'view' });
			for (const one of ['clusterrolebindings', 'clusterroles'])
				await t.delete(`${one}/${name}`, undefined, { unrecorded: true });
		},
	),
	define('impersonate-service-account', 'An impersonated ServiceAccount has its groups', async (t) => {
		await t.post(
			'selfsubjectreviews',
			{ apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' },
			{
				as: `system:serviceaccount:${t.ns}:default`,
				show: ({ status }) => [status.userInfo.username, status.userInfo.groups],
			},
		);
	}),
	define(
		'no-token',
		'An anonymous user has few rights',
		async (t) => {
			await t.get('namespaces', { user: 'nobody' });
			await t.get('namespaces', { user: 'nobody', headers: { authorization: 'Bearer wrong' } });
			await t.get('/healthz', { user: 'nobody' });
			await t.get('/version', { user: 'nobody', show: ({ major }) => typeof major });
		},
		{ bare: true },
	),
	define('custom-rights', 'Rights to custom resources name group and plural', async (t) => {
		await t.create(definition(t.ns), { unrecorded: true });
		const path = `/apis/${t.ns}.example.com/v1/namespaces/${t.ns}/widgets`;
		await t.eventually('it is served', 'GET', path, ({ status }) => status === 200);
		const as = await grant(t, [{ apiGroups: [`${t.ns}.example.com`], resources: ['widgets'], verbs: ['list'] }]);
		await t.get(path, { as });
		await t.get(`${path}/w`, { as });
	}),
	define(
		'owner-without-right',
		'§3 G10 An owner reference needs no right to the owner, because the plugin that checks it is off',
		async (t) => {
			const { body } = await t.create(configMap('owner'));
			const as = await grant(t, [{ apiGroups: [''], resources: ['pods'], verbs: ['create'] }]);
			const { name, uid } = body.metadata;
			await t.create(
				pod('p', { ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name, uid, blockOwnerDeletion: true }] }),
				{ as },
			);
		},
	),
];
