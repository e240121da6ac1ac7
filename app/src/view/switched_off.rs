//! The things that a remedy switched off and nobody has put back: on every page, because they are easily forgotten.

use leptos::prelude::*;
use teardown::{message::SwitchedOffCard, right::Right};

use super::{banner, guard::Guarded, icon::icon, moment::moment, object_name::object_name};
use crate::{state::command::Refusal, text};

/// The list. `undo` puts one back, and tells the refusal.
pub fn switched_off(
    cards: Memo<Vec<SwitchedOffCard>>,
    undo: fn(String, RwSignal<Option<Refusal>>),
) -> AnyView {
    let refused = RwSignal::new(None);
    let rows = move || {
        let cards = cards.get();
        let rows = cards.into_iter().map(|card| {
            let name = object_name(&card.object);
            let button = card.undo.then(|| {
                let attempt = card.attempt.clone();
                let act = Callback::new(move |()| undo(attempt.clone(), refused));
                view! { <Guarded label=text::PUT_BACK busy=false needs=Right::Force act class="small"/> }
                    .into_any()
            });
            view! { <li>{name} ": " {text::switched_off(card.what)} " " {moment(card.since)} " " {button}</li> }
                .into_any()
        });
        rows.collect_view()
    };
    view! {
        <div class="banner warn" hidden=move || cards.with(Vec::is_empty)>
            {icon("icon-warning")}
            <div>
                <strong>{text::SWITCHED_OFF}</strong>
                <ul>{move || rows()}</ul>
                {move || refused.get().map(|refusal| banner::refusal(&refusal))}
            </div>
        </div>
    }
    .into_any()
}
