//! The button and the dialog that invite another browser: what it may do, and the links and sessions to take back.

use leptos::{html, prelude::*};
use teardown::right::Right;

use crate::{
    state::{
        command::{LinkCard, Refusal},
        connection::Connection,
    },
    text,
    view::{banner, control::guard::Guarded, icon::icon, moment::time_of_day, rows::rows},
};

/// A request of the dialog. The list is read again after each.
#[derive(Clone, Debug)]
pub enum InviteCommand {
    /// Reads the list.
    List,
    /// Makes a link for this name, if there is one, with this right, and copies the link.
    Make(String, Right),
    /// Takes the link of this id back.
    TakeBack(String),
}

/// The state that the requests change.
#[derive(Clone, Copy, Debug, Default)]
pub struct Invitations {
    /// The links and sessions to take back.
    pub links: RwSignal<Vec<LinkCard>>,
    /// Whether a request is on its way.
    pub busy: RwSignal<bool>,
    /// Whether a link was copied a moment ago.
    pub copied: RwSignal<bool>,
    /// The refusal of the last request.
    pub refusal: RwSignal<Option<Refusal>>,
}

/// The button with its dialog.
#[component]
pub fn Invite(
    /// Sends a request of the dialog.
    send: fn(InviteCommand, Invitations),
) -> impl IntoView {
    let connection = expect_context::<Connection>();
    let shown = Invitations::default();
    let open = RwSignal::new(false);
    let right = RwSignal::new(Right::Look);
    let name = RwSignal::new(String::new());
    let dialog = NodeRef::<html::Dialog>::new();
    Effect::new(move |_| {
        if let Some(dialog) = dialog.get() {
            if open.get() {
                // One that is open already stays open.
                let _ = dialog.show_modal();
            } else {
                dialog.close();
                // The next invitation gives the least again.
                right.set(Right::Look);
                name.set(String::new());
                shown.refusal.set(None);
            }
        }
    });
    let hindrance = move || connection.hindrance_of(Right::Look);
    let start = move |_| {
        if untrack(hindrance).is_none() {
            open.set(true);
            send(InviteCommand::List, shown);
        }
    };
    let make = Callback::new(move |()| {
        send(InviteCommand::Make(name.get_untracked(), right.get_untracked()), shown);
    });
    let label =
        Signal::derive(move || if shown.copied.get() { text::COPIED } else { text::INVITE_COPY });
    let choices = Right::ALL.into_iter().filter(|choice| *choice <= connection.right());
    let choices = choices.map(|choice| {
        view! {
            <label class="dialog-tick">
                <input
                    type="radio"
                    name="invite-right"
                    prop:checked=move || right.get() == choice
                    on:change=move |_| right.set(choice)
                />
                <span>{text::right(choice)} <span class="quiet">" · " {text::right_means(choice)}</span></span>
            </label>
        }
        .into_any()
    });
    let links = Memo::new(move |_| shown.links.get());
    let row = move |link: LinkCard| Some(row(&link, send, shown));
    view! {
        <button
            type="button"
            class="tool wide"
            title=move || hindrance().unwrap_or(text::SHARE_HINT)
            aria-disabled=move || hindrance().map(|_| "true")
            on:click=start
        >
            {icon("icon-share")}
            <span>{text::SHARE}</span>
        </button>
        <dialog class="dialog" aria-labelledby="invite-title" node_ref=dialog on:close=move |_| open.set(false)>
            <h2 id="invite-title">{text::SHARE}</h2>
            <p>{text::INVITE_LEAD}</p>
            {move || shown.refusal.get().map(|refusal| banner::refusal(&refusal))}
            <fieldset class="invite-right">
                <legend>{text::INVITE_RIGHT}</legend>
                {choices.collect_view()}
            </fieldset>
            <label for="invite-name">{text::INVITE_NAME}</label>
            <input
                id="invite-name"
                type="text"
                autocomplete="off"
                spellcheck="false"
                prop:value=move || name.get()
                on:input:target=move |event| name.set(event.target().value())
            />
            <div class="dialog-buttons">
                <button type="button" class="button" on:click=move |_| open.set(false)>{text::CLOSE}</button>
                <Guarded label busy=shown.busy act=make needs=Right::Look class="primary"/>
            </div>
            <p class="visually-hidden" role="status">{move || shown.copied.get().then_some(text::COPIED)}</p>
            <section aria-labelledby="invite-links-title">
                <h3 id="invite-links-title" tabindex="-1">{text::LINKS_TITLE}</h3>
                <p class="quiet">{move || if links.with(Vec::is_empty) { text::NO_LINKS } else { text::LINKS_LEAD }}</p>
                <ul class="invite-links">{rows(links, LinkCard::key, row)}</ul>
            </section>
        </dialog>
    }
}

fn row(link: &LinkCard, send: fn(InviteCommand, Invitations), shown: Invitations) -> AnyView {
    let name = text::isolated(&link.name);
    let inviter = link.invited_by.as_deref().map(text::isolated);
    let used = match link.used {
        Some(at) => view! { {text::LINK_USED} " " {time_of_day(at)} }.into_any(),
        None => text::LINK_UNUSED.into_any(),
    };
    let id = link.id.clone();
    let take_back = move |_| {
        if !shown.busy.get_untracked() {
            send(InviteCommand::TakeBack(id.clone()), shown);
        }
    };
    view! {
        <li>
            <div class="grow">
                <strong>{name.clone()}</strong>
                <p class="quiet">{text::link(link.right, inviter.as_deref())} " · " {used}</p>
            </div>
            <button type="button" class="button small" aria-label=text::take_back(&name, link.right) on:click=take_back>
                {text::TAKE_BACK}
            </button>
        </li>
    }
    .into_any()
}
