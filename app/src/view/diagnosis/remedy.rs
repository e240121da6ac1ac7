//! The question before Unwind does a remedy: the effect, what it hits and loses, and a person's word for what the API does not
//! show.

use leptos::prelude::*;
use teardown::{
    advice::{Way, WayOffer},
    right::Right,
};

use super::{
    adviser::Adviser,
    way::{warnings, withheld},
};
use crate::{
    text,
    view::{banner, control::typed::Typed},
};

/// The dialog.
#[component]
pub fn RemedyDialog(
    /// Asks, does it, and knows the refusal.
    adviser: Adviser,
) -> impl IntoView {
    let question = adviser.question;
    let statement = RwSignal::new(String::new());
    Effect::new(move |_| {
        if question.open.get() {
            statement.set(String::new());
        }
    });
    // The card behind the dialog reads its advice again whenever that changes.
    Effect::new(move |_| {
        if question.open.get()
            && let Some(asked) = question.way.get_untracked()
            && let Some(offer) = &asked.offer
        {
            let advice = adviser.known.of(&offer.diagnosis);
            question.follow(&asked, advice.as_ref());
        }
    });
    let of = move |part: fn(&Way) -> String| {
        question.way.with(|way| way.as_ref().map(part).unwrap_or_default())
    };
    let title = Signal::derive(move || of(|way| format!("{}?", way.title)));
    let name = Signal::derive(move || {
        of(|way| way.offer.as_ref().map(|offer| offer.name.clone()).unwrap_or_default())
    });
    let field = Memo::new(move |_| {
        let of = |way: &Way| way.offer.as_ref().and_then(|offer| offer.statement.clone());
        question.way.with(|way| way.as_ref().and_then(of))
    });
    let is_unanswered = move |offer: &WayOffer| !statement.with(|said| offer.is_answered(said));
    let is_held =
        move |way: &Way| way.withheld.is_some() || way.offer.as_ref().is_some_and(is_unanswered);
    let busy = Signal::derive(move || {
        adviser.busy.get() || question.way.with(|way| way.as_ref().is_some_and(is_held))
    });
    let act = Callback::new(move |name: String| {
        if let Some(mut offer) = question.way.get_untracked().and_then(|way| way.offer) {
            offer.name = name;
            (adviser.act)(adviser, offer, statement.get_untracked());
        }
    });
    let again = move || question.is_asked_again.get().then_some(text::ASKED_AGAIN);
    let hindrance = move || question.way.with(|way| way.as_ref().and_then(withheld));
    let body = move || {
        question.way.with(|way| {
            let way = way.as_ref()?;
            Some(view! { <p>{way.does.clone()}</p> {warnings(way)} }.into_any())
        })
    };
    // Apart from the rest, so that news does not take the field away from a person who types.
    let word = move || {
        field.get().map(|field| {
            view! {
                <label>
                    {field}
                    <input
                        type="text"
                        maxlength="500"
                        required=true
                        placeholder=text::REQUIRED
                        prop:value=move || statement.get()
                        on:input:target=move |event| statement.set(event.target().value())
                    />
                </label>
            }
            .into_any()
        })
    };
    view! {
        {move || adviser.refusal.get().map(|refusal| banner::refusal(&refusal))}
        <Typed open=question.open id="remedy" title label=text::DO_REMEDY name busy needs=Right::Force act>
            <div role="status">
                <strong>{move || again()}</strong>
                {move || hindrance()}
            </div>
            {move || body()}
            {move || word()}
        </Typed>
    }
}
