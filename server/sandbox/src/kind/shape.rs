//! How the parts of an object are merged, and owned, by server-side apply: as one, by their names, by their keys. For
//! built-in kinds that is in the tags of `k8s.io/api`, here by the name of the field, which is enough for the kinds there
//! are; for custom resources their schema says it.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Element, Kind};

/// A part of an object of some kind.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shape<'a> {
    /// Of a built-in kind, by the name of the field; metadata are that of every kind.
    Field(&'a str),
    /// Of a custom resource, with its schema; null where nobody says anything.
    Schema { schema: &'a Value, root: bool },
}

/// How a list is merged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum List<'a> {
    /// As a whole.
    Whole,
    /// Its values are a set.
    Set,
    /// Item by item, by these of their fields.
    Items(Vec<&'a str>),
}

/// Maps that are one value.
const WHOLE: [&str; 16] = [
    "selector",
    "nodeSelector",
    "podSelector",
    "namespaceSelector",
    "objectSelector",
    "labelSelector",
    "roleRef",
    "secretRef",
    "configMapRef",
    "secretKeyRef",
    "configMapKeyRef",
    "fieldRef",
    "resourceFieldRef",
    "requiredDuringSchedulingIgnoredDuringExecution",
    "resource",
    "paramKind",
];

/// Fields that are there in every object of Go, if empty: nobody who writes something in them adds them.
const ALWAYS: [&str; 10] = [
    "metadata",
    "spec",
    "status",
    "template",
    "strategy",
    "updateStrategy",
    "jobTemplate",
    "containers",
    "resources",
    "scaleTargetRef",
];

impl<'a> Shape<'a> {
    /// The shape of whole objects.
    pub(crate) fn of(kind: &'a Kind) -> Self {
        if kind.is_custom() {
            Self::Schema { schema: &kind.declared["schema"]["openAPIV3Schema"], root: true }
        } else {
            Self::Field("")
        }
    }

    /// That of a member.
    pub(crate) fn member(self, name: &'a str) -> Self {
        match self {
            Self::Field(_) | Self::Schema { root: true, .. } if name == "metadata" => {
                Self::Field(name)
            }
            Self::Field(_) => Self::Field(name),
            Self::Schema { schema, .. } => {
                let property = &schema["properties"][name];
                let others = &schema["additionalProperties"];
                let schema = if property.is_null() { others } else { property };
                Self::Schema { schema, root: false }
            }
        }
    }

    /// That of an item of a list.
    pub(crate) fn item(self) -> Self {
        match self {
            // What an item has is known by its own name.
            Self::Field(_) => Self::Field(""),
            Self::Schema { schema, .. } => Self::Schema { schema: &schema["items"], root: false },
        }
    }

    /// Whether a map is one value.
    pub(crate) fn is_whole(self) -> bool {
        match self {
            Self::Field(name) => WHOLE.contains(&name),
            Self::Schema { schema, .. } => schema["x-kubernetes-map-type"] == "atomic",
        }
    }

    /// Whether a member of this name is an entry of a map, and not a field that the kind has.
    pub(crate) fn is_entry(self, name: &str) -> bool {
        match self {
            Self::Field(field) => ["labels", "annotations", "data", "binaryData"].contains(&field),
            Self::Schema { root: true, .. }
                if ["apiVersion", "kind", "metadata"].contains(&name) =>
            {
                false
            }
            Self::Schema { schema, .. } => schema["properties"][name].is_null(),
        }
    }

    /// Whether it is there in every object, if empty, so that nobody adds it.
    pub(crate) fn is_always_there(self) -> bool {
        matches!(self, Self::Field(name) if ALWAYS.contains(&name))
    }

    /// How a list is merged; `items` are some of it, for fields of one name that are of several sorts.
    pub(crate) fn list(self, items: &[Value]) -> List<'a> {
        let name = match self {
            Self::Field(name) => name,
            Self::Schema { schema, .. } => {
                let keys = schema["x-kubernetes-list-map-keys"].as_array();
                return match schema["x-kubernetes-list-type"].as_str() {
                    Some("set") => List::Set,
                    Some("map") => {
                        List::Items(keys.into_iter().flatten().filter_map(Value::as_str).collect())
                    }
                    _ => List::Whole,
                };
            }
        };
        let has = |field: &str| items.iter().any(|one| one.get(field).is_some());
        let keys: &[&str] = match name {
            "finalizers" => return List::Set,
            "containers"
            | "initContainers"
            | "ephemeralContainers"
            | "volumes"
            | "env"
            | "imagePullSecrets"
            | "webhooks"
            | "matchConditions"
            | "schedulingGates"
            | "resourceClaims"
            | "drivers"
            | "secrets" => &["name"],
            "ports" if has("containerPort") => &["containerPort", "protocol"],
            "ports" if has("port") => &["port", "protocol"],
            "volumeMounts" => &["mountPath"],
            "volumeDevices" => &["devicePath"],
            "topologySpreadConstraints" => &["topologyKey", "whenUnsatisfiable"],
            "ownerReferences" => &["uid"],
            "conditions" | "addresses" if has("type") => &["type"],
            "hostAliases" | "podIPs" | "hostIPs" => &["ip"],
            _ => return List::Whole,
        };
        List::Items(keys.to_vec())
    }
}

impl List<'_> {
    /// How an item is found in such a list; none where items are not found one by one, or it has no key.
    pub(crate) fn element(&self, item: &Value) -> Option<Element> {
        match self {
            Self::Whole => None,
            Self::Set => Some(Element::Value(item.to_string())),
            Self::Items(fields) => {
                let keys: BTreeMap<&str, Value> =
                    fields.iter().map(|field| (*field, key_of(item, field))).collect();
                let all_said = keys.values().all(|value| !value.is_null());
                all_said.then(|| Element::Key(json!(keys).to_string()))
            }
        }
    }
}

/// What an item has as one of its keys, with what it is where it says nothing.
fn key_of(item: &Value, field: &str) -> Value {
    match item.get(field) {
        Some(value) => value.clone(),
        None if field == "protocol" => "TCP".into(),
        None => Value::Null,
    }
}
