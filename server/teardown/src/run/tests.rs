//! Tests of a run without hub or cluster: the index is a fixture, and the test supplies the outcomes of calls.

use std::collections::BTreeSet;

use super::*;
use crate::{
    action::{Action, Outcome},
    fixture,
    graph::Graph,
    index::Index,
    observation::{AwayCause, HiddenCause, Observation},
    plan::plan,
    unit::{UnitId, units},
};

struct Scenario {
    run: Run,
    index: Index,
    now: Timestamp,
}

impl Scenario {
    /// A run of the plan of `shop`.
    fn of(text: &str) -> Self {
        let index = fixture::index(text);
        let graph = Graph::of(&index);
        let units = units(&index, &graph);
        let now = fixture::now();
        let plan = plan(&index, &graph, &units[&UnitId::new("shop")], now).unwrap();
        let mut scenario = Self { run: Run::new(RunId::new("r"), Arc::new(plan)), index, now };
        scenario.record(&RunEvent::Started { by: "Li".into() });
        scenario
    }

    fn record(&mut self, event: &RunEvent) {
        self.run.apply(self.now, event).unwrap();
    }

    fn apply_input(&mut self, input: &Input) -> Decision {
        let decision = self.run.decide(input, &self.index, self.now).unwrap();
        decision.events.iter().for_each(|event| self.run.apply(self.now, event).unwrap());
        decision
    }

    /// Reconciles until nothing follows, and returns the calls as sorted text.
    fn reconcile(&mut self) -> Vec<String> {
        let mut calls = Vec::new();
        loop {
            let decision = self.apply_input(&Input::Reconcile);
            if decision.is_empty() {
                calls.sort();
                return calls;
            }
            calls.extend(decision.actions.iter().map(|action| match action {
                Action::Delete { object, .. } => format!("DELETE {object}"),
                Action::Read { object, .. } => format!("GET {object}"),
                Action::ReadPods { namespace, .. } => format!("LIST pods in {namespace}"),
            }));
        }
    }

    fn id(&self, uid: &str) -> StepId {
        let uid = fixture::uid(uid);
        self.run.plan.steps.iter().find(|step| step.uid == uid).unwrap().id
    }

    fn progress(&self, uid: &str) -> &Progress {
        self.run.progress(self.id(uid)).unwrap()
    }

    /// Completes the step's last call with this outcome.
    fn answer(&mut self, uid: &str, outcome: Outcome) {
        let step = self.run.plan.step(self.id(uid)).unwrap();
        let (step, kind, object, uid) =
            (step.id, step.kind.clone(), step.object.clone(), step.uid.clone());
        let action = Action::Read { step, kind, object, uid };
        _ = self.apply_input(&Input::CallCompleted { action, outcome });
    }

    fn see(&mut self, observation: Observation) {
        self.index.apply([observation], self.now);
    }

    fn applied(&mut self, line: &str) {
        self.see(Observation::Applied(Box::new(fixture::object(line))));
    }

    fn gone(&mut self, line: &str) {
        let object = fixture::object(line);
        self.see(Observation::Deleted { kind: object.kind, uid: object.uid });
    }

    fn hidden(&mut self, resource: &str) {
        let (resource, cause) = (resource.to_owned(), HiddenCause::Forbidden);
        self.see(Observation::Hidden { resource, cause, message: "forbidden".into() });
    }

    fn visible(&mut self, resource: &str) {
        self.see(Observation::Visible { resource: resource.to_owned() });
    }

    fn pass(&mut self, seconds: i64) {
        self.now += jiff::SignedDuration::from_secs(seconds);
    }

    fn steer(&mut self, input: &Input) {
        _ = self.apply_input(input);
    }

    /// The numbers of untouched, requested and gone objects when the run stopped.
    fn stopped(&self) -> Option<(usize, usize, usize)> {
        self.run.event_log().iter().find_map(|entry| match entry.event {
            FeedEvent::Stopped { untouched, requested, gone, .. } => {
                Some((untouched, requested, gone))
            }
            _ => None,
        })
    }

    /// The number of objects that were terminating before the run, and of those with unknown effect.
    fn stopped_by_others_or_unknown(&self) -> Option<(usize, usize)> {
        self.run.event_log().iter().find_map(|entry| match entry.event {
            FeedEvent::Stopped { already_terminating, effect_unknown, .. } => {
                Some((already_terminating, effect_unknown))
            }
            _ => None,
        })
    }
}

fn command(command: RunCommand) -> Input {
    Input::Command { command, by: "Li".to_owned() }
}

/// The object outside the plan that blocks a step.
#[track_caller]
fn user_of(scenario: &Scenario, step: &str) -> String {
    match &scenario.progress(step).problem {
        Some(StepProblem::Unknown { reason: UnknownReason::InUse { by } }) => by.to_string(),
        other => panic!("{step}: {other:?}"),
    }
}

/// The object outside the plan that the garbage collector would delete with a step's object.
#[track_caller]
fn collected_with(scenario: &Scenario, step: &str) -> String {
    match &scenario.progress(step).problem {
        Some(StepProblem::Unknown { reason: UnknownReason::WouldCollect { it } }) => it.to_string(),
        other => panic!("{step}: {other:?}"),
    }
}

fn accepted(scenario: &mut Scenario, uid: &str) {
    scenario.answer(uid, Outcome::Accepted);
}

