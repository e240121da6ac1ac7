//! Confirmations, attempts and what they switched off.

use super::*;
use crate::{
    diagnosis::diagnose, fixture, graph::Graph, observation::Observation, remedy::remedies,
};

const API: &str = "
    ns shop deleted=400 conditions=NamespaceDeletionDiscoveryFailure:True:DiscoveryFailed:390:metrics.k8s.io/v1beta1:_stale_GroupVersion_discovery
    apiservice v1beta1.metrics.k8s.io service=kube-system/metrics-server conditions=Available:False:MissingEndpoints:500:no_endpoints
";
const HOOK: &str = r#"
    ns shop deleted=400 conditions=NamespaceDeletionContentFailure:True:ContentDeletionFailed:390:Internal_error_occurred:_failed_calling_webhook_"gate.example.com":_failed_to_call_webhook:_Post_"https://gate.ops.svc:443/":_service_"gate"_not_found
    webhook gate service=ops/gate guards=configmaps,deployments.apps
    cm shop/c
"#;

fn all(index: &Index) -> Vec<(Diagnosis, Remedy)> {
    let graph = Graph::of(index);
    let with = |it: Diagnosis| {
        let found = remedies(&it, index, &graph, fixture::now());
        found.into_iter().map(|remedy| (it.clone(), remedy)).collect::<Vec<_>>()
    };
    diagnose(index, &graph, fixture::now()).into_iter().flat_map(with).collect()
}

/// The index of a fixture whose node has a lease that stands still.
fn watched(text: &str) -> Index {
    let mut index = fixture::index(text);
    fixture::watch_leases(&mut index, &["n1"], fixture::now());
    index
}

fn confirmation(name: &str, statement: &str) -> Confirmation {
    let (diagnosis, remedy) = (String::new(), String::new());
    Confirmation { diagnosis, remedy, confirm: name.into(), statement: statement.into() }
}

fn silent_node() -> Index {
    watched(
        "
        node n1 ready=Ready:Unknown:NodeStatusUnknown:600:Kubelet_stopped
        pod shop/a node=n1 deleted=400 grace=30 containers=web:running uses=claim:data
        pvc shop/data
        ",
    )
}

fn gone(line: &str) -> Observation {
    let object = fixture::object(line);
    Observation::Deleted { kind: object.kind, uid: object.uid }
}

fn find(index: &Index, wanted: impl Fn(&RemedyAct) -> bool) -> (Diagnosis, Remedy) {
    let found = all(index).into_iter().find(|(_, remedy)| wanted(&remedy.act));
    found.expect("a remedy")
}

#[test]
fn person_types_the_name_and_answers_for_what_the_api_does_not_show() {
    let index = silent_node();
    let is_taint = |act: &RemedyAct| matches!(act, RemedyAct::OutOfServiceTaint { .. });
    let (_, remedy) = find(&index, is_taint);
    let word = "n1 is stopped, Li looked at the console";
    let other = "n10 is stopped, Li looked at the console";
    for (name, statement, expected) in [
        ("n2", word, Err(RemedyRefusal::WrongName)),
        ("n1", "", Err(RemedyRefusal::NoStatement)),
        ("n1", "   ok    ", Err(RemedyRefusal::NoStatement)),
        ("n1", other, Err(RemedyRefusal::OtherMachine(vec!["n1".into()]))),
        (" n1 ", word, Ok(())),
    ] {
        let checked = remedy.check_confirmed(&confirmation(name, statement));
        assert_eq!(checked.map(drop), expected, "{name} {statement}");
    }
    let two = fixture::index(
        "
        node n1 ready=Ready:Unknown:NodeStatusUnknown:600:Kubelet_stopped
        node n2 ready=Ready:Unknown:NodeStatusUnknown:600:Kubelet_stopped
        pod shop/a node=n1 deleted=400 grace=30 containers=web:running
        ",
    );
    let (_, remedy) = find(&two, is_taint);
    let refused = remedy.check_confirmed(&confirmation("n1", word));
    assert!(matches!(refused, Err(RemedyRefusal::Withheld(_))), "{refused:?}");
}

