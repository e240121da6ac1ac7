//! Rules and what they do to requests and open watches, seen by an HTTP client under paused time.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full};
use jiff::Timestamp;
use sandbox::{
    cluster::Actor,
    controller::Controllers,
    fault::OperatingMode,
    service::{Body, Sandbox},
    store::Key,
};
use serde_json::{Value, json};
use tokio::time::advance;
use tower::ServiceExt;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// A sandbox whose controllers are all off.
fn start() -> Sandbox {
    seeded(7)
}

fn seeded(seed: u64) -> Sandbox {
    let begin: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
    let mut controllers = Controllers::default();
    for name in Controllers::built_in_names() {
        controllers.set_mode(name, OperatingMode::Off);
    }
    Sandbox::start(begin, seed, controllers)
}

/// Replaces the rules. Their times count from now.
fn rules(sandbox: &Sandbox, script: &str) {
    sandbox.with(|world| {
        world.cluster.faults = world.parse_faults(script).unwrap();
    });
}

fn make(sandbox: &Sandbox, plural: &str, name: &str) {
    let object = json!({"metadata": {"name": name}, "spec": {"selector": {"a": "b"}}});
    let made =
        sandbox.with(|world| world.cluster.create(&Actor::admin(), "", plural, "default", object));
    made.unwrap();
}

fn is_there(sandbox: &Sandbox, name: &str) -> bool {
    sandbox.with(|world| world.cluster.get(&Key::new("", "configmaps", "default", name)).is_some())
}

async fn send(sandbox: &Sandbox, method: Method, path: &str) -> std::io::Result<Response<Body>> {
    let request = Request::builder().method(method).uri(path).body(Full::<Bytes>::default());
    sandbox.clone().oneshot(request.unwrap()).await
}

async fn json_of(response: Response<Body>) -> Value {
    serde_json::from_slice(&response.into_body().collect().await.unwrap().to_bytes()).unwrap()
}

/// A watch with the part of a line that has come.
struct Watch {
    body: Body,
    rest: Vec<u8>,
    over: bool,
}

/// Opens a watch from the current revision.
async fn watch(sandbox: &Sandbox, path: &str) -> Watch {
    let join = if path.contains('?') { '&' } else { '?' };
    let now = sandbox.with(|world| world.cluster.store.revision());
    let path = format!("{path}{join}watch=1&resourceVersion={now}");
    let response = send(sandbox, Method::GET, &path).await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    let mut watch = Watch { body: response.into_body(), rest: vec![], over: false };
    assert_eq!(watch.received(), Vec::<String>::new());
    watch
}

impl Watch {
    /// The events that have arrived by now: `ADDED name`, `BOOKMARK`, `ERROR code`; the end of the watch; `part` for an
    /// incomplete line.
    fn received(&mut self) -> Vec<String> {
        let mut received = vec![];
        while !self.over
            && let Some(frame) = self.body.frame().now_or_never()
        {
            let Some(frame) = frame else {
                self.over = true;
                received.extend((!self.rest.is_empty()).then(|| "part".to_owned()));
                received.push("end".to_owned());
                break;
            };
            match frame {
                Ok(frame) => self.rest.extend(frame.into_data().unwrap()),
                Err(_) => received.push("cut".to_owned()),
            }
            while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
                let event: Value = serde_json::from_slice(&self.rest[..end]).unwrap();
                self.rest.drain(..=end);
                let kind = event["type"].as_str().unwrap();
                received.push(match kind {
                    "BOOKMARK" => kind.to_owned(),
                    "ERROR" => format!("ERROR {}", event["object"]["code"]),
                    _ => {
                        format!("{kind} {}", event["object"]["metadata"]["name"].as_str().unwrap())
                    }
                });
            }
        }
        received
    }

    /// The events that arrive within this many seconds, each with its second.
    async fn within(&mut self, seconds: u64) -> Vec<(u64, String)> {
        let mut received = vec![];
        for second in 0..=seconds {
            if second > 0 {
                advance(Duration::from_secs(1)).await;
            }
            received.extend(self.received().into_iter().map(|what| (second, what)));
        }
        received
    }
}

