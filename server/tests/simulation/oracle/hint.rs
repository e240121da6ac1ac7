//! I1: of objects that only hints order, the one that they put first goes first. Hints are the annotations by which tools order what
//! they apply; they are undone in reverse (<https://carvel.dev/kapp/docs/latest/apply-ordering/>,
//! <https://argo-cd.readthedocs.io/en/stable/user-guide/sync-waves/>, `pkg/object/dependson` of cli-utils).

use serde_json::Value;

use super::State;
use crate::{
    application::HINTED,
    state::{kind, list, name, namespace, owners, text, uid},
};

/// The object that a hint puts in front of this one, and that is still there, if nothing else orders the two and both are in the
/// plan.
pub(super) fn left_in_front<'a>(
    plan: &Value,
    state: &'a State,
    object: &'a Value,
) -> Option<&'a Value> {
    let is_free = |it: &Value| name(it).starts_with(HINTED);
    let is_planned =
        |it: &Value| list(plan, "/steps").iter().any(|step| text(step, "/uid") == uid(it));
    let mut others = state.within(kind(object), namespace(object));
    others.find(|it| is_free(it) && is_free(object) && goes_before(it, object) && is_planned(it))
}

/// Whether a hint puts any object that is there in front of this one. A plan may have given that hint up.
pub(super) fn is_behind_another(state: &State, object: &Value) -> bool {
    state.all().any(|it| goes_before(it, object))
}

/// Whether a hint puts one object in front of another.
fn goes_before(first: &Value, then: &Value) -> bool {
    let has_owner = [first, then].into_iter().any(|it| owners(it).next().is_some());
    !has_owner
        && uid(first) != uid(then)
        && (depends_on(first, then) || is_in_later_wave(first, then) || has_rule(first, then))
}

fn annotation<'a>(object: &'a Value, key: &str) -> &'a str {
    object["metadata"]["annotations"][key].as_str().unwrap_or_default()
}

fn depends_on(object: &Value, on: &Value) -> bool {
    let group = text(on, "/apiVersion").rsplit_once('/').map_or("", |(group, _)| group);
    let within = match namespace(on) {
        "" => String::new(),
        namespace => format!("namespaces/{namespace}/"),
    };
    let wanted = format!("{group}/{within}{}/{}", kind(on), name(on));
    let named = annotation(object, "config.kubernetes.io/depends-on");
    named.split(',').any(|it| it.trim() == wanted)
}

fn is_in_later_wave(object: &Value, other: &Value) -> bool {
    let application = |it| annotation(it, "argocd.argoproj.io/tracking-id").split(':').next();
    let wave =
        |it| annotation(it, "argocd.argoproj.io/sync-wave").parse::<i32>().unwrap_or_default();
    application(object).is_some_and(|it| !it.is_empty())
        && application(object) == application(other)
        && wave(object) > wave(other)
}

/// Whether a change rule of one of two objects puts the first in front.
fn has_rule(first: &Value, then: &Value) -> bool {
    let app = |it: &Value| it["metadata"]["labels"]["kapp.k14s.io/app"].clone();
    let says = |ruled: &Value, texts: [&str; 2], group: &Value| {
        let rule = annotation(ruled, "kapp.k14s.io/change-rule");
        let group = annotation(group, "kapp.k14s.io/change-group");
        !group.is_empty() && texts.iter().any(|text| rule == format!("{text} {group}"))
    };
    app(first).is_string()
        && app(first) == app(then)
        && (says(first, ["delete before deleting", "upsert after upserting"], then)
            || says(then, ["delete after deleting", "upsert before upserting"], first))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn hinted(number: u32, app: &str, annotations: &Value) -> Value {
        let name = format!("{HINTED}{number}");
        let labels = json!({"kapp.k14s.io/app": app});
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {
                "name": name, "namespace": "a", "uid": name, "labels": labels, "annotations": annotations,
            },
        })
    }

    /// Whether the first goes before the second, and the second before the first.
    fn order(first: &Value, second: &Value) -> [bool; 2] {
        let plan = json!({"steps": [{"uid": uid(first)}, {"uid": uid(second)}]});
        let state = State::of([first.clone(), second.clone()]);
        [second, first].map(|deleted| left_in_front(&plan, &state, deleted).is_some())
    }

    fn dependent() -> Value {
        let on = json!({"config.kubernetes.io/depends-on": "/namespaces/a/ConfigMap/hinted-2"});
        hinted(1, "", &on)
    }

    #[test]
    fn object_goes_before_what_it_depends_on() {
        assert_eq!(order(&dependent(), &hinted(2, "", &json!({}))), [true, false]);
        assert_eq!(order(&dependent(), &hinted(3, "", &json!({}))), [false, false]);
    }

    #[test]
    fn change_rule_puts_an_object_before_or_behind_a_group() {
        let group = hinted(2, "7", &json!({"kapp.k14s.io/change-group": "example.com/base"}));
        for (rule, expected) in [
            ("delete before deleting example.com/base", [true, false]),
            ("upsert after upserting example.com/base", [true, false]),
            ("delete after deleting example.com/base", [false, true]),
            ("upsert before upserting example.com/base", [false, true]),
            ("delete before deleting example.com/other", [false, false]),
        ] {
            let ruled = |app| hinted(1, app, &json!({"kapp.k14s.io/change-rule": rule}));
            assert_eq!(order(&ruled("7"), &group), expected, "{rule}");
            assert_eq!(order(&ruled("8"), &group), [false, false], "another application");
        }
    }

    #[test]
    fn later_wave_of_an_application_goes_first() {
        let in_wave = |number, application: &str, wave: &str| {
            let id = format!("{application}:/ConfigMap:a/hinted");
            let annotations = json!({
                "argocd.argoproj.io/tracking-id": id, "argocd.argoproj.io/sync-wave": wave,
            });
            hinted(number, "", &annotations)
        };
        assert_eq!(order(&in_wave(1, "x", "2"), &in_wave(2, "x", "-1")), [true, false]);
        assert_eq!(order(&in_wave(1, "x", ""), &in_wave(2, "x", "1")), [false, true]);
        assert_eq!(order(&in_wave(1, "x", "2"), &in_wave(2, "y", "1")), [false, false]);
    }

    #[test]
    fn object_outside_the_plan_is_in_front_of_nothing() {
        let then = hinted(2, "", &json!({}));
        let state = State::of([dependent(), then.clone()]);
        assert!(left_in_front(&json!({"steps": []}), &state, &then).is_none());
        assert!(is_behind_another(&state, &then));
    }
}
