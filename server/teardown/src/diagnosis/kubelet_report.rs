//! The kubelet's log about the Pods of a diagnosis, as evidence for its cause or as a hint at another one.
//!
//! # Decisions
//! - A log confirms a cause only where it says that the very step fails for which the cause stands. Anything else it says of
//!   the Pod is shown, and the cause stays inferred: nothing in a log turns a diagnosis to another root.
//! - A log that cannot be read is reported with the reason: a person learns what to switch on, or that the node is out of reach.
//! - A driver that is not registered is missing for all Pods of the node, so a line about another Pod that waits for it says as much.
//! - A fact about a volume alone, such as a device that cannot be unmounted from its node, names no Pod. It is put to the volume by
//!   its name and node, whichever card the log was read for, and confirms that the node keeps the volume attached.
//! - Lines that say nothing of the Pod are evidence too: a person who pasted them learns for which words they were searched.

use std::{collections::BTreeMap, sync::Arc};

use jiff::Timestamp;

use super::{
    Cause, Confidence, Diagnosis, EVIDENCE, Evidence, OF_KUBELETS, Source, Waiting,
    kubelet_answer::{AnswerOrigin, KubeletProblem, KubeletSubject},
    kubelet_log::{KubeletError, KubeletFact, KubeletLog, KubeletStep, RestOfLog},
};
use crate::object::{ObjectRef, Uid};

/// The most facts of one log that a diagnosis lists.
const FACTS: usize = 4;
/// The most names of other Pods.
const OTHERS: usize = 3;

/// The part of a kubelet's log that matters for one Pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KubeletReport {
    /// The way by which the log came here.
    pub origin: AnswerOrigin,
    /// The time at which it came.
    pub at: Timestamp,
    /// The facts about the Pod, oldest first.
    facts: Vec<KubeletFact>,
    /// Those about other Pods whose driver is not registered on the node, oldest first.
    unregistered: Vec<KubeletFact>,
    /// Those about volumes alone, oldest first.
    of_volumes: Vec<KubeletFact>,
    /// Its entries, and the other Pods that it is about.
    rest: RestOfLog,
}

impl KubeletReport {
    /// The part of a log that is about the Pod of this UID.
    pub fn of(log: &KubeletLog, pod: &Uid, origin: AnswerOrigin, at: Timestamp) -> Self {
        let pod = pod.to_string();
        let facts: Vec<KubeletFact> = log.about(&pod).cloned().collect();
        let is_unregistered = |fact: &&KubeletFact| fact.error == KubeletError::DriverNotRegistered;
        let unregistered = log.facts.iter().filter(|fact| fact.pod != pod).filter(is_unregistered);
        let unregistered = unregistered.cloned().collect();
        let mut others: Vec<String> = log
            .facts
            .iter()
            .filter(|fact| fact.pod != pod && !fact.pod.is_empty())
            .map(|fact| fact.name.clone().unwrap_or_else(|| fact.pod.clone()))
            .collect();
        others.sort();
        others.dedup();
        others.truncate(OTHERS);
        let rest = RestOfLog { entries: log.entries, others, is_cut: log.is_cut };
        let of_volumes = log.about_volumes().cloned().collect();
        Self { origin, at, facts, unregistered, of_volumes, rest }
    }

    /// Whether it says more than this one about the Pod, or about volumes, or is as much worth and newer. A query asks for a limited
    /// time and number of lines, so an answer without a fact does not outweigh lines with one that a person found.
    pub fn replaces(&self, older: &Self) -> bool {
        let is_pasted = |report: &Self| matches!(report.origin, AnswerOrigin::Pasted { .. });
        let says = |report: &Self| {
            let of_pods = !report.facts.is_empty() || !report.unregistered.is_empty();
            (of_pods, !report.of_volumes.is_empty())
        };
        says(self) >= says(older) || is_pasted(self) || !is_pasted(older)
    }
}

/// A subject that a kubelet does not answer about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unanswered {
    /// The reason.
    pub problem: KubeletProblem,
    /// The time of the last try.
    pub at: Timestamp,
}

