//! The page about the journal, and how a run that cannot be read is released, through the whole router.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod test_server;

use http::{Method, StatusCode};
use jiff::Timestamp;
use server::{
    chance::Chance,
    hub::{self, Blocks, Failing, Hub, HubHandle, Incoming, JournalStatus, SetAside},
    journal::{Journal, Put, Release, Shelf, Store, StoreError},
};
use teardown::{fixture, run::RunId, unit::UnitId};
use test_server::{TestServer, pod};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// A disk that takes nothing.
struct Full;

impl Store for Full {
    fn write(&mut self, _: &[Put]) -> Result<(), StoreError> {
        Err(StoreError::OutOfOrder { run: "r".to_owned(), number: 1, kept: 0 })
    }
    fn read(&self, _: Shelf, _: &str) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(None)
    }
    fn list(&self, _: Shelf) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        Ok(Vec::new())
    }
    fn records(&self, _: &str) -> Result<Vec<(u64, Vec<u8>)>, StoreError> {
        Ok(Vec::new())
    }
}

#[tokio::test]
async fn pages_and_metrics_say_that_the_journal_is_failing() {
    let (mailbox, inbox) = mpsc::channel(hub::MAILBOX);
    let (calls, _) = mpsc::channel(hub::CALLS);
    let hub = Hub::open("dev".into(), inbox, calls, Journal::over(Full)).unwrap();
    let hub = hub.repeatable(fixture::now(), Chance::default()).unwrap();
    tokio::spawn(hub.run(CancellationToken::new()));
    let objects = fixture::objects("ns shop of=shop\n cm shop/one of=shop");
    mailbox.send(Incoming::Observed(fixture::listing(&objects))).await.unwrap();
    let mut server = TestServer::with_hub(HubHandle::new(mailbox));
    server.cookie = server.sign_in(&server.token).await;
    let link = r#"href="/journal""#;
    assert!(!server.get("/").await.text.contains(link));

    let plan = server.post("/api/plans", r#"{"unit":"shop"}"#).await.json();
    let (plan, hash) = (plan["id"].as_str().unwrap(), plan["hash"].as_str().unwrap());
    let start = format!(r#"{{"plan":"{plan}","hash":"{hash}","confirm":"shop"}}"#);
    let answer = server.post("/api/runs", &start).await;
    assert_eq!(answer.refusal(), "503 journalUnwritable");
    let answer = server.post("/api/plans", r#"{"unit":"shop"}"#).await;
    assert_eq!(answer.refusal(), "503 journalUnwritable");
    for page in ["/", "/trouble", "/u/shop"] {
        let text = server.get(page).await.text;
        assert!(text.contains(link), "{page}: {text}");
    }
    assert!(server.get("/journal").await.text.contains("The journal has not been writable since"));
    let scraped = server.scrape(Method::GET, "/metrics", &[("host", "127.0.0.1:9464")]).await;
    assert!(scraped.text.contains("unwind_journal_failing 1\n"), "{}", scraped.text);
}

fn set_aside(run: &str, blocks: Blocks) -> SetAside {
    SetAside {
        run: RunId::new(run),
        why: format!("record 3 of run {run} is damaged"),
        found: Timestamp::from_second(60).unwrap(),
        started: Some(Timestamp::UNIX_EPOCH),
        cluster: Some("prod".to_owned()),
        blocks,
        released: None,
    }
}

/// A server whose journal is in this state.
async fn server(status: JournalStatus) -> TestServer {
    let server = TestServer::new().await;
    *server.hub.journal.lock().unwrap() = status;
    server
}

#[tokio::test]
async fn sound_journal_is_said_to_be_sound() {
    let server = server(JournalStatus::default()).await;
    let answer = server.get("/journal").await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
    assert!(answer.text.contains("The journal is writable"), "{}", answer.text);
    assert!(!answer.text.contains("<form"), "{}", answer.text);
}

#[tokio::test]
async fn failing_journal_is_shown_with_its_error_and_the_way_out() {
    let why = "the journal's file failed: No space left on device <b>".to_owned();
    let failing = Some(Failing { since: Timestamp::UNIX_EPOCH, why });
    let server = server(JournalStatus { failing, failures: 2, ..JournalStatus::default() }).await;
    let text = server.get("/journal").await.text;
    for part in [
        "The journal has not been writable since 1970-01-01 00:00:00 UTC",
        "Free disk space",
        "No space left on device &lt;b&gt;",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[tokio::test]
async fn run_that_cannot_be_read_is_shown_and_released_without_a_script() {
    let objects = vec![pod()];
    let status = JournalStatus {
        set_aside: vec![
            set_aside("r1", Blocks::Objects { unit: UnitId::new("shop"), objects }),
            set_aside("r2", Blocks::Cluster),
            set_aside("r3", Blocks::Nothing),
            SetAside {
                released: Some(Release { by: "Bo".into(), at: Timestamp::UNIX_EPOCH }),
                ..set_aside("r4", Blocks::Cluster)
            },
        ],
        remedies: vec![("a1".into(), "remedy a1 is damaged".into())],
        ..JournalStatus::default()
    };
    let server = server(status).await;
    let text = server.get("/journal").await.text;
    for part in [
        "Run r1 cannot be read",
        "record 3 of run r1 is damaged",
        "in the cluster prod",
        "1 object of shop: Pod shop/web-2",
        "no plan can be made in its cluster",
        "Its end is recorded",
        "Bo released it, 1970-01-01",
        "Remedy a1 cannot be read",
        r#"<input type="hidden" name="run" value="r1">"#,
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(text.matches("<form").count(), 3, "one that is released needs none");
    for inline in ["<script", "style=", "onclick"] {
        assert!(!text.contains(inline), "{inline}");
    }

    let form = [("content-type", "application/x-www-form-urlencoded")];
    let answer = server.ask(Method::POST, "/journal/release", &form, "run=r1").await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.text);
    assert_eq!(answer.headers["location"], "/journal");
    let answer = server.post("/api/runs/r1/release", "").await;
    assert_eq!(answer.status, StatusCode::NO_CONTENT, "{}", answer.text);
    assert_eq!(*server.hub.received.lock().unwrap(), ["release r1 by Li", "release r1 by Li"]);
    let answer = server.post("/api/runs/r9/release", "").await;
    assert_eq!(answer.refusal(), "404 unknownRun");
    let answer = server.ask(Method::POST, "/journal/release", &form, "walk=r1").await;
    assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{}", answer.text);
}

#[tokio::test]
async fn session_that_may_only_look_sees_that_in_place_of_the_form() {
    let status = JournalStatus {
        set_aside: vec![set_aside("r1", Blocks::Cluster)],
        ..JournalStatus::default()
    };
    let mut server = server(status).await;
    let link = server.post("/api/session/link", r#"{"right":"look"}"#).await.json();
    let token = link["url"].as_str().unwrap().split_once("#k=").unwrap().1.to_owned();
    server.cookie = server.sign_in_elsewhere(&token).await;
    let text = server.get("/journal").await.text;
    assert!(text.contains("Run r1 cannot be read") && !text.contains("<form"), "{text}");
    assert!(text.contains("needs the right to act"), "{text}");
}
