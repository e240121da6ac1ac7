//! Remedies in a race: for each one the cluster changes so that its decision is false, once before its premises are read and
//! once in the last moment before the request arrives. Nothing that a request can carry may be acted on when it is false; the rest
//! is reported.

mod conversion;
mod finalizer;
mod halt;
mod in_use;
mod last_look;
mod namespace;
mod put_back;
mod rights;
mod scale_down;
mod spec_finalizer;

use std::time::Duration;

use sandbox::{
    cluster::{Actor, DeleteOptions},
    control_plane::ControlPlane,
    demo::Demo,
    object,
    store::Key,
};
use serde_json::{Value, json};
use teardown::{
    diagnosis::Diagnosis,
    message::{Message, Record, Topic},
    remedy::{AttemptOutcome, Confirmation, PermitAnswer, Remedy, RemedyAct, RemedyRefusal},
};

use super::setup::{Server, create};

/// The answer to a change in the last moment, by the API server or by the look after the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InTheLastMoment {
    /// The request carries the premise, so it is refused, and the change is shown.
    Refused,
    /// No request can carry it: the change is reported.
    Reported,
    /// No request can carry it, and the request is meant to change it too.
    Unseen,
}

/// A change that makes the decision false.
#[derive(Clone, Copy)]
struct Case {
    name: &'static str,
    change: fn(&mut ControlPlane),
    then: InTheLastMoment,
}

fn li() -> Actor {
    Actor { name: "li".into(), ..Actor::admin() }
}

fn modify(world: &mut ControlPlane, key: &Key, of: &str, change: impl FnOnce(&mut Value)) {
    world.cluster.modify(&Actor::admin(), key, of, change).map(drop).unwrap();
}

fn label(world: &mut ControlPlane, key: &Key) {
    modify(world, key, "", |it| object::set(it, &["metadata", "labels", "moved"], json!("yes")));
}

fn delete(world: &mut ControlPlane, key: &Key) {
    world.cluster.delete(&Actor::admin(), key, &DeleteOptions::default()).map(drop).unwrap();
}

/// Removes an object as if it had never been: a resource, and the name behind its namespace.
fn erase(world: &mut ControlPlane, object: &str) {
    let faults = world.parse_faults(&format!("at 0s erase {object}")).unwrap();
    world.cluster.faults.extend(faults);
    world.run_until_idle();
}

fn has(world: &ControlPlane, group: &str, plural: &str, namespace: &str, name: &str) -> bool {
    world.cluster.get(&Key::new(group, plural, namespace, name)).is_some()
}

/// A world of the demo, with its incident under way.
fn incident(name: &'static str) -> impl FnOnce(&mut ControlPlane) {
    move |world| {
        let mut demo = Demo::named(name).unwrap().unwrap();
        demo.set_up(world).unwrap();
        demo.start_incident(world, name).unwrap();
    }
}

