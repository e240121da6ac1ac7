/**
 * The Pods that are recorded, and their faults.
 */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';

/** @typedef {import('../client.mjs').KubeObject} KubeObject */
/** @typedef {import('../kubelet.mjs').RealKubelet} RealKubelet */

/**
 * @typedef {object} Case
 * @property {string} name of its directory
 * @property {string} what happens, in a sentence for the README
 * @property {string} [fault] of fault.go
 * @property {'nfs'|'local'|'csi'} [volume] nfs without it
 * @property {string} [subPath] the container mounts only this directory of the volume
 * @property {number} [grace] its terminationGracePeriodSeconds; 2 without it
 * @property {string[]} [preStop] the command of its hook
 * @property {object} [options] of the DELETE
 * @property {number} [most] the number of entries of its log that are kept; 40 without it
 * @property {(kubelet: RealKubelet, pod: KubeObject) => Promise<void>} [prepare] done before the DELETE
 */

/** The faults that a whole node has, so that each needs a node of its own. */
export const ofNodes = ['unregistered', 'unavailable'];

/** The Pod's name in each case. */
export const podName = 'orderer-0';

/** @type {Case[]} */
export const cases = [
	{ name: 'healthy', what: 'nothing fails', subPath: 'production' },
	{ name: 'busy', what: '`umount` answers that the target is busy (a bind mount)', fault: 'busy', volume: 'local' },
	{ name: 'busy-zh', what: 'the same, where the kubelet runs in Chinese', fault: 'busy-zh', volume: 'local' },
	{ name: 'busy-nfs', what: 'an NFS mount is busy: its helper answers with exit status 16', fault: 'busy' },
	{ name: 'stale', what: 'an NFS mount is stale', fault: 'stale' },
	{ name: 'stale-subpath', what: 'an NFS mount is stale, and mounted by subPath', fault: 'stale', subPath: 'production' },
	{ name: 'hang', what: '`umount` of an NFS mount does not return, and cannot be killed', fault: 'hang' },
	{ name: 'hang-subpath', what: 'the same for a subPath', fault: 'hang', subPath: 'production' },
	{ name: 'hang-killable', what: '`umount` of an NFS mount hangs; `umount -f` works after one minute', fault: 'hang-killable' },
	{ name: 'leftover', what: 'a file lies below the mount point of a subPath', fault: 'leftover', subPath: 'production' },
	{ name: 'csi-busy', what: 'the CSI driver refuses NodeUnpublishVolume', fault: 'unpublish', volume: 'csi' },
	{ name: 'csi-hang', what: 'the CSI driver does not answer NodeUnpublishVolume', fault: 'unpublish-hang', volume: 'csi' },
	{ name: 'csi-unregistered', what: 'the CSI driver is not registered on the node', fault: 'unregistered', volume: 'csi' },
	{ name: 'csi-unavailable', what: 'the CSI driver is registered, and nobody answers on its socket', fault: 'unavailable', volume: 'csi' },
	{
		name: 'csi-vol-data',
		what: 'vol_data.json of a CSI volume is missing: an error every 100 ms, without back-off',
		most: 12,
		volume: 'csi',
		prepare: (kubelet, { metadata }) =>
			rm(join(kubelet.root, 'pods', metadata.uid, 'volumes/kubernetes.io~csi', `ledger-${metadata.namespace}`, 'vol_data.json')),
	},
	{ name: 'kill', what: 'the runtime cannot kill the container, and says so', fault: 'kill' },
	{ name: 'unkillable', what: 'the runtime does not answer when it is to stop the container', fault: 'unkillable' },
	{ name: 'network', what: 'the network of the sandbox cannot be taken down', fault: 'network' },
	{ name: 'unprepare', what: 'the DRA driver of a resource claim does not answer', fault: 'unprepare' },
	{ name: 'cgroup', what: 'the cgroup of the Pod cannot be removed', fault: 'cgroup' },
	{ name: 'pre-stop', what: 'a preStop hook of 5 s within a grace period of 20 s', preStop: ['sleep', '5'], grace: 20 },
	{ name: 'pre-stop-slow', what: 'a preStop hook that needs longer than the grace period of 5 s', preStop: ['sleep', '60'], grace: 5 },
	{ name: 'pre-stop-failed', what: 'a preStop hook that fails', preStop: ['false'], grace: 5 },
	{
		name: 'forced',
		what: 'a Pod with a busy volume is deleted by force',
		fault: 'busy',
		volume: 'local',
		options: { gracePeriodSeconds: 0 },
	},
];

/** @param {Case} recorded @param {string} namespace @param {RealKubelet} kubelet @returns {KubeObject[]} */
export function objectsOf({ volume = 'nfs', subPath, grace = 2, preStop }, namespace, kubelet) {
	const name = `ledger-${namespace}`;
	const resources = { storage: '1Gi' };
	const sources = {
		nfs: { nfs: { server: 'nfs.example', path: `/exports/${namespace}` } },
		local: { local: { path: kubelet.root } },
		csi: { csi: { driver: 'csi.unwind.test', volumeHandle: namespace } },
	};
	const there = [{ matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: [kubelet.node] }] }];
	return [
		{
			apiVersion: 'storage.k8s.io/v1',
			kind: 'CSIDriver',
			metadata: { name: 'csi.unwind.test' },
			spec: { attachRequired: false },
		},
		{
			apiVersion: 'v1',
			kind: 'PersistentVolume',
			metadata: { name },
			spec: {
				capacity: resources,
				accessModes: ['ReadWriteMany'],
				storageClassName: 'static',
				claimRef: { namespace, name: 'data' },
				nodeAffinity: volume === 'local' ? { required: { nodeSelectorTerms: there } } : undefined,
				...sources[volume],
			},
		},
		{
			apiVersion: 'v1',
			kind: 'PersistentVolumeClaim',
			metadata: { name: 'data', namespace },
			spec: { accessModes: ['ReadWriteMany'], storageClassName: 'static', volumeName: name, resources: { requests: resources } },
		},
		{
			apiVersion: 'v1',
			kind: 'Pod',
			metadata: { name: podName, namespace },
			spec: {
				nodeName: kubelet.node,
				terminationGracePeriodSeconds: grace,
				containers: [
					{
						name: 'orderer',
						image: 'registry.example/app:1',
						volumeMounts: [{ name: 'data', mountPath: '/data', subPath }],
						lifecycle: preStop && { preStop: { exec: { command: preStop } } },
					},
				],
				volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }],
			},
		},
	];
}
