//! The names in the spec of a custom resource of which no table says its fields.
//!
//! # Decisions
//! - A field names something if it ends in `Ref`, `Reference` or `Name`, or in a kind that Pods use, such as
//!   `credentialsSecret`; and so does an object with a `kind` and a `name`. What is left of the field is the kind:
//!   `sourceTopicRef` names a SourceTopic or a Topic of the object's own group. A name that fits nothing in the cluster is no
//!   edge. A guess that fits by chance puts an object later, or keeps it for an object of others.
//! - A spec that cannot be read names nothing. One odd object must not hide its whole kind.
//! - The binding of a claim, `claimRef`, names what the object is for, not what it needs: it goes after that.
//! - The specs are read by the watch and not by a task when a plan is made: what was read then could have changed at the start,
//!   and the map would not show why an object goes first. Only the names are kept. The price is that whole custom resources
//!   travel, as Pods do.

use std::sync::Arc;

use serde_json::Value;
use teardown::object::{Kind, Reference};

use super::names::{Names, group_of, is_name};

/// The deepest nesting that is searched.
const DEEPEST: usize = 16;
/// The most values of a spec that are searched.
const MOST: usize = 10_000;

/// The endings of fields that name something.
const ENDINGS: [&str; 6] = ["References", "Reference", "Refs", "Ref", "Names", "Name"];
/// The words between the kind and such an ending: `writeConnectionSecretToRef`, `secretKeyRef`, `subnetIdRef`, and
/// `secretTargetRef` of KEDA's TriggerAuthentications.
const BETWEEN: [&str; 5] = ["To", "From", "Key", "Id", "Target"];
/// The kinds of the core group that a field may name without such an ending, by how the field ends.
const CORE: [(&str, &str); 7] = [
    ("secret", "Secret"),
    ("configmap", "ConfigMap"),
    ("serviceaccount", "ServiceAccount"),
    ("service", "Service"),
    ("persistentvolumeclaim", "PersistentVolumeClaim"),
    ("pvc", "PersistentVolumeClaim"),
    ("claim", "PersistentVolumeClaim"),
];
/// The longest word that may be an abbreviation.
const ABBREVIATION: usize = 3;
/// The fields by which an object names what it is bound to.
const BINDINGS: [&str; 1] = ["claimRef"];
/// The longest path of a field that is kept, in bytes.
const LONGEST: usize = 256;

/// The names in a spec, in the order of its fields.
pub(super) fn names(kind: &Kind, spec: &Value) -> Names {
    let mut search = Search { kind, names: Names::default(), field: "spec".into(), left: MOST };
    search.value("", spec, DEEPEST);
    search.names
}

struct Search<'a> {
    kind: &'a Kind,
    names: Names,
    /// The path of the value that is looked at.
    field: String,
    /// The number of values that may still be looked at.
    left: usize,
}

impl Search<'_> {
    fn value(&mut self, key: &str, value: &Value, depth: usize) {
        let (Some(left), Some(depth)) = (self.left.checked_sub(1), depth.checked_sub(1)) else {
            return;
        };
        self.left = left;
        if BINDINGS.contains(&key) || self.names.is_full() {
            return;
        }
        match value {
            Value::String(name) => {
                self.named(key, name, None);
            }
            Value::Array(list) => {
                for (i, entry) in list.iter().enumerate() {
                    self.inside(&format!("[{i}]"), |search| search.value(key, entry, depth));
                }
            }
            Value::Object(fields) => {
                if !self.object(key, value) {
                    for (key, value) in fields {
                        self.inside(&format!(".{key}"), |search| search.value(key, value, depth));
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Searches a part of a value, unless its path is none that a person could read.
    fn inside(&mut self, step: &str, search: impl FnOnce(&mut Self)) {
        let length = self.field.len();
        if length + step.len() > LONGEST || !step.bytes().all(|byte| byte.is_ascii_graphic()) {
            return;
        }
        self.field.push_str(step);
        search(self);
        self.field.truncate(length);
    }

    /// Whether an object is a reference. If so, it is kept.
    fn object(&mut self, key: &str, value: &Value) -> bool {
        let part = |name: &str| value.get(name).and_then(Value::as_str).filter(|it| is_name(it));
        let Some(name) = part("name").filter(|it| is_object_name(it)) else { return false };
        let namespace = part("namespace");
        let Some(kind) = part("kind") else { return self.named(key, name, namespace) };
        let group = group_of(value).unwrap_or_else(|| self.usual_group(kind)).to_owned();
        self.push(&group, kind, namespace, name);
        true
    }

    /// The group of a kind that a reference says without its group.
    fn usual_group(&self, kind: &str) -> &str {
        match kind {
            "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet" => "apps",
            "Job" | "CronJob" => "batch",
            "Pod" | "Namespace" | "Node" | "PersistentVolume" => "",
            "StorageClass" => "storage.k8s.io",
            "Ingress" | "IngressClass" => "networking.k8s.io",
            "PriorityClass" => "scheduling.k8s.io",
            _ if CORE.iter().any(|(_, core)| *core == kind) => "",
            _ => &self.kind.group,
        }
    }

    /// Keeps the name, if a field of this name names something. Returns whether it does.
    fn named(&mut self, key: &str, name: &str, namespace: Option<&str>) -> bool {
        if !is_object_name(name) {
            return false;
        }
        let (stem, is_reference) = stem(key);
        let lower = stem.to_ascii_lowercase();
        let single = lower.strip_suffix('s').unwrap_or(&lower);
        if let Some((_, kind)) = CORE.iter().find(|(end, _)| single.ends_with(end)) {
            self.push("", kind, namespace, name);
            return true;
        }
        if !is_reference || stem.is_empty() {
            return false;
        }
        for kind in kinds(stem) {
            let group = self.usual_group(&kind).to_owned();
            self.push(&group, &kind, namespace, name);
        }
        true
    }

    fn push(&mut self, group: &str, kind: &str, namespace: Option<&str>, name: &str) {
        self.names.push(Reference {
            group: group.into(),
            kind: kind.into(),
            namespace: namespace.map(Arc::from),
            name: name.into(),
            field: self.field.as_str().into(),
        });
    }
}

/// Whether a text has only what the names of most objects may have (`validation.IsDNS1123Subdomain`), so that few other values
/// are taken for names.
fn is_object_name(text: &str) -> bool {
    let may_be =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte);
    is_name(text) && text.bytes().all(may_be)
}

/// A field without the ending of a reference, and whether it had one.
fn stem(key: &str) -> (&str, bool) {
    let Some(stem) = ENDINGS.iter().find_map(|ending| key.strip_suffix(ending)) else {
        return (key, false);
    };
    let without = BETWEEN.iter().find_map(|word| stem.strip_suffix(word));
    (without.filter(|it| !it.is_empty()).unwrap_or(stem), true)
}

/// The kinds that a stem may stand for: all of it, or its last word. A short word may be an abbreviation, such as `vpc`.
fn kinds(stem: &str) -> Vec<String> {
    let is_start = |(i, letter): (usize, char)| letter.is_ascii_uppercase().then_some(i);
    let last = stem.char_indices().rev().find_map(is_start).map(|at| &stem[at..]);
    let mut kinds = Vec::new();
    for word in [Some(stem), last].into_iter().flatten() {
        let mut letters = word.chars();
        let first = letters.next().map(|it| it.to_ascii_uppercase());
        kinds.push(first.into_iter().chain(letters).collect());
        if word.len() <= ABBREVIATION {
            kinds.push(word.to_ascii_uppercase());
        }
    }
    kinds.dedup();
    kinds
}
