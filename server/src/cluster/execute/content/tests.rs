use std::sync::{
    Mutex,
    atomic::{AtomicUsize, Ordering},
};

use tokio::time::{Instant, sleep};

use super::*;
use crate::cluster::fake::{self, Log, Reply, Seen, now};

/// Discovery of these resources, each `GROUP/PLURAL VERBS`, in namespaces.
fn document(resources: &[&str]) -> String {
    let groups = resources.iter().map(|resource| {
        let (name, verbs) = resource.split_once(' ').unwrap();
        let (group, plural) = name.split_once('/').unwrap();
        let verbs: Vec<_> = verbs.split(' ').collect();
        serde_json::json!({"metadata": {"name": group}, "versions": [{"version": "v1", "resources": [
            {"resource": plural, "responseKind": {"kind": plural}, "scope": "Namespaced", "verbs": verbs},
        ]}]})
    });
    let groups: Vec<_> = groups.collect();
    serde_json::json!({"kind": "APIGroupDiscoveryList", "items": groups}).to_string()
}

/// Discovery in the core group and in the others.
fn discovery(seen: &Seen, core: &[&str], others: &[&str]) -> Option<String> {
    match seen.bare() {
        "/api" => Some(document(core)),
        "/apis" => Some(document(others)),
        _ => None,
    }
}

fn list(names: &[&str], next: &str) -> String {
    let items = names.iter().map(|name| {
        serde_json::json!({"metadata": {"name": name, "namespace": "shop", "uid": format!("u-{name}")}})
    });
    let items: Vec<_> = items.collect();
    serde_json::json!({"metadata": {"continue": next}, "items": items}).to_string()
}

const ALL: &str = "delete list watch";

