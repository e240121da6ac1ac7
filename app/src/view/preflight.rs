//! The checks before a teardown: each finding with its meaning and advice, the worst first. What refuses is open.

use leptos::prelude::*;
use teardown::preflight::{NoteCard, PreflightCard, Severity};

use super::{guard::Guarded, kept::names};
use crate::text;

/// The list; `check` starts the checks again, where the reader may do that.
pub fn preflight(card: &PreflightCard, busy: Signal<bool>, check: Option<Callback<()>>) -> AnyView {
    let check = check
        .map(|act| view! { <Guarded label=text::CHECK_AGAIN busy act class="small"/> }.into_any());
    let rows = card.notes.iter().map(row).collect_view();
    view! {
        <section class="ways" aria-labelledby="preflight-title">
            <h2 id="preflight-title">{text::PREFLIGHT}</h2>
            <p class="lead">{card.progress.clone()} " " {check}</p>
            <ol>{rows}</ol>
        </section>
    }
    .into_any()
}

fn row(note: &NoteCard) -> AnyView {
    let (class, label) = match note.severity {
        Severity::Refusal => ("way-harm much", text::REFUSAL),
        Severity::Warning => ("way-harm some", text::WARNING),
        Severity::Info => ("way-harm none", text::INFORMATION),
    };
    let more = (note.more > 0).then(|| text::and_more(note.more));
    view! {
        <li>
            <details class="way" open=note.severity == Severity::Refusal>
                <summary>
                    <span class="way-title">{note.title.clone()}</span> " " <span class=class>{label}</span>
                </summary>
                <p>{note.meaning.clone()}</p>
                <p>{note.what_to_do.clone()}</p>
                {names(&note.objects)}
                <p class="quiet">{more}</p>
            </details>
        </li>
    }
    .into_any()
}
