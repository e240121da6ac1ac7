//! `metadata.managedFields`: the manager that last wrote or applied each field, and the time
//! (`apimachinery/pkg/util/managedfields`). Less is recorded here than in kube-apiserver. For writes of the sandbox
//! itself and for statuses, only finalizers are recorded until a client writes something, and for [`CROWDS`] until a
//! client applies something. Fields from before that belong to one manager, [`BEFORE`].

mod fields;

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Value, json};

use self::fields::{Changes, Fields};
use super::Write;
use crate::{
    clock,
    kind::{Kind, Shape},
    object,
    status::{Cause, Status},
};

/// Metadata fields that have no manager.
const OF_NOBODY: [&str; 10] = [
    "name",
    "namespace",
    "creationTimestamp",
    "selfLink",
    "uid",
    "generation",
    "managedFields",
    "resourceVersion",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
];
/// The manager of fields that existed before managers were recorded.
const BEFORE: &str = "before-first-apply";

/// Kinds with thousands of objects, by group and plural: their managedFields would take more memory than the objects.
const CROWDS: [(&str, &str); 5] = [
    ("", "pods"),
    ("", "events"),
    ("events.k8s.io", "events"),
    ("discovery.k8s.io", "endpointslices"),
    ("coordination.k8s.io", "leases"),
];

/// The manager that takes over fields from client-side apply, and the annotation that client-side apply writes.
const KUBECTL: &str = "kubectl";
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// A manager of fields.
struct Entry {
    manager: String,
    operation: String,
    api_version: String,
    subresource: String,
    time: Value,
    fields: Fields,
}

impl Entry {
    fn new(manager: &str, apply: bool, kind: &Kind, subresource: &str, now: Timestamp) -> Self {
        Self {
            manager: manager.into(),
            operation: if apply { "Apply" } else { "Update" }.into(),
            api_version: kind.api_version(),
            subresource: subresource.into(),
            time: clock::written(now),
            fields: Fields::default(),
        }
    }

    /// Reads an entry; `None` if it is malformed.
    fn read(entry: &Value) -> Option<Self> {
        let text = |field: &str| object::text(entry, &[field]).to_owned();
        let fields = entry.get("fieldsV1").filter(|fields| fields.is_object())?;
        let read = Self {
            manager: text("manager"),
            operation: text("operation"),
            api_version: text("apiVersion"),
            subresource: text("subresource"),
            time: entry["time"].clone(),
            fields: Fields::read(fields),
        };
        ["Apply", "Update"].contains(&&*read.operation).then_some(read)
    }

    fn written(self) -> Value {
        let mut entry = json!({
            "manager": self.manager, "operation": self.operation, "apiVersion": self.api_version,
            "fieldsType": "FieldsV1", "fieldsV1": self.fields.written(), "time": self.time,
        });
        if !self.subresource.is_empty() {
            entry["subresource"] = json!(self.subresource);
        }
        entry
    }

    fn is(&self, manager: &str, apply: bool, subresource: &str) -> bool {
        self.manager == manager
            && (self.operation == "Apply") == apply
            && self.subresource == subresource
    }

    /// The manager as a conflict names it.
    fn describe(&self) -> String {
        let mut text = format!("{:?}", self.manager);
        if !self.subresource.is_empty() {
            text += &format!(" with subresource {:?}", self.subresource);
        }
        if self.operation == "Update" {
            text += &format!(" using {}", self.api_version);
        }
        text
    }

    /// Whether the entry has fields other than finalizers.
    fn is_full(&self) -> bool {
        let mut fields = self.fields.clone();
        fields.cut(&["metadata", "finalizers"]);
        !fields.is_empty()
    }
}

/// The object after an apply, without the fields that the same manager applied before and no longer applies.
///
/// # Errors
///
/// 409 if the apply changes another manager's fields and is not forced.
pub(super) fn applied(
    kind: &Kind,
    existing: &Value,
    merged: Value,
    write: &Write,
    subresource: &str,
    force: bool,
    now: Timestamp,
) -> Result<Value, Status> {
    let Some(said) = &write.applied else { return Ok(merged) };
    let mut entries = read(&existing["metadata"]["managedFields"]).unwrap_or_default();
    note_before(&mut entries, kind, existing, now);
    let said = said_by(kind, said, subresource);
    let (mine, others): (Vec<Entry>, Vec<Entry>) =
        entries.into_iter().partition(|it| it.is(&write.field_manager, true, subresource));
    let mut pruned = merged;
    if let Some(mine) = mine.first() {
        let mut kept = said;
        others.iter().for_each(|it| kept.add(&it.fields));
        mine.fields.prune(&kept, Shape::of(kind), &mut pruned);
    }
    if force {
        return Ok(pruned);
    }
    let mut changes = changes(kind, existing, &pruned, subresource);
    if write.field_manager == KUBECTL {
        changes.written.subtract(&applied_by_client(kind, existing, subresource));
    }
    let mut conflicts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for other in &others {
        let paths = other.fields.shared(&changes.written);
        if !paths.is_empty() {
            conflicts.entry(other.describe()).or_default().extend(paths);
        }
    }
    if conflicts.is_empty() { Ok(pruned) } else { Err(conflict(&conflicts)) }
}

