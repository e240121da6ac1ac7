//! Which page an address shows, and how the page gets from one to the next without being loaded anew.
//!
//! A click on a link within the program, and the browser's own back and forward, change [`Place`]; whoever reads it is
//! woken. What the browser should do itself is left to it: other buttons, held keys, `target`, `download`,
//! `rel="external"`, other origins. A link with `data-noscroll` leaves the page where it is scrolled to.

use leptos::prelude::*;
use teardown::{plan::PlanId, run::RunId, unit::UnitId};
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{Element, HtmlAnchorElement, HtmlElement, MouseEvent};

use crate::{
    address::{decoded, encoded},
    erased::{alive, memo},
};

/// The paths that lead to a page, as the server's router writes them.
pub const PATHS: [&str; 4] = ["/", "/u/{unit}", "/u/{unit}/plan/{plan}", "/r/{run}"];

/// The path and query a server was asked for; needed in context for its first render.
#[derive(Clone, Debug, Default)]
pub struct Requested(pub String);

/// What a path shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Route {
    /// All units and runs.
    Units,
    /// A unit.
    Unit(UnitId),
    /// A plan of a unit.
    Plan(UnitId, PlanId),
    /// A run.
    Run(RunId),
    /// Nothing.
    Unknown,
}

impl Route {
    /// What this path shows.
    pub fn of(path: &str) -> Self {
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        match parts.as_slice() {
            [] => Self::Units,
            ["u", unit] => Self::Unit(UnitId::new(decoded(unit))),
            ["u", unit, "plan", plan] => {
                Self::Plan(UnitId::new(decoded(unit)), PlanId::new(decoded(plan)))
            }
            ["r", run] => Self::Run(RunId::new(decoded(run))),
            _ => Self::Unknown,
        }
    }

    /// The unit it is about.
    pub fn unit(&self) -> Option<&UnitId> {
        match self {
            Self::Unit(unit) | Self::Plan(unit, _) => Some(unit),
            Self::Units | Self::Run(_) | Self::Unknown => None,
        }
    }
}

/// Where the page is.
#[derive(Clone, Copy)]
pub struct Place {
    path: RwSignal<String>,
    query: RwSignal<String>,
    /// Whether the browser's address is about to be written.
    writing: StoredValue<bool>,
}

impl Place {
    /// Where the page was asked for, or where the browser is.
    pub fn new() -> Self {
        let Requested(address) = use_context().unwrap_or_else(here);
        let (path, query) = address.split_once('?').unwrap_or((&address, ""));
        Self {
            path: RwSignal::new(path.to_owned()),
            query: RwSignal::new(query.to_owned()),
            writing: StoredValue::new(false),
        }
    }

    /// The path, as it is encoded.
    pub fn path(self) -> String {
        self.path.get()
    }

    /// What the path shows, as a signal that wakes only when that changes.
    pub fn route(self) -> Memo<Route> {
        memo(move || self.path.with(|path| Route::of(path)))
    }

    /// One value of the query, as a signal of its own; an absent one is none.
    pub fn value(self, name: &'static str) -> Memo<Option<String>> {
        memo(move || self.query.with(|query| value(query, name)))
    }

    /// Changes one value of the query in place: no step back leads to what it was. The browser's address follows once
    /// per frame, for browsers refuse more than some hundred changes in ten seconds.
    pub fn put(self, name: &str, value: Option<&str>) {
        let query = self.query.with_untracked(|query| with_value(query, name, value));
        self.query.set(query);
        if !self.writing.get_value() {
            self.writing.set_value(true);
            request_animation_frame(move || self.write_query());
        }
    }

    /// The link to here with one value of the query changed.
    pub fn to(self, name: &str, value: Option<&str>) -> String {
        self.query.with(|query| format!("?{}", with_value(query, name, value)))
    }

    fn write_query(self) {
        self.writing.set_value(false);
        let (path, query) = (self.path.get_untracked(), self.query.get_untracked());
        let mark = if query.is_empty() { "" } else { "?" };
        let hash = location().hash().unwrap_or_default();
        write(&format!("{path}{mark}{query}{hash}"), true);
    }

    /// Goes to another page of the program.
    pub fn go(self, url: &str) {
        self.follow(url, true);
    }

    fn follow(self, url: &str, scroll: bool) {
        write(url, location().href().is_ok_and(|href| href == url));
        self.read();
        // By then what is there is drawn.
        request_animation_frame(move || scroll_to_target(scroll));
    }

    /// Takes over where the browser is.
    fn read(self) {
        let Requested(address) = here();
        let (path, query) = address.split_once('?').unwrap_or((&address, ""));
        for (signal, text) in [(self.path, path), (self.query, query)] {
            if signal.with_untracked(|old| old != text) {
                signal.set(text.to_owned());
            }
        }
    }
}

