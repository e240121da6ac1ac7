//! Questions to a kubelet through the API server's proxy of nodes, and its answers, as the kubelet gives them or as a person pastes
//! them.
//!
//! # Decisions
//! - A pasted text says by its shape what it is: one JSON object with a `kind`, lines of metrics, or else lines of a log, which
//!   may be JSON too. Any text can be lines of a log, so a text of no shape is one in which nothing is recognised.
//! - A list of Pods as the API server has them looks like that of a runtime and says nothing of the node, so it is refused.

use std::sync::Arc;

use serde_json::Value;

use super::{
    kubelet_log::{self, KubeletLog},
    kubelet_metrics::{KubeletMetrics, is_sample},
    running_pods::RunningPods,
};
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

/// The way by which an answer came here.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AnswerOrigin {
    /// A person pasted it.
    Pasted {
        /// The person's name.
        by: Arc<str>,
    },
    /// The kubelet was asked for it, through the API server.
    Queried,
}

/// The most bytes of a text that a person pastes. The metrics of a kubelet with a hundred Pods have about half of that.
pub const LONGEST_PASTE: usize = 1 << 20;

/// The first characters in which a list names its kind.
const HEAD: usize = 64;
/// The braces in a text behind which a list is looked for.
const FIRST_OBJECTS: usize = 4;

/// The reason why a text that a person pasted is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PasteProblem {
    /// It has more than [`LONGEST_PASTE`] bytes.
    #[error("the text is too long")]
    TooLong,
    /// It is the beginning of a list of Pods.
    #[error("the list of Pods is not whole")]
    CutList,
    /// It is JSON, and not the list of what a container runtime runs.
    #[error("the list is not that of a container runtime")]
    OtherList,
    /// It is metrics, and not those of a kubelet.
    #[error("the metrics are not those of a kubelet")]
    OtherMetrics,
}

impl KubeletAnswer {
    /// Reads a text that a person pasted: the Pods that a runtime runs, the metrics of a kubelet, or lines of its log.
    ///
    /// # Errors
    /// [`PasteProblem`] if the text is too long, or nearly one of the first two.
    pub fn read_pasted(text: &str) -> Result<Self, PasteProblem> {
        if text.len() > LONGEST_PASTE {
            return Err(PasteProblem::TooLong);
        }
        if let Some(list) = list_in(text) {
            // kubectl ends the list without a line break, so the prompt of a shell may follow it.
            let mut values = serde_json::Deserializer::from_str(list).into_iter::<Value>();
            if !matches!(values.next(), Some(Ok(_))) {
                return Err(PasteProblem::CutList);
            }
            let list = list.get(..values.byte_offset()).unwrap_or(list);
            let running = RunningPods::read(list.as_bytes()).ok_or(PasteProblem::OtherList)?;
            return Ok(Self::RunningPods(running));
        }
        if text.lines().any(is_of_metrics) {
            let metrics = KubeletMetrics::read(text).ok_or(PasteProblem::OtherMetrics)?;
            return Ok(Self::Metrics(metrics));
        }
        Ok(Self::Log(kubelet_log::read(text)))
    }
}

/// The JSON object of a kind that a text has at its beginning, or behind the command that was typed for it. An entry of a log does not
/// begin with a kind.
fn list_in(text: &str) -> Option<&str> {
    let objects = text.match_indices('{').take(FIRST_OBJECTS).filter_map(|(at, _)| text.get(at..));
    objects.into_iter().find(|object| {
        let head: String = object.chars().take(HEAD).filter(|c| !c.is_whitespace()).collect();
        head.starts_with("{\"kind\":\"") || head.starts_with("{\"apiVersion\":\"")
    })
}