/// The outcome of a read, and the paths of its lists.
async fn read(answer: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> (Outcome, Vec<Seen>) {
    read_without(&[], answer).await
}

/// The same where these kinds need not be listed.
async fn read_without(
    unproven: &[String],
    answer: impl Fn(&Seen) -> Reply + Send + Sync + 'static,
) -> (Outcome, Vec<Seen>) {
    let (client, log): (ApiClient, Log) =
        fake::client(move |seen| Box::pin(std::future::ready(answer(&seen))));
    let outcome = ContentReader::default().read(&client, "shop", unproven).await;
    let log = log.lock().unwrap();
    (outcome, log.iter().filter(|seen| seen.path.contains("namespaces")).cloned().collect())
}

fn paths(lists: &[Seen]) -> Vec<&str> {
    lists.iter().map(|seen| seen.path.as_str()).collect()
}

fn names(outcome: &Outcome) -> Vec<String> {
    match outcome {
        Outcome::Content { objects, .. } => {
            objects.iter().map(|it| it.object.to_string()).collect()
        }
        other => panic!("{other:?}"),
    }
}

fn answer(body: String) -> Reply {
    Reply::Answer(200, body)
}

#[tokio::test]
async fn read_takes_all_pages_of_every_kind_as_metadata_without_a_resource_version() {
    let core = ["/secrets delete list watch", "/events delete list watch", "/bindings create"];
    let others = [
        "example.com/orders delete list",
        "example.net/reports list watch",
        "example.org/quotas get list",
    ];
    let (outcome, lists) = read(move |seen| {
        if let Some(found) = discovery(seen, &core, &others) {
            return answer(found);
        }
        answer(match (seen.bare().rsplit('/').next().unwrap(), seen.query("continue")) {
            ("secrets", None) => list(&["a"], "t/1="),
            ("secrets", Some("t%2F1%3D")) => list(&["b"], ""),
            _ => list(&["c"], ""),
        })
    })
    .await;
    assert_eq!(names(&outcome), ["secrets shop/a", "secrets shop/b", "orders shop/c"]);
    let mut paths = paths(&lists);
    paths.sort_unstable();
    let expected = [
        "/api/v1/namespaces/shop/secrets?limit=500",
        "/api/v1/namespaces/shop/secrets?limit=500&continue=t%2F1%3D",
        "/apis/example.com/v1/namespaces/shop/orders?limit=500",
    ];
    assert_eq!(paths, expected, "noise is left out, and so is what no namespace can take along");
    let is_metadata =
        |seen: &Seen| seen.accept.starts_with("application/json;as=PartialObjectMetadataList");
    assert!(lists.iter().all(is_metadata));
}

#[tokio::test(start_paused = true)]
async fn kind_that_cannot_be_listed_is_named() {
    type Case = (fn() -> Reply, &'static str);
    let replies: [Case; 5] = [
        (|| Reply::Answer(403, "no".into()), "no"),
        (|| Reply::Answer(503, "away".into()), "away"),
        (|| Reply::Answer(200, "<html>".into()), "Unreadable"),
        (|| Reply::Broken, "refused"),
        (|| Reply::Silence, "Timeout { seconds: 10 }"),
    ];
    for (reply, said) in replies {
        let (outcome, _) = read(move |seen| {
            let resources =
                ["example.com/as delete list watch", "example.com/bs delete list watch"];
            match discovery(seen, &[], &resources) {
                Some(found) => answer(found),
                None if seen.path.contains("/as") => answer(list(&[], "")),
                None => reply(),
            }
        })
        .await;
        let Outcome::Unlisted { resource, message } = outcome else { panic!("{outcome:?}") };
        assert_eq!(resource, "bs.example.com");
        assert!(fake::words(&message).contains(said), "{message:?}");
    }
}

#[tokio::test]
async fn kind_that_need_not_be_listed_is_named_where_that_is_forbidden_and_only_there() {
    let unproven = ["bs.example.com".to_owned()];
    let with = |reply: fn() -> Reply| {
        read_without(&unproven, move |seen| {
            match discovery(
                seen,
                &[],
                &["example.com/as delete list", "example.com/bs delete list"],
            ) {
                Some(found) => answer(found),
                None if seen.path.contains("/as") => answer(list(&["a"], "")),
                None => reply(),
            }
        })
    };
    let (outcome, _) = with(|| Reply::Answer(403, "no".into())).await;
    assert_eq!(names(&outcome), ["as shop/a"]);
    assert!(
        matches!(&outcome, Outcome::Content { unlisted, .. } if *unlisted == unproven),
        "{outcome:?}"
    );
    let (outcome, _) = with(|| answer(list(&["b"], ""))).await;
    assert_eq!(names(&outcome), ["as shop/a", "bs shop/b"], "the right was given meanwhile");
    assert!(matches!(&outcome, Outcome::Content { unlisted, .. } if unlisted.is_empty()));
    let (outcome, _) = with(|| Reply::Answer(503, "away".into())).await;
    assert!(matches!(outcome, Outcome::Unlisted { .. }), "{outcome:?}");
}

#[tokio::test]
async fn kind_of_an_unknown_group_version_is_not_listed() {
    const STALE: &str = r#"{"kind":"APIGroupDiscoveryList","items":[{"metadata":{"name":"metrics.k8s.io"},"versions":[
        {"version":"v1beta1","freshness":"Stale"}]}]}"#;
    let (outcome, _) = read(|seen| match seen.bare() {
        "/apis" => answer(STALE.to_owned()),
        _ => answer(document(&[])),
    })
    .await;
    assert!(
        matches!(&outcome, Outcome::Unlisted { resource, .. } if resource == "metrics.k8s.io/v1beta1"),
        "{outcome:?}"
    );
    let (outcome, _) = read(|_| Reply::Broken).await;
    assert!(matches!(outcome, Outcome::Unanswered { .. }), "{outcome:?}");
    let (outcome, _) = read(|_| Reply::Answer(403, "no".into())).await;
    assert!(matches!(outcome, Outcome::Unknown { .. }), "{outcome:?}");
}

#[tokio::test]
async fn throttled_list_says_when_to_come_again() {
    let (outcome, _) = read(|seen| match discovery(seen, &["/secrets delete list watch"], &[]) {
        Some(found) => answer(found),
        None => Reply::Later(429, "7", String::new()),
    })
    .await;
    let after = Some(jiff::SignedDuration::from_secs(7));
    assert_eq!(outcome, Outcome::Throttled { after });
}

