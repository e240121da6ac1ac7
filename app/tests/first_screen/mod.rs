//! The first screen of a card, fact by fact: each is said where it is known, and nothing is said of one that is not.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use teardown::{
    advice::{Freshness, Line, Standpoint},
    diagnosis::{Cause, DetachState, Diagnosis, Due, Evidence, Source, Upcoming},
    incident::{DataAtRisk, DataRisk, HeldVolume, Incident},
    message::DiagnosisCard,
    object::ObjectRef,
    remedy::ReachedClaim,
};

use super::causes::{advice, card, diagnosis, standpoint};

/// A card of a node that fell silent alone, about which nothing else is known.
fn plain() -> DiagnosisCard {
    let cause = Cause::NodeSilent {
        node: "worker-7".into(),
        provider: None,
        control_plane: false,
        silent: 1,
        renews: false,
    };
    card(diagnosis(cause, 1, false))
}

fn lines(incident: Incident, standpoint: &Standpoint) -> Vec<Line> {
    let card = DiagnosisCard { incident: Arc::new(incident), ..plain() };
    advice(&card, standpoint).first
}

fn before(seconds: i64) -> Timestamp {
    standpoint().now - SignedDuration::from_secs(seconds)
}

/// An API server that answers.
fn live() -> Freshness {
    Freshness { unreachable: None, hidden: vec![], unanswered: vec![] }
}

fn fresh(freshness: Freshness) -> Standpoint {
    Standpoint { freshness: Some(freshness), ..standpoint() }
}

fn object(kind: &str, name: &str) -> ObjectRef {
    let namespace = Some("shop".into());
    ObjectRef { group: "".into(), kind: kind.into(), namespace, name: name.into() }
}

const KNOWN: [&str; 4] = ["Cluster", "Harm now", "If nobody acts", "Do not"];

#[test]
fn card_of_which_nothing_more_is_known_has_no_line_about_it() {
    let lines = lines(Incident::default(), &standpoint());
    let names: Vec<&str> = lines.iter().map(|line| &*line.name).collect();
    assert_eq!(names, KNOWN);
    assert_eq!(lines[0].text(), "staging-eu-1.");
    // The node was silent before its Pods were deleted, and is silent for the others too.
    let harm = "The Pods on node worker-7 count as not ready, so Services send them no requests.";
    assert_eq!(lines[1].text(), harm);
}

#[test]
fn line_about_the_cluster_says_who_looks_and_how_old_the_state_is() {
    let said = |standpoint: &Standpoint| {
        let line = lines(Incident::default(), standpoint).swap_remove(0);
        assert_eq!(line.name, "Cluster");
        (line.said.into_iter().map(|it| it.text).collect::<Vec<_>>(), line.warns)
    };
    let seen = Standpoint { identity: Some("unwind@ops".into()), ..standpoint() };
    assert_eq!(said(&seen), (vec!["staging-eu-1, seen as unwind@ops.".to_owned()], false));

    let live_now = "Live: the API server answered within the last half minute.";
    let name = "staging-eu-1.".to_owned();
    assert_eq!(said(&fresh(live())), (vec![name.clone(), live_now.to_owned()], false));

    let hidden = vec!["secrets".to_owned(), "pods.metrics.k8s.io".to_owned()];
    let not_seen = format!("{live_now} Not seen: secrets, pods.metrics.k8s.io.");
    let of_hidden = fresh(Freshness { hidden, ..live() });
    assert_eq!(said(&of_hidden), (vec![name.clone(), not_seen], false));

    // The lag of a watch is that of the card: what it shows of this kind is as old.
    let unanswered = vec![("pods".to_owned(), before(125))];
    let lag = "No answer to the watch of pods for 2 min 5 s (since 2026-11-21 12:00:55 UTC): the card shows these as they were then.";
    let lagging = fresh(Freshness { unanswered, ..live() });
    assert_eq!(said(&lagging), (vec![name.clone(), live_now.to_owned(), lag.to_owned()], true));

    let away = "The API server has not answered since 2026-11-21 12:01:40 UTC. This is the state at that time.";
    let unreachable = fresh(Freshness { unreachable: Some(before(80)), ..live() });
    assert_eq!(said(&unreachable), (vec![name, away.to_owned()], true));
}

#[test]
fn watches_without_an_answer_are_named_up_to_three() {
    let of = |count: usize| {
        let kinds = (0..count).map(|number| (format!("kind-{number}"), before(60))).collect();
        lines(Incident::default(), &fresh(Freshness { unanswered: kinds, ..live() }))[0].said[2]
            .text
            .clone()
    };
    assert!(of(3).contains("kind-2") && !of(3).contains(" more"), "{}", of(3));
    assert!(!of(5).contains("kind-3") && of(5).contains("and 2 more"), "{}", of(5));
}

