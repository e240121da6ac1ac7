//! Tests of objects that stay because a kind is hidden.

use super::*;
use crate::observation::Observation;

fn hide(index: &mut Index, resource: &str) {
    let (cause, message) = (HiddenCause::Forbidden, "no".into());
    let hidden = Observation::Hidden { resource: resource.to_owned(), cause, message };
    index.apply([hidden], fixture::now());
}

/// The plan of `shop` while a resource or a group version is hidden.
fn plan_without(resource: &str, fixture: &str) -> Plan {
    let mut index = fixture::index(fixture);
    hide(&mut index, resource);
    let graph = Graph::of(&index);
    let unit = &units(&index, &graph)[&UnitId::new("shop")];
    let choices = Choices::from_iter([Choice::IncludeAll]);
    plan(&index, &graph, unit, &choices, fixture::now()).unwrap()
}

/// The objects that are kept because they may have hidden users, with the hidden kinds.
fn kept_for_hidden_users(plan: &Plan) -> Vec<String> {
    let kept = plan.kept.iter().filter_map(|kept| match &kept.reason {
        KeptReason::HiddenUsers { resource, namespace } => {
            let within = namespace.as_ref().map(|it| format!(" in {it}")).unwrap_or_default();
            Some(format!("{}: {resource}{within}", kept.object))
        }
        _ => None,
    });
    kept.collect()
}

#[test]
fn storage_stays_while_a_kind_that_may_mount_it_is_hidden() {
    for (hidden, named) in
        [("cronjobs.batch", "cronjobs.batch"), ("pods", "pods"), ("apps/v1", "daemonsets.apps")]
    {
        let plan = plan_without(hidden, STORAGE);
        let kept = kept_for_hidden_users(&plan);
        assert_eq!(kept, [format!("PersistentVolumeClaim a/data: {named} in a")]);
        assert_eq!(plan.data[0].fate, Fate::Kept, "{hidden}");
    }
    for (hidden, fixture) in [
        ("ingresses.networking.k8s.io", STORAGE),
        ("metrics.k8s.io/v1beta1", STORAGE),
        ("cronjobs.batch", &STORAGE.replace("pvc a/data", "pvc a/data of=shop")),
    ] {
        assert_eq!(plan_without(hidden, fixture).data[0].fate, Fate::Destroyed, "{hidden}");
    }
}

#[test]
fn binding_stays_while_pods_of_a_foreign_account_are_hidden() {
    let fixture = "ns shop of=shop\n ns watchers\n role shop/reads of=shop\n cm shop/c of=shop\n \
                   rb shop/reads of=shop accounts=watchers/prometheus role=role/reads";
    let mut index = fixture::index(fixture);
    let (kept, going) = kept_and_going(&index);
    assert_eq!((kept.len(), going.len()), (0, 4), "{kept:?}");

    let pods = fixture::object("pod shop/none").kind;
    let namespace: std::sync::Arc<str> = "shop".into();
    let (namespaces, message) = (vec![namespace.clone()], "no".into());
    let per_namespace = Observation::PerNamespace { kind: pods.clone(), namespaces, message };
    let listed = Observation::ListedIn { kind: pods, namespace, objects: vec![] };
    index.apply([per_namespace, listed], fixture::now());
    let (kept, going) = kept_and_going(&index);
    assert_eq!(going, ["ConfigMap shop/c"]);
    let stay = [
        "Namespace shop for Role shop/reads",
        "Role shop/reads for RoleBinding shop/reads",
        "RoleBinding shop/reads: pods in watchers",
    ];
    assert_eq!(kept, stay);
}

#[test]
fn definition_stays_while_objects_of_its_kind_may_be_hidden() {
    let fixture = "cm shop/c of=shop\n crd widgets.example.com of=shop defines=Widget.example.com
                   Widget.example.com shop/w of=shop";
    for hidden in ["widgets.example.com", "example.com/v1"] {
        let kept = kept_for_hidden_users(&plan_without(hidden, fixture));
        assert_eq!(kept, ["CustomResourceDefinition widgets.example.com: widgets.example.com"]);
    }
    assert!(kept_for_hidden_users(&plan_without("gadgets.example.com", fixture)).is_empty());
}

