//! PUT and PATCH: follows `Store.Update`, `rest.BeforeUpdate` and the strategies' `PrepareForUpdate`.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{
    Actor, Cluster, Write,
    admission::{Attributes, Operation},
    defaults, managed, scale, validate,
};
use crate::{
    kind::{self, Kind},
    object,
    patch::Patch,
    status::{Cause, MODIFIED, Status},
    store::Key,
};

impl Cluster {
    pub(crate) fn update_with(
        &mut self,
        actor: &Actor,
        write: &Write,
        key: &Key,
        subresource: &str,
        object: Value,
    ) -> Result<Arc<Value>, Status> {
        self.change(actor, write, key, subresource, |kind, existing| {
            same_uid(kind, key, existing, &object)?;
            Ok(object)
        })
    }

    pub(crate) fn patch_with(
        &mut self,
        actor: &Actor,
        write: &Write,
        key: &Key,
        patch: &Patch,
        subresource: &str,
    ) -> Result<Arc<Value>, Status> {
        let now = self.now();
        self.change(actor, write, key, subresource, |kind, existing| {
            let mut patched = patch.apply(kind, existing)?;
            if let Patch::Apply { force, .. } = patch {
                patched =
                    managed::applied(kind, existing, patched, write, subresource, *force, now)?;
            }
            // A patch without a resource version applies to the stored one.
            if object::resource_version(&patched).is_empty() {
                let version = existing["metadata"]["resourceVersion"].clone();
                object::set(&mut patched, &["metadata", "resourceVersion"], version);
            }
            same_place(key, existing, &patched)?;
            same_kind(kind, &patched).and_then(|()| validate::misfit(kind, &patched)).map_err(
                |why| {
                    let cause = Cause::invalid("patch", &json!(patched.to_string()), &why);
                    Status::invalid("", "", "", vec![cause])
                },
            )?;
            Ok(patched)
        })
    }

    /// Replaces a stored object by the result of `change`.
    pub(super) fn change(
        &mut self,
        actor: &Actor,
        write: &Write,
        key: &Key,
        subresource: &str,
        change: impl FnOnce(&Kind, &Value) -> Result<Value, Status>,
    ) -> Result<Arc<Value>, Status> {
        let kind = self.kind(key)?;
        let existing = self.get(key).cloned();
        let existing =
            existing.ok_or_else(|| Status::not_found(&key.group, &key.plural, &key.name))?;
        let mut object = change(&kind, &existing)?;
        validate::shape(&kind, &object)?;
        validate::convert(&kind, &mut object);
        self.may_change(key)?;
        let is_scale = subresource == scale::SUBRESOURCE;
        let was = is_scale.then(|| scale::of(&kind, &existing));
        let asked = Attributes {
            actor,
            write,
            operation: Operation::Update,
            key,
            name: &key.name,
            subresource,
            object: &Value::Null,
            existing: Some(was.as_ref().unwrap_or(&existing)),
        };
        if is_scale {
            let mut seen = scale::of(&kind, &object);
            self.mutate(&kind, asked, &mut seen)?;
            scale::write_to(&kind, &seen, &mut object)?;
        } else {
            self.mutate(&kind, asked, &mut object)?;
        }
        self.ask_guard(actor, write, key, Some(&existing), &object)?;
        same_version(&kind, key, &existing, &object)?;
        keep_system_fields(&kind, &existing, &mut object);
        // The label with a namespace's name is always set.
        if subresource.is_empty() || key.is_of("", "namespaces") {
            defaults::apply(&kind, &mut object);
        }
        prepare(&kind, &existing, &mut object, subresource);
        let seen = is_scale.then(|| scale::of(&kind, &object));
        self.decide(&Attributes { object: seen.as_ref().unwrap_or(&object), ..asked })?;
        validate::update(&kind, &existing, &object, subresource)?;
        self.charge(write, key, subresource, &object, Some(&existing))?;
        managed::note(Some(&existing), &mut object, &kind, write, subresource, self.now());
        // ShouldDeleteDuringUpdate: the last finalizer was removed, and nothing else delays the deletion.
        let waits = object::finalizers(&object).next().is_some()
            || object::deletion_grace_period(&existing).is_some_and(|seconds| seconds != 0)
            || key.is_of("", "namespaces")
                && object::texts(&object, &["spec", "finalizers"]).next().is_some();
        if object::is_deleting(&existing) && !waits {
            if !write.dry_run {
                self.erase(key);
            }
            return Ok(Arc::new(object));
        }
        self.put(key, &existing, object, write.dry_run)
    }

