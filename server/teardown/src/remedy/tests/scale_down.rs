//! A StatefulSet that is scaled down, and the claims of its replicas.

use super::*;

/// The claim of the first replica is deleted, and waits for the Pod.
const WORLD: &str = "
    node n1
    ns shop
    sts shop/db replicas=2 templates=data whenScaled=Delete
    pod shop/db-0 owner=sts/db node=n1 uses=claim:data-db-0
    pod shop/db-1 owner=sts/db node=n1 uses=claim:data-db-1
    pvc shop/data-db-0 volume=pv-0 deleted=300 finalizers=kubernetes.io/pvc-protection
    pvc shop/data-db-1 volume=pv-1
    pvc shop/data-other-1 volume=pv-2
    pv pv-0 claim=shop/data-db-0 reclaim=Retain
    pv pv-1 claim=shop/data-db-1 reclaim=Delete
    pv pv-2 claim=shop/data-other-1 reclaim=Delete
";

/// The remedies that scale a workload down, the least harmful first.
fn scalings(index: &Index) -> Vec<(Diagnosis, Remedy)> {
    let of = |(diagnosis, remedies): (Diagnosis, Vec<Remedy>)| {
        let scales = |it: &Remedy| matches!(it.act, RemedyAct::ScaleDown { .. });
        let remedies = remedies.into_iter().filter(scales);
        remedies.map(|remedy| (diagnosis.clone(), remedy)).collect::<Vec<_>>()
    };
    found(index).into_iter().flat_map(of).collect()
}

/// Of each: its harm, whether it keeps the claims, and the claims that go with it.
fn harms(index: &Index) -> Vec<(Harm, bool, Vec<String>)> {
    let line = |(_, it): (Diagnosis, Remedy)| {
        let keeps = matches!(it.act, RemedyAct::ScaleDown { keeps_claims: true, .. });
        let going = it.reaches.going.iter().map(|it| it.claim.to_string());
        (it.harm, keeps, going.collect())
    };
    scalings(index).into_iter().map(line).collect()
}

#[test]
fn set_that_deletes_the_claims_of_its_replicas_is_first_scaled_down_without_that() {
    let scalings = scalings(&fixture::index(WORLD));
    let [(_, keeping), (_, losing)] = scalings.as_slice() else { panic!("{scalings:?}") };
    assert_eq!((keeping.harm, losing.harm), (Harm::Interruption, Harm::DataLoss));
    assert_eq!(keeping.reaches.going, []);
    assert_eq!(keeping.loses, [Loss::Workload, Loss::ComesBack]);
    assert_eq!(losing.loses, [Loss::Workload, Loss::ComesBack, Loss::Data]);
    let [going] = losing.reaches.going.as_slice() else { panic!("{:?}", losing.reaches) };
    assert_eq!(going.claim.to_string(), "PersistentVolumeClaim shop/data-db-1");
    assert!(going.destroys_data());
    let bodies = |remedy: &Remedy| -> Vec<String> {
        let requests = remedy.commands.iter().filter_map(|it| it.request.as_ref());
        requests.map(|it| it.body.to_string()).collect()
    };
    let policy = "/spec/persistentVolumeClaimRetentionPolicy/whenScaled";
    let keeping = bodies(keeping);
    assert_eq!(keeping.len(), 2, "the request and the one that takes it back");
    for (body, [was, is], [from, to]) in keeping
        .iter()
        .zip([["Delete", "Retain"], ["Retain", "Delete"]])
        .zip([[2, 0], [0, 2]])
        .map(|((body, policy), replicas)| (body, policy, replicas))
    {
        let expected = serde_json::json!([
            {"op": "test", "path": "/metadata/uid", "value": "sts:shop/db"},
            {"op": "test", "path": policy, "value": was},
            {"op": "replace", "path": policy, "value": is},
            {"op": "test", "path": "/spec/replicas", "value": from},
            {"op": "replace", "path": "/spec/replicas", "value": to},
        ]);
        assert_eq!(*body, expected.to_string());
    }
    assert!(bodies(losing).iter().all(|body| !body.contains(policy)));
}

