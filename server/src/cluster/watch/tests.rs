use std::{collections::VecDeque, sync::Mutex};

use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

mod per_namespace;

use super::*;
use crate::{
    chance::Chance,
    cluster::{
        fake::{self, Log, Reply, Seen},
        health::HealthCheck,
    },
    metrics::ApiMetrics,
};

/// Replies for lists and watches, in their order. Requests after the last reply are never answered.
struct Script {
    lists: Mutex<VecDeque<Reply>>,
    watches: Mutex<VecDeque<Reply>>,
}

/// A watch against a fake API server, its observations, and the requests it made.
struct Setup {
    reported: tokio::sync::mpsc::Receiver<Observation>,
    log: Log,
    served_changed: Arc<Notify>,
    metrics: ApiMetrics,
    namespaces: Arc<Namespaces>,
    away: Arc<AtomicBool>,
    tasks: tokio::task::JoinSet<Result<(), HubGone>>,
}

fn kind(group: &str, kind: &str, plural: &str) -> Arc<Kind> {
    Arc::new(Kind {
        group: group.into(),
        kind: kind.into(),
        version: "v1".into(),
        plural: plural.into(),
        namespaced: true,
    })
}

fn setup(kind: Arc<Kind>, streams: bool, lists: Vec<Reply>, watches: Vec<Reply>) -> Setup {
    let script = Script { lists: Mutex::new(lists.into()), watches: Mutex::new(watches.into()) };
    setup_with(kind, streams, move |seen| {
        let replies = if seen.is_watch() { &script.watches } else { &script.lists };
        replies.lock().unwrap().pop_front()
    })
}

