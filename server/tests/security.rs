//! Access to the server, and the headers of every answer: tested through the router, and over a real connection where
//! the connection is the point.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

mod test_server;

use std::{
    io::Write,
    net::{Ipv4Addr, SocketAddr},
    sync::{Arc, Mutex},
    time::Duration,
};

use http::{Method, StatusCode};
use server::http::{Limits, ListenError, listen, serve};
use test_server::{Answer, TestServer};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    task::JoinHandle,
};

const API: &str = "/api/units";
const STREAM: &str = "/api/events?topic=units";

/// Everything that answers a read, with a session or without.
const READS: [&str; 9] = [
    API,
    STREAM,
    "/",
    "/u/shop",
    "/nope",
    "/api/nope",
    "/pkg/unwind.0123456789abcdef.js",
    "/sign-in.js",
    "/healthz",
];

async fn get(server: &TestServer, path: &str, headers: &[(&str, &str)]) -> StatusCode {
    server.send(Method::GET, path, headers, "").await.status()
}

#[tokio::test]
async fn only_its_own_names_are_answered() {
    let server = TestServer::new().await;
    for host in ["127.0.0.1:7433", "localhost:7433", "[::1]:7433"] {
        assert_eq!(get(&server, API, &[("host", host)]).await, StatusCode::OK, "{host}");
    }
    for host in [
        "evil.example",
        "evil.example:7433",
        "127.0.0.1",
        "127.0.0.1:80",
        "localhost.evil.example:7433",
        "",
    ] {
        for path in READS {
            assert_eq!(
                get(&server, path, &[("host", host)]).await,
                StatusCode::MISDIRECTED_REQUEST,
                "{host} {path}"
            );
        }
    }
    assert_eq!(
        server.ask(Method::GET, API, &[("host", "evil.example")], "").await.refusal(),
        "421 wrongHost"
    );
    // A request line with a whole address may not say something else than the header.
    assert_eq!(
        get(&server, "http://evil.example/api/units", &[]).await,
        StatusCode::MISDIRECTED_REQUEST
    );
}