#[test]
fn harm_of_scaling_down_follows_the_claims_that_nobody_has_deleted() {
    let keeping = (Harm::Interruption, true, vec![]);
    let going = || vec!["PersistentVolumeClaim shop/data-db-1".to_owned()];
    let cases = [
        // The claims stay.
        (("whenScaled=Delete", "whenScaled=Retain"), vec![(Harm::Interruption, false, vec![])]),
        // Somebody has deleted the claim already.
        (
            ("pvc shop/data-db-1 volume=pv-1", "pvc shop/data-db-1 volume=pv-1 deleted=300"),
            vec![(Harm::Interruption, false, vec![]); 2],
        ),
        // The claim goes, and its volume stays.
        (
            ("data-db-1 reclaim=Delete", "data-db-1 reclaim=Retain"),
            vec![keeping.clone(), (Harm::Deletion, false, going())],
        ),
        // It never had a volume.
        (
            ("pvc shop/data-db-1 volume=pv-1", "pvc shop/data-db-1"),
            vec![keeping.clone(), (Harm::Deletion, false, going())],
        ),
        // Nobody sees the volume.
        (
            ("pv pv-1 claim=shop/data-db-1 reclaim=Delete", ""),
            vec![keeping, (Harm::DataLoss, false, going())],
        ),
    ];
    for ((was, is), expected) in cases {
        assert!(WORLD.contains(was), "{was}");
        let mut found = harms(&fixture::index(&WORLD.replace(was, is)));
        found.sort();
        found.dedup();
        let mut expected = expected;
        expected.dedup();
        expected.sort();
        assert_eq!(found, expected, "{is}");
    }
}

#[test]
fn set_with_hidden_claims_is_not_scaled_down_in_a_way_that_may_delete_them() {
    let world = "
        node n1
        ns shop
        sts shop/db replicas=1 templates=data whenScaled=Delete
        pod shop/db-0 owner=sts/db node=n1 uses=claim:data-db-0
        pvc shop/data-db-0 volume=pv-0 deleted=300 finalizers=kubernetes.io/pvc-protection
        pv pv-0 claim=shop/data-db-0 deleted=300 finalizers=kubernetes.io/pv-protection
    ";
    let index = fixture::index(world);
    let graph = Graph::of(&index);
    let diagnoses = diagnose(&index, &graph, fixture::now());
    let is_it = |it: &&Diagnosis| matches!(it.cause, Cause::ClaimInUse { .. });
    let diagnosis = diagnoses.iter().find(is_it).unwrap();
    let mut index = index;
    hide(&mut index, "persistentvolumeclaims");
    let graph = Graph::of(&index);
    let remedies = remedies(diagnosis, &index, &graph, fixture::now());
    let scalings: Vec<_> =
        remedies.iter().filter(|it| matches!(it.act, RemedyAct::ScaleDown { .. })).collect();
    let [keeping, losing] = scalings.as_slice() else { panic!("{scalings:?}") };
    assert_eq!((keeping.harm, &keeping.withheld), (Harm::Interruption, &None));
    let resource = "persistentvolumeclaims".to_owned();
    assert_eq!(losing.withheld, Some(Withheld::CannotSee { resource }));
}

#[test]
fn hash_of_scaling_down_covers_the_claims_that_go_and_everything_that_uses_the_claim() {
    let hash = |world: &str| {
        let scalings = scalings(&fixture::index(world));
        let (diagnosis, remedy) = scalings.last().unwrap();
        remedy.hash(diagnosis)
    };
    let shown = hash(WORLD);
    assert_eq!(shown, hash(WORLD));
    for (was, is) in [
        ("data-db-1 reclaim=Delete", "data-db-1 reclaim=Recycle"),
        ("pvc shop/data-db-1 ", "pvc shop/data-db-1 uid=again "),
        ("pvc shop/data-other-1 ", "pvc shop/data-db-7 "),
        ("ns shop", "ns shop\n pod shop/other node=n1 uses=claim:data-db-0"),
        ("pod shop/db-1 ", "pod shop/db-7 "),
    ] {
        assert!(WORLD.contains(was), "{was}");
        assert_ne!(hash(&WORLD.replace(was, is)), shown, "{is}");
    }
}

