mod answers;
mod drivers;
mod hidden;
mod manager;
mod questions;

use std::fmt::Write;

use super::*;
use crate::{
    api_problem::ProblemCode,
    diagnosis::diagnose,
    fixture,
    observation::{HiddenCause, Observation},
    plan::{Choices, Plan, plan},
    unit::{UnitId, units},
};

/// The plan of the unit `shop`.
fn plan_of(index: &Index) -> Plan {
    let graph = Graph::of(index);
    let units = units(index, &graph);
    let shop = &units[&UnitId::new("shop")];
    plan(index, &graph, shop, &Choices::default(), fixture::now()).unwrap()
}

fn preflight_of(index: &Index, plan: &Plan) -> Preflight {
    let graph = Graph::of(index);
    let diagnoses = diagnose(index, &graph, fixture::now());
    preflight(plan, index, &graph, &diagnoses, fixture::now())
}

/// The notes of the plan of the unit `shop`: severity, finding and objects.
fn notes(text: &str) -> String {
    describe(&fixture::index(text))
}

fn describe(index: &Index) -> String {
    describe_view(&preflight_of(index, &plan_of(index)).view())
}

fn describe_view(view: &PreflightView) -> String {
    let mut described = String::new();
    for note in &view.notes {
        let objects: Vec<String> = note.objects.iter().map(ToString::to_string).collect();
        let code = short(&note.code);
        writeln!(described, "{:?} {code}: {}", note.severity, objects.join(", ")).unwrap();
    }
    described
}

/// A finding with the parameters that distinguish it.
fn short(code: &NoteCode) -> String {
    match code {
        NoteCode::WebhookDown {
            webhook, configuration, service, exists, asked, certain, ..
        } => {
            let why = if *exists { "no ready Pod" } else { "no Service" };
            let asked = match asked {
                Asked::Deletion => "DELETE",
                Asked::Finalizers => "UPDATE",
                Asked::Contents => "contents",
            };
            let may_be = if *certain { "" } else { "perhaps " };
            let of = &configuration.name;
            format!("{webhook} of {of} {may_be}asked on {asked}, {service}: {why}")
        }
        NoteCode::ConverterDown { definition, service, exists } => {
            let why = if *exists { "no ready Pod" } else { "no Service" };
            format!("converter of {}, {service}: {why}", definition.name)
        }
        NoteCode::ApiDown { group_version } => format!("{group_version} is down"),
        NoteCode::Hidden { why, by } => format!("{by:?}: {why:?}"),
        NoteCode::NoDeleteVerb { resource } => format!("{resource} has no delete"),
        NoteCode::FinisherGone { finalizer, deleted } => {
            format!("nobody clears {finalizer}, {} gone lately", deleted.len())
        }
        NoteCode::FinisherNotReady { finalizer, finisher } => {
            format!("{finisher} clears {finalizer} and is not ready")
        }
        NoteCode::FinishersNotReady { finalizer, possible } => {
            format!("none of {} that may clear {finalizer} is ready", possible.len())
        }
        NoteCode::FinisherHidden { finalizer, resource } => {
            format!("cannot see {resource} for {finalizer}")
        }
        NoteCode::CloudControllerUnseen => "cloud controller unseen".to_owned(),
        NoteCode::ManagerSilent { .. } => "manager is silent".to_owned(),
        NoteCode::ManagerUnseen { said } => format!("manager unseen: {said:?}"),
        NoteCode::StaticPods { node } => format!("static on {node}"),
        NoteCode::NodeSilent { node } => format!("node {node} is silent"),
        NoteCode::NodeNotReady { node } => format!("node {node} is not ready"),
        NoteCode::DriverMissing { driver, node } => format!("no {driver} on {node}"),
        NoteCode::DriverNotReady { driver, node, plugin } => {
            format!("{plugin} of {driver} on {node} is not ready")
        }
        NoteCode::ManagedElsewhere { manager } => format!("left to {manager}"),
        NoteCode::ClaimMissing { claim } => format!("{claim} is missing"),
        NoteCode::ProvisionerMissing { driver } => format!("no {driver} anywhere"),
        NoteCode::DriverGone { driver, finalizer } => {
            format!("no {driver} anywhere to clear {finalizer}")
        }
        NoteCode::Waits { diagnosis } => format!("waits for {}", diagnosis.cause.name()),
        NoteCode::Declared { parent } => format!("declared by {parent}"),
        NoteCode::Reverted { by } => format!("reverted by {by}"),
        NoteCode::DeclaredElsewhere { kind, name } => format!("declared by unseen {kind} {name}"),
        NoteCode::Budgets => "budgets".to_owned(),
        NoteCode::Unchecked { resources } => format!("unseen {}", resources.join(", ")),
        NoteCode::MayNotDelete { resource, .. } => format!("may not delete {resource}"),
        NoteCode::MayNotSuspend { resource, .. } => format!("may not suspend {resource}"),
        NoteCode::Denied { request, webhook, said } => {
            format!("{webhook:?} denies{}: {said:?}", of_suspension(*request))
        }
        NoteCode::WebhookFails { request, webhook, .. } => {
            format!("{webhook} fails{}", of_suspension(*request))
        }
        NoteCode::Refused { request, said } => {
            format!("refused{}: {said:?}", of_suspension(*request))
        }
        NoteCode::PlanIsOld => "old".to_owned(),
        NoteCode::NoAnswer { said } => format!("no answer: {said:?}"),
        NoteCode::NoDryRun { request, .. } => format!("no dry run{}", of_suspension(*request)),
        NoteCode::OnlyReviewed { request, resource } => {
            format!("only reviewed{} {resource}", of_suspension(*request))
        }
        NoteCode::NotAsked { why } => format!("not asked: {why:?}"),
    }
}

