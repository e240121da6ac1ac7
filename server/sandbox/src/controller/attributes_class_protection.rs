//! Protects a VolumeAttributesClass from deletion while a claim or a volume names it:
//! pkg/controller/volume/vacprotection.

use serde_json::Value;

use super::client::Client;
use super::protection::protect;
use super::queue::Queue;
use super::read::name;
use super::resource::{ATTRIBUTES_CLASSES, CLAIMS, VOLUMES};
use super::timing::Timing;
use super::{Next, Reconcile};
use crate::object::attributes_classes;
use crate::status::Status;
use crate::store::{Change, Event, Key};

const FINALIZER: &str = "kubernetes.io/vac-protection";

pub(super) struct AttributesClassProtection;

impl Reconcile for AttributesClassProtection {
    type Work = Key;
    const NAME: &'static str = "volumeattributesclass-protection-controller";
    const USER: &'static str = "volumeattributesclass-protection-controller";

    fn new(_: &Timing) -> Self {
        Self
    }

    fn observe(&mut self, event: &Event, queue: &mut Queue<Key>) {
        if ATTRIBUTES_CLASSES.has(&event.key) && event.change != Change::Deleted {
            queue.add(event.key.clone());
        } else if CLAIMS.has(&event.key) || VOLUMES.has(&event.key) {
            // An object that no longer names a class may have been the last to name it.
            let left = match event.change {
                Change::Deleted => Some(&event.object),
                Change::Added | Change::Modified => event.previous.as_ref(),
            };
            for class in left.into_iter().flat_map(|it| attributes_classes(it)) {
                queue.add(ATTRIBUTES_CLASSES.key("", class));
            }
        }
    }

    fn reconcile(
        &mut self,
        key: &Key,
        client: &mut Client<'_>,
        _: &mut Queue<Key>,
    ) -> Result<Next, Status> {
        protect(key, client, FINALIZER, |class, client| is_used(name(class), client))
    }
}

fn is_used(class: &str, client: &Client<'_>) -> bool {
    let names = |it: &Value| attributes_classes(it).any(|one| one == class);
    [VOLUMES, CLAIMS]
        .into_iter()
        .any(|resource| client.list(resource, None).iter().any(|it| names(it)))
}
