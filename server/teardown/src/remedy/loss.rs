//! The things that a remedy loses.

use serde::{Deserialize, Serialize};

/// Something that is lost with a remedy, or may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Loss {
    /// The node may still run the Pod, so that two Pods write to one volume or claim to be one member.
    SecondWriter,
    /// Every Pod on the node ends.
    PodsOnNode,
    /// Cluster API, Karpenter or Gardener may destroy the machine with its disks.
    Machine,
    /// A mount stays on the node, and a later Pod may mount over it.
    Mount,
    /// Pods lose the volumes that a driver serves from its own Pod, as drivers with FUSE do.
    ServedMounts,
    /// The Pod's directory or control group stays on the node.
    Directory,
    /// The address and the network interfaces of the Pod stay reserved on the node.
    Network,
    /// The device stays allocated.
    Device,
    /// The work that the containers have not finished when their time is over.
    Unfinished,
    /// The workload does not run while it is scaled down.
    Workload,
    /// Logs and exit codes of completed Pods.
    Output,
    /// The data in the volume is destroyed.
    Data,
    /// The data of each dependent that is deleted goes with it.
    DependentData,
    /// The checks of the webhook are not made.
    Checks,
    /// The checks of the webhook are not made in the namespaces that are exempt from it.
    ChecksInNamespaces,
    /// Clients of the API get errors, autoscalers among them.
    Api,
    /// A GitOps controller or an addon manager may put it back.
    ComesBack,
    /// The owner goes before its dependents.
    OwnerFirst,
    /// The dependents that were to be kept are deleted.
    Dependents,
    /// Workloads that were left in the namespace start again for a moment.
    WorkloadsStart,
    /// Objects stay in a namespace that does not exist, where nothing can be changed.
    Orphans,
    /// Fields of objects in another stored version are misread.
    Fields,
    /// The load balancer in the cloud stays, and costs money.
    LoadBalancer,
    /// The volume and its storage stay once its claim is gone, and cost money.
    Kept,
    /// The storage behind the volume stays, and costs money.
    Storage,
    /// The volume may stay attached to its node, and a second node may write to it.
    Attachment,
    /// The snapshot in the storage system stays.
    Snapshot,
    /// Objects that the program created for the object stay.
    Deployed,
    /// Resources in the cloud stay, and cost money.
    Cloud,
    /// Records in the DNS stay.
    DnsRecords,
    /// The Job does not count the Pod.
    JobCount,
    /// A clone, a snapshot or a restore that reads from the object stays incomplete.
    Copy,
    /// The hooks of a deletion do not run.
    Hooks,
    /// Objects that use the object are left without it.
    InUse,
    /// Data of the storage system stays on the disks of the nodes.
    NodeStorage,
    /// The keys of the storage cluster, without which nobody can read its data.
    Keys,
    /// Accounts, role bindings, secrets and leases stay valid.
    Access,
    /// The machine goes on, and costs money.
    MachineLeft,
    /// The workload keeps the number of replicas that the program gave it.
    Replicas,
    /// Backups and other files in an object store stay, and cost money.
    Files,
    /// The use of a quota is miscounted.
    Quota,
    /// The claims stay with their data, and cost money.
    Claims,
    /// The Pods end at once, without the order that protects their data.
    StopOrder,
    /// The process of the virtual machine goes on, and another one may write to the same disks.
    VirtualMachine,
    /// The network agent goes before the Pods, which then cannot end.
    PodNetwork,
    /// The fault that was injected stays in the nodes and the Pods.
    Injected,
    /// Records in another system stay, such as topics, users and registrations.
    Elsewhere,
    /// A status that is out of date stays.
    Status,
    /// The things that the program would have cleaned up elsewhere stay.
    CleanUp,
}
