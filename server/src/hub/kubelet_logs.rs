//! Logs of kubelets about Pods that wait, as far as somebody gave them or the kubelets answered.
//!
//! # Decisions
//! - They are kept in memory only, while the Pod waits: they are evidence of a moment, and may hold names that belong in no
//!   journal. A later log of a Pod takes the place of an earlier one, unless it says less.
//! - What a log said stays while the next query fails: it is shown with its time, and the problem beside it.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use teardown::{
    diagnosis::{
        Diagnosis, KubeletReport, LogOrigin, LogProblem, UnreadLog, add_reports, add_unread,
        kubelet_log::KubeletLog,
    },
    object::Uid,
};

/// The most Pods of which a log is kept. One more takes the place of the oldest.
const PODS: usize = 64;

/// The logs, by the UID of the Pod.
#[derive(Default)]
pub(super) struct KubeletLogs {
    reports: BTreeMap<Uid, KubeletReport>,
    /// The logs whose last query failed; of at most as many Pods as are asked about at one time.
    unread: BTreeMap<Uid, UnreadLog>,
}

impl KubeletLogs {
    /// Keeps the part of a log that is about this Pod.
    pub(super) fn keep(&mut self, log: &KubeletLog, pod: &Uid, origin: LogOrigin, now: Timestamp) {
        if origin == LogOrigin::Queried {
            self.unread.remove(pod);
        }
        let report = KubeletReport::of(log, pod, origin, now);
        match self.reports.get(pod) {
            Some(older) if !report.replaces(older) => return,
            Some(_) => {}
            None if self.reports.len() >= PODS => {
                let oldest = self.reports.iter().min_by_key(|(_, report)| report.at);
                if let Some(oldest) = oldest.map(|(pod, _)| pod.clone()) {
                    self.reports.remove(&oldest);
                }
            }
            None => {}
        }
        self.reports.insert(pod.clone(), report);
    }

    /// Keeps the reason why the log about this Pod cannot be read.
    pub(super) fn keep_problem(&mut self, problem: &LogProblem, pod: &Uid, now: Timestamp) {
        self.unread.insert(pod.clone(), UnreadLog { problem: problem.clone(), at: now });
    }

    /// Adds them to the diagnoses, and drops those of Pods that do not wait any more.
    pub(super) fn add_to(&mut self, diagnoses: &mut [Diagnosis]) {
        if self.reports.is_empty() && self.unread.is_empty() {
            return;
        }
        let waiting: BTreeSet<Uid> =
            diagnoses.iter().flat_map(|it| &it.waiting).map(|held| held.uid.clone()).collect();
        self.reports.retain(|pod, _| waiting.contains(pod));
        self.unread.retain(|pod, _| waiting.contains(pod));
        add_unread(diagnoses, &self.unread);
        add_reports(diagnoses, &self.reports);
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
        assert_eq!(logs.reports.len(), PODS);
        assert!(!logs.reports.contains_key(&pod(0)));
        assert!(logs.reports.contains_key(&pod(PODS)));
    }

    #[test]
    fn log_of_a_pod_that_does_not_wait_is_dropped() {
        let mut logs = KubeletLogs::default();
        let by = LogOrigin::Pasted { by: "Li".into() };
        logs.keep(&kubelet_log::read(""), &Uid::new("gone"), by, at(1000));
        logs.add_to(&mut []);
        assert!(logs.reports.is_empty());
    }

    #[test]
    fn answer_without_a_fact_does_not_replace_pasted_lines_that_have_one() {
        const BUSY: &str = include_str!("../../sandbox/recordings/kubelet/busy/log.txt");
        let (busy, nothing) = (kubelet_log::read(BUSY), kubelet_log::read("-- No entries --"));
        let pod = Uid::new("113e414d-52b9-4eb7-a1ec-20089ddb2e36");
        let pasted = || LogOrigin::Pasted { by: "Li".into() };
        let mut logs = KubeletLogs::default();
        let mut keep = |log, origin, second| {
            logs.keep(log, &pod, origin, at(second));
            logs.reports[&pod].at
        };
        assert_eq!(keep(&nothing, LogOrigin::Queried, 1), at(1));
        assert_eq!(keep(&busy, pasted(), 2), at(2));
        assert_eq!(keep(&nothing, LogOrigin::Queried, 3), at(2), "the lines say more");
        assert_eq!(keep(&busy, LogOrigin::Queried, 4), at(4));
        assert_eq!(keep(&nothing, LogOrigin::Queried, 5), at(5), "the step does not fail any more");
    }

    #[test]
    fn problem_ends_with_the_next_answer() {
        let (mut logs, pod) = (KubeletLogs::default(), Uid::new("a"));
        logs.keep_problem(&LogProblem::QueryOff, &pod, at(1));
        let by = LogOrigin::Pasted { by: "Li".into() };
        logs.keep(&kubelet_log::read(""), &pod, by, at(2));
        assert_eq!(logs.unread[&pod].problem, LogProblem::QueryOff);
        logs.keep(&kubelet_log::read(""), &pod, LogOrigin::Queried, at(3));
        assert!(logs.unread.is_empty());
    }
}
