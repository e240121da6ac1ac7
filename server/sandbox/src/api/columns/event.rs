//! The columns of Events. Events of `events.k8s.io` have other names for most of the same fields.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Column, age, int, text, wide};
use crate::object;

pub(super) fn columns() -> Vec<Column> {
    vec![
        text("Last Seen", |one, now| json!(last_seen(one, now))),
        text("Type", |one, _| json!(object::text(one, &["type"]))),
        text("Reason", |one, _| json!(object::text(one, &["reason"]))),
        text("Object", |one, _| {
            let about = about(one);
            let kind = object::text(about, &["kind"]).to_lowercase();
            json!(match object::text(about, &["name"]) {
                "" => kind,
                name => format!("{kind}/{name}"),
            })
        }),
        wide("Subobject", |one, _| json!(object::text(about(one), &["fieldPath"]))),
        wide("Source", |one, _| json!(source(one))),
        text("Message", |one, _| {
            json!(either(one, "message", "note").as_str().unwrap_or_default().trim())
        }),
        wide("First Seen", |one, now| json!(first_seen(one, now))),
        wide("Count", |one, _| json!(count(one))),
        Column::naming("Name", 1, |one, _| json!(object::name(one))),
    ]
}

/// A field by its name in the core group, or else by its name in `events.k8s.io`.
fn either<'a>(event: &'a Value, core: &str, other: &str) -> &'a Value {
    match &event[core] {
        Value::Null => &event[other],
        value => value,
    }
}

fn about(event: &Value) -> &Value {
    either(event, "involvedObject", "regarding")
}

fn first_seen(event: &Value, now: Timestamp) -> String {
    let first = either(event, "firstTimestamp", "deprecatedFirstTimestamp");
    age(if first.is_null() { &event["eventTime"] } else { first }, now)
}

fn last_seen(event: &Value, now: Timestamp) -> String {
    let last = either(event, "lastTimestamp", "deprecatedLastTimestamp");
    match &event["series"] {
        Value::Null if last.is_null() => first_seen(event, now),
        Value::Null => age(last, now),
        series => age(&series["lastObservedTime"], now),
    }
}

fn count(event: &Value) -> i64 {
    match &event["series"] {
        // An Event in the new style that happened once has no count.
        Value::Null => match int(either(event, "count", "deprecatedCount")) {
            0 => 1,
            count => count,
        },
        series => int(&series["count"]),
    }
}

/// The component that reports the Event, and the host or instance on which it runs.
fn source(event: &Value) -> String {
    let source = either(event, "source", "deprecatedSource");
    let reporter = either(event, "reportingComponent", "reportingController");
    let component = match object::text(source, &["component"]) {
        "" => reporter.as_str().unwrap_or_default(),
        component => component,
    };
    let instance = match object::text(source, &["host"]) {
        "" => object::text(event, &["reportingInstance"]),
        host => host,
    };
    if instance.is_empty() { component.to_owned() } else { format!("{component}, {instance}") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::{cells, check};

    #[test]
    fn event_has_equal_columns_in_both_groups() {
        let of_core = json!({
            "metadata": {"name": "a.1"}, "type": "Normal", "reason": "Killing", "message": " Stopping\n",
            "involvedObject": {"kind": "Pod", "name": "a", "fieldPath": "spec.containers{c}"},
            "source": {"component": "kubelet", "host": "n"}, "count": 4,
            "firstTimestamp": "2026-01-01T00:00:00Z", "lastTimestamp": "2026-01-01T00:59:00Z",
        });
        let (path, source) = ("spec.containers{c}", "kubelet, n");
        assert_eq!(
            cells("", "events", &of_core),
            json!(["60s", "Normal", "Killing", "pod/a", path, source, "Stopping", "60m", 4, "a.1"])
        );
        let mut other = json!({
            "metadata": {"name": "a.1"}, "type": "Normal", "reason": "Killing", "note": "Stopping",
            "regarding": {"kind": "Node"}, "reportingController": "kubelet", "reportingInstance": "n",
            "eventTime": "2026-01-01T00:58:00.000000Z",
        });
        assert_eq!(
            cells("events.k8s.io", "events", &other),
            json!(["2m", "Normal", "Killing", "node", "", source, "Stopping", "2m", 1, "a.1"])
        );
        other["series"] = json!({"count": 7, "lastObservedTime": "2026-01-01T00:59:30.000000Z"});
        let columns = ["Last Seen", "First Seen", "Count"];
        check("events.k8s.io", "events", &columns, &other, &json!(["30s", "2m", 7]));
        let columns = ["Last Seen", "Object", "Source", "First Seen", "Count"];
        let nothing = json!(["<unknown>", "", "", "<unknown>", 1]);
        check("", "events", &columns, &json!({}), &nothing);
    }
}
