/**
 * The rules about annotations of tools, which ask to keep an object or for an order, against small invented histories.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { make, mounts, pod, rules, verdict } from './fixture.mjs';

/** @typedef {Record<string, any>} KubeObject */

/** @param {string} name @param {Record<string, string>} annotations @param {KubeObject} [rest] */
const annotated = (name, annotations, rest) => {
	const object = make('ConfigMap', name, rest);
	return { ...object, metadata: { ...object.metadata, annotations } };
};
/** @param {KubeObject} object */
const byPerson = ({ metadata }) => ({ uid: metadata.uid, preconditionUid: metadata.uid, propagationPolicy: 'Background' });
/** What the deletion of some objects by a person breaks. @param {KubeObject[]} there @param {KubeObject[]} deleted @param {Partial<import('./verdict.mjs').Expectations>} [more] */
const broken = (there, deleted, more) =>
	rules(verdict(there, deleted.map((object) => ['gone', object]), deleted.map(byPerson), undefined, more));

test('asked-to-keep: a mark of each tool counts, a near miss and an overridden mark do not', () => {
	for (const [key, value, counts] of /** @type {[string, string, boolean][]} */ ([
		['helm.sh/resource-policy', 'keep', true],
		['helm.sh/resource-policy', 'delete', false],
		['argocd.argoproj.io/sync-options', 'ServerSideApply=true, Delete=false', true],
		['argocd.argoproj.io/sync-options', 'PruneLast=true', false],
		['kustomize.toolkit.fluxcd.io/prune', 'disabled', true],
		['kustomize.toolkit.fluxcd.io/prune', 'enabled', false],
		['kapp.k14s.io/delete-strategy', 'orphan', true],
		['example.com/resource-policy', 'keep', false],
	])) {
		const object = annotated('a', { [key]: value });
		const expected = counts ? ['asked-to-keep: ConfigMap ns/a'] : [];
		assert.deepEqual(broken([object], [object]), expected, `${key}: ${value}`);
		assert.deepEqual(broken([object], [object], { overridden: () => true }), []);
	}
});

test('asked-to-keep: a mark that was taken away before the DELETE does not count', () => {
	const object = annotated('a', { 'helm.sh/resource-policy': 'keep' });
	const bare = annotated('a', {});
	const story = verdict([object], [['changed', bare], ['gone', bare]], [byPerson(object)]);
	assert.deepEqual(rules(story), []);
});

const bare = annotated('a', {});
const keeps = annotated('a', { 'helm.sh/resource-policy': 'keep' });
const asked = ['asked-to-keep: ConfigMap ns/a'];
/** The seconds of one minute, as the audit log writes a time. @param {number} second */
const at = (second) => `2027-01-15T08:00:${String(second).padStart(2, '0')}.000000Z`;
/**
 * What a DELETE breaks that arrived at second 5, after these changes of its object at these seconds.
 * @param {KubeObject} first @param {[KubeObject, number?][]} changes @param {Partial<import('./audit.mjs').DeletionRequest>[]} [others]
 */
const arrivedAt5 = (first, changes, others = []) => {
	const last = changes.at(-1)?.[0] ?? first;
	/** @type {['changed'|'gone', KubeObject, string?][]} */
	const steps = [...changes.map(([object, second]) => /** @type {any} */ (['changed', object, second && at(second)])), ['gone', last]];
	return rules(verdict([first], steps, [{ ...byPerson(first), at: at(5) }, ...others]));
};

test('asked-to-keep: a mark counts if it was there when the DELETE arrived, which a webhook may hold for seconds', () => {
	assert.deepEqual(arrivedAt5(bare, [[keeps, 4]]), asked, 'set before');
	assert.deepEqual(arrivedAt5(bare, [[keeps, 6]]), [], 'set while the DELETE was held');
	assert.deepEqual(arrivedAt5(keeps, [[bare, 6]]), asked, 'taken away while the DELETE was held');
	assert.deepEqual(arrivedAt5(keeps, [[bare, 4]]), [], 'taken away before');
	assert.deepEqual(arrivedAt5(bare, [[keeps, 3], [bare, 4], [keeps, 6]]), [], 'set anew while the DELETE was held');
	assert.deepEqual(arrivedAt5(bare, [[keeps, 3], [bare, 6], [keeps, 7]]), asked, 'set before, and anew');
});

test('asked-to-keep: without a time in the audit log the order of the revisions decides', () => {
	assert.deepEqual(arrivedAt5(bare, [[keeps]]), asked);
	assert.deepEqual(arrivedAt5(keeps, [[bare]]), []);
	// A change at a later revision than one whose time is known.
	const other = { ...bare, data: { a: '1' } };
	assert.deepEqual(arrivedAt5(bare, [[other, 6], [keeps]]), [], 'set after a change that came too late');
	assert.deepEqual(arrivedAt5(bare, [[other, 4], [keeps]]), asked);
});

