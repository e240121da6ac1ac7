//! The things that a remedy loses. Only the server asks for it: see `teardown::advice`.

use teardown::{
    object::Reclaim,
    remedy::{GoingClaim, Loss, Remedy},
};

use super::reclaim_policy;
use crate::text::{isolated, named};

/// Everything that is lost, or may be; each claim that goes with the fate of its volume.
pub(super) fn losses(remedy: &Remedy) -> Vec<String> {
    let said = remedy.loses.iter().map(|it| loss(*it).to_owned());
    said.chain(remedy.reaches.going.iter().map(going_claim)).collect()
}

fn going_claim(GoingClaim { claim, volume, reclaim, .. }: &GoingClaim) -> String {
    let claim = named(claim);
    let volume = volume.as_ref().map(|volume| isolated(volume));
    match (volume, reclaim) {
        (None, _) => format!("{claim} is deleted too. It has no volume."),
        (Some(volume), None) => format!(
            "{claim} is deleted too. Unwind cannot see its volume {volume}, which may go with its data."
        ),
        (Some(volume), Some(Reclaim::Retain)) => {
            format!("{claim} is deleted too. Its volume {volume} stays (Retain).")
        }
        (Some(volume), Some(policy)) => format!(
            "{claim} is deleted too, and the data in its volume {volume} with it ({}).",
            reclaim_policy(*policy)
        ),
    }
}

/// Something that is lost, or may be.
fn loss(loss: Loss) -> &'static str {
    match loss {
        Loss::SecondWriter => {
            "If the node still runs the Pod, a second one writes to the same volume, and data is damaged."
        }
        Loss::PodsOnNode => {
            "Every Pod on the node ends and loses its data on the node’s own disks."
        }
        Loss::Machine => {
            "Karpenter, Cluster API or Gardener may destroy the machine with its disks."
        }
        Loss::Mount => "The mount stays on the node, and a later Pod may mount over it.",
        Loss::ServedMounts => {
            "A driver that serves its volumes from this Pod, as drivers with FUSE do, cuts them off from the Pods named here. They have to be restarted then."
        }
        Loss::Directory => "A directory or control group of the Pod may stay on the node.",
        Loss::Network => "The Pod’s IP address and network interfaces stay reserved on the node.",
        Loss::Device => "The device stays allocated, and no other Pod can use it.",
        Loss::Unfinished => {
            "Whatever the containers have not finished by then is lost: a drain, a hand-over to a replica, writes that are only in memory."
        }
        Loss::Workload => "The workload does not run until you scale it up again.",
        Loss::Output => "The logs and exit codes of the completed Pod are lost.",
        Loss::Data => "The data in the volume is destroyed.",
        Loss::Checks => "Meanwhile nothing checks the requests that the webhook guards.",
        Loss::ChecksInNamespaces => "Meanwhile the webhook checks no request in there.",
        Loss::Api => "Clients of this API get errors. Autoscalers that use it stop scaling.",
        Loss::ComesBack => "An operator, GitOps or an addon manager may put it back.",
        Loss::DependentData => "The data of each dependent goes with it.",
        Loss::OwnerFirst => {
            "The owner goes before its dependents, which follow if nothing holds them."
        }
        Loss::Dependents => "The dependents that were to be kept are deleted as well.",
        Loss::WorkloadsStart => {
            "Deployments and CronJobs that were left in the namespace start again for a moment."
        }
        Loss::Orphans => {
            "Whatever is left in the namespace can be neither seen nor changed until the namespace exists again."
        }
        Loss::Fields => "Fields of objects that are stored in another version are misread.",
        Loss::LoadBalancer => {
            "The load balancer in the cloud stays, with its address, and costs money."
        }
        Loss::Kept => {
            "Later the volume stays as Released, and its storage costs money until somebody deletes both."
        }
        Loss::Storage => {
            "The storage behind the volume stays and costs money. Note its handle first: only this object records it."
        }
        Loss::Attachment => {
            "If the volume is attached after all, the next node attaches it too, and data is damaged."
        }
        Loss::Snapshot => "The snapshot in the storage system stays and costs money.",
        Loss::Deployed => "Everything that was created for this object stays.",
        Loss::Cloud => "The resource in the cloud stays and costs money.",
        Loss::DnsRecords => "Records in the DNS stay.",
        Loss::JobCount => "The Job never counts this Pod. That is harmless once the Job is gone.",
        Loss::Copy => "A clone, a snapshot or a restore that reads from it may never be complete.",
        Loss::Hooks => "The hooks for its deletion do not run.",
        Loss::InUse => {
            "Whatever still uses it is left without it, and may hang at its own deletion."
        }
        Loss::NodeStorage => {
            "Its data stays on the disks of the nodes, and a new installation may refuse those disks."
        }
        Loss::Keys => {
            "The keys of the storage cluster are lost. Without them nobody can read its data again."
        }
        Loss::Access => {
            "Role bindings, secrets and leases that were given out stay, and credentials stay valid."
        }
        Loss::MachineLeft => "The machine keeps running and costs money, and nobody drains it.",
        Loss::Replicas => "The workload keeps its present number of replicas.",
        Loss::Files => "Files in the object store stay and cost money.",
        Loss::Quota => "The quota may be counted wrongly.",
        Loss::Claims => "Its claims stay with their data, and cost money.",
        Loss::StopOrder => {
            "Its Pods end all at once. The order that protects their data is not kept."
        }
        Loss::VirtualMachine => {
            "The virtual machine may keep running. A second one then writes to the same disks, and data is damaged."
        }
        Loss::PodNetwork => {
            "The network agent may go before the Pods. Pods on all nodes then hang while they end."
        }
        Loss::Injected => "The fault that was injected stays in place.",
        Loss::Elsewhere => {
            "Its records in another system stay: topics, databases, users or registrations."
        }
        Loss::Status => "Only a status that is out of date stays.",
        Loss::CleanUp => {
            "Whatever the program would have cleaned up stays: databases, addresses, records elsewhere."
        }
    }
}

#[cfg(test)]
mod tests {
    use teardown::object::{ObjectRef, Uid};

    use super::*;

    #[test]
    fn claim_that_goes_is_named_with_the_fate_of_its_volume() {
        let going = |volume: Option<&str>, reclaim| {
            going_claim(&GoingClaim {
                claim: ObjectRef {
                    group: "".into(),
                    kind: "PersistentVolumeClaim".into(),
                    namespace: Some("shop".into()),
                    name: "data-db-1".into(),
                },
                uid: Uid::new("u-1"),
                volume: volume.map(Into::into),
                reclaim,
            })
        };
        let claim = "PersistentVolumeClaim shop/data-db-1 is deleted too";
        for (volume, reclaim, expected) in [
            (None, None, ". It has no volume."),
            (
                Some("pv"),
                Some(Reclaim::Delete),
                ", and the data in its volume pv with it (Delete).",
            ),
            (Some("pv"), Some(Reclaim::Retain), ". Its volume pv stays (Retain)."),
            (Some("pv"), None, ". Unwind cannot see its volume pv, which may go with its data."),
        ] {
            assert_eq!(going(volume, reclaim), format!("{claim}{expected}"));
        }
    }
}
