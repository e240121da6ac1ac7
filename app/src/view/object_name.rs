//! An object's name with its kind.

use leptos::prelude::*;
use teardown::object::{ObjectRef, Uid};

use super::icon;
use crate::{navigation::address::Address, text};

/// Icon, kind, and path.
pub fn object_name(object: &ObjectRef) -> AnyView {
    named(object, &text::path(object), text::LONGEST)
}

/// Icon, kind, and path, however long: a tooltip can neither be copied nor opened on a phone.
pub fn object_name_whole(object: &ObjectRef) -> AnyView {
    named(object, &text::path(object), usize::MAX)
}

/// Icon, kind, and name without the namespace, where that is said elsewhere.
pub fn object_name_short(object: &ObjectRef) -> AnyView {
    named(object, &object.name, text::LONGEST)
}

/// A name that selects its object.
pub fn object_link(name: AnyView, uid: &Uid, address: Address) -> AnyView {
    let (uid, own) = (uid.clone(), uid.clone());
    view! {
        <a
            href=move || address.to_object(&own)
            aria-current=move || {
                address.selected.with(|selected| selected.as_ref() == Some(&uid)).then_some("true")
            }
            data-noscroll="noscroll"
        >{name}</a>
    }
    .into_any()
}

fn named(object: &ObjectRef, name: &str, most: usize) -> AnyView {
    let kind = text::visible(&object.kind);
    let whole = text::visible(name);
    let name = text::shortened(&whole, most);
    let title = (name != whole).then_some(whole);
    view! {
        <span class="object" title=title>
            {icon::icon(icon::of_kind(&kind))}
            <span class="object-text"><span class="object-kind">{kind}</span> " " <bdi class="object-path">{name}</bdi></span>
        </span>
    }
    .into_any()
}
