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
