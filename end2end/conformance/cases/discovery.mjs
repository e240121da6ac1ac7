/**
 * Discovery: groups, versions and kinds with their verbs.
 */
import { define } from '../suite.mjs';

/** @typedef {import('../test-context.mjs').TestContext} TestContext */

const aggregated = { accept: 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList' };
const beta = { accept: 'application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList' };

/** The groups of a new server. Cases that run at the same time add others. */
const groups = [
	'apps',
	'batch',
	'autoscaling',
	'policy',
	'events.k8s.io',
	'networking.k8s.io',
	'storage.k8s.io',
	'rbac.authorization.k8s.io',
	'apiextensions.k8s.io',
	'apiregistration.k8s.io',
	'admissionregistration.k8s.io',
	'certificates.k8s.io',
	'coordination.k8s.io',
	'discovery.k8s.io',
	'authorization.k8s.io',
	'authentication.k8s.io',
	'resource.k8s.io',
	'scheduling.k8s.io',
	'node.k8s.io',
	'flowcontrol.apiserver.k8s.io',
];

/** @param {any[]} resources */
const byName = (resources) => [...resources].sort(({ name: one }, { name: other }) => (one < other ? -1 : 1));
/** @param {any} resource of unaggregated discovery */
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
/** @param {any} resource of aggregated discovery */
const one = ({ resource, responseKind, scope, verbs, shortNames, categories, singularResource }) =>
	[
		resource,
		responseKind?.kind,
		singularResource,
		scope,
		[...verbs].sort().join(','),
		shortNames?.join(',') ?? '',
		categories?.join(',') ?? '',
	].join(' ');
/** @param {TestContext} t @param {any[]} resources of aggregated discovery */
function noteResources(t, resources) {
	for (const resource of resources) {
		t.note(resource.resource, one(resource));
		for (const { subresource, responseKind, verbs } of [...(resource.subresources ?? [])].sort(bySubresource)) {
			const name = `${resource.resource}/${subresource}`;
			t.note(name, [name, responseKind?.kind, [...verbs].sort().join(',')].join(' '));
		}
	}
}
/** @param {any} one @param {any} other */
const bySubresource = ({ subresource: one }, { subresource: other }) => (one < other ? -1 : 1);

/**
 * The differences for resources that the sandbox lacks, in one form of discovery.
 * @param {string} why @param {string[]} resources as recorded: the name is the first word
 */
const lacks = (why, ...resources) =>
	resources.flatMap((recorded) => [
		{ real: `NOTE ${recorded.split(' ', 1)[0]}`, why },
		{ real: recorded, why },
	]);
const everything = 'create,delete,deletecollection,get,list,patch,update,watch';
const proxied = 'create,delete,get,patch,update';
const statuses = 'it is deprecated and cannot be deleted';
const relayed = 'it is a proxy to a Pod, and the sandbox has no programs in its Pods';
const resized = 'no controller of the sandbox resizes a running Pod';

/** By the group. @type {Record<string, import('../suite.mjs').IntendedDifference[]>} */
const lacking = {
	autoscaling: [
		{
			real: '[["v2","Current"],["v1","Current"]]',
			sandbox: '[["v2","Current"]]',
			why: 'v1 is an older version of the same kinds, and clients take the preferred version',
		},
	],
	'admissionregistration.k8s.io': lacks(
		'a teardown changes nothing that these policies could mutate',
		`mutatingadmissionpolicies MutatingAdmissionPolicy mutatingadmissionpolicy Cluster ${everything}  api-extensions`,
		`mutatingadmissionpolicybindings MutatingAdmissionPolicyBinding mutatingadmissionpolicybinding Cluster ${everything}  api-extensions`,
	),
	'resource.k8s.io': lacks(
		'the sandbox has no devices; it serves only the claims, because finalizers hold them',
		`deviceclasses DeviceClass deviceclass Cluster ${everything}`,
		`resourceclaimtemplates ResourceClaimTemplate resourceclaimtemplate Namespaced ${everything}`,
		`resourceslices ResourceSlice resourceslice Cluster ${everything}`,
	),
};

export default [
	define(
		'discovery-core',
		'Discovery of core/v1 lists its kinds',
		async (t) => {
			const { body } = await t.get('/api/v1', { show: ({ kind, groupVersion }) => [kind, groupVersion] });
			for (const resource of byName(body.resources)) t.note(resource.name, plain(resource));
		},
		{
			bare: true,
			differs: [
				...lacks(statuses, 'componentstatuses ComponentStatus componentstatus false get,list cs'),
				...lacks(
					relayed,
					`pods/proxy PodProxyOptions  true ${proxied}`,
					`services/proxy ServiceProxyOptions  true ${proxied}`,
				),
				...lacks(resized, 'pods/resize Pod  true get,patch,update'),
			],
		},
	),
	define(
		'discovery-api',
		'Discovery of the core group lists its versions',
		async (t) => {
			await t.get('/api', { show: ({ kind, versions }) => [kind, versions] });
		},
		{ bare: true },
	),
	define(
		'discovery-groups',
		'Discovery lists the groups with their preferred versions',
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
		'Discovery of apps/v1 lists its kinds',
		async (t) => {
			const { body } = await t.get('/apis/apps/v1', { show: ({ kind, groupVersion }) => [kind, groupVersion] });
			for (const resource of byName(body.resources)) t.note(resource.name, plain(resource));
		},
		{ bare: true },
	),
	define(
		'discovery-group',
		'Discovery of one group lists its versions',
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
			`Aggregated discovery lists the versions of ${group} and the kinds of its preferred version`,
			async (t) => {
				const { body } = await t.get('/apis', {
					headers: aggregated,
					show: ({ kind, apiVersion }) => [kind, apiVersion],
				});
				const versions = body.items.find((/** @type {any} */ { metadata }) => metadata.name === group)?.versions ?? [];
				t.note(
					'versions',
					versions.map((/** @type {any} */ { version, freshness }) => [version, freshness]),
				);
				noteResources(t, versions[0]?.resources ?? []);
			},
			{ bare: true, differs: lacking[group] },
		),
	),
	define(
		'discovery-aggregated-core',
		'Aggregated discovery lists the core group',
		async (t) => {
			const { body } = await t.get('/api', { headers: aggregated, show: ({ kind, apiVersion }) => [kind, apiVersion] });
			const [version] = body.items[0].versions;
			noteResources(t, version.resources);
		},
		{
			bare: true,
			differs: [
				...lacks(statuses, 'componentstatuses ComponentStatus componentstatus Cluster get,list cs'),
				...lacks(
					relayed,
					`pods/proxy PodProxyOptions ${proxied}`,
					`services/proxy ServiceProxyOptions ${proxied}`,
				),
				...lacks(resized, 'pods/resize Pod get,patch,update'),
			],
		},
	),
	define(
		'discovery-negotiation',
		'The Accept header selects the form of discovery',
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
		// Definitions of other cases would change the answer.
		{ bare: true, alone: true },
	),
	define(
		'server-version',
		'The version endpoint returns the version of the server',
		async (t) => {
			await t.get('/version', { show: ({ major, minor }) => [major, minor] });
		},
		{ bare: true },
	),
	define(
		'server-health',
		'The health endpoints report a healthy server',
		async (t) => {
			for (const path of ['/healthz', '/livez', '/readyz']) await t.get(path);
		},
		{ bare: true },
	),
];