#[test]
fn late_step_is_late_again_after_its_kind_was_hidden() {
    let mut scenario = Scenario::of("ns shop of=shop\n cm shop/a of=shop");
    assert_eq!(scenario.reconcile(), ["DELETE ConfigMap shop/a"]);
    accepted(&mut scenario, "cm:shop/a");
    scenario.applied("cm shop/a of=shop deleted=0 finalizers=x");
    scenario.pass(600);
    scenario.reconcile();
    assert!(matches!(scenario.progress("cm:shop/a").problem, Some(StepProblem::Late { .. })));
    scenario.hidden("configmaps");
    scenario.reconcile();
    assert!(matches!(scenario.progress("cm:shop/a").problem, Some(StepProblem::Unknown { .. })));
    scenario.visible("configmaps");
    scenario.reconcile();
    let progress = scenario.progress("cm:shop/a");
    assert!(matches!(progress.problem, Some(StepProblem::Late { .. })), "{progress:?}");
    assert_eq!(progress.overdue, Overdue::Stuck);
}

#[test]
fn step_in_time_has_no_problem_after_its_kind_was_hidden() {
    let mut scenario = Scenario::of("ns shop of=shop\n cm shop/a of=shop\n cm shop/b of=shop");
    scenario.reconcile();
    accepted(&mut scenario, "cm:shop/a");
    accepted(&mut scenario, "cm:shop/b");
    scenario.applied("cm shop/a of=shop deleted=0");
    scenario.reconcile();
    scenario.hidden("configmaps");
    scenario.reconcile();
    scenario.visible("configmaps");
    scenario.reconcile();
    assert_eq!(scenario.progress("cm:shop/a").problem, None);
    assert_eq!(scenario.progress("cm:shop/b").problem, None, "requested, but not terminating yet");
}

#[test]
fn requested_step_of_a_hidden_kind_is_unknown() {
    let mut scenario = Scenario::of("ns shop of=shop\n cm shop/a of=shop\n cm shop/b of=shop");
    scenario.reconcile();
    accepted(&mut scenario, "cm:shop/a");
    accepted(&mut scenario, "cm:shop/b");
    scenario.applied("cm shop/a of=shop deleted=0");
    scenario.reconcile();
    let shown = |scenario: &Scenario| {
        ["cm:shop/a", "cm:shop/b"]
            .map(|uid| scenario.run.shown(scenario.run.plan.step(scenario.id(uid)).unwrap()))
    };
    assert_eq!(shown(&scenario), [State::Terminating, State::Requested]);
    scenario.hidden("configmaps");
    scenario.reconcile();
    assert_eq!(shown(&scenario), [State::Unknown; 2]);
    scenario.visible("configmaps");
    scenario.reconcile();
    assert_eq!(shown(&scenario), [State::Terminating, State::Requested]);
}

#[test]
fn no_step_becomes_late_while_the_api_server_is_unreachable() {
    let mut scenario = Scenario::of("ns shop of=shop\n cm shop/a of=shop");
    scenario.reconcile();
    accepted(&mut scenario, "cm:shop/a");
    scenario.applied("cm shop/a of=shop deleted=0");
    scenario.reconcile();
    scenario.see(Observation::Unreachable { cause: AwayCause::Silent, message: "refused".into() });
    scenario.pass(600);
    scenario.reconcile();
    assert_eq!(scenario.progress("cm:shop/a").problem, None);
    scenario.see(Observation::Reached { version: "v1.36.3".into() });
    scenario.reconcile();
    assert!(matches!(scenario.progress("cm:shop/a").problem, Some(StepProblem::Late { .. })));
}

#[test]
fn awaited_volume_is_late_again_after_its_kind_was_hidden() {
    let mut scenario = Scenario::of(
        "ns shop of=shop\n pvc shop/data of=shop volume=pv
         pv pv claim=shop/data reclaim=Delete of=shop",
    );
    assert_eq!(scenario.reconcile(), ["LIST pods in shop"]);
    scenario.answer("pvc:shop/data", Outcome::Pods(vec![]));
    accepted(&mut scenario, "pvc:shop/data");
    scenario.gone("pvc shop/data");
    scenario.reconcile();
    scenario.pass(600);
    scenario.reconcile();
    assert!(matches!(scenario.progress("pv:pv").problem, Some(StepProblem::Late { .. })));
    scenario.hidden("persistentvolumes");
    scenario.reconcile();
    scenario.visible("persistentvolumes");
    scenario.reconcile();
    let problem = &scenario.progress("pv:pv").problem;
    assert!(matches!(problem, Some(StepProblem::Late { .. })), "{problem:?}");
}

#[test]
fn late_pod_that_does_not_terminate_is_reported() {
    let mut scenario = Scenario::of(
        "ns shop of=shop\n cronjob shop/report of=shop template=app:report uses=config:c
         cm shop/c of=shop",
    );
    assert_eq!(scenario.reconcile(), ["DELETE CronJob shop/report"]);
    scenario.applied("job shop/report-1 owner=cronjob/report");
    scenario.applied("pod shop/report-1-a owner=job/report-1 uses=config:c");
    accepted(&mut scenario, "cronjob:shop/report");
    scenario.gone("cronjob shop/report");
    scenario.gone("job shop/report-1");
    scenario.applied("pod shop/report-1-a owner=job/report-1 uses=config:c deleted=0");
    assert!(scenario.reconcile().is_empty());
    assert_eq!(scenario.progress("cm:shop/c").problem, None, "Pods may take some time");
    scenario.pass(600);
    assert!(scenario.reconcile().is_empty());
    let problem = &scenario.progress("cm:shop/c").problem;
    let Some(StepProblem::Unknown { reason: UnknownReason::PodsLeft { pod, of } }) = problem else {
        panic!()
    };
    assert_eq!(
        [pod, &**of].map(ObjectRef::to_string),
        ["Pod shop/report-1-a", "CronJob shop/report"]
    );
}

