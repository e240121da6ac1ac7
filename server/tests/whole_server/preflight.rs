//! Preflights of a whole server against the sandbox under paused time: what is predicted, and what is asked. The request log
//! of the sandbox says what was asked.

use std::time::Duration;

use sandbox::{
    cluster::Actor,
    control_plane::ControlPlane,
    fault::{AdmissionDecision, OperatingMode, ServerFault},
    store::Key,
};
use serde_json::{Value, json};
use server::{
    hub::{self, Hub, HubHandle, Incoming, PreflightRequest, Refusal},
    journal::Journal,
};
use teardown::{
    fixture,
    plan::{Choices, PlanId},
    preflight::{Answer, CheckState, NoteCode, Predicted, PreflightView, Severity, Unasked},
    unit::UnitId,
};
use tokio::{sync::mpsc, task::JoinSet, time::Instant};
use tokio_util::sync::CancellationToken;

use super::setup::{Server, answer_at, create, define};

const FLUX: &str = "kustomize.toolkit.fluxcd.io";
const ADMISSION: &str = "admissionregistration.k8s.io";
const RBAC: &str = "rbac.authorization.k8s.io";

fn metadata(name: &str) -> Value {
    json!({"name": name, "labels": {"app.kubernetes.io/part-of": "shop"}})
}

/// The unit `shop`: a namespace with two ConfigMaps and a Secret.
fn shop(world: &mut ControlPlane) {
    create(world, "", "namespaces", "", json!({"metadata": metadata("shop")}));
    for (plural, name) in [("configmaps", "a"), ("configmaps", "b"), ("secrets", "c")] {
        create(world, "", plural, "shop", json!({"metadata": metadata(name)}));
    }
}

/// A webhook that is asked about DELETEs of one resource.
fn webhook(name: &str, resource: &str, config: &Value) -> Value {
    let rule = json!({"apiGroups": [""], "apiVersions": ["v1"], "operations": ["DELETE"], "resources": [resource], "scope": "*"});
    json!({"metadata": {"name": name}, "webhooks": [{
        "name": format!("{name}.example.com"), "rules": [rule], "clientConfig": config,
        "sideEffects": "None", "admissionReviewVersions": ["v1"], "failurePolicy": "Fail", "timeoutSeconds": 10,
    }]})
}

