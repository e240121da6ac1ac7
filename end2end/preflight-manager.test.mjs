/**
 * A kube-controller-manager that does not run, on a real control plane: which objects the preflight says it holds, and that their
 * deletion then waits for it.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { start } from './cluster/cluster.mjs';
import { accepted, configMap, findings, gone, labelsOf, makeUnit, personWith, preflight, stateOf } from './cluster/preflight.mjs';

/** @type {import('./cluster/cluster.mjs').Cluster} */
let cluster;
before(async () => {
	cluster = await start({ leads: true });
});
after(() => cluster?.stop());

const options = { timeout: 400_000 };
const unit = 'led';
const claims = `/api/v1/namespaces/${unit}/persistentvolumeclaims`;

/** A claim that no volume fits. The API server gives it the finalizer that protects it. @param {string} name */
const claim = (name) => ({
	apiVersion: 'v1',
	kind: 'PersistentVolumeClaim',
	metadata: { name, namespace: unit, labels: labelsOf(unit) },
	spec: { accessModes: ['ReadWriteOnce'], storageClassName: 'none', resources: { requests: { storage: '1Gi' } } },
});

test('controller manager that does not renew its lease is named, and what it finishes stays until it runs', options, async () => {
	await makeUnit(cluster, unit);
	await cluster.apply([claim('held'), claim('spare'), configMap(unit, 'free')]);
	const calm = await preflight(cluster, unit);
	for (const name of ['held', 'free']) assert.deepEqual(findings(calm, name), []);
	await accepted(cluster, `${claims}/spare`);
	await gone(cluster, `${claims}/spare`);

	await cluster.suspendControllers();
	try {
		const found = await preflight(cluster, unit);
		const refusal = ['refusal: The kube-controller-manager does not renew its lease'];
		assert.deepEqual(findings(found, 'held'), refusal);
		assert.deepEqual(findings(found, unit, 'Namespace'), refusal);
		assert.deepEqual(findings(found, 'free'), []);
		await accepted(cluster, `${claims}/held`);
		await accepted(cluster, `/api/v1/namespaces/${unit}/configmaps/free`);
		await gone(cluster, `/api/v1/namespaces/${unit}/configmaps/free`);
		assert.equal(await stateOf(cluster, `${claims}/held`), 'terminating');
		// Who may not read the lease is told so, and nobody is accused.
		const narrow = await personWith(cluster, 'narrow', [
			{ apiGroups: [''], resources: ['*'], verbs: ['get', 'list', 'watch', 'delete'] },
			{ apiGroups: ['apiextensions.k8s.io', 'apiregistration.k8s.io'], resources: ['*'], verbs: ['get', 'list', 'watch'] },
		]);
		const unseen = findings(await preflight(narrow, unit), unit, 'Namespace');
		assert.ok(unseen.includes('info: Whether the kube-controller-manager runs is not known'), unseen.join());
		assert.ok(!unseen.includes(refusal[0]), unseen.join());
	} finally {
		await cluster.resumeControllers();
	}
	await gone(cluster, `${claims}/held`);
});
