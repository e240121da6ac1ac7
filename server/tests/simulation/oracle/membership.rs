//! I2: a DELETE takes only what somebody declared part of the unit, or what a person included; and no data that a person chose
//! to keep. Nothing is kept for an object whose finisher it only may be.

use serde_json::Value;

use super::{Evidence, Violation};
use crate::{
    application::OPERATOR,
    state::{State, kind, list, name, namespace, owners, text, title, uid, unit},
};

/// The operators that a plan keeps for the objects of others, although nothing says that they clear their finalizers: they have
/// no ServiceAccount, so that they have no rights.
pub(super) fn keeps(evidence: &Evidence, violations: &mut Vec<Violation>) {
    let plans = evidence.journal.runs.iter().filter_map(|(_, id)| evidence.journal.plans.get(id));
    for kept in plans.flat_map(|plan| list(plan, "/kept")) {
        let finishes = &kept["reason"]["usedBy"]["edge"] == "Finishes";
        let found = evidence.events.iter().find(|it| uid(&it.object) == text(kept, "/uid"));
        let Some(event) = found.filter(|_| finishes) else { continue };
        let is_operator = !event.object["metadata"]["labels"][OPERATOR].is_null();
        if is_operator && !has_account(&event.object) {
            let text =
                format!("{} is kept, and may not be a finisher at all", title(&event.object));
            violations.push(Violation::new("I2", text));
        }
    }
}

/// Whether an operator has a ServiceAccount of its own. The API server gives `default` to a Pod that names none.
fn has_account(operator: &Value) -> bool {
    let template = match kind(operator) {
        "Pod" => "/spec/serviceAccountName",
        _ => "/spec/template/spec/serviceAccountName",
    };
    !matches!(text(operator, template), "" | "default")
}

/// The reason why a DELETE takes something that nobody declared part of the unit or included.
pub(super) fn unclaimed_touched(plan: &Value, state: &State, object: &Value) -> Option<String> {
    let is_a_unit_by_name = text(plan, "/unit").starts_with("ns:");
    let name = format!("{}/{}/{}", kind(object), namespace(object), name(object));
    let is_touched = !is_a_unit_by_name
        && is_unclaimed(state, object)
        && !has(plan, "include", "*")
        && !has(plan, "include", &name);
    is_touched.then(|| format!("{} is unclaimed, and nobody included it", title(object)))
}

/// The reason why a DELETE takes data that its plan keeps.
pub(super) fn data_not_kept(plan: &Value, object: &Value) -> Option<String> {
    let is_data = matches!(kind(object), "PersistentVolumeClaim" | "PersistentVolume");
    let is_a_pods_own = owners(object).any(|owner| owner["kind"] == "Pod");
    (has(plan, "keep", "data") && is_data && !is_a_pods_own)
        .then(|| format!("{} holds data that was to be kept", title(object)))
}

/// Whether a choice of a plan has this value.
fn has(plan: &Value, choice: &str, value: &str) -> bool {
    list(plan, "/choices").iter().any(|it| it[choice] == value)
}

/// Whether nothing declares an object part of a unit, although other objects of its namespace are declared. The generated
/// applications declare with the label part-of alone.
fn is_unclaimed(state: &State, object: &Value) -> bool {
    let inside = namespace(object);
    if inside.is_empty() || !unit(object).is_empty() || state.is_made_for_another(object) {
        return false;
    }
    kind(object) == "PersistentVolumeClaim" || state.was_declared_in(inside)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn claim(labels: &Value) -> Value {
        json!({
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "data", "namespace": "a", "uid": "c", "labels": labels},
        })
    }

    #[test]
    fn account_of_an_operator_is_that_of_its_pods() {
        let deployment =
            |spec: Value| json!({"kind": "Deployment", "spec": {"template": {"spec": spec}}});
        let pod = |spec: Value| json!({"kind": "Pod", "spec": spec});
        let own = json!({"serviceAccountName": "operator"});
        assert!(has_account(&deployment(own.clone())) && has_account(&pod(own)));
        assert!(!has_account(&deployment(json!({}))) && !has_account(&pod(json!({}))));
        assert!(!has_account(&pod(json!({"serviceAccountName": "default"}))));
    }

    #[test]
    fn unclaimed_object_goes_only_if_it_was_included() {
        let nobodys = claim(&json!({}));
        let state = State::of([nobodys.clone()]);
        let of = |choices: Value| unclaimed_touched(&json!({"choices": choices}), &state, &nobodys);
        assert!(of(json!([])).is_some_and(|text| text.contains("nobody included it")));
        assert_eq!(of(json!([{"include": "*"}])), None);
        assert_eq!(of(json!([{"include": "PersistentVolumeClaim/a/data"}])), None);
        assert!(of(json!([{"include": "PersistentVolumeClaim/b/data"}])).is_some());
        let namespace = json!({"unit": "ns:a", "choices": []});
        assert_eq!(unclaimed_touched(&namespace, &state, &nobodys), None);
        let declared = claim(&json!({"app.kubernetes.io/part-of": "alpha"}));
        assert_eq!(unclaimed_touched(&json!({}), &State::of([declared.clone()]), &declared), None);
    }

    #[test]
    fn data_that_is_kept_is_not_deleted() {
        let plan = json!({"choices": [{"keep": "data"}]});
        let mut declared = claim(&json!({"app.kubernetes.io/part-of": "alpha"}));
        assert!(data_not_kept(&plan, &declared).is_some_and(|it| it.contains("to be kept")));
        declared["metadata"]["ownerReferences"] = json!([{"kind": "Pod", "uid": "p"}]);
        assert_eq!(data_not_kept(&plan, &declared), None, "it goes with its Pod");
    }
}