/// The fields that a client-side apply recorded, as far as they are unchanged: server-side apply by the same client
/// takes them over without a conflict (`lastAppliedManager`).
fn applied_by_client(kind: &Kind, existing: &Value, subresource: &str) -> Fields {
    let noted = object::text(existing, &["metadata", "annotations", LAST_APPLIED]);
    let Ok(noted) = serde_json::from_str::<Value>(noted) else { return Fields::default() };
    let mut fields = said_by(kind, &noted, subresource);
    let since = changes(kind, existing, &noted, subresource);
    fields.subtract(&since.written);
    fields.subtract(&since.removed);
    fields
}

/// The refusal of an apply, with the managers of the conflicting fields.
fn conflict(conflicts: &BTreeMap<String, Vec<String>>) -> Status {
    let cause = |manager: &str, path: &String| Cause {
        reason: "FieldManagerConflict".into(),
        message: format!("conflict with {manager}"),
        field: path.clone(),
    };
    let causes: Vec<Cause> = conflicts
        .iter()
        .flat_map(|(manager, paths)| paths.iter().map(move |path| cause(manager, path)))
        .collect();
    let message = match causes.as_slice() {
        [one] => format!("Apply failed with 1 conflict: {}: {}", one.message, one.field),
        all => {
            let of_one = |(manager, paths): (&String, &Vec<String>)| {
                let paths: Vec<_> = paths.iter().map(|path| format!("- {path}")).collect();
                format!("conflicts with {manager}:\n{}", paths.join("\n"))
            };
            let conflicts: Vec<_> = conflicts.iter().map(of_one).collect();
            format!("Apply failed with {} conflicts: {}", all.len(), conflicts.join("\n"))
        }
    };
    Status::apply_conflict(causes, message)
}

/// Records the managers of the fields in `new`.
pub(super) fn note(
    old: Option<&Value>,
    new: &mut Value,
    kind: &Kind,
    write: &Write,
    subresource: &str,
    now: Timestamp,
) {
    let before = old.map_or(&Value::Null, |old| &old["metadata"]["managedFields"]);
    // A client that sends managedFields, changed or not, sets them; in a new object they are ignored.
    let sent = old.and_then(|_| read(&new["metadata"]["managedFields"]));
    let is_sent = sent.is_some() && new["metadata"]["managedFields"] != *before;
    let mut entries = sent.unwrap_or_else(|| read(before).unwrap_or_default());
    let is_tracked = write.tracked && !is_of_crowd(kind);
    let is_full = is_tracked || write.applied.is_some() || entries.iter().any(Entry::is_full);
    let changes = if is_full {
        let mut changes = changes(kind, old.unwrap_or(&Value::Null), new, subresource);
        if !write.tracked {
            changes.written.cut(&["status"]);
            changes.removed.cut(&["status"]);
        }
        changes
    } else {
        of_finalizers(old, new)
    };
    if changes.is_empty() && write.applied.is_none() && !is_sent {
        put_back(new, before.clone());
        return;
    }
    if let (Some(_), Some(old)) = (&write.applied, old) {
        note_before(&mut entries, kind, old, now);
    }
    let is_apply = write.applied.is_some();
    let is_mine = |it: &Entry| it.is(&write.field_manager, is_apply, subresource);
    let place = entries.iter().position(is_mine).unwrap_or_else(|| {
        entries.push(Entry::new(&write.field_manager, is_apply, kind, subresource, now));
        entries.len() - 1
    });
    for (at, entry) in entries.iter_mut().enumerate() {
        let had = entry.fields.clone();
        if let (true, Some(said)) = (at == place, &write.applied) {
            entry.fields = said_by(kind, said, subresource);
        } else {
            entry.fields.subtract(&changes.removed);
            entry.fields.subtract(&changes.written);
            if at == place {
                entry.fields.add(&changes.written);
            }
        }
        if entry.fields != had {
            entry.time = clock::written(now);
        }
    }
    entries.retain(|entry| !entry.fields.is_empty());
    entries.sort_by(|one, other| {
        let order = |it: &Entry| (it.operation.clone(), it.time.to_string(), it.manager.clone());
        order(one).cmp(&order(other))
    });
    put_back(new, entries.into_iter().map(Entry::written).collect());
}

