//! Links that sign a browser in, and the sessions that they begin.

use std::{net::SocketAddr, time::Duration};

use super::*;

#[tokio::test]
async fn a_link_signs_one_browser_in_once() {
    let server = TestServer::signed_out();
    let answer = server.post("/api/session", &format!(r#"{{"token":"{}"}}"#, server.token)).await;
    assert_eq!((answer.status, answer.json()["name"].as_str()), (StatusCode::CREATED, Some("Li")));
    let cookie = answer.headers["set-cookie"].to_str().unwrap();
    assert!(
        cookie.starts_with("unwind_7433=")
            && cookie.ends_with("; HttpOnly; SameSite=Strict; Path=/"),
        "{cookie}"
    );
    assert_eq!(get(&server, API, &[("cookie", cookie)]).await, StatusCode::OK);

    let again = server.post("/api/session", &format!(r#"{{"token":"{}"}}"#, server.token)).await;
    assert_eq!(again.refusal(), "401 wrongToken");
    assert!(!again.headers.contains_key("set-cookie"));
}

#[tokio::test]
async fn somebody_who_is_signed_in_lets_somebody_else_in() {
    let mut server = TestServer::new().await;
    let answer = server.post("/api/session/link", r#"{"name":"Wang"}"#).await;
    assert_eq!(answer.status, StatusCode::CREATED);
    let link = answer.json()["url"].as_str().unwrap().to_owned();
    let token = link.strip_prefix("http://127.0.0.1:7433/#k=").unwrap();
    assert!(answer.json()["expires"].is_string());
    server.cookie = server.sign_in(token).await;
    server.post("/api/runs/r1/pause", "").await;
    assert_eq!(server.hub.received.lock().unwrap().clone(), ["Pause r1 by Wang (invited by Li)"]);

    assert_eq!(server.post("/api/session/link", "{}").await.status, StatusCode::CREATED);
    for name in ["\\u001b[31m", "", "a\\nb", &"x".repeat(65)] {
        let answer = server.post("/api/session/link", &format!(r#"{{"name":"{name}"}}"#)).await;
        assert_eq!(answer.refusal(), "422 shape", "{name}");
    }
}

#[tokio::test]
async fn wrong_links_are_slowed_down_and_the_right_one_still_works() {
    let server = TestServer::signed_out();
    for _ in 0..10 {
        assert_eq!(
            server.post("/api/session", r#"{"token":"x"}"#).await.refusal(),
            "401 wrongToken"
        );
    }
    let answer = server.post("/api/session", r#"{"token":"x"}"#).await;
    assert_eq!(answer.refusal(), "429 tooManyAttempts");
    assert_eq!(answer.headers["retry-after"], "60");
    let answer = server.post("/api/session", &format!(r#"{{"token":"{}"}}"#, server.token)).await;
    assert_eq!(answer.status, StatusCode::CREATED, "the right link is never locked out");
}

#[tokio::test]
async fn a_session_survives_a_restart() {
    let state = tempfile::tempdir().unwrap();
    let address = SocketAddr::from(([127, 0, 0, 1], 7433));
    let first = TestServer::signed_out_at(address, Some(state.path()));
    let cookie = first.sign_in(&first.token).await;
    let burnt = first.token.clone();
    drop(first);

    let mut second = TestServer::signed_out_at(address, Some(state.path()));
    second.cookie = cookie;
    assert_eq!(second.get(API).await.status, StatusCode::OK);
    let mut events = second.follow("topic=units&after=5f3a:8", &[]).await;
    assert_eq!(events.names(1).await, ["delta 5f3a:9"]);
    let answer = second.post("/api/session", &format!(r#"{{"token":"{burnt}"}}"#)).await;
    assert_eq!(answer.refusal(), "401 wrongToken");
}

/// The events of a stream after its session has ended, apart from pings.
async fn rest_of(events: &mut test_server::Events) -> Vec<String> {
    let mut said = vec![];
    let read = async {
        while let Some((name, data)) = events.next().await {
            if name != "ping" {
                said.push(format!("{name} {data}"));
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(5), read).await.expect("the stream ends");
    said
}

#[tokio::test]
async fn sign_out_ends_the_session_and_its_streams() {
    let server = TestServer::new().await;
    let mut events = server.follow("topic=units", &[]).await;
    assert_eq!(events.names(1).await, ["snapshot 5f3a:9"]);
    let answer = server.post("/api/session/end", "").await;
    assert_eq!(answer.status, StatusCode::NO_CONTENT);
    let cookie = answer.headers["set-cookie"].to_str().unwrap();
    assert_eq!(cookie, "unwind_7433=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0");
    assert_eq!(rest_of(&mut events).await, [r#"bye {"reason":"notSignedIn"}"#]);
    assert_eq!(server.get(API).await.refusal(), "401 notSignedIn");
    assert_eq!(server.post("/api/session/end", "").await.refusal(), "401 notSignedIn");
}

#[tokio::test]
async fn sign_in_again_in_the_same_browser_ends_the_session_it_replaces() {
    let server = TestServer::new().await;
    let mut events = server.follow("topic=units", &[]).await;
    assert_eq!(events.names(1).await, ["snapshot 5f3a:9"]);
    let link =
        server.post("/api/session/link", "{}").await.json()["url"].as_str().unwrap().to_owned();
    let cookie = server.sign_in(link.split_once("#k=").unwrap().1).await;
    assert_ne!(cookie, server.cookie);
    assert_eq!(rest_of(&mut events).await, [r#"bye {"reason":"notSignedIn"}"#]);
    assert_eq!(server.get(API).await.refusal(), "401 notSignedIn");
    assert_eq!(get(&server, API, &[("cookie", &cookie)]).await, StatusCode::OK);
}

#[tokio::test]
async fn link_opens_the_page_it_was_made_on_and_no_other_site() {
    let server = TestServer::new().await;
    let link = |path: &str| {
        let body = serde_json::json!({ "path": path }).to_string();
        let server = &server;
        async move { server.post("/api/session/link", &body).await }
    };
    for path in ["/", "/u/shop?q=x%20y", "/r/r1"] {
        let url = link(path).await.json()["url"].as_str().unwrap().to_owned();
        assert!(url.starts_with(&format!("http://127.0.0.1:7433{path}#k=")), "{url}");
    }
    let long = format!("/{}", "x".repeat(9_000));
    for path in [
        "",
        "u/shop",
        "//evil.example",
        "/\\evil.example",
        "http://evil.example/",
        "/#k=x",
        "/a b",
        "/\n",
        &long,
    ] {
        assert_eq!(link(path).await.refusal(), "422 shape", "{path}");
    }
}