#[tokio::test(start_paused = true)]
async fn request_is_refused_or_cut_as_its_rule_says() {
    for (action, code, retry, has_effect) in [
        ("429", 429, None, false),
        ("429 retry=3", 429, Some("3"), false),
        ("401", 401, None, false),
        ("403", 403, None, false),
        ("408", 408, None, false),
        ("410", 410, None, false),
        ("502", 502, None, false),
        ("500", 500, None, false),
        ("503", 503, None, false),
        ("504", 504, None, false),
        ("408 after", 408, None, true),
        ("500 after", 500, None, true),
        ("502 after", 502, None, true),
        ("503 after", 503, None, true),
        ("504 after", 504, None, true),
        ("reset", 0, None, false),
        ("reset after", 0, None, true),
    ] {
        let sandbox = start();
        make(&sandbox, "configmaps", "m");
        rules(&sandbox, &format!("on delete configmaps 1x -> {action}"));
        let path = format!("{MAPS}/m");
        match send(&sandbox, Method::DELETE, &path).await {
            Ok(answer) => {
                assert_eq!(answer.status().as_u16(), code, "{action}");
                let said = answer.headers().get(header::RETRY_AFTER).cloned();
                assert_eq!(said.as_ref().map(|it| it.to_str().unwrap()), retry, "{action}");
                if [408, 502].contains(&code) {
                    assert_eq!(answer.headers()[header::CONTENT_TYPE], "text/html", "{action}");
                } else {
                    let status = json_of(answer).await;
                    assert_eq!(status["kind"], "Status", "{action}");
                    assert_eq!(status["code"], code, "{action}");
                }
            }
            Err(error) => {
                assert_eq!((code, error.kind()), (0, std::io::ErrorKind::ConnectionReset))
            }
        }
        assert_eq!(is_there(&sandbox, "m"), !has_effect, "{action}");
        sandbox.with(|world| {
            let entry = world.cluster.log.entries().last().unwrap();
            assert_eq!(entry.fault.as_deref(), Some(action));
            assert_eq!((entry.code, entry.effect), (code, has_effect), "{action}");
        });
        let again = send(&sandbox, Method::DELETE, &path).await.unwrap().status().as_u16();
        assert_eq!(again, if has_effect { 404 } else { 200 }, "{action} struck once");
    }
}

