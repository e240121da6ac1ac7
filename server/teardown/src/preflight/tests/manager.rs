//! The kube-controller-manager before a teardown: which objects it has to finish, and when it is known that it does not run.

use jiff::SignedDuration;

use super::{describe_view, plan_of};
use crate::{
    api_problem::ApiProblem,
    diagnosis::diagnose,
    fetched::{Answer, Lease, MANAGER, Question},
    fixture,
    graph::Graph,
    index::Index,
    observation::Observation,
    preflight::{CheckState, Preflight, preflight},
};

const SHOP: &str = "
    ns shop of=shop
    cm shop/a of=shop
";

/// Answers the question about the lease some seconds after the start.
fn answered(index: &mut Index, answer: Result<Answer, ApiProblem>, after: i64) {
    let at = fixture::now() + SignedDuration::from_secs(after);
    index.apply([Observation::Fetched { question: Question::ManagerLease, answer }], at);
}

fn renewed(index: &mut Index, renewed: &str, duration: Option<i64>, after: i64) {
    let lease = Lease { name: MANAGER.into(), renewed: renewed.into(), duration };
    answered(index, Ok(Answer::Leases(vec![lease])), after);
}

/// A preflight whose questions are over.
fn begun(index: &Index) -> Preflight {
    let graph = Graph::of(index);
    let diagnoses = diagnose(index, &graph, fixture::now());
    let mut begun = preflight(&plan_of(index), index, &graph, &diagnoses, fixture::now());
    begun.end(None, fixture::now());
    begun
}

/// The state some seconds after the start, and the findings.
fn seen(preflight: &mut Preflight, index: &Index, after: i64) -> (CheckState, String) {
    preflight.look_at_manager(index, fixture::now() + SignedDuration::from_secs(after));
    let view = preflight.view();
    assert_eq!(view.awaits_manager, view.state == CheckState::Running);
    (view.state, describe_view(&view))
}

/// The findings where the lease has not moved for a minute.
fn while_silent(text: &str) -> String {
    let mut index = fixture::index(text);
    for after in [-60, 0] {
        renewed(&mut index, "a", Some(15), after);
    }
    let mut preflight = begun(&index);
    let (state, found) = seen(&mut preflight, &index, 0);
    assert_eq!(state, CheckState::Done, "it was known at the start");
    found
}

#[test]
fn objects_that_only_its_controllers_finish_are_a_refusal() {
    insta::assert_snapshot!(while_silent("
        ns shop of=shop
        cm shop/a of=shop
        cm shop/owner of=shop finalizers=foregroundDeletion
        deploy shop/web of=shop
        rs shop/web-1 owner=deploy/web
        pod shop/web-1-a owner=rs/web-1
        job shop/train of=shop
        pod shop/train-1 owner=job/train finalizers=batch.kubernetes.io/job-tracking
        pvc shop/data of=shop volume=pv-a finalizers=kubernetes.io/pvc-protection
        pv pv-a claim=shop/data driver=disk.example.com reclaim=Delete
        csidriver disk.example.com
        crd widgets.example.com of=shop defines=Widget.example.com finalizers=customresourcecleanup.apiextensions.k8s.io
    "), @"Refusal manager is silent: ConfigMap shop/owner, PersistentVolumeClaim shop/data, PersistentVolume pv-a, Pod shop/train-1, Namespace shop");
}

#[test]
fn plan_without_its_work_does_not_wait_for_it() {
    let text = "cm shop/a of=shop";
    assert_eq!(while_silent(text), "");
    let index = fixture::index(text);
    assert_eq!(begun(&index).view().state, CheckState::Done);
}

/// At the first look nobody can tell.
#[test]
fn manager_is_silent_once_its_lease_stood_still_while_we_watched() {
    let mut index = fixture::index(SHOP);
    let mut preflight = begun(&index);
    let open = (CheckState::Running, String::new());
    assert_eq!(seen(&mut preflight, &index, 0), open, "nobody has looked");
    for after in [0, 3, 23, 39] {
        renewed(&mut index, "a", Some(15), after);
        assert_eq!(seen(&mut preflight, &index, after), open, "{after}");
    }
    renewed(&mut index, "a", Some(15), 40);
    let silent = (CheckState::Done, "Refusal manager is silent: Namespace shop\n".to_owned());
    assert_eq!(seen(&mut preflight, &index, 40), silent);
    // A preflight is dated: what happens later is for the next one.
    renewed(&mut index, "b", Some(15), 43);
    assert_eq!(seen(&mut preflight, &index, 43), silent);
    assert_eq!(seen(&mut begun(&index), &index, 43), (CheckState::Done, String::new()));
}

#[test]
fn manager_that_renews_its_lease_is_no_finding() {
    let mut index = fixture::index(SHOP);
    let mut preflight = begun(&index);
    renewed(&mut index, "a", Some(15), 0);
    assert_eq!(seen(&mut preflight, &index, 0).0, CheckState::Running);
    renewed(&mut index, "b", Some(15), 3);
    assert_eq!(seen(&mut preflight, &index, 3), (CheckState::Done, String::new()));
}

/// A provider may keep the lease elsewhere, and a manager that runs alone leads by none.
#[test]
fn cluster_without_the_lease_accuses_nobody() {
    let mut index = fixture::index(SHOP);
    let mut preflight = begun(&index);
    answered(&mut index, Ok(Answer::Leases(vec![])), 0);
    assert_eq!(seen(&mut preflight, &index, 0), (CheckState::Done, String::new()));
}

#[test]
fn lease_that_cannot_be_read_or_is_valid_for_long_is_said_and_accuses_nobody() {
    let mut index = fixture::index(SHOP);
    let mut preflight = begun(&index);
    answered(&mut index, Err("leases is forbidden".into()), 0);
    let (state, found) = seen(&mut preflight, &index, 0);
    assert_eq!(state, CheckState::Done);
    insta::assert_snapshot!(found, @r#"Info manager unseen: Some(Quoted("leases is forbidden")): Namespace shop"#);

    let mut index = fixture::index(SHOP);
    let mut preflight = begun(&index);
    for after in [0, 3, 43, 83] {
        renewed(&mut index, "a", Some(300), after);
        assert_eq!(seen(&mut preflight, &index, after).0, CheckState::Running, "{after}");
    }
    let (state, found) = seen(&mut preflight, &index, 90);
    assert_eq!(state, CheckState::Done);
    insta::assert_snapshot!(found, @"Info manager unseen: None: Namespace shop");
}

#[test]
fn nothing_is_awaited_where_nobody_looks_at_the_lease() {
    let index = fixture::index(SHOP);
    let mut preflight = begun(&index);
    preflight.leave_manager();
    assert_eq!(seen(&mut preflight, &index, 0), (CheckState::Done, String::new()));
}