#[test]
fn objects_that_a_late_pod_refers_to_stay() {
    let mut scenario = Scenario::of("ns shop of=shop\n cm shop/c of=shop\n sa shop/web of=shop");
    scenario.applied("pod shop/late uses=config:c,account:web");
    scenario.applied("pod shop/done uses=config:c phase=Succeeded");
    assert!(scenario.reconcile().is_empty());
    assert_eq!(user_of(&scenario, "cm:shop/c"), "Pod shop/late");
    scenario.gone("pod shop/late");
    assert_eq!(scenario.reconcile(), ["DELETE ConfigMap shop/c", "DELETE ServiceAccount shop/web"]);
    assert_eq!(scenario.progress("cm:shop/c").problem, None);
}

#[test]
fn objects_that_select_a_late_pod_or_give_it_rights_stay() {
    let mut scenario = Scenario::of(
        "ns shop of=shop\n ns lab
         netpol shop/closed of=shop selector=
         svc shop/web of=shop selector=app:web
         svc shop/out of=shop selector=app:web type=LoadBalancer
         pdb shop/web of=shop selector=app:web
         sa shop/web of=shop
         role shop/reader of=shop
         rb shop/reads of=shop accounts=web role=role/reader
         crb reads of=shop accounts=shop/web role=clusterrole/view",
    );
    scenario.applied("pod shop/late labels=app:web uses=account:web");
    scenario.applied("pod shop/done labels=app:web uses=account:web phase=Succeeded");
    scenario.applied("pod lab/namesake labels=app:web uses=account:web");
    assert_eq!(scenario.reconcile(), ["DELETE Service shop/out"]);
    let held = ["netpol:shop/closed", "svc:shop/web", "pdb:shop/web", "rb:shop/reads", "crb:reads"];
    for step in held {
        assert_eq!(user_of(&scenario, step), "Pod shop/late", "{step}");
    }
    scenario.gone("pod shop/late");
    assert_eq!(scenario.reconcile().len(), held.len() + 1, "the account as well");
}

#[test]
fn binding_waits_until_pods_of_a_foreign_account_are_visible() {
    let mut scenario = Scenario::of(
        "ns shop of=shop\n ns watchers\n role shop/reader of=shop
         rb shop/reads of=shop accounts=watchers/prometheus role=role/reader
         crb reads of=shop accounts=watchers/prometheus role=clusterrole/view",
    );
    let pods = fixture::object("pod shop/none").kind;
    let namespace: std::sync::Arc<str> = "shop".into();
    let (namespaces, message) = (vec![namespace.clone()], "no".into());
    scenario.see(Observation::PerNamespace { kind: pods.clone(), namespaces, message });
    scenario.see(Observation::ListedIn { kind: pods.clone(), namespace, objects: vec![] });
    assert_eq!(scenario.reconcile(), [""; 0]);
    for step in ["rb:shop/reads", "crb:reads"] {
        let problem = &scenario.progress(step).problem;
        assert!(matches!(problem, Some(StepProblem::Unknown { .. })), "{step}: {problem:?}");
    }
    scenario.see(Observation::Listed { kind: pods, objects: vec![] });
    assert_eq!(
        scenario.reconcile(),
        ["DELETE ClusterRoleBinding reads", "DELETE RoleBinding shop/reads"]
    );
}

#[test]
fn owner_waits_while_a_late_pod_uses_its_dependent() {
    let mut scenario = Scenario::of(
        "ns shop of=shop
         Widget.example.com shop/w of=shop
         cm shop/c owner=Widget.example.com/w",
    );
    scenario.applied("pod shop/late uses=config:c");
    assert!(scenario.reconcile().is_empty());
    assert_eq!(user_of(&scenario, "Widget.example.com:shop/w"), "Pod shop/late");
    scenario.gone("pod shop/late");
    assert_eq!(scenario.reconcile(), ["DELETE Widget shop/w"]);
}

#[test]
fn late_pod_that_goes_with_the_same_owner_blocks_nothing() {
    let mut scenario = Scenario::of("ns shop of=shop\n deploy shop/web of=shop selector=app:web");
    scenario.applied("rs shop/web-1 owner=deploy/web selector=app:web");
    scenario.applied("pod shop/web-1-a owner=rs/web-1 labels=app:web uses=claim:web-1-a-scratch");
    scenario.applied("pvc shop/web-1-a-scratch owner=pod/web-1-a");
    assert_eq!(scenario.reconcile(), ["DELETE Deployment shop/web"]);
}

#[test]
fn late_claim_and_late_pod_of_one_owner_block_it() {
    let mut scenario = Scenario::of("ns shop of=shop\n Widget.example.com shop/w of=shop");
    scenario.applied("pvc shop/data owner=Widget.example.com/w");
    scenario.applied("pod shop/w-a owner=Widget.example.com/w uses=claim:data");
    assert!(
        scenario.reconcile().is_empty(),
        "the collector would delete the claim while the Pod uses it"
    );
    scenario.gone("pod shop/w-a");
    assert!(scenario.reconcile().is_empty(), "the deletion of the claim was not confirmed");
    assert_eq!(
        collected_with(&scenario, "Widget.example.com:shop/w"),
        "PersistentVolumeClaim shop/data"
    );
    scenario.gone("pvc shop/data");
    assert_eq!(scenario.reconcile(), ["DELETE Widget shop/w"]);
}

#[test]
fn unconfirmed_dependent_blocks_its_owner() {
    let mut scenario = Scenario::of("ns shop of=shop\n Widget.example.com shop/w of=shop");
    let transient = [
        "rs shop/w-1 owner=Widget.example.com/w",
        "pod shop/w-a owner=rs/w-1",
        "pvc shop/w-a-scratch owner=pod/w-a",
        "endpoints shop/w-1 owner=Widget.example.com/w",
    ];
    transient.into_iter().for_each(|line| scenario.applied(line));
    scenario.applied("VolumeSnapshot.snapshot.storage.k8s.io shop/s owner=Widget.example.com/w");
    assert!(scenario.reconcile().is_empty());
    assert_eq!(collected_with(&scenario, "Widget.example.com:shop/w"), "VolumeSnapshot shop/s");
    scenario.gone("VolumeSnapshot.snapshot.storage.k8s.io shop/s");
    assert_eq!(scenario.reconcile(), ["DELETE Widget shop/w"]);
}

