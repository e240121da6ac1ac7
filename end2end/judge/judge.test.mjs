/**
 * The judge on a real control plane: a teardown that deletes everything at once has violations, and one by hand in the right
 * order has none.
 */
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import https from 'node:https';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { selfSigned } from '../cluster/certificate.mjs';
import { start } from '../cluster/cluster.mjs';
import { collection } from '../cluster/kinds.mjs';
import {
	bystanderLabel,
	kept,
	namespaceOf,
	namespaces,
	orderers,
	orgs,
	sharedClaimOf,
	sharedConfigMap,
	sharedOrg,
	staticVolumes,
	unitLabel,
} from '../cluster/sample/names.mjs';
import { Judge } from './judge.mjs';

/** @typedef {import('../cluster/cluster.mjs').Cluster} Cluster */
/** @typedef {import('../cluster/client.mjs').KubeObject} KubeObject */

const kubectlBinary = fileURLToPath(new URL('../../target/cluster/bin/kubectl', import.meta.url));
const expectations = { unit: { label: unitLabel }, bystander: { label: bystanderLabel } };
const shared = namespaceOf(sharedOrg);

/** @param {Cluster} cluster @param {string[]} args */
const kubectl = (cluster, ...args) =>
	promisify(execFile)(kubectlBinary, ['--kubeconfig', cluster.kubeconfig, '--context', 'developer', ...args]);

/** Keeps a Pod terminating, or releases it with null. @param {Cluster} cluster @param {string} path @param {string|null} how */
async function holding(cluster, path, how) {
	const patch = { metadata: { annotations: { 'unwind.test/hold': how } } };
	const { status } = await cluster.request('admin', 'PATCH', path, patch, {
		'content-type': 'application/merge-patch+json',
	});
	assert.equal(status, 200);
}

/** @param {import('./judge.mjs').Verdict} verdict @param {string} rule @returns {string[]} the objects that broke the rule */
const violationsOf = ({ violations }, rule) =>
	violations.filter((each) => each.rule === rule).map(({ object }) => object);

/** The unit's objects of one kind. @param {Cluster} cluster @param {string} kind @returns {Promise<KubeObject[]>} */
async function unitObjects(cluster, kind) {
	const { all } = await cluster.kinds();
	const found = all.find((each) => each.kind === kind);
	assert.ok(found, `the server has no ${kind}`);
	const { body } = await cluster.request(
		'admin',
		'GET',
		`${collection(found)}?labelSelector=${encodeURIComponent(unitLabel)}`,
	);
	return body.items.map((/** @type {KubeObject} */ item) => ({ ...item, apiVersion: found.apiVersion, kind }));
}

/** Deletes objects with UID preconditions. @param {Cluster} cluster @param {KubeObject[]} objects @param {string} [user] */
async function ask(cluster, objects, user = 'developer') {
	const kinds = await cluster.kinds();
	await Promise.all(
		objects.map(async (object) => {
			const options = { preconditions: { uid: object.metadata.uid }, propagationPolicy: 'Background' };
			const { status, body } = await cluster.request(user, 'DELETE', kinds.pathOf(object), options);
			assert.ok(
				[200, 202].includes(status),
				`DELETE ${object.kind} ${object.metadata.name}: ${status} ${body.message}`,
			);
		}),
	);
}

/** @param {Cluster} cluster @param {KubeObject[]} objects */
async function gone(cluster, objects) {
	const kinds = await cluster.kinds();
	const uids = new Set(objects.map(({ metadata }) => metadata.uid));
	for (const path of new Set(objects.map((object) => collection(kinds.of(object))))) {
		await cluster.until(path, (there) => !there.some(({ metadata }) => uids.has(metadata.uid)), {
			what: `${path} without the deleted ones`,
		});
	}
}

/**
 * A webhook that is asked before each DELETE of ConfigMaps with a label, and answers once it is released.
 * @param {Cluster} cluster @param {Record<string, string>} matchLabels
 */
