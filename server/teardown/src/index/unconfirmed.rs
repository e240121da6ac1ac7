//! The objects that go from the API alone through a remedy, as the journal keeps them: once such an object is gone, nothing in the
//! cluster says any more what stood behind it.
//!
//! # Decisions
//! - An end is noted before the request of the remedy leaves. It counts once the object is gone, unless this process saw the object
//!   end in order.
//! - It is forgotten with the first of these: the kubelet reported that the Pod has ended; the Pod's node, which was silent when
//!   the remedy was done, is ready; a person answers for it in a run; nothing is left behind it.
//! - Behind a Pod are the claims that it mounted and their volumes, behind an attachment its volume and that volume's claim, behind
//!   anything else its namespace and its dependents. What cannot be seen may be there.
//! - A node that was ready when the remedy was done proves nothing by being ready.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Index;
use crate::object::{Facts, Object, ObjectRef, PodReferenceKind, Uid};

/// An object that went from the API alone, or may go so, and the things that stand behind it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UnconfirmedEnd {
    /// The object's identity.
    pub uid: Uid,
    /// The object.
    pub object: ObjectRef,
    /// The node of a Pod.
    pub node: Option<Arc<str>>,
    /// Whether that node was not ready.
    was_silent: bool,
    /// The claims that a Pod mounted, or the claim that was bound to the volume of an attachment.
    claims: Vec<MountedClaim>,
    /// The volume of an attachment.
    volume: Option<Arc<str>>,
    /// The namespace that it was in: the name may belong to another one later.
    namespace: Option<Uid>,
}

/// A claim as it was when a Pod that mounted it went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct MountedClaim {
    name: Arc<str>,
    /// Its identity; `None` if no claim had the name.
    uid: Option<Uid>,
    volume: Option<Arc<str>>,
}

impl UnconfirmedEnd {
    /// Whether it is one of a Pod.
    pub fn is_of_pod(&self) -> bool {
        self.object.group.is_empty() && &*self.object.kind == "Pod"
    }

    fn is_of_attachment(&self) -> bool {
        &*self.object.group == "storage.k8s.io" && &*self.object.kind == "VolumeAttachment"
    }

    /// Whether it is one of a Pod that mounted claims, or of an attachment of a claim's volume.
    pub fn has_claims(&self) -> bool {
        !self.claims.is_empty()
    }
}

impl Index {
    /// The end of an object, with the things that stand behind it now.
    pub fn end_of(&self, object: &Object) -> UnconfirmedEnd {
        let namespace = object.namespace.as_deref();
        let (mut node, mut volume, mut claims) = (None, None, Vec::new());
        match &object.facts {
            Facts::Pod(pod) => {
                node = pod.node.clone();
                let used = pod.uses.iter().filter(|used| used.what == PodReferenceKind::Claim);
                let mounted = used.map(|used| {
                    let claim = self.find("", "PersistentVolumeClaim", namespace, &used.name);
                    MountedClaim {
                        name: (*used.name).into(),
                        uid: claim.map(|claim| claim.uid.clone()),
                        volume: claim.and_then(|claim| volume_of(claim)).cloned(),
                    }
                });
                claims.extend(mounted);
            }
            Facts::Attachment(attachment) => {
                volume = attachment.volume.clone();
                let attached = volume.as_deref();
                let attached = attached.and_then(|it| self.find("", "PersistentVolume", None, it));
                if let Some(Facts::Volume(facts)) = attached.map(|volume| &volume.facts)
                    && let Some(claim) = &facts.claim
                {
                    let bound = self.claim_of(facts).ok().flatten().map(|claim| claim.uid.clone());
                    let (name, uid) = (claim.name.clone(), claim.uid.clone().or(bound));
                    claims.push(MountedClaim { name, uid, volume: volume.clone() });
                }
            }
            _ => {}
        }
        let was_silent = node.as_deref().is_some_and(|node| !self.is_node_ready(node));
        let of = namespace.and_then(|name| self.find("", "Namespace", None, name));
        UnconfirmedEnd {
            uid: object.uid.clone(),
            object: object.reference(),
            node,
            was_silent,
            claims,
            volume,
            namespace: of.map(|namespace| namespace.uid.clone()),
        }
    }

    /// Takes over the ends of objects that remedies sent away from the API alone, or may have.
    pub fn set_ends_by_hand(&mut self, ends: Vec<UnconfirmedEnd>) {
        self.ends_by_hand = ends;
        self.recent.note_everything();
    }

    /// Whether a remedy sent anything away from the API alone, or may have.
    pub(crate) fn has_ends_by_hand(&self) -> bool {
        !self.ends_by_hand.is_empty()
    }

