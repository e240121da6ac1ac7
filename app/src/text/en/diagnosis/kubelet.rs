//! The answers of kubelets in sentences. Only the server asks for these: see `teardown::advice`.

use teardown::diagnosis::{
    AnswerOrigin, KubeletProblem, KubeletSubject, NodeFailure, RestOfLog, RuntimeState,
    kubelet_log::{KubeletError, KubeletFact, KubeletStep},
};
use teardown::object::ObjectRef;

use crate::text::{api_problem, isolated, named, some_of, visible};

/// The text above the box.
pub(super) const LOG_LABEL: &str = "The kubelet’s log names the mount or container, its list of running Pods shows containers that are left, and its \
     metrics show whether it still retries. Run one of these commands and paste its whole output, at most 1 MiB. Everybody who \
     sees this card sees the result with your name. This needs the right to act.";
/// The text of its button.
pub(super) const PASTE_LOG: &str = "Read this";

fn from(origin: &AnswerOrigin) -> String {
    match origin {
        AnswerOrigin::Pasted { by } if by.is_empty() => "From pasted lines".to_owned(),
        AnswerOrigin::Pasted { by } => format!("From lines pasted by {}", isolated(by)),
        AnswerOrigin::Queried => "From the node’s log".to_owned(),
    }
}

/// A fact of an answer, behind the person who pasted the answer.
fn by_way_of(origin: &AnswerOrigin, said: String) -> String {
    match origin {
        AnswerOrigin::Pasted { .. } => format!("{}. {said}", from(origin)),
        AnswerOrigin::Queried => said,
    }
}

/// The kind of an error in words, behind the step that fails.
pub(super) fn kubelet_error(error: KubeletError) -> &'static str {
    match error {
        KubeletError::Busy => ": something on the node still uses it",
        KubeletError::Stale => ": the server does not know the mounted directory any more",
        KubeletError::NotEmpty => ": files lie below the mount point",
        KubeletError::Waiting => {
            ": the operation started but never returned, as with a hard mount whose server is dead; no retry is scheduled"
        }
        KubeletError::TimedOut => ": it has no answer in time",
        KubeletError::DriverNotRegistered => ": the CSI driver is not registered on the node",
        KubeletError::VolumeDataMissing => ": the file with the volume’s parameters is missing",
        KubeletError::Network => ": the network plugin fails",
        KubeletError::NoConnection => ": nothing listens on the driver’s socket",
        KubeletError::Rewritten => {
            ": a mutating webhook rewrites the Pod with each update, and the API server refuses that"
        }
        KubeletError::Other => "",
    }
}

/// A step that fails, as the kubelet’s log has it.
pub(super) fn kubelet_fact(origin: &AnswerOrigin, fact: &KubeletFact) -> String {
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
        KubeletStep::WriteStatus => "the Pod’s status cannot be written".to_owned(),
    };
    let why = kubelet_error(fact.error);
    let at =
        fact.path.as_deref().map_or_else(String::new, |path| format!(" Mount: {}.", visible(path)));
    let said = match &*fact.said {
        "" => String::new(),
        said => format!(" The kubelet’s words: {}", visible(said)),
    };
    format!("{}: {step}{why}.{at}{said}", from(origin))
}

/// Lines in which nothing about the Pod, or the volume, is recognised.
pub(super) fn not_in_log(origin: &AnswerOrigin, of: &ObjectRef, rest: &RestOfLog) -> String {
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
    if &*of.kind == "PersistentVolume" {
        return format!(
            "{}: {entries}, and no failure to unmount the device of {} from the node is recognised.{others}{cut}",
            from(origin),
            named(of)
        );
    }
    format!(
        "{}: {entries}, and no failure of this Pod is recognised. Looked for, with the Pod’s UID: failed unmounts of \
         volumes, subPaths and devices, containers and sandboxes that do not stop, devices that are not released, cgroups \
         and directories that are left.{others}{cut}",
        from(origin)
    )
}

