//! The kinds that a CustomResourceDefinition adds, and the status that it gets.

use serde_json::{Value, json};

use super::{Dependents, Kind, table};

/// The served kinds of a CustomResourceDefinition, the stored version first; none before its names are accepted.
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
            converter: converter(spec),
            declared: version.clone(),
            since: 0,
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

/// The versions in which objects may be stored (`status.storedVersions`): the previous ones, and the current one.
#[must_use]
pub fn stored_versions(definition: &Value) -> Value {
    let known = &definition["status"]["storedVersions"];
    let mut stored = known.as_array().cloned().unwrap_or_default();
    for version in definition["spec"]["versions"].as_array().into_iter().flatten() {
        if version["storage"] == true && !stored.contains(&version["name"]) {
            stored.push(version["name"].clone());
        }
    }
    stored.into()
}

fn converter(spec: &Value) -> Value {
    let conversion = &spec["conversion"];
    if conversion["strategy"] == "Webhook" { conversion["webhook"].clone() } else { Value::Null }
}

/// The status of a CustomResourceDefinition after the naming and establishing controllers have checked its names.
/// `taken` are the names of the other definitions of its group.
#[must_use]
pub fn accepted(definition: &Value, taken: &[&Value], now: &Value) -> Value {
    let names = &definition["spec"]["names"];
    let mut status = definition["status"].clone();
    if !status.is_object() {
        status = json!({});
    }
    let conflict = conflict(names, taken);
    let before = status["conditions"].as_array().cloned().unwrap_or_default();
    let condition = |kind: &str, holds: bool, reason: &str, message: &str| {
        let word = if holds { "True" } else { "False" };
        let same = before.iter().find(|one| one["type"] == kind && one["status"] == word);
        let since = same.map_or(now, |one| &one["lastTransitionTime"]);
        json!({"type": kind, "status": word, "lastTransitionTime": since, "reason": reason, "message": message})
    };
    let established =
        before.iter().find(|one| one["type"] == "Established" && one["status"] == "True");
    let mut conditions = match &conflict {
        None => vec![
            condition("NamesAccepted", true, "NoConflicts", "no conflicts found"),
            condition(
                "Established",
                true,
                "InitialNamesAccepted",
                "the initial names have been accepted",
            ),
        ],
        Some((reason, name)) => vec![
            condition("NamesAccepted", false, reason, &format!("{name:?} is already in use")),
            // A definition that was established once stays established, with the names that it has.
            established.cloned().unwrap_or_else(|| {
                condition("Established", false, "NotAccepted", "not all names are accepted")
            }),
        ],
    };
    conditions.extend(
        before
            .iter()
            .filter(|one| !["NamesAccepted", "Established"].map(Value::from).contains(&one["type"]))
            .cloned(),
    );
    status["conditions"] = conditions.into();
    if conflict.is_none() {
        status["acceptedNames"] = names.clone();
    }
    status["storedVersions"] = stored_versions(definition);
    status
}

/// The conflict of a name with another definition; of several, the last one, as the naming controller reports it.
fn conflict(names: &Value, taken: &[&Value]) -> Option<(&'static str, String)> {
    let text = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(String::from);
    let resources = |names: &Value| {
        let short = names["shortNames"].as_array().into_iter().flatten();
        let long = [&names["plural"], &names["singular"]];
        long.into_iter().chain(short).filter_map(text).collect::<Vec<_>>()
    };
    let kinds = |names: &Value| {
        [&names["kind"], &names["listKind"]].into_iter().filter_map(text).collect::<Vec<_>>()
    };
    let all_resources: Vec<String> = taken.iter().flat_map(|names| resources(names)).collect();
    let all_kinds: Vec<String> = taken.iter().flat_map(|names| kinds(names)).collect();
    let mut found = None;
    let mut look = |reason, name: Option<String>, among: &[String]| {
        found =
            name.filter(|name| among.contains(name)).map(|name| (reason, name)).or(found.take());
    };
    look("PluralConflict", text(&names["plural"]), &all_resources);
    look("SingularConflict", text(&names["singular"]), &all_resources);
    for short in names["shortNames"].as_array().into_iter().flatten() {
        look("ShortNamesConflict", text(short), &all_resources);
    }
    look("KindConflict", text(&names["kind"]), &all_kinds);
    look("ListKindConflict", text(&names["listKind"]), &all_kinds);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definition_serves_the_names_that_it_accepted() {
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
        definition["status"] = accepted(&definition, &[], &json!("2026-01-01T00:00:00Z"));
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
