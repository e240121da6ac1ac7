//! The order in which a person should try the ways out.

use super::*;

#[test]
fn remedies_are_one_change_each_in_order_of_harm() {
    let everything = format!("{SILENT}{API_DOWN}{EVERYTHING}");
    for (diagnosis, remedies) in found(&fixture::index(&everything)) {
        assert!(!remedies.is_empty(), "no remedy for {}", diagnosis.id);
        assert!(remedies.is_sorted_by_key(|remedy| remedy.harm), "{}", diagnosis.id);
        for remedy in &remedies {
            let acting = remedy.commands.iter().filter(|it| it.purpose == Purpose::Act);
            assert!(acting.count() <= 1, "{:?}", remedy.act);
            let may_act = remedy.withheld.is_none();
            assert!(may_act || remedy.commands.iter().all(|it| it.purpose == Purpose::Look));
            let wire = serde_json::to_string(remedy).unwrap();
            // The rights stay on the server.
            let without = Remedy { permits: vec![], ..remedy.clone() };
            assert_eq!(without, serde_json::from_str(&wire).unwrap());
        }
    }
}

/// The sequence of each cause is written out, because the harm of an act is a judgement that sorting does not check.
#[test]
fn ways_out_of_each_cause_are_in_the_order_that_a_person_should_try_them() {
    let everything = format!("{SILENT}{API_DOWN}{EVERYTHING}");
    let mut described = String::new();
    for (diagnosis, remedies) in found(&fixture::index(&everything)) {
        writeln!(described, "{}", diagnosis.cause.name()).unwrap();
        for remedy in remedies {
            let act = code(&remedy.act);
            let act = act.split([':', ',']).next().unwrap_or_default();
            writeln!(described, "  {:?} {act}", remedy.harm).unwrap();
        }
    }
    insta::assert_snapshot!(described, @r"
    claimInUse
      Deletion deleteUser
    apiDown
      None repairApi
      Reversible nudge
      SwitchesOff deleteApiService
      Leftovers finalizeNamespace
    controllerSilent
      None repairController
      Reversible nudge
      Leftovers removeFinalizer
    finisherGone
      None restoreFinisher
      Deletion deleteAgain
      Leftovers removeFinalizer
    finisherGone
      None restoreFinisher
      Leftovers removeFinalizer
    nodeSilent
      None startNode
      DataLoss outOfServiceTaint
      DataLoss deleteNode
      DataLoss forceDeletePod
    backendLeft
      None repairDriver
      Reversible nudge
      Leftovers removeFinalizer
    controllerSilent
      None repairController
      Reversible nudge
    namespaceFinalizer
      None restoreFinisher
      Leftovers removeSpecFinalizer
    volumeAttached
      None wait
      None repairDriver
    loadBalancerLeft
      None repairLoadBalancer
      Leftovers removeFinalizer
    ");
}
