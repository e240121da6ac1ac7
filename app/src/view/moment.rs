//! A moment. The server and the first render print it in UTC; then the clock of the page writes it as how long ago it was,
//! or in the reader's zone, with zone and date on hover.

use jiff::Timestamp;
use leptos::prelude::*;

use crate::{state::clock::Clock, text};

/// The age of the moment.
pub fn moment(at: Timestamp) -> AnyView {
    let clock = expect_context::<Clock>();
    let shown = clock.since_untracked(at).map_or_else(|| text::absolute(at), text::ago);
    view! {
        <time datetime=format!("{at:.0}") title=text::absolute(at) data-at=at.as_millisecond() data-relative="">{shown}</time>
    }
    .into_any()
}

/// The time that is left until the moment. Without the clock of the page it is empty, and the sentence before it has the moment.
pub fn countdown(at: Timestamp) -> AnyView {
    let clock = expect_context::<Clock>();
    let shown = clock.since_untracked(at).map_or_else(|| " ".to_owned(), text::countdown);
    view! {
        <time datetime=format!("{at:.0}") title=text::absolute(at) data-at=at.as_millisecond() data-countdown="">{shown}</time>
    }
    .into_any()
}

/// The moment in full; in a live page the time of day, with the date where the day is not today.
pub fn time_of_day(at: Timestamp) -> AnyView {
    view! {
        <time datetime=format!("{at:.0}") title=text::absolute(at) data-at=at.as_millisecond()>{text::absolute(at)}</time>
    }
    .into_any()
}

/// The age of the moment inside a drawing. The clock of the page writes it.
pub fn moment_in_drawing(at: Timestamp) -> AnyView {
    view! { <tspan data-at=at.as_millisecond() data-relative="">" "</tspan> }.into_any()
}
