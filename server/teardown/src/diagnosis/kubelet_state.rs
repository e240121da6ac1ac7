//! The state of a node as its kubelet gives it, as evidence: what its container runtime runs of a Pod, and the failures that it
//! counts.
//!
//! # Decisions
//! - The runtime confirms that containers run, or that a sandbox is left, because that is where they are. That it runs nothing
//!   fits what comes later in a Pod's end, and confirms none of that.
//! - Where the runtime says otherwise than the Pod's status, the cause stays and is at most inferred, whatever a log says: one of
//!   the two is out of date.
//! - An answer belongs to the cause that the Pod had when it came. After the next step of its end it says nothing any more.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use jiff::Timestamp;

use super::{
    Cause, Confidence, Diagnosis, EVIDENCE, Evidence, OF_KUBELETS, Source,
    kubelet_answer::AnswerOrigin,
    kubelet_metrics::{KubeletMetrics, NodeFailure},
    kubelet_report::node_ref,
    running_pods::RuntimeState,
};
use crate::object::Uid;

/// The most counts that a diagnosis lists.
const COUNTS: usize = 2;

/// The part of a Pod that its node's runtime ran at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuntimeReport {
    /// The way by which the answer came here.
    pub origin: AnswerOrigin,
    /// The time of the answer.
    pub at: Timestamp,
    state: RuntimeState,
    /// The cause that the Pod had.
    cause: Option<&'static str>,
}

impl RuntimeReport {
    /// An answer that came at this time.
    pub fn new(state: RuntimeState, origin: AnswerOrigin, at: Timestamp) -> Self {
        Self { origin, at, state, cause: None }
    }
}

/// The failures that the kubelet of a Pod has counted up to a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetricsReport {
    /// The way by which the answer came here.
    pub origin: AnswerOrigin,
    /// The time of the answer.
    pub at: Timestamp,
    failures: BTreeMap<NodeFailure, u64>,
    /// The look before.
    before: Option<(Timestamp, BTreeMap<NodeFailure, u64>)>,
}

impl MetricsReport {
    /// An answer that came at this time, after another one. What a person pasted was read at a time that is not known, so it says
    /// nothing about growth.
    pub fn after(
        before: Option<Self>,
        metrics: &KubeletMetrics,
        origin: AnswerOrigin,
        at: Timestamp,
    ) -> Self {
        let is_queried = |origin: &AnswerOrigin| *origin == AnswerOrigin::Queried;
        let before = before.filter(|before| is_queried(&before.origin) && is_queried(&origin));
        let before = before.map(|before| (before.at, before.failures));
        Self { origin, at, failures: metrics.failures.clone(), before }
    }

    /// The count of a failure with its growth since the look before. A kubelet that restarted counts from 0 again.
    fn evidence(&self, node: &Arc<str>, failure: &NodeFailure, count: u64) -> Evidence {
        let since = self.before.as_ref().and_then(|(at, before)| {
            let grown = count.checked_sub(before.get(failure).copied().unwrap_or_default())?;
            Some((grown, u64::try_from(self.at.duration_since(*at).as_secs()).ok()?))
        });
        Evidence {
            of: node_ref(node),
            source: Source::Failures {
                failure: failure.clone(),
                count,
                since,
                origin: self.origin.clone(),
            },
            said: String::new(),
            at: Some(self.at),
        }
    }
}

/// The relation of what a runtime runs to a cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuntimeFit {
    /// It says so.
    Confirms,
    /// It is as the cause has it, and as others would have it.
    Fits,
    /// It says otherwise.
    Contradicts,
}

impl Diagnosis {
    /// The part of the Pod that its node's runtime runs, if the kubelet was asked.
    pub fn runtime_state(&self) -> Option<&RuntimeState> {
        self.evidence.iter().find_map(|evidence| match &evidence.source {
            Source::Runtime { state, .. } => Some(state),
            _ => None,
        })
    }

    /// Its relation to the cause.
    pub fn runtime_fit(&self) -> Option<RuntimeFit> {
        self.runtime_state().map(|state| fit(state, &self.cause))
    }
}

/// Adds what runtimes run, by the UID of the Pod, in front of the evidence of each diagnosis, and drops what belongs to an
/// earlier cause.
pub fn add_runtime(diagnoses: &mut [Diagnosis], reports: &mut BTreeMap<Uid, RuntimeReport>) {
    // A Pod whose cause is another one now, such as a silent node, is asked about anew once its kubelet is back.
    let asked: BTreeSet<&Uid> =
        diagnoses.iter().filter_map(|it| Some(it.pod_of_kubelet()?.0)).collect();
    reports.retain(|pod, _| asked.contains(pod));
    for diagnosis in diagnoses {
        let Some((pod, node)) = diagnosis.held_by_kubelet() else { continue };
        let (pod, of, node) = (pod.uid.clone(), pod.object.clone(), node.clone());
        let cause = diagnosis.cause.name();
        let Some(report) = reports.get_mut(&pod) else { continue };
        if *report.cause.get_or_insert(cause) != cause {
            reports.remove(&pod);
            continue;
        }
        diagnosis.confidence = match fit(&report.state, &diagnosis.cause) {
            RuntimeFit::Confirms => Confidence::Confirmed,
            RuntimeFit::Fits => diagnosis.confidence,
            RuntimeFit::Contradicts => diagnosis.confidence.min(Confidence::Inferred),
        };
        let (state, origin, at) = (report.state.clone(), report.origin.clone(), Some(report.at));
        let source = Source::Runtime { node, state, origin };
        diagnosis.evidence.insert(0, Evidence { of, source, said: String::new(), at });
        diagnosis.evidence.truncate(EVIDENCE + OF_KUBELETS);
    }
}

