//! Tests of the fate of data.

use super::*;

/// `fate volume (claim)` of every volume that a plan of `shop` affects.
pub(super) fn fates(index: &Index) -> Vec<String> {
    let graph = Graph::of(index);
    let unit = &units(index, &graph)[&UnitId::new("shop")];
    let plan = plan(index, &graph, unit, &Choices::default(), fixture::now()).unwrap();
    plan.data.iter().map(|data| format!("{:?} {}", data.fate, data.volume.name)).collect()
}

#[test]
fn claim_decides_over_the_data_of_a_volume_of_any_unit() {
    for (volume, fate) in [
        ("reclaim=Delete of=storage", "Destroyed pv"),
        ("of=storage", "LeftBehind pv"),
        ("reclaim=Recycle", "Destroyed pv"),
        ("reclaim=Recycle of=shop", "Destroyed pv"),
    ] {
        let text = format!(
            "ns shop of=shop\n pvc shop/data of=shop volume=pv\n pv pv claim=shop/data {volume}"
        );
        assert_eq!(fates(&fixture::index(&text)), [fate], "{volume}");
    }
}

#[test]
fn data_on_a_hidden_volume_has_an_unknown_fate() {
    let mut index =
        fixture::index("ns shop of=shop\n pvc shop/data of=shop volume=pv\n pvc shop/new of=shop");
    assert_eq!(fates(&index), Vec::<String>::new(), "there is no such volume");
    let (cause, message) = (HiddenCause::Forbidden, "no".into());
    let resource = "persistentvolumes".to_owned();
    index.apply([Observation::Hidden { resource, cause, message }], fixture::now());
    assert_eq!(fates(&index), ["Unknown pv"]);
}

#[test]
fn data_that_would_now_be_lost_is_a_difference() {
    let text =
        "ns shop of=shop\n pvc shop/data of=shop volume=pv\n pv pv claim=shop/data of=storage";
    let [old, new] = [text.to_owned(), format!("{text} reclaim=Delete")]
        .map(|text| plan_of(&text, "shop").unwrap());
    assert_eq!(changes(&old, &new), ["changed PersistentVolume pv"]);
    assert_eq!(changes(&new, &old), Vec::<String>::new());
    assert_eq!(changes(&new, &new), Vec::<String>::new());
}

#[test]
fn released_volume_goes_with_its_data_if_its_policy_says_so() {
    for (volume, fate) in [
        ("claim=shop/gone reclaim=Delete", "Destroyed pv"),
        ("claim=shop/gone", "LeftBehind pv"),
        ("reclaim=Delete", "LeftBehind pv"),
    ] {
        let text = format!("ns shop of=shop\n pv pv of=shop {volume}");
        assert_eq!(fates(&fixture::index(&text)), [fate], "{volume}");
    }
}

#[test]
fn snapshot_goes_with_its_data_if_its_content_says_so() {
    for (content, fates_of) in [
        ("content c of-snapshot=shop/before policy=Delete", vec!["Destroyed before"]),
        ("content c of-snapshot=shop/before", vec!["LeftBehind before"]),
        ("content c of-snapshot=lab/before policy=Delete", vec![]),
        ("content c of-snapshot=shop/after policy=Delete", vec![]),
        ("content c of=shop of-snapshot=lab/x policy=Delete", vec!["Destroyed c"]),
    ] {
        let text = format!("ns shop of=shop\n snapshot shop/before of=shop\n {content}");
        assert_eq!(fates(&fixture::index(&text)), fates_of, "{content}");
    }
    let mut index = fixture::index("snapshot shop/before of=shop\n cm shop/c of=shop");
    let (cause, message) = (HiddenCause::Forbidden, "no".into());
    let resource = "volumesnapshotcontents.snapshot.storage.k8s.io".to_owned();
    index.apply([Observation::Hidden { resource, cause, message }], fixture::now());
    assert_eq!(fates(&index), ["Unknown before"]);
}