test('asked-to-keep: of two DELETEs the first one counts', () => {
	const again = { ...byPerson(bare), at: at(9) };
	assert.deepEqual(arrivedAt5(bare, [[keeps, 6]], [again]), []);
	assert.deepEqual(arrivedAt5(keeps, [[bare, 6]], [again]), asked);
	const refused = { ...byPerson(keeps), at: at(3), code: 409 };
	assert.deepEqual(arrivedAt5(keeps, [[bare, 4]], [refused]), [], 'one that was refused deleted nothing');
});

const on = { 'config.kubernetes.io/depends-on': 'apps/namespaces/ns/Deployment/x, /namespaces/ns/ConfigMap/base' };
const base = annotated('base', {});
const violated = ['hinted: ConfigMap ns/base'];

test('hinted: what depends on another goes first, if nothing else orders the two', () => {
	const web = annotated('web', on);
	assert.deepEqual(broken([web, base], [base]), violated);
	assert.deepEqual(broken([web, base], [web, base]), []);
	assert.deepEqual(broken([annotated('web', on, { labels: { app: 'other' } }), base], [base]), [], 'of another unit');
	const user = pod('user', { volumes: [{ name: 'it', configMap: { name: 'web' } }] });
	assert.deepEqual(broken([web, base, user], [base]), [], 'a Pod needs it');
	const stays = verdict([web, base], [['gone', base]], [byPerson(base)], {
		keptExpected: [{ kind: 'ConfigMap', namespace: 'ns', name: 'web' }],
		mayRemain: () => true,
	});
	assert.deepEqual(rules(stays), [], 'what stays is in front of nothing');
	const claim = make('PersistentVolumeClaim', 'data');
	const named = annotated('web', { 'config.kubernetes.io/depends-on': '/namespaces/ns/PersistentVolumeClaim/data' });
	assert.deepEqual(broken([named, claim, pod('user', mounts('data'))], []), []);
	assert.deepEqual(broken([named, claim], [claim]), [], 'a claim has an order of its own');
});

test('hinted: the later wave of an Application goes first', () => {
	/** @param {string} name @param {string} application @param {string} [wave] */
	const inWave = (name, application, wave) =>
		annotated(name, {
			'argocd.argoproj.io/tracking-id': `${application}:/ConfigMap:ns/${name}`,
			...(wave ? { 'argocd.argoproj.io/sync-wave': wave } : {}),
		});
	const first = inWave('base', 'shop');
	assert.deepEqual(broken([first, inWave('web', 'shop', '2')], [first]), violated);
	assert.deepEqual(broken([first, inWave('web', 'shop', '-1')], [first]), []);
	assert.deepEqual(broken([first, inWave('web', 'bank', '2')], [first]), []);
});

test('hinted: a change rule of kapp says which goes first', () => {
	/** @param {string} name @param {string} app @param {string} key @param {string} value */
	const ofKapp = (name, app, key, value) => {
		const labels = { app: 'unit', 'kapp.k14s.io/app': app };
		return annotated(name, { [`kapp.k14s.io/${key}`]: value }, { labels });
	};
	const group = ofKapp('base', '7', 'change-group', 'example.com/base');
	for (const [rule, goesFirst] of /** @type {[string, boolean][]} */ ([
		['delete before deleting', true],
		['upsert after upserting', true],
		['delete after deleting', false],
		['upsert before upserting', false],
	])) {
		const ruled = ofKapp('web', '7', 'change-rule', `${rule} example.com/base`);
		assert.deepEqual(broken([group, ruled], [group]), goesFirst ? violated : [], rule);
		assert.deepEqual(broken([group, ruled], [ruled]), goesFirst ? [] : ['hinted: ConfigMap ns/web'], rule);
		assert.deepEqual(broken([group, ofKapp('web', '8', 'change-rule', `${rule} example.com/base`)], [group]), []);
	}
});

test('kept-data: claims that are going, unbound or of others do not count', () => {
	const bound = { status: { phase: 'Bound' } };
	const claim = make('PersistentVolumeClaim', 'data', bound);
	const end = (/** @type {KubeObject[]} */ there, /** @type {any[]} */ steps = []) =>
		rules(verdict(there, steps, [], { mayRemain: () => true, bound: 1 }));
	assert.deepEqual(end([claim]), []);
	assert.deepEqual(end([make('PersistentVolumeClaim', 'data', { status: { phase: 'Lost' } })]), ['kept-data: the run']);
	assert.deepEqual(end([claim], [['marked', claim]]), ['kept-data: the run']);
	const theirs = make('PersistentVolumeClaim', 'data', { ...bound, labels: { app: 'other' } });
	assert.deepEqual(end([theirs]), ['kept-data: the run']);
});
