//! The values at a path of a spec.

use serde_json::Value;

use super::names::MOST;

/// Calls a function for every value at a path, with the field. `[]` stands for every entry of a list.
pub(super) fn visit(
    value: &Value,
    steps: &[&str],
    field: &str,
    act: &mut impl FnMut(&Value, &str),
) {
    let Some((step, rest)) = steps.split_first() else { return act(value, field) };
    match step.strip_suffix("[]") {
        Some(name) => {
            let list = value.get(name).and_then(Value::as_array);
            for (i, entry) in list.into_iter().flatten().enumerate().take(MOST) {
                visit(entry, rest, &format!("{field}.{name}[{i}]"), act);
            }
        }
        None => {
            if let Some(value) = value.get(*step) {
                visit(value, rest, &format!("{field}.{step}"), act);
            }
        }
    }
}
