//! The query string: what of a page's state is in its URL, and the links that change it.

use leptos::prelude::*;
use leptos_router::{NavigateOptions, hooks::query_signal_with_options};
use teardown::{object::Uid, plan::PlanId, run::RunId, unit::UnitId};

/// Whether a unit is drawn or listed; without a choice the width decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// The graph.
    Map,
    /// The table.
    List,
}

impl std::fmt::Display for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Map => "map",
            Self::List => "list",
        })
    }
}

impl std::str::FromStr for Shape {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "map" => Ok(Self::Map),
            "list" => Ok(Self::List),
            _ => Err(()),
        }
    }
}

/// The state a page keeps in its query string.
#[derive(Clone, Copy)]
pub struct Address {
    /// `view`.
    pub shape: Memo<Option<Shape>>,
    /// `sel`: the selected object.
    pub selected: Memo<Option<String>>,
    /// `q`: what is searched for.
    pub search: Memo<Option<String>>,
    /// `z`: the graph's scale.
    pub zoom: Memo<Option<f64>>,
    /// `all`: whether a long list is shown whole.
    pub all: Memo<Option<u8>>,
    /// Selects an object, or none.
    pub select: SignalSetter<Option<String>>,
    /// Searches.
    pub find: SignalSetter<Option<String>>,
    /// Keeps the graph's scale.
    pub keep_zoom: SignalSetter<Option<f64>>,
}

impl Address {
    /// Reads the current URL. Must be called below the router.
    pub fn current() -> Self {
        let quietly = || NavigateOptions { replace: true, scroll: false, ..NavigateOptions::default() };
        let (shape, _) = query_signal_with_options("view", quietly());
        let (selected, select) = query_signal_with_options("sel", quietly());
        let (search, find) = query_signal_with_options("q", quietly());
        let (zoom, keep_zoom) = query_signal_with_options("z", quietly());
        let (all, _) = query_signal_with_options("all", quietly());
        Self { shape, selected, search, zoom, all, select, find, keep_zoom }
    }

    /// The link that selects an object and leaves the rest as it is.
    pub fn to_object(self, uid: &Uid) -> String {
        self.query(self.shape.get(), Some(uid.as_str()), self.all.get().is_some())
    }

    /// The link that selects nothing.
    pub fn to_nothing(self) -> String {
        self.query(self.shape.get(), None, self.all.get().is_some())
    }

    /// The link to the other shape.
    pub fn to_shape(self, shape: Shape) -> String {
        self.query(Some(shape), self.selected.get().as_deref(), self.all.get().is_some())
    }

    /// The link to the whole of a long list.
    pub fn to_all(self) -> String {
        self.query(self.shape.get(), self.selected.get().as_deref(), true)
    }

    fn query(self, shape: Option<Shape>, selected: Option<&str>, all: bool) -> String {
        let mut parts = Vec::new();
        if let Some(shape) = shape {
            parts.push(format!("view={shape}"));
        }
        if let Some(search) = self.search.get().filter(|search| !search.is_empty()) {
            parts.push(format!("q={}", encoded(&search)));
        }
        if let Some(zoom) = self.zoom.get() {
            parts.push(format!("z={zoom}"));
        }
        if all {
            parts.push("all=1".to_owned());
        }
        if let Some(selected) = selected {
            parts.push(format!("sel={}", encoded(selected)));
        }
        format!("?{}", parts.join("&"))
    }
}

/// `/u/{unit}`.
pub fn unit(id: &UnitId) -> String {
    format!("/u/{}", encoded(id.as_str()))
}

/// `/u/{unit}/plan/{plan}`.
pub fn plan(unit: &UnitId, plan: &PlanId) -> String {
    format!("/u/{}/plan/{}", encoded(unit.as_str()), encoded(&plan.to_string()))
}

/// `/r/{run}`.
pub fn run(id: &RunId) -> String {
    format!("/r/{}", encoded(id.as_str()))
}

/// Text as one part of a path or query.
pub fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b':' => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}
