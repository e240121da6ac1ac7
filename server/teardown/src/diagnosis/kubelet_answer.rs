//! Questions to a kubelet through the API server's proxy of nodes, and its answers.

use super::{kubelet_log::KubeletLog, kubelet_metrics::KubeletMetrics, running_pods::RunningPods};
use crate::api_problem::ApiProblem;

/// The subject of a question to a kubelet. Its order is that in which a kubelet is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KubeletSubject {
    /// The lines of its log about Pods.
    Log,
    /// The Pods that its container runtime runs.
    RunningPods,
    /// The failures that it counts.
    Metrics,
}

impl KubeletSubject {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Log, Self::RunningPods, Self::Metrics];
}

/// The answer of a kubelet, as facts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KubeletAnswer {
    /// About its log.
    Log(KubeletLog),
    /// About what its runtime runs.
    RunningPods(RunningPods),
    /// About the failures that it counts.
    Metrics(KubeletMetrics),
}

/// The reason why a kubelet gives no answer through the API server. The words in it are bounded and without line breaks.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KubeletProblem {
    /// The credentials lack the right to `get` `nodes/proxy`.
    Forbidden,
    /// The kubelet serves this to nobody: `enableSystemLogHandler` is false for its log, `enableDebuggingHandlers` for all but its
    /// metrics.
    HandlerOff,
    /// The kubelet answers no queries of logs: `enableSystemLogQuery` is false, which is the default.
    QueryOff,
    /// The kubelet refuses the query.
    QueryRefused {
        /// The kubelet's words.
        said: String,
    },
    /// The kubelet's log is not in the journal of its node.
    NoJournal,
    /// The API server connects to no address that the Node has.
    NoAddress,
    /// The API server does not reach the kubelet.
    Unreachable {
        /// The API server's words.
        said: String,
    },
    /// No answer in time: the API server waits for a kubelet without a limit of its own.
    Silent {
        /// The timeout.
        seconds: u64,
    },
    /// The API server knows no Node of this name.
    NoNode,
    /// Another one.
    Other(ApiProblem),
}

impl KubeletProblem {
    /// Whether it would be the same whatever the kubelet is asked for.
    pub fn is_of_node(&self) -> bool {
        match self {
            Self::Forbidden | Self::NoAddress | Self::Unreachable { .. } | Self::NoNode => true,
            // The search of a long journal takes its time.
            Self::Silent { .. } => false,
            Self::HandlerOff
            | Self::QueryOff
            | Self::QueryRefused { .. }
            | Self::NoJournal
            | Self::Other(_) => false,
        }
    }
}