/// A volume that its node keeps attached.
#[derive(Clone, Copy, Debug)]
pub struct AttachedVolume<'a> {
    /// The first object that waits for it.
    pub held: &'a Uid,
    /// The node.
    pub node: &'a Arc<str>,
    /// The PersistentVolume.
    pub volume: &'a Arc<str>,
}

impl Diagnosis {
    /// The volume that a kubelet has to unmount from its node before it is detached. Of one that is being detached already, the driver
    /// knows more.
    pub fn volume_of_kubelet(&self) -> Option<AttachedVolume<'_>> {
        let Cause::VolumeAttached { node, volume: Some(volume), .. } = &self.cause else {
            return None;
        };
        let is_detaching = self.waiting.iter().any(|held| held.object == self.root);
        let held = self.waiting.first().filter(|_| !is_detaching)?;
        Some(AttachedVolume { held: &held.uid, node, volume })
    }

    /// The object for which a kubelet is asked, and its node: a Pod, or one that waits for a volume.
    pub fn asked_of_kubelet(&self) -> Option<(&Uid, &Arc<str>)> {
        let of_volume = self.volume_of_kubelet().map(|it| (it.held, it.node));
        of_volume.or_else(|| self.pod_of_kubelet())
    }

    /// The Pod on which a kubelet works, and its node: the one of which the kubelet's log says more. Of several Pods that wait for
    /// one driver it is the first.
    pub fn pod_of_kubelet(&self) -> Option<(&Uid, &Arc<str>)> {
        self.held_by_kubelet().map(|(pod, node)| (&pod.uid, node))
    }

    /// The same, with its name.
    pub(super) fn held_by_kubelet(&self) -> Option<(&Waiting, &Arc<str>)> {
        let node = self.cause.node_of_kubelet()?;
        let is_it = |held: &&Waiting| match &self.cause {
            Cause::DriverMissing { .. } => held.on.is_none(),
            _ => held.object == self.root,
        };
        Some((self.waiting.iter().find(is_it)?, node))
    }

    /// Whether the API server does not reach the kubelet, and its lease is not known to be renewed. The node controller says only
    /// after 50 s that a node is silent.
    pub fn may_be_silent(&self) -> bool {
        let is_away = |it: &Evidence| match &it.source {
            Source::Unanswered(_, problem) => {
                matches!(**problem, KubeletProblem::Unreachable { .. })
            }
            _ => false,
        };
        self.evidence.iter().any(is_away)
            && self.evidence.iter().all(|it| it.source != Source::Renewed)
    }

    /// The newest facts of the kubelet's log about the Pod, as far as they are known.
    pub fn kubelet_facts(&self) -> impl Iterator<Item = &KubeletFact> {
        self.evidence.iter().filter_map(|evidence| match &evidence.source {
            Source::Kubelet(_, fact) => Some(&**fact),
            _ => None,
        })
    }
}

/// Adds why kubelets do not answer, by the UID of the Pod or of what waits for a volume, in front of the evidence of each diagnosis.
pub fn add_unanswered(
    diagnoses: &mut [Diagnosis],
    unanswered: &BTreeMap<(Uid, KubeletSubject), Unanswered>,
) {
    for diagnosis in diagnoses {
        let Some((pod, node)) = diagnosis.asked_of_kubelet() else { continue };
        let (pod, of) = (pod.clone(), node_ref(node));
        let is_of_volume = diagnosis.volume_of_kubelet().is_some();
        let says = |subject: &&KubeletSubject| !is_of_volume || **subject == KubeletSubject::Log;
        let about = |subject: &KubeletSubject| unanswered.get_key_value(&(pod.clone(), *subject));
        let found = KubeletSubject::ALL.iter().filter(says).filter_map(about);
        let mut evidence: Vec<Evidence> = found
            .map(|((_, subject), Unanswered { problem, at })| Evidence {
                of: of.clone(),
                source: Source::Unanswered(*subject, Box::new(problem.clone())),
                said: String::new(),
                at: Some(*at),
            })
            .collect();
        evidence.append(&mut diagnosis.evidence);
        evidence.truncate(EVIDENCE + OF_KUBELETS);
        diagnosis.evidence = evidence;
    }
}