#[test]
fn namespace_in_which_a_kind_may_not_be_listed_is_offered_and_goes_by_choice_alone() {
    let fixture = "ns shop of=shop\n ns lab of=shop\n cm shop/c of=shop";
    let mut index = fixture::index(fixture);
    hide(&mut index, "widgets.example.com");
    hide(&mut index, "pods");
    let down = Observation::Hidden {
        resource: "metrics.k8s.io/v1beta1".to_owned(),
        cause: HiddenCause::Discovery,
        message: "away".into(),
    };
    index.apply([down], fixture::now());
    let graph = Graph::of(&index);
    let unit = &units(&index, &graph)[&UnitId::new("shop")];
    let with = |query: &[(&'static str, &'static str)]| {
        let choices = Choices::of_query(query.iter().copied()).unwrap();
        choices.check(unit, &index)?;
        Ok(plan(&index, &graph, unit, &choices, fixture::now()).unwrap())
    };
    let without = with(&[]).unwrap();
    let offered: Vec<String> = without.unlistable.iter().map(ToString::to_string).collect();
    assert_eq!(offered, ["lab/widgets.example.com", "shop/widgets.example.com"]);
    assert_eq!(without.unproven().count(), 0);

    let chosen = with(&[("unproven", "shop/widgets.example.com")]).unwrap();
    let unproven: Vec<String> = chosen.unproven().map(|it| it.to_string()).collect();
    assert_eq!(unproven, ["shop/widgets.example.com"]);
    assert_ne!(chosen.hash, without.hash);
    for nothing in ["shop/configmaps", "bank/widgets.example.com"] {
        let about: Result<Plan, Choice> = with(&[("unproven", nothing)]);
        assert!(about.is_err(), "{nothing}");
    }
}

#[test]
fn volume_stays_while_its_claim_exists_or_may_exist() {
    let fixture = "cm shop/c of=shop\n pv pv of=shop claim=lab/data reclaim=Delete";
    assert!(plan_of(fixture, "shop").unwrap().kept.is_empty(), "its claim is gone");
    let kept = kept_for_hidden_users(&plan_without("persistentvolumeclaims", fixture));
    assert_eq!(kept, ["PersistentVolume pv: persistentvolumeclaims in lab"]);
    let reserved = plan_of(&format!("{fixture}\n pvc lab/data"), "shop").unwrap();
    insta::assert_snapshot!(text(&reserved), @r"
    1 cm:shop/c
    keep pv:pv: used by PersistentVolumeClaim lab/data (Binds)
    data pv: Kept ?
    ");
}

#[test]
fn operators_object_orphans_its_claims_while_claims_are_hidden() {
    let fixture = "Cluster.db.example shop/db of=shop\n pod shop/db-0 owner=Cluster.db.example/db
                   deploy shop/web of=shop\n pod shop/web-a owner=deploy/web";
    let orphaning = |hidden: &str| {
        let plan = plan_without(hidden, fixture);
        let orphan = StepAction::Delete { propagation: Propagation::Orphan };
        let steps = plan.steps.iter().filter(|step| step.action == orphan);
        steps.map(|step| step.object.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(orphaning("secrets"), [""; 0]);
    assert_eq!(orphaning("persistentvolumeclaims"), ["Cluster shop/db"]);
}

#[test]
fn newly_hidden_kind_is_a_difference() {
    let seen = plan_of("cm shop/c of=shop", "shop").unwrap();
    let hidden = plan_without("secrets", "cm shop/c of=shop");
    let resource = "secrets".to_owned();
    assert_eq!(differences(&seen, &hidden), [Difference::Hidden { resource }]);
    assert_eq!(differences(&hidden, &seen), []);
    assert_eq!(differences(&hidden, &hidden), []);
}

#[test]
fn plan_hash_covers_hidden_kinds() {
    let fixture = "ns shop of=shop\n cm shop/c of=shop";
    assert_ne!(plan_without("jobs.batch", fixture).hash, plan_of(fixture, "shop").unwrap().hash);
}

#[test]
fn kinds_of_x_k8s_io_groups_may_own_hidden_claims() {
    for (kind, orphans) in [("Sandbox.agents.x-k8s.io", true), ("Gateway.networking.k8s.io", false)]
    {
        let fixture = format!("ns shop of=shop\n {kind} shop/s of=shop");
        let plan = plan_without("persistentvolumeclaims", &fixture);
        let action =
            plan.steps.iter().find(|step| &*step.object.name == "s").map(|step| step.action);
        let propagation = if orphans { Propagation::Orphan } else { Propagation::Background };
        assert_eq!(action, Some(StepAction::Delete { propagation }), "{kind}");
    }
}

#[test]
fn plan_says_whether_claims_may_be_hidden() {
    let fixture = "cm shop/c of=shop";
    assert!(plan_without("persistentvolumeclaims", fixture).hides_claims());
    assert!(!plan_without("pods", fixture).hides_claims());
}
