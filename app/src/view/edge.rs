//! An edge: a line with a head, from what goes first to what goes later, that can say where it comes from.

use std::collections::HashSet;
use std::sync::Arc;

use leptos::prelude::*;
use teardown::object::Uid;

use crate::{drawing::Arrow, scene::Scene, text};

/// The edge.
pub fn edge(
    scene: Scene,
    arrow: &Arrow,
    path: Signal<String>,
    lit: Signal<Option<Arc<HashSet<Uid>>>>,
    selected: Signal<Option<String>>,
) -> impl IntoView + use<> {
    let name = |uid: &Uid| scene.object(uid).map(|card| card.with_untracked(|card| card.object.clone()));
    let said = match (name(&arrow.edge.from), name(&arrow.edge.to)) {
        (Some(from), Some(to)) => text::edge_sentence(&from, arrow.edge.kind, &to, &arrow.edge.reason),
        _ => text::reason(&arrow.edge.reason),
    };
    let (first, later) = (arrow.first.clone(), arrow.later.clone());
    let class = move || {
        let ends = |uid: &str| first.as_str() == uid || later.as_str() == uid;
        let touched = selected.with(|selected| selected.as_deref().is_some_and(ends));
        let dim = lit.with(|lit| lit.as_ref().is_some_and(|lit| !lit.contains(&first) || !lit.contains(&later)));
        match (touched, dim) {
            (true, _) => "edge lit",
            (false, true) => "edge dim",
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
}

/// Points to a path: straight where the height stays, else a curve that leaves and arrives level.
pub fn path_of(points: &[(f64, f64)]) -> String {
    let mut path = String::new();
    for (place, (x, y)) in points.iter().enumerate() {
        let Some((from_x, from_y)) = place.checked_sub(1).and_then(|before| points.get(before)) else {
            path.push_str(&format!("M{x:.0} {y:.0}"));
            continue;
        };
        if (from_y - y).abs() < 0.5 && x >= from_x {
            path.push_str(&format!("H{x:.0}"));
        } else {
            // An edge that leads back makes a loop wide enough to be seen.
            let bend = ((x - from_x) / 2.0).max(28.0);
            path.push_str(&format!("C{:.0} {from_y:.0} {:.0} {y:.0} {x:.0} {y:.0}", from_x + bend, x - bend));
        }
    }
    path
}
