//! A Pod whose grace period is not over.

use super::*;

/// A Pod with an hour to stop, with these fields besides.
fn pod(fields: &str) -> Index {
    fixture::index(&format!(
        "
        node n1
        ns shop deleted=100
        pod shop/broker node=n1 deleted=100 containers=broker:running {fields}
        "
    ))
}

#[test]
fn grace_period_is_shortened_behind_the_wait() {
    insta::assert_snapshot!(describe(&pod("grace=3600 preStop=yes uses=claim:data")), @r#"
    withinGrace at Pod shop/broker
      None: wait:reason:gracePeriod,until:1800003500000 → Pod shop/broker
      Interruption: shortenGrace:node:n1 → Pod shop/broker
        loses unfinished
        ? kubectl --context=prod --namespace=shop describe pods/broker
        ! printf %s '{"apiVersion":"v1","gracePeriodSeconds":160,"kind":"DeleteOptions","preconditions":{"uid":"pod:shop/broker"}}' | kubectl --context=prod delete --raw=/api/v1/namespaces/shop/pods/broker --filename=-
    "#);
}

/// The API server counts from the first DELETE, and a kubelet that starts again from its start.
#[test]
fn period_that_would_not_end_earlier_is_not_offered() {
    let offered =
        |grace: i64| acts(&pod(&format!("grace={grace}"))).contains(&"shortenGrace".to_owned());
    for (grace, is_offered) in [(120, false), (260, false), (261, true), (3600, true)] {
        assert_eq!(offered(grace), is_offered, "{grace} s, of which 100 have passed");
    }
}

#[test]
fn pod_that_no_shorter_period_would_end_has_no_other_way_than_to_wait() {
    let long = "grace=3600 preStop=yes";
    assert_eq!(acts(&pod(long)), ["wait", "shortenGrace"]);
    // Its kubelet has ended the containers, or runs it by a file.
    for fields in ["phase=Failed containers=broker:terminated", "owner=node/n1"] {
        assert_eq!(acts(&pod(&format!("{long} {fields}"))), ["wait"], "{fields}");
    }
    // Nobody confirms anything for a silent node.
    let silent = "
        node n1 ready=Ready:Unknown:NodeStatusUnknown:600:Kubelet_stopped
        ns shop deleted=400
        pod shop/broker node=n1 deleted=400 grace=3600 containers=broker:running
    ";
    assert!(!acts(&watched(silent)).contains(&"shortenGrace".to_owned()));
}

/// The page shows one remedy while time passes, and the request leaves as much time whenever it is sent.
#[test]
fn hash_stays_while_the_period_is_counted_anew() {
    let index = pod("grace=3600");
    let (diagnosis, _) = found(&index).remove(0);
    let after = |seconds: i64| {
        let now = fixture::now() + jiff::SignedDuration::from_secs(seconds);
        let remedy = remedies(&diagnosis, &index, &Graph::of(&index), now).pop().unwrap();
        let period = remedy.request().unwrap().body["gracePeriodSeconds"].as_i64().unwrap();
        (remedy.hash(&diagnosis), period)
    };
    let (hash, _) = after(0);
    assert_eq!(after(600), (hash, 760));
}

/// A clock that is behind that of the API server must not make a period of it that force has.
#[test]
fn period_is_never_0() {
    let index = pod("grace=3600");
    let (diagnosis, _) = found(&index).remove(0);
    let early = fixture::now() - jiff::SignedDuration::from_secs(7_200);
    let remedy = remedies(&diagnosis, &index, &Graph::of(&index), early).pop().unwrap();
    assert_eq!(remedy.request().unwrap().body["gracePeriodSeconds"], 60);
}
