//! Applications that a Kustomization of Flux declares, torn down by a whole server against the sandbox under paused time. The
//! request log of the sandbox says what was sent.

use std::time::Duration;

use sandbox::{cluster::Actor, control_plane::ControlPlane, store::Key};
use serde_json::{Value, json};
use server::hub::Refusal;
use teardown::{
    message::Record,
    plan::{Choice, Choices},
    remedy::{AttemptOutcome, PutBack, RemedyRefusal, SwitchedOff},
    run::{LeftSuspended, RunCommand, RunId, RunState},
    unknown_reason::UnknownReason,
};

use super::setup::{Server, create, define};

const FLUX: &str = "kustomize.toolkit.fluxcd.io";

fn metadata(name: &str, labels: &Value) -> Value {
    let mut metadata = json!({"name": name, "labels": labels});
    metadata["labels"]["app.kubernetes.io/part-of"] = json!("shop");
    metadata
}

/// The unit `shop`: a namespace with a ConfigMap and a claim that the Kustomization `web` declares, and a ConfigMap that it does
/// not. The Kustomization is in the unit if its namespace is.
fn shop(world: &mut ControlPlane, parent: &str, spec: &Value) {
    define(world, FLUX, "kustomizations", "Kustomization");
    for name in ["shop", "flux"] {
        let of_unit = metadata(name, &json!({}));
        let metadata = if name == "shop" { of_unit } else { json!({"name": name}) };
        create(world, "", "namespaces", "", json!({"metadata": metadata}));
    }
    let marks = || {
        json!({
            "kustomize.toolkit.fluxcd.io/name": "web",
            "kustomize.toolkit.fluxcd.io/namespace": parent,
        })
    };
    create_parent(world, parent, spec);
    create(world, "", "configmaps", "shop", json!({"metadata": metadata("settings", &marks())}));
    create(world, "", "configmaps", "shop", json!({"metadata": metadata("free", &json!({}))}));
    create(
        world,
        "",
        "persistentvolumeclaims",
        "shop",
        json!({
            "metadata": metadata("data", &marks()),
            "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "none", "resources": {"requests": {"storage": "1Gi"}}},
        }),
    );
    world.run_until_idle();
}

/// Creates the Kustomization `web` in this namespace.
pub(crate) fn create_parent(world: &mut ControlPlane, namespace: &str, spec: &Value) {
    let mut kustomization = json!({
        "metadata": metadata("web", &json!({})),
        "spec": spec,
    });
    kustomization["metadata"]["finalizers"] = json!(["finalizers.fluxcd.io"]);
    if namespace == "flux" {
        kustomization["metadata"]["labels"] = json!({});
    }
    create(world, FLUX, "kustomizations", namespace, kustomization);
}

/// The Kustomization of the unit `shop`.
pub(crate) fn parent() -> Key {
    Key::new(FLUX, "kustomizations", "shop", "web")
}

/// The unit `shop` with its parent. Its claim stays when it is deleted, and so does the parent.
pub(crate) fn shop_that_stays(world: &mut ControlPlane) {
    shop(world, "shop", &json!({"prune": true}));
    let claim = Key::new("", "persistentvolumeclaims", "shop", "data");
    let hold = |claim: &mut Value| {
        claim["metadata"]["finalizers"].as_array_mut().unwrap().push(json!("example.com/hold"));
    };
    world.cluster.modify(&Actor::admin(), &claim, "", hold).map(drop).unwrap();
}

fn has(world: &ControlPlane, group: &str, plural: &str, namespace: &str, name: &str) -> bool {
    world.cluster.get(&Key::new(group, plural, namespace, name)).is_some()
}

fn has_map(world: &ControlPlane, name: &str) -> bool {
    has(world, "", "configmaps", "shop", name)
}

fn has_parent(world: &ControlPlane, namespace: &str) -> bool {
    has(world, FLUX, "kustomizations", namespace, "web")
}

fn is_suspended(world: &ControlPlane, namespace: &str) -> bool {
    let parent = world.cluster.get(&Key::new(FLUX, "kustomizations", namespace, "web"));
    parent.is_some_and(|parent| parent["spec"]["suspend"] == true)
}

