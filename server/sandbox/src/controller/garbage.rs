//! The garbage collector: deletes objects that have lost their last owner, and lets an owner that is deleted in the
//! foreground wait for its blocking dependents. Follows pkg/controller/garbagecollector.
//!
//! The graph is the store's index by owner. An owner is looked up where its reference says: by kind and name in the
//! dependent's namespace. An owner with another UID there, or in another namespace, is absent.

use serde_json::{Value, json};

use super::client::{Client, Deletion, EventType};
use super::queue::Queue;
use super::read::{
    flag, has_finalizer, is_deleting, namespace, owners, remove_finalizer, text, uid,
};
use super::resource::EVENTS;
use super::timing::Timing;
use super::{Next, Reconcile};
use crate::cluster::Propagation;
use crate::status::Status;
use crate::store::{Change, Event, Key};

const FOREGROUND: &str = "foregroundDeletion";
const ORPHAN: &str = "orphan";

pub(super) struct Garbage;

/// A work item of the garbage collector.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Work {
    Delete {
        key: Key,
        uid: String,
    },
    Orphan {
        key: Key,
        uid: String,
    },
    /// The dependents of an owner that is gone.
    Bereave {
        owner: String,
    },
    /// The owners of a dependent that is gone, or no longer blocks them.
    Release {
        owner: String,
    },
}

impl Reconcile for Garbage {
    type Work = Work;
    const NAME: &'static str = "garbage-collector-controller";
    const USER: &'static str = "generic-garbage-collector";

    fn new(_: &Timing) -> Self {
        Self
    }

    fn observe(&mut self, event: &Event, queue: &mut Queue<Work>) {
        if *event.key.plural == *EVENTS.plural {
            return;
        }
        let object = &*event.object;
        let this = || (event.key.clone(), uid(object).to_owned());
        if event.change == Change::Deleted {
            queue.add(Work::Bereave { owner: uid(object).to_owned() });
            for owner in owners(object) {
                queue.add(Work::Release { owner: text(owner, "/uid").to_owned() });
            }
            return;
        }
        let before = event.previous.as_deref();
        let starts = |finalizer| {
            let waits = |it: &Value| is_deleting(it) && has_finalizer(it, finalizer);
            waits(object) && !before.is_some_and(waits)
        };
        if starts(ORPHAN) {
            let (key, uid) = this();
            queue.add(Work::Orphan { key, uid });
            return;
        }
        if starts(FOREGROUND) {
            let (key, uid) = this();
            queue.add(Work::Delete { key, uid });
            queue.add(Work::Bereave { owner: this().1 });
        }
        let old = before.map(owners).unwrap_or_default();
        if old != owners(object) || before.is_none() {
            if !owners(object).is_empty() {
                let (key, uid) = this();
                queue.add(Work::Delete { key, uid });
            }
            for owner in old.iter().filter(|it| flag(it, "/blockOwnerDeletion")) {
                queue.add(Work::Release { owner: text(owner, "/uid").to_owned() });
            }
        }
    }

    fn reconcile(
        &mut self,
        work: &Work,
        client: &mut Client<'_>,
        queue: &mut Queue<Work>,
    ) -> Result<Next, Status> {
        match work {
            Work::Bereave { owner } => {
                for (key, dependent) in client.owned(owner) {
                    queue.add(Work::Delete { key, uid: uid(&dependent).to_owned() });
                }
                Ok(Next::Rest)
            }
            Work::Release { owner } => {
                if let Some((key, object)) = client.by_uid(owner)
                    && waits_for_dependents(&object)
                {
                    queue.add(Work::Delete { key, uid: owner.clone() });
                }
                Ok(Next::Rest)
            }
            Work::Delete { key, uid: it } => match client.get(key) {
                Some(object) if uid(&object) == it => {
                    attempt_to_delete(key, &object, client, queue)
                }
                _ => Ok(Next::Rest),
            },
            Work::Orphan { key, uid: it } => match client.get(key) {
                Some(object) if uid(&object) == it => attempt_to_orphan(key, &object, client),
                _ => Ok(Next::Rest),
            },
        }
    }
}

fn waits_for_dependents(object: &Value) -> bool {
    is_deleting(object) && has_finalizer(object, FOREGROUND)
}

/// The result of looking up an owner.
enum Owner {
    Solid,
    Dangling,
    /// The owner waits in the foreground for its dependents, of which this may be one.
    Waiting,
    /// A namespaced owner of a cluster-scoped object, which is never looked up again.
    Impossible,
}

