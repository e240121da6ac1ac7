/**
 * The judge decides whether a teardown was right. Its evidence comes from the cluster alone: watches of every kind, merged into
 * the order of the cluster's revisions, and the API server's audit log. It shares no code with the server and does not know its
 * plans. Open it before the teardown begins.
 *
 *   const judge = await Judge.open(cluster, { unit: { label }, bystander: { label } });
 *   … the teardown …
 *   const { violations } = await judge.close({ keptExpected });
 *
 * rules.mjs has the rules, verdict.mjs applies them to the evidence.
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

	/** Ends the observation. Call it when the teardown has ended. @param {ExpectedEnd} [expectedEnd] @returns {Promise<Verdict>} */
	async close(expectedEnd = {}) {
		const changes = await this.#history.close();
		const requests = await readAudit(this.#audit.file, this.#audit.from);
		return reachVerdict(this.#expectations, { changes, began: this.#history.began, ...requests }, expectedEnd);
	}
}
