//! The sentences of every cause, for one object and for many, and the lines of a card that go with them.

use std::sync::Arc;

use app::text::{self, Handling, isolated, named};
use jiff::Timestamp;
use teardown::{
    advice::{Advice, Standpoint},
    diagnosis::{Cause, Confidence, DetachState, Diagnosis, Impact, Link, Waiting},
    incident::Incident,
    message::DiagnosisCard,
    object::{ObjectRef, Uid},
};

use super::variants::cause::causes;

/// The longest sentence of a cause, in characters, apart from the names in it.
const LONGEST: usize = 300;
/// The harm of a card that only leftovers wait for.
const NO_HARM: &str = "Only leftovers wait. Nothing that should run is affected.";
/// The most names in one sentence: three of a list, a node, a finalizer, and what serves an API.
const NAMES: usize = 5;

fn object(kind: &str, name: &str) -> ObjectRef {
    let namespace = Some("shop".into());
    ObjectRef { group: "".into(), kind: kind.into(), namespace, name: name.into() }
}

fn since() -> Timestamp {
    "2026-11-21T11:53:41Z".parse().unwrap()
}

/// A diagnosis for which so many Pods wait, and behind the first of them a claim and a namespace if `chain` says so.
pub(crate) fn diagnosis(cause: Cause, pods: usize, chain: bool) -> Diagnosis {
    let held = |kind: &str, name: &str, on| Waiting {
        uid: Uid::new(name),
        object: object(kind, name),
        since: since(),
        on,
        starts: false,
    };
    let mut waiting: Vec<Waiting> =
        (0..pods).map(|number| held("Pod", &format!("web-{number}"), None)).collect();
    if chain {
        waiting.push(held("PersistentVolumeClaim", "data", Some((0, Link::Mount))));
        waiting.push(held("Namespace", "shop", Some((0, Link::Content))));
    }
    Diagnosis {
        id: format!("{}//Pod/shop/web-0/", cause.name()),
        cause,
        root: object("Pod", "web-0"),
        confidence: Confidence::Inferred,
        evidence: vec![],
        total: waiting.len(),
        waiting,
        held: vec![],
        since: since(),
        stuck: true,
        impact: Impact::default(),
    }
}

fn sentence(cause: &Cause, pods: usize) -> String {
    text::cause(&diagnosis(cause.clone(), pods, false))
}

/// The card of a diagnosis, about which nothing else is known.
pub(crate) fn card(diagnosis: Diagnosis) -> DiagnosisCard {
    let (explains, harms, ..) = diagnosis.harm();
    DiagnosisCard {
        said: text::cause(&diagnosis),
        explains,
        harms,
        diagnosis: diagnosis.into(),
        namespaces: vec!["shop".to_owned()],
        incident: Arc::new(Incident::default()),
        stamp: 0,
    }
}

/// The advice about a card to which nobody has done anything, and from which there is no way out.
pub(crate) fn advice(card: &DiagnosisCard, standpoint: &Standpoint) -> Advice {
    let handling = Handling { remedies: &[], attempts: &[], switched_off: &[] };
    text::advice(card, handling, standpoint, false)
}

/// A cluster of which no more is known than its name.
pub(crate) fn standpoint() -> Standpoint {
    let now = "2026-11-21T12:03:00Z".parse().unwrap();
    Standpoint { cluster: "staging-eu-1".to_owned(), identity: None, freshness: None, now }
}

/// The cause with so many objects, or words, in its list; none for one without a list.
fn with_list(cause: &Cause, count: usize, name: &str) -> Option<Cause> {
    let mut cause = cause.clone();
    match &mut cause {
        Cause::ContainersRunning { containers: words, .. }
        | Cause::KubeletUnaware { containers: words, .. }
        | Cause::ClaimGone { claims: words, .. }
        | Cause::ContentUnseen { resources: words } => {
            *words = (0..count).map(|number| format!("{name}-{number}").into()).collect();
        }
        Cause::ClaimInUse { pods: objects }
        | Cause::ClaimHeldByCompletedPods { pods: objects }
        | Cause::InUse { users: objects }
        | Cause::KeptForDependents { dependents: objects }
        | Cause::OwnersCircle { owners: objects }
        | Cause::Copied { copies: objects }
        | Cause::WebhookDown { configurations: objects, .. }
        | Cause::UpdateRejected { webhooks: objects }
        | Cause::FinisherGone { deleted: objects, .. }
        | Cause::FinisherUnknown { possible: objects, .. } => {
            *objects =
                (0..count).map(|number| object("Kind", &format!("{name}-{number}"))).collect();
        }
        _ => return None,
    }
    Some(cause)
}

