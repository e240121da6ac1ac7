/**
 * A teardown by the program on a real control plane, through its HTTP API and before the judge.
 */
import assert from 'node:assert/strict';
import { Judge } from '../judge/judge.mjs';
import { destroyedBy, Session } from '../session.mjs';
import { Unwind } from '../unwind.mjs';
import { start } from './cluster.mjs';
import { collection } from './kinds.mjs';

/** @typedef {import('./client.mjs').KubeObject} KubeObject */
/** @typedef {import('../session.mjs').Json} Json */
/** @typedef {{unit: string, unitLabel: string}} Application */

/** A control plane with programs, and Unwind in front of it with every right. */
export class JudgedCluster {
	/** @param {import('./cluster.mjs').Cluster} cluster @param {(() => void)[]} ends of the programs */
	constructor(cluster, ends) {
		this.cluster = cluster;
		this.ends = ends;
		/** @type {Unwind|undefined} */
		this.unwind = undefined;
		this.session = new Session('', '');
	}

	/**
	 * Starts it with applications.
	 * @param {...((cluster: import('./cluster.mjs').Cluster) => Promise<(() => void)|void>)} installs each returns the end of its program
	 */
	static async start(...installs) {
		const judged = new JudgedCluster(await start({ programs: true }), []);
		try {
			for (const install of installs) judged.ends.push((await install(judged.cluster)) ?? (() => {}));
			judged.unwind = await Unwind.start({ kubeconfig: judged.cluster.kubeconfig, context: 'admin' });
			judged.session = await Session.open(judged.unwind);
		} catch (error) {
			await judged.stop();
			throw error;
		}
		return judged;
	}

	/**
	 * Tears an application down to its end, and fails if the judge finds a violation.
	 * @param {Application} application
	 * @param {object} [options]
	 * @param {Json[]} [options.choices] @param {(plan: Json) => boolean} [options.wanted] see `Session.plan`
	 * @param {Partial<import('../judge/verdict.mjs').Expectations>} [options.expectations]
	 * @param {import('../judge/verdict.mjs').ExpectedEnd} [options.end]
	 * @param {(run: string) => Promise<void>} [options.during] called once the run has started
	 * @returns {Promise<{plan: Json, verdict: import('../judge/verdict.mjs').Verdict}>}
	 */
	async tearDown({ unit, unitLabel }, { choices, wanted, expectations, end, during } = {}) {
		const judge = await Judge.open(this.cluster, { unit: { label: unitLabel }, actor: 'admin', ...expectations });
		const started = await this.session.start(unit, choices, wanted);
		const { plan } = started;
		await during?.(started.run);
		const run = await this.session.ended(started.run);
		const verdict = await judge.close({ destroyed: destroyedBy(plan), bound: run.bound, ...end });
		assert.deepEqual(verdict.violations, []);
		assert.deepEqual(verdict.gaps, []);
		// Before each claim was deleted, its Pods were listed from the API server.
		assert.deepEqual(verdict.uncheckedClaims, []);
		// Before each namespace was deleted, everything in it was listed.
		assert.deepEqual(verdict.uncheckedNamespaces, []);
		assert.equal(run.state, 'finished');
		assert.equal(run.counts.Gone, plan.steps.length);
		return { plan, verdict };
	}

	/** The objects with the label of an application, as `Kind name`. @param {Application} application @returns {Promise<string[]>} */
	async left({ unitLabel }) {
		const { all } = await this.cluster.kinds();
		const lists = all
			.filter(({ verbs }) => verbs.includes('list') && verbs.includes('delete'))
			.map(async (kind) => {
				const path = `${collection(kind)}?labelSelector=${encodeURIComponent(unitLabel)}`;
				const { status, body } = await this.cluster.request('admin', 'GET', path);
				assert.equal(status, 200, kind.kind);
				return body.items.map((/** @type {KubeObject} */ { metadata }) => `${kind.kind} ${metadata.name}`);
			});
		return (await Promise.all(lists)).flat().sort();
	}

	async stop() {
		await this.unwind?.stop();
		for (const end of this.ends) end();
		await this.cluster.stop();
	}
}
