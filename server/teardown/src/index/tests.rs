use super::*;
use crate::fixture::{self, kind, now, object, uid};

fn presence(index: &Index, word: &str, of: &str) -> &'static str {
    match index.presence(&kind(word), &uid(of)) {
        Presence::Present(_) => "present",
        Presence::Gone => "gone",
        Presence::CannotTell(_) => "cannot tell",
    }
}

fn apply(index: &mut Index, observation: Observation) {
    index.apply([observation], now());
}

#[test]
fn absence_is_proven_by_a_deleted_event_or_a_complete_list() {
    let mut index = fixture::index("pod shop/a\n pod shop/b");
    apply(&mut index, Observation::Deleted { kind: kind("pod"), uid: uid("pod:shop/a") });
    assert_eq!(presence(&index, "pod", "pod:shop/a"), "gone");
    assert_eq!(presence(&index, "pod", "pod:shop/b"), "present");

    // The DELETED event was lost with the connection; the list after it tells.
    apply(&mut index, Observation::Listed { kind: kind("pod"), objects: vec![object("pod shop/c")] });
    assert_eq!(presence(&index, "pod", "pod:shop/b"), "gone");
    assert_eq!(presence(&index, "pod", "pod:shop/c"), "present");
}

#[test]
fn what_was_never_listed_cannot_be_told() {
    let mut index = Index::default();
    assert_eq!(presence(&index, "pod", "pod:shop/a"), "cannot tell");
    apply(&mut index, Observation::Watching(kind("pod")));
    assert_eq!(presence(&index, "pod", "pod:shop/a"), "cannot tell");
    assert!(!index.is_synced());
    apply(&mut index, Observation::Listed { kind: kind("pod"), objects: vec![] });
    assert_eq!(presence(&index, "pod", "pod:shop/a"), "gone");
    assert!(index.is_synced());
}

#[test]
fn a_blind_kind_cannot_be_told_and_keeps_its_objects() {
    let mut index = fixture::index("pod shop/a");
    let blind = |resource: &str| Observation::Blind {
        resource: resource.into(),
        cause: BlindCause::Forbidden,
        message: "pods is forbidden".into(),
    };
    apply(&mut index, blind("pods"));
    assert_eq!(presence(&index, "pod", "pod:shop/a"), "cannot tell");
    assert_eq!(presence(&index, "pod", "pod:shop/never"), "cannot tell");
    assert!(index.pods_of(&uid("deploy:shop/a"), Some("shop"), None).is_err());
    apply(&mut index, Observation::Sighted { resource: "pods".into() });
    assert_eq!(presence(&index, "pod", "pod:shop/a"), "present");

    // A whole group version is blind where its discovery is.
    apply(&mut index, blind("apps/v1"));
    assert_eq!(presence(&index, "deploy", "deploy:shop/a"), "cannot tell");
    assert_eq!(presence(&index, "pod", "pod:shop/a"), "present");
}

#[test]
fn a_name_used_again_is_another_object() {
    let mut index = fixture::index("pvc shop/data uid=old");
    // Its DELETED event was never seen.
    apply(&mut index, Observation::Applied(Box::new(object("pvc shop/data uid=new"))));
    assert_eq!(presence(&index, "pvc", "old"), "gone");
    assert_eq!(presence(&index, "pvc", "new"), "present");
    // And comes late: it must not take the new one with it.
    apply(&mut index, Observation::Deleted { kind: kind("pvc"), uid: uid("old") });
    assert_eq!(index.find("", "PersistentVolumeClaim", Some("shop"), "data").unwrap().uid, uid("new"));
}

#[test]
fn a_kind_that_goes_with_its_definition_takes_its_objects_along() {
    let mut index = fixture::index("crd widgets defines=Widget.example.com\n Widget.example.com shop/one");
    assert_eq!(presence(&index, "Widget.example.com", "Widget.example.com:shop/one"), "present");
    apply(&mut index, Observation::Withdrawn(kind("Widget.example.com")));
    // The definition is still there: that the API does not serve the kind proves nothing.
    assert_eq!(presence(&index, "Widget.example.com", "Widget.example.com:shop/one"), "cannot tell");
    let definition = kind("crd");
    apply(&mut index, Observation::Deleted { kind: definition, uid: uid("crd:widgets") });
    assert_eq!(presence(&index, "Widget.example.com", "Widget.example.com:shop/one"), "gone");
}

#[test]
fn pods_are_known_by_their_chain_of_owners_even_when_the_middle_is_gone() {
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
    // What the selector matches counts too, unless something else that is alive controls it.
    assert_eq!(names(&index, Some(&selector)), ["other", "web-1-a"]);
    apply(&mut index, Observation::Deleted { kind: kind("deploy"), uid: uid("deploy:shop/web") });
    apply(&mut index, Observation::Deleted { kind: kind("rs"), uid: uid("rs:shop/web-1") });
    assert_eq!(names(&index, None), ["web-1-a"]);
}

#[test]
fn a_circle_of_owners_does_not_hold_us() {
    let index = fixture::index("cm shop/a owner=cm/b\n cm shop/b owner=cm/a");
    assert!(!index.descends(&uid("cm:shop/a"), &uid("deploy:shop/web")));
}
