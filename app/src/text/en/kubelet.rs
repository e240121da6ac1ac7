//! The kubelet’s log in sentences. Only the server asks for these: see `teardown::advice`.

use teardown::diagnosis::{
    LogOrigin, LogProblem, RestOfLog,
    kubelet_log::{KubeletError, KubeletFact, KubeletStep},
};

use super::{
    super::{isolated, some_of, visible},
    api_problem::api_problem,
};

/// The text above the box.
pub(super) const LOG_LABEL: &str = "The kubelet’s own lines say which mount or container it is. Run one of these commands, and paste the \
     lines here, at most 256 KiB. Everybody who sees this card sees what they say, with your name. This needs the right to act.";
/// The text of its button.
pub(super) const PASTE_LOG: &str = "Read these lines";

fn from(origin: &LogOrigin) -> String {
    match origin {
        LogOrigin::Pasted { by } if by.is_empty() => "From pasted lines".to_owned(),
        LogOrigin::Pasted { by } => format!("From lines pasted by {}", isolated(by)),
        LogOrigin::Queried => "From the node’s log".to_owned(),
    }
}

/// A step that fails, as the kubelet’s log has it.
pub(super) fn kubelet_fact(origin: &LogOrigin, fact: &KubeletFact) -> String {
    let volume = fact.volume.as_deref().map_or_else(|| "a volume".to_owned(), isolated);
    let step = match fact.step {
        KubeletStep::StopContainer => "a container cannot be stopped".to_owned(),
        KubeletStep::StopSandbox => "the Pod’s sandbox cannot be stopped".to_owned(),
        KubeletStep::ReleaseDevices => "the Pod’s devices cannot be released".to_owned(),
        KubeletStep::UnmountSubPath => format!("a subPath mount of {volume} cannot be removed"),
        KubeletStep::Unmount => format!("{volume} cannot be unmounted"),
        KubeletStep::UnmountDevice => format!("{volume} cannot be unmounted from the node"),
        KubeletStep::Detach => format!("{volume} cannot be detached from the node"),
        KubeletStep::RemoveCgroup => "the Pod’s cgroup cannot be removed".to_owned(),
        KubeletStep::RemoveDirectory => "the Pod’s directory cannot be removed".to_owned(),
    };
    let why = match fact.error {
        KubeletError::Busy => ": something on the node still uses it",
        KubeletError::Stale => ": the server does not know the mounted directory any more",
        KubeletError::NotEmpty => ": files lie below the mount point",
        KubeletError::Waiting => {
            ": it was begun and has no answer, as with a hard mount whose server is dead, and no retry is scheduled"
        }
        KubeletError::TimedOut => ": it has no answer in time",
        KubeletError::DriverNotRegistered => ": the CSI driver is not registered on the node",
        KubeletError::VolumeDataMissing => ": the file with the volume’s parameters is missing",
        KubeletError::Network => ": the network plugin fails",
        KubeletError::NoConnection => ": nothing listens on the driver’s socket",
        KubeletError::Other => "",
    };
    let at =
        fact.path.as_deref().map_or_else(String::new, |path| format!(" Mount: {}.", visible(path)));
    let said = match &*fact.said {
        "" => String::new(),
        said => format!(" The kubelet’s words: {}", visible(said)),
    };
    format!("{}: {step}{why}.{at}{said}", from(origin))
}

/// Lines in which nothing about the Pod is recognised.
pub(super) fn not_in_log(origin: &LogOrigin, rest: &RestOfLog) -> String {
    let cut = if rest.is_cut { " Only their last 256 KiB were read." } else { "" };
    let others: Vec<String> = rest.others.iter().map(|it| isolated(it)).collect();
    let others = if others.is_empty() {
        String::new()
    } else {
        format!(" They are about other Pods: {}.", some_of(&others, 3))
    };
    let entries = match rest.entries {
        0 => "no entry of a kubelet’s log".to_owned(),
        1 => "1 entry of a kubelet’s log".to_owned(),
        many => format!("{many} entries of a kubelet’s log"),
    };
    format!(
        "{}: {entries}, and no failure of this Pod is recognised. Looked for, with the Pod’s UID: failed unmounts of \
         volumes, subPaths and devices, containers and sandboxes that do not stop, devices that are not released, cgroups \
         and directories that are left.{others}{cut}",
        from(origin)
    )
}

/// Why the log of a node cannot be read, and what would change that.
pub(super) fn log_unread(node: &str, problem: &LogProblem) -> String {
    let why = match problem {
        LogProblem::Forbidden => {
            "Unwind’s credentials lack the right to get nodes/proxy.".to_owned()
        }
        LogProblem::HandlerOff => {
            "the kubelet serves no logs (enableSystemLogHandler is false).".to_owned()
        }
        LogProblem::QueryOff => {
            "the kubelet answers no queries of logs. Its owner can set enableSystemLogQuery, and before Kubernetes 1.36 also the \
             feature gate NodeLogQuery."
                .to_owned()
        }
        LogProblem::QueryRefused { said } => {
            format!("the kubelet refuses the query{}", quoted(said))
        }
        LogProblem::NoJournal => "the kubelet’s log is not in the journal of the node.".to_owned(),
        LogProblem::NoAddress => {
            "the API server connects to no address that the Node has.".to_owned()
        }
        LogProblem::Unreachable { said } => format!(
            "the API server does not reach the kubelet, though the node may still report{}",
            quoted(said)
        ),
        LogProblem::Silent { seconds } => format!(
            "no answer within {seconds} s. The kubelet may hang, or the node may be out of reach."
        ),
        LogProblem::NoNode => "the API server knows no such node.".to_owned(),
        LogProblem::Other(problem) => api_problem(problem),
    };
    let why = if why.is_empty() { String::new() } else { format!(": {}", visible(&why)) };
    format!("The kubelet’s log on node {} cannot be read{why}", isolated(node))
}

/// The words of somebody at the end of a sentence.
fn quoted(said: &str) -> String {
    if said.is_empty() { ".".to_owned() } else { format!(": {said}") }
}
