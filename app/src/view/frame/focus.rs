//! Keeps the focus in the page. When the focused element vanishes, the browser gives the focus to nobody, and a keyboard
//! starts again at the top. Here the focus returns to what opened the drawer, or goes to the nearest heading. An element that
//! is taken out and put back in another place loses the focus too, and gets it back. A dialog gives the focus back to what opened
//! it, and to the nearest heading if that is gone.

use std::cell::RefCell;

use js_sys::Array;
use leptos::prelude::*;
use wasm_bindgen::{JsCast, JsValue, closure::Closure};
use web_sys::{
    Element, FocusOptions, HtmlElement, MutationObserver, MutationObserverInit, MutationRecord,
    Node, SvgElement,
};

/// The element that had the focus last, and what is around it.
struct Last {
    element: Option<Element>,
    /// The nearest part of the page with a heading, or the map.
    part: Option<Element>,
    in_drawer: bool,
    in_dialog: bool,
    /// The nearest part around the last element outside dialogs.
    behind_dialog: Option<Element>,
    /// The last element outside the drawer, which opened it.
    opener: Option<Element>,
}

thread_local! {
    static LAST: RefCell<Last> = const { RefCell::new(Last::NOTHING) };
}

impl Last {
    const NOTHING: Self = Self {
        element: None,
        part: None,
        in_drawer: false,
        in_dialog: false,
        behind_dialog: None,
        opener: None,
    };

    fn take(&mut self, element: Element) {
        let closest = |selector: &str| element.closest(selector).ok().flatten();
        self.in_drawer = closest(".drawer").is_some();
        self.in_dialog = closest("dialog").is_some();
        self.part = closest(".graph-scroller").or_else(|| closest("section, aside"));
        if !self.in_dialog {
            self.behind_dialog = self.part.clone();
        }
        if !self.in_drawer {
            self.opener = Some(element.clone());
        }
        self.element = Some(element);
    }

    /// Where the focus goes once these changes took it from the element; nothing where they did not.
    fn successor(&self, changes: &Array) -> Option<Element> {
        let element = self.element.as_ref()?;
        if has_focus() {
            return None;
        }
        if element.is_connected() {
            return took_out(changes, element).then(|| element.clone());
        }
        let opener = self.opener.as_ref().filter(|opener| self.in_drawer && opener.is_connected());
        opener.cloned().or_else(|| place_in(self.part.as_ref()))
    }
}

/// The heading of a part of the page, or the part if it takes the focus itself; the heading of the page if the part is gone.
fn place_in(part: Option<&Element>) -> Option<Element> {
    let part = part.filter(|part| part.is_connected());
    let in_part = part.and_then(|part| match part.has_attribute("tabindex") {
        true => Some(part.clone()),
        false => part.query_selector("h1, h2, h3").ok().flatten(),
    });
    in_part.or_else(|| document().query_selector("main h1, main h2").ok().flatten())
}

/// Leads back into the page after a dialog has closed, if what opened it is gone.
pub fn leave_dialog() {
    // Released before the focus moves, as below.
    let place = LAST.with_borrow(|last| {
        // The browser may not have noticed yet that a field of the closed dialog is not shown any more.
        let in_it = document()
            .active_element()
            .filter(|it| it.closest("dialog").is_ok_and(|it| it.is_some()));
        let is_lost = last.in_dialog && (in_it.is_some() || !has_focus());
        is_lost.then(|| place_in(last.behind_dialog.as_ref())).flatten()
    });
    if let Some(place) = place {
        focus(&place);
    }
}

/// Scrolls to an element and gives it the focus.
pub fn lead_to(element: &Element) {
    element.scroll_into_view();
    focus(element);
}

/// Starts once the page is alive.
pub fn keep_focus() {
    Effect::new(|_| {
        let listener = window_event_listener(leptos::ev::focusin, move |event| {
            if let Some(element) = event.target().and_then(|target| target.dyn_into().ok()) {
                LAST.with_borrow_mut(|last| last.take(element));
            }
        });
        let changed = Closure::<dyn FnMut(Array, JsValue)>::new(move |changes, _| {
            // Released before the focus moves, for that calls the listener above.
            let successor = LAST.with_borrow(|last| last.successor(&changes));
            if let Some(successor) = successor {
                focus(&successor);
            }
        });
        let observer = MutationObserver::new(changed.as_ref().unchecked_ref()).ok();
        if let (Some(observer), Some(body)) = (&observer, document().body()) {
            let whole = MutationObserverInit::new();
            whole.set_child_list(true);
            whole.set_subtree(true);
            // Fails only for a node that cannot be observed.
            let _ = observer.observe_with_options(&body, &whole);
        }
        let held = StoredValue::new_local(Some((observer, changed)));
        on_cleanup(move || {
            listener.remove();
            if let Some((Some(observer), _)) = held.try_update_value(Option::take).flatten() {
                observer.disconnect();
            }
        });
    });
}

/// Whether the element was taken out. Without a change it lost the focus by a click beside it, and stays without.
fn took_out(changes: &Array, element: &Element) -> bool {
    changes.iter().any(|change| {
        let removed = change.unchecked_into::<MutationRecord>().removed_nodes();
        (0..removed.length())
            .filter_map(|index| removed.get(index))
            .any(|node: Node| node.contains(Some(element)))
    })
}

fn has_focus() -> bool {
    document().active_element().is_some_and(|active| active.tag_name() != "BODY")
}

fn focus(element: &Element) {
    let still = FocusOptions::new();
    still.set_prevent_scroll(true);
    if let Some(element) = element.dyn_ref::<HtmlElement>() {
        let is_list = element.tag_name() == "UL";
        if !element.has_attribute("tabindex") && (is_list || element.tag_name().starts_with('H')) {
            // Headings and lists take the focus from scripts alone. An attribute of the view is removed and set again whenever the
            // view is drawn, and the element would lose the focus.
            let _ = element.set_attribute("tabindex", "-1");
        }
        // An element that is not shown does not take the focus.
        let _ = element.focus_with_options(&still);
    } else if let Some(element) = element.dyn_ref::<SvgElement>() {
        let _ = element.focus_with_options(&still);
    }
}
