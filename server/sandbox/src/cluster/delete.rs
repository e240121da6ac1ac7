//! DELETE: follows `Store.Delete`, `rest.BeforeDelete`, and what the storages of Namespaces and
//! CustomResourceDefinitions do before them.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{
    Actor, Cluster, Write,
    admission::{Attributes, Operation},
};
use crate::{
    clock,
    fault::ServerFault,
    kind::{Dependents, Kind},
    object::{self, FOREGROUND, ORPHAN},
    status::{Cause, Status},
    store::Key,
};

/// The finalizer that keeps a definition until its objects are gone.
const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

/// Resources whose DELETE answers with the object itself (`ReturnDeletedObject`); the others answer with a `Status`.
const ANSWERED_WITH_OBJECT: [(&str, &str); 14] = [
    ("", "namespaces"),
    ("", "persistentvolumeclaims"),
    ("", "persistentvolumes"),
    ("", "pods"),
    ("", "podtemplates"),
    ("", "resourcequotas"),
    ("", "serviceaccounts"),
    ("", "services"),
    ("resource.k8s.io", "resourceclaims"),
    ("storage.k8s.io", "csidrivers"),
    ("storage.k8s.io", "csinodes"),
    ("storage.k8s.io", "storageclasses"),
    ("storage.k8s.io", "volumeattachments"),
    ("storage.k8s.io", "volumeattributesclasses"),
];

/// The `propagationPolicy` of a DELETE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Propagation {
    Background,
    Foreground,
    Orphan,
}

/// `metav1.DeleteOptions`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeleteOptions {
    pub grace_period_seconds: Option<i64>,
    pub propagation: Option<Propagation>,
    /// `orphanDependents`, the deprecated form of `propagation`.
    pub orphan_dependents: Option<bool>,
    /// The precondition on the UID.
    pub uid: Option<String>,
    /// The precondition on the resource version.
    pub resource_version: Option<String>,
    pub dry_run: bool,
}

impl DeleteOptions {
    /// Options with the UID of an object as precondition.
    #[must_use]
    pub fn of_uid(uid: &str) -> Self {
        Self { uid: Some(uid.into()), ..Self::default() }
    }
}

/// The result of a deletion.
#[derive(Debug, Clone, PartialEq)]
pub struct Deleted {
    /// The object as it is now, or its last state.
    pub object: Arc<Value>,
    /// Whether the object is gone; otherwise it waits for finalizers or its grace period.
    pub gone: bool,
    /// The answer of the API: the object, or a `Status`.
    pub answer: Arc<Value>,
}