#[test]
fn work_of_a_person_is_not_offered() {
    let (_, remedy) = find(&silent_node(), |act| matches!(act, RemedyAct::StartNode { .. }));
    assert_eq!(remedy.check_offered(), Err(RemedyRefusal::ByHand));
}

#[test]
fn hash_changes_with_the_blast_radius_and_not_with_time() {
    let is_taint = |act: &RemedyAct| matches!(act, RemedyAct::OutOfServiceTaint { .. });
    let mut index = silent_node();
    let hash = |index: &Index| {
        let (diagnosis, remedy) = find(index, is_taint);
        remedy.hash(&diagnosis)
    };
    let before = hash(&index);
    let (diagnosis, _) = find(&index, is_taint);
    let later = fixture::now() + jiff::SignedDuration::from_secs(70);
    let again = remedies(&diagnosis, &index, &Graph::of(&index), later);
    let again = again.iter().find(|it| is_taint(&it.act)).unwrap();
    assert_eq!(again.hash(&diagnosis), before);
    index.apply([Observation::Applied(Box::new(fixture::object("pod shop/b node=n1")))], later);
    assert_ne!(hash(&index), before);
}

#[test]
fn hashes_of_one_cluster_differ() {
    let index = fixture::index(HOOK);
    let mut hashes: Vec<String> =
        all(&index).iter().map(|(diagnosis, remedy)| remedy.hash(diagnosis)).collect();
    assert!(hashes.len() > 3, "{}", hashes.len());
    hashes.sort();
    let total = hashes.len();
    hashes.dedup();
    assert_eq!(hashes.len(), total);
}

#[test]
fn kept_volume_is_set_back_by_a_request_that_tests_its_policy() {
    let world = "
        pvc shop/live volume=pv-1
        pv pv-1 claim=shop/live reclaim=Delete deleted=300 finalizers=kubernetes.io/pv-protection
    ";
    let mut index = fixture::index(world);
    let (diagnosis, remedy) = find(&index, |act| matches!(act, RemedyAct::RetainVolume { .. }));
    let request = remedy.check_confirmed(&confirmation("pv-1", "")).unwrap().clone();
    let mut attempt =
        remedy.begin("1".into(), &diagnosis, request, "Li".into(), "", fixture::now());
    attempt.end(AttemptOutcome::Accepted { meanwhile: None }, fixture::now());
    assert_eq!(attempt.undo_now(&index), None, "the policy is the old one");
    let kept = "pv pv-1 claim=shop/live deleted=300 finalizers=kubernetes.io/pv-protection";
    let kept = fixture::object(kept);
    index.apply([Observation::Applied(Box::new(kept))], fixture::now());
    assert_eq!(attempt.switched_off(&index), Some(SwitchedOff::Reclaim));
    let body = attempt.undo_now(&index).unwrap().body.to_string();
    assert!(
        body.contains(
            r#""op":"test","path":"/spec/persistentVolumeReclaimPolicy","value":"Retain""#
        ),
        "{body}"
    );
    // Both are read again before, and the claim once more after it.
    let undo = attempt.undo_now(&index).unwrap();
    let premises = attempt.undo_premises(&undo, &index);
    let read: Vec<(&str, bool)> =
        premises.iter().map(|it| (&*it.object.name, it.changes_with_it)).collect();
    assert_eq!(read, [("pv-1", true), ("live", false)]);
    for claim in ["pvc shop/live volume=pv-1 deleted=10", "pvc shop/live uid=younger volume=pv-2"] {
        let mut index = index.clone();
        index.apply([Observation::Applied(Box::new(fixture::object(claim)))], fixture::now());
        assert_eq!(attempt.undo_now(&index), None, "its data would go: {claim}");
    }
}

