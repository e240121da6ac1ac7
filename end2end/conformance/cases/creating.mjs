/**
 * POST: names, defaults, refusals.
 */
import { claim, configMap, deployment, pod, service, unplacedPod } from '../objects.mjs';
import { define } from '../suite.mjs';

/** @param {Record<string, any>} spec */
const quota = (spec) => ({ apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name: 'q' }, spec });
const nowhere = { nodeSelector: { nowhere: 'ever' } };
/** Waits until a quota has counted the existing objects. @param {import('../test-context.mjs').TestContext} t */
const waitUntilCounted = (t, options = {}) =>
	t.until(
		'resourcequotas/q',
		'has been counted',
		(one) => Object.keys(one?.spec.hard ?? { none: 0 }).every((name) => one?.status.used?.[name] !== undefined),
		options,
	);

export default [
	define('create-stamps', 'The server sets UID, creation time and resourceVersion, whatever the client sent', async (t) => {
		const { body } = await t.create(
			configMap('a', {
				uid: 'mine',
				creationTimestamp: '2001-01-01T00:00:00Z',
				generation: 7,
				deletionTimestamp: '2001-01-01T00:00:00Z',
				deletionGracePeriodSeconds: 3,
				selfLink: '/here',
			}),
			{
				show: ({ metadata }) => Object.keys(metadata).sort(),
			},
		);
		t.note('own UID', body.metadata.uid !== 'mine');
		t.note('own time', !body.metadata.creationTimestamp.startsWith('2001'));
	}),
	define('create-with-version', 'POST with a resourceVersion is refused', async (t) => {
		await t.create(configMap('a', { resourceVersion: '5' }));
	}),
	define('create-twice', 'POST of an existing name is a conflict', async (t) => {
		await t.create(configMap('a'));
		await t.create(configMap('a'));
	}),
	define('create-generate-name', 'generateName is completed with five characters', async (t) => {
		const { body } = await t.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { generateName: 'some-' } });
		t.note('five', /^some-[bcdfghjklmnpqrstvwxz2456789]{5}$/.test(body.metadata.name));
		await t.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { generateName: 'x-', name: 'named' } });
		await t
			.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { generateName: 'Not-' } }, { show: () => 'made' })
			.then(() => t.amend((line) => line.replaceAll(/Not-\w{5}/g, 'Not-…')));
	}),
	define('create-no-name', 'POST without a name is refused', async (t) => {
		await t.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: {} });
		await t.create({ apiVersion: 'v1', kind: 'ConfigMap' });
	}),
	define('create-invalid-names', 'Names have to be DNS subdomains or labels, by kind', async (t) => {
		await t.create(configMap('Upper'));
		await t.create(configMap('a_b'));
		await t.create(configMap('-a'));
		await t.create(service('1-starts-with-digit'));
		await t.create(service('a.b'));
		await t.create(deployment('Web'));
		await t.create(unplacedPod('p.'));
	}),
	define('create-invalid-labels', 'Invalid keys and values of labels and annotations are refused', async (t) => {
		await t.create(configMap('a', { labels: { 'not a key': 'v' } }));
		await t.create(configMap('a', { labels: { key: 'not a value' } }));
		await t.create(configMap('a', { annotations: { 'not a key': 'any value at all' } }));
	}),
	define('create-wrong-kind', 'A body of another kind than the path is refused', async (t) => {
		await t.post('configmaps', unplacedPod('p'));
		await t.post('configmaps', { apiVersion: 'v2', kind: 'ConfigMap', metadata: { name: 'a' } });
		await t.post('configmaps', { apiVersion: 'v1', kind: 'Gadget', metadata: { name: 'a' } });
		await t.post('configmaps', { metadata: { name: 'a' } });
		await t.post('/api/v1/gadgets', { apiVersion: 'v1', kind: 'Gadget' });
	}),
	define('create-dry-run', 'A dry run of POST stores nothing', async (t) => {
		const { body } = await t.create(configMap('a'), { query: { dryRun: 'All' } });
		t.note('has a UID', Boolean(body.metadata.uid));
		t.note('has no revision', body.metadata.resourceVersion === undefined);
		await t.get('configmaps/a');
		await t.create(configMap('a'), { query: { dryRun: 'Some' } });
	}),
	define('create-generation', 'Some kinds start with generation 1, others have none', async (t) => {
		await t.create(configMap('a'));
		await t.create(service('s'));
		await t.create(deployment('d', { replicas: 0 }));
		await t.create({
			apiVersion: 'networking.k8s.io/v1',
			kind: 'NetworkPolicy',
			metadata: { name: 'n' },
			spec: { podSelector: {} },
		});
		await t.create({
			apiVersion: 'networking.k8s.io/v1',
			kind: 'Ingress',
			metadata: { name: 'i' },
			spec: { defaultBackend: { service: { name: 's', port: { number: 80 } } } },
		});
		await t.create(
			{ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'x' }, stringData: { k: 'v' } },
			{ fields: ['type', 'data', 'stringData'] },
		);
		await t.create({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'x' } });
	}),
	define('create-status-ignored', 'The status in a POST is ignored', async (t) => {
		await t.create({ ...deployment('web', { replicas: 0 }), status: { replicas: 9 } }, { fields: ['status'] });
	}),
	define('create-defaults', 'The server fills in defaults', async (t) => {
		await t.create(deployment('web', { replicas: 0 }), {
			fields: ['spec.revisionHistoryLimit', 'spec.progressDeadlineSeconds', 'spec.strategy', 'spec.template.spec'],
		});
		await t.create(service('s'), {
			fields: ['spec.type', 'spec.ports', 'spec.internalTrafficPolicy', 'spec.ipFamilyPolicy'],
		});
	}),
	define(
		'create-unknown-field',
		'Unknown fields are dropped, reported in a warning, or refused',
		async (t) => {
			const odd = { ...configMap('a'), colour: 'red' };
			const warned = await t.create(odd, { query: { dryRun: 'All' } });
			t.note('warning', warned.headers.warning ?? 'none');
			await t.create(odd, { query: { fieldValidation: 'Strict' } });
			await t.create(odd, { query: { fieldValidation: 'Ignore' }, fields: ['colour'] });
			await t.create(odd, { query: { fieldValidation: 'Maybe' } });
		},
		{
			differs: [
				{
					real: String.raw`299 - "unknown field \"colour\""`,
					sandbox: 'none',
					why: 'the sandbox knows the fields of few kinds, so it warns about none',
				},
			],
		},
	),
	define('create-in-all-namespaces', 'POST of a namespaced object to the cluster-wide path is refused', async (t) => {
		await t.post('/api/v1/configmaps', configMap('a'));
		await t.post('configmaps/a', configMap('a'));
		await t.post(`/api/v1/namespaces/${t.ns}/persistentvolumes`, {
			apiVersion: 'v1',
			kind: 'PersistentVolume',
			metadata: { name: 'x' },
		});
	}),
	define('create-long-name', 'A name has at most 253 characters, a label at most 63', async (t) => {
		await t.create(configMap('a'.repeat(254)));
		await t.create(service('a'.repeat(64)));
	}),
	define('create-secret-types', 'Secrets of some types need their keys', async (t) => {
		await t.create({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'tls' }, type: 'kubernetes.io/tls' });
		await t.create({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'odd' }, data: { k: 'not base64!' } });
	}),
	define('create-immutable', 'An immutable ConfigMap can be deleted but not changed', async (t) => {
		await t.create(configMap('a', {}, { immutable: true, data: { k: 'v' } }));
		await t.patch('configmaps/a', 'merge', { data: { k: 'w' } });
		await t.patch('configmaps/a', 'merge', { immutable: false });
		await t.patch('configmaps/a', 'merge', { metadata: { labels: { a: 'b' } } });
		await t.delete('configmaps/a');
	}),
	define('create-quota', '§3 G10 A quota refuses a POST that exceeds it, and never a DELETE', async (t) => {
		await t.create({
			apiVersion: 'v1',
			kind: 'ResourceQuota',
			metadata: { name: 'q' },
			spec: { hard: { 'count/services': '1' } },
		});
		await t.until(
			'resourcequotas/q',
			'has been counted',
			(one) => one?.status?.hard?.['count/services'] === '1' && one.status.used?.['count/services'] === '0',
			{ fields: ['status'] },
		);
		await t.create(service('one'));
		await t.create(service('two'));
		await t.delete('services/one', undefined, { unrecorded: true });
	}),
	define('create-quota-compute', 'A quota on compute sums the requests and limits of containers, and requires them', async (t) => {
		await t.create(quota({ hard: { 'requests.cpu': '1.50', 'limits.memory': '1024Mi', pods: '3' } }));
		await waitUntilCounted(t, { fields: ['spec', 'status'] });
		const asks = (/** @type {string} */ name, /** @type {Record<string, any>} */ resources) =>
			pod(name, {}, { ...nowhere, containers: [{ name: 'c', image: 'example.com/c', resources }] });
		const limits = { cpu: '1000m', memory: '512Mi' };
		await t.create(asks('one', { limits }), { fields: ['spec.containers.0.resources', 'status.qosClass'] });
		await t.get('resourcequotas/q', { fields: ['status'] });
		await t.create(asks('two', { limits }));
		await t.create(asks('three', { limits: { memory: '600Mi' }, requests: { cpu: 1 } }));
		await t.create(unplacedPod('four'));
		await t.create(asks('five', { requests: { cpu: 'much' } }));
		await t.get('resourcequotas/q', { fields: ['status.used'] });
		await t.delete('pods/one', undefined, { unrecorded: true });
		await t.until('resourcequotas/q', 'has no Pods', (one) => one?.status.used.pods === '0', { fields: ['status.used'] });
	}),
	define('create-quota-scopes', 'A quota with scopes applies to the matching Pods only', async (t) => {
		await t.create(quota({ hard: { pods: '0' }, scopes: ['BestEffort', 'NotTerminating'] }));
		await waitUntilCounted(t);
		await t.create(unplacedPod('lasting'));
		await t.create(pod('ending', {}, { ...nowhere, activeDeadlineSeconds: 60 }));
		await t.create(configMap('a'));
	}),
	define('create-quota-pod-level', 'A quota charges the resources of a Pod at Pod level', async (t) => {
		await t.create(quota({ hard: { 'requests.cpu': '6', 'limits.memory': '4Gi' } }));
		await waitUntilCounted(t);
		const asks = (/** @type {string} */ name, /** @type {Record<string, any>} */ resources, own = {}) =>
			pod(name, {}, { ...nowhere, containers: [{ name: 'c', image: 'example.com/c', resources: own }], resources });
		const fields = ['spec.resources', 'status.qosClass'];
		await t.create(asks('whole', { requests: { cpu: '1500m' } }), { fields });
		await t.create(asks('most', { limits: { cpu: '2', memory: '1Gi' } }), { fields });
		await t.create(asks('both', { limits: { cpu: '2', memory: '1Gi' } }, { requests: { cpu: '500m' } }), { fields });
		await t.create(asks('much', { requests: { cpu: '3' } }), { fields });
		await t.get('resourcequotas/q', { fields: ['status.used'] });
	}),
	define('create-quota-attributes-class', 'A quota can apply to the claims of one VolumeAttributesClass', async (t) => {
		const scopeName = 'VolumeAttributesClass';
		const matchExpressions = [{ scopeName, operator: 'In', values: ['gold'] }];
		await t.create(quota({ hard: { persistentvolumeclaims: '0' }, scopeSelector: { matchExpressions } }), {
			fields: ['spec'],
		});
		await waitUntilCounted(t, { fields: ['status'] });
		await t.create(claim('plain', 'nothing'));
		await t.create(claim('gold', 'nothing', {}, { volumeAttributesClassName: 'gold' }));
	}),
	define('create-quota-affinity', 'A quota can apply to Pods whose affinity reaches other namespaces', async (t) => {
		const matchExpressions = [{ scopeName: 'CrossNamespacePodAffinity', operator: 'Exists' }];
		await t.create(quota({ hard: { pods: '0' }, scopeSelector: { matchExpressions } }));
		await waitUntilCounted(t);
		const near = (/** @type {string} */ name, /** @type {Record<string, any>} */ term) => {
			const whole = { topologyKey: 'kubernetes.io/hostname', labelSelector: {}, ...term };
			const podAffinity = { requiredDuringSchedulingIgnoredDuringExecution: [whole] };
			const preferred = [{ weight: 1, podAffinityTerm: whole }];
			const podAntiAffinity = { preferredDuringSchedulingIgnoredDuringExecution: preferred };
			return pod(name, {}, { ...nowhere, affinity: name.startsWith('not') ? { podAntiAffinity } : { podAffinity } });
		};
		await t.create(near('here', {}));
		await t.create(near('named', { namespaces: ['other'] }));
		await t.create(near('not-selected', { namespaceSelector: {} }));
	}),
	define('create-quota-twice', 'A POST that is refused for an existing name is still charged', async (t) => {
		// A controller creates one in every new namespace.
		await t.eventually('it is there', 'GET', 'configmaps/kube-root-ca.crt', ({ status }) => status === 200);
		await t.create(quota({ hard: { configmaps: '9' } }));
		await waitUntilCounted(t);
		const used = async () => (await t.get('resourcequotas/q', { unrecorded: true })).body.status.used.configmaps;
		const before = Number(await used());
		await t.create(configMap('a'));
		await t.create(configMap('a'));
		t.note('charged', Number(await used()) - before);
		await t.create(configMap('b'), { query: { dryRun: 'All' } });
		t.note('charged', Number(await used()) - before);
	}),
	define('create-quota-invalid', 'A quota with invalid resources or scopes is refused', async (t) => {
		await t.create(quota({ hard: { things: '1' } }));
		await t.create(quota({ hard: { pods: '-1' } }));
		await t.create(quota({ hard: { pods: '500m' } }));
		await t.create(quota({ hard: { pods: 'one' } }));
		await t.create(quota({ hard: { cpu: '1' }, scopes: ['BestEffort'] }));
		await t.create(quota({ hard: { pods: '1' }, scopes: ['BestEffort', 'NotBestEffort'] }));
		await t.create(quota({ hard: { pods: '1' }, scopes: ['Good'] }));
		await t.create(quota({ hard: { pods: '1' } }), { unrecorded: true });
		await t.patch('resourcequotas/q', 'merge', { spec: { scopes: ['BestEffort'] } });
	}),
	define('create-pod-binds-at-once', 'A Pod that is created with a nodeName is bound to that node', async (t) => {
		await t.create(pod('p', {}, { nodeName: 'node-c' }), { fields: ['spec.nodeName', 'status.phase'] });
		await t.until('pods/p', 'runs', (one) => one?.status.phase === 'Running', {
			fields: ['spec.nodeName', 'status.conditions'],
		});
	}),
];
