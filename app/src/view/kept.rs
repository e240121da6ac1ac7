//! What stays, and why.

use leptos::prelude::*;
use teardown::{
    message::{Membership, ObjectCard},
    object::ObjectRef,
    plan::{Kept, KeptReason},
};

use super::{icon::icon, object_name::object_name};
use crate::text;

/// The kept objects of a plan.
pub fn kept_list(kept: &[Kept]) -> impl IntoView + use<> {
    list(kept.iter().map(|kept| (&kept.object, &kept.reason)))
}

/// The kept objects among cards.
pub fn kept_cards(cards: &[ObjectCard]) -> impl IntoView + use<> {
    list(cards.iter().filter_map(|card| match &card.membership {
        Membership::Kept(reason) => Some((&card.object, reason)),
        Membership::Member | Membership::Outside => None,
    }))
}

fn list<'a>(kept: impl Iterator<Item = (&'a ObjectRef, &'a KeptReason)>) -> AnyView {
    let rows: Vec<_> = kept
        .map(|(object, reason)| {
            view! {
                <li class="kept">
                    {icon("icon-lock")}
                    <div>{object_name(object)}<p>{text::kept(reason)}</p></div>
                </li>
            }
        })
        .collect();
    if rows.is_empty() {
        return view! { <p class="quiet">{text::NOTHING_KEPT}</p> }.into_any();
    }
    view! { <ul class="kept-list">{rows}</ul> }.into_any()
}
