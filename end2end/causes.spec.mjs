/**
 * Causes that no incident of the sandbox has, each made by requests to its API server: the card in the browser, its way out, and the
 * end.
 */
import { join } from 'node:path';
import { expect, signIn, test } from './fixtures.mjs';
import { Sandbox } from './sandbox.mjs';
import { cardOf, choose, confirm, wayOf } from './story.mjs';
import { Unwind } from './unwind.mjs';

/** @typedef {(method: string, path: string, body?: unknown, headers?: Record<string, string>) => Promise<any>} Send */

const merge = { 'content-type': 'application/merge-patch+json' };
const core = '/api/v1/namespaces/default';

/**
 * A page of all trouble beside the API server of a sandbox. Kubelets are not asked: the machine of one case does not exist.
 * @param {any} visit @param {(page: import('@playwright/test').Page, send: Send, sandbox: Sandbox) => Promise<void>} live
 */
async function trouble(visit, live) {
	const sandbox = await Sandbox.start();
	const unwind = await Unwind.before(['--kubeconfig', sandbox.kubeconfig, '--context', 'admin', '--allow-remedies']);
	try {
		const page = await visit();
		await signIn(page, unwind.link);
		await page.getByRole('link', { name: 'Trouble' }).click();
		await expect(page.getByText('No deletion is in trouble')).toBeVisible();
		const send = async (/** @type {Parameters<Send>} */ ...asked) => {
			const answer = await sandbox.request('admin', ...asked);
			if (answer.status >= 300) throw new Error(`${asked[0]} ${asked[1]}: ${answer.status} ${JSON.stringify(answer.body)}`);
			return answer.body;
		};
		await live(page, send, sandbox);
	} finally {
		await unwind.stop();
		await sandbox.stop();
	}
}

/** Takes a picture of a card, if asked to. @param {import('@playwright/test').Locator} card @param {string} name */
async function picture(card, name) {
	if (process.env.CARDS) await card.screenshot({ path: join(process.env.CARDS, `${name}.png`) });
}

test('object that owns itself goes once it is deleted again in the background', async ({ visit }) => {
	await trouble(visit, async (page, send) => {
		const path = `${core}/configmaps/ring`;
		const { metadata } = await send('POST', `${core}/configmaps`, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'ring' } });
		const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'ring', uid: metadata.uid, blockOwnerDeletion: true };
		await send('PATCH', path, { metadata: { ownerReferences: [owner] } }, merge);
		await send('DELETE', path, { propagationPolicy: 'Foreground' });
		const card = await cardOf(page, /ConfigMap default\/ring is its own owner/);
		await picture(card, 'circle');
		await confirm(await choose(card, /^Delete ConfigMap default\/ring again/));
		await expect(page.getByText('No deletion is in trouble')).toBeVisible({ timeout: 30_000 });
	});
});

test('object that its operator keeps for a dependent goes through that, and its finalizer is not offered', async ({ visit }) => {
	await trouble(visit, async (page, send) => {
		const group = 'ceph.rook.io';
		for (const [kind, plural] of [['CephCluster', 'cephclusters'], ['CephBlockPool', 'cephblockpools']]) {
			const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
			await send('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
				apiVersion: 'apiextensions.k8s.io/v1',
				kind: 'CustomResourceDefinition',
				metadata: { name: `${plural}.${group}` },
				spec: {
					group,
					scope: 'Namespaced',
					names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
					versions: [{ name: 'v1', served: true, storage: true, schema, subresources: { status: {} } }],
				},
			});
		}
		const path = `/apis/${group}/v1/namespaces/default`;
		const cluster = { apiVersion: `${group}/v1`, kind: 'CephCluster', metadata: { name: 'ceph', finalizers: [`cephcluster.${group}`] } };
		await expect.poll(() => send('POST', `${path}/cephclusters`, cluster).then(() => true, () => false)).toBe(true);
		const pool = { apiVersion: `${group}/v1`, kind: 'CephBlockPool', metadata: { name: 'fast' } };
		await expect.poll(() => send('POST', `${path}/cephblockpools`, pool).then(() => true, () => false)).toBe(true);
		const blocked = {
			type: 'DeletionIsBlocked',
			status: 'True',
			reason: 'ObjectHasDependents',
			message: 'CephCluster "default/ceph" will not be deleted until all dependents are removed: CephBlockPools: [fast]',
			lastTransitionTime: new Date().toISOString(),
		};
		await send('DELETE', `${path}/cephclusters/ceph`);
		await send('PATCH', `${path}/cephclusters/ceph/status`, { status: { conditions: [blocked] } }, merge);
		const card = await cardOf(page, /CephBlockPool default\/fast/);
		await expect(card.getByText(/condition DeletionIsBlocked is True ObjectHasDependents/).first()).toBeVisible();
		await wayOf(card, /^Delete the dependents of CephCluster default\/ceph/);
		await picture(card, 'dependents');
		await expect(card.locator('.way-title', { hasText: 'Remove the finalizer' })).toHaveCount(0);
		// A person deletes the dependent, and the operator lets go.
		await send('DELETE', `${path}/cephblockpools/fast`);
		await send('PATCH', `${path}/cephclusters/ceph`, { metadata: { finalizers: null } }, merge);
		await expect(page.getByText('No deletion is in trouble')).toBeVisible({ timeout: 30_000 });
	});
});

