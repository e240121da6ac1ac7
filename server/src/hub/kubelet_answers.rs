//! Facts from kubelets about Pods that wait, as far as somebody gave them or the kubelets answered.
//!
//! # Decisions
//! - They are kept in memory only, while the Pod waits: they are evidence of a moment, and may hold names that belong in no
//!   journal. A later log of a Pod takes the place of an earlier one, unless it says less.
//! - What a log said stays while the next query fails: it is shown with its time, and the problem beside it. What a runtime
//!   runs is dropped then: an answer that is not made good again would say of a past moment that it goes on. Not so if a person
//!   pasted it, which they do because queries fail.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use teardown::{
    diagnosis::{
        AnswerOrigin, Diagnosis, KubeletAnswer, KubeletProblem, KubeletReport, KubeletSubject,
        MetricsReport, RuntimeReport, Unanswered, add_metrics, add_reports, add_runtime,
        add_unanswered, kubelet_log::KubeletLog,
    },
    object::Uid,
};

/// The most Pods of which answers of one subject are kept. One more takes the place of the oldest.
const PODS: usize = 64;

/// The facts, by the UID of the Pod.
#[derive(Default)]
pub(super) struct KubeletAnswers {
    reports: BTreeMap<Uid, KubeletReport>,
    runtimes: BTreeMap<Uid, RuntimeReport>,
    metrics: BTreeMap<Uid, MetricsReport>,
    // Of at most as many Pods as are asked about at one time.
    unanswered: BTreeMap<(Uid, KubeletSubject), Unanswered>,
}

impl KubeletAnswers {
    /// Keeps the part of a log that is about this Pod.
    fn keep_log(&mut self, log: &KubeletLog, pod: &Uid, origin: AnswerOrigin, now: Timestamp) {
        let report = KubeletReport::of(log, pod, origin, now);
        match self.reports.get(pod) {
            Some(older) if !report.replaces(older) => return,
            Some(_) => {}
            None => make_room(&mut self.reports, |report| report.at),
        }
        self.reports.insert(pod.clone(), report);
    }

    /// Keeps the part of a kubelet's answer that is about this Pod. A pasted one says nothing of whether the kubelet can be asked.
    pub(super) fn keep(
        &mut self,
        answer: &KubeletAnswer,
        pod: &Uid,
        origin: AnswerOrigin,
        now: Timestamp,
    ) {
        let is_queried = origin == AnswerOrigin::Queried;
        let subject = match answer {
            KubeletAnswer::Log(log) => {
                self.keep_log(log, pod, origin, now);
                KubeletSubject::Log
            }
            KubeletAnswer::RunningPods(running) => {
                // A person may have pasted the list of another node. What the kubelet itself said stays until it says otherwise.
                let has_own =
                    self.runtimes.get(pod).is_some_and(|it| it.origin == AnswerOrigin::Queried);
                if is_queried || !has_own {
                    self.runtimes.remove(pod);
                    make_room(&mut self.runtimes, |report| report.at);
                    let report = RuntimeReport::new(running.state(pod), origin, now);
                    self.runtimes.insert(pod.clone(), report);
                }
                KubeletSubject::RunningPods
            }
            KubeletAnswer::Metrics(metrics) => {
                let before = self.metrics.remove(pod);
                make_room(&mut self.metrics, |report| report.at);
                let report = MetricsReport::after(before, metrics, origin, now);
                self.metrics.insert(pod.clone(), report);
                KubeletSubject::Metrics
            }
        };
        if !is_queried {
            return;
        }
        let is_of_node = |(of, _): &(Uid, _), it: &Unanswered| of == pod && it.problem.is_of_node();
        self.unanswered.retain(|of, it| !is_of_node(of, it));
        self.unanswered.remove(&(pod.clone(), subject));
    }