#[test]
fn late_objects_other_than_pods_block_the_objects_they_need() {
    let mut scenario = Scenario::of(
        "ns shop of=shop\n ns lab\n svc shop/api of=shop\n pvc shop/data of=shop\n role shop/reader of=shop
         crd widgets.example.com of=shop defines=Widget.example.com\n cm shop/c of=shop
         Widget.example.com shop/w of=shop",
    );
    scenario.gone("Widget.example.com shop/w");
    let late_objects = [
        ("ing shop/x of=bystander routes=api age=0", "svc:shop/api"),
        ("cronjob shop/x of=bystander uses=claim:data age=0", "pvc:shop/data"),
        ("rb shop/x of=bystander people=yes role=role/reader age=0", "role:shop/reader"),
        ("Widget.example.com lab/x of=bystander age=0", "crd:widgets.example.com"),
    ];
    late_objects.iter().for_each(|(late_object, _)| scenario.applied(late_object));
    scenario.applied("ing lab/x routes=api age=0");
    assert_eq!(scenario.reconcile(), ["DELETE ConfigMap shop/c"]);
    for (late_object, step) in late_objects {
        assert_eq!(user_of(&scenario, step), fixture::object(late_object).reference().to_string());
        scenario.gone(late_object);
        assert_eq!(scenario.reconcile().len(), 1, "{step}");
    }
}

#[test]
fn definition_waits_until_its_kind_is_visible_everywhere() {
    let mut scenario = Scenario::of(
        "crd widgets.example.com of=shop defines=Widget.example.com
         Widget.example.com shop/w of=shop",
    );
    scenario.steer(&command(RunCommand::Pause));
    scenario.gone("Widget.example.com shop/w");
    scenario.reconcile();
    scenario.hidden("widgets.example.com");
    scenario.steer(&command(RunCommand::Resume));
    let waits = |scenario: &mut Scenario| {
        assert_eq!(scenario.reconcile(), [""; 0]);
        let problem = &scenario.progress("crd:widgets.example.com").problem;
        assert!(matches!(problem, Some(StepProblem::Unknown { .. })), "{problem:?}");
    };
    waits(&mut scenario);
    scenario.hidden("example.com/v1");
    scenario.visible("widgets.example.com");
    waits(&mut scenario);
    scenario.visible("example.com/v1");
    assert_eq!(scenario.reconcile(), ["DELETE CustomResourceDefinition widgets.example.com"]);
}

#[test]
fn claim_waits_if_its_deletion_destroys_unlisted_data() {
    let mut scenario = Scenario::of(
        "ns shop of=shop\n pvc shop/data of=shop volume=pv\n pv pv claim=shop/data\n pvc shop/new of=shop",
    );
    scenario.applied("pv pv claim=shop/data reclaim=Delete");
    scenario.applied("pv late claim=shop/new reclaim=Recycle");
    scenario.applied("pvc shop/new of=shop volume=late");
    assert!(scenario.reconcile().is_empty());
    for (claim, volume) in [("pvc:shop/data", "pv"), ("pvc:shop/new", "late")] {
        match &scenario.progress(claim).problem {
            Some(StepProblem::Unknown {
                reason: UnknownReason::WouldDestroyData { volume: it },
            }) => {
                assert_eq!(&*it.name, volume)
            }
            other => panic!("{claim}: {other:?}"),
        }
    }
    scenario.applied("pv pv claim=shop/data");
    scenario.applied("pv late claim=shop/new");
    assert_eq!(scenario.reconcile(), ["LIST pods in shop", "LIST pods in shop"]);
}

#[test]
fn volume_waits_for_the_claim_it_names() {
    let mut scenario = Scenario::of("ns lab\n cm shop/c of=shop\n pv pv of=shop claim=lab/data");
    scenario.applied("pvc lab/data");
    assert_eq!(scenario.reconcile(), ["DELETE ConfigMap shop/c"]);
    assert_eq!(user_of(&scenario, "pv:pv"), "PersistentVolumeClaim lab/data");
    scenario.gone("pvc lab/data");
    scenario.hidden("persistentvolumeclaims");
    assert_eq!(scenario.reconcile(), [""; 0]);
    let problem = &scenario.progress("pv:pv").problem;
    assert!(
        matches!(problem, Some(StepProblem::Unknown { reason: UnknownReason::Hidden { .. } })),
        "{problem:?}"
    );
    scenario.visible("persistentvolumeclaims");
    assert_eq!(scenario.reconcile(), ["DELETE PersistentVolume pv"]);
}

#[test]
fn objects_that_pods_need_stay_while_pods_are_hidden() {
    let mut scenario = Scenario::of(
        "ns shop of=shop\n cm shop/c of=shop\n netpol shop/n of=shop\n ing shop/i of=shop",
    );
    scenario.hidden("pods");
    assert_eq!(scenario.reconcile(), ["DELETE Ingress shop/i"]);
    for step in ["cm:shop/c", "netpol:shop/n"] {
        let problem = &scenario.progress(step).problem;
        assert!(matches!(problem, Some(StepProblem::Unknown { .. })), "{step}: {problem:?}");
    }
    scenario.visible("pods");
    assert_eq!(scenario.reconcile(), ["DELETE ConfigMap shop/c", "DELETE NetworkPolicy shop/n"]);
}

