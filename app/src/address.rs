//! The query string: what of a page's state is in its URL, and the links that change it.

use leptos::prelude::*;
use teardown::{object::Uid, plan::PlanId, run::RunId, unit::UnitId};

use crate::{erased::memo, route::Place, sieve::Sieve};

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
    pub shape: Signal<Option<Shape>>,
    /// `sel`: the selected object.
    pub selected: Memo<Option<Uid>>,
    /// `q`: what is searched for.
    pub search: Memo<Option<String>>,
    /// `state`: the states that are shown, such as `stuck,slow`; all where there is none.
    pub states: Memo<Option<String>>,
    /// `z`: the graph's scale in hundredths.
    pub zoom: Signal<Option<u32>>,
    /// `all`: whether a long list is shown whole.
    pub all: Memo<Option<String>>,
    place: Place,
}

impl Address {
    /// Reads the current URL.
    pub fn current() -> Self {
        let place = expect_context::<Place>();
        let (view, scale) = (place.value("view"), place.value("z"));
        let selected = place.value("sel");
        Self {
            shape: Signal::derive(move || {
                view.with(|view| view.as_ref().and_then(|view| view.parse().ok()))
            }),
            selected: memo(move || selected.with(|uid| uid.as_ref().map(Uid::new))),
            search: place.value("q"),
            states: place.value("state"),
            zoom: Signal::derive(move || {
                scale.with(|scale| scale.as_ref().and_then(|scale| scale.parse().ok()))
            }),
            all: place.value("all"),
            place,
        }
    }

    /// Selects an object, or none.
    pub fn select(self, uid: Option<&Uid>) {
        self.place.put("sel", uid.map(Uid::to_string).as_deref());
    }

    /// Shows it in this shape.
    pub fn show(self, shape: Shape) {
        self.place.put("view", Some(&shape.to_string()));
    }

    /// Searches.
    pub fn find(self, text: &str) {
        self.place.put("q", (!text.is_empty()).then_some(text));
    }

    /// Keeps the graph's scale, in hundredths.
    pub fn keep_zoom(self, percent: u32) {
        self.place.put("z", Some(&percent.to_string()));
    }

    /// The link that selects an object and leaves the rest as it is.
    pub fn to_object(self, uid: &Uid) -> String {
        self.place.to("sel", Some(&uid.to_string()))
    }

    /// The link that selects nothing.
    pub fn to_nothing(self) -> String {
        self.place.to("sel", None)
    }

    /// The link to the other shape.
    pub fn to_shape(self, shape: Shape) -> String {
        self.place.to("view", Some(&shape.to_string()))
    }

    /// The link to the whole of a long list.
    pub fn to_all(self) -> String {
        self.place.to("all", Some("1"))
    }

    /// The link that shows what is in this state too, or no longer.
    pub fn to_state(self, state: &str) -> String {
        let states = toggled(&self.states.get().unwrap_or_default(), state);
        self.place.to("state", (!states.is_empty()).then_some(&*states))
    }

    /// What is shown of all there is.
    pub fn sieve(self) -> Sieve {
        Sieve::new(self.search.get(), self.states.get())
    }
}

/// A list with commas, with this word in it if it was not, and without it if it was.
fn toggled(list: &str, word: &str) -> String {
    let words = || list.split(',').filter(|one| !one.is_empty());
    let mut rest: Vec<&str> = words().filter(|one| *one != word).collect();
    if rest.len() == words().count() {
        rest.push(word);
    }
    rest.join(",")
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

/// All that a run's feed tells, as text.
pub fn feed(id: &RunId) -> String {
    format!("{}/feed.txt", run(id))
}

/// Text as one part of a path or query.
pub fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b':' => {
                out.push(char::from(byte))
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// Undoes percent-encoding; what is not valid stays as it is.
pub fn decoded(part: &str) -> String {
    let bytes = part.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let code = part.get(at + 1..at + 3).and_then(|code| u8::from_str_radix(code, 16).ok());
        match (byte, code) {
            (b'%', Some(code)) => {
                out.push(code);
                at += 3;
            }
            _ => {
                out.push(*byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_part_of_a_path_whatever_is_in_it() {
        assert_eq!(unit(&UnitId::new("ns:shop")), "/u/ns:shop");
        assert_eq!(unit(&UnitId::new("a/b?c#d é")), "/u/a%2Fb%3Fc%23d%20%C3%A9");
    }

    #[test]
    fn a_word_is_added_to_a_list_or_taken_out_of_it() {
        for (list, word, then) in [
            ("", "stuck", "stuck"),
            ("stuck", "slow", "stuck,slow"),
            ("stuck,slow", "stuck", "slow"),
            ("stuck", "stuck", ""),
            (",,stuck,", "slow", "stuck,slow"),
        ] {
            assert_eq!(toggled(list, word), then, "{list} and {word}");
        }
    }

    #[test]
    fn what_is_not_encoded_well_stays_as_it_is() {
        assert_eq!(decoded("100%"), "100%");
        assert_eq!(decoded("%zz%41"), "%zzA");
    }
}
