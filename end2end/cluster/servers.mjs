/**
 * The command lines of the control plane: features, intervals, files.
 */
import { join } from 'node:path';

/** @typedef {{etcd: number, peer: number, apiserver: number}} Ports */
/** @typedef {{name: string, argv: string[], rank: number}} Server  A higher rank is stopped earlier. */

/** Each node has a KWOK process of its own, so that one kubelet can be suspended alone. */
export const nodes = ['node-a', 'node-b', 'node-c'];

/**
 * The times until a silent node is NotReady and until its Pods are deleted; the defaults are 50 s and 5 min. The lease is renewed
 * every quarter of its duration, which has to stay well below the grace period, or nodes flap.
 */
const leaseSeconds = 8;
const nodeGraceSeconds = 8;
const tolerationSeconds = 3;

/** @param {string} bin @param {string} dir @param {Ports} ports @returns {Server} */
export const etcd = (bin, dir, ports) => {
	const client = `http://127.0.0.1:${ports.etcd}`;
	const peer = `http://127.0.0.1:${ports.peer}`;
	return {
		name: 'etcd',
		rank: 0,
		argv: [
			join(bin, 'etcd'),
			'--name=unwind',
			`--data-dir=${join(dir, 'etcd')}`,
			'--unsafe-no-fsync', // the data lives as long as the process
			`--listen-client-urls=${client}`,
			`--advertise-client-urls=${client}`,
			`--listen-peer-urls=${peer}`,
			`--initial-advertise-peer-urls=${peer}`,
			`--initial-cluster=unwind=${peer}`,
			'--log-level=warn',
		],
	};
};

/**
 * @param {string} bin @param {string} dir @param {Ports} ports @param {string} policy @param {string} [egress] the file with its way
 *   to the Pods; without one it dials them itself
 * @returns {Server}
 */
export const apiServer = (bin, dir, ports, policy, egress) => ({
	name: 'apiserver',
	rank: 1,
	argv: [
		join(bin, 'kube-apiserver'),
		`--etcd-servers=http://127.0.0.1:${ports.etcd}`,
		`--secure-port=${ports.apiserver}`,
		'--bind-address=127.0.0.1',
		`--cert-dir=${join(dir, 'certificates')}`, // the server creates its authority and serving certificate there
		'--service-account-issuer=https://kubernetes.default.svc',
		`--service-account-key-file=${join(dir, 'service-account.key')}`,
		`--service-account-signing-key-file=${join(dir, 'service-account.key')}`,
		'--service-cluster-ip-range=10.0.0.0/24',
		'--authorization-mode=RBAC',
		`--token-auth-file=${join(dir, 'tokens.csv')}`,
		`--audit-policy-file=${policy}`,
		`--audit-log-path=${join(dir, 'audit.log')}`,
		'--enable-aggregator-routing=true', // no kube-proxy here: reach the backends of APIServices by their endpoints
		`--default-not-ready-toleration-seconds=${tolerationSeconds}`,
		`--default-unreachable-toleration-seconds=${tolerationSeconds}`,
		...(egress ? [`--egress-selector-config-file=${egress}`] : []),
	],
});

/** @param {string} bin @param {string} dir @param {boolean} leads by a lease that it renews @returns {Server} */
export const controllerManager = (bin, dir, leads) => ({
	name: 'controller-manager',
	rank: 2,
	argv: [
		join(bin, 'kube-controller-manager'),
		`--kubeconfig=${join(dir, 'controller-manager.kubeconfig')}`,
		'--secure-port=0',
		`--leader-elect=${leads}`,
		'--use-service-account-credentials=true',
		`--service-account-private-key-file=${join(dir, 'service-account.key')}`,
		`--root-ca-file=${join(dir, 'ca.crt')}`,
		`--node-monitor-grace-period=${nodeGraceSeconds}s`,
		'--node-monitor-period=1s',
		'--pvclaimbinder-sync-period=1s', // with the default of 15 s volumes are bound late
		'--kube-api-qps=100',
		'--kube-api-burst=200',
	],
});

/** @param {string} bin @param {string} dir @returns {Server} */
export const scheduler = (bin, dir) => ({
	name: 'scheduler',
	rank: 2,
	argv: [
		join(bin, 'kube-scheduler'),
		`--kubeconfig=${join(dir, 'scheduler.kubeconfig')}`,
		'--secure-port=0',
		'--leader-elect=false',
		'--kube-api-qps=100',
		'--kube-api-burst=200',
	],
});

/**
 * The simulated kubelet of one node.
 * @param {string} bin @param {string} dir @param {string} node @param {string[]} stages files @returns {Server}
 */
export const machine = (bin, dir, node, stages) => {
	const number = nodes.indexOf(node) + 1;
	return {
		name: node,
		rank: 2,
		argv: [
			join(bin, 'kwok'),
			`--kubeconfig=${join(dir, 'kwok.kubeconfig')}`,
			`--manage-single-node=${node}`,
			'--manage-all-nodes=false',
			`--node-lease-duration-seconds=${leaseSeconds}`,
			`--node-ip=192.0.2.${number}`,
			`--cidr=10.244.${number}.0/24`,
			'--node-port=0',
			...stages.map((file) => `--config=${file}`),
		],
	};
};
