//! Nodes that are silent or gone.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{
    act::{Holds, Loss, Remedy, RemedyAct, Undo, WaitReason},
    case::{Case, EACH, of_silent_node, powered_off},
    command::{self, Purpose, is_name},
    pod::force,
    request::Request,
    start_node::start,
};
use crate::object::{Facts, Node, OUT_OF_SERVICE, Object};

/// Takes the taint off, if it is still at the same place of the list.
pub(super) fn take_taint_off(object: &Object) -> Option<Request> {
    let Facts::Node(node) = &object.facts else { return None };
    let place = node.taints.iter().position(|(key, _)| &**key == OUT_OF_SERVICE)?;
    let path = format!("/spec/taints/{place}");
    let is_it = command::test(&format!("{path}/key"), OUT_OF_SERVICE);
    command::patch(object, &[is_it, json!({ "op": "remove", "path": path })])?.request
}

/// The kubelet has stopped reporting: bring the node back, else say that it is out of service, else delete it, else remove
/// single Pods.
pub(super) fn silent(case: &Case<'_>, name: &Arc<str>) -> Vec<Remedy> {
    let Some((object, node)) = case.node(name) else { return Vec::new() };
    let guarded = |remedy| of_silent_node(case, name, remedy);
    let mut found = vec![start(object, node)];
    if node.is_out_of_service() {
        found.push(Remedy::new(RemedyAct::Wait { reason: WaitReason::PodCollector, until: None }));
    } else {
        found.push(guarded(taint(case, object, node)));
    }
    found.push(guarded(delete(case, object)));
    let is_here = |object: &&Arc<Object>| matches!(&object.facts, Facts::Pod(pod) if pod.node.as_ref() == Some(name));
    let pods = case.waiting().filter(is_here).take(EACH);
    found.extend(pods.map(|pod| guarded(force(case, pod, name, [Loss::SecondWriter]))));
    found
}

fn taint(case: &Case<'_>, object: &Object, node: &Node) -> Remedy {
    let value = json!({ "key": OUT_OF_SERVICE, "value": "nodeshutdown", "effect": "NoExecute" });
    let operations = if node.taints.is_empty() {
        // Without the test the patch would replace taints that were set meanwhile.
        vec![
            command::test("/spec/taints", Value::Null),
            command::set("add", "/spec/taints", vec![value]),
        ]
    } else {
        vec![command::set("add", "/spec/taints/-", value)]
    };
    let name: Arc<str> = (*object.name).into();
    let off = format!("{OUT_OF_SERVICE}=nodeshutdown:NoExecute-");
    let off = is_name(&name)
        .then(|| command::kubectl(Purpose::Undo, &["taint", "nodes", &name, &off]))
        .flatten();
    Remedy::new(RemedyAct::OutOfServiceTaint { node: name })
        .at(object)
        .with([command::patch(object, &operations), off])
        .reach(case.pods_on(&object.name))
        .loss([Loss::SecondWriter, Loss::PodsOnNode])
        .undo(Undo::TakeTaintOff)
}

fn delete(case: &Case<'_>, object: &Object) -> Remedy {
    Remedy::new(RemedyAct::DeleteNode { node: (*object.name).into() })
        .at(object)
        .with([command::copy(object), command::delete(object, &json!({}))])
        .reach(case.pods_on(&object.name))
        .loss([Loss::SecondWriter, Loss::PodsOnNode, Loss::Machine])
        .undo(Undo::RestartKubelet)
}

/// The Node object is gone. The Pod garbage collector removes the Pod within about a minute: it waits 40 s and looks every
/// 20 s (`pkg/controller/podgc/gc_controller.go`).
pub(super) fn missing(case: &Case<'_>, name: &Arc<str>) -> Vec<Remedy> {
    let collector =
        RemedyAct::RepairController { controller: "pod-garbage-collector-controller".into() };
    let mut found = vec![
        Remedy::new(RemedyAct::Wait { reason: WaitReason::PodCollector, until: None }),
        Remedy::new(collector).with([command::list(
            "leases/kube-controller-manager",
            "kube-system",
            &["--output=yaml"],
        )]),
    ];
    let pods = case.waiting().filter(|object| matches!(object.facts, Facts::Pod(_))).take(EACH);
    let forced = |pod: &Arc<Object>| {
        force(case, pod, name, [Loss::SecondWriter]).need(powered_off(case, name), Holds::Unknown)
    };
    found.extend(pods.map(forced));
    found
}
