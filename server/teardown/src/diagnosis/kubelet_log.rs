//! The kubelet's log as facts about Pods: which step of a Pod's end fails, on which volume and mount, with which error, and
//! when the kubelet tries again.
//!
//! # Decisions
//! - A text is read, never run as a program: it may come from anybody, in any length. What is not understood is passed over.
//! - The newest fact about one step of one Pod and volume counts. A success takes the failures before it away.
//! - A device is unmounted for no Pod: such a fact is about a volume, by the name of its PersistentVolume, and about a node.
//! - A Pod is known by its UID alone, because a StatefulSet gives the next Pod the same name.
//! - A message of the kubelet is in English in every locale; those of the programs that it runs, such as `umount`, are not.
//!   So the step is recognised by the kubelet's words, and an error of which the words are not known is quoted.
//! - `journalctl` prints the newest line first where it filters by a pattern and limits the lines, which is how a kubelet runs it
//!   for a query (`pkg/kubelet/kubelet_server_journal_linux.go`). Such a text is turned round, line by line.
//! - An unmount that was begun, has no answer, and is waited for in vain is `Waiting`: a mount whose server is dead.
//!
//! The words are those of `pkg/volume/util/operationexecutor/operation_generator.go`,
//! `pkg/volume/util/nestedpendingoperations`, `pkg/kubelet/pod_workers.go`, `pkg/kubelet/kuberuntime` and
//! `pkg/util/pod/pod.go`.

mod entry;
mod fact;

use std::borrow::Cow;

use jiff::{SignedDuration, Timestamp};

use self::{
    entry::{entries, is_newest_first},
    fact::Said,
};

/// The most bytes of a log that are read, those of the newest entries.
pub const LONGEST_LOG: usize = 256 * 1024;
/// The longest entry, in bytes.
const LONGEST_ENTRY: usize = 16 * 1024;
/// The longest text that a fact quotes, in characters.
const LONGEST_QUOTE: usize = 400;
/// The most facts of a log.
const FACTS: usize = 200;

/// The facts of a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KubeletLog {
    /// The facts, oldest first; at most 200, of which the newest are kept.
    pub facts: Vec<KubeletFact>,
    /// The number of entries that were read, understood or not.
    pub entries: usize,
    /// The text was longer than 256 KiB, and only its end was read.
    pub is_cut: bool,
}

/// A step of a Pod's end that fails.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KubeletFact {
    /// The UID of the Pod; empty for a step that is about a volume alone.
    pub pod: String,
    /// `namespace/name` of the Pod, if the entry has it.
    pub name: Option<String>,
    /// The step.
    pub step: KubeletStep,
    /// The name of the volume, without the parts that only the kubelet uses. Of a step that is about a volume alone it is that of the
    /// PersistentVolume.
    pub volume: Option<String>,
    /// The node, if the entry names it: of a step that is about a volume alone.
    pub node: Option<String>,
    /// The path of the mount on the node.
    pub path: Option<String>,
    /// The kind of error.
    pub error: KubeletError,
    /// The error in the words of the node, in one line and bounded.
    pub said: String,
    /// The next try.
    pub retry: Option<Retry>,
}

/// The kubelet's next try of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Retry {
    /// The time before which it does not try, by the clock of the node.
    pub at: Timestamp,
    /// The wait between the failure and that time.
    pub wait: Option<SignedDuration>,
}

/// A step of a Pod's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KubeletStep {
    /// A container is stopped.
    StopContainer,
    /// The sandbox of the Pod is stopped, with its network.
    StopSandbox,
    /// The devices of the Pod's resource claims are released.
    ReleaseDevices,
    /// The mounts of parts of a volume (`subPath`) are removed.
    UnmountSubPath,
    /// A volume is unmounted from the Pod.
    Unmount,
    /// A volume is unmounted from the node.
    UnmountDevice,
    /// A volume is detached from the node.
    Detach,
    /// The cgroup of the Pod is removed.
    RemoveCgroup,
    /// The directory of a Pod that the API server does not know any more is removed.
    RemoveDirectory,
    /// The status of the Pod is written: without it, the API server shows its containers as running for ever.
    WriteStatus,
}