impl Server {
    /// The preflight of the unit `shop`, once it is done.
    async fn preflight(&self) -> PreflightView {
        let plan = self.plan("shop", Choices::default()).await.id.clone();
        let mut view = self.hub.start_preflight(plan.clone()).await.unwrap().unwrap();
        for _ in 0..1_000 {
            if view.state == CheckState::Done {
                return view;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
            view = self.hub.preflight(plan.clone()).await.unwrap().unwrap();
        }
        panic!("it is never done: {view:?}");
    }

    /// The DELETEs so far, as `dry run configmaps/shop/a` or `configmaps/shop/a`.
    fn deletions(&self) -> Vec<String> {
        let relevant = |entry: &sandbox::log::Entry| {
            let key = entry.key.as_ref()?;
            let how = if entry.dry_run { "dry run " } else { "" };
            (entry.verb == "delete").then(|| {
                format!("{how}{}/{}/{} {}", key.plural, key.namespace, key.name, entry.effect)
            })
        };
        let mut all: Vec<String> = self
            .sandbox
            .with(|world| world.cluster.log.entries().iter().filter_map(relevant).collect());
        all.sort();
        all
    }
}

/// The notes without their words: severity, finding, objects.
fn describe(view: &PreflightView) -> Vec<String> {
    let code = |code: &NoteCode| match code {
        NoteCode::WebhookDown { webhook, .. } => format!("{webhook} is down"),
        NoteCode::WebhookFails { webhook, .. } => format!("{webhook} fails"),
        NoteCode::Denied { webhook, request: Predicted::Suspension, .. } => {
            format!("{} denies the suspension", webhook.as_deref().unwrap())
        }
        NoteCode::Denied { webhook, .. } => format!("{} denies", webhook.as_deref().unwrap()),
        NoteCode::MayNotDelete { resource, .. } => format!("may not delete {resource}"),
        NoteCode::OnlyReviewed { resource, .. } => format!("only reviewed {resource}"),
        NoteCode::FinisherGone { finalizer, .. } => format!("nobody clears {finalizer}"),
        NoteCode::ManagerSilent { .. } => "the manager is silent".to_owned(),
        NoteCode::ManagerUnseen { .. } => "the manager cannot be seen".to_owned(),
        other => format!("{other:?}"),
    };
    view.notes
        .iter()
        .map(|note| {
            let names: Vec<&str> = note.objects.iter().map(|object| &*object.name).collect();
            format!("{:?} {}: {}", note.severity, code(&note.code), names.join(" "))
        })
        .collect()
}

#[tokio::test(start_paused = true)]
async fn plan_without_an_obstacle_has_no_finding_and_nothing_is_deleted() {
    let server = Server::start(Actor::admin(), shop);
    let view = server.preflight().await;
    assert_eq!(describe(&view), [""; 0]);
    assert_eq!((view.checked, view.total), (4, 4));
    assert_eq!(
        server.deletions(),
        [
            "dry run configmaps/shop/a false",
            "dry run configmaps/shop/b false",
            "dry run namespaces//shop false",
            "dry run secrets/shop/c false",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn webhooks_that_deny_or_are_down_are_found_with_their_words() {
    let server = Server::start(Actor::admin(), |world| {
        shop(world);
        let service = json!({"service": {"namespace": "guards", "name": "gone"}});
        let down = webhook("down", "secrets", &service);
        create(world, ADMISSION, "validatingwebhookconfigurations", "", down);
        // It is outside the cluster, so that only a dry run shows it.
        let url = |name: &str| json!({"url": format!("https://{name}.example.org/")});
        for (name, resource) in [("deny", "configmaps"), ("away", "namespaces")] {
            let configuration = webhook(name, resource, &url(name));
            create(world, ADMISSION, "validatingwebhookconfigurations", "", configuration);
        }
        let decision = AdmissionDecision::Deny { code: 404, message: "not on a Friday".into() };
        world.cluster.webhook_decisions.insert("deny.example.com".into(), decision);
    });
    let view = server.preflight().await;
    assert_eq!(
        describe(&view),
        [
            "Refusal deny.example.com denies: a b",
            "Refusal down.example.com is down: c",
            "Refusal away.example.com fails: shop",
        ]
    );
    let NoteCode::Denied { said, .. } = &view.notes[0].code else { panic!("{view:?}") };
    let words = "admission webhook \"deny.example.com\" denied the request: not on a Friday";
    assert_eq!(*said, words.into());
    assert_eq!(view.refusals, 3);
}

/// A Kustomization in the unit `shop`, and a webhook that is asked about its updates.
fn kustomization(world: &mut ControlPlane) {
    define(world, FLUX, "kustomizations", "Kustomization");
    let parent = json!({"metadata": metadata("apps"), "spec": {"prune": true}});
    create(world, FLUX, "kustomizations", "shop", parent);
    let url = json!({"url": "https://freeze.example.org/"});
    let mut configuration = webhook("freeze", "kustomizations", &url);
    configuration["webhooks"][0]["rules"][0]["apiGroups"] = json!([FLUX]);
    configuration["webhooks"][0]["rules"][0]["operations"] = json!(["UPDATE"]);
    create(world, ADMISSION, "validatingwebhookconfigurations", "", configuration);
    world.run_until_idle();
}

/// The webhook lets the DELETE through, so that only a dry run of the PATCH shows that the Kustomization stays active.
#[tokio::test(start_paused = true)]
async fn webhook_that_denies_a_suspension_is_found_and_nothing_is_suspended() {
    let message = "change freeze".to_owned();
    let deny = AdmissionDecision::Deny { code: 403, message };
    for (decision, expected) in [
        (deny, &["Refusal freeze.example.com denies the suspension: apps"][..]),
        (AdmissionDecision::Allow, &[""; 0][..]),
    ] {
        let server = Server::start(Actor { name: "li".into(), ..Actor::admin() }, |world| {
            shop(world);
            kustomization(world);
            world.cluster.webhook_decisions.insert("freeze.example.com".into(), decision);
        });
        let view = server.preflight().await;
        assert_eq!(describe(&view), expected);
        assert_eq!((view.checked, view.total), (5, 5));
        let tried = server.sandbox.with(|world| {
            let entries = world.cluster.log.entries().iter();
            entries.filter(|it| it.verb == "patch" && it.dry_run && it.actor == "li").count()
        });
        assert_eq!((tried, server.changes()), (1, vec![]));
        let key = Key::new(FLUX, "kustomizations", "shop", "apps");
        let parent = server.sandbox.with(|world| world.cluster.get(&key).unwrap()["spec"].clone());
        assert_eq!(parent, json!({"prune": true}));
    }
}

/// The actor `li` may look at everything, and delete ConfigMaps and namespaces.
fn allow_some(world: &mut ControlPlane) {
    let rules = json!([
        {"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch"]},
        {"apiGroups": [""], "resources": ["configmaps", "namespaces"], "verbs": ["delete"]},
    ]);
    let role = json!({"metadata": {"name": "some"}, "rules": rules});
    create(world, RBAC, "clusterroles", "", role);
    bind_some(world);
}

/// Gives `li` the ClusterRole `some`.
fn bind_some(world: &mut ControlPlane) {
    let subject = json!({"kind": "User", "name": "li", "apiGroup": RBAC});
    let role = json!({"kind": "ClusterRole", "name": "some", "apiGroup": RBAC});
    let binding = json!({"metadata": {"name": "some"}, "subjects": [subject], "roleRef": role});
    create(world, RBAC, "clusterrolebindings", "", binding);
}

fn li() -> Actor {
    Actor { name: "li".into(), groups: vec!["system:authenticated".into()], ..Actor::default() }
}

#[tokio::test(start_paused = true)]
async fn missing_right_is_found() {
    let server = Server::start(li(), |world| {
        shop(world);
        allow_some(world);
    });
    let view = server.preflight().await;
    assert_eq!(describe(&view), ["Refusal may not delete secrets: c"]);
}

/// Objects of the kind `Metric` in the API `agg.example.com`, which another API server stores.
fn aggregated(world: &mut ControlPlane) {
    let service = json!({"namespace": "kube-system", "name": "agg"});
    let spec = json!({
        "group": "agg.example.com", "version": "v1", "service": service, "groupPriorityMinimum": 100, "versionPriority": 100,
    });
    let api = json!({"metadata": {"name": "v1.agg.example.com"}, "spec": spec});
    let kind = sandbox::kind::Kind {
        group: "agg.example.com".into(),
        kind: "Metric".into(),
        plural: "metrics".into(),
        subresources: vec![],
        ..(**world.cluster.kinds.get("", "configmaps").unwrap()).clone()
    };
    create(world, "apiregistration.k8s.io", "apiservices", "", api);
    world.cluster.serve_aggregated("v1.agg.example.com", vec![kind]);
    let service = json!({"metadata": {"name": "agg"}, "spec": {"ports": [{"port": 443}]}});
    create(world, "", "services", "kube-system", service);
    let slice = json!({
        "metadata": {"name": "m", "labels": {"kubernetes.io/service-name": "agg"}},
        "endpoints": [{"addresses": ["10.0.0.1"], "conditions": {"ready": true}}],
    });
    answer_at(world, "kube-system", "10.0.0.1");
    create(world, "discovery.k8s.io", "endpointslices", "kube-system", slice);
    create(world, "agg.example.com", "metrics", "shop", json!({"metadata": metadata("m")}));
}

#[tokio::test(start_paused = true)]
async fn other_api_server_is_never_asked_for_a_dry_run() {
    for (actor, expected) in [
        (Actor::admin(), "Info only reviewed metrics.agg.example.com: m"),
        (li(), "Refusal may not delete metrics.agg.example.com: m"),
    ] {
        let server = Server::start(actor, |world| {
            shop(world);
            allow_some(world);
            aggregated(world);
            // It would delete for real.
            let api = "v1.agg.example.com".to_owned();
            world.cluster.set_server_fault(api, Some(ServerFault::IgnoresDryRun));
        });
        let view = server.preflight().await;
        assert!(describe(&view).contains(&expected.to_owned()), "{view:?}");
        let deletions = server.deletions();
        assert!(deletions.len() >= 4, "{deletions:?}");
        assert!(!deletions.iter().any(|it| it.contains("metrics/")), "{deletions:?}");
        let key = Key::new("agg.example.com", "metrics", "shop", "m");
        assert!(server.sandbox.with(|world| world.cluster.get(&key).is_some()));
    }
}

#[tokio::test(start_paused = true)]
async fn finalizer_without_a_program_is_found() {
    let server = Server::start(Actor::admin(), |world| {
        shop(world);
        let mut held = metadata("held");
        held["finalizers"] = json!(["example.com/clean-up"]);
        create(world, "", "configmaps", "shop", json!({"metadata": held}));
    });
    let view = server.preflight().await;
    assert_eq!(describe(&view), ["Refusal nobody clears example.com/clean-up: held"]);
}

impl Server {
    /// Turns the kube-controller-manager on or off.
    fn set_manager(&self, mode: OperatingMode) {
        self.sandbox.with(|world| world.controllers.set_manager(mode));
    }

    /// The times at which the lease of the kube-controller-manager was read.
    fn looks_at_manager(&self) -> usize {
        let is_look = |entry: &&sandbox::log::Entry| {
            let key = entry.key.as_ref();
            entry.verb == "get"
                && entry.actor == "li"
                && key.is_some_and(|it| &*it.plural == "leases")
        };
        self.sandbox.with(|world| world.cluster.log.entries().iter().filter(is_look).count())
    }
}

/// The unit `shop`, in a cluster whose kube-controller-manager leads by a lease.
fn led_shop(world: &mut ControlPlane) {
    shop(world);
    world.controllers.add_leader_election();
    world.run_until_idle();
}

/// Only while somebody looks at the lease it shows that nobody renews it.
#[tokio::test(start_paused = true)]
async fn manager_that_is_off_is_found_and_its_deletion_then_waits_for_it() {
    let server = Server::start(Actor { name: "li".into(), ..Actor::admin() }, led_shop);
    tokio::time::sleep(Duration::from_secs(100)).await;
    assert_eq!(server.looks_at_manager(), 0, "no plan is checked");
    let begin = Instant::now();
    assert_eq!(describe(&server.preflight().await), [""; 0], "it renews its lease");
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());

    // Nobody looks at checks that are complete for long.
    tokio::time::sleep(Duration::from_secs(100)).await;
    let looks = server.looks_at_manager();
    tokio::time::sleep(Duration::from_secs(100)).await;
    assert_eq!(server.looks_at_manager(), looks);

    server.set_manager(OperatingMode::Off);
    let begin = Instant::now();
    let view = server.preflight().await;
    assert_eq!(describe(&view), ["Refusal the manager is silent: shop"]);
    let took = begin.elapsed();
    let (least, most) = (Duration::from_secs(40), Duration::from_secs(50));
    assert!((least..most).contains(&took), "{took:?}");

    let namespace = Key::new("", "namespaces", "", "shop");
    let run = server.run(&*server.plan("shop", Choices::default()).await).await;
    tokio::time::sleep(Duration::from_secs(200)).await;
    let left = server.sandbox.with(|world| world.cluster.get(&namespace).is_some());
    assert!(left, "nobody empties it: {:?}", server.state(&run).await);
    server.set_manager(OperatingMode::Running);
    server.until("the namespace goes", |world| world.cluster.get(&namespace).is_none()).await;
}

/// The lease cannot be read.
#[tokio::test(start_paused = true)]
async fn manager_whose_lease_is_forbidden_accuses_nobody() {
    let server = Server::start(li(), |world| {
        led_shop(world);
        let some = ["configmaps", "namespaces", "secrets"];
        let rules = json!([
            {"apiGroups": [""], "resources": ["*"], "verbs": ["get", "list", "watch"]},
            {"apiGroups": [""], "resources": some, "verbs": ["delete"]},
        ]);
        let others = world.cluster.kinds.iter().map(|kind| kind.group.to_string());
        let others: Vec<String> =
            others.filter(|it| !["", "coordination.k8s.io"].contains(&&**it)).collect();
        let see =
            json!({"apiGroups": others, "resources": ["*"], "verbs": ["get", "list", "watch"]});
        let rules = rules.as_array().unwrap().iter().cloned().chain([see]).collect::<Vec<_>>();
        let role = json!({"metadata": {"name": "some"}, "rules": rules});
        create(world, RBAC, "clusterroles", "", role);
        bind_some(world);
        world.controllers.set_manager(OperatingMode::Off);
    });
    assert_eq!(describe(&server.preflight().await), ["Info the manager cannot be seen: shop"]);
}

/// A hub that knows the unit `shop`, its mailbox, and the preflights that it asks for.
async fn hub_alone(
    asks: bool,
) -> (HubHandle, mpsc::Sender<Incoming>, mpsc::Receiver<PreflightRequest>, JoinSet<()>) {
    let (mailbox, inbox) = mpsc::channel(hub::MAILBOX);
    let (out, _) = mpsc::channel(hub::CALLS);
    let (asked, requests) = mpsc::channel(hub::PREFLIGHTS);
    let hub = Hub::open("test".into(), inbox, out, Journal::in_memory()).unwrap();
    let hub = if asks { hub.asking(asked) } else { hub };
    let mut tasks = JoinSet::new();
    tasks.spawn(async move { hub.run(CancellationToken::new()).await.unwrap() });
    let objects = fixture::objects("ns shop of=shop\ncm shop/a of=shop");
    mailbox.send(Incoming::Observed(fixture::listing(&objects))).await.unwrap();
    (HubHandle::new(mailbox.clone()), mailbox, requests, tasks)
}

#[tokio::test(start_paused = true)]
async fn preflight_that_runs_is_not_started_again_and_one_that_ended_is() {
    let (hub, mailbox, mut requests, _tasks) = hub_alone(true).await;
    let made = hub.make_plan(UnitId::new("shop"), Choices::default()).await.unwrap().unwrap();
    let plan = made.id.clone();
    let unasked = hub.preflight(plan.clone()).await.unwrap().unwrap();
    assert_eq!((unasked.state, unasked.at), (CheckState::NotRun, None));
    for _ in 0..3 {
        let view = hub.start_preflight(plan.clone()).await.unwrap().unwrap();
        assert_eq!((view.state, view.checked, view.total), (CheckState::Running, 0, 2));
    }
    let first = requests.try_recv().unwrap();
    assert!(requests.try_recv().is_err(), "it runs already");
    let answered = |request: &PreflightRequest| Incoming::Answered {
        plan: request.plan.clone(),
        attempt: request.attempt,
        question: request.questions[0].id,
        answer: Answer::Accepted,
    };
    mailbox.send(answered(&first)).await.unwrap();
    let attempt = first.attempt;
    let ended = Incoming::PreflightEnded { plan: plan.clone(), attempt, why: Some(Unasked::Time) };
    mailbox.send(ended).await.unwrap();
    let view = hub.preflight(plan.clone()).await.unwrap().unwrap();
    assert_eq!((view.state, view.checked), (CheckState::Done, 1));
    hub.start_preflight(plan.clone()).await.unwrap().unwrap();
    let second = requests.try_recv().unwrap();
    // A late answer to the first preflight is none to the second.
    mailbox.send(answered(&first)).await.unwrap();
    let view = hub.preflight(plan.clone()).await.unwrap().unwrap();
    assert_eq!((view.state, view.checked), (CheckState::Running, 0));
    mailbox.send(answered(&second)).await.unwrap();
    assert_eq!(hub.preflight(plan).await.unwrap().unwrap().checked, 1);
    let unknown = PlanId::new("none");
    let refusal = Err(Refusal::UnknownPlan(unknown.clone()));
    assert_eq!(hub.start_preflight(unknown.clone()).await.unwrap(), refusal);
    assert_eq!(hub.preflight(unknown).await.unwrap(), refusal);
}

/// Nobody takes the questions, so the notes about the index are all there is.
#[tokio::test(start_paused = true)]
async fn without_a_cluster_to_ask_a_preflight_says_so() {
    let (hub, _mailbox, _requests, _tasks) = hub_alone(false).await;
    let plan = hub.make_plan(UnitId::new("shop"), Choices::default()).await.unwrap().unwrap();
    let view = hub.start_preflight(plan.id.clone()).await.unwrap().unwrap();
    assert_eq!((view.state, view.checked, view.total), (CheckState::Done, 0, 2));
    let note = &view.notes[0];
    assert_eq!(note.severity, Severity::Info);
    assert_eq!(note.code, NoteCode::NotAsked { why: Unasked::Busy });
}
