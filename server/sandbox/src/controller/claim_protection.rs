//! Protects a claim from deletion while a Pod that is bound to a node names it, whatever that Pod's phase:
//! pkg/controller/volume/pvcprotection.

use super::client::Client;
use super::protection::protect;
use super::queue::Queue;
use super::read::{claims, is_deleting, list, name, namespace, number, text};
use super::resource::{CLAIMS, PODS};
use super::timing::Timing;
use super::{Next, Reconcile};
use crate::status::Status;
use crate::store::{Change, Event, Key};

const FINALIZER: &str = "kubernetes.io/pvc-protection";

pub(super) struct ClaimProtection;

impl Reconcile for ClaimProtection {
    type Work = Key;
    const NAME: &'static str = "persistentvolumeclaim-protection-controller";
    const USER: &'static str = "pvc-protection-controller";

    fn new(_: &Timing) -> Self {
        Self
    }

    fn observe(&mut self, event: &Event, queue: &mut Queue<Key>) {
        if CLAIMS.has(&event.key) && event.change != Change::Deleted {
            queue.add(event.key.clone());
        } else if PODS.has(&event.key) && event.change != Change::Modified || is_last_word(event) {
            for claim in claims(&event.object) {
                queue.add(CLAIMS.key(&event.key.namespace, &claim));
            }
        }
    }

    fn reconcile(
        &mut self,
        key: &Key,
        client: &mut Client<'_>,
        _: &mut Queue<Key>,
    ) -> Result<Next, Status> {
        protect(key, client, FINALIZER, is_used)
    }
}

/// Whether a Pod has just got its final DELETE.
fn is_last_word(event: &Event) -> bool {
    PODS.has(&event.key) && is_shut_down(&event.object)
}

/// `podIsShutDown`: whether the kubelet is done with the Pod, or a user deleted it by force.
fn is_shut_down(pod: &serde_json::Value) -> bool {
    is_deleting(pod) && number(pod, "/metadata/deletionGracePeriodSeconds") == Some(0)
}

fn is_used(claim: &serde_json::Value, client: &Client<'_>) -> bool {
    let ephemeral = |pod: &serde_json::Value| {
        list(pod, "/spec/volumes").iter().any(|volume| {
            volume.get("ephemeral").is_some()
                && format!("{}-{}", name(pod), text(volume, "/name")) == name(claim)
        })
    };
    client
        .list(PODS, Some(namespace(claim)))
        .iter()
        .filter(|pod| !text(pod, "/spec/nodeName").is_empty())
        .any(|pod| {
            let named = list(pod, "/spec/volumes")
                .iter()
                .any(|it| text(it, "/persistentVolumeClaim/claimName") == name(claim));
            named || (!is_shut_down(pod) && ephemeral(pod))
        })
}
