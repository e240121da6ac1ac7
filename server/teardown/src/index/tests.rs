use super::*;
use crate::{
    api_problem::{ApiProblem, ProblemCode},
    fixture::{self, kind, now, object, uid},
    observation::HiddenCause,
    selector::Selector,
    unknown_reason::UnknownReason,
};

/// The presence of a fixture's object, in the namespace of that UID; `old` and `new` are in `shop`.
fn presence(index: &Index, word: &str, of: &str) -> &'static str {
    let namespace = of.split_once(':').map_or("shop", |(_, name)| name.split('/').next().unwrap());
    match index.presence(&kind(word), Some(namespace), &uid(of)) {
        Presence::Present(_) => "present",
        Presence::Gone => "gone",
        Presence::Unknown(_) => "unknown",
    }
}

fn apply(index: &mut Index, observation: Observation) {
    index.apply([observation], now());
}

#[test]
fn deleted_event_or_complete_list_proves_absence() {
    let mut index = fixture::index("pod shop/a\n pod shop/b");
    apply(&mut index, Observation::Deleted { kind: kind("pod"), uid: uid("pod:shop/a") });
    assert_eq!(presence(&index, "pod", "pod:shop/a"), "gone");
    assert_eq!(presence(&index, "pod", "pod:shop/b"), "present");

    // The DELETED event was lost with the connection; the next list proves the deletion.
    apply(
        &mut index,
        Observation::Listed { kind: kind("pod"), objects: vec![object("pod shop/c")] },
    );
    assert_eq!(presence(&index, "pod", "pod:shop/b"), "gone");
    assert_eq!(presence(&index, "pod", "pod:shop/c"), "present");
}

#[test]
fn kind_that_was_never_listed_is_unknown() {
    let mut index = Index::default();
    assert_eq!(presence(&index, "pod", "pod:shop/a"), "unknown");
    apply(&mut index, Observation::Watching(kind("pod")));
    assert_eq!(presence(&index, "pod", "pod:shop/a"), "unknown");
    assert!(!index.is_synced());
    apply(&mut index, Observation::Listed { kind: kind("pod"), objects: vec![] });
    assert_eq!(presence(&index, "pod", "pod:shop/a"), "gone");
    assert!(index.is_synced());
}

#[test]
fn hidden_kind_is_unknown_and_keeps_its_objects() {
    let mut index = fixture::index("pod shop/a");
    let hidden = |resource: &str| Observation::Hidden {
        resource: resource.into(),
        cause: HiddenCause::Forbidden,
        message: "pods is forbidden".into(),
    };
    apply(&mut index, hidden("pods"));
    assert_eq!(presence(&index, "pod", "pod:shop/a"), "unknown");
    assert_eq!(presence(&index, "pod", "pod:shop/never"), "unknown");
    assert!(index.pods_of(&uid("deploy:shop/a"), Some("shop"), None).is_err());
    apply(&mut index, Observation::Visible { resource: "pods".into() });
    assert_eq!(presence(&index, "pod", "pod:shop/a"), "present");

    // A group version whose discovery fails is hidden as a whole.
    apply(&mut index, hidden("apps/v1"));
    assert_eq!(presence(&index, "deploy", "deploy:shop/a"), "unknown");
    assert_eq!(presence(&index, "pod", "pod:shop/a"), "present");
}

#[test]
fn reused_name_is_another_object() {
    let mut index = fixture::index("pvc shop/data uid=old");
    // The DELETED event of the old object was never received.
    apply(&mut index, Observation::Applied(Box::new(object("pvc shop/data uid=new"))));
    assert_eq!(presence(&index, "pvc", "old"), "gone");
    assert_eq!(presence(&index, "pvc", "new"), "present");
    // The event arrives late, and must not remove the new object.
    apply(&mut index, Observation::Deleted { kind: kind("pvc"), uid: uid("old") });
    assert_eq!(
        index.find("", "PersistentVolumeClaim", Some("shop"), "data").unwrap().uid,
        uid("new")
    );
}

