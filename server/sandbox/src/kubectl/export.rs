//! Objects from `kubectl get -o json` of another cluster, prepared to be created in this one: without what the other
//! cluster's controllers wrote, and in an order in which each object finds what it needs.

use std::collections::{BTreeSet, HashMap, HashSet};

use serde_json::{Value, json};

use crate::object;

/// Kinds whose objects a cluster creates itself.
const MADE: [&str; 11] = [
    "ControllerRevision",
    "CSINode",
    "Endpoints",
    "EndpointSlice",
    "Event",
    "IPAddress",
    "Lease",
    "Node",
    "PodMetrics",
    "ServiceCIDR",
    "VolumeAttachment",
];

/// Kinds whose controllers create what they own, in this cluster as well.
const RECREATING_KINDS: [&str; 7] = [
    "CronJob",
    "DaemonSet",
    "Deployment",
    "Job",
    "ReplicaSet",
    "ReplicationController",
    "StatefulSet",
];

/// The longest chain of owners that is followed.
const DEEPEST: usize = 16;

/// The reason why a text holds no objects.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    #[error("its objects are no JSON")]
    Json(#[from] serde_json::Error),
    #[error("its objects are no JSON list")]
    NotAList,
}

/// Reads objects: a JSON list, a List of kubectl, or a single object.
///
/// # Errors
/// [`ExportError`].
pub(crate) fn read(text: &str) -> Result<Vec<Value>, ExportError> {
    let objects = match serde_json::from_str(text)? {
        Value::Array(objects) => objects,
        Value::Object(mut list) => match list.remove("items") {
            Some(Value::Array(objects)) => objects,
            None if list.contains_key("kind") => vec![Value::Object(list)],
            _ => return Err(ExportError::NotAList),
        },
        _ => return Err(ExportError::NotAList),
    };
    Ok(prepared(objects))
}

/// The objects in the order in which they can be created, with the namespaces that are missing. Objects that come from
/// no cluster stay as they are.
fn prepared(objects: Vec<Value>) -> Vec<Value> {
    if objects.iter().all(|it| object::uid(it).is_empty()) {
        return objects;
    }
    let kinds: HashMap<String, String> = objects
        .iter()
        .filter(|it| !object::uid(it).is_empty())
        .map(|it| (object::uid(it).to_owned(), object::text(it, &["kind"]).to_owned()))
        .collect();
    let volumes: HashSet<String> = objects
        .iter()
        .filter(|it| object::text(it, &["kind"]) == "PersistentVolume")
        .map(|it| object::name(it).to_owned())
        .collect();
    let mut fit: Vec<Value> = objects.into_iter().filter(|it| !is_made(it, &kinds)).collect();
    for it in fit.iter_mut().filter(|it| !object::uid(it).is_empty()) {
        strip(it, &kinds, &volumes);
    }
    let there: HashSet<&str> = fit
        .iter()
        .filter(|it| object::text(it, &["kind"]) == "Namespace")
        .map(object::name)
        .collect();
    let used: BTreeSet<&str> = fit.iter().map(object::namespace).collect();
    let missing = used.into_iter().filter(|name| !name.is_empty() && !there.contains(name));
    let missing: Vec<Value> = missing
        .map(|name| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}))
        .collect();
    fit.extend(missing);
    let depths = depths(&fit);
    fit.sort_by_key(|it| (rank(it), depths.get(object::uid(it)).copied()));
    fit
}

fn is_made(it: &Value, kinds: &HashMap<String, String>) -> bool {
    let kind = object::text(it, &["kind"]);
    let by_each_namespace = matches!(
        (kind, object::name(it)),
        ("ServiceAccount", "default") | ("ConfigMap", "kube-root-ca.crt")
    );
    let is_recreated = object::controller_reference(it)
        .and_then(|owner| kinds.get(object::text(owner, &["uid"])))
        .is_some_and(|kind| RECREATING_KINDS.contains(&kind.as_str()));
    MADE.contains(&kind) || by_each_namespace || is_recreated
}