test('driver whose own Pod on the node is not ready is named by it, and a restart of it by those that it may cut off', async ({ visit }) => {
	await trouble(visit, async (page, send) => {
		const [node, driver] = ['machine-1', 'disk.example'];
		const now = () => new Date().toISOString();
		const ready = { type: 'Ready', status: 'True', reason: 'KubeletReady', message: '', lastHeartbeatTime: now(), lastTransitionTime: now() };
		const taints = [{ key: 'test', value: 'own', effect: 'NoSchedule' }];
		const metadata = { name: node, labels: { machine: 'yes' } };
		await send('POST', '/api/v1/nodes', { apiVersion: 'v1', kind: 'Node', metadata, spec: { taints } });
		await send('PATCH', `/api/v1/nodes/${node}/status`, { status: { conditions: [ready] } }, merge);
		const registered = { name: driver, nodeID: node, topologyKeys: [] };
		const csi = { apiVersion: 'storage.k8s.io/v1', kind: 'CSINode', metadata: { name: node }, spec: { drivers: [registered] } };
		await send('POST', '/apis/storage.k8s.io/v1/csinodes', csi);
		const labels = { app: 'csi-node' };
		const hostPath = { path: `/var/lib/kubelet/plugins/${driver}`, type: 'DirectoryOrCreate' };
		await send('POST', '/apis/apps/v1/namespaces/default/daemonsets', {
			apiVersion: 'apps/v1',
			kind: 'DaemonSet',
			metadata: { name: 'csi-node' },
			spec: {
				selector: { matchLabels: labels },
				template: {
					metadata: { labels },
					spec: {
						nodeSelector: { machine: 'yes' },
						tolerations: [{ operator: 'Exists' }],
						containers: [{ name: 'driver', image: 'registry.example/driver:1' }],
						volumes: [{ name: 'socket', hostPath }],
					},
				},
			},
		});
		/** @type {any} */
		let plugin;
		await expect
			.poll(async () => {
				const { items } = await send('GET', `${core}/pods`);
				plugin = items.find((/** @type {any} */ it) => it.metadata.labels?.app === 'csi-node' && it.spec.nodeName === node);
				return plugin !== undefined;
			})
			.toBe(true);
		const image = 'registry.example/main:1';
		const status = { name: 'main', image, imageID: '', ready: true, restartCount: 0, state: { running: {} } };
		for (const name of ['ends', 'reads']) {
			await send('POST', `${core}/pods`, {
				apiVersion: 'v1',
				kind: 'Pod',
				metadata: { name },
				spec: {
					nodeName: node,
					terminationGracePeriodSeconds: 1,
					tolerations: [{ operator: 'Exists' }],
					containers: [{ name: 'main', image }],
					volumes: [{ name: 'data', csi: { driver } }],
				},
			});
			await send('PATCH', `${core}/pods/${name}/status`, { status: { phase: 'Running', containerStatuses: [status] } }, merge);
		}
		await send('DELETE', `${core}/pods/ends`);
		const ended = { ...status, ready: false, state: { terminated: { exitCode: 0 } } };
		await send('PATCH', `${core}/pods/ends/status`, { status: { phase: 'Failed', containerStatuses: [ended] } }, merge);
		const { name } = plugin.metadata;
		const card = await cardOf(page, new RegExp(`Pod default/${name} of its CSI driver ${driver} is not ready there`));
		await wayOf(card, new RegExp(`^Repair the storage driver ${driver}`));
		const restart = await wayOf(card, new RegExp(`^Restart the Pod of the storage driver ${driver}`));
		await expect(restart.getByText(/Also hits 1 object: Pod default\/reads/)).toBeVisible();
		await picture(card, 'driver');
		// The Pod of the driver is ready, and the kubelet unmounts.
		const isReady = { type: 'Ready', status: 'True', lastTransitionTime: now() };
		await send('PATCH', `${core}/pods/${name}/status`, { status: { phase: 'Running', conditions: [isReady] } }, merge);
		await expect(page.getByText('is not ready there')).toHaveCount(0);
		await send('DELETE', `${core}/pods/ends`, { gracePeriodSeconds: 0 });
		await expect(page.getByText('No deletion is in trouble')).toBeVisible({ timeout: 30_000 });
	});
});

test('attachment that nobody detaches goes after a check of the storage system', async ({ visit }) => {
	await trouble(visit, async (page, send, sandbox) => {
		await sandbox.inject('controller external-attacher off');
		const path = '/apis/storage.k8s.io/v1/volumeattachments';
		await send('POST', path, {
			apiVersion: 'storage.k8s.io/v1',
			kind: 'VolumeAttachment',
			metadata: { name: 'left', finalizers: ['external-attacher/gone-example'] },
			spec: { attacher: 'gone.example', nodeName: 'gone', source: { persistentVolumeName: 'disk' } },
		});
		const detachError = { time: new Date().toISOString(), message: 'rpc error: code = NotFound desc = instance i-1 not found' };
		await send('PATCH', `${path}/left/status`, { status: { attached: true, detachError } }, merge);
		await send('DELETE', `${path}/left`);
		const card = await cardOf(page, /gone\.example/);
		await expect(card.getByText(/instance i-1 not found/).first()).toBeVisible();
		await picture(card, 'attachment');
		const dialog = await choose(card, /^Remove the finalizer external-attacher\/gone-example/);
		await expect(dialog.getByText('The storage system itself shows the volume as detached.').first()).toBeVisible();
		await confirm(dialog, 'Li saw in the cloud that the disk is detached');
		await expect(page.getByText('No deletion is in trouble')).toBeVisible({ timeout: 30_000 });
	});
});
