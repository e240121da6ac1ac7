//! A unit as a row of the table.

use leptos::prelude::*;
use teardown::message::UnitCard;

use crate::{
    navigation::address,
    text,
    view::{moment::moment, state_bar::state_bar},
};

/// The row.
pub fn unit_row(card: &UnitCard) -> AnyView {
    let total: usize = card.counts.values().sum();
    let (namespaces, all) = match card.namespaces.len() {
        0..=3 => (card.namespaces.join(", "), None),
        more => (
            format!("{} {}", card.namespaces[..2].join(", "), text::more(more - 2)),
            Some(card.namespaces.join(", ")),
        ),
    };
    let run = card.run.as_ref().map(|run| {
        view! { <a href=address::run(run)>{text::RUN} " " {run.to_string()}</a> }.into_any()
    });
    let (shared, class) = match card.shared {
        0 => (text::NONE.to_owned(), "number unit-none"),
        some => (some.to_string(), "number"),
    };
    view! {
        <tr>
            <th scope="row" class="unit-name"><a href=address::unit(&card.id)><bdi>{text::isolated(card.id.as_str())}</bdi></a></th>
            <td class="unit-found" title=text::found_hint(card.origin)>{text::found(card.origin)}</td>
            <td class="unit-namespaces" title=all>{namespaces}</td>
            <td class="number" data-label=text::COLUMN_OBJECTS>{total}</td>
            <td class="unit-states">{state_bar(&card.counts)}</td>
            <td class=class data-label=text::COLUMN_SHARED title=text::SHARED_HINT>{shared}</td>
            <td class="when" data-label=text::COLUMN_CHANGED>{card.newest.map(moment)}</td>
            <td class="unit-run">{run}</td>
        </tr>
    }
    .into_any()
}