/// The names without which the sentence of a cause says nothing that a person could look for; of a list the first.
fn needed(cause: &Cause) -> Vec<String> {
    let words = |words: &[&Arc<str>]| words.iter().map(|it| isolated(it)).collect::<Vec<_>>();
    let first = |objects: &[ObjectRef]| objects.iter().take(1).map(named).collect::<Vec<_>>();
    match cause {
        Cause::WithinGrace { until, .. } => vec![text::absolute(*until)],
        Cause::NodeSilent { node, .. }
        | Cause::NodeMissing { node }
        | Cause::KubeletUnaware { node, .. }
        | Cause::StaticPod { node }
        | Cause::NeverStarted { node }
        | Cause::SandboxLeft { node }
        | Cause::DevicesLeft { node }
        | Cause::VolumesMounted { node, .. }
        | Cause::PodDirectoryLeft { node } => words(&[node]),
        Cause::ContainersRunning { node, containers: list, .. }
        | Cause::ClaimGone { node, claims: list, .. } => words(&[node, &list[0]]),
        Cause::DriverMissing { node, driver, .. } => words(&[node, driver]),
        Cause::ClaimInUse { pods: objects }
        | Cause::ClaimHeldByCompletedPods { pods: objects }
        | Cause::InUse { users: objects }
        | Cause::KeptForDependents { dependents: objects }
        | Cause::OwnersCircle { owners: objects }
        | Cause::Copied { copies: objects }
        | Cause::UpdateRejected { webhooks: objects } => first(objects),
        Cause::VolumeBound { claim } => claim.iter().map(named).collect(),
        Cause::DetachFailed { attacher, node, .. }
        | Cause::VolumeAttached { attacher, node, .. } => words(&[attacher, node]),
        Cause::BackendLeft { driver } => driver.iter().map(|it| isolated(it)).collect(),
        Cause::ApiDown { group_version, service } => {
            words(&[group_version]).into_iter().chain(service.iter().map(named)).collect()
        }
        Cause::LooksAgain { controller, group_version } => words(&[controller, group_version]),
        Cause::WebhookDown { webhook: name, .. }
        | Cause::WebhookDenies { webhook: name }
        | Cause::PolicyDenies { policy: name }
        | Cause::ConversionDown { kind: name }
        | Cause::Unreadable { resource: name }
        | Cause::CannotSee { resource: name }
        | Cause::ControllerSilent { controller: name }
        | Cause::ManagedElsewhere { manager: name, .. }
        | Cause::NamespaceFinalizer { finalizer: name } => words(&[name]),
        Cause::ContentUnseen { resources } => words(&[&resources[0]]),
        Cause::FinisherGone { finalizer, deleted: objects }
        | Cause::FinisherUnknown { finalizer, possible: objects } => {
            words(&[finalizer]).into_iter().chain(first(objects)).collect()
        }
        Cause::FinisherNotReady { finalizer, finisher }
        | Cause::FinisherBusy { finalizer, finisher } => vec![isolated(finalizer), named(finisher)],
        Cause::ContentRefused
        | Cause::DiscoveryFailed
        | Cause::NamespaceGone
        | Cause::ManagerSilent
        | Cause::LoadBalancerLeft
        | Cause::Unknown => vec![],
    }
}

/// A text that a person can read: whole sentences, and nothing of how a program writes its values.
fn check(said: &str, what: &str) {
    assert!(said.ends_with('.') && !said.ends_with(".."), "{what}: {said}");
    for mark in ["{", "}", "Some(", "None", "ObjectRef", "\n", "  ", " .", " ,", ": .", "()"] {
        assert!(!said.contains(mark), "{what}: {mark:?} in {said}");
    }
}

