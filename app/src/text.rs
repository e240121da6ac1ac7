//! Every sentence the page says. [`en`] is the catalogue; a second language is another file with the same names.
//! What is here is the same in all languages: numbers, sizes of time, and timestamps as the API server writes them.

pub mod en;

pub use en::*;

use jiff::Timestamp;
use teardown::object::ObjectRef;

/// `2026-11-21 12:03:41 UTC`.
pub fn absolute(at: Timestamp) -> String {
    let text = at.to_string();
    let date = text.get(..10).unwrap_or_default();
    let time = text.get(11..19).unwrap_or_default();
    format!("{date} {time} UTC")
}

/// `12:03:41`.
pub fn time_of_day(at: Timestamp) -> String {
    at.to_string().get(11..19).unwrap_or_default().to_owned()
}

/// `shop/web-1`, or `web-1` where there is no namespace.
pub fn path(object: &ObjectRef) -> String {
    match &object.namespace {
        Some(namespace) => format!("{namespace}/{}", object.name),
        None => object.name.to_string(),
    }
}

/// The text, shortened in its middle where it is longer than `most` characters: names differ at both ends.
pub fn shortened(text: &str, most: usize) -> String {
    let count = text.chars().count();
    if count <= most || most < 5 {
        return text.to_owned();
    }
    let tail = (most - 1) / 2;
    let head = most - 1 - tail;
    let start: String = text.chars().take(head).collect();
    let end: String = text.chars().skip(count - tail).collect();
    format!("{start}…{end}")
}

/// A kind as a card has room for it; the long ones as kubectl shortens them.
pub fn kind_short(kind: &str) -> &str {
    match kind {
        "PersistentVolumeClaim" => "PVC",
        "PersistentVolume" => "PV",
        "HorizontalPodAutoscaler" => "HPA",
        "PodDisruptionBudget" => "PDB",
        "CustomResourceDefinition" => "CRD",
        "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration" => "Webhook",
        "ClusterRoleBinding" => "ClusterBinding",
        other => other,
    }
}