/// Adds the failures that kubelets count and that have to do with the cause, by the UID of the Pod.
pub fn add_metrics(diagnoses: &mut [Diagnosis], reports: &BTreeMap<Uid, MetricsReport>) {
    for diagnosis in diagnoses {
        let Some((pod, node)) = diagnosis.pod_of_kubelet() else { continue };
        let Some(report) = reports.get(pod) else { continue };
        let about = report.failures.iter().filter(|(it, _)| is_about(it, &diagnosis.cause));
        let mut counted: Vec<(&NodeFailure, u64)> = about.map(|(it, count)| (it, *count)).collect();
        counted.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let counted = counted.into_iter().take(COUNTS);
        let mut evidence: Vec<Evidence> =
            counted.map(|(failure, count)| report.evidence(node, failure, count)).collect();
        evidence.append(&mut diagnosis.evidence);
        evidence.truncate(EVIDENCE + OF_KUBELETS);
        diagnosis.evidence = evidence;
    }
}

/// The kubelet stops containers, then the sandbox, then releases devices; the terminal phase comes after these, and the volumes
/// after that (`pkg/kubelet/kubelet.go`, `SyncTerminatingPod`).
fn fit(state: &RuntimeState, cause: &Cause) -> RuntimeFit {
    use RuntimeFit::{Confirms, Contradicts, Fits};
    use RuntimeState::{Containers, Nothing, Sandbox};
    match (cause, state) {
        (Cause::ContainersRunning { containers, .. }, Containers(running)) => {
            let is_same = containers.is_empty() || containers.iter().any(|it| running.contains(it));
            if is_same { Confirms } else { Fits }
        }
        (Cause::KubeletUnaware { .. }, Containers(_)) => Fits,
        (Cause::SandboxLeft { .. }, Sandbox) => Confirms,
        (Cause::NeverStarted { .. }, Sandbox | Nothing) => Fits,
        (
            Cause::ContainersRunning { .. }
            | Cause::KubeletUnaware { .. }
            | Cause::SandboxLeft { .. },
            _,
        )
        | (_, Containers(_) | Sandbox) => Contradicts,
        (_, Nothing) => Fits,
    }
}

fn is_about(failure: &NodeFailure, cause: &Cause) -> bool {
    match failure {
        NodeFailure::Unmount(plugin) => match cause {
            Cause::VolumesMounted { .. } | Cause::ClaimGone { .. } => true,
            Cause::DriverMissing { driver, .. } => plugin.ends_with(&**driver),
            _ => false,
        },
        NodeFailure::StopContainer => matches!(cause, Cause::ContainersRunning { .. }),
        NodeFailure::StopSandbox => matches!(cause, Cause::SandboxLeft { .. }),
    }
}

#[cfg(test)]
mod tests {
    use super::{super::diagnose, *};
    use crate::{diagnosis::running_pods::RunningPods, fixture, graph::Graph};

    const UID: &str = "11111111-2222-4333-8444-555555555555";
    const RUNNING: &str = "containers=web:running,log:terminated";
    const STARTING: &str = "containers=web:waiting";
    const SANDBOX: &str = "containers=web:terminated";
    const DEVICES: &str = "containers=web:terminated devices=yes";
    const MOUNTED: &str = "phase=Failed containers=web:terminated uses=claim:data";
    const BARE: &str = "phase=Failed containers=web:terminated";

    fn diagnosed(pod: &str) -> Vec<Diagnosis> {
        let index = fixture::index(&format!(
            "node n1
            pvc shop/data volume=pv
            pv pv claim=shop/data
            pod shop/a uid={UID} node=n1 deleted=400 grace=30 {pod}"
        ));
        diagnose(&index, &Graph::of(&index), fixture::now())
    }

    fn reported(state: RuntimeState) -> BTreeMap<Uid, RuntimeReport> {
        let report = RuntimeReport::new(state, AnswerOrigin::Queried, fixture::now());
        BTreeMap::from([(Uid::new(UID), report)])
    }

    fn containers(names: &[&str]) -> RuntimeState {
        RuntimeState::Containers(names.iter().map(|name| Arc::from(*name)).collect())
    }

