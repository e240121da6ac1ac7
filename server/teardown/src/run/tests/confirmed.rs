//! Tests of storage that waits until its Pods have ended, and of the proofs that objects are gone.

use super::*;
use crate::{
    proof::Proof,
    unknown_reason::{ATTACHMENTS, UnconfirmedObject},
};

const SHOP: &str = "
    ns shop of=shop
    node n1
    pod shop/web of=shop node=n1 uses=claim:data
    pvc shop/data of=shop volume=pv-1
    pv pv-1 claim=shop/data reclaim=Delete
";
const POD: &str = "pod shop/web of=shop node=n1 uses=claim:data";
const CLAIM: &str = "pvc:shop/data";

/// A run whose Pod is being deleted.
fn pod_requested() -> Scenario {
    let mut scenario = Scenario::of(SHOP);
    assert_eq!(scenario.reconcile(), ["DELETE Pod shop/web"]);
    accepted(&mut scenario, "pod:shop/web");
    scenario
}

/// Whether the claim's DELETE is next, or the reason why it is not.
fn storage(scenario: &mut Scenario) -> Result<(), Option<UnknownReason>> {
    match scenario.reconcile().as_slice() {
        [] => Err(match &scenario.progress(CLAIM).hold.problem {
            Some(StepProblem::Unknown { reason }) => Some(reason.clone()),
            _ => None,
        }),
        [list] if list == "LIST pods in shop" => Ok(()),
        other => panic!("{other:?}"),
    }
}

/// A person answers for the end of these Pods of the claim.
fn take_on(scenario: &Scenario, pods: &[&str]) -> Input {
    let pods = pods.iter().map(|pod| fixture::object(pod).uid).collect();
    Input::TakeOn { step: scenario.id(CLAIM), pods, by: "Li".to_owned() }
}

fn unconfirmed() -> UnknownReason {
    let pod = fixture::object(POD);
    let (uid, object) = (pod.uid.clone(), pod.reference());
    UnknownReason::Unconfirmed {
        objects: vec![UnconfirmedObject { uid, object, node: Some("n1".to_owned()) }],
    }
}

#[test]
fn storage_opens_once_the_kubelet_reported_the_end_of_the_pod() {
    for (ending, opens) in [
        ("deleted=1 phase=Failed containers=web:terminated", true),
        ("phase=Succeeded containers=web:terminated,init:terminated", true),
        // Its init containers never ended, so it never started.
        ("deleted=1 phase=Failed containers=init:terminated,web:waiting", true),
        // The kubelet rejected it.
        ("deleted=1 phase=Failed", true),
        ("deleted=1 phase=Failed containers=web:terminated disruption=DeletionByPodGC", false),
        // Between two restarts.
        ("deleted=1 containers=web:terminated", false),
        ("deleted=1 phase=Failed containers=web:terminated,side:running", false),
        ("deleted=1 containers=web:waiting", false),
        ("deleted=1", false),
        ("", false),
    ] {
        let mut scenario = pod_requested();
        scenario.applied(&format!("{POD} {ending}"));
        scenario.gone(POD);
        let expected = if opens { Ok(()) } else { Err(Some(unconfirmed())) };
        assert_eq!(storage(&mut scenario), expected, "{ending}");
        let progress = scenario.progress("pod:shop/web");
        assert_eq!(
            (progress.proof, progress.unconfirmed),
            (Some(Proof::DeletedEvent), !opens),
            "{ending}"
        );
    }
}

#[test]
fn pod_that_failed_on_a_node_out_of_service_may_have_been_ended_by_the_collector() {
    for (phase, opens) in [("Failed", false), ("Succeeded", true)] {
        let mut scenario = pod_requested();
        scenario.applied("node n1 taints=node.kubernetes.io/out-of-service:NoExecute");
        scenario.applied(&format!("{POD} deleted=1 phase={phase} containers=web:terminated"));
        scenario.gone(POD);
        assert_eq!(storage(&mut scenario).is_ok(), opens, "{phase}");
    }
}

#[test]
fn pod_that_never_had_a_node_has_ended() {
    let mut scenario = Scenario::of(&SHOP.replace(" node=n1", ""));
    scenario.reconcile();
    accepted(&mut scenario, "pod:shop/web");
    scenario.gone("pod shop/web");
    assert_eq!(storage(&mut scenario), Ok(()));
}

