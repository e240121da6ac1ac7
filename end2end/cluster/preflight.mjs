/**
 * Preflights on a control plane, through the program's HTTP API, for tests that compare a prediction with what happens then.
 */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Session } from '../session.mjs';
import { Unwind } from '../unwind.mjs';
import { kubeconfig } from './kubeconfig.mjs';

/** @typedef {import('./client.mjs').KubeObject} KubeObject */
/** @typedef {import('./cluster.mjs').Cluster} Cluster */
/** @typedef {import('../session.mjs').Json} Json */

/**
 * @typedef {{severity: string, title: string, meaning: string, whatToDo: string, objects: {kind: string, name: string}[], more: number}} Note
 * @typedef {{plan: Json, checked: number, total: number, notes: Note[]}} Found  a preflight that is done
 */

/** For the reading of a cluster, and for the answers to a preflight. Another test may need the machine at the same time. */
const timeout = 120_000;

/** The program in front of a cluster, with the rights of a user. */
export class Preflights {
	/** @param {Unwind} unwind @param {Session} session */
	constructor(unwind, session) {
		this.unwind = unwind;
		this.session = session;
	}

	/** @param {{kubeconfig: string}} cluster @param {string} [context] */
	static async open({ kubeconfig }, context = 'admin') {
		const unwind = await Unwind.start({ kubeconfig, context });
		try {
			return new Preflights(unwind, await Session.open(unwind));
		} catch (error) {
			await unwind.stop();
			throw error;
		}
	}

	/**
	 * Plans a teardown. Until every kind is listed, no plan is made.
	 * @param {string} unit @param {(plan: Json) => boolean} [wanted] whether the program has seen the last changes of the cluster
	 * @returns {Promise<Json>}
	 */
	async plan(unit, wanted = () => true) {
		const deadline = performance.now() + timeout;
		for (;;) {
			const { status, body } = await this.session.request('POST', '/api/plans', { unit });
			if (status === 201 && wanted(body)) return body;
			assert.ok(performance.now() < deadline, `no plan of ${unit}: ${status} ${JSON.stringify(body)}`);
			await sleep(100);
		}
	}

	/** The preflight of a plan, once it is done. @param {Json} plan @returns {Promise<Found>} */
	async check(plan) {
		const path = `/api/plans/${plan.id}/preflight`;
		const deadline = performance.now() + timeout;
		let { status, body } = await this.session.request('POST', path, {});
		assert.equal(status, 202, JSON.stringify(body));
		while (body.state !== 'done') {
			assert.ok(performance.now() < deadline, JSON.stringify(body));
			await sleep(100);
			({ body } = await this.session.request('GET', path));
		}
		return /** @type {Found} */ ({ ...body, plan });
	}

	/**
	 * Checks until the findings are as wanted.
	 * @param {() => Promise<Json>} plan @param {(found: Found) => boolean} wanted @param {number} [within] in ms
	 * @returns {Promise<Found>}
	 */
	async until(plan, wanted, within = timeout) {
		const deadline = performance.now() + within;
		for (;;) {
			const found = await this.check(await plan());
			if (wanted(found)) return found;
			assert.ok(performance.now() < deadline, JSON.stringify(found.notes));
		}
	}

	stop() {
		return this.unwind.stop();
	}
}

/**
 * One preflight. The program is started for it, so it has seen everything that the cluster shows now.
 * @param {{kubeconfig: string}} cluster @param {string} unit @param {string} [context]
 * @returns {Promise<Found>}
 */
export async function preflight(cluster, unit, context) {
	const preflights = await Preflights.open(cluster, context);
	try {
		return await preflights.check(await preflights.plan(unit));
	} finally {
		await preflights.stop();
	}
}

/**
 * The findings about an object, as `severity: title`. None about an object that the plan does not delete would say nothing.
 * @param {Found} found @param {string} name @param {string} [kind]
 */
export function findings({ notes, plan }, name, kind) {
	const isMeant = (/** @type {{kind: string, name: string}} */ it) => it.name === name && (!kind || it.kind === kind);
	const about = notes.filter(({ objects }) => objects.some(isMeant));
	const isPlanned = plan.steps.some((/** @type {Json} */ { object }) => isMeant(/** @type {any} */ (object)));
	assert.ok(about.length > 0 || isPlanned, `${name} is not in the plan: ${JSON.stringify(plan.kept)}`);
	return about.map(({ severity, title }) => `${severity}: ${title}`).toSorted();
}

