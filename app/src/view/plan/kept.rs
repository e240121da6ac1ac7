//! The kept objects, each with its reason.

use leptos::prelude::*;
use teardown::{
    message::{Membership, ObjectCard},
    object::ObjectRef,
    plan::{Kept, KeptReason},
};

use crate::{
    text,
    view::{icon::icon, object_name::object_name},
};

/// The kept objects of a plan.
pub fn kept_list(kept: &[Kept]) -> AnyView {
    list(kept.iter().map(|kept| (&kept.object, &kept.reason)))
}

/// The kept objects among cards.
pub fn kept_cards(cards: &[ObjectCard]) -> AnyView {
    list(cards.iter().filter_map(|card| match &card.membership {
        Membership::Kept(reason) => Some((&card.object, reason)),
        Membership::Member | Membership::Outside => None,
    }))
}

/// Objects that need no reason each.
pub fn names<'a, T: 'a + Named>(objects: impl IntoIterator<Item = &'a T>) -> AnyView {
    let rows: Vec<_> = objects
        .into_iter()
        .map(|object| view! { <li>{object_name(object.named())}</li> }.into_any())
        .collect();
    view! { <ul class="kept-names">{rows}</ul> }.into_any()
}

/// A section of a plan or a run with a list of so many objects, and what they have in common; nothing where there are none.
pub fn section(
    id: &'static str,
    title: &'static str,
    lead: &'static str,
    count: usize,
    list: AnyView,
) -> AnyView {
    if count == 0 {
        return ().into_any();
    }
    view! {
        <section aria-labelledby=id>
            <h2 id=id>{title} " " <span class="count">{count}</span></h2>
            <p class="lead">{lead}</p>
            {list}
        </section>
    }
    .into_any()
}

/// Whatever stands for an object.
pub trait Named {
    /// The object.
    fn named(&self) -> &ObjectRef;
}

impl Named for ObjectRef {
    fn named(&self) -> &ObjectRef {
        self
    }
}

impl Named for Kept {
    fn named(&self) -> &ObjectRef {
        &self.object
    }
}

impl Named for ObjectCard {
    fn named(&self) -> &ObjectRef {
        &self.object
    }
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
            .into_any()
        })
        .collect();
    if rows.is_empty() {
        return view! { <p class="quiet">{text::NOTHING_KEPT}</p> }.into_any();
    }
    view! { <ul class="kept-list">{rows}</ul> }.into_any()
}