/// The line that an incident adds to a plain card, or the sentence that it adds to one of its lines.
fn added(incident: Incident) -> Vec<(String, String, bool)> {
    let flat = |incident: Incident| -> Vec<(String, String, bool)> {
        let lines = lines(incident, &standpoint()).into_iter();
        lines
            .flat_map(|Line { name, said, warns }| {
                said.into_iter().map(move |said| (name.clone(), said.text, warns))
            })
            .collect()
    };
    let plain = flat(Incident::default());
    let mut with = flat(incident);
    assert!(plain.iter().all(|line| with.contains(line)), "{with:?}");
    with.retain(|line| !plain.contains(line));
    with
}

fn line(name: &str, said: &str, warns: bool) -> (String, String, bool) {
    (name.to_owned(), said.to_owned(), warns)
}

/// A diagnosis of this cause for which nothing waits but a Pod that is to start.
fn of_replacement(cause: Cause) -> Diagnosis {
    let mut diagnosis = diagnosis(cause, 1, false);
    diagnosis.waiting[0].starts = true;
    diagnosis.impact.waiting_for_disk = vec![object("Pod", "web-0")];
    diagnosis
}

#[test]
fn pod_that_cannot_start_is_said_to_wait_for_its_disk_and_until_when() {
    let due = Due::By("2026-11-21T12:08:41Z".parse().unwrap());
    let (node, volumes) = ("worker-7".into(), vec!["pv-1".into()]);
    let detach = Upcoming::ForcedDetach { node, volumes, at_once: false, due };
    let incident = Arc::new(Incident { course: vec![detach], ..Incident::default() });
    let attached = Cause::VolumeAttached {
        attacher: "disk.example".into(),
        node: "worker-7".into(),
        volume: None,
        detach: DetachState::NotRequested,
    };
    let silent = plain().diagnosis.cause.clone();
    for cause in [silent, attached] {
        let name = cause.name();
        let card = DiagnosisCard { incident: incident.clone(), ..card(of_replacement(cause)) };
        assert!(card.said.contains("Pod shop/web-0 cannot start"), "{}", card.said);
        assert!(card.said.contains(" disk is still attached "), "{}", card.said);
        assert!(!card.said.contains("ended") && card.harms, "nothing is being deleted any more");
        let advice = advice(&card, &standpoint());
        let line = |name: &str| {
            let line = advice.first.iter().find(|line| line.name == name);
            line.map(|line| line.text()).unwrap_or_default()
        };
        assert!(line("Harm now").contains("Pod shop/web-0 hangs in ContainerCreating"), "{name}");
        let course = line("If nobody acts");
        assert!(course.starts_with("The Pod starts once its disk is detached."), "{course}");
        assert!(course.contains("At 2026-11-21 12:08:41 UTC: the attach-detach"), "{course}");
        let do_not = line("Do not");
        assert!(do_not.contains("while the volume is attached: two nodes could"), "{do_not}");
        assert_eq!(advice.chain, ["cannot start before its disk is detached"]);
        assert!(advice.note.contains("is detached, created 2026-11-21 11:53:41 UTC"), "{name}");
    }
}

#[test]
fn node_that_lives_or_is_not_alone_is_said_to_for_a_pod_that_cannot_start_too() {
    let said = |silent: usize, renews: bool| {
        let (provider, control_plane) = (None, false);
        let node = "worker-7".into();
        let cause = Cause::NodeSilent { node, provider, control_plane, silent, renews };
        card(of_replacement(cause)).said
    };
    let alone = "Node worker-7 stopped reporting, and a disk is still attached there, so Pod shop/web-0 cannot start elsewhere.";
    assert_eq!(said(1, false), alone);
    assert!(said(1, true).ends_with("elsewhere. Its lease is renewed: its kubelet lives."));
    assert!(said(3, false).contains(" 3 nodes fell silent together"));
}

#[test]
fn deletions_that_join_an_older_one_are_said_to_grow() {
    assert_eq!(added(Incident { joined: 0, ..Incident::default() }), []);
    for (joined, said) in [
        (1, "It grows: 1 deletion joined in the last 10 min."),
        (12, "It grows: 12 deletions joined in the last 10 min."),
    ] {
        let incident = Incident { joined, ..Incident::default() };
        assert_eq!(added(incident), [line("Harm now", said, false)]);
    }
}

