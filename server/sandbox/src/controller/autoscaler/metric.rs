//! The errors that an autoscaler gets for its metrics, because none are served.

use serde_json::Value;

use super::super::read::text;

/// The error for a metric that cannot be read.
pub(super) struct Unknown {
    /// The reason in the condition.
    pub(super) reason: String,
    pub(super) why: String,
    /// The same error in the words of the function that combines all metrics.
    pub(super) outer: String,
}

/// The error of reading one of `spec.metrics` in a namespace.
pub(super) fn ask(metric: &Value, namespace: &str) -> Unknown {
    let sort = text(metric, "/type");
    let (source, said) = match sort {
        "ContainerResource" => ("containerResource", of_resources(&metric["containerResource"])),
        "Pods" => ("pods", of_pods(&metric["pods"])),
        "Object" => ("object", of_object(&metric["object"], namespace)),
        "External" => ("external", of_external(&metric["external"], namespace)),
        _ => ("resource", of_resources(&metric["resource"])),
    };
    let source = &metric[source];
    let name = text(source, "/metric/name");
    let averages = text(source, "/target/type") == "AverageValue";
    let outer = match sort {
        "ContainerResource" => {
            format!("failed to get {} container metric value: {said}", text(source, "/container"))
        }
        "Pods" => format!("failed to get pods metric value: {said}"),
        "Object" if averages => {
            format!("failed to get object metric value: failed to get {name} object metric: {said}")
        }
        "Object" => format!("failed to get object metric value: {said}"),
        "External" if averages => {
            format!(
                "failed to get {name} external metric value: failed to get {name} external metric: {said}"
            )
        }
        "External" => {
            format!(
                "failed to get {name} external metric value: failed to get external metric {name}: {said}"
            )
        }
        _ => format!("failed to get {} resource metric value: {said}", text(source, "/name")),
    };
    Unknown { reason: format!("FailedGet{sort}Metric"), why: said, outer }
}

fn of_resources(source: &Value) -> String {
    let name = text(source, "/name");
    let what = if text(source, "/target/type") == "Utilization" { "utilization" } else { "usage" };
    format!(
        "failed to get {name} {what}: unable to get metrics for resource {name}: unable to fetch metrics from resource \
         metrics API: the server could not find the requested resource (get pods.metrics.k8s.io)"
    )
}

const NO_CUSTOM: &str = "unable to fetch metrics from custom metrics API: no custom metrics API (custom.metrics.k8s.io) registered";

fn of_pods(source: &Value) -> String {
    format!("unable to get metric {}: {NO_CUSTOM}", text(source, "/metric/name"))
}

fn of_object(source: &Value, namespace: &str) -> String {
    let (kind, name) =
        (text(source, "/describedObject/kind"), text(source, "/describedObject/name"));
    let metric = text(source, "/metric/name");
    format!("unable to get metric {metric}: {kind} on {namespace} {name}/{NO_CUSTOM}")
}

fn of_external(source: &Value, namespace: &str) -> String {
    let metric = text(source, "/metric/name");
    format!(
        "unable to get external metric {namespace}/{metric}/nil: unable to fetch metrics from external metrics API: the \
         server could not find the requested resource (get {metric}.external.metrics.k8s.io)"
    )
}
