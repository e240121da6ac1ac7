//! A dialog that asks before something that cannot be taken back, and says what that comes to.

use leptos::{html, prelude::*};
use teardown::right::Right;

use super::guard::Guarded;
use crate::{text, view::frame::focus::leave_dialog};

/// The dialog.
#[component]
pub fn Ask(
    /// Whether it is open.
    open: RwSignal<bool>,
    /// The id of its heading.
    id: &'static str,
    /// The question.
    #[prop(into)]
    title: Signal<String>,
    /// The label of the button that confirms.
    label: &'static str,
    /// Whether a command is on its way.
    #[prop(into)]
    busy: Signal<bool>,
    /// The right that it needs.
    #[prop(default = Right::Act)]
    needs: Right,
    /// The action of that button.
    act: Callback<()>,
    /// The consequences.
    children: Children,
) -> impl IntoView {
    let dialog = NodeRef::<html::Dialog>::new();
    Effect::new(move |_| {
        if let Some(dialog) = dialog.get() {
            if open.get() {
                // One that is open already stays open.
                let _ = dialog.show_modal();
            } else {
                dialog.close();
                leave_dialog();
            }
        }
    });
    let yes = Callback::new(move |()| {
        open.set(false);
        act.run(());
    });
    view! {
        <dialog class="dialog" aria-labelledby=id node_ref=dialog on:close=move |_| open.set(false)>
            <h2 id=id>{move || title.get()}</h2>
            {children()}
            <div class="dialog-buttons">
                <button type="button" class="button" autofocus=true on:click=move |_| open.set(false)>{text::CANCEL}</button>
                <Guarded label busy needs act=yes class="danger"/>
            </div>
        </dialog>
    }
}