    #[test]
    fn runtime_confirms_what_runs_and_contradicts_what_has_ended_and_turns_no_cause() {
        use RuntimeFit::{Confirms, Contradicts, Fits};
        let states = [containers(&["web"]), RuntimeState::Sandbox, RuntimeState::Nothing];
        let expected = [
            (RUNNING, [Confirms, Contradicts, Contradicts]),
            (STARTING, [Contradicts, Fits, Fits]),
            (SANDBOX, [Contradicts, Confirms, Contradicts]),
            (DEVICES, [Contradicts, Contradicts, Fits]),
            (MOUNTED, [Contradicts, Contradicts, Fits]),
            (BARE, [Contradicts, Contradicts, Fits]),
        ];
        for (pod, fits) in expected {
            for (state, expected) in states.iter().zip(fits) {
                let before = diagnosed(pod);
                let mut after = before.clone();
                add_runtime(&mut after, &mut reported(state.clone()));
                let (before, after) = (&before[0], &after[0]);
                assert_eq!((&after.id, &after.cause), (&before.id, &before.cause));
                assert_eq!(after.runtime_fit(), Some(expected), "{pod} {state:?}");
                assert_eq!(after.runtime_state(), Some(state));
                let is_confirmed = after.confidence == Confidence::Confirmed;
                assert_eq!(is_confirmed, expected == Confirms, "{pod} {state:?}");
            }
        }
        // Another container of the Pod than the status names.
        let mut other = diagnosed(RUNNING);
        add_runtime(&mut other, &mut reported(containers(&["log"])));
        assert_eq!(other[0].confidence, Confidence::Inferred);
    }

    #[test]
    fn runtime_that_still_runs_the_pod_takes_a_confirmation_back() {
        let mut found = diagnosed(MOUNTED);
        found[0].confidence = Confidence::Confirmed;
        add_runtime(&mut found, &mut reported(RuntimeState::Nothing));
        assert_eq!(found[0].confidence, Confidence::Confirmed);
        add_runtime(&mut found, &mut reported(containers(&["web"])));
        assert_eq!(found[0].confidence, Confidence::Inferred);
    }

    #[test]
    fn answer_says_nothing_after_the_next_step_of_the_end() {
        let mut reports = reported(containers(&["web"]));
        let mut running = diagnosed(RUNNING);
        add_runtime(&mut running, &mut reports);
        assert_eq!(running[0].confidence, Confidence::Confirmed);
        let before = diagnosed(MOUNTED);
        let mut mounted = before.clone();
        add_runtime(&mut mounted, &mut reports);
        assert_eq!(mounted, before);
        assert!(reports.is_empty());
    }

    #[test]
    fn pod_that_another_runtime_runs_is_of_no_other_diagnosis() {
        let mut found = diagnosed(RUNNING);
        let before = found.clone();
        let state = RunningPods::default().state(&Uid::new("b"));
        let report = RuntimeReport::new(state, AnswerOrigin::Queried, fixture::now());
        add_runtime(&mut found, &mut BTreeMap::from([(Uid::new("b"), report)]));
        assert_eq!(found, before);
    }

    #[test]
    fn failures_that_concern_the_cause_are_shown_with_their_growth_and_confirm_nothing() {
        const RECORDED: &str = include_str!("../../../sandbox/recordings/kubelet/metrics.txt");
        let now = fixture::now();
        let metrics = KubeletMetrics::read(RECORDED).unwrap();
        let mut earlier = metrics.clone();
        let nfs = NodeFailure::Unmount("kubernetes.io/nfs".into());
        earlier.failures.insert(nfs.clone(), 38);
        earlier.failures.insert(NodeFailure::StopContainer, 100);
        let minute = jiff::SignedDuration::from_mins(1);
        let queried = AnswerOrigin::Queried;
        let before = now.checked_sub(minute).unwrap();
        let first = MetricsReport::after(None, &earlier, queried.clone(), before);
        let second = MetricsReport::after(Some(first.clone()), &metrics, queried, now);
        let counts = |pod: &str, report: &MetricsReport| {
            let mut found = diagnosed(pod);
            add_metrics(&mut found, &BTreeMap::from([(Uid::new(UID), report.clone())]));
            assert_eq!(found[0].confidence, Confidence::Inferred);
            let counts = found[0].evidence.iter().filter_map(|it| match &it.source {
                Source::Failures { failure, count, since, .. } => {
                    Some((failure.clone(), *count, *since))
                }
                _ => None,
            });
            counts.collect::<Vec<_>>()
        };
        let local = NodeFailure::Unmount("kubernetes.io/local-volume".into());
        assert_eq!(counts(MOUNTED, &first)[0], (nfs.clone(), 38, None));
        assert_eq!(
            counts(MOUNTED, &second),
            [(nfs, 40, Some((2, 60))), (local, 30, Some((0, 60)))]
        );
        let restarted = (NodeFailure::StopContainer, 28, None);
        assert_eq!(counts(RUNNING, &second), [restarted], "it counts from 0 again");
        assert_eq!(counts(SANDBOX, &second), [(NodeFailure::StopSandbox, 25, Some((0, 60)))]);
        assert_eq!(counts(BARE, &second), []);
        assert_eq!(counts(DEVICES, &second), []);
    }
}