#[test]
fn attempt_stays_with_its_root_when_the_cause_there_changes() {
    let mut index = fixture::index(&format!("{API}\napiservice v1.apps"));
    let (diagnosis, remedy) = find(&index, |act| matches!(act, RemedyAct::DeleteApiService { .. }));
    let request = remedy.request().unwrap().clone();
    let attempt = remedy.begin("1".into(), &diagnosis, request, "Li".into(), "", fixture::now());
    assert_eq!(diagnosis.cause.name(), "apiDown");
    let gone = fixture::object("apiservice v1beta1.metrics.k8s.io");
    let gone = Observation::Deleted { kind: gone.kind, uid: gone.uid };
    index.apply([gone], fixture::now());
    let now = diagnose(&index, &Graph::of(&index), fixture::now()).remove(0);
    assert_eq!(now.cause.name(), "looksAgain");
    assert!(attempt.is_about(&now));
    let (other, _) = all(&fixture::index(&HOOK.replace("ns shop", "ns zoo"))).remove(0);
    assert!(!attempt.is_about(&other));
}

#[test]
fn attempt_stays_with_its_object_when_the_next_cause_has_another_root() {
    let topic = |finalizer: &str| {
        format!("Topic.queue.example shop/orders deleted=400 finalizers={finalizer}")
    };
    let first = |index: &Index| diagnose(index, &Graph::of(index), fixture::now()).remove(0);
    let mut index = fixture::index(&format!("ns shop\n{}", topic("queue.example/topic")));
    let is_removal = |act: &RemedyAct| matches!(act, RemedyAct::RemoveFinalizer { .. });
    let (diagnosis, remedy) = find(&index, is_removal);
    let request = remedy.request().unwrap().clone();
    let attempt = remedy.begin("1".into(), &diagnosis, request, "Li".into(), "", fixture::now());
    let left = fixture::object(&topic("other.example/x"));
    index.apply([Observation::Applied(Box::new(left))], fixture::now());
    let next = first(&index);
    assert_ne!(next.root_id(), diagnosis.root_id());
    assert!(attempt.is_about(&next), "{}", next.id);
    // Another object of that name is another one.
    let other = format!("ns shop\n{} uid=younger", topic("other.example/x"));
    let other = first(&fixture::index(&other));
    assert_eq!(other.root_id(), next.root_id());
    assert!(!attempt.is_about(&other), "{}", other.id);
}

#[test]
fn attempt_at_a_root_stays_with_the_objects_that_waited_for_it() {
    let mut index = fixture::index(&format!("{API}\napiservice v1.apps"));
    let (diagnosis, remedy) = find(&index, |act| matches!(act, RemedyAct::DeleteApiService { .. }));
    let request = remedy.request().unwrap().clone();
    let attempt = remedy.begin("1".into(), &diagnosis, request, "Li".into(), "", fixture::now());
    let refused = "ns shop deleted=400 conditions=NamespaceDeletionContentFailure:True:ContentDeletionFailed:390:odd";
    index.apply([gone("apiservice v1beta1.metrics.k8s.io")], fixture::now());
    index.apply([Observation::Applied(Box::new(fixture::object(refused)))], fixture::now());
    let next = diagnose(&index, &Graph::of(&index), fixture::now()).remove(0);
    assert_eq!(next.cause.name(), "contentRefused");
    assert!(attempt.is_about(&next), "the namespace waited for the API");
    assert!(attempt.removes(attempt.request.uid.as_ref().unwrap()));
}

#[test]
fn only_kinds_of_the_api_server_itself_are_dry_run() {
    let index = fixture::index(
        "
        ns shop
        apiservice v1.own.example service=ops/own
        Thing.own.example shop/a deleted=400 finalizers=own.example/x
        pod shop/b deleted=400 node=n2 grace=30 containers=web:terminated
        node n2
        ",
    );
    let safe: Vec<(String, bool)> = all(&index)
        .iter()
        .filter_map(|(_, it)| Some((it.request()?.object.to_string(), it.is_dry_run_safe(&index))))
        .collect();
    assert!(safe.iter().any(|(name, safe)| name.starts_with("Pod") && *safe), "{safe:?}");
    assert!(safe.iter().any(|(name, safe)| name.starts_with("Thing") && !*safe), "{safe:?}");
}

