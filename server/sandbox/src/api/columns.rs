//! The columns of tables, per kind, as `kubernetes/pkg/printers/internalversion` has them.

mod administration;
mod json_path;

use std::borrow::Cow;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::{clock, kind::Kind, object};

/// A column, and how its cell is made.
pub(super) struct Column {
    name: Cow<'static, str>,
    sort: Cow<'static, str>,
    /// Above zero, shown with `-o wide` only.
    priority: i64,
    cell: Cell,
}

enum Cell {
    Made(fn(&Value, Timestamp) -> Value),
    /// What is at a path, as a definition names it: `.spec.size`.
    At(String),
}

impl Column {
    const fn made(
        name: &'static str,
        sort: &'static str,
        priority: i64,
        cell: fn(&Value, Timestamp) -> Value,
    ) -> Self {
        let (name, sort) = (Cow::Borrowed(name), Cow::Borrowed(sort));
        Self { name, sort, priority, cell: Cell::Made(cell) }
    }

    /// One of `additionalPrinterColumns`.
    fn declared(column: &Value) -> Self {
        let text = |field: &str| Cow::Owned(object::text(column, &[field]).to_owned());
        Self {
            name: text("name"),
            sort: text("type"),
            priority: column["priority"].as_i64().unwrap_or_default(),
            cell: Cell::At(text("jsonPath").into_owned()),
        }
    }

    pub(super) fn cell(&self, object: &Value, now: Timestamp) -> Value {
        match &self.cell {
            Cell::Made(make) => make(object, now),
            Cell::At(path) => match json_path::find(object, path).first() {
                Some(found) => self.declared_cell(found, now),
                None => Value::Null,
            },
        }
    }

    /// What was found, as the type of its column shows it; null where it is of another (`cellForJSONValue`).
    fn declared_cell(&self, found: &Value, now: Timestamp) -> Value {
        match (&*self.sort, found) {
            ("string", Value::Null) => json!("<no value>"),
            ("string", Value::String(_)) => found.clone(),
            ("string", other) => json!(other.to_string()),
            #[expect(clippy::cast_possible_truncation, reason = "as the real one does")]
            ("integer", Value::Number(number)) => match number.as_f64() {
                Some(float) if number.is_f64() => json!(float as i64),
                _ => found.clone(),
            },
            ("number", Value::Number(_)) | ("boolean", Value::Bool(_)) => found.clone(),
            ("date", Value::String(_)) if clock::read(found).is_none() => json!("<invalid>"),
            ("date", Value::String(_)) => json!(age(found, now)),
            _ => Value::Null,
        }
    }

    pub(super) fn definition(&self) -> Value {
        let format = if self.name == "Name" { "name" } else { "" };
        json!({
            "name": self.name, "type": self.sort, "format": format, "description": "",
            "priority": self.priority,
        })
    }
}

const fn text(name: &'static str, cell: fn(&Value, Timestamp) -> Value) -> Column {
    Column::made(name, "string", 0, cell)
}

const fn wide(name: &'static str, cell: fn(&Value, Timestamp) -> Value) -> Column {
    Column::made(name, "string", 1, cell)
}

const fn containers() -> Column {
    wide("Containers", |one, _| of_containers(one, "name"))
}

const fn images() -> Column {
    wide("Images", |one, _| of_containers(one, "image"))
}

/// The labels that a workload or a Service selects by; expressions are left out.
const fn selector() -> Column {
    wide("Selector", |one, _| {
        let selector = &one["spec"]["selector"];
        let labels = selector.get("matchLabels").unwrap_or(selector).as_object();
        let pair = |(key, value): (&String, &Value)| Some(format!("{key}={}", value.as_str()?));
        let pairs: Vec<_> = labels.into_iter().flatten().filter_map(pair).collect();
        json!(if pairs.is_empty() { "<none>".into() } else { pairs.join(",") })
    })
}

const fn number(name: &'static str, cell: fn(&Value, Timestamp) -> Value) -> Column {
    Column::made(name, "integer", 0, cell)
}

const fn boolean(name: &'static str, cell: fn(&Value, Timestamp) -> Value) -> Column {
    Column::made(name, "boolean", 0, cell)
}

const NAME: Column = text("Name", |object, _| json!(object::name(object)));
const AGE: Column =
    text("Age", |object, now| json!(age(&object["metadata"]["creationTimestamp"], now)));
const CREATED: Column = Column::made("Created At", "date", 0, |object, _| {
    object["metadata"]["creationTimestamp"].clone()
});