async function holdingWebhook(cluster, matchLabels) {
	/** @type {{uid: string, response: import('node:http').ServerResponse}[]} */
	const held = [];
	let isReleased = false;
	/** @param {string} uid @param {import('node:http').ServerResponse} response */
	const allow = (uid, response) => {
		const body = { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response: { uid, allowed: true } };
		response.setHeader('content-type', 'application/json').end(JSON.stringify(body));
	};
	const { cert, key } = selfSigned('localhost');
	const server = https.createServer({ cert, key }, async (request, response) => {
		let text = '';
		for await (const chunk of request.setEncoding('utf8')) text += chunk;
		const { uid } = JSON.parse(text).request;
		if (isReleased) return allow(uid, response);
		held.push({ uid, response });
		server.emit('held');
	});
	await once(server.listen(0, '127.0.0.1'), 'listening');
	const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
	const { status, body } = await cluster.request(
		'admin',
		'POST',
		'/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations',
		{
			metadata: { name: 'holding' },
			webhooks: [
				{
					name: 'holding.unwind.test',
					clientConfig: { url: `https://localhost:${port}/`, caBundle: Buffer.from(cert).toString('base64') },
					rules: [{ apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'], operations: ['DELETE'] }],
					objectSelector: { matchLabels },
					admissionReviewVersions: ['v1'],
					sideEffects: 'None',
					timeoutSeconds: 30,
				},
			],
		},
	);
	assert.equal(status, 201, body.message);
	return {
		/** @param {number} count */
		async holds(count) {
			while (held.length < count) await once(server, 'held', { signal: AbortSignal.timeout(20_000) });
		},
		release() {
			isReleased = true;
			for (const { uid, response } of held) allow(uid, response);
		},
		async close() {
			await cluster.request('admin', 'DELETE', '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/holding');
			server.close();
			server.closeAllConnections();
		},
	};
}

/** @param {KubeObject} object */
const isKept = ({ kind, metadata }) =>
	kept.some((name) => name.kind === kind && name.name === metadata.name && name.namespace === metadata.namespace);

test('kubectl delete of everything at once violates the order rules', async (t) => {
	const cluster = await start({ sample: true });
	t.after(() => cluster.stop());
	const judge = await Judge.open(cluster, expectations);

	// Two held Pods guarantee that their claims and namespaces are deleted while they exist, on a slow machine too.
	const slow = [
		`/api/v1/namespaces/${orderers}/pods/orderer-0`,
		`/api/v1/namespaces/${namespaceOf(orgs[0])}/pods/couchdb-0`,
	];
	for (const pod of slow) await holding(cluster, pod, 'silent');
	const kinds =
		'deployments,statefulsets,jobs,services,ingresses,hpa,pdb,networkpolicies,serviceaccounts,roles,rolebindings,configmaps,secrets,pvc';
	// The volumes at the same time: later, their claims could be gone already.
	await Promise.all([
		kubectl(cluster, 'delete', 'pv', ...staticVolumes, '--wait=false'),
		...namespaces.map((namespace) =>
			kubectl(cluster, 'delete', kinds, '-n', namespace, '-l', unitLabel, '--wait=false', '--now'),
		),
	]);
	await kubectl(cluster, 'delete', 'namespace', ...namespaces, '--wait=false');
	for (const pod of slow) await holding(cluster, pod, null);
	await cluster.until(
		'/api/v1/namespaces',
		(there) => !there.some(({ metadata }) => namespaces.includes(metadata.name)),
		{
			what: 'the namespaces to go',
			within: 60_000,
		},
	);
	const verdict = await judge.close({ keptExpected: kept });

	assert.ok(verdict.uncheckedClaims.includes(`${orderers}/ledger-orderer-0`), verdict.uncheckedClaims.join());
	assert.equal(verdict.uncheckedNamespaces.length, namespaces.length, verdict.uncheckedNamespaces.join());
	const claims = violationsOf(verdict, 'claim');
	assert.ok(claims.includes(`PersistentVolumeClaim ${orderers}/ledger-orderer-0`), claims.join());
	assert.ok(claims.includes(`PersistentVolumeClaim ${shared}/${sharedClaimOf(sharedOrg)}`), claims.join());
	const volumes = violationsOf(verdict, 'volume');
	assert.ok(volumes.includes('PersistentVolume orderer-ledger-0'), volumes.join());
	assert.deepEqual(
		violationsOf(verdict, 'namespace-with-content').sort(),
		namespaces.map((name) => `Namespace ${name}`).sort(),
	);
	for (const [rule, object] of [
		['used-by-pods', `ServiceAccount ${orderers}/orderer`],
		['account-rights', `RoleBinding ${orderers}/orderer`],
		['role', `Role ${orderers}/orderer`],
		['selector', `NetworkPolicy ${orderers}/orderer`],
		['used-by-pods', `ConfigMap ${orderers}/orderer-config`],
		['used-by-pods', `Secret ${orderers}/orderer-tls`],
	]) {
		const found = violationsOf(verdict, rule);
		assert.ok(found.includes(object), `${rule}: ${object} not among ${found.join()}`);
	}
	const touched = violationsOf(verdict, 'bystander');
	for (const object of [
		`ConfigMap ${shared}/${sharedConfigMap}`,
		`Namespace ${shared}`,
		`Deployment ${shared}/auditor`,
		`PersistentVolume ${sharedClaimOf(sharedOrg)}`,
	]) {
		assert.ok(touched.includes(object), `${object} not among ${touched.join()}`);
	}
	// kubectl sends a propagation policy and no UID precondition.
	const unguarded = verdict.violations.filter(({ rule }) => rule === 'unguarded-delete');
	assert.ok(unguarded.length >= 40, `${unguarded.length} unguarded deletions`);
	assert.ok(
		unguarded.every(
			({ evidence }) => evidence.includes('no UID precondition') && !evidence.includes('no propagation policy'),
		),
	);
	assert.ok(violationsOf(verdict, 'not-kept').includes(`ConfigMap ${shared}/${sharedConfigMap}`));
	assert.doesNotMatch(JSON.stringify(verdict), /UNWIND-CANARY/);
});

test('teardown in the right order has no violations', async (t) => {
	const cluster = await start({ sample: true });
	t.after(() => cluster.stop());
	const judge = await Judge.open(cluster, expectations);

	/** @param {string[]} kinds */
	const remove = async (...kinds) => {
		const objects = (await Promise.all(kinds.map((kind) => unitObjects(cluster, kind))))
			.flat()
			.filter((object) => !isKept(object));
		assert.ok(objects.length > 0, `nothing to remove among ${kinds.join()}`);
		await ask(cluster, objects);
		await gone(cluster, objects);
	};
	await remove('Ingress', 'HorizontalPodAutoscaler');
	await remove('Deployment', 'StatefulSet', 'Job');
	await cluster.until('/api/v1/pods', (pods) => pods.length === 0, {
		what: "the unit's Pods to be gone",
		params: { labelSelector: unitLabel },
	});
	await cluster.until('/apis/storage.k8s.io/v1/volumeattachments', (found) => found.length === 0, {
		what: 'the volumes to be detached',
	});
	await remove('Service', 'PodDisruptionBudget', 'NetworkPolicy', 'RoleBinding');
	await remove('Role', 'ServiceAccount', 'ConfigMap', 'Secret');
	await remove('PersistentVolumeClaim');
	const volumes = await cluster.until(
		'/api/v1/persistentvolumes',
		(there) => there.every(({ spec }) => spec.persistentVolumeReclaimPolicy === 'Retain'),
		{
			what: 'the provisioned volume to be reclaimed',
		},
	);
	assert.equal(cluster.provisioner.volumes.size, 0);
	// A retained volume without the label of the unit stays.
	const isLeft = (/** @type {KubeObject} */ { metadata }) => metadata.labels === undefined;
	const freed = volumes.filter((volume) => !isKept(volume) && !isLeft(volume));
	await ask(cluster, freed);
	await gone(cluster, freed);
	await remove('Namespace');

	const { violations, seen, gaps } = await judge.close({ keptExpected: kept, mayRemain: isLeft });
	assert.deepEqual(violations, []);
	assert.deepEqual(gaps, []);
	assert.ok(seen.deletions > 60 && seen.requests > 45, JSON.stringify(seen));
});

test('smaller mistakes are violations too', async (t) => {
	const cluster = await start({ sample: true });
	t.after(() => cluster.stop());

	await t.test('Pod recreated by its remaining owner is a violation', async () => {
		const judge = await Judge.open(cluster, expectations);
		const [pod] = (await unitObjects(cluster, 'Pod')).filter(({ metadata }) => metadata.name.startsWith('peer0-'));
		await ask(cluster, [pod]);
		await gone(cluster, [pod]);
		await cluster.until(
			`/api/v1/namespaces/${pod.metadata.namespace}/pods`,
			(pods) => pods.filter(({ metadata }) => metadata.name.startsWith('peer0-')).length === 2,
			{
				what: 'its successor',
			},
		);
		const verdict = await judge.close({ mayRemain: () => true });
		assert.deepEqual(
			verdict.violations.map(({ rule }) => rule),
			['owner', 'pods-behind-service', 're-created'],
			JSON.stringify(verdict.violations),
		);
	});

	await t.test('scaled bystander and leftovers are violations', async () => {
		const judge = await Judge.open(cluster, expectations);
		const path = `/apis/apps/v1/namespaces/${shared}/deployments/auditor`;
		const { status } = await cluster.request(
			'developer',
			'PATCH',
			path,
			{ spec: { replicas: 2 } },
			{ 'content-type': 'application/merge-patch+json' },
		);
		assert.equal(status, 200);
		// Wait for the consequences before the verdict.
		const auditor = (/** @type {any} */ { metadata, status }) =>
			metadata.name.startsWith('auditor-') && status.phase === 'Running';
		await cluster.until(`/api/v1/namespaces/${shared}/pods`, (pods) => pods.filter(auditor).length === 2, {
			what: 'the second auditor',
		});
		const verdict = await judge.close();
		assert.ok(violationsOf(verdict, 'bystander').includes(`Deployment ${shared}/auditor`));
		const left = violationsOf(verdict, 'left-over');
		assert.ok(left.includes(`StatefulSet ${orderers}/orderer`));
		assert.ok(
			left.includes('PersistentVolume org1-couchdb'),
			'the volume without a label belongs to the unit by its claim',
		);
		assert.ok(!left.some((object) => object.includes('auditor')), left.join());
		assert.ok(!left.some((object) => object.includes('unwind-developer')), left.join());
	});

	await t.test('deletecollection and a missing propagation policy are violations, a dry run is not', async () => {
		const judge = await Judge.open(cluster, { ...expectations, actor: 'developer' });
		const configMaps = `/api/v1/namespaces/${orderers}/configmaps`;
		const rehearsed = await cluster.request('developer', 'DELETE', `${configMaps}/orderer-config`, { dryRun: ['All'] });
		assert.equal(rehearsed.status, 200);
		await cluster.request('admin', 'DELETE', `${configMaps}/not-the-judged-user`);
		await cluster.request('developer', 'DELETE', `${configMaps}/not-there`, { preconditions: { uid: 'some' } });
		const { status } = await cluster.request('developer', 'DELETE', `/api/v1/namespaces/${orderers}/limitranges`);
		assert.equal(status, 200);
		const verdict = await judge.close({ mayRemain: () => true });
		assert.deepEqual(
			verdict.violations.map(({ rule, object }) => [rule, object]),
			[
				['unguarded-delete', `configmaps ${orderers}/not-there`],
				['unguarded-delete', `limitranges ${orderers}/(all)`],
			],
		);
	});

	await t.test('command line reports the same violations', async () => {
		const script = fileURLToPath(new URL('./cli.mjs', import.meta.url));
		const flags = [
			'--kubeconfig',
			cluster.kubeconfig,
			'--audit',
			cluster.audit,
			'--unit',
			unitLabel,
			'--bystander',
			bystanderLabel,
			'--allow-leftovers',
		];
		const child = spawn(process.execPath, [script, ...flags], { stdio: ['pipe', 'pipe', 'inherit'] });
		const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
		assert.deepEqual(JSON.parse((await lines.next()).value), { open: true });
		const [secret] = await unitObjects(cluster, 'Secret');
		await ask(cluster, [secret]);
		child.stdin.end();
		const { violations } = JSON.parse((await lines.next()).value);
		const { namespace, name } = secret.metadata;
		assert.deepEqual(
			violations.map((/** @type {any} */ { rule, object }) => [rule, object]),
			[['used-by-pods', `Secret ${namespace}/${name}`]],
		);
		assert.deepEqual(await once(child, 'exit'), [1, null]);
	});

	await t.test('a keep mark counts if it was there when a DELETE arrived that a webhook holds', async () => {
		const path = (/** @type {string} */ name) => `/api/v1/namespaces/${orderers}/configmaps/${name}`;
		const [key, value] = unitLabel.split('=');
		const held = { 'unwind.test/held': 'yes' };
		const keep = { 'helm.sh/resource-policy': 'keep' };
		/** @param {string} name @param {Record<string, string>} annotations */
		const make = (name, annotations) => {
			const metadata = { name, namespace: orderers, labels: { [key]: value, ...held }, annotations };
			return { apiVersion: 'v1', kind: 'ConfigMap', metadata };
		};
		/** @param {string} name @param {Record<string, string|null>} annotations */
		const annotate = async (name, annotations) => {
			const merge = { 'content-type': 'application/merge-patch+json' };
			const { status } = await cluster.request('admin', 'PATCH', path(name), { metadata: { annotations } }, merge);
			assert.equal(status, 200);
		};
		await cluster.apply([make('marked-before', keep), make('marked-after', {})]);
		const webhook = await holdingWebhook(cluster, held);
		const judge = await Judge.open(cluster, expectations);
		const names = ['marked-before', 'marked-after'];
		const found = await Promise.all(names.map((name) => cluster.request('admin', 'GET', path(name))));
		const deletions = ask(
			cluster,
			found.map(({ body }) => body),
		);
		await webhook.holds(2);
		await annotate('marked-before', { 'helm.sh/resource-policy': null });
		await annotate('marked-after', keep);
		webhook.release();
		await deletions;
		const { violations } = await judge.close({ mayRemain: () => true });
		await webhook.close();
		assert.deepEqual(
			violations.map(({ rule, object }) => [rule, object]),
			[['asked-to-keep', `ConfigMap ${orderers}/marked-before`]],
			JSON.stringify(violations),
		);
	});

	await t.test('judge sees every change after the API server hung', async () => {
		const judge = await Judge.open(cluster, expectations);
		await cluster.suspendApiServer();
		const late = cluster.request('developer', 'DELETE', `/api/v1/namespaces/${orderers}/configmaps/orderer-config`, {
			propagationPolicy: 'Background',
		});
		await cluster.resumeApiServer();
		assert.equal((await late).status, 200);
		const verdict = await judge.close({ mayRemain: () => true });
		assert.deepEqual(violationsOf(verdict, 'used-by-pods'), [`ConfigMap ${orderers}/orderer-config`]);
		assert.deepEqual(violationsOf(verdict, 'unguarded-delete'), [`configmaps ${orderers}/orderer-config`]);
	});
});
