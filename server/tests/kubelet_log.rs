//! Texts of a kubelet that a person pastes on a card, and the addresses of that card, through the whole router and the hub. They are
//! recorded from a real kubelet, see `server/sandbox/recordings/README.md`.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod test_server;

use std::fmt::Display;

use http::{Method, StatusCode};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use server::{
    chance::Chance,
    hub::{self, Hub, HubHandle, Incoming},
    journal::Journal,
};
use teardown::{fixture, object::Uid, observation::Observation};
use test_server::TestServer;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

const BUSY: &str = include_str!("../sandbox/recordings/kubelet/busy/log.txt");
const METRICS: &str = include_str!("../sandbox/recordings/kubelet/metrics.txt");
/// The UID of the Pod in that recording.
const POD: &str = "113e414d-52b9-4eb7-a1ec-20089ddb2e36";
const CARD: &str = "volumesMounted//Pod/busy/orderer-0/";

/// A page of a hub that knows a Pod whose volume is not unmounted.
async fn server() -> (TestServer, mpsc::Sender<Incoming>) {
    let (mailbox, inbox) = mpsc::channel(hub::MAILBOX);
    let (calls, _) = mpsc::channel(hub::CALLS);
    let hub = Hub::open("dev".into(), inbox, calls, Journal::in_memory()).unwrap();
    let hub = hub.repeatable(fixture::now(), Chance::default()).unwrap();
    tokio::spawn(hub.run(CancellationToken::new()));
    let objects = fixture::objects(&format!(
        "node n1
        ns busy
        pvc busy/data volume=ledger-busy
        pv ledger-busy claim=busy/data
        pod busy/orderer-0 uid={POD} node=n1 deleted=400 grace=30 phase=Failed containers=orderer:terminated uses=claim:data"
    ));
    mailbox.send(Incoming::Observed(fixture::listing(&objects))).await.unwrap();
    let mut server = TestServer::with_hub(HubHandle::new(mailbox.clone()));
    server.cookie = server.sign_in(&server.token).await;
    (server, mailbox)
}

/// A text as a form has it.
fn encoded(text: &str) -> impl Display {
    utf8_percent_encode(text, NON_ALPHANUMERIC)
}

async fn paste(server: &TestServer, diagnosis: &str, lines: &str) -> (StatusCode, String) {
    let form = format!("diagnosis={}&lines={}", encoded(diagnosis), encoded(lines));
    let headers = [("content-type", "application/x-www-form-urlencoded")];
    let answer = server.ask(Method::POST, "/trouble/kubelet-log", &headers, &form).await;
    let to = answer.headers.get("location").map(|to| to.to_str().unwrap().to_owned());
    (answer.status, to.unwrap_or(answer.text))
}

async fn advice(server: &TestServer) -> Value {
    let path = format!("/api/trouble/advice?id={}", encoded(CARD));
    let answer = server.get(&path).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
    answer.json()
}

/// The evidence that speaks of pasted lines.
fn pasted(advice: &Value) -> Vec<String> {
    let facts = advice["evidence"].as_array().unwrap().iter();
    let texts = facts.map(|fact| fact["text"].as_str().unwrap().to_owned());
    texts.filter(|text| text.contains("pasted")).collect()
}

