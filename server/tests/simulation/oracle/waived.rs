//! The losses of others that a person confirmed: an object that was waived need not wait for those that use it.

use serde_json::Value;

use crate::state::{State, list, owners, text, uid};

/// Whether a plan says that an object goes although this one uses it. An object that a confirmed user owns counts as well. A
/// webhook configuration is waived with its rules, whatever they match of what the plan does not delete.
pub(super) fn is_waived(plan: &Value, state: &State, object: &Value, user: &Value) -> bool {
    let has =
        |row: &Value, field: &str, wanted: &str| list(row, field).iter().any(|it| it == wanted);
    let mut rows = list(plan, "/waived").iter().filter(|row| has(row, "/covers", uid(object)));
    let goes = || list(plan, "/steps").iter().any(|step| text(step, "/uid") == uid(user));
    rows.any(|row| match row["edge"].as_str() {
        Some("Guards") => !goes(),
        _ => descends(state, user, &|uid| has(row, "/known", uid)),
    })
}

/// Whether an object is such a one, or has an owner that is, at any distance.
fn descends(state: &State, object: &Value, is_one: &dyn Fn(&str) -> bool) -> bool {
    is_one(uid(object))
        || owners(object).any(|owner| {
            let owner = text(owner, "/uid");
            is_one(owner) || state.by_uid(owner).is_some_and(|it| descends(state, it, is_one))
        })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(kind: &str, uid: &str, owner: &str) -> Value {
        let owners = json!([{"kind": "ReplicaSet", "uid": owner}]);
        let metadata =
            json!({"name": uid, "namespace": "a", "uid": uid, "ownerReferences": owners});
        json!({"kind": kind, "metadata": metadata})
    }

    #[test]
    fn user_is_excused_if_it_was_confirmed_for_this_object() {
        let plan = json!({"waived": [{"edge": "Mounts", "covers": ["c"], "known": ["d"]}]});
        let set = object("ReplicaSet", "r", "d");
        let state = State::of([set.clone()]);
        let is =
            |of: &str, user: &Value| is_waived(&plan, &state, &object("ConfigMap", of, ""), user);
        assert!(is("c", &object("Deployment", "d", "")) && is("c", &set));
        assert!(is("c", &object("Pod", "p", "r")), "its workload was confirmed");
        assert!(!is("c", &object("Pod", "p", "")), "nobody confirmed it");
        assert!(!is("b", &set), "the other object was not waived");
    }

    #[test]
    fn webhook_is_waived_for_whatever_the_plan_leaves() {
        let row = json!({"edge": "Guards", "covers": ["w"], "known": []});
        let plan = json!({"waived": [row], "steps": [{"uid": "c"}]});
        let (state, webhook) = (State::of([]), object("ValidatingWebhookConfiguration", "w", ""));
        let is = |uid: &str| is_waived(&plan, &state, &webhook, &object("ConfigMap", uid, ""));
        assert!(is("d") && !is("c"));
    }
}
