//! Protects a volume from deletion while a claim is bound to it: pkg/controller/volume/pvprotection.

use super::client::Client;
use super::protection::protect;
use super::queue::Queue;
use super::read::phase;
use super::resource::VOLUMES;
use super::timing::Timing;
use super::{Next, Reconcile};
use crate::status::Status;
use crate::store::{Change, Event, Key};

const FINALIZER: &str = "kubernetes.io/pv-protection";

pub(super) struct VolumeProtection;

impl Reconcile for VolumeProtection {
    type Work = Key;
    const NAME: &'static str = "persistentvolume-protection-controller";
    const USER: &'static str = "pv-protection-controller";

    fn new(_: &Timing) -> Self {
        Self
    }

    fn observe(&mut self, event: &Event, queue: &mut Queue<Key>) {
        if VOLUMES.has(&event.key) && event.change != Change::Deleted {
            queue.add(event.key.clone());
        }
    }

    fn reconcile(
        &mut self,
        key: &Key,
        client: &mut Client<'_>,
        _: &mut Queue<Key>,
    ) -> Result<Next, Status> {
        protect(key, client, FINALIZER, |volume, _| phase(volume) == "Bound")
    }
}