#[test]
fn taint_is_switched_off_until_it_is_taken_off() {
    let is_taint = |act: &RemedyAct| matches!(act, RemedyAct::OutOfServiceTaint { .. });
    let mut index = silent_node();
    let (diagnosis, remedy) = find(&index, is_taint);
    let request = remedy.check_offered().unwrap().clone();
    let (id, by) = ("1".to_owned(), "Li".to_owned());
    let mut attempt = remedy.begin(id, &diagnosis, request, by, "", fixture::now());
    assert!(attempt.is_open());
    assert_eq!(attempt.switched_off(&index), None);
    attempt.end(AttemptOutcome::Accepted { meanwhile: None }, fixture::now());
    assert_eq!(attempt.switched_off(&index), None);
    let tainted = "node n1 taints=a/b:NoSchedule,node.kubernetes.io/out-of-service:NoExecute";
    index.apply([Observation::Applied(Box::new(fixture::object(tainted)))], fixture::now());
    assert_eq!(attempt.switched_off(&index), Some(SwitchedOff::Node));
    let undo = attempt.undo_now(&index).unwrap();
    assert_eq!(
        undo.body.to_string(),
        format!(
            r#"[{{"op":"test","path":"/metadata/uid","value":"{}"}},{{"op":"test","path":"/spec/taints/1/key","value":"node.kubernetes.io/out-of-service"}},{{"op":"remove","path":"/spec/taints/1"}}]"#,
            undo.uid.as_ref().unwrap()
        )
    );
    index.apply([Observation::Applied(Box::new(fixture::object("node n1")))], fixture::now());
    assert_eq!((attempt.switched_off(&index), attempt.undo_now(&index)), (None, None));
}

#[test]
fn deleted_apiservice_is_created_again_from_its_copy() {
    let mut index = fixture::index(API);
    let (diagnosis, remedy) = find(&index, |act| matches!(act, RemedyAct::DeleteApiService { .. }));
    let request = remedy.request().unwrap().clone();
    let mut attempt =
        remedy.begin("1".into(), &diagnosis, request, "Li".into(), "", fixture::now());
    let uid = attempt.request.uid.clone().unwrap();
    let copy = serde_json::json!({ "metadata": { "name": "v1beta1.metrics.k8s.io", "uid": uid } });
    let other = serde_json::json!({ "metadata": { "name": "v1.other", "uid": uid } });
    assert!(!attempt.keep_copy(&other));
    assert!(attempt.keep_copy(&copy));
    attempt.end(AttemptOutcome::Accepted { meanwhile: None }, fixture::now());
    assert_eq!(attempt.undo_now(&index), None, "it is still there");
    let uid = attempt.request.uid.clone().unwrap();
    let kind = fixture::object("apiservice v1beta1.metrics.k8s.io").kind.clone();
    index.apply([Observation::Deleted { kind, uid }], fixture::now());
    let undo = attempt.undo_now(&index).unwrap();
    assert_eq!(undo.path, "/apis/apiregistration.k8s.io/v1/apiservices");
    let again = attempt.undoing("2".into(), undo, "Wu".into(), fixture::now());
    assert_eq!((again.undoes.as_deref(), again.is_open()), (Some("1"), true));
}

#[test]
fn refused_attempt_leaves_nothing_to_take_back() {
    let index = fixture::index(HOOK);
    let (diagnosis, remedy) = find(&index, |act| matches!(act, RemedyAct::IgnoreWebhook { .. }));
    let request = remedy.request().unwrap().clone();
    let mut attempt =
        remedy.begin("1".into(), &diagnosis, request, "Li".into(), "", fixture::now());
    assert!(attempt.undo.is_some());
    attempt
        .end(AttemptOutcome::Refused { message: ApiProblem::Quoted("no".into()) }, fixture::now());
    assert_eq!(
        (attempt.undo, attempt.outcome),
        (None, AttemptOutcome::Refused { message: ApiProblem::Quoted("no".into()) })
    );
}

#[test]
fn attempt_without_an_answer_is_unknown_after_a_restart() {
    let index = silent_node();
    let (diagnosis, remedy) = find(&index, |act| matches!(act, RemedyAct::ForceDeletePod { .. }));
    let request = remedy.request().unwrap().clone();
    let mut attempt =
        remedy.begin("1".into(), &diagnosis, request, "Li".into(), "word", fixture::now());
    let json = serde_json::to_string(&attempt).unwrap();
    assert_eq!(serde_json::from_str::<Attempt>(&json).unwrap(), attempt);
    attempt.interrupt(fixture::now());
    assert_eq!(attempt.outcome, AttemptOutcome::Unknown { message: None, meanwhile: None });
}

