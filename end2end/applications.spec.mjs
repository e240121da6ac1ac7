/**
 * Every healthy application of the sandbox is torn down from the page to its end, and the API of the sandbox is asked what is left
 * of it. If an operator went before the objects whose finalizers it clears (S4), those objects, their definition and their namespace
 * would stay for ever.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from './cluster/client.mjs';
import { collection, Kinds } from './cluster/kinds.mjs';
import { parseKubeconfig } from './cluster/kubeconfig.mjs';
import { kept } from './cluster/sample/names.mjs';
import { Unwind } from './unwind.mjs';
import { anotherLink, expect, signIn, tearDown, test } from './fixtures.mjs';

const incidents = ['s1', 's1-twin', 's2', 's3', 's4', 's4-forced', 's5', 's5-cut-off', 'shutdown', 'load-balancer', 'manager'];
/** Objects that the bystander uses are kept, so the bystander is torn down last. */
const units = ['consortium', 'shop', ...incidents, 'bystander'];

const title = ({ kind, namespace, name }) => `${kind} ${namespace ? `${namespace}/` : ''}${name}`;

/** The objects with the label of the consortium that the bystander uses. The volume has no label. */
const usedByBystander = kept.filter(({ kind }) => kind !== 'PersistentVolume').map(title).sort();

/** The objects with the label of a unit, as `Kind namespace/name`. @param {Client} client @param {string} unit */
async function objectsOf(client, unit) {
	const { all } = await Kinds.discover((...request) => client.request(...request));
	const label = encodeURIComponent(`app.kubernetes.io/part-of=${unit}`);
	const lists = all.filter(({ verbs }) => verbs.includes('list') && verbs.includes('delete')).map(async (kind) => {
		const { status, body } = await client.request('GET', `${collection(kind)}?labelSelector=${label}`);
		expect(status, kind.kind).toBe(200);
		return body.items.map(({ metadata }) => title({ kind: kind.kind, ...metadata }));
	});
	return (await Promise.all(lists)).flat().sort();
}

/** The volumes of all units, as `name phase`, and the attachments of volumes. @param {Client} client */
async function storage(client) {
	const [volumes, attachments] = await Promise.all(
		['/api/v1/persistentvolumes', '/apis/storage.k8s.io/v1/volumeattachments'].map((path) => client.request('GET', path)),
	);
	return {
		volumes: volumes.body.items.map(({ metadata, status }) => `${metadata.name} ${status.phase}`).sort(),
		attachments: attachments.body.items.map(({ metadata }) => metadata.name),
	};
}

test('every application of the sandbox is torn down to its end and leaves only what the bystander uses', async ({ visit }) => {
	test.setTimeout(240_000);
	const unwind = await Unwind.before(['--sandbox']);
	try {
		const { server, tokens } = parseKubeconfig(await readFile(join(unwind.options.state, 'sandbox', 'kubeconfig'), 'utf8'));
		const client = new Client({ server, token: tokens.get('sandbox') });
		const li = await visit();
		await signIn(li, unwind.link);
		const sandbox = li.getByRole('group').filter({ hasText: 'nothing real is touched' });
		await sandbox.getByText('Sandbox.').click();
		await sandbox.getByRole('button', { name: 'Time ×10' }).click();
		for (const unit of units) {
			expect(await objectsOf(client, unit), unit).toContainEqual(expect.stringMatching(/^Namespace /));
			const page = await visit();
			await signIn(page, await anotherLink(li));
			await tearDown(page, unit);
			await expect(page.getByText('Finished', { exact: true }), unit).toBeVisible({ timeout: 120_000 });
			await page.close();
			// Endpoints are deleted by their controller some time after their Service.
			const stays = unit === 'consortium' ? usedByBystander : [];
			await expect.poll(() => objectsOf(client, unit), unit).toEqual(stays);
		}
		expect(await objectsOf(client, 'consortium')).toEqual(usedByBystander);
		// Nobody labelled these two, so that their data stays. The claim of one is kept.
		const volumes = ['org1-couchdb Released', 'org2-shared Bound'];
		await expect.poll(() => storage(client)).toEqual({ volumes, attachments: [] });
		const shown = async () => {
			const { snapshot } = await (await li.request.get(`${unwind.origin}/api/units`)).json();
			return snapshot.records.map(({ unit }) => unit?.id).filter((id) => units.includes(id));
		};
		await expect.poll(shown).toEqual(['consortium']);
		client.close();
	} finally {
		await unwind.stop();
	}
});
