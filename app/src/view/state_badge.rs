//! A state: shape and glyph, then the word; colour comes last and never alone.

use leptos::prelude::*;
use teardown::message::State;

use super::icon;
use crate::text;

/// The badge of a state.
pub fn state_badge(state: State) -> AnyView {
    let name = icon::of_state(state);
    view! {
        <span class=format!("state {name}") title=text::state_means(state)>
            {icon::icon(name)}
            <span class="state-word">{text::state(state)}</span>
        </span>
    }
    .into_any()
}
