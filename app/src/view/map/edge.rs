//! An edge: a line with a head, from what goes first to what goes later, that can say where it comes from.

use std::{collections::HashSet, sync::Arc};

use leptos::prelude::*;
use teardown::object::Uid;

use crate::{
    state::{
        drawing::Arrow,
        scene::Scene,
        subscription::{self, Lasting},
    },
    text,
};

/// The edge.
pub fn edge(
    scene: Scene,
    arrow: &Arrow,
    path: Signal<String>,
    lit: Signal<Option<Arc<HashSet<Uid>>>>,
    selected: Lasting<Memo<Option<Uid>>>,
) -> AnyView {
    let name =
        |uid: &Uid| scene.object(uid).map(|card| card.with_untracked(|card| card.object.clone()));
    let said = match (name(&arrow.edge.from), name(&arrow.edge.to)) {
        (Some(from), Some(to)) => text::edge_sentence(&from, &arrow.edge, &to),
        _ => text::reason(&arrow.edge.reason),
    };
    let (first, later) = (arrow.first.clone(), arrow.later.clone());
    let class = move || {
        subscription::end_with_owner();
        let ends = |uid: &Uid| first == *uid || later == *uid;
        let touched = selected.with(|selected| selected.as_ref().is_some_and(ends));
        let dim = lit.with(|lit| {
            lit.as_ref().is_some_and(|lit| !lit.contains(&first) || !lit.contains(&later))
        });
        match (touched, dim) {
            (true, _) => "edge edge-lit",
            (false, true) => "edge edge-dim",
            (false, false) => "edge",
        }
    };
    view! {
        <g class=class>
            <title>{said}</title>
            <path class="edge-hit" d=move || path.get()></path>
            <path class="edge-line" d=move || path.get()></path>
        </g>
    }
    .into_any()
}

/// A length in whole units: nobody sees less, and text with fractions costs the browser's half twenty kilobytes.
pub fn whole(length: f64) -> i32 {
    length.round() as i32
}

/// Points to a path: straight where the height stays, else a curve that leaves and arrives level.
pub fn path_of(points: &[(f64, f64)]) -> String {
    let mut path = String::new();
    let mut from = None;
    for (x, y) in points.iter().map(|(x, y)| (whole(*x), whole(*y))) {
        match from.replace((x, y)) {
            None => path.push_str(&format!("M{x} {y}")),
            Some((from_x, from_y)) if from_y == y && x >= from_x => path.push_str(&format!("H{x}")),
            Some((from_x, from_y)) => {
                // An edge that leads back makes a loop wide enough to be seen.
                let bend = ((x - from_x) / 2).max(28);
                path.push_str(&format!("C{} {from_y} {} {y} {x} {y}", from_x + bend, x - bend));
            }
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn level_parts_are_straight_and_the_rest_bends() {
        assert_eq!(path_of(&[(0.0, 10.0), (100.0, 10.0)]), "M0 10H100");
        assert_eq!(path_of(&[(0.0, 10.0), (100.0, 50.0)]), "M0 10C50 10 50 50 100 50");
        assert_eq!(path_of(&[(100.0, 10.0), (0.0, 10.0)]), "M100 10C128 10 -28 10 0 10");
    }
}
