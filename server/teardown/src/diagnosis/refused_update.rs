//! Pods whose every update is refused, although the update changes nothing that may not be changed.
//!
//! A mutating webhook that rewrites the spec of Pods on UPDATE turns each patch of a finalizer, and each status that a kubelet
//! writes, into a change that the API server forbids (`ValidatePodUpdate` in `pkg/apis/core/validation/validation.go`). The
//! answer to our own patch is kept (`index/refused.rs`). A kubelet's log has the answer to the kubelet, as evidence
//! (`kubelet_log/fact.rs`); the garbage collector and other controllers show theirs to nobody.

use std::sync::Arc;

use super::{
    admission::unevaluated_part,
    case::{Case, names},
    cause::{Cause, Confidence, Evidence, Finding, Source, Verdict},
};
use crate::{
    object::{Facts, Guard, Object},
    relation::is_covered_by,
};

/// The words of the API server about an update of a Pod that changes too much.
const WORDS: [&str; 3] = [
    "pod updates may not change fields other than",
    "pod updates may not add or remove containers",
    "Pod QoS is immutable",
];
const MUTATING: &str = "mutatingwebhookconfigurations.admissionregistration.k8s.io";

/// Whether an answer says that a patch of a Pod changed more than it names.
pub fn is_rewritten(message: &str) -> bool {
    WORDS.iter().any(|words| message.contains(words))
}

/// An update of the Pod was refused for what nobody asked for.
pub(super) fn pod<'a>(case: &Case<'a>, object: &'a Arc<Object>, found: &mut Vec<Finding<'a>>) {
    let Some((said, at)) = case.index.refused_update(&object.uid) else { return };
    let mut unevaluated: Vec<Evidence> = Vec::new();
    let mut asks = |configuration: &&Arc<Object>| {
        let Facts::Webhooks(webhooks) = &configuration.facts else { return false };
        let covers = |guard: &&Guard| guard.updates && is_covered_by(object, guard, case.index);
        let of_rules: Vec<Option<Evidence>> = webhooks
            .guards
            .iter()
            .filter(covers)
            .map(|guard| unevaluated_part(case, configuration, object, guard))
            .collect();
        // One rule that is certain to be asked is enough.
        if of_rules.iter().all(Option::is_some) {
            unevaluated.extend(of_rules.iter().take(1).flatten().cloned());
        }
        !of_rules.is_empty()
    };
    let asked: Vec<&Arc<Object>> = case.index.of_resource(MUTATING).filter(&mut asks).collect();
    let webhooks = names(&asked);
    // That updates are refused is certain, and that it is one of these is not.
    let confidence =
        if unevaluated.is_empty() { Confidence::Confirmed } else { Confidence::Inferred };
    // With one alone it is known which.
    let root = match webhooks.as_slice() {
        [one] => one.clone(),
        _ => object.reference(),
    };
    let answer = Evidence {
        of: object.reference(),
        source: Source::Refused,
        said: said.to_string(),
        at: Some(at),
    };
    let cause = Cause::UpdateRejected { webhooks };
    found.push(Verdict::at(cause, root, confidence).with([answer]).with(unevaluated).into());
}
