//! The API and the pages, asked through the whole router; the hub is a stand-in.

mod test_server;

use http::{Method, StatusCode};
use jiff::Timestamp;
use server::hub::{
    DeliveryStatus, FailingDelivery, HubHandle, Incoming, LostNotification, Refusal,
};
use teardown::{plan::StepId, run::RunCommand};
use test_server::{TestServer, delta, reading, revision};
use tokio::{sync::mpsc, time::Instant};

#[tokio::test]
async fn existing_resources_can_be_read() {
    let server = TestServer::new().await;
    for path in ["/api/units", "/api/units/shop", "/api/units/ns%3Aa%20b", "/api/runs/r1"] {
        let answer = server.get(path).await;
        assert_eq!(answer.status, StatusCode::OK, "{path}");
        assert_eq!(answer.json()["snapshot"]["revision"], revision(9).to_string(), "{path}");
    }
    assert_eq!(server.get("/api/plans/p1").await.json()["hash"], "abc");
    assert_eq!(server.get("/healthz").await.status, StatusCode::OK);
}

#[tokio::test]
async fn event_log_is_read_from_its_first_line_as_records_and_as_text() {
    let server = TestServer::new().await;
    let answer = server.get("/api/runs/r1/events").await.json();
    let line = serde_json::json!({
        "number": 0, "at": 0, "event": {"code": "started", "by": "Li"},
    });
    assert_eq!(answer, serde_json::json!({ "events": [line] }));
    let answer = server.get("/r/r1/events.txt").await;
    assert_eq!(answer.headers["content-type"], "text/plain; charset=utf-8");
    assert_eq!(answer.text, "1970-01-01 00:00:00 UTC Li started the run\n");
    assert_eq!(server.get("/r/nope/events.txt").await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn notifications_that_do_not_arrive_have_a_page() {
    let server = TestServer::new().await;
    let arrives = server.get("/notifications").await.text;
    assert!(arrives.contains("No notification is overdue"), "{arrives}");
    let at = Timestamp::UNIX_EPOCH;
    let failing = Some(FailingDelivery { since: at, why: "status 503".into() });
    let (title, why) = ("dev: stuck, Pod <b>".into(), "the receiver refuses it".into());
    let lost = vec![LostNotification { at, title, why }];
    *server.hub.delivery.lock().unwrap() = DeliveryStatus { failing, waiting: 2, lost };
    let text = server.get("/notifications").await.text;
    for said in [
        "No notification has been delivered since 1970-01-01 00:00:00 UTC",
        "2 notifications wait for delivery",
        "--notify-url",
        "status 503",
        "dev: stuck, Pod &lt;b&gt;",
        "Given up 1970-01-01 00:00:00 UTC: the receiver refuses it.",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
}

#[tokio::test]
async fn missing_resource_is_refused_by_name() {
    let server = TestServer::new().await;
    for (path, refusal) in [
        ("/api/units/nope", "404 unknownUnit"),
        ("/api/runs/nope", "404 unknownRun"),
        ("/api/runs/nope/events", "404 unknownRun"),
        ("/api/plans/nope", "404 unknownPlan"),
        ("/api/nope", "404 unknownPath"),
        ("/api", "404 unknownPath"),
        ("/api/", "404 unknownPath"),
        ("/api/units/%ff", "400 malformed"),
        ("/api/events", "400 malformed"),
        ("/api/events?topic=nope", "400 malformed"),
        ("/api/events?topic=unit:nope", "404 unknownUnit"),
        ("/api/runs/r1/pause", "405 wrongMethod"),
    ] {
        assert_eq!(server.get(path).await.refusal(), refusal, "{path}");
    }
    let answer = server.post("/api/units", "{}").await;
    assert_eq!(answer.refusal(), "405 wrongMethod");
    assert_eq!(answer.headers["allow"], "GET,HEAD");
    assert_eq!(server.ask(Method::DELETE, "/api/runs/r1", &[], "").await.refusal(), "415 notJson");
}

#[tokio::test]
async fn plan_is_made_and_its_run_is_started_and_steered() {
    let server = TestServer::new().await;
    let made = server.post("/api/plans", r#"{"unit":"shop"}"#).await;
    assert_eq!((made.status, &made.json()["id"]), (StatusCode::CREATED, &"p1".into()));
    let started = server.post("/api/runs", r#"{"plan":"p1","hash":"abc","confirm":"shop"}"#).await;
    assert_eq!(
        (started.status, started.json()),
        (StatusCode::CREATED, serde_json::json!({ "run": "r1" }))
    );
    for (command, path) in [
        (RunCommand::Pause, "/api/runs/r1/pause"),
        (RunCommand::Resume, "/api/runs/r1/resume"),
        (RunCommand::Stop, "/api/runs/r1/stop"),
        (RunCommand::Skip(StepId(7)), "/api/runs/r1/steps/7/skip"),
    ] {
        assert_eq!(format!("/api/runs/r1/{command}"), path, "as the page asks for it");
        let answer = server.post(path, "").await;
        assert_eq!((answer.status, answer.text.as_str()), (StatusCode::NO_CONTENT, ""), "{path}");
    }
    assert_eq!(server.post("/api/runs/nope/pause", "").await.refusal(), "404 unknownRun");
    assert_eq!(server.post("/api/runs/r1/steps/x/skip", "").await.refusal(), "400 malformed");
    assert_eq!(server.post("/api/plans", r#"{"unit":"nope"}"#).await.refusal(), "404 unknownUnit");
    insta::assert_snapshot!(server.hub.received.lock().unwrap().join("\n"), @r"
    plan shop
    start p1 by Li
    Pause r1 by Li
    Resume r1 by Li
    Stop r1 by Li
    Skip(StepId(7)) r1 by Li
    Pause nope by Li
    plan nope
    ");
}

#[tokio::test]
async fn stale_plan_lists_its_differences() {
    let server = TestServer::new().await;
    let answer = server.post("/api/runs", r#"{"plan":"p1","hash":"moved","confirm":"shop"}"#).await;
    assert_eq!(answer.refusal(), "409 stalePlan");
    let error = &answer.json()["error"];
    assert_eq!(error["differences"][0]["added"]["object"]["name"], "web-2");
    assert_eq!(error["request"], answer.headers["x-request-id"].to_str().unwrap());
    let answer = server.post("/api/runs", r#"{"plan":"p1","hash":"abc","confirm":"Shop"}"#).await;
    assert_eq!(answer.refusal(), "422 wrongName");
}

#[tokio::test]
async fn start_without_the_names_of_what_is_lost_says_which_are_missing_in_the_form_it_takes() {
    let server = TestServer::new().await;
    for (hash, part) in [("lossy", "destroys"), ("shared", "waived")] {
        let start = |names: &str| {
            format!(r#"{{"plan":"p1","hash":"{hash}","confirm":"shop","{part}":{names}}}"#)
        };
        let answer = server.post("/api/runs", &start("[]")).await;
        assert_eq!(answer.refusal(), "422 unconfirmed");
        let error = &answer.json()["error"];
        assert_eq!(error[part], serde_json::json!(["Pod/shop/web-2"]));
        assert!(error["what"].as_str().unwrap().contains("web-2"), "{error}");
        let short = start(r#"["Pod/web-2"]"#);
        assert_eq!(server.post("/api/runs", &short).await.refusal(), "422 shape");
        let missing = start(&error[part].to_string());
        assert_eq!(server.post("/api/runs", &missing).await.status, StatusCode::CREATED);
    }
}

#[tokio::test]
async fn choices_of_a_plan_are_in_its_body_or_in_the_address_of_its_page() {
    let server = TestServer::new().await;
    let body = r#"{"unit":"shop","choices":[{"keep":"data"},{"without":"Secret/shop/tls"},{"waive":"Service/shop/web"}]}"#;
    assert_eq!(server.post("/api/plans", body).await.status, StatusCode::CREATED);
    let page =
        server.get("/u/shop/plan?keep=data&without=&without=Secret%2Fshop%2Ftls&sel=x&waive=Service/shop/web").await;
    assert_eq!(page.status, StatusCode::OK);
    assert!(page.text.contains("<form method=\"get\" action=\"/u/shop/plan\""), "{}", page.text);
    let made = "plan shop without=Secret/shop/tls keep=data waive=Service/shop/web";
    // The page of a new plan starts its preflight.
    assert_eq!(*server.hub.received.lock().unwrap(), [made, made, "preflight p1"]);
    for choices in [
        r#"[{"keep":"all"}]"#,
        r#"[{"drop":"x"}]"#,
        r#"[{"waive":"*"}]"#,
        r#"["keep"]"#,
        r#"{"keep":"data"}"#,
    ] {
        let body = format!(r#"{{"unit":"shop","choices":{choices}}}"#);
        assert_eq!(server.post("/api/plans", &body).await.refusal(), "422 shape", "{choices}");
    }
    let page = server.get("/u/shop/plan?include=everything").await;
    assert_eq!(page.status, StatusCode::BAD_REQUEST);
    assert!(page.text.contains("is no value of include"), "{}", page.text);
    assert_eq!(server.hub.received.lock().unwrap().len(), 3, "no other reached the hub");
}

#[tokio::test]
async fn bodies_are_taken_at_their_word() {
    let server = TestServer::new().await;
    for (body, refusal) in [
        ("", "400 syntax"),
        ("{", "400 syntax"),
        ("unit=shop", "400 syntax"),
        ("{}", "422 shape"),
        ("[]", "422 shape"),
        (r#"["shop"]"#, "422 shape"),
        (r#"{"unit":7}"#, "422 shape"),
        (r#"{"unit":"shop","force":true}"#, "422 shape"),
    ] {
        assert_eq!(server.post("/api/plans", body).await.refusal(), refusal, "{body}");
    }
    let long = format!(r#"{{"unit":"{}"}}"#, "x".repeat(256 * 1024));
    assert_eq!(server.post("/api/plans", &long).await.refusal(), "413 tooLarge");
    let deep = "[".repeat(200_000);
    assert_eq!(server.post("/api/plans", &deep).await.refusal(), "422 shape");
    for media in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data",
        "",
        "application/jsonp",
    ] {
        let answer = server
            .ask(Method::POST, "/api/plans", &[("content-type", media)], r#"{"unit":"shop"}"#)
            .await;
        assert_eq!(answer.refusal(), "415 notJson", "{media}");
    }
    let media = [("content-type", "Application/JSON; charset=utf-8")];
    assert_eq!(
        server.ask(Method::POST, "/api/plans", &media, r#"{"unit":"shop"}"#).await.status,
        StatusCode::CREATED
    );
    assert_eq!(server.hub.received.lock().unwrap().len(), 1, "only the last one reached the hub");
}

#[tokio::test]
async fn hub_that_is_not_ready_says_when_to_come_back() {
    let server = TestServer::new().await;
    *server.hub.refusal.lock().unwrap() = Some(Refusal::NotReady);
    let answer = server.get("/api/units").await;
    assert_eq!(answer.refusal(), "503 notReady");
    assert_eq!(answer.headers["retry-after"], "2");
    let page = server.get("/").await;
    assert_eq!(page.status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(page.text.contains("notReady"), "the page itself says why: {}", page.text);
}

#[tokio::test]
async fn stream_begins_with_a_snapshot_and_goes_on_with_deltas() {
    let server = TestServer::new().await;
    let mut events = server.follow("topic=units", &[]).await;
    assert_eq!(events.headers["content-type"], "text/event-stream");
    assert_eq!(events.headers["cache-control"], "no-store");
    assert_eq!(events.headers["x-accel-buffering"], "no");
    assert!(!events.headers.contains_key("content-encoding"));
    let (name, data) = events.next().await.unwrap();
    assert_eq!(name, "snapshot 5f3a:9");
    assert_eq!(data, &*test_server::whole(9).json, "the JSON goes out as it is");
    server.hub.deltas.send(delta(10)).unwrap();
    server.hub.deltas.send(delta(11)).unwrap();
    assert_eq!(events.names(2).await, ["delta 5f3a:10", "delta 5f3a:11"]);
}

#[tokio::test]
async fn stream_resumes_where_the_reader_was() {
    let server = TestServer::new().await;
    let last = |id| [("last-event-id", id)];
    assert_eq!(
        server.follow("topic=units&after=5f3a:7", &[]).await.names(2).await,
        ["delta 5f3a:8", "delta 5f3a:9"]
    );
    assert_eq!(
        server.follow("topic=units&after=5f3a:2", &last("5f3a:8")).await.names(1).await,
        ["delta 5f3a:9"]
    );
    // Another boot, nonsense, and nonsense that must not fall back to an older position.
    for (after, id) in [("0:7", "0:7"), ("x", "x"), ("5f3a:7", "x"), ("5f3a:7", "")] {
        let mut events = server.follow(&format!("topic=units&after={after}"), &last(id)).await;
        assert_eq!(events.names(1).await, ["snapshot 5f3a:9"], "{after} {id}");
    }
}

#[tokio::test]
async fn reader_that_fell_behind_gets_a_snapshot_again() {
    let server = TestServer::new().await;
    let mut events = server.follow("topic=run:r1", &[]).await;
    assert_eq!(events.names(2).await, ["snapshot 5f3a:9", "ping"]);
    for count in 10..20 {
        server.hub.deltas.send(delta(count)).unwrap();
    }
    assert_eq!(events.names(1).await, ["snapshot 5f3a:9"]);
    server.hub.deltas.send(delta(10)).unwrap();
    assert_eq!(events.names(1).await, ["delta 5f3a:10"]);
    let received = server.hub.received.lock().unwrap().clone();
    assert_eq!(received, ["subscribe run:r1 after ", "subscribe run:r1 after "]);
}

#[tokio::test]
async fn stream_says_bye_and_ends_when_the_server_does() {
    let server = TestServer::new().await;
    let mut events = server.follow("topic=unit:shop", &[]).await;
    assert_eq!(events.names(1).await, ["snapshot 5f3a:9"]);
    server.drain.cancel();
    let (name, data) = events.next().await.unwrap();
    assert_eq!((name.as_str(), data.as_str()), ("bye", r#"{"reason":"shuttingDown"}"#));
    assert_eq!(events.next().await, None);
    assert_eq!(server.get("/healthz").await.status, StatusCode::SERVICE_UNAVAILABLE);
}

#[tokio::test(start_paused = true)]
async fn silent_stream_is_alive() {
    let server = TestServer::new().await;
    let mut events = server.follow("topic=units", &[]).await;
    assert_eq!(events.names(1).await, ["snapshot 5f3a:9"]);
    let begin = tokio::time::Instant::now();
    for seconds in [0, 15, 30] {
        let (name, data) = events.next().await.unwrap();
        assert_eq!(name, "ping", "and it has no id, so that it moves no reader");
        assert_eq!(begin.elapsed().as_secs(), seconds);
        let data: serde_json::Value = serde_json::from_str(&data).unwrap();
        assert_eq!(data["now"], 0, "the hub's time, not this machine's");
    }
}

#[tokio::test]
async fn stream_names_the_build_before_anything_else() {
    let server = TestServer::new().await;
    // The server itself sees that no event comes before it.
    let events = server.follow("topic=units", &[]).await;
    let data: serde_json::Value = serde_json::from_str(&events.build).unwrap();
    assert!(data["build"].as_str().is_some_and(|build| build.len() == 16), "{data}");
}

#[tokio::test(start_paused = true)]
async fn fifth_stream_of_a_session_takes_the_place_of_the_oldest() {
    let server = TestServer::new().await;
    let mut open = vec![];
    for _ in 0..4 {
        open.push(server.follow("topic=units", &[]).await);
    }
    for stream in &mut open {
        assert_eq!(stream.names(1).await, ["snapshot 5f3a:9"]);
    }
    // A place that was given back is free again, so the next reader displaces nobody.
    drop(open.pop());
    open.push(server.follow("topic=units", &[]).await);
    // Nobody has to go for who is not let in either.
    for _ in 0..4 {
        let refused = server.get("/api/events?topic=unit:nope").await;
        assert_eq!(refused.refusal(), "404 unknownUnit");
    }
    open.push(server.follow("topic=units", &[]).await);

    let mut oldest = open.remove(0);
    let mut said = vec![];
    while let Some((name, data)) = oldest.next().await {
        if name != "ping" {
            said.push(format!("{name} {data}"));
        }
    }
    assert_eq!(said, [r#"bye {"reason":"crowded"}"#]);
    for stream in &mut open {
        loop {
            let (name, _) = stream.next().await.unwrap();
            assert_ne!(name, "bye");
            if name == "ping" {
                break;
            }
        }
    }
}

#[tokio::test]
async fn pages_have_the_right_status_and_what_they_show() {
    let server = TestServer::new().await;
    for (path, status, shown) in [
        ("/", 200, "5f3a:9"),
        ("/?q=x&lang=zh-CN", 200, "5f3a:9"),
        ("/u/shop", 200, "5f3a:9"),
        ("/u/ns%3Aa%20b", 200, "5f3a:9"),
        ("/u/shop/plan/p1", 200, "5f3a:9"),
        ("/r/r1", 200, "5f3a:9"),
        ("/u/nope", 404, "unknownUnit"),
        ("/u/shop/plan/nope", 404, "unknownPlan"),
        ("/u/ns%3Aa%20b/plan/p1", 404, "unknownPlan"),
        ("/r/nope", 404, "unknownRun"),
        ("/nope", 404, "unknownPath"),
    ] {
        let page = server.get(path).await;
        assert_eq!(page.status.as_u16(), status, "{path}");
        assert_eq!(page.headers["content-type"], "text/html; charset=utf-8", "{path}");
        assert!(page.text.contains(shown), "{path}: {}", page.text);
    }
    assert_eq!(server.ask(Method::HEAD, "/u/shop", &[], "").await.status, StatusCode::OK);
    assert_eq!(
        server.ask(Method::POST, "/u/shop", &[], "").await.status,
        StatusCode::METHOD_NOT_ALLOWED
    );
}

#[tokio::test]
async fn page_travels_compressed() {
    let server = TestServer::new().await;
    let plain = server.get("/").await;
    let small = server.ask(Method::GET, "/", &[("accept-encoding", "gzip, br")], "").await;
    assert_eq!(small.headers["content-encoding"], "br");
    // No text: about a character a byte.
    let (small, plain) = (small.text.chars().count(), plain.text.len());
    assert!(small * 3 < plain * 2, "{small} of {plain}");
    let events = server.follow("topic=units", &[("accept-encoding", "gzip, br")]).await;
    assert!(!events.headers.contains_key("content-encoding"), "events must not wait for more");
}

#[tokio::test]
async fn inline_script_of_a_page_is_the_one_its_policy_allows() {
    let server = TestServer::new().await;
    let nonce = async |path: &str| {
        let page = server.get(path).await;
        let policy = page.headers["content-security-policy"].to_str().unwrap().to_owned();
        let nonce = policy.split_once("'nonce-").unwrap().1.split_once('\'').unwrap().0.to_owned();
        let scripts: Vec<_> = page.text.split("<script").skip(1).collect();
        assert!(!scripts.is_empty());
        for script in scripts {
            assert!(script.contains(&format!("nonce=\"{nonce}\"")), "{policy}: {script}");
        }
        nonce
    };
    assert_ne!(nonce("/").await, nonce("/").await, "each answer has its own");
    nonce("/nope").await;
}

/// The page that names the files is asked for anew each time, so that a new build is loaded at once.
#[tokio::test]
async fn page_is_not_cached_and_all_it_loads_is_cached_for_ever() {
    let server = TestServer::new().await;
    let page = server.get("/").await;
    assert_eq!(page.headers["cache-control"], "no-store");
    let (head, _) = page.text.split_once("</head>").expect("a head");
    let linked = |attribute| head.split(attribute).skip(1).filter_map(|it| it.split('"').next());
    let loaded: Vec<_> = linked("href=\"").chain(linked("src=\"")).collect();
    assert_eq!(loaded.len(), 4, "script, module, style and icon: {loaded:?}");
    for path in loaded {
        let file = server.get(path).await;
        let cache = file.headers["cache-control"].to_str().unwrap();
        assert!(file.status.is_success() && cache.ends_with("immutable"), "{path}: {cache}");
    }
}

#[tokio::test]
async fn files_are_served_as_what_they_are() {
    const FOR_EVER: &str = "public, max-age=31536000, immutable";
    let server = TestServer::signed_out();
    for (path, media, cache) in [
        ("/pkg/unwind.0123456789abcdef.js", "text/javascript", FOR_EVER),
        ("/pkg/unwind.0123456789abcdef.wasm", "application/wasm", FOR_EVER),
        ("/pkg/unwind.0123456789abcdef.css", "text/css", FOR_EVER),
        ("/pkg/unwind.css", "text/css", "no-cache"),
        ("/icons.svg", "image/svg+xml", "no-cache"),
        ("/favicon.svg", "image/svg+xml", "no-cache"),
        ("/sign-in.js", "text/javascript; charset=utf-8", "no-cache"),
    ] {
        let file = server.get(path).await;
        assert_eq!(file.status, StatusCode::OK, "{path}");
        assert_eq!(file.headers["content-type"], media, "{path}");
        assert_eq!(file.headers["cache-control"], cache, "{path}");
    }
    let small = server
        .ask(
            Method::GET,
            "/pkg/unwind.0123456789abcdef.wasm",
            &[("accept-encoding", "gzip, br")],
            "",
        )
        .await;
    assert_eq!(
        (small.headers["content-encoding"].to_str().unwrap(), small.text.as_str()),
        ("br", "compressed")
    );
    let modified =
        server.get("/icons.svg").await.headers["last-modified"].to_str().unwrap().to_owned();
    let again =
        server.ask(Method::GET, "/icons.svg", &[("if-modified-since", &modified)], "").await;
    assert_eq!(again.status, StatusCode::NOT_MODIFIED);
    for path in [
        "/pkg/",
        "/pkg/nope.js",
        "/pkg/../Cargo.toml",
        "/pkg/%2e%2e/icons.svg",
        "/pkg/..%2ficons.svg",
    ] {
        let file = server.get(path).await;
        assert!(file.status.is_client_error(), "{path} {}", file.status);
        assert_eq!(file.headers["cache-control"], "no-store", "{path}");
    }
    for name in ["x".repeat(256), "x".repeat(254), "x/".repeat(3_000), "%00".to_owned()] {
        for encoding in ["identity", "gzip, br"] {
            let headers = [("accept-encoding", encoding)];
            let file = server.ask(Method::GET, &format!("/pkg/{name}"), &headers, "").await;
            assert_eq!(file.status, StatusCode::NOT_FOUND, "{name} {encoding}");
        }
    }
}

#[tokio::test]
async fn metrics_are_read_without_a_session_and_nothing_else_is_served_beside_them() {
    let server = TestServer::new().await;
    let local = [("host", "127.0.0.1:9464")];
    let stream = server.follow("topic=units", &[]).await;
    let answer = server.scrape(Method::GET, "/metrics", &local).await;
    assert_eq!(answer.status, StatusCode::OK);
    assert!(
        answer.headers["content-type"].to_str().unwrap().starts_with("application/openmetrics")
    );
    assert!(answer.headers.contains_key("content-security-policy"));
    for line in
        ["unwind_hidden_kind{resource=\"secrets\",reason=\"forbidden\"} 1", "unwind_viewers 1"]
    {
        assert!(answer.text.lines().any(|it| it == line), "{line} in {}", answer.text);
    }
    drop(stream);
    let answer = server.scrape(Method::GET, "/metrics", &local).await;
    assert!(answer.text.contains("unwind_viewers 0"), "{}", answer.text);

    for path in ["/", "/api/units", "/healthz", "/pkg/unwind.css", "/metrics/x"] {
        let answer = server.scrape(Method::GET, path, &local).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{path}");
    }
    assert_eq!(server.get("/metrics").await.status, StatusCode::NOT_FOUND);
    let answer = server.scrape(Method::POST, "/metrics", &local).await;
    assert_eq!(answer.status, StatusCode::METHOD_NOT_ALLOWED);
}

#[tokio::test]
async fn page_in_a_browser_cannot_read_the_metrics() {
    let server = TestServer::new().await;
    let local = ("host", "localhost:9464");
    for (headers, status) in [
        (vec![("host", "evil.example:9464")], StatusCode::MISDIRECTED_REQUEST),
        (vec![], StatusCode::MISDIRECTED_REQUEST),
        (vec![local, ("sec-fetch-site", "same-origin")], StatusCode::FORBIDDEN),
        (vec![local, ("sec-fetch-site", "cross-site")], StatusCode::FORBIDDEN),
        (vec![local, ("origin", "http://localhost:9464")], StatusCode::FORBIDDEN),
        (vec![local, ("sec-fetch-site", "none")], StatusCode::OK),
        (vec![local], StatusCode::OK),
    ] {
        let answer = server.scrape(Method::GET, "/metrics", &headers).await;
        assert_eq!(answer.status, status, "{headers:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn scrapes_of_a_silent_hub_fail_in_time_and_ask_it_only_once() {
    let (mailbox, mut incoming) = mpsc::channel(16);
    let server = TestServer::with_hub(HubHandle::new(mailbox));
    let scrape = || server.scrape(Method::GET, "/metrics", &[("host", "127.0.0.1:9464")]);
    let begin = Instant::now();
    for answer in futures::future::join_all([scrape(), scrape(), scrape()]).await {
        assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE);
    }
    assert_eq!(begin.elapsed().as_secs(), 5);
    assert_eq!(scrape().await.status, StatusCode::SERVICE_UNAVAILABLE);
    let Some(Incoming::ReadTally { reply }) = incoming.recv().await else { panic!("not asked") };
    assert!(incoming.try_recv().is_err(), "one question at a time");

    // The answer frees the place of the next question.
    reply.send(reading()).unwrap();
    let answered = async {
        let Some(Incoming::ReadTally { reply }) = incoming.recv().await else {
            panic!("not asked")
        };
        reply.send(reading()).unwrap();
    };
    let (answer, ()) = tokio::join!(scrape(), answered);
    assert_eq!(answer.status, StatusCode::OK);
}