#[test]
fn field_of_a_custom_resource_says_what_becomes_of_its_data() {
    const MANAGED: &str = "finalizers=finalizer.managedresource.crossplane.io";
    for (object, fate) in [
        (format!("Bucket.s3.aws.upbound.io shop/a of=shop {MANAGED} data=leaves"), "LeftBehind a"),
        (format!("Bucket.s3.aws.upbound.io shop/a of=shop {MANAGED}"), "Destroyed a"),
        ("Database.postgresql.cnpg.io shop/a of=shop data=destroys".to_owned(), "Destroyed a"),
    ] {
        let found = fates(&fixture::index(&format!("ns shop of=shop\n {object}")));
        assert_eq!(found, [fate], "{object}");
    }
}

const KAFKA: &str = "
    ns shop
    cm shop/a of=shop
    Kafka.kafka.strimzi.io shop/main of=shop data=deletes-claims:strimzi.io/cluster
    pvc shop/data-0 of=shop volume=pv-0 labels=strimzi.io/cluster:main
    pv pv-0 claim=shop/data-0 reclaim=Delete
    pvc shop/other of=shop volume=pv-1 labels=strimzi.io/cluster:second
    pv pv-1 claim=shop/other reclaim=Delete
    pvc shop/theirs of=lab volume=pv-2 labels=strimzi.io/cluster:main
    pv pv-2 claim=shop/theirs reclaim=Delete
    pvc lab/data-0 of=lab volume=pv-3 labels=strimzi.io/cluster:main
    pv pv-3 claim=lab/data-0 reclaim=Delete
";

#[test]
fn claims_that_an_operator_deletes_are_counted_with_the_field_that_says_so() {
    let plan = plan_of(KAFKA, "shop").unwrap();
    let said = plan.data.iter().map(|data| {
        let by = data.deleted_by.as_ref().map(|by| format!(" by {}: {}", by.object, by.mark));
        format!("{:?} {}{}", data.fate, data.volume.name, by.unwrap_or_default())
    });
    let by = "by Kafka shop/main: spec.data";
    let expected =
        [format!("Destroyed pv-0 {by}"), "Destroyed pv-1".into(), format!("Destroyed pv-2 {by}")];
    assert_eq!(said.collect::<Vec<_>>(), expected);
    assert_eq!(plan.parts().destroys.len(), 3, "a person confirms those too");
}

#[test]
fn claim_of_an_operator_that_deletes_it_cannot_be_kept_and_another_can() {
    let without = |claim: &str| {
        plan_with(KAFKA, "shop", &[&format!("without=PersistentVolumeClaim/shop/{claim}")])
    };
    let refused = without("data-0");
    let Err(PlanError::DeletesClaims { object, mark }) = &refused else { panic!("{refused:?}") };
    assert_eq!((&*object.name, mark.as_str()), ("main", "spec.data"));
    assert!(without("other").is_ok());
}

#[test]
fn custom_resource_that_stands_for_data_elsewhere_is_named() {
    for (object, is_named) in [
        (
            "Bucket.s3.services.k8s.aws shop/a of=shop finalizers=finalizers.s3.services.k8s.aws/Bucket",
            true,
        ),
        (
            "Bucket.s3.aws.upbound.io shop/a of=shop finalizers=finalizer.managedresource.crossplane.io",
            true,
        ),
        ("Bucket.example.com shop/a of=shop finalizers=example.com/finalizer", false),
        ("Bucket.example.com shop/a of=shop finalizers=notlonghorn.io", false),
        ("cm shop/a of=shop finalizers=longhorn.io", false),
    ] {
        let found = fates(&fixture::index(&format!("ns shop of=shop\n {object}")));
        assert_eq!(found, if is_named { vec!["Destroyed a"] } else { vec![] }, "{object}");
    }
}

/// The plan of `shop` while kinds may not be listed.
fn plan_hiding(fixture: &str, hidden: &[&str], choices: &[&str]) -> Result<Plan, PlanError> {
    let mut index = fixture::index(fixture);
    for resource in hidden {
        let (cause, message) = (HiddenCause::Forbidden, "no".into());
        let resource = (*resource).to_owned();
        index.apply([Observation::Hidden { resource, cause, message }], fixture::now());
    }
    let graph = Graph::of(&index);
    let unit = &units(&index, &graph)[&UnitId::new("shop")];
    let choices = choices.iter().map(|choice| {
        let (name, value) = choice.split_once('=').unwrap();
        Choice::read(name, value).unwrap()
    });
    plan(&index, &graph, unit, &choices.collect(), fixture::now())
}