#[test]
fn pod_that_went_unwatched_has_ended_if_its_node_is_ready() {
    for (node, opens) in [("node n1", true), ("node n1 ready=no", false), ("node n2", false)] {
        let mut scenario = pod_requested();
        let nodes = Observation::Listed {
            kind: fixture::kind("node"),
            objects: vec![fixture::object(node)],
        };
        let pods = Observation::Listed { kind: fixture::kind("pod"), objects: vec![] };
        scenario.see(nodes.clone());
        scenario.see(pods);
        assert_eq!(storage(&mut scenario).is_ok(), opens, "{node}");
        assert_eq!(scenario.progress("pod:shop/web").proof, Some(Proof::List));

        // The same if the server was away meanwhile.
        let mut scenario = pod_requested();
        let rest = SHOP.lines().filter(|line| !line.contains("pod ") && !line.contains("node n1"));
        scenario.index = fixture::index(&rest.collect::<Vec<_>>().join("\n"));
        scenario.see(nodes);
        _ = scenario.apply_input(&Input::Recover);
        assert_eq!(storage(&mut scenario).is_ok(), opens, "{node} after a restart");
    }
}

#[test]
fn person_takes_on_that_a_pod_has_ended() {
    let mut scenario = pod_requested();
    let claim = scenario.id(CLAIM);
    let take_on = take_on(&scenario, &[POD]);
    let early = scenario.run.decide(&take_on, &scenario.index, scenario.now);
    assert_eq!(early, Err(CommandError::NothingToTakeOn(claim)));
    scenario.gone(POD);
    assert_eq!(storage(&mut scenario), Err(Some(unconfirmed())));
    scenario.steer(&take_on);
    assert_eq!(scenario.progress(CLAIM).taken_on.as_deref(), Some("Li"));
    assert_eq!(storage(&mut scenario), Ok(()));
}

#[test]
fn unconfirmed_pod_is_remembered_after_a_restart() {
    let mut scenario = pod_requested();
    scenario.gone(POD);
    assert_eq!(storage(&mut scenario), Err(Some(unconfirmed())));
    let rest = SHOP.lines().filter(|line| !line.contains("pod shop"));
    scenario.index = fixture::index(&rest.collect::<Vec<_>>().join("\n"));
    _ = scenario.apply_input(&Input::Recover);
    assert_eq!(storage(&mut scenario), Err(Some(unconfirmed())));
}

#[test]
fn attached_volume_keeps_its_claim_and_a_detach_from_a_deleted_node_is_a_proof() {
    let attachment = "attachment a volume=pv-1 node=n1";
    let mut scenario = pod_requested();
    scenario.applied(attachment);
    scenario.gone(POD);
    assert_eq!(storage(&mut scenario), Err(Some(unconfirmed())));
    scenario.gone(attachment);
    let forced = storage(&mut scenario);
    assert_eq!(forced, Err(Some(unconfirmed())), "it may have been detached by force");
    scenario.gone("node n1");
    assert_eq!(storage(&mut scenario), Ok(()), "nothing is left that could write");
    // The attachment of another volume is none of its own.
    let mut scenario = pod_requested();
    scenario.applied("attachment b volume=pv-2 node=n1");
    scenario.applied(&format!("{POD} deleted=1 phase=Failed containers=web:terminated"));
    scenario.gone(POD);
    assert_eq!(storage(&mut scenario), Ok(()));
}

#[test]
fn pod_that_used_another_claim_does_not_matter() {
    for other in ["pod shop/x node=n1 uses=claim:other", "pod lab/x node=n1 uses=claim:data"] {
        let mut scenario = pod_requested();
        scenario.applied(other);
        scenario.gone(other);
        scenario.applied(&format!("{POD} deleted=1 phase=Failed containers=web:terminated"));
        scenario.gone(POD);
        assert_eq!(storage(&mut scenario), Ok(()), "{other}");
    }
}

