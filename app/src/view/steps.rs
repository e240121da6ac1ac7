//! The steps of a run as a table: each row has its own signal, so a delta touches only the rows it is about.

use leptos::prelude::*;
use teardown::{message::StepCard, plan::StepId};

use super::{
    empty::nothing_matches,
    moment::time_of_day,
    object_name::{object_link, object_name},
    state_badge::state_badge,
};
use crate::{
    navigation::address::Address,
    state::scene::{self, Records, Scene},
    text,
};

/// Rows of a first render; the rest is one link away.
const FIRST: usize = 400;
/// Objects named in a cell.
const NAMED: usize = 2;

/// The table.
#[component]
pub fn Steps(
    /// The run's records.
    scene: Scene,
    /// The page's address.
    address: Address,
) -> impl IntoView {
    let order = Memo::new(move |_| {
        let filter = address.filter();
        let read = |records: &Records| {
            let shown =
                scene::steps(records).filter(|step| filter.matches(&step.object, step.state));
            let mut steps: Vec<(u32, StepId)> = shown.map(|step| (step.wave, step.id)).collect();
            steps.sort_unstable();
            steps.into_iter().map(|(_, id)| id).collect::<Vec<_>>()
        };
        // Only where states are chosen does it matter that one has changed.
        if filter.is_empty() { scene.read_members(read) } else { scene.read(read) }
    });
    let shown = move || {
        let most = if address.all.get().is_some() { usize::MAX } else { FIRST };
        order.get().into_iter().take(most).collect::<Vec<_>>()
    };
    let hidden = move || match address.all.get() {
        Some(_) => 0,
        None => order.with(Vec::len).saturating_sub(FIRST),
    };
    view! {
        <div class="table-frame">
            <table class="steps">
                <thead>
                    <tr>
                        <th scope="col" class="number">{text::COLUMN_WAVE}</th>
                        <th scope="col">{text::COLUMN_OBJECT}</th>
                        <th scope="col">{text::COLUMN_STATE}</th>
                        <th scope="col">{text::COLUMN_WAITS}</th>
                        <th scope="col">{text::COLUMN_REQUESTED}</th>
                        <th scope="col">{text::COLUMN_GONE}</th>
                    </tr>
                </thead>
                <tbody>
                    <For each=shown key=|id| *id let:id>
                        {scene.step(id).map(|card| row(scene, address, card))}
                    </For>
                </tbody>
            </table>
        </div>
        {move || order.with(Vec::is_empty).then(nothing_matches)}
        {move || (hidden() > 0).then(|| view! { <a class="button" href=address.to_all()>{text::show_all(hidden())}</a> })}
    }
}

fn row(scene: Scene, address: Address, card: ArcRwSignal<StepCard>) -> impl IntoView {
    let first = card.get_untracked();
    let card = RwSignal::from(card);
    let waits = move || {
        let ids = card.with(|card| card.waits_for.clone());
        let names: Vec<String> = ids
            .iter()
            .take(NAMED)
            .filter_map(|id| scene.step(*id))
            .map(|step| {
                step.with_untracked(|step| format!("{} {}", step.object.kind, step.object.name))
            })
            .collect();
        let more = ids.len().saturating_sub(NAMED);
        if more > 0 {
            format!("{} {}", names.join(", "), text::more(more))
        } else {
            names.join(", ")
        }
    };
    view! {
        <tr
            id=format!("step-{}", first.id)
            class:settled=move || card.with(|card| card.gone.is_some())
            class:fresh=move || card.with(|card| scene.is_marked(&card.uid))
        >
            <td class="number">{first.wave}</td>
            <th scope="row">{object_link(object_name(&first.object).into_any(), &first.uid, address)}</th>
            <td>{move || state_badge(card.with(|card| card.state))}</td>
            <td class="waits">{waits}</td>
            <td class="when">{move || card.with(|card| card.requested.map(time_of_day))}</td>
            <td class="when">{move || card.with(|card| card.gone.map(time_of_day))}</td>
        </tr>
    }
}