/// A node by its name.
pub(super) fn node_ref(name: &Arc<str>) -> ObjectRef {
    ObjectRef { group: "".into(), kind: "Node".into(), namespace: None, name: name.clone() }
}

/// Adds what the logs say, by the UID of the Pod or by the volume, in front of the evidence of each diagnosis.
pub fn add_reports(diagnoses: &mut [Diagnosis], reports: &BTreeMap<Uid, KubeletReport>) {
    for diagnosis in diagnoses {
        add_of_volume(diagnosis, reports);
        let Some((pod, _)) = diagnosis.held_by_kubelet() else { continue };
        let (Some(report), of) = (reports.get(&pod.uid), pod.object.clone()) else { continue };
        let newest = report.facts.iter().rev().take(FACTS);
        let others = of_others(diagnosis, report);
        if !others.is_empty() || newest.clone().any(|fact| confirms(fact, &diagnosis.cause)) {
            diagnosis.confidence = Confidence::Confirmed;
        }
        let mut evidence: Vec<Evidence> = newest.map(|fact| said(&of, report, fact)).collect();
        evidence.extend(others);
        if evidence.is_empty() {
            let source = Source::NotInLog(report.origin.clone(), Box::new(report.rest.clone()));
            evidence.push(Evidence { of, source, said: String::new(), at: Some(report.at) });
        }
        evidence.append(&mut diagnosis.evidence);
        evidence.truncate(EVIDENCE + OF_KUBELETS);
        diagnosis.evidence = evidence;
    }
}

/// Adds what any of the logs says of the volume of a diagnosis.
fn add_of_volume(diagnosis: &mut Diagnosis, reports: &BTreeMap<Uid, KubeletReport>) {
    let attached = diagnosis.volume_of_kubelet();
    // Its storage may not go while a node has it staged.
    let is_volume = matches!(diagnosis.cause, Cause::BackendLeft { .. });
    let (volume, node) = match attached {
        Some(it) => (it.volume, Some(it.node)),
        None if is_volume => (&diagnosis.root.name, None),
        None => return,
    };
    let is_its = |fact: &KubeletFact| {
        let is_there = |on: &String| node.is_none_or(|node| **node == **on);
        fact.volume.as_deref() == Some(&**volume) && fact.node.as_ref().is_none_or(is_there)
    };
    let facts = |report: &'_ KubeletReport| -> Vec<KubeletFact> {
        report.of_volumes.iter().filter(|fact| is_its(fact)).cloned().collect()
    };
    // One log may have been read for several cards: the latest one counts.
    let latest = reports.values().filter(|it| it.of_volumes.iter().any(is_its));
    let latest = latest.max_by_key(|it| it.at);
    let own = attached.and_then(|it| reports.get(it.held));
    let Some(report) = latest.or(own) else { return };
    let of = ObjectRef {
        group: "".into(),
        kind: "PersistentVolume".into(),
        namespace: None,
        name: volume.clone(),
    };
    let newest: Vec<KubeletFact> = facts(report).into_iter().rev().take(FACTS).collect();
    let mut evidence: Vec<Evidence> = newest.iter().map(|fact| said(&of, report, fact)).collect();
    if evidence.is_empty() {
        let source = Source::NotInLog(report.origin.clone(), Box::new(report.rest.clone()));
        evidence.push(Evidence { of, source, said: String::new(), at: Some(report.at) });
    }
    if newest.iter().any(|fact| confirms(fact, &diagnosis.cause)) {
        diagnosis.confidence = Confidence::Confirmed;
    }
    evidence.append(&mut diagnosis.evidence);
    evidence.truncate(EVIDENCE + OF_KUBELETS);
    diagnosis.evidence = evidence;
}