#[test]
fn gone_object_carries_its_proof() {
    let fixture = "ns shop of=shop\n cm shop/a of=shop\n cm shop/b of=shop\n cm shop/c of=shop";
    let mut scenario = Scenario::of(fixture);
    scenario.reconcile();
    scenario.answer("cm:shop/a", Outcome::NotFound);
    scenario.answer("cm:shop/b", Outcome::OtherUid { uid: None });
    scenario.see(Observation::Listed { kind: fixture::kind("cm"), objects: vec![] });
    scenario.reconcile();
    let proof = |uid: &str| scenario.progress(uid).proof;
    assert_eq!(proof("cm:shop/a"), Some(Proof::NotFound));
    assert_eq!(proof("cm:shop/b"), Some(Proof::OtherUid));
    assert_eq!(proof("cm:shop/c"), Some(Proof::List));
}

#[test]
fn volume_that_stays_attached_is_named_once_its_pods_have_ended() {
    let mut scenario = pod_requested();
    scenario.applied("attachment a volume=pv-1 node=n1");
    scenario.applied(&format!("{POD} deleted=1 phase=Failed containers=web:terminated"));
    scenario.gone(POD);
    assert_eq!(storage(&mut scenario), Err(None), "it waits for the detach");
    scenario.pass(61);
    let (volume, node) = ("pv-1".to_owned(), "n1".to_owned());
    assert_eq!(storage(&mut scenario), Err(Some(UnknownReason::StillAttached { volume, node })));
}

#[test]
fn storage_waits_while_attachments_are_hidden_until_a_person_answers_for_them() {
    let mut scenario = pod_requested();
    scenario.hidden(ATTACHMENTS);
    scenario.applied(&format!("{POD} deleted=1 phase=Failed containers=web:terminated"));
    scenario.gone(POD);
    let waits = storage(&mut scenario);
    assert!(
        matches!(&waits, Err(Some(UnknownReason::Hidden { resource, .. })) if resource == ATTACHMENTS),
        "{waits:?}"
    );
    let take_on = take_on(&scenario, &[]);
    scenario.steer(&take_on);
    assert_eq!(storage(&mut scenario), Ok(()));
}

/// A cluster in which a Pod that mounted an earlier claim `data` was deleted by force, and then the claim was made again.
fn with_an_earlier_claim(earlier_volume: &str) -> Scenario {
    const OLD_POD: &str = "pod shop/old node=n1 uses=claim:data";
    let earlier = format!("pvc shop/data of=shop uid=earlier {earlier_volume}");
    let mut scenario = Scenario::of(SHOP);
    scenario.applied(&earlier);
    scenario.applied(OLD_POD);
    scenario.gone(OLD_POD);
    scenario.applied("pvc shop/data of=shop volume=pv-1");
    assert_eq!(scenario.reconcile(), ["DELETE Pod shop/web"]);
    accepted(&mut scenario, "pod:shop/web");
    scenario.applied(&format!("{POD} deleted=1 phase=Succeeded containers=web:terminated"));
    scenario.gone(POD);
    scenario
}

#[test]
fn pod_of_an_earlier_claim_of_the_same_name_holds_the_claim_only_on_the_same_volume() {
    assert_eq!(storage(&mut with_an_earlier_claim("volume=pv-0")), Ok(()));
    assert_eq!(storage(&mut with_an_earlier_claim("")), Ok(()));
    let held = storage(&mut with_an_earlier_claim("volume=pv-1"));
    let Err(Some(UnknownReason::Unconfirmed { objects })) = held else { panic!("{held:?}") };
    assert_eq!(objects.iter().map(|it| &*it.object.name).collect::<Vec<_>>(), ["old"]);
}

#[test]
fn pod_of_a_node_that_the_plan_names_counts_as_ended_and_one_of_another_node_does_not() {
    for (node, opens) in [("n1", true), ("n2", false)] {
        let cluster = format!("{SHOP}\n node n2\n pod shop/other of=shop node=n2");
        let choices = Choices::of_query([("unreported", node)]).unwrap();
        let mut scenario = Scenario::with(&cluster, &choices);
        scenario.reconcile();
        accepted(&mut scenario, "pod:shop/web");
        scenario.gone(POD);
        assert_eq!(storage(&mut scenario).is_ok(), opens, "{node}");
        assert!(scenario.progress("pod:shop/web").unconfirmed, "it stays said");
    }
}