#[tokio::test]
async fn kind_with_404_has_gone_only_if_discovery_does_not_name_it_any_more() {
    for is_named_still in [true, false] {
        let rounds = Mutex::new(0);
        let (outcome, _) = read(move |seen| {
            let is_again = || {
                let mut rounds = rounds.lock().unwrap();
                *rounds += 1;
                *rounds > 1
            };
            match seen.bare() {
                "/api" => answer(document(&["/secrets delete list watch"])),
                "/apis" if is_again() && !is_named_still => answer(document(&[])),
                "/apis" => answer(document(&[&format!("example.com/orders {ALL}")])),
                path if path.ends_with("/orders") => Reply::Answer(404, "page not found".into()),
                _ => answer(list(&["a"], "")),
            }
        })
        .await;
        if is_named_still {
            assert!(
                matches!(&outcome, Outcome::Unlisted { resource, .. } if resource == "orders.example.com"),
                "{outcome:?}"
            );
        } else {
            assert_eq!(names(&outcome), ["secrets shop/a"]);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn eight_lists_at_a_time_are_sent_for_all_namespaces_together() {
    static UNDER_WAY: AtomicUsize = AtomicUsize::new(0);
    static MOST: AtomicUsize = AtomicUsize::new(0);
    const KINDS: usize = 60;
    let (client, _) = fake::client(|seen| {
        let resources: Vec<String> =
            (0..KINDS).map(|n| format!("example.com/r{n} {ALL}")).collect();
        let resources: Vec<&str> = resources.iter().map(String::as_str).collect();
        match discovery(&seen, &[], &resources) {
            Some(found) => now(200, found),
            None => Box::pin(async {
                MOST.fetch_max(UNDER_WAY.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                sleep(Duration::from_millis(60)).await;
                UNDER_WAY.fetch_sub(1, Ordering::SeqCst);
                answer(list(&[], ""))
            }),
        }
    });
    let reader = ContentReader::default();
    let began = Instant::now();
    let reads = ["a", "b", "c"].map(|namespace| reader.read(&client, namespace, &[]));
    for outcome in futures::future::join_all(reads).await {
        assert_eq!(outcome, Outcome::Content { objects: vec![], unlisted: vec![] });
    }
    assert_eq!(MOST.load(Ordering::SeqCst), LISTS);
    assert_eq!(began.elapsed(), Duration::from_millis(60) * (3 * KINDS).div_ceil(LISTS) as u32);
}

/// The outcome of a read of a definition's kind, and the paths of its lists.
async fn read_kind(
    answer: impl Fn(&Seen) -> Reply + Send + Sync + 'static,
) -> (Outcome, Vec<String>) {
    let (client, log): (ApiClient, Log) =
        fake::client(move |seen| Box::pin(std::future::ready(answer(&seen))));
    let outcome = ContentReader::default().read_kind(&client, "notes.example.com").await;
    let log = log.lock().unwrap();
    let lists = log.iter().filter(|seen| seen.path.contains("notes"));
    (outcome, lists.map(|seen| seen.path.clone()).collect())
}

/// Discovery of the definition's kind, beside a group that is away.
fn with_a_dead_group(kinds: &[&str]) -> String {
    let mut found: serde_json::Value = serde_json::from_str(&document(kinds)).unwrap();
    let dead = serde_json::json!({"metadata": {"name": "metrics.k8s.io"}, "versions": [
        {"version": "v1beta1", "freshness": "Stale"},
    ]});
    found["items"].as_array_mut().unwrap().push(dead);
    found.to_string()
}

#[tokio::test]
async fn objects_of_a_definition_are_listed_in_all_namespaces_while_another_group_is_away() {
    let (outcome, lists) = read_kind(|seen| match seen.bare() {
        "/api" => answer(document(&[])),
        "/apis" => answer(with_a_dead_group(&["example.com/notes delete list watch"])),
        _ => match seen.query("continue") {
            None => answer(list(&["a"], "t")),
            _ => answer(list(&["b"], "")),
        },
    })
    .await;
    assert_eq!(names(&outcome), ["notes shop/a", "notes shop/b"]);
    let path = "/apis/example.com/v1/notes?limit=500";
    assert_eq!(lists, [path.to_owned(), format!("{path}&continue=t")]);
}

#[tokio::test]
async fn definition_that_is_not_served_has_no_objects_and_one_that_may_not_be_listed_may_have_some()
{
    let (outcome, lists) = read_kind(|seen| match seen.bare() {
        "/api" => answer(document(&[])),
        _ => answer(with_a_dead_group(&["example.com/others delete list watch"])),
    })
    .await;
    assert_eq!((names(&outcome), lists.len()), (vec![], 0));
    let stale = r#"{"kind":"APIGroupDiscoveryList","items":[{"metadata":{"name":"example.com"},"versions":[
        {"version":"v1","freshness":"Stale"}]}]}"#;
    let (outcome, _) = read_kind(|seen| match seen.bare() {
        "/api" => answer(document(&[])),
        _ => answer(stale.to_owned()),
    })
    .await;
    assert!(
        matches!(&outcome, Outcome::Unlisted { resource, .. } if resource == "example.com/v1"),
        "{outcome:?}"
    );
    for code in [403, 404, 503] {
        let (outcome, _) = read_kind(move |seen| {
            match discovery(seen, &[], &["example.com/notes delete list watch"]) {
                Some(found) => answer(found),
                None => Reply::Answer(code, "no".into()),
            }
        })
        .await;
        assert!(
            matches!(&outcome, Outcome::Unlisted { resource, .. } if resource == "notes.example.com"),
            "{code} {outcome:?}"
        );
    }
}
