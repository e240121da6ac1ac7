use std::sync::{Mutex, atomic::AtomicBool};

use tokio::sync::{Notify, Semaphore, mpsc};

use super::*;
use crate::{
    chance::Chance,
    cluster::{
        fake::{self, Log, Seen, now},
        health::HealthCheck,
        namespaces::Namespaces,
        report::Report,
    },
};

/// The kinds that the fake serves under `/apis` and lists, as `group/version plural Kind`, with `undeletable` behind it
/// for a kind without the verb `delete`, or `stale group/version`.
type Served = Arc<Mutex<Vec<&'static str>>>;

fn resource(plural: &str, kind: &str, more: &str) -> String {
    format!(
        r#"{{"resource":"{plural}","responseKind":{{"kind":"{kind}"}},"scope":"Namespaced","verbs":[{more}"list","watch"]}}"#
    )
}

fn documents(served: &[&str]) -> String {
    let mut groups: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for entry in served {
        let words: Vec<_> = entry.split(' ').collect();
        let (freshness, api, resources) = match words[..] {
            ["stale", api] => ("Stale", api, String::new()),
            [api, plural, kind] => ("Current", api, resource(plural, kind, "\"delete\",")),
            [api, plural, kind, "undeletable"] => ("Current", api, resource(plural, kind, "")),
            _ => panic!("{entry}"),
        };
        let (group, version) = api.split_once('/').unwrap();
        groups.entry(group).or_default().push(format!(
            r#"{{"version":"{version}","freshness":"{freshness}","resources":[{resources}]}}"#
        ));
    }
    let items: Vec<_> = groups
        .iter()
        .map(|(group, versions)| {
            format!(r#"{{"metadata":{{"name":"{group}"}},"versions":[{}]}}"#, versions.join(","))
        })
        .collect();
    format!(r#"{{"kind":"APIGroupDiscoveryList","items":[{}]}}"#, items.join(","))
}

/// The observations, the served kinds, the signal that they changed, and the tasks.
type Setup = (mpsc::Receiver<Observation>, Served, Arc<Notify>, JoinSet<Result<(), HubGone>>);

fn kinds(served: &[&'static str]) -> Setup {
    let (setup, _, _) = kinds_with_calls(served);
    setup
}

/// The same with the signal of a call to a kind that is not served so, and the requests so far.
fn kinds_with_calls(served: &[&'static str]) -> (Setup, Arc<Notify>, Log) {
    let served: Served = Arc::new(Mutex::new(served.to_vec()));
    let (client, log) = fake::client({
        let served = served.clone();
        move |seen: Seen| match seen.bare() {
            "/version" => now(200, r#"{"gitVersion":"v1.36.3"}"#),
            "/api" => now(200, r#"{"kind":"APIGroupDiscoveryList","items":[]}"#),
            "/apis" if served.lock().unwrap().contains(&"broken") => now(500, "no discovery today"),
            "/apis" => now(200, documents(&served.lock().unwrap())),
            _ if seen.is_watch() => {
                let (sender, receiver) = mpsc::unbounded_channel();
                // The watch stays open, and is not silent.
                tokio::spawn(async move {
                    let bookmark =
                        r#"{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"1"}}}"#;
                    while sender.send(Ok(format!("{bookmark}\n"))).is_ok() {
                        tokio::time::sleep(Duration::from_secs(30)).await;
                    }
                });
                Box::pin(std::future::ready(fake::Reply::Stream(receiver)))
            }
            path => {
                let at_the_end = |plural: &str| path.ends_with(plural);
                let listed = |entry: &&str| entry.split(' ').nth(1).is_some_and(at_the_end);
                if served.lock().unwrap().iter().any(listed) {
                    now(200, r#"{"metadata":{"resourceVersion":"1"},"items":[]}"#)
                } else {
                    now(404, "404 page not found")
                }
            }
        }
    });
    let (report, reported) = Report::channel();
    let health_check = HealthCheck::new(client.clone(), report.clone(), Chance::default());
    let served_changed = Arc::new(Notify::new());
    let shared = Shared {
        client,
        report,
        chance: Chance::default(),
        names: Arc::default(),
        health: health_check.health(),
        lists: Arc::new(Semaphore::new(8)),
        namespace_watches: Arc::new(Semaphore::new(2)),
        refused: Arc::default(),
        namespaces: Arc::new(Namespaces::new("own")),
        streams_lists: Arc::new(AtomicBool::new(false)),
        served_changed: served_changed.clone(),
    };
    let mut tasks = JoinSet::new();
    tasks.spawn(health_check.run());
    let unserved = Arc::new(Notify::new());
    tasks.spawn(run(shared, unserved.clone()));
    ((reported, served, served_changed, tasks), unserved, log)
}

/// The next observation in short form.
async fn next(reported: &mut mpsc::Receiver<Observation>) -> String {
    let resource = |kind: &Kind| format!("{} {}", kind.resource(), kind.version);
    match tokio::time::timeout(Duration::from_secs(300), reported.recv())
        .await
        .expect("nothing is reported")
        .unwrap()
    {
        Observation::Watching(kind) => format!("watching {}", resource(&kind)),
        Observation::Listed { kind, .. } => format!("listed {}", resource(&kind)),
        Observation::Withdrawn(kind) => format!("withdrawn {}", resource(&kind)),
        Observation::Hidden { resource, cause, .. } => format!("hidden {resource} {cause:?}"),
        Observation::Visible { resource } => format!("visible {resource}"),
        Observation::Reached { version } => format!("reached {version}"),
        other => format!("{other:?}"),
    }
}

async fn expect(reported: &mut mpsc::Receiver<Observation>, lines: &[&str]) {
    for line in lines {
        assert_eq!(next(reported).await, *line);
    }
}

#[tokio::test(start_paused = true)]
async fn kinds_are_all_reported_before_the_first_list() {
    let (mut reported, _served, _changed, _tasks) = kinds(&["a.io/v1 as A", "b.io/v1 bs B"]);
    expect(&mut reported, &["reached v1.36.3", "watching as.a.io v1", "watching bs.b.io v1"]).await;
    let mut lists = [next(&mut reported).await, next(&mut reported).await];
    lists.sort();
    assert_eq!(lists, ["listed as.a.io v1", "listed bs.b.io v1"]);
}

#[tokio::test(start_paused = true)]
async fn kinds_that_appear_or_vanish_are_watched_or_withdrawn() {
    let (mut reported, served, changed, _tasks) = kinds(&["a.io/v1 as A"]);
    expect(&mut reported, &["reached v1.36.3", "watching as.a.io v1", "listed as.a.io v1"]).await;
    served.lock().unwrap().push("b.io/v1 bs B");
    changed.notify_one();
    let began = Instant::now();
    expect(&mut reported, &["watching bs.b.io v1", "listed bs.b.io v1"]).await;
    assert!(began.elapsed() < Duration::from_secs(2));
    served.lock().unwrap().remove(0);
    let began = Instant::now();
    expect(&mut reported, &["withdrawn as.a.io v1"]).await;
    assert!(began.elapsed() <= Duration::from_secs(76), "withdrawn without a signal");
}

#[tokio::test(start_paused = true)]
async fn kind_of_a_stale_group_is_kept_and_the_group_is_hidden() {
    let (mut reported, served, changed, _tasks) = kinds(&["a.io/v1 as A"]);
    expect(&mut reported, &["reached v1.36.3", "watching as.a.io v1", "listed as.a.io v1"]).await;
    *served.lock().unwrap() = vec!["stale a.io/v1"];
    changed.notify_one();
    expect(&mut reported, &["hidden a.io/v1 Discovery"]).await;
    tokio::time::sleep(Duration::from_secs(200)).await;
    assert!(reported.try_recv().is_err(), "neither withdrawn nor reported again");
    *served.lock().unwrap() = vec!["a.io/v1 as A"];
    expect(&mut reported, &["visible a.io/v1"]).await;
    assert!(reported.try_recv().is_err(), "its watch was never given up");
}

#[tokio::test(start_paused = true)]
async fn watched_version_changes_only_when_it_is_no_longer_served() {
    let (mut reported, served, changed, _tasks) = kinds(&["a.io/v1beta1 as A"]);
    expect(
        &mut reported,
        &["reached v1.36.3", "watching as.a.io v1beta1", "listed as.a.io v1beta1"],
    )
    .await;
    *served.lock().unwrap() = vec!["a.io/v1 as A", "a.io/v1beta1 as A"];
    changed.notify_one();
    tokio::time::sleep(Duration::from_secs(100)).await;
    assert!(reported.try_recv().is_err());
    *served.lock().unwrap() = vec!["a.io/v1 as A"];
    // The old watch may have reported the kind as hidden, so the new one reports it as visible.
    expect(&mut reported, &["watching as.a.io v1", "visible as.a.io", "listed as.a.io v1"]).await;
}

#[tokio::test(start_paused = true)]
async fn kind_missing_from_discovery_but_still_listed_is_not_withdrawn() {
    let (mut reported, served, changed, _tasks) = kinds(&["a.io/v1 as A", "b.io/v1 bs B"]);
    for _ in 0..5 {
        next(&mut reported).await;
    }
    // The document of this replica lacks the kind, although the replica lists it.
    *served.lock().unwrap() = vec!["b.io/v1 bs B", "c.io/v1 as C"];
    changed.notify_one();
    expect(&mut reported, &["watching as.c.io v1", "listed as.c.io v1"]).await;
    tokio::time::sleep(Duration::from_secs(200)).await;
    assert!(reported.try_recv().is_err());
}

#[tokio::test(start_paused = true)]
async fn failed_discovery_is_reported_and_all_watches_continue() {
    let (mut reported, served, changed, _tasks) = kinds(&["a.io/v1 as A"]);
    expect(&mut reported, &["reached v1.36.3", "watching as.a.io v1", "listed as.a.io v1"]).await;
    served.lock().unwrap().push("broken");
    changed.notify_one();
    expect(&mut reported, &["hidden discovery Discovery"]).await;
    tokio::time::sleep(Duration::from_secs(100)).await;
    assert!(reported.try_recv().is_err());
    served.lock().unwrap().pop();
    expect(&mut reported, &["visible discovery"]).await;
}

#[tokio::test(start_paused = true)]
async fn kind_without_the_verb_delete_is_reported_until_it_has_it() {
    let (mut reported, served, changed, _tasks) = kinds(&["a.io/v1 as A undeletable"]);
    let lines = ["reached v1.36.3", "Undeletable({\"as.a.io\"})", "watching as.a.io v1"];
    expect(&mut reported, &lines).await;
    assert_eq!(next(&mut reported).await, "listed as.a.io v1");
    *served.lock().unwrap() = vec!["a.io/v1 as A"];
    changed.notify_one();
    assert_eq!(next(&mut reported).await, "Undeletable({})");
}

#[tokio::test(start_paused = true)]
async fn version_with_the_verb_delete_is_watched_once_it_appears() {
    let (mut reported, served, changed, _tasks) = kinds(&["a.io/v1 as A undeletable"]);
    let lines = ["reached v1.36.3", "Undeletable({\"as.a.io\"})", "watching as.a.io v1"];
    expect(&mut reported, &lines).await;
    assert_eq!(next(&mut reported).await, "listed as.a.io v1");
    *served.lock().unwrap() =
        vec!["a.io/v1 as A undeletable", "a.io/v1beta1 as A", "a.io/v1alpha1 as A"];
    changed.notify_one();
    let lines = [
        "Undeletable({})",
        "watching as.a.io v1beta1",
        "visible as.a.io",
        "listed as.a.io v1beta1",
    ];
    expect(&mut reported, &lines).await;
    *served.lock().unwrap() = vec!["a.io/v1 as A", "a.io/v1beta1 as A"];
    changed.notify_one();
    tokio::time::sleep(Duration::from_secs(100)).await;
    assert!(reported.try_recv().is_err(), "the version that is watched lets delete, too");
}

#[tokio::test(start_paused = true)]
async fn version_that_gives_no_answer_for_a_while_stays_watched() {
    let (mut reported, served, changed, _tasks) =
        kinds(&["a.io/v2 as A", "a.io/v1 as A undeletable"]);
    let lines = ["reached v1.36.3", "watching as.a.io v2", "listed as.a.io v2"];
    expect(&mut reported, &lines).await;
    *served.lock().unwrap() = vec!["stale a.io/v2", "a.io/v1 as A undeletable"];
    changed.notify_one();
    expect(&mut reported, &["hidden a.io/v2 Discovery"]).await;
    *served.lock().unwrap() = vec!["a.io/v2 as A", "a.io/v1 as A undeletable"];
    changed.notify_one();
    expect(&mut reported, &["visible a.io/v2"]).await;
    tokio::time::sleep(Duration::from_secs(100)).await;
    assert!(
        reported.try_recv().is_err(),
        "nothing was listed again, and nothing called undeletable"
    );
}

/// The version of the call has lost its verb or is not served any more, and no definition or APIService said so.
#[tokio::test(start_paused = true)]
async fn call_to_what_is_not_served_asks_for_discovery_at_once() {
    let ((mut reported, served, _changed, _tasks), unserved, _) =
        kinds_with_calls(&["a.io/v1beta1 as A"]);
    let lines = ["reached v1.36.3", "watching as.a.io v1beta1", "listed as.a.io v1beta1"];
    expect(&mut reported, &lines).await;
    *served.lock().unwrap() = vec!["a.io/v1 as A"];
    let began = Instant::now();
    unserved.notify_one();
    expect(&mut reported, &["watching as.a.io v1"]).await;
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn calls_ask_for_discovery_every_ten_seconds_at_most() {
    let ((mut reported, _served, _changed, _tasks), unserved, log) =
        kinds_with_calls(&["a.io/v1 as A"]);
    expect(&mut reported, &["reached v1.36.3", "watching as.a.io v1", "listed as.a.io v1"]).await;
    let rounds = || log.lock().unwrap().iter().filter(|seen| seen.bare() == "/apis").count();
    let before = rounds();
    for _ in 0..400 {
        unserved.notify_one();
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    // At 0, 10, 20 and 30 s. The regular round is due after about 60 s.
    assert!((4..=5).contains(&(rounds() - before)), "{}", rounds() - before);
}
