//! A moment: absolute in the first render, relative once a clock runs, the whole of it on hover.

use jiff::Timestamp;
use leptos::prelude::*;

use crate::{calendar, clock::Clock, erased::now, text};

/// The moment, and how long ago it was.
pub fn moment(at: Timestamp) -> impl IntoView {
    let clock = expect_context::<Clock>();
    let absolute = text::absolute(at);
    let shown = absolute.clone();
    let said = move || clock.since(at).map_or_else(|| shown.clone(), text::ago);
    view! { <time datetime=calendar::written(at) title=absolute>{now(said)}</time> }
}

/// The time of day alone.
pub fn time_of_day(at: Timestamp) -> impl IntoView {
    view! { <time datetime=calendar::written(at) title=text::absolute(at)>{text::time_of_day(at)}</time> }
}