/// Removes what only the other cluster's components could write.
fn strip(it: &mut Value, kinds: &HashMap<String, String>, volumes: &HashSet<String>) {
    for field in ["resourceVersion", "managedFields", "generation", "selfLink"] {
        object::unset(it, &["metadata", field]);
    }
    object::unset(it, &["status"]);
    if let Some(Value::Array(owners)) = it.pointer_mut("/metadata/ownerReferences") {
        owners.retain(|owner| kinds.contains_key(object::text(owner, &["uid"])));
    }
    match object::text(it, &["kind"]) {
        "Pod" => object::unset(it, &["spec", "nodeName"]),
        "Service" if object::text(it, &["spec", "clusterIP"]) != "None" => {
            for field in ["clusterIP", "clusterIPs", "healthCheckNodePort"] {
                object::unset(it, &["spec", field]);
            }
            if let Some(Value::Array(ports)) = it.pointer_mut("/spec/ports") {
                ports.iter_mut().for_each(|port| object::unset(port, &["nodePort"]));
            }
        }
        // The controller selects by the UID of the Job in the other cluster.
        "Job" if it.pointer("/spec/manualSelector") != Some(&Value::Bool(true)) => {
            object::unset(it, &["spec", "selector"]);
            for label in [
                "controller-uid",
                "job-name",
                "batch.kubernetes.io/controller-uid",
                "batch.kubernetes.io/job-name",
            ] {
                object::unset(it, &["metadata", "labels", label]);
                object::unset(it, &["spec", "template", "metadata", "labels", label]);
            }
        }
        "PersistentVolumeClaim" => {
            let annotations = object::at(it, &["metadata", "annotations"]).as_object();
            let bound: Vec<String> = annotations
                .into_iter()
                .flat_map(|all| all.keys())
                .filter(|key| key.starts_with("pv.kubernetes.io/") || key.starts_with("volume."))
                .cloned()
                .collect();
            for key in bound {
                object::unset(it, &["metadata", "annotations", &key]);
            }
            if !volumes.contains(object::text(it, &["spec", "volumeName"])) {
                object::unset(it, &["spec", "volumeName"]);
            }
        }
        "PersistentVolume" => {
            for field in ["uid", "resourceVersion"] {
                object::unset(it, &["spec", "claimRef", field]);
            }
        }
        _ => {}
    }
}

/// The rank of an object in the order of creation: what objects of other kinds need comes first.
fn rank(it: &Value) -> u8 {
    match object::text(it, &["kind"]) {
        "CustomResourceDefinition" => 0,
        "Namespace" => 1,
        "PriorityClass" | "StorageClass" | "IngressClass" | "RuntimeClass" => 2,
        "ServiceAccount" | "ConfigMap" | "Secret" | "PersistentVolume" => 3,
        "PersistentVolumeClaim" => 4,
        "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration" | "APIService" => 6,
        _ => 5,
    }
}

/// By UID, the number of owners above an object; for objects in a cycle some number.
fn depths(objects: &[Value]) -> HashMap<String, usize> {
    let mut depths: HashMap<String, usize> =
        objects.iter().map(|it| (object::uid(it).to_owned(), 0)).collect();
    for _ in 0..DEEPEST {
        for it in objects {
            let owners = object::owner_references(it)
                .filter_map(|owner| depths.get(object::text(owner, &["uid"])));
            let depth = owners.max().map_or(0, |owner| owner + 1);
            depths.insert(object::uid(it).to_owned(), depth);
        }
    }
    depths
}