#[tokio::test(start_paused = true)]
async fn delays_of_a_request_add_up() {
    let sandbox = start();
    rules(&sandbox, "on list * -> latency 2s\non list configmaps until=1s -> latency 500ms");
    for expected in [2_500, 2_000] {
        let begun = tokio::time::Instant::now();
        send(&sandbox, Method::GET, MAPS).await.unwrap();
        assert_eq!(begun.elapsed().as_millis(), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn only_a_list_from_a_cache_is_stale() {
    let sandbox = start();
    make(&sandbox, "configmaps", "m");
    rules(&sandbox, "on list configmaps -> stale 1");
    for (query, count) in [("?resourceVersion=0", 0), ("", 1)] {
        let answer = send(&sandbox, Method::GET, &format!("{MAPS}{query}")).await.unwrap();
        let list = json_of(answer).await;
        assert_eq!(list["items"].as_array().unwrap().len(), count, "{query:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn refused_watch_is_not_opened() {
    for (action, code) in [("401", 401), ("403", 403), ("429", 429), ("500", 500), ("503", 503)] {
        let sandbox = start();
        rules(&sandbox, &format!("on watch configmaps -> {action}"));
        let path = format!("{MAPS}?watch=1");
        let answer = send(&sandbox, Method::GET, &path).await.unwrap();
        assert_eq!(answer.status().as_u16(), code);
    }
}

#[tokio::test(start_paused = true)]
async fn watch_is_struck_as_it_is_opened() {
    for (action, expected) in [
        ("stall", &[][..]),
        ("reset", &["cut", "end"]),
        ("reset after", &["ADDED m", "cut", "end"]),
        ("410", &["ERROR 410", "end"]),
        ("truncate", &["part", "end"]),
    ] {
        let sandbox = start();
        make(&sandbox, "configmaps", "m");
        rules(&sandbox, &format!("on watch configmaps 1x -> {action}"));
        let path = format!("{MAPS}?watch=1");
        let body = send(&sandbox, Method::GET, &path).await.unwrap().into_body();
        let mut watch = Watch { body, rest: vec![], over: false };
        assert_eq!(watch.received(), expected, "{action}");
        let body = send(&sandbox, Method::GET, &path).await.unwrap().into_body();
        let mut next = Watch { body, rest: vec![], over: false };
        assert_eq!(next.received(), ["ADDED m"], "{action} struck once");
    }
}

#[tokio::test(start_paused = true)]
async fn open_watch_is_struck_before_it_sends() {
    for (action, expected) in [
        ("stall", &[][..]),
        ("reset", &["cut", "end"]),
        ("reset after", &["ADDED a", "ADDED b", "cut", "end"]),
        ("410", &["ERROR 410", "end"]),
        ("truncate", &["ADDED a", "part", "end"]),
        ("no-bookmarks", &["ADDED a", "ADDED b"]),
    ] {
        let sandbox = start();
        let mut watch = watch(&sandbox, MAPS).await;
        rules(&sandbox, &format!("on watch configmaps -> {action}"));
        assert_eq!(watch.received(), Vec::<String>::new(), "{action}: nothing to send");
        make(&sandbox, "configmaps", "a");
        make(&sandbox, "configmaps", "b");
        assert_eq!(watch.received(), expected, "{action}");
    }
}

#[tokio::test(start_paused = true)]
async fn refused_requests_leave_open_watches_alone() {
    let sandbox = start();
    let mut watch = watch(&sandbox, MAPS).await;
    for action in ["401", "403", "429", "500", "503", "504", "504 after"] {
        rules(&sandbox, &format!("on * * -> {action}"));
        let name = action.replace(' ', "-");
        make(&sandbox, "configmaps", &name);
        assert_eq!(watch.received(), [format!("ADDED {name}")]);
    }
}

#[tokio::test(start_paused = true)]
async fn stalled_watch_stays_silent_when_the_others_resume() {
    let sandbox = start();
    let mut stalled = watch(&sandbox, &format!("{MAPS}?allowWatchBookmarks=true")).await;
    rules(&sandbox, "on watch configmaps until=10s -> stall");
    make(&sandbox, "configmaps", "a");
    assert_eq!(stalled.received(), Vec::<String>::new());
    advance(Duration::from_secs(10)).await;
    let mut next = watch(&sandbox, MAPS).await;
    make(&sandbox, "configmaps", "b");
    assert_eq!(next.received(), ["ADDED b"]);
    // Longer than any watch lives.
    advance(Duration::from_secs(2 * 60 * 60)).await;
    assert_eq!(stalled.received(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn bookmarks_are_kept_back_one_by_one() {
    let sandbox = start();
    let mut watch = watch(&sandbox, &format!("{MAPS}?allowWatchBookmarks=true")).await;
    rules(&sandbox, "on watch configmaps 1x -> no-bookmarks");
    make(&sandbox, "configmaps", "a");
    let received = watch.within(200).await;
    let [first, bookmarks @ ..] = &received[..] else { panic!("nothing received") };
    assert_eq!(first, &(0, "ADDED a".to_owned()), "an event is no bookmark");
    assert_eq!(bookmarks, [(120, "BOOKMARK".to_owned()), (180, "BOOKMARK".to_owned())]);
}

#[tokio::test(start_paused = true)]
async fn stall_may_begin_at_a_bookmark() {
    let sandbox = start();
    let mut watch = watch(&sandbox, &format!("{MAPS}?allowWatchBookmarks=true")).await;
    rules(&sandbox, "on watch configmaps from=90s -> stall");
    assert_eq!(watch.within(300).await, [(60, "BOOKMARK".to_owned())]);
}

#[tokio::test(start_paused = true)]
async fn delayed_answers_are_late_by_the_rule_and_in_order() {
    let sandbox = start();
    let mut watch = watch(&sandbox, &format!("{MAPS}?timeoutSeconds=30")).await;
    rules(&sandbox, "on watch configmaps until=4s -> latency 5s");
    let mut received = vec![];
    for (name, pause) in [("a", 3), ("b", 1), ("c", 1), ("d", 40)] {
        make(&sandbox, "configmaps", name);
        received.push(watch.within(pause).await);
    }
    let added = |second, names: &[&str]| -> Vec<(u64, String)> {
        names.iter().map(|name| (second, format!("ADDED {name}"))).collect()
    };
    // They arrive at 0 s, 3 s, 4 s and 5 s. The rules do not delay the last two, but b is in front of them.
    assert_eq!(received[..2], [vec![], vec![]]);
    assert_eq!(received[2], added(1, &["a"]));
    let last = [added(3, &["b", "c", "d"]), vec![(25, "end".to_owned())]].concat();
    assert_eq!(received[3], last);
}

#[tokio::test(start_paused = true)]
async fn rule_strikes_the_watches_that_it_names() {
    let sandbox = start();
    let alice = Actor { groups: Actor::admin().groups, name: "alice".into(), ..Actor::default() };
    let hers = sandbox.speaking_as(Some(alice));
    let everywhere = "/api/v1/configmaps";
    for (script, expected) in [
        ("on watch configmaps as=alice -> stall", [0, 1, 1, 1]),
        ("on watch secrets -> stall", [1, 1, 1, 0]),
        ("on watch * default/* -> stall", [0, 0, 1, 0]),
        ("on list,get * -> latency 5s", [1, 1, 1, 1]),
        ("on watch configmaps 1x -> stall", [0, 1, 1, 1]),
        ("on watch configmaps from=1s -> stall", [1, 1, 1, 1]),
    ] {
        rules(&sandbox, "");
        let mut watches = [
            watch(&hers, MAPS).await,
            watch(&sandbox, MAPS).await,
            watch(&sandbox, everywhere).await,
            watch(&sandbox, "/api/v1/namespaces/default/secrets").await,
        ];
        rules(&sandbox, script);
        for plural in ["configmaps", "secrets"] {
            make(&sandbox, plural, "m");
        }
        assert_eq!(watches.each_mut().map(|watch| watch.received().len()), expected, "{script}");
        sandbox.with(|world| {
            for plural in ["configmaps", "secrets"] {
                let key = Key::new("", plural, "default", "m");
                world.cluster.delete(&Actor::admin(), &key, &Default::default()).unwrap();
            }
        });
    }
}

/// The same seed applies rules to the same watches at the same events.
#[tokio::test(start_paused = true)]
async fn seed_repeats_the_faults_that_chance_strikes() {
    async fn once(seed: u64) -> Vec<Vec<String>> {
        let sandbox = seeded(seed);
        let mut watches = vec![];
        for _ in 0..20 {
            watches.push(watch(&sandbox, MAPS).await);
        }
        rules(&sandbox, "on watch configmaps p=0.3 -> stall\non watch * p=0.3 -> reset after");
        for name in ["a", "b", "c"] {
            make(&sandbox, "configmaps", name);
            advance(Duration::from_secs(1)).await;
        }
        watches.iter_mut().map(Watch::received).collect()
    }
    let received = once(1).await;
    assert_eq!(received, once(1).await);
    assert_ne!(received, once(2).await);
    assert!(received.iter().any(|watch| watch.len() == 3) && received.iter().any(Vec::is_empty));
}