    /// Replaces the Scale of an object, and with it the number in the object.
    ///
    /// # Errors
    ///
    /// The refusal of the API server.
    pub(crate) fn rescale(
        &mut self,
        actor: &Actor,
        write: &Write,
        key: &Key,
        replaced: &Value,
    ) -> Result<Value, Status> {
        let kind = self.kind(key)?;
        let stored = self.change(actor, write, key, scale::SUBRESOURCE, |kind, existing| {
            same_uid(kind, key, existing, replaced)?;
            let mut next = existing.clone();
            scale::write_to(kind, replaced, &mut next)?;
            Ok(next)
        })?;
        Ok(scale::of(&kind, &stored))
    }
}

/// Groups whose objects Kubernetes stores under the name of the group.
const WITH_GROUP: [&str; 2] = ["apiextensions.k8s.io", "apiregistration.k8s.io"];

/// `checkName`: a patch cannot change the name.
fn same_place(key: &Key, existing: &Value, patched: &Value) -> Result<(), Status> {
    let name = object::name(patched);
    if !name.is_empty() && name != &*key.name {
        return Err(Status::bad_request(format!(
            "the name of the object ({name}) does not match the name on the URL ({})",
            key.name
        )));
    }
    let namespace = object::namespace(patched);
    if !namespace.is_empty() && namespace != object::namespace(existing) {
        return Err(Status::bad_request(validate::NAMESPACE_DIFFERS));
    }
    Ok(())
}

/// A patch cannot change the kind.
fn same_kind(kind: &Kind, patched: &Value) -> Result<(), String> {
    let said = object::text(patched, &["kind"]);
    if said == kind.kind { Ok(()) } else { Err(kind.no_conversion(said)) }
}

/// Checks the UID of a PUT. A patch cannot change the UID.
pub(super) fn same_uid(
    kind: &Kind,
    key: &Key,
    existing: &Value,
    object: &Value,
) -> Result<(), Status> {
    let (is, asked) = (object::uid(existing), object::uid(object));
    if !asked.is_empty() && asked != is {
        let Key { group, plural, namespace, name } = key;
        // Of the built-in kinds, only those of separate API servers are stored under their group.
        let is_apart = kind.is_custom() || WITH_GROUP.contains(&&**group);
        let registry = if is_apart { format!("{group}/{plural}") } else { plural.to_string() };
        let namespace = if namespace.is_empty() { String::new() } else { format!("{namespace}/") };
        let why = format!(
            "StorageError: invalid object, Code: 4, Key: /registry/{registry}/{namespace}{name}, ResourceVersion: 0, \
             AdditionalErrorMsg: Precondition failed: UID in precondition: {asked}, UID in object meta: {is}"
        );
        return Err(Status::conflict(group, plural, name, &why));
    }
    Ok(())
}

/// Checks the resource version of a write against the stored one.
fn same_version(kind: &Kind, key: &Key, existing: &Value, object: &Value) -> Result<(), Status> {
    match object::resource_version(object) {
        "" | "0" if kind.unconditional_update => Ok(()),
        "" | "0" => {
            let cause = Cause::invalid(
                "metadata.resourceVersion",
                &json!(0),
                "must be specified for an update",
            );
            Err(Status::invalid(&key.group, &key.plural, &key.name, vec![cause]))
        }
        asked if asked == object::resource_version(existing) => Ok(()),
        asked if asked.parse::<u64>().is_err() => Err(Status::plain(
            500,
            &format!("strconv.ParseUint: parsing {asked:?}: invalid syntax"),
        )),
        _ => Err(Status::conflict(&key.group, &key.plural, &key.name, MODIFIED)),
    }
}

