/**
 * Extension points that may be unavailable: webhooks, policies, aggregated APIs.
 */
import { condition, conditions, deleteUntilBlocked, failureMessage, hasCondition } from '../conditions.mjs';
import { configMap, definition, ownedBy, service, unplacedPod, widget } from '../objects.mjs';
import { longTimeout } from '../test-context.mjs';
import { define } from '../suite.mjs';

/** @typedef {import('../test-context.mjs').TestContext} TestContext */

const discovery = { accept: 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList' };

/**
 * A webhook without an answer, for ConfigMaps in the namespace of the case.
 * @param {TestContext} t @param {string} kind @param {Record<string, any>} [rest] of the webhook
 */
const webhook = (t, kind, rest = {}) => ({
	apiVersion: 'admissionregistration.k8s.io/v1',
	kind: `${kind}WebhookConfiguration`,
	metadata: { name: t.name('hook') },
	webhooks: [
		{
			name: 'hook.example.com',
			clientConfig: { url: 'https://127.0.0.1:1/' },
			rules: [{ apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'], operations: ['DELETE'] }],
			namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': t.ns } },
			sideEffects: 'None',
			admissionReviewVersions: ['v1'],
			timeoutSeconds: 1,
			failurePolicy: 'Fail',
			...rest,
		},
	],
});
const validating = (/** @type {TestContext} */ t) => `validatingwebhookconfigurations/${t.name('hook')}`;

const dryRun = { body: { dryRun: ['All'] } };
/** Waits until the server calls a new webhook. @param {TestContext} t @param {number} [code] of a DELETE that the webhook refuses */
async function inForce(t, code = 500) {
	await t.create(configMap('probe'), { unrecorded: true });
	await t.eventually('the webhook is called', 'DELETE', 'configmaps/probe', ({ status }) => status === code, dryRun);
}
/** A webhook that answers; its name selects its decision. @param {TestContext} t @param {string} name */
const present = (t, name) => webhook(t, 'Validating', { name, clientConfig: t.webhookAt(name), timeoutSeconds: 5 });
/** @param {TestContext} t */
const outOfForce = (t) =>
	t.eventually('the webhook is not called', 'DELETE', 'configmaps/probe', ({ status }) => status === 200, dryRun);

/**
 * A policy for DELETEs of ConfigMaps in the namespace of the case, and its binding.
 * @param {TestContext} t @param {Record<string, any>} spec of the policy @param {string[]} [validationActions]
 */
const policy = (t, spec, validationActions = ['Deny']) => [
	{
		apiVersion: 'admissionregistration.k8s.io/v1',
		kind: 'ValidatingAdmissionPolicy',
		metadata: { name: t.name('policy') },
		spec: {
			matchConstraints: {
				resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'], operations: ['DELETE'] }],
			},
			...spec,
		},
	},
	{
		apiVersion: 'admissionregistration.k8s.io/v1',
		kind: 'ValidatingAdmissionPolicyBinding',
		metadata: { name: t.name('binding') },
		spec: {
			policyName: t.name('policy'),
			validationActions,
			matchResources: { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': t.ns } } },
		},
	},
];
/** Creates both, and waits until they deny the DELETE of `probe`. @param {TestContext} t @param {object[]} both @param {number} code */
async function enact(t, both, code = 422) {
	for (const one of both) await t.create(one, { unrecorded: true });
	await inForce(t, code);
}
/** @param {TestContext} t */
async function repeal(t) {
	await t.delete(`validatingadmissionpolicybindings/${t.name('binding')}`, undefined, { unrecorded: true });
	await t.delete(`validatingadmissionpolicies/${t.name('policy')}`, undefined, { unrecorded: true });
}
const parsedLate = 'the sandbox parses a policy only when a request matches it';
const isProbe = "oldObject.metadata.name == 'probe'";

/** @param {string} group @param {Record<string, any>} backend */
const apiService = (group, backend) => ({
	apiVersion: 'apiregistration.k8s.io/v1',
	kind: 'APIService',
	metadata: { name: `v1.${group}` },
	spec: {
		group,
		version: 'v1',
		groupPriorityMinimum: 100,
		versionPriority: 100,
		insecureSkipTLSVerify: true,
		service: backend,
	},
});
/** @param {any} one */
const available = (one) => condition(one, 'Available');
/** @param {any} one */
const availability = (one) => [available(one).status, available(one).reason, available(one).message];
export default [
	define('webhook-down-fail', '§3 X3 §8 An unavailable webhook with failurePolicy Fail refuses the DELETE', async (t) => {
		await t.create(webhook(t, 'Validating'), { unrecorded: true });
		await inForce(t);
		await t.create(configMap('a'));
		await t.delete('configmaps/a');
		await t.delete('configmaps/a', { dryRun: ['All'] });
		await t.get('configmaps/a');
		await t.delete(validating(t));
		await outOfForce(t);
		await t.delete('configmaps/a');
	}),
	define('webhook-down-ignore', '§3 X3 An unavailable webhook with failurePolicy Ignore is skipped', async (t) => {
		await t.create(webhook(t, 'Validating'), { unrecorded: true });
		await inForce(t);
		await t.patch(validating(t), 'json', [{ op: 'replace', path: '/webhooks/0/failurePolicy', value: 'Ignore' }], {
			unrecorded: true,
		});
		await outOfForce(t);
		await t.create(configMap('a'));
		await t.delete('configmaps/a');
		await t.delete(validating(t), undefined, { unrecorded: true });
	}),
	define('webhook-no-service', '§3 X3 A webhook whose Service does not exist is unavailable', async (t) => {
		await t.create(webhook(t, 'Validating', { clientConfig: { service: { name: 'hook', namespace: t.ns } } }), {
			unrecorded: true,
		});
		await inForce(t);
		await t.delete('configmaps/probe');
		await t.delete(validating(t), undefined, { unrecorded: true });
	}),
	define('webhook-no-endpoints', '§3 X3 §8 A webhook whose Service has no endpoints is unavailable', async (t) => {
		await t.create(service('hook', { ports: [{ port: 443 }] }), { unrecorded: true });
		await t.create(webhook(t, 'Validating', { clientConfig: { service: { name: 'hook', namespace: t.ns } } }), {
			unrecorded: true,
		});
		await inForce(t);
		await t.delete('configmaps/probe');
		await t.delete(validating(t), undefined, { unrecorded: true });
	}),
	define('webhook-unreachable', '§3 X3 A webhook with an unreachable endpoint is unavailable', async (t) => {
		await t.create(service('hook', { selector: undefined, ports: [{ port: 443 }] }), { unrecorded: true });
		const slice = {
			apiVersion: 'discovery.k8s.io/v1',
			kind: 'EndpointSlice',
			metadata: { name: 'hook', labels: { 'kubernetes.io/service-name': 'hook' } },
			addressType: 'IPv4',
			endpoints: [{ addresses: ['192.0.2.1'], conditions: { ready: true } }],
			ports: [{ port: 443 }],
		};
		await t.create(slice, { unrecorded: true });
		// A second webhook of the same configuration shows when both are in force.
		const deny = 'deny.example.com';
		const more = { objectSelector: { matchLabels: { deny: 'yes' } }, clientConfig: t.webhookAt(deny), timeoutSeconds: 5 };
		const hooks = webhook(t, 'Validating', { name: deny, ...more });
		const clientConfig = { service: { name: 'hook', namespace: t.ns } };
		const objectSelector = { matchExpressions: [{ key: 'deny', operator: 'DoesNotExist' }] };
		hooks.webhooks.push(...webhook(t, 'Validating', { clientConfig, objectSelector }).webhooks);
		await t.create(hooks, { unrecorded: true });
		await t.create(configMap('deny', { labels: { deny: 'yes' } }), { unrecorded: true });
		await t.eventually('they are called', 'DELETE', 'configmaps/deny', ({ status }) => status === 400, dryRun);
		await t.create(configMap('probe'), { unrecorded: true });
		// The reason why it cannot be reached depends on the network.
		const { status } = await t.request('DELETE', 'configmaps/probe', undefined, { ignored: true });
		t.note('the answer', status);
		await t.delete(validating(t), undefined, { unrecorded: true });
	}),
	define(
		'webhook-does-not-hold-definition',
		'§3 X1 X3 An unavailable webhook does not hold a definition, because instances are deleted without admission',
		async (t) => {
			const group = `${t.ns}.example.com`;
			const crd = `customresourcedefinitions/widgets.${group}`;
			const path = `/apis/${group}/v1/namespaces/${t.ns}/widgets`;
			await t.create(definition(t.ns), { unrecorded: true });
			await t.eventually('it is served', 'GET', path, ({ status }) => status === 200);
			await t.post(path, widget(t.ns, 'w'));
			await t.create(service('hook', { ports: [{ port: 443 }] }), { unrecorded: true });
			const rules = [{ apiGroups: [group], apiVersions: ['v1'], resources: ['widgets'], operations: ['DELETE'] }];
			const clientConfig = { service: { name: 'hook', namespace: t.ns } };
			await t.create(webhook(t, 'Validating', { clientConfig, rules }), { unrecorded: true });
			await t.eventually('the webhook is called', 'DELETE', `${path}/w`, ({ status }) => status === 500, dryRun);
			await t.delete(`${path}/w`);
			await t.delete(crd);
			await t.gone(crd);
			await t.delete(validating(t), undefined, { unrecorded: true });
		},
	),
	define(
		'webhook-holds-namespace',
		'§3 N3 X3 §8 An unavailable webhook holds a namespace, and a condition reports it',
		async (t) => {
			await t.create(webhook(t, 'Validating'), { unrecorded: true });
			await inForce(t);
			await deleteUntilBlocked(t);
			await t.delete(validating(t), undefined, { unrecorded: true });
			await t.gone(`namespaces/${t.ns}`);
		},
	),
	define(
		'webhook-denies',
		'§3 X4 N3 A webhook that denies the DELETE holds the object and its namespace',
		async (t) => {
			await t.create(present(t, 'deny.example.com'), { unrecorded: true });
			await inForce(t, 400);
			await t.create(configMap('a'));
			await t.delete('configmaps/a');
			await t.delete('configmaps/a', { dryRun: ['All'] });
			await t.get('configmaps/a');
			await deleteUntilBlocked(t);
			await t.delete(validating(t), undefined, { unrecorded: true });
			await t.gone(`namespaces/${t.ns}`);
		},
	),
	...[
		{ name: 'forbid', code: 403, about: 'sets the status code' },
		{ name: 'low', code: 400, about: 'cannot set a code below 400' },
		{ name: 'silent', code: 400, about: 'can omit the reason' },
	].map(({ name, code, about }) =>
		define(`webhook-denies-${name}`, `§3 X4 A webhook that denies ${about}`, async (t) => {
			await t.create(present(t, `${name}.example.com`), { unrecorded: true });
			await inForce(t, code);
			await t.delete('configmaps/probe');
			await t.delete(validating(t), undefined, { unrecorded: true });
			await outOfForce(t);
		}),
	),
	define('webhook-allows', '§3 X4 A single denial is enough, even if other webhooks allow', async (t) => {
		const both = present(t, 'allow.example.com');
		both.webhooks.push(...present(t, 'deny.example.com').webhooks);
		await t.create(both, { unrecorded: true });
		await inForce(t, 400);
		await t.delete('configmaps/probe');
		await t.patch(validating(t), 'json', [{ op: 'remove', path: '/webhooks/1' }], { unrecorded: true });
		await outOfForce(t);
		await t.delete('configmaps/probe');
		await t.delete(validating(t), undefined, { unrecorded: true });
	}),
	define('policy-denies', '§3 X5 N3 A policy that denies the DELETE holds the object and its namespace', async (t) => {
		const validations = [
			{ expression: "!oldObject.metadata.name.startsWith('p')", message: ' keep what begins with p ' },
		];
		await enact(t, policy(t, { validations }));
		await t.create(configMap('a'));
		await t.delete('configmaps/a');
		await t.delete('configmaps/probe');
		await t.delete('configmaps/probe', { dryRun: ['All'] });
		await deleteUntilBlocked(t, { show: failureMessage });
		await repeal(t);
		await t.gone(`namespaces/${t.ns}`);
	}),
	define(
		'policy-words',
		'§3 X5 A policy sets reason and message; without a message the answer has its expression',
		async (t) => {
			const variables = [{ name: 'who', expression: 'request.userInfo.username' }];
			const messageExpression =
				"variables.who + ' may not ' + request.operation + ' in ' + namespaceObject.metadata.name";
			const validations = [
				{ expression: `!(${isProbe})`, reason: 'Forbidden', messageExpression },
				{ expression: '  !has(oldObject.data) || oldObject.data.size() < 2 ? true :\n false  ' },
			];
			await enact(t, policy(t, { variables, validations }), 403);
			await t.delete('configmaps/probe');
			await t.create({ ...configMap('b'), data: { one: '1', two: '2' } });
			await t.delete('configmaps/b');
			await repeal(t);
		},
	),
	define('policy-conditions', '§3 X5 A policy is evaluated if its match conditions hold, and denies if its binding says so', async (t) => {
		const matchConditions = [
			{ name: 'fails-for-some', expression: "isProbe || oldObject.data.color == 'red'".replace('isProbe', isProbe) },
			{ name: 'only-probe', expression: isProbe },
		];
		const validations = [{ expression: 'request.dryRun == false && size(request.userInfo.groups) == 0' }];
		await enact(t, policy(t, { matchConditions, validations }));
		await t.create(configMap('a'));
		await t.delete('configmaps/a');
		await t.delete('configmaps/probe');
		const audit = [{ op: 'replace', path: '/spec/validationActions', value: ['Audit'] }];
		await t.patch(`validatingadmissionpolicybindings/${t.name('binding')}`, 'json', audit, { unrecorded: true });
		await outOfForce(t);
		await t.delete('configmaps/probe');
		await repeal(t);
	}),
	define('policy-resource-names', '§3 X5 A policy with resourceNames applies to those objects only', async (t) => {
		const rule = { apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'], operations: ['DELETE'] };
		const matchConstraints = {
			resourceRules: [{ ...rule, resourceNames: ['probe', 'b'] }],
			excludeResourceRules: [{ ...rule, resourceNames: ['b'] }],
		};
		await enact(t, policy(t, { matchConstraints, validations: [{ expression: 'false', message: 'it stays' }] }));
		for (const name of ['a', 'b']) {
			await t.create(configMap(name), { unrecorded: true });
			await t.delete(`configmaps/${name}`);
		}
		await t.delete('configmaps/probe');
		await repeal(t);
	}),
	define('policy-about-webhooks', '§3 X5 A policy can deny changes of webhook configurations, but not of policies and bindings', async (t) => {
		const group = 'admissionregistration.k8s.io';
		const resources = ['validatingwebhookconfigurations', 'validatingadmissionpolicybindings'];
		const resourceRules = [{ apiGroups: [group], apiVersions: ['v1'], resources, operations: ['DELETE'] }];
		const validations = [{ expression: `!oldObject.metadata.name.endsWith('${t.ns}')`, message: 'it stays' }];
		const [rules, binding] = policy(t, { matchConstraints: { resourceRules }, validations });
		/** @type {any} */ (binding).spec.matchResources = {};
		await t.create(webhook(t, 'Validating', { failurePolicy: 'Ignore' }), { unrecorded: true });
		for (const one of [rules, binding]) await t.create(one, { unrecorded: true });
		await t.eventually('it is in force', 'DELETE', validating(t), ({ status }) => status === 422, dryRun);
		await t.delete(validating(t));
		await t.delete(`validatingadmissionpolicybindings/${t.name('binding')}`);
		await t.eventually('it is out of force', 'DELETE', validating(t), ({ status }) => status === 200, dryRun);
		await t.delete(validating(t), undefined, { unrecorded: true });
		await t.delete(`validatingadmissionpolicies/${t.name('policy')}`, undefined, { unrecorded: true });
	}),
	define('policy-params', '§3 X5 A policy with parameters is evaluated with each of them', async (t) => {
		const paramKind = { apiVersion: 'v1', kind: 'ConfigMap' };
		const validations = [
			{
				expression: '!oldObject.metadata.name.startsWith(params.data.kept)',
				messageExpression: "'kept by ' + params.metadata.name",
			},
		];
		const [rules, binding] = policy(t, { paramKind, validations });
		const spec = /** @type {any} */ (binding).spec;
		spec.paramRef = { selector: { matchLabels: { are: 'parameters' } }, parameterNotFoundAction: 'Allow' };
		const parameter = (/** @type {string} */ name, /** @type {string} */ kept) => ({
			...configMap(name, { labels: { are: 'parameters' } }),
			data: { kept },
		});
		await t.create(parameter('one', 'pro'), { unrecorded: true });
		await enact(t, [rules, binding]);
		await t.delete('configmaps/probe');
		await t.create(parameter('two', 'a'), { unrecorded: true });
		for (const name of ['a', 'b']) await t.create(configMap(name), { unrecorded: true });
		await t.eventually('both are known', 'DELETE', 'configmaps/a', ({ status }) => status === 422, dryRun);
		await t.delete('configmaps/a');
		await t.delete('configmaps/b');
		await repeal(t);
	}),
	define(
		'policy-params-missing',
		'§3 X5 Without its parameters a policy denies or allows, as its binding says',
		async (t) => {
			const paramKind = { apiVersion: 'v1', kind: 'ConfigMap' };
			const [rules, binding] = policy(t, { paramKind, validations: [{ expression: 'false', message: 'it stays' }] });
			const spec = /** @type {any} */ (binding).spec;
			spec.paramRef = { name: 'none', namespace: t.ns, parameterNotFoundAction: 'Deny' };
			for (const one of [rules, binding]) await t.create(one, { unrecorded: true });
			await t.create(configMap('probe'), { unrecorded: true });
			await t.eventually(
				'it denies',
				'DELETE',
				'configmaps/probe',
				({ body }) => /no params/.test(body.message),
				dryRun,
			);
			await t.delete('configmaps/probe');
			const path = `validatingadmissionpolicybindings/${t.name('binding')}`;
			await t.patch(path, 'json', [{ op: 'replace', path: '/spec/paramRef/parameterNotFoundAction', value: 'Allow' }], {
				unrecorded: true,
			});
			await t.eventually('it allows', 'DELETE', 'configmaps/probe', ({ status }) => status === 200, dryRun);
			await t.create(configMap('none'), { unrecorded: true });
			await t.eventually('it denies with one', 'DELETE', 'configmaps/probe', ({ status }) => status === 422, dryRun);
			await t.delete('configmaps/probe');
			await repeal(t);
		},
	),
	define('policy-error', '§3 X5 An expression with an error denies, unless the failure policy is Ignore', async (t) => {
		await enact(t, policy(t, { validations: [{ expression: 'oldObject.data.color == "red"' }] }));
		await t.delete('configmaps/probe', undefined, { fields: ['reason', 'code'] });
		const ignore = [{ op: 'replace', path: '/spec/failurePolicy', value: 'Ignore' }];
		await t.patch(`validatingadmissionpolicies/${t.name('policy')}`, 'json', ignore, { unrecorded: true });
		await outOfForce(t);
		await t.delete('configmaps/probe');
		await repeal(t);
	}),
	define('policy-cost', '§3 X5 An expression over its cost limit is aborted and denies', async (t) => {
		const numbers = `[${Array.from({ length: 40 }, (_, at) => at).join(',')}]`;
		const nested = (/** @type {string} */ names) =>
			[...names].reduceRight((inner, name) => `${numbers}.all(${name}, ${inner})`, 'true');
		for (const names of ['ab', 'abcde']) {
			const expression = `${nested(names)} && !(${isProbe})`;
			await enact(t, policy(t, { validations: [{ expression, message: 'not the probe' }] }));
			await t.delete('configmaps/probe');
			t.amend((line) => line.replaceAll(numbers, 'numbers'));
			await repeal(t);
			await outOfForce(t);
			await t.delete('configmaps/probe', undefined, { unrecorded: true });
		}
	}),
	define('webhook-holds-finalizer', '§1.9 §3 P17 A webhook on UPDATE can refuse the removal of a finalizer', async (t) => {
		const rules = [
			{ apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'], operations: ['UPDATE', 'DELETE'] },
		];
		await t.create(configMap('a', { finalizers: ['example.com/x'] }));
		await t.delete('configmaps/a');
		await t.create(webhook(t, 'Mutating', { rules, reinvocationPolicy: 'Never' }), { unrecorded: true });
		await inForce(t);
		await t.patch('configmaps/a', 'merge', { metadata: { finalizers: null } });
		await t.delete(`mutatingwebhookconfigurations/${t.name('hook')}`, undefined, { unrecorded: true });
		await outOfForce(t);
		await t.patch('configmaps/a', 'merge', { metadata: { finalizers: null } });
	}),
	define('webhook-changes', 'A mutating webhook changes the stored object', async (t) => {
		const rules = [{ apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'], operations: ['CREATE'] }];
		const name = 'label.example.com';
		await t.create(webhook(t, 'Mutating', { name, rules, clientConfig: t.webhookAt(name), timeoutSeconds: 5 }), {
			unrecorded: true,
		});
		await t.eventually('it is called', 'POST', 'configmaps', ({ body }) => body.metadata?.labels?.by, {
			body: configMap('probe'),
			query: { dryRun: 'All' },
		});
		await t.create(configMap('a'), { fields: ['metadata.labels'] });
		await t.patch('configmaps/a', 'merge', { metadata: { labels: { by: null } } }, { fields: ['metadata.labels'] });
		await t.delete('configmaps/a');
		await t.delete(`mutatingwebhookconfigurations/${t.name('hook')}`, undefined, { unrecorded: true });
	}),
	define(
		'webhook-refuses-orphaning',
		'§3 G2 X3 A webhook that refuses an UPDATE of a dependent holds an owner that is deleted with Orphan',
		async (t) => {
			const { body: parent } = await t.create(configMap('parent'));
			await t.create(configMap('child', { ...ownedBy(parent), labels: { of: 'it' } }));
			const rules = [{ apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'], operations: ['UPDATE'] }];
			const objectSelector = { matchLabels: { of: 'it' } };
			const name = 'deny.example.com';
			const hook = { name, rules, objectSelector, clientConfig: t.webhookAt(name), timeoutSeconds: 5 };
			await t.create(webhook(t, 'Validating', hook), { unrecorded: true });
			await t.eventually('it is called', 'PATCH', 'configmaps/child', ({ status }) => status === 400, {
				body: { data: { a: 'b' } },
				headers: { 'content-type': 'application/merge-patch+json' },
				query: { dryRun: 'All' },
			});
			await t.delete('configmaps/parent', { propagationPolicy: 'Orphan' });
			// The collector processes this one later.
			const { body: other } = await t.create(configMap('other'));
			await t.create(configMap('left', ownedBy(other)));
			await t.delete('configmaps/other', { propagationPolicy: 'Orphan' });
			await t.gone('configmaps/other');
			await t.get('configmaps/parent');
			await t.get('configmaps/child');
			await t.delete(validating(t), undefined, { unrecorded: true });
			await t.gone('configmaps/parent');
			await t.get('configmaps/child');
		},
	),
	define(
		'delete-outlasts-server',
		'§3 A8 A DELETE longer than 34 s is aborted and deletes nothing; a deletecollection continues',
		async (t) => {
			// The server waits 30 s for a webhook at most, so it takes two to exceed its limit: mutating ones, because they are called
			// one after the other, and the first with failure policy Ignore. A third refuses the probe, to show when they are in force.
			const labels = { slow: 'yes' };
			const hooks = webhook(t, 'Mutating', {
				name: 'deny.example.com',
				clientConfig: t.webhookAt('deny.example.com'),
				objectSelector: { matchExpressions: [{ key: 'slow', operator: 'DoesNotExist' }] },
				timeoutSeconds: 5,
			});
			const clientConfig = t.webhookAt('hang.example.com');
			for (const name of ['one.example.com', 'two.example.com']) {
				const objectSelector = { matchLabels: labels };
				const hangs = { name, clientConfig, objectSelector, timeoutSeconds: 18, failurePolicy: 'Ignore' };
				hooks.webhooks.push(...webhook(t, 'Mutating', hangs).webhooks);
			}
			await t.create(hooks, { unrecorded: true });
			await inForce(t, 400);
			for (const name of ['a', 'b'])
				await t.create(configMap(name, { labels: { of: name, ...labels } }), { unrecorded: true });
			await t.faultInjector.delayNextDelete('configmaps', t.ns, 'a');
			const query = { labelSelector: 'of=b' };
			const [, { status }] = await Promise.all([
				t.delete('configmaps/a'),
				t.delete('configmaps', undefined, { query, unrecorded: true }),
			]);
			t.note('the collection', status);
			await t.get('configmaps', { query: { labelSelector: 'slow' } });
			await t.delete(`mutatingwebhookconfigurations/${t.name('hook')}`, undefined, { unrecorded: true });
			await outOfForce(t);
			await t.delete('configmaps/a');
		},
		// A webhook makes the server look up the namespace of the deleted object. One that exists this long would disturb the case
		// whose namespace is gone.
		{
			alone: true,
			differs: [
				{
					real: '504 Failure 504 Timeout "Timeout: request did not complete within requested timeout - context deadline exceeded"',
					sandbox: '504 Failure 504 Timeout "Timeout: request did not complete within the allotted timeout"',
					why: 'the sandbox calls no webhook and injects the timeout, with the message of the 60 s limit, the only one it has',
				},
			],
		},
	),
	define('webhook-conditions', '§3 X3 A webhook is called if its match conditions hold', async (t) => {
		const matchConditions = [{ name: 'only-probe', expression: isProbe }];
		await t.create(webhook(t, 'Validating', { matchConditions }), { unrecorded: true });
		await inForce(t);
		await t.create(configMap('a'));
		await t.delete('configmaps/a');
		await t.delete('configmaps/probe');
		const conditions = (/** @type {string} */ expression) => [
			{ op: 'replace', path: '/webhooks/0/matchConditions', value: [{ name: 'fails', expression }] },
		];
		await t.patch(validating(t), 'json', conditions('oldObject.data.none == "x"'), { unrecorded: true });
		const fails = (/** @type {any} */ { body }) => /no such key/.test(body.message);
		await t.eventually('its condition fails', 'DELETE', 'configmaps/probe', fails, dryRun);
		await t.delete('configmaps/probe');
		await t.delete(validating(t), undefined, { unrecorded: true });
		await outOfForce(t);
	}),
	define('webhook-changes-nothing', 'A mutating webhook cannot change an object on DELETE', async (t) => {
		const name = 'label.example.com';
		await t.create(webhook(t, 'Mutating', { name, clientConfig: t.webhookAt(name), timeoutSeconds: 5 }), {
			unrecorded: true,
		});
		await inForce(t);
		await t.delete('configmaps/probe');
		await t.get('configmaps/probe');
		await t.delete(`mutatingwebhookconfigurations/${t.name('hook')}`, undefined, { unrecorded: true });
		await outOfForce(t);
	}),
	define(
		'webhook-rewrites-pods',
		'§3 P17 §8 A webhook that rewrites Pods on UPDATE prevents the removal of a finalizer',
		async (t) => {
			await t.create(unplacedPod('p', { finalizers: ['example.com/x'] }));
			await t.delete('pods/p');
			const rules = [{ apiGroups: [''], apiVersions: ['v1'], resources: ['pods'], operations: ['UPDATE'] }];
			const name = 'rewrite.example.com';
			const free = { metadata: { finalizers: null } };
			await t.create(webhook(t, 'Mutating', { name, rules, clientConfig: t.webhookAt(name), timeoutSeconds: 5 }), {
				unrecorded: true,
			});
			await t.eventually('it is called', 'PATCH', 'pods/p', ({ status }) => status === 422, {
				body: { metadata: { annotations: { a: 'b' } } },
				headers: { 'content-type': 'application/merge-patch+json' },
			});
			await t.patch('pods/p', 'merge', free);
			await t.get('pods/p');
			await t.delete(`mutatingwebhookconfigurations/${t.name('hook')}`, undefined, { unrecorded: true });
			await t.eventually('it is not called', 'PATCH', 'pods/p', ({ status }) => status === 200, {
				body: { metadata: { annotations: { a: 'c' } } },
				headers: { 'content-type': 'application/merge-patch+json' },
			});
			await t.patch('pods/p', 'merge', free);
			await t.get('pods/p');
		},
	),
	define('webhook-collection', '§6.1 deletecollection stops at the first refused object', async (t) => {
		const unspared = { matchExpressions: [{ key: 'spared', operator: 'DoesNotExist' }] };
		await t.create(webhook(t, 'Validating', { objectSelector: unspared }), { unrecorded: true });
		await inForce(t);
		await t.create(configMap('a', { labels: { of: 'case', spared: 'yes' } }));
		await t.create(configMap('b', { labels: { of: 'case' } }));
		await t.create(configMap('c', { labels: { of: 'case', spared: 'yes' } }));
		await t.delete('configmaps', undefined, { query: { labelSelector: 'of=case' } });
		await t.get('configmaps', { query: { labelSelector: 'of=case' } });
		await t.delete(validating(t), undefined, { unrecorded: true });
	}),
	define(
		'policy-unreadable',
		'A policy with an invalid expression is refused, and mutating policies are served',
		async (t) => {
			const [unreadable] = policy(t, { validations: [{ expression: 'oldObject.metadata.' }] });
			await t.create(unreadable, { query: { dryRun: 'All' } });
			await t.get('/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies', { show: ({ kind }) => kind });
		},
		{
			differs: [
				{
					real: String.raw`422 Failure 422 Invalid "ValidatingAdmissionPolicy.admissionregistration.k8s.io \"policy-policy-unreadable\" is invalid: spec.validations[0].expression: Invalid value: \"oldObject.metadata.\": compilation failed: ERROR: <input>:1:20: Syntax error: no viable alternative at input '.'\n | oldObject.metadata.\n | ...................^" {group=admissionregistration.k8s.io kind=ValidatingAdmissionPolicy name=policy-policy-unreadable}`,
					sandbox: '201 ValidatingAdmissionPolicy policy-policy-unreadable generation=1',
					why: parsedLate,
				},
				{
					real: String.raw`cause FieldValueInvalid spec.validations[0].expression "Invalid value: \"oldObject.metadata.\": compilation failed: ERROR: <input>:1:20: Syntax error: no viable alternative at input '.'\n | oldObject.metadata.\n | ...................^"`,
					why: parsedLate,
				},
				{
					real: '200 "MutatingAdmissionPolicyList"',
					sandbox: '404 Failure 404 NotFound "the server could not find the requested resource"',
					why: 'the sandbox has no MutatingAdmissionPolicies: a teardown changes nothing that they could mutate',
				},
			],
		},
	),
	define('webhook-side-effects', '§6.1 A webhook must have no side effects, at least on a dry run', async (t) => {
		await t.create(webhook(t, 'Validating', { sideEffects: 'Some' }));
		await t.create(webhook(t, 'Validating', { sideEffects: 'NoneOnDryRun' }), {
			fields: ['webhooks[0].matchPolicy', 'webhooks[0].sideEffects'],
		});
		await t.delete(validating(t), undefined, { unrecorded: true });
	}),
	define(
		'apiservice-not-found',
		'§3 X6 §8 R-S3 An APIService without its Service is unavailable and answers 503',
		async (t) => {
			const group = `${t.ns}.example.com`;
			await t.create(apiService(group, { name: 'none', namespace: t.ns }));
			await t.until(`apiservices/v1.${group}`, 'is not Available', (one) => available(one)?.status === 'False', {
				show: availability,
			});
			await t.eventually('503', 'GET', `/apis/${group}/v1/things`, ({ status }) => status === 503);
			await t.get(`/apis/${group}/v1/things`);
			await t.delete(`apiservices/v1.${group}`);
		},
		{ alone: true },
	),
	define(
		'apiservice-no-endpoints',
		'§3 X6 §8 R-S3 An APIService is unavailable if its Service selects no Pod, or has no selector',
		async (t) => {
			const [one, two] = [`a.${t.ns}.example.com`, `b.${t.ns}.example.com`];
			await t.create(service('empty', { ports: [{ port: 443 }] }), { unrecorded: true });
			await t.create(service('bare', { selector: undefined, ports: [{ port: 443 }] }), { unrecorded: true });
			await t.until('endpointslices', 'there is one', (all) => all.length === 1, { unrecorded: true });
			await t.create(apiService(one, { name: 'empty', namespace: t.ns }), { unrecorded: true });
			await t.create(apiService(two, { name: 'bare', namespace: t.ns }), { unrecorded: true });
			await t.until(`apiservices/v1.${one}`, 'is not Available', (each) => available(each)?.status === 'False', {
				show: availability,
			});
			await t.until(`apiservices/v1.${two}`, 'is not Available', (each) => available(each)?.status === 'False', {
				show: availability,
			});
			for (const group of [one, two]) await t.delete(`apiservices/v1.${group}`, undefined, { unrecorded: true });
		},
		{ alone: true },
	),
	define(
		'apiservice-wrong-port',
		'§3 X6 An APIService is unavailable if its Service lacks the port, or its endpoint lacks the named port',
		async (t) => {
			const [one, two] = [`a.${t.ns}.example.com`, `b.${t.ns}.example.com`];
			await t.create(service('web', { ports: [{ port: 8443, name: 'secure' }] }), { unrecorded: true });
			await t.until('endpointslices', 'there is one', (all) => all.length === 1, { unrecorded: true });
			await t.create(apiService(one, { name: 'web', namespace: t.ns }), { unrecorded: true });
			await t.create(apiService(two, { name: 'web', namespace: t.ns, port: 8443 }), { unrecorded: true });
			for (const group of [one, two]) {
				await t.until(`apiservices/v1.${group}`, 'is not Available', (each) => available(each)?.status === 'False', {
					show: availability,
				});
				await t.delete(`apiservices/v1.${group}`, undefined, { unrecorded: true });
			}
		},
		{ alone: true },
	),
	define(
		'apiservice-silent',
		'§3 X6 An APIService whose endpoint does not answer fails the discovery check',
		async (t) => {
			const group = `${t.ns}.example.com`;
			await t.create(service('silent', { selector: undefined, ports: [{ port: 443 }] }), { unrecorded: true });
			await t.create(
				{
					apiVersion: 'discovery.k8s.io/v1',
					kind: 'EndpointSlice',
					metadata: { name: 'silent', labels: { 'kubernetes.io/service-name': 'silent' } },
					addressType: 'IPv4',
					ports: [{ name: '', port: 443 }],
					// An address reserved for documentation (RFC 5737).
					endpoints: [{ addresses: ['192.0.2.1'], conditions: { ready: true } }],
				},
				{ unrecorded: true },
			);
			await t.create(apiService(group, { name: 'silent', namespace: t.ns }), { unrecorded: true });
			const judged = ['FailedDiscoveryCheck', 'Passed'];
			await t.until(`apiservices/v1.${group}`, 'has been probed', (one) => judged.includes(available(one)?.reason), {
				within: longTimeout,
				show: (one) => [available(one).status, available(one).reason],
			});
			await t.delete(`apiservices/v1.${group}`, undefined, { unrecorded: true });
		},
		{ alone: true },
	),
	define(
		'apiservice-stale',
		'§2.5 An unavailable APIService is stale in aggregated discovery',
		async (t) => {
			const group = `${t.ns}.example.com`;
			await t.create(apiService(group, { name: 'none', namespace: t.ns }), { unrecorded: true });
			await t.until(`apiservices/v1.${group}`, 'is not Available', (one) => available(one)?.status === 'False', {
				unrecorded: true,
			});
			const versions = (/** @type {any} */ { body }) =>
				body.items.find((/** @type {any} */ { metadata }) => metadata.name === group)?.versions;
			const stale = (/** @type {any} */ answer) =>
				versions(answer)?.some((/** @type {any} */ { freshness }) => freshness === 'Stale');
			t.note('in discovery', versions(await t.eventually('stale', 'GET', '/apis', stale, { headers: discovery })));
			await t.delete(`apiservices/v1.${group}`, undefined, { unrecorded: true });
		},
		{ alone: true },
	),
	define(
		'apiservice-holds-namespace',
		'§3 N1 §8 R-S3 An unavailable API holds every namespace, although its content is deleted',
		async (t) => {
			const group = `${t.ns}.example.com`;
			await t.create(apiService(group, { name: 'none', namespace: t.ns }), { unrecorded: true });
			await t.until(`apiservices/v1.${group}`, 'is not Available', (one) => available(one)?.status === 'False', {
				unrecorded: true,
			});
			const other = await t.namespace(t.name('n'));
			await t.post(`/api/v1/namespaces/${other}/configmaps`, configMap('a'));
			await t.delete(`namespaces/${other}`);
			await t.until(
				`namespaces/${other}`,
				'reports DiscoveryFailed',
				(ns) => hasCondition(ns, 'NamespaceDeletionDiscoveryFailure', 'True'),
				{
					show: conditions,
				},
			);
			await t.gone(`/api/v1/namespaces/${other}/configmaps/a`);
			await t.get(`namespaces/${other}`, { fields: ['spec.finalizers'] });
			await t.delete(`apiservices/v1.${group}`);
			await t.until(`namespaces/${other}`, 'is gone', (ns) => !ns, { within: longTimeout });
		},
		{ alone: true },
	),
	define(
		'apiservice-holds-pods-first',
		'§3 N1 N5 An unavailable API and a remaining Pod both hold the namespace',
		async (t) => {
			const group = `${t.ns}.example.com`;
			await t.create(apiService(group, { name: 'none', namespace: t.ns }), { unrecorded: true });
			await t.until(`apiservices/v1.${group}`, 'is not Available', (one) => available(one)?.status === 'False', {
				unrecorded: true,
			});
			await t.create(unplacedPod('p', { finalizers: ['example.com/x'] }));
			await t.create(configMap('a'));
			await t.delete(`namespaces/${t.ns}`);
			await t.until(
				`namespaces/${t.ns}`,
				'reports DiscoveryFailed',
				(ns) => hasCondition(ns, 'NamespaceDeletionDiscoveryFailure', 'True'),
				{ fields: ['status.conditions'] },
			);
			await t.get('configmaps/a');
			await t.delete(`apiservices/v1.${group}`, undefined, { unrecorded: true });
			await t.patch('pods/p', 'merge', { metadata: { finalizers: null } }, { unrecorded: true });
			await t.until(`namespaces/${t.ns}`, 'is gone', (ns) => !ns, { within: longTimeout });
		},
		{ alone: true },
	),
	define(
		'apiservice-does-not-hold-collector',
		'§3 G4 An unavailable API does not stop the garbage collector for known kinds',
		async (t) => {
			const group = `${t.ns}.example.com`;
			await t.create(service('empty', { ports: [{ port: 443 }] }), { unrecorded: true });
			await t.until('endpointslices', 'there is one', (all) => all.length === 1, { unrecorded: true });
			await t.create(apiService(group, { name: 'empty', namespace: t.ns }), { unrecorded: true });
			await t.until(`apiservices/v1.${group}`, 'is not Available', (one) => available(one)?.status === 'False', {
				show: availability,
			});
			for (const policy of ['Background', 'Foreground']) {
				const { body } = await t.create(configMap('parent'));
				await t.create(configMap('child', ownedBy(body, { blockOwnerDeletion: true })));
				await t.delete('configmaps/parent', { propagationPolicy: policy });
				await t.gone('configmaps/child', 'configmaps/parent');
			}
			await t.delete(`apiservices/v1.${group}`, undefined, { unrecorded: true });
		},
		{ alone: true },
	),
	define('apiservice-local', '§3 X6 An APIService of the API server itself is Available with reason Local', async (t) => {
		await t.get('apiservices/v1.apps', { show: availability });
		await t.get('apiservices/v1.', { show: availability });
	}),
];