#[test]
fn sentence_of_each_cause_is_whole_and_names_its_object_for_one_and_for_many() {
    for cause in causes() {
        let name = cause.name();
        let one = with_list(&cause, 1, "one").unwrap_or_else(|| cause.clone());
        let many = with_list(&cause, 7, "many").unwrap_or_else(|| cause.clone());
        for (cause, pods) in [(&cause, 1), (&cause, 7), (&one, 1), (&many, 7)] {
            let said = sentence(cause, pods);
            check(&said, name);
            assert!(said.starts_with(char::is_uppercase), "{name}: {said}");
            for needed in needed(cause) {
                assert!(said.contains(&needed), "{name}: {needed} is not in {said}");
            }
        }
        let longest = with_list(&cause, 7, &"x".repeat(300)).unwrap_or(many);
        let said = sentence(&longest, 1_000);
        let most = LONGEST + NAMES * text::LONGEST;
        assert!(said.chars().count() <= most, "{name}: {} in {said}", said.chars().count());
        let said = sentence(&one, 1);
        assert!(said.chars().count() <= LONGEST, "{name}: {} in {said}", said.chars().count());
    }
}

#[test]
fn number_of_pods_changes_the_sentences_that_speak_of_them_and_no_others() {
    let differ = |cause: &Cause| sentence(cause, 1) != sentence(cause, 7);
    let speak: Vec<&str> = causes().iter().filter(|it| differ(it)).map(Cause::name).collect();
    let all = [
        "nodeSilent",
        "nodeMissing",
        "staticPod",
        "driverMissing",
        "updateRejected",
        "managedElsewhere",
    ];
    assert_eq!(speak, all);
    for cause in causes() {
        // A claim and a namespace behind one Pod make it no more than one.
        let behind = text::cause(&diagnosis(cause.clone(), 1, true));
        // The one sentence that asks for what waits: an API that is down hides different things.
        if cause.name() != "apiDown" {
            assert_eq!(behind, sentence(&cause, 1), "{}", cause.name());
        }
    }
}

#[test]
fn list_in_a_sentence_is_singular_for_one_and_cut_off_for_many() {
    let words = [
        (
            "containersRunning",
            "Container one-0 of Pod shop/web-0 has not stopped",
            "Containers many-0, many-1, ",
        ),
        (
            "claimGone",
            "claim one-0 was deleted",
            "claims many-0, many-1, many-2 and 4 more were deleted",
        ),
        ("claimInUse", "It is in use by Kind shop/one-0", "It is in use by Kind shop/many-0, "),
        ("claimHeldByCompletedPods", "A completed Pod still holds", "Completed Pods still hold"),
        ("inUse", "It is in use by Kind shop/one-0", "It is in use by Kind shop/many-0, "),
        ("copied", "this copy is not complete yet", "these copies are not complete yet"),
        ("keptForDependents", "depend on it: Kind shop/one-0.", "depend on it: Kind shop/many-0, "),
        ("ownersCircle", "so it waits for itself", "so each waits for another: Kind shop/many-0, "),
        (
            "updateRejected",
            "because Kind shop/one-0 changes the spec",
            "because a webhook changes the spec",
        ),
        ("contentUnseen", "does not see: one-0.", "does not see: many-0, many-1, "),
        ("finisherGone", "was deleted: Kind shop/one-0.", "was deleted: Kind shop/many-0, "),
        ("finisherUnknown", "Kind shop/one-0 may clear it.", "One of these may clear it: "),
    ];
    let mut seen = vec![];
    for cause in causes() {
        let lists = with_list(&cause, 1, "one").zip(with_list(&cause, 7, "many"));
        let Some((one, many)) = lists else { continue };
        let (one, many) = (sentence(&one, 1), sentence(&many, 1));
        let Some((name, of_one, of_many)) = words.iter().find(|(it, ..)| *it == cause.name())
        else {
            // Their lists are in the evidence and the ways out.
            assert!(["kubeletUnaware", "webhookDown"].contains(&cause.name()), "{cause:?}");
            assert_eq!(one, many);
            continue;
        };
        assert!(one.contains(of_one) && !one.contains(of_many), "{name}: {one}");
        assert!(many.contains(of_many) && !many.contains(of_one), "{name}: {many}");
        assert!(!one.contains(" more") && many.contains(" and 4 more"), "{name}: {many}");
        seen.push(*name);
    }
    assert_eq!(seen.len(), words.len(), "{seen:?}");
}

