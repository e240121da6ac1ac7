//! Labels and label selectors, in the format of `k8s.io/apimachinery/pkg/labels`.

use serde_json::Value;

use super::list;
use crate::object;

/// `FormatLabels`.
pub(super) fn pairs(labels: &Value) -> String {
    let pairs = labels.as_object().into_iter().flatten();
    let shown: Vec<_> =
        pairs.map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default())).collect();
    if shown.is_empty() { "<none>".into() } else { shown.join(",") }
}

/// `FormatLabelSelector`.
pub(super) fn selected(selector: &Value) -> String {
    match requirements(selector) {
        None => "<error>".into(),
        Some(all) if all.is_empty() => "<none>".into(),
        Some(all) => all,
    }
}

/// The requirements of a selector, sorted by key; `None` for an invalid selector (`LabelSelectorAsSelector`).
pub(super) fn requirements(selector: &Value) -> Option<String> {
    let labels = selector["matchLabels"].as_object().into_iter().flatten();
    let mut all: Vec<(&str, String)> = labels
        .map(|(key, value)| (key.as_str(), format!("{key}={}", value.as_str().unwrap_or_default())))
        .collect();
    for one in list(&selector["matchExpressions"]) {
        let key = object::text(one, &["key"]);
        let mut values: Vec<&str> = object::texts(one, &["values"]).collect();
        values.sort_unstable();
        let among = values.join(",");
        let shown = match (object::text(one, &["operator"]), values.is_empty()) {
            ("In", false) => format!("{key} in ({among})"),
            ("NotIn", false) => format!("{key} notin ({among})"),
            ("Exists", true) => key.to_owned(),
            ("DoesNotExist", true) => format!("!{key}"),
            _ => return None,
        };
        all.push((key, shown));
    }
    all.sort_by_key(|(key, _)| *key);
    let all: Vec<String> = all.into_iter().map(|(_, shown)| shown).collect();
    Some(all.join(","))
}

/// A selector as Go prints the struct, because some printers do not format it.
pub(super) fn structure(selector: &Value) -> String {
    let labels = selector["matchLabels"].as_object().into_iter().flatten();
    let labels: Vec<_> = labels
        .map(|(key, value)| format!("{key}: {},", value.as_str().unwrap_or_default()))
        .collect();
    let expressions: Vec<_> = list(&selector["matchExpressions"])
        .iter()
        .map(|one| {
            let part = |field| object::text(one, &[field]);
            let values: Vec<&str> = object::texts(one, &["values"]).collect();
            format!(
                "LabelSelectorRequirement{{Key:{},Operator:{},Values:[{}],}},",
                part("key"),
                part("operator"),
                values.join(" ")
            )
        })
        .collect();
    format!(
        "&LabelSelector{{MatchLabels:map[string]string{{{}}},MatchExpressions:[]LabelSelectorRequirement{{{}}},}}",
        labels.concat(),
        expressions.concat()
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn selector_is_formatted_by_key() {
        let wanted = |operator: &str, values: Value| json!({"matchExpressions": [{"key": "b", "operator": operator, "values": values}]});
        for (selector, expected) in [
            (json!(null), "<none>"),
            (json!({}), "<none>"),
            (json!({"matchLabels": {"b": "2", "a": "1"}}), "a=1,b=2"),
            (wanted("In", json!(["y", "x"])), "b in (x,y)"),
            (wanted("NotIn", json!(["x"])), "b notin (x)"),
            (wanted("Exists", json!(null)), "b"),
            (wanted("DoesNotExist", json!([])), "!b"),
            (wanted("In", json!([])), "<error>"),
            (wanted("Exists", json!(["x"])), "<error>"),
            (wanted("Like", json!(["x"])), "<error>"),
            (
                json!({"matchLabels": {"c": "3", "a": "1"}, "matchExpressions": [{"key": "b", "operator": "Exists"}]}),
                "a=1,b,c=3",
            ),
            (json!("everything"), "<none>"),
            (json!({"matchLabels": 1, "matchExpressions": [1]}), "<error>"),
        ] {
            assert_eq!(selected(&selector), expected, "{selector}");
        }
        assert_eq!(pairs(&json!({"b": "2", "a": ""})), "a=,b=2");
    }

    #[test]
    fn structure_is_formatted_as_in_go() {
        let selector = json!({
            "matchLabels": {"a": "1"},
            "matchExpressions": [{"key": "b", "operator": "In", "values": ["x", "y"]}],
        });
        let expected = "&LabelSelector{MatchLabels:map[string]string{a: 1,},MatchExpressions:[]LabelSelectorRequirement\
                        {LabelSelectorRequirement{Key:b,Operator:In,Values:[x y],},},}";
        assert_eq!(structure(&selector), expected);
    }
}