pub(super) fn of(kind: &Kind) -> Vec<Column> {
    let middle: Vec<Column> = match (kind.group.as_str(), kind.plural.as_str()) {
        ("", "pods") => vec![
            text("Ready", |pod, _| {
                let statuses = pod["status"]["containerStatuses"].as_array();
                let ready =
                    statuses.into_iter().flatten().filter(|one| one["ready"] == true).count();
                json!(format!("{ready}/{}", length(&pod["spec"]["containers"])))
            }),
            text("Status", |pod, _| json!(pod_status(pod))),
            text("Restarts", |pod, _| {
                let statuses = pod["status"]["containerStatuses"].as_array();
                let count: i64 = statuses
                    .into_iter()
                    .flatten()
                    .filter_map(|one| one["restartCount"].as_i64())
                    .sum();
                json!(count.to_string())
            }),
            AGE,
            wide("IP", |pod, _| or_none(&pod["status"]["podIP"])),
            wide("Node", |pod, _| or_none(&pod["spec"]["nodeName"])),
            wide("Nominated Node", |pod, _| or_none(&pod["status"]["nominatedNodeName"])),
            wide("Readiness Gates", |_, _| json!("<none>")),
        ],
        ("apps", "deployments") => vec![
            text("Ready", |one, _| {
                json!(format!(
                    "{}/{}",
                    int(&one["status"]["readyReplicas"]),
                    int(&one["spec"]["replicas"])
                ))
            }),
            number("Up-to-date", |one, _| json!(int(&one["status"]["updatedReplicas"]))),
            number("Available", |one, _| json!(int(&one["status"]["availableReplicas"]))),
            AGE,
            containers(),
            images(),
            selector(),
        ],
        ("apps", "replicasets") | ("", "replicationcontrollers") => vec![
            number("Desired", |one, _| json!(int(&one["spec"]["replicas"]))),
            number("Current", |one, _| json!(int(&one["status"]["replicas"]))),
            number("Ready", |one, _| json!(int(&one["status"]["readyReplicas"]))),
            AGE,
            containers(),
            images(),
            selector(),
        ],
        ("apps", "statefulsets") => vec![
            text("Ready", |one, _| {
                json!(format!(
                    "{}/{}",
                    int(&one["status"]["readyReplicas"]),
                    int(&one["spec"]["replicas"])
                ))
            }),
            AGE,
            containers(),
            images(),
        ],
        ("apps", "daemonsets") => vec![
            number("Desired", |one, _| json!(int(&one["status"]["desiredNumberScheduled"]))),
            number("Current", |one, _| json!(int(&one["status"]["currentNumberScheduled"]))),
            number("Ready", |one, _| json!(int(&one["status"]["numberReady"]))),
            number("Up-to-date", |one, _| json!(int(&one["status"]["updatedNumberScheduled"]))),
            number("Available", |one, _| json!(int(&one["status"]["numberAvailable"]))),
            text("Node Selector", |_, _| json!("<none>")),
            AGE,
            containers(),
            images(),
            selector(),
        ],
        ("batch", "jobs") => vec![
            text("Status", |job, _| {
                let holds = |kind| object::condition(job, kind)["status"] == "True";
                json!(if holds("Complete") {
                    "Complete"
                } else if holds("Failed") {
                    "Failed"
                } else if object::is_deleting(job) {
                    "Terminating"
                } else if holds("Suspended") {
                    "Suspended"
                } else {
                    "Running"
                })
            }),
            text("Completions", |job, _| {
                json!(format!(
                    "{}/{}",
                    int(&job["status"]["succeeded"]),
                    int(&job["spec"]["completions"])
                ))
            }),
            AGE,
        ],
        ("batch", "cronjobs") => vec![
            text("Schedule", |one, _| one["spec"]["schedule"].clone()),
            text("Suspend", |one, _| {
                json!(if one["spec"]["suspend"] == true { "True" } else { "False" })
            }),
            number("Active", |one, _| json!(length(&one["status"]["active"]))),
            AGE,
        ],
        ("", "namespaces") => vec![text("Status", |one, _| one["status"]["phase"].clone()), AGE],
        ("", "nodes") => vec![
            text("Status", |node, _| {
                let ready = match object::text(object::condition(node, "Ready"), &["status"]) {
                    "True" => "Ready",
                    "" => "Unknown",
                    _ => "NotReady",
                };
                let cordoned = node["spec"]["unschedulable"] == true;
                json!(format!("{ready}{}", if cordoned { ",SchedulingDisabled" } else { "" }))
            }),
            text("Roles", |_, _| json!("<none>")),
            AGE,
            text("Version", |node, _| node["status"]["nodeInfo"]["kubeletVersion"].clone()),
        ],
        ("", "services") => vec![
            text("Type", |one, _| one["spec"]["type"].clone()),
            text("Cluster-IP", |one, _| or_none(&one["spec"]["clusterIP"])),
            text("External-IP", |one, _| {
                let address = &one["status"]["loadBalancer"]["ingress"][0]["ip"];
                match (one["spec"]["type"].as_str(), address) {
                    (Some("LoadBalancer"), Value::Null) => json!("<pending>"),
                    _ => or_none(address),
                }
            }),
            text("Port(s)", |one, _| {
                let ports = one["spec"]["ports"].as_array().into_iter().flatten();
                let shown: Vec<String> = ports
                    .map(|port| {
                        format!("{}/{}", int(&port["port"]), object::text(port, &["protocol"]))
                    })
                    .collect();
                json!(if shown.is_empty() { "<none>".into() } else { shown.join(",") })
            }),
            AGE,
            selector(),
        ],
        ("", "persistentvolumeclaims") => vec![
            text("Status", |one, _| json!(phase_or_terminating(one))),
            text("Volume", |one, _| json!(object::text(one, &["spec", "volumeName"]))),
            text("Capacity", |one, _| json!(object::text(one, &["status", "capacity", "storage"]))),
            text("Access Modes", |one, _| json!(access_modes(&one["spec"]["accessModes"]))),
            text("StorageClass", |one, _| json!(object::text(one, &["spec", "storageClassName"]))),
            text("VolumeAttributesClass", |one, _| attributes_class(one)),
            AGE,
            wide("VolumeMode", |one, _| one["spec"]["volumeMode"].clone()),
        ],
        ("", "persistentvolumes") => vec![
            text("Capacity", |one, _| json!(object::text(one, &["spec", "capacity", "storage"]))),
            text("Access Modes", |one, _| json!(access_modes(&one["spec"]["accessModes"]))),
            text("Reclaim Policy", |one, _| one["spec"]["persistentVolumeReclaimPolicy"].clone()),
            text("Status", |one, _| json!(phase_or_terminating(one))),
            text("Claim", |one, _| {
                let claim = &one["spec"]["claimRef"];
                let (namespace, name) =
                    (object::text(claim, &["namespace"]), object::text(claim, &["name"]));
                json!(if name.is_empty() { String::new() } else { format!("{namespace}/{name}") })
            }),
            text("StorageClass", |one, _| json!(object::text(one, &["spec", "storageClassName"]))),
            text("VolumeAttributesClass", |one, _| attributes_class(one)),
            text("Reason", |one, _| json!(object::text(one, &["status", "reason"]))),
            AGE,
            wide("VolumeMode", |one, _| one["spec"]["volumeMode"].clone()),
        ],
        ("policy", "poddisruptionbudgets") => vec![
            text("Min Available", |one, _| or_not_available(&one["spec"]["minAvailable"])),
            text("Max Unavailable", |one, _| or_not_available(&one["spec"]["maxUnavailable"])),
            number("Allowed Disruptions", |one, _| {
                json!(int(&one["status"]["disruptionsAllowed"]))
            }),
            AGE,
        ],
        ("apiregistration.k8s.io", _) => vec![
            text("Service", |one, _| {
                let service = &one["spec"]["service"];
                json!(match service {
                    Value::Null => "Local".into(),
                    _ => format!(
                        "{}/{}",
                        object::text(service, &["namespace"]),
                        object::text(service, &["name"])
                    ),
                })
            }),
            text("Available", |one, _| {
                let condition = object::condition(one, "Available");
                let (status, reason) =
                    (object::text(condition, &["status"]), object::text(condition, &["reason"]));
                json!(if status == "True" { status.into() } else { format!("{status} ({reason})") })
            }),
            AGE,
        ],
        ("", "configmaps") => {
            vec![number("Data", |one, _| json!(size(&one["data"]) + size(&one["binaryData"]))), AGE]
        }
        ("", "secrets") => vec![
            text("Type", |one, _| one["type"].clone()),
            text("Data", |one, _| json!(size(&one["data"]))),
            AGE,
        ],
        ("" | "events.k8s.io", "events") => vec![
            text("Last Seen", |one, now| json!(age(&one["lastTimestamp"], now))),
            text("Type", |one, _| one["type"].clone()),
            text("Reason", |one, _| one["reason"].clone()),
            text("Object", |one, _| {
                let about = &one["involvedObject"];
                let kind = object::text(about, &["kind"]).to_lowercase();
                json!(format!("{kind}/{}", object::text(about, &["name"])))
            }),
            text("Message", |one, _| one["message"].clone()),
        ],
        _ => administration::of(kind).unwrap_or_else(|| declared(kind)),
    };
    std::iter::once(NAME).chain(middle).collect()
}

