/**
 * When the changes of a run were made, by the clock of the API server that logged the requests.
 *
 * A write is committed between its receipt and its answer, and the revisions are in the order of the commits. So the log says of each
 * revision between which times it was made, even of one whose own request it does not have: that is the case with Secrets, whose
 * values would be in the answer.
 */

export class RevisionTimes {
	#writes;

	/**
	 * Revisions of before the run are left out: a write that changes nothing is answered with the revision of the last change, which
	 * may be old. Within the run the log has the request of that change too.
	 * @param {import('./audit.mjs').Write[]} writes @param {number} began
	 */
	constructor(writes, began) {
		/** @type {Map<number, {from: string, to: string}>} */
		const byRevision = new Map();
		for (const { revision, from, to } of writes) {
			if (revision <= began) continue;
			const known = byRevision.get(revision);
			byRevision.set(revision, {
				from: known && known.from < from ? known.from : from,
				to: known && known.to < to ? known.to : to,
			});
		}
		this.#writes = [...byRevision].map(([revision, times]) => ({ revision, ...times }));
	}

	/**
	 * Whether a revision was certainly made after a time, in the form of the audit log. Without a time nothing is certain.
	 * @param {number} revision @param {string|undefined} time
	 */
	isAfter(revision, time) {
		return !!time && this.#writes.some((write) => write.revision <= revision && write.from > time);
	}
}
