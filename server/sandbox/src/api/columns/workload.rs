//! The columns of workloads and their disruption budgets.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    AGE, Column, NAME, age, boolean, duration, int, labels, length, list, number, text, text_or,
    wide,
};
use crate::{clock, kind::Kind, object};

const fn containers() -> Column {
    wide("Containers", |one, _| of_containers(&one["spec"]["template"], "name"))
}

const fn images() -> Column {
    wide("Images", |one, _| of_containers(&one["spec"]["template"], "image"))
}

const fn selector() -> Column {
    wide("Selector", |one, _| json!(labels::selected(&one["spec"]["selector"])))
}

/// The columns of a kind in this module; `None` for any other kind.
pub(super) fn of(kind: &Kind) -> Option<Vec<Column>> {
    Some(match (kind.group.as_str(), kind.plural.as_str()) {
        ("", "podtemplates") => vec![
            NAME,
            text("Containers", |one, _| of_containers(&one["template"], "name")),
            text("Images", |one, _| of_containers(&one["template"], "image")),
            text("Pod Labels", |one, _| {
                json!(labels::pairs(&one["template"]["metadata"]["labels"]))
            }),
        ],
        ("", "replicationcontrollers") => {
            of_replicas(wide("Selector", |one, _| json!(labels::pairs(&one["spec"]["selector"]))))
        }
        ("apps", "replicasets") => of_replicas(selector()),
        ("apps", "deployments") => vec![
            NAME,
            text("Ready", |one, _| json!(ready(one))),
            text("Up-to-date", |one, _| json!(int(&one["status"]["updatedReplicas"]))),
            text("Available", |one, _| json!(int(&one["status"]["availableReplicas"]))),
            AGE,
            containers(),
            images(),
            wide("Selector", |one, _| {
                let selected = labels::requirements(&one["spec"]["selector"]);
                json!(selected.unwrap_or_else(|| "<invalid>".into()))
            }),
        ],
        ("apps", "statefulsets") => {
            vec![NAME, text("Ready", |one, _| json!(ready(one))), AGE, containers(), images()]
        }
        ("apps", "daemonsets") => vec![
            NAME,
            number("Desired", |one, _| json!(int(&one["status"]["desiredNumberScheduled"]))),
            number("Current", |one, _| json!(int(&one["status"]["currentNumberScheduled"]))),
            number("Ready", |one, _| json!(int(&one["status"]["numberReady"]))),
            number("Up-to-date", |one, _| json!(int(&one["status"]["updatedNumberScheduled"]))),
            number("Available", |one, _| json!(int(&one["status"]["numberAvailable"]))),
            text("Node Selector", |one, _| {
                json!(labels::pairs(&one["spec"]["template"]["spec"]["nodeSelector"]))
            }),
            AGE,
            containers(),
            images(),
            selector(),
        ],
        ("apps", "controllerrevisions") => vec![
            NAME,
            text("Controller", |one, _| json!(controller(one))),
            text("Revision", |one, _| json!(int(&one["revision"]))),
            AGE,
        ],
        ("batch", "jobs") => vec![
            NAME,
            text("Status", |job, _| json!(state(job))),
            text("Completions", |job, _| json!(completions(job))),
            text("Duration", |job, now| json!(took(job, now))),
            AGE,
            containers(),
            images(),
            selector(),
        ],
        ("batch", "cronjobs") => vec![
            NAME,
            text("Schedule", |one, _| json!(object::text(one, &["spec", "schedule"]))),
            text("Timezone", |one, _| text_or(&one["spec"]["timeZone"], "<none>")),
            boolean("Suspend", |one, _| {
                json!(match one["spec"]["suspend"].as_bool() {
                    Some(true) => "True",
                    Some(false) => "False",
                    None => "<unset>",
                })
            }),
            number("Active", |one, _| json!(length(&one["status"]["active"]))),
            text("Last Schedule", |one, now| match &one["status"]["lastScheduleTime"] {
                Value::Null => json!("<none>"),
                last => json!(age(last, now)),
            }),
            AGE,
            wide("Containers", |one, _| {
                of_containers(&one["spec"]["jobTemplate"]["spec"]["template"], "name")
            }),
            wide("Images", |one, _| {
                of_containers(&one["spec"]["jobTemplate"]["spec"]["template"], "image")
            }),
            wide("Selector", |one, _| {
                json!(labels::selected(&one["spec"]["jobTemplate"]["spec"]["selector"]))
            }),
        ],
        ("policy", "poddisruptionbudgets") => vec![
            NAME,
            text("Min Available", |one, _| or_not_available(&one["spec"]["minAvailable"])),
            text("Max Unavailable", |one, _| or_not_available(&one["spec"]["maxUnavailable"])),
            number("Allowed Disruptions", |one, _| {
                json!(int(&one["status"]["disruptionsAllowed"]))
            }),
            AGE,
        ],
        _ => return None,
    })
}

