//! The kustomize-controller of Flux, as far as deletion depends on it: while a Kustomization is not suspended, it creates again
//! what it applied, and when the Kustomization is deleted, it prunes that
//! (<https://fluxcd.io/flux/components/kustomize/kustomizations/#garbage-collection>).
//!
//! The sandbox has no Git repository: a Kustomization has applied whatever carries its labels and has no owner.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::client::{Client, Deletion};
use super::gitops::make_again;
use super::queue::Queue;
use super::read::{flag, has_finalizer, is_deleting, label, owners, remove_finalizer};
use super::resource::Resource;
use super::timing::Timing;
use super::{Next, Reconcile};
use crate::status::Status;
use crate::store::{Change, Event, Key};

const KUSTOMIZATIONS: Resource =
    Resource::new("kustomize.toolkit.fluxcd.io", "v1", "kustomizations", "Kustomization");
const FINALIZER: &str = "finalizers.fluxcd.io";
/// The time until it notices that an object is gone. The interval of a real Kustomization is minutes.
const INTERVAL: Duration = Duration::from_secs(10);

pub(super) struct Kustomize {
    /// By Kustomization, the objects that it applied, as they were last.
    applied: BTreeMap<Key, BTreeMap<Key, Arc<Value>>>,
}

impl Reconcile for Kustomize {
    type Work = Key;
    const NAME: &'static str = "kustomize-controller";
    const USER: &'static str = "kustomize-controller";

    fn new(_: &Timing) -> Self {
        Self { applied: BTreeMap::new() }
    }

    fn observe(&mut self, event: &Event, queue: &mut Queue<Key>) {
        let Event { key, object, change, .. } = event;
        if KUSTOMIZATIONS.has(key) && *change != Change::Deleted {
            queue.add(key.clone());
        }
        let mark = |field: &str| label(object, &format!("kustomize.toolkit.fluxcd.io/{field}"));
        let (Some(namespace), Some(name)) = (mark("namespace"), mark("name")) else { return };
        let parent = KUSTOMIZATIONS.key(namespace, name);
        if *change == Change::Deleted {
            queue.add_after(parent, INTERVAL);
        } else if owners(object).is_empty() {
            self.applied.entry(parent).or_default().insert(key.clone(), object.clone());
        }
    }

    fn reconcile(
        &mut self,
        key: &Key,
        client: &mut Client<'_>,
        _: &mut Queue<Key>,
    ) -> Result<Next, Status> {
        let Some(parent) = client.get(key) else {
            self.applied.remove(key);
            return Ok(Next::Rest);
        };
        let is_suspended = flag(&parent, "/spec/suspend");
        let applied = self.applied.get(key).into_iter().flatten();
        if !is_deleting(&parent) {
            if is_suspended {
                return Ok(Next::Rest);
            }
            for (key, last) in applied {
                match make_again(key, last, client) {
                    // Its namespace is gone, or is going.
                    Err(status) if status.is_not_found() || status.code == 403 => {
                        return Ok(Next::After(INTERVAL));
                    }
                    other => other?,
                }
            }
            return Ok(Next::Rest);
        }
        if !has_finalizer(&parent, FINALIZER) {
            return Ok(Next::Rest);
        }
        if flag(&parent, "/spec/prune") && !is_suspended {
            for (key, _) in applied {
                if let Some(object) = client.get(key).filter(|object| !is_deleting(object)) {
                    client.delete(key, &Deletion::of(&object))?;
                }
            }
        }
        client.modify(key, |it| {
            remove_finalizer(it, FINALIZER);
        })?;
        Ok(Next::Rest)
    }
}