/** The words of the first finding whose title begins so. @param {Found} found @param {string} title */
export const meaningOf = ({ notes }, title) => notes.find((note) => note.title.startsWith(title))?.meaning ?? '';

/** The advice of the first finding whose title begins so. @param {Found} found @param {string} title */
export const adviceOf = ({ notes }, title) => notes.find((note) => note.title.startsWith(title))?.whatToDo ?? '';

/** The labels of a unit, and its namespace. @param {string} unit */
export const labelsOf = (unit) => ({ 'app.kubernetes.io/part-of': unit });

/** Creates a namespace that is a unit of its own, in which Pods can be created. @param {Cluster} cluster @param {string} name */
export async function makeUnit(cluster, name) {
	await cluster.apply([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels: labelsOf(name) } }]);
	await cluster.until(`/api/v1/namespaces/${name}/serviceaccounts`, (found) => found.length > 0, {
		what: `the service account of ${name}`,
		within: timeout,
	});
}

/** @param {string} unit @param {string} name @param {KubeObject} [metadata] @returns {KubeObject} */
export const configMap = (unit, name, { labels, ...metadata } = {}) => ({
	apiVersion: 'v1',
	kind: 'ConfigMap',
	metadata: { name, namespace: unit, labels: { ...labelsOf(unit), ...labels }, ...metadata },
});

/** Whether an object is gone, is being deleted and stays, or is not being deleted. @param {Cluster} cluster @param {string} path */
export async function stateOf(cluster, path) {
	const { status, body } = await cluster.request('admin', 'GET', path);
	if (status === 404) return 'gone';
	assert.equal(status, 200, `${path}: ${status} ${body.message}`);
	return body.metadata.deletionTimestamp ? 'terminating' : 'present';
}

/** Deletes an object, which the API server accepts. @param {Cluster} cluster @param {string} path @param {object} [options] */
export async function accepted(cluster, path, options) {
	const { status, body } = await cluster.request('admin', 'DELETE', path, options);
	assert.ok(status === 200 || status === 202, `${path}: ${status} ${body.message}`);
}

/** Waits until an object is gone. @param {Cluster} cluster @param {string} path */
export async function gone(cluster, path) {
	const [, collection, name] = path.match(/^(.*)\/([^/]+)$/) ?? [];
	await cluster.until(collection, (found) => found.length === 0, {
		what: `${name} to go`,
		within: timeout,
		params: { fieldSelector: `metadata.name=${name}` },
	});
}

/**
 * Asks until the answer is as wanted: the API server reads a new configuration a moment later, and no watch reports that.
 * @template T @param {string} what @param {() => Promise<T>} ask @param {(answer: T) => boolean} wanted @returns {Promise<T>}
 */
export async function inForce(what, ask, wanted) {
	const deadline = performance.now() + timeout;
	for (;;) {
		const answer = await ask();
		if (wanted(answer)) return answer;
		assert.ok(performance.now() < deadline, `${what}: ${JSON.stringify(answer)}`);
		await sleep(50);
	}
}

/**
 * A person with these rights only, as a cluster for `preflight`.
 * @param {Cluster} cluster @param {string} name @param {KubeObject[]} rules of a ClusterRole
 * @returns {Promise<{kubeconfig: string, token: string}>}
 */
export async function personWith(cluster, name, rules) {
	const apiGroup = 'rbac.authorization.k8s.io';
	await cluster.apply([
		{ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace: 'default' } },
		{ apiVersion: `${apiGroup}/v1`, kind: 'ClusterRole', metadata: { name }, rules },
		{
			apiVersion: `${apiGroup}/v1`,
			kind: 'ClusterRoleBinding',
			metadata: { name },
			roleRef: { apiGroup, kind: 'ClusterRole', name },
			subjects: [{ kind: 'ServiceAccount', name, namespace: 'default' }],
		},
	]);
	const account = `/api/v1/namespaces/default/serviceaccounts/${name}/token`;
	const { status, body } = await cluster.request('admin', 'POST', account, { spec: {} });
	assert.equal(status, 201, body.message);
	const file = join(cluster.dir, `${name}.kubeconfig`);
	const { token } = body.status;
	const { server, ca } = cluster;
	await writeFile(file, kubeconfig({ server, ca, tokens: new Map([['admin', token]]) }, ['admin']), { mode: 0o600 });
	return { kubeconfig: file, token };
}
