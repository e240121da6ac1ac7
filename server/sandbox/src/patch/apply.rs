//! The part of server-side apply that adds and changes fields: the applied configuration is merged in, lists by their
//! keys. Fields that it removes depend on their managers.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::Value;

use crate::kind::{Element, List, Shape};

/// The object with the applied configuration merged in. A null in the configuration has no effect.
pub(super) fn merged(shape: Shape<'_>, object: &Value, applied: &Value) -> Value {
    match (object, applied) {
        (_, Value::Object(said)) => {
            let had = object.as_object().filter(|_| !shape.is_whole());
            let mut map = had.cloned().unwrap_or_default();
            for (name, value) in said.iter().filter(|(_, value)| !value.is_null()) {
                let old = had.and_then(|had| had.get(name)).unwrap_or(&Value::Null);
                let new = merged(shape.member(name), old, value);
                map.insert(name.clone(), new);
            }
            map.into()
        }
        (Value::Array(had), Value::Array(said)) => list(shape, had, said),
        _ => applied.clone(),
    }
}

/// Merges lists. Items that are in both lists have the order of the applied one. The other existing items keep their
/// position next to those (`visitListItems` of `structured-merge-diff`).
fn list(shape: Shape<'_>, had: &[Value], said: &[Value]) -> Value {
    let sort = shape.list(if said.is_empty() { had } else { said });
    let elements = |items: &[Value]| -> Option<Vec<Element>> {
        items.iter().map(|item| sort.element(item)).collect()
    };
    let (Some(before), Some(after)) = (elements(had), elements(said)) else {
        return said.into();
    };
    if sort == List::Whole {
        return said.into();
    }
    let is_said: BTreeSet<&Element> = after.iter().collect();
    let was: BTreeMap<&Element, &Value> = before.iter().zip(had).collect();
    let mut shared: VecDeque<&Element> = after.iter().filter(|it| was.contains_key(it)).collect();
    let mut done: BTreeSet<&Element> = BTreeSet::new();
    let mut items = vec![];
    let (mut left, mut right) = (0, 0);
    while left < had.len() || right < said.len() {
        if let (Some(old), Some(new)) = (before.get(left), after.get(right))
            && old != new
            && is_said.contains(old)
            && shared.front().is_some_and(|next| *next != old)
        {
            // An applied item is added at its position in the applied list.
            left += 1;
            continue;
        }
        if let Some(old) = before.get(left)
            && after.get(right) != Some(old)
        {
            if !is_said.contains(old) {
                items.push(had[left].clone());
                left += 1;
                continue;
            }
            if done.contains(old) {
                left += 1;
            }
        }
        if let Some(new) = after.get(right) {
            let old = was.get(new).copied().unwrap_or(&Value::Null);
            items.push(merged(shape.item(), old, &said[right]));
            done.insert(new);
            right += 1;
            if before.get(left) == Some(new) {
                left += 1;
            }
            if shared.front() == Some(&new) {
                shared.pop_front();
            }
        }
    }
    items.into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn items_keep_the_order_of_who_applies_them() {
        let order = |had: &[&str], said: &[&str]| {
            merged(Shape::Field("finalizers"), &json!(had), &json!(said))
        };
        for (had, said, becomes) in [
            (vec!["x"], vec!["y", "x"], vec!["y", "x"]),
            (vec!["a"], vec!["b"], vec!["a", "b"]),
            (vec!["a", "b", "c"], vec!["c", "a"], vec!["b", "c", "a"]),
            (vec!["a", "b", "c"], vec!["a", "d", "c"], vec!["a", "b", "d", "c"]),
            (vec!["a", "b"], vec![], vec!["a", "b"]),
            (vec![], vec!["a", "b"], vec!["a", "b"]),
            (vec!["a"], vec!["a", "a"], vec!["a", "a"]),
        ] {
            assert_eq!(order(&had, &said), json!(becomes), "{had:?} {said:?}");
        }
    }

    #[test]
    fn atomic_value_is_replaced() {
        let object = json!({"selector": {"a": "b"}, "args": [1, 2], "data": {"a": "b"}, "gone": 1});
        let applied =
            json!({"selector": {"c": "d"}, "args": [3], "data": {"c": "d"}, "gone": null});
        let becomes =
            json!({"selector": {"c": "d"}, "args": [3], "data": {"a": "b", "c": "d"}, "gone": 1});
        assert_eq!(merged(Shape::Field(""), &object, &applied), becomes);
    }
}
