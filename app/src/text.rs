//! Every sentence the page says. [`en`] is the catalogue; a second language is another file with the same names.
//! What is here is the same in all languages: numbers, sizes of time, and timestamps as the API server writes them.

pub mod en;

pub use en::*;
use jiff::{Timestamp, tz::TimeZone};
use teardown::object::ObjectRef;

/// `2026-11-21 12:03:41 UTC`.
pub fn absolute(at: Timestamp) -> String {
    let at = TimeZone::UTC.to_datetime(at);
    format!("{} {:.0} UTC", at.date(), at.time())
}

/// `12:03:41 UTC`.
pub fn time_of_day(at: Timestamp) -> String {
    format!("{:.0} UTC", TimeZone::UTC.to_datetime(at).time())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_keeps_both_ends() {
        assert_eq!(shortened("web", 10), "web");
        assert_eq!(shortened("payments-worker-7d9f", 11), "payme…-7d9f");
        assert_eq!(shortened("größe-größe-größe", 9).chars().count(), 9);
    }

    #[test]
    fn times_are_in_the_units_that_matter() {
        assert_eq!(duration(59), "59 s");
        assert_eq!(duration(252), "4 min 12 s");
        assert_eq!(duration(3_725), "1 h 2 min");
        assert_eq!(ago(3), "just now");
        assert_eq!(ago(86_400 * 11 + 5), "11 d ago");
        let at = "2026-11-21T12:03:41.123Z".parse().unwrap();
        assert_eq!(
            (absolute(at), time_of_day(at)),
            ("2026-11-21 12:03:41 UTC".to_owned(), "12:03:41 UTC".to_owned())
        );
    }
}