/// A watch against a server that answers with `answer`. A request without a reply is never answered.
fn setup_with(
    kind: Arc<Kind>,
    streams: bool,
    answer: impl Fn(Seen) -> Option<Reply> + Send + Sync + 'static,
) -> Setup {
    let away = Arc::new(AtomicBool::new(false));
    let (client, log) = fake::client({
        let away = away.clone();
        move |seen: Seen| {
            let reply = if away.load(Ordering::SeqCst) {
                Some(Reply::Broken)
            } else if seen.path == "/version" {
                Some(Reply::Answer(200, r#"{"gitVersion":"v1.36.3"}"#.into()))
            } else {
                answer(seen)
            };
            Box::pin(std::future::ready(reply.unwrap_or(Reply::Silence)))
        }
    });
    let (report, reported) = Report::channel();
    let health_check = HealthCheck::new(client.clone(), report.clone(), Chance::default());
    let served_changed = Arc::new(Notify::new());
    let namespaces = Arc::new(Namespaces::new("own"));
    let metrics = client.metrics().clone();
    let shared = Shared {
        client,
        report,
        chance: Chance::default(),
        names: Arc::default(),
        health: health_check.health(),
        lists: Arc::new(Semaphore::new(1)),
        namespace_watches: Arc::new(Semaphore::new(2)),
        refused: Arc::default(),
        namespaces: namespaces.clone(),
        streams_lists: Arc::new(AtomicBool::new(streams)),
        served_changed: served_changed.clone(),
    };
    let mut tasks = tokio::task::JoinSet::new();
    tasks.spawn(health_check.run());
    tasks.spawn(watch(kind, shared, false));
    Setup { reported, log, served_changed, metrics, namespaces, away, tasks }
}

impl Setup {
    /// The next observation in short form.
    async fn next(&mut self) -> String {
        loop {
            let reported = timeout(Duration::from_secs(600), self.reported.recv())
                .await
                .expect("no observation arrives")
                .unwrap();
            return match reported {
                Observation::Reached { .. }
                | Observation::Time(_)
                | Observation::Pace(_)
                | Observation::RunsIn { .. } => {
                    continue;
                }
                Observation::Listed { objects, .. } => {
                    format!("listed [{}]", all_in_short(&objects))
                }
                Observation::PerNamespace { namespaces, message, .. } => {
                    format!("per namespace [{}]: {}", namespaces.join(" "), fake::words(&message))
                }
                Observation::ListedIn { namespace, objects, .. } => {
                    format!("listed in {namespace} [{}]", all_in_short(&objects))
                }
                Observation::HiddenIn { namespace, cause, message, .. } => {
                    format!("hidden in {namespace} {cause:?}: {}", fake::words(&message))
                }
                Observation::VisibleIn { namespace, .. } => format!("visible in {namespace}"),
                Observation::Applied(object) => {
                    format!("applied {}", in_short(&object))
                }
                Observation::Deleted { uid, .. } => format!("deleted {uid}"),
                Observation::Hidden { resource, cause, message } => {
                    format!("hidden {resource} {cause:?}: {}", fake::words(&message))
                }
                Observation::Visible { resource } => format!("visible {resource}"),
                Observation::Unreachable { .. } => "unreachable".to_owned(),
                other @ (Observation::Watching(_)
                | Observation::Withdrawn(_)
                | Observation::Undeletable(_)
                | Observation::Fetched { .. }
                | Observation::Unasked(_)) => {
                    format!("{other:?}")
                }
            };
        }
    }

    async fn expect(&mut self, lines: &[&str]) {
        for line in lines {
            assert_eq!(self.next().await, *line);
        }
    }

    /// Expects these lines in any order.
    async fn expect_all(&mut self, lines: &[&str]) {
        let mut reported = Vec::new();
        for _ in lines {
            reported.push(self.next().await);
        }
        reported.sort();
        assert_eq!(reported, lines);
    }

    /// Paths and queries so far, without those of the health check.
    fn asked(&self) -> Vec<String> {
        let log = self.log.lock().unwrap();
        log.iter().filter(|seen| seen.path != "/version").map(|seen| seen.path.clone()).collect()
    }

    /// The resource versions that watches started from.
    fn positions(&self) -> Vec<String> {
        let log = self.log.lock().unwrap();
        let watches = log.iter().filter(|seen| seen.is_watch());
        watches.map(|seen| seen.query("resourceVersion").unwrap_or("none").to_owned()).collect()
    }
}

fn all_in_short(objects: &[Object]) -> String {
    let mut objects: Vec<_> = objects.iter().map(in_short).collect();
    objects.sort();
    objects.join(" ")
}

/// The object's name, and the label that holds its version.
fn in_short(object: &Object) -> String {
    format!("{}@{}", object.name, object.labels.get("version").map_or("none", |version| version))
}

fn object(name: &str, version: u32) -> String {
    format!(
        r#"{{"metadata":{{"name":"{name}","namespace":"shop","uid":"u-{name}","resourceVersion":"{version}","labels":{{"version":"{version}"}}}}}}"#
    )
}

fn list(version: &str, next: &str, objects: &[String]) -> Reply {
    Reply::Answer(
        200,
        format!(
            r#"{{"metadata":{{"resourceVersion":"{version}","continue":"{next}"}},"items":[{}]}}"#,
            objects.join(",")
        ),
    )
}

fn line(of: &str, object: &str) -> String {
    format!("{{\"type\":\"{of}\",\"object\":{object}}}\n")
}

fn bookmark(version: u32, annotations: &str) -> String {
    line(
        "BOOKMARK",
        &format!(
            r#"{{"kind":"Pod","metadata":{{"resourceVersion":"{version}","annotations":{annotations}}}}}"#
        ),
    )
}

const END: &str = r#"{"k8s.io/initial-events-end":"true"}"#;

type Sender = UnboundedSender<Result<String, &'static str>>;

fn stream(lines: &[String]) -> (Sender, Reply) {
    let (sender, receiver) = unbounded_channel();
    sender.send(Ok(lines.concat())).unwrap();
    (sender, Reply::Stream(receiver))
}

fn pods() -> Arc<Kind> {
    kind("", "Pod", "pods")
}

/// A cluster-scoped kind.
fn nodes() -> Arc<Kind> {
    Arc::new(Kind { namespaced: false, ..(*kind("", "Node", "nodes")).clone() })
}

#[tokio::test(start_paused = true)]
async fn watch_starts_at_the_resource_version_of_the_last_page() {
    let (sender, watch) = stream(&[line("ADDED", &object("c", 11)), bookmark(12, "{}")]);
    let lists = vec![list("", "t", &[object("a", 3)]), list("10", "", &[object("b", 4)])];
    let mut setup = setup(pods(), false, lists, vec![watch]);
    setup.expect(&["listed [a@3 b@4]", "applied c@11"]).await;
    sender
        .send(Ok(line("MODIFIED", &object("c", 13)) + &line("DELETED", &object("a", 14))))
        .unwrap();
    setup.expect(&["applied c@13", "deleted u-a"]).await;
    let asked = setup.asked();
    assert_eq!(asked[..2], ["/api/v1/pods?limit=500", "/api/v1/pods?limit=500&continue=t"]);
    assert!(
        asked[2].starts_with("/api/v1/pods?watch=true&allowWatchBookmarks=true&timeoutSeconds="),
        "{}",
        asked[2]
    );
    assert_eq!(setup.positions(), ["10"]);
}

/// Large custom resources over a slow line.
#[tokio::test(start_paused = true)]
async fn pages_that_do_not_arrive_in_time_become_smaller_and_grow_again() {
    let whole = || list("10", "", &[object("a", 3)]);
    let lists = vec![Reply::Silence, Reply::Silence, whole(), whole()];
    let mut setup = setup(pods(), false, lists, vec![Reply::Answer(410, String::new())]);
    let hidden = "hidden pods Failing: Timeout { seconds: 30 }";
    setup.expect(&[hidden, "visible pods", "listed [a@3]", "listed [a@3]"]).await;
    let asked = setup.asked();
    let sizes: Vec<&str> = asked.iter().filter_map(|path| path.split("limit=").nth(1)).collect();
    assert_eq!(sizes, ["500", "100", "20", "40"]);
}

#[tokio::test(start_paused = true)]
async fn event_that_arrives_in_pieces_is_read() {
    let (sender, watch) = stream(&[]);
    let mut setup = setup(pods(), false, vec![list("1", "", &[])], vec![watch]);
    setup.expect(&["listed []"]).await;
    let text = line("ADDED", &object("é", 2)) + &line("ADDED", &object("b", 3));
    let (first, rest) = text.split_at(30);
    for piece in [first, rest, "\n\n", "{\"type\":\"ADD"] {
        sender.send(Ok(piece.to_owned())).unwrap();
        tokio::task::yield_now().await;
    }
    setup.expect(&["applied é@2", "applied b@3"]).await;
}

#[tokio::test(start_paused = true)]
async fn watch_that_ends_or_breaks_resumes_at_its_position() {
    let (first, one) = stream(&[line("ADDED", &object("a", 11))]);
    let (second, two) = stream(&[bookmark(15, "{}")]);
    let (_third, three) = stream(&[line("DELETED", &object("a", 16))]);
    let mut setup = setup(pods(), false, vec![list("10", "", &[])], vec![one, two, three]);
    setup.expect(&["listed []", "applied a@11"]).await;
    drop(first);
    tokio::time::sleep(Duration::from_secs(2)).await;
    second.send(Err("reset")).unwrap();
    setup.expect(&["deleted u-a"]).await;
    assert_eq!(setup.positions(), ["10", "11", "15"]);
}

#[tokio::test(start_paused = true)]
async fn silent_watch_is_closed_and_resumed() {
    let (_open, one) = stream(&[]);
    let (_too, two) = stream(&[line("DELETED", &object("a", 11))]);
    let mut setup = setup(pods(), false, vec![list("10", "", &[object("a", 1)])], vec![one, two]);
    setup.expect(&["listed [a@1]"]).await;
    let began = Instant::now();
    setup.expect(&["deleted u-a"]).await;
    assert!(began.elapsed() < Duration::from_secs(65), "{:?}", began.elapsed());
    assert_eq!(setup.positions(), ["10", "10"]);
}

#[tokio::test(start_paused = true)]
async fn second_silent_watch_in_a_row_is_followed_by_a_list() {
    let (_open, one) = stream(&[]);
    let (_too, two) = stream(&[]);
    let (_alive, three) = stream(&[line("ADDED", &object("c", 21))]);
    let lists = vec![list("10", "", &[object("a", 1)]), list("20", "", &[object("b", 11)])];
    let mut setup = setup(pods(), false, lists, vec![one, two, three]);
    setup.expect(&["listed [a@1]"]).await;
    let began = Instant::now();
    setup.expect(&["listed [b@11]"]).await;
    assert!(began.elapsed() < Duration::from_secs(75), "{:?}", began.elapsed());
    setup.expect(&["applied c@21"]).await;
    assert_eq!(setup.positions(), ["10", "10", "20"]);
    assert_eq!(setup.metrics.restarts(RestartReason::Silent), 2);
}

#[tokio::test(start_paused = true)]
async fn position_that_is_too_old_is_listed_again() {
    let gone =
        r#"{"kind":"Status","code":410,"reason":"Expired","message":"too old resource version"}"#;
    let (_one, in_stream) = stream(&[line("ERROR", gone)]);
    let (_two, last) = stream(&[line("ADDED", &object("c", 31))]);
    let lists = vec![
        list("10", "", &[object("a", 1)]),
        list("20", "", &[object("b", 2)]),
        list("30", "", &[]),
    ];
    let watches = vec![in_stream, Reply::Answer(410, gone.to_owned()), last];
    let mut setup = setup(pods(), false, lists, watches);
    setup.expect(&["listed [a@1]", "listed [b@2]", "listed []", "applied c@31"]).await;
    assert_eq!(setup.positions(), ["10", "20", "30"]);
}

#[tokio::test(start_paused = true)]
async fn expired_page_restarts_the_list() {
    let lists = vec![
        list("", "t", &[object("a", 1)]),
        Reply::Answer(410, String::new()),
        list("20", "", &[object("b", 2)]),
    ];
    let mut setup = setup(pods(), false, lists, vec![]);
    setup.expect(&["listed [b@2]"]).await;
}

#[tokio::test(start_paused = true)]
async fn forbidden_kind_is_hidden_until_it_is_permitted() {
    let no = || {
        Reply::Answer(
            403,
            r#"{"kind":"Status","message":"nodes is forbidden:\nno","code":403}"#.into(),
        )
    };
    let (_open, watch) = stream(&[]);
    let mut setup = setup(nodes(), false, vec![no(), no(), no(), list("1", "", &[])], vec![watch]);
    setup.expect(&["hidden nodes Forbidden: nodes is forbidden: no"]).await;
    let began = Instant::now();
    setup.expect(&["visible nodes", "listed []"]).await;
    let took = began.elapsed().as_secs();
    assert!((60..=120).contains(&took), "{took}");
}

#[tokio::test(start_paused = true)]
async fn watch_that_is_forbidden_later_loses_no_event() {
    let no = || Reply::Answer(403, "no".into());
    let (_open, watch) = stream(&[line("DELETED", &object("a", 12))]);
    let mut setup =
        setup(nodes(), false, vec![list("10", "", &[object("a", 1)])], vec![no(), no(), watch]);
    setup
        .expect(&["listed [a@1]", "hidden nodes Forbidden: no", "visible nodes", "deleted u-a"])
        .await;
    assert_eq!(setup.positions(), ["10", "10", "10"]);
}

/// A list, or a watch without events.
fn quiet(seen: &Seen, objects: &[String]) -> Reply {
    if !seen.is_watch() {
        return list("10", "", objects);
    }
    let (sender, watch) = stream(&[]);
    std::mem::forget(sender);
    watch
}

#[tokio::test(start_paused = true)]
async fn kind_is_hidden_after_two_failures_and_not_after_one() {
    let fails = || Reply::Answer(500, "boom".into());
    let mut once = setup(pods(), false, vec![fails(), list("1", "", &[])], vec![]);
    once.expect(&["listed []"]).await;
    let mut twice = setup(
        pods(),
        false,
        vec![fails(), Reply::Later(429, "1", "busy".into()), fails(), list("1", "", &[])],
        vec![],
    );
    twice.expect(&["hidden pods Failing: busy", "visible pods", "listed []"]).await;
}

/// The error of a stream whose kind has a cache that cannot be filled.
const BEHIND: &str =
    r#"{"code":504,"reason":"Timeout","message":"Timeout: Too large resource version"}"#;

/// Observed with Kubernetes 1.36 for a kind whose conversion webhook is down: the cache cannot be filled, and its
/// streams end with a timeout.
#[tokio::test(start_paused = true)]
async fn failed_stream_is_followed_by_a_list_that_names_the_cause() {
    let mut setup = setup_with(pods(), true, move |seen| {
        if seen.is_watch() {
            let (_, watch) = stream(&[line("ERROR", BEHIND)]);
            return Some(watch);
        }
        Some(Reply::Answer(
            500,
            r#"{"kind":"Status","message":"conversion webhook failed"}"#.into(),
        ))
    });
    setup.expect(&["hidden pods Failing: conversion webhook failed"]).await;
}

#[tokio::test(start_paused = true)]
async fn kind_that_cannot_be_watched_is_listed_periodically() {
    let (fails, ends) = (line("ERROR", BEHIND), String::new());
    for (how, said) in [("fails", fails), ("ends", ends)] {
        let mut setup = setup_with(pods(), true, move |seen| {
            Some(if seen.is_watch() {
                let (_, watch) = stream(std::slice::from_ref(&said));
                watch
            } else {
                list("1", "", &[object("a", 1)])
            })
        });
        setup.expect(&["listed [a@1]"]).await;
        let before = setup.asked().len();
        tokio::time::sleep(Duration::from_secs(600)).await;
        let asked = setup.asked().len() - before;
        assert!((40..140).contains(&asked), "ten minutes of what {how}: {asked}");
        setup.expect(&["listed [a@1]", "listed [a@1]"]).await;
    }
}

#[tokio::test(start_paused = true)]
async fn unreadable_object_is_never_skipped() {
    let odd =
        r#"{"metadata":{"name":"a","uid":"u-a","resourceVersion":"11"},"spec":{"volumes":"none"}}"#;
    let (_open, watch) = stream(&[line("MODIFIED", odd), line("ADDED", &object("b", 12))]);
    let lists = vec![
        list("10", "", &[object("a", 1)]),
        list("12", "", &[odd.to_owned()]),
        list("13", "", &[object("a", 13)]),
    ];
    let mut setup = setup(pods(), false, lists, vec![watch]);
    setup.expect(&["listed [a@1]"]).await;
    assert!(
        setup.next().await.starts_with("hidden pods Failing: Unreadable { why: \"invalid type")
    );
    setup.expect(&["visible pods", "listed [a@13]"]).await;
}

#[tokio::test(start_paused = true)]
async fn streamed_list_ends_with_its_bookmark_and_continues_as_the_watch() {
    let (sender, watch) = stream(&[
        line("ADDED", &object("a", 3)),
        bookmark(5, "{}"),
        line("ADDED", &object("b", 4)),
    ]);
    let mut setup = setup(kind("", "ConfigMap", "configmaps"), true, vec![], vec![watch]);
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(
        !matches!(setup.reported.try_recv(), Ok(Observation::Listed { .. })),
        "not before the end"
    );
    sender.send(Ok(bookmark(10, END) + &line("DELETED", &object("a", 11)))).unwrap();
    setup.expect(&["listed [a@3 b@4]", "deleted u-a"]).await;
    let log = setup.log.lock().unwrap();
    let watch = log.iter().find(|seen| seen.is_watch()).unwrap();
    assert_eq!(watch.query("sendInitialEvents"), Some("true"));
    assert_eq!(watch.query("resourceVersionMatch"), Some("NotOlderThan"));
    assert_eq!(
        watch.query("resourceVersion"),
        None,
        "a list from 0 may be older than what was seen"
    );
    assert_eq!(watch.accept, "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1");
}

#[tokio::test(start_paused = true)]
async fn server_that_does_not_stream_lists_is_asked_for_pages() {
    let refused = Reply::Answer(
        422,
        r#"{"kind":"Status","message":"sendInitialEvents is forbidden","code":422}"#.into(),
    );
    let mut by_word = setup(pods(), true, vec![list("1", "", &[])], vec![refused]);
    by_word.expect(&["listed []"]).await;

    let (_open, ignores) = stream(&[line("ADDED", &object("a", 1))]);
    let mut by_silence = setup(pods(), true, vec![list("2", "", &[object("a", 1)])], vec![ignores]);
    by_silence.expect(&["listed [a@1]"]).await;

    let (ended, ends) = stream(&[line("ADDED", &object("a", 1))]);
    drop(ended);
    let mut by_its_end = setup(pods(), true, vec![list("2", "", &[object("a", 1)])], vec![ends]);
    by_its_end.expect(&["listed [a@1]"]).await;
}

#[tokio::test(start_paused = true)]
async fn outage_is_reported_once_and_every_stream_is_resumed() {
    let (_half_dead, one) = stream(&[]);
    let (_alive, two) = stream(&[line("DELETED", &object("a", 12))]);
    let mut setup = setup(pods(), false, vec![list("10", "", &[object("a", 1)])], vec![one, two]);
    setup.expect(&["listed [a@1]"]).await;
    setup.away.store(true, Ordering::SeqCst);
    setup.expect(&["unreachable"]).await;
    tokio::time::sleep(Duration::from_secs(20)).await;
    setup.away.store(false, Ordering::SeqCst);
    let back = Instant::now();
    setup.expect(&["deleted u-a"]).await;
    assert!(back.elapsed() < Duration::from_secs(10), "{:?}", back.elapsed());
}

#[tokio::test(start_paused = true)]
async fn watch_without_an_answer_is_started_again() {
    let (_open, watch) = stream(&[line("ADDED", &object("a", 11))]);
    let mut setup = setup(
        pods(),
        false,
        vec![Reply::Silence, list("10", "", &[])],
        vec![Reply::Silence, watch],
    );
    let began = Instant::now();
    setup.expect(&["listed []", "applied a@11"]).await;
    assert!(began.elapsed() < Duration::from_secs(70), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn definitions_and_kinds_not_served_trigger_discovery() {
    let definitions =
        kind("apiextensions.k8s.io", "CustomResourceDefinition", "customresourcedefinitions");
    let (sender, watch) = stream(&[]);
    let mut of_definitions = setup(definitions, false, vec![list("1", "", &[])], vec![watch]);
    of_definitions.expect(&["listed []"]).await;
    of_definitions.served_changed.notified().await;
    sender.send(Ok(line("ADDED", &object("widgets.example.com", 2)))).unwrap();
    of_definitions.expect(&["applied widgets.example.com@2"]).await;
    of_definitions.served_changed.notified().await;

    let of_the_gone = setup(
        kind("example.com", "Widget", "widgets"),
        false,
        vec![Reply::Answer(404, "404 page not found".into())],
        vec![],
    );
    of_the_gone.served_changed.notified().await;
}

#[tokio::test(start_paused = true)]
async fn watch_ends_when_the_hub_is_gone() {
    let mut setup = setup(pods(), false, vec![list("1", "", &[])], vec![]);
    drop(setup.reported);
    assert_eq!(setup.tasks.join_next().await.unwrap().unwrap(), Err(HubGone));
}
