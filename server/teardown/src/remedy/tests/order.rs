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
