//! GitOps parents, and the records of Helm's releases, which declare what goes and what stays.

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

const NEEDS: &str = "refs=spec.sourceRef:GitRepository.source.toolkit.fluxcd.io/shop,spec.decryption.secretRef:secret/age";
const NEEDED: &str = "GitRepository.source.toolkit.fluxcd.io shop/shop of=shop
                      secret shop/age of=shop";

#[test]
fn parent_goes_before_its_source_and_its_secret() {
    let plan = plan_with(&shop(NEEDS, NEEDED), "shop", &[]).unwrap();
    insta::assert_snapshot!(text(&plan), @r"
    1 cm:shop/a
    1 cm:shop/stays
    2 Kustomization.kustomize.toolkit.fluxcd.io:shop/web < cm:shop/a cm:shop/stays
    3 secret:shop/age < Kustomization.kustomize.toolkit.fluxcd.io:shop/web
    3 GitRepository.source.toolkit.fluxcd.io:shop/shop < Kustomization.kustomize.toolkit.fluxcd.io:shop/web
    ");
}

#[test]
fn parent_that_stays_keeps_its_source_and_its_secret() {
    let plan = plan_with(&shop(NEEDS, NEEDED), "shop", &["without=ConfigMap/shop/stays"]).unwrap();
    insta::assert_snapshot!(text(&plan), @r"
    1 Kustomization.kustomize.toolkit.fluxcd.io:shop/web suspend
    1 cm:shop/a
    keep cm:shop/stays: LeftOut
    keep secret:shop/age: needed by Kustomization shop/web (Refers)
    keep Kustomization.kustomize.toolkit.fluxcd.io:shop/web: needed by ConfigMap shop/stays (Declares)
    keep GitRepository.source.toolkit.fluxcd.io:shop/shop: needed by Kustomization shop/web (Refers)
    ");
}

/// `flux bootstrap` makes a Kustomization that declares the GitRepository that it is read from.
#[test]
fn parent_that_declares_its_own_source_goes_last() {
    let own = format!("GitRepository.source.toolkit.fluxcd.io shop/shop of=shop {MARKS}");
    let plan = plan_with(&shop(NEEDS, &own), "shop", &[]).unwrap();
    insta::assert_snapshot!(text(&plan), @r"
    1 cm:shop/a
    1 cm:shop/stays
    2 Kustomization.kustomize.toolkit.fluxcd.io:shop/web < cm:shop/a cm:shop/stays
    3 GitRepository.source.toolkit.fluxcd.io:shop/shop < Kustomization.kustomize.toolkit.fluxcd.io:shop/web
    ");
}

/// The chart of this release sets the label part-of, Helm's own objects have none.
const RELEASE: &str = "
    ns shop of=shop
    deploy shop/web of=shop release=shop/web
    cm shop/settings of=shop release=shop/web
    secret shop/sh.helm.release.v1.web.v9 labels=owner:helm,name:web,version:9
    secret shop/sh.helm.release.v1.web.v10 labels=owner:helm,name:web,version:10
    secret shop/sh.helm.release.v1.web.draft labels=owner:someone,name:web
";

#[test]
fn records_of_a_release_go_last_of_it() {
    let without = RELEASE.lines().filter(|line| !line.contains("draft"));
    let plan = plan_of(&without.collect::<Vec<_>>().join("\n"), "shop").unwrap();
    insta::assert_snapshot!(text(&plan), @r"
    1 cm:shop/settings
    1 deploy:shop/web
    2 secret:shop/sh.helm.release.v1.web.v10 < cm:shop/settings deploy:shop/web
    3 secret:shop/sh.helm.release.v1.web.v9 < secret:shop/sh.helm.release.v1.web.v10
    4 ns:shop < cm:shop/settings deploy:shop/web secret:shop/sh.helm.release.v1.web.v10 secret:shop/sh.helm.release.v1.web.v9
    ");
}

#[test]
fn records_of_a_release_stay_with_a_part_of_it() {
    let plan = plan_with(RELEASE, "shop", &["without=ConfigMap/shop/settings"]).unwrap();
    insta::assert_snapshot!(text(&plan), @r"
    1 deploy:shop/web
    keep cm:shop/settings: LeftOut
    keep ns:shop: needed by ConfigMap shop/settings (Contains)
    keep secret:shop/sh.helm.release.v1.web.draft: Unclaimed
    keep secret:shop/sh.helm.release.v1.web.v10: needed by ConfigMap shop/settings (Declares)
    keep secret:shop/sh.helm.release.v1.web.v9: needed by Secret shop/sh.helm.release.v1.web.v10 (Refers)
    ");
}

#[test]
fn records_of_a_release_of_two_units_are_of_neither() {
    let fixture = RELEASE.replace("settings of=shop", "settings of=other");
    insta::assert_snapshot!(text(&plan_of(&fixture, "shop").unwrap()), @r"
    1 deploy:shop/web
    keep ns:shop: used by ConfigMap shop/settings (Contains)
    keep secret:shop/sh.helm.release.v1.web.draft: Unclaimed
    ");
    assert_eq!(plan_of(&fixture, "release:shop/web"), Err(PlanError::Empty));
}

/// An operator that OLM installed: its custom resources go first, then what would install it again.
#[test]
fn operator_of_olm_goes_after_its_subscription_and_its_custom_resources() {
    let fixture = "
        Subscription.operators.coreos.com shop/queue of=shop refs=status.installedCSV:ClusterServiceVersion.operators.coreos.com/queue.v1
        ClusterServiceVersion.operators.coreos.com shop/queue.v1 of=shop
        deploy shop/queue owner=ClusterServiceVersion.operators.coreos.com/queue.v1 uses=account:queue
        sa shop/queue owner=ClusterServiceVersion.operators.coreos.com/queue.v1
        clusterrole queue of=shop updates=topics.queue.example
        crb queue of=shop accounts=shop/queue role=clusterrole/queue
        Topic.queue.example shop/orders of=shop finalizers=queue.example/topic
    ";
    insta::assert_snapshot!(text(&plan_with(fixture, "shop", &[]).unwrap()), @r"
    1 Subscription.operators.coreos.com:shop/queue
    1 Topic.queue.example:shop/orders
    2 ClusterServiceVersion.operators.coreos.com:shop/queue.v1 orphan < Subscription.operators.coreos.com:shop/queue Topic.queue.example:shop/orders
    3 deploy:shop/queue < ClusterServiceVersion.operators.coreos.com:shop/queue.v1 Topic.queue.example:shop/orders
    4 sa:shop/queue < ClusterServiceVersion.operators.coreos.com:shop/queue.v1 deploy:shop/queue+pods
    4 crb:queue < deploy:shop/queue+pods
    5 clusterrole:queue < crb:queue
    ");
}