#[test]
fn data_cannot_be_kept_where_an_operator_deletes_claims_that_nobody_sees() {
    let fixture = "ns shop\n cm shop/a of=shop\n \
                   Kafka.kafka.strimzi.io shop/main of=shop data=deletes-claims:strimzi.io/cluster";
    let claims = ["persistentvolumeclaims"];
    let refused = plan_hiding(fixture, &claims, &["keep=data"]);
    assert!(matches!(refused, Err(PlanError::DeletesClaims { .. })), "{refused:?}");
    assert!(plan_hiding(fixture, &[], &["keep=data"]).is_ok(), "it has none");
    assert!(plan_hiding(fixture, &claims, &[]).is_ok(), "nobody asked to keep any");
}

#[test]
fn claim_of_others_that_an_operator_deletes_is_named_although_its_volume_is_hidden() {
    let is_seen = |line: &&str| !line.trim().starts_with("pv ");
    let seen = KAFKA.lines().filter(is_seen).collect::<Vec<_>>().join("\n");
    let plan = plan_hiding(&seen, &["persistentvolumes"], &[]).unwrap();
    let theirs = plan.data.iter().find(|it| &*it.volume.name == "pv-2").unwrap();
    assert_eq!(theirs.fate, Fate::Unknown);
    assert!(theirs.deleted_by.is_some(), "{theirs:?}");
}

#[test]
fn namespace_whose_data_is_kept_does_not_go_over_claims_that_nobody_sees() {
    let fixture = "ns shop of=shop\n cm shop/a of=shop\n secret shop/s of=shop";
    let hidden = ["persistentvolumeclaims", "secrets"];
    let chosen = ["unproven=shop/persistentvolumeclaims", "unproven=shop/secrets"];
    let unproven = |choices: &[&str]| -> Vec<String> {
        let plan = plan_hiding(fixture, &hidden, choices).unwrap();
        plan.unproven().map(|it| it.resource.to_string()).collect()
    };
    assert_eq!(unproven(&chosen), ["persistentvolumeclaims", "secrets"]);
    assert_eq!(unproven(&[chosen.as_slice(), &["keep=data"]].concat()), ["secrets"]);
    let offered = |choices: &[&str]| -> Vec<String> {
        let plan = plan_hiding(fixture, &hidden, choices).unwrap();
        plan.unlistable.iter().map(|it| it.resource.to_string()).collect()
    };
    assert_eq!(offered(&[]), ["persistentvolumeclaims", "secrets"]);
    assert_eq!(offered(&["keep=data"]), ["secrets"]);
}

#[test]
fn content_of_the_unit_is_counted_with_its_snapshot() {
    let text = "snapshot shop/before of=shop content=c\n content c of=shop of-snapshot=shop/before";
    assert_eq!(fates(&fixture::index(text)), ["LeftBehind before"]);
}

/// A Pod of another unit mounts the claim, so that the plan keeps it, and its operator deletes it all the same.
#[test]
fn claim_that_others_use_is_lost_where_an_operator_deletes_it() {
    let used = format!("{KAFKA}\n pod shop/reader of=lab uses=claim:data-0");
    let plan = plan_of(&used, "shop").unwrap();
    let data = plan.data.iter().find(|it| &*it.volume.name == "pv-0").unwrap();
    assert_eq!(data.fate, Fate::Destroyed);
    assert!(data.deleted_by.is_some(), "{data:?}");
}

#[test]
fn kept_volume_loses_its_data_with_its_claim() {
    let mut index = fixture::index(
        "ns shop of=shop\n pvc shop/data of=shop volume=pv
         pv pv claim=shop/data reclaim=Delete of=shop owner=deploy/pool",
    );
    assert_eq!(fates(&index), ["Destroyed pv"]);
    let (resource, cause) = ("deployments.apps".to_owned(), HiddenCause::Forbidden);
    index.apply([Observation::Hidden { resource, cause, message: "no".into() }], fixture::now());
    let (kept, going) = kept_and_going(&index);
    assert_eq!(kept, ["PersistentVolume pv: Deployment pool"]);
    assert!(going.contains(&"PersistentVolumeClaim shop/data".to_owned()));
    assert_eq!(fates(&index), ["Destroyed pv"]);
}
