//! The annotation depends-on. Waves and change rules make edges in plans alone (`plan/tests/hints.rs`).

use super::{check, fixture};
use crate::relation::{EdgeKind, Strength};

#[test]
fn object_goes_before_what_its_annotation_depends_on() {
    check(
        "deploy shop/web config.kubernetes.io/depends-on=apps/namespaces/shop/StatefulSet/db,/ConfigMap/a,rbac.authorization.k8s.io/ClusterRole/all
         sts shop/db
         clusterrole all",
        "deploy:shop/web Hints clusterrole:all; deploy:shop/web first, PodsGone; metadata.annotations[config.kubernetes.io/depends-on] = rbac.authorization.k8s.io/ClusterRole/all
         deploy:shop/web Hints sts:shop/db; deploy:shop/web first, PodsGone; metadata.annotations[config.kubernetes.io/depends-on] = apps/namespaces/shop/StatefulSet/db",
    );
    let graph = fixture::graph(
        "cm shop/a config.kubernetes.io/depends-on=/namespaces/shop/Secret/b
         secret shop/b",
    );
    let strengths: Vec<Strength> =
        graph.edges().filter(|it| it.kind == EdgeKind::Hints).map(|it| it.strength).collect();
    assert_eq!(strengths, [Strength::Hint]);
}

#[test]
fn namesake_elsewhere_is_not_what_an_annotation_depends_on() {
    for target in [
        "sts other/db",
        "StatefulSet.example.com shop/db",
        "deploy shop/db",
        "sts shop/db2",
        "StatefulSet.apps.example.com db",
    ] {
        check(
            &format!(
                "deploy shop/web config.kubernetes.io/depends-on=apps/namespaces/shop/StatefulSet/db
                 {target}"
            ),
            "",
        );
    }
    // The kind has a namespace, and the entry says none.
    check("cm shop/a config.kubernetes.io/depends-on=/Secret/b\n secret shop/b", "");
}

#[test]
fn annotation_that_a_replica_set_copied_from_its_deployment_orders_nothing() {
    let depends = "config.kubernetes.io/depends-on=/namespaces/shop/ConfigMap/a";
    check(
        &format!(
            "deploy shop/web
             rs shop/web-1 owner=deploy/web {depends}
             cm shop/a"
        ),
        "rs:shop/web-1 Owns deploy:shop/web; deploy:shop/web first, Gone; metadata.ownerReferences[0] = Deployment web",
    );
}