#[tokio::test]
async fn link_to_a_card_and_its_note_outlive_the_cause() {
    let (server, mailbox) = server().await;
    let ask = async |what: &str, id: &str| {
        let answer = server.get(&format!("/trouble/{what}?id={}", encoded(id))).await;
        let to = answer.headers.get("location").map(|to| to.to_str().unwrap().to_owned());
        (answer.status, to, answer.text)
    };
    let (status, to, _) = ask("card", CARD).await;
    assert_eq!(status, StatusCode::SEE_OTHER);
    assert!(to.unwrap().starts_with("/trouble#why-volumesMounted"));
    let (status, _, note) = ask("note.txt", CARD).await;
    assert_eq!(status, StatusCode::OK);
    for part in
        ["All containers ended", "- Cluster: dev", "Done so far: Nobody had", "Restart node n1"]
    {
        assert!(note.contains(part), "{part}: {note}");
    }
    let (_, _, markdown) = ask("note.md", CARD).await;
    assert!(markdown.starts_with("**All containers ended"), "{markdown}");

    // It was another cause when somebody made the link.
    let older = CARD.replace("volumesMounted", "containersRunning");
    let (status, to, page) = ask("card", &older).await;
    assert_eq!((status, to), (StatusCode::OK, None));
    assert!(page.contains("The cause has changed since this link was made"), "{page}");
    assert!(page.contains("href=\"/trouble#why-volumesMounted"), "{page}");
    let (_, _, note) = ask("note.txt", &older).await;
    assert!(note.starts_with("The cause has changed since this link was made\n\nAll containers"));

    let pod = fixture::object(&format!("pod busy/orderer-0 uid={POD}"));
    let gone = Observation::Deleted { kind: pod.kind, uid: pod.uid };
    mailbox.send(Incoming::Observed(vec![gone])).await.unwrap();
    let (status, _, page) = ask("card", CARD).await;
    assert_eq!(status, StatusCode::OK);
    assert!(page.contains("Nothing waits for this any more"), "{page}");
    assert_eq!(ask("note.txt", CARD).await.0, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn pasted_lines_confirm_the_cause_and_name_the_mount_and_the_next_try() {
    let (server, _mailbox) = server().await;
    let before = advice(&server).await;
    assert!(before["confidence"].as_str().unwrap().starts_with("Inferred"), "{before}");
    assert_eq!(before["log"]["diagnosis"], CARD);
    let commands = before["log"]["commands"].to_string();
    assert!(
        commands
            .contains(&format!("journalctl --unit=kubelet --since=-10min --no-pager --grep={POD}")),
        "{commands}"
    );
    assert!(
        commands.contains(
            "kubectl --context=dev get '--raw=/api/v1/nodes/n1/proxy/logs/?query=kubelet&pattern="
        ),
        "{commands}"
    );
    for below in ["runningpods/", "metrics"] {
        let command = format!("kubectl --context=dev get --raw=/api/v1/nodes/n1/proxy/{below}\"");
        assert!(commands.contains(&command), "{commands}");
    }

    let (status, to) = paste(&server, CARD, BUSY).await;
    assert_eq!(
        (status, to.starts_with("/trouble#why-volumesMounted")),
        (StatusCode::SEE_OTHER, true),
        "{to}"
    );
    let after = advice(&server).await;
    assert_eq!(after["confidence"], "Confirmed: the kubelet’s log says so.");
    let mount =
        format!("/var/lib/kubelet/pods/{POD}/volumes/kubernetes.io~local-volume/ledger-busy");
    let said = pasted(&after);
    assert_eq!(said.len(), 1, "{said:?}");
    for part in ["ledger-busy", "cannot be unmounted", "still uses it", &mount, "target is busy"] {
        assert!(said[0].contains(part), "{part}: {said:?}");
    }
    let next = after["first"].to_string();
    assert!(next.contains("By the log that was read, the kubelet of"), "{next}");
    let ways = after["ways"].to_string();
    assert!(ways.contains(&format!("fuser --verbose --ismountpoint --mount '{mount}'")), "{ways}");
}

#[tokio::test]
async fn lines_about_another_pod_are_said_to_be_about_another() {
    let (server, _mailbox) = server().await;
    let log = BUSY.replace(POD, "00000000-0000-4000-8000-000000000000");
    assert_eq!(paste(&server, CARD, &log).await.0, StatusCode::SEE_OTHER);
    let advice = advice(&server).await;
    assert!(advice["confidence"].as_str().unwrap().starts_with("Inferred"), "{advice}");
    let said = pasted(&advice);
    assert!(said[0].contains("about other Pods"), "{said:?}");
    assert!(said[0].contains("00000000-0000-4000-8000-000000000000"), "{said:?}");
}

#[tokio::test]
async fn lines_that_say_nothing_are_answered_by_what_was_looked_for() {
    let (server, _mailbox) = server().await;
    assert_eq!(paste(&server, CARD, "-- No entries --").await.0, StatusCode::SEE_OTHER);
    let said = pasted(&advice(&server).await);
    assert!(said[0].contains("no entry of a kubelet’s log"), "{said:?}");
    assert!(said[0].contains("Looked for"), "{said:?}");
}

#[tokio::test]
async fn pasted_list_and_metrics_are_evidence_with_the_name_of_who_pasted_them() {
    let (server, _mailbox) = server().await;
    let running = format!(
        r#"{{"kind":"PodList","apiVersion":"v1","metadata":{{}},"items":[{{"metadata":{{"name":"orderer-0","namespace":"busy","uid":"{POD}"}},"spec":{{"containers":[{{"name":"orderer"}}]}},"status":{{}}}}]}}"#
    );
    for text in [METRICS, &running] {
        assert_eq!(paste(&server, CARD, text).await.0, StatusCode::SEE_OTHER, "{text:.80}");
    }
    let advice = advice(&server).await;
    let said = pasted(&advice);
    let has = |part: &str| said.iter().any(|it| it.contains(part));
    assert!(has("still runs container orderer of Pod busy/orderer-0"), "{said:?}");
    assert!(has("count 40 failed unmounts of volumes of kubernetes.io/nfs"), "{said:?}");
    let confidence = advice["confidence"].as_str().unwrap();
    assert!(confidence.contains("says otherwise"), "{confidence}");
}

#[tokio::test]
async fn text_that_is_nearly_a_list_or_metrics_is_refused_with_what_to_paste() {
    let (server, _mailbox) = server().await;
    for (text, what, advice) in [
        (r#"{"kind":"PodList","items":[{"#, "The list of Pods is not whole", "Paste all that"),
        (r#"{"kind":"List","items":[]}"#, "This is not the list of what", "ends with runningpods"),
        (
            "# TYPE go_goroutines gauge\ngo_goroutines 8",
            "not the metrics of a kubelet",
            "ends with metrics",
        ),
    ] {
        let (status, page) = paste(&server, CARD, text).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{page}");
        assert!(page.contains(what) && page.contains(advice), "{page}");
    }
    assert_eq!(pasted(&advice(&server).await), [""; 0], "nothing of them was read");
}

#[tokio::test]
async fn lines_are_dropped_with_the_pod() {
    let (server, mailbox) = server().await;
    paste(&server, CARD, BUSY).await;
    let resource = fixture::object(&format!("pod busy/orderer-0 uid={POD} node=n1")).kind.clone();
    let gone = teardown::observation::Observation::Deleted { kind: resource, uid: Uid::new(POD) };
    mailbox.send(Incoming::Observed(vec![gone])).await.unwrap();
    let path = format!("/api/trouble/advice?id={}", encoded(CARD));
    assert_eq!(server.get(&path).await.status, StatusCode::NOT_FOUND);
    assert_eq!(paste(&server, CARD, BUSY).await.0, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn bad_forms_are_refused_with_a_reason() {
    let (server, _mailbox) = server().await;
    let (status, text) = paste(&server, "nope", BUSY).await;
    assert_eq!(status, StatusCode::NOT_FOUND, "{text}");
    let (status, text) = paste(&server, CARD, &"x".repeat(1024 * 1024 + 1)).await;
    assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE, "{text}");
    let (status, text) = paste(&server, CARD, &"é".repeat(2 * 1024 * 1024)).await;
    assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE, "{text}");
    let headers = [("content-type", "application/x-www-form-urlencoded")];
    let answer = server.ask(Method::POST, "/trouble/kubelet-log", &headers, "lines=x").await;
    assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{}", answer.text);
    let other =
        [("content-type", "application/x-www-form-urlencoded"), ("origin", "http://evil.example")];
    let answer =
        server.ask(Method::POST, "/trouble/kubelet-log", &other, "diagnosis=x&lines=x").await;
    assert_eq!(answer.status, StatusCode::FORBIDDEN, "{}", answer.text);
}
