//! What a CustomResourceDefinition adds to the kinds that are served.

use serde_json::{Value, json};

use super::{Dependents, Kind, table};

/// The kinds of a definition that are served, the stored version first; none before its names are accepted.
#[must_use]
pub fn kinds_of(definition: &Value) -> Vec<Kind> {
    let accepted_names = &definition["status"]["acceptedNames"];
    let spec = &definition["spec"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let texts =
        |value: &Value| value.as_array().into_iter().flatten().map(text).collect::<Vec<_>>();
    let (kind, plural) = (text(&accepted_names["kind"]), text(&accepted_names["plural"]));
    if kind.is_empty() || plural.is_empty() {
        return vec![];
    }
    let mut kinds: Vec<(bool, Kind)> = vec![];
    for version in spec["versions"].as_array().into_iter().flatten() {
        if version["served"] != true {
            continue;
        }
        let mut one = Kind {
            group: text(&spec["group"]),
            version: text(&version["name"]),
            kind: kind.clone(),
            plural: plural.clone(),
            singular: accepted_names["singular"]
                .as_str()
                .map_or_else(|| kind.to_lowercase(), str::to_owned),
            short_names: texts(&accepted_names["shortNames"]),
            categories: texts(&accepted_names["categories"]),
            namespaced: spec["scope"] == "Namespaced",
            verbs: table::VERBS.map(String::from).to_vec(),
            subresources: vec![],
            generation: true,
            dependents: Dependents::Deleted,
            unconditional_update: false,
            definition: text(&definition["metadata"]["name"]),
            api_service: String::new(),
        };
        for name in ["status", "scale"] {
            if version["subresources"].get(name).is_some_and(|value| !value.is_null()) {
                one.subresources.push(table::subresource(&one, name));
            }
        }
        kinds.push((version["storage"] != true, one));
    }
    kinds.sort_by_key(|(other, _)| *other);
    kinds.into_iter().map(|(_, kind)| kind).collect()
}

/// The definition's status once its names are accepted and it is served, as the naming and establishing controllers
/// leave it.
#[must_use]
pub fn accepted(definition: &Value, now: &Value) -> Value {
    let names = &definition["spec"]["names"];
    let mut status = definition["status"].clone();
    if !status.is_object() {
        status = json!({});
    }
    let condition = |kind: &str, reason: &str, message: &str| json!({"type": kind, "status": "True", "lastTransitionTime": now, "reason": reason, "message": message});
    let stored = definition["spec"]["versions"].as_array().into_iter().flatten();
    let stored: Vec<_> = stored
        .filter(|version| version["storage"] == true)
        .map(|version| version["name"].clone())
        .collect();
    let mut conditions = vec![
        condition("NamesAccepted", "NoConflicts", "no conflicts found"),
        condition("Established", "InitialNamesAccepted", "the initial names have been accepted"),
    ];
    let others = status["conditions"].as_array().into_iter().flatten();
    conditions.extend(
        others
            .filter(|one| !["NamesAccepted", "Established"].map(Value::from).contains(&one["type"]))
            .cloned(),
    );
    status["conditions"] = conditions.into();
    status["acceptedNames"] = names.clone();
    if status["storedVersions"].as_array().is_none_or(Vec::is_empty) {
        status["storedVersions"] = stored.into();
    }
    status
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_definition_serves_what_it_accepted() {
        let mut definition = json!({
            "metadata": {"name": "widgets.example.com"},
            "spec": {
                "group": "example.com", "scope": "Namespaced",
                "names": {"kind": "Widget", "plural": "widgets", "singular": "widget", "shortNames": ["wd"]},
                "versions": [
                    {"name": "v1beta1", "served": true, "storage": false},
                    {"name": "v1", "served": true, "storage": true, "subresources": {"status": {}}},
                    {"name": "v0", "served": false, "storage": false},
                ],
            },
        });
        assert_eq!(kinds_of(&definition), []);
        definition["status"] = accepted(&definition, &json!("2026-01-01T00:00:00Z"));
        let kinds = kinds_of(&definition);
        assert_eq!(
            kinds.iter().map(|kind| kind.version.as_str()).collect::<Vec<_>>(),
            ["v1", "v1beta1"]
        );
        assert!(
            kinds[0].subresource("status").is_some() && kinds[1].subresource("status").is_none()
        );
        assert_eq!(definition["status"]["storedVersions"], json!(["v1"]));
        assert_eq!(kinds_of(&json!("nonsense")), []);
    }
}
