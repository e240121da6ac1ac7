//! The steps of a run as a table, active ones first; what is gone is folded away below. Each row has its own signal, so a
//! delta touches only the rows it is about.

use leptos::prelude::*;
use teardown::{
    message::{State, StepCard},
    plan::StepId,
};

use super::{attention::needs_attention, current::is_moving};
use crate::{
    navigation::address::Address,
    sort::sort,
    state::{
        scene::{self, Records, Scene},
        subscription::Lasting,
    },
    text,
    view::{
        empty::nothing_matches,
        moment::time_of_day,
        object_name::{object_link, object_name},
        rows::rows,
        state_badge::state_badge,
    },
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
        scene.read(|records: &Records| {
            let shown =
                scene::steps(records).filter(|step| filter.matches(&step.object, step.state));
            let mut steps: Vec<(u8, u32, StepId)> =
                shown.map(|step| (part(step.state), step.wave, step.id)).collect();
            sort(&mut steps, Ord::cmp);
            steps
        })
    });
    let part_of = move |is_gone: bool| {
        order.with(|order| {
            let ids = order.iter().filter(|(part, ..)| (*part == GONE) == is_gone);
            ids.map(|(.., id)| *id).collect::<Vec<StepId>>()
        })
    };
    let (open, gone) = (Memo::new(move |_| part_of(false)), Memo::new(move |_| part_of(true)));
    let body = move |ids: Memo<Vec<StepId>>| {
        let shown = Memo::new(move |_| {
            let most = if address.all.get().is_some() { usize::MAX } else { FIRST };
            ids.get().into_iter().take(most).collect::<Vec<_>>()
        });
        rows(shown, StepId::to_string, move |id| Some(row(scene, address, scene.step(id)?)))
    };
    let hidden = move || match address.all.get() {
        Some(_) => 0,
        None => {
            let over = |ids: Memo<Vec<StepId>>| ids.with(Vec::len).saturating_sub(FIRST);
            over(open) + over(gone)
        }
    };
    let has_open = Memo::new(move |_| !open.with(Vec::is_empty));
    let has_gone = Memo::new(move |_| !gone.with(Vec::is_empty));
    // When nothing else is left to show, or somebody looks for something, nothing is folded away.
    let unfolded = Memo::new(move |_| !has_open.get() || !address.filter().is_empty());
    view! {
        {move || has_open.get().then(|| table(body(open)))}
        {move || has_gone.get().then(|| view! {
            <details class="steps-gone" open=move || unfolded.get()>
                <summary>{move || text::gone_objects(gone.with(Vec::len))}</summary>
                {table(body(gone))}
            </details>
        }.into_any())}
        {move || (!has_open.get() && !has_gone.get()).then(nothing_matches)}
        {move || (hidden() > 0).then(|| view! { <a class="button" href=address.to_all()>{text::show_all(hidden())}</a> }.into_any())}
    }
}

/// The part of the table for what is gone; it comes last and is folded away.
const GONE: u8 = 2;

/// The part of the table for a state: active steps first, then the waiting ones, then the rest.
fn part(state: State) -> u8 {
    match state {
        State::Gone => GONE,
        state if is_moving(state) || needs_attention(state) => 0,
        _ => 1,
    }
}

fn table(rows: AnyView) -> AnyView {
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
                <tbody>{rows}</tbody>
            </table>
        </div>
    }
    .into_any()
}

fn row(scene: Scene, address: Address, card: Lasting<RwSignal<StepCard>>) -> AnyView {
    let first = card.get_untracked();
    let waits = move || {
        let ids = card.with(|card| card.waits_for.clone());
        let names: Vec<String> = ids
            .iter()
            .take(NAMED)
            .filter_map(|id| scene.step(*id))
            .map(|step| {
                step.with_untracked(|step| {
                    format!("{} {}", step.object.kind, text::isolated(&step.object.name))
                })
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
            class:steps-settled=move || card.with(|card| card.gone.is_some())
            class:list-fresh=move || card.with(|card| scene.is_marked(&card.uid))
        >
            <td class="number">{first.wave}</td>
            <th scope="row">{object_link(object_name(&first.object), &first.uid, address)}</th>
            <td>{move || state_badge(card.with(|card| card.state))}</td>
            <td class="steps-waits">{move || waits()}</td>
            <td class="when">{move || card.with(|card| card.requested.map(time_of_day))}</td>
            <td class="when" title=move || card.with(|card| card.proof.map(text::proof))>
                {move || card.with(|card| card.gone.map(time_of_day))}
                {move || card.with(|card| card.unconfirmed.then(|| view! { " " <span class="quiet">{text::UNCONFIRMED}</span> }.into_any()))}
                {move || card.with(|card| (!card.unproven.is_empty()).then(|| view! { " " <span class="quiet">{text::unproven(&card.unproven)}</span> }.into_any()))}
                <span class="visually-hidden">{move || card.with(|card| card.proof.map(text::proof))}</span>
            </td>
        </tr>
    }
    .into_any()
}
