mod blockers;
mod choices;
mod confirmed;
mod data;
mod finishers;
mod hints;
mod hidden;
mod order;
mod parents;
mod steps_behind;
mod storage;
mod summary;
mod unclaimed;
mod undeletable;
mod waived;

use super::*;
use crate::{
    fixture,
    object::OwnerRef,
    observation::{HiddenCause, Observation},
    unit::units,
};

/// A small consortium: one namespace of its own, one it shares with a bystander.
const CONSORTIUM: &str = "
    ns org1 of=consortium
    ns org2 of=consortium
    sts org1/couch of=consortium selector=app:couch template=app:couch templates=data
    pod org1/couch-0 owner=sts/couch labels=app:couch uses=claim:data-couch-0,account:peer
    pvc org1/data-couch-0 volume=pv-couch
    pv pv-couch claim=org1/data-couch-0 reclaim=Delete capacity=2Gi
    deploy org1/peer of=consortium selector=app:peer template=app:peer uses=claim:ledger,config:core,account:peer
    rs org1/peer-1 owner=deploy/peer selector=app:peer template=app:peer uses=claim:ledger,config:core,account:peer
    pod org1/peer-1-a owner=rs/peer-1 labels=app:peer uses=claim:ledger,config:core,account:peer
    pvc org1/ledger of=consortium volume=pv-ledger
    pv pv-ledger claim=org1/ledger capacity=5Gi
    cm org1/core of=consortium
    sa org1/peer of=consortium
    sa org1/default
    cm org1/kube-root-ca.crt
    role org1/peer of=consortium
    rb org1/peer of=consortium accounts=peer role=role/peer
    svc org1/peer of=consortium selector=app:peer
    endpoints org1/peer-x7 of=consortium owner=svc/peer
    ing org1/peer of=consortium routes=peer
    hpa org1/peer of=consortium target=deploy/peer
    netpol org1/peer of=consortium selector=app:peer
    pvc org2/shared of=consortium volume=pv-shared
    pv pv-shared of=consortium claim=org2/shared
    cm org2/channel of=consortium
    deploy org2/reader of=bystander selector=app:reader template=app:reader uses=claim:shared,config:channel
    pod org2/reader-a owner=deploy/reader labels=app:reader uses=claim:shared,config:channel
";

const STORAGE: &str = "ns a\n deploy a/web of=shop uses=claim:data\n pvc a/data volume=pv-1\n \
                       pv pv-1 claim=a/data reclaim=Delete";

fn plan_of(fixture: &str, unit: &str) -> Result<Plan, PlanError> {
    plan_with(fixture, unit, &[])
}

/// The plan with these choices, each as `name=value`.
fn plan_with(fixture: &str, unit: &str, choices: &[&str]) -> Result<Plan, PlanError> {
    let index = fixture::index(fixture);
    let graph = Graph::of(&index);
    let units = units(&index, &graph);
    let choices = choices.iter().map(|choice| {
        let (name, value) = choice.split_once('=').unwrap();
        Choice::read(name, value).unwrap()
    });
    let unit = &units[&UnitId::new(unit)];
    plan(&index, &graph, unit, &choices.collect(), fixture::now())
}

/// The edges that a plan gave up, each from what should have gone first to what should have followed.
fn given_up(plan: &Plan) -> Vec<String> {
    plan.given_up.iter().map(|it| format!("{} {:?} {}", it.first, it.edge, it.then)).collect()
}

