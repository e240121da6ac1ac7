//! The columns of HorizontalPodAutoscalers.

use serde_json::{Value, json};

use super::{AGE, Column, NAME, amount, int, list, text};
use crate::object;

pub(super) fn columns() -> Vec<Column> {
    vec![
        NAME,
        text("Reference", |one, _| {
            let part = |field| object::text(one, &["spec", "scaleTargetRef", field]);
            json!(format!("{}/{}", part("kind"), part("name")))
        }),
        text("Targets", |one, _| json!(targets(one))),
        text("MinPods", |one, _| {
            let least = one["spec"]["minReplicas"].as_i64();
            json!(least.map_or("<unset>".into(), |least| least.to_string()))
        }),
        text("MaxPods", |one, _| json!(int(&one["spec"]["maxReplicas"]))),
        text("Replicas", |one, _| json!(int(&one["status"]["currentReplicas"]))),
        AGE,
    ]
}

/// The current and target values of the first two metrics (`formatHPAMetrics`).
fn targets(scaler: &Value) -> String {
    let metrics = list(&scaler["spec"]["metrics"]);
    let measured = &scaler["status"]["currentMetrics"];
    let all = metrics.iter().enumerate().map(|(at, metric)| target(metric, &measured[at]));
    let shown = all.take(2).collect::<Vec<_>>().join(", ");
    match metrics.len() {
        0 => "<none>".into(),
        1..=2 => shown,
        all => format!("{shown} + {} more...", all - 2),
    }
}

fn target(metric: &Value, measured: &Value) -> String {
    let source = match object::text(metric, &["type"]) {
        "External" => "external",
        "Object" => "object",
        "Pods" => "pods",
        "Resource" => "resource",
        "ContainerResource" => "containerResource",
        _ => return "<unknown type>".into(),
    };
    let (aim, average) = (&metric[source]["target"], &metric[source]["target"]["averageValue"]);
    let current = |field: &str| match &measured[source] {
        Value::Null => "<unknown>".into(),
        measured => amount_or_nil(&measured["current"][field]),
    };
    let percent = |value: &Value, instead: &str| match value.as_i64() {
        Some(percent) => format!("{percent}%"),
        None => instead.into(),
    };
    let name = object::text(metric, &[source, "name"]);
    match (source, average) {
        ("pods", _) => format!("{}/{}", current("averageValue"), amount_or_nil(average)),
        ("resource" | "containerResource", Value::Null) => {
            let used = &measured[source]["current"]["averageUtilization"];
            let (used, aim) =
                (percent(used, "<unknown>"), percent(&aim["averageUtilization"], "<auto>"));
            format!("{name}: {used}/{aim}")
        }
        ("resource" | "containerResource", _) => {
            format!("{name}: {}/{}", current("averageValue"), amount(average))
        }
        (_, Value::Null) => format!("{}/{}", current("value"), amount_or_nil(&aim["value"])),
        _ => {
            let current = match &measured[source]["current"]["averageValue"] {
                Value::Null => "<unknown>".into(),
                value => amount(value),
            };
            format!("{current}/{} (avg)", amount(average))
        }
    }
}

/// A quantity, or `<nil>`, as Go prints a required quantity that is absent.
fn amount_or_nil(value: &Value) -> String {
    if value.is_null() { "<nil>".into() } else { amount(value) }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::tests::{cells, check};

    #[test]
    fn metric_is_shown_with_its_target() {
        let mut one = json!({
            "metadata": {"name": "a"},
            "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "web"}, "maxReplicas": 5},
            "status": {"currentReplicas": 2},
        });
        let (autoscaling, plural, age) = ("autoscaling", "horizontalpodautoscalers", "<unknown>");
        assert_eq!(
            cells(autoscaling, plural, &one),
            json!(["a", "Deployment/web", "<none>", "<unset>", 5, 2, age])
        );
        one["spec"]["minReplicas"] = json!(1);
        check(autoscaling, plural, &["MinPods"], &one, &json!(["1"]));
        let metric = |sort: &str, field: &str, target: Value| json!({"type": sort, field: {"name": "cpu", "target": target}});
        let measured = |field: &str, current: Value| json!({field: {"current": current}});
        let used = |percent: i64| json!({"averageUtilization": percent});
        let (average, value) = (
            |amount: &str| json!({"averageValue": amount}),
            |amount: &str| json!({"value": amount}),
        );
        for (metrics, current, expected) in [
            (
                vec![metric("Resource", "resource", used(80))],
                vec![measured("resource", used(7))],
                "cpu: 7%/80%",
            ),
            (vec![metric("Resource", "resource", json!({}))], vec![], "cpu: <unknown>/<auto>"),
            (
                vec![metric("ContainerResource", "containerResource", average("1000m"))],
                vec![measured("containerResource", average("250m"))],
                "cpu: 250m/1",
            ),
            (
                vec![
                    metric("Pods", "pods", average("10")),
                    metric("Object", "object", value("2k")),
                ],
                vec![measured("pods", average("9500m")), measured("object", json!({}))],
                "9500m/10, <nil>/2k",
            ),
            (
                vec![
                    metric("External", "external", average("3")),
                    metric("External", "external", value("3")),
                    json!({"type": "Else"}),
                    json!({}),
                ],
                vec![measured("external", value("1")), measured("external", value("2"))],
                "<unknown>/3 (avg), 2/3 + 2 more...",
            ),
            (vec![json!({"type": "Else"})], vec![], "<unknown type>"),
        ] {
            one["spec"]["metrics"] = json!(metrics);
            one["status"]["currentMetrics"] = json!(current);
            check(autoscaling, plural, &["Targets"], &one, &json!([expected]));
        }
    }
}