fn suspend(server: &Server, namespace: &str, suspend: bool) {
    let key = Key::new(FLUX, "kustomizations", namespace, "web");
    let change = |parent: &mut Value| parent["spec"]["suspend"] = json!(suspend);
    server
        .sandbox
        .with(|world| world.cluster.modify(&Actor::admin(), &key, "", change).map(drop))
        .unwrap();
}

impl Server {
    async fn is_held_by_its_parent(&self, run: &RunId) -> bool {
        format!("{:?}", self.records(run).await).contains(&format!(
            "{:?}",
            UnknownReason::ParentActive {
                parent: teardown::object::ObjectRef {
                    group: FLUX.into(),
                    kind: "Kustomization".into(),
                    namespace: Some("flux".into()),
                    name: "web".into(),
                },
            }
        ))
    }
}

fn li() -> Actor {
    Actor { name: "li".into(), ..Actor::admin() }
}

#[tokio::test(start_paused = true)]
async fn application_goes_in_order_and_nothing_of_it_comes_back() {
    let server = Server::start(li(), |world| shop(world, "shop", &json!({"prune": true})));
    let plan = server.plan("shop", Choices::default()).await;
    let run = server.run(&plan).await;
    server.until("the namespace is gone", |world| !has(world, "", "namespaces", "", "shop")).await;
    let changes = server.changes();
    let at = |wanted: &str| {
        changes
            .iter()
            .position(|it| it == wanted)
            .unwrap_or_else(|| panic!("{wanted}: {changes:?}"))
    };
    let suspended = at("patch kustomizations/web");
    assert!(suspended < at("delete configmaps/settings"), "{changes:?}");
    assert!(suspended < at("delete persistentvolumeclaims/data"), "{changes:?}");
    let last = at("delete kustomizations/web");
    assert!(last > at("delete configmaps/settings"), "{changes:?}");
    assert!(last > at("delete persistentvolumeclaims/data"), "{changes:?}");
    tokio::time::sleep(Duration::from_secs(120)).await;
    assert!(server.sandbox.with(|world| !has_map(world, "settings")));
    assert_eq!(server.state(&run).await, RunState::Finished);
    assert_eq!(server.hub.switched_off().await.unwrap(), []);
}

#[tokio::test(start_paused = true)]
async fn run_that_is_stopped_leaves_its_parent_suspended_until_a_person_puts_it_back() {
    let server = Server::start(li(), shop_that_stays);
    let plan = server.plan("shop", Choices::default()).await;
    let run = server.run(&plan).await;
    server.until("the map is gone", |world| !has_map(world, "settings")).await;
    server.hub.command(run.clone(), RunCommand::Stop, "Li".into()).await.unwrap().unwrap();
    assert!(server.sandbox.with(|world| is_suspended(world, "shop")));
    let off = server.hub.switched_off().await.unwrap();
    let [PutBack { attempt, what: SwitchedOff::Parent, by_unwind: true, line: Some(_), .. }] =
        &off[..]
    else {
        panic!("{off:?}")
    };
    let resume = async |attempt: &str, name: &str| {
        server.hub.resume_parent(attempt.to_owned(), name.into(), "Li".into()).await.unwrap()
    };
    assert_eq!(resume("0f", "web").await, Err(Refusal::UnknownAttempt("0f".into())));
    let wrong = Err(Refusal::Remedy(RemedyRefusal::WrongName));
    assert_eq!(resume(&attempt.id, "other").await, wrong);
    resume(&attempt.id, "web").await.unwrap();
    server.until("it is active", |world| !is_suspended(world, "shop")).await;
    server.until("its objects are back", |world| has_map(world, "settings")).await;
    assert_eq!(server.hub.switched_off().await.unwrap(), []);
}

/// A stopped run whose parent `web` is suspended.
async fn stopped() -> (Server, RunId) {
    let server = Server::start(li(), shop_that_stays);
    let run = run_and_stop(&server).await;
    (server, run)
}

/// Has a run of the unit `shop` suspend the parent, and stops it.
pub(crate) async fn run_and_stop(server: &Server) -> RunId {
    let plan = server.plan("shop", Choices::default()).await;
    let run = server.run(&plan).await;
    server.until("the map is gone", |world| !has_map(world, "settings")).await;
    let early = server.hub.put_back(run.clone(), "Li".into()).await.unwrap();
    assert_eq!(early, Err(Refusal::NotStopped));
    server.hub.command(run.clone(), RunCommand::Stop, "Li".into()).await.unwrap().unwrap();
    run
}

