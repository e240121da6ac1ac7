mod unserved;

use std::time::Duration;

use jiff::Timestamp;
use teardown::{fetched::KubeletQuery, object::Uid};

use super::*;
use crate::cluster::fake::now;

fn cluster() -> Cluster {
    let (client, _) = fake::client(|seen| match seen.bare() {
        "/version" => now(200, r#"{"gitVersion":"v1.36.3"}"#),
        "/api" | "/apis" => now(200, r#"{"kind":"APIGroupDiscoveryList","items":[]}"#),
        _ => now(404, ""),
    });
    Cluster::of(client, "fake".into(), None)
}

#[tokio::test(start_paused = true)]
async fn cluster_runs_until_it_is_drained() {
    let (mailbox, mut incoming) = mpsc::channel(4);
    let (_orders, receiver) = mpsc::channel(4);
    let drain = CancellationToken::new();
    let task = tokio::spawn(cluster().run(mailbox, receiver, drain.clone()));
    assert!(matches!(incoming.recv().await, Some(Incoming::Observed(_))));
    drain.cancel();
    task.await.unwrap().unwrap();
}

#[tokio::test]
async fn missing_kubeconfig_for_kubelets_is_an_error_with_its_path() {
    let access = Access { kubeconfig: Some("/nowhere/logs.yaml".into()), context: None };
    let error = cluster().reading_kubelet_logs_as(access).await.err().unwrap();
    assert_eq!(error.to_string(), "kubeconfig /nowhere/logs.yaml does not exist");
}

#[tokio::test(start_paused = true)]
async fn kubelets_are_asked_with_their_own_credentials_and_by_nobody_else() {
    let answer = |_| now(404, "");
    let ((own, asked_by_own), (kubelets, asked_of_kubelets)) =
        (fake::client(answer), fake::client(answer));
    let node: Arc<str> = "node-a".into();
    let query = KubeletQuery {
        node,
        pods: vec![Uid::new("u")],
        volumes: vec![],
        since: Timestamp::UNIX_EPOCH,
    };
    let wanted = Wanted { kubelets: [query].into(), ..Wanted::default() };
    let (_wants, wanted) = channel::channel(wanted);
    let cluster = Cluster::of(own, "fake".into(), None);
    let cluster = Cluster { kubelets: Some(kubelets), wanted: Some(wanted), ..cluster };
    let (mailbox, mut incoming) = mpsc::channel(4);
    let (_orders, receiver) = mpsc::channel(4);
    let task = tokio::spawn(cluster.run(mailbox, receiver, CancellationToken::new()));
    while !matches!(incoming.recv().await, Some(Incoming::KubeletAnswered { .. })) {}
    task.abort();
    let is_of_kubelets = |seen: &fake::Seen| seen.path.contains("/proxy/");
    assert!(asked_of_kubelets.lock().unwrap().iter().all(is_of_kubelets));
    assert!(!asked_of_kubelets.lock().unwrap().is_empty());
    assert!(!asked_by_own.lock().unwrap().iter().any(is_of_kubelets));
}

#[tokio::test(start_paused = true)]
async fn service_in_this_process_answers_like_an_api_server() {
    let service = tower::service_fn(async |request: Request<RequestBody>| {
        let known = request.uri().path() == "/version";
        let answer = if known { r#"{"gitVersion":"v1.36.3"}"# } else { "{}" };
        Ok::<_, std::convert::Infallible>(Response::new(answer.to_owned()))
    });
    let cluster = Cluster::served_by(service, "in process");
    assert_eq!(cluster.name(), "in process");
    let (mailbox, mut incoming) = mpsc::channel(4);
    let (_orders, receiver) = mpsc::channel(4);
    let task = tokio::spawn(cluster.run(mailbox, receiver, CancellationToken::new()));
    let Some(Incoming::Observed(seen)) = incoming.recv().await else { panic!("it ended") };
    let reached = Observation::Reached { version: "v1.36.3".into() };
    assert!(seen.contains(&reached), "{seen:?}");
    task.abort();
}

#[tokio::test(start_paused = true)]
async fn text_from_the_cluster_cannot_forge_a_line_of_the_log() {
    const FORGED: &str = "no\\n2026-01-01T00:00:00Z ERROR \\u001b[31mforged: all volumes are gone";
    let file = tempfile::NamedTempFile::new().unwrap();
    let logged = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::DEBUG)
        .with_ansi(false)
        .with_writer(std::sync::Arc::new(file.reopen().unwrap()))
        .finish();
    let _logged = tracing::subscriber::set_default(logged);
    let (client, _) = fake::client(|seen| match seen.bare() {
        "/version" => now(200, format!(r#"{{"gitVersion":"{FORGED}"}}"#)),
        "/api" => now(
            200,
            r#"{"kind":"APIGroupDiscoveryList","items":[{"metadata":{"name":""},"versions":[{
            "version":"v1","freshness":"Current","resources":[{"resource":"secrets","scope":"Namespaced",
            "responseKind":{"kind":"Secret"},"verbs":["list","watch"]}]}]}]}"#,
        ),
        "/apis" => now(
            200,
            format!(
                r#"{{"kind":"APIGroupDiscoveryList","items":[{{"metadata":{{"name":"{FORGED}"}},
                "versions":[{{"version":"v1","freshness":"Stale","resources":[]}}]}}]}}"#
            ),
        ),
        _ => now(
            403,
            format!(
                r#"{{"kind":"Status","status":"Failure","reason":"{FORGED}","message":"{FORGED}","code":403}}"#
            ),
        ),
    });
    let (mailbox, mut incoming) = mpsc::channel(4);
    let (calls, receiver) = mpsc::channel(4);
    let action = fake::read_pods_action("shop");
    let (run, recall) = (teardown::run::RunId::new("r"), CancellationToken::new());
    calls.send(crate::hub::CallRequest { run, action, steps_behind: 0, recall }).await.unwrap();
    let cluster = Cluster::of(client, "fake".into(), None);
    let task = tokio::spawn(cluster.run(mailbox, receiver, CancellationToken::new()));
    let lines = || std::fs::read_to_string(file.path()).unwrap();
    let awaited = ["cannot discover the kinds", "cannot be listed or watched", "call completed"];
    while !awaited.iter().all(|message| lines().contains(message)) {
        let received = tokio::time::timeout(Duration::from_secs(300), incoming.recv()).await;
        assert!(matches!(received, Ok(Some(_))), "{}", lines());
    }
    task.abort();
    for line in lines().lines() {
        assert!(!line.contains(char::is_control), "{line:?}");
        // The name of a hidden group version is logged; no part of a message is.
        assert!(!line.contains("forged") || line.contains("version="), "{line:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn cluster_whose_hub_is_gone_ends_with_an_error() {
    let (mailbox, incoming) = mpsc::channel(4);
    let (calls, receiver) = mpsc::channel(4);
    drop(incoming);
    let ended = cluster().run(mailbox, receiver, CancellationToken::new()).await;
    assert!(matches!(ended, Err(RunError::HubGone)), "{ended:?}");
    drop(calls);
}

#[tokio::test(start_paused = true)]
async fn cluster_whose_call_requests_end_ends_with_an_error() {
    let (mailbox, _incoming) = mpsc::channel(4);
    let (calls, receiver) = mpsc::channel(4);
    drop(calls);
    let ended = cluster().run(mailbox, receiver, CancellationToken::new()).await;
    assert!(matches!(ended, Err(RunError::Ended("executing calls"))), "{ended:?}");
}