fn put_back(new: &mut Value, entries: Value) {
    if entries.as_array().is_none_or(Vec::is_empty) {
        object::unset(new, &["metadata", "managedFields"]);
    } else {
        object::set(new, &["metadata", "managedFields"], entries);
    }
}

/// Reads all entries. `None` if there are none or they are malformed. A single empty entry resets all of them.
fn read(entries: &Value) -> Option<Vec<Entry>> {
    let entries = entries.as_array().filter(|entries| !entries.is_empty())?;
    if let [Value::Object(one)] = entries.as_slice()
        && one.is_empty()
    {
        return Some(vec![]);
    }
    entries.iter().map(Entry::read).collect()
}

fn is_of_crowd(kind: &Kind) -> bool {
    CROWDS.contains(&(&*kind.group, &*kind.plural))
}

/// Adds an entry for the fields that an object had before its managers were recorded.
fn note_before(entries: &mut Vec<Entry>, kind: &Kind, existing: &Value, now: Timestamp) {
    if entries.iter().any(Entry::is_full) || !(entries.is_empty() || is_of_crowd(kind)) {
        return;
    }
    let mut before = Entry::new(BEFORE, false, kind, "", now);
    before.fields = changes(kind, &Value::Null, existing, "").written;
    entries.iter().for_each(|it| before.fields.subtract(&it.fields));
    if !before.fields.is_empty() {
        entries.push(before);
    }
}

/// Whether a request path, by its `subresource`, writes a member of an object.
fn writes(kind: &Kind, subresource: &str, member: &str) -> bool {
    match subresource {
        "status" => member == "status" || member == "metadata" && !kind.is_custom(),
        _ => {
            !["apiVersion", "kind"].contains(&member)
                && (member != "status" || kind.subresource("status").is_none())
        }
    }
}

/// The changes among the fields that a request path writes.
fn changes(kind: &Kind, old: &Value, new: &Value, subresource: &str) -> Changes {
    let shape = Shape::of(kind);
    let mut changes = Changes::default();
    let names = [old, new].into_iter().filter_map(Value::as_object).flat_map(|map| map.keys());
    let names: std::collections::BTreeSet<&String> = names.collect();
    for name in names.into_iter().filter(|name| writes(kind, subresource, name)) {
        if name != "metadata" {
            let part = Changes::between(shape.member(name), &old[name], &new[name]);
            changes.put_member(name, part);
            continue;
        }
        let (old, new) = (of_somebody(&old[name]), of_somebody(&new[name]));
        let mut part = Changes::default();
        for field in old.keys().chain(new.keys().filter(|field| !old.contains_key(*field))) {
            let shape = shape.member(name).member(field);
            let part_of = Changes::between(shape, of(&old, field), of(&new, field));
            part.put_member(field, part_of);
        }
        changes.put_member(name, part);
    }
    changes
}

fn of<'a>(map: &BTreeMap<&str, &'a Value>, field: &str) -> &'a Value {
    map.get(field).copied().unwrap_or(&Value::Null)
}

fn of_somebody(metadata: &Value) -> BTreeMap<&str, &Value> {
    let all = metadata.as_object().into_iter().flatten();
    all.map(|(name, value)| (name.as_str(), value))
        .filter(|(name, _)| !OF_NOBODY.contains(name))
        .collect()
}

fn of_finalizers(old: Option<&Value>, new: &Value) -> Changes {
    let shape = Shape::Field("finalizers");
    let old = old.map_or(&Value::Null, |old| &old["metadata"]["finalizers"]);
    let mut metadata = Changes::default();
    metadata.put_member("finalizers", Changes::between(shape, old, &new["metadata"]["finalizers"]));
    let mut changes = Changes::default();
    changes.put_member("metadata", metadata);
    changes
}

/// The fields of an applied configuration.
fn said_by(kind: &Kind, said: &Value, subresource: &str) -> Fields {
    let mut fields = Fields::said(Shape::of(kind), said);
    fields.keep(|member| writes(kind, subresource, member));
    for field in OF_NOBODY {
        fields.cut(&["metadata", field]);
    }
    fields
}
