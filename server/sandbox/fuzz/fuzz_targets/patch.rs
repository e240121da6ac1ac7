//! Applies patches of every kind to objects of every shape. Nothing panics, every refusal has an HTTP status code, and
//! a merge patch that is applied twice changes nothing the second time.
//!
//! An input is two JSON documents, an object and a patch, separated by a line of `%%`.
#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use sandbox::{
    cluster::{Actor, Cluster},
    kind::Kinds,
    patch::Patch,
    store::Key,
};
use serde_json::{Value, json};

/// The resources to which the patches are applied, provided that they accept the object. They cover few and many
/// validation rules, and lists that are merged by name.
const PLACES: [(&str, &str); 3] = [("", "configmaps"), ("", "pods"), ("apps", "deployments")];

fuzz_target!(|input: &str| -> Corpus { run(input) });

fn run(input: &str) -> Corpus {
    let Some((object, patch)) = input.split_once("\n%%\n") else { return Corpus::Reject };
    let (Ok(object), Ok(patch)) = (serde_json::from_str(object), serde_json::from_str(patch))
    else {
        return Corpus::Reject;
    };
    alone(&object, &patch);
    stored(&object, &patch);
    Corpus::Keep
}

fn all(patch: &Value) -> [Patch; 4] {
    [
        Patch::Json(patch.clone()),
        Patch::Merge(patch.clone()),
        Patch::Strategic(patch.clone()),
        Patch::Apply { object: patch.clone(), force: false },
    ]
}

fn alone(object: &Value, patch: &Value) {
    let kinds = Kinds::new();
    for (group, plural) in PLACES {
        let kind = kinds.get(group, plural).expect("it is built in");
        for patch in all(patch) {
            match patch.apply(kind, object) {
                Ok(once) if matches!(patch, Patch::Merge(_)) => {
                    let twice = patch.apply(kind, &once).expect("it could be applied");
                    assert_eq!(once, twice, "{patch:?}");
                }
                Ok(_) => {}
                Err(status) => assert!((400..600).contains(&status.code), "{status:?}"),
            }
        }
    }
}

/// Does the same through the cluster's verbs, with defaults, validation and admission.
fn stored(object: &Value, patch: &Value) {
    let mut cluster = Cluster::new(jiff::Timestamp::UNIX_EPOCH, 1);
    let admin = Actor::admin();
    for (group, plural) in PLACES {
        let mut object = object.clone();
        if object.is_object() {
            sandbox::object::set(&mut object, &["metadata", "name"], json!("a"));
            sandbox::object::unset(&mut object, &["metadata", "namespace"]);
        }
        if cluster.create(&admin, group, plural, "default", object).is_err() {
            continue;
        }
        let key = Key::new(group, plural, "default", "a");
        for patch in all(patch) {
            for subresource in ["", "status"] {
                if let Err(status) = cluster.patch(&admin, &key, &patch, subresource) {
                    assert!((400..600).contains(&status.code), "{status:?}");
                }
                let Some(now) = cluster.get(&key) else { return };
                let text = now.to_string();
                let again: Value = serde_json::from_str(&text).expect("what is stored can be read");
                assert_eq!(again, **now);
            }
        }
    }
}