async fn left_suspended(server: &Server, run: &RunId) -> Vec<LeftSuspended> {
    let records = server.records(run).await;
    let of = |record: &Record| match record {
        Record::Step(card) => card.left_suspended,
        _ => None,
    };
    records.iter().filter_map(of).collect()
}

#[tokio::test(start_paused = true)]
async fn stopped_run_puts_back_what_it_suspended() {
    let (server, run) = stopped().await;
    assert_eq!(left_suspended(&server, &run).await, [LeftSuspended::Suspended]);
    let begun = server.hub.put_back(run.clone(), "Li".into()).await.unwrap().unwrap();
    server.until("it is active", |world| !is_suspended(world, "shop")).await;
    server.until("its objects are back", |world| has_map(world, "settings")).await;
    assert_eq!(left_suspended(&server, &run).await, [LeftSuspended::Active]);
    let attempts = server.hub.attempts().await.unwrap();
    let journaled = attempts.iter().find(|it| begun.contains(&it.id)).unwrap();
    assert!(matches!(journaled.outcome, AttemptOutcome::Accepted { .. }), "{journaled:?}");
    assert_eq!(server.hub.put_back(run, "Li".into()).await.unwrap(), Err(Refusal::NothingToUndo));
}

#[tokio::test(start_paused = true)]
async fn parent_that_somebody_changed_after_the_stop_is_left_alone() {
    let (server, run) = stopped().await;
    suspend(&server, "shop", false);
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(left_suspended(&server, &run).await, [LeftSuspended::Active]);
    assert_eq!(server.hub.put_back(run, "Li".into()).await.unwrap(), Err(Refusal::NothingToUndo));
}

#[tokio::test(start_paused = true)]
async fn objects_of_a_parent_outside_wait_until_a_person_suspends_it() {
    let server = Server::start(li(), |world| shop(world, "flux", &json!({"prune": true})));
    let plan = server.plan("shop", Choices::default()).await;
    let run = server.run(&plan).await;
    server.until("the free map is gone", |world| !has_map(world, "free")).await;
    tokio::time::sleep(Duration::from_secs(300)).await;
    assert!(server.sandbox.with(|world| has_map(world, "settings")));
    assert!(server.is_held_by_its_parent(&run).await);
    assert_eq!(server.changes(), ["delete configmaps/free"]);
    suspend(&server, "flux", true);
    server.until("the namespace is gone", |world| !has(world, "", "namespaces", "", "shop")).await;
    assert!(server.sandbox.with(|world| has_parent(world, "flux")));
}

#[tokio::test(start_paused = true)]
async fn parent_of_data_that_is_kept_stays_suspended() {
    let server = Server::start(li(), |world| shop(world, "shop", &json!({"prune": true})));
    let plan = server.plan("shop", [Choice::KeepData].into_iter().collect()).await;
    let run = server.run(&plan).await;
    server.until("the map is gone", |world| !has_map(world, "settings")).await;
    tokio::time::sleep(Duration::from_secs(120)).await;
    assert_eq!(server.state(&run).await, RunState::Finished);
    assert!(server.sandbox.with(|world| {
        let claim = has(world, "", "persistentvolumeclaims", "shop", "data");
        claim && is_suspended(world, "shop") && !has_map(world, "settings")
    }));
    let changes = server.changes();
    assert_eq!(changes[..1], ["patch kustomizations/web"], "{changes:?}");
    let off = server.hub.switched_off().await.unwrap();
    assert!(matches!(&off[..], [PutBack { what: SwitchedOff::Parent, .. }]), "{off:?}");
}

#[tokio::test(start_paused = true)]
async fn parent_that_was_suspended_before_is_left_as_it_was() {
    let server = Server::start(li(), |world| {
        shop(world, "shop", &json!({"prune": true, "suspend": true}));
    });
    let plan = server.plan("shop", Choices::default()).await;
    server.run(&plan).await;
    server.until("the namespace is gone", |world| !has(world, "", "namespaces", "", "shop")).await;
    assert!(server.changes().iter().all(|it| !it.starts_with("patch")));
}
