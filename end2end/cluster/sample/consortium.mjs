/**
 * The sample application: a blockchain consortium, one unit that spans three namespaces.
 *
 *   consortium-orderers   three ordering nodes, each with a ledger on NFS
 *   consortium-org1/org2  per organisation: peers that share one NFS claim through subPath mounts, a CouchDB, a CLI job
 *
 * This is the shape of the application whose Pods stayed terminating on stale NFS file handles when everything was deleted at
 * once. Its volumes are static NFS exports (Retain; some labelled as part of the unit, some forgotten), except
 * CouchDB of org2, which has a dynamically provisioned one (Delete).
 *
 * The bystander is an auditor of another team. One half of it lives in consortium-org2, mounts the peers' claim there and
 * reads a ConfigMap of the consortium: that claim, its volume, the ConfigMap and the namespace must outlive the unit.
 */
import { driver } from '../provisioner.mjs';
import {
	bystanderNamespace,
	namespaceOf,
	ordererCount,
	orderers,
	orgs,
	sharedClaimOf,
	sharedConfigMap,
	sharedOrg,
} from './names.mjs';
import {
	autoscaler,
	claim,
	claimSpec,
	configMap,
	csiDriver,
	deployment,
	disruptionBudget,
	identity,
	ingress,
	job,
	labels,
	namespace,
	networkPolicy,
	nfsVolume,
	podTemplate,
	secret,
	service,
	serviceAccount,
	statefulSet,
	storageClass,
} from './objects.mjs';

/** @typedef {import('./objects.mjs').KubeObject} KubeObject */

const nfsClass = 'consortium-nfs';
const csiClass = 'consortium-csi';
const image = 'registry.example/consortium';

/** Metadata of a part of the unit. @param {string} name @param {string} [inNamespace] @param {string} [component] */
const part = (name, inNamespace, component = name) => ({
	name,
	...(inNamespace ? { namespace: inNamespace } : {}),
	labels: labels('consortium', component),
});
/** Metadata of a part of the bystander. @param {string} name @param {string} [inNamespace] */
const foreign = (name, inNamespace) => ({
	name,
	...(inNamespace ? { namespace: inNamespace } : {}),
	labels: labels('bystander', name),
});

/** An object without the label of the unit. @param {KubeObject} object @returns {KubeObject} */
const unlabelled = ({ metadata: { labels: _, ...metadata }, ...rest }) => ({ ...rest, metadata });

const ledger = claimSpec(nfsClass, '20Gi', 'ReadWriteOnce');
const shared = claimSpec(nfsClass, '10Gi', 'ReadWriteMany');
const couchdbData = {
	org1: claimSpec(nfsClass, '5Gi', 'ReadWriteOnce'),
	org2: claimSpec(csiClass, '5Gi', 'ReadWriteOnce'),
};

/** The platform's objects, which are not part of the unit. */
const platform = [
	storageClass({ name: nfsClass }, 'kubernetes.io/no-provisioner', 'Retain'),
	storageClass({ name: csiClass }, driver, 'Delete'),
	csiDriver({ name: driver }),
];

/** @returns {KubeObject[]} */
function ordererObjects() {
	const ns = orderers;
	const at = part('orderer', ns);
	const template = podTemplate(at.labels, {
		serviceAccountName: 'orderer',
		containers: [
			{
				name: 'orderer',
				image: `${image}/orderer:2.5`,
				envFrom: [{ configMapRef: { name: 'orderer-config' } }],
				ports: [{ containerPort: 7050 }],
				volumeMounts: [
					{ name: 'ledger', mountPath: '/var/ledger', subPath: 'production' },
					{ name: 'tls', mountPath: '/etc/tls', readOnly: true },
				],
			},
		],
		volumes: [{ name: 'tls', secret: { secretName: 'orderer-tls' } }],
	});
	return [
		namespace(part(ns)),
		...identity(at),
		configMap(part('orderer-config', ns, 'orderer'), { data: { ORDERER_GENERAL_LISTENPORT: '7050' } }),
		secret(part('orderer-tls', ns, 'orderer'), ['tls.crt', 'tls.key']),
		service(at, 7050, { headless: true }),
		networkPolicy(at, 7050),
		disruptionBudget(at),
		...Array.from({ length: ordererCount }, (_, ordinal) =>
			nfsVolume(part(`orderer-ledger-${ordinal}`), ledger, { namespace: ns, name: `ledger-orderer-${ordinal}` }),
		),
		statefulSet(at, ordererCount, template, [{ metadata: { name: 'ledger', labels: at.labels }, spec: ledger }]),
	];
}

