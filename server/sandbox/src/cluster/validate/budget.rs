//! PodDisruptionBudgets (`kubernetes/pkg/apis/policy/validation`).

use serde_json::{Value, json};

use crate::status::Cause;

pub(super) fn spec(object: &Value, causes: &mut Vec<Cause>) {
    let spec = &object["spec"];
    let (least, most) = (&spec["minAvailable"], &spec["maxUnavailable"]);
    if !least.is_null() && !most.is_null() {
        // Go encodes a struct without JSON tags by its field names.
        let is = format!(
            "{{\"MinAvailable\":{least},\"Selector\":{},\"MaxUnavailable\":{most},\"UnhealthyPodEvictionPolicy\":{}}}",
            spec["selector"], spec["unhealthyPodEvictionPolicy"]
        );
        causes.push(Cause {
            reason: "FieldValueInvalid".into(),
            message: format!(
                "Invalid value: {is}: minAvailable and maxUnavailable cannot be both set"
            ),
            field: "spec".into(),
        });
    }
    for (field, value) in [("spec.minAvailable", least), ("spec.maxUnavailable", most)] {
        number_or_percent(field, value, causes);
    }
}

/// `ValidatePositiveIntOrPercent` and `IsNotMoreThan100Percent`.
fn number_or_percent(field: &str, value: &Value, causes: &mut Vec<Cause>) {
    let mut wrong = |why: &str| causes.push(Cause::invalid(field, &json!(value), why));
    match value {
        Value::Number(number) if number.as_i64().is_some_and(|number| number < 0) => {
            wrong("must be greater than or equal to 0");
        }
        Value::String(text) => match text.strip_suffix('%').map(str::parse::<u32>) {
            Some(Ok(percent)) if percent > 100 => wrong("must not be greater than 100%"),
            Some(Ok(_)) => {}
            _ => wrong(
                "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex \
                 used for validation is '[0-9]+%')",
            ),
        },
        _ => {}
    }
}
