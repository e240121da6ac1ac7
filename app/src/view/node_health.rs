//! The signs of life of a node, wherever one is drawn: whether it is ready, and when it was last seen alive.

use leptos::prelude::*;
use teardown::message::NodeHealth;

use super::moment::{moment, moment_in_drawing};
use crate::text;

/// `Not ready, changed 4 min ago; not seen since 38 s ago`.
pub fn node_health(node: &NodeHealth) -> AnyView {
    let changed = (!node.ready).then_some(node.changed).flatten();
    let changed = changed.map(|at| view! { {text::READY_CHANGED} {moment(at)} }.into_any());
    let seen = node.seen.map(|at| view! { {text::last_seen(node.ready)} {moment(at)} }.into_any());
    view! { {text::ready(node.ready)} {changed} {seen} }.into_any()
}

/// `Ready; last seen 8 s ago`, as a card of the graph has room for it.
pub fn node_health_short(node: &NodeHealth) -> AnyView {
    let seen = node
        .seen
        .map(|at| view! { {text::last_seen(node.ready)} {moment_in_drawing(at)} }.into_any());
    view! { {text::ready(node.ready)} {seen} }.into_any()
}