fn attempt_to_delete(
    key: &Key,
    object: &Value,
    client: &mut Client<'_>,
    queue: &mut Queue<Work>,
) -> Result<Next, Status> {
    if waits_for_dependents(object) {
        return release(key, object, client, queue);
    }
    if is_deleting(object) || owners(object).is_empty() {
        return Ok(Next::Rest);
    }
    let (mut solid, mut waiting, mut gone) = (0, 0, Vec::new());
    for reference in owners(object) {
        match find_owner(object, reference, client)? {
            Owner::Solid => solid += 1,
            Owner::Dangling => gone.push(text(reference, "/uid")),
            Owner::Waiting => {
                waiting += 1;
                gone.push(text(reference, "/uid"));
            }
            Owner::Impossible => return Ok(Next::Rest),
        }
    }
    let dependents = client.owned(uid(object));
    let propagation = if solid > 0 {
        if !gone.is_empty() {
            drop_references(key, object, &gone, client)?;
        }
        return Ok(Next::Rest);
    } else if waiting > 0 && !dependents.is_empty() {
        if dependents.iter().any(|(_, it)| waits_for_dependents(it)) {
            // There may be a cycle, in which each object would wait for the next one for ever.
            let unblocked: Vec<Value> = owners(object)
                .iter()
                .map(|it| {
                    let mut it = it.clone();
                    it["blockOwnerDeletion"] = json!(false);
                    it
                })
                .collect();
            client.merge(
                key,
                &json!({"metadata": {"uid": uid(object), "ownerReferences": unblocked}}),
            )?;
        }
        Propagation::Foreground
    } else if has_finalizer(object, ORPHAN) {
        Propagation::Orphan
    } else if has_finalizer(object, FOREGROUND) {
        Propagation::Foreground
    } else {
        Propagation::Background
    };
    let live = client.get(key);
    let version = live.as_deref().map_or("", |it| text(it, "/metadata/resourceVersion"));
    client.delete(key, &Deletion::of(object).at(version).propagation(propagation))?;
    Ok(Next::Rest)
}

/// Lets an owner go whose blocking dependents are gone, or deletes the dependents.
fn release(
    key: &Key,
    object: &Value,
    client: &mut Client<'_>,
    queue: &mut Queue<Work>,
) -> Result<Next, Status> {
    let blocks = |it: &Value| {
        owners(it)
            .iter()
            .any(|owner| text(owner, "/uid") == uid(object) && flag(owner, "/blockOwnerDeletion"))
    };
    let blocking: Vec<_> =
        client.owned(uid(object)).into_iter().filter(|(_, it)| blocks(it)).collect();
    if blocking.is_empty() {
        remove(key, object, FOREGROUND, client)?;
        return Ok(Next::Rest);
    }
    for (key, dependent) in blocking {
        if !is_deleting(&dependent) {
            queue.add(Work::Delete { key, uid: uid(&dependent).to_owned() });
        }
    }
    Ok(Next::Rest)
}

fn attempt_to_orphan(key: &Key, object: &Value, client: &mut Client<'_>) -> Result<Next, Status> {
    let mut refused = None;
    for (key, dependent) in client.owned(uid(object)) {
        match drop_references(&key, &dependent, &[uid(object)], client) {
            Err(status) if !status.is_not_found() => refused = Some(status),
            _ => {}
        }
    }
    match refused {
        Some(status) => Err(status),
        None => remove(key, object, ORPHAN, client).map(|()| Next::Rest),
    }
}

fn remove(
    key: &Key,
    object: &Value,
    finalizer: &str,
    client: &mut Client<'_>,
) -> Result<(), Status> {
    let mut rest = object.clone();
    remove_finalizer(&mut rest, finalizer);
    let finalizers = rest.pointer("/metadata/finalizers");
    let version = text(object, "/metadata/resourceVersion");
    match client
        .merge(key, &json!({"metadata": {"resourceVersion": version, "finalizers": finalizers}}))
    {
        Err(status) if !status.is_not_found() => Err(status),
        _ => Ok(()),
    }
}

fn drop_references(
    key: &Key,
    object: &Value,
    gone: &[&str],
    client: &mut Client<'_>,
) -> Result<(), Status> {
    let kept: Vec<&Value> =
        owners(object).iter().filter(|it| !gone.contains(&text(it, "/uid"))).collect();
    let version = text(object, "/metadata/resourceVersion");
    client
        .merge(key, &json!({"metadata": {"resourceVersion": version, "ownerReferences": kept}}))?;
    Ok(())
}

/// Looks up an owner where the reference says it is.
fn find_owner(object: &Value, reference: &Value, client: &mut Client<'_>) -> Result<Owner, Status> {
    let (api_version, kind) = (text(reference, "/apiVersion"), text(reference, "/kind"));
    let Some(resource) = client.kind_of(api_version, kind) else {
        return Err(Status::internal(&format!(
            "unable to get REST mapping for {api_version}/{kind}."
        )));
    };
    if resource.namespaced && namespace(object).is_empty() {
        return Ok(Owner::Impossible);
    }
    let within = if resource.namespaced { namespace(object) } else { "" };
    let key = Key::new(&resource.group, &resource.plural, within, text(reference, "/name"));
    match client.get(&key) {
        Some(owner) if uid(&owner) == text(reference, "/uid") => {
            Ok(if waits_for_dependents(&owner) { Owner::Waiting } else { Owner::Solid })
        }
        _ => {
            let elsewhere = client.by_uid(text(reference, "/uid"));
            if elsewhere.is_some_and(|(_, owner)| {
                !namespace(&owner).is_empty() && namespace(&owner) != within
            }) {
                report_invalid_namespace(object, reference, client);
            }
            Ok(Owner::Dangling)
        }
    }
}

fn report_invalid_namespace(object: &Value, reference: &Value, client: &mut Client<'_>) {
    let place = namespace(object);
    let owner = format!(
        "[{}/{}, namespace: {place}, name: {}, uid: {}]",
        text(reference, "/apiVersion"),
        text(reference, "/kind"),
        text(reference, "/name"),
        text(reference, "/uid"),
    );
    let message = format!("ownerRef {owner} does not exist in namespace {place:?}");
    client.event(object, EventType::Warning, "OwnerRefInvalidNamespace", &message);
}
