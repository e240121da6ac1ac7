//! Tests of the choices of a person.

use super::*;

const SHOP: &str = "
    ns shop of=shop
    ns lab of=shop
    deploy shop/web of=shop template=app:web uses=claim:data,config:settings
    pvc shop/data of=shop volume=pv-1
    pv pv-1 claim=shop/data reclaim=Delete
    cm shop/settings of=shop
    deploy lab/probe of=shop
    clusterrole view of=shop
";

#[test]
fn kind_or_object_is_left_out_and_stays_with_what_it_needs() {
    let kind = plan_with(SHOP, "shop", &["without=Deployment.apps"]).unwrap();
    insta::assert_snapshot!(text(&kind), @r"
    1 clusterrole:view
    keep cm:shop/settings: needed by Deployment shop/web (Mounts)
    keep ns:lab: needed by Deployment lab/probe (Contains)
    keep ns:shop: needed by PersistentVolumeClaim shop/data (Contains)
    keep pv:pv-1: needed by PersistentVolumeClaim shop/data (Binds)
    keep pvc:shop/data: needed by Deployment shop/web (Mounts)
    keep deploy:lab/probe: LeftOut
    keep deploy:shop/web: LeftOut
    data pv-1: Kept ?
    ");
    let object = plan_with(SHOP, "shop", &["without=Deployment.apps/lab/probe"]).unwrap();
    let kept: Vec<String> = object.kept.iter().map(|kept| kept.object.to_string()).collect();
    assert_eq!(kept, ["Namespace lab", "Deployment lab/probe"]);
    // A namesake of another kind or namespace is not left out.
    let other = plan_with(SHOP, "shop", &["without=Deployment.apps/lab/web", "without=Secret"]);
    assert_eq!(other.unwrap().kept.len(), 0);
}

#[test]
fn node_that_runs_no_pod_of_the_unit_is_no_choice() {
    let index =
        fixture::index("ns shop of=shop\n node n1\n node n2\n pod shop/web of=shop node=n1");
    let graph = Graph::of(&index);
    let unit = &units(&index, &graph)[&UnitId::new("shop")];
    for (node, is_met) in [("n1", true), ("n2", false), ("n3", false)] {
        let choices = Choices::of_query([("unreported", node)]).unwrap();
        assert_eq!(choices.check(unit, &index).is_ok(), is_met, "{node}");
        let plan = plan(&index, &graph, unit, &choices, fixture::now()).unwrap();
        assert_eq!(plan.parts().unreported, [node.into()]);
        assert!(plan.check_confirmed(&Parts::default()).is_err());
    }
}

#[test]
fn plan_is_scoped_to_namespaces() {
    let plan = plan_with(SHOP, "shop", &["namespace=shop"]).unwrap();
    insta::assert_snapshot!(text(&plan), @r"
    1 deploy:shop/web
    2 cm:shop/settings < deploy:shop/web+pods
    2 pvc:shop/data < deploy:shop/web+pods
    3 ns:shop < cm:shop/settings deploy:shop/web pvc:shop/data
    3 pv:pv-1 await < pvc:shop/data
    keep ns:lab: OtherNamespace
    keep deploy:lab/probe: OtherNamespace
    keep clusterrole:view: OtherNamespace
    data pv-1: Destroyed ?
    ");
}

#[test]
fn data_is_kept_with_its_namespace_and_its_owners_orphan_it() {
    let fixture = "
        ns shop of=shop
        sts shop/db of=shop templates=data whenDeleted=Delete template=app:db selector=app:db
        pvc shop/data-db-0 owner=sts/db volume=pv-1
        pv pv-1 claim=shop/data-db-0 reclaim=Delete
        Widget.example.com shop/pool of=shop
        pvc shop/pool owner=Widget.example.com/pool
        pod shop/job of=shop uses=claim:job-scratch
        pvc shop/job-scratch owner=pod/job
        pv spare of=shop reclaim=Delete
    ";
    let plan = plan_with(fixture, "shop", &["keep=data"]).unwrap();
    insta::assert_snapshot!(text(&plan), @r"
    1 pod:shop/job
    1 sts:shop/db orphan
    1 Widget.example.com:shop/pool orphan
    2 pvc:shop/job-scratch < pod:shop/job
    keep ns:shop: needed by PersistentVolumeClaim shop/data-db-0 (Contains)
    keep pv:pv-1: KeptData
    keep pv:spare: KeptData
    keep pvc:shop/data-db-0: KeptData
    keep pvc:shop/pool: KeptData
    data pv-1: Kept ?
    data spare: Kept ?
    ");
    assert_eq!(plan.ephemeral.len(), 1);
    assert_eq!(&*plan.ephemeral[0].name, "job-scratch");
}

#[test]
fn data_is_not_kept_by_a_plan_whose_operator_deletes_claims() {
    let fixture = |finalizer: &str| {
        format!(
            "cm shop/a of=shop\n Cluster.pxc.percona.com shop/db of=shop finalizers={finalizer}"
        )
    };
    let deletes = fixture("percona.com/delete-pxc-pvc");
    let Err(PlanError::DeletesClaims { object, mark }) =
        plan_with(&deletes, "shop", &["keep=data"])
    else {
        panic!("a plan");
    };
    assert_eq!((&*object.name, mark.as_str()), ("db", "finalizer percona.com/delete-pxc-pvc"));
    assert!(plan_of(&deletes, "shop").is_ok());
    let left_out = format!("{deletes}\n pvc shop/data of=shop\n pvc lab/data of=shop");
    let without = |claim: &str| plan_with(&left_out, "shop", &[claim]).is_ok();
    assert!(!without("without=PersistentVolumeClaim/shop/data"), "a claim beside it is to stay");
    assert!(without("without=PersistentVolumeClaim/lab/data"), "the claim is elsewhere");
    let out = ["keep=data", "without=Cluster.pxc.percona.com"];
    assert!(plan_with(&deletes, "shop", &out).is_ok(), "the object stays");
    let other = fixture("percona.com/delete-pxc-pods-in-order");
    assert!(plan_with(&other, "shop", &["keep=data"]).is_ok());
}

#[test]
fn annotation_that_keeps_counts_until_a_person_overrides_it_by_name() {
    let fixture = "
        cm shop/a of=shop
        pvc shop/data of=shop volume=pv-1 keep=helm.sh/resource-policy:keep
        pv pv-1 claim=shop/data reclaim=Delete
    ";
    let plan = plan_of(fixture, "shop").unwrap();
    insta::assert_snapshot!(text(&plan), @r#"
    1 cm:shop/a
    keep pv:pv-1: needed by PersistentVolumeClaim shop/data (Binds)
    keep pvc:shop/data: KeepAnnotation { annotation: "helm.sh/resource-policy:keep" }
    data pv-1: Kept ?
    "#);
    let all = plan_with(fixture, "shop", &["include=*"]).unwrap();
    assert_eq!(all.kept.len(), 2, "only its name overrides it");
    let plan = plan_with(fixture, "shop", &["delete=PersistentVolumeClaim/shop/data"]).unwrap();
    assert_eq!((plan.steps.len(), plan.kept.len()), (3, 0), "{}", text(&plan));
}

#[test]
fn choices_are_part_of_the_hash() {
    let plain = plan_of(SHOP, "shop").unwrap();
    let chosen = plan_with(SHOP, "shop", &["include=*"]).unwrap();
    assert_eq!((&plain.steps, &plain.kept), (&chosen.steps, &chosen.kept));
    assert_ne!(plain.hash, chosen.hash);
}

#[test]
fn choice_that_names_nothing_of_the_unit_is_found() {
    let index = fixture::index(SHOP);
    let graph = Graph::of(&index);
    let unit = &units(&index, &graph)[&UnitId::new("shop")];
    let check = |name: &str, value: &str| {
        Choices::from_iter([Choice::read(name, value).unwrap()]).check(unit, &index).is_ok()
    };
    assert!(check("include", "*") && check("keep", "data") && check("namespace", "lab"));
    assert!(check("without", "Deployment.apps") && check("without", "ConfigMap/shop/settings"));
    assert!(!check("without", "Deployment") && !check("without", "ConfigMap/shop/setting"));
    assert!(!check("namespace", "la") && !check("include", "ConfigMap/lab/settings"));
}

#[test]
fn plan_is_of_the_objects_that_hold_one_run_and_not_two() {
    let index = fixture::index(SHOP);
    let graph = Graph::of(&index);
    let unit = &units(&index, &graph)[&UnitId::new("shop")];
    let holding = |runs: &[&'static str]| {
        Choices::of_query(runs.iter().map(|run| ("unplanned", *run))).unwrap()
    };
    let (none, one, two) = (holding(&[]), holding(&["k3f9"]), holding(&["k3f9", "m2d1"]));
    assert_eq!(none.unplanned(), None);
    assert_eq!(one.unplanned().unwrap().as_str(), "k3f9");
    assert_eq!(one.check(unit, &index), Ok(()));
    assert_eq!(two.check(unit, &index).unwrap_err().pair().1, "m2d1");
}

/// Its name overrides the annotation of the Deployment, and of the ReplicaSet that has a copy of it.
#[test]
fn annotation_that_keeps_is_that_of_the_workload_and_not_the_copy_of_its_replica_set() {
    let keep = "keep=helm.sh/resource-policy:keep";
    let fixture = format!(
        "cm shop/a of=shop
         deploy shop/web of=shop selector=app:web template=app:web {keep}
         rs shop/web-1 owner=deploy/web selector=app:web template=app:web {keep}
         rs shop/alone of=shop {keep}"
    );
    insta::assert_snapshot!(text(&plan_of(&fixture, "shop").unwrap()), @r#"
    1 cm:shop/a
    keep deploy:shop/web: KeepAnnotation { annotation: "helm.sh/resource-policy:keep" }
    keep rs:shop/alone: KeepAnnotation { annotation: "helm.sh/resource-policy:keep" }
    keep rs:shop/web-1: needed by Deployment shop/web (Owns)
    "#);
    let choice = "delete=Deployment.apps/shop/web";
    insta::assert_snapshot!(text(&plan_with(&fixture, "shop", &[choice]).unwrap()), @r#"
    1 cm:shop/a
    1 deploy:shop/web
    2 rs:shop/web-1 < deploy:shop/web
    keep rs:shop/alone: KeepAnnotation { annotation: "helm.sh/resource-policy:keep" }
    "#);
}
