//! A cause that explains others comes first, whatever harm the others do.

use super::*;
use crate::{remedy::Stamps, world::diagnosis_card};

/// A Pod runs on a claim that is being deleted: harm is done, and nothing else is the cause.
const HARM: &str = "
    ns shop
    node n9
    pvc shop/data deleted=9000 finalizers=kubernetes.io/pvc-protection
    pod shop/db node=n9 uses=claim:data
";

/// A namespace whose content cannot be deleted, for this reason.
fn refused(reason: &str) -> String {
    let failure = "NamespaceDeletionContentFailure:True:ContentDeletionFailed:390";
    format!("ns late deleted=400 conditions={failure}:{reason}\ncm late/c")
}

/// Two Pods, each on a node of its own that is silent for so many seconds.
fn silent_nodes(seconds: [u32; 2]) -> String {
    let node = |name: &str, ago: u32| {
        format!(
            "node {name} ready=Ready:Unknown:NodeStatusUnknown:{ago}:stopped
            pod shop/on-{name} node={name} deleted=400 grace=30 containers=web:running\n"
        )
    };
    node("n1", seconds[0]) + &node("n2", seconds[1])
}

/// A Pod that its Job has to count, which a webhook would be asked about.
fn guarded_pod(policy: &str) -> String {
    format!(
        "ns ops
        node n1
        job shop/import
        pod shop/import-1 owner=job/import node=n1 phase=Succeeded deleted=400 finalizers=batch.kubernetes.io/job-tracking
        webhook gate service=ops/gate guards=pods asked=UPDATE{policy}"
    )
}

/// The causes with their roots, those first that explain others; and how many of them do. The cards have the same order.
fn ordered(index: &Index) -> (Vec<String>, usize) {
    let graph = Graph::of(index);
    let found = diagnose(index, &graph, fixture::now());
    for diagnosis in &found {
        let card =
            diagnosis_card(&mut Stamps::new(index, &graph), diagnosis, fixture::now(), &[], []);
        assert_eq!(card.harm(), diagnosis.harm(), "{}", diagnosis.id);
        assert_eq!(card.explains, diagnosis.explains_others(), "{}", diagnosis.id);
    }
    let explain = found.iter().filter(|it| it.explains_others()).count();
    let is_first = found.iter().take(explain).all(Diagnosis::explains_others);
    let names: Vec<String> =
        found.iter().map(|it| format!("{} at {}", it.cause.name(), it.root)).collect();
    assert!(is_first, "{names:?}");
    (names, explain)
}

/// The causes that stand above the harm.
fn above(index: &Index) -> Vec<String> {
    let (mut names, explain) = ordered(index);
    let harm = "claimInUse at PersistentVolumeClaim shop/data";
    assert_eq!(names.get(explain).map(String::as_str), Some(harm), "{names:?}");
    names.truncate(explain);
    names
}

fn above_with(text: &str) -> Vec<String> {
    above(&fixture::index(&format!("{HARM}{text}")))
}

#[test]
fn cause_that_explains_others_stands_above_one_that_does_harm() {
    assert_eq!(
        above_with(&silent_nodes([600, 590])),
        ["nodeSilent at Node n1", "nodeSilent at Node n2"]
    );
    let down = r#"failed_calling_webhook_"gate.example.com":_failed_to_call_webhook:_Post_"https://gate.ops.svc":_service_"gate"_not_found"#;
    let quoted = format!("{}\nwebhook gate service=ops/gate guards=configmaps", refused(down));
    let webhook = "webhookDown at ValidatingWebhookConfiguration gate";
    assert_eq!(above_with(&quoted), [webhook]);
    assert_eq!(above_with(&guarded_pod("")), [webhook], "nobody quotes it");
    let unreadable = "unable_to_transform_key_/registry/secrets/late/a:_no_matching_prefix_found";
    assert_eq!(above_with(&refused(unreadable)), ["unreadable at secrets "]);
    let gone = "node n1\npod gone/web node=n1 deleted=400 grace=30 containers=c1:running";
    assert_eq!(above_with(gone), ["namespaceGone at Namespace gone"]);
    let mut index = fixture::index(&format!("{HARM}ns late deleted=400"));
    stand_still(&mut index);
    assert_eq!(above(&index), ["managerSilent at Lease kube-system/kube-controller-manager"]);
}

#[test]
fn cause_that_explains_only_its_own_card_stands_below_one_that_does_harm() {
    for text in [
        // One node alone; and two with 23 minutes between them, which have no cause in common.
        "node n1 ready=Ready:Unknown:NodeStatusUnknown:600:stopped
        pod shop/a node=n1 deleted=400 grace=30 containers=web:running"
            .to_owned(),
        silent_nodes([600, 2_000]),
        // A webhook that lets pass what it cannot check holds nothing.
        guarded_pod(" policy=Ignore"),
        // A webhook that no configuration has any more is not asked again.
        refused("failed_calling_webhook_\"gate.example.com\":_EOF"),
    ] {
        assert_eq!(above_with(&text), [""; 0], "{text}");
    }
}
