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
};

/// Replies for lists and watches in the order they are used up; when none is left nothing ever comes.
struct Script {
    lists: Mutex<VecDeque<Reply>>,
    watches: Mutex<VecDeque<Reply>>,
}

/// A watch of this kind against a script, its observations, and the requests it made.
struct Setup {
    reported: tokio::sync::mpsc::Receiver<Observation>,
    log: Log,
    served_changed: Arc<Notify>,
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

/// A watch against whatever answers so; nothing ever comes where there is no reply.
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
    Setup { reported, log, served_changed, namespaces, away, tasks }
}

impl Setup {
    /// The next observation, in short.
    async fn next(&mut self) -> String {
        loop {
            let reported = timeout(Duration::from_secs(600), self.reported.recv())
                .await
                .expect("nothing is reported")
                .unwrap();
            return match reported {
                Observation::Reached { .. }
                | Observation::Time(_)
                | Observation::Pace(_)
                | Observation::Demo(_) => {
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
                other @ (Observation::Watching(_) | Observation::Withdrawn(_)) => {
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

    /// Paths and queries so far, without the pulse's.
    fn asked(&self) -> Vec<String> {
        let log = self.log.lock().unwrap();
        log.iter().filter(|seen| seen.path != "/version").map(|seen| seen.path.clone()).collect()
    }

    /// The resource versions that watches began from.
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

/// Its name, and its label that tells which sight of it this is.
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

/// A kind that is in no namespace.
fn nodes() -> Arc<Kind> {
    Arc::new(Kind { namespaced: false, ..(*kind("", "Node", "nodes")).clone() })
}

#[tokio::test(start_paused = true)]
async fn a_list_of_pages_then_a_watch_from_where_it_ends() {
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

#[tokio::test(start_paused = true)]
async fn an_event_may_come_in_pieces() {
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
async fn a_watch_that_ends_or_breaks_goes_on_where_it_was() {
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
async fn a_silent_watch_is_given_up_and_resumed() {
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
async fn a_position_that_is_too_old_is_listed_anew() {
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
async fn a_page_that_expired_begins_the_list_again() {
    let lists = vec![
        list("", "t", &[object("a", 1)]),
        Reply::Answer(410, String::new()),
        list("20", "", &[object("b", 2)]),
    ];
    let mut setup = setup(pods(), false, lists, vec![]);
    setup.expect(&["listed [b@2]"]).await;
}

#[tokio::test(start_paused = true)]
async fn what_is_forbidden_is_blind_until_it_is_not() {
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
async fn a_watch_that_is_forbidden_later_loses_nothing() {
    let no = || Reply::Answer(403, "no".into());
    let (_open, watch) = stream(&[line("DELETED", &object("a", 12))]);
    let mut setup =
        setup(nodes(), false, vec![list("10", "", &[object("a", 1)])], vec![no(), no(), watch]);
    setup
        .expect(&["listed [a@1]", "hidden nodes Forbidden: no", "visible nodes", "deleted u-a"])
        .await;
    assert_eq!(setup.positions(), ["10", "10", "10"]);
}

/// A list, or a watch on which nothing happens.
fn quiet(seen: &Seen, objects: &[String]) -> Reply {
    if !seen.is_watch() {
        return list("10", "", objects);
    }
    let (sender, watch) = stream(&[]);
    std::mem::forget(sender);
    watch
}

#[tokio::test(start_paused = true)]
async fn one_failure_is_not_blindness_and_two_are() {
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

/// What a stream says of a kind whose cache cannot be filled.
const BEHIND: &str =
    r#"{"code":504,"reason":"Timeout","message":"Timeout: Too large resource version"}"#;

/// Seen of a kind whose conversion webhook is away (Kubernetes 1.36): the cache cannot be filled, and what streams from it
/// only says that it is behind.
#[tokio::test(start_paused = true)]
async fn a_stream_that_fails_is_asked_for_the_cause_as_a_list() {
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
async fn what_can_be_listed_and_not_watched_is_listed_now_and_then() {
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
async fn what_cannot_be_read_is_never_passed_over() {
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
async fn a_streamed_list_ends_with_its_bookmark_and_goes_on_as_the_watch() {
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
async fn a_server_that_does_not_stream_lists_is_asked_for_pages() {
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
async fn an_api_server_that_went_away_is_told_once_and_every_stream_is_resumed() {
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
async fn a_watch_that_is_not_answered_is_begun_again() {
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
async fn definitions_and_kinds_that_are_not_served_prompt_discovery() {
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
async fn it_ends_when_nobody_listens() {
    let mut setup = setup(pods(), false, vec![list("1", "", &[])], vec![]);
    drop(setup.reported);
    assert_eq!(setup.tasks.join_next().await.unwrap().unwrap(), Err(HubGone));
}
