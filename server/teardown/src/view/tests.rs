use super::*;
use crate::{fixture, unit::units};

/// Two applications; one uses what the other declares.
const SHOPS: &str = "
    ns shop of=shop
    cm shop/prices of=shop
    pvc shop/photos of=shop volume=pv-photos
    pv pv-photos of=shop claim=shop/photos
    deploy shop/web of=shop selector=app:web template=app:web uses=config:prices
    pod shop/report of=audit uses=config:prices,claim:photos
";

#[test]
fn a_unit_is_told_alike_among_others_and_alone() {
    let index = fixture::index(SHOPS);
    let graph = Graph::of(&index);
    let units = units(&index, &graph);
    let world = World {
        cluster: "test",
        index: &index,
        graph: &graph,
        units: &units,
        runs: &[],
        now: fixture::now(),
    };
    let cards = |records: Vec<Record>| -> Vec<UnitCard> {
        let units = records.into_iter().filter_map(|record| match record {
            Record::Unit(card) => Some(card),
            _ => None,
        });
        units.collect()
    };
    let together = cards(world.overview());
    let alone: Vec<UnitCard> =
        units.keys().filter_map(|id| world.unit(id)).flat_map(cards).collect();
    assert_eq!(together, alone);
    let shop = together.iter().find(|card| *card.id.as_str() == *"shop").unwrap();
    // The prices, the photos and the namespace that the report's Pod lives in; the volume only follows its claim.
    assert_eq!(shop.shared, 3);
}