fn of_replicas(selector: Column) -> Vec<Column> {
    vec![
        NAME,
        number("Desired", |one, _| json!(int(&one["spec"]["replicas"]))),
        number("Current", |one, _| json!(int(&one["status"]["replicas"]))),
        number("Ready", |one, _| json!(int(&one["status"]["readyReplicas"]))),
        AGE,
        containers(),
        images(),
        selector,
    ]
}

/// A field of each container in a Pod template.
fn of_containers(template: &Value, field: &str) -> Value {
    let containers = list(&template["spec"]["containers"]).iter();
    json!(containers.map(|one| object::text(one, &[field])).collect::<Vec<_>>().join(","))
}

fn ready(workload: &Value) -> String {
    let (ready, wanted) = (&workload["status"]["readyReplicas"], &workload["spec"]["replicas"]);
    format!("{}/{}", int(ready), int(wanted))
}

fn state(job: &Value) -> &'static str {
    let holds = |kind: &&str| object::condition(job, kind)["status"] == "True";
    let begun = ["Suspended", "FailureTarget", "SuccessCriteriaMet"];
    match ["Complete", "Failed"].into_iter().find(holds) {
        Some(end) => end,
        None if object::is_deleting(job) => "Terminating",
        None => begun.into_iter().find(holds).unwrap_or("Running"),
    }
}

fn completions(job: &Value) -> String {
    let succeeded = int(&job["status"]["succeeded"]);
    match (job["spec"]["completions"].as_i64(), int(&job["spec"]["parallelism"])) {
        (Some(wanted), _) => format!("{succeeded}/{wanted}"),
        (None, at_once @ 2..) => format!("{succeeded}/1 of {at_once}"),
        (None, _) => format!("{succeeded}/1"),
    }
}

/// The duration of a Job: in all, or until now.
fn took(job: &Value, now: Timestamp) -> String {
    let time = |field: &str| clock::read(&job["status"][field]);
    match time("startTime") {
        Some(start) => duration::between(start, time("completionTime").unwrap_or(now)),
        None => String::new(),
    }
}

fn or_not_available(value: &Value) -> Value {
    match value {
        Value::Null => json!("N/A"),
        Value::String(text) => json!(text),
        other => json!(other.to_string()),
    }
}

