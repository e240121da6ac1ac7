//! Any address that is no route.

use leptos::prelude::*;
use teardown::message::Topic;

use crate::{text, view::empty::empty_page};

/// Says so and leads back.
#[component]
pub fn NotFound() -> impl IntoView {
    // The frame shows the connection and the cluster, wherever the page is.
    super::open(Signal::derive(|| Topic::Units));
    view! {
        <div class="page">
            {empty_page("state-unknown", text::NOT_FOUND, text::NOT_FOUND_MEANS, view! {
                <a class="button" href="/">{text::TO_UNITS}</a>
            }.into_any())}
        </div>
    }
}
