/**
 * Other objects that are protected while they are used: ServiceCIDRs and ResourceClaims. Any Service may get its address from a
 * range that is ready, so those cases run alone.
 */
import { condition } from '../conditions.mjs';
import { pod } from '../objects.mjs';
import { define } from '../suite.mjs';

/** @typedef {import('../test-context.mjs').TestContext} TestContext */

/** @param {string} name @param {string} cidr */
const range = (name, cidr) => ({
	apiVersion: 'networking.k8s.io/v1',
	kind: 'ServiceCIDR',
	metadata: { name },
	spec: { cidrs: [cidr] },
});

/** An IPAddress like the one that the API server creates for each Service. @param {TestContext} t @param {string} name */
const address = (t, name) => ({
	apiVersion: 'networking.k8s.io/v1',
	kind: 'IPAddress',
	metadata: {
		name,
		labels: { 'ipaddress.kubernetes.io/managed-by': 'ipallocator.k8s.io', 'ipaddress.kubernetes.io/ip-family': 'IPv4' },
	},
	spec: { parentRef: { resource: 'services', namespace: t.ns, name: 's' } },
});

/** @param {any} one */
const ready = (one) => condition(one, 'Ready');
/** @param {any} one */
const readiness = (one) => [one.metadata.finalizers, ready(one)?.status, ready(one)?.reason, ready(one)?.message];

/** Runs an action while an address is used, and releases it in any case. @param {TestContext} t @param {string} name @param {() => Promise<void>} action */
async function using(t, name, action) {
	await t.create(address(t, name));
	try {
		await action();
	} finally {
		await t.delete(`ipaddresses/${name}`);
	}
}

/** Waits until a range is ready. @param {TestContext} t @param {string} path */
const waitUntilReady = (t, path) => t.until(path, 'is ready', (one) => ready(one)?.status === 'True', { show: readiness });

const protection = 'resource.kubernetes.io/delete-protection';
/** @param {string} name */
const claim = (name) => ({
	apiVersion: 'resource.k8s.io/v1',
	kind: 'ResourceClaim',
	metadata: { name },
	spec: { devices: { requests: [{ name: 'one', exactly: { deviceClassName: 'gpu' } }] } },
});
/** Writes the allocation that the scheduler would write for a Pod. @param {TestContext} t @param {any} [pod] */
async function allocate(t, pod) {
	await t.patch('resourceclaims/c', 'merge', { metadata: { finalizers: [protection] } }, { unrecorded: true });
	const results = [{ request: 'one', driver: 'gpu.example.com', pool: 'node-a', device: 'gpu-0' }];
	const reservedFor = pod && [{ resource: 'pods', name: pod.metadata.name, uid: pod.metadata.uid }];
	await t.patch(
		'resourceclaims/c/status',
		'merge',
		{ status: { allocation: { devices: { results } }, reservedFor } },
		{ fields: ['status'] },
	);
}

export default [
	define(
		'address-range-unused',
		'§3 V11 A ServiceCIDR is protected, and goes if none of its addresses is used',
		async (t) => {
			const path = `servicecidrs/${t.name('range')}`;
			await t.create(range(t.name('range'), '10.21.0.0/24'));
			await waitUntilReady(t, path);
			await t.delete(path);
			await t.gone(path);
		},
		{ alone: true },
	),
	define(
		'address-range-in-use',
		'§3 V11 A ServiceCIDR stays while one of its addresses is used, and a condition reports it',
		async (t) => {
			const path = `servicecidrs/${t.name('range')}`;
			await t.create(range(t.name('range'), '10.22.0.0/24'));
			await waitUntilReady(t, path);
			await using(t, '10.22.0.7', async () => {
				await t.delete(path);
				await t.until(path, 'reports the reason', (one) => ready(one)?.status === 'False', { show: readiness });
			});
			await t.gone(path);
		},
		{ alone: true },
	),
	define(
		'address-range-covered',
		'§3 V11 A ServiceCIDR goes if another one contains its addresses',
		async (t) => {
			const [path, wider] = [`servicecidrs/${t.name('range')}`, `servicecidrs/${t.name('wider')}`];
			await t.create(range(t.name('range'), '10.23.4.0/24'));
			await t.create(range(t.name('wider'), '10.23.0.0/16'));
			await waitUntilReady(t, path);
			await waitUntilReady(t, wider);
			await using(t, '10.23.4.7', async () => {
				await t.delete(path);
				await t.gone(path);
				await t.delete(wider);
				await t.until(wider, 'reports the reason', (one) => ready(one)?.status === 'False', { show: readiness });
			});
			await t.gone(wider);
		},
		{ alone: true },
	),
	define(
		'address-range-invalid',
		'A ServiceCIDR needs valid ranges, which are immutable',
		async (t) => {
			const path = `servicecidrs/${t.name('range')}`;
			await t.create({ ...range(t.name('range'), 'x'), spec: {} });
			await t.create(range(t.name('range'), 'x'));
			await t.create(range(t.name('range'), '10.24.0.1/24'));
			await t.create({
				...range(t.name('range'), 'x'),
				spec: { cidrs: ['10.24.0.0/24', '10.25.0.0/24', '10.26.0.0/24'] },
			});
			await t.create(range(t.name('range'), '10.24.0.0/24'));
			await t.patch(path, 'merge', { spec: { cidrs: ['10.25.0.0/24'] } });
			await t.create(address(t, 'x'));
			await t.delete(path, undefined, { unrecorded: true });
			await t.gone(path);
		},
		{ alone: true },
	),
	define('device-claim-unused', '§3 V11 A ResourceClaim without an allocation goes at once', async (t) => {
		await t.create(claim('c'));
		await t.delete('resourceclaims/c');
		await t.get('resourceclaims/c');
	}),
	define('device-claim-reserved', '§3 V11 A ResourceClaim stays while a Pod has its device, and goes after the Pod', async (t) => {
		await t.create(claim('c'), { unrecorded: true });
		const { body } = await t.create(
			pod('p', {}, { nodeSelector: { nowhere: 'ever' }, resourceClaims: [{ name: 'one', resourceClaimName: 'c' }] }),
			{ unrecorded: true },
		);
		await allocate(t, body);
		await t.delete('resourceclaims/c');
		await t.get('resourceclaims/c', { fields: ['status.reservedFor'] });
		await t.delete('pods/p');
		await t.gone('resourceclaims/c');
	}),
	define('device-claim-given-back', '§3 V11 A ResourceClaim with an allocation but without a Pod goes when it is deleted', async (t) => {
		await t.create(claim('c'), { unrecorded: true });
		await allocate(t);
		await t.delete('resourceclaims/c');
		await t.gone('resourceclaims/c');
	}),
];
