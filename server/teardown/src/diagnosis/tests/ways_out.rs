//! All ways out of each cause, in the order in which a person should try them.

use std::fmt::Write;

use super::{situations, *};
use crate::remedy::{RemedyAct, remedies};

/// The name of an act on the wire.
fn code(act: &RemedyAct) -> String {
    match serde_json::to_value(act).unwrap() {
        serde_json::Value::String(code) => code,
        other => other.as_object().unwrap().keys().next().unwrap().clone(),
    }
}

/// Written out, because the harm of an act is a judgement that sorting does not check.
#[test]
fn ways_out_of_each_cause_are_in_the_order_that_a_person_should_try_them() {
    let mut written = String::new();
    for situation in &situations::ALL {
        let objects = format!("{}\nns shop", situation.objects);
        let has_namespace =
            situation.objects.contains("ns shop") || situation.cause == "namespaceGone";
        let objects = if has_namespace { situation.objects } else { &objects };
        let index = situation.index(objects, situation.gone, None);
        let (graph, now) = (Graph::of(&index), fixture::now());
        let found = diagnose(&index, &graph, now);
        let it = found.iter().find(|it| it.cause.name() == situation.cause).unwrap();
        let ways = remedies(it, &index, &graph, now);
        let ways: Vec<_> =
            ways.iter().map(|it| format!("{:?} {}", it.harm, code(&it.act))).collect();
        writeln!(written, "{}: {}", situation.cause, ways.join(", ")).unwrap();
    }
    insta::assert_snapshot!(written, @r"
    withinGrace: None wait, Interruption shortenGrace
    nodeSilent: None startNode, DataLoss outOfServiceTaint, DataLoss deleteNode, DataLoss forceDeletePod
    nodeMissing: None wait, None repairController, DataLoss forceDeletePod
    containersRunning: None endProcess, None restartKubelet, Interruption restartNode, DataLoss forceDeletePod
    kubeletUnaware: None restartKubelet, Interruption restartNode, DataLoss forceDeletePod
    staticPod: None removeManifest, None restartKubelet
    neverStarted: None findHang, None restartKubelet, Interruption restartNode
    sandboxLeft: None repairNetwork, None restartKubelet, Interruption restartNode, DataLoss forceDeletePod
    devicesLeft: None repairDevices, None restartKubelet, Interruption restartNode, DataLoss forceDeletePod
    volumesMounted: None wait, None freeMount, None restartKubelet, Interruption restartNode, DataLoss forceDeletePod
    claimGone: None restoreExport, None freeMount, None restartKubelet, None wait, Interruption restartNode, DataLoss forceDeletePod
    driverMissing: None repairDriver, None restartKubelet, None wait, Interruption restartNode, DataLoss forceDeletePod
    podDirectoryLeft: None wait, None restartKubelet, Interruption restartNode, DataLoss forceDeletePod
    claimInUse: Deletion deleteUser
    claimHeldByCompletedPods: Deletion deleteUser
    inUse: None look
    keptForDependents: None look, DataLoss deleteDependents
    copied: None wait, None look, DataLoss deleteUser
    volumeBound: Deletion deleteUser
    detachFailed: None repairDriver
    volumeAttached: None wait, None repairDriver
    backendLeft: None repairDriver, Reversible nudge, Leftovers removeFinalizer
    apiDown: None repairApi, Reversible nudge, SwitchesOff deleteApiService, Leftovers finalizeNamespace
    looksAgain: None wait, Reversible nudge, Leftovers finalizeNamespace
    webhookDown: None repairWebhook, Reversible nudge, Reversible exemptNamespaces, SwitchesOff ignoreWebhook, SwitchesOff deleteWebhookConfiguration
    webhookDenies: None satisfyPolicy
    policyDenies: None satisfyPolicy
    conversionDown: None repairConverter, Reversible nudge, DataLoss stopConversion
    unreadable: None repairStorage, Reversible nudge
    updateRejected: None exemptPods
    contentRefused: None look, Reversible nudge
    discoveryFailed: None look, Reversible nudge
    namespaceFinalizer: None restoreFinisher, Leftovers removeSpecFinalizer
    contentUnseen: None look
    namespaceGone: Deletion recreateNamespace
    managerSilent: None repairController
    controllerSilent: None repairController, Deletion deleteAgain
    ownersCircle: Deletion deleteAgain
    finisherGone: None restoreFinisher, Leftovers removeFinalizer
    finisherNotReady: None repairFinisher, Leftovers removeFinalizer
    finisherBusy: None wait, None repairFinisher, Leftovers removeFinalizer
    finisherUnknown: None restoreFinisher, Leftovers removeFinalizer
    managedElsewhere: None restoreFinisher, Deletion deleteUser, Leftovers removeFinalizer
    loadBalancerLeft: None repairLoadBalancer, Leftovers removeFinalizer
    cannotSee: None makeVisible
    unknown: None look
    ");
}

/// One DELETE ends a circle, so no owner has two.
#[test]
fn owners_of_a_circle_are_deleted_again_once_each_at_most() {
    let ways = |objects: &str| {
        let index = fixture::index(objects);
        let (graph, now) = (Graph::of(&index), fixture::now());
        let found = diagnose(&index, &graph, now);
        assert_eq!(found.len(), 1, "{found:?}");
        let ways = remedies(&found[0], &index, &graph, now);
        let at = |it: &crate::remedy::Remedy| it.target.as_ref().map(ToString::to_string);
        ways.iter().map(|it| (code(&it.act), at(it))).collect::<Vec<_>>()
    };
    let held = "deleted=300 finalizers=foregroundDeletion";
    let again = |name: &str| vec![("deleteAgain".to_owned(), Some(format!("ConfigMap x/{name}")))];
    assert_eq!(ways(&format!("ns x\ncm x/a owner=cm/a {held}")), again("a"));
    assert_eq!(
        ways(&format!("ns x\ncm x/a owner=cm/b {held}\ncm x/b owner=cm/a {held}")),
        again("b")
    );
}
