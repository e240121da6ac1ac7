//! A simulated cluster that starts over while a server watches it: the same names, other objects, and another `kube-system`.

use std::time::Duration;

use sandbox::{cluster::Actor, control_plane::ControlPlane, demo::Demo};
use teardown::{
    message::{Message, Record, Topic},
    plan::Choices,
    run::RunState,
};

use super::setup::Server;

fn consortium() -> Demo {
    Demo::named("consortium").unwrap().unwrap()
}

fn li() -> Actor {
    Actor { name: "li".into(), ..Actor::admin() }
}

/// A server that watches the world of the consortium, all of whose Pods run.
async fn started() -> Server {
    let server = Server::start(li(), |world| consortium().set_up(world).unwrap());
    tokio::time::sleep(Duration::from_secs(60)).await;
    server
}

async fn start_over(server: &Server) {
    server.sandbox.with(|world: &mut ControlPlane| consortium().reset(world).unwrap());
    server.sandbox.wake();
    tokio::time::sleep(Duration::from_secs(60)).await;
}

/// Tears the consortium down, and waits for the end of the run.
async fn tear_down(server: &Server) {
    let run = server.run(&*server.plan("consortium", Choices::default()).await).await;
    for _ in 0..300 {
        if server.state(&run).await == RunState::Finished {
            return;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    panic!("the run never ends: {:?}", server.records(&run).await);
}

#[tokio::test(start_paused = true)]
async fn teardown_after_a_start_over_ends_as_one_before() {
    let server = started().await;
    start_over(&server).await;
    tear_down(&server).await;
}

#[tokio::test(start_paused = true)]
async fn run_that_a_start_over_cut_off_hinders_none_afterwards() {
    let server = started().await;
    let cut_off = server.run(&*server.plan("consortium", Choices::default()).await).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    start_over(&server).await;
    tear_down(&server).await;
    let known = server.hub.query(Topic::Units).await.unwrap().unwrap();
    let Message::Snapshot { records, .. } = known else { panic!("{known:?}") };
    let is_cut_off = |it: &Record| matches!(it, Record::Run(card) if card.id == cut_off);
    assert!(!records.iter().any(is_cut_off), "a run of the former world is shown");
}