/// What a definition says, or the age.
fn declared(kind: &Kind) -> Vec<Column> {
    let columns = kind.declared["additionalPrinterColumns"].as_array();
    match columns.filter(|columns| !columns.is_empty()) {
        Some(columns) => columns.iter().map(Column::declared).collect(),
        None if kind.is_custom() => vec![Column { sort: Cow::Borrowed("date"), ..AGE }],
        None => vec![AGE],
    }
}

fn int(value: &Value) -> i64 {
    value.as_i64().unwrap_or_default()
}

fn length(value: &Value) -> usize {
    value.as_array().map_or(0, Vec::len)
}

fn size(value: &Value) -> usize {
    value.as_object().map_or(0, serde_json::Map::len)
}

fn or_none(value: &Value) -> Value {
    if value.is_null() { json!("<none>") } else { value.clone() }
}

fn or_not_available(value: &Value) -> Value {
    match value {
        Value::Null => json!("N/A"),
        Value::String(text) => json!(text),
        other => json!(other.to_string()),
    }
}

fn phase_or_terminating(object: &Value) -> &str {
    if object::is_deleting(object) {
        "Terminating"
    } else {
        object::text(object, &["status", "phase"])
    }
}

fn pod_status(pod: &Value) -> String {
    let phase = object::text(pod, &["status", "phase"]);
    let reason = object::text(pod, &["status", "reason"]);
    let waiting = pod["status"]["containerStatuses"].as_array().into_iter().flatten();
    let waiting = waiting
        .map(|one| object::text(one, &["state", "waiting", "reason"]))
        .find(|one| !one.is_empty());
    if object::is_deleting(pod) {
        return if reason == "NodeLost" { "Unknown" } else { "Terminating" }.into();
    }
    match waiting {
        Some(waiting) => waiting.into(),
        None if !reason.is_empty() => reason.into(),
        None if phase == "Succeeded" => "Completed".into(),
        None if phase == "Failed" => "Error".into(),
        None => phase.into(),
    }
}