    /// Keeps the reason why the kubelet of this Pod does not answer. A problem of its node takes the place of the others.
    pub(super) fn keep_problem(
        &mut self,
        problem: &KubeletProblem,
        subject: KubeletSubject,
        pod: &Uid,
        now: Timestamp,
    ) {
        if problem.is_of_node() || subject == KubeletSubject::RunningPods {
            let is_over =
                |of: &Uid, it: &RuntimeReport| of == pod && it.origin == AnswerOrigin::Queried;
            self.runtimes.retain(|of, report| !is_over(of, report));
        }
        if problem.is_of_node() {
            self.unanswered.retain(|(of, _), _| of != pod);
        }
        let unanswered = Unanswered { problem: problem.clone(), at: now };
        self.unanswered.insert((pod.clone(), subject), unanswered);
    }

    /// Adds them to the diagnoses, and drops those of Pods that do not wait any more.
    pub(super) fn add_to(&mut self, diagnoses: &mut [Diagnosis]) {
        if self.reports.is_empty()
            && self.runtimes.is_empty()
            && self.metrics.is_empty()
            && self.unanswered.is_empty()
        {
            return;
        }
        let waiting: BTreeSet<Uid> =
            diagnoses.iter().flat_map(|it| &it.waiting).map(|held| held.uid.clone()).collect();
        self.reports.retain(|pod, _| waiting.contains(pod));
        self.runtimes.retain(|pod, _| waiting.contains(pod));
        self.metrics.retain(|pod, _| waiting.contains(pod));
        self.unanswered.retain(|(pod, _), _| waiting.contains(pod));
        add_metrics(diagnoses, &self.metrics);
        add_unanswered(diagnoses, &self.unanswered);
        add_reports(diagnoses, &self.reports);
        add_runtime(diagnoses, &mut self.runtimes);
    }
}

/// Drops the oldest if there is no room for one more.
fn make_room<T>(reports: &mut BTreeMap<Uid, T>, at: impl Fn(&T) -> Timestamp) {
    if reports.len() < PODS {
        return;
    }
    let oldest = reports.iter().min_by_key(|(_, report)| at(report));
    if let Some(oldest) = oldest.map(|(pod, _)| pod.clone()) {
        reports.remove(&oldest);
    }
}

#[cfg(test)]
mod tests {
    use teardown::{
        diagnosis::{kubelet_log, running_pods::RunningPods},
        object::Uid,
    };

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn log_of_one_more_pod_takes_the_place_of_the_oldest() {
        let mut answers = KubeletAnswers::default();
        let log = kubelet_log::read("");
        let pod = |number: usize| Uid::new(format!("pod-{number:03}"));
        for number in 0..=PODS {
            let by = AnswerOrigin::Pasted { by: "Li".into() };
            answers.keep_log(&log, &pod(number), by, at(1000 + number as i64));
        }
        assert_eq!(answers.reports.len(), PODS);
        assert!(!answers.reports.contains_key(&pod(0)));
        assert!(answers.reports.contains_key(&pod(PODS)));
    }

    #[test]
    fn log_of_a_pod_that_does_not_wait_is_dropped() {
        let mut answers = KubeletAnswers::default();
        let by = AnswerOrigin::Pasted { by: "Li".into() };
        answers.keep_log(&kubelet_log::read(""), &Uid::new("gone"), by, at(1000));
        answers.add_to(&mut []);
        assert!(answers.reports.is_empty());
    }

    #[test]
    fn answer_without_a_fact_does_not_replace_pasted_lines_that_have_one() {
        const BUSY: &str = include_str!("../../sandbox/recordings/kubelet/busy/log.txt");
        let (busy, nothing) = (kubelet_log::read(BUSY), kubelet_log::read("-- No entries --"));
        let pod = Uid::new("113e414d-52b9-4eb7-a1ec-20089ddb2e36");
        let pasted = || AnswerOrigin::Pasted { by: "Li".into() };
        let mut answers = KubeletAnswers::default();
        let mut keep = |log, origin, second| {
            answers.keep_log(log, &pod, origin, at(second));
            answers.reports[&pod].at
        };
        assert_eq!(keep(&nothing, AnswerOrigin::Queried, 1), at(1));
        assert_eq!(keep(&busy, pasted(), 2), at(2));
        assert_eq!(keep(&nothing, AnswerOrigin::Queried, 3), at(2), "the lines say more");
        assert_eq!(keep(&busy, AnswerOrigin::Queried, 4), at(4));
        assert_eq!(
            keep(&nothing, AnswerOrigin::Queried, 5),
            at(5),
            "the step does not fail any more"
        );
    }

