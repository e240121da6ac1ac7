//! How server-side apply merges the parts of an object and records their managers: atomically, by field name, or by
//! key. For built-in kinds this is declared in the tags of `k8s.io/api`. Here the name of a field decides, which is
//! enough for the kinds that are served. For custom resources the schema decides.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Element, Kind};

/// A part of an object of some kind.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shape<'a> {
    /// A part of a built-in kind, by the name of its field, or of the metadata of any kind.
    Field(&'a str),
    /// A part of a custom resource, with its schema; the schema is null for a part that it does not describe.
    Schema { schema: &'a Value, root: bool },
}

/// How a list is merged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum List<'a> {
    /// Atomic: the list is replaced as a whole.
    Whole,
    /// The list is a set of values.
    Set,
    /// The items are merged one by one; these of their fields are the keys.
    Items(Vec<&'a str>),
}

/// Maps that are atomic.
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

/// Fields that every Go struct has, possibly empty. A manager who sets something within them does not add them.
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
    /// The shape of a whole object.
    pub(crate) fn of(kind: &'a Kind) -> Self {
        if kind.is_custom() {
            Self::Schema { schema: &kind.declared["schema"]["openAPIV3Schema"], root: true }
        } else {
            Self::Field("")
        }
    }

    /// The shape of a member.
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

    /// The shape of a list item.
    pub(crate) fn item(self) -> Self {
        match self {
            // The fields of an item are known by their own names.
            Self::Field(_) => Self::Field(""),
            Self::Schema { schema, .. } => Self::Schema { schema: &schema["items"], root: false },
        }
    }

    /// Whether a map is atomic.
    pub(crate) fn is_whole(self) -> bool {
        match self {
            Self::Field(name) => WHOLE.contains(&name),
            Self::Schema { schema, .. } => schema["x-kubernetes-map-type"] == "atomic",
        }
    }

    /// Whether a member of this name is an entry of a map rather than a field that the kind declares.
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

    /// Whether the field is part of every object, possibly empty, so that no manager adds it.
    pub(crate) fn is_always_there(self) -> bool {
        matches!(self, Self::Field(name) if ALWAYS.contains(&name))
    }

    /// How a list is merged. `items` are some of its items, which distinguish the fields that share a name.
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
    /// The path element of an item; `None` for an atomic list, or for an item without a key.
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

/// The value of a key field of an item, with its default.
fn key_of(item: &Value, field: &str) -> Value {
    match item.get(field) {
        Some(value) => value.clone(),
        None if field == "protocol" => "TCP".into(),
        None => Value::Null,
    }
}
