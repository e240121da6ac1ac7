//! Objects that appear during a run and that its plan does not know, deleted by a run of their own beside it.

use std::{sync::Arc, time::Duration};

use sandbox::{cluster::Actor, control_plane::ControlPlane, store::Key};
use serde_json::{Value, json};
use server::{
    hub::{Refusal, Start},
    journal::Journal,
};
use teardown::{
    message::Record,
    plan::{Choice, Choices, Plan, PlanError},
    run::{RunId, RunState},
    unit::UnitId,
};

use super::setup::{Server, create};

fn metadata(name: &str) -> Value {
    json!({"name": name, "labels": {"app.kubernetes.io/part-of": "shop"}})
}

/// A Pod that mounts the claim, with a finalizer that holds it for now.
fn pod_on_claim(metadata: &Value) -> Value {
    let mut metadata = metadata.clone();
    metadata["finalizers"] = json!(["example.com/hold"]);
    let claim = json!({"name": "data", "persistentVolumeClaim": {"claimName": "data"}});
    let container = json!({"name": "main", "image": "busybox"});
    json!({"metadata": metadata, "spec": {"containers": [container], "volumes": [claim]}})
}

/// The unit `shop`: a claim, and a Pod that mounts it.
fn shop(world: &mut ControlPlane) {
    create(world, "", "namespaces", "", json!({"metadata": metadata("shop")}));
    let spec = json!({"accessModes": ["ReadWriteOnce"], "storageClassName": "none", "resources": {"requests": {"storage": "1Gi"}}});
    create(
        world,
        "",
        "persistentvolumeclaims",
        "shop",
        json!({"metadata": metadata("data"), "spec": spec}),
    );
    create(world, "", "pods", "shop", pod_on_claim(&metadata("web")));
    world.run_until_idle();
}

/// Lets a Pod go whose finalizer holds it.
fn let_go(world: &mut ControlPlane, name: &str) {
    let free = |pod: &mut Value| pod["metadata"]["finalizers"] = json!([]);
    let pod = Key::new("", "pods", "shop", name);
    world.cluster.modify(&Actor::admin(), &pod, "", free).map(drop).unwrap();
}

fn li() -> Actor {
    Actor { name: "li".into(), ..Actor::admin() }
}

fn has(world: &ControlPlane, plural: &str, name: &str) -> bool {
    world.cluster.get(&Key::new("", plural, "shop", name)).is_some()
}

fn is_going(world: &ControlPlane, pod: &str) -> bool {
    let pod = world.cluster.get(&Key::new("", "pods", "shop", pod));
    pod.is_some_and(|pod| !pod["metadata"]["deletionTimestamp"].is_null())
}

/// The plan of what a run waits for outside its plan, once it waits for something.
async fn plan_beside(server: &Server, run: &RunId) -> Arc<Plan> {
    let choices: Choices = [Choice::Unplanned(run.clone())].into_iter().collect();
    for _ in 0..600 {
        let made = server.hub.make_plan(UnitId::new("shop"), choices.clone()).await.unwrap();
        match made {
            Ok(plan) => return plan,
            Err(Refusal::Unplannable(PlanError::Empty)) => {}
            Err(refusal) => panic!("{refusal:?}"),
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("the run never waits for an object outside its plan");
}

#[tokio::test(start_paused = true)]
async fn pod_that_somebody_creates_on_a_claim_goes_by_a_plan_of_its_own() {
    let state = tempfile::tempdir().unwrap();
    let journal = || Journal::open(&state.path().join("journal")).unwrap();
    let server = Server::start(li(), shop).restart(li(), journal).await;
    let first = server.run(&*server.plan("shop", Choices::default()).await).await;
    server.until("the Pod of the unit terminates", |world| is_going(world, "web")).await;
    server.sandbox.with(|world| {
        create(world, "", "pods", "shop", pod_on_claim(&json!({"name": "debug"})));
        let_go(world, "web");
    });
    server.until("the Pod of the unit is gone", |world| !has(world, "pods", "web")).await;

    let plan = plan_beside(&server, &first).await;
    let steps: Vec<_> = plan.steps.iter().map(|step| step.object.to_string()).collect();
    assert_eq!(steps, ["Pod shop/debug"]);
    let held = server.records(&first).await.into_iter().find_map(|record| match record {
        Record::Step(card) if !card.unplanned.is_empty() => Some(card),
        _ => None,
    });
    let held = held.unwrap();
    assert_eq!(held.object.to_string(), "PersistentVolumeClaim shop/data");
    assert_eq!(held.unplanned, [plan.steps[0].object.clone()]);

    let second = server.run(&plan).await;
    let again = Start {
        plan: plan.id.clone(),
        hash: plan.hash.clone(),
        confirm: "shop".to_owned(),
        parts: plan.parts(),
        by: "Li".to_owned(),
    };
    let refused = server.hub.start(again).await.unwrap();
    assert!(matches!(&refused, Err(Refusal::Overlap { run, .. }) if *run == second), "{refused:?}");
    let server = server.restart(li(), journal).await;
    server.until("the other Pod terminates", |world| is_going(world, "debug")).await;
    server.sandbox.with(|world| let_go(world, "debug"));
    server
        .until("the namespace is gone", |world| {
            world.cluster.get(&Key::new("", "namespaces", "", "shop")).is_none()
        })
        .await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(server.state(&second).await, RunState::Finished);
    assert_eq!(server.state(&first).await, RunState::Finished);
    let changes = server.changes();
    let at = |wanted: &str| changes.iter().position(|it| it == wanted).unwrap();
    assert!(at("delete pods/debug") < at("delete persistentvolumeclaims/data"), "{changes:?}");
}
