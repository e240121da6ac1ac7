//! Programs that are known by the field manager of a finalizer.

use super::*;

const TOPIC: &str = "Topic.queue.example s4/orders deleted=200 finalizers=queue.example/topic";

/// The topic with a finalizer that this field manager wrote, and other objects.
fn written(by: &str, rest: &str) -> Index {
    let managers = "managers=queue.example/topic";
    fixture::index(&format!("ns s4\nns ops\n{TOPIC} {managers}:{by}:900\n{rest}"))
}

#[test]
fn finalizer_without_table_and_rights_is_attributed_to_the_field_manager_that_wrote_it() {
    let operator =
        "deploy ops/prod-topic-operator ready=0 replicas=1\ndeploy ops/other ready=1 replicas=1";
    insta::assert_snapshot!(describe(&written("topic-operator", operator)), @r#"
    finisherNotReady at Deployment ops/prod-topic-operator (Inferred, stuck)
      Topic s4/orders
      - Deployment ops/prod-topic-operator: status.readyReplicas 0 / 1
      - Topic s4/orders: metadata.finalizers queue.example/topic
      - Topic s4/orders: queue.example/topic written by topic-operator 
    "#);
    let without = fixture::index(&format!("{TOPIC}\n{operator}"));
    assert!(heads(&without).starts_with("finisherGone"), "{}", heads(&without));
}

#[test]
fn field_manager_that_many_programs_share_attributes_nothing() {
    for by in ["manager", "kubectl-edit", "operator"] {
        let found = heads(&written(by, "deploy ops/manager ready=1\ndeploy ops/operator ready=1"));
        assert!(found.starts_with("finisherGone at Topic"), "{by}: {found}");
    }
    // It wrote what a manifest says.
    for by in ["kustomize-controller", "Terraform"] {
        let applier =
            "deploy flux-system/kustomize-controller ready=1\ndeploy ops/Terraform ready=1";
        let found = heads(&written(by, applier));
        assert!(found.starts_with("finisherGone at Topic"), "{by}: {found}");
    }
    // A part of a name that is no whole word.
    let found = heads(&written("topic", "deploy ops/mytopic ready=1\ndeploy ops/topics ready=1"));
    assert!(found.starts_with("finisherGone at Topic"), "{found}");
}

#[test]
fn field_manager_decides_among_programs_that_may_have_written_it() {
    let rights = "
        crd topics.queue.example defines=Topic.queue.example
        deploy ops/runner uses=account:runner ready=1 replicas=1
        deploy ops/other uses=account:runner ready=1 replicas=1
        crb runner role=clusterrole/topics accounts=ops/runner
        clusterrole topics updates=topics.queue.example
    ";
    assert!(heads(&written("manager", rights)).starts_with("finisherUnknown"));
    let busy = "finisherBusy at Deployment ops/other (Inferred, stuck)";
    assert_eq!(heads(&written("other", rights)), busy);
}

#[test]
fn program_that_was_deleted_is_known_by_the_finalizer_that_it_wrote() {
    let gone = fixture::object("deploy ops/janitor");
    let mut index = written("janitor", "deploy ops/janitor");
    index.apply(
        [crate::observation::Observation::Deleted { kind: gone.kind, uid: gone.uid }],
        fixture::now(),
    );
    let found = describe(&index);
    assert!(found.contains("- Deployment ops/janitor: deleted"), "{found}");
}
