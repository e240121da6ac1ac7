//! Links that sign a browser in, and the sessions that they begin.

use std::{net::SocketAddr, time::Duration};

use super::*;

#[tokio::test]
async fn link_signs_one_browser_in_once() {
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
    let answer = server.post("/api/session/link", r#"{"name":"Wang","right":"act"}"#).await;
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

/// Invites somebody with a body such as `{"right":"act"}`. Returns the cookie of the new session.
async fn invite(server: &TestServer, body: &str) -> String {
    let answer = server.post("/api/session/link", body).await;
    assert_eq!(answer.status, StatusCode::CREATED, "{}", answer.text);
    let url = answer.json()["url"].as_str().unwrap().to_owned();
    server.sign_in_elsewhere(url.split_once("#k=").unwrap().1).await
}

/// The ids of the links that a session may take back, the newest first, with the names of their guests.
async fn links(server: &TestServer) -> Vec<(String, String)> {
    let answer = server.get("/api/session/links").await.json();
    let text = |link: &serde_json::Value, name: &str| link[name].as_str().unwrap().to_owned();
    let links = answer["links"].as_array().unwrap().iter();
    links.map(|link| (text(link, "id"), text(link, "name"))).collect()
}

#[tokio::test]
async fn guest_may_look_alone_unless_the_inviter_chooses_more() {
    let mut server = TestServer::new().await;
    assert_eq!(server.post("/api/session/link", r#"{"right":"all"}"#).await.refusal(), "422 shape");

    server.cookie = invite(&server, "{}").await;
    assert_eq!(server.get("/api/runs/r1").await.status, StatusCode::OK);
    assert_eq!(server.get("/u/shop").await.status, StatusCode::OK);
    for path in ["/api/plans", "/api/runs", "/api/runs/r1/stop", "/api/runs/r1/steps/7/skip"] {
        assert_eq!(server.post(path, "{}").await.refusal(), "403 notAllowed", "{path}");
    }
    let page = server.get("/u/shop/plan").await;
    assert_eq!(page.status, StatusCode::FORBIDDEN);
    assert!(page.text.contains("Ask whoever invited you for a link that may act."));
    assert!(server.hub.received.lock().unwrap().is_empty(), "no plan was made");
    let answer = server.post("/api/session/link", r#"{"right":"act"}"#).await;
    assert_eq!(answer.refusal(), "403 notAllowed", "nobody gives more than they have");
}

#[tokio::test]
async fn link_and_session_that_are_taken_back_end_at_once_with_their_streams() {
    let mut server = TestServer::new().await;
    let li = server.cookie.clone();
    let wang = invite(&server, r#"{"name":"Wang"}"#).await;
    let answer = server.post("/api/session/link", r#"{"name":"Sun"}"#).await.json();
    let unused = answer["url"].as_str().unwrap().split_once("#k=").unwrap().1.to_owned();
    let mut listed = links(&server).await;
    listed.sort_by(|a, b| a.1.cmp(&b.1));
    let names: Vec<&str> = listed.iter().map(|(_, name)| name.as_str()).collect();
    assert_eq!(names, ["Sun", "Wang"]);

    server.cookie = wang.clone();
    let mut events = server.follow("topic=units", &[]).await;
    assert_eq!(events.names(1).await, ["snapshot 5f3a:9"]);
    assert!(links(&server).await.is_empty(), "a guest sees what the guest made");
    for (id, _) in &listed {
        let answer = server.post(&format!("/api/session/links/{id}/end"), "").await;
        assert_eq!(answer.refusal(), "404 unknownLink");
    }

    server.cookie = li;
    for (id, _) in &listed {
        let answer = server.post(&format!("/api/session/links/{id}/end"), "").await;
        assert_eq!(answer.status, StatusCode::NO_CONTENT);
    }
    let said = tokio::time::timeout(Duration::from_secs(1), rest_of(&mut events)).await;
    assert_eq!(said.expect("within a second"), [r#"bye {"reason":"notSignedIn"}"#]);
    assert_eq!(get(&server, API, &[("cookie", &wang)]).await, StatusCode::UNAUTHORIZED);
    let answer = server.post("/api/session", &format!(r#"{{"token":"{unused}"}}"#)).await;
    assert_eq!(answer.refusal(), "401 wrongToken");
    assert!(links(&server).await.is_empty());
    assert_eq!(server.get(API).await.status, StatusCode::OK, "the inviter stays signed in");
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
async fn session_survives_a_restart() {
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
