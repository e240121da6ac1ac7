//! A node that has to be brought back.

use std::sync::Arc;

use super::{
    act::{Remedy, RemedyAct},
    command::{self, is_name},
};
use crate::object::{Node, Object};

/// Brings a node back: by whom and where its machine is, and when its lease was last renewed.
pub(super) fn start(object: &Object, node: &Node) -> Remedy {
    let name: Arc<str> = (*object.name).into();
    let lease = format!("leases/{name}");
    let lease = is_name(&name)
        .then(|| command::list(&lease, "kube-node-lease", &["--output=yaml"]))
        .flatten();
    Remedy::new(RemedyAct::StartNode { node: name, provider: node.provider.clone() })
        .at(object)
        .with([command::describe(object), lease])
}
