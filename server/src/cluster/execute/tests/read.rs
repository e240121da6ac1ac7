//! The reads before a deletion.

use super::*;

#[tokio::test]
async fn read_distinguishes_the_planned_object_from_one_of_the_same_name() {
    let object = |uid: &str, more: &str| {
        format!(r#"{{"metadata":{{"name":"web","uid":"{uid}","resourceVersion":"7"{more}}}}}"#)
    };
    assert_eq!(
        answered(read_action(), 200, &object("u-1", "")).await,
        Outcome::Present { terminating: false, version: "7".into(), named: None, keep: None }
    );
    let labels = r#""labels":{"app.kubernetes.io/part-of":"shop"}"#;
    let deleting =
        object("u-1", &format!(r#","deletionTimestamp":"2026-01-02T03:04:05Z",{labels}"#));
    assert_eq!(
        answered(read_action(), 200, &deleting).await,
        Outcome::Present {
            terminating: true,
            version: "7".into(),
            named: Some(teardown::unit::UnitId::new("shop")),
            keep: None,
        }
    );
    let keep = r#","annotations":{"helm.sh/resource-policy":"keep"}"#;
    assert_eq!(
        answered(read_action(), 200, &object("u-1", keep)).await,
        Outcome::Present {
            terminating: false,
            version: "7".into(),
            named: None,
            keep: Some("helm.sh/resource-policy: keep".into()),
        }
    );
    assert_eq!(
        answered(read_action(), 200, &object("u-2", "")).await,
        Outcome::OtherUid { uid: Some(Uid::new("u-2")) }
    );
    assert!(matches!(answered(read_action(), 200, "{}").await, Outcome::Unknown { .. }));
    let (client, log) = fake::client(move |_| now(200, "{}"));
    called(&client, &read_action()).await;
    assert!(log.lock().unwrap()[0].accept.starts_with("application/json;as=PartialObjectMetadata"));
}

#[tokio::test]
async fn read_of_a_claim_shows_its_phase_and_distinguishes_it_from_one_of_the_same_name() {
    let claim = |uid: &str, more: &str, phase: &str| {
        format!(
            r#"{{"metadata":{{"name":"data","namespace":"shop","uid":"{uid}"{more}}},"spec":{{"volumeName":"pv-1"}},"status":{{"phase":"{phase}"}}}}"#
        )
    };
    let action = || Action::ReadClaim { target: fake::claim_target("shop", "data") };
    let seen = |phase: &str, terminating| Outcome::Claim { phase: Some(phase.into()), terminating };
    let bound = answered(action(), 200, &claim("u", "", "Bound")).await;
    assert_eq!(bound, seen("Bound", false));
    assert_eq!(answered(action(), 200, &claim("u", "", "Lost")).await, seen("Lost", false));
    let going = r#","deletionTimestamp":"2026-01-01T00:00:00Z""#;
    assert_eq!(answered(action(), 200, &claim("u", going, "Bound")).await, seen("Bound", true));
    let other = answered(action(), 200, &claim("u-2", "", "Bound")).await;
    assert_eq!(other, Outcome::OtherUid { uid: Some(Uid::new("u-2")) });
    let without = answered(action(), 200, r#"{"metadata":{"name":"data"}}"#).await;
    assert!(matches!(without, Outcome::Unknown { .. }), "{without:?}");
    let gone = status(
        404,
        "NotFound",
        "persistentvolumeclaims \"data\" not found",
        r#"{"name":"data","kind":"persistentvolumeclaims"}"#,
    );
    assert_eq!(answered(action(), 404, &gone).await, Outcome::NotFound);
    let html = answered(action(), 200, "<html>").await;
    assert!(matches!(html, Outcome::Unknown { .. }), "{html:?}");
}

/// The metadata of a claim does not say whether it is bound, and a GET without a version is read from the storage.
#[tokio::test]
async fn claim_is_read_whole_and_without_a_resource_version() {
    let (client, log) = fake::client(|_| now(404, "no"));
    called(&client, &Action::ReadClaim { target: fake::claim_target("shop", "data") }).await;
    let Seen { method, path, accept, .. } = log.lock().unwrap()[0].clone();
    assert_eq!((method.as_str(), accept.as_str()), ("GET", "application/json"));
    assert_eq!(path, "/api/v1/namespaces/shop/persistentvolumeclaims/data");
}

#[tokio::test]
async fn read_of_pods_takes_all_pages_without_a_resource_version() {
    let page = |name: &str, next: &str| {
        format!(
            r#"{{"metadata":{{"resourceVersion":"9","continue":"{next}"}},"items":[{{"metadata":{{"name":"{name}","namespace":"shop","uid":"u-{name}"}},
            "spec":{{"volumes":[{{"name":"d","persistentVolumeClaim":{{"claimName":"data"}}}}]}}}}]}}"#
        )
    };
    let (client, log) = fake::client(move |seen| match seen.query("continue") {
        None => now(200, page("a", "t/1=")),
        Some("t%2F1%3D") => now(200, page("b", "")),
        Some(other) => now(400, other),
    });
    let action = fake::read_pods_action("shop");
    let Outcome::Pods(pods) = called(&client, &action).await else { panic!() };
    let found: Vec<_> =
        pods.iter().map(|pod| format!("{} {}", pod.object, pod.claims[0])).collect();
    assert_eq!(found, ["Pod shop/a data", "Pod shop/b data"]);
    let log = log.lock().unwrap();
    assert_eq!(log[0].path, "/api/v1/namespaces/shop/pods?limit=500");
    assert!(log.iter().all(|seen| seen.query("resourceVersion").is_none()));
}
