//! Map or list, as two links: the choice is in the URL.

use leptos::prelude::*;

use crate::{
    navigation::address::{Address, Shape},
    text,
    view::icon::icon,
};

/// The switch.
#[component]
pub fn ShapeSwitch(
    /// The page's address.
    address: Address,
    /// The default; none where the width of the window decides.
    #[prop(optional)]
    otherwise: Option<Shape>,
) -> impl IntoView {
    let current = move |shape: Shape| address.shape.get().or(otherwise) == Some(shape);
    let link = move |shape: Shape, symbol: &'static str, label: &'static str| {
        view! {
            <a
                class="shape-link"
                href=move || address.to_shape(shape)
                aria-current=move || current(shape).then_some("true")
                data-noscroll="noscroll"
            >
                {icon(symbol)} {label}
            </a>
        }
        .into_any()
    };
    view! {
        <nav class=move || if address.shape.get().or(otherwise).is_none() { "shape shape-auto" } else { "shape" } aria-label=text::VIEW>
            {link(Shape::Map, "icon-map", text::MAP)}
            {link(Shape::List, "icon-list", text::LIST)}
        </nav>
    }
}