#[test]
fn repeated_problem_has_one_feed_entry() {
    let mut scenario = Scenario::of("ns shop of=shop\n pvc shop/data of=shop");
    let pod = fixture::object("pod shop/debug uses=claim:data");
    let sight = || crate::action::PodSight {
        uid: pod.uid.clone(),
        object: pod.reference(),
        labels: pod.labels.clone(),
        owners: pod.owners.clone(),
        claims: vec!["data".into()],
    };
    scenario.applied("pod shop/debug uses=claim:data");
    let mut reads = 0;
    for _ in 0..600 {
        reads += scenario.reconcile().len();
        scenario.answer("pvc:shop/data", Outcome::Pods(vec![sight()]));
        scenario.pass(1);
    }
    assert!((20..30).contains(&reads), "{reads} reads in ten minutes");
    let problems =
        scenario.run.event_log().iter().filter(|it| matches!(it.event, FeedEvent::Problem { .. }));
    assert_eq!(problems.count(), 1);
    scenario.gone("pod shop/debug");
    scenario.pass(1);
    assert_eq!(
        scenario.reconcile(),
        ["LIST pods in shop"],
        "it is read at once when the index has no user left"
    );
}

/// A Pod of a StatefulSet may write to its storage even if it mounts no claim, so its owner and its labels count.
#[test]
fn claim_waits_for_pods_of_its_statefulset_that_mount_nothing() {
    let mut scenario = Scenario::of(
        "ns shop of=shop
         sts shop/db of=shop selector=app:db template=app:db templates=data
         pvc shop/data-db-0 of=shop",
    );
    assert_eq!(scenario.reconcile(), ["DELETE StatefulSet shop/db"]);
    accepted(&mut scenario, "sts:shop/db");
    scenario.gone("sts shop/db");
    let sight = |line: &str| {
        let pod = fixture::object(line);
        crate::action::PodSight {
            uid: pod.uid.clone(),
            object: pod.reference(),
            labels: pod.labels.clone(),
            owners: pod.owners.clone(),
            claims: vec![],
        }
    };
    for pod in ["pod shop/db-0 owner=sts/db labels=role:old", "pod shop/db-1 labels=app:db"] {
        assert_eq!(scenario.reconcile(), ["LIST pods in shop"], "{pod}");
        scenario.answer("pvc:shop/data-db-0", Outcome::Pods(vec![sight(pod)]));
        let problem = &scenario.progress("pvc:shop/data-db-0").problem;
        assert!(problem.is_some(), "{pod}");
        assert_eq!(scenario.progress("pvc:shop/data-db-0").requested, None, "{pod}");
        scenario.pass(120);
    }
    assert_eq!(scenario.reconcile(), ["LIST pods in shop"]);
    scenario
        .answer("pvc:shop/data-db-0", Outcome::Pods(vec![sight("pod shop/other labels=app:web")]));
    assert_ne!(scenario.progress("pvc:shop/data-db-0").requested, None);
}

#[test]
fn recalled_delete_does_not_count_as_requested() {
    let mut scenario = Scenario::of("ns shop of=shop\n cm shop/a of=shop\n cm shop/b of=shop");
    assert_eq!(scenario.reconcile().len(), 2);
    scenario.steer(&command(RunCommand::Stop));
    scenario.answer("cm:shop/a", Outcome::Recalled);
    scenario.answer("cm:shop/b", Outcome::Accepted);
    scenario.reconcile();
    assert_eq!(scenario.progress("cm:shop/a").requested, None);
    assert_eq!(scenario.stopped(), Some((2, 1, 0)), "the namespace and a; b; none");
}

#[test]
fn stopping_run_ends_only_when_the_effect_of_each_delete_is_known() {
    let mut scenario = Scenario::of("ns shop of=shop\n cm shop/a of=shop\n cm shop/b of=shop");
    scenario.reconcile();
    for step in ["cm:shop/a", "cm:shop/b"] {
        scenario.answer(step, Outcome::Unanswered { message: "no answer".into(), after: None });
    }
    scenario.steer(&command(RunCommand::Stop));
    assert!(scenario.reconcile().is_empty(), "postponed");
    assert_eq!(scenario.run.state(), RunState::Stopping);
    scenario.pass(1);
    assert_eq!(scenario.reconcile(), ["GET ConfigMap shop/a", "GET ConfigMap shop/b"]);
    scenario.answer("cm:shop/a", Outcome::Present { terminating: false });
    scenario.answer("cm:shop/b", Outcome::Present { terminating: true });
    assert!(scenario.reconcile().is_empty(), "an object proven untouched is not read again");
    assert_eq!((scenario.run.state(), scenario.stopped()), (RunState::Stopped, Some((2, 1, 0))));
}

#[test]
fn stop_does_not_count_objects_that_were_terminating_before_as_requested() {
    let mut scenario = Scenario::of(
        "ns shop of=shop\n cm shop/a of=shop deleted=-5s fin=example.com/hold\n cm shop/b of=shop",
    );
    assert_eq!(scenario.reconcile(), ["DELETE ConfigMap shop/b"]);
    accepted(&mut scenario, "cm:shop/b");
    scenario.steer(&command(RunCommand::Stop));
    scenario.reconcile();
    assert_eq!(scenario.stopped(), Some((1, 1, 0)), "the namespace is untouched, b was requested");
    assert_eq!(
        scenario.stopped_by_others_or_unknown(),
        Some((1, 0)),
        "a was terminating before the run"
    );
}

#[test]
fn refused_read_keeps_the_mark_that_a_delete_may_have_had_its_effect() {
    let mut scenario = Scenario::of("cm shop/a of=shop");
    assert_eq!(scenario.reconcile(), ["DELETE ConfigMap shop/a"]);
    scenario.answer("cm:shop/a", Outcome::Unanswered { message: "no answer".into(), after: None });
    scenario.pass(1);
    assert_eq!(scenario.reconcile(), ["GET ConfigMap shop/a"]);
    scenario.answer("cm:shop/a", Outcome::Refused { code: 403, message: "no".into() });
    scenario.pass(30);
    assert_eq!(
        scenario.reconcile(),
        ["GET ConfigMap shop/a"],
        "it is read again before any DELETE"
    );
}

