//! A thing that a remedy, or a run, switched off is put back in the same race: once the cluster changes before the premises are read,
//! and once in the last moment before the request arrives. It is put back undisturbed first, and each of the premises that are read
//! for that has a change that falsifies it.

use std::{collections::BTreeSet, sync::atomic::Ordering, time::Duration};

use futures::{FutureExt, future::LocalBoxFuture};
use sandbox::{control_plane::ControlPlane, object, store::Key};
use serde_json::{Value, json};
use teardown::remedy::{Attempt, AttemptOutcome, PutBack, RemedyAct, SwitchedOff};

use super::{
    api::api,
    conversion::{dead_conversion, definition, is_stop},
    delete, erase, in_use, incident, label, li, modify, namespace,
    node::node,
    race::{Case, arm, changed_since, code, concerns, misnamed, premises, refused, reported},
    scale_down, schedule,
    webhook::{configuration, dead_webhook, gate},
};
use crate::{
    parents,
    setup::{Server, create},
};

/// The time after which nothing happens any more in the cluster.
const CALM: Duration = Duration::from_secs(60);

/// A thing that is switched off in one situation, and the changes that make it wrong to put it back.
#[derive(Clone, Copy)]
pub(super) struct PutBackRace {
    /// The code of the act that switches it off.
    pub(super) act: &'static str,
    pub(super) what: SwitchedOff,
    set_up: fn(&mut ControlPlane),
    /// Has it switched off.
    switch_off: fn(&Server) -> LocalBoxFuture<'_, ()>,
    /// Something that somebody does then, so that it is another thing that is off.
    meanwhile: Option<fn(&mut ControlPlane)>,
    cases: &'static [Case],
}

impl Server {
    /// Has a remedy done.
    async fn remedied(&self, is_it: fn(&RemedyAct) -> bool) {
        let offer = self.offer(is_it).await;
        let id = self.confirm(&offer).await;
        let outcome = self.outcome(&id).await;
        let is_done = matches!(outcome, AttemptOutcome::Accepted { .. });
        let is_begun = matches!(outcome, AttemptOutcome::Unfinished { .. });
        assert!(is_done || is_begun, "{outcome:?}");
    }

    /// Has it put back.
    async fn put_back(&self, Attempt { id, request, .. }: &Attempt) -> AttemptOutcome {
        let name = request.object.name.to_string();
        let undone = self.hub.undo_remedy(id.clone(), name, "Li".into()).await;
        self.outcome(&undone.unwrap().unwrap()).await
    }
}

impl PutBackRace {
    /// A server that knows that the thing is off, in a cluster that is calm, and the attempt that switched it off.
    async fn off(&self) -> (Server, Attempt) {
        let server = Server::start(li(), self.set_up);
        (self.switch_off)(&server).await;
        tokio::time::sleep(CALM).await;
        if let Some(meanwhile) = self.meanwhile {
            server.sandbox.with(meanwhile);
            tokio::time::sleep(CALM).await;
        }
        let off = server.hub.switched_off().await.unwrap();
        let [PutBack { attempt, what, by_unwind: true, line, .. }] = &off[..] else {
            panic!("{:?}: {off:?}", self.what)
        };
        assert_eq!((*what, code(&attempt.act).as_str()), (self.what, self.act));
        // A line of kubectl holds no copy of an object.
        let is_copied = matches!(self.what, SwitchedOff::Configuration | SwitchedOff::Api);
        assert_eq!(line.is_none(), is_copied, "{line:?}");
        let attempt = attempt.clone();
        (server, attempt)
    }

    /// Fails with everything that is not as it should be.
    async fn run(&self) {
        let mut wrong = Vec::new();
        let mut read = self.undisturbed(&mut wrong).await;
        for case in self.cases {
            let mut found = Vec::new();
            let changed = self.before_the_reads(case, &mut found).await;
            self.in_the_last_moment(case, &mut found).await;
            assert!(case.falsifies.is_empty(), "no page shows a condition of it");
            let said = |it: &String| format!("{}, expected {:?}: {it}", case.name, case.then);
            wrong.extend(found.iter().map(said));
            read.retain(|premise| !changed.iter().any(|it| concerns(it, premise)));
        }
        wrong.extend(read.iter().map(|it| format!("no change falsifies the read of {it:?}")));
        assert!(wrong.is_empty(), "{:?}\n{}\n", self.what, wrong.join("\n"));
    }