/// A plan in a short notation.
fn text(plan: &Plan) -> String {
    let mut lines = Vec::new();
    for step in &plan.steps {
        let after: BTreeSet<String> = step
            .after
            .iter()
            .filter_map(|blocker| {
                let first = &plan.step(blocker.step)?.uid;
                Some(if blocker.phase == DeletionPhase::PodsGone {
                    format!("{first}+pods")
                } else {
                    first.to_string()
                })
            })
            .collect();
        let action = match step.action {
            StepAction::Delete { propagation: Propagation::Background } => "",
            StepAction::Delete { propagation: Propagation::Orphan } => " orphan",
            StepAction::Await => " await",
            StepAction::Suspend => " suspend",
        };
        let after = after.into_iter().collect::<Vec<_>>().join(" ");
        lines.push(
            format!("{} {}{action} < {after}", step.wave, step.uid)
                .trim_end_matches(" < ")
                .to_owned(),
        );
    }
    for kept in &plan.kept {
        let why = match &kept.reason {
            KeptReason::UsedBy { user, edge, .. } => format!("used by {user} ({edge:?})"),
            KeptReason::NeededBy { user, edge, .. } => format!("needed by {user} ({edge:?})"),
            other => format!("{other:?}"),
        };
        lines.push(format!("keep {}: {why}", kept.uid));
    }
    for fate in &plan.data {
        lines.push(format!(
            "data {}: {:?} {}",
            fate.volume.name,
            fate.fate,
            fate.capacity.as_deref().unwrap_or("?")
        ));
    }
    lines.join("\n")
}

