use futures::FutureExt;
use serde_json::json;
use tokio::sync::Notify;

use super::*;

/// Whether an answer to this call asks for discovery.
async fn asks_for_discovery(action: &Action, code: u16, body: &str) -> bool {
    let body = body.to_owned();
    let (client, _) = fake::client(move |_| now(code, body.clone()));
    let unserved = Arc::new(Notify::new());
    call_api(&context(&client.noticing(unserved.clone())), action).await;
    unserved.notified().now_or_never().is_some()
}

#[tokio::test]
async fn answer_about_the_endpoint_asks_for_discovery_whatever_the_call() {
    let patch = json!([{"op": "test", "path": "/metadata/uid", "value": "u-1"}]);
    let suspend = Action::Suspend { step: StepId(1), target: deployment(), patch };
    let unserved =
        status(404, "NotFound", "the server could not find the requested resource", "{}");
    let method = status(
        405,
        "MethodNotAllowed",
        "the server does not allow this method on the requested resource",
        "{}",
    );
    let (step, unproven) = (StepId(1), Vec::new());
    let pods = Action::ReadPods { step, target: deployment() };
    let content = Action::ReadContent { step, target: deployment(), unproven };
    for action in [delete_action(), read_action(), suspend, pods, content] {
        for (code, body) in [(404, &*unserved), (404, "404 page not found\n"), (405, &*method)] {
            assert!(asks_for_discovery(&action, code, body).await, "{action:?} {body}");
        }
    }
}

#[tokio::test]
async fn answer_about_an_object_or_of_a_webhook_asks_for_no_discovery() {
    let details = r#"{"name":"web","group":"apps","kind":"deployments"}"#;
    let gone = status(404, "NotFound", "deployments.apps \"web\" not found", details);
    let details = r#"{"name":"shop","kind":"namespaces"}"#;
    let namespace = status(404, "NotFound", "namespaces \"shop\" not found", details);
    let denied = |code| status(code, "", "admission webhook \"w\" denied the request: no", "{}");
    for (code, body) in [
        (200, "{}".to_owned()),
        (404, gone),
        (404, namespace),
        (404, denied(404)),
        (405, denied(405)),
        (403, status(403, "Forbidden", "no", "{}")),
        (503, String::new()),
    ] {
        assert!(!asks_for_discovery(&delete_action(), code, &body).await, "{code} {body}");
    }
}
