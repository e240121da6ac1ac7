/**
 * The judge: decides whether a teardown was done right, from what the cluster itself says.
 *
 * It knows nothing of the product and nothing of its plans. Its witnesses are its own watches of every kind, merged into
 * the cluster's one order of changes, and the API server's audit log. It has to be opened before the teardown begins.
 *
 *   const judge = await Judge.open(cluster, { unit: { label }, bystander: { label } });
 *   … the teardown …
 *   const { violations } = await judge.close({ keptExpected });
 *
 * What it convicts of is in rules.mjs, how it weighs the evidence in verdict.mjs.
 */
import { endOf, readAudit } from './audit.mjs';
import { History } from './history.mjs';
import { reachVerdict } from './verdict.mjs';

/** @typedef {import('./verdict.mjs').Expectations} Expectations */
/** @typedef {import('./verdict.mjs').ExpectedEnd} ExpectedEnd */
/** @typedef {import('./verdict.mjs').Verdict} Verdict */

export class Judge {
	#expectations;
	#history;
	#audit;

	/** @param {Expectations} expectations @param {History} history @param {{file: string, from: number}} audit */
	constructor(expectations, history, audit) {
		this.#expectations = expectations;
		this.#history = history;
		this.#audit = audit;
	}

	/** @param {import('./history.mjs').ClusterAccess} cluster @param {Expectations} expectations */
	static async open(cluster, expectations) {
		const from = await endOf(cluster.audit);
		return new Judge(expectations, await History.open(cluster), { file: cluster.audit, from });
	}

	/** Ends the hearing. To be called when the teardown says that it is over. @param {ExpectedEnd} [expectedEnd] @returns {Promise<Verdict>} */
	async close(expectedEnd = {}) {
		const changes = await this.#history.close();
		const requests = await readAudit(this.#audit.file, this.#audit.from);
		return reachVerdict(this.#expectations, { changes, began: this.#history.began, ...requests }, expectedEnd);
	}
}