/// The same driver is missing for other Pods that wait for it.
fn of_others(diagnosis: &Diagnosis, report: &KubeletReport) -> Vec<Evidence> {
    if !matches!(diagnosis.cause, Cause::DriverMissing { .. }) {
        return Vec::new();
    }
    let alike = report.unregistered.iter().rev().filter(|fact| confirms(fact, &diagnosis.cause));
    let held = |pod: &str| diagnosis.waiting.iter().find(|held| held.uid.to_string() == pod);
    let evidence = alike.filter_map(|fact| Some(said(&held(&fact.pod)?.object, report, fact)));
    evidence.take(FACTS).collect()
}

fn said(of: &ObjectRef, report: &KubeletReport, fact: &KubeletFact) -> Evidence {
    Evidence {
        of: of.clone(),
        source: Source::Kubelet(report.origin.clone(), Box::new(fact.clone())),
        said: fact.said.clone(),
        at: Some(report.at),
    }
}

/// Whether the log says that the step fails for which the cause stands.
fn confirms(fact: &KubeletFact, cause: &Cause) -> bool {
    use KubeletStep as Step;
    match cause {
        Cause::VolumesMounted { .. } | Cause::ClaimGone { .. } => {
            matches!(fact.step, Step::Unmount | Step::UnmountSubPath)
        }
        Cause::DriverMissing { driver, plugin, .. } => {
            match fact.error {
                KubeletError::DriverNotRegistered => fact.said.contains(&**driver),
                // The socket of a driver is a file, and its path need not have the driver's name.
                KubeletError::NoConnection => plugin.is_some() && fact.said.contains("dial unix"),
                _ => false,
            }
        }
        Cause::ContainersRunning { .. } => fact.step == Step::StopContainer,
        Cause::SandboxLeft { .. } => fact.step == Step::StopSandbox,
        Cause::VolumeAttached { .. } => fact.step == Step::UnmountDevice,
        Cause::DevicesLeft { .. } => fact.step == Step::ReleaseDevices,
        Cause::PodDirectoryLeft { .. } => {
            matches!(fact.step, Step::RemoveCgroup | Step::RemoveDirectory)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{super::diagnose, *};
    use crate::{diagnosis::kubelet_log::read, fixture, graph::Graph};

    const UID: &str = "11111111-2222-4333-8444-555555555555";

    macro_rules! recorded {
        ($name:literal) => {
            include_str!(concat!("../../../sandbox/recordings/kubelet/", $name, "/log.txt"))
        };
    }

    /// The diagnosis of a Pod, with a recorded log of its kubelet in which `pod` stands for the Pod.
    fn diagnosed(pod: &str, log: &str, of: &str) -> Diagnosis {
        let index = fixture::index(&format!(
            "node n1
            csinode n1 drivers=other.example
            pvc shop/data volume=pv
            pv pv claim=shop/data
            pvc shop/disk volume=disk
            pv disk claim=shop/disk driver=csi.unwind.test
            pod shop/a uid={UID} node=n1 deleted=400 grace=30 {pod}"
        ));
        let mut found = diagnose(&index, &Graph::of(&index), fixture::now());
        let uid = Uid::new(of);
        let by = AnswerOrigin::Pasted { by: "Li".into() };
        let report = KubeletReport::of(&read(log), &uid, by, fixture::now());
        add_reports(&mut found, &BTreeMap::from([(Uid::new(UID), report)]));
        assert_eq!(found.len(), 1, "{pod}");
        found.remove(0)
    }

    /// The UID of the Pod that a recording is about.
    fn uid(log: &str) -> String {
        read(log).facts.first().unwrap().pod.clone()
    }

    const MOUNTED: &str = "phase=Failed containers=web:terminated uses=claim:data";
    const GONE: &str = "phase=Failed containers=web:terminated uses=claim:lost subPath=yes";
    const DISK: &str = "phase=Failed containers=web:terminated uses=claim:disk";
    const BARE: &str = "phase=Failed containers=web:terminated";
    const RUNNING: &str = "containers=web:running";
    const SANDBOX: &str = "containers=web:terminated";
    const DEVICES: &str = "containers=web:terminated devices=yes";

    #[test]
    fn log_confirms_the_cause_whose_step_it_says_to_fail_and_no_other() {
        let logs = [
            ("busy", recorded!("busy"), &[MOUNTED, GONE][..]),
            ("busy-zh", recorded!("busy-zh"), &[MOUNTED, GONE]),
            ("stale", recorded!("stale"), &[MOUNTED, GONE]),
            ("hang", recorded!("hang"), &[MOUNTED, GONE]),
            ("leftover", recorded!("leftover"), &[MOUNTED, GONE]),
            ("csi-hang", recorded!("csi-hang"), &[MOUNTED, GONE]),
            // The Pod of the diagnosis has a volume of that driver, or a claim that hides its driver.
            ("csi-unregistered", recorded!("csi-unregistered"), &[MOUNTED, GONE, DISK]),
            ("cgroup", recorded!("cgroup"), &[BARE]),
            ("kill", recorded!("kill"), &[RUNNING]),
            ("unkillable", recorded!("unkillable"), &[RUNNING]),
            ("network", recorded!("network"), &[SANDBOX]),
            ("unprepare", recorded!("unprepare"), &[DEVICES]),
        ];
        for (name, log, confirmed) in logs {
            let uid = uid(log);
            for pod in [MOUNTED, GONE, DISK, BARE, RUNNING, SANDBOX, DEVICES] {
                let before = diagnosed(pod, "", UID);
                let after = diagnosed(pod, log, &uid);
                assert_eq!((&after.cause, &after.id), (&before.cause, &before.id), "{name} {pod}");
                let expected = if confirmed.contains(&pod) {
                    Confidence::Confirmed
                } else {
                    Confidence::Inferred
                };
                assert_eq!(after.confidence, expected, "{name} {pod}");
                assert!(after.kubelet_facts().next().is_some(), "{name} {pod}: it is shown");
            }
        }
    }

    #[test]
    fn log_of_another_pod_confirms_nothing() {
        let diagnosis = diagnosed(MOUNTED, recorded!("busy"), UID);
        assert_eq!(diagnosis.confidence, Confidence::Inferred);
        assert_eq!(diagnosis.kubelet_facts().next(), None);
        let Source::NotInLog(_, rest) = &diagnosis.evidence[0].source else {
            panic!("{:?}", diagnosis.evidence)
        };
        assert_eq!(rest.others, [uid(recorded!("busy"))]);
        assert!(rest.entries > 20);
    }

    /// The diagnosis of a volume that is still attached to node n1, with a log that was read for this object.
    fn attached(attachment: &str, log: &str, read_for: Option<&str>) -> Diagnosis {
        let index = fixture::index(&format!(
            "node n1
            pv pvc-7 deleted=400 phase=Released finalizers=external-attacher/disk driver=disk.example.com
            attachment a1 volume=pvc-7 node=n1 attacher=disk.example.com {attachment}"
        ));
        let mut found = diagnose(&index, &Graph::of(&index), fixture::now());
        assert_eq!(found.len(), 1);
        let held = found[0].waiting[0].uid.clone();
        let read_for = read_for.map_or(held, Uid::new);
        let by = AnswerOrigin::Pasted { by: "Li".into() };
        let report = KubeletReport::of(&read(log), &read_for, by, fixture::now());
        add_reports(&mut found, &BTreeMap::from([(read_for, report)]));
        assert_eq!(found[0].cause.name(), "volumeAttached");
        found.remove(0)
    }

    /// Lines about the device of a volume, as `pkg/volume/util/operationexecutor/operation_generator.go` writes them.
    fn device(volume: &str, node: &str) -> String {
        format!(
            "E1125 02:40:38.959177   30004 nestedpendingoperations.go:348] Operation for \"{{volumeName:kubernetes.io/csi/disk.example.com^vol-7 podName: nodeName:}}\" failed. No retries permitted until 2026-11-25 02:42:40.959177113 +0000 UTC m=+391.741 (durationBeforeRetry 2m2s). Error: UnmountDevice failed for volume \"{volume}\" (UniqueName: \"kubernetes.io/csi/disk.example.com^vol-7\") on node \"{node}\" : kubernetes.io/csi: attacher.UnmountDevice failed: rpc error: code = Internal desc = target is busy"
        )
    }

    #[test]
    fn device_that_its_node_cannot_unmount_confirms_that_the_volume_stays_attached() {
        // The log may have been read for another card, such as that of a Pod on the node.
        for read_for in [None, Some(UID)] {
            let found = attached("", &device("pvc-7", "n1"), read_for);
            assert_eq!(found.confidence, Confidence::Confirmed);
            let errors: Vec<KubeletError> = found.kubelet_facts().map(|fact| fact.error).collect();
            assert_eq!(errors, [KubeletError::Busy]);
            let of = &found.evidence[0].of;
            assert_eq!((&*of.kind, &*of.name), ("PersistentVolume", "pvc-7"));
            let (held, node) = found.asked_of_kubelet().unwrap();
            assert_eq!((held, &**node), (&found.waiting[0].uid, "n1"));
        }
    }

    #[test]
    fn device_of_another_volume_or_node_is_no_fact_about_the_volume() {
        for log in [device("pvc-8", "n1"), device("pvc-7", "n2"), String::new()] {
            let found = attached("", &log, None);
            assert_eq!(found.confidence, Confidence::Inferred, "{log}");
            assert_eq!(found.kubelet_facts().next(), None, "{log}");
            let first = &found.evidence[0];
            assert!(matches!(first.source, Source::NotInLog(..)), "{first:?}");
            let others = attached("", &log, Some(UID));
            assert!(others.evidence.iter().all(|it| !matches!(it.source, Source::NotInLog(..))));
        }
        // Once the attachment is being deleted, the node has let go of the volume, and its driver has to answer.
        let found = attached("deleted=300", &device("pvc-7", "n1"), None);
        assert_eq!((found.confidence, found.asked_of_kubelet()), (Confidence::Inferred, None));
        assert_eq!(found.kubelet_facts().next(), None);
    }

    #[test]
    fn log_that_cannot_be_read_is_evidence_and_changes_no_verdict() {
        let mut diagnosis = diagnosed(MOUNTED, recorded!("busy"), &uid(recorded!("busy")));
        assert_eq!(diagnosis.confidence, Confidence::Confirmed);
        let before = diagnosis.clone();
        let problem = KubeletProblem::Unreachable { said: "no route to host".into() };
        let unread = Unanswered { problem: problem.clone(), at: fixture::now() };
        let add = |diagnosis: &mut Diagnosis, pod: &str| {
            let about = (Uid::new(pod), KubeletSubject::Log);
            let unread = BTreeMap::from([(about, unread.clone())]);
            add_unanswered(std::slice::from_mut(diagnosis), &unread);
        };
        add(&mut diagnosis, "another");
        assert_eq!(diagnosis, before);
        add(&mut diagnosis, UID);
        let first = diagnosis.evidence.remove(0);
        assert_eq!(first.source, Source::Unanswered(KubeletSubject::Log, Box::new(problem)));
        assert_eq!((&*first.of.kind, &*first.of.name), ("Node", "n1"));
        assert_eq!(diagnosis, before, "what the log said before stays");
        let bare = first.without_words().unwrap();
        let no_words = KubeletProblem::Unreachable { said: String::new() };
        assert_eq!(bare.source, Source::Unanswered(KubeletSubject::Log, Box::new(no_words)));
    }

    #[test]
    fn only_a_cause_on_a_node_that_reports_has_a_pod_of_a_kubelet() {
        let index = fixture::index(
            "node n1 ready=Ready:Unknown:NodeStatusUnknown:600:stopped
            pod shop/a node=n1 deleted=400 grace=30 containers=web:running",
        );
        let found = diagnose(&index, &Graph::of(&index), fixture::now());
        assert_eq!(found[0].cause.name(), "nodeSilent");
        assert_eq!(found[0].pod_of_kubelet(), None);
    }
}
