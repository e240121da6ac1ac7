//! Custom resources against the schema of their definition, as far as types, required fields, enumerations and bounds
//! go. Patterns, formats and CEL rules are assumed to hold.

use serde_json::Value;

use crate::{object::json_type, status::Cause};

/// The errors in an object, except in its metadata, which is validated elsewhere.
pub(super) fn check(schema: &Value, object: &Value) -> Vec<Cause> {
    let mut causes = vec![];
    value(schema, object, "", &mut causes);
    causes
}

/// Removes the fields that the schema does not have, unless it preserves unknown fields.
pub(super) fn prune(schema: &Value, object: &mut Value) {
    prune_value(schema, object, true);
}

fn prune_value(schema: &Value, is: &mut Value, root: bool) {
    for one in is.as_array_mut().into_iter().flatten() {
        prune_value(&schema["items"], one, false);
    }
    let Some(map) = is.as_object_mut() else { return };
    let (properties, others) = (&schema["properties"], &schema["additionalProperties"]);
    let keeps = schema["x-kubernetes-preserve-unknown-fields"] == true || *others == true;
    let of_object = |name: &str| root && ["metadata", "apiVersion", "kind"].contains(&name);
    map.retain(|name, _| {
        keeps || others.is_object() || of_object(name) || !properties[name].is_null()
    });
    for (name, one) in map.iter_mut().filter(|(name, _)| !of_object(name)) {
        let property = &properties[name];
        let property = if property.is_null() { others } else { property };
        if property.is_object() {
            prune_value(property, one, false);
        }
    }
}

fn value(schema: &Value, is: &Value, field: &str, causes: &mut Vec<Cause>) {
    if is.is_null() && schema["nullable"] == true {
        return;
    }
    let expected = schema["type"].as_str().unwrap_or_default();
    let sort = match is {
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        other => json_type(other),
    };
    let fits = expected.is_empty()
        || expected == sort
        || expected == "number" && sort == "integer"
        || schema["x-kubernetes-int-or-string"] == true;
    if !fits {
        causes.push(Cause {
            reason: "FieldValueTypeInvalid".into(),
            message: format!(
                "Invalid value: {sort:?}: {field} in body must be of type {expected}: {sort:?}"
            ),
            field: field.into(),
        });
        return;
    }
    for (bound, word) in [("minimum", "greater"), ("maximum", "less")] {
        if let (Some(limit), Some(number)) = (schema[bound].as_f64(), is.as_f64())
            && (if bound == "minimum" { number < limit } else { number > limit })
        {
            let limit = &schema[bound];
            let why = format!("{field} in body should be {word} than or equal to {limit}");
            causes.push(Cause::invalid(field, is, &why));
        }
    }
    if let Some(words) = schema["enum"].as_array()
        && !words.contains(is)
    {
        let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
        causes.push(Cause::not_supported(field, is, &words));
    }
    let below = |name: &str| if field.is_empty() { name.into() } else { format!("{field}.{name}") };
    if let Some(map) = is.as_object() {
        for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            if !map.contains_key(name) {
                causes.push(Cause::required(&below(name), ""));
            }
        }
        for (name, one) in map {
            let property = &schema["properties"][name];
            let property =
                if property.is_null() { &schema["additionalProperties"] } else { property };
            let of_object = ["metadata", "apiVersion", "kind"].contains(&name.as_str());
            if property.is_object() && !(field.is_empty() && of_object) {
                value(property, one, &below(name), causes);
            }
        }
    }
    for (index, one) in is.as_array().into_iter().flatten().enumerate() {
        value(&schema["items"], one, &format!("{field}[{index}]"), causes);
    }
}