#[test]
fn stop_ends_with_effect_unknown_where_the_object_may_not_be_read() {
    let mut scenario = Scenario::of("ns shop of=shop\n cm shop/a of=shop");
    scenario.reconcile();
    scenario.answer("cm:shop/a", Outcome::Unanswered { message: "no answer".into(), after: None });
    scenario.steer(&command(RunCommand::Stop));
    scenario.pass(1);
    assert_eq!(scenario.reconcile(), ["GET ConfigMap shop/a"]);
    assert_eq!(scenario.run.state(), RunState::Stopping, "the answer may still show the effect");
    scenario.answer("cm:shop/a", Outcome::Refused { code: 403, message: "no".into() });
    scenario.reconcile();
    assert_eq!(scenario.run.state(), RunState::Stopped);
    assert_eq!(scenario.stopped(), Some((1, 0, 0)));
    assert_eq!(scenario.stopped_by_others_or_unknown(), Some((0, 1)));
}

#[test]
fn delete_on_its_way_at_a_restart_is_read_before_stop_calls_it_untouched() {
    let mut scenario = Scenario::of("ns shop of=shop\n cm shop/a of=shop");
    assert_eq!(scenario.reconcile(), ["DELETE ConfigMap shop/a"]);
    scenario.steer(&command(RunCommand::Stop));
    _ = scenario.apply_input(&Input::Recover);
    assert_eq!(scenario.reconcile(), ["GET ConfigMap shop/a"]);
    scenario.answer("cm:shop/a", Outcome::Present { terminating: false });
    scenario.reconcile();
    assert_eq!(scenario.stopped(), Some((2, 0, 0)));
}

#[test]
fn retry_after_is_respected_within_limits() {
    let late = |after| Outcome::Unanswered { message: "shutting down".into(), after };
    let throttled = |after| Outcome::Throttled { after };
    // Columns: the `Retry-After`, and the last second without a retry, first if the effect of a DELETE is unknown and
    // then if it is known.
    for (retry_after, effect_unknown, sure) in
        [(0, 0, 0), (9, 8, 8), (600, 119, 599), (86_400, 119, 3_599)]
    {
        let after = Some(jiff::SignedDuration::from_secs(retry_after));
        for (outcome, until, next) in
            [(late(after), effect_unknown, "GET"), (throttled(after), sure, "DELETE")]
        {
            let mut scenario = Scenario::of("cm shop/a of=shop");
            scenario.reconcile();
            scenario.answer("cm:shop/a", outcome);
            scenario.pass(until);
            assert!(scenario.reconcile().is_empty(), "{retry_after}");
            scenario.pass(1);
            assert_eq!(scenario.reconcile(), [format!("{next} ConfigMap shop/a")], "{retry_after}");
        }
    }
}

#[test]
fn resumed_run_retries_before_retry_after_has_passed() {
    let mut scenario = Scenario::of("cm shop/a of=shop");
    scenario.reconcile();
    let after = Some(jiff::SignedDuration::from_hours(1));
    scenario.answer("cm:shop/a", Outcome::Throttled { after });
    assert!(scenario.reconcile().is_empty());
    scenario.steer(&command(RunCommand::Pause));
    assert!(scenario.reconcile().is_empty());
    scenario.steer(&command(RunCommand::Resume));
    assert_eq!(scenario.reconcile(), ["DELETE ConfigMap shop/a"]);
}

#[test]
fn step_skipped_after_its_delete_counts_as_requested() {
    let mut scenario = Scenario::of("ns shop of=shop\n cm shop/a of=shop\n cm shop/b of=shop");
    scenario.reconcile();
    accepted(&mut scenario, "cm:shop/a");
    accepted(&mut scenario, "cm:shop/b");
    scenario.gone("cm shop/b");
    scenario.reconcile();
    let step = scenario.id("cm:shop/a");
    scenario.steer(&command(RunCommand::Skip(step)));
    assert_eq!(scenario.progress("ns:shop").stage, Stage::Skipped);
    scenario.steer(&command(RunCommand::Stop));
    scenario.reconcile();
    assert_eq!(scenario.run.state(), RunState::Finished, "nothing is left to stop");

    let mut scenario = Scenario::of("ns shop of=shop\n cm shop/a of=shop\n cm shop/b of=shop");
    scenario.reconcile();
    accepted(&mut scenario, "cm:shop/a");
    let step = scenario.id("cm:shop/a");
    scenario.steer(&command(RunCommand::Skip(step)));
    scenario.steer(&command(RunCommand::Stop));
    scenario.answer("cm:shop/b", Outcome::Refused { code: 403, message: "no".into() });
    scenario.reconcile();
    assert_eq!(scenario.stopped(), Some((2, 1, 0)));
}

#[test]
fn refused_step_is_skipped_if_its_blocker_was_skipped_during_the_call() {
    let mut scenario = Scenario::of(
        "ns shop of=shop\n hpa shop/h of=shop target=deploy/web\n deploy shop/web of=shop",
    );
    assert_eq!(scenario.reconcile(), ["DELETE HorizontalPodAutoscaler shop/h"]);
    accepted(&mut scenario, "hpa:shop/h");
    scenario.gone("hpa shop/h");
    assert_eq!(scenario.reconcile(), ["DELETE Deployment shop/web"]);
    scenario.applied("hpa shop/h uid=again of=shop target=deploy/web");
    scenario.reconcile();
    let step = scenario.id("hpa:shop/h");
    scenario.steer(&command(RunCommand::Skip(step)));
    scenario.answer("deploy:shop/web", Outcome::Refused { code: 403, message: "no".into() });
    scenario.pass(60);
    assert!(scenario.reconcile().is_empty());
    assert_eq!(scenario.progress("deploy:shop/web").stage, Stage::Skipped);
    assert_eq!(scenario.run.state(), RunState::Finished);
}