#[test]
fn person_answers_for_the_pods_that_were_named_and_for_no_later_one() {
    let late = "pod shop/late node=n2 uses=claim:data";
    let mut scenario = pod_requested();
    scenario.gone(POD);
    assert_eq!(storage(&mut scenario), Err(Some(unconfirmed())));
    let take_on = take_on(&scenario, &[POD]);
    scenario.steer(&take_on);
    scenario.applied(late);
    scenario.gone(late);
    let waits = storage(&mut scenario);
    let Err(Some(UnknownReason::Unconfirmed { objects })) = waits else { panic!("{waits:?}") };
    assert_eq!(objects.iter().map(|it| &*it.object.name).collect::<Vec<_>>(), ["late"]);
}

#[test]
fn person_who_looked_before_another_pod_joined_answers_for_none() {
    let late = "pod shop/late node=n2 uses=claim:data";
    let mut scenario = pod_requested();
    scenario.gone(POD);
    assert_eq!(storage(&mut scenario), Err(Some(unconfirmed())));
    scenario.applied(late);
    scenario.gone(late);
    assert!(storage(&mut scenario).is_err());
    let refused = Err(CommandError::OtherPods(scenario.id(CLAIM)));
    for answered in [&[POD][..], &[late], &[]] {
        let take_on = take_on(&scenario, answered);
        assert_eq!(scenario.run.decide(&take_on, &scenario.index, scenario.now), refused);
    }
    let take_on = take_on(&scenario, &[late, POD]);
    scenario.steer(&take_on);
    assert_eq!(storage(&mut scenario), Ok(()));
}

#[test]
fn forced_pod_outside_the_plan_is_remembered_although_the_claim_waits_for_others() {
    let late = "pod shop/late node=n2 uses=claim:data";
    let mut scenario = pod_requested();
    scenario.applied(late);
    scenario.gone(late);
    scenario.reconcile();
    let rest = SHOP.replace("of=shop volume=pv-1", "of=shop volume=pv-1 labels=x:y");
    scenario.index = fixture::index(&rest);
    _ = scenario.apply_input(&Input::Recover);
    scenario.applied(&format!("{POD} deleted=1 phase=Failed containers=web:terminated"));
    scenario.gone(POD);
    let waits = storage(&mut scenario);
    let Err(Some(UnknownReason::Unconfirmed { objects })) = waits else { panic!("{waits:?}") };
    assert_eq!(objects.iter().map(|it| &*it.object.name).collect::<Vec<_>>(), ["late"]);
}

/// Pods and claims may not be listed in the whole cluster, and somebody empties the finalizers of their namespace.
#[test]
fn namespace_that_goes_by_force_opens_no_storage_and_ends_no_step() {
    for conditions in ["", " conditions=NamespaceContentRemaining:True:SomeResourcesRemain:5:"] {
        let mut scenario = pod_requested();
        for (word, line) in
            [("pod", POD.to_owned()), ("pvc", "pvc shop/data of=shop volume=pv-1".to_owned())]
        {
            let in_namespaces = |namespaces: &[&str]| Observation::PerNamespace {
                kind: fixture::kind(word),
                namespaces: namespaces.iter().map(|it| (*it).into()).collect(),
                message: "forbidden".into(),
            };
            let (kind, namespace) = (fixture::kind(word), "shop".into());
            scenario.see(in_namespaces(&["shop"]));
            let objects = fixture::objects(&line);
            scenario.see(Observation::ListedIn { kind, namespace, objects });
        }
        scenario.applied(&format!("ns shop of=shop deleted=60{conditions}"));
        scenario.gone("ns shop");
        for word in ["pod", "pvc"] {
            let (kind, namespaces) = (fixture::kind(word), vec![]);
            scenario.see(Observation::PerNamespace { kind, namespaces, message: "no".into() });
        }
        let held = storage(&mut scenario);
        assert!(matches!(held, Err(Some(UnknownReason::Hidden { .. }))), "{held:?}");
        for step in ["pod:shop/web", CLAIM] {
            assert_eq!(scenario.progress(step).proof, None, "{step}");
        }
    }
}
