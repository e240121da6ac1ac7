//! Static Pods: a kubelet makes them from files on its node, and shows each in the API as a mirror.

use std::sync::Arc;

use super::{
    case::{Case, condition},
    cause::{Cause, Evidence, Finding},
    ended::{Ended, reporting},
};
use crate::object::Object;

/// Whether a Pod is the mirror of a static one: the API server lets a kubelet create a Pod only with its Node as the owner
/// (`plugin/pkg/admission/noderestriction/admission.go`).
pub(crate) fn is_mirror(object: &Object) -> bool {
    object.owners.iter().any(|owner| &*owner.kind == "Node" && owner.group.is_empty())
}

/// The mirror of a static Pod is left on a node that reports. A DELETE ends none of its containers: the kubelet runs the Pod for
/// as long as its file is there, and shows it again under a new UID (`pkg/kubelet/pod/mirror_client.go`).
pub(super) fn mirror<'a>(case: &Case<'a>, object: &'a Arc<Object>, found: &mut Vec<Finding<'a>>) {
    let Some(pod) = Ended::of(object).filter(|_| is_mirror(object)) else { return };
    let Some((node_object, node)) = reporting(case, &pod) else { return };
    let owner = Evidence::field(object, "metadata.ownerReferences", format!("Node {}", pod.node));
    let ready = node.ready.as_ref().map(|ready| condition(node_object, ready));
    let cause = Cause::StaticPod { node: pod.node.clone() };
    found.push(pod.verdict(cause).with([owner]).with(ready).into());
}