/// Replaces the UIDs of owners by those that they have in this cluster, and drops the owners that are not there.
pub(crate) fn replace_owner_uids(object: &mut Value, uids: &HashMap<String, String>) {
    let Some(Value::Array(owners)) = object.pointer_mut("/metadata/ownerReferences") else {
        return;
    };
    owners.retain_mut(|owner| {
        let here = uids.get(object::text(owner, &["uid"]));
        here.inspect(|uid| object::set(owner, &["uid"], json!(uid))).is_some()
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{control_plane::ControlPlane, controller::timing::Timing, demo::Demo, store::Key};

    fn empty() -> ControlPlane {
        let mut world =
            ControlPlane::new("2026-01-01T00:00:00Z".parse().unwrap(), 1, Timing::default());
        world.cluster.clock.set_speed(0);
        world.run_until_idle();
        world
    }

    fn pass(world: &mut ControlPlane, seconds: u64) {
        for _ in 0..seconds {
            world.cluster.clock.advance(std::time::Duration::from_secs(1));
            world.run_until_idle();
        }
    }

    /// The visible part of each object: kind, namespace and name; for a generated name only the kind and namespace.
    fn seen(world: &ControlPlane, kinds: &[(&str, &str)]) -> Vec<String> {
        let mut seen: Vec<String> = vec![];
        for (group, plural) in kinds {
            for it in world.cluster.list(group, plural, None) {
                let owned = object::controller_reference(it).is_some();
                let name = if owned { "…" } else { object::name(it) };
                seen.push(format!("{plural} {} {name}", object::namespace(it)));
            }
        }
        seen.sort();
        seen
    }

    const KINDS: [(&str, &str); 17] = [
        ("", "namespaces"),
        ("", "configmaps"),
        ("", "secrets"),
        ("", "serviceaccounts"),
        ("", "services"),
        ("", "pods"),
        ("", "persistentvolumeclaims"),
        ("apps", "deployments"),
        ("apps", "replicasets"),
        ("apps", "statefulsets"),
        ("batch", "jobs"),
        ("networking.k8s.io", "ingresses"),
        ("networking.k8s.io", "networkpolicies"),
        ("policy", "poddisruptionbudgets"),
        ("rbac.authorization.k8s.io", "roles"),
        ("rbac.authorization.k8s.io", "rolebindings"),
        ("storage.k8s.io", "storageclasses"),
    ];

    #[test]
    fn exported_cluster_is_created_again() {
        for name in ["consortium", "shop"] {
            let mut there = empty();
            Demo::named(name).unwrap().unwrap().set_up(&mut there).unwrap();
            pass(&mut there, 60);
            let kinds: Vec<(String, String)> = there
                .cluster
                .kinds
                .iter()
                .map(|kind| (kind.group.to_string(), kind.plural.to_string()))
                .collect();
            let printed: Vec<Value> = kinds
                .iter()
                .flat_map(|(group, plural)| there.cluster.list(group, plural, None))
                .map(|it| (**it).clone())
                .collect();
            let printed = json!({"apiVersion": "v1", "kind": "List", "items": printed}).to_string();
            let mut here = empty();
            Demo::from_text("own", &printed, "").unwrap().set_up(&mut here).unwrap();
            pass(&mut here, 60);
            assert_eq!(seen(&here, &KINDS), seen(&there, &KINDS), "{name}");
        }
    }

    #[test]
    fn owners_get_the_uids_of_this_cluster_and_missing_namespaces_are_created() {
        let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {
            "name": "owner", "namespace": "a", "uid": "owner", "resourceVersion": "7"}});
        let owned = |name: &str, of: &str| {
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {
                "name": name, "namespace": "a", "uid": name,
                "ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": of, "uid": of}]}})
        };
        let printed = json!([
            owned("grandchild", "child"),
            owned("child", "owner"),
            owned("orphan", "nobody"),
            owner
        ]);
        let mut world = empty();
        Demo::from_text("own", &printed.to_string(), "").unwrap().set_up(&mut world).unwrap();
        pass(&mut world, 60);
        let get = |name: &str| world.cluster.get(&Key::new("", "configmaps", "a", name)).unwrap();
        let owners = |name: &str| -> Vec<&str> {
            object::owner_references(get(name)).map(|it| object::text(it, &["uid"])).collect()
        };
        assert_eq!(owners("child"), [object::uid(get("owner"))]);
        assert_eq!(owners("grandchild"), [object::uid(get("child"))]);
        assert_eq!(
            owners("orphan"),
            [""; 0],
            "its owner was not printed, and it is no orphan to collect"
        );
    }

    #[test]
    fn circle_of_owners_ends() {
        let one = |uid: &str, of: &str| {
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {
                "name": uid, "namespace": "a", "uid": uid,
                "ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": of, "uid": of}]}})
        };
        assert_eq!(prepared(vec![one("a", "b"), one("b", "a")]).len(), 3);
    }

    #[test]
    fn objects_without_a_uid_stay_as_they_are() {
        let own = json!({"kind": "Pod", "metadata": {"name": "p"}, "spec": {"nodeName": "node-1"}});
        assert_eq!(prepared(vec![own.clone()]), [own]);
    }
}
