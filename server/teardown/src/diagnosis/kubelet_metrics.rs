//! The failures that a kubelet counts: the few of its metrics that matter for a Pod that does not go.
//!
//! # Decisions
//! - They are counts of the whole node since its kubelet started, so they confirm nothing about one Pod. That a count still rises
//!   says that the kubelet tries again and fails again.
//! - A counter that is missing stands at 0: a kubelet exposes it from the first failure on.
//!
//! The names are those of `pkg/kubelet/metrics/metrics.go` and `pkg/volume/util/metrics.go`.

use std::{collections::BTreeMap, sync::Arc};

/// The operations on a volume that end its use.
const UNMOUNTS: [&str; 4] = ["volume_unmount", "unmount_device", "unmap_volume", "unmap_device"];
/// The most volume plugins whose failures are kept.
const PLUGINS: usize = 20;

/// The longest name of a plugin: that of a CSI driver has at most 63 characters.
const LONGEST: usize = 128;

/// A failure that a kubelet counts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NodeFailure {
    /// A volume of this plugin could not be unmounted.
    Unmount(Arc<str>),
    /// A container could not be stopped.
    StopContainer,
    /// A sandbox could not be stopped.
    StopSandbox,
}

/// The failures that a kubelet has counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KubeletMetrics {
    /// The counts, all above 0.
    pub failures: BTreeMap<NodeFailure, u64>,
}

impl KubeletMetrics {
    /// Reads metrics in the text format of Prometheus; `None` if they are not those of a kubelet.
    pub fn read(text: &str) -> Option<Self> {
        let mut metrics = Self::default();
        let mut is_of_kubelet = false;
        for line in text.lines() {
            is_of_kubelet |= line.starts_with("kubelet_") && is_sample(line);
            let Some((failure, count)) = failure(line).filter(|(_, count)| *count > 0) else {
                continue;
            };
            let is_new = !metrics.failures.contains_key(&failure);
            let is_full = metrics.failures.len() >= PLUGINS;
            if is_new && is_full && matches!(failure, NodeFailure::Unmount(_)) {
                continue;
            }
            let total = metrics.failures.entry(failure).or_default();
            *total = total.saturating_add(count);
        }
        is_of_kubelet.then_some(metrics)
    }
}

/// Whether a line is a sample: a name, perhaps labels, and a number.
pub(super) fn is_sample(line: &str) -> bool {
    let is_of_name = |it: char| it.is_ascii_lowercase() || it.is_ascii_digit() || it == '_';
    let (_, value) = line.rsplit_once(' ').unwrap_or_default();
    let labels = line.trim_start_matches(is_of_name);
    labels.starts_with([' ', '{']) && value.parse::<f64>().is_ok()
}

/// The failure that a sample counts.
fn failure(line: &str) -> Option<(NodeFailure, u64)> {
    let (name, rest) = line.split_at(line.find(['{', ' '])?);
    let (failure, rest) = match name {
        "storage_operation_duration_seconds_count" => {
            let (labels, rest) = labels(rest)?;
            let failed = labels.get("status").is_some_and(|status| *status != "success");
            let ends_use = UNMOUNTS.contains(labels.get("operation_name")?);
            let plugin = labels.get("volume_plugin").filter(|plugin| is_plugin(plugin))?;
            (failed && ends_use).then(|| (NodeFailure::Unmount((*plugin).into()), rest))?
        }
        "kubelet_runtime_operations_errors_total" => {
            let (labels, rest) = labels(rest)?;
            let failure = match *labels.get("operation_type")? {
                "stop_container" => NodeFailure::StopContainer,
                "stop_podsandbox" => NodeFailure::StopSandbox,
                _ => return None,
            };
            (failure, rest)
        }
        _ => return None,
    };
    // Go prints a large number with an exponent.
    let count: f64 = rest.split_whitespace().next()?.parse().ok()?;
    (count.is_finite() && count >= 0.0).then_some((failure, count as u64))
}

/// The labels of a sample, and the rest of its line. A value with an escaped character belongs to no counter that is read.
fn labels(rest: &str) -> Option<(BTreeMap<&str, &str>, &str)> {
    let (inside, rest) = rest.strip_prefix('{')?.split_once('}')?;
    let pairs = inside.split(',').filter_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        Some((name.trim(), value.strip_prefix('"')?.strip_suffix('"')?))
    });
    Some((pairs.collect(), rest))
}

/// Whether it is the name of a volume plugin: `kubernetes.io/nfs`, `kubernetes.io/csi:disk.example`.
fn is_plugin(name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "-._/:".contains(c);
    (1..=LONGEST).contains(&name.len()) && name.chars().all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORDED: &str = include_str!("../../../sandbox/recordings/kubelet/metrics.txt");

    #[test]
    fn recorded_metrics_are_the_failures_of_a_node() {
        let metrics = KubeletMetrics::read(RECORDED).unwrap();
        let unmount = |plugin: &str| NodeFailure::Unmount(plugin.into());
        let expected = [
            (unmount("kubernetes.io/csi:csi.unwind.test"), 12),
            (unmount("kubernetes.io/local-volume"), 30),
            (unmount("kubernetes.io/nfs"), 40),
            (NodeFailure::StopContainer, 28),
            (NodeFailure::StopSandbox, 25),
        ];
        assert_eq!(metrics.failures, BTreeMap::from(expected));
    }

    #[test]
    fn text_of_another_program_is_none_and_odd_samples_are_passed_over() {
        for other in ["", "-- No entries --", "apiserver_audit_event_total 0\n", "<!doctype html>"]
        {
            assert_eq!(KubeletMetrics::read(other), None, "{other}");
        }
        let odd = "kubelet_running_pods 1
kubelet_orphan_pod_cleaned_volumes_errors NaN
kubelet_runtime_operations_errors_total{operation_type=\"stop_container\" 3
kubelet_runtime_operations_errors_total{operation_type=\"stop_podsandbox\"} -1
storage_operation_duration_seconds_count{operation_name=\"volume_unmount\",status=\"fail-unknown\",volume_plugin=\"a\\\"b\"} 4
storage_operation_duration_seconds_count{operation_name=\"volume_mount\",status=\"fail-unknown\",volume_plugin=\"kubernetes.io/nfs\"} 4
storage_operation_duration_seconds_count{operation_name=\"unmount_device\",status=\"fail-unknown\",volume_plugin=\"kubernetes.io/nfs\"} 1.5e+06 17";
        let expected = [(NodeFailure::Unmount("kubernetes.io/nfs".into()), 1_500_000)];
        assert_eq!(KubeletMetrics::read(odd).unwrap().failures, BTreeMap::from(expected));
    }

    #[test]
    fn plugins_are_bounded() {
        let line = |n: usize| {
            format!(
                "storage_operation_duration_seconds_count{{operation_name=\"volume_unmount\",\
                 status=\"fail-unknown\",volume_plugin=\"kubernetes.io/p{n}\"}} 1\n"
            )
        };
        let text: String = (0..100).map(line).collect();
        let metrics = KubeletMetrics::read(&format!("kubelet_running_pods 1\n{text}")).unwrap();
        assert_eq!(metrics.failures.len(), PLUGINS);
    }
}