#[test]
fn scaling_down_rests_on_the_policy_for_claims_until_after_the_request() {
    let index = fixture::index(WORLD);
    let scalings = scalings(&index);
    let policies = |place: usize| {
        let (diagnosis, remedy): &(Diagnosis, Remedy) = &scalings[place];
        let premises = remedy.premises(diagnosis, &index).unwrap();
        let is_policy = |it: &&Premise| {
            matches!(it.expected, Expected::SameClaimPolicy(_) | Expected::KeepsClaims(_))
        };
        let fates = premises.iter().filter(|it| matches!(it.expected, Expected::SameDataFate(_)));
        let fates: Vec<String> = fates.map(|it| it.object.name.to_string()).collect();
        let when = |it: &Premise| (it.is_read_before(), !it.changes_with_it);
        let afterwards: Vec<(bool, bool)> = premises.iter().filter(is_policy).map(when).collect();
        (afterwards, fates)
    };
    // The remedy that keeps the claims changes the policy itself.
    assert_eq!(policies(0), (vec![(false, true)], vec!["pv-0".to_owned()]));
    assert_eq!(policies(1), (vec![(true, true)], vec!["pv-0".to_owned(), "pv-1".to_owned()]));
}

#[test]
fn policy_for_claims_is_the_same_or_keeps_them_only_of_the_same_set() {
    let was = fixture::object("sts shop/db whenScaled=Delete replicas=2");
    for (now, is_same, is_kept) in [
        ("sts shop/db whenScaled=Delete replicas=0", true, false),
        ("sts shop/db whenScaled=Retain replicas=2", false, true),
        ("sts shop/db uid=again whenScaled=Delete", false, false),
        ("sts shop/db uid=again whenScaled=Retain", false, false),
    ] {
        let now = fixture::object(now);
        assert_eq!(has_same_claim_policy(&was, &now), is_same, "{now:?}");
        assert_eq!(keeps_claims(&was, &now), is_kept, "{now:?}");
    }
}

#[test]
fn policy_that_keeps_claims_stays_switched_off_until_it_is_put_back_too() {
    let index = fixture::index(WORLD);
    let (diagnosis, remedy) = scalings(&index).swap_remove(0);
    let begin = |remedy: &Remedy| {
        let request = remedy.request().unwrap().clone();
        let mut attempt =
            remedy.begin("1".into(), &diagnosis, request, "Li".into(), "", fixture::now());
        attempt.end(AttemptOutcome::Accepted { meanwhile: None }, fixture::now());
        attempt
    };
    let (keeping, losing) = (begin(&remedy), begin(&scalings(&index)[1].1));
    let uid = r#"{"op":"test","path":"/metadata/uid","value":"sts:shop/db"}"#;
    let policy = r#"{"op":"test","path":"/spec/persistentVolumeClaimRetentionPolicy/whenScaled","value":"Retain"},{"op":"replace","path":"/spec/persistentVolumeClaimRetentionPolicy/whenScaled","value":"Delete"}"#;
    let replicas = r#"{"op":"test","path":"/spec/replicas","value":0},{"op":"replace","path":"/spec/replicas","value":2}"#;
    for (now, off, undo) in [
        (
            "replicas=0 templates=data",
            Some(SwitchedOff::Workload),
            format!("[{uid},{policy},{replicas}]"),
        ),
        ("replicas=3 templates=data", Some(SwitchedOff::ClaimPolicy), format!("[{uid},{policy}]")),
        (
            "replicas=0 templates=data whenScaled=Delete",
            Some(SwitchedOff::Workload),
            format!("[{uid},{replicas}]"),
        ),
        ("replicas=1 templates=data whenScaled=Delete", None, String::new()),
    ] {
        let index =
            fixture::index(&WORLD.replace("replicas=2 templates=data whenScaled=Delete", now));
        assert_eq!(keeping.switched_off(&index), off, "{now}");
        let body = keeping.undo_now(&index).map(|it| it.body.to_string()).unwrap_or_default();
        assert_eq!(body, undo, "{now}");
        // The other remedy changed no policy.
        let is_down = now.starts_with("replicas=0").then_some(SwitchedOff::Workload);
        assert_eq!(losing.switched_off(&index), is_down, "{now}");
    }
}