/// An attempt at the first remedy of this kind, with the ends that it notes.
fn noted(index: &Index, wanted: impl Fn(&RemedyAct) -> bool) -> Attempt {
    let (diagnosis, remedy) = find(index, wanted);
    let request = remedy.request().unwrap_or_else(|| panic!("{:?} has no request", remedy.act));
    let (request, id, by) = (request.clone(), "1".to_owned(), "Li".to_owned());
    let mut attempt = remedy.begin(id, &diagnosis, request, by, "word", fixture::now());
    attempt.note_ends(index);
    attempt
}

fn names(attempt: &Attempt) -> Vec<String> {
    attempt.unconfirmed.iter().map(|end| end.object.to_string()).collect()
}

#[test]
fn remedy_notes_the_objects_that_it_sends_away_without_confirmation() {
    let node = "
        node n1 ready=Ready:Unknown:NodeStatusUnknown:600:Kubelet_stopped
        pod shop/a node=n1 deleted=400 grace=30 containers=web:running uses=claim:data
        pod shop/b node=n1 uses=claim:other
        pod shop/c node=n1
        pod shop/d node=n2 uses=claim:data
        pvc shop/data
    ";
    let index = watched(node);
    let both = ["Pod shop/a", "Pod shop/b"];
    for act in ["taint", "node"] {
        let mut attempt = noted(&index, |it| match it {
            RemedyAct::OutOfServiceTaint { .. } => act == "taint",
            RemedyAct::DeleteNode { .. } => act == "node",
            _ => false,
        });
        attempt.unconfirmed.sort_by(|a, b| a.object.cmp(&b.object));
        assert_eq!(names(&attempt), both, "{act}");
    }
    let forced = noted(&index, |act| matches!(act, RemedyAct::ForceDeletePod { .. }));
    assert_eq!(names(&forced), ["Pod shop/a"]);
    let topic = "ns shop\n Topic.example.com shop/a deleted=400 finalizers=example.com/x";
    let is_removal = |act: &RemedyAct| matches!(act, RemedyAct::RemoveFinalizer { .. });
    assert_eq!(names(&noted(&fixture::index(topic), is_removal)), ["Topic shop/a"]);
    let mut refused = noted(&fixture::index(topic), is_removal);
    refused.end(AttemptOutcome::Refused { message: "no".into() }, fixture::now());
    assert_eq!(names(&refused), [""; 0]);
    let (id, by) = ("2".to_owned(), "Wu".to_owned());
    let undo = noted(&index, |act| matches!(act, RemedyAct::OutOfServiceTaint { .. }));
    let again = undo.undoing(id, undo.request.clone(), by, fixture::now());
    assert_eq!(names(&again), [""; 0], "to take the taint off sends nothing away");
}

/// The effects that are held against an attempt: the objects without a confirmed end, whether it took a finalizer off, and whether it
/// finished a namespace.
fn held_against(attempt: &Attempt) -> (Vec<String>, bool, bool) {
    let mut names = names(attempt);
    names.sort();
    (names, attempt.removed_finalizer_of().is_some(), attempt.forced_namespace().is_some())
}

/// Whether an act is the one.
type IsIt = fn(&RemedyAct) -> bool;

