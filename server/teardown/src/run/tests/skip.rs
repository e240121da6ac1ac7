//! Tests of skipping steps.
//!
//! That a skip takes exactly the steps that wait is checked for each step of one plan against a computed set, so it stays a loop.

use super::{script::transcript, *};

const TWO: &str = "ns shop of=shop\n cm shop/a of=shop\n cm shop/b of=shop";

#[test]
fn step_skipped_after_its_delete_counts_as_requested() {
    let script = "accepted cm:shop/a
        skip cm:shop/a
        stop
        refused cm:shop/b";
    insta::assert_snapshot!(transcript(TWO, script), @"
    DELETE ConfigMap shop/a
    DELETE ConfigMap shop/b
    > accepted cm:shop/a
    > skip cm:shop/a
    ConfigMap shop/a is skipped
    Namespace shop is skipped
    > stop
    > refused cm:shop/b
    ConfigMap shop/b was refused: 403
    the run has stopped: 2 untouched, 1 requested, 0 terminating before, 0 unknown, 0 gone
    ");
}

#[test]
fn run_whose_last_step_is_skipped_has_nothing_left_to_stop() {
    let script = "accepted cm:shop/a & accepted cm:shop/b
        gone cm shop/b
        skip cm:shop/a & stop";
    insta::assert_snapshot!(transcript(TWO, script), @"
    DELETE ConfigMap shop/a
    DELETE ConfigMap shop/b
    > accepted cm:shop/a & accepted cm:shop/b
    > gone cm shop/b
    ConfigMap shop/b is gone
    > skip cm:shop/a & stop
    ConfigMap shop/a is skipped
    Namespace shop is skipped
    the run has finished
    ");
}

#[test]
fn refused_step_is_skipped_if_its_blocker_was_skipped_during_the_call() {
    let cluster =
        "ns shop of=shop\n hpa shop/h of=shop target=deploy/web\n deploy shop/web of=shop";
    let script = "accepted hpa:shop/h
        gone hpa shop/h
        applied hpa shop/h uid=again of=shop target=deploy/web
        skip hpa:shop/h
        refused deploy:shop/web";
    insta::assert_snapshot!(transcript(cluster, script), @"
    DELETE HorizontalPodAutoscaler shop/h
    > accepted hpa:shop/h
    > gone hpa shop/h
    HorizontalPodAutoscaler shop/h is gone
    DELETE Deployment shop/web
    > applied hpa shop/h uid=again of=shop target=deploy/web
    HorizontalPodAutoscaler shop/h came back as again
    > skip hpa:shop/h
    HorizontalPodAutoscaler shop/h is skipped
    Namespace shop is skipped
    > refused deploy:shop/web
    Deployment shop/web was refused: 403
    Deployment shop/web is skipped
    the run has finished
    ");
}

#[test]
fn owner_of_a_skipped_object_orphans_it() {
    let cluster = "
        Widget.example.com shop/db of=shop
        deploy shop/web of=shop
        rs shop/web-1 owner=deploy/web
        pvc shop/data owner=Widget.example.com/db volume=pv
        pv pv claim=shop/data reclaim=Delete";
    // The dependents of an owner whose deletion was accepted can no longer be skipped.
    let script = "pause first
        skip pvc:shop/data
        resume
        accepted deploy:shop/web
        skip rs:shop/web-1";
    insta::assert_snapshot!(transcript(cluster, script), @"
    > pause first
    > skip pvc:shop/data
    PersistentVolumeClaim shop/data is skipped
    PersistentVolume pv is skipped
    > resume
    DELETE Deployment shop/web
    DELETE Widget shop/db without its dependents
    > accepted deploy:shop/web
    > skip rs:shop/web-1
    refused: step 3 can no longer be skipped
    ");
}

#[test]
fn dependent_cannot_be_skipped_while_its_owners_delete_is_in_flight() {
    let cluster = "
        Widget.example.com shop/db of=shop
        pvc shop/data owner=Widget.example.com/db volume=pv
        pv pv claim=shop/data reclaim=Delete";
    let skips = "skip pvc:shop/data & skip pv:pv";
    let script = format!("{skips}\n accepted Widget.example.com:shop/db\n {skips}");
    insta::assert_snapshot!(transcript(cluster, &script), @"
    DELETE Widget shop/db
    > skip pvc:shop/data & skip pv:pv
    refused: step 1 can no longer be skipped
    refused: step 2 can no longer be skipped
    > accepted Widget.example.com:shop/db
    > skip pvc:shop/data & skip pv:pv
    refused: step 1 can no longer be skipped
    refused: step 2 can no longer be skipped
    ");
}

#[test]
fn skipping_a_refused_dependent_keeps_no_other_dependent() {
    let cluster = "
        Widget.example.com shop/w of=shop
        cm shop/a owner=Widget.example.com/w
        cm shop/b owner=Widget.example.com/w";
    // The collector will delete the other one.
    let script = "accepted Widget.example.com:shop/w
        gone Widget.example.com shop/w
        refused cm:shop/a & refused cm:shop/b
        skip cm:shop/a
        look at cm:shop/b";
    insta::assert_snapshot!(transcript(cluster, script), @"
    DELETE Widget shop/w
    > accepted Widget.example.com:shop/w
    > gone Widget.example.com shop/w
    Widget shop/w is gone
    DELETE ConfigMap shop/a
    DELETE ConfigMap shop/b
    > refused cm:shop/a & refused cm:shop/b
    ConfigMap shop/a was refused: 403
    ConfigMap shop/b was refused: 403
    > skip cm:shop/a
    ConfigMap shop/a is skipped
    > look at cm:shop/b
    ConfigMap shop/b was refused: 403, for 0 s, with the next try in 20 s: no, goes along with another
    ");
}

#[test]
fn volume_is_skipped_with_its_claim() {
    let cluster = "
        ns shop of=shop
        pvc shop/data of=shop volume=pv
        pv pv claim=shop/data reclaim=Delete";
    let script = "pause first
        skip pv:pv";
    insta::assert_snapshot!(transcript(cluster, script), @"
    > pause first
    > skip pv:pv
    PersistentVolume pv is skipped
    PersistentVolumeClaim shop/data is skipped
    Namespace shop is skipped
    the run has finished
    ");
    // Once the claim is gone, no controller handles the volume any more.
    let script = "no pods pvc:shop/data
        skip pv:pv
        accepted pvc:shop/data
        skip pv:pv
        look at pv:pv
        gone pvc shop/data
        skip pv:pv";
    insta::assert_snapshot!(transcript(cluster, script), @"
    LIST pods in shop
    > no pods pvc:shop/data
    DELETE PersistentVolumeClaim shop/data
    > skip pv:pv
    refused: step 2 can no longer be skipped
    > accepted pvc:shop/data
    > skip pv:pv
    refused: step 2 can no longer be skipped
    > look at pv:pv
    PersistentVolume pv is waiting, after PersistentVolumeClaim shop/data, goes along with another
    > gone pvc shop/data
    PersistentVolumeClaim shop/data is gone
    DELETE Namespace shop
    > skip pv:pv
    PersistentVolume pv is skipped
    ");
}

#[test]
fn skipping_a_pod_skips_steps_that_wait_for_its_workload_to_have_none() {
    let cluster = "
        ns shop of=shop
        sts shop/db of=shop selector=app:db template=app:db templates=data
        pod shop/db-0 owner=sts/db labels=app:db uses=config:c
        pvc shop/data-db-0 of=shop
        cm shop/other of=shop";
    // The page can count the steps that wait.
    let script = "accepted sts:shop/db
        gone sts shop/db
        look at pvc:shop/data-db-0
        refused pod:shop/db-0
        skip pod:shop/db-0
        accepted cm:shop/other
        gone cm shop/other";
    insta::assert_snapshot!(transcript(cluster, script), @"
    DELETE ConfigMap shop/other
    DELETE StatefulSet shop/db
    > accepted sts:shop/db
    > gone sts shop/db
    StatefulSet shop/db is gone
    DELETE Pod shop/db-0
    > look at pvc:shop/data-db-0
    PersistentVolumeClaim shop/data-db-0 is waiting, after Pod shop/db-0
    > refused pod:shop/db-0
    Pod shop/db-0 was refused: 403
    > skip pod:shop/db-0
    Pod shop/db-0 is skipped
    PersistentVolumeClaim shop/data-db-0 is skipped
    Namespace shop is skipped
    > accepted cm:shop/other
    > gone cm shop/other
    ConfigMap shop/other is gone
    the run has finished
    ");
}

/// A page lists the steps that are skipped with a step. It derives them from the steps that each one waits for.
#[test]
fn skip_skips_exactly_the_direct_and_indirect_waiters() {
    let scenario = Scenario::of(
        "ns shop of=shop
         sts shop/db of=shop selector=app:db template=app:db templates=data uses=config:c
         pod shop/db-0 owner=sts/db labels=app:db uses=config:c,claim:data-db-0
         pod shop/db-1 owner=sts/db labels=app:db uses=config:c,claim:data-db-1
         pvc shop/data-db-0 of=shop\n pvc shop/data-db-1 of=shop volume=pv
         pv pv claim=shop/data-db-1 of=shop\n cm shop/c of=shop
         svc shop/db of=shop selector=app:db\n ing shop/db of=shop routes=db
         Database.example.com shop/x of=shop
         pod shop/x-0 owner=Database.example.com/x labels=app:x uses=claim:x deleted=0\n pvc shop/x of=shop",
    );
    for (step, _) in scenario.run.steps() {
        let mut seen = BTreeSet::from([step.id]);
        if step.kind.is("", "PersistentVolume") {
            seen.extend(scenario.run.waits_for(step, &scenario.index, &mut PodsLeft::default()));
        }
        for (behind, _) in scenario.run.steps() {
            if scenario
                .run
                .waits_for(behind, &scenario.index, &mut PodsLeft::default())
                .iter()
                .any(|id| seen.contains(id))
            {
                seen.insert(behind.id);
            }
        }
        let skip = command(RunCommand::Skip(step.id));
        let Scenario { run, index, now, .. } = &scenario;
        let decision = run.decide(&skip, index, &Graph::of(index), *now).unwrap();
        let skip: BTreeSet<StepId> = decision.events.iter().filter_map(RunEvent::step).collect();
        assert_eq!(seen, skip, "{}", step.object);
    }
}