#[test]
fn kind_without_definition_has_no_objects() {
    let mut index =
        fixture::index("crd widgets defines=Widget.example.com\n Widget.example.com shop/one");
    assert_eq!(presence(&index, "Widget.example.com", "Widget.example.com:shop/one"), "present");
    apply(&mut index, Observation::Withdrawn(kind("Widget.example.com")));
    // The definition still exists: that the API does not serve the kind proves nothing.
    assert_eq!(presence(&index, "Widget.example.com", "Widget.example.com:shop/one"), "unknown");
    let definition = kind("crd");
    apply(&mut index, Observation::Deleted { kind: definition, uid: uid("crd:widgets") });
    assert_eq!(presence(&index, "Widget.example.com", "Widget.example.com:shop/one"), "gone");
}

#[test]
fn objects_of_a_removed_aggregated_api_are_not_gone() {
    let mut index =
        fixture::index("apiservice v1.example.com service=shop/api\n Thing.example.com shop/one");
    apply(&mut index, Observation::Withdrawn(kind("Thing.example.com")));
    let service = kind("apiservice");
    let uid = uid("apiservice:v1.example.com");
    apply(&mut index, Observation::Deleted { kind: service, uid });
    assert_eq!(presence(&index, "Thing.example.com", "Thing.example.com:shop/one"), "unknown");
}

#[test]
fn pod_of_an_unknown_job_may_belong_to_a_deleted_cron_job() {
    let mut index = fixture::index(
        "cronjob shop/other\n pod shop/a owner=job/a-1\n pod shop/b owner=rs/b-1\n pod shop/c",
    );
    let pods = |index: &Index| -> Vec<String> {
        let pods = index.pods_of(&uid("cronjob:shop/report"), Some("shop"), None).unwrap();
        pods.iter().map(|pod| pod.name.to_string()).collect()
    };
    assert_eq!(pods(&index), ["a"]);
    let left = index.pods_of(&uid("cronjob:shop/other"), Some("shop"), None).unwrap();
    assert!(left.is_empty(), "an existing CronJob is not the deleted owner of the Job");
    apply(&mut index, Observation::Applied(Box::new(object("job shop/a-1 owner=cronjob/other"))));
    assert!(pods(&index).is_empty());
}

#[test]
fn pods_are_found_by_their_chain_of_owners_even_if_the_middle_is_gone() {
    let mut index = fixture::index(
        "deploy shop/web
         rs shop/web-1 owner=deploy/web
         pod shop/web-1-a owner=rs/web-1
         pod shop/other labels=app:web
         rs shop/foreign
         pod shop/foreign-a owner=rs/foreign labels=app:web",
    );
    let selector = Selector::of_labels([("app".into(), "web".into())].into());
    let names = |index: &Index, selector| {
        let pods = index.pods_of(&uid("deploy:shop/web"), Some("shop"), selector).unwrap();
        let mut names: Vec<String> = pods.iter().map(|pod| pod.name.to_string()).collect();
        names.sort();
        names
    };
    assert_eq!(names(&index, None), ["web-1-a"]);
    // A Pod that the selector matches counts too, unless it has another controller that exists.
    assert_eq!(names(&index, Some(&selector)), ["other", "web-1-a"]);
    apply(&mut index, Observation::Deleted { kind: kind("deploy"), uid: uid("deploy:shop/web") });
    apply(&mut index, Observation::Deleted { kind: kind("rs"), uid: uid("rs:shop/web-1") });
    assert_eq!(names(&index, None), ["web-1-a"]);
}

#[test]
fn cycle_of_owners_terminates() {
    let index = fixture::index("cm shop/a owner=cm/b\n cm shop/b owner=cm/a");
    assert!(!index.descends(&uid("cm:shop/a"), &uid("deploy:shop/web")));
}

fn watched_in(namespaces: &[&str]) -> Observation {
    let namespaces = namespaces.iter().map(|namespace| (*namespace).into()).collect();
    Observation::PerNamespace {
        kind: kind("secret"),
        namespaces,
        message: "secrets is forbidden".into(),
    }
}

fn listed_in(namespace: &str, objects: &str) -> Observation {
    Observation::ListedIn {
        kind: kind("secret"),
        namespace: namespace.into(),
        objects: fixture::objects(objects),
    }
}

fn hidden_in(namespace: &str) -> Observation {
    let (kind, cause) = (kind("secret"), HiddenCause::Forbidden);
    Observation::HiddenIn {
        kind,
        namespace: namespace.into(),
        cause,
        message: "forbidden here".into(),
    }
}

