//! Tests of what a run cannot see: hidden kinds, and an API server that does not answer.

use super::script::transcript;

const TWO: &str = "ns shop of=shop\n cm shop/a of=shop\n cm shop/b of=shop";
const ONE: &str = "ns shop of=shop\n cm shop/a of=shop";

#[test]
fn late_step_is_late_again_after_its_kind_was_hidden() {
    let script = "accepted cm:shop/a
        applied cm shop/a of=shop deleted=0 finalizers=x & +600
        hidden configmaps
        visible configmaps
        look at cm:shop/a";
    insta::assert_snapshot!(transcript(ONE, script), @"
    DELETE ConfigMap shop/a
    > accepted cm:shop/a
    > applied cm shop/a of=shop deleted=0 finalizers=x & +600
    ConfigMap shop/a is terminating
    ConfigMap shop/a is late, with x
    > hidden configmaps
    ConfigMap shop/a cannot be told without configmaps
    > visible configmaps
    ConfigMap shop/a is late, with x
    > look at cm:shop/a
    ConfigMap shop/a is stuck, is late, with x
    ");
}

#[test]
fn step_in_time_has_no_problem_after_its_kind_was_hidden() {
    // One is terminating, and one is requested and not terminating yet.
    let script = "accepted cm:shop/a & accepted cm:shop/b
        applied cm shop/a of=shop deleted=0
        hidden configmaps
        visible configmaps
        look at cm:shop/a & look at cm:shop/b";
    insta::assert_snapshot!(transcript(TWO, script), @"
    DELETE ConfigMap shop/a
    DELETE ConfigMap shop/b
    > accepted cm:shop/a & accepted cm:shop/b
    > applied cm shop/a of=shop deleted=0
    ConfigMap shop/a is terminating
    > hidden configmaps
    ConfigMap shop/a cannot be told without configmaps
    ConfigMap shop/b cannot be told without configmaps
    > visible configmaps
    > look at cm:shop/a & look at cm:shop/b
    ConfigMap shop/a is terminating
    ConfigMap shop/b is requested
    ");
}

#[test]
fn requested_step_of_a_hidden_kind_is_unknown() {
    let script = "accepted cm:shop/a & accepted cm:shop/b
        applied cm shop/a of=shop deleted=0
        look at cm:shop/a & look at cm:shop/b
        hidden configmaps
        look at cm:shop/a & look at cm:shop/b
        visible configmaps
        look at cm:shop/a & look at cm:shop/b";
    insta::assert_snapshot!(transcript(TWO, script), @"
    DELETE ConfigMap shop/a
    DELETE ConfigMap shop/b
    > accepted cm:shop/a & accepted cm:shop/b
    > applied cm shop/a of=shop deleted=0
    ConfigMap shop/a is terminating
    > look at cm:shop/a & look at cm:shop/b
    ConfigMap shop/a is terminating
    ConfigMap shop/b is requested
    > hidden configmaps
    ConfigMap shop/a cannot be told without configmaps
    ConfigMap shop/b cannot be told without configmaps
    > look at cm:shop/a & look at cm:shop/b
    ConfigMap shop/a cannot be told without configmaps
    ConfigMap shop/b cannot be told without configmaps
    > visible configmaps
    > look at cm:shop/a & look at cm:shop/b
    ConfigMap shop/a is terminating
    ConfigMap shop/b is requested
    ");
}

#[test]
fn step_does_not_become_late_while_the_api_server_is_unreachable() {
    let script = "accepted cm:shop/a
        applied cm shop/a of=shop deleted=0
        unreachable & +600
        look at cm:shop/a
        reachable";
    insta::assert_snapshot!(transcript(ONE, script), @"
    DELETE ConfigMap shop/a
    > accepted cm:shop/a
    > applied cm shop/a of=shop deleted=0
    ConfigMap shop/a is terminating
    > unreachable & +600
    > look at cm:shop/a
    ConfigMap shop/a is terminating
    > reachable
    ConfigMap shop/a is late
    ");
}

#[test]
fn awaited_volume_is_late_again_after_its_kind_was_hidden() {
    let cluster = "
        ns shop of=shop
        pvc shop/data of=shop volume=pv
        pv pv claim=shop/data reclaim=Delete of=shop";
    let script = "no pods pvc:shop/data
        accepted pvc:shop/data
        gone pvc shop/data
        +600
        hidden persistentvolumes
        visible persistentvolumes";
    insta::assert_snapshot!(transcript(cluster, script), @"
    LIST pods in shop
    > no pods pvc:shop/data
    DELETE PersistentVolumeClaim shop/data
    > accepted pvc:shop/data
    > gone pvc shop/data
    PersistentVolumeClaim shop/data is gone
    DELETE Namespace shop
    > +600
    PersistentVolume pv is late
    > hidden persistentvolumes
    PersistentVolume pv cannot be told without persistentvolumes
    > visible persistentvolumes
    PersistentVolume pv is late
    ");
}

#[test]
fn binding_waits_until_pods_of_a_foreign_account_are_visible() {
    let cluster = "
        ns shop of=shop
        ns watchers
        role shop/reader of=shop
        rb shop/reads of=shop accounts=watchers/prometheus role=role/reader
        crb reads of=shop accounts=watchers/prometheus role=clusterrole/view";
    let script = "pause first
        limited pod to shop & listed pod in shop:
        resume
        listed pod:";
    insta::assert_snapshot!(transcript(cluster, script), @"
    > pause first
    > limited pod to shop & listed pod in shop:
    > resume
    ClusterRoleBinding reads cannot be told without pods in watchers
    RoleBinding shop/reads cannot be told without pods in watchers
    > listed pod:
    DELETE ClusterRoleBinding reads
    DELETE RoleBinding shop/reads
    ");
}

#[test]
fn definition_waits_until_its_kind_is_visible_everywhere() {
    let cluster = "
        crd widgets.example.com of=shop defines=Widget.example.com
        Widget.example.com shop/w of=shop";
    let script = "pause first
        gone Widget.example.com shop/w
        hidden widgets.example.com & resume
        hidden example.com/v1 & visible widgets.example.com
        look at crd:widgets.example.com
        visible example.com/v1";
    insta::assert_snapshot!(transcript(cluster, script), @"
    > pause first
    > gone Widget.example.com shop/w
    Widget shop/w is gone
    > hidden widgets.example.com & resume
    CustomResourceDefinition widgets.example.com cannot be told without widgets.example.com
    > hidden example.com/v1 & visible widgets.example.com
    CustomResourceDefinition widgets.example.com cannot be told without example.com/v1
    > look at crd:widgets.example.com
    CustomResourceDefinition widgets.example.com cannot be told without example.com/v1
    > visible example.com/v1
    DELETE CustomResourceDefinition widgets.example.com
    ");
}

#[test]
fn objects_that_pods_need_stay_while_pods_are_hidden() {
    let cluster = "
        ns shop of=shop
        cm shop/c of=shop
        netpol shop/n of=shop
        ing shop/i of=shop";
    let script = "pause first
        hidden pods
        resume
        visible pods";
    insta::assert_snapshot!(transcript(cluster, script), @"
    > pause first
    > hidden pods
    > resume
    ConfigMap shop/c cannot be told without pods
    NetworkPolicy shop/n cannot be told without pods
    DELETE Ingress shop/i
    > visible pods
    DELETE ConfigMap shop/c
    DELETE NetworkPolicy shop/n
    ");
}

#[test]
fn claim_waits_while_its_new_volume_is_hidden() {
    let cluster = "ns shop of=shop\n pvc shop/data of=shop";
    let there_is_no_such_volume = "pause first
        applied pvc shop/data of=shop volume=pv
        resume";
    insta::assert_snapshot!(transcript(cluster, there_is_no_such_volume), @"
    > pause first
    > applied pvc shop/data of=shop volume=pv
    > resume
    LIST pods in shop
    ");
    let hidden = "pause first
        hidden persistentvolumes
        applied pvc shop/data of=shop volume=pv
        resume";
    insta::assert_snapshot!(transcript(cluster, hidden), @"
    > pause first
    > hidden persistentvolumes
    > applied pvc shop/data of=shop volume=pv
    > resume
    PersistentVolumeClaim shop/data would destroy PersistentVolume pv
    ");
}
