//! Tests of skipping steps.

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
    let mut scenario = Scenario::of(TWO);
    scenario.reconcile();
    accepted(&mut scenario, "cm:shop/a");
    accepted(&mut scenario, "cm:shop/b");
    scenario.gone("cm shop/b");
    scenario.reconcile();
    let step = scenario.id("cm:shop/a");
    scenario.steer(&command(RunCommand::Skip(step)));
    assert!(scenario.progress("ns:shop").skipped_by().is_some());
    scenario.steer(&command(RunCommand::Stop));
    scenario.reconcile();
    assert_eq!(scenario.run.state(), RunState::Finished);
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

/// A run's DELETEs with their propagation policies.
fn deletes(scenario: &mut Scenario) -> Vec<String> {
    let decision = scenario.decide();
    let deletes = decision.actions.iter().filter_map(|action| match action {
        Action::Delete { target, propagation, .. } => {
            Some(format!("{} {propagation:?}", target.object))
        }
        _ => None,
    });
    deletes.collect()
}

#[test]
fn owner_of_a_skipped_object_orphans_it() {
    let mut scenario = Scenario::of(
        "Widget.example.com shop/db of=shop\n deploy shop/web of=shop\n rs shop/web-1 owner=deploy/web
         pvc shop/data owner=Widget.example.com/db volume=pv\n pv pv claim=shop/data reclaim=Delete",
    );
    scenario.steer(&command(RunCommand::Pause));
    scenario.steer(&command(RunCommand::Skip(scenario.id("pvc:shop/data"))));
    assert!(scenario.progress("pv:pv").skipped_by().is_some());
    scenario.steer(&command(RunCommand::Resume));
    let mut sent = deletes(&mut scenario);
    sent.sort();
    assert_eq!(sent, ["Deployment shop/web Background", "Widget shop/db Orphan"]);
    // The dependents of an owner whose deletion was accepted can no longer be skipped.
    accepted(&mut scenario, "deploy:shop/web");
    let skip = command(RunCommand::Skip(scenario.id("rs:shop/web-1")));
    let step = scenario.id("rs:shop/web-1");
    assert_eq!(
        scenario.run.decide(&skip, &scenario.index, scenario.now),
        Err(CommandError::TooLate(step))
    );
}

#[test]
fn dependent_cannot_be_skipped_while_its_owners_delete_is_in_flight() {
    let fixture = "Widget.example.com shop/db of=shop
         pvc shop/data owner=Widget.example.com/db volume=pv\n pv pv claim=shop/data reclaim=Delete";
    for (is_accepted, uid) in
        [(false, "pvc:shop/data"), (false, "pv:pv"), (true, "pvc:shop/data"), (true, "pv:pv")]
    {
        let mut scenario = Scenario::of(fixture);
        assert_eq!(deletes(&mut scenario), ["Widget shop/db Background"]);
        if is_accepted {
            accepted(&mut scenario, "Widget.example.com:shop/db");
        }
        let step = scenario.id(uid);
        let skip = command(RunCommand::Skip(step));
        let decision = scenario.run.decide(&skip, &scenario.index, scenario.now);
        assert_eq!(decision, Err(CommandError::TooLate(step)), "{uid}, {is_accepted}");
    }
}

#[test]
fn skipping_a_refused_dependent_keeps_no_other_dependent() {
    let mut scenario = Scenario::of(
        "Widget.example.com shop/w of=shop
         cm shop/a owner=Widget.example.com/w\n cm shop/b owner=Widget.example.com/w",
    );
    scenario.reconcile();
    accepted(&mut scenario, "Widget.example.com:shop/w");
    scenario.gone("Widget.example.com shop/w");
    assert_eq!(scenario.reconcile(), ["DELETE ConfigMap shop/a", "DELETE ConfigMap shop/b"]);
    for uid in ["cm:shop/a", "cm:shop/b"] {
        scenario.answer(uid, Outcome::Refused { code: 403, message: "no".into() });
    }
    scenario.steer(&command(RunCommand::Skip(scenario.id("cm:shop/a"))));
    assert!(scenario.progress("cm:shop/a").skipped_by().is_some());
    assert!(
        scenario.run.taken().contains(&scenario.id("cm:shop/b")),
        "the collector will delete it"
    );
}

#[test]
fn volume_is_skipped_with_its_claim() {
    let fixture =
        "ns shop of=shop\n pvc shop/data of=shop volume=pv\n pv pv claim=shop/data reclaim=Delete";
    let mut scenario = Scenario::of(fixture);
    scenario.steer(&command(RunCommand::Skip(scenario.id("pv:pv"))));
    for step in ["pv:pv", "pvc:shop/data", "ns:shop"] {
        assert!(scenario.progress(step).skipped_by().is_some(), "{step}");
    }
    assert_eq!(scenario.reconcile(), [""; 0]);

    let mut scenario = Scenario::of(fixture);
    scenario.reconcile();
    scenario.answer("pvc:shop/data", Outcome::Pods(vec![]));
    let skip = command(RunCommand::Skip(scenario.id("pv:pv")));
    let late = Err(CommandError::TooLate(scenario.id("pv:pv")));
    assert_eq!(
        scenario.run.decide(&skip, &scenario.index, scenario.now),
        late,
        "its DELETE is on its way"
    );
    accepted(&mut scenario, "pvc:shop/data");
    assert_eq!(scenario.run.decide(&skip, &scenario.index, scenario.now), late);
    assert!(scenario.run.taken().contains(&scenario.id("pv:pv")));
    scenario.gone("pvc shop/data");
    scenario.reconcile();
    scenario.steer(&skip);
    assert!(scenario.progress("pv:pv").skipped_by().is_some(), "no controller handles it any more");
}

#[test]
fn skipping_a_pod_skips_steps_that_wait_for_its_workload_to_have_none() {
    let mut scenario = Scenario::of(
        "ns shop of=shop
         sts shop/db of=shop selector=app:db template=app:db templates=data
         pod shop/db-0 owner=sts/db labels=app:db uses=config:c
         pvc shop/data-db-0 of=shop\n cm shop/other of=shop",
    );
    scenario.reconcile();
    accepted(&mut scenario, "sts:shop/db");
    scenario.gone("sts shop/db");
    scenario.reconcile();
    let step = scenario.id("pod:shop/db-0");
    let claim = scenario.run.plan.step(scenario.id("pvc:shop/data-db-0")).unwrap();
    assert_eq!(
        scenario.run.waits_for(claim, &scenario.index, &mut PodsLeft::default()),
        [step],
        "the page can count the steps that wait"
    );
    scenario.answer("pod:shop/db-0", Outcome::Refused { code: 403, message: "no".into() });
    scenario.steer(&command(RunCommand::Skip(step)));
    assert!(scenario.progress("pvc:shop/data-db-0").skipped_by().is_some());
    assert!(scenario.progress("ns:shop").skipped_by().is_some());
    accepted(&mut scenario, "cm:shop/other");
    scenario.gone("cm shop/other");
    scenario.reconcile();
    assert_eq!(scenario.run.state(), RunState::Finished);
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
        let decision = scenario.run.decide(&skip, &scenario.index, scenario.now).unwrap();
        let skip: BTreeSet<StepId> = decision.events.iter().filter_map(RunEvent::step).collect();
        assert_eq!(seen, skip, "{}", step.object);
    }
}