/// Secrets may not be listed in the whole cluster: `shop` is visible, `bank` is hidden, and `dark` was not listed.
/// The namespaces go, after their controller has found them empty.
fn end_namespaces<const N: usize>(index: &mut Index, names: [&str; N]) {
    for name in names {
        let empty = object(&format!("ns {name} deleted=60 conditions={EMPTY}"));
        apply(index, Observation::Applied(Box::new(empty)));
        let uid = uid(&format!("ns:{name}"));
        apply(index, Observation::Deleted { kind: kind("ns"), uid });
    }
}

fn per_namespace_index() -> Index {
    let mut index = fixture::index(
        "ns shop\n ns bank\n ns dark
         secret shop/a\n secret shop/b\n secret bank/a\n secret dark/a",
    );
    apply(&mut index, watched_in(&["bank", "shop"]));
    apply(&mut index, listed_in("shop", "secret shop/a"));
    apply(&mut index, hidden_in("bank"));
    index
}

#[test]
fn list_of_one_namespace_removes_only_its_own_objects() {
    let index = per_namespace_index();
    assert_eq!(presence(&index, "secret", "secret:shop/a"), "present");
    assert_eq!(presence(&index, "secret", "secret:shop/b"), "gone");
    for hidden in ["secret:bank/a", "secret:dark/a"] {
        assert!(index.get(&uid(hidden)).is_some(), "{hidden} is kept");
    }
}

#[test]
fn absence_is_proven_only_in_visible_namespaces() {
    let mut index = per_namespace_index();
    assert_eq!(presence(&index, "secret", "secret:shop/never"), "gone");
    for hidden in ["secret:bank/never", "secret:bank/a", "secret:dark/never", "secret:dark/a"] {
        assert_eq!(presence(&index, "secret", hidden), "unknown", "{hidden}");
    }
    // A list of a namespace that is not watched proves nothing.
    apply(&mut index, listed_in("dark", ""));
    assert_eq!(presence(&index, "secret", "secret:dark/a"), "unknown");
    // Once the kind is listed in the whole cluster, one list answers for every namespace.
    apply(
        &mut index,
        Observation::Listed { kind: kind("secret"), objects: vec![object("secret bank/a")] },
    );
    assert_eq!(presence(&index, "secret", "secret:bank/a"), "present");
    assert_eq!(presence(&index, "secret", "secret:dark/a"), "gone");
    assert!(index.hidden_kinds().is_empty());
}

#[test]
fn namespace_is_visible_although_another_is_hidden() {
    let mut index = per_namespace_index();
    assert_eq!(index.check_namespace_visible("shop"), Ok(()));
    let reason = UnknownReason::Hidden {
        resource: "secrets".to_owned(),
        namespace: Some("bank".to_owned()),
        message: "forbidden here".into(),
    };
    assert_eq!(index.check_namespace_visible("bank"), Err(reason));
    assert!(index.check_namespace_visible("dark").is_err());
    // A group whose discovery fails may have objects of any kind in any namespace.
    let resource = "wares.example.com/v1".to_owned();
    let (cause, message) = (HiddenCause::Discovery, ApiProblem::from(""));
    apply(&mut index, Observation::Hidden { resource, cause, message });
    assert!(index.check_namespace_visible("shop").is_err());
}

#[test]
fn hidden_kind_without_the_verb_delete_hides_no_content_of_a_namespace() {
    let mut index = fixture::index("ns shop");
    let resource = "reports.stats.example".to_owned();
    let (cause, message) = (HiddenCause::Forbidden, ApiProblem::from(""));
    apply(&mut index, Observation::Hidden { resource: resource.clone(), cause, message });
    assert!(index.check_namespace_visible("shop").is_err());
    apply(&mut index, Observation::Undeletable([resource].into()));
    assert_eq!(index.check_namespace_visible("shop"), Ok(()));
}

