//! The same objects as the graph, as a table: grouped by namespace, in the order of deletion.

use leptos::prelude::*;
use teardown::{
    message::{Membership, ObjectCard, State},
    object::Uid,
};

use crate::{
    navigation::address::Address,
    sort::sort,
    state::{
        drawing::Lane,
        scene::{self, Records, Scene},
        subscription::Lasting,
    },
    text,
    view::{
        empty::nothing_matches,
        icon::icon,
        moment::moment,
        node_health::node_health,
        object_name::{object_link, object_name_short},
        rows::rows,
        state_badge::state_badge,
    },
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
    let groups = Memo::new(move |_| {
        let filter = address.filter();
        let read = |records: &Records| {
            groups(scene::objects(records).filter(|card| filter.shows_card(card)))
        };
        // Only where states are chosen does it matter that one has changed.
        if filter.is_empty() { scene.read_members(read) } else { scene.read(read) }
    });
    let most = move || if address.all.get().is_some() { usize::MAX } else { FIRST };
    // The groups with the rows of each that are shown.
    let shown = Memo::new(move |_| {
        let mut left = most();
        let mut shown = groups.get();
        for (_, uids) in &mut shown {
            uids.truncate(left);
            left -= uids.len();
        }
        shown.retain(|(_, uids)| !uids.is_empty());
        shown
    });
    let lanes = Memo::new(move |_| {
        shown.with(|shown| shown.iter().map(|(lane, _)| lane.clone()).collect::<Vec<_>>())
    });
    let count =
        move || groups.with(|groups| groups.iter().map(|(_, uids)| uids.len()).sum::<usize>());
    view! {
        <div class="list">
            <div class="table-frame">
                <table class="list-table">
                    <thead>
                        <tr>
                            <th scope="col">{text::COLUMN_OBJECT}</th>
                            <th scope="col">{text::COLUMN_STATE}</th>
                            <th scope="col" class="number">{text::COLUMN_WAVE}</th>
                            <th scope="col">{text::COLUMN_SINCE}</th>
                            <th scope="col">{text::COLUMN_STANDING}</th>
                        </tr>
                    </thead>
                    {rows(lanes, lane_key, move |lane| Some(group(scene, address, shown, lane)))}
                </table>
            </div>
            {move || (count() == 0).then(nothing_matches)}
            {move || (count() > most()).then(|| view! {
                <a class="button" href=address.to_all()>{text::show_all(count() - most())}</a>
            }.into_any())}
        </div>
    }
}

fn groups<'a>(cards: impl Iterator<Item = &'a ObjectCard>) -> Vec<(Lane, Vec<Uid>)> {
    let mut cards: Vec<(Lane, &ObjectCard)> = cards.map(|card| (Lane::of(card), card)).collect();
    sort(&mut cards, |(lane, a), (other, b)| {
        let by_name = || {
            (&a.object.kind, &a.object.name, &a.uid).cmp(&(&b.object.kind, &b.object.name, &b.uid))
        };
        let wave = |card: &ObjectCard| card.wave.unwrap_or(u32::MAX);
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

/// A lane's key: no name of a namespace begins like the other two.
fn lane_key(lane: &Lane) -> String {
    lane_name(lane)
}

/// A lane's name.
pub fn lane_name(lane: &Lane) -> String {
    match lane {
        Lane::Namespace(name) => text::namespace(&text::isolated(name)),
        Lane::Cluster => text::LANE_CLUSTER.to_owned(),
        Lane::Outside => text::LANE_OUTSIDE.to_owned(),
    }
}

fn group(
    scene: Scene,
    address: Address,
    shown: Memo<Vec<(Lane, Vec<Uid>)>>,
    lane: Lane,
) -> AnyView {
    let name = lane_name(&lane);
    let uids = Memo::new(move |_| {
        shown.with(|shown| {
            let group = shown.iter().find(|(other, _)| *other == lane);
            group.map(|(_, uids)| uids.clone()).unwrap_or_default()
        })
    });
    view! {
        <tbody>
            <tr class="list-group">
                <th colspan="5" scope="rowgroup">{name} <span class="count">{move || uids.with(Vec::len)}</span></th>
            </tr>
            {rows(uids, Uid::to_string, move |uid| Some(row(scene, address, scene.object(&uid)?)))}
        </tbody>
    }
    .into_any()
}

fn row(scene: Scene, address: Address, card: Lasting<RwSignal<ObjectCard>>) -> AnyView {
    let first = card.get_untracked();
    let uid = StoredValue::new(first.uid.clone());
    let membership = move || {
        card.with(|card| match (&card.membership, &card.node) {
            (Membership::Member, None) => ().into_any(),
            (Membership::Kept(reason), None) => {
                view! { {icon("icon-lock")} " " {text::kept(reason)} }.into_any()
            }
            (Membership::Outside, None) => {
                view! { <span class="quiet">{text::OUTSIDE}</span> }.into_any()
            }
            (_, Some(node)) => node_health(node),
        })
    };
    view! {
        <tr class:list-fresh=move || uid.with_value(|uid| scene.is_marked(uid))>
            <th scope="row">{object_link(object_name_short(&first.object), &first.uid, address)}</th>
            <td>{move || {
                let state = card.with(|card| card.state);
                (state != State::Present).then(|| state_badge(state))
            }}</td>
            <td class="number">{move || card.with(|card| card.wave.map_or(text::NONE.to_owned(), |wave| wave.to_string()))}</td>
            <td class="when">{move || card.with(|card| card.since.map(moment))}</td>
            <td class="list-standing">{move || membership()}</td>
        </tr>
    }
    .into_any()
}