#[test]
fn owner_labels_zone_and_machine_say_whom_to_call() {
    let all = [
        ("app.kubernetes.io/part-of", "ledger"),
        ("team", "ledger-sre"),
        ("owner", "li"),
        ("topology.kubernetes.io/zone", "eu-1a"),
        ("spec.providerID", "aws:///eu-1a/i-07"),
    ];
    for (name, value) in all {
        let contact = vec![(name.to_owned(), value.to_owned())];
        let said = format!("{name}: {value}");
        let incident = Incident { contact, ..Incident::default() };
        assert_eq!(added(incident), [line("Whose it is", &said, false)]);
    }
    let contact = all.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    let lines = lines(Incident { contact, ..Incident::default() }, &standpoint());
    let last = lines.last().unwrap();
    assert_eq!((&*last.name, last.said.len()), ("Whose it is", all.len()));
}

#[test]
fn change_just_before_is_said_with_its_time_against_the_first_deletion() {
    // The first deletion was at 11:53:41.
    for (at, name, said) in [
        (
            "2026-11-21T11:49:41Z",
            "Just before",
            "Deployment shop/queue-operator was deleted at 2026-11-21 11:49:41 UTC, 4 min 0 s before the first deletion that waits",
        ),
        (
            "2026-11-21T11:53:41.4Z",
            "Just before",
            "Deployment shop/queue-operator was deleted at 2026-11-21 11:53:41 UTC, in the same second as the first deletion that waits",
        ),
        (
            "2026-11-21T11:53:51Z",
            "Since then",
            "Deployment shop/queue-operator was deleted at 2026-11-21 11:53:51 UTC, 10 s after the first deletion that waits",
        ),
    ] {
        let change = Evidence {
            of: object("Deployment", "queue-operator"),
            source: Source::Deleted,
            said: String::new(),
            at: Some(at.parse().unwrap()),
        };
        let incident = Incident { before: vec![change], ..Incident::default() };
        assert_eq!(added(incident), [line(name, said, false)]);
    }
}

#[test]
fn change_just_before_that_unwind_made_says_so_and_by_whom() {
    let said = |source: Source, said: &str| {
        let of = object("Deployment", "queue-operator");
        let at = Some("2026-11-21T11:49:41Z".parse().unwrap());
        let before = vec![Evidence { of, source, said: said.to_owned(), at }];
        let found = added(Incident { before, ..Incident::default() });
        let [(name, said, false)] = &found[..] else { panic!("{found:?}") };
        assert_eq!(name, "Just before");
        let end = " at 2026-11-21 11:49:41 UTC, 4 min 0 s before the first deletion that waits";
        said.strip_suffix(end).unwrap_or_else(|| panic!("{said}")).to_owned()
    };
    for (source, expected) in [
        (
            Source::DeletedByRun { by: "Li".into() },
            "Deployment shop/queue-operator was deleted by a run of Unwind (started by Li)",
        ),
        (
            Source::DeletedByRun { by: "".into() },
            "Deployment shop/queue-operator was deleted by a run of Unwind",
        ),
        (
            Source::RemovedByRemedy { by: "Li".into() },
            "Deployment shop/queue-operator was removed by a remedy of Unwind (confirmed by Li)",
        ),
        (
            Source::RemovedByRemedy { by: "".into() },
            "Deployment shop/queue-operator was removed by a remedy of Unwind",
        ),
    ] {
        assert_eq!(said(source, ""), expected);
    }
    // The words of the node controller are a sentence of their own.
    assert_eq!(
        said(
            Source::Became("Ready".into()),
            "Unknown NodeStatusUnknown: Kubelet stopped posting node status."
        ),
        "Deployment shop/queue-operator became Ready: Unknown NodeStatusUnknown: Kubelet stopped posting node status"
    );
}

#[test]
fn data_that_is_threatened_warns_and_what_the_cluster_does_next_has_its_time() {
    let of = ReachedClaim {
        claim: object("PersistentVolumeClaim", "data"),
        one_node: false,
        node_local: false,
    };
    let data = vec![DataAtRisk { of, why: DataRisk::OnSilentNode, volume: HeldVolume::Hidden }];
    let found = added(Incident { data, ..Incident::default() });
    let [(name, said, true)] = &found[..] else { panic!("{found:?}") };
    assert_eq!(name, "Data");
    assert!(said.contains("PersistentVolumeClaim shop/data"), "{said}");

    let due = Due::By("2026-11-21T12:08:41Z".parse().unwrap());
    let detach = Upcoming::ForcedDetach {
        node: "worker-7".into(),
        volumes: vec!["pv-1".into()],
        at_once: false,
        due,
    };
    let found = added(Incident { course: vec![detach], ..Incident::default() });
    let [(name, said, false)] = &found[..] else { panic!("{found:?}") };
    assert_eq!(name, "If nobody acts");
    assert!(said.starts_with("At 2026-11-21 12:08:41 UTC: ") && said.contains("pv-1"), "{said}");
}
