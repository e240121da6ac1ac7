use super::*;
use crate::fixture;

fn members(fixture: &str, unit: &str) -> Vec<String> {
    let index = fixture::index(fixture);
    let graph = Graph::of(&index);
    let units = units(&index, &graph);
    let unit =
        units.get(&UnitId::new(unit)).unwrap_or_else(|| panic!("no {unit} in {:?}", units.keys()));
    unit.members.iter().map(ToString::to_string).collect()
}

#[test]
fn unit_spans_namespaces_and_contains_all_of_its_objects() {
    let fixture = "
        ns a
        ns b
        deploy a/web of=shop
        rs a/web-1 owner=deploy/web
        pod a/web-1-a owner=rs/web-1
        sts b/db of=shop templates=data
        pvc b/data-db-0 volume=pv-1
        pv pv-1 claim=b/data-db-0
        hpa a/web target=deploy/web
        cm a/unlabelled
        pod a/other
    ";
    assert_eq!(
        members(fixture, "shop"),
        [
            "deploy:a/web",
            "hpa:a/web",
            "pod:a/web-1-a",
            "pv:pv-1",
            "pvc:b/data-db-0",
            "rs:a/web-1",
            "sts:b/db"
        ]
    );
}

#[test]
fn labelled_namespace_contributes_its_content_except_that_of_other_units() {
    let fixture = "
        ns a of=shop
        cm a/settings
        deploy a/reader of=other
        rs a/reader-1 owner=deploy/reader
        pod a/reader-1-a owner=rs/reader-1
    ";
    assert_eq!(members(fixture, "shop"), ["cm:a/settings", "ns:a"]);
    assert_eq!(members(fixture, "other"), ["deploy:a/reader", "pod:a/reader-1-a", "rs:a/reader-1"]);
    assert_eq!(
        members(fixture, "ns:a"),
        ["cm:a/settings", "deploy:a/reader", "ns:a", "pod:a/reader-1-a", "rs:a/reader-1"]
    );
}

#[test]
fn claim_and_its_volume_are_in_each_unit_that_mounts_the_claim() {
    let fixture = |more: &str| {
        format!(
            "
            ns a
            ns b
            deploy a/web of=shop uses=claim:data
            rs a/web-1 owner=deploy/web uses=claim:data
            pod a/web-1-a owner=rs/web-1 uses=claim:data
            pvc a/data volume=pv-1
            pvc b/data
            pvc a/unused
            pv pv-1 claim=a/data
            {more}
        "
        )
    };
    let own = ["deploy:a/web", "pod:a/web-1-a", "pv:pv-1", "pvc:a/data", "rs:a/web-1"];
    let tools = "job a/backup of=shop-tools uses=claim:data";
    assert_eq!(members(&fixture(""), "shop"), own);
    assert_eq!(members(&fixture("pod b/namesake uses=claim:data"), "shop"), own);
    assert_eq!(members(&fixture("pod a/other uses=claim:data"), "shop"), own, "shared");
    assert_eq!(members(&fixture(tools), "shop"), own, "shared");
    assert_eq!(members(&fixture(tools), "shop-tools"), ["job:a/backup", "pv:pv-1", "pvc:a/data"]);
    assert_eq!(members(&fixture("pvc b/data of=other volume=pv-1"), "other"), ["pvc:b/data"]);
}

#[test]
fn claim_in_a_labelled_namespace_belongs_only_to_that_unit() {
    let fixture = "
        ns a of=shop
        pvc a/data
        deploy a/reader of=other uses=claim:data
    ";
    assert_eq!(members(fixture, "shop"), ["ns:a", "pvc:a/data"]);
    assert_eq!(members(fixture, "other"), ["deploy:a/reader"]);
}

#[test]
fn namespaces_the_cluster_needs_are_not_units() {
    let index = fixture::index("ns default\n ns kube-system\n ns shop\n cm shop/a of=");
    let units = units(&index, &Graph::of(&index));
    let names: Vec<&str> = units.keys().map(UnitId::as_str).collect();
    assert_eq!(names, ["ns:shop"]);
}

#[test]
fn cycle_of_owners_belongs_to_no_unit() {
    let index = fixture::index("cm shop/a owner=cm/b\n cm shop/b owner=cm/a");
    assert!(units(&index, &Graph::of(&index)).is_empty());
}

#[test]
fn release_and_tracking_make_units_where_no_label_part_of_says_otherwise() {
    let fixture = "
        deploy a/redis labels=app.kubernetes.io/instance:redis
        rs a/redis-1 owner=deploy/redis labels=app.kubernetes.io/instance:other
        secret a/redis release=a/redis
        clusterrole redis release=a/redis
        deploy b/redis labels=app.kubernetes.io/instance:redis
        cm b/web argocd=web
        cm b/apps labels=kustomize.toolkit.fluxcd.io/name:apps,kustomize.toolkit.fluxcd.io/namespace:flux
        cm b/kapp labels=kapp.k14s.io/app:17
        cm b/both of=shop labels=app.kubernetes.io/instance:redis
        clusterrole nobody labels=app.kubernetes.io/instance:redis
    ";
    let all = ["clusterrole:redis", "deploy:a/redis", "rs:a/redis-1", "secret:a/redis"];
    assert_eq!(members(fixture, "release:a/redis"), all);
    assert_eq!(members(fixture, "release:b/redis"), ["deploy:b/redis"]);
    assert_eq!(members(fixture, "argocd:web"), ["cm:b/web"]);
    assert_eq!(members(fixture, "flux:flux/apps"), ["cm:b/apps"]);
    assert_eq!(members(fixture, "kapp:17"), ["cm:b/kapp"]);
    assert_eq!(members(fixture, "shop"), ["cm:b/both"]);
}

#[test]
fn object_of_another_unit_in_a_member_namespace_is_that_units() {
    let fixture = "ns a of=shop\n cm a/mine of=shop\n cm a/redis release=a/redis\n cm a/nobodys";
    assert_eq!(members(fixture, "shop"), ["cm:a/mine", "cm:a/nobodys", "ns:a"]);
    let index = fixture::index(fixture);
    let units = units(&index, &Graph::of(&index));
    let unclaimed: Vec<String> =
        units[&UnitId::new("shop")].unclaimed.iter().map(ToString::to_string).collect();
    assert_eq!(unclaimed, ["cm:a/nobodys"]);
}

#[test]
fn label_of_a_template_names_no_unit() {
    let fixture = "
        ns a of=shop
        deploy a/web
        rs a/web-1 owner=deploy/web labels=app.kubernetes.io/instance:web
    ";
    let index = fixture::index(fixture);
    let units = units(&index, &Graph::of(&index));
    assert_eq!(units.keys().map(UnitId::as_str).collect::<Vec<_>>(), ["ns:a", "shop"]);
    assert!(units[&UnitId::new("shop")].unclaimed.is_empty());
}
