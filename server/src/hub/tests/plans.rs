//! Tests of plans, and of the conditions under which a run of one starts.

use teardown::{
    api_problem::ApiProblem,
    observation::HiddenCause,
    plan::{Difference, ObjectAddress, Parts},
    unknown_reason::UnknownReason,
};

use super::*;

#[tokio::test(start_paused = true)]
async fn stale_plan_is_refused_with_the_differences() {
    let process = Process::start(&Disk::default());
    process.list(SHOP).await;
    let plan =
        process.hub.make_plan(UnitId::new("shop"), Choices::default()).await.unwrap().unwrap();
    process.see(vec![Observation::Applied(Box::new(fixture::object("cm shop/new of=shop")))]).await;
    let refusal = process.hub.start(confirmation(&plan)).await.unwrap().unwrap_err();
    let Refusal::Stale(differences) = refusal else { panic!("{refusal:?}") };
    assert_eq!(
        differences.len(),
        2,
        "one object is new, and the namespace waits for it: {differences:?}"
    );

    let plan =
        process.hub.make_plan(UnitId::new("shop"), Choices::default()).await.unwrap().unwrap();
    let wrong = Start { hash: "0".into(), ..confirmation(&plan) };
    assert_eq!(process.hub.start(wrong).await.unwrap(), Err(Refusal::WrongHash));
    let wrong = Start { confirm: "shopp".into(), ..confirmation(&plan) };
    assert_eq!(process.hub.start(wrong).await.unwrap(), Err(Refusal::WrongName));
    process.hub.start(confirmation(&plan)).await.unwrap().unwrap();
    let again = process.hub.start(confirmation(&plan)).await.unwrap();
    assert!(matches!(again, Err(Refusal::Overlap { .. })), "{again:?}");
}

#[tokio::test(start_paused = true)]
async fn plan_starts_once_everything_that_it_destroys_is_confirmed_by_name() {
    let process = Process::start(&Disk::default());
    let cluster = "
        ns shop
        cm shop/settings of=shop
        pvc shop/data of=shop volume=pv-1
        pv pv-1 claim=shop/data reclaim=Delete
        pvc shop/kept of=shop volume=pv-2
        pv pv-2 claim=shop/kept reclaim=Retain
    ";
    process.list(cluster).await;
    let plan =
        process.hub.make_plan(UnitId::new("shop"), Choices::default()).await.unwrap().unwrap();
    let named =
        |name: &str| ObjectAddress(fixture::object(&format!("pvc shop/{name}")).reference());
    for destroys in [vec![], vec![named("kept")], vec![named("dat")]] {
        let parts = Parts { destroys, ..Parts::default() };
        let start = Start { parts, ..confirmation(&plan) };
        let refused = process.hub.start(start).await.unwrap();
        let missing = Parts { destroys: vec![named("data")], ..Parts::default() };
        assert_eq!(refused, Err(Refusal::Unconfirmed(missing)));
    }
    let parts = Parts { destroys: vec![named("data")], ..Parts::default() };
    let start = Start { parts, ..confirmation(&plan) };
    process.hub.start(start).await.unwrap().unwrap();
}

/// A Pod of others mounts the ConfigMap, and then a second one does.
#[tokio::test(start_paused = true)]
async fn plan_starts_once_each_waived_object_is_confirmed_and_no_other_user_came() {
    let process = Process::start(&Disk::default());
    process.list("cm shop/settings of=shop\n pod shop/theirs uses=config:settings").await;
    let waive = Choices::of_query([("waive", "ConfigMap/shop/settings")]).unwrap();
    let made = process.hub.make_plan(UnitId::new("shop"), waive).await.unwrap();
    let plan = made.unwrap();
    assert_eq!(
        plan.losses[0],
        "ConfigMap shop/settings goes although others use it: Pod shop/theirs. Then they fail when they next need it."
    );
    let settings = fixture::object("cm shop/settings").reference();
    let unconfirmed = Start { parts: Parts::default(), ..confirmation(&plan) };
    let missing = Parts { waived: vec![ObjectAddress(settings.clone())], ..Parts::default() };
    let refused = process.hub.start(unconfirmed).await.unwrap();
    assert_eq!(refused, Err(Refusal::Unconfirmed(missing)));
    let second = fixture::object("pod shop/second uses=config:settings");
    process.see(vec![Observation::Applied(Box::new(second))]).await;
    let stale = process.hub.start(confirmation(&plan)).await.unwrap();
    let changed = vec![Difference::Changed { object: settings }];
    assert_eq!(stale, Err(Refusal::Stale(changed)));
    process.gone("pod shop/second").await;
    process.hub.start(confirmation(&plan)).await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn plan_is_refused_before_the_cluster_is_listed() {
    let process = Process::start(&Disk::default());
    process.see(vec![Observation::Watching(fixture::kind("pod"))]).await;
    assert_eq!(
        process.hub.make_plan(UnitId::new("shop"), Choices::default()).await.unwrap(),
        Err(Refusal::NotReady)
    );
    process.list(SHOP).await;
    let unknown = process.hub.make_plan(UnitId::new("shopp"), Choices::default()).await.unwrap();
    assert_eq!(unknown, Err(Refusal::UnknownUnit(UnitId::new("shopp"))));
}

#[tokio::test(start_paused = true)]
async fn run_is_refused_while_pods_are_hidden() {
    let process = Process::start(&Disk::default());
    process.list(SHOP).await;
    let plan =
        process.hub.make_plan(UnitId::new("shop"), Choices::default()).await.unwrap().unwrap();
    let resource = "pods".to_owned();
    let (cause, message) = (HiddenCause::Forbidden, ApiProblem::from("no"));
    let hidden =
        Observation::Hidden { resource: resource.clone(), cause, message: message.clone() };
    process.see(vec![hidden]).await;
    let refused = process.hub.start(confirmation(&plan)).await.unwrap();
    let reason = UnknownReason::Hidden { resource: resource.clone(), namespace: None, message };
    assert_eq!(refused, Err(Refusal::PodsHidden(reason)));
    process.see(vec![Observation::Visible { resource }]).await;
    process.hub.start(confirmation(&plan)).await.unwrap().unwrap();
}