/** @param {'org1'|'org2'} org @returns {KubeObject[]} */
function orgObjects(org) {
	const ns = namespaceOf(org);
	const sharedClaim = sharedClaimOf(org);
	const sharedVolume = { name: 'shared', persistentVolumeClaim: { claimName: sharedClaim } };
	const couchdbAt = part('couchdb', ns);

	/** @param {string} name @param {Record<string, string>} annotations */
	const peer = (name, annotations) =>
		deployment(
			part(name, ns),
			2,
			podTemplate(
				// A label for all peers together, which Services, policies and budgets select, and one for this peer.
				{ ...labels('consortium', name), 'app.kubernetes.io/component': 'peer' },
				{
					serviceAccountName: 'peer',
					containers: [
						{
							name: 'peer',
							image: `${image}/peer:2.5`,
							envFrom: [{ configMapRef: { name: 'peer-config' } }],
							env: [
								{
									name: 'COUCHDB_PASSWORD',
									valueFrom: { secretKeyRef: { name: 'couchdb-credentials', key: 'password' } },
								},
							],
							ports: [{ containerPort: 7051 }],
							volumeMounts: [
								{ name: 'shared', mountPath: '/var/production', subPath: `${name}/production` },
								{ name: 'shared', mountPath: '/var/snapshots', subPath: `${name}/snapshots` },
								{ name: 'identity', mountPath: '/etc/msp', readOnly: true },
							],
						},
					],
					volumes: [
						sharedVolume,
						{
							name: 'identity',
							projected: { sources: [{ secret: { name: 'peer-msp' } }, { configMap: { name: sharedConfigMap } }] },
						},
					],
				},
				annotations,
			),
		);
	/** Metadata of objects for all peers of the organisation. @param {string} name */
	const allPeers = (name) => ({
		name,
		namespace: ns,
		labels: { 'app.kubernetes.io/part-of': 'consortium', 'app.kubernetes.io/component': 'peer' },
	});

	return [
		namespace(part(ns)),
		...identity(part('peer', ns)),
		configMap(part('peer-config', ns, 'peer'), { data: { CORE_PEER_LOCALMSPID: `${org}MSP` } }),
		configMap(part(sharedConfigMap, ns), { data: { 'channel.yaml': 'channel: consortium\n' } }),
		secret(part('peer-msp', ns, 'peer'), ['signcert.pem', 'keystore.pem']),
		secret(part('couchdb-credentials', ns, 'couchdb'), ['user', 'password']),
		service(allPeers('peer'), 7051),
		ingress(allPeers('peer'), `${org}.consortium.example`, 7051),
		networkPolicy(allPeers('peer'), 7051),
		disruptionBudget(allPeers('peer')),
		autoscaler(part('peer0', ns), 'peer0'),
		claim(part(sharedClaim, ns), shared),
		peer('peer0', {}),
		peer('peer1', { 'pod-delete.stage.kwok.x-k8s.io/delay': '2s' }),
		service(couchdbAt, 5984, { headless: true }),
		statefulSet(
			couchdbAt,
			1,
			podTemplate(
				couchdbAt.labels,
				{
					containers: [
						{
							name: 'couchdb',
							image: `${image}/couchdb:3.4`,
							envFrom: [{ secretRef: { name: 'couchdb-credentials' } }],
							ports: [{ containerPort: 5984 }],
							volumeMounts: [{ name: 'data', mountPath: '/opt/couchdb/data' }],
						},
					],
				},
				{ 'pod-delete.stage.kwok.x-k8s.io/delay': '3s' },
			),
			[{ metadata: { name: 'data', labels: couchdbAt.labels }, spec: couchdbData[org] }],
		),
		job(
			part('cli', ns),
			podTemplate(
				labels('consortium', 'cli'),
				{
					serviceAccountName: 'peer',
					restartPolicy: 'Never',
					containers: [
						{
							name: 'join-channel',
							image: `${image}/tools:2.5`,
							volumeMounts: [{ name: 'shared', mountPath: '/work', subPath: 'cli' }],
						},
					],
					volumes: [sharedVolume],
				},
				{ 'unwind.test/completes': 'true' },
			),
		),
	];
}

/** The other static volumes. The last two lack the label. */
const orgVolumes = [
	nfsVolume(part('org1-shared'), shared, { namespace: namespaceOf('org1'), name: 'org1-shared' }),
	unlabelled(nfsVolume(part('org2-shared'), shared, { namespace: namespaceOf('org2'), name: 'org2-shared' })),
	unlabelled(
		nfsVolume(part('org1-couchdb'), couchdbData.org1, { namespace: namespaceOf('org1'), name: 'data-couchdb-0' }),
	),
];

/** @returns {KubeObject[]} */
function bystanderObjects() {
	const guestOf = namespaceOf(sharedOrg);
	const home = bystanderNamespace;
	return [
		deployment(
			foreign('auditor', guestOf),
			1,
			podTemplate(labels('bystander', 'auditor'), {
				containers: [
					{
						name: 'auditor',
						image: 'registry.example/auditor:1',
						envFrom: [{ configMapRef: { name: sharedConfigMap } }],
						ports: [{ containerPort: 8080 }],
						volumeMounts: [{ name: 'shared', mountPath: '/evidence', readOnly: true }],
					},
				],
				volumes: [{ name: 'shared', persistentVolumeClaim: { claimName: sharedClaimOf(sharedOrg) } }],
			}),
		),
		service(foreign('auditor', guestOf), 8080),
		namespace(foreign(home)),
		serviceAccount(foreign('report', home)),
		configMap(foreign('report', home), { data: { SOURCE: `http://auditor.${guestOf}:8080` } }),
		secret(foreign('report', home), ['token']),
		deployment(
			foreign('report', home),
			1,
			podTemplate(labels('bystander', 'report'), {
				serviceAccountName: 'report',
				containers: [
					{
						name: 'report',
						image: 'registry.example/auditor-report:1',
						envFrom: [{ configMapRef: { name: 'report' } }, { secretRef: { name: 'report' } }],
						ports: [{ containerPort: 8080 }],
					},
				],
			}),
		),
		service(foreign('report', home), 8080),
	];
}

/** Everything of the sample, namespaces and volumes before what needs them. */
export const sample = [
	...platform,
	...[
		...ordererObjects(),
		...orgs.flatMap((org) => orgObjects(/** @type {'org1'|'org2'} */ (org))),
		...orgVolumes,
		...bystanderObjects(),
	].sort((a, b) => rank(a) - rank(b)),
];

/** @param {KubeObject} object by its kind: namespaces and referenced kinds come first */
function rank({ kind }) {
	const first = ['Namespace', 'PersistentVolume', 'ServiceAccount', 'ConfigMap', 'Secret', 'PersistentVolumeClaim'];
	const place = first.indexOf(kind);
	return place < 0 ? first.length : place;
}
