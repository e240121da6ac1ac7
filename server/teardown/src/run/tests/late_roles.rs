//! Tests of roles and bindings that are newer than the plan.

use super::script::transcript;

#[test]
fn late_role_that_collects_rules_does_not_hold_the_roles_that_it_has_them_from() {
    let cluster = "
        cm shop/c of=shop
        clusterrole topics of=shop labels=to-edit:true updates=topics.example.com";
    let script = "pause first
        applied clusterrole platform-edit aggregates=to-edit:true age=0
        resume";
    insta::assert_snapshot!(transcript(cluster, script), @"
    > pause first
    > applied clusterrole platform-edit aggregates=to-edit:true age=0
    > resume
    DELETE ClusterRole topics
    DELETE ConfigMap shop/c
    ");
}

#[test]
fn late_binding_holds_the_role_that_it_gives() {
    let cluster = "
        cm shop/c of=shop
        clusterrole topics of=shop labels=to-edit:true updates=topics.example.com";
    let script = "pause first
        applied crb others role=clusterrole/topics accounts=lab/web age=0
        resume
        gone crb others";
    insta::assert_snapshot!(transcript(cluster, script), @"
    > pause first
    > applied crb others role=clusterrole/topics accounts=lab/web age=0
    > resume
    ClusterRole topics is used by ClusterRoleBinding others
    DELETE ConfigMap shop/c
    > gone crb others
    DELETE ClusterRole topics
    ");
}