#[test]
fn recreated_object_of_a_skipped_owner_is_skipped() {
    let mut scenario = Scenario::of(
        "ns shop of=shop
         sts shop/db of=shop selector=app:db template=app:db
         pod shop/db-0 owner=sts/db labels=app:db deleted=0",
    );
    assert_eq!(scenario.reconcile(), ["DELETE StatefulSet shop/db"]);
    scenario.answer("sts:shop/db", Outcome::Refused { code: 403, message: "no".into() });
    let step = scenario.id("sts:shop/db");
    scenario.steer(&command(RunCommand::Skip(step)));
    assert_eq!(scenario.progress("pod:shop/db-0").stage, Stage::Terminating, "it was evicted");
    scenario.gone("pod shop/db-0 owner=sts/db");
    scenario.applied("pod shop/db-0 uid=again owner=sts/db labels=app:db");
    scenario.reconcile();
    assert_eq!(scenario.progress("pod:shop/db-0").stage, Stage::Skipped);
    assert_eq!(
        scenario.progress("pod:shop/db-0").furthest_stage(),
        Stage::CameBack,
        "it was gone before"
    );
    assert_eq!(scenario.run.state(), RunState::Finished);
}

/// A GitOps tool re-created the StatefulSet, which re-created its Pods. One command skips all of them.
#[test]
fn dependents_of_a_recreated_object_are_skipped_with_it() {
    let mut scenario = Scenario::of(
        "ns shop of=shop
         sts shop/db of=shop selector=app:db template=app:db
         pod shop/db-0 owner=sts/db labels=app:db\n pod shop/db-1 owner=sts/db labels=app:db",
    );
    scenario.reconcile();
    accepted(&mut scenario, "sts:shop/db");
    scenario.gone("sts shop/db");
    for pod in ["db-0", "db-1"] {
        scenario.gone(&format!("pod shop/{pod} owner=sts/db"));
    }
    scenario.applied("sts shop/db uid=again of=shop selector=app:db template=app:db");
    for pod in ["db-0", "db-1"] {
        let owner = "owner=sts/db owner-uid=again";
        scenario.applied(&format!("pod shop/{pod} uid={pod}-again {owner} labels=app:db"));
    }
    scenario.reconcile();
    let step = scenario.id("sts:shop/db");
    scenario.steer(&command(RunCommand::Skip(step)));
    scenario.reconcile();
    assert_eq!(scenario.run.state(), RunState::Finished);
    assert!(scenario.run.steps().all(|(_, progress)| progress.stage == Stage::Skipped));
}

/// A custom resource has no template that shows what its Pods use, so it may re-create them as long as it exists.
#[test]
fn claim_of_a_pod_waits_for_the_owner_that_would_recreate_the_pod() {
    let fixture = "ns shop of=shop
         Database.example.com shop/db of=shop
         pod shop/db-0 owner=Database.example.com/db labels=app:db uses=claim:data deleted=0
         pvc shop/data of=shop";
    let refused = || {
        let mut scenario = Scenario::of(fixture);
        assert_eq!(scenario.reconcile(), ["DELETE Database shop/db"]);
        let refused = Outcome::Refused { code: 403, message: "no".into() };
        scenario.answer("Database.example.com:shop/db", refused);
        scenario
    };
    let mut scenario = refused();
    scenario.gone("pod shop/db-0 owner=Database.example.com/db");
    assert!(scenario.reconcile().is_empty(), "the operator may be about to make another one");
    let (database, claim) =
        (scenario.id("Database.example.com:shop/db"), scenario.id("pvc:shop/data"));
    let step = scenario.run.plan.step(claim).unwrap();
    assert_eq!(
        scenario.run.waits_for(step, &scenario.index),
        [database],
        "the page names the owner"
    );
    scenario.gone("Database.example.com shop/db");
    assert_eq!(scenario.reconcile(), ["LIST pods in shop"]);

    let mut scenario = refused();
    scenario.steer(&command(RunCommand::Skip(database)));
    assert_eq!(scenario.progress("pvc:shop/data").stage, Stage::Skipped);
    scenario.gone("pod shop/db-0 owner=Database.example.com/db");
    scenario.reconcile();
    assert_eq!(scenario.run.state(), RunState::Finished);
}

