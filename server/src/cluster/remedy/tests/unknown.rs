//! Requests of which nobody knows whether they were done. They are treated as done: the other objects of their premises are read
//! again.

use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

const NODE: &str = "/api/v1/nodes/n1";

/// The ways in which a request ends without a known outcome.
fn lost() -> [fn() -> BoxFuture<'static, Reply>; 5] {
    [
        || Box::pin(std::future::ready(Reply::Silence)),
        || Box::pin(std::future::ready(Reply::Broken)),
        || now(408, status(408, "later")),
        || now(500, status(500, "later")),
        || now(504, status(504, "later")),
    ]
}

/// The outcome and the requests, where the change ends in this way, and the API server shows the node like this from then on.
async fn sent_and_lost(
    end: fn() -> BoxFuture<'static, Reply>,
    node: (u16, String),
) -> (AttemptOutcome, Vec<String>) {
    let is_sent = AtomicBool::new(false);
    let call = RemedyCall { is_dry_run_safe: false, ..call() };
    let (outcome, _, requests) = sent(&call, move |seen| {
        if seen.method == "PATCH" {
            is_sent.store(true, Ordering::SeqCst);
            return end();
        }
        if seen.bare() == NODE && is_sent.load(Ordering::SeqCst) {
            return now(node.0, node.1.clone());
        }
        answered(&seen)
    })
    .await;
    assert!(matches!(outcome, AttemptOutcome::Unknown { .. }), "{outcome:?}");
    (outcome, requests)
}

#[tokio::test(start_paused = true)]
async fn others_are_read_again_after_a_request_whose_outcome_is_unknown() {
    for end in lost() {
        for (node, expected) in [
            ((200, node("Unknown")), None),
            ((200, node("True")), Some("Node n1")),
            ((404, "{}".to_owned()), Some("Node n1")),
            // One that cannot be read may have changed as well.
            ((503, status(503, "down")), Some("Node n1")),
        ] {
            let (outcome, requests) = sent_and_lost(end, node.clone()).await;
            let changed = outcome.changed().map(ToString::to_string);
            assert_eq!(changed.as_deref(), expected, "{outcome:?} with {node:?}");
            let [.., patch, read] = &requests[..] else { panic!("{requests:?}") };
            assert_eq!((patch, read), (&format!("PATCH {PATH}"), &format!("GET {NODE}")));
        }
    }
}