#[test]
fn namespace_that_becomes_hidden_is_unknown_and_others_are_not() {
    let mut index = per_namespace_index();
    let here = || (kind("secret"), Arc::from("bank"));
    let (kind, namespace) = here();
    apply(&mut index, Observation::VisibleIn { kind, namespace });
    // The namespace was never listed, so its objects are still unknown when it is visible again.
    assert!(index.check_namespace_visible("bank").is_err());
    apply(&mut index, listed_in("bank", "secret bank/a"));
    assert_eq!(index.check_namespace_visible("bank"), Ok(()));

    apply(&mut index, hidden_in("shop"));
    assert_eq!(presence(&index, "secret", "secret:shop/a"), "unknown");
    assert_eq!(presence(&index, "secret", "secret:shop/b"), "unknown");
    assert_eq!(presence(&index, "secret", "secret:bank/a"), "present");
    assert_eq!(presence(&index, "secret", "secret:bank/never"), "gone");
    // The watch continues where it was, so the earlier list still holds.
    let namespace = "shop".into();
    apply(&mut index, Observation::VisibleIn { kind: here().0, namespace });
    assert_eq!(presence(&index, "secret", "secret:shop/b"), "gone");
}

#[test]
fn per_namespace_kind_is_synced_once_every_namespace_is_listed() {
    let mut index = fixture::index("ns shop\n ns bank");
    apply(&mut index, watched_in(&["bank", "shop"]));
    assert!(!index.is_synced());
    apply(&mut index, listed_in("shop", ""));
    assert!(!index.is_synced());
    apply(&mut index, hidden_in("bank"));
    assert!(index.is_synced());
    // The new namespace has not been listed; the others have.
    apply(&mut index, Observation::Applied(Box::new(object("ns new"))));
    apply(&mut index, watched_in(&["bank", "new", "shop"]));
    assert!(!index.is_synced());
    assert_eq!(index.check_namespace_visible("shop"), Ok(()));
    apply(&mut index, listed_in("new", ""));
    assert!(index.is_synced());
}

#[test]
fn pods_are_visible_namespace_by_namespace() {
    let mut index =
        fixture::index("ns shop\n ns bank\n deploy shop/web\n pod shop/web-a owner=deploy/web");
    let (pods, message) = (kind("pod"), ApiProblem::from(""));
    apply(
        &mut index,
        Observation::PerNamespace {
            kind: pods.clone(),
            namespaces: vec!["bank".into(), "shop".into()],
            message,
        },
    );
    let left = |index: &Index, namespace| {
        index.pods_of(&uid("deploy:shop/web"), Some(namespace), None).map(|pods| pods.len())
    };
    assert!(left(&index, "shop").is_err(), "not listed there yet");
    let objects = fixture::objects("pod shop/web-a owner=deploy/web");
    apply(&mut index, Observation::ListedIn { kind: pods, namespace: "shop".into(), objects });
    assert_eq!(left(&index, "shop"), Ok(1));
    assert!(left(&index, "bank").is_err());
}

/// The Gateways of a class may be in any namespace.
#[test]
fn kind_is_visible_in_the_cluster_only_if_it_is_in_every_namespace() {
    let mut index = per_namespace_index();
    let whole = |index: &Index| index.check_visible("secrets", None);
    let unseen_in = |index: &Index| match whole(index) {
        Err(UnknownReason::Hidden { namespace, .. }) => namespace,
        other => panic!("{other:?}"),
    };
    let unseen = unseen_in(&index).unwrap();
    assert!(["bank", "dark"].contains(&&*unseen), "{unseen}");
    end_namespaces(&mut index, ["bank", "dark"]);
    apply(&mut index, watched_in(&["shop"]));
    assert_eq!(whole(&index), Ok(()), "it is watched in each namespace that is left");
    apply(&mut index, watched_in(&["new", "shop"]));
    assert!(whole(&index).is_err(), "not listed there yet");
    apply(&mut index, listed_in("new", ""));
    assert_eq!(whole(&index), Ok(()));

    let resource = "namespaces".to_owned();
    let (cause, message) = (HiddenCause::Forbidden, ApiProblem::from(""));
    apply(&mut index, Observation::Hidden { resource, cause, message });
    assert_eq!(unseen_in(&index), None, "nobody knows how many namespaces there are");
}

