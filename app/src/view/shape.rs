//! Map or list, as two links: the choice is in the URL.

use leptos::prelude::*;

use super::icon::icon;
use crate::{
    address::{Address, Shape},
    text,
};

/// The switch.
#[component]
pub fn ShapeSwitch(
    /// The page's address.
    address: Address,
) -> impl IntoView {
    let link = move |shape: Shape, symbol: &'static str, label: &'static str| {
        view! {
            <a
                class="segment"
                href=move || address.to_shape(shape)
                aria-current=move || (address.shape.get() == Some(shape)).then_some("true")
                data-noscroll="noscroll"
            >
                {icon(symbol)} {label}
            </a>
        }
    };
    view! {
        <nav class="segments" aria-label=text::VIEW>
            {link(Shape::Map, "icon-map", text::MAP)}
            {link(Shape::List, "icon-list", text::LIST)}
        </nav>
    }
}