#[test]
fn plan_orders_the_unit_and_keeps_objects_that_others_need() {
    insta::assert_snapshot!(text(&plan_of(CONSORTIUM, "consortium").unwrap()), @r"
    1 sts:org1/couch
    1 hpa:org1/peer
    1 ing:org1/peer
    2 pod:org1/couch-0 < sts:org1/couch
    2 deploy:org1/peer < hpa:org1/peer ing:org1/peer
    3 pvc:org1/data-couch-0 < pod:org1/couch-0 sts:org1/couch+pods
    3 rs:org1/peer-1 < deploy:org1/peer ing:org1/peer
    4 pv:pv-couch await < pvc:org1/data-couch-0
    4 pod:org1/peer-1-a < ing:org1/peer rs:org1/peer-1
    5 cm:org1/core < deploy:org1/peer+pods pod:org1/peer-1-a rs:org1/peer-1+pods
    5 pvc:org1/ledger < deploy:org1/peer+pods pod:org1/peer-1-a rs:org1/peer-1+pods
    5 svc:org1/peer < deploy:org1/peer+pods ing:org1/peer pod:org1/peer-1-a rs:org1/peer-1+pods
    5 sa:org1/peer < deploy:org1/peer+pods pod:org1/couch-0 pod:org1/peer-1-a rs:org1/peer-1+pods
    5 netpol:org1/peer < deploy:org1/peer+pods pod:org1/peer-1-a rs:org1/peer-1+pods
    5 rb:org1/peer < deploy:org1/peer+pods pod:org1/couch-0 pod:org1/peer-1-a rs:org1/peer-1+pods
    6 role:org1/peer < rb:org1/peer
    7 ns:org1 < cm:org1/core deploy:org1/peer hpa:org1/peer ing:org1/peer netpol:org1/peer pod:org1/couch-0 pod:org1/peer-1-a pvc:org1/data-couch-0 pvc:org1/ledger rb:org1/peer role:org1/peer rs:org1/peer-1 sa:org1/peer sts:org1/couch svc:org1/peer
    keep cm:org2/channel: used by Deployment org2/reader (Mounts)
    keep ns:org2: used by Deployment org2/reader (Contains)
    keep pv:pv-ledger: RetainedVolume
    keep pv:pv-shared: needed by PersistentVolumeClaim org2/shared (Binds)
    keep pvc:org2/shared: used by Deployment org2/reader (Mounts)
    data pv-couch: Destroyed 2Gi
    data pv-ledger: LeftBehind 5Gi
    data pv-shared: Kept ?
    ");
}

#[test]
fn cycle_is_refused_with_its_path() {
    let circle = "
        Widget.example.com shop/a of=shop owner=Widget.example.com/c
        Widget.example.com shop/b of=shop owner=Widget.example.com/a
        Widget.example.com shop/c of=shop owner=Widget.example.com/b
        Widget.example.com shop/d of=shop owner=Widget.example.com/c
    ";
    let Err(PlanError::Cycle { path }) = plan_of(circle, "shop") else { panic!("no circle") };
    let path: Vec<String> = path.iter().map(ObjectRef::to_string).collect();
    assert_eq!(path.join(" → "), "Widget shop/a → Widget shop/b → Widget shop/c → Widget shop/a");
}

/// ConfigMaps make nothing, so that none of them would be re-created.
#[test]
fn cycle_of_owners_that_make_nothing_gives_one_edge_up() {
    let circle = "
        cm shop/a of=shop owner=cm/b
        cm shop/b of=shop owner=cm/a
    ";
    let plan = plan_of(circle, "shop").unwrap();
    insta::assert_snapshot!(text(&plan), @r"
    1 cm:shop/a
    2 cm:shop/b < cm:shop/a
    ");
    assert_eq!(plan.given_up.len(), 1);
}

#[test]
fn unit_without_deletable_objects_has_no_plan() {
    let fixture = "
        cm shop/a of=shop
        pod shop/reader uses=config:a
    ";
    assert_eq!(plan_of(fixture, "shop"), Err(PlanError::Empty));
}

#[test]
fn namespaces_the_cluster_needs_are_never_steps() {
    let fixture = "
        ns kube-system of=shop
        ns default of=shop
        cm default/a of=shop
    ";
    insta::assert_snapshot!(text(&plan_of(fixture, "shop").unwrap()), @r"
    1 cm:default/a
    keep ns:default: Protected
    keep ns:kube-system: Protected
    ");
}

#[test]
fn volume_of_a_kept_claim_is_kept_and_not_released() {
    for reclaim in ["Retain", "Recycle", "Delete"] {
        let fixture = format!(
            "
            cm shop/a of=shop
            pvc shop/data of=shop volume=pv-data
            pv pv-data claim=shop/data reclaim={reclaim}
            pod shop/reader uses=claim:data
            "
        );
        let plan = text(&plan_of(&fixture, "shop").unwrap());
        let needed = "keep pv:pv-data: needed by PersistentVolumeClaim shop/data (Binds)";
        assert!(plan.contains(needed), "{reclaim}: {plan}");
    }
    // Other objects that refer to the volume do not keep its data.
    let owned = "
        deploy other/pool
        pvc shop/data of=shop volume=pv-data
        pv pv-data claim=shop/data reclaim=Recycle owner=deploy/pool
        Backup.example.com other/b refs=pv/pv-data
    ";
    let plan = text(&plan_of(owned, "shop").unwrap());
    assert!(plan.contains("keep pv:pv-data: RecycledVolume"), "{plan}");
}

#[test]
fn claims_owned_by_a_statefulset_go_after_its_pods() {
    let fixture = "
        sts shop/db of=shop selector=app:db template=app:db templates=data whenDeleted=Delete
        pod shop/db-0 owner=sts/db labels=app:db uses=claim:data-db-0
        pvc shop/data-db-0 owner=sts/db
    ";
    insta::assert_snapshot!(text(&plan_of(fixture, "shop").unwrap()), @r"
    1 sts:shop/db orphan
    2 pod:shop/db-0 < sts:shop/db
    3 pvc:shop/data-db-0 < pod:shop/db-0 sts:shop/db+pods
    ");
}

#[test]
fn statefulset_that_deletes_its_claims_orphans_them_while_claims_are_hidden() {
    let fixture = "
        sts shop/db of=shop selector=app:db template=app:db templates=data whenDeleted=Delete
        pod shop/db-0 owner=sts/db labels=app:db uses=claim:data-db-0
    ";
    insta::assert_snapshot!(text(&plan_of(fixture, "shop").unwrap()), @r"
    1 sts:shop/db orphan
    2 pod:shop/db-0 < sts:shop/db
    ");
}

#[test]
fn owner_of_a_kept_object_orphans_it() {
    let fixture = "
        Widget.example.com shop/main of=shop
        deploy shop/web owner=Widget.example.com/main of=shop template=app:web
        cm shop/settings owner=deploy/web
        cm shop/other owner=Widget.example.com/side of=other
        Widget.example.com shop/side of=shop
        Widget.example.com shop/plain of=shop
        cm shop/own owner=Widget.example.com/plain
        deploy shop/reader of=bystander template=app:reader uses=config:settings
    ";
    insta::assert_snapshot!(text(&plan_of(fixture, "shop").unwrap()), @r"
    1 Widget.example.com:shop/main orphan
    1 Widget.example.com:shop/plain
    1 Widget.example.com:shop/side orphan
    2 cm:shop/own < Widget.example.com:shop/plain
    2 deploy:shop/web orphan < Widget.example.com:shop/main
    keep cm:shop/settings: used by Deployment shop/reader (Mounts)
    ");
}

#[test]
fn objects_of_an_operator_wait_for_its_pods() {
    let fixture = "
        Cluster.db.example shop/db of=shop
        sts shop/db owner=Cluster.db.example/db selector=app:db template=app:db uses=secret:login
        pod shop/db-0 owner=sts/db labels=app:db uses=claim:data-0,secret:login,account:db
        pvc shop/data-0 owner=Cluster.db.example/db
        secret shop/login owner=Cluster.db.example/db
        sa shop/db owner=Cluster.db.example/db
        svc shop/db owner=Cluster.db.example/db selector=app:db
        pod shop/single owner=Cluster.db.example/db
    ";
    insta::assert_snapshot!(text(&plan_of(fixture, "shop").unwrap()), @r"
    1 Cluster.db.example:shop/db orphan
    2 pod:shop/single < Cluster.db.example:shop/db
    2 sts:shop/db < Cluster.db.example:shop/db
    3 pod:shop/db-0 < sts:shop/db
    4 pvc:shop/data-0 < Cluster.db.example:shop/db pod:shop/db-0
    4 secret:shop/login < Cluster.db.example:shop/db pod:shop/db-0 sts:shop/db+pods
    4 svc:shop/db < Cluster.db.example:shop/db pod:shop/db-0 sts:shop/db+pods
    4 sa:shop/db < Cluster.db.example:shop/db pod:shop/db-0
    ");
}

#[test]
fn objects_that_wait_only_for_their_owners_are_left_to_the_collector() {
    let fixture = "
        cronjob shop/report of=shop template=app:report
        job shop/report-1 owner=cronjob/report template=app:report
        pod shop/report-1-a owner=job/report-1 labels=app:report uses=claim:report-1-a-scratch
        pvc shop/report-1-a-scratch owner=pod/report-1-a
        deploy shop/web of=shop template=app:web selector=app:web
        rs shop/web-1 owner=deploy/web selector=app:web template=app:web
        pod shop/web-1-a owner=rs/web-1 labels=app:web
    ";
    insta::assert_snapshot!(text(&plan_of(fixture, "shop").unwrap()), @r"
    1 deploy:shop/web
    1 cronjob:shop/report
    2 rs:shop/web-1 < deploy:shop/web
    2 job:shop/report-1 < cronjob:shop/report
    3 pod:shop/report-1-a < job:shop/report-1
    3 pod:shop/web-1-a < rs:shop/web-1
    4 pvc:shop/report-1-a-scratch < pod:shop/report-1-a
    ");
}

#[test]
fn plans_are_equal_only_for_equal_clusters() {
    let first = plan_of(CONSORTIUM, "consortium").unwrap();
    let again = plan_of(CONSORTIUM, "consortium").unwrap();
    assert_eq!(first, again);
    assert_eq!(differences(&first, &again), []);

    let renewed = CONSORTIUM.replace("cm org1/core ", "cm org1/core uid=younger ");
    let moved = plan_of(&renewed, "consortium").unwrap();
    assert_ne!(first.hash, moved.hash);
    assert_eq!(changes(&first, &moved), ["recreated ConfigMap org1/core"]);

    let fewer = without("hpa ");
    assert_eq!(
        changes(&first, &plan_of(&fewer, "consortium").unwrap()),
        ["removed HorizontalPodAutoscaler org1/peer"]
    );
    // The confirmed plan had no autoscaler in front of the Deployment.
    assert_eq!(
        changes(&plan_of(&fewer, "consortium").unwrap(), &first),
        [
            "changed Namespace org1",
            "changed Deployment org1/peer",
            "added HorizontalPodAutoscaler org1/peer"
        ]
    );
}

/// The fixture without the lines that contain this text.
fn without(line: &str) -> String {
    CONSORTIUM.lines().filter(|text| !text.contains(line)).collect::<Vec<_>>().join("\n")
}

fn changes(old: &Plan, new: &Plan) -> Vec<String> {
    differences(old, new)
        .into_iter()
        .map(|difference| match difference {
            Difference::Added { object } => format!("added {object}"),
            Difference::Removed { object } => format!("removed {object}"),
            Difference::Recreated { object } => format!("recreated {object}"),
            Difference::Changed { object } => format!("changed {object}"),
            Difference::Hidden { resource } => format!("hidden {resource}"),
        })
        .collect()
}

#[test]
fn objects_that_controllers_create_for_a_planned_object_are_no_difference() {
    let before = format!(
        "{CONSORTIUM}\n cronjob org1/report of=consortium template=app:report uses=config:core"
    );
    let fired = format!(
        "{before}
        job org1/report-1 owner=cronjob/report template=app:report uses=config:core
        pod org1/report-1-a owner=job/report-1 labels=app:report uses=config:core"
    );
    let old = plan_of(&before, "consortium").unwrap();
    let new = plan_of(&fired, "consortium").unwrap();
    assert_ne!(old.hash, new.hash);
    assert_eq!(changes(&old, &new), Vec::<String>::new());
    assert_eq!(changes(&new, &old), Vec::<String>::new(), "the Job was cleaned up");

    let rolled = CONSORTIUM.replace("peer-1", "peer-2");
    let old = plan_of(CONSORTIUM, "consortium").unwrap();
    assert_eq!(changes(&old, &plan_of(&rolled, "consortium").unwrap()), Vec::<String>::new());
}

#[test]
fn new_dependents_that_would_be_orphaned_or_hold_data_are_a_difference() {
    let old = plan_of(CONSORTIUM, "consortium").unwrap();
    // A claim, although the StatefulSet owns it.
    let scaled = format!("{CONSORTIUM}\n pvc org1/data-couch-1 owner=sts/couch volume=pv-couch-1");
    let scaled = plan_of(&scaled, "consortium").unwrap();
    assert!(
        changes(&old, &scaled)
            .contains(&"added PersistentVolumeClaim org1/data-couch-1".to_owned())
    );

    // A Pod of a workload whose DELETE orphans its dependents.
    let owning =
        CONSORTIUM.replace("pvc org1/data-couch-0 ", "pvc org1/data-couch-0 owner=sts/couch ");
    let more = format!("{owning}\n pod org1/couch-1 owner=sts/couch labels=app:couch");
    let (owning, more) =
        (plan_of(&owning, "consortium").unwrap(), plan_of(&more, "consortium").unwrap());
    assert!(changes(&owning, &more).contains(&"added Pod org1/couch-1".to_owned()));

    // A dependent that stays now, because an object outside the unit uses it.
    let owned = CONSORTIUM.replace("cm org1/core ", "cm org1/core owner=deploy/peer ");
    let used = format!("{owned}\n deploy org1/reader of=bystander template=app:r uses=config:core");
    let (owned, used) =
        (plan_of(&owned, "consortium").unwrap(), plan_of(&used, "consortium").unwrap());
    assert!(changes(&owned, &used).contains(&"removed ConfigMap org1/core".to_owned()));
}

#[test]
fn bindings_of_people_go_with_their_namespace() {
    // The person who runs the plan may have their rights through this binding.
    let fixture = "
        ns shop of=shop
        cm shop/a of=shop
        role shop/team
        rb shop/team people=yes role=role/team
        role shop/web of=shop
        rb shop/web of=shop people=yes role=role/web
    ";
    insta::assert_snapshot!(text(&plan_of(fixture, "shop").unwrap()), @r"
    1 cm:shop/a
    1 rb:shop/web
    2 role:shop/web < rb:shop/web
    3 ns:shop < cm:shop/a rb:shop/web role:shop/web
    keep role:shop/team: Access
    keep rb:shop/team: Access
    ");
}

#[test]
fn new_objects_of_an_operator_that_go_first_are_a_difference() {
    // K's operator creates Pods that the plan could not predict.
    let before = "ns shop of=shop\n Widget.example.com shop/k of=shop\n secret shop/key of=shop";
    let after = format!("{before}\n pod shop/k-1 owner=Widget.example.com/k uses=secret:key");
    let plan = |text: &str| plan_of(text, "shop").unwrap();
    assert_eq!(changes(&plan(before), &plan(&after)), ["changed Secret shop/key"]);
    // A webhook gave the Pods a ConfigMap that is not in their template.
    let before = "ns shop of=shop\n deploy shop/web of=shop selector=app:web template=app:web
        pod shop/web-1 owner=deploy/web labels=app:web uses=config:injected
        cm shop/injected of=shop";
    assert_eq!(
        changes(&plan(before), &plan(&before.replace("web-1", "web-2"))),
        ["changed ConfigMap shop/injected"]
    );
}

#[test]
fn new_objects_of_an_operator_other_than_pods_are_a_difference() {
    let before = "ns shop of=shop\n Widget.example.com shop/k of=shop";
    let after = format!("{before}\n Snapshot.example.com shop/s owner=Widget.example.com/k");
    let plan = |text: &str| plan_of(text, "shop").unwrap();
    let found = changes(&plan(before), &plan(&after));
    assert!(found.contains(&"added Snapshot shop/s".to_owned()), "{found:?}");
}

#[test]
fn objects_owned_by_pods_are_no_difference() {
    let plan = |pod: &str| {
        let fixture = format!(
            "ns shop of=shop\n deploy shop/web of=shop selector=app:web template=app:web
             pod shop/{pod} owner=deploy/web labels=app:web\n CiliumEndpoint.cilium.io shop/{pod} owner=pod/{pod}"
        );
        plan_of(&fixture, "shop").unwrap()
    };
    assert_eq!(changes(&plan("web-1"), &plan("web-2")), [""; 0]);
}

#[test]
fn volume_reserved_for_a_kept_claim_stays() {
    let fixture = "
        ns shop
        pvc shop/data of=shop
        pv pv of=shop claim=shop/data
        pod shop/reader of=bystander uses=claim:data
        cm shop/c of=shop
    ";
    insta::assert_snapshot!(text(&plan_of(fixture, "shop").unwrap()), @r"
    1 cm:shop/c
    keep pv:pv: used by PersistentVolumeClaim shop/data (Binds)
    keep pvc:shop/data: used by Pod shop/reader (Mounts)
    data pv: Kept ?
    ");
}

/// The objects of the unit `shop` that stay, and those that go.
fn kept_and_going(index: &Index) -> (Vec<String>, Vec<String>) {
    let graph = Graph::of(index);
    let unit = &units(index, &graph)[&UnitId::new("shop")];
    let plan = plan(index, &graph, unit, &Choices::default(), fixture::now()).unwrap();
    let reason = |kept: &Kept| match &kept.reason {
        KeptReason::HiddenController { kind, name } => format!("{}: {kind} {name}", kept.object),
        KeptReason::NeededBy { user, .. } => format!("{} for {user}", kept.object),
        KeptReason::HiddenUsers { resource, namespace } => {
            let within = namespace.as_ref().map(|it| format!(" in {it}")).unwrap_or_default();
            format!("{}: {resource}{within}", kept.object)
        }
        other => format!("{}: {other:?}", kept.object),
    };
    let going = plan.steps.iter().map(|step| step.object.to_string());
    (plan.kept.iter().map(reason).collect(), going.collect())
}

#[test]
fn node_is_never_a_step() {
    let (kept, going) =
        kept_and_going(&fixture::index("node n1 of=shop\n cm shop/c of=shop\n pod lab/x node=n1"));
    assert_eq!(
        (kept, going),
        (vec!["Node n1: Protected".to_owned()], vec!["ConfigMap shop/c".to_owned()])
    );
}

const ORPHANED: &str =
    "ns shop of=shop\n cm shop/c of=shop\n rs shop/web-1 of=shop owner=deploy/web selector=app:web";

#[test]
fn object_with_a_hidden_controller_stays() {
    let stays =
        ["ReplicaSet shop/web-1: Deployment web", "Namespace shop for ReplicaSet shop/web-1"];
    let goes = ["ConfigMap shop/c"];
    let mut index = fixture::index(ORPHANED);
    let (kept, going) = kept_and_going(&index);
    assert_eq!((kept.len(), going.len()), (0, 3), "{kept:?}: its Deployment is gone");

    let hidden = |resource: &str| {
        let (cause, message) = (HiddenCause::Forbidden, "no".into());
        Observation::Hidden { resource: resource.to_owned(), cause, message }
    };
    index.apply([hidden("deployments.apps")], fixture::now());
    let (mut kept, going) = kept_and_going(&index);
    kept.sort_by_key(|line| !line.starts_with("ReplicaSet"));
    assert_eq!(
        (kept, going),
        (stays.map(str::to_owned).to_vec(), goes.map(str::to_owned).to_vec())
    );

    // A kind other than Deployment, or one of another group, does not hide Deployments.
    for resource in ["daemonsets.apps", "wares.example.com/v1", "deployments.example.com"] {
        let mut index = fixture::index(ORPHANED);
        index.apply([hidden(resource)], fixture::now());
        assert_eq!(kept_and_going(&index).0, Vec::<String>::new(), "{resource}");
    }
    let mut index = fixture::index(ORPHANED);
    index.apply([hidden("apps/v1")], fixture::now());
    assert!(kept_and_going(&index).0.contains(&stays[0].to_owned()));
}

#[test]
fn object_with_a_controller_of_an_unknown_kind_stays_while_a_group_is_hidden() {
    let mut object = fixture::object("cm shop/c of=shop owner=deploy/web");
    // A kind of the same name in another group is visible.
    let ware = ("wares.example.com".into(), "Deployment".into());
    object.owners = [OwnerRef { group: ware.0, kind: ware.1, ..object.owners[0].clone() }].into();
    let mut index = fixture::index("ns shop of=shop\n sa shop/a of=shop");
    index.apply([Observation::Applied(Box::new(object))], fixture::now());
    assert_eq!(kept_and_going(&index).0, Vec::<String>::new());
    let (resource, cause) = ("wares.example.com/v1".to_owned(), HiddenCause::Discovery);
    index.apply([Observation::Hidden { resource, cause, message: "no".into() }], fixture::now());
    assert!(kept_and_going(&index).0.contains(&"ConfigMap shop/c: Deployment web".to_owned()));
}

#[test]
fn new_object_stays_until_its_controller_is_visible() {
    let fresh = format!("{ORPHANED} age=59");
    let mut index = fixture::index(&fresh);
    assert!(kept_and_going(&index).0.contains(&"ReplicaSet shop/web-1: Deployment web".to_owned()));
    let deployment = "deploy shop/web of=shop selector=app:web template=app:web";
    index.apply([Observation::Applied(Box::new(fixture::object(deployment)))], fixture::now());
    assert_eq!(kept_and_going(&index).0, Vec::<String>::new());
    let (kind, uid) = (fixture::kind("deploy"), fixture::uid("deploy:shop/web"));
    index.apply([Observation::Deleted { kind, uid }], fixture::now());
    assert_eq!(kept_and_going(&index).0, Vec::<String>::new(), "its deletion was observed");
}
