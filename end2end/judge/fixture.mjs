/**
 * Small invented histories, for the tests of the rules.
 */
import { reachVerdict } from './verdict.mjs';

/** @typedef {Record<string, any>} KubeObject */

export const unitLabels = { app: 'unit' };
const expectations = { unit: { label: 'app=unit' }, bystander: { label: 'app=bystander' } };
export const developer = 'developer';

/** @param {string} kind @param {string} name @param {KubeObject} [rest] */
export const make = (kind, name, { namespace = 'ns', labels = unitLabels, owner, ...rest } = {}) => ({
	kind,
	metadata: {
		name,
		uid: `${kind}-${name}`,
		...(namespace ? { namespace } : {}),
		labels,
		...(owner ? { ownerReferences: [{ uid: owner.metadata.uid, controller: true }] } : {}),
	},
	...rest,
});
/** @param {string} name @param {KubeObject} [spec] @param {KubeObject} [rest] */
export const pod = (name, spec = {}, rest = {}) =>
	make('Pod', name, { spec: { containers: [], ...spec }, status: { phase: 'Running' }, ...rest });
/** @param {string} claimName */
export const mounts = (claimName) => ({ volumes: [{ name: 'data', persistentVolumeClaim: { claimName } }] });

/**
 * The verdict on a history: the objects at the start, then one change per revision, some with the time that the audit log has of it.
 * @param {KubeObject[]} there @param {['marked'|'gone'|'made'|'changed', KubeObject, string?][]} steps
 * @param {Partial<import('./audit.mjs').DeletionRequest>[]} [deletionRequests] @param {import('./verdict.mjs').ExpectedEnd} [end]
 * @param {Partial<import('./verdict.mjs').Expectations>} [more] @param {import('./audit.mjs').List[]} [lists]
 */
export function verdict(there, steps, deletionRequests = [], end = { mayRemain: () => true }, more = {}, lists = []) {
	let revision = 0;
	/** @param {'ADDED'|'MODIFIED'|'DELETED'} type @param {KubeObject} object */
	const change = (type, object) => ({ type, object, revision: ++revision, inferred: false });
	const marked = (/** @type {KubeObject} */ object) => ({
		...object,
		metadata: { ...object.metadata, deletionTimestamp: 'now' },
	});
	const before = there.map((object) => change('ADDED', object));
	const began = revision;
	const types = { made: 'ADDED', changed: 'MODIFIED', marked: 'MODIFIED', gone: 'DELETED' };
	const run = steps.map(([what, object]) =>
		change(/** @type {any} */ (types[what]), what === 'marked' ? marked(object) : object),
	);
	const writes = steps.flatMap(([, , at], i) => (at ? [{ revision: began + i + 1, from: at, to: at }] : []));
	const requests = deletionRequests.map((each) => ({
		user: developer,
		collection: false,
		resource: 'x',
		dryRun: false,
		eviction: false,
		code: 200,
		at: '',
		...each,
	}));
	return reachVerdict(
		{ ...expectations, ...more },
		{ changes: [...before, ...run], began, deletionRequests: requests, lists, writes },
		end,
	);
}

/** @param {import('./verdict.mjs').Verdict} verdict */
export const rules = ({ violations }) => violations.map(({ rule, object }) => `${rule}: ${object}`);
