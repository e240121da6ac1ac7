//! The same objects as the graph, as a table: grouped by namespace, in the order of deletion.

use leptos::prelude::*;
use teardown::{
    message::{Membership, ObjectCard, State},
    object::Uid,
};

use super::{
    each::{Row, each},
    icon::icon,
    moment::moment,
    object_name::{object_link, object_name_short},
    state_badge::state_badge,
};
use crate::{
    address::Address,
    drawing::Lane,
    erased::{memo, now},
    scene::{self, Records, Scene},
    sorted::sorted,
    text,
};

/// Rows of a first render; the rest is one link away.
const FIRST: usize = 400;

/// The table.
#[component]
pub fn List(
    /// The unit's records.
    scene: Scene,
    /// The page's address.
    address: Address,
) -> impl IntoView {
    let groups = memo(move || {
        let sieve = address.sieve();
        let read = |records: &Records| {
            groups(scene::objects(records).filter(|card| sieve.shows_card(card)))
        };
        // Only where states are chosen does it matter that one has changed.
        if sieve.is_open() { scene.read_members(read) } else { scene.read(read) }
    });
    let most = move || if address.all.get().is_some() { usize::MAX } else { FIRST };
    let rows = each(move || {
        let mut left = most();
        let mut shown = Vec::new();
        for (lane, uids) in groups.get() {
            let part: Vec<Uid> = uids.into_iter().take(left).collect();
            left -= part.len();
            if !part.is_empty() {
                // The key holds the members, so that a group with others is drawn anew.
                let members: Vec<String> = part.iter().map(Uid::to_string).collect();
                let key = format!("{} {}", lane_name(&lane), members.join(" "));
                shown.push(Row::new(key, move || group(scene, address, &lane, &part)));
            }
        }
        shown
    });
    let count =
        move || groups.with(|groups| groups.iter().map(|(_, uids)| uids.len()).sum::<usize>());
    view! {
        <div class="list">
            <div class="table-frame">
                <table class="objects">
                    <thead>
                        <tr>
                            <th scope="col">{text::COLUMN_OBJECT}</th>
                            <th scope="col">{text::COLUMN_STATE}</th>
                            <th scope="col" class="number">{text::COLUMN_WAVE}</th>
                            <th scope="col">{text::COLUMN_SINCE}</th>
                            <th scope="col" class="wide">{text::COLUMN_STANDING}</th>
                        </tr>
                    </thead>
                    {rows}
                </table>
            </div>
            {now(move || (count() == 0).then(super::empty::nothing_matches))}
            {now(move || (count() > most()).then(|| view! {
                <a class="button" href=address.to_all()>{text::show_all(count() - most())}</a>
            }))}
        </div>
    }
}

fn groups<'a>(cards: impl Iterator<Item = &'a ObjectCard>) -> Vec<(Lane, Vec<Uid>)> {
    let cards: Vec<(Lane, &ObjectCard)> = cards.map(|card| (Lane::of(card), card)).collect();
    let wave = |card: &ObjectCard| card.wave.unwrap_or(u32::MAX);
    let cards = sorted(cards, |(lane, a), (other, b)| {
        let by_name = || {
            (&a.object.kind, &a.object.name, &a.uid).cmp(&(&b.object.kind, &b.object.name, &b.uid))
        };
        lane.cmp(other).then(wave(a).cmp(&wave(b))).then_with(by_name)
    });
    let mut groups: Vec<(Lane, Vec<Uid>)> = Vec::new();
    for (lane, card) in cards {
        match groups.last_mut() {
            Some((last, uids)) if *last == lane => uids.push(card.uid.clone()),
            _ => groups.push((lane, vec![card.uid.clone()])),
        }
    }
    groups
}

/// A lane's name.
pub fn lane_name(lane: &Lane) -> String {
    match lane {
        Lane::Namespace(name) => text::namespace(&text::isolated(name)),
        Lane::Cluster => text::LANE_CLUSTER.to_owned(),
        Lane::Outside => text::LANE_OUTSIDE.to_owned(),
    }
}

fn group(scene: Scene, address: Address, lane: &Lane, uids: &[Uid]) -> impl IntoView + use<> {
    let rows = uids
        .iter()
        .filter_map(|uid| scene.object(uid))
        .map(|card| row(scene, address, card))
        .collect_view();
    view! {
        <tbody>
            <tr class="group">
                <th colspan="5" scope="rowgroup">{lane_name(lane)} <span class="count">{uids.len()}</span></th>
            </tr>
            {rows}
        </tbody>
    }
}

fn row(scene: Scene, address: Address, card: ArcRwSignal<ObjectCard>) -> impl IntoView {
    let first = card.get_untracked();
    let card = RwSignal::from(card);
    let uid = StoredValue::new(first.uid.clone());
    let membership = move || {
        card.with(|card| match &card.membership {
            Membership::Member => ().into_any(),
            Membership::Kept(reason) => {
                view! { {icon("icon-lock")} " " {text::kept(reason)} }.into_any()
            }
            Membership::Outside => view! { <span class="quiet">{text::OUTSIDE}</span> }.into_any(),
        })
    };
    view! {
        <tr class:fresh=move || uid.with_value(|uid| scene.is_marked(uid))>
            <th scope="row">{object_link(object_name_short(&first.object).into_any(), &first.uid, address)}</th>
            <td>{now(move || {
                let state = card.with(|card| card.state);
                (state != State::Present).then(|| state_badge(state))
            })}</td>
            <td class="number">{now(move || card.with(|card| card.wave.map_or(text::NONE.to_owned(), |wave| wave.to_string())))}</td>
            <td class="when">{now(move || card.with(|card| card.since.map(moment)))}</td>
            <td class="wide standing">{now(membership)}</td>
        </tr>
    }
}
