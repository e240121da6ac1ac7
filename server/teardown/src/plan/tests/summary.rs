//! The numbers and names that pages show of a plan.

use super::*;

#[test]
fn plan_counts_its_objects_and_waves_and_is_named_by_its_hash() {
    let plan = plan_of(CONSORTIUM, "consortium").unwrap();
    assert_eq!((plan.objects().len(), plan.deletions(), plan.waves()), (17, 17, 7));
    assert_eq!(plan.id.to_string(), plan.hash[..16]);
}

/// Somebody added the Deployment after the plan was made, so nobody has confirmed it or its Pod.
#[test]
fn objects_of_a_new_owner_are_a_difference() {
    let before = "ns shop of=shop\n cm shop/a of=shop";
    let after = format!(
        "{before}\n deploy shop/new of=shop selector=app:new template=app:new
         pod shop/new-1 owner=deploy/new labels=app:new"
    );
    let plan = |text: &str| plan_of(text, "shop").unwrap();
    assert_eq!(
        changes(&plan(before), &plan(&after)),
        ["changed Namespace shop", "added Pod shop/new-1", "added Deployment shop/new"]
    );
}

#[test]
fn object_of_an_operator_that_was_made_again_is_a_difference() {
    let before = "ns shop of=shop\n Widget.example.com shop/k of=shop\n secret shop/s owner=Widget.example.com/k";
    let plan = |text: &str| plan_of(text, "shop").unwrap();
    let again = before.replace("secret shop/s", "secret shop/s uid=younger");
    assert_eq!(changes(&plan(before), &plan(&again)), ["recreated Secret shop/s"]);
}

/// The Deployment has begun to mount its ConfigMap, which now waits for the Pods as well.
#[test]
fn step_that_waits_for_a_later_phase_is_a_difference() {
    let before = "deploy shop/web of=shop\n cm shop/a owner=deploy/web";
    let plan = |text: &str| plan_of(text, "shop").unwrap();
    let after = before.replace("web of=shop", "web of=shop uses=config:a");
    assert_eq!(changes(&plan(before), &plan(&after)), ["changed ConfigMap shop/a"]);
    assert_eq!(changes(&plan(&after), &plan(before)), [""; 0]);
}
