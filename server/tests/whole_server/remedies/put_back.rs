//! A thing that a remedy switched off is put back in the same race: once the cluster changes before the target is read, and once in the
//! last moment before the request arrives.

use std::time::Duration;

use sandbox::control_plane::ControlPlane;
use serde_json::{Value, json};
use teardown::remedy::{Attempt, AttemptOutcome, PutBack, RemedyAct, SwitchedOff};

use super::{
    api::api,
    conversion::{dead_conversion, definition, is_stop},
    delete, erase, in_use, incident, label, li, modify,
    node::node,
    race::{Case, InTheLastMoment, refused, reported},
    webhook::{configuration, dead_webhook, gate},
};
use crate::setup::{Server, create};

/// The time after which nothing happens any more in the cluster.
const CALM: Duration = Duration::from_secs(60);

impl Server {
    /// Has a remedy done. Returns its attempt, once it is known that something is switched off and the cluster is calm.
    async fn switch_off(&self, is_it: fn(&RemedyAct) -> bool, what: SwitchedOff) -> Attempt {
        let offer = self.offer(is_it).await;
        let id = self.confirm(&offer).await;
        let outcome = self.outcome(&id).await;
        assert!(matches!(outcome, AttemptOutcome::Accepted { .. }), "{what:?}: {outcome:?}");
        tokio::time::sleep(CALM).await;
        let off = self.hub.switched_off().await.unwrap();
        let [PutBack { attempt, what: is_off, by_unwind: true, .. }] = &off[..] else {
            panic!("{what:?}: {off:?}")
        };
        assert_eq!((&attempt.id, *is_off), (&id, what));
        attempt.clone()
    }

    /// Has it put back.
    async fn put_back(&self, Attempt { id, request, .. }: Attempt) -> AttemptOutcome {
        let name = request.object.name.to_string();
        let undone = self.hub.undo_remedy(id, name, "Li".into()).await;
        self.outcome(&undone.unwrap().unwrap()).await
    }
}

/// Each change once before the target is read, and once in the last moment.
async fn race(
    set_up: fn(&mut ControlPlane),
    is_it: fn(&RemedyAct) -> bool,
    what: SwitchedOff,
    cases: &[Case],
) {
    for &Case { name, change, then, .. } in cases {
        let server = Server::start(li(), set_up);
        let attempt = server.switch_off(is_it, what).await;
        let before = server.effects();
        // The request is in the hub's mailbox before any watch shows the change.
        server.sandbox.with(change);
        let outcome = server.put_back(attempt).await;
        let is_held = matches!(outcome, AttemptOutcome::Changed { .. });
        assert!(is_held, "{what:?}, {name}: {outcome:?}");
        assert_eq!(server.effects(), before, "{what:?}, {name}");

        let server = Server::start(li(), set_up);
        let attempt = server.switch_off(is_it, what).await;
        let before = server.effects();
        server.interruption.arm(change);
        let outcome = server.put_back(attempt).await;
        assert!(!server.interruption.is_armed(), "{what:?}, {name}: nothing was sent: {outcome:?}");
        let is_as_expected = match &outcome {
            AttemptOutcome::Changed { .. } => then == InTheLastMoment::Refused,
            AttemptOutcome::Accepted { meanwhile: Some(_) } => then == InTheLastMoment::Reported,
            AttemptOutcome::Accepted { meanwhile: None } => then == InTheLastMoment::Unseen,
            _ => false,
        };
        assert!(is_as_expected, "{what:?}, {name}, expected {then:?}: {outcome:?}");
        let is_unchanged = server.effects() == before;
        assert_eq!(is_unchanged, then == InTheLastMoment::Refused, "{what:?}, {name}");
    }
}

