//! Tests of webhook configurations that guard objects outside the plan.

use super::script::{endings, transcript};

const SHOP: &str = "
    ns shop of=shop
    cm shop/settings of=shop
    webhook check of=shop service=shop/check guards=configmaps
    svc shop/check of=shop selector=app:check
    deploy shop/check of=shop selector=app:check template=app:check uses=config:own
    pod shop/check-a owner=deploy/check labels=app:check uses=config:own
    cm shop/own of=shop
    ns lab of=lab
    secret lab/theirs of=lab
    svc lab/theirs of=lab
";

/// The plan knows of no object that the webhook guards beside its own.
#[test]
fn object_of_another_unit_that_begins_to_match_holds_the_webhook() {
    let script = "pause first
        applied cm lab/theirs of=lab age=0
        resume
        gone cm shop/settings
        gone cm lab/theirs
        +1";
    insta::assert_snapshot!(transcript(SHOP, script), @"
    > pause first
    > applied cm lab/theirs of=lab age=0
    > resume
    DELETE ConfigMap shop/settings
    > gone cm shop/settings
    ConfigMap shop/settings is gone
    ValidatingWebhookConfiguration check still guards ConfigMap lab/theirs
    > gone cm lab/theirs
    DELETE ValidatingWebhookConfiguration check
    > +1
    ");
}

/// An object begins to match because it was created or given a finalizer, by the labels of its namespace, or because somebody changed
/// the rules. The needs of the webhook's own Pods go after it, and the cluster removes its own objects.
#[test]
fn webhook_is_held_by_what_its_rules_match_when_it_is_to_go() {
    let changes = [
        "cm lab/theirs of=lab age=0",
        "cm shop/theirs of=lab age=0",
        "cm shop/late age=0",
        "secret lab/other of=lab age=0",
        "cm lab/kube-root-ca.crt age=0",
        "webhook check of=shop service=shop/check guards=configmaps,secrets",
        "webhook check of=shop service=shop/check guards=secrets asked=UPDATE",
        "secret lab/theirs of=lab finalizers=example.com/hold; webhook check of=shop service=shop/check guards=secrets asked=UPDATE",
        "webhook check of=shop service=shop/check guards=services in=team:red",
        "webhook check of=shop service=shop/check guards=services in=team:red; ns lab of=lab labels=team:red",
        "cm shop/more age=0; pod shop/check-a owner=deploy/check labels=app:check uses=config:own,config:more",
        "cm shop/more of=lab age=0; pod shop/check-a owner=deploy/check labels=app:check uses=config:own,config:more",
    ];
    let script = |change: &str| {
        let applied: Vec<String> =
            change.split("; ").map(|line| format!("applied {line}")).collect();
        format!("pause first\n {}\n resume\n gone cm shop/settings", applied.join(" & "))
    };
    insta::assert_snapshot!(endings(SHOP, changes, script), @"
    cm lab/theirs of=lab age=0
        ConfigMap shop/settings is gone
        ValidatingWebhookConfiguration check still guards ConfigMap lab/theirs
    cm shop/theirs of=lab age=0
        ConfigMap shop/settings is gone
        ValidatingWebhookConfiguration check still guards ConfigMap shop/theirs
    cm shop/late age=0
        ConfigMap shop/settings is gone
        ValidatingWebhookConfiguration check still guards ConfigMap shop/late
    secret lab/other of=lab age=0
        ConfigMap shop/settings is gone
        DELETE ValidatingWebhookConfiguration check
    cm lab/kube-root-ca.crt age=0
        ConfigMap shop/settings is gone
        DELETE ValidatingWebhookConfiguration check
    webhook check of=shop service=shop/check guards=configmaps,secrets
        ConfigMap shop/settings is gone
        ValidatingWebhookConfiguration check still guards Secret lab/theirs
    webhook check of=shop service=shop/check guards=secrets asked=UPDATE
        ConfigMap shop/settings is gone
        DELETE ValidatingWebhookConfiguration check
    secret lab/theirs of=lab finalizers=example.com/hold; webhook check of=shop service=shop/check guards=secrets asked=UPDATE
        ConfigMap shop/settings is gone
        ValidatingWebhookConfiguration check still guards Secret lab/theirs
    webhook check of=shop service=shop/check guards=services in=team:red
        ConfigMap shop/settings is gone
        DELETE ValidatingWebhookConfiguration check
    webhook check of=shop service=shop/check guards=services in=team:red; ns lab of=lab labels=team:red
        ConfigMap shop/settings is gone
        ValidatingWebhookConfiguration check still guards Service lab/theirs
    cm shop/more age=0; pod shop/check-a owner=deploy/check labels=app:check uses=config:own,config:more
        ConfigMap shop/settings is gone
        DELETE ValidatingWebhookConfiguration check
    cm shop/more of=lab age=0; pod shop/check-a owner=deploy/check labels=app:check uses=config:own,config:more
        ConfigMap shop/settings is gone
        ValidatingWebhookConfiguration check still guards ConfigMap shop/more
    ");
}

/// A ReplicaSet of the plan made it, and the garbage collector has not come to it yet.
#[test]
fn pod_that_goes_with_a_step_holds_the_webhook_until_it_is_gone() {
    let cluster = SHOP.replace("guards=configmaps", "guards=pods")
        + "deploy shop/web of=shop selector=app:web template=app:web";
    let script = "pause first
        applied pod shop/web-1 owner=deploy/web labels=app:web age=0
        resume
        look at unplanned
        gone deploy shop/web
        gone pod shop/web-1";
    insta::assert_snapshot!(transcript(&cluster, script), @"
    > pause first
    > applied pod shop/web-1 owner=deploy/web labels=app:web age=0
    > resume
    ValidatingWebhookConfiguration check still guards Pod shop/web-1
    DELETE ConfigMap shop/settings
    DELETE Deployment shop/web
    > look at unplanned
      nothing to plan
    > gone deploy shop/web
    Deployment shop/web is gone
    > gone pod shop/web-1
    DELETE ValidatingWebhookConfiguration check
    ");
}

/// An object of another unit is no part of a plan of this one.
#[test]
fn object_of_the_unit_that_the_webhook_guards_is_planned_alone() {
    let script = "pause first
        applied cm shop/late of=shop age=0
        applied cm lab/theirs of=lab age=0
        resume
        gone cm shop/settings
        look at unplanned";
    insta::assert_snapshot!(transcript(SHOP, script), @"
    > pause first
    > applied cm shop/late of=shop age=0
    > applied cm lab/theirs of=lab age=0
    > resume
    DELETE ConfigMap shop/settings
    > gone cm shop/settings
    ConfigMap shop/settings is gone
    ValidatingWebhookConfiguration check still guards ConfigMap lab/theirs
    > look at unplanned
      ConfigMap shop/late holds ValidatingWebhookConfiguration check
      delete ConfigMap shop/late
    ");
}
