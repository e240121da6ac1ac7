//! The part of the cluster that has to be repaired where a kind is hidden, or an object cannot be read.

use super::{fixture, plan_of, preflight_of};
use crate::{
    api_problem::{ApiProblem, ProblemCode},
    observation::{HiddenCause, Observation},
    preflight::{HiddenBy, NoteCode, is_read_failure},
};

const UNCONVERTED: &str = "conversion webhook for example.com/v1, Kind=Widget failed: Post \"https://conv.guards.svc:443/\": service \"conv\" not found";
const CORRUPT: &str = "Internal error occurred: unable to transform key \"/registry/example.com/widgets/shop/a\": no matching prefix found";
/// The cache of the API server, while its own list fails.
const NOT_READY: &str = "storage is (re)initializing";

/// The reason that hides the kind `Widget`, which has a definition with a conversion webhook.
fn hidden_by(cause: HiddenCause, message: ApiProblem, converter: &str) -> Vec<HiddenBy> {
    let mut index = fixture::index(&format!(
        "ns shop of=shop
         cm shop/a of=shop
         crd widgets.example.com defines=Widget.example.com service=guards/conv
         ns guards
         {converter}"
    ));
    let resource = "widgets.example.com".to_owned();
    index.apply([Observation::Hidden { resource, cause, message }], fixture::now());
    let notes = preflight_of(&index, &plan_of(&index)).view().notes;
    let hidden = notes.iter().filter_map(|note| match &note.code {
        NoteCode::Hidden { by, .. } => Some(*by),
        _ => None,
    });
    hidden.collect()
}

#[test]
fn advice_about_a_hidden_kind_follows_the_words_of_the_api_server() {
    let serving = "svc guards/conv selector=app:conv\npod guards/conv-1 labels=app:conv";
    let failing = |said: &str| hidden_by(HiddenCause::Failing, said.into(), serving);
    assert_eq!(failing(UNCONVERTED), [HiddenBy::Conversion]);
    assert_eq!(failing(CORRUPT), [HiddenBy::Storage]);
    assert_eq!(failing(NOT_READY), [HiddenBy::Other]);
    let forbidden = hidden_by(HiddenCause::Forbidden, "forbidden".into(), serving);
    assert_eq!(forbidden, [HiddenBy::Rights]);
    let stale = hidden_by(HiddenCause::Failing, ProblemCode::Stale.into(), serving);
    assert_eq!(stale, [HiddenBy::Other]);
}

#[test]
fn converter_without_a_service_explains_a_list_that_fails_and_not_a_missing_right() {
    let failing = hidden_by(HiddenCause::Failing, NOT_READY.into(), "");
    assert_eq!(failing, [HiddenBy::Conversion]);
    let forbidden = hidden_by(HiddenCause::Forbidden, "forbidden".into(), "");
    assert_eq!(forbidden, [HiddenBy::Rights]);
}

#[test]
fn answer_about_an_object_that_cannot_be_read_is_distinguished_from_another_error() {
    assert!(is_read_failure(UNCONVERTED) && is_read_failure(CORRUPT));
    let dead = "Internal error occurred: failed calling webhook \"conv.example.com\": failed to call webhook: connection refused";
    for other in ["", NOT_READY, "etcdserver: request timed out", dead] {
        assert!(!is_read_failure(other), "{other}");
    }
}

/// A silent node, a driver that is away, a claim that is gone and a dead webhook, each hidden with the kinds that would show it.
#[test]
fn check_whose_evidence_is_hidden_says_so() {
    let found = |hidden: &[&str]| {
        let mut index = fixture::index(
            "node n1 ready=Ready:Unknown:NodeStatusUnknown:600:
             csinode n1 drivers=other.example.com
             ns shop of=shop
             pod shop/web of=shop node=n1 uses=claim:a
             pod shop/idle of=shop uses=claim:a
             cm shop/b of=shop
             pvc shop/a of=shop volume=pv-a
             pv pv-a claim=shop/a driver=away.example.com reclaim=Delete
             webhook gate service=guards/gone guards=configmaps",
        );
        let hide = |resource: &&str| Observation::Hidden {
            resource: (*resource).to_owned(),
            cause: HiddenCause::Forbidden,
            message: "forbidden".into(),
        };
        let plan = plan_of(&index);
        index.apply(hidden.iter().map(hide), fixture::now());
        let view = preflight_of(&index, &plan).view();
        let unchecked = view.notes.into_iter().filter_map(|note| match note.code {
            NoteCode::Unchecked { resources } => {
                let objects: Vec<String> = note.objects.iter().map(ToString::to_string).collect();
                Some(format!("{}: {}", resources.join(", "), objects.join(", ")))
            }
            _ => None,
        });
        unchecked.collect::<Vec<_>>().join("\n")
    };
    assert_eq!(found(&[]), "");
    assert_eq!(found(&["nodes"]), "nodes: Pod shop/web");
    let drivers = "csinodes.storage.k8s.io: PersistentVolume pv-a, Pod shop/web";
    assert_eq!(found(&["csinodes.storage.k8s.io"]), drivers);
    let installed = "csidrivers.storage.k8s.io: PersistentVolume pv-a";
    assert_eq!(found(&["csidrivers.storage.k8s.io"]), installed);
    assert_eq!(found(&["persistentvolumeclaims"]), "persistentvolumeclaims: Pod shop/web");
    let configurations = "validatingwebhookconfigurations.admissionregistration.k8s.io";
    let left_to_others = format!("{configurations}: Namespace shop, PersistentVolume pv-a");
    assert_eq!(found(&[configurations]), left_to_others);
    assert_eq!(found(&["services"]), "services in guards: ConfigMap shop/b");
    let both = "nodes, services in guards: ConfigMap shop/b, Pod shop/web";
    assert_eq!(found(&["services", "nodes"]), both, "one note says all");
}