#[test]
fn request_whose_outcome_is_unknown_is_held_against_all_that_it_may_have_done() {
    let silent = "
        node n1 ready=Ready:Unknown:NodeStatusUnknown:600:Kubelet_stopped
        pod shop/a node=n1 deleted=400 grace=30 containers=web:running uses=claim:data
        pod shop/b node=n1 uses=claim:data
        pvc shop/data
    ";
    let topic = "ns shop\n Topic.example.com shop/a deleted=400 finalizers=example.com/x";
    let kept = "
        ns shop
        node n1
        pod shop/a node=n1 deleted=400 phase=Failed containers=web:terminated finalizers=example.com/x uses=claim:data
        pvc shop/data
    ";
    let up = API.replace("conditions=Available:False", "available=Available:True");
    let spec = "ns shop deleted=400 spec=example.com/keep";
    let is_taint: IsIt = |act| matches!(act, RemedyAct::OutOfServiceTaint { .. });
    let is_deletion: IsIt = |act| matches!(act, RemedyAct::DeleteNode { .. });
    let is_force: IsIt = |act| matches!(act, RemedyAct::ForceDeletePod { .. });
    let is_removal: IsIt = |act| matches!(act, RemedyAct::RemoveFinalizer { .. });
    let is_finalize: IsIt = |act| matches!(act, RemedyAct::FinalizeNamespace);
    let is_of_spec: IsIt = |act| matches!(act, RemedyAct::RemoveSpecFinalizer { .. });
    let both = &["Pod shop/a", "Pod shop/b"][..];
    for (world, is_it, ends, removes, finishes) in [
        (silent, is_taint, both, false, false),
        (silent, is_deletion, both, false, false),
        (silent, is_force, &["Pod shop/a"][..], false, false),
        (topic, is_removal, &["Topic shop/a"][..], true, false),
        (kept, is_removal, &["Pod shop/a"][..], false, false),
        (&*up, is_finalize, &[][..], false, true),
        (spec, is_of_spec, &[][..], false, true),
    ] {
        let sent = noted(&watched(world), is_it);
        let ended = |outcome: AttemptOutcome| {
            let mut attempt = sent.clone();
            attempt.end(outcome, fixture::now());
            held_against(&attempt)
        };
        let object = || fixture::object("node n1").reference();
        let ends: Vec<String> = ends.iter().map(|it| (*it).to_owned()).collect();
        let expected = (ends, removes, finishes);
        for meanwhile in [None, Some(object())] {
            let unknown = AttemptOutcome::Unknown {
                message: Some("no answer".into()),
                meanwhile: meanwhile.clone(),
            };
            assert_eq!(ended(unknown), expected, "{:?}", sent.act);
            let accepted = AttemptOutcome::Accepted { meanwhile };
            assert_eq!(ended(accepted), expected, "{:?}", sent.act);
        }
        let mut interrupted = sent.clone();
        interrupted.interrupt(fixture::now());
        assert_eq!(held_against(&interrupted), expected, "{:?} after a restart", sent.act);
        for outcome in [
            AttemptOutcome::Refused { message: "no".into() },
            AttemptOutcome::NotSent { message: "no".into() },
            AttemptOutcome::Changed { object: object() },
            AttemptOutcome::Interrupted,
        ] {
            assert_eq!(ended(outcome), (vec![], false, false), "{:?}", sent.act);
        }
    }
}

#[test]
fn removal_of_a_finalizer_is_held_against_its_object_unless_it_had_no_effect_or_it_is_a_pod() {
    let of = |objects: &str| {
        let index = fixture::index(&format!("ns shop\n{objects}"));
        let (diagnosis, remedy) =
            find(&index, |act| matches!(act, RemedyAct::RemoveFinalizer { .. }));
        let request = remedy.request().unwrap().clone();
        remedy.begin("1".into(), &diagnosis, request, "Li".into(), "word", fixture::now())
    };
    let topic = "Topic.example.com shop/a deleted=400 finalizers=example.com/x";
    let mut attempt = of(topic);
    let uid = fixture::object(topic).uid;
    assert_eq!(attempt.removed_finalizer_of(), Some(&uid), "it is on its way");
    attempt.interrupt(fixture::now());
    assert_eq!(attempt.removed_finalizer_of(), Some(&uid), "it may have had its effect");
    let mut attempt = of(topic);
    attempt.end(AttemptOutcome::Refused { message: "no".into() }, fixture::now());
    assert_eq!(attempt.removed_finalizer_of(), None);
    let pod = "node n1\n pod shop/a node=n1 deleted=400 phase=Failed containers=web:terminated finalizers=example.com/x";
    assert_eq!(of(pod).removed_finalizer_of(), None);
}
