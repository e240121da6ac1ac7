//! Annotations about the order in which objects go.

use super::*;

#[test]
fn annotations_about_the_order_are_read_and_bad_ones_are_ignored() {
    let hints = |annotations: &str| {
        let json = format!(
            r#"{{"metadata": {{"name": "a", "namespace": "shop", "uid": "u", "annotations": {annotations}}}}}"#
        );
        let read = object(&kind("v1 ConfigMap"), &json, &Interner::default()).unwrap().unwrap();
        read.annotations.as_deref().and_then(|it| it.hints.clone())
    };
    let read = hints(
        r#"{"config.kubernetes.io/depends-on": "apps/namespaces/shop/Deployment/db, /Namespace/lab",
            "argocd.argoproj.io/sync-wave": "-2", "example.com/note": "a",
            "kapp.k14s.io/change-group": "shop/db", "kapp.k14s.io/change-group.x": "{name}",
            "kapp.k14s.io/change-rule.y": "delete after deleting shop/db"}"#,
    );
    let read = read.unwrap();
    let named: Vec<String> = read.depends_on.iter().map(ToString::to_string).collect();
    assert_eq!(named, ["Deployment shop/db", "Namespace lab"]);
    assert_eq!(read.wave, Some(-2));
    assert_eq!(read.groups, ["shop/db".into(), "{name}".into()]);
    let rules: Vec<String> = read.rules.iter().map(ToString::to_string).collect();
    assert_eq!(rules, ["delete after deleting shop/db"]);
    let bad = hints(
        r#"{"config.kubernetes.io/depends-on": "\u0000/\u202e,x", "argocd.argoproj.io/sync-wave": "1e9",
            "kapp.k14s.io/change-group": "", "kapp.k14s.io/change-rule": "delete"}"#,
    );
    assert_eq!(bad, None, "nothing is stored");
}
