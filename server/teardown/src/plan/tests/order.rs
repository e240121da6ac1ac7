//! The edges that a plan keeps where several form a cycle.

use super::*;

/// The claim's edge to its Pod is found before the Pod's own, and is weaker.
#[test]
fn strongest_of_two_edges_between_the_same_objects_decides_a_cycle() {
    let plan = plan_of(
        "pod shop/web of=shop uses=claim:scratch owner=pvc/scratch owner-uid=a
         pvc shop/scratch uid=a of=shop owner=pod/web",
        "shop",
    )
    .unwrap();
    insta::assert_snapshot!(text(&plan), @r"
    1 pod:shop/web
    2 a < pod:shop/web
    ");
    assert_eq!(given_up(&plan), ["PersistentVolumeClaim shop/scratch Owns Pod shop/web"]);
}

/// Nobody can see which of the two Deployments is the operator of the database.
#[test]
fn application_on_a_database_goes_before_it_although_it_may_be_its_operator() {
    let plan = plan_of(
        "Database.db.example shop/main of=shop finalizers=db.example/main
         secret shop/main-password owner=Database.db.example/main
         deploy shop/web of=shop uses=secret:main-password
         deploy shop/db-operator of=shop",
        "shop",
    )
    .unwrap();
    insta::assert_snapshot!(text(&plan), @r"
    1 deploy:shop/web
    2 Database.db.example:shop/main < deploy:shop/web+pods
    3 secret:shop/main-password < Database.db.example:shop/main deploy:shop/web+pods
    3 deploy:shop/db-operator < Database.db.example:shop/main
    ");
}

/// The ConfigMap waits for a Pod, and so must not go with its owner, whatever the owner itself waits for.
#[test]
fn owner_that_waits_for_another_step_orphans_what_waits_for_a_third() {
    let plan = plan_of(
        "hpa shop/web of=shop target=deploy/web
         deploy shop/web of=shop
         cm shop/settings owner=deploy/web
         pod shop/reader of=shop uses=config:settings",
        "shop",
    )
    .unwrap();
    insta::assert_snapshot!(text(&plan), @r"
    1 pod:shop/reader
    1 hpa:shop/web
    2 deploy:shop/web orphan < hpa:shop/web
    3 cm:shop/settings < deploy:shop/web pod:shop/reader
    ");
}

/// One of the two may be the operator of the queue, and uses a database that goes before it.
#[test]
fn possible_finisher_gives_way_to_what_the_objects_say() {
    let plan = plan_of(
        "Topic.queue.example shop/t of=shop finalizers=queue.example/topic
         Database.db.example shop/main of=shop refs=Topic.queue.example/t
         secret shop/main-password owner=Database.db.example/main
         deploy shop/a of=shop uses=account:one,secret:main-password
         deploy shop/b of=shop uses=account:two
         role shop/topics of=shop updates=topics.queue.example
         rb shop/topics of=shop accounts=one,two role=role/topics",
        "shop",
    )
    .unwrap();
    assert_eq!(given_up(&plan), ["Topic shop/t Finishes Deployment shop/a"]);
}
