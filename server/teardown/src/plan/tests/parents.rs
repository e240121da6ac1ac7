//! GitOps parents that stay because something that they declare stays.

use super::*;

const MARKS: &str =
    "labels=kustomize.toolkit.fluxcd.io/name:web,kustomize.toolkit.fluxcd.io/namespace:shop";
const ABOVE: &str =
    "labels=kustomize.toolkit.fluxcd.io/name:root,kustomize.toolkit.fluxcd.io/namespace:shop";

fn shop(web: &str, rest: &str) -> String {
    format!(
        "cm shop/a of=shop {MARKS}
         cm shop/stays of=shop {MARKS}
         Kustomization.kustomize.toolkit.fluxcd.io shop/web of=shop {web}
         {rest}"
    )
}

#[test]
fn parent_of_what_stays_is_suspended_and_so_is_its_own_parent() {
    let root = "Kustomization.kustomize.toolkit.fluxcd.io shop/root of=shop";
    let plan = plan_with(&shop(ABOVE, root), "shop", &["without=ConfigMap/shop/stays"]).unwrap();
    insta::assert_snapshot!(text(&plan), @r"
    1 Kustomization.kustomize.toolkit.fluxcd.io:shop/root suspend
    1 Kustomization.kustomize.toolkit.fluxcd.io:shop/web suspend
    1 cm:shop/a
    keep cm:shop/stays: LeftOut
    keep Kustomization.kustomize.toolkit.fluxcd.io:shop/root: needed by Kustomization shop/web (Declares)
    keep Kustomization.kustomize.toolkit.fluxcd.io:shop/web: needed by ConfigMap shop/stays (Declares)
    ");
    assert_eq!(plan.deletions(), 1);
}

#[test]
fn parent_that_a_person_left_out_is_not_touched() {
    let left_out = [
        "without=ConfigMap/shop/stays",
        "without=Kustomization.kustomize.toolkit.fluxcd.io/shop/web",
    ];
    let plan = plan_with(&shop("", ""), "shop", &left_out).unwrap();
    insta::assert_snapshot!(text(&plan), @r"
    1 cm:shop/a
    keep cm:shop/stays: LeftOut
    keep Kustomization.kustomize.toolkit.fluxcd.io:shop/web: LeftOut
    ");
}

#[test]
fn parent_of_which_nothing_goes_is_not_touched() {
    let nothing_goes = ["without=ConfigMap/shop/stays", "without=ConfigMap/shop/a"];
    let plan = plan_with(&shop("", "cm shop/free of=shop"), "shop", &nothing_goes).unwrap();
    insta::assert_snapshot!(text(&plan), @r"
    1 cm:shop/free
    keep cm:shop/a: LeftOut
    keep cm:shop/stays: LeftOut
    keep Kustomization.kustomize.toolkit.fluxcd.io:shop/web: needed by ConfigMap shop/a (Declares)
    ");
}

#[test]
fn parent_that_declares_objects_of_others_is_not_touched() {
    let fixture = shop("", "").replace("shop/stays of=shop", "shop/stays of=other");
    let plan = plan_with(&fixture, "shop", &[]).unwrap();
    insta::assert_snapshot!(text(&plan), @r"
    1 cm:shop/a
    keep Kustomization.kustomize.toolkit.fluxcd.io:shop/web: used by ConfigMap shop/stays (Declares)
    ");
}