impl Server {
    /// The diagnosis and the remedy, once it can be confirmed.
    async fn offer(&self, is_it: fn(&RemedyAct) -> bool) -> (Diagnosis, Remedy) {
        for _ in 0..1_000 {
            let message = self.hub.query(Topic::Trouble).await.unwrap();
            let records = match message {
                Ok(Message::Snapshot { records, .. }) => records,
                _ => Vec::new(),
            };
            for record in records {
                let Record::Diagnosis(card) = record else { continue };
                let id = card.diagnosis.id.clone();
                let Ok(found) = self.hub.remedies(id).await.unwrap() else { continue };
                let offered = |it: &Remedy| is_it(&it.act) && it.check_offered().is_ok();
                if let Some(remedy) = found.remedies.into_iter().find(offered) {
                    return ((*found.card.diagnosis).clone(), remedy);
                }
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        panic!("the remedy is never offered");
    }

    /// The remedies of all diagnoses, as a reader of their cards sees them.
    async fn shown(&self) -> Vec<Remedy> {
        let mut shown = Vec::new();
        let Ok(Message::Snapshot { records, .. }) = self.hub.query(Topic::Trouble).await.unwrap()
        else {
            return shown;
        };
        for record in records {
            let Record::Diagnosis(card) = record else { continue };
            let id = card.diagnosis.id.clone();
            shown.extend(self.hub.remedies(id).await.unwrap().map_or(vec![], |it| it.remedies));
        }
        shown
    }

    /// Confirms a remedy.
    async fn confirm(&self, (diagnosis, remedy): &(Diagnosis, Remedy)) -> String {
        let given = Confirmation {
            diagnosis: diagnosis.id.clone(),
            remedy: remedy.hash(diagnosis),
            confirm: remedy.request().unwrap().object.name.to_string(),
            statement: "Li looked at the console of node-a".into(),
        };
        self.hub.remedy(given, "Li".into()).await.unwrap().unwrap()
    }

    async fn outcome(&self, id: &str) -> AttemptOutcome {
        for _ in 0..400 {
            let attempts = self.hub.attempts().await.unwrap();
            let attempt = attempts.into_iter().find(|it| it.id == id).unwrap();
            if !attempt.is_open() {
                return attempt.outcome;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("the remedy never ends");
    }

    /// The changes that the server had an effect with, other than reviews.
    fn effects(&self) -> Vec<String> {
        let relevant = |entry: &sandbox::log::Entry| {
            let key = entry.key.as_ref()?;
            let is_change = matches!(entry.verb.as_str(), "create" | "delete" | "patch" | "update");
            let is_ours = entry.actor == "li" && entry.effect && !entry.dry_run;
            (is_change && is_ours && !key.plural.ends_with("reviews"))
                .then(|| format!("{} {}/{}", entry.verb, key.plural, key.name))
        };
        self.sandbox.with(|world| world.cluster.log.entries().iter().filter_map(relevant).collect())
    }
}

/// Each change once before the premises are read, and once in the last moment.
async fn race<F: FnOnce(&mut ControlPlane)>(
    set_up: impl Fn() -> F,
    is_it: fn(&RemedyAct) -> bool,
    cases: &[Case],
) {
    for &Case { name, change, then } in cases {
        let server = Server::start(li(), set_up());
        let offer = server.offer(is_it).await;
        // The confirmation is in the hub's mailbox before any watch shows the change.
        server.sandbox.with(change);
        let id = server.confirm(&offer).await;
        let outcome = server.outcome(&id).await;
        let is_held = match &outcome {
            AttemptOutcome::Changed { .. } => true,
            // Something cannot be read any more.
            AttemptOutcome::NotSent { .. } => then != InTheLastMoment::Refused,
            _ => false,
        };
        assert!(is_held, "{name}: {outcome:?}");
        assert_eq!(server.effects(), [""; 0], "{name}");

        let server = Server::start(li(), set_up());
        let offer = server.offer(is_it).await;
        server.interruption.arm(change);
        let id = server.confirm(&offer).await;
        let outcome = server.outcome(&id).await;
        assert!(!server.interruption.is_armed(), "{name}: nothing was sent: {outcome:?}");
        let is_as_expected = match &outcome {
            AttemptOutcome::Changed { .. } => then == InTheLastMoment::Refused,
            AttemptOutcome::Accepted { meanwhile: Some(_) } => then == InTheLastMoment::Reported,
            AttemptOutcome::Accepted { meanwhile: None } => then == InTheLastMoment::Unseen,
            _ => false,
        };
        assert!(is_as_expected, "{name}, expected {then:?}: {outcome:?}");
        assert_eq!(server.effects().is_empty(), then == InTheLastMoment::Refused, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn finalizer_is_not_removed_on_a_false_premise() {
    let is_removal = |act: &RemedyAct| matches!(act, RemedyAct::RemoveFinalizer { .. });
    race(
        || incident("s4"),
        is_removal,
        &[
            Case {
                name: "every object of the kind has changed",
                change: |world| {
                    for name in ["orders", "payments", "audit"] {
                        label(world, &Key::new("queue.example", "topics", "s4", name));
                    }
                },
                then: InTheLastMoment::Refused,
            },
            Case {
                name: "the program is installed again",
                change: |world| {
                    let labels = json!({"app": "queue-operator"});
                    let deployment = json!({
                        "metadata": {"name": "queue-operator", "namespace": "s4"},
                        "spec": {
                            "selector": {"matchLabels": labels},
                            "template": {
                                "metadata": {"labels": labels},
                                "spec": {"containers": [{"name": "it", "image": "it"}]},
                            },
                        },
                    });
                    create(world, "apps", "deployments", "s4", deployment);
                },
                then: InTheLastMoment::Reported,
            },
        ],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn owner_is_not_deleted_again_on_a_false_premise() {
    race(
        || incident("s4"),
        |act| matches!(act, RemedyAct::DeleteAgain { .. }),
        &[
            Case {
                name: "the owner has changed",
                change: |world| label(world, &Key::new("", "configmaps", "s4", "tenant")),
                then: InTheLastMoment::Refused,
            },
            Case {
                name: "its dependent has changed",
                change: |world| label(world, &Key::new("queue.example", "topics", "s4", "audit")),
                then: InTheLastMoment::Unseen,
            },
        ],
    )
    .await;
}

fn node() -> Key {
    Key::new("", "nodes", "", "node-a")
}

fn reports_again(world: &mut ControlPlane) {
    modify(world, &node(), "status", |node| {
        for condition in node["status"]["conditions"].as_array_mut().unwrap() {
            if condition["type"] == "Ready" {
                condition["status"] = json!("True");
            }
        }
    });
}

fn renews_its_lease(world: &mut ControlPlane) {
    let lease = Key::new("coordination.k8s.io", "leases", "kube-node-lease", "node-a");
    modify(world, &lease, "", |lease| {
        lease["spec"]["renewTime"] = json!("2026-11-21T09:59:59.000000Z");
    });
}

fn gets_a_pod(world: &mut ControlPlane) {
    let pod = json!({
        "metadata": {"name": "late", "namespace": "s5"},
        "spec": {"nodeName": "node-a", "containers": [{"name": "it", "image": "it"}]},
    });
    create(world, "", "pods", "s5", pod);
}

#[tokio::test(start_paused = true)]
async fn node_is_not_given_up_on_a_false_premise() {
    // With the Node its lease goes, which then shows nothing any more.
    type Act = (fn(&RemedyAct) -> bool, InTheLastMoment);
    let acts: [Act; 2] = [
        (|act| matches!(act, RemedyAct::OutOfServiceTaint { .. }), InTheLastMoment::Reported),
        (|act| matches!(act, RemedyAct::DeleteNode { .. }), InTheLastMoment::Unseen),
    ];
    for (is_it, lease) in acts {
        race(
            || incident("s5"),
            is_it,
            &[
                Case {
                    name: "the node reports again",
                    change: reports_again,
                    then: InTheLastMoment::Refused,
                },
                Case { name: "its lease is renewed", change: renews_its_lease, then: lease },
                Case {
                    name: "a Pod has come to it",
                    change: gets_a_pod,
                    then: InTheLastMoment::Reported,
                },
            ],
        )
        .await;
    }
}

#[tokio::test(start_paused = true)]
async fn pod_is_not_forced_on_a_false_premise() {
    race(
        || incident("s5"),
        |act| matches!(act, RemedyAct::ForceDeletePod { .. }),
        &[
            Case {
                name: "the Pods have changed",
                change: |world| {
                    let pods = world.cluster.list("", "pods", Some("s5"));
                    let names: Vec<String> = pods.map(|pod| object::name(pod).to_owned()).collect();
                    for name in names {
                        label(world, &Key::new("", "pods", "s5", &name));
                    }
                },
                then: InTheLastMoment::Refused,
            },
            Case {
                name: "the node reports again",
                change: reports_again,
                then: InTheLastMoment::Reported,
            },
            Case {
                name: "its lease is renewed",
                change: renews_its_lease,
                then: InTheLastMoment::Reported,
            },
        ],
    )
    .await;
}

fn api() -> Key {
    Key::new("apiregistration.k8s.io", "apiservices", "", "v1beta1.metrics.k8s.io")
}

#[tokio::test(start_paused = true)]
async fn api_is_not_switched_off_on_a_false_premise() {
    race(
        || incident("s3"),
        |act| matches!(act, RemedyAct::DeleteApiService { .. }),
        &[
            Case {
                name: "the API is available again",
                change: |world| {
                    modify(world, &api(), "status", |api| {
                        api["status"]["conditions"][0]["status"] = json!("True");
                    });
                },
                then: InTheLastMoment::Refused,
            },
            Case {
                name: "its Service has changed",
                change: |world| {
                    label(world, &Key::new("", "services", "kube-system", "metrics-server"))
                },
                then: InTheLastMoment::Reported,
            },
            Case {
                name: "an endpoint is ready",
                change: |world| {
                    let slice = json!({
                        "metadata": {
                            "name": "metrics-server-x", "namespace": "kube-system",
                            "labels": {"kubernetes.io/service-name": "metrics-server"},
                        },
                        "addressType": "IPv4",
                        "endpoints": [{"addresses": ["10.0.0.1"], "conditions": {"ready": true}}],
                    });
                    create(world, "discovery.k8s.io", "endpointslices", "kube-system", slice);
                },
                // The API is found available at once.
                then: InTheLastMoment::Refused,
            },
        ],
    )
    .await;
}

fn gate() -> Key {
    Key::new("admissionregistration.k8s.io", "validatingwebhookconfigurations", "", "gate")
}

/// A webhook that guards ConfigMaps and has no Service.
fn configuration() -> Value {
    json!({
        "metadata": {"name": "gate"},
        "webhooks": [{
            "name": "gate.example.com",
            "clientConfig": {"service": {"namespace": "ops", "name": "gate", "path": "/"}},
            "rules": [{
                "apiGroups": [""], "apiVersions": ["v1"],
                "resources": ["configmaps"], "operations": ["DELETE"],
            }],
            "failurePolicy": "Fail", "sideEffects": "None", "admissionReviewVersions": ["v1"],
        }],
    })
}

fn shop() -> Key {
    Key::new("", "namespaces", "", "shop")
}

/// A namespace that waits for that webhook.
fn dead_webhook(world: &mut ControlPlane) {
    for name in ["shop", "ops"] {
        create(world, "", "namespaces", "", json!({"metadata": {"name": name}}));
    }
    let map = json!({"metadata": {"name": "settings", "namespace": "shop"}});
    create(world, "", "configmaps", "shop", map);
    let gate = gate();
    create(world, &gate.group, &gate.plural, "", configuration());
    world.run_until_idle();
    delete(world, &shop());
}

#[tokio::test(start_paused = true)]
async fn webhook_is_not_switched_off_on_a_false_premise() {
    let acts: [fn(&RemedyAct) -> bool; 2] = [
        |act| matches!(act, RemedyAct::IgnoreWebhook { .. }),
        |act| matches!(act, RemedyAct::DeleteWebhookConfiguration),
    ];
    for is_it in acts {
        race(
            || dead_webhook,
            is_it,
            &[
                Case {
                    name: "the configuration has changed",
                    change: |world| label(world, &gate()),
                    then: InTheLastMoment::Refused,
                },
                Case {
                    name: "its Service is there",
                    change: |world| {
                        let service = json!({
                            "metadata": {"name": "gate", "namespace": "ops"},
                            "spec": {"selector": {"app": "gate"}, "ports": [{"port": 443}]},
                        });
                        create(world, "", "services", "ops", service);
                    },
                    then: InTheLastMoment::Reported,
                },
            ],
        )
        .await;
    }
}

/// An annotation harms nobody, so that a change of the same namespace does not keep it from being written.
#[tokio::test(start_paused = true)]
async fn annotation_is_not_written_on_a_false_premise() {
    race(
        || dead_webhook,
        |act| matches!(act, RemedyAct::Nudge),
        &[
            Case {
                name: "the namespace has changed",
                change: |world| label(world, &shop()),
                then: InTheLastMoment::Unseen,
            },
            Case {
                name: "the configuration of the webhook has changed",
                change: |world| label(world, &gate()),
                then: InTheLastMoment::Reported,
            },
            Case {
                name: "another namespace has its name",
                change: |world| {
                    erase(world, "namespaces shop");
                    create(world, "", "namespaces", "", json!({"metadata": {"name": "shop"}}));
                },
                then: InTheLastMoment::Refused,
            },
        ],
    )
    .await;
}