    /// Notes that a person answers for the ends of these objects, so that no other step and no later run asks about them. An object
    /// of the same name with another UID has an end of its own.
    pub fn answer_for(&mut self, objects: &[Uid]) {
        self.answered_for.extend(objects.iter().cloned());
        self.recent.note_everything();
    }

    /// Whether a person answers for the end of this object.
    pub(crate) fn is_answered_for(&self, uid: &Uid) -> bool {
        self.answered_for.contains(uid)
    }

    /// The objects that stood in front of another and that a remedy sent away from the API alone while this process did not watch.
    pub fn ends_by_hand<'a>(
        &'a self,
        of: &'a ObjectRef,
        uid: &'a Uid,
    ) -> impl Iterator<Item = &'a UnconfirmedEnd> {
        let is_in_front = self.in_front_of(of, uid);
        self.ends_by_hand.iter().filter(move |end| self.is_unwatched(end) && is_in_front(end))
    }

    /// Whether a remedy sent this object away from the API alone while this process did not watch.
    pub(super) fn has_ended_by_hand(&self, uid: &Uid) -> bool {
        self.ends_by_hand.iter().any(|end| end.uid == *uid && self.is_unwatched(end))
    }

    fn is_unwatched(&self, end: &UnconfirmedEnd) -> bool {
        self.get(&end.uid).is_none()
            && !self.tombstones.contains_key(&end.uid)
            && !self.has_node_reported(end)
    }

    fn has_node_reported(&self, end: &UnconfirmedEnd) -> bool {
        end.was_silent && end.node.as_deref().is_some_and(|node| self.is_node_ready(node))
    }

    /// Whether an end still has to be remembered: the object is there yet, or nobody knows that it ended and something is left
    /// behind it.
    pub fn is_end_open(&self, end: &UnconfirmedEnd) -> bool {
        if self.get(&end.uid).is_some() {
            return true;
        }
        let is_proven =
            self.tombstones.contains_key(&end.uid) && !self.unconfirmed.contains_key(&end.uid);
        !is_proven && !self.has_node_reported(end) && self.is_anything_behind(end)
    }

    fn is_anything_behind(&self, end: &UnconfirmedEnd) -> bool {
        if end.is_of_pod() || end.is_of_attachment() {
            let volumes = end.claims.iter().filter_map(|claim| claim.volume.as_ref());
            let mut volumes = volumes.chain(&end.volume);
            let is_volume = |name: &Arc<str>| self.find("", "PersistentVolume", None, name);
            let mut claims = end.claims.iter().filter_map(|claim| claim.uid.as_ref());
            return !self.can_see_volumes()
                || self.check_claims_visible(end.object.namespace.as_deref()).is_err()
                || claims.any(|uid| self.get(uid).is_some())
                || volumes.any(|name| is_volume(name).is_some());
        }
        let is_left =
            |uid: &Uid| self.get(uid).is_some() || self.check_visible("namespaces", None).is_err();
        end.namespace.as_ref().is_some_and(is_left) || self.dependents(&end.uid).next().is_some()
    }

    /// Whether an end is one of an object that stood in front of this one: of a claim the Pods that mounted it, the attachments of
    /// its volume and its owners, of a volume its attachments, of a namespace its content.
    ///
    /// A Pod names its claim, and the name may belong to another claim now: a Pod counts unless another claim had the name when
    /// it went, with another volume.
    pub(super) fn in_front_of<'a>(
        &'a self,
        of: &'a ObjectRef,
        uid: &'a Uid,
    ) -> impl Fn(&UnconfirmedEnd) -> bool + 'a {
        let object = self.get(uid);
        let facts = object.map(|object| &object.facts);
        let (is_claim, is_volume) =
            (matches!(facts, Some(Facts::Claim(_))), matches!(facts, Some(Facts::Volume(_))));
        let volume = object.and_then(|object| volume_of(object));
        let owners = object.map_or(&[][..], |object| &*object.owners);
        let is_mounted = move |used: &MountedClaim| {
            let is_same = used.uid.as_ref().is_none_or(|used| used == uid)
                || used.volume.is_some() && used.volume.as_ref() == volume;
            used.name == of.name && is_same
        };
        let is_attached = move |attached: &Arc<str>| {
            is_claim && Some(attached) == volume || is_volume && *attached == of.name
        };
        move |end| {
            if end.is_of_pod() {
                is_claim
                    && end.object.namespace == of.namespace
                    && end.claims.iter().any(is_mounted)
            } else if end.is_of_attachment() {
                end.volume.as_ref().is_some_and(is_attached)
            } else {
                end.namespace.as_ref() == Some(uid) || owners.iter().any(|it| it.uid == end.uid)
            }
        }
    }
}

fn volume_of(claim: &Object) -> Option<&Arc<str>> {
    match &claim.facts {
        Facts::Claim(claim) => claim.volume.as_ref(),
        _ => None,
    }
}
