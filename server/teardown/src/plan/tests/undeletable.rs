//! Tests of objects of a kind without the verb `delete`: here the Reports of `stats.example`.

use super::*;

/// The plan of `shop`, as text.
fn plan_without_the_verb(fixture: &str) -> String {
    let mut index = fixture::index(fixture);
    let resources = [String::from("reports.stats.example")].into();
    index.apply([Observation::Undeletable(resources)], fixture::now());
    let graph = Graph::of(&index);
    let unit = &units(&index, &graph)[&UnitId::new("shop")];
    text(&plan(&index, &graph, unit, &Choices::default(), fixture::now()).unwrap())
}

#[test]
fn object_that_cannot_be_deleted_stays_and_its_namespace_goes() {
    insta::assert_snapshot!(plan_without_the_verb("
        ns shop of=shop
        cm shop/a of=shop
        Report.stats.example shop/r of=shop
        Report.stats.example shop/unclaimed
    "), @r"
    1 cm:shop/a
    2 ns:shop < cm:shop/a
    keep Report.stats.example:shop/r: NoDeleteVerb
    keep Report.stats.example:shop/unclaimed: NoDeleteVerb
    ");
}

#[test]
fn object_that_cannot_be_deleted_keeps_what_its_spec_names() {
    insta::assert_snapshot!(plan_without_the_verb("
        ns shop of=shop
        cm shop/a of=shop
        secret shop/s of=shop
        Report.stats.example shop/r of=shop refs=secret/s
    "), @r"
    1 cm:shop/a
    keep ns:shop: needed by Secret shop/s (Contains)
    keep secret:shop/s: needed by Report shop/r (Refers)
    keep Report.stats.example:shop/r: NoDeleteVerb
    ");
}

/// The garbage collector leaves the Report alone, so that its owner need not orphan anything.
#[test]
fn object_that_cannot_be_deleted_holds_neither_its_api_nor_its_owner() {
    insta::assert_snapshot!(plan_without_the_verb("
        ns apis
        svc apis/stats of=shop
        apiservice v1.stats.example of=shop service=apis/stats
        Board.example.com apis/b of=shop
        Report.stats.example apis/r of=shop owner=Board.example.com/b
    "), @r"
    1 apiservice:v1.stats.example
    1 Board.example.com:apis/b
    2 svc:apis/stats < apiservice:v1.stats.example
    keep Report.stats.example:apis/r: NoDeleteVerb
    ");
}

/// A parent that prunes what it declares would wait for the object for ever.
#[test]
fn parent_of_an_object_that_cannot_be_deleted_stays_suspended() {
    const MARKS: &str =
        "labels=kustomize.toolkit.fluxcd.io/name:web,kustomize.toolkit.fluxcd.io/namespace:shop";
    let fixture = format!(
        "cm shop/a of=shop {MARKS}
         Report.stats.example shop/r of=shop {MARKS}
         Kustomization.kustomize.toolkit.fluxcd.io shop/web of=shop"
    );
    insta::assert_snapshot!(plan_without_the_verb(&fixture), @r"
    1 Kustomization.kustomize.toolkit.fluxcd.io:shop/web suspend
    1 cm:shop/a
    keep Kustomization.kustomize.toolkit.fluxcd.io:shop/web: needed by Report shop/r (Declares)
    keep Report.stats.example:shop/r: NoDeleteVerb
    ");
}

#[test]
fn unit_of_nothing_that_can_be_deleted_has_no_plan() {
    let mut index = fixture::index("Report.stats.example shop/r of=shop");
    let resources = [String::from("reports.stats.example")].into();
    index.apply([Observation::Undeletable(resources)], fixture::now());
    let graph = Graph::of(&index);
    let unit = &units(&index, &graph)[&UnitId::new("shop")];
    let plan = plan(&index, &graph, unit, &Choices::default(), fixture::now());
    assert_eq!(plan, Err(PlanError::Empty));
}

/// The namespace controller lets the namespace go all the same, but a Secret that the Report names would be missed.
#[test]
fn object_of_others_that_cannot_be_deleted_keeps_what_it_names_and_not_its_namespace() {
    insta::assert_snapshot!(plan_without_the_verb("
        ns shop of=shop
        ns lab of=shop
        cm shop/a of=shop
        secret lab/s of=shop
        Report.stats.example shop/theirs of=other
        Report.stats.example lab/theirs of=other refs=secret/s
    "), @r"
    1 cm:shop/a
    2 ns:shop < cm:shop/a
    keep ns:lab: needed by Secret lab/s (Contains)
    keep secret:lab/s: used by Report lab/theirs (Refers)
    ");
}