#[test]
fn objects_of_a_deleted_namespace_are_gone() {
    let mut index = per_namespace_index();
    end_namespaces(&mut index, ["bank", "dark"]);
    // `dark` was not listed, and `bank` is no longer watched. A namespace that is gone is empty.
    assert_eq!(presence(&index, "secret", "secret:dark/a"), "gone");
    assert_eq!(presence(&index, "secret", "secret:bank/a"), "unknown");
    apply(&mut index, watched_in(&["shop"]));
    assert_eq!(presence(&index, "secret", "secret:bank/a"), "gone");
    assert!(
        index.get(&uid("secret:bank/a")).is_none() && index.get(&uid("secret:dark/a")).is_none()
    );
    assert_eq!(presence(&index, "secret", "secret:shop/a"), "present");

    // If namespaces themselves are hidden, none of them is known to be gone.
    let resource = "namespaces".to_owned();
    let (cause, message) = (HiddenCause::Forbidden, ApiProblem::from(""));
    apply(&mut index, Observation::Hidden { resource, cause, message });
    assert_eq!(presence(&index, "secret", "secret:bank/a"), "unknown");
}

#[test]
fn per_namespace_kind_is_one_record_with_the_number_of_hidden_namespaces() {
    let message =
        |index: &Index| index.hidden_kinds().remove("secrets").map(|hidden| hidden.message);
    let mut index = per_namespace_index();
    let whole = Box::new(ApiProblem::from("secrets is forbidden"));
    let hidden = |hidden, of, named: &[&str]| ProblemCode::HiddenInNamespaces {
        hidden,
        of,
        named: named.iter().map(ToString::to_string).collect(),
        whole: whole.clone(),
    };
    assert_eq!(message(&index), Some(hidden(2, 3, &["bank", "dark"]).into()));
    let many: Vec<String> = (0..40).map(|number| format!("ns n{number:02}")).collect();
    let mut crowd = fixture::index(&many.join("\n"));
    apply(&mut crowd, watched_in(&["n00"]));
    assert_eq!(message(&crowd), Some(hidden(39, 40, &["n01", "n02", "n03"]).into()));

    end_namespaces(&mut index, ["bank", "dark"]);
    apply(&mut index, watched_in(&["shop"]));
    assert_eq!(message(&index), None, "all known objects are visible");

    let resource = "namespaces".to_owned();
    let (cause, no) = (HiddenCause::Forbidden, ApiProblem::from(""));
    apply(&mut index, Observation::Hidden { resource, cause, message: no });
    assert_eq!(message(&index), Some(ProblemCode::NamespacesUnknown { seen: 1, whole }.into()));

    // Listing the whole cluster fails for another reason, which then applies to every namespace.
    let resource = "secrets".to_owned();
    let (cause, failing) = (HiddenCause::Failing, ApiProblem::from("boom"));
    apply(&mut index, Observation::Hidden { resource, cause, message: failing });
    assert_eq!(message(&index), Some("boom".into()));
    assert!(index.check_namespace_visible("shop").is_err());
}

/// The conditions that the controller writes once it finds nothing left.
const EMPTY: &str = "NamespaceDeletionDiscoveryFailure:False:a:1:;NamespaceDeletionGroupVersionParsingFailure:False:a:1:;NamespaceDeletionContentFailure:False:a:1:;NamespaceContentRemaining:False:a:1:;NamespaceFinalizersRemaining:False:a:1:";

/// A namespace goes that had these conditions last; Secrets are listed per namespace.
fn after_the_end_of(conditions: &str) -> Index {
    let mut index = fixture::index(&format!(
        "ns shop deleted=60 conditions={conditions}\n secret shop/a finalizers=example.com/x"
    ));
    apply(&mut index, watched_in(&["shop"]));
    apply(&mut index, listed_in("shop", "secret shop/a finalizers=example.com/x"));
    apply(&mut index, Observation::Deleted { kind: kind("ns"), uid: uid("ns:shop") });
    apply(&mut index, watched_in(&[]));
    index
}

#[test]
fn namespace_that_went_by_force_proves_nothing_of_what_was_in_it() {
    assert_eq!(presence(&after_the_end_of(EMPTY), "secret", "secret:shop/a"), "gone");
    let remaining = EMPTY.replace("ContentRemaining:False", "ContentRemaining:True");
    for forced in ["", remaining.as_str()] {
        let mut index = after_the_end_of(forced);
        assert_eq!(presence(&index, "secret", "secret:shop/a"), "unknown", "{forced}");
        assert!(index.get(&uid("secret:shop/a")).is_some(), "it may be left");
        assert!(index.check_visible("secrets", Some("shop")).is_err());
        // The namespace exists again, and its controller finds it empty.
        let again = object(&format!("ns shop uid=again deleted=10 conditions={EMPTY}"));
        apply(&mut index, Observation::Applied(Box::new(again)));
        apply(&mut index, Observation::Deleted { kind: kind("ns"), uid: uid("again") });
        assert_eq!(presence(&index, "secret", "secret:shop/a"), "gone", "{forced}");
    }
}