fn access_modes(modes: &Value) -> String {
    let short = |mode: &str| match mode {
        "ReadWriteOnce" => "RWO",
        "ReadOnlyMany" => "ROX",
        "ReadWriteMany" => "RWX",
        "ReadWriteOncePod" => "RWOP",
        _ => "?",
    };
    let modes = modes.as_array().into_iter().flatten().filter_map(Value::as_str);
    modes.map(short).collect::<Vec<_>>().join(",")
}

/// `duration.HumanDuration` since a time.
fn age(since: &Value, now: Timestamp) -> String {
    let Some(since) = clock::read(since) else { return "<unknown>".into() };
    let seconds = now.as_second().saturating_sub(since.as_second());
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    let two = |big: i64, unit: &str, small: i64, rest: &str| match small {
        0 => format!("{big}{unit}"),
        _ => format!("{big}{unit}{small}{rest}"),
    };
    match seconds {
        ..=-2 => "<invalid>".into(),
        -1..=0 => "0s".into(),
        1..120 => format!("{seconds}s"),
        120..600 => two(minutes, "m", seconds % 60, "s"),
        600..10_800 => format!("{minutes}m"),
        10_800..28_800 => two(hours, "h", minutes % 60, "m"),
        28_800..172_800 => format!("{hours}h"),
        172_800..691_200 => two(days, "d", hours % 24, "h"),
        691_200..63_072_000 => format!("{days}d"),
        _ => two(days / 365, "y", days % 365, "d"),
    }
}

/// A field of each container of a workload's template.
fn of_containers(workload: &Value, field: &str) -> Value {
    let containers = workload["spec"]["template"]["spec"]["containers"].as_array();
    let texts: Vec<_> =
        containers.into_iter().flatten().map(|one| object::text(one, &[field])).collect();
    json!(texts.join(","))
}

/// The class whose attributes a claim shall have, or a volume has.
fn attributes_class(one: &Value) -> Value {
    match &one["spec"]["volumeAttributesClassName"] {
        Value::Null => json!("<unset>"),
        name => name.clone(),
    }
}
