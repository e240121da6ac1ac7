/**
 * The names in the sample application that other modules need, for the rights of users and for the objects that a teardown keeps.
 */

/** The unit: everything with this label, whatever namespace it lives in. */
export const unitLabel = 'app.kubernetes.io/part-of=consortium';
/** The application of another team, which shares a namespace, a claim and a ConfigMap with the unit. */
export const bystanderLabel = 'app.kubernetes.io/part-of=bystander';

export const orderers = 'consortium-orderers';
/** The organisations; each has a namespace and a shared claim of its own. */
export const orgs = ['org1', 'org2'];
/** @param {string} org */
export const namespaceOf = (org) => `consortium-${org}`;
/** @param {string} org the claim all peers of an organisation mount, and the NFS volume behind it */
export const sharedClaimOf = (org) => `${org}-shared`;

/** The unit's namespaces. */
export const namespaces = [orderers, ...orgs.map(namespaceOf)];
/** The organisation in whose namespace a part of the bystander runs. */
export const sharedOrg = 'org2';
/** The ConfigMap that unit and bystander both read there. */
export const sharedConfigMap = 'channel-profile';
export const bystanderNamespace = 'bystander';

export const ordererCount = 3;
const ledgers = Array.from({ length: ordererCount }, (_, ordinal) => `orderer-ledger-${ordinal}`);
/** The static PersistentVolumes. */
export const staticVolumes = [...ledgers, ...orgs.map(sharedClaimOf), 'org1-couchdb'];

/** Every value in every Secret begins with this. Nothing that the product shows, logs or stores may contain it. */
export const canary = 'UNWIND-CANARY-';
/** The canary in plain text and in Base64, where whole groups of three bytes encode the same whatever follows. */
export const canaries = new RegExp(`${canary}|${Buffer.from(canary).subarray(0, 12).toString('base64')}`);

/** The unit's objects that a teardown keeps, because the bystander needs them. */
export const kept = [
	{ kind: 'Namespace', name: namespaceOf(sharedOrg) },
	{ kind: 'PersistentVolumeClaim', namespace: namespaceOf(sharedOrg), name: sharedClaimOf(sharedOrg) },
	{ kind: 'PersistentVolume', name: sharedClaimOf(sharedOrg) },
	{ kind: 'ConfigMap', namespace: namespaceOf(sharedOrg), name: sharedConfigMap },
];
