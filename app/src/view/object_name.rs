//! An object's name with its kind.

use leptos::prelude::*;
use teardown::object::{ObjectRef, Uid};

use super::icon;
use crate::{navigation::address::Address, state::subscription, text};

/// Icon, kind, and path.
pub fn object_name(object: &ObjectRef) -> impl IntoView + use<> {
    named(object, text::path(object))
}

/// Icon, kind, and name without the namespace, where that is said elsewhere.
pub fn object_name_short(object: &ObjectRef) -> impl IntoView + use<> {
    named(object, object.name.to_string())
}

/// A name that selects its object.
pub fn object_link(name: AnyView, uid: &Uid, address: Address) -> impl IntoView + use<> {
    let (uid, own) = (uid.clone(), uid.clone());
    view! {
        <a
            href=move || {
                subscription::end_with_owner();
                address.to_object(&own)
            }
            aria-current=move || {
                subscription::end_with_owner();
                address.selected.with(|selected| selected.as_ref() == Some(&uid)).then_some("true")
            }
            data-noscroll="noscroll"
        >{name}</a>
    }
}

fn named(object: &ObjectRef, name: String) -> impl IntoView + use<> {
    let kind = object.kind.to_string();
    view! {
        <span class="object">
            {icon::icon(icon::of_kind(&kind))}
            <span class="object-text"><span class="object-kind">{kind}</span> " " <span class="object-path">{name}</span></span>
        </span>
    }
}