/// The kind of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KubeletError {
    /// Something on the node uses the mount.
    Busy,
    /// The server does not know the mounted directory any more.
    Stale,
    /// Files lie in the directory below the mount.
    NotEmpty,
    /// It was begun, and has no answer.
    Waiting,
    /// It had no answer within its time.
    TimedOut,
    /// The CSI driver is not registered on the node.
    DriverNotRegistered,
    /// The file in which the kubelet keeps the parameters of a CSI volume is missing.
    VolumeDataMissing,
    /// The network of the sandbox cannot be taken down.
    Network,
    /// Nothing listens on the socket of the driver or the runtime.
    NoConnection,
    /// The API server finds a change in it that nobody asked for: a mutating webhook rewrites the Pod.
    Rewritten,
    /// Another one, known only by its words.
    Other,
}

/// The extent of a log in which nothing about a Pod was recognised.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RestOfLog {
    /// The number of entries that were read.
    pub entries: usize,
    /// The first few other Pods that it is about: `namespace/name`, or the UID.
    pub others: Vec<String>,
    /// Only its last 256 KiB were read.
    pub is_cut: bool,
}

/// Reads a log: lines of `journalctl`, of a file or of the API server's proxy, in klog's text or JSON format.
pub fn read(text: &str) -> KubeletLog {
    let is_cut = text.len() > LONGEST_LOG;
    let newest = if is_newest_first(text) {
        let newest = text.get(..text.floor_char_boundary(LONGEST_LOG)).unwrap_or_default();
        Cow::Owned(newest.lines().rev().collect::<Vec<_>>().join("\n"))
    } else {
        let newest = text.get(text.ceil_char_boundary(text.len().saturating_sub(LONGEST_LOG))..);
        Cow::Borrowed(newest.unwrap_or_default())
    };
    let mut log = KubeletLog { is_cut, ..KubeletLog::default() };
    for entry in entries(&newest) {
        log.entries += 1;
        match fact::said(&entry) {
            Some(Said::Failed(fact)) => log.keep(fact),
            Some(Said::Succeeded { pod, volume }) => log.facts.retain(|fact| {
                let is_of_volumes = if pod.is_empty() {
                    fact.step == KubeletStep::UnmountDevice
                } else {
                    matches!(fact.step, KubeletStep::Unmount | KubeletStep::UnmountSubPath)
                };
                !(is_of_volumes && fact.pod == pod && fact.volume == volume)
            }),
            None => {}
        }
    }
    log
}

impl KubeletLog {
    /// A fact takes the place of an older one about the same. That an unmount is waited for says nothing new about one that
    /// is known to fail.
    fn keep(&mut self, fact: KubeletFact) {
        let is_about_same = |old: &KubeletFact| {
            let is_unmount =
                |step| matches!(step, KubeletStep::Unmount | KubeletStep::UnmountSubPath);
            old.pod == fact.pod
                && old.node == fact.node
                && (old.volume == fact.volume)
                && (old.step == fact.step || is_unmount(old.step) && is_unmount(fact.step))
        };
        if let Some(at) = self.facts.iter().position(is_about_same) {
            let old = self.facts.get(at).map(|old| old.error);
            if fact.error == KubeletError::Waiting && old != Some(KubeletError::Waiting) {
                return;
            }
            self.facts.remove(at);
        }
        if self.facts.len() == FACTS {
            self.facts.remove(0);
        }
        self.facts.push(fact);
    }

    /// The facts about volumes alone.
    pub(super) fn about_volumes(&self) -> impl Iterator<Item = &KubeletFact> {
        self.facts.iter().filter(|fact| fact.pod.is_empty() && fact.volume.is_some())
    }

    /// The facts about the Pod of this UID.
    pub fn about<'a>(&'a self, pod: &'a str) -> impl Iterator<Item = &'a KubeletFact> {
        self.facts.iter().filter(move |fact| fact.pod == pod)
    }
}

#[cfg(test)]
mod tests;