    #[test]
    fn problem_ends_with_the_next_answer_about_the_same() {
        use KubeletSubject::{Log, Metrics, RunningPods};
        let (mut answers, pod) = (KubeletAnswers::default(), Uid::new("a"));
        let unanswered = |answers: &KubeletAnswers| -> Vec<KubeletSubject> {
            answers.unanswered.keys().map(|(_, subject)| *subject).collect()
        };
        let log = || KubeletAnswer::Log(kubelet_log::read(""));
        answers.keep_problem(&KubeletProblem::QueryOff, Log, &pod, at(1));
        answers.keep_problem(&KubeletProblem::HandlerOff, RunningPods, &pod, at(1));
        let by = AnswerOrigin::Pasted { by: "Li".into() };
        answers.keep_log(&kubelet_log::read(""), &pod, by, at(2));
        assert_eq!(unanswered(&answers), [Log, RunningPods]);
        answers.keep(&log(), &pod, AnswerOrigin::Queried, at(3));
        assert_eq!(unanswered(&answers), [RunningPods]);
        // A problem of the node is one problem, and any answer ends it.
        answers.keep_problem(&KubeletProblem::Forbidden, Metrics, &pod, at(4));
        assert_eq!(unanswered(&answers), [Metrics]);
        answers.keep(&log(), &pod, AnswerOrigin::Queried, at(5));
        assert_eq!(unanswered(&answers), []);
    }

    #[test]
    fn state_of_a_runtime_that_is_not_read_again_is_dropped_unless_it_was_pasted() {
        let silent = KubeletProblem::Silent { seconds: 12 };
        let pasted = AnswerOrigin::Pasted { by: "Li".into() };
        for (problem, subject, origin, is_dropped) in [
            (&silent, KubeletSubject::Log, AnswerOrigin::Queried, false),
            (&silent, KubeletSubject::RunningPods, AnswerOrigin::Queried, true),
            (&KubeletProblem::Forbidden, KubeletSubject::Log, AnswerOrigin::Queried, true),
            (&silent, KubeletSubject::RunningPods, pasted.clone(), false),
            (&KubeletProblem::Forbidden, KubeletSubject::Log, pasted, false),
        ] {
            let (mut answers, pod) = (KubeletAnswers::default(), Uid::new("a"));
            let nothing = KubeletAnswer::RunningPods(RunningPods::default());
            answers.keep(&nothing, &pod, origin.clone(), at(1));
            answers.keep_problem(problem, subject, &pod, at(2));
            assert_eq!(answers.runtimes.is_empty(), is_dropped, "{subject:?} {origin:?}");
        }
    }

    #[test]
    fn pasted_answers_of_each_subject_are_of_a_bounded_number_of_pods() {
        let mut answers = KubeletAnswers::default();
        for number in 0..=PODS {
            let pod = Uid::new(format!("pod-{number:03}"));
            for text in [r#"{"kind":"PodList","items":null}"#, "kubelet_running_pods 1", "-"] {
                let answer = KubeletAnswer::read_pasted(text).unwrap();
                let by = AnswerOrigin::Pasted { by: "Li".into() };
                answers.keep(&answer, &pod, by, at(1000 + number as i64));
            }
        }
        let kept = [answers.reports.len(), answers.runtimes.len(), answers.metrics.len()];
        assert_eq!(kept, [PODS; 3]);
        assert!(!answers.runtimes.contains_key(&Uid::new("pod-000")));
    }
}
