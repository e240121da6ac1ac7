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

struct Play {
    run: Run,
    index: Index,
    now: Timestamp,
}

impl Play {
    /// A run of the plan of `shop`.
    fn of(text: &str) -> Self {
        let index = fixture::index(text);
        let graph = Graph::of(&index);
        let units = units(&index, &graph);
        let now = fixture::now();
        let plan = plan(&index, &graph, &units[&UnitId::new("shop")], now).unwrap();
        let mut play = Self { run: Run::new(RunId::new("r"), Arc::new(plan)), index, now };
        play.happen(&RunEvent::Started { by: "Li".into() });
        play
    }

    fn happen(&mut self, event: &RunEvent) {
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

    fn sighted(&mut self, resource: &str) {
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
    fn stopped_without_saying(&self) -> Option<(usize, usize)> {
        self.run.event_log().iter().find_map(|entry| match entry.event {
            FeedEvent::Stopped { already_terminating, effect_unknown, .. } => {
                Some((already_terminating, effect_unknown))
            }
            _ => None,
        })
    }
}

fn by() -> String {
    "Li".to_owned()
}

/// The object outside the plan that blocks a step.
#[track_caller]
fn user_of(play: &Play, step: &str) -> String {
    match &play.progress(step).problem {
        Some(StepProblem::Unknown { reason: UnknownReason::InUse { by } }) => by.to_string(),
        other => panic!("{step}: {other:?}"),
    }
}

/// The object outside the plan that the garbage collector would delete with a step's object.
#[track_caller]
fn taken_with(play: &Play, step: &str) -> String {
    match &play.progress(step).problem {
        Some(StepProblem::Unknown { reason: UnknownReason::WouldCollect { it } }) => it.to_string(),
        other => panic!("{step}: {other:?}"),
    }
}

fn accepted(play: &mut Play, uid: &str) {
    play.answer(uid, Outcome::Accepted);
}

#[test]
fn what_is_late_is_late_again_after_it_could_not_be_seen() {
    let mut play = Play::of("ns shop of=shop\n cm shop/a of=shop");
    assert_eq!(play.reconcile(), ["DELETE ConfigMap shop/a"]);
    accepted(&mut play, "cm:shop/a");
    play.applied("cm shop/a of=shop deleted=0 finalizers=x");
    play.pass(600);
    play.reconcile();
    assert!(matches!(play.progress("cm:shop/a").problem, Some(StepProblem::Late { .. })));
    play.hidden("configmaps");
    play.reconcile();
    assert!(matches!(play.progress("cm:shop/a").problem, Some(StepProblem::Unknown { .. })));
    play.sighted("configmaps");
    play.reconcile();
    let progress = play.progress("cm:shop/a");
    assert!(matches!(progress.problem, Some(StepProblem::Late { .. })), "{progress:?}");
    assert_eq!(progress.overdue, Overdue::Stuck);
}

#[test]
fn what_is_not_late_is_calm_again_after_it_could_not_be_seen() {
    let mut play = Play::of("ns shop of=shop\n cm shop/a of=shop\n cm shop/b of=shop");
    play.reconcile();
    accepted(&mut play, "cm:shop/a");
    accepted(&mut play, "cm:shop/b");
    play.applied("cm shop/a of=shop deleted=0");
    play.reconcile();
    play.hidden("configmaps");
    play.reconcile();
    play.sighted("configmaps");
    play.reconcile();
    assert_eq!(play.progress("cm:shop/a").problem, None);
    assert_eq!(play.progress("cm:shop/b").problem, None, "requested, and not seen to go yet");
}

#[test]
fn what_was_requested_and_cannot_be_seen_is_unknown() {
    let mut play = Play::of("ns shop of=shop\n cm shop/a of=shop\n cm shop/b of=shop");
    play.reconcile();
    accepted(&mut play, "cm:shop/a");
    accepted(&mut play, "cm:shop/b");
    play.applied("cm shop/a of=shop deleted=0");
    play.reconcile();
    let shown = |play: &Play| {
        ["cm:shop/a", "cm:shop/b"]
            .map(|uid| play.run.shown(play.run.plan.step(play.id(uid)).unwrap()))
    };
    assert_eq!(shown(&play), [State::Terminating, State::Requested]);
    play.hidden("configmaps");
    play.reconcile();
    assert_eq!(shown(&play), [State::Unknown; 2]);
    play.sighted("configmaps");
    play.reconcile();
    assert_eq!(shown(&play), [State::Terminating, State::Requested]);
}

#[test]
fn nothing_is_called_late_while_nobody_can_look() {
    let mut play = Play::of("ns shop of=shop\n cm shop/a of=shop");
    play.reconcile();
    accepted(&mut play, "cm:shop/a");
    play.applied("cm shop/a of=shop deleted=0");
    play.reconcile();
    play.see(Observation::Unreachable { cause: AwayCause::Silent, message: "refused".into() });
    play.pass(600);
    play.reconcile();
    assert_eq!(play.progress("cm:shop/a").problem, None);
    play.see(Observation::Reached { version: "v1.36.3".into() });
    play.reconcile();
    assert!(matches!(play.progress("cm:shop/a").problem, Some(StepProblem::Late { .. })));
}

#[test]
fn a_volume_that_is_awaited_is_late_again_after_it_could_not_be_seen() {
    let mut play = Play::of(
        "ns shop of=shop\n pvc shop/data of=shop volume=pv
         pv pv claim=shop/data reclaim=Delete of=shop",
    );
    assert_eq!(play.reconcile(), ["LIST pods in shop"]);
    play.answer("pvc:shop/data", Outcome::Pods(vec![]));
    accepted(&mut play, "pvc:shop/data");
    play.gone("pvc shop/data");
    play.reconcile();
    play.pass(600);
    play.reconcile();
    assert!(matches!(play.progress("pv:pv").problem, Some(StepProblem::Late { .. })));
    play.hidden("persistentvolumes");
    play.reconcile();
    play.sighted("persistentvolumes");
    play.reconcile();
    let problem = &play.progress("pv:pv").problem;
    assert!(matches!(problem, Some(StepProblem::Late { .. })), "{problem:?}");
}

#[test]
fn a_pod_that_came_later_and_does_not_go_is_named() {
    let mut play = Play::of(
        "ns shop of=shop\n cronjob shop/report of=shop template=app:report uses=config:c
         cm shop/c of=shop",
    );
    assert_eq!(play.reconcile(), ["DELETE CronJob shop/report"]);
    play.applied("job shop/report-1 owner=cronjob/report");
    play.applied("pod shop/report-1-a owner=job/report-1 uses=config:c");
    accepted(&mut play, "cronjob:shop/report");
    play.gone("cronjob shop/report");
    play.gone("job shop/report-1");
    play.applied("pod shop/report-1-a owner=job/report-1 uses=config:c deleted=0");
    assert!(play.reconcile().is_empty());
    assert_eq!(play.progress("cm:shop/c").problem, None, "Pods take a moment");
    play.pass(600);
    assert!(play.reconcile().is_empty());
    let problem = &play.progress("cm:shop/c").problem;
    let Some(StepProblem::Unknown { reason: UnknownReason::PodsLeft { pod, of } }) = problem else {
        panic!()
    };
    assert_eq!(
        [pod, &**of].map(ObjectRef::to_string),
        ["Pod shop/report-1-a", "CronJob shop/report"]
    );
}

#[test]
fn what_a_pod_uses_that_came_later_stays() {
    let mut play = Play::of("ns shop of=shop\n cm shop/c of=shop\n sa shop/web of=shop");
    play.applied("pod shop/stranger uses=config:c,account:web");
    play.applied("pod shop/done uses=config:c phase=Succeeded");
    assert!(play.reconcile().is_empty());
    assert_eq!(user_of(&play, "cm:shop/c"), "Pod shop/stranger");
    play.gone("pod shop/stranger");
    assert_eq!(play.reconcile(), ["DELETE ConfigMap shop/c", "DELETE ServiceAccount shop/web"]);
    assert_eq!(play.progress("cm:shop/c").problem, None);
}

#[test]
fn what_selects_a_pod_that_came_later_or_gives_it_rights_stays() {
    let mut play = Play::of(
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
    play.applied("pod shop/stranger labels=app:web uses=account:web");
    play.applied("pod shop/done labels=app:web uses=account:web phase=Succeeded");
    play.applied("pod lab/namesake labels=app:web uses=account:web");
    assert_eq!(play.reconcile(), ["DELETE Service shop/out"]);
    let held = ["netpol:shop/closed", "svc:shop/web", "pdb:shop/web", "rb:shop/reads", "crb:reads"];
    for step in held {
        assert_eq!(user_of(&play, step), "Pod shop/stranger", "{step}");
    }
    play.gone("pod shop/stranger");
    assert_eq!(play.reconcile().len(), held.len() + 1, "the account as well");
}

#[test]
fn a_binding_waits_until_the_pods_of_a_foreign_account_can_be_seen() {
    let mut play = Play::of(
        "ns shop of=shop\n ns watchers\n role shop/reader of=shop
         rb shop/reads of=shop accounts=watchers/prometheus role=role/reader
         crb reads of=shop accounts=watchers/prometheus role=clusterrole/view",
    );
    let pods = fixture::object("pod shop/none").kind;
    let namespace: std::sync::Arc<str> = "shop".into();
    let (namespaces, message) = (vec![namespace.clone()], "no".into());
    play.see(Observation::PerNamespace { kind: pods.clone(), namespaces, message });
    play.see(Observation::ListedIn { kind: pods.clone(), namespace, objects: vec![] });
    assert_eq!(play.reconcile(), [""; 0]);
    for step in ["rb:shop/reads", "crb:reads"] {
        let problem = &play.progress(step).problem;
        assert!(matches!(problem, Some(StepProblem::Unknown { .. })), "{step}: {problem:?}");
    }
    play.see(Observation::Listed { kind: pods, objects: vec![] });
    assert_eq!(
        play.reconcile(),
        ["DELETE ClusterRoleBinding reads", "DELETE RoleBinding shop/reads"]
    );
}

#[test]
fn what_is_collected_with_its_owner_holds_the_owner_for_a_pod_that_came_later() {
    let mut play = Play::of(
        "ns shop of=shop
         Widget.example.com shop/w of=shop
         cm shop/c owner=Widget.example.com/w",
    );
    play.applied("pod shop/stranger uses=config:c");
    assert!(play.reconcile().is_empty());
    assert_eq!(user_of(&play, "Widget.example.com:shop/w"), "Pod shop/stranger");
    play.gone("pod shop/stranger");
    assert_eq!(play.reconcile(), ["DELETE Widget shop/w"]);
}

#[test]
fn a_pod_that_came_later_and_is_collected_too_holds_nothing() {
    let mut play = Play::of("ns shop of=shop\n deploy shop/web of=shop selector=app:web");
    play.applied("rs shop/web-1 owner=deploy/web selector=app:web");
    play.applied("pod shop/web-1-a owner=rs/web-1 labels=app:web uses=claim:web-1-a-scratch");
    play.applied("pvc shop/web-1-a-scratch owner=pod/web-1-a");
    assert_eq!(play.reconcile(), ["DELETE Deployment shop/web"]);
}

#[test]
fn a_claim_and_its_pod_that_came_later_from_one_owner_hold_it() {
    let mut play = Play::of("ns shop of=shop\n Widget.example.com shop/w of=shop");
    play.applied("pvc shop/data owner=Widget.example.com/w");
    play.applied("pod shop/w-a owner=Widget.example.com/w uses=claim:data");
    assert!(play.reconcile().is_empty(), "the collector would take the claim under the Pod");
    play.gone("pod shop/w-a");
    assert!(play.reconcile().is_empty(), "nobody confirmed that the claim goes");
    assert_eq!(taken_with(&play, "Widget.example.com:shop/w"), "PersistentVolumeClaim shop/data");
    play.gone("pvc shop/data");
    assert_eq!(play.reconcile(), ["DELETE Widget shop/w"]);
}

#[test]
fn what_the_collector_would_take_and_nobody_confirmed_holds_its_owner() {
    let mut play = Play::of("ns shop of=shop\n Widget.example.com shop/w of=shop");
    let passing = [
        "rs shop/w-1 owner=Widget.example.com/w",
        "pod shop/w-a owner=rs/w-1",
        "pvc shop/w-a-scratch owner=pod/w-a",
        "endpoints shop/w-1 owner=Widget.example.com/w",
    ];
    passing.into_iter().for_each(|line| play.applied(line));
    play.applied("VolumeSnapshot.snapshot.storage.k8s.io shop/s owner=Widget.example.com/w");
    assert!(play.reconcile().is_empty());
    assert_eq!(taken_with(&play, "Widget.example.com:shop/w"), "VolumeSnapshot shop/s");
    play.gone("VolumeSnapshot.snapshot.storage.k8s.io shop/s");
    assert_eq!(play.reconcile(), ["DELETE Widget shop/w"]);
}

#[test]
fn whoever_came_later_and_is_no_pod_holds_what_it_needs() {
    let mut play = Play::of(
        "ns shop of=shop\n ns lab\n svc shop/api of=shop\n pvc shop/data of=shop\n role shop/reader of=shop
         crd widgets.example.com of=shop defines=Widget.example.com\n cm shop/c of=shop
         Widget.example.com shop/w of=shop",
    );
    play.gone("Widget.example.com shop/w");
    let late_objects = [
        ("ing shop/x of=bystander routes=api age=0", "svc:shop/api"),
        ("cronjob shop/x of=bystander uses=claim:data age=0", "pvc:shop/data"),
        ("rb shop/x of=bystander people=yes role=role/reader age=0", "role:shop/reader"),
        ("Widget.example.com lab/x of=bystander age=0", "crd:widgets.example.com"),
    ];
    late_objects.iter().for_each(|(newcomer, _)| play.applied(newcomer));
    play.applied("ing lab/x routes=api age=0");
    assert_eq!(play.reconcile(), ["DELETE ConfigMap shop/c"]);
    for (newcomer, step) in late_objects {
        assert_eq!(user_of(&play, step), fixture::object(newcomer).reference().to_string());
        play.gone(newcomer);
        assert_eq!(play.reconcile().len(), 1, "{step}");
    }
}

#[test]
fn a_definition_waits_until_all_of_its_kind_can_be_seen() {
    let mut play = Play::of(
        "crd widgets.example.com of=shop defines=Widget.example.com
         Widget.example.com shop/w of=shop",
    );
    play.steer(&Input::Pause { by: by() });
    play.gone("Widget.example.com shop/w");
    play.reconcile();
    play.hidden("widgets.example.com");
    play.steer(&Input::Resume { by: by() });
    let waits = |play: &mut Play| {
        assert_eq!(play.reconcile(), [""; 0]);
        let problem = &play.progress("crd:widgets.example.com").problem;
        assert!(matches!(problem, Some(StepProblem::Unknown { .. })), "{problem:?}");
    };
    waits(&mut play);
    play.hidden("example.com/v1");
    play.sighted("widgets.example.com");
    waits(&mut play);
    play.sighted("example.com/v1");
    assert_eq!(play.reconcile(), ["DELETE CustomResourceDefinition widgets.example.com"]);
}

#[test]
fn a_claim_waits_where_more_would_be_lost_with_it_than_was_said() {
    let mut play = Play::of(
        "ns shop of=shop\n pvc shop/data of=shop volume=pv\n pv pv claim=shop/data\n pvc shop/new of=shop",
    );
    play.applied("pv pv claim=shop/data reclaim=Delete");
    play.applied("pv late claim=shop/new reclaim=Recycle");
    play.applied("pvc shop/new of=shop volume=late");
    assert!(play.reconcile().is_empty());
    for (claim, volume) in [("pvc:shop/data", "pv"), ("pvc:shop/new", "late")] {
        match &play.progress(claim).problem {
            Some(StepProblem::Unknown {
                reason: UnknownReason::WouldDestroyData { volume: it },
            }) => {
                assert_eq!(&*it.name, volume)
            }
            other => panic!("{claim}: {other:?}"),
        }
    }
    play.applied("pv pv claim=shop/data");
    play.applied("pv late claim=shop/new");
    assert_eq!(play.reconcile(), ["LIST pods in shop", "LIST pods in shop"]);
}

#[test]
fn a_volume_waits_for_the_claim_it_names() {
    let mut play = Play::of("ns lab\n cm shop/c of=shop\n pv pv of=shop claim=lab/data");
    play.applied("pvc lab/data");
    assert_eq!(play.reconcile(), ["DELETE ConfigMap shop/c"]);
    assert_eq!(user_of(&play, "pv:pv"), "PersistentVolumeClaim lab/data");
    play.gone("pvc lab/data");
    play.hidden("persistentvolumeclaims");
    assert_eq!(play.reconcile(), [""; 0]);
    let problem = &play.progress("pv:pv").problem;
    assert!(
        matches!(problem, Some(StepProblem::Unknown { reason: UnknownReason::Hidden { .. } })),
        "{problem:?}"
    );
    play.sighted("persistentvolumeclaims");
    assert_eq!(play.reconcile(), ["DELETE PersistentVolume pv"]);
}

#[test]
fn nothing_that_pods_need_goes_while_pods_cannot_be_seen() {
    let mut play = Play::of(
        "ns shop of=shop\n cm shop/c of=shop\n netpol shop/n of=shop\n ing shop/i of=shop",
    );
    play.hidden("pods");
    assert_eq!(play.reconcile(), ["DELETE Ingress shop/i"]);
    for step in ["cm:shop/c", "netpol:shop/n"] {
        let problem = &play.progress(step).problem;
        assert!(matches!(problem, Some(StepProblem::Unknown { .. })), "{step}: {problem:?}");
    }
    play.sighted("pods");
    assert_eq!(play.reconcile(), ["DELETE ConfigMap shop/c", "DELETE NetworkPolicy shop/n"]);
}

#[test]
fn the_same_trouble_is_told_once() {
    let mut play = Play::of("ns shop of=shop\n pvc shop/data of=shop");
    let pod = fixture::object("pod shop/debug uses=claim:data");
    let sight = || crate::action::PodSight {
        uid: pod.uid.clone(),
        object: pod.reference(),
        labels: pod.labels.clone(),
        owners: pod.owners.clone(),
        claims: vec!["data".into()],
    };
    play.applied("pod shop/debug uses=claim:data");
    let mut reads = 0;
    for _ in 0..600 {
        reads += play.reconcile().len();
        play.answer("pvc:shop/data", Outcome::Pods(vec![sight()]));
        play.pass(1);
    }
    assert!((20..30).contains(&reads), "{reads} reads in ten minutes");
    let told =
        play.run.event_log().iter().filter(|it| matches!(it.event, FeedEvent::Problem { .. }));
    assert_eq!(told.count(), 1);
    play.gone("pod shop/debug");
    play.pass(1);
    assert_eq!(play.reconcile(), ["LIST pods in shop"], "it is read at once when it seems free");
}

/// A Pod of a StatefulSet may write to its storage even if it mounts no claim, so its owner and its labels count.
#[test]
fn a_claim_waits_for_every_pod_of_its_set_whatever_it_mounts() {
    let mut play = Play::of(
        "ns shop of=shop
         sts shop/db of=shop selector=app:db template=app:db templates=data
         pvc shop/data-db-0 of=shop",
    );
    assert_eq!(play.reconcile(), ["DELETE StatefulSet shop/db"]);
    accepted(&mut play, "sts:shop/db");
    play.gone("sts shop/db");
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
        assert_eq!(play.reconcile(), ["LIST pods in shop"], "{pod}");
        play.answer("pvc:shop/data-db-0", Outcome::Pods(vec![sight(pod)]));
        let problem = &play.progress("pvc:shop/data-db-0").problem;
        assert!(problem.is_some(), "{pod}");
        assert_eq!(play.progress("pvc:shop/data-db-0").requested, None, "{pod}");
        play.pass(120);
    }
    assert_eq!(play.reconcile(), ["LIST pods in shop"]);
    play.answer("pvc:shop/data-db-0", Outcome::Pods(vec![sight("pod shop/other labels=app:web")]));
    assert_ne!(play.progress("pvc:shop/data-db-0").requested, None);
}

#[test]
fn what_was_recalled_was_never_requested() {
    let mut play = Play::of("ns shop of=shop\n cm shop/a of=shop\n cm shop/b of=shop");
    assert_eq!(play.reconcile().len(), 2);
    play.steer(&Input::Stop { by: by() });
    play.answer("cm:shop/a", Outcome::Recalled);
    play.answer("cm:shop/b", Outcome::Accepted);
    play.reconcile();
    assert_eq!(play.progress("cm:shop/a").requested, None);
    assert_eq!(play.stopped(), Some((2, 1, 0)), "the namespace and a; b; none");
}

#[test]
fn a_run_does_not_end_before_it_knows_what_it_has_done() {
    let mut play = Play::of("ns shop of=shop\n cm shop/a of=shop\n cm shop/b of=shop");
    play.reconcile();
    for step in ["cm:shop/a", "cm:shop/b"] {
        play.answer(step, Outcome::Unanswered { message: "no answer".into(), after: None });
    }
    play.steer(&Input::Stop { by: by() });
    assert!(play.reconcile().is_empty(), "put off");
    assert_eq!(play.run.state(), RunState::Stopping);
    play.pass(1);
    assert_eq!(play.reconcile(), ["GET ConfigMap shop/a", "GET ConfigMap shop/b"]);
    play.answer("cm:shop/a", Outcome::Present { terminating: false });
    play.answer("cm:shop/b", Outcome::Present { terminating: true });
    assert!(play.reconcile().is_empty(), "what is proven untouched stays so");
    assert_eq!((play.run.state(), play.stopped()), (RunState::Stopped, Some((2, 1, 0))));
}

#[test]
fn stop_does_not_count_objects_that_were_terminating_before_as_requested() {
    let mut play = Play::of(
        "ns shop of=shop\n cm shop/a of=shop deleted=-5s fin=example.com/hold\n cm shop/b of=shop",
    );
    assert_eq!(play.reconcile(), ["DELETE ConfigMap shop/b"]);
    accepted(&mut play, "cm:shop/b");
    play.steer(&Input::Stop { by: by() });
    play.reconcile();
    assert_eq!(play.stopped(), Some((1, 1, 0)), "the namespace is untouched, b was requested");
    assert_eq!(play.stopped_without_saying(), Some((1, 0)), "a was terminating before the run");
}

#[test]
fn refused_read_keeps_the_mark_that_a_delete_may_have_had_its_effect() {
    let mut play = Play::of("cm shop/a of=shop");
    assert_eq!(play.reconcile(), ["DELETE ConfigMap shop/a"]);
    play.answer("cm:shop/a", Outcome::Unanswered { message: "no answer".into(), after: None });
    play.pass(1);
    assert_eq!(play.reconcile(), ["GET ConfigMap shop/a"]);
    play.answer("cm:shop/a", Outcome::Refused { code: 403, message: "no".into() });
    play.pass(30);
    assert_eq!(play.reconcile(), ["GET ConfigMap shop/a"], "it is read again before any DELETE");
}

#[test]
fn stop_ends_with_effect_unknown_where_the_object_may_not_be_read() {
    let mut play = Play::of("ns shop of=shop\n cm shop/a of=shop");
    play.reconcile();
    play.answer("cm:shop/a", Outcome::Unanswered { message: "no answer".into(), after: None });
    play.steer(&Input::Stop { by: by() });
    play.pass(1);
    assert_eq!(play.reconcile(), ["GET ConfigMap shop/a"]);
    assert_eq!(play.run.state(), RunState::Stopping, "the answer may still tell");
    play.answer("cm:shop/a", Outcome::Refused { code: 403, message: "no".into() });
    play.reconcile();
    assert_eq!(play.run.state(), RunState::Stopped);
    assert_eq!(play.stopped(), Some((1, 0, 0)));
    assert_eq!(play.stopped_without_saying(), Some((0, 1)));
}

#[test]
fn delete_on_its_way_at_a_restart_is_read_before_stop_calls_it_untouched() {
    let mut play = Play::of("ns shop of=shop\n cm shop/a of=shop");
    assert_eq!(play.reconcile(), ["DELETE ConfigMap shop/a"]);
    play.steer(&Input::Stop { by: by() });
    _ = play.apply_input(&Input::Recover);
    assert_eq!(play.reconcile(), ["GET ConfigMap shop/a"]);
    play.answer("cm:shop/a", Outcome::Present { terminating: false });
    play.reconcile();
    assert_eq!(play.stopped(), Some((2, 0, 0)));
}

#[test]
fn whoever_asks_for_patience_gets_it() {
    let late = |after| Outcome::Unanswered { message: "shutting down".into(), after };
    let throttled = |after| Outcome::Throttled { after };
    // Columns: the `Retry-After`, and the last second without a retry, first if the effect of a DELETE is unknown and
    // then if it is known.
    for (asked, effect_unknown, sure) in
        [(0, 0, 0), (9, 8, 8), (600, 119, 599), (86_400, 119, 3_599)]
    {
        let after = Some(jiff::SignedDuration::from_secs(asked));
        for (outcome, until, next) in
            [(late(after), effect_unknown, "GET"), (throttled(after), sure, "DELETE")]
        {
            let mut play = Play::of("cm shop/a of=shop");
            play.reconcile();
            play.answer("cm:shop/a", outcome);
            play.pass(until);
            assert!(play.reconcile().is_empty(), "{asked}");
            play.pass(1);
            assert_eq!(play.reconcile(), [format!("{next} ConfigMap shop/a")], "{asked}");
        }
    }
}

#[test]
fn who_resumes_a_run_has_it_ask_at_once() {
    let mut play = Play::of("cm shop/a of=shop");
    play.reconcile();
    let after = Some(jiff::SignedDuration::from_hours(1));
    play.answer("cm:shop/a", Outcome::Throttled { after });
    assert!(play.reconcile().is_empty());
    play.steer(&Input::Pause { by: by() });
    assert!(play.reconcile().is_empty());
    play.steer(&Input::Resume { by: by() });
    assert_eq!(play.reconcile(), ["DELETE ConfigMap shop/a"]);
}

#[test]
fn what_was_left_out_after_it_was_requested_cannot_be_taken_back() {
    let mut play = Play::of("ns shop of=shop\n cm shop/a of=shop\n cm shop/b of=shop");
    play.reconcile();
    accepted(&mut play, "cm:shop/a");
    accepted(&mut play, "cm:shop/b");
    play.gone("cm shop/b");
    play.reconcile();
    let step = play.id("cm:shop/a");
    play.steer(&Input::Skip { step, by: by() });
    assert_eq!(play.progress("ns:shop").stage, Stage::Skipped);
    play.steer(&Input::Stop { by: by() });
    play.reconcile();
    assert_eq!(play.run.state(), RunState::Finished, "nothing is left to stop");

    let mut play = Play::of("ns shop of=shop\n cm shop/a of=shop\n cm shop/b of=shop");
    play.reconcile();
    accepted(&mut play, "cm:shop/a");
    let step = play.id("cm:shop/a");
    play.steer(&Input::Skip { step, by: by() });
    play.steer(&Input::Stop { by: by() });
    play.answer("cm:shop/b", Outcome::Refused { code: 403, message: "no".into() });
    play.reconcile();
    assert_eq!(play.stopped(), Some((2, 1, 0)));
}

#[test]
fn what_was_on_its_way_when_what_is_in_front_was_left_out_is_left_out_as_well() {
    let mut play = Play::of(
        "ns shop of=shop\n hpa shop/h of=shop target=deploy/web\n deploy shop/web of=shop",
    );
    assert_eq!(play.reconcile(), ["DELETE HorizontalPodAutoscaler shop/h"]);
    accepted(&mut play, "hpa:shop/h");
    play.gone("hpa shop/h");
    assert_eq!(play.reconcile(), ["DELETE Deployment shop/web"]);
    play.applied("hpa shop/h uid=again of=shop target=deploy/web");
    play.reconcile();
    let step = play.id("hpa:shop/h");
    play.steer(&Input::Skip { step, by: by() });
    play.answer("deploy:shop/web", Outcome::Refused { code: 403, message: "no".into() });
    play.pass(60);
    assert!(play.reconcile().is_empty());
    assert_eq!(play.progress("deploy:shop/web").stage, Stage::Skipped);
    assert_eq!(play.run.state(), RunState::Finished);
}

#[test]
fn what_comes_back_as_its_owner_was_left_out_is_left_out_too() {
    let mut play = Play::of(
        "ns shop of=shop
         sts shop/db of=shop selector=app:db template=app:db
         pod shop/db-0 owner=sts/db labels=app:db deleted=0",
    );
    assert_eq!(play.reconcile(), ["DELETE StatefulSet shop/db"]);
    play.answer("sts:shop/db", Outcome::Refused { code: 403, message: "no".into() });
    let step = play.id("sts:shop/db");
    play.steer(&Input::Skip { step, by: by() });
    assert_eq!(play.progress("pod:shop/db-0").stage, Stage::Terminating, "somebody evicted it");
    play.gone("pod shop/db-0 owner=sts/db");
    play.applied("pod shop/db-0 uid=again owner=sts/db labels=app:db");
    play.reconcile();
    assert_eq!(play.progress("pod:shop/db-0").stage, Stage::Skipped);
    assert_eq!(play.progress("pod:shop/db-0").furthest_stage(), Stage::CameBack, "it had gone");
    assert_eq!(play.run.state(), RunState::Finished);
}

/// A GitOps tool re-created the StatefulSet, which re-created its Pods. One command skips all of them.
#[test]
fn what_is_owned_by_what_came_back_itself_is_left_out_with_it() {
    let mut play = Play::of(
        "ns shop of=shop
         sts shop/db of=shop selector=app:db template=app:db
         pod shop/db-0 owner=sts/db labels=app:db\n pod shop/db-1 owner=sts/db labels=app:db",
    );
    play.reconcile();
    accepted(&mut play, "sts:shop/db");
    play.gone("sts shop/db");
    for pod in ["db-0", "db-1"] {
        play.gone(&format!("pod shop/{pod} owner=sts/db"));
    }
    play.applied("sts shop/db uid=again of=shop selector=app:db template=app:db");
    for pod in ["db-0", "db-1"] {
        let owner = "owner=sts/db owner-uid=again";
        play.applied(&format!("pod shop/{pod} uid={pod}-again {owner} labels=app:db"));
    }
    play.reconcile();
    let step = play.id("sts:shop/db");
    play.steer(&Input::Skip { step, by: by() });
    play.reconcile();
    assert_eq!(play.run.state(), RunState::Finished);
    assert!(play.run.steps().all(|(_, progress)| progress.stage == Stage::Skipped));
}

/// A custom resource has no template that shows what its Pods use, so it may re-create them as long as it exists.
#[test]
fn what_a_pod_used_waits_for_what_would_make_the_pod_anew() {
    let fixture = "ns shop of=shop
         Database.example.com shop/db of=shop
         pod shop/db-0 owner=Database.example.com/db labels=app:db uses=claim:data deleted=0
         pvc shop/data of=shop";
    let refused = || {
        let mut play = Play::of(fixture);
        assert_eq!(play.reconcile(), ["DELETE Database shop/db"]);
        let refused = Outcome::Refused { code: 403, message: "no".into() };
        play.answer("Database.example.com:shop/db", refused);
        play
    };
    let mut play = refused();
    play.gone("pod shop/db-0 owner=Database.example.com/db");
    assert!(play.reconcile().is_empty(), "the operator may be about to make another one");
    let (database, claim) = (play.id("Database.example.com:shop/db"), play.id("pvc:shop/data"));
    let step = play.run.plan.step(claim).unwrap();
    assert_eq!(play.run.waits_for(step, &play.index), [database], "and the page says so");
    play.gone("Database.example.com shop/db");
    assert_eq!(play.reconcile(), ["LIST pods in shop"]);

    let mut play = refused();
    play.steer(&Input::Skip { step: database, by: by() });
    assert_eq!(play.progress("pvc:shop/data").stage, Stage::Skipped);
    play.gone("pod shop/db-0 owner=Database.example.com/db");
    play.reconcile();
    assert_eq!(play.run.state(), RunState::Finished);
}

/// A run's DELETEs with their propagation policies.
fn deletes(play: &mut Play) -> Vec<String> {
    let decision = play.apply_input(&Input::Reconcile);
    let deletes = decision.actions.iter().filter_map(|action| match action {
        Action::Delete { object, propagation, .. } => Some(format!("{object} {propagation:?}")),
        _ => None,
    });
    deletes.collect()
}

#[test]
fn what_is_left_out_does_not_go_with_its_owner() {
    let mut play = Play::of(
        "Widget.example.com shop/db of=shop\n deploy shop/web of=shop\n rs shop/web-1 owner=deploy/web
         pvc shop/data owner=Widget.example.com/db volume=pv\n pv pv claim=shop/data reclaim=Delete",
    );
    play.steer(&Input::Pause { by: by() });
    play.steer(&Input::Skip { step: play.id("pvc:shop/data"), by: by() });
    assert_eq!(play.progress("pv:pv").stage, Stage::Skipped);
    play.steer(&Input::Resume { by: by() });
    let mut sent = deletes(&mut play);
    sent.sort();
    assert_eq!(sent, ["Deployment shop/web Background", "Widget shop/db Orphan"]);
    // The dependents of an owner whose deletion was accepted can no longer be skipped.
    accepted(&mut play, "deploy:shop/web");
    let skip = Input::Skip { step: play.id("rs:shop/web-1"), by: by() };
    let step = play.id("rs:shop/web-1");
    assert_eq!(play.run.decide(&skip, &play.index, play.now), Err(SteerError::TooLate(step)));
}

#[test]
fn what_its_owner_takes_is_not_left_out_once_the_owners_delete_is_on_its_way() {
    let fixture = "Widget.example.com shop/db of=shop
         pvc shop/data owner=Widget.example.com/db volume=pv\n pv pv claim=shop/data reclaim=Delete";
    for (is_accepted, uid) in
        [(false, "pvc:shop/data"), (false, "pv:pv"), (true, "pvc:shop/data"), (true, "pv:pv")]
    {
        let mut play = Play::of(fixture);
        assert_eq!(deletes(&mut play), ["Widget shop/db Background"]);
        if is_accepted {
            accepted(&mut play, "Widget.example.com:shop/db");
        }
        let step = play.id(uid);
        let skip = Input::Skip { step, by: by() };
        let said = play.run.decide(&skip, &play.index, play.now);
        assert_eq!(said, Err(SteerError::TooLate(step)), "{uid}, {is_accepted}");
    }
}

#[test]
fn what_the_collector_would_leave_holds_nothing() {
    let mut play = Play::of(
        "cm shop/other\n Widget.example.com shop/w of=shop
         clusterrole w owner=Widget.example.com/w owner-uid=Widget.example.com:shop/w",
    );
    play.applied("secret shop/shared owner=Widget.example.com/w,cm/other");
    assert_eq!(play.reconcile(), ["DELETE Widget shop/w"]);
}

#[test]
fn what_a_pod_owns_needs_nobodys_word() {
    let mut play = Play::of(
        "deploy shop/web of=shop selector=app:web\n rs shop/web-1 owner=deploy/web selector=app:web",
    );
    play.applied("pod shop/web-1-b owner=rs/web-1 labels=app:web");
    play.applied("CiliumEndpoint.cilium.io shop/web-1-b owner=pod/web-1-b");
    assert_eq!(play.reconcile(), ["DELETE Deployment shop/web"]);
}

#[test]
fn a_claim_does_not_answer_for_a_volume_that_is_anothers() {
    let mut play = Play::of(
        "ns shop of=shop\n pvc shop/data of=shop volume=pv\n pv pv claim=lab/data reclaim=Delete",
    );
    assert_eq!(play.reconcile(), ["LIST pods in shop"]);
}

#[test]
fn a_claim_waits_where_the_volume_that_came_cannot_be_seen() {
    let fixture = "ns shop of=shop\n pvc shop/data of=shop";
    let mut play = Play::of(fixture);
    play.applied("pvc shop/data of=shop volume=pv");
    assert_eq!(play.reconcile(), ["LIST pods in shop"], "there is no such volume");
    let mut play = Play::of(fixture);
    play.hidden("persistentvolumes");
    play.applied("pvc shop/data of=shop volume=pv");
    assert_eq!(play.reconcile(), [""; 0]);
    let problem = &play.progress("pvc:shop/data").problem;
    assert!(
        matches!(
            problem,
            Some(StepProblem::Unknown { reason: UnknownReason::WouldDestroyData { .. } })
        ),
        "{problem:?}"
    );
}

#[test]
fn a_volume_does_not_wait_for_a_claim_that_has_another() {
    let mut play = Play::of(
        "ns lab\n pvc lab/data volume=other\n pv other claim=lab/data\n pv pv of=shop claim=lab/data",
    );
    assert_eq!(play.reconcile(), ["DELETE PersistentVolume pv"]);
}

#[test]
fn who_gives_up_a_refused_child_saves_none_of_the_others() {
    let mut play = Play::of(
        "Widget.example.com shop/w of=shop
         cm shop/a owner=Widget.example.com/w\n cm shop/b owner=Widget.example.com/w",
    );
    play.reconcile();
    accepted(&mut play, "Widget.example.com:shop/w");
    play.gone("Widget.example.com shop/w");
    assert_eq!(play.reconcile(), ["DELETE ConfigMap shop/a", "DELETE ConfigMap shop/b"]);
    for uid in ["cm:shop/a", "cm:shop/b"] {
        play.answer(uid, Outcome::Refused { code: 403, message: "no".into() });
    }
    play.steer(&Input::Skip { step: play.id("cm:shop/a"), by: by() });
    assert_eq!(play.progress("cm:shop/a").stage, Stage::Skipped);
    assert!(play.run.taken().contains(&play.id("cm:shop/b")), "the collector is on its way");
}

#[test]
fn what_goes_with_many_owners_is_told_in_no_time() {
    const LAYERS: usize = 24;
    let mut fixture =
        "Widget.example.com shop/l0 of=shop\n Widget.example.com shop/r0 of=shop\n".to_owned();
    for layer in 1..LAYERS {
        let owners = format!("Widget.example.com/l{0},Widget.example.com/r{0}", layer - 1);
        for side in ["l", "r"] {
            fixture += &format!("Widget.example.com shop/{side}{layer} of=shop owner={owners}\n");
        }
    }
    let mut play = Play::of(&fixture);
    assert_eq!(play.run.taken().len(), 0);
    play.reconcile();
    accepted(&mut play, "Widget.example.com:shop/l0");
    assert_eq!(play.run.taken().len(), 2 * (LAYERS - 1));
}

#[test]
fn a_stop_calls_nothing_untouched_that_goes_all_the_same() {
    let mut play = Play::of(
        "deploy shop/web of=shop\n rs shop/web-1 owner=deploy/web\n pod shop/web-1-a owner=rs/web-1 uses=claim:data
         pvc shop/data of=shop volume=pv\n pv pv claim=shop/data reclaim=Delete\n cm shop/c of=shop",
    );
    play.reconcile();
    accepted(&mut play, "deploy:shop/web");
    accepted(&mut play, "cm:shop/c");
    let taken = |play: &Play, uid: &str| play.run.taken().contains(&play.id(uid));
    for (uid, is_taken) in [
        ("rs:shop/web-1", true),
        ("pod:shop/web-1-a", true),
        ("pvc:shop/data", false),
        ("pv:pv", false),
    ] {
        assert_eq!(taken(&play, uid), is_taken, "{uid}");
    }
    play.steer(&Input::Stop { by: by() });
    play.reconcile();
    assert_eq!(play.stopped(), Some((2, 4, 0)));
}

#[test]
fn a_volume_is_left_out_with_the_claim_that_decides_over_its_data() {
    let fixture =
        "ns shop of=shop\n pvc shop/data of=shop volume=pv\n pv pv claim=shop/data reclaim=Delete";
    let mut play = Play::of(fixture);
    play.steer(&Input::Skip { step: play.id("pv:pv"), by: by() });
    for step in ["pv:pv", "pvc:shop/data", "ns:shop"] {
        assert_eq!(play.progress(step).stage, Stage::Skipped, "{step}");
    }
    assert_eq!(play.reconcile(), [""; 0]);

    let mut play = Play::of(fixture);
    play.reconcile();
    play.answer("pvc:shop/data", Outcome::Pods(vec![]));
    let skip = Input::Skip { step: play.id("pv:pv"), by: by() };
    let late = Err(SteerError::TooLate(play.id("pv:pv")));
    assert_eq!(play.run.decide(&skip, &play.index, play.now), late, "its DELETE is on its way");
    accepted(&mut play, "pvc:shop/data");
    assert_eq!(play.run.decide(&skip, &play.index, play.now), late);
    assert!(play.run.taken().contains(&play.id("pv:pv")));
    play.gone("pvc shop/data");
    play.reconcile();
    play.steer(&skip);
    assert_eq!(play.progress("pv:pv").stage, Stage::Skipped, "nobody looks after it any more");
}

#[test]
fn whoever_leaves_out_a_pod_leaves_out_what_waits_for_its_workload_to_have_none() {
    let mut play = Play::of(
        "ns shop of=shop
         sts shop/db of=shop selector=app:db template=app:db templates=data
         pod shop/db-0 owner=sts/db labels=app:db uses=config:c
         pvc shop/data-db-0 of=shop\n cm shop/other of=shop",
    );
    play.reconcile();
    accepted(&mut play, "sts:shop/db");
    play.gone("sts shop/db");
    play.reconcile();
    let step = play.id("pod:shop/db-0");
    let claim = play.run.plan.step(play.id("pvc:shop/data-db-0")).unwrap();
    assert_eq!(play.run.waits_for(claim, &play.index), [step], "the page can count what is behind");
    play.answer("pod:shop/db-0", Outcome::Refused { code: 403, message: "no".into() });
    play.steer(&Input::Skip { step, by: by() });
    assert_eq!(play.progress("pvc:shop/data-db-0").stage, Stage::Skipped);
    assert_eq!(play.progress("ns:shop").stage, Stage::Skipped);
    accepted(&mut play, "cm:shop/other");
    play.gone("cm shop/other");
    play.reconcile();
    assert_eq!(play.run.state(), RunState::Finished);
}

/// A page lists the steps that are skipped with a step. It derives them from the steps that each one waits for.
#[test]
fn what_waits_at_whatever_distance_is_what_is_left_out() {
    let play = Play::of(
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
    for (step, _) in play.run.steps() {
        let mut seen = BTreeSet::from([step.id]);
        if step.kind.is("", "PersistentVolume") {
            seen.extend(play.run.waits_for(step, &play.index));
        }
        for (behind, _) in play.run.steps() {
            if play.run.waits_for(behind, &play.index).iter().any(|id| seen.contains(id)) {
                seen.insert(behind.id);
            }
        }
        let skip = Input::Skip { step: step.id, by: by() };
        let decision = play.run.decide(&skip, &play.index, play.now).unwrap();
        let skip: BTreeSet<StepId> = decision.events.iter().filter_map(RunEvent::step).collect();
        assert_eq!(seen, skip, "{}", step.object);
    }
}
