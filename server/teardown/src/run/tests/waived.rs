//! Tests of runs whose plan deletes what others use.

use super::script::{endings, transcript};

const SHOP: &str = "
    cm shop/settings of=shop
    deploy shop/theirs of=other selector=app:theirs template=app:theirs uses=config:settings
    rs shop/theirs-1 owner=deploy/theirs selector=app:theirs template=app:theirs uses=config:settings
    pod shop/theirs-1-a owner=rs/theirs-1 labels=app:theirs uses=config:settings
";
const WAIVE: &str = "choose waive=ConfigMap/shop/settings";

#[test]
fn waived_object_goes_although_the_users_of_the_plan_are_there() {
    let gone = "> choose waive=ConfigMap/shop/settings\nDELETE ConfigMap shop/settings";
    assert_eq!(transcript(SHOP, WAIVE), gone);
    // They may be younger than a plan takes for certain.
    let young = SHOP.replace(" of=other", " of=other age=1");
    assert_eq!(transcript(&young, WAIVE), gone);
}

/// The first look finds the run paused, so that the user comes in time.
#[test]
fn user_that_came_after_the_plan_holds_a_waived_object() {
    let cells = [
        // Their workload made them again.
        "pod shop/theirs-1-b owner=rs/theirs-1 labels=app:theirs uses=config:settings age=0",
        "rs shop/theirs-2 owner=deploy/theirs selector=app:theirs template=app:theirs uses=config:settings age=0",
        "pod shop/new uses=config:settings age=0",
        "pod shop/old uses=config:settings",
        "deploy shop/new of=other template=app:new uses=config:settings age=0",
        "deploy shop/old of=other template=app:old uses=config:settings",
    ];
    let script = |user: &str| format!("{WAIVE}\n pause first\n applied {user} & resume");
    insta::assert_snapshot!(endings(SHOP, cells, script), @"
    pod shop/theirs-1-b owner=rs/theirs-1 labels=app:theirs uses=config:settings age=0
        DELETE ConfigMap shop/settings
    rs shop/theirs-2 owner=deploy/theirs selector=app:theirs template=app:theirs uses=config:settings age=0
        DELETE ConfigMap shop/settings
    pod shop/new uses=config:settings age=0
        ConfigMap shop/settings is used by Pod shop/new
    pod shop/old uses=config:settings
        ConfigMap shop/settings is used by Pod shop/old
    deploy shop/new of=other template=app:new uses=config:settings age=0
        ConfigMap shop/settings is used by Deployment shop/new
    deploy shop/old of=other template=app:old uses=config:settings
        ConfigMap shop/settings is used by Deployment shop/old
    ");
}

const OPERATOR: &str = "
    webhook check of=shop service=shop/operator guards=configmaps
    svc shop/operator of=shop selector=app:operator
    deploy shop/operator of=shop selector=app:operator template=app:operator uses=account:operator
    sa shop/operator of=shop
    clusterrole topics of=shop updates=topics.queue.example
    crb topics of=shop accounts=shop/operator role=clusterrole/topics
    cm other/settings of=other
    Topic.queue.example other/mine of=other finalizers=queue.example/topic
";

#[test]
fn waived_operator_waits_for_an_object_that_came_later_and_its_webhook_for_none() {
    let cells = [
        "Topic.queue.example other/mine of=other finalizers=queue.example/topic labels=a:b",
        "Topic.queue.example other/new of=other finalizers=queue.example/topic age=0",
        "Topic.queue.example other/old of=other finalizers=queue.example/topic",
        "cm other/new of=other age=0",
    ];
    let script = |object: &str| {
        format!(
            "choose waive=Deployment.apps/shop/operator
            choose waive=ValidatingWebhookConfiguration.admissionregistration.k8s.io//check
            pause first
            applied {object} & resume & gone webhook check"
        )
    };
    insta::assert_snapshot!(endings(OPERATOR, cells, script), @"
    Topic.queue.example other/mine of=other finalizers=queue.example/topic labels=a:b
        ValidatingWebhookConfiguration check is gone
        DELETE Deployment shop/operator
    Topic.queue.example other/new of=other finalizers=queue.example/topic age=0
        ValidatingWebhookConfiguration check is gone
        Deployment shop/operator is used by Topic other/new
    Topic.queue.example other/old of=other finalizers=queue.example/topic
        ValidatingWebhookConfiguration check is gone
        Deployment shop/operator is used by Topic other/old
    cm other/new of=other age=0
        ValidatingWebhookConfiguration check is gone
        DELETE Deployment shop/operator
    ");
}
