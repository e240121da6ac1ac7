//! Objects that a person deletes although objects outside the unit use them: the choice `waive`.
//!
//! # Decisions
//! - A waiver names one object, and says nothing about what that object needs. It counts for the ReplicaSets, Pods and Jobs that
//!   controllers made for it, because nobody knows their names beforehand.
//! - It can be had for workloads that others need to be cleared, provisioned, controlled or answered; for webhook configurations; for
//!   classes and CSIDrivers; for Services, ConfigMaps, Secrets and ServiceAccounts; and for the roles and bindings of accounts.
//!   Another object of the same name helps everybody who loses one of these. The plan names the users and their loss, and a person
//!   confirms each waived object by name.
//! - Data of others is never a choice: no claim, volume, snapshot, ResourceClaim, namespace or custom resource can be waived. Nothing
//!   says what an operator destroys together with a custom resource.
//! - A definition is never waived. The API server deletes all objects of its kind with it, so it stays while others have some, and
//!   with it whatever converts them: without that, no object of the kind could be read or deleted. To list those objects as destroyed
//!   instead would make data of others a choice, and what their finalizers guard would not be torn down in any order.
//! - The backend of a webhook configuration, an APIService or a definition of others is never waived. The API server would refuse
//!   requests about any object, and no namespace could be deleted.
//! - An object whose owner is outside is not waived, because the owner would make it again, nor is a NetworkPolicy or a
//!   PodDisruptionBudget that protects Pods of others.
//! - An object that is kept for another reason stays kept: no waiver counts where it is protected or hidden, made by the cluster, or
//!   of a kind without the verb `delete`.
//! - A waived configuration goes although it guards objects of the unit that stay: a rule for everything guards some in any plan.

use std::collections::BTreeMap;

use super::{
    choices::{Choice, Choices},
    difference::is_created_by_controllers,
};
use crate::{
    index::Index,
    object::{Facts, Kind, Object, RBAC, Uid},
    relation::EdgeKind,
    unit::Unit,
};

/// The classes and drivers that a person may waive. The data that they were used for stays where it is.
const CLASSES: [(&str, &str); 9] = [
    ("gateway.networking.k8s.io", "GatewayClass"),
    ("networking.k8s.io", "IngressClass"),
    ("node.k8s.io", "RuntimeClass"),
    ("resource.k8s.io", "DeviceClass"),
    ("scheduling.k8s.io", "PriorityClass"),
    ("snapshot.storage.k8s.io", "VolumeSnapshotClass"),
    ("storage.k8s.io", "CSIDriver"),
    ("storage.k8s.io", "StorageClass"),
    ("storage.k8s.io", "VolumeAttributesClass"),
];

/// The objects that a person waived, and what controllers made for them, each with the object that the person named.
#[derive(Default)]
pub(super) struct Waivers(BTreeMap<Uid, Uid>);

impl Waivers {
    pub(super) fn of(choices: &Choices, unit: &Unit, index: &Index) -> Self {
        let named = choices.iter().filter_map(|choice| match choice {
            Choice::Waive(object) => index.named(object),
            _ => None,
        });
        let named: Vec<&Uid> = named.map(|it| &it.uid).collect();
        let covered = unit.members.iter().filter_map(|uid| {
            let is_made = index.get(uid).is_some_and(|it| is_created_by_controllers(&it.kind));
            let of = named
                .iter()
                .find(|named| **named == uid || is_made && index.descends(uid, named))?;
            Some((uid.clone(), (*of).clone()))
        });
        Self(covered.collect())
    }

    /// Each object that counts as waived, with the one that the person named.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&Uid, &Uid)> {
        self.0.iter()
    }

    /// Whether a person waived an object, or one that it was made for.
    pub(super) fn covers(&self, uid: &Uid) -> bool {
        self.0.contains_key(uid)
    }

    /// Whether an object goes although one outside the unit uses it by an edge of this kind.
    pub(super) fn lifts(&self, object: &Object, edge: EdgeKind) -> bool {
        self.covers(&object.uid) && may_be_waived(object, edge)
    }
}

/// Whether a person may waive that others use an object by an edge of this kind.
pub(super) fn may_be_waived(object: &Object, edge: EdgeKind) -> bool {
    let is_program = matches!(object.facts, Facts::Workload(_) | Facts::Pod(_));
    match edge {
        EdgeKind::Guards => matches!(object.facts, Facts::Webhooks(_)),
        EdgeKind::Finishes | EdgeKind::Provisions | EdgeKind::Controls => {
            is_program || is_class(&object.kind)
        }
        EdgeKind::Routes | EdgeKind::Selects => {
            is_program || is_class(&object.kind) || object.kind.is("", "Service")
        }
        EdgeKind::Mounts | EdgeKind::Refers => {
            is_class(&object.kind)
                || ["Service", "ConfigMap", "Secret", "ServiceAccount"]
                    .iter()
                    .any(|kind| object.kind.is("", kind))
        }
        EdgeKind::RunsAs => object.kind.is("", "ServiceAccount") || *object.kind.group == *RBAC,
        EdgeKind::Owns
        | EdgeKind::Contains
        | EdgeKind::Claims
        | EdgeKind::Binds
        | EdgeKind::Scales
        | EdgeKind::RunsOn
        | EdgeKind::Admits
        | EdgeKind::Serves
        | EdgeKind::Defines
        | EdgeKind::Converts
        | EdgeKind::Snapshots
        | EdgeKind::Attaches
        | EdgeKind::Declares
        | EdgeKind::Hints => false,
    }
}

fn is_class(kind: &Kind) -> bool {
    CLASSES.iter().any(|(group, name)| kind.is(group, name))
}