/// The admission that a DELETE goes through.
#[derive(Debug, Clone, Copy)]
pub(super) enum Admission<'a> {
    /// Admission plugins and webhooks see the request of this actor.
    Of(&'a Actor),
    /// As `Of`, for one object of a collection, where the request has no name.
    OfMany(&'a Actor),
    /// No admission.
    Past,
}

/// The result of `rest.BeforeDelete`.
enum Grace {
    /// The object goes without grace: its kind has no grace period, or the period is over.
    None,
    /// The object is marked with a deletion time.
    Given,
    /// The object is marked already, with a grace period no longer than the requested one.
    Pending,
}

impl Cluster {
    pub(super) fn delete_with(
        &mut self,
        admission: Admission<'_>,
        key: &Key,
        options: &DeleteOptions,
    ) -> Result<Deleted, Status> {
        let kind = self.kind(key)?;
        let existing = self.get(key).cloned();
        let existing =
            existing.ok_or_else(|| Status::not_found(&key.group, &key.plural, &key.name))?;
        let mut options = options.clone();
        options.dry_run &= !self.has_server_fault(&kind.api_service, ServerFault::IgnoresDryRun);
        let write = Write { dry_run: options.dry_run, ..Write::default() };
        self.may_delete(key)?;
        let marked_first = key.is_of("", "namespaces")
            || key.is_of("apiextensions.k8s.io", "customresourcedefinitions");
        if marked_first {
            precondition_of_storage(key, &existing, &options)?;
            options.uid = Some(object::uid(&existing).into());
            if !object::is_deleting(&existing) {
                self.admit_delete(admission, &write, &kind, key, &existing)?;
                let marked = self.mark_first(key, &existing, &options);
                let object = self.put(key, &existing, marked, options.dry_run)?;
                return Ok(Deleted { answer: object.clone(), object, gone: false });
            }
            if texts_at(&existing, &["spec", "finalizers"]) && key.is_of("", "namespaces") {
                return Ok(Deleted { answer: existing.clone(), object: existing, gone: false });
            }
        }

        let mut object = Value::clone(&existing);
        let now = self.now();
        let grace = before_delete(&kind, &mut object, &mut options, now)?;
        if matches!(grace, Grace::Pending) {
            return Ok(Deleted {
                answer: answer(&kind, key, &existing),
                object: existing,
                gone: false,
            });
        }
        let had_finalizers = object::finalizers(&existing).next().is_some();
        let wanted = finalizers_for_collection(&kind, &existing, &options);
        self.admit_delete(admission, &write, &kind, key, &existing)?;
        let graceful = matches!(grace, Grace::Given);
        if graceful || had_finalizers || wanted.is_some() {
            if let Some(wanted) = &wanted {
                object::set_finalizers(&mut object, wanted);
                super::managed::note(
                    Some(&existing),
                    &mut object,
                    &kind,
                    &write_of_server(),
                    "",
                    now,
                );
            }
            let pending = object::finalizers(&object).next().is_some();
            if !graceful && pending {
                mark_as_deleting(&mut object, now);
            }
            if graceful || pending {
                let stored = self.put(key, &existing, object, options.dry_run)?;
                if pending || options.grace_period_seconds.is_some_and(|seconds| seconds > 0) {
                    return Ok(Deleted { answer: stored.clone(), object: stored, gone: false });
                }
                if options.dry_run {
                    return Ok(Deleted {
                        answer: answer(&kind, key, &stored),
                        object: stored,
                        gone: true,
                    });
                }
            }
        }
        let last = if options.dry_run { existing } else { self.erase(key).unwrap_or(existing) };
        Ok(Deleted { answer: answer(&kind, key, &last), object: last, gone: true })
    }

    fn admit_delete(
        &self,
        admission: Admission<'_>,
        write: &Write,
        kind: &Kind,
        key: &Key,
        existing: &Value,
    ) -> Result<(), Status> {
        let (actor, name) = match admission {
            Admission::Of(actor) => (actor, &*key.name),
            Admission::OfMany(actor) => (actor, ""),
            Admission::Past => return Ok(()),
        };
        let asked = Attributes {
            actor,
            write,
            operation: Operation::Delete,
            key,
            name,
            subresource: "",
            object: &Value::Null,
            existing: Some(existing),
        };
        self.mutate(kind, asked, &mut Value::Null)?;
        self.decide(&asked)
    }

    /// Stores a changed object, unless nothing changed or the request is a dry run.
    pub(super) fn put(
        &mut self,
        key: &Key,
        existing: &Arc<Value>,
        object: Value,
        dry_run: bool,
    ) -> Result<Arc<Value>, Status> {
        if object == **existing {
            return Ok(existing.clone());
        }
        if dry_run {
            return Ok(Arc::new(object));
        }
        super::validate::size(&object)?;
        self.check_storable(&*self.kind(key)?, existing)?;
        let stored = self.store.replace(key, object);
        self.after_write(key, Some(existing), Some(&stored));
        Ok(stored)
    }

    /// Removes an object from the store, whatever finalizers it has.
    pub(crate) fn erase(&mut self, key: &Key) -> Option<Arc<Value>> {
        let last = self.store.remove(key)?;
        self.corrupted.remove(key);
        self.after_write(key, Some(&last), None);
        Some(last)
    }

    /// The first DELETE of a Namespace or a CustomResourceDefinition only marks it.
    fn mark_first(&self, key: &Key, existing: &Value, options: &DeleteOptions) -> Value {
        let now = self.now();
        let mut object = existing.clone();
        object::set(&mut object, &["metadata", "deletionTimestamp"], clock::written(now));
        if key.is_of("", "namespaces") {
            object::set(&mut object, &["status", "phase"], json!("Terminating"));
            let asked = |policy| match (options.orphan_dependents, options.propagation) {
                (Some(orphan), _) => Some(orphan == (policy == Propagation::Orphan)),
                (None, Some(asked)) => Some(asked == policy),
                (None, None) => None,
            };
            for (finalizer, policy) in
                [(ORPHAN, Propagation::Orphan), (FOREGROUND, Propagation::Foreground)]
            {
                match asked(policy) {
                    Some(true) => _ = object::add_finalizer(&mut object, finalizer),
                    Some(false) => _ = object::remove_finalizer(&mut object, finalizer),
                    None => {}
                }
            }
        } else {
            object::add_finalizer(&mut object, CLEANUP);
            object::set_condition(
                &mut object,
                "Terminating",
                "True",
                "InstanceDeletionPending",
                "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
                now,
            );
        }
        object
    }
}

fn write_of_server() -> Write {
    Write { field_manager: "kube-apiserver".into(), ..Write::default() }
}

fn texts_at(object: &Value, path: &[&str]) -> bool {
    object::texts(object, path).next().is_some()
}

/// The preconditions as the storage of Namespaces and definitions words them.
fn precondition_of_storage(
    key: &Key,
    existing: &Value,
    options: &DeleteOptions,
) -> Result<(), Status> {
    let pairs = [
        ("UID", &options.uid, object::uid(existing)),
        ("ResourceVersion", &options.resource_version, object::resource_version(existing)),
    ];
    for (what, asked, is) in pairs {
        if let Some(asked) = asked.as_deref().filter(|asked| *asked != is) {
            let why = format!(
                "Precondition failed: {what} in precondition: {asked}, {what} in object meta: {is}"
            );
            return Err(Status::conflict(&key.group, &key.plural, &key.name, &why));
        }
    }
    Ok(())
}

/// The preconditions as `rest.BeforeDelete` words them.
pub(super) fn precondition(
    kind: &Kind,
    existing: &Value,
    options: &DeleteOptions,
) -> Result<(), Status> {
    let refuse = |why: &str| Status::conflict(&kind.group, &kind.kind, object::name(existing), why);
    let is = object::uid(existing);
    if let Some(asked) = options.uid.as_deref().filter(|asked| *asked != is) {
        return Err(refuse(&format!(
            "the UID in the precondition ({asked}) does not match the UID in record ({is}). \
             The object might have been deleted and then recreated"
        )));
    }
    let is = object::resource_version(existing);
    if let Some(asked) = options.resource_version.as_deref().filter(|asked| *asked != is) {
        return Err(refuse(&format!(
            "the ResourceVersion in the precondition ({asked}) does not match the ResourceVersion in record ({is}). \
             The object might have been modified"
        )));
    }
    Ok(())
}

fn before_delete(
    kind: &Kind,
    object: &mut Value,
    options: &mut DeleteOptions,
    now: Timestamp,
) -> Result<Grace, Status> {
    if options.orphan_dependents.is_some() && options.propagation.is_some() {
        let asked = json!(options.propagation.map(|one| format!("{one:?}")));
        let why = "orphanDependents and deletionPropagation cannot be both set";
        let cause = Cause::invalid("propagationPolicy", &asked, why);
        return Err(Status::invalid("meta.k8s.io", "DeleteOptions", "", vec![cause]));
    }
    precondition(kind, object, options)?;
    // A negative grace period means one second.
    options.grace_period_seconds =
        options.grace_period_seconds.map(|seconds| if seconds < 0 { 1 } else { seconds });
    // Only Pods have a grace period.
    if (&*kind.group, &*kind.plural) != ("", "pods") {
        return Ok(Grace::None);
    }
    if let Some(at) = object::deletion_timestamp(object) {
        let Some(has) = object::deletion_grace_period(object).filter(|seconds| *seconds != 0)
        else {
            return Ok(Grace::None);
        };
        let Some(mut asked) = options.grace_period_seconds else {
            options.grace_period_seconds = Some(has);
            return Ok(Grace::Pending);
        };
        if asked >= has {
            return Ok(Grace::Pending);
        }
        // A grace period is only ever shortened. It counts from the time at which it was given.
        let mut until = after(after(at, has.saturating_neg()), asked);
        if until < now {
            until = now;
            if asked != 0 {
                asked = 1;
            }
        }
        give(object, until, asked);
        return Ok(Grace::Given);
    }
    let own = object["spec"]["terminationGracePeriodSeconds"].as_i64().unwrap_or(0);
    let mut seconds = options.grace_period_seconds.unwrap_or(own);
    let phase = object::text(object, &["status", "phase"]);
    if object::text(object, &["spec", "nodeName"]).is_empty()
        || ["Failed", "Succeeded"].contains(&phase)
    {
        seconds = 0;
    }
    if seconds < 0 {
        seconds = 1;
    }
    options.grace_period_seconds = Some(seconds);
    give(object, after(now, seconds), seconds);
    raise_generation(object);
    Ok(Grace::Given)
}

fn after(time: Timestamp, seconds: i64) -> Timestamp {
    let limit = if seconds < 0 { Timestamp::MIN } else { Timestamp::MAX };
    time.checked_add(SignedDuration::from_secs(seconds)).unwrap_or(limit)
}

fn give(object: &mut Value, until: Timestamp, seconds: i64) {
    object::set(object, &["metadata", "deletionTimestamp"], clock::written(until));
    object::set(object, &["metadata", "deletionGracePeriodSeconds"], json!(seconds));
}

fn raise_generation(object: &mut Value) {
    let generation = object::generation(object);
    if generation > 0 {
        object::set(object, &["metadata", "generation"], json!(generation.saturating_add(1)));
    }
}

/// `markAsDeleting`: for an object that waits for finalizers and has no grace period of its own.
fn mark_as_deleting(object: &mut Value, now: Timestamp) {
    let at = object::deletion_timestamp(object);
    if !object::is_deleting(object) {
        raise_generation(object);
    }
    if at.is_none_or(|at| at > now) {
        object::set(object, &["metadata", "deletionTimestamp"], clock::written(now));
    }
    object::set(object, &["metadata", "deletionGracePeriodSeconds"], json!(0));
}

/// `deletionFinalizersForGarbageCollection`: the finalizers that the object should have, if they differ from those that
/// it has.
fn finalizers_for_collection(
    kind: &Kind,
    object: &Value,
    options: &DeleteOptions,
) -> Option<Vec<String>> {
    let first = object::finalizers(object).find(|one| [ORPHAN, FOREGROUND].contains(one));
    let (orphan, foreground) =
        match (kind.dependents, options.orphan_dependents, options.propagation) {
            (Dependents::Unsupported, ..) => (false, false),
            (_, Some(orphan), _) => (orphan, false),
            (_, None, Some(policy)) => {
                (policy == Propagation::Orphan, policy == Propagation::Foreground)
            }
            (default, None, None) => match first {
                Some(one) => (one == ORPHAN, one == FOREGROUND),
                None => (default == Dependents::Orphaned, false),
            },
        };
    let has: Vec<&str> = object::finalizers(object).collect();
    let mut wanted: Vec<String> = has
        .iter()
        .filter(|one| **one != ORPHAN && **one != FOREGROUND)
        .map(|one| (*one).to_owned())
        .collect();
    wanted.extend(orphan.then(|| ORPHAN.to_owned()));
    wanted.extend(foreground.then(|| FOREGROUND.to_owned()));
    let same =
        has.len() == wanted.len() && has.iter().all(|one| wanted.iter().any(|other| other == one));
    (!same).then_some(wanted)
}

/// `finalizeDelete`: the answer to a DELETE that has nothing left to wait for.
fn answer(kind: &Kind, key: &Key, object: &Arc<Value>) -> Arc<Value> {
    if ANSWERED_WITH_OBJECT.iter().any(|(group, plural)| key.is_of(group, plural)) {
        return object.clone();
    }
    let mut details =
        json!({"name": object::name(object), "kind": kind.plural, "uid": object::uid(object)});
    if !kind.group.is_empty() {
        details["group"] = json!(kind.group);
    }
    Arc::new(
        json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}),
    )
}
