//! SECURITY.md names every request that a remedy may come to.

use super::*;
use crate::object::Reclaim;

/// The words of SECURITY.md for an act of which Unwind sends the request; none for one that it never sends as a remedy.
fn words(act: &RemedyAct) -> Option<&'static str> {
    match act {
        RemedyAct::Nudge => Some("an annotation by which a controller looks again"),
        RemedyAct::RetainVolume { .. } => Some("a volume set to keep its data"),
        RemedyAct::ScaleDown { .. } => Some("a workload scaled to 0, with its claims kept or not"),
        RemedyAct::IgnoreWebhook { .. } => Some("`failurePolicy` of a webhook set to `Ignore`"),
        RemedyAct::DeleteWebhookConfiguration => Some("a webhook configuration deleted"),
        RemedyAct::DeleteApiService { .. } => Some("an APIService deleted"),
        RemedyAct::StopConversion => Some("the conversion of a definition switched off"),
        RemedyAct::DeleteUser => Some("an object deleted for which the stuck one waits"),
        RemedyAct::DeleteAgain { .. } => {
            Some("DELETE sent again in the background, which deletes what `orphan` would have kept")
        }
        RemedyAct::RecreateNamespace { .. } => {
            Some("a namespace that went by force is created again")
        }
        RemedyAct::RemoveFinalizer { .. } => Some("one finalizer removed;"),
        RemedyAct::RemoveSpecFinalizer { .. } => {
            Some("one finalizer removed from the spec of a namespace")
        }
        RemedyAct::FinalizeNamespace => Some("a namespace finished through `/finalize`"),
        RemedyAct::OutOfServiceTaint { .. } => Some("a node marked as out of service"),
        RemedyAct::DeleteNode { .. } => Some("a Node deleted"),
        RemedyAct::ForceDeletePod { .. } => Some("a Pod deleted without a grace period"),
        RemedyAct::ShortenGrace { .. } => Some("the grace period of a Pod shortened, never to 0"),
        RemedyAct::SuspendParent
        | RemedyAct::Wait { .. }
        | RemedyAct::Look
        | RemedyAct::DeleteDependents
        | RemedyAct::StartNode { .. }
        | RemedyAct::FreeMount { .. }
        | RemedyAct::EmptyDirectory { .. }
        | RemedyAct::RestoreExport { .. }
        | RemedyAct::EndProcess { .. }
        | RemedyAct::FindHang { .. }
        | RemedyAct::RepairNetwork { .. }
        | RemedyAct::RepairDevices { .. }
        | RemedyAct::RepairDriver { .. }
        | RemedyAct::RestartDriver { .. }
        | RemedyAct::RestartKubelet { .. }
        | RemedyAct::RestartNode { .. }
        | RemedyAct::RestoreFinisher { .. }
        | RemedyAct::RepairFinisher { .. }
        | RemedyAct::RepairApi { .. }
        | RemedyAct::RepairWebhook { .. }
        | RemedyAct::RepairConverter { .. }
        | RemedyAct::RemoveManifest { .. }
        | RemedyAct::RepairStorage { .. }
        | RemedyAct::ExemptPods
        | RemedyAct::ExemptNamespaces { .. }
        | RemedyAct::RepairController { .. }
        | RemedyAct::RepairLoadBalancer
        | RemedyAct::SatisfyPolicy { .. }
        | RemedyAct::MakeVisible { .. } => None,
    }
}

#[test]
fn every_act_with_a_request_is_named_in_security_md() {
    let security = include_str!("../../../../../SECURITY.md");
    let security = security.split_whitespace().collect::<Vec<_>>().join(" ");
    let acts = [
        RemedyAct::Nudge,
        RemedyAct::RetainVolume { was: Reclaim::Delete },
        RemedyAct::ScaleDown { replicas: 1, keeps_claims: true },
        RemedyAct::IgnoreWebhook { webhook: "a".into() },
        RemedyAct::DeleteWebhookConfiguration,
        RemedyAct::DeleteApiService { group_version: "a/v1".into() },
        RemedyAct::StopConversion,
        RemedyAct::DeleteUser,
        RemedyAct::DeleteAgain { instead_of: "orphan".into() },
        RemedyAct::RecreateNamespace { namespace: "a".into(), has_labels: false },
        RemedyAct::RemoveFinalizer { finalizer: "a".into() },
        RemedyAct::RemoveSpecFinalizer { finalizer: "a".into() },
        RemedyAct::FinalizeNamespace,
        RemedyAct::OutOfServiceTaint { node: "a".into() },
        RemedyAct::DeleteNode { node: "a".into() },
        RemedyAct::ForceDeletePod { node: "a".into() },
        RemedyAct::ShortenGrace { node: "a".into() },
    ];
    for act in acts {
        let words = words(&act).unwrap();
        assert!(security.contains(words), "{words}");
    }
    let everything = format!("{SILENT}{API_DOWN}{EVERYTHING}");
    for remedy in found(&watched(&everything)).into_iter().flat_map(|(_, remedies)| remedies) {
        let sends = remedy.commands.iter().any(|it| it.request.is_some());
        assert!(!sends || words(&remedy.act).is_some(), "{:?}", remedy.act);
    }
}
