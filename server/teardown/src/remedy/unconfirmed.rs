//! The objects that a remedy sends away from the API alone. Storage, namespaces and dependents behind them wait for a person, also
//! after a restart and whether or not a run was open when they went.

use std::sync::Arc;

use super::{act::RemedyAct, attempt::Attempt};
use crate::{
    index::Index,
    object::{Facts, Object, Uid},
};

impl Attempt {
    /// Notes the objects that go from the API alone if the request is accepted, with what stands behind them now: afterwards nothing
    /// in the cluster says so. The caller does it before the attempt is kept.
    ///
    /// With the taint that says that a node is out of service, and with the Node, the Pod garbage collector removes its Pods without
    /// asking the kubelet.
    pub fn note_ends(&mut self, index: &Index) {
        let target = self.request.uid.as_ref().and_then(|uid| index.get(uid));
        let Some(target) = target else { return };
        let ends = match (&self.act, &target.facts) {
            (
                RemedyAct::OutOfServiceTaint { .. }
                | RemedyAct::DeleteNode { .. }
                | RemedyAct::RemoveFinalizer { .. },
                Facts::Node(_),
            ) => pods_on(index, &target.name).map(|pod| index.end_of(pod)).collect(),
            (
                RemedyAct::ForceDeletePod { .. } | RemedyAct::RemoveFinalizer { .. },
                Facts::Pod(_),
            )
            | (RemedyAct::RemoveFinalizer { .. }, _) => vec![index.end_of(target)],
            _ => Vec::new(),
        };
        self.unconfirmed = ends;
        // Nothing waits for the end of a Pod that mounts no claim.
        self.unconfirmed.retain(|end| end.has_claims() || !end.is_of_pod());
    }

    /// Whether there is anything for [`Self::settle_ends`] to forget.
    pub fn has_settled_ends(&self, index: &Index) -> bool {
        self.may_have_effect() && self.unconfirmed.iter().any(|end| !index.is_end_open(end))
    }

    /// Forgets the ends that are proven, and those that nothing is left behind.
    pub fn settle_ends(&mut self, index: &Index) {
        self.unconfirmed.retain(|end| index.is_end_open(end));
    }

    /// Forgets the ends of these objects: a person answers for them.
    pub fn forget_ends(&mut self, objects: &[Uid]) {
        self.unconfirmed.retain(|end| !objects.contains(&end.uid));
    }
}

fn pods_on<'a>(index: &'a Index, node: &'a str) -> impl Iterator<Item = &'a Arc<Object>> {
    index.of_resource("pods").filter(move |object| match &object.facts {
        Facts::Pod(pod) => pod.node.as_deref() == Some(node),
        _ => false,
    })
}