fn controller(one: &Value) -> String {
    let Some(owner) = object::controller_reference(one) else { return "<none>".into() };
    let (group, _) = crate::cluster::split_api_version(object::text(owner, &["apiVersion"]));
    let kind = object::text(owner, &["kind"]).to_lowercase();
    let dot = if group.is_empty() { "" } else { "." };
    format!("{kind}{dot}{group}/{}", object::text(owner, &["name"]))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::{NOW, cells, check};

    #[test]
    fn job_shows_its_completions() {
        let template = json!({"spec": {"containers": [{"name": "a", "image": "x:1"}, {"name": "b", "image": "y"}]}});
        let job = json!({
            "metadata": {"name": "a", "creationTimestamp": "2026-01-01T00:00:00Z"},
            "spec": {
                "completions": 3, "template": template,
                "selector": {"matchLabels": {"batch.kubernetes.io/controller-uid": "1"}},
            },
            "status": {"succeeded": 1, "startTime": "2026-01-01T00:59:00Z"},
        });
        let selector = "batch.kubernetes.io/controller-uid=1";
        let expected = json!(["a", "Running", "1/3", "60s", "60m", "a,b", "x:1,y", selector]);
        assert_eq!(cells("batch", "jobs", &job), expected);
        for (spec, status, expected) in [
            (json!({}), json!({}), json!(["0/1", ""])),
            (json!({"parallelism": 1}), json!({"succeeded": 1}), json!(["1/1", ""])),
            (json!({"parallelism": 4}), json!({"succeeded": 2}), json!(["2/1 of 4", ""])),
            (
                json!({"completions": 0}),
                json!({"startTime": "2026-01-01T00:00:00Z", "completionTime": "2026-01-01T00:03:05Z"}),
                json!(["0/0", "3m5s"]),
            ),
        ] {
            let job = json!({"spec": spec, "status": status});
            check("batch", "jobs", &["Completions", "Duration"], &job, &expected);
        }
        for (conditions, deleted, expected) in [
            (vec![("Complete", "False")], false, "Running"),
            (vec![("Suspended", "True"), ("Complete", "True")], true, "Complete"),
            (vec![("Failed", "True")], true, "Failed"),
            (vec![("Suspended", "True")], true, "Terminating"),
            (vec![("Suspended", "True"), ("FailureTarget", "True")], false, "Suspended"),
            (vec![("FailureTarget", "True")], false, "FailureTarget"),
            (vec![("SuccessCriteriaMet", "True")], false, "SuccessCriteriaMet"),
        ] {
            let conditions: Vec<_> = conditions
                .into_iter()
                .map(|(kind, status)| json!({"type": kind, "status": status}))
                .collect();
            let mut job = json!({"status": {"conditions": conditions}});
            if deleted {
                job["metadata"] = json!({"deletionTimestamp": NOW});
            }
            check("batch", "jobs", &["Status"], &job, &json!([expected]));
        }
    }

    #[test]
    fn cron_job_shows_its_last_schedule() {
        let mut one = json!({"metadata": {"name": "a"}, "spec": {"schedule": "@daily"}});
        let age = "<unknown>";
        assert_eq!(
            cells("batch", "cronjobs", &one),
            json!(["a", "@daily", "<none>", "<unset>", 0, "<none>", age, "", "", "<none>"])
        );
        one["spec"] = json!({
            "schedule": "@daily", "timeZone": "Etc/UTC", "suspend": false,
            "jobTemplate": {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "i"}]}}}},
        });
        one["status"] = json!({"active": [{}, {}], "lastScheduleTime": "2026-01-01T00:30:00Z"});
        assert_eq!(
            cells("batch", "cronjobs", &one),
            json!(["a", "@daily", "Etc/UTC", "False", 2, "30m", age, "c", "i", "<none>"])
        );
    }

    #[test]
    fn workload_counts_its_ready_pods() {
        let one = json!({
            "metadata": {"name": "a"},
            "spec": {
                "replicas": 3,
                "selector": {"matchLabels": {"app": "web"}, "matchExpressions": [{"key": "old", "operator": "DoesNotExist"}]},
                "template": {"spec": {"nodeSelector": {"disk": "ssd"}, "containers": [{"name": "c", "image": "i"}]}},
            },
            "status": {"replicas": 2, "readyReplicas": 1, "updatedReplicas": 2, "availableReplicas": 1},
        });
        let (age, selector) = ("<unknown>", "app=web,!old");
        for (plural, expected) in [
            ("deployments", json!(["a", "1/3", 2, 1, age, "c", "i", selector])),
            ("replicasets", json!(["a", 3, 2, 1, age, "c", "i", selector])),
            ("statefulsets", json!(["a", "1/3", age, "c", "i"])),
            ("daemonsets", json!(["a", 0, 0, 0, 0, 0, "disk=ssd", age, "c", "i", selector])),
        ] {
            assert_eq!(cells("apps", plural, &one), expected, "{plural}");
        }
        for (operator, deployment, set) in [("Like", "<invalid>", "<error>"), ("Exists", "a", "a")]
        {
            let selector = json!({"matchExpressions": [{"key": "a", "operator": operator}]});
            let one = json!({"spec": {"selector": selector}});
            check("apps", "deployments", &["Selector"], &one, &json!([deployment]));
            check(
                "apps",
                "daemonsets",
                &["Selector", "Node Selector"],
                &one,
                &json!([set, "<none>"]),
            );
        }
        check("apps", "deployments", &["Selector"], &json!({}), &json!([""]));
        let one = json!({"spec": {"selector": {"app": "web", "a": "b"}}});
        check("", "replicationcontrollers", &["Selector"], &one, &json!(["a=b,app=web"]));
    }
}
