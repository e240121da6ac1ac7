//! The headers of every answer, and the server's log.

use std::{
    io::Write,
    sync::{Arc, Mutex},
};

use super::{
    listening::{LIMITS, Listening},
    test_server::Answer,
    *,
};

#[tokio::test]
async fn answers_carry_the_headers() {
    let server = TestServer::new().await;
    let nobody = TestServer::signed_out();
    let json = [("content-type", "application/json")];
    let evil = [("host", "evil.example")];
    let mut answers: Vec<(String, Answer)> = vec![];
    for path in READS {
        for (server, who) in [(&server, "Li"), (&nobody, "nobody")] {
            if path != STREAM || who == "nobody" {
                answers.push((format!("{path} {who}"), server.get(path).await));
            }
        }
        answers.push((format!("{path} evil"), server.ask(Method::GET, path, &evil, "").await));
        answers.push((format!("{path} POST"), server.ask(Method::POST, path, &json, "{").await));
        answers.push((format!("{path} TRACE"), server.ask(Method::TRACE, path, &[], "").await));
        answers.push((format!("{path} HEAD"), nobody.ask(Method::HEAD, path, &[], "").await));
    }
    answers.push(("long".into(), server.get(&format!("/{}", "x".repeat(9000))).await));
    answers.push(("shape".into(), server.post("/api/plans", "{}").await));
    answers.push(("created".into(), server.post("/api/session/link", "{}").await));
    answers.push(("empty".into(), server.post("/api/runs/r1/pause", "").await));
    for (what, Answer { headers, .. }) in &answers {
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "same-origin"),
            ("cross-origin-opener-policy", "same-origin"),
            ("cross-origin-resource-policy", "same-origin"),
            ("x-frame-options", "DENY"),
        ] {
            assert_eq!(headers[name], value, "{what}");
        }
        let policy = headers["content-security-policy"].to_str().unwrap();
        for part in
            ["default-src 'none'", "style-src 'self';", "frame-ancestors 'none'", "base-uri 'none'"]
        {
            assert!(policy.contains(part), "{what}: {policy}");
        }
        assert!(
            !policy.contains("unsafe-inline") && !policy.contains("'unsafe-eval'"),
            "{what}: {policy}"
        );
        assert_eq!(headers["x-request-id"].len(), 16, "{what}");
        let file = headers["cache-control"] != "no-store";
        assert!(
            !file || what.starts_with("/pkg") || what.starts_with("/sign-in.js"),
            "{what} may be kept"
        );
        assert!(!headers.contains_key("access-control-allow-origin"), "{what}");
    }
    let stream = server.follow("topic=units", &[]).await;
    assert_eq!(stream.headers["x-content-type-options"], "nosniff");
    assert_eq!(
        server.get(&format!("/api/{}", "x".repeat(9000))).await.refusal(),
        "414 longAddress"
    );
}

#[tokio::test]
async fn request_id_from_outside_is_not_taken_over() {
    let server = TestServer::new().await;
    let answer = server.ask(Method::GET, API, &[("x-request-id", "forged")], "").await;
    assert_ne!(answer.headers["x-request-id"], "forged");
}

/// Everything that was logged.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn log_has_no_secret_and_no_forged_line() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .finish();
    // For all threads: with one for this thread alone, the tests beside it would decide what is logged here.
    tracing::subscriber::set_global_default(subscriber).unwrap();

    let state = tempfile::tempdir().unwrap();
    let mut listening = Listening::within(LIMITS, Some(state.path())).await;
    let address = listening.address;
    listening.server.cookie = listening.server.sign_in(&listening.server.token).await;
    let server = &listening.server;
    let link =
        server.post("/api/session/link", "{}").await.json()["url"].as_str().unwrap().to_owned();
    let second = link.split_once("#k=").unwrap().1;
    server.post("/api/session", &format!(r#"{{"token":"{second}","more":1}}"#)).await;
    server.post("/api/session", r#"{"token":"a-wrong-token"}"#).await;
    server.post("/api/plans", r#"{"unit":"body-text"}"#).await;
    server.get("/u/%0a%1b[31mforged?q=query-text").await;
    server.get("/\u{202e}forged").await;
    let cookie = &server.cookie;
    listening
        .say(&format!(
            "GET {API} HTTP/1.1\r\nhost: {address}\r\ncookie: {cookie}\r\nconnection: close\r\n\r\n"
        ))
        .await;

    let text = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(
        text.contains("request.path=/api/session") && text.contains("signed in"),
        "it is logged: {text}"
    );
    let session = server.cookie.split_once('=').unwrap().1;
    for secret in
        [server.token.as_str(), session, second, "a-wrong-token", "body-text", "query-text"]
    {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
    assert!(text.contains("forged"), "{text}");
    assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'), "{text}");
}
