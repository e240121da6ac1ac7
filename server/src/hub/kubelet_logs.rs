//! Logs of kubelets about Pods that wait, as far as somebody gave them.
//!
//! # Decisions
//! - They are kept in memory only, while the Pod waits: they are evidence of a moment, and may hold names that belong in no
//!   journal. A later log of a Pod takes the place of an earlier one.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use teardown::{
    diagnosis::{Diagnosis, KubeletReport, LogOrigin, add_reports, kubelet_log::KubeletLog},
    object::Uid,
};

/// The most Pods of which a log is kept. One more takes the place of the oldest.
const PODS: usize = 64;

/// The logs, by the UID of the Pod.
#[derive(Default)]
pub(super) struct KubeletLogs(BTreeMap<Uid, KubeletReport>);

impl KubeletLogs {
    /// Keeps the part of a log that is about this Pod.
    pub(super) fn keep(&mut self, log: &KubeletLog, pod: &Uid, origin: LogOrigin, now: Timestamp) {
        if self.0.len() >= PODS && !self.0.contains_key(pod) {
            let oldest = self.0.iter().min_by_key(|(_, report)| report.at);
            if let Some(oldest) = oldest.map(|(pod, _)| pod.clone()) {
                self.0.remove(&oldest);
            }
        }
        self.0.insert(pod.clone(), KubeletReport::of(log, pod, origin, now));
    }

    /// Adds them to the diagnoses, and drops those of Pods that do not wait any more.
    pub(super) fn add_to(&mut self, diagnoses: &mut [Diagnosis]) {
        if self.0.is_empty() {
            return;
        }
        let waiting: BTreeSet<Uid> =
            diagnoses.iter().flat_map(|it| &it.waiting).map(|held| held.uid.clone()).collect();
        self.0.retain(|pod, _| waiting.contains(pod));
        add_reports(diagnoses, &self.0);
    }
}

#[cfg(test)]
mod tests {
    use teardown::{diagnosis::kubelet_log, object::Uid};

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn log_of_one_more_pod_takes_the_place_of_the_oldest() {
        let mut logs = KubeletLogs::default();
        let log = kubelet_log::read("");
        let pod = |number: usize| Uid::new(format!("pod-{number:03}"));
        for number in 0..=PODS {
            let by = LogOrigin::Pasted { by: "Li".into() };
            logs.keep(&log, &pod(number), by, at(1000 + number as i64));
        }
        assert_eq!(logs.0.len(), PODS);
        assert!(!logs.0.contains_key(&pod(0)));
        assert!(logs.0.contains_key(&pod(PODS)));
    }

    #[test]
    fn log_of_a_pod_that_does_not_wait_is_dropped() {
        let mut logs = KubeletLogs::default();
        let by = LogOrigin::Pasted { by: "Li".into() };
        logs.keep(&kubelet_log::read(""), &Uid::new("gone"), by, at(1000));
        logs.add_to(&mut []);
        assert!(logs.0.is_empty());
    }
}