/// The part of a Pod that the container runtime of a node runs.
pub(super) fn runtime(
    origin: &AnswerOrigin,
    pod: &ObjectRef,
    node: &str,
    state: &RuntimeState,
) -> String {
    let (pod, node) = (named(pod), isolated(node));
    let said = match state {
        RuntimeState::Containers(containers) => {
            let names: Vec<String> = containers.iter().map(|it| isolated(it)).collect();
            let container = if names.len() == 1 { "container" } else { "containers" };
            format!(
                "The container runtime of node {node} still runs {container} {} of {pod}",
                some_of(&names, 3)
            )
        }
        RuntimeState::Sandbox => format!(
            "The container runtime of node {node} runs no container of {pod} any more, but its sandbox is left"
        ),
        RuntimeState::Nothing => {
            format!("The container runtime of node {node} runs nothing of {pod} any more")
        }
    };
    by_way_of(origin, said)
}

/// A count of failures of a node, and its growth with the seconds that it took.
pub(super) fn failures(
    origin: &AnswerOrigin,
    node: &str,
    failure: &NodeFailure,
    count: u64,
    since: Option<(u64, u64)>,
) -> String {
    let what = match failure {
        NodeFailure::Unmount(plugin) => {
            format!("failed unmounts of volumes of {}", isolated(plugin))
        }
        NodeFailure::StopContainer => "failed tries to stop a container".to_owned(),
        NodeFailure::StopSandbox => "failed tries to stop a sandbox".to_owned(),
    };
    let grown = since.map_or_else(String::new, |(grown, seconds)| match grown {
        0 => format!(", none of them in the last {seconds} s"),
        grown => format!(", {grown} of them in the last {seconds} s"),
    });
    let said = format!(
        "The kubelet’s metrics on node {} count {count} {what}{grown}. They are of all its Pods",
        isolated(node)
    );
    by_way_of(origin, said)
}

/// Why a kubelet does not answer, and what would change that.
pub(super) fn unanswered(node: &str, subject: KubeletSubject, problem: &KubeletProblem) -> String {
    let why = match problem {
        KubeletProblem::Forbidden => {
            "Unwind’s credentials lack the right to get nodes/proxy.".to_owned()
        }
        KubeletProblem::HandlerOff => match subject {
            KubeletSubject::Log => "the kubelet serves no logs (enableSystemLogHandler is false).",
            KubeletSubject::RunningPods | KubeletSubject::Metrics => {
                "the kubelet does not serve it (enableDebuggingHandlers is false)."
            }
        }
        .to_owned(),
        KubeletProblem::QueryOff => {
            "the kubelet answers no queries of logs. Its owner can set enableSystemLogQuery, and before Kubernetes 1.36 also the \
             feature gate NodeLogQuery."
                .to_owned()
        }
        KubeletProblem::QueryRefused { said } => {
            format!("the kubelet refuses the query{}", quoted(said))
        }
        KubeletProblem::NoJournal => "the kubelet’s log is not in the journal of the node.".to_owned(),
        KubeletProblem::NoAddress => {
            "the API server connects to no address that the Node has.".to_owned()
        }
        KubeletProblem::Unreachable { said } => format!(
            "the API server does not reach the kubelet, though the node may still report{}",
            quoted(said)
        ),
        KubeletProblem::Silent { seconds } => format!(
            "no answer within {seconds} s. The kubelet may hang, or the node may be out of reach."
        ),
        KubeletProblem::NoNode => "the API server knows no such node.".to_owned(),
        KubeletProblem::Other(problem) => api_problem(problem),
    };
    let why = if why.is_empty() { String::new() } else { format!(": {}", visible(&why)) };
    let subject = match subject {
        _ if problem.is_of_node() => {
            return format!("The kubelet on node {} cannot be asked{why}", isolated(node));
        }
        KubeletSubject::Log => "kubelet’s log",
        KubeletSubject::RunningPods => "kubelet’s list of running Pods",
        KubeletSubject::Metrics => "kubelet’s metrics",
    };
    format!("The {subject} on node {} cannot be read{why}", isolated(node))
}

/// The words of somebody at the end of a sentence.
fn quoted(said: &str) -> String {
    if said.is_empty() { ".".to_owned() } else { format!(": {said}") }
}
