//! Changes of other objects between the click and the request, and between the request and the look after it: those that a read shows,
//! and those that only the index shows.

use std::time::Duration;

use sandbox::{control_plane::ControlPlane, demo::Demo, store::Key};
use serde_json::json;
use teardown::{
    message::{Message, Record, Topic},
    remedy::{AttemptOutcome, RemedyAct},
};

use super::{has, li, modify};
use crate::setup::{Server, create};

type Change = fn(&mut ControlPlane);

/// A remedy in a world, a change that makes its decision false, and the object that is named then.
#[derive(Clone, Copy)]
struct Situation {
    set_up: Change,
    is_it: fn(&RemedyAct) -> bool,
    change: Change,
    named: &'static str,
}

fn begin(world: &mut ControlPlane, incident: &str) {
    let mut demo = Demo::named(incident).unwrap().unwrap();
    demo.set_up(world).unwrap();
    demo.start_incident(world, incident).unwrap();
}

fn schedule(world: &mut ControlPlane, script: &str) {
    let faults = world.parse_faults(script).unwrap();
    world.cluster.faults.extend(faults);
    world.run_until_idle();
}

/// A node without power.
fn silent_node(world: &mut ControlPlane) {
    begin(world, "s5");
}

/// The kubelet of a second node reports no more, and the node controller has noticed that.
fn another_falls_silent(world: &mut ControlPlane) {
    schedule(world, "at 0s node node-b silent");
    modify(world, &Key::new("", "nodes", "", "node-b"), "status", |node| {
        for condition in node["status"]["conditions"].as_array_mut().unwrap() {
            if condition["type"] == "Ready" {
                condition["status"] = json!("Unknown");
            }
        }
    });
}

fn renew_the_lease(world: &mut ControlPlane) {
    let lease = Key::new("coordination.k8s.io", "leases", "kube-node-lease", "node-a");
    modify(world, &lease, "", |lease| {
        lease["spec"]["renewTime"] = json!("2026-11-21T09:59:59.000000Z");
    });
}

/// A custom resource whose operator was uninstalled before anybody watched, so that no program is known. The read of it takes so long
/// that the watches show what happened before the request.
fn forgotten_operator(world: &mut ControlPlane) {
    begin(world, "s4");
    for _ in 0..120 {
        world.cluster.clock.advance(Duration::from_secs(1));
        world.run_until_idle();
    }
    assert!(!has(world, "apps", "deployments", "s4", "queue-operator"));
    schedule(world, "on get topics.queue.example as=li -> latency 500ms");
}

/// The operator without a replica, so that it clears nothing for now.
fn install_again(world: &mut ControlPlane) {
    let labels = json!({"app": "queue-operator"});
    let deployment = json!({
        "metadata": {"name": "queue-operator", "namespace": "s4"},
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "serviceAccountName": "queue-operator",
                    "containers": [{"name": "it", "image": "it"}],
                },
            },
        },
    });
    create(world, "apps", "deployments", "s4", deployment);
}

const TAINT: Situation = Situation {
    set_up: silent_node,
    is_it: |act| matches!(act, RemedyAct::OutOfServiceTaint { .. }),
    change: another_falls_silent,
    named: "Node node-b",
};

const OPERATOR: Situation = Situation {
    set_up: forgotten_operator,
    is_it: |act| matches!(act, RemedyAct::RemoveFinalizer { .. }),
    change: install_again,
    named: "Deployment s4/queue-operator",
};

const SITUATIONS: [Situation; 5] = [
    TAINT,
    Situation { is_it: |act| matches!(act, RemedyAct::DeleteNode { .. }), ..TAINT },
    Situation { is_it: |act| matches!(act, RemedyAct::ForceDeletePod { .. }), ..TAINT },
    Situation { change: renew_the_lease, named: "Node node-a", ..TAINT },
    OPERATOR,
];

impl Situation {
    /// The remedy is confirmed once something has been done to the server.
    async fn play(&self, prepare: impl FnOnce(&Server)) -> (Server, AttemptOutcome) {
        let server = Server::start(li(), self.set_up);
        let offer = server.offer(self.is_it).await;
        prepare(&server);
        let id = server.confirm(&offer).await;
        let outcome = server.outcome(&id).await;
        assert!(!server.interruption.is_armed(), "nothing was sent: {outcome:?}");
        (server, outcome)
    }
}