/// Restores the metadata that a client may omit but not remove.
fn keep_system_fields(kind: &Kind, existing: &Value, object: &mut Value) {
    let old = &existing["metadata"];
    if let Value::Object(map) = object {
        map.insert("apiVersion".into(), json!(kind.api_version()));
        map.insert("kind".into(), json!(kind.kind));
    }
    let deleting = object::is_deleting(existing);
    let metadata = object::map_at(object, &["metadata"]);
    let mut keep = |field: &str, always: bool| {
        if always || metadata.get(field).is_none_or(Value::is_null) {
            match &old[field] {
                Value::Null => metadata.remove(field),
                value => metadata.insert(field.into(), value.clone()),
            };
        }
    };
    for field in ["uid", "name", "namespace"] {
        keep(field, false);
    }
    keep("creationTimestamp", true);
    keep("deletionTimestamp", deleting);
    keep("deletionGracePeriodSeconds", false);
    for field in ["generation", "resourceVersion", "selfLink", "generateName"] {
        keep(field, field != "generateName");
    }
    for field in ["labels", "annotations", "finalizers", "ownerReferences"] {
        let is_empty = metadata.get(field).is_some_and(|value| {
            value.as_object().is_some_and(serde_json::Map::is_empty)
                || value.as_array().is_some_and(Vec::is_empty)
                || value.is_null()
        });
        if is_empty {
            metadata.remove(field);
        }
    }
}

/// Restricts a write to the part of an object that its path may write, and raises the generation.
fn prepare(kind: &Kind, existing: &Value, object: &mut Value, subresource: &str) {
    let take = |object: &mut Value, field: &str| match &existing[field] {
        Value::Null => object::unset(object, &[field]),
        value => object::set(object, &[field], value.clone()),
    };
    match subresource {
        // A kind without the status subresource has its status written like the rest.
        "" | scale::SUBRESOURCE => {
            if kind.subresource("status").is_some() {
                take(object, "status");
            }
            if kind.group == "apiextensions.k8s.io" && !object["status"].is_null() {
                let stored = kind::stored_versions(object);
                object::set(object, &["status", "storedVersions"], stored);
            }
            if kind.plural == "namespaces" {
                // PrepareForUpdate keeps the finalizers of the spec: only /finalize writes them.
                match &existing["spec"]["finalizers"] {
                    Value::Null => object::unset(object, &["spec", "finalizers"]),
                    value => object::set(object, &["spec", "finalizers"], value.clone()),
                }
            }
        }
        "finalize" => {
            let finalizers = object["spec"]["finalizers"].clone();
            for field in ["status", "spec"] {
                take(object, field);
            }
            if finalizers.as_array().is_none_or(Vec::is_empty) {
                object::unset(object, &["spec", "finalizers"]);
            } else {
                object::set(object, &["spec", "finalizers"], finalizers);
            }
        }
        _ => {
            let status = object["status"].clone();
            if kind.is_custom() {
                *object = existing.clone();
            } else {
                let names: Vec<String> =
                    existing.as_object().into_iter().flat_map(|map| map.keys().cloned()).collect();
                for field in names
                    .iter()
                    .filter(|field| !["metadata", "apiVersion", "kind"].contains(&field.as_str()))
                {
                    take(object, field);
                }
                if let Value::Object(map) = object {
                    map.retain(|field, _| {
                        field == "metadata" || names.iter().any(|one| one == field)
                    });
                }
            }
            if status.is_null() {
                object::unset(object, &["status"]);
            } else {
                object::set(object, &["status"], status);
            }
            return;
        }
    }
    if kind.generation && is_another_wish(kind, existing, object) {
        object::set(
            object,
            &["metadata", "generation"],
            json!(object::generation(existing).saturating_add(1)),
        );
    }
}

/// Whether the desired state changed. That is the spec for most kinds; for custom kinds, and for objects without a
/// spec, it is everything but metadata and status.
fn is_another_wish(kind: &Kind, old: &Value, new: &Value) -> bool {
    if !(kind.is_custom() || old["spec"].is_null() && new["spec"].is_null()) {
        return old["spec"] != new["spec"];
    }
    let other = |object: &Value| {
        let mut object = object.clone();
        if let Value::Object(map) = &mut object {
            for field in ["metadata", "apiVersion", "kind"] {
                map.remove(field);
            }
            if kind.subresource("status").is_some() {
                map.remove("status");
            }
        }
        object
    };
    other(old) != other(new)
}