    /// It is put back where nothing changes. Returns what was read for that.
    async fn undisturbed(&self, wrong: &mut Vec<String>) -> BTreeSet<Key> {
        let (server, attempt) = self.off().await;
        let before = server.sandbox.with(|world| world.cluster.log.entries().len());
        let outcome = server.put_back(&attempt).await;
        if outcome != (AttemptOutcome::Accepted { meanwhile: None }) {
            wrong.push(format!("undisturbed: {outcome:?}"));
        }
        let target = &attempt.request.object;
        let read = server
            .sandbox
            .with(|world| premises(&world.cluster.log.entries()[before..], self.act, target));
        if read.is_empty() {
            wrong.push("it reads nothing".to_owned());
        }
        tokio::time::sleep(CALM).await;
        let off = server.hub.switched_off().await.unwrap();
        if !off.is_empty() {
            wrong.push(format!("it is not back: {off:?}"));
        }
        read
    }

    /// The change happens before the premises are read. Returns the objects that the change was about.
    async fn before_the_reads(&self, case: &Case, wrong: &mut Vec<String>) -> Vec<Key> {
        let (server, attempt) = self.off().await;
        let effects = server.effects();
        // The request is in the hub's mailbox before any watch shows the change.
        let (before, changed) = server.sandbox.with(|world| {
            let before = world.cluster.store.revision();
            (case.change)(world);
            (before, changed_since(world, before))
        });
        let outcome = server.put_back(&attempt).await;
        let is_held = matches!(outcome, AttemptOutcome::Changed { .. });
        if !is_held || server.effects() != effects {
            wrong.push(format!("before the reads: {outcome:?}, {:?}", server.effects()));
        }
        let target = &attempt.request.object;
        wrong.extend(misnamed(&server, case, (&outcome, target), before));
        changed
    }

    /// The change happens in the last moment before the request.
    async fn in_the_last_moment(&self, case: &Case, wrong: &mut Vec<String>) {
        let (server, attempt) = self.off().await;
        let effects = server.effects();
        let before = arm(&server, case.change);
        let outcome = server.put_back(&attempt).await;
        if server.interruption.is_armed() {
            wrong.push(format!("in the last moment: nothing was sent: {outcome:?}"));
            return;
        }
        let is_refused = !matches!(outcome, AttemptOutcome::Accepted { .. });
        if !case.then.is_answered_by(&outcome) || is_refused != (server.effects() == effects) {
            wrong.push(format!("in the last moment: {outcome:?}, {:?}", server.effects()));
        }
        let before = before.load(Ordering::SeqCst);
        wrong.extend(misnamed(&server, case, (&outcome, &attempt.request.object), before));
    }
}

