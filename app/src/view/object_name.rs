//! An object's name with its kind.

use leptos::prelude::*;
use teardown::object::ObjectRef;

use super::icon;
use crate::text;

/// Icon, kind, and path.
pub fn object_name(object: &ObjectRef) -> impl IntoView + use<> {
    named(object, text::path(object))
}

/// Icon, kind, and name without the namespace, where that is said elsewhere.
pub fn object_name_short(object: &ObjectRef) -> impl IntoView + use<> {
    named(object, object.name.to_string())
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