impl Default for Place {
    fn default() -> Self {
        Self::new()
    }
}

/// Follows links and the browser's back and forward, once the page is alive.
pub fn start() {
    let place = expect_context::<Place>();
    alive(move || {
        let click = window_event_listener(leptos::ev::click, move |event| click(place, &event));
        let back = window_event_listener(leptos::ev::popstate, move |_| place.read());
        on_cleanup(move || {
            click.remove();
            back.remove();
        });
    });
}

fn click(place: Place, event: &MouseEvent) {
    let held = event.meta_key() || event.alt_key() || event.ctrl_key() || event.shift_key();
    if event.default_prevented() || event.button() != 0 || held {
        return;
    }
    let target = event.target().and_then(|target| target.dyn_into::<Element>().ok());
    let Some(link) = target
        .and_then(|target| target.closest("a[href]").ok().flatten())
        .and_then(|link| link.dyn_into::<HtmlAnchorElement>().ok())
    else {
        return;
    };
    let elsewhere = !link.target().is_empty()
        || link.has_attribute("download")
        || link.rel().split(' ').any(|word| word == "external")
        || location().origin().ok() != Some(link.origin());
    if !elsewhere {
        event.prevent_default();
        place.follow(&link.href(), !link.has_attribute("data-noscroll"));
    }
}

/// Writes the browser's address.
fn write(url: &str, replace: bool) {
    let Ok(history) = window().history() else { return };
    // Where the browser refuses, the page itself is right all the same.
    let _ = if replace {
        history.replace_state_with_url(&JsValue::NULL, "", Some(url))
    } else {
        history.push_state_with_url(&JsValue::NULL, "", Some(url))
    };
}

fn scroll_to_target(top: bool) {
    let hash = location().hash().unwrap_or_default();
    let target = hash.strip_prefix('#').and_then(|id| document().get_element_by_id(&decoded(id)));
    match target {
        Some(target) => target.scroll_into_view(),
        None if top => {
            window().scroll_to_with_x_and_y(0.0, 0.0);
            // Or the keyboard would have to come through the frame again.
            let main = document().get_element_by_id("content");
            if let Some(main) = main.and_then(|main| main.dyn_into::<HtmlElement>().ok()) {
                // What cannot take the focus is not shown.
                let _ = main.focus();
            }
        }
        None => {}
    }
}

#[cfg(feature = "hydrate")]
fn here() -> Requested {
    let location = location();
    let path = location.pathname().unwrap_or_default();
    Requested(path + &location.search().unwrap_or_default())
}

#[cfg(not(feature = "hydrate"))]
fn here() -> Requested {
    Requested::default()
}

/// The names and values of a query, as they are encoded.
fn parts(query: &str) -> impl Iterator<Item = (&str, &str)> {
    query
        .split('&')
        .filter(|part| !part.is_empty())
        .map(|part| part.split_once('=').unwrap_or((part, "")))
}

fn value(query: &str, name: &str) -> Option<String> {
    // A form writes a space as `+`.
    parts(query).find(|(key, _)| *key == name).map(|(_, value)| decoded(&value.replace('+', " ")))
}

fn with_value(query: &str, name: &str, value: Option<&str>) -> String {
    let rest = parts(query).filter(|(key, _)| *key != name);
    let mut parts: Vec<String> = rest.map(|(key, value)| format!("{key}={value}")).collect();
    if let Some(value) = value {
        parts.push(format!("{name}={}", encoded(value)));
    }
    parts.join("&")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_shows_one_page() {
        let (unit, plan) = (UnitId::new("a/b"), PlanId::new("1f3a"));
        for (path, route) in [
            ("/", Route::Units),
            ("", Route::Units),
            ("/u/a%2Fb", Route::Unit(unit.clone())),
            ("/u/a%2Fb/", Route::Unit(unit.clone())),
            ("/u/a%2Fb/plan/1f3a", Route::Plan(unit, plan)),
            ("/r/7", Route::Run(RunId::new("7"))),
            ("/u", Route::Unknown),
            ("/u/a/b", Route::Unknown),
            ("/r/7/8", Route::Unknown),
        ] {
            assert_eq!(Route::of(path), route, "{path}");
        }
    }

    #[test]
    fn a_query_is_read_and_changed_one_value_at_a_time() {
        let query = "view=list&q=a+b%26c&all";
        assert_eq!(value(query, "q").as_deref(), Some("a b&c"));
        assert_eq!(value(query, "all").as_deref(), Some(""));
        assert_eq!(value(query, "sel"), None);
        assert_eq!(with_value(query, "view", None), "q=a+b%26c&all=");
        assert_eq!(with_value("view=list&z=80", "view", Some("a&b")), "z=80&view=a%26b");
        assert_eq!(with_value("", "q", None), "");
    }
}