#[tokio::test(start_paused = true)]
async fn webhook_is_not_put_back_on_a_false_premise() {
    race(
        dead_webhook,
        |act| matches!(act, RemedyAct::IgnoreWebhook { .. }),
        SwitchedOff::Webhook,
        &[
            refused("the configuration has changed", |world| label(world, &gate())),
            refused("another configuration has its name", |world| {
                delete(world, &gate());
                create(world, &gate().group, &gate().plural, "", configuration());
            }),
            refused("somebody has put it back", |world| {
                modify(world, &gate(), "", |it| it["webhooks"][0]["failurePolicy"] = json!("Fail"));
            }),
            refused("another webhook is in its place", |world| {
                modify(world, &gate(), "", |it| {
                    let mut other = it["webhooks"][0].clone();
                    other["name"] = json!("other.example.com");
                    it["webhooks"].as_array_mut().unwrap().insert(0, other);
                });
            }),
        ],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn configuration_and_api_that_somebody_created_again_stay_as_they_are() {
    race(
        dead_webhook,
        |act| matches!(act, RemedyAct::DeleteWebhookConfiguration),
        SwitchedOff::Configuration,
        &[refused("somebody has created it again", |world| {
            let gate = gate();
            create(world, &gate.group, &gate.plural, "", configuration());
        })],
    )
    .await;
    race(
        |world| incident(world, "s3"),
        |act| matches!(act, RemedyAct::DeleteApiService { .. }),
        SwitchedOff::Api,
        &[refused("somebody has registered it again", |world| {
            let spec = json!({
                "group": "metrics.k8s.io", "version": "v1beta1",
                "service": {"namespace": "kube-system", "name": "metrics-server"},
                "groupPriorityMinimum": 100, "versionPriority": 100,
            });
            let again = json!({"metadata": {"name": "v1beta1.metrics.k8s.io"}, "spec": spec});
            let api = api();
            create(world, &api.group, &api.plural, "", again);
        })],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn taint_is_not_taken_off_on_a_false_premise() {
    race(
        |world| incident(world, "s5"),
        |act| matches!(act, RemedyAct::OutOfServiceTaint { .. }),
        SwitchedOff::Node,
        &[
            refused("the node has changed", |world| label(world, &node())),
            refused("another node has its name", |world| {
                erase(world, "nodes node-a");
                let taint =
                    json!({"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"});
                let again = json!({
                    "metadata": {"name": "node-a"},
                    "spec": {"taints": [taint]},
                });
                create(world, "", "nodes", "", again);
            }),
            refused("somebody has taken it off", |world| {
                modify(world, &node(), "", |it| {
                    let is_left =
                        |taint: &Value| taint["key"] != json!("node.kubernetes.io/out-of-service");
                    it["spec"]["taints"].as_array_mut().unwrap().retain(is_left);
                });
            }),
        ],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn conversion_is_not_put_back_on_a_false_premise() {
    race(
        dead_conversion,
        is_stop,
        SwitchedOff::Conversion,
        &[refused("the definition has changed", |world| label(world, &definition()))],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn workload_is_not_scaled_up_again_on_a_false_premise() {
    race(
        in_use::claim_deleted,
        |act| matches!(act, RemedyAct::ScaleDown { .. }),
        SwitchedOff::Workload,
        &[
            refused("the workload has changed", |world| label(world, &in_use::workload())),
            refused("somebody has scaled it up", in_use::scale_up),
            refused("another workload has its name", |world| {
                delete(world, &in_use::workload());
                let mut again = in_use::deployment();
                again["spec"]["replicas"] = json!(0);
                create(world, "apps", "deployments", "shop", again);
            }),
        ],
    )
    .await;
}

/// With its old policy the data of a volume goes as soon as its claim has gone.
#[tokio::test(start_paused = true)]
async fn policy_that_destroys_data_is_not_put_back_once_the_claim_goes() {
    race(
        in_use::volume_deleted,
        |act| matches!(act, RemedyAct::RetainVolume { .. }),
        SwitchedOff::Reclaim,
        &[
            refused("the volume has changed", |world| label(world, &in_use::volume())),
            refused("another volume has its name", |world| {
                erase(world, "persistentvolumes disk");
                let mut again = in_use::disk();
                again["spec"]["persistentVolumeReclaimPolicy"] = json!("Retain");
                create(world, "", "persistentvolumes", "", again);
            }),
            refused("somebody has put it back", |world| in_use::set_policy(world, "Delete")),
            reported("the claim is being deleted", |world| delete(world, &in_use::claim())),
        ],
    )
    .await;
}