/// Whether a line is one of the text format of Prometheus, or a sample that a kubelet has. Lines of its log may begin with
/// `kubelet_volumes.go` where their prefix is cut off.
fn is_of_metrics(line: &str) -> bool {
    let begins = |with: &[&str]| with.iter().any(|it| line.starts_with(it));
    begins(&["# HELP ", "# TYPE "])
        || begins(&["kubelet_", "storage_operation_"]) && is_sample(line.trim_end())
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

#[cfg(test)]
mod tests {
    use super::*;

    const PODS: &str = include_str!("../../../sandbox/recordings/kubelet/proxy/running-pods.http");
    /// The beginning of the list of the Pods that a kubelet was given.
    const OTHER_PODS: &str = include_str!("../../../sandbox/recordings/kubelet/proxy/pods.http");
    const METRICS: &str = include_str!("../../../sandbox/recordings/kubelet/metrics.txt");
    const LOG: &str = include_str!("../../../sandbox/recordings/kubelet/busy/log.txt");

    /// The body of a recorded answer.
    fn body(recorded: &str) -> &str {
        recorded.rsplit_once("\n\n").unwrap().1.trim()
    }

    /// The subject that a text is read as.
    fn read(text: &str) -> Result<&'static str, PasteProblem> {
        KubeletAnswer::read_pasted(text).map(|answer| match answer {
            KubeletAnswer::Log(_) => "log",
            KubeletAnswer::RunningPods(_) => "pods",
            KubeletAnswer::Metrics(_) => "metrics",
        })
    }

    #[test]
    fn pasted_text_is_read_by_its_shape() {
        let pods = body(PODS);
        let value: serde_json::Value = serde_json::from_str(pods).unwrap();
        let indented = serde_json::to_string_pretty(&value).unwrap().replace('\n', "\r\n");
        for (text, expected) in [
            (pods, "pods"),
            (&format!("\n  {indented}\n"), "pods"),
            (&format!("{pods}ann@bastion:~$ "), "pods"),
            (&format!("$ kubectl get --raw /api/v1/nodes/n1/proxy/runningpods/\n{pods}"), "pods"),
            (METRICS, "metrics"),
            (&METRICS.replace('\n', "\r\n"), "metrics"),
            ("kubelet_running_pods 1", "metrics"),
            (LOG, "log"),
            ("kubelet_volumes.go:263] \"There were many similar errors\" path=\"/var\"", "log"),
            (r#"{"ts":1.5,"caller":"kubelet.go:1","msg":"SyncLoop"}"#, "log"),
            ("{\"ts\":1.5,\"msg\":\"a\"}\n{\"ts\":2.5,\"msg\":\"b\"}", "log"),
        ] {
            assert_eq!(read(text), Ok(expected), "{text:.80}");
        }
    }

    #[test]
    fn pasted_text_reads_as_the_answer_of_the_kubelet() {
        let pods = RunningPods::read(body(PODS).as_bytes()).map(KubeletAnswer::RunningPods);
        assert_eq!(KubeletAnswer::read_pasted(body(PODS)).ok(), pods);
        let metrics = KubeletMetrics::read(METRICS).map(KubeletAnswer::Metrics);
        assert_eq!(KubeletAnswer::read_pasted(METRICS).ok(), metrics);
        let log = KubeletAnswer::Log(kubelet_log::read(LOG));
        assert_eq!(KubeletAnswer::read_pasted(LOG), Ok(log));
    }

    #[test]
    fn pasted_text_that_is_nearly_right_is_refused_with_the_reason() {
        use PasteProblem::{CutList, OtherList, OtherMetrics, TooLong};
        let pods = body(PODS);
        for (text, expected) in [
            (&pods[..pods.len() - 5], CutList),
            ("{\n  \"kind\": \"PodList\",\n  \"items\": [", CutList),
            (body(OTHER_PODS), CutList),
            (
                r#"{"kind":"PodList","items":[{"metadata":{"uid":"a","resourceVersion":"7"}}]}"#,
                OtherList,
            ),
            (
                r#"{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"123"},"items":[]}"#,
                OtherList,
            ),
            (r#"{"kind":"List","apiVersion":"v1","items":[]}"#, OtherList),
            (r#"{"kind":"Status","status":"Failure","reason":"Forbidden"}"#, OtherList),
            ("# TYPE apiserver_request_total counter\napiserver_request_total 1", OtherMetrics),
            (
                "storage_operation_duration_seconds_count{operation_name=\"volume_detach\"} 1",
                OtherMetrics,
            ),
            (&"x".repeat(LONGEST_PASTE + 1), TooLong),
        ] {
            assert_eq!(read(text), Err(expected), "{text:.80}");
        }
    }

    #[test]
    fn nonsense_is_a_log_without_an_entry() {
        for text in ["", "   ", "hello", "[1,2]", "{", "null", "<!doctype html>", "\u{0}\u{202e}"] {
            let Ok(KubeletAnswer::Log(log)) = KubeletAnswer::read_pasted(text) else {
                panic!("{text}")
            };
            assert_eq!((log.facts, log.entries), (vec![], 0), "{text}");
        }
    }
}
