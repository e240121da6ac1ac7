//! An object in the graph: kind, name, and its state as shape, glyph and word.

use std::{collections::HashSet, sync::Arc};

use leptos::{prelude::*, svg};
use teardown::{
    message::{Membership, ObjectCard, State},
    object::Uid,
};

use super::edge::whole;
use crate::{
    ICONS,
    state::{
        drawing::{HEIGHT, WIDTH},
        scene::Scene,
        subscription::{self, Lasting},
    },
    text,
    view::{icon, node_health::node_health_short},
};

/// A card's size in whole units.
const WIDE: i32 = WIDTH as i32;
const HIGH: i32 = HEIGHT as i32;
/// Characters a card has room for.
const NAME: usize = 20;
const KIND: usize = 14;
/// Characters in the larger type of a distant view.
const FAR_NAME: usize = 15;

/// The surroundings of a node: the filter, the selection and the focus.
#[derive(Clone, Copy)]
pub struct Around {
    /// The objects that are not faded; all of them where there is none.
    pub lit: Signal<Option<Arc<HashSet<Uid>>>>,
    /// The records, which also say what changed during a gap.
    pub scene: Scene,
    /// The selected object.
    pub selected: Lasting<Memo<Option<Uid>>>,
    /// The one node that Tab reaches.
    pub focus: Signal<Option<Uid>>,
}

impl Around {
    fn is_selected(self, uid: &Uid) -> bool {
        self.selected.with(|selected| selected.as_ref() == Some(uid))
    }

    fn is_faded(self, uid: &Uid) -> bool {
        self.lit.with(|lit| lit.as_ref().is_some_and(|lit| !lit.contains(uid)))
    }

    fn has_focus(self, uid: &Uid) -> bool {
        self.focus.with(|focus| focus.as_ref() == Some(uid))
    }
}

/// The node. `counts` are the edges that lead to it and away from it.
pub fn node(
    card: Lasting<RwSignal<ObjectCard>>,
    place: Signal<(f64, f64)>,
    counts: Signal<(usize, usize)>,
    around: Around,
    choose: Callback<Uid>,
) -> AnyView {
    let first = card.get_untracked();
    let state = Memo::new(move |_| card.with(|card| card.state));
    let is_outside = first.membership == Membership::Outside;
    let uid = first.uid.clone();
    let class = {
        let uid = uid.clone();
        move || class(&uid, state, is_outside, around)
    };
    let tab = {
        let uid = uid.clone();
        move || {
            subscription::end_with_owner();
            if around.has_focus(&uid) { "0" } else { "-1" }
        }
    };
    let pressed = {
        let uid = uid.clone();
        move || {
            subscription::end_with_owner();
            if around.is_selected(&uid) { "true" } else { "false" }
        }
    };
    let transform = move || {
        subscription::end_with_owner();
        let (x, y) = place.get();
        format!("translate({} {})", whole(x), whole(y))
    };
    let name = text::shortened(&text::visible(&first.object.name), NAME);
    let kind = text::shortened(text::kind_short(&first.object.kind), KIND);
    // It begins with what is seen, so that it can be said to a voice control.
    let label = {
        let seen = format!("{name} {kind}");
        let path = text::visible(&text::path(&first.object));
        move || {
            subscription::end_with_owner();
            let (before, after) = counts.get();
            let label = text::node_label(&seen, state.get(), &path, before, after);
            card.with(|card| card.node)
                .map_or(label.clone(), |node| format!("{label}, {}", text::ready(node.ready)))
        }
    };
    let chosen = uid.clone();
    view! {
        <g
            class=class
            id=format!("node-{uid}")
            data-uid=uid.to_string()
            transform=transform
            tabindex=tab
            role="button"
            aria-pressed=pressed
            aria-label=label
            on:click=move |_| choose.run(chosen.clone())
        >
            {face(&first, name, kind, card, state)}
        </g>
    }
    .into_any()
}

fn class(uid: &Uid, state: Memo<State>, is_outside: bool, around: Around) -> String {
    subscription::end_with_owner();
    // Before the lit cards, which are made from it: see `graph`.
    let is_selected = around.is_selected(uid);
    let is_faded = around.is_faded(uid);
    let mut class = format!("node {}", icon::of_state(state.get()));
    let is_fresh = around.scene.is_marked(uid);
    for (name, is) in [
        ("node-dim", is_faded),
        ("node-selected", is_selected),
        ("node-outside", is_outside),
        ("node-fresh", is_fresh),
    ] {
        if is {
            class.push(' ');
            class.push_str(name);
        }
    }
    class
}

/// All that is seen of the node. The label of the node says it, so a screen reader passes over it.
fn face(
    first: &ObjectCard,
    name: String,
    kind: String,
    card: Lasting<RwSignal<ObjectCard>>,
    state: Memo<State>,
) -> AnyView {
    let kept = Memo::new(move |_| card.with(|card| matches!(card.membership, Membership::Kept(_))));
    let far_name = text::shortened(&text::visible(&first.object.name), FAR_NAME);
    // It stands in place of the kind, which the icon says, and of the word for what is kept, which the shape says.
    let health = move || card.with(|card| card.node).map(|node| node_health_short(&node));
    let is_node = first.node.is_some();
    let is_quiet = move || match state.get() {
        State::Present => true,
        State::Kept => is_node,
        _ => false,
    };
    // Only where the card cannot show it: to a screen reader the label says it already.
    let whole_name = (name != *first.object.name)
        .then(|| svg::title().child(text::visible(&text::path(&first.object))));
    view! {
        <g aria-hidden="true">
            {whole_name}
            <rect class="node-card" width=WIDE height=HIGH rx="9"></rect>
            <rect class="node-edge" width="4" height=HIGH - 16 x="0" y="8" rx="2"></rect>
            <use href=format!("{ICONS}#{}", icon::of_kind(&first.object.kind)) class="node-icon" x="13" y="11" width="17" height="17"></use>
            <text class="node-name" x="38" y="24">{name}</text>
            " "
            <text class="node-far" x="38" y="35">{far_name}</text>
            <text class="node-kind" x="38" y="42">{move || health().unwrap_or_else(|| kind.clone().into_any())}</text>
            " "
            <text class="node-word" x=WIDE - 32 y="42">{move || (!is_quiet()).then(|| text::state(state.get()))}</text>
            <use
                href=move || (state.get() != State::Present).then(|| format!("{ICONS}#{}", icon::of_state(state.get())))
                class="node-state" x=WIDE - 27 y="31" width="15" height="15"
            ></use>
            {move || (kept.get() && state.get() != State::Kept).then(|| view! {
                <use href=format!("{ICONS}#icon-lock") class="node-lock" x=WIDE - 25 y="10" width="13" height="13"></use>
            }.into_any())}
        </g>
    }
    .into_any()
}