#[tokio::test]
async fn only_its_own_pages_may_ask() {
    let server = TestServer::new().await;
    for origin in ["http://127.0.0.1:7433", "http://localhost:7433"] {
        assert_eq!(get(&server, STREAM, &[("origin", origin)]).await, StatusCode::OK, "{origin}");
    }
    let foreign = [
        "http://evil.example",
        "https://127.0.0.1:7433",
        "http://127.0.0.1:8080",
        "null",
        "127.0.0.1:7433",
        "",
    ];
    for origin in foreign {
        for path in READS {
            assert_eq!(
                get(&server, path, &[("origin", origin)]).await,
                StatusCode::FORBIDDEN,
                "{origin} {path}"
            );
        }
        let headers = [("origin", origin), ("content-type", "application/json")];
        let answer = server.ask(Method::POST, "/api/plans", &headers, r#"{"unit":"shop"}"#).await;
        assert_eq!(answer.refusal(), "403 foreignOrigin", "{origin}");
    }
    for site in ["same-origin", "none"] {
        assert_eq!(get(&server, API, &[("sec-fetch-site", site)]).await, StatusCode::OK, "{site}");
    }
    for site in ["cross-site", "same-site", "Same-Origin", ""] {
        for path in READS {
            assert_eq!(
                get(&server, path, &[("sec-fetch-site", site)]).await,
                StatusCode::FORBIDDEN,
                "{site} {path}"
            );
        }
    }
    assert_eq!(
        server.hub.received.lock().unwrap().len(),
        2,
        "only the two streams reached the hub"
    );
}

/// Both names are this server's, and a browser that is too old to say where a request comes from says nothing else; but
/// what is at one name is another site than what is at the other.
#[tokio::test]
async fn a_page_at_one_of_its_names_may_not_write_at_the_other() {
    let server = TestServer::new().await;
    let writes = [
        ("/api/plans", r#"{"unit":"shop"}"#),
        ("/api/runs", r#"{"plan":"p1","hash":"abc","confirm":"shop"}"#),
        ("/api/runs/r1/stop", ""),
        ("/api/session/link", "{}"),
    ];
    for (host, origin) in [
        ("127.0.0.1:7433", "http://localhost:7433"),
        ("localhost:7433", "http://127.0.0.1:7433"),
        ("[::1]:7433", "http://localhost:7433"),
    ] {
        let headers = [("host", host), ("origin", origin), ("content-type", "application/json")];
        for (path, body) in writes {
            let answer = server.ask(Method::POST, path, &headers, body).await;
            assert_eq!(answer.refusal(), "403 foreignOrigin", "{host} {origin} {path}");
        }
        assert_eq!(get(&server, API, &headers).await, StatusCode::OK, "a read changes nothing");
    }
    assert!(server.hub.received.lock().unwrap().is_empty());
    let own = [
        ("host", "localhost:7433"),
        ("origin", "http://localhost:7433"),
        ("content-type", "application/json"),
    ];
    let (path, body) = writes[0];
    assert_eq!(server.ask(Method::POST, path, &own, body).await.status, StatusCode::CREATED);
}

#[tokio::test]
async fn without_a_session_nothing_is_told() {
    let server = TestServer::signed_out();
    for path in [API, STREAM, "/api/units/shop", "/api/units/nope", "/api/plans/p1", "/api/runs/r1"]
    {
        assert_eq!(server.get(path).await.refusal(), "401 notSignedIn", "{path}");
    }
    for path in ["/api/plans", "/api/runs", "/api/runs/r1/stop", "/api/session/link"] {
        assert_eq!(server.post(path, "{}").await.refusal(), "401 notSignedIn", "{path}");
    }
    for path in ["/", "/u/shop", "/u/nope", "/r/r1", "/nope"] {
        let page = server.get(path).await;
        assert_eq!(page.status, StatusCode::UNAUTHORIZED, "{path}");
        assert_eq!(page.headers["content-type"], "text/html; charset=utf-8");
        assert!(page.text.contains("/sign-in.js") && !page.text.contains("shop"), "{path}");
    }
    for cookie in ["unwind_7433=", "unwind_7433=0", "unwind_7434=0", "x", ";;=;", "unwind_7433"] {
        assert_eq!(
            get(&server, API, &[("cookie", cookie)]).await,
            StatusCode::UNAUTHORIZED,
            "{cookie}"
        );
    }
    assert!(server.hub.received.lock().unwrap().is_empty());
}

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

#[tokio::test]
async fn every_answer_carries_the_headers() {
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
            ("referrer-policy", "no-referrer"),
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
async fn a_request_id_from_outside_is_not_taken_over() {
    let server = TestServer::new().await;
    let answer = server.ask(Method::GET, API, &[("x-request-id", "forged")], "").await;
    assert_ne!(answer.headers["x-request-id"], "forged");
}

const LIMITS: Limits = Limits { connections: 64, stalled: Duration::from_secs(5) };

/// A server that listens, and the task that serves.
struct Listening {
    server: TestServer,
    address: SocketAddr,
    serving: JoinHandle<()>,
}

impl Listening {
    async fn new() -> Self {
        Self::within(LIMITS).await
    }

    async fn within(limits: Limits) -> Self {
        let listener = listen(Ipv4Addr::LOCALHOST.into(), Some(0), None).await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = TestServer::signed_out_at(address, None);
        let serving =
            tokio::spawn(serve(listener, server.router.clone(), limits, server.drain.clone()));
        Self { server, address, serving }
    }

    /// Sends text over a new connection and reads all that comes back.
    async fn say(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = vec![];
        let _ = tokio::time::timeout(Duration::from_secs(20), stream.read_to_end(&mut answer))
            .await
            .unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    }

    async fn status(&self, request: &str) -> String {
        self.say(request).await.split(' ').nth(1).unwrap_or("closed").to_owned()
    }
}

#[tokio::test]
async fn a_real_connection_is_guarded() {
    let listening = Listening::new().await;
    let host = listening.address;
    let end = "connection: close\r\n\r\n";
    for (request, status) in [
        (format!("GET /healthz HTTP/1.1\r\nhost: {host}\r\n{end}"), "200"),
        (format!("GET /api/units HTTP/1.1\r\nhost: {host}\r\n{end}"), "401"),
        (format!("GET /healthz HTTP/1.1\r\nhost: evil.example:{}\r\n{end}", host.port()), "421"),
        (format!("GET /healthz HTTP/1.1\r\n{end}"), "421"),
        (format!("GET /healthz HTTP/1.1\r\nhost: {host}\r\nhost: evil.example\r\n{end}"), "421"),
        (format!("GET http://evil.example/healthz HTTP/1.1\r\nhost: {host}\r\n{end}"), "421"),
        (
            format!(
                "GET {STREAM} HTTP/1.1\r\nhost: {host}\r\norigin: http://evil.example\r\n{end}"
            ),
            "403",
        ),
        (
            format!("GET /healthz HTTP/1.1\r\nhost: {host}\r\n{}{end}", "x: y\r\n".repeat(200)),
            "431",
        ),
        (
            format!("GET /healthz HTTP/1.1\r\nhost: {host}\r\nx: {}\r\n{end}", "y".repeat(300_000)),
            "431",
        ),
        (format!("GET /{} HTTP/1.1\r\nhost: {host}\r\n{end}", "x".repeat(10_000)), "414"),
        ("nonsense\r\n\r\n".to_owned(), "400"),
    ] {
        assert_eq!(
            listening.status(&request).await,
            status,
            "{}",
            request.chars().take(120).collect::<String>()
        );
    }
    let body = format!(r#"{{"token":"{}"}}"#, "x".repeat(300_000));
    let head =
        format!("POST /api/session HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n");
    let long = format!("{head}content-length: {}\r\n{end}{body}", body.len());
    assert_eq!(listening.status(&long).await, "413");
}

#[tokio::test]
async fn serving_ends_with_its_streams() {
    let listening = Listening::new().await;
    let cookie = listening.server.sign_in(&listening.server.token).await;
    let request =
        format!("GET {STREAM} HTTP/1.1\r\nhost: {}\r\ncookie: {cookie}\r\n\r\n", listening.address);
    // A connection that was opened and says nothing does not hold the end up either.
    let silent = TcpStream::connect(listening.address).await.unwrap();
    let drained = async {
        let mut stream = TcpStream::connect(listening.address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = vec![];
        while !String::from_utf8_lossy(&answer).contains("event: snapshot") {
            let read = stream.read_buf(&mut answer).await.unwrap();
            assert_ne!(read, 0, "{}", String::from_utf8_lossy(&answer));
        }
        listening.server.drain.cancel();
        let _ = stream.read_to_end(&mut answer).await.unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    };
    let answer = tokio::time::timeout(Duration::from_secs(20), drained).await.unwrap();
    assert!(
        answer.contains("event: snapshot") && answer.contains("event: bye\nretry: 1000\n"),
        "{answer}"
    );
    tokio::time::timeout(Duration::from_secs(6), listening.serving).await.unwrap().unwrap();
    assert!(TcpStream::connect(listening.address).await.is_err(), "nobody listens any more");
    drop(silent);
}

#[tokio::test]
async fn only_loopback_and_only_a_free_port() {
    assert!(matches!(
        listen(Ipv4Addr::UNSPECIFIED.into(), None, None).await,
        Err(ListenError::NotLoopback(_))
    ));
    let first = listen(Ipv4Addr::LOCALHOST.into(), Some(0), None).await.unwrap();
    let port = first.local_addr().unwrap().port();
    let taken = listen(Ipv4Addr::LOCALHOST.into(), Some(port), None).await.unwrap_err().to_string();
    assert!(taken.contains(&port.to_string()) && taken.contains("--port"), "{taken}");
}

#[tokio::test]
async fn a_server_comes_back_to_the_port_where_its_pages_look_for_it() {
    let state = tempfile::tempdir().unwrap();
    let any = Ipv4Addr::LOCALHOST.into();
    let first = listen(any, None, Some(state.path())).await.unwrap();
    let address = first.local_addr().unwrap();
    TestServer::signed_out_at(address, Some(state.path()));
    let elsewhere = listen(any, None, Some(state.path())).await.unwrap();
    assert_ne!(elsewhere.local_addr().unwrap(), address, "it is taken");
    drop(first);
    let again = listen(any, None, Some(state.path())).await.unwrap();
    assert_eq!(again.local_addr().unwrap(), address);
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
async fn no_secret_is_logged_and_no_line_is_forged() {
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
    let listener = listen(Ipv4Addr::LOCALHOST.into(), Some(0), None).await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut server = TestServer::signed_out_at(address, Some(state.path()));
    let serving =
        tokio::spawn(serve(listener, server.router.clone(), LIMITS, server.drain.clone()));
    server.cookie = server.sign_in(&server.token).await;
    let link =
        server.post("/api/session/link", "{}").await.json()["url"].as_str().unwrap().to_owned();
    let second = link.split_once("#k=").unwrap().1;
    server.post("/api/session", &format!(r#"{{"token":"{second}","more":1}}"#)).await;
    server.post("/api/session", r#"{"token":"a-wrong-token"}"#).await;
    server.post("/api/plans", r#"{"unit":"body-text"}"#).await;
    server.get("/u/%0a%1b[31mforged?q=query-text").await;
    server.get("/\u{202e}forged").await;
    let listening = Listening { server, address, serving };
    let cookie = listening.server.cookie.clone();
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
    let session = listening.server.cookie.split_once('=').unwrap().1;
    for secret in [
        listening.server.token.as_str(),
        session,
        second,
        "a-wrong-token",
        "body-text",
        "query-text",
    ] {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
    assert!(text.contains("forged"), "{text}");
    assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'), "{text}");
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

#[tokio::test]
async fn request_that_names_no_path_is_refused() {
    let listening = Listening::new().await;
    let host = listening.address;
    let cookie = listening.server.sign_in(&listening.server.token).await;
    for target in [format!("CONNECT {host}"), format!("GET {host}"), "OPTIONS *".to_owned()] {
        for cookie in ["x=y", &cookie] {
            let request = format!(
                "{target} HTTP/1.1\r\nhost: {host}\r\ncookie: {cookie}\r\nconnection: close\r\n\r\n"
            );
            assert_eq!(listening.status(&request).await, "400", "{target} {cookie}");
        }
    }
}

#[tokio::test]
async fn refusal_by_the_parser_has_the_security_headers() {
    let listening = Listening::new().await;
    let host = listening.address;
    for (request, status) in [
        ("nonsense\r\n\r\n".to_owned(), "400"),
        (format!("GET / HTTP/1.1\r\nhost: {host}\r\nbad header\r\n\r\n"), "400"),
        (format!("GET / HTTP/1.1\r\nhost: {host}\r\n{}\r\n", "x: y\r\n".repeat(200)), "431"),
        (format!("GET /{} HTTP/1.1\r\nhost: {host}\r\n\r\n", "x".repeat(65_600)), "414"),
    ] {
        let answer = listening.say(&request).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
        for header in [
            "x-content-type-options: nosniff\r\n",
            "referrer-policy: no-referrer\r\n",
            "cross-origin-opener-policy: same-origin\r\n",
            "cross-origin-resource-policy: same-origin\r\n",
            "x-frame-options: DENY\r\n",
            "content-security-policy: default-src 'none'",
            "cache-control: no-store\r\n",
        ] {
            assert_eq!(answer.matches(header).count(), 1, "{header} {answer}");
        }
    }
}

#[tokio::test]
async fn connection_beyond_the_limit_is_refused_with_headers() {
    let listening = Listening::within(Limits { connections: 1, ..LIMITS }).await;
    let request = format!("GET /healthz HTTP/1.1\r\nhost: {}\r\n\r\n", listening.address);
    let mut first = TcpStream::connect(listening.address).await.unwrap();
    first.write_all(request.as_bytes()).await.unwrap();
    let mut begin = [0; 12];
    first.read_exact(&mut begin).await.unwrap();
    assert_eq!(&begin, b"HTTP/1.1 200");
    let answer = listening.say(&request).await;
    assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
    assert!(answer.contains("x-content-type-options: nosniff"), "{answer}");
    assert!(answer.contains("retry-after: "), "{answer}");
}

#[tokio::test]
async fn answer_that_nobody_reads_ends_its_connection() {
    let limits = Limits { connections: 1, stalled: Duration::from_millis(300) };
    let listening = Listening::within(limits).await;
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4_096).unwrap();
    let mut stalled = socket.connect(listening.address).await.unwrap();
    // More answers than the system keeps for both ends.
    let request =
        format!("GET /{} HTTP/1.1\r\nhost: {}\r\n\r\n", "x".repeat(100), listening.address);
    let flood = async { while stalled.write_all(request.as_bytes()).await.is_ok() {} };
    tokio::time::timeout(Duration::from_secs(20), flood).await.expect("the server hangs up");
}