/// The changes are made right after the click: its message is in the hub's mailbox before any watch shows them.
#[tokio::test(start_paused = true)]
async fn change_between_the_click_and_the_request_is_named_and_nothing_is_sent() {
    for situation in SITUATIONS {
        let (server, outcome) = situation.play(|it| it.sandbox.with(situation.change)).await;
        let AttemptOutcome::Changed { object } = outcome else {
            panic!("{}: {outcome:?}", situation.named)
        };
        assert_eq!(object.to_string(), situation.named);
        assert_eq!(server.effects(), [""; 0], "{}", situation.named);
    }
}

#[tokio::test(start_paused = true)]
async fn change_between_the_reads_and_the_look_after_the_request_is_named_and_nothing_is_repeated()
{
    for situation in SITUATIONS {
        let before = |it: &Server| it.interruption.arm(situation.change);
        let after = |it: &Server| it.interruption.arm_after(situation.change);
        for prepare in [&before as &dyn Fn(&Server), &after] {
            let (server, outcome) = situation.play(prepare).await;
            let AttemptOutcome::Accepted { meanwhile: Some(object) } = outcome else {
                panic!("{}: {outcome:?}", situation.named)
            };
            assert_eq!(object.to_string(), situation.named);
            let sent = server.effects();
            tokio::time::sleep(Duration::from_secs(60)).await;
            assert_eq!(server.effects(), sent, "{}: it is not tried again", situation.named);
        }
    }
}

/// The answer is lost, so nobody knows whether the request was done.
#[tokio::test(start_paused = true)]
async fn change_around_a_request_whose_outcome_is_unknown_is_named_too() {
    for situation in SITUATIONS {
        let lose_the_answer =
            |world: &mut ControlPlane| schedule(world, "on patch,delete * as=li 1x -> reset after");
        let nothing = |it: &Server| it.interruption.arm(lose_the_answer);
        let change = |it: &Server| {
            it.interruption.arm(move |world| {
                (situation.change)(world);
                lose_the_answer(world);
            });
        };
        for (prepare, named) in
            [(&nothing as &dyn Fn(&Server), None), (&change, Some(situation.named))]
        {
            let (server, outcome) = situation.play(prepare).await;
            assert!(matches!(outcome, AttemptOutcome::Unknown { .. }), "{outcome:?}");
            let changed = outcome.changed().map(ToString::to_string);
            assert_eq!(changed.as_deref(), named, "{outcome:?}");
            let sent = server.effects();
            assert_eq!(sent.len(), 1, "{sent:?}");
            tokio::time::sleep(Duration::from_secs(60)).await;
            assert_eq!(server.effects(), sent, "{}: it is not tried again", situation.named);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn remedy_that_nothing_disturbs_is_accepted_without_a_change() {
    for situation in SITUATIONS {
        let (server, outcome) = situation.play(|_| ()).await;
        assert_eq!(outcome, AttemptOutcome::Accepted { meanwhile: None }, "{}", situation.named);
        assert_eq!(server.effects().len(), 1, "{:?}", server.effects());
    }
}

/// After the change the way out is another one, and the page shows that.
#[tokio::test(start_paused = true)]
async fn cause_is_diagnosed_anew_after_a_change_around_the_request() {
    let (server, _) = OPERATOR.play(|it| it.interruption.arm_after(OPERATOR.change)).await;
    let message = server.hub.query(Topic::Trouble).await.unwrap();
    let Ok(Message::Snapshot { records, .. }) = message else { panic!("{message:?}") };
    let cause = |record: &Record| match record {
        Record::Diagnosis(card) => Some(card.diagnosis.cause.name()),
        _ => None,
    };
    let causes: Vec<&str> = records.iter().filter_map(cause).collect();
    assert!(causes.contains(&"finisherNotReady"), "{causes:?}");
    assert!(!causes.contains(&"finisherGone"), "{causes:?}");
}
