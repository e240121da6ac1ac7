//! Tests of objects that are newer than the plan.

use super::script::{endings, transcript};

#[test]
fn late_pod_that_does_not_terminate_is_reported() {
    let cluster = "ns shop of=shop\n cronjob shop/report of=shop template=app:report uses=config:c
         cm shop/c of=shop";
    // A Pod may take some time.
    let script = "applied job shop/report-1 owner=cronjob/report
        applied pod shop/report-1-a owner=job/report-1 uses=config:c
        accepted cronjob:shop/report
        gone cronjob shop/report & gone job shop/report-1
        applied pod shop/report-1-a owner=job/report-1 uses=config:c deleted=0
        +600";
    insta::assert_snapshot!(transcript(cluster, script), @"
    DELETE CronJob shop/report
    > applied job shop/report-1 owner=cronjob/report
    > applied pod shop/report-1-a owner=job/report-1 uses=config:c
    > accepted cronjob:shop/report
    > gone cronjob shop/report & gone job shop/report-1
    CronJob shop/report is gone
    > applied pod shop/report-1-a owner=job/report-1 uses=config:c deleted=0
    > +600
    ConfigMap shop/c waits for Pod shop/report-1-a of CronJob shop/report
    ");
}

#[test]
fn objects_that_a_late_pod_refers_to_stay() {
    let cluster = "ns shop of=shop\n cm shop/c of=shop\n sa shop/web of=shop";
    let script = "pause first
        applied pod shop/late uses=config:c,account:web
        applied pod shop/done uses=config:c phase=Succeeded
        resume
        gone pod shop/late
        look at cm:shop/c";
    insta::assert_snapshot!(transcript(cluster, script), @"
    > pause first
    > applied pod shop/late uses=config:c,account:web
    > applied pod shop/done uses=config:c phase=Succeeded
    > resume
    ConfigMap shop/c is used by Pod shop/late
    ServiceAccount shop/web is used by Pod shop/late
    > gone pod shop/late
    DELETE ConfigMap shop/c
    DELETE ServiceAccount shop/web
    > look at cm:shop/c
    ConfigMap shop/c is requested
    ");
}

#[test]
fn objects_that_select_a_late_pod_or_give_it_rights_stay() {
    let cluster = "
        ns shop of=shop
        ns lab
        netpol shop/closed of=shop selector=
        svc shop/web of=shop selector=app:web
        svc shop/out of=shop selector=app:web type=LoadBalancer
        pdb shop/web of=shop selector=app:web
        sa shop/web of=shop
        role shop/reader of=shop
        rb shop/reads of=shop accounts=web role=role/reader
        crb reads of=shop accounts=shop/web role=clusterrole/view";
    let script = "pause first
        applied pod shop/late labels=app:web uses=account:web
        applied pod shop/done labels=app:web uses=account:web phase=Succeeded
        applied pod lab/namesake labels=app:web uses=account:web
        resume
        gone pod shop/late";
    insta::assert_snapshot!(transcript(cluster, script), @"
    > pause first
    > applied pod shop/late labels=app:web uses=account:web
    > applied pod shop/done labels=app:web uses=account:web phase=Succeeded
    > applied pod lab/namesake labels=app:web uses=account:web
    > resume
    Service shop/web is used by Pod shop/late
    ServiceAccount shop/web is used by Pod shop/late
    NetworkPolicy shop/closed is used by Pod shop/late
    PodDisruptionBudget shop/web is used by Pod shop/late
    ClusterRoleBinding reads is used by Pod shop/late
    RoleBinding shop/reads is used by Pod shop/late
    DELETE Service shop/out
    > gone pod shop/late
    DELETE ClusterRoleBinding reads
    DELETE NetworkPolicy shop/closed
    DELETE PodDisruptionBudget shop/web
    DELETE RoleBinding shop/reads
    DELETE Service shop/web
    DELETE ServiceAccount shop/web
    ");
}

#[test]
fn owner_waits_while_a_late_pod_uses_its_dependent() {
    let cluster = "ns shop of=shop
         Widget.example.com shop/w of=shop
         cm shop/c owner=Widget.example.com/w";
    let script = "pause first
        applied pod shop/late uses=config:c
        resume
        gone pod shop/late";
    insta::assert_snapshot!(transcript(cluster, script), @"
    > pause first
    > applied pod shop/late uses=config:c
    > resume
    Widget shop/w is used by Pod shop/late
    > gone pod shop/late
    DELETE Widget shop/w
    ");
}

#[test]
fn late_pod_that_goes_with_the_same_owner_blocks_nothing() {
    let cluster = "ns shop of=shop\n deploy shop/web of=shop selector=app:web";
    let script = "pause first
        applied rs shop/web-1 owner=deploy/web selector=app:web
        applied pod shop/web-1-a owner=rs/web-1 labels=app:web uses=claim:web-1-a-scratch
        applied pvc shop/web-1-a-scratch owner=pod/web-1-a
        resume";
    insta::assert_snapshot!(transcript(cluster, script), @"
    > pause first
    > applied rs shop/web-1 owner=deploy/web selector=app:web
    > applied pod shop/web-1-a owner=rs/web-1 labels=app:web uses=claim:web-1-a-scratch
    > applied pvc shop/web-1-a-scratch owner=pod/web-1-a
    > resume
    DELETE Deployment shop/web
    ");
}

#[test]
fn late_claim_and_late_pod_of_one_owner_block_it() {
    let cluster = "ns shop of=shop\n Widget.example.com shop/w of=shop";
    // The collector would delete the claim while the Pod uses it, and nobody confirmed the deletion of the claim.
    let script = "pause first
        applied pvc shop/data owner=Widget.example.com/w
        applied pod shop/w-a owner=Widget.example.com/w uses=claim:data
        resume
        gone pod shop/w-a
        gone pvc shop/data";
    insta::assert_snapshot!(transcript(cluster, script), @"
    > pause first
    > applied pvc shop/data owner=Widget.example.com/w
    > applied pod shop/w-a owner=Widget.example.com/w uses=claim:data
    > resume
    Widget shop/w would take PersistentVolumeClaim shop/data along
    > gone pod shop/w-a
    > gone pvc shop/data
    DELETE Widget shop/w
    ");
}

#[test]
fn late_objects_other_than_pods_block_the_objects_they_need() {
    let cluster = "
        ns shop of=shop
        ns lab
        svc shop/api of=shop
        pvc shop/data of=shop
        role shop/reader of=shop
        crd widgets.example.com of=shop defines=Widget.example.com
        cm shop/c of=shop
        Widget.example.com shop/w of=shop";
    // The Ingress in the other namespace blocks nothing.
    let script = "pause first
        gone Widget.example.com shop/w
        applied ing shop/x of=bystander routes=api age=0
        applied cronjob shop/x of=bystander uses=claim:data age=0
        applied rb shop/x of=bystander people=yes role=role/reader age=0
        applied Widget.example.com lab/x of=bystander age=0
        applied ing lab/x routes=api age=0
        resume
        gone ing shop/x
        gone cronjob shop/x
        gone rb shop/x
        gone Widget.example.com lab/x";
    insta::assert_snapshot!(transcript(cluster, script), @"
    > pause first
    > gone Widget.example.com shop/w
    Widget shop/w is gone
    > applied ing shop/x of=bystander routes=api age=0
    > applied cronjob shop/x of=bystander uses=claim:data age=0
    > applied rb shop/x of=bystander people=yes role=role/reader age=0
    > applied Widget.example.com lab/x of=bystander age=0
    > applied ing lab/x routes=api age=0
    > resume
    PersistentVolumeClaim shop/data is used by CronJob shop/x
    Service shop/api is used by Ingress shop/x
    Role shop/reader is used by RoleBinding shop/x
    CustomResourceDefinition widgets.example.com is used by Widget lab/x
    DELETE ConfigMap shop/c
    > gone ing shop/x
    DELETE Service shop/api
    > gone cronjob shop/x
    LIST pods in shop
    > gone rb shop/x
    DELETE Role shop/reader
    > gone Widget.example.com lab/x
    DELETE CustomResourceDefinition widgets.example.com
    ");
}

#[test]
fn object_that_a_dead_watch_hid_from_the_plan_blocks_what_it_needs() {
    let cluster = "ns shop of=shop\n svc shop/api of=shop\n svc shop/web of=shop";
    // The plan was made while the watch of Ingresses was dead, which takes more than a minute to notice.
    let script = "pause first
        applied ing shop/api of=bystander routes=api age=100
        applied ing shop/web of=bystander routes=web age=130
        resume";
    insta::assert_snapshot!(transcript(cluster, script), @"
    > pause first
    > applied ing shop/api of=bystander routes=api age=100
    > applied ing shop/web of=bystander routes=web age=130
    > resume
    Service shop/api is used by Ingress shop/api
    Service shop/web is used by Ingress shop/web
    ");
}

#[test]
fn unplanned_object_of_any_age_blocks_its_definition() {
    let cluster = "ns shop of=shop\n ns lab
         crd widgets.example.com of=shop defines=Widget.example.com\n Widget.example.com shop/w of=shop";
    // The clock of the API server that created it is ten minutes behind.
    let script = "applied Widget.example.com lab/x age=600
        accepted Widget.example.com:shop/w
        gone Widget.example.com shop/w
        gone Widget.example.com lab/x";
    insta::assert_snapshot!(transcript(cluster, script), @"
    DELETE Widget shop/w
    > applied Widget.example.com lab/x age=600
    > accepted Widget.example.com:shop/w
    > gone Widget.example.com shop/w
    Widget shop/w is gone
    CustomResourceDefinition widgets.example.com is used by Widget lab/x
    DELETE Namespace shop
    > gone Widget.example.com lab/x
    DELETE CustomResourceDefinition widgets.example.com
    ");
}

/// A watch that is behind shows nothing of it.
#[test]
fn object_that_only_a_list_shows_blocks_its_definition_until_it_is_gone() {
    let cluster = "
        ns shop of=shop
        cm shop/c of=shop
        ns lab
        crd widgets.example.com of=shop defines=Widget.example.com
        Widget.example.com shop/w of=shop";
    let script = "each call
        gone Widget.example.com shop/w
        there crd:widgets.example.com
        content crd:widgets.example.com: Widget.example.com lab/x
        until call
        there crd:widgets.example.com
        content crd:widgets.example.com: Widget.example.com lab/x
        until call
        there crd:widgets.example.com
        no content crd:widgets.example.com";
    insta::assert_snapshot!(transcript(cluster, script), @"
    > each call
    DELETE ConfigMap shop/c
    GET Widget shop/w
    > gone Widget.example.com shop/w
    Widget shop/w is gone
    GET CustomResourceDefinition widgets.example.com
    > there crd:widgets.example.com
    LIST everything of widgets.example.com at 17
    > content crd:widgets.example.com: Widget.example.com lab/x
    CustomResourceDefinition widgets.example.com is used by Widget lab/x
    > until call
    1 s later
    GET CustomResourceDefinition widgets.example.com
    > there crd:widgets.example.com
    LIST everything of widgets.example.com at 17
    > content crd:widgets.example.com: Widget.example.com lab/x
    > until call
    1 s later
    GET CustomResourceDefinition widgets.example.com
    > there crd:widgets.example.com
    LIST everything of widgets.example.com at 17
    > no content crd:widgets.example.com
    DELETE CustomResourceDefinition widgets.example.com at 17
    ");
}

#[test]
fn repeated_problem_has_one_entry_in_the_event_log() {
    let read = "pods pvc:shop/data: pod shop/debug uses=claim:data\n";
    // It is read at once when the index has no user left.
    let script = format!(
        "pause first
        applied pod shop/debug uses=claim:data
        resume
        {}{read} +1
        gone pod shop/debug",
        format!("{read} until call\n").repeat(9)
    );
    insta::assert_snapshot!(transcript("ns shop of=shop\n pvc shop/data of=shop", &script), @"
    > pause first
    > applied pod shop/debug uses=claim:data
    > resume
    LIST pods in shop
    > pods pvc:shop/data: pod shop/debug uses=claim:data
    PersistentVolumeClaim shop/data is used by Pod shop/debug
    > until call
    1 s later
    LIST pods in shop
    > pods pvc:shop/data: pod shop/debug uses=claim:data
    > until call
    2 s later
    LIST pods in shop
    > pods pvc:shop/data: pod shop/debug uses=claim:data
    > until call
    4 s later
    LIST pods in shop
    > pods pvc:shop/data: pod shop/debug uses=claim:data
    > until call
    8 s later
    LIST pods in shop
    > pods pvc:shop/data: pod shop/debug uses=claim:data
    > until call
    16 s later
    LIST pods in shop
    > pods pvc:shop/data: pod shop/debug uses=claim:data
    > until call
    32 s later
    LIST pods in shop
    > pods pvc:shop/data: pod shop/debug uses=claim:data
    > until call
    64 s later
    LIST pods in shop
    > pods pvc:shop/data: pod shop/debug uses=claim:data
    > until call
    128 s later
    LIST pods in shop
    > pods pvc:shop/data: pod shop/debug uses=claim:data
    > until call
    256 s later
    LIST pods in shop
    > pods pvc:shop/data: pod shop/debug uses=claim:data
    > +1
    > gone pod shop/debug
    LIST pods in shop
    ");
}

#[test]
fn object_that_was_given_to_another_unit_after_the_plan_is_not_deleted() {
    let cluster = "ns shop of=shop\n cm shop/a of=shop\n cm shop/b of=shop";
    let script = "pause first
        applied cm shop/a of=other
        resume
        applied cm shop/a
        applied cm shop/a of=shop
        look at cm:shop/a";
    insta::assert_snapshot!(transcript(cluster, script), @"
    > pause first
    > applied cm shop/a of=other
    > resume
    ConfigMap shop/a belongs to other now
    DELETE ConfigMap shop/b
    > applied cm shop/a
    ConfigMap shop/a belongs to nobody now
    > applied cm shop/a of=shop
    DELETE ConfigMap shop/a
    > look at cm:shop/a
    ConfigMap shop/a is requested
    ");
}

#[test]
fn object_that_somebody_asked_to_keep_after_the_plan_is_not_deleted() {
    let cluster = "
        cm shop/a of=shop
        cm shop/b of=shop
        deploy shop/dns of=shop
        pvc shop/data of=shop volume=pv
        pv pv claim=shop/data reclaim=Delete";
    // The annotation of the volume does not reach its controller, as in a plan.
    let script = "pause first
        applied cm shop/a of=shop keep=helm.sh/resource-policy:keep
        applied deploy shop/dns of=shop critical=yes
        applied pv pv claim=shop/data reclaim=Delete keep=helm.sh/resource-policy:keep
        resume
        no pods pvc:shop/data
        gone pvc shop/data
        applied cm shop/a of=shop
        applied deploy shop/dns of=shop";
    insta::assert_snapshot!(transcript(cluster, script), @"
    > pause first
    > applied cm shop/a of=shop keep=helm.sh/resource-policy:keep
    > applied deploy shop/dns of=shop critical=yes
    > applied pv pv claim=shop/data reclaim=Delete keep=helm.sh/resource-policy:keep
    > resume
    ConfigMap shop/a is to be kept now by helm.sh/resource-policy:keep
    Deployment shop/dns is to be kept now by priorityClassName: system-*-critical
    DELETE ConfigMap shop/b
    LIST pods in shop
    > no pods pvc:shop/data
    DELETE PersistentVolumeClaim shop/data
    > gone pvc shop/data
    PersistentVolumeClaim shop/data is gone
    > applied cm shop/a of=shop
    DELETE ConfigMap shop/a
    > applied deploy shop/dns of=shop
    DELETE Deployment shop/dns
    ");
    let script = "choose delete=ConfigMap/shop/a
        pause first
        applied cm shop/a of=shop keep=helm.sh/resource-policy:keep
        resume";
    insta::assert_snapshot!(transcript("cm shop/a of=shop", script), @"
    > choose delete=ConfigMap/shop/a
    > pause first
    > applied cm shop/a of=shop keep=helm.sh/resource-policy:keep
    > resume
    DELETE ConfigMap shop/a
    ");
}

/// The collector would delete it, although its own step waits.
#[test]
fn owner_of_an_object_that_is_to_stay_now_is_not_deleted() {
    let cluster = "
        Certificate.example.com shop/web of=shop
        secret shop/tls owner=Certificate.example.com/web";
    let states = ["keep=helm.sh/resource-policy:keep", "of=other", ""];
    let script = |state: &str| {
        format!(
            "pause first
            applied secret shop/tls owner=Certificate.example.com/web {state}
            resume"
        )
    };
    insta::assert_snapshot!(endings(cluster, states, script), @"
    keep=helm.sh/resource-policy:keep
        Certificate shop/web would take Secret shop/tls along
    of=other
        Certificate shop/web would take Secret shop/tls along
    nothing
        DELETE Certificate shop/web
    ");
}

/// An object without marks belongs through its namespace, or through the workload that it scales.
#[test]
fn object_whose_namespace_or_workload_was_given_away_is_not_deleted() {
    let cluster = "
        ns data of=shop
        cm data/settings
        pvc data/orders
        cm data/own of=shop
        ns lab
        deploy lab/web of=shop
        hpa lab/web target=deploy/web";
    let script = "choose include=*
        pause first
        applied ns data of=bank
        applied deploy lab/web
        resume
        applied ns data of=shop
        applied deploy lab/web of=shop";
    insta::assert_snapshot!(transcript(cluster, script), @"
    > choose include=*
    > pause first
    > applied ns data of=bank
    > applied deploy lab/web
    > resume
    ConfigMap data/settings belongs to bank now
    PersistentVolumeClaim data/orders belongs to bank now
    HorizontalPodAutoscaler lab/web belongs to nobody now
    DELETE ConfigMap data/own
    > applied ns data of=shop
    DELETE ConfigMap data/settings
    LIST pods in data
    > applied deploy lab/web of=shop
    DELETE HorizontalPodAutoscaler lab/web
    ");
}

/// Each was there when the plan was made, and needed nothing of it.
#[test]
fn object_that_an_older_object_begins_to_use_during_the_run_is_not_deleted() {
    let cluster = "
        ns shop of=shop
        svc shop/web of=shop selector=app:web
        secret shop/tls of=shop
        cm shop/settings of=shop
        clusterrole shop-reader of=shop
        ingclass shop of=shop
        ing shop/theirs of=other
        deploy shop/theirs of=other template=app:other
        crb theirs
        ing lab/theirs of=other
        cm shop/kept of=shop";
    let changes = [
        "ing shop/theirs of=other routes=web",
        "deploy shop/theirs of=other template=app:web",
        "deploy shop/theirs of=other template=app:other uses=secret:tls",
        "crb theirs role=clusterrole/shop-reader people=yes",
        "ing lab/theirs of=other class=shop",
        "ing lab/theirs of=other routes=web",
    ];
    let script = |change: &str| format!("pause first\n applied {change}\n resume");
    insta::assert_snapshot!(endings(cluster, changes, script), @"
    ing shop/theirs of=other routes=web
        Service shop/web is used by Ingress shop/theirs
        DELETE ClusterRole shop-reader
        DELETE ConfigMap shop/kept
        DELETE ConfigMap shop/settings
        DELETE IngressClass shop
        DELETE Secret shop/tls
    deploy shop/theirs of=other template=app:web
        Service shop/web is used by Deployment shop/theirs
        DELETE ClusterRole shop-reader
        DELETE ConfigMap shop/kept
        DELETE ConfigMap shop/settings
        DELETE IngressClass shop
        DELETE Secret shop/tls
    deploy shop/theirs of=other template=app:other uses=secret:tls
        Secret shop/tls is used by Deployment shop/theirs
        DELETE ClusterRole shop-reader
        DELETE ConfigMap shop/kept
        DELETE ConfigMap shop/settings
        DELETE IngressClass shop
        DELETE Service shop/web
    crb theirs role=clusterrole/shop-reader people=yes
        ClusterRole shop-reader is used by ClusterRoleBinding theirs
        DELETE ConfigMap shop/kept
        DELETE ConfigMap shop/settings
        DELETE IngressClass shop
        DELETE Secret shop/tls
        DELETE Service shop/web
    ing lab/theirs of=other class=shop
        IngressClass shop is used by Ingress lab/theirs
        DELETE ClusterRole shop-reader
        DELETE ConfigMap shop/kept
        DELETE ConfigMap shop/settings
        DELETE Secret shop/tls
        DELETE Service shop/web
    ing lab/theirs of=other routes=web
        DELETE ClusterRole shop-reader
        DELETE ConfigMap shop/kept
        DELETE ConfigMap shop/settings
        DELETE IngressClass shop
        DELETE Secret shop/tls
        DELETE Service shop/web
    ");
}

#[test]
fn object_is_deleted_once_the_older_object_that_used_it_is_gone_or_changed() {
    let cluster = "ns shop of=shop\n svc shop/web of=shop\n svc shop/api of=shop
        ing shop/theirs of=other\n ing shop/others of=other";
    let script = "pause first
        applied ing shop/theirs of=other routes=web
        applied ing shop/others of=other routes=api
        resume
        gone ing shop/theirs
        applied ing shop/others of=other";
    insta::assert_snapshot!(transcript(cluster, script), @"
    > pause first
    > applied ing shop/theirs of=other routes=web
    > applied ing shop/others of=other routes=api
    > resume
    Service shop/api is used by Ingress shop/others
    Service shop/web is used by Ingress shop/theirs
    > gone ing shop/theirs
    DELETE Service shop/web
    > applied ing shop/others of=other
    DELETE Service shop/api
    ");
}

/// The collector takes the Pod, and would otherwise wait for it.
#[test]
fn late_pod_does_not_hold_the_object_that_owns_it() {
    let script = "pause first
        applied pod shop/own owner=cm/a uses=config:a age=0
        applied pod shop/other uses=config:b age=0
        resume";
    insta::assert_snapshot!(transcript("cm shop/a of=shop\n cm shop/b of=shop", script), @"
    > pause first
    > applied pod shop/own owner=cm/a uses=config:a age=0
    > applied pod shop/other uses=config:b age=0
    > resume
    ConfigMap shop/b is used by Pod shop/other
    DELETE ConfigMap shop/a
    ");
}
