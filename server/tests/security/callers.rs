//! Names, origins and sessions that let a request in.

use super::*;

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
async fn page_at_one_of_its_names_may_not_write_at_the_other() {
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
async fn request_without_a_session_learns_nothing() {
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
