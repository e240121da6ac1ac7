//! The question before Unwind does a remedy: the effect, what it hits and loses, the exact call, and a person's word for what the
//! API does not show.

use leptos::prelude::*;
use teardown::{advice::Way, right::Right};

use super::{
    adviser::{Adviser, RemedyOrder},
    typed::Typed,
    way::warnings,
};
use crate::text;

/// The dialog.
#[component]
pub fn RemedyDialog(
    /// The diagnosis and the way out, as they were when the question was asked.
    asked: RwSignal<Option<(String, Way)>>,
    /// Whether the dialog is open.
    open: RwSignal<bool>,
    /// Does it.
    adviser: Adviser,
) -> impl IntoView {
    let statement = RwSignal::new(String::new());
    let offer = move || asked.with(|asked| asked.as_ref().and_then(|(_, way)| way.offer.clone()));
    let of = move |part: fn(&Way) -> String| {
        asked.with(|asked| asked.as_ref().map(|(_, way)| part(way)).unwrap_or_default())
    };
    let title = Signal::derive(move || of(|way| format!("{}?", way.title)));
    let name = Signal::derive(move || offer().map(|offer| offer.name).unwrap_or_default());
    let needs_statement = move || offer().is_some_and(|offer| offer.statement);
    let busy = Signal::derive(move || {
        adviser.busy.get() || needs_statement() && statement.with(|it| it.trim().len() < 10)
    });
    let act = Callback::new(move |name: String| {
        if let Some((diagnosis, Way { offer: Some(offer), .. })) = asked.get_untracked() {
            let statement = statement.get_untracked();
            adviser.act.run(RemedyOrder { diagnosis, hash: offer.hash, name, statement });
        }
        statement.set(String::new());
    });
    let body = move || {
        let way = asked.get()?.1;
        let word = needs_statement().then(|| {
            view! {
                <label for="remedy-word">{text::STATEMENT}</label>
                <textarea
                    id="remedy-word"
                    maxlength="500"
                    prop:value=move || statement.get()
                    on:input:target=move |event| statement.set(event.target().value())
                ></textarea>
            }
            .into_any()
        });
        Some(view! { <p>{way.does.clone()}</p> {warnings(&way)} {word} }.into_any())
    };
    view! {
        <Typed open id="remedy" title label=text::DO_REMEDY name busy needs=Right::Force act>
            {move || body()}
        </Typed>
    }
}