/// A list of all namespaces, as after a watch that was down.
fn namespaces(objects: &str) -> Observation {
    Observation::Listed { kind: kind("ns"), objects: fixture::objects(objects) }
}

#[test]
fn namespace_that_ended_while_nobody_watched_ended_in_order_once_nothing_is_seen_in_it() {
    for before in ["ns shop", "ns shop deleted=60"] {
        let mut index = fixture::index(&format!("{before}\n ns other\n secret shop/a\n cm shop/b"));
        apply(&mut index, watched_in(&["shop"]));
        apply(&mut index, listed_in("shop", "secret shop/a"));
        apply(&mut index, namespaces("ns other"));
        apply(&mut index, watched_in(&[]));
        // The ConfigMap may be news that is late, or what somebody left behind.
        assert_eq!(presence(&index, "secret", "secret:shop/a"), "unknown", "{before}");
        apply(&mut index, Observation::Deleted { kind: kind("cm"), uid: uid("cm:shop/b") });
        assert_eq!(presence(&index, "secret", "secret:shop/a"), "gone", "{before}");
        assert!(index.get(&uid("secret:shop/a")).is_none(), "{before}");
    }
}

#[test]
fn namespace_that_was_forced_once_and_then_ended_in_order_is_known_to_have() {
    let mut index = after_the_end_of("");
    let forced = uid("ns:shop");
    assert!(!index.has_ended_in_order_since("shop", &forced));
    let again = object(&format!("ns shop uid=again deleted=10 conditions={EMPTY}"));
    apply(&mut index, Observation::Applied(Box::new(again)));
    assert!(!index.has_ended_in_order_since("shop", &forced), "it is there");
    apply(&mut index, Observation::Deleted { kind: kind("ns"), uid: uid("again") });
    assert!(index.has_ended_in_order_since("shop", &forced));
    let third = object("ns shop uid=third deleted=10");
    apply(&mut index, Observation::Applied(Box::new(third)));
    assert!(!index.has_ended_in_order_since("shop", &uid("third")), "one before it has");
}

#[test]
fn namespace_that_unwind_finishes_by_force_is_no_proof_if_a_list_shows_its_end() {
    let mut index = fixture::index("ns shop deleted=60\n ns other\n secret shop/a");
    apply(&mut index, watched_in(&["shop"]));
    apply(&mut index, listed_in("shop", "secret shop/a"));
    index.note_forcing(uid("ns:shop"));
    apply(&mut index, namespaces("ns other"));
    apply(&mut index, watched_in(&[]));
    assert_eq!(presence(&index, "secret", "secret:shop/a"), "unknown");
}

#[test]
fn force_before_the_process_began_is_told_to_it() {
    let mut index = fixture::index("ns shop\n secret shop/a");
    apply(&mut index, watched_in(&["shop"]));
    assert_eq!(presence(&index, "secret", "secret:other/a"), "gone");
    index.note_forced("other".into());
    assert_eq!(presence(&index, "secret", "secret:other/a"), "unknown");
}

#[test]
fn pod_that_goes_with_its_namespace_and_never_ended_is_not_confirmed() {
    for (pod, is_unconfirmed) in [
        ("pod shop/a node=n1 deleted=60 phase=Running containers=web:running", true),
        ("pod shop/a node=n1 deleted=60 phase=Failed containers=web:terminated", false),
    ] {
        let mut index =
            fixture::index(&format!("node n1\n ns shop deleted=60 conditions={EMPTY}\n {pod}"));
        let pods = || Observation::PerNamespace {
            kind: kind("pod"),
            namespaces: vec![],
            message: ApiProblem::from(""),
        };
        apply(&mut index, pods());
        apply(&mut index, Observation::Deleted { kind: kind("ns"), uid: uid("ns:shop") });
        assert!(index.get(&uid("pod:shop/a")).is_none());
        assert_eq!(index.is_unconfirmed(&uid("pod:shop/a"), Some("n1")), is_unconfirmed, "{pod}");
    }
}