const WEBHOOK: PutBackRace = PutBackRace {
    act: "ignoreWebhook",
    what: SwitchedOff::Webhook,
    set_up: dead_webhook,
    switch_off: |server| {
        server.remedied(|act| matches!(act, RemedyAct::IgnoreWebhook { .. })).boxed_local()
    },
    meanwhile: None,
    cases: &[
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
};

const CONFIGURATION: PutBackRace = PutBackRace {
    act: "deleteWebhookConfiguration",
    what: SwitchedOff::Configuration,
    set_up: dead_webhook,
    switch_off: |server| {
        server.remedied(|act| matches!(act, RemedyAct::DeleteWebhookConfiguration)).boxed_local()
    },
    meanwhile: None,
    cases: &[refused("somebody has created it again", |world| {
        let gate = gate();
        create(world, &gate.group, &gate.plural, "", configuration());
    })],
};

const API: PutBackRace = PutBackRace {
    act: "deleteApiService",
    what: SwitchedOff::Api,
    set_up: |world| incident(world, "s3"),
    switch_off: |server| {
        server.remedied(|act| matches!(act, RemedyAct::DeleteApiService { .. })).boxed_local()
    },
    meanwhile: None,
    cases: &[refused("somebody has registered it again", |world| {
        let spec = json!({
            "group": "metrics.k8s.io", "version": "v1beta1",
            "service": {"namespace": "kube-system", "name": "metrics-server"},
            "groupPriorityMinimum": 100, "versionPriority": 100,
        });
        let again = json!({"metadata": {"name": "v1beta1.metrics.k8s.io"}, "spec": spec});
        let api = api();
        create(world, &api.group, &api.plural, "", again);
    })],
};

const TAINT: PutBackRace = PutBackRace {
    act: "outOfServiceTaint",
    what: SwitchedOff::Node,
    set_up: |world| incident(world, "s5"),
    switch_off: |server| {
        server.remedied(|act| matches!(act, RemedyAct::OutOfServiceTaint { .. })).boxed_local()
    },
    meanwhile: None,
    cases: &[
        refused("the node has changed", |world| label(world, &node())),
        refused("another node has its name", |world| {
            erase(world, "nodes node-a");
            let taint = json!({"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"});
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
};

const CONVERSION: PutBackRace = PutBackRace {
    act: "stopConversion",
    what: SwitchedOff::Conversion,
    set_up: dead_conversion,
    switch_off: |server| server.remedied(is_stop).boxed_local(),
    meanwhile: None,
    cases: &[refused("the definition has changed", |world| label(world, &definition()))],
};

fn is_scale_down(act: &RemedyAct) -> bool {
    matches!(act, RemedyAct::ScaleDown { .. })
}

const WORKLOAD: PutBackRace = PutBackRace {
    act: "scaleDown",
    what: SwitchedOff::Workload,
    set_up: in_use::claim_deleted,
    switch_off: |server| server.remedied(is_scale_down).boxed_local(),
    meanwhile: None,
    cases: &[
        refused("the workload has changed", |world| label(world, &in_use::workload())),
        refused("somebody has scaled it up", in_use::scale_up),
        refused("another workload has its name", |world| {
            delete(world, &in_use::workload());
            let mut again = in_use::deployment();
            again["spec"]["replicas"] = json!(0);
            create(world, "apps", "deployments", "shop", again);
        }),
    ],
};

fn keep_claims(world: &mut ControlPlane, policy: &str) {
    scale_down::set_claim_policy(world, "whenScaled", policy);
}

fn scale_set(world: &mut ControlPlane, replicas: i64) {
    let field = ["spec", "replicas"];
    modify(world, &scale_down::set(), "", |it| object::set(it, &field, json!(replicas)));
}

const ANOTHER_SET: Case = refused("another set has its name", |world| {
    let again = world.cluster.get(&scale_down::set()).unwrap()["spec"].clone();
    erase(world, "statefulsets.apps shop/db");
    let again = json!({"metadata": {"name": "db", "namespace": "shop"}, "spec": again});
    create(world, "apps", "statefulsets", "shop", again);
});

/// The replicas and the policy are put back by one request.
const SET: PutBackRace = PutBackRace {
    act: "scaleDown",
    what: SwitchedOff::Workload,
    set_up: scale_down::claim_deleted,
    switch_off: |server| server.remedied(scale_down::is_keeping).boxed_local(),
    meanwhile: None,
    cases: &[
        refused("the set has changed", |world| label(world, &scale_down::set())),
        refused("somebody has scaled it up", |world| scale_set(world, 1)),
        refused("somebody has put the policy back", |world| keep_claims(world, "Delete")),
        ANOTHER_SET,
    ],
};

/// Somebody has scaled the set up again, so that only its policy is left. With the old one its controller deletes the claims of the
/// replicas that it removes.
const CLAIM_POLICY: PutBackRace = PutBackRace {
    act: "scaleDown",
    what: SwitchedOff::ClaimPolicy,
    set_up: scale_down::claim_deleted,
    switch_off: |server| server.remedied(scale_down::is_keeping).boxed_local(),
    meanwhile: Some(|world| scale_set(world, 2)),
    cases: &[
        refused("the set has changed", |world| label(world, &scale_down::set())),
        refused("somebody scales it down", |world| scale_set(world, 0)),
        refused("somebody has put it back", |world| keep_claims(world, "Delete")),
        ANOTHER_SET,
    ],
};

/// With its old policy the data of a volume goes as soon as its claim has gone.
const RECLAIM: PutBackRace = PutBackRace {
    act: "retainVolume",
    what: SwitchedOff::Reclaim,
    set_up: in_use::volume_deleted,
    switch_off: |server| {
        server.remedied(|act| matches!(act, RemedyAct::RetainVolume { .. })).boxed_local()
    },
    meanwhile: None,
    cases: &[
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
};

/// The DELETE of the namespace that was created again got no answer.
const NAMESPACE: PutBackRace = PutBackRace {
    act: "recreateNamespace",
    what: SwitchedOff::Namespace,
    set_up: |world| incident(world, "s4-forced"),
    switch_off: |server| {
        async move {
            server.sandbox.with(|world| schedule(world, "on delete namespaces as=li 1x -> reset"));
            server.remedied(namespace::is_recreation).await;
        }
        .boxed_local()
    },
    meanwhile: None,
    cases: &[
        refused("the namespace has changed", |world| {
            label(world, &Key::new("", "namespaces", "", "s4-forced"));
        }),
        refused("another namespace has its name", namespace::another_has_its_name),
    ],
};

const PARENT: PutBackRace = PutBackRace {
    act: "suspendParent",
    what: SwitchedOff::Parent,
    set_up: parents::shop_that_stays,
    switch_off: |server| async move { drop(parents::run_and_stop(server).await) }.boxed_local(),
    meanwhile: None,
    cases: &[
        refused("the parent has changed", |world| label(world, &parents::parent())),
        refused("somebody has resumed it", |world| {
            modify(world, &parents::parent(), "", |it| it["spec"]["suspend"] = json!(false));
        }),
        refused("another parent has its name", |world| {
            erase(world, "kustomizations.kustomize.toolkit.fluxcd.io shop/web");
            parents::create_parent(world, "shop", &json!({"prune": true, "suspend": true}));
        }),
    ],
};

/// The races of all things that are switched off. The tests below run those of each thing.
pub(super) const RACES: [PutBackRace; 11] = [
    WEBHOOK,
    CONFIGURATION,
    API,
    TAINT,
    CONVERSION,
    WORKLOAD,
    SET,
    CLAIM_POLICY,
    RECLAIM,
    NAMESPACE,
    PARENT,
];

async fn run(what: SwitchedOff) {
    for race in RACES.iter().filter(|race| race.what == what) {
        race.run().await;
    }
}

#[tokio::test(start_paused = true)]
async fn webhook_is_not_put_back_on_a_false_premise() {
    run(SwitchedOff::Webhook).await;
}

#[tokio::test(start_paused = true)]
async fn configuration_and_api_that_somebody_created_again_stay_as_they_are() {
    run(SwitchedOff::Configuration).await;
    run(SwitchedOff::Api).await;
}

#[tokio::test(start_paused = true)]
async fn taint_is_not_taken_off_on_a_false_premise() {
    run(SwitchedOff::Node).await;
}

#[tokio::test(start_paused = true)]
async fn conversion_is_not_put_back_on_a_false_premise() {
    run(SwitchedOff::Conversion).await;
}

#[tokio::test(start_paused = true)]
async fn workload_is_not_scaled_up_again_on_a_false_premise() {
    run(SwitchedOff::Workload).await;
}

#[tokio::test(start_paused = true)]
async fn policy_that_deletes_claims_is_not_put_back_on_a_false_premise() {
    run(SwitchedOff::ClaimPolicy).await;
}

#[tokio::test(start_paused = true)]
async fn policy_that_destroys_data_is_not_put_back_once_the_claim_goes() {
    run(SwitchedOff::Reclaim).await;
}

#[tokio::test(start_paused = true)]
async fn namespace_that_was_created_again_is_not_deleted_on_a_false_premise() {
    run(SwitchedOff::Namespace).await;
}

#[tokio::test(start_paused = true)]
async fn parent_is_not_resumed_on_a_false_premise() {
    run(SwitchedOff::Parent).await;
}
