/**
 * Discovery: which groups, versions and kinds there are, and what can be done with them.
 */
import { define } from '../suite.mjs';

const aggregated = { accept: 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList' };
const beta = { accept: 'application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList' };

/** What a teardown meets. */
const groups = [
	'apps',
	'batch',
	'autoscaling',
	'policy',
	'networking.k8s.io',
	'storage.k8s.io',
	'rbac.authorization.k8s.io',
	'apiextensions.k8s.io',
	'apiregistration.k8s.io',
	'admissionregistration.k8s.io',
	'coordination.k8s.io',
	'discovery.k8s.io',
	'authorization.k8s.io',
	'authentication.k8s.io',
	'resource.k8s.io',
];
const core = [
	'configmaps',
	'endpoints',
	'events',
	'namespaces',
	'nodes',
	'persistentvolumeclaims',
	'persistentvolumes',
	'pods',
	'replicationcontrollers',
	'resourcequotas',
	'secrets',
	'serviceaccounts',
	'services',
];
/** Of these resources the sandbox has no use: no application is made of them. */
const left =
	/componentstatuses|podtemplates|limitranges|bindings|attach|exec|portforward|proxy|ephemeralcontainers|resize|token/;

/** @param {any[]} resources */
const byName = (resources) => [...resources].sort(({ name: one }, { name: other }) => (one < other ? -1 : 1));
/** @param {any} resource as plain discovery tells it */
const plain = ({ name, kind, namespaced, verbs, shortNames, categories, singularName }) =>
	[
		name,
		kind,
		singularName,
		namespaced,
		[...verbs].sort().join(','),
		shortNames?.join(',') ?? '',
		categories?.join(',') ?? '',
	].join(' ');
/** @param {any} resource as aggregated discovery tells it */
const one = ({ resource, responseKind, scope, verbs, shortNames, categories, singularResource, subresources }) =>
	[
		resource,
		responseKind?.kind,
		singularResource,
		scope,
		[...verbs].sort().join(','),
		shortNames?.join(',') ?? '',
		categories?.join(',') ?? '',
		(subresources ?? [])
			.map(
				(/** @type {any} */ { subresource, responseKind, verbs }) =>
					`${subresource}:${responseKind?.kind}:${[...verbs].sort().join(',')}`,
			)
			.sort()
			.join(' '),
	].join(' ');

export default [
	define(
		'discovery-core',
		'The kinds of core/v1',
		async (t) => {
			const { body } = await t.get('/api/v1', { show: ({ kind, groupVersion }) => [kind, groupVersion] });
			for (const resource of byName(body.resources).filter(
				(/** @type {any} */ { name }) => core.includes(name.split('/')[0]) && !left.test(name),
			))
				t.note(resource.name, plain(resource));
		},
		{ bare: true },
	),
	define(
		'discovery-api',
		'The versions of the core',
		async (t) => {
			await t.get('/api', { show: ({ kind, versions }) => [kind, versions] });
		},
		{ bare: true },
	),
	define(
		'discovery-groups',
		'The groups and which of their versions they prefer',
		async (t) => {
			await t.get('/apis', {
				show: ({ kind, groups: all }) => [
					kind,
					all
						.filter((/** @type {any} */ { name }) => groups.includes(name))
						.map((/** @type {any} */ { name, preferredVersion }) => [name, preferredVersion.groupVersion])
						.sort(),
				],
			});
		},
		{ bare: true },
	),
	define(
		'discovery-apps',
		'The kinds of apps/v1',
		async (t) => {
			const { body } = await t.get('/apis/apps/v1', { show: ({ kind, groupVersion }) => [kind, groupVersion] });
			for (const resource of byName(body.resources)) t.note(resource.name, plain(resource));
		},
		{ bare: true },
	),
	define(
		'discovery-group',
		'One group and its versions',
		async (t) => {
			await t.get('/apis/apps', {
				show: ({ kind, name, versions, preferredVersion }) => [kind, name, versions, preferredVersion],
			});
			await t.get('/apis/nowhere.example.com');
			await t.get('/apis/nowhere.example.com/v1');
			await t.get('/apis/apps/v9');
		},
		{ bare: true },
	),
	...groups.map((group) =>
		define(
			`discovery-aggregated-${group.split('.')[0]}`,
			`Aggregated discovery of ${group}, in the version it prefers`,
			async (t) => {
				const { body } = await t.get('/apis', {
					headers: aggregated,
					show: ({ kind, apiVersion }) => [kind, apiVersion],
				});
				const [version] = body.items.find((/** @type {any} */ { metadata }) => metadata.name === group)?.versions ?? [];
				t.note(version?.version, version?.freshness);
				for (const resource of version?.resources ?? [])
					if (wanted(group, resource.resource)) t.note(resource.resource, one(resource));
			},
			{ bare: true },
		),
	),
	define(
		'discovery-aggregated-core',
		'Aggregated discovery of the core',
		async (t) => {
			const { body } = await t.get('/api', { headers: aggregated, show: ({ kind, apiVersion }) => [kind, apiVersion] });
			const [version] = body.items[0].versions;
			for (const resource of version.resources.filter((/** @type {any} */ { resource }) => core.includes(resource)))
				t.note(
					resource.resource,
					one({
						...resource,
						subresources: resource.subresources?.filter(
							(/** @type {any} */ { subresource }) => !left.test(subresource),
						),
					}),
				);
		},
		{ bare: true },
	),
	define(
		'discovery-negotiation',
		'Which form of discovery is answered',
		async (t) => {
			const show = (/** @type {any} */ { kind, apiVersion }) => [kind, apiVersion];
			await t.get('/apis', { headers: beta, show });
			await t.get('/apis', { headers: { accept: `${aggregated.accept},${beta.accept},application/json` }, show });
			await t.get('/apis', { headers: { accept: 'application/json' }, show });
			const { headers } = await t.get('/apis', { headers: aggregated, show });
			t.note('type', headers['content-type']);
			t.note('etag', headers.etag ? 'there is one' : 'none');
			const again = await t.get('/apis', {
				headers: { ...aggregated, 'if-none-match': headers.etag ?? '' },
				show: () => '',
			});
			t.note('again', again.status === 304 || again.status === 200);
		},
		// What other cases define meanwhile would be another discovery.
		{ bare: true, alone: true },
	),
	define(
		'server-version',
		'The version of the server',
		async (t) => {
			await t.get('/version', { show: ({ major, minor }) => [major, minor] });
		},
		{ bare: true },
	),
	define(
		'server-health',
		'Whether the server is well',
		async (t) => {
			for (const path of ['/healthz', '/livez', '/readyz']) await t.get(path);
		},
		{ bare: true },
	),
];

/** @param {string} group @param {string} resource */
function wanted(group, resource) {
	/** @type {Record<string, string[]>} */
	const few = {
		'storage.k8s.io': ['storageclasses', 'volumeattachments', 'csidrivers', 'csinodes'],
		'networking.k8s.io': ['networkpolicies', 'ingresses', 'ingressclasses', 'ipaddresses', 'servicecidrs'],
		'resource.k8s.io': ['resourceclaims'],
		'admissionregistration.k8s.io': ['validatingwebhookconfigurations', 'mutatingwebhookconfigurations'],
		'authorization.k8s.io': ['selfsubjectaccessreviews', 'subjectaccessreviews', 'selfsubjectrulesreviews'],
		'authentication.k8s.io': ['selfsubjectreviews'],
		'coordination.k8s.io': ['leases'],
	};
	return few[group]?.includes(resource) ?? true;
}
