//! Watches of a kind that may not be listed in the whole cluster.

use super::*;

/// Lists these namespaces.
fn namespaces(setup: &Setup, names: &str) {
    let of = |name| teardown::fixture::object(&format!("ns {name}"));
    let objects = names.split_whitespace().map(of).collect();
    setup.namespaces.observe(&Observation::Listed { kind: teardown::fixture::kind("ns"), objects });
}

#[tokio::test(start_paused = true)]
async fn kind_forbidden_in_the_whole_cluster_is_watched_in_each_namespace() {
    let mut setup = setup_with(pods(), false, |seen| {
        Some(match seen.bare() {
            "/api/v1/namespaces/shop/pods" => quiet(&seen, &[object("a", 1)]),
            "/api/v1/namespaces/new/pods" => quiet(&seen, &[]),
            _ => Reply::Answer(403, "no".into()),
        })
    });
    namespaces(&setup, "shop bank");
    setup.expect(&["per namespace [bank shop]: no"]).await;
    setup.expect_all(&["hidden in bank Forbidden: no", "listed in shop [a@1]"]).await;
    namespaces(&setup, "shop bank new");
    setup.expect(&["per namespace [bank new shop]: no", "listed in new []"]).await;
    namespaces(&setup, "bank");
    setup.expect(&["per namespace [bank]: no"]).await;

    tokio::time::sleep(Duration::from_secs(5)).await;
    let before = setup.asked().len();
    tokio::time::sleep(Duration::from_secs(3_600)).await;
    assert!(setup.reported.try_recv().is_err(), "a known refusal is not reported again");
    let asked = setup.asked().split_off(before);
    // Requests for the whole cluster and for one namespace.
    assert!(asked.len() < 2 * 2 * 60, "an hour of refusals: {}", asked.len());
    assert!(asked.iter().all(|path| !path.contains("/shop/")), "its watch has ended: {asked:?}");
}

#[tokio::test(start_paused = true)]
async fn right_granted_after_an_hour_is_noticed_within_a_minute() {
    for (whole, reported) in [(true, "listed [a@1]"), (false, "visible in shop")] {
        let allowed = Arc::new(AtomicBool::new(false));
        let mut setup = setup_with(pods(), false, {
            let allowed = allowed.clone();
            move |seen| {
                let may = (seen.bare() == "/api/v1/pods") == whole;
                Some(if may && allowed.load(Ordering::SeqCst) {
                    quiet(&seen, &[object("a", 1)])
                } else {
                    Reply::Answer(403, "no".into())
                })
            }
        });
        namespaces(&setup, "shop");
        setup.expect(&["per namespace [shop]: no", "hidden in shop Forbidden: no"]).await;
        tokio::time::sleep(Duration::from_secs(3_600)).await;
        allowed.store(true, Ordering::SeqCst);
        let began = Instant::now();
        setup.expect(&[reported]).await;
        assert!(began.elapsed() < Duration::from_secs(60), "{reported}: {:?}", began.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn whole_cluster_is_watched_again_once_it_is_permitted() {
    let allowed = Arc::new(AtomicBool::new(false));
    let mut setup = setup_with(pods(), false, {
        let allowed = allowed.clone();
        move |seen| {
            let whole = seen.bare() == "/api/v1/pods";
            Some(if whole && !allowed.load(Ordering::SeqCst) {
                Reply::Answer(403, "no".into())
            } else {
                quiet(&seen, &[object("a", 1)])
            })
        }
    });
    namespaces(&setup, "shop");
    setup.expect(&["per namespace [shop]: no", "listed in shop [a@1]"]).await;
    allowed.store(true, Ordering::SeqCst);
    let began = Instant::now();
    setup.expect(&["listed [a@1]"]).await;
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
    let before = setup.asked().len();
    tokio::time::sleep(Duration::from_secs(600)).await;
    // Each silent watch is followed by another, and then by a list.
    while let Ok(reported) = setup.reported.try_recv() {
        assert!(matches!(reported, Observation::Listed { .. }), "{reported:?}");
    }
    assert!(setup.asked().split_off(before).iter().all(|path| path.starts_with("/api/v1/pods?")));
}

#[tokio::test(start_paused = true)]
async fn single_refusal_does_not_start_watches_per_namespace() {
    let lists = vec![Reply::Answer(403, "no".into()), list("1", "", &[])];
    let mut setup = setup(pods(), false, lists, vec![]);
    namespaces(&setup, "shop");
    setup.expect(&["listed []"]).await;
}

#[tokio::test(start_paused = true)]
async fn namespace_that_is_forbidden_later_resumes_at_its_position() {
    let (sender, watch) = stream(&[]);
    let (_open, again) = stream(&[line("DELETED", &object("a", 12))]);
    let no = || Reply::Answer(403, "no".into());
    let watches = Mutex::new(VecDeque::from([watch, no(), again]));
    let mut setup = setup_with(pods(), false, move |seen| match seen.bare() {
        "/api/v1/pods" => Some(Reply::Answer(403, "no".into())),
        _ if seen.is_watch() => watches.lock().unwrap().pop_front(),
        _ => Some(list("10", "", &[object("a", 1)])),
    });
    namespaces(&setup, "shop");
    setup.expect(&["per namespace [shop]: no", "listed in shop [a@1]"]).await;
    drop(sender);
    setup.expect(&["hidden in shop Forbidden: no", "visible in shop", "deleted u-a"]).await;
}

#[tokio::test(start_paused = true)]
async fn watches_of_single_namespaces_are_limited() {
    let mut setup = setup_with(pods(), false, |seen| {
        let whole = seen.bare() == "/api/v1/pods";
        Some(if whole { Reply::Answer(403, "no".into()) } else { quiet(&seen, &[]) })
    });
    namespaces(&setup, "a b c");
    setup.expect(&["per namespace [a b c]: no"]).await;
    let reported = [setup.next().await, setup.next().await, setup.next().await];
    let listed = reported.iter().filter(|line| line.starts_with("listed in")).count();
    let full = "Failing: TooManyNamespaces";
    assert!(listed == 2 && reported.iter().any(|line| line.ends_with(full)), "{reported:?}");
}
