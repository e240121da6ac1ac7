//! The fields by which objects of operators say what becomes of data when they are deleted, each as its project documents it.
//!
//! # Decisions
//! - Only what a project documents is in the table. Claims that an object owns go with it by the garbage collector, as those of
//!   a CloudNativePG Cluster: for them no field is needed.
//! - A field that is missing counts where its documented default deletes.

use std::sync::Arc;

use serde_json::Value;
use teardown::object::{DataEffect, DataPolicy, Kind};

use super::path::visit;

/// A documented field.
struct Row {
    group: &'static str,
    kind: &'static str,
    /// The path below `spec`; `[]` stands for every entry of a list.
    path: &'static str,
    /// The value that has the effect.
    value: Says,
    effect: Effect,
}

enum Says {
    True,
    Text(&'static str),
    /// This text, or nothing, because it is the default.
    TextOrNothing(&'static str),
}

enum Effect {
    /// Of the claims with this label.
    DeletesClaims(&'static str),
    DestroysData,
    LeavesData,
}

const fn row(
    (group, kind): (&'static str, &'static str),
    path: &'static str,
    value: Says,
    effect: Effect,
) -> Row {
    Row { group, kind, path, value, effect }
}

const KAFKA: (&str, &str) = ("kafka.strimzi.io", "Kafka");
const POOL: (&str, &str) = ("kafka.strimzi.io", "KafkaNodePool");
const OF_KAFKA: Effect = Effect::DeletesClaims("strimzi.io/cluster");
const OF_POOL: Effect = Effect::DeletesClaims("strimzi.io/pool-name");

const ROWS: &[Row] = &[
    // https://strimzi.io/docs/operators/latest/configuring.html#type-PersistentClaimStorage-reference
    row(KAFKA, "kafka.storage.deleteClaim", Says::True, OF_KAFKA),
    row(KAFKA, "kafka.storage.volumes[].deleteClaim", Says::True, OF_KAFKA),
    row(KAFKA, "zookeeper.storage.deleteClaim", Says::True, OF_KAFKA),
    row(POOL, "storage.deleteClaim", Says::True, OF_POOL),
    row(POOL, "storage.volumes[].deleteClaim", Says::True, OF_POOL),
    // https://www.elastic.co/docs/deploy-manage/deploy/cloud-on-k8s/volume-claim-templates
    row(
        ("elasticsearch.k8s.elastic.co", "Elasticsearch"),
        "volumeClaimDeletePolicy",
        Says::TextOrNothing("DeleteOnScaledownAndClusterDeletion"),
        Effect::DeletesClaims("elasticsearch.k8s.elastic.co/cluster-name"),
    ),
    // https://cloudnative-pg.io/documentation/current/declarative_database_management/
    row(
        ("postgresql.cnpg.io", "Database"),
        "databaseReclaimPolicy",
        Says::Text("delete"),
        Effect::DestroysData,
    ),
    // https://rook.io/docs/rook/latest/CRDs/Cluster/ceph-cluster-crd/#cleanup-policy
    row(
        ("ceph.rook.io", "CephCluster"),
        "cleanupPolicy.confirmation",
        Says::Text("yes-really-destroy-data"),
        Effect::DestroysData,
    ),
    // https://rook.io/docs/rook/latest/CRDs/Shared-Filesystem/ceph-filesystem-crd/
    row(
        ("ceph.rook.io", "CephFilesystem"),
        "preserveFilesystemOnDelete",
        Says::True,
        Effect::LeavesData,
    ),
    // https://rook.io/docs/rook/latest/CRDs/Object-Storage/ceph-object-store-crd/
    row(
        ("ceph.rook.io", "CephObjectStore"),
        "preservePoolsOnDelete",
        Says::True,
        Effect::LeavesData,
    ),
];

/// The policy that the spec of an object states.
pub(super) fn read(kind: &Kind, spec: &Value, finalizers: &[Arc<str>]) -> Option<DataPolicy> {
    let mut rows = ROWS.iter().filter(|row| kind.is(row.group, row.kind));
    rows.find_map(|row| said(row, spec)).or_else(|| managed(spec, finalizers))
}

fn said(row: &Row, spec: &Value) -> Option<DataPolicy> {
    let mut found = None;
    let mut is_there = false;
    let steps: Vec<&str> = row.path.split('.').collect();
    visit(spec, &steps, "spec", &mut |value, field| {
        is_there = true;
        let has_effect = match row.value {
            Says::True => *value == true,
            Says::Text(text) | Says::TextOrNothing(text) => *value == text,
        };
        if has_effect && found.is_none() {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            found = Some(format!("{field}: {value}"));
        }
    });
    if let (false, Says::TextOrNothing(text)) = (is_there, &row.value) {
        found = Some(format!("spec.{}: {text} by default", row.path));
    }
    let effect = match row.effect {
        Effect::DeletesClaims(label) => DataEffect::DeletesClaims { label: label.into() },
        Effect::DestroysData => DataEffect::DestroysData,
        Effect::LeavesData => DataEffect::LeavesData,
    };
    found.map(|field| DataPolicy { effect, field: field.into() })
}

/// The finalizer of Crossplane's managed resources, which are of many groups.
const MANAGED: &str = "finalizer.managedresource.crossplane.io";

/// A managed resource of Crossplane that leaves what it stands for. Policies other than all of them replace the older field
/// (<https://docs.crossplane.io/latest/managed-resources/managed-resources/#managementpolicies>).
fn managed(spec: &Value, finalizers: &[Arc<str>]) -> Option<DataPolicy> {
    if !finalizers.iter().any(|it| **it == *MANAGED) {
        return None;
    }
    let has = |list: &[Value], policy: &str| list.iter().any(|it| *it == policy);
    let policies = spec["managementPolicies"].as_array().filter(|list| !has(list, "*"));
    let field = match policies {
        Some(policies) if !has(policies, "Delete") => "spec.managementPolicies without Delete",
        None if spec["deletionPolicy"] == "Orphan" => "spec.deletionPolicy: Orphan",
        _ => return None,
    };
    Some(DataPolicy { effect: DataEffect::LeavesData, field: field.into() })
}
