//! The checks before a teardown: the progress, and each finding with its meaning, the worst first and open.

use leptos::prelude::*;
use teardown::advice::Advice;

use crate::{
    text,
    view::{control::guard::Guarded, diagnosis::way::list},
};

/// The checks; `check` starts them again, and `opened` has the titles of the findings that the reader opened.
pub fn preflight(
    found: &Advice,
    busy: RwSignal<bool>,
    check: Callback<()>,
    opened: StoredValue<Vec<String>>,
) -> AnyView {
    let heading = view! {
        <h2>{text::PREFLIGHT}</h2>
        <p class="lead">{found.confidence.clone()}</p>
        <Guarded label=text::CHECK_AGAIN busy act=check class="small"/>
    };
    list(heading.into_any(), &found.ways, opened, None)
}