#[test]
fn card_of_each_cause_says_its_harm_its_course_and_the_mistake_that_is_likely() {
    /// The causes without a mistake that somebody is likely to make.
    const HARMLESS: [&str; 14] = [
        "withinGrace",
        "nodeMissing",
        "neverStarted",
        "devicesLeft",
        "podDirectoryLeft",
        "claimHeldByCompletedPods",
        "volumeBound",
        "looksAgain",
        "conversionDown",
        "contentRefused",
        "discoveryFailed",
        "contentUnseen",
        "cannotSee",
        "unknown",
    ];
    let mut harmless = vec![];
    for cause in causes() {
        let name = cause.name();
        let explains = cause.explains_others();
        let advice = advice(&card(diagnosis(cause, 1, true)), &standpoint());
        let lines = |name: &str| advice.first.iter().find(|line| line.name == name);
        for needed in ["Cluster", "Harm now", "If nobody acts"] {
            let line = lines(needed).unwrap_or_else(|| panic!("{name}: no {needed}"));
            assert!(!line.said.is_empty() && !line.warns, "{name}: {line:?}");
            line.said.iter().for_each(|said| check(&said.text, name));
        }
        match lines("Do not") {
            Some(line) => {
                assert!(line.warns && line.said.len() == 1, "{name}: {line:?}");
                check(&line.said[0].text, name);
            }
            None => harmless.push(name),
        }
        assert_eq!(lines("First").is_some(), explains, "{name}");
        check(&advice.confidence, name);
    }
    assert_eq!(harmless, HARMLESS);
}

/// The card shows what waits; that whole parts of the cluster do not work is in its cause.
#[test]
fn cause_that_reaches_beyond_its_card_never_says_that_only_leftovers_wait() {
    let mut beyond = vec![];
    for cause in causes() {
        let name = cause.name();
        let advice = advice(&card(diagnosis(cause, 1, true)), &standpoint());
        let is_harmless = advice.first.iter().any(|line| line.text().contains(NO_HARM));
        beyond.extend((!is_harmless).then_some(name));
        assert_eq!(advice.note.contains(NO_HARM), is_harmless, "{name}: {}", advice.note);
    }
    beyond.sort_unstable();
    beyond.dedup();
    let reach = [
        "apiDown",
        "conversionDown",
        "discoveryFailed",
        "managerSilent",
        "namespaceGone",
        "nodeSilent",
        "unreadable",
        "webhookDown",
    ];
    assert_eq!(beyond, reach);
    for cause in causes().iter().filter(|it| it.explains_others()) {
        assert!(reach.contains(&cause.name()), "{cause:?}");
    }
}

/// The one who is asked for a thing that another one has to do loses the time of whoever was woken.
#[test]
fn card_of_a_detach_names_the_side_that_it_waits_for_and_no_other() {
    let of = |detach| {
        let (attacher, node) = ("disk.example".into(), "worker-7".into());
        let cause = Cause::VolumeAttached { attacher, node, volume: None, detach };
        (sentence(&cause, 1), advice(&card(diagnosis(cause, 1, false)), &standpoint()))
    };
    let does_not_say = |said: &str, others: &[&str]| {
        others.iter().for_each(|other| assert!(!said.contains(other), "{other:?} in {said}"));
    };
    let (said, _) = of(DetachState::InUse);
    assert!(said.starts_with("Node worker-7 still reports the volume as in use"), "{said}");
    does_not_say(&said, &["external-attacher"]);
    let (said, advice) = of(DetachState::NotRequested);
    assert!(said.starts_with("The attach-detach controller has not asked driver disk"), "{said}");
    does_not_say(&said, &["external-attacher", "still attached", "in use"]);
    assert!(advice.confidence.contains("log of the attach-detach controller"), "{advice:?}");
    let (said, _) = of(DetachState::Requested);
    assert!(said.starts_with("The volume is still attached to node worker-7"), "{said}");
    assert!(said.contains("external-attacher of driver disk.example"), "{said}");
    does_not_say(&said, &["attach-detach"]);
    let (said, advice) = of(DetachState::NotAttached);
    assert!(said.starts_with("The volume is not attached to node worker-7"), "{said}");
    does_not_say(&said, &["still", "attach-detach"]);
    let do_not = advice.first.iter().find(|line| line.name == "Do not").unwrap().text();
    assert!(do_not.contains("before the storage system itself shows"), "{do_not}");
}
