//! A run over an object whose remedy loses its race at the API server.

use std::time::Duration;

use sandbox::{control_plane::ControlPlane, store::Key};
use serde_json::json;
use teardown::{
    plan::Choices,
    remedy::{AttemptOutcome, RemedyAct},
    run::{FeedEvent, RunState},
};

use super::{label, li};
use crate::setup::{Server, create};

fn settings() -> Key {
    Key::new("", "configmaps", "shop", "settings")
}

/// The unit `shop`: a namespace with a ConfigMap that a program keeps which nobody knows.
fn kept(world: &mut ControlPlane) {
    let labels = json!({"app.kubernetes.io/part-of": "shop"});
    create(world, "", "namespaces", "", json!({"metadata": {"name": "shop", "labels": labels}}));
    let metadata = json!({
        "name": "settings", "labels": labels, "finalizers": ["example.com/hold"],
    });
    create(world, "", "configmaps", "shop", json!({"metadata": metadata}));
    world.run_until_idle();
}

#[tokio::test(start_paused = true)]
async fn change_that_the_api_server_refuses_the_remedy_for_is_named_and_pauses_the_run() {
    let server = Server::start(li(), kept);
    let plan = server.plan("shop", Choices::default()).await;
    let run = server.run(&plan).await;
    let offer = server.offer(|act| matches!(act, RemedyAct::RemoveFinalizer { .. })).await;
    let before = server.effects();
    server.interruption.arm(|world| label(world, &settings()));
    let id = server.confirm(&offer).await;
    let outcome = server.outcome(&id).await;
    assert!(!server.interruption.is_armed(), "nothing was sent: {outcome:?}");
    let AttemptOutcome::Changed { object } = outcome else { panic!("{outcome:?}") };
    assert_eq!(object.to_string(), "ConfigMap shop/settings");
    assert_eq!(server.effects(), before, "it is not tried again");
    assert_eq!(server.state(&run).await, RunState::Paused);
    let log = server.hub.event_log(run.clone()).await.unwrap().unwrap();
    let changed: Vec<_> = log
        .into_iter()
        .filter_map(|entry| match entry.event {
            FeedEvent::Paused { changed, .. } => Some(changed),
            _ => None,
        })
        .collect();
    let [Some(changed)] = &changed[..] else { panic!("{changed:?}") };
    assert_eq!(*changed, object);
    tokio::time::sleep(Duration::from_secs(120)).await;
    assert_eq!(server.state(&run).await, RunState::Paused, "until a person resumes it");
}