fn of_suspension(request: Predicted) -> &'static str {
    match request {
        Predicted::Deletion => "",
        Predicted::Suspension => " (suspension)",
    }
}

#[test]
fn webhook_without_a_ready_pod_refuses_what_it_guards() {
    insta::assert_snapshot!(notes("
        ns shop of=shop
        cm shop/a of=shop
        secret shop/b of=shop
        webhook gate service=guards/gate guards=configmaps
        ns guards
        svc guards/gate selector=app:gate
        pod guards/gate-1 labels=app:gate ready=no
    "), @"Refusal gate.example.com of gate asked on DELETE, Service guards/gate: no ready Pod: ConfigMap shop/a");
}

#[test]
fn webhook_with_a_ready_pod_is_no_finding() {
    insta::assert_snapshot!(notes("
        ns shop of=shop
        cm shop/a of=shop
        webhook gate service=guards/gate guards=configmaps
        ns guards
        svc guards/gate selector=app:gate
        pod guards/gate-1 labels=app:gate
    "), @"");
}

#[test]
fn webhook_that_ignores_failures_is_information() {
    insta::assert_snapshot!(notes("
        ns shop of=shop
        cm shop/a of=shop
        webhook gate service=guards/gone guards=configmaps policy=Ignore
    "), @"Info gate.example.com of gate asked on DELETE, Service guards/gone: no Service: ConfigMap shop/a");
}

#[test]
fn webhook_about_updates_holds_only_what_has_finalizers() {
    insta::assert_snapshot!(notes("
        ns shop of=shop
        pvc shop/a of=shop finalizers=kubernetes.io/pvc-protection
        pvc shop/b of=shop
        webhook gate service=guards/gone guards=persistentvolumeclaims asked=UPDATE
    "), @"Refusal gate.example.com of gate asked on UPDATE, Service guards/gone: no Service: PersistentVolumeClaim shop/a");
}

/// The configuration goes before its own Pods, so that nothing asks it about them.
#[test]
fn webhook_of_the_plan_is_not_asked_about_what_goes_after_it() {
    insta::assert_snapshot!(notes("
        ns shop of=shop
        cm shop/a of=shop
        webhook gate of=shop service=shop/gate guards=configmaps,pods
        svc shop/gate of=shop selector=app:gate
        pod shop/gate-1 of=shop labels=app:gate ready=no
    "), @"Refusal gate.example.com of gate asked on DELETE, Service shop/gate: no ready Pod: ConfigMap shop/a");
}

/// The provisioner deletes the volume, and the garbage collector the Pod. Both ask the webhook.
#[test]
fn webhook_is_asked_about_what_a_controller_deletes() {
    insta::assert_snapshot!(notes("
        ns shop of=shop
        rs shop/web of=shop
        pod shop/web-1 owner=rs/web
        pvc shop/a of=shop volume=pv-a
        pv pv-a claim=shop/a driver=disk.example.com reclaim=Delete
        csidriver disk.example.com
        webhook gate service=guards/gone guards=pods,persistentvolumes
    "), @"Refusal gate.example.com of gate asked on DELETE, Service guards/gone: no Service: Pod shop/web-1, PersistentVolume pv-a");
}

/// The namespace controller deletes them, and asks the webhook. No dry run of the DELETE of the namespace shows that.
#[test]
fn webhook_about_what_goes_with_a_namespace_holds_the_namespace() {
    let found = |covered: &str, policy: &str| {
        let index = fixture::index(&format!(
            "apiservice v1.
             ns shop of=shop
             cm shop/a of=shop
             cm shop/kube-root-ca.crt
             rb shop/team people=yes role=clusterrole/view
             webhook gate service=guards/gone guards={covered} {policy}"
        ));
        let mut preflight = preflight_of(&index, &plan_of(&index));
        let of_namespace = preflight.questions().iter().find(|it| *it.object.kind == *"Namespace");
        let question = of_namespace.expect("its dry run").id;
        assert!(matches!(question.asks, QuestionKind::DryRun { .. }), "{question:?}");
        preflight.answer(question, Answer::Accepted, fixture::now());
        describe_view(&preflight.view())
    };
    insta::assert_snapshot!(found("rolebindings.rbac.authorization.k8s.io", ""), @"Refusal gate.example.com of gate asked on contents, Service guards/gone: no Service: Namespace shop");
    insta::assert_snapshot!(found("rolebindings.rbac.authorization.k8s.io", "policy=Ignore"), @"Info gate.example.com of gate asked on contents, Service guards/gone: no Service: Namespace shop");
    insta::assert_snapshot!(found("configmaps", ""), @r"
    Refusal gate.example.com of gate asked on DELETE, Service guards/gone: no Service: ConfigMap shop/a
    Refusal gate.example.com of gate asked on contents, Service guards/gone: no Service: Namespace shop
    ");
    assert_eq!(found("namespaces", ""), "", "its dry run was accepted");
}

#[test]
fn converter_without_a_ready_pod_concerns_the_objects_of_its_kind() {
    let text = |ready: &str| {
        format!(
            "
        ns shop of=shop
        Widget shop/a of=shop
        Gadget shop/b of=shop
        crd widgets.example.com defines=Widget.example.com service=guards/conv
        crd gadgets.example.com defines=Gadget.example.com
        ns guards
        svc guards/conv selector=app:conv
        pod guards/conv-1 labels=app:conv ready={ready}
    "
        )
    };
    insta::assert_snapshot!(notes(&text("no")), @"Warning converter of widgets.example.com, Service guards/conv: no ready Pod: Widget shop/a");
    insta::assert_snapshot!(notes(&text("yes")), @"");
    let without = text("no").replace("svc guards/conv selector=app:conv", "");
    insta::assert_snapshot!(notes(&without), @"Warning converter of widgets.example.com, Service guards/conv: no Service: Widget shop/a");
}

#[test]
fn kind_that_lost_the_verb_delete_since_the_plan_is_said_and_not_asked_about() {
    let mut index = fixture::index(
        "
        ns shop of=shop
        cm shop/a of=shop
        Widget shop/b of=shop
    ",
    );
    insta::assert_snapshot!(describe(&index), @"");
    let plan = plan_of(&index);
    let resources = [String::from("widgets.example.com")].into();
    index.apply([Observation::Undeletable(resources)], fixture::now());
    let notes = describe_view(&preflight_of(&index, &plan).view());
    insta::assert_snapshot!(notes, @"Refusal widgets.example.com has no delete: Widget shop/b");
    assert_eq!(describe(&index), "", "a new plan keeps it");
    let asked: Vec<String> =
        preflight_of(&index, &plan).questions().iter().map(|it| it.object.to_string()).collect();
    assert!(!asked.contains(&"Widget shop/b".to_owned()), "{asked:?}");
}

#[test]
fn finalizer_without_a_program_is_a_refusal() {
    insta::assert_snapshot!(notes("
        ns shop of=shop
        Widget shop/a of=shop finalizers=example.com/clean-up
        Widget shop/b of=shop
        pvc shop/c of=shop finalizers=kubernetes.io/pvc-protection
    "), @"Refusal nobody clears example.com/clean-up, 0 gone lately: Widget shop/a");
}

#[test]
fn finalizer_whose_program_is_not_ready_is_a_refusal() {
    let text = |ready: u8| {
        format!(
            "
        ns shop of=shop
        Widget shop/a of=shop finalizers=example.com/clean-up
        ns tools
        sa tools/operator
        deploy tools/operator uses=account:operator replicas=1 ready={ready}
        clusterrole operator updates=widgets.example.com
        crb operator role=clusterrole/operator accounts=tools/operator
    "
        )
    };
    insta::assert_snapshot!(notes(&text(0)), @"Refusal Deployment tools/operator clears example.com/clean-up and is not ready: Widget shop/a");
    insta::assert_snapshot!(notes(&text(1)), @"");
}

#[test]
fn finalizer_with_several_possible_programs_is_a_warning_while_none_is_ready() {
    let text = |ready: u8| {
        format!(
            "
        ns shop of=shop
        Widget shop/a of=shop finalizers=example.com/clean-up
        ns tools
        sa tools/operator
        deploy tools/one uses=account:operator replicas=1 ready=0
        deploy tools/two uses=account:operator replicas=1 ready={ready}
        clusterrole operator updates=widgets.example.com
        crb operator role=clusterrole/operator accounts=tools/operator
    "
        )
    };
    insta::assert_snapshot!(notes(&text(0)), @"Warning none of 2 that may clear example.com/clean-up is ready: Widget shop/a");
    insta::assert_snapshot!(notes(&text(1)), @"");
}

#[test]
fn running_pods_on_nodes_that_do_not_report_are_found() {
    insta::assert_snapshot!(notes("
        node n1 ready=Ready:Unknown:NodeStatusUnknown:600:
        node n2 ready=no
        node n3
        ns shop of=shop
        pod shop/a of=shop node=n1
        pod shop/b of=shop node=n1
        pod shop/c of=shop node=n1 phase=Succeeded
        pod shop/d of=shop node=n2
        pod shop/e of=shop node=n3
        pod shop/f of=shop node=n4
    "), @"
    Refusal node n1 is silent: Pod shop/a, Pod shop/b
    Warning node n2 is not ready: Pod shop/d
    ");
}

#[test]
fn driver_that_is_not_registered_on_the_node_of_the_pod_is_found() {
    insta::assert_snapshot!(notes("
        node n1
        node n2
        csidriver disk.example.com
        csinode n1 drivers=other.example.com
        csinode n2 drivers=disk.example.com
        ns shop of=shop
        pod shop/a of=shop node=n1 uses=claim:a
        pod shop/b of=shop node=n2 uses=claim:b
        pvc shop/a of=shop volume=pv-a
        pvc shop/b of=shop volume=pv-b
        pv pv-a claim=shop/a driver=disk.example.com
        pv pv-b claim=shop/b driver=disk.example.com
    "), @"Refusal no disk.example.com on n1: Pod shop/a");
}

#[test]
fn driver_of_an_inline_volume_that_is_not_registered_is_found() {
    insta::assert_snapshot!(notes("
        node n1
        node n2
        csidriver disk.example.com
        csinode n1 drivers=other.example.com
        csinode n2 drivers=disk.example.com
        ns shop of=shop
        pod shop/a of=shop node=n1 uses=driver:disk.example.com
        pod shop/b of=shop node=n2 uses=driver:disk.example.com
    "), @"Refusal no disk.example.com on n1: Pod shop/a");
}

/// It may be ready by the time of the run, so the plan only warns.
#[test]
fn driver_whose_pod_on_the_node_is_not_ready_is_a_warning() {
    insta::assert_snapshot!(notes("
        node n1
        node n2
        csidriver disk.example.com
        csinode n1 drivers=disk.example.com
        csinode n2 drivers=disk.example.com
        ds disk/csi-node drivers=disk.example.com
        pod disk/csi-node-a owner=ds/csi-node node=n1 ready=no
        pod disk/csi-node-b owner=ds/csi-node node=n2
        ns shop of=shop
        pod shop/a of=shop node=n1 uses=driver:disk.example.com
        pod shop/b of=shop node=n2 uses=driver:disk.example.com
    "), @"Warning Pod disk/csi-node-a of disk.example.com on n1 is not ready: Pod shop/a");
}

#[test]
fn driver_that_no_node_knows_cannot_delete_a_volume() {
    insta::assert_snapshot!(notes("
        csidriver here.example.com
        ns shop of=shop
        pvc shop/a of=shop volume=pv-a
        pvc shop/b of=shop volume=pv-b
        pvc shop/c of=shop volume=pv-c
        pv pv-a claim=shop/a driver=away.example.com reclaim=Delete
        pv pv-b claim=shop/b driver=here.example.com reclaim=Delete
        pv pv-c of=shop claim=shop/c driver=away.example.com
    "), @"Warning no away.example.com anywhere: PersistentVolume pv-a");
}

#[test]
fn object_that_waits_already_is_found_with_its_cause() {
    insta::assert_snapshot!(notes("
        node n1 ready=Ready:Unknown:NodeStatusUnknown:600:
        ns shop of=shop
        pod shop/a of=shop node=n1 deleted=400 grace=30 containers=web:running
        pod shop/b of=shop node=n1
        ns other
        pod other/c node=n1 deleted=400 grace=30 containers=web:running
    "), @"
    Refusal node n1 is silent: Pod shop/a, Pod shop/b
    Refusal waits for nodeSilent: Pod shop/a
    ");
}

#[test]
fn api_that_is_down_holds_the_namespaces_of_the_plan() {
    insta::assert_snapshot!(notes("
        ns shop of=shop
        cm shop/a of=shop
        apiservice v1beta1.metrics.k8s.io service=kube-system/metrics available=Available:False:MissingEndpoints:60:
        apiservice v1.example.com service=kube-system/example available=Available:True:Passed:60:
        apiservice v1.apps
    "), @"Refusal metrics.k8s.io/v1beta1 is down: Namespace shop");
}

#[test]
fn api_that_the_plan_deletes_holds_nothing() {
    insta::assert_snapshot!(notes("
        ns shop of=shop
        cm shop/a of=shop
        apiservice v1beta1.shop.example.com of=shop service=shop/api available=Available:False:MissingEndpoints:60:
    "), @"");
}

#[test]
fn kind_that_is_hidden_holds_the_namespaces_of_the_plan() {
    let mut index = fixture::index(
        "
        ns shop of=shop
        cm shop/a of=shop
        apiservice v1.stale.example.com service=kube-system/stale available=Available:False:Gone:60:
    ",
    );
    let hidden = |resource: &str, cause| Observation::Hidden {
        resource: resource.to_owned(),
        cause,
        message: ProblemCode::Stale.into(),
    };
    let observed = [
        hidden("secrets", HiddenCause::Forbidden),
        // The APIService says so already.
        hidden("stale.example.com/v1", HiddenCause::Discovery),
        // No object of this kind is in a namespace.
        hidden("nodes", HiddenCause::Forbidden),
    ];
    index.apply(observed, fixture::now());
    insta::assert_snapshot!(describe(&index), @r#"
    Refusal stale.example.com/v1 is down: Namespace shop
    Refusal Rights: Hidden { resource: "secrets", namespace: None, message: Code(Stale) }: Namespace shop
    "#);
}

#[test]
fn parent_that_stays_would_make_its_objects_again() {
    insta::assert_snapshot!(notes("
        ns shop of=shop
        cm shop/a of=shop argocd=shop-app
        cm shop/b of=shop labels=kustomize.toolkit.fluxcd.io/name:shop,kustomize.toolkit.fluxcd.io/namespace:flux-system
        cm shop/c of=shop labels=kustomize.toolkit.fluxcd.io/name:gone,kustomize.toolkit.fluxcd.io/namespace:flux-system
        cm shop/d of=shop release=shop/web
        ns argocd
        Application.argoproj.io argocd/shop-app
        crd applications.argoproj.io defines=Application.argoproj.io
        ns flux-system
        Kustomization.kustomize.toolkit.fluxcd.io flux-system/shop
        crd kustomizations.kustomize.toolkit.fluxcd.io defines=Kustomization.kustomize.toolkit.fluxcd.io
    "), @"
    Refusal declared by Application argocd/shop-app: ConfigMap shop/a
    Refusal declared by Kustomization flux-system/shop: ConfigMap shop/b
    ");
}

#[test]
fn parent_in_the_plan_is_no_finding_and_one_in_another_cluster_is_a_warning() {
    insta::assert_snapshot!(notes("
        ns shop of=shop
        cm shop/a of=shop argocd=shop_shop-app
        Application.argoproj.io shop/shop-app of=shop
        cm shop/b of=shop labels=helm.toolkit.fluxcd.io/name:web,helm.toolkit.fluxcd.io/namespace:flux-system
    "), @"Warning declared by unseen HelmRelease web: ConfigMap shop/b");
}

#[test]
fn owner_that_makes_a_parent_active_again_is_named() {
    let by_argo_cd = "labels=argocd.argoproj.io/instance:shop";
    let set = |rest: &str| {
        notes(&format!(
            "ns shop of=shop
             cm shop/a of=shop {by_argo_cd}
             cm shop/b of=shop {by_argo_cd}
             Application.argoproj.io shop/shop of=shop owner=ApplicationSet.argoproj.io/all
             ApplicationSet.argoproj.io shop/all {rest}"
        ))
    };
    insta::assert_snapshot!(set(""), @r"
    Refusal declared by Application shop/shop: ConfigMap shop/a, ConfigMap shop/b
    Refusal reverted by ApplicationSet shop/all: Application shop/shop
    ");
    assert_eq!(set("of=shop"), "", "it goes as well");
    insta::assert_snapshot!(notes(
        "ns shop of=shop
         cm shop/a of=shop labels=kustomize.toolkit.fluxcd.io/name:web,kustomize.toolkit.fluxcd.io/namespace:shop
         Kustomization.kustomize.toolkit.fluxcd.io shop/web of=shop owner=Team.example.com/red
         Team.example.com shop/red of=other"
    ), @r"
    Refusal declared by Kustomization shop/web: ConfigMap shop/a
    Warning reverted by Team shop/red: Kustomization shop/web
    ");
}

#[test]
fn budgets_of_the_pods_are_information() {
    insta::assert_snapshot!(notes("
        ns shop of=shop
        pod shop/a of=shop labels=app:web
        pdb shop/web of=shop selector=app:web
        pdb shop/idle of=shop selector=app:idle
    "), @"Info budgets: PodDisruptionBudget shop/web");
}

#[test]
fn view_is_bounded_and_counts_what_it_leaves_off() {
    let mut text = String::from("ns shop of=shop\n");
    for number in 0..30 {
        writeln!(text, "Widget shop/a{number:02} of=shop finalizers=example.com/same").unwrap();
    }
    for number in 0..120 {
        writeln!(text, "Widget shop/b{number:03} of=shop finalizers=example.com/f{number}")
            .unwrap();
    }
    let index = fixture::index(&text);
    let view = preflight_of(&index, &plan_of(&index)).view();
    assert_eq!((view.notes.len(), view.more, view.refusals), (100, 21, 121));
    assert_eq!((view.notes[0].objects.len(), view.notes[0].total), (10, 30));
}

#[test]
fn job_of_another_controller_and_pod_without_its_claim_are_found() {
    insta::assert_snapshot!(notes("
        node n1
        ns shop of=shop
        job shop/train of=shop managedBy=kueue.x-k8s.io/multikueue
        job shop/plain of=shop managedBy=kubernetes.io/job-controller
        pvc shop/data of=shop
        pod shop/reads of=shop node=n1 uses=claim:data
        pod shop/lost of=shop node=n1 uses=claim:gone
        pod shop/waits of=shop uses=claim:gone
    "), @r#"
    Warning PersistentVolumeClaim shop/gone is missing: Pod shop/lost
    Info left to kueue.x-k8s.io/multikueue: Job shop/train
    "#);
}

/// Its node would make the mirror again, so that a plan keeps it.
#[test]
fn static_pods_that_a_plan_keeps_are_named_with_their_node() {
    insta::assert_snapshot!(notes("
        node n1
        node n2
        ns shop of=shop
        pod shop/proxy-n1 of=shop owner=node/n1 node=n1
        pod shop/proxy-n2 of=shop owner=node/n2 node=n2
        pod shop/log-n2 of=shop owner=node/n2 node=n2
        ds shop/agent of=shop
        pod shop/agent-1 owner=ds/agent node=n1
    "), @"
    Info static on n2: Pod shop/log-n2, Pod shop/proxy-n2
    Info static on n1: Pod shop/proxy-n1
    ");
}