/// A run's DELETEs with their propagation policies.
fn deletes(scenario: &mut Scenario) -> Vec<String> {
    let decision = scenario.apply_input(&Input::Reconcile);
    let deletes = decision.actions.iter().filter_map(|action| match action {
        Action::Delete { object, propagation, .. } => Some(format!("{object} {propagation:?}")),
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
    assert_eq!(scenario.progress("pv:pv").stage, Stage::Skipped);
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
fn dependents_that_the_collector_keeps_block_nothing() {
    let mut scenario = Scenario::of(
        "cm shop/other\n Widget.example.com shop/w of=shop
         clusterrole w owner=Widget.example.com/w owner-uid=Widget.example.com:shop/w",
    );
    scenario.applied("secret shop/shared owner=Widget.example.com/w,cm/other");
    assert_eq!(scenario.reconcile(), ["DELETE Widget shop/w"]);
}

#[test]
fn dependents_of_a_pod_need_no_confirmation() {
    let mut scenario = Scenario::of(
        "deploy shop/web of=shop selector=app:web\n rs shop/web-1 owner=deploy/web selector=app:web",
    );
    scenario.applied("pod shop/web-1-b owner=rs/web-1 labels=app:web");
    scenario.applied("CiliumEndpoint.cilium.io shop/web-1-b owner=pod/web-1-b");
    assert_eq!(scenario.reconcile(), ["DELETE Deployment shop/web"]);
}

#[test]
fn claim_is_not_blocked_by_the_volume_of_another_claim() {
    let mut scenario = Scenario::of(
        "ns shop of=shop\n pvc shop/data of=shop volume=pv\n pv pv claim=lab/data reclaim=Delete",
    );
    assert_eq!(scenario.reconcile(), ["LIST pods in shop"]);
}

#[test]
fn claim_waits_while_its_new_volume_is_hidden() {
    let fixture = "ns shop of=shop\n pvc shop/data of=shop";
    let mut scenario = Scenario::of(fixture);
    scenario.applied("pvc shop/data of=shop volume=pv");
    assert_eq!(scenario.reconcile(), ["LIST pods in shop"], "there is no such volume");
    let mut scenario = Scenario::of(fixture);
    scenario.hidden("persistentvolumes");
    scenario.applied("pvc shop/data of=shop volume=pv");
    assert_eq!(scenario.reconcile(), [""; 0]);
    let problem = &scenario.progress("pvc:shop/data").problem;
    assert!(
        matches!(
            problem,
            Some(StepProblem::Unknown { reason: UnknownReason::WouldDestroyData { .. } })
        ),
        "{problem:?}"
    );
}

#[test]
fn volume_does_not_wait_for_a_claim_bound_to_another_volume() {
    let mut scenario = Scenario::of(
        "ns lab\n pvc lab/data volume=other\n pv other claim=lab/data\n pv pv of=shop claim=lab/data",
    );
    assert_eq!(scenario.reconcile(), ["DELETE PersistentVolume pv"]);
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
    assert_eq!(scenario.progress("cm:shop/a").stage, Stage::Skipped);
    assert!(
        scenario.run.taken().contains(&scenario.id("cm:shop/b")),
        "the collector will delete it"
    );
}

#[test]
fn taken_is_fast_for_many_owners() {
    const LAYERS: usize = 24;
    let mut fixture =
        "Widget.example.com shop/l0 of=shop\n Widget.example.com shop/r0 of=shop\n".to_owned();
    for layer in 1..LAYERS {
        let owners = format!("Widget.example.com/l{0},Widget.example.com/r{0}", layer - 1);
        for side in ["l", "r"] {
            fixture += &format!("Widget.example.com shop/{side}{layer} of=shop owner={owners}\n");
        }
    }
    let mut scenario = Scenario::of(&fixture);
    assert_eq!(scenario.run.taken().len(), 0);
    scenario.reconcile();
    accepted(&mut scenario, "Widget.example.com:shop/l0");
    assert_eq!(scenario.run.taken().len(), 2 * (LAYERS - 1));
}

#[test]
fn stop_does_not_count_collected_objects_as_untouched() {
    let mut scenario = Scenario::of(
        "deploy shop/web of=shop\n rs shop/web-1 owner=deploy/web\n pod shop/web-1-a owner=rs/web-1 uses=claim:data
         pvc shop/data of=shop volume=pv\n pv pv claim=shop/data reclaim=Delete\n cm shop/c of=shop",
    );
    scenario.reconcile();
    accepted(&mut scenario, "deploy:shop/web");
    accepted(&mut scenario, "cm:shop/c");
    let taken = |scenario: &Scenario, uid: &str| scenario.run.taken().contains(&scenario.id(uid));
    for (uid, is_taken) in [
        ("rs:shop/web-1", true),
        ("pod:shop/web-1-a", true),
        ("pvc:shop/data", false),
        ("pv:pv", false),
    ] {
        assert_eq!(taken(&scenario, uid), is_taken, "{uid}");
    }
    scenario.steer(&command(RunCommand::Stop));
    scenario.reconcile();
    assert_eq!(scenario.stopped(), Some((2, 4, 0)));
}

#[test]
fn volume_is_skipped_with_its_claim() {
    let fixture =
        "ns shop of=shop\n pvc shop/data of=shop volume=pv\n pv pv claim=shop/data reclaim=Delete";
    let mut scenario = Scenario::of(fixture);
    scenario.steer(&command(RunCommand::Skip(scenario.id("pv:pv"))));
    for step in ["pv:pv", "pvc:shop/data", "ns:shop"] {
        assert_eq!(scenario.progress(step).stage, Stage::Skipped, "{step}");
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
    assert_eq!(
        scenario.progress("pv:pv").stage,
        Stage::Skipped,
        "no controller handles it any more"
    );
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
        scenario.run.waits_for(claim, &scenario.index),
        [step],
        "the page can count the steps that wait"
    );
    scenario.answer("pod:shop/db-0", Outcome::Refused { code: 403, message: "no".into() });
    scenario.steer(&command(RunCommand::Skip(step)));
    assert_eq!(scenario.progress("pvc:shop/data-db-0").stage, Stage::Skipped);
    assert_eq!(scenario.progress("ns:shop").stage, Stage::Skipped);
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
            seen.extend(scenario.run.waits_for(step, &scenario.index));
        }
        for (behind, _) in scenario.run.steps() {
            if scenario.run.waits_for(behind, &scenario.index).iter().any(|id| seen.contains(id)) {
                seen.insert(behind.id);
            }
        }
        let skip = command(RunCommand::Skip(step.id));
        let decision = scenario.run.decide(&skip, &scenario.index, scenario.now).unwrap();
        let skip: BTreeSet<StepId> = decision.events.iter().filter_map(RunEvent::step).collect();
        assert_eq!(seen, skip, "{}", step.object);
    }
}
