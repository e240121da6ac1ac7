//! Keeps the focus in the page. When the focused element vanishes, the browser gives the focus to nobody, and a keyboard
//! starts again at the top. Here the focus returns to what opened the drawer, or goes to the nearest heading. An element that
//! is taken out and put back in another place loses the focus too, and gets it back.

use std::{cell::RefCell, rc::Rc};

use js_sys::Array;
use leptos::prelude::*;
use wasm_bindgen::{JsCast, JsValue, closure::Closure};
use web_sys::{
    Element, FocusOptions, HtmlElement, MutationObserver, MutationObserverInit, MutationRecord,
    Node, SvgElement,
};

/// The element that had the focus last, and what is around it.
#[derive(Default)]
struct Last {
    element: Option<Element>,
    /// The nearest part of the page with a heading, or the map.
    part: Option<Element>,
    in_drawer: bool,
    /// The last element outside the drawer, which opened it.
    opener: Option<Element>,
}

impl Last {
    fn take(&mut self, element: Element) {
        let closest = |selector: &str| element.closest(selector).ok().flatten();
        self.in_drawer = closest(".drawer").is_some();
        self.part = closest(".graph-scroller").or_else(|| closest("section, aside"));
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
        let part = self.part.as_ref().filter(|part| part.is_connected());
        let heading = |part: &Element| part.query_selector("h1, h2, h3").ok().flatten();
        let in_part = || match part {
            Some(part) if part.has_attribute("tabindex") => Some(part.clone()),
            Some(part) => heading(part),
            None => None,
        };
        let of_page = || document().query_selector("main h1, main h2").ok().flatten();
        opener.cloned().or_else(in_part).or_else(of_page)
    }
}

/// Starts once the page is alive.
pub fn keep_focus() {
    Effect::new(|_| {
        let last = Rc::new(RefCell::new(Last::default()));
        let seen = last.clone();
        let listener = window_event_listener(leptos::ev::focusin, move |event| {
            if let Some(element) = event.target().and_then(|target| target.dyn_into().ok()) {
                seen.borrow_mut().take(element);
            }
        });
        let changed = Closure::<dyn FnMut(Array, JsValue)>::new(move |changes, _| {
            // Released before the focus moves, for that calls the listener above.
            let successor = last.borrow().successor(&changes);
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
        if !element.has_attribute("tabindex") && element.tag_name().starts_with('H') {
            // A heading takes the focus from scripts alone.
            let _ = element.set_attribute("tabindex", "-1");
        }
        // An element that is not shown does not take the focus.
        let _ = element.focus_with_options(&still);
    } else if let Some(element) = element.dyn_ref::<SvgElement>() {
        let _ = element.focus_with_options(&still);
    }
}
