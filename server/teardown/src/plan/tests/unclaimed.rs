//! Tests of objects that nobody declared part of the unit.

use super::*;

#[test]
fn storage_that_others_mount_stays_and_is_listed_with_its_data() {
    let alone = plan_of(STORAGE, "shop").unwrap();
    insta::assert_snapshot!(text(&alone), @r"
    1 deploy:a/web
    keep pv:pv-1: needed by PersistentVolumeClaim a/data (Binds)
    keep pvc:a/data: Unclaimed
    data pv-1: Kept ?
    ");
    let included = plan_with(STORAGE, "shop", &["include=PersistentVolumeClaim/a/data"]).unwrap();
    insta::assert_snapshot!(text(&included), @r"
    1 deploy:a/web
    2 pvc:a/data < deploy:a/web+pods
    3 pv:pv-1 await < pvc:a/data
    data pv-1: Destroyed ?
    ");
    let shared = plan_of(&format!("{STORAGE}\n cronjob a/backup of=tools uses=claim:data"), "shop");
    insta::assert_snapshot!(text(&shared.unwrap()), @r"
    1 deploy:a/web
    keep pv:pv-1: needed by PersistentVolumeClaim a/data (Binds)
    keep pvc:a/data: used by CronJob a/backup (Mounts)
    data pv-1: Kept ?
    ");
}

/// A namespace of `shop` with objects that nobody labelled.
const SHOP: &str = "
    ns shop of=shop
    deploy shop/web of=shop selector=app:web template=app:web uses=config:settings
    rs shop/web-1 owner=deploy/web selector=app:web template=app:web
    cm shop/settings of=shop
    cm shop/kube-root-ca.crt
    cm shop/istio-ca-root-cert
    cm shop/openshift-service-ca.crt
    sa shop/default
    deploy shop/shell selector=app:shell template=app:shell uses=config:settings,config:notes
    rs shop/shell-1 owner=deploy/shell selector=app:shell template=app:shell
    cm shop/notes
";

#[test]
fn unclaimed_object_stays_with_what_it_needs_and_the_namespace() {
    insta::assert_snapshot!(text(&plan_of(SHOP, "shop").unwrap()), @r"
    1 deploy:shop/web
    2 rs:shop/web-1 < deploy:shop/web
    keep cm:shop/notes: Unclaimed
    keep cm:shop/settings: needed by Deployment shop/shell (Mounts)
    keep ns:shop: needed by ConfigMap shop/notes (Contains)
    keep deploy:shop/shell: Unclaimed
    keep rs:shop/shell-1: needed by Deployment shop/shell (Owns)
    ");
}

#[test]
fn unclaimed_objects_are_included_singly_or_all() {
    let one = plan_with(SHOP, "shop", &["include=Deployment.apps/shop/shell"]).unwrap();
    insta::assert_snapshot!(text(&one), @r"
    1 deploy:shop/shell
    1 deploy:shop/web
    2 cm:shop/settings < deploy:shop/shell+pods deploy:shop/web+pods
    2 rs:shop/shell-1 < deploy:shop/shell
    2 rs:shop/web-1 < deploy:shop/web
    keep cm:shop/notes: Unclaimed
    keep ns:shop: needed by ConfigMap shop/notes (Contains)
    ");
    let all = plan_with(SHOP, "shop", &["include=*"]).unwrap();
    assert_eq!((all.steps.len(), all.kept.len()), (7, 0), "{}", text(&all));
}

#[test]
fn content_belongs_where_no_object_names_a_unit() {
    let fixture = "
        ns shop of=shop
        cm shop/settings
        pvc shop/data
        Widget.example.com shop/main
        sts shop/db owner=Widget.example.com/main
        VolumeSnapshot.snapshot.storage.k8s.io shop/daily
    ";
    let plan = plan_of(fixture, "shop").unwrap();
    assert_eq!((plan.steps.len(), plan.kept.len()), (6, 0), "{}", text(&plan));
    let by_name: Vec<String> = plan.by_name.iter().map(ToString::to_string).collect();
    assert_eq!(
        by_name,
        ["PersistentVolumeClaim shop/data", "Widget shop/main", "VolumeSnapshot shop/daily"]
    );
    // One object that names any unit makes the others unclaimed.
    let named = plan_of(&format!("{fixture}\n cm shop/theirs of=other"), "shop");
    assert_eq!(named, Err(PlanError::Empty));
}

#[test]
fn namespace_as_a_unit_has_no_unclaimed_objects() {
    let plan = plan_of(SHOP, "ns:shop").unwrap();
    assert_eq!((plan.steps.len(), plan.kept.len()), (7, 0), "{}", text(&plan));
    assert!(plan.by_name.is_empty(), "its name says that all of it goes");
}

#[test]
fn critical_workload_and_the_servers_own_namespace_stay() {
    let fixture = "
        deploy shop/dns of=shop critical=yes uses=config:zones
        pod shop/proxy of=shop critical=yes
        cm shop/zones of=shop
        deploy shop/web of=shop
        ns unwind of=shop
        deploy unwind/unwind of=shop
    ";
    let plan = |own: Option<&str>| {
        let mut index = fixture::index(fixture);
        index.apply(own.map(|it| Observation::RunsIn { namespace: it.into() }), fixture::now());
        let graph = Graph::of(&index);
        let unit = &units(&index, &graph)[&UnitId::new("shop")];
        text(&plan(&index, &graph, unit, &Choices::default(), fixture::now()).unwrap())
    };
    insta::assert_snapshot!(plan(Some("unwind")), @r"
    1 deploy:shop/web
    keep cm:shop/zones: needed by Deployment shop/dns (Mounts)
    keep ns:unwind: Protected
    keep pod:shop/proxy: Protected
    keep deploy:shop/dns: Protected
    keep deploy:unwind/unwind: Protected
    ");
    insta::assert_snapshot!(plan(Some("other")), @r"
    1 deploy:shop/web
    1 deploy:unwind/unwind
    2 ns:unwind < deploy:unwind/unwind
    keep cm:shop/zones: needed by Deployment shop/dns (Mounts)
    keep pod:shop/proxy: Protected
    keep deploy:shop/dns: Protected
    ");
}

#[test]
fn namespace_unit_contains_everything_in_it() {
    insta::assert_snapshot!(text(&plan_of(CONSORTIUM, "ns:org2").unwrap()), @r"
    1 deploy:org2/reader
    2 pod:org2/reader-a < deploy:org2/reader
    3 cm:org2/channel < deploy:org2/reader+pods pod:org2/reader-a
    3 pvc:org2/shared < deploy:org2/reader+pods pod:org2/reader-a
    4 ns:org2 < cm:org2/channel deploy:org2/reader pod:org2/reader-a pvc:org2/shared
    keep pv:pv-shared: RetainedVolume
    data pv-shared: LeftBehind ?
    ");
}

/// The binding gives rights to people and to the account; only the binding and its Role are access.
#[test]
fn account_in_a_binding_of_people_goes() {
    let fixture = "
        ns shop
        sa shop/web
        role shop/team
        rb shop/team people=yes accounts=web role=role/team
    ";
    insta::assert_snapshot!(text(&plan_of(fixture, "ns:shop").unwrap()), @r"
    1 sa:shop/web
    2 ns:shop < sa:shop/web
    keep role:shop/team: Access
    keep rb:shop/team: Access
    ");
}

#[test]
fn role_binding_of_the_accounts_of_another_namespace_goes_with_its_own() {
    let fixture = "
        ns dev of=dev
        cm dev/a of=dev
        rb dev/pullers accounts=stage/* role=clusterrole/puller
        deploy stage/web of=stage
    ";
    insta::assert_snapshot!(text(&plan_of(fixture, "dev").unwrap()), @r"
    1 cm:dev/a
    2 ns:dev < cm:dev/a
    keep rb:dev/pullers: Access
    ");
}
