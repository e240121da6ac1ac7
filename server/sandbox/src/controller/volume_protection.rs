//! Keeps a volume that is to go while a claim is bound to it: pkg/controller/volume/pvprotection.

use super::client::Client;
use super::queue::Queue;
use super::read::{add_finalizer, has_finalizer, is_deleting, phase, remove_finalizer};
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
        let Some(volume) = client.get(key) else { return Ok(Next::Rest) };
        if is_deleting(&volume) {
            if has_finalizer(&volume, FINALIZER) && phase(&volume) != "Bound" {
                client.modify(key, |it| {
                    remove_finalizer(it, FINALIZER);
                })?;
            }
        } else if !has_finalizer(&volume, FINALIZER) {
            client.modify(key, |it| {
                add_finalizer(it, FINALIZER);
            })?;
        }
        Ok(Next::Rest)
    }
}
