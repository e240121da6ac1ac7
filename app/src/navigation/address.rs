//! The addresses of the pages, and the query string: what of a page's state is in its URL, and the links that change it.

use std::borrow::Cow;

use leptos::prelude::*;
use leptos_router::{
    NavigateOptions,
    hooks::{use_location, use_navigate, use_url},
    location::Url,
    params::ParamsMap,
};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use teardown::{
    object::Uid,
    plan::{Choice, Choices, Plan, PlanId},
    run::RunId,
    unit::UnitId,
};

use crate::state::{
    filter::Filter,
    subscription::{self, Lasting},
};

/// The characters that are encoded in one part of a path.
const PART: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~').remove(b':');

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

/// The state that a page keeps in its query string.
#[derive(Clone, Copy)]
pub struct Address {
    /// `view`.
    pub shape: Lasting<Memo<Option<Shape>>>,
    /// `sel`: the selected object.
    pub selected: Lasting<Memo<Option<Uid>>>,
    /// `q`: the words of a search.
    pub search: Lasting<Memo<Option<String>>>,
    /// `state`: the states that are shown, such as `stuck,slow`; all states where there is none.
    pub states: Lasting<Memo<Option<String>>>,
    /// `z`: the graph's scale in hundredths.
    pub zoom: Lasting<Memo<Option<u32>>>,
    /// `all`: whether a long list is shown whole.
    pub all: Lasting<Memo<Option<String>>>,
    /// `by`: the order of the causes for which deletions wait, [`BY_AGE`] or [`BY_NAMESPACE`]; by harm where there is none.
    pub order: Lasting<Memo<Option<String>>>,
    url: ReadSignal<Url>,
    replace: Callback<ParamsMap>,
}

impl Address {
    /// Reads the current URL.
    pub fn current() -> Self {
        let url = use_url();
        let value =
            |name: &'static str| Memo::new(move |_| url.with(|url| url.search_params().get(name)));
        let path = use_location().pathname;
        let navigate = use_navigate();
        // No step back leads to what a value was, and the fragment would scroll the page to its target again.
        let options =
            NavigateOptions { resolve: false, replace: true, scroll: false, ..Default::default() };
        let replace = Callback::new(move |query: ParamsMap| {
            let (path, query) = (path.get_untracked(), query_string(query));
            let mark = if query.is_empty() { "" } else { "?" };
            navigate(&format!("{path}{mark}{query}"), options.clone());
        });
        let (view, scale, selected) = (value("view"), value("z"), value("sel"));
        Self {
            shape: Lasting::new(Memo::new(move |_| view.get()?.parse().ok())),
            selected: Lasting::new(Memo::new(move |_| selected.get().map(Uid::new))),
            search: Lasting::new(value("q")),
            states: Lasting::new(value("state")),
            zoom: Lasting::new(Memo::new(move |_| scale.get()?.parse().ok())),
            all: Lasting::new(value("all")),
            order: Lasting::new(value("by")),
            url,
            replace,
        }
    }

    /// Selects an object, or none.
    pub fn select(self, uid: Option<&Uid>) {
        self.put("sel", uid.map(Uid::to_string));
    }

    /// Shows the objects in this shape.
    pub fn show(self, shape: Shape) {
        self.put("view", Some(shape.to_string()));
    }

    /// Searches for a text.
    pub fn find(self, text: &str) {
        self.put("q", (!text.is_empty()).then(|| text.to_owned()));
    }

    /// Keeps the graph's scale, in hundredths.
    pub fn keep_zoom(self, percent: u32) {
        self.put("z", Some(percent.to_string()));
    }

    /// The link that selects an object and leaves the rest as it is.
    pub fn to_object(self, uid: &Uid) -> String {
        self.to("sel", Some(uid.to_string()))
    }

    /// The link that selects nothing.
    pub fn to_nothing(self) -> String {
        self.to("sel", None)
    }

    /// The link to the other shape.
    pub fn to_shape(self, shape: Shape) -> String {
        self.to("view", Some(shape.to_string()))
    }

    /// The link to the whole of a long list.
    pub fn to_all(self) -> String {
        self.to("all", Some("1".to_owned()))
    }

    /// The link that adds a state to the states that are shown, or takes it out of them.
    pub fn to_state(self, state: &str) -> String {
        let states = toggled(&self.states.get().unwrap_or_default(), state);
        self.to("state", (!states.is_empty()).then_some(states))
    }

    /// The filter that the search and the states make.
    pub fn filter(self) -> Filter {
        Filter::new(self.search.get(), self.states.get())
    }

    fn put(self, name: &'static str, value: Option<String>) {
        // The page may have gone while a change of its address was put off.
        if let Some(url) = self.url.try_get_untracked() {
            self.replace.try_run(changed(url.search_params().clone(), name, value));
        }
    }

    fn to(self, name: &'static str, value: Option<String>) -> String {
        subscription::end_with_owner();
        let query = self.url.with(|url| url.search_params().clone());
        format!("?{}", query_string(changed(query, name, value)))
    }
}

/// The router's own differs between server and browser: the one encodes characters that the other leaves as they are.
fn query_string(query: ParamsMap) -> String {
    let pair = |(name, value): (Cow<'static, str>, String)| {
        format!("{}={}", encoded(&name), encoded(&value))
    };
    query.into_iter().map(pair).collect::<Vec<_>>().join("&")
}

fn changed(mut query: ParamsMap, name: &'static str, value: Option<String>) -> ParamsMap {
    match value {
        Some(value) => query.replace(name, value),
        None => drop(query.remove(name)),
    }
    query
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

/// The page with every deletion that waits.
pub const TROUBLE: &str = "/trouble";
/// The page about the things that are switched off, which the server writes.
pub const SWITCHED_OFF: &str = "/switched-off";
/// The order in which the deletion that waits longest comes first.
pub const BY_AGE: &str = "age";
/// The order by the namespaces of the objects that wait.
pub const BY_NAMESPACE: &str = "namespace";

/// The id of a diagnosis' card, and the fragment that leads to it.
pub fn card_of(diagnosis: &str) -> String {
    format!("why-{}", encoded(diagnosis))
}

/// `/trouble#why-…`.
pub fn diagnosis(id: &str) -> String {
    format!("{TROUBLE}#{}", card_of(id))
}

/// `/trouble/{what}?id=…`: the `card` or the `note.txt` of a diagnosis, also after its cause has changed.
pub fn lasting(what: &str, id: &str) -> String {
    format!("{TROUBLE}/{what}?id={}", encoded(id))
}

/// `/u/{unit}`.
pub fn unit(id: &UnitId) -> String {
    format!("/u/{}", encoded(id.as_str()))
}

/// `/u/{unit}/plan/{plan}`.
pub fn plan(unit: &UnitId, plan: &PlanId) -> String {
    format!("/u/{}/plan/{}", encoded(unit.as_str()), encoded(&plan.to_string()))
}

/// `/u/{unit}/plan/{plan}`, with the choices of the plan, by which it can be made again.
pub fn chosen_plan(made: &Plan) -> String {
    plan(&made.unit, &made.id) + &chosen(&made.choices)
}

/// `/u/{unit}/plan`: a plan of the unit as it is now, with these choices.
pub fn new_plan(unit: &UnitId, choices: &Choices) -> String {
    format!("/u/{}/plan{}", encoded(unit.as_str()), chosen(choices))
}

/// Where a plan is made of what holds this run outside its plan.
pub fn plan_beside(unit: &UnitId, run: &RunId) -> String {
    let plan = new_plan(unit, &Choices::default());
    format!("{plan}?unplanned={}", encoded(run.as_str()))
}

fn chosen(choices: &Choices) -> String {
    let pairs: Vec<String> = choices
        .iter()
        .map(Choice::pair)
        .map(|(name, value)| format!("{name}={}", encoded(&value)))
        .collect();
    if pairs.is_empty() { String::new() } else { format!("?{}", pairs.join("&")) }
}

/// The choices in a query; none where one cannot be read.
pub fn choices(query: &ParamsMap) -> Option<Choices> {
    let pairs: Vec<(Cow<'static, str>, String)> = query.clone().into_iter().collect();
    Choices::of_query(pairs.iter().map(|(name, value)| (&**name, value.as_str()))).ok()
}

/// `/r/{run}`.
pub fn run(id: &RunId) -> String {
    format!("/r/{}", encoded(id.as_str()))
}

/// All events of a run, as text.
pub fn event_log(id: &RunId) -> String {
    format!("{}/events.txt", run(id))
}

/// Text as one part of a path or query.
pub fn encoded(text: &str) -> String {
    utf8_percent_encode(text, PART).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_is_one_part_of_a_path_whatever_is_in_it() {
        assert_eq!(unit(&UnitId::new("ns:shop")), "/u/ns:shop");
        assert_eq!(unit(&UnitId::new("a/b?c#d é")), "/u/a%2Fb%3Fc%23d%20%C3%A9");
    }

    #[test]
    fn choices_are_in_the_address_and_are_read_from_it() {
        let value = "ClusterRole.rbac.authorization.k8s.io//a:b";
        let made = Choices::of_query([("without", value), ("keep", "data")]).unwrap();
        let address = new_plan(&UnitId::new("shop"), &made);
        assert_eq!(
            address,
            "/u/shop/plan?without=ClusterRole.rbac.authorization.k8s.io%2F%2Fa:b&keep=data"
        );
        let mut query = ParamsMap::new();
        query.insert("keep", "data".to_owned());
        query.insert("without", value.to_owned());
        query.insert("sel", "x".to_owned());
        assert_eq!(choices(&query), Some(made));
        query.insert("keep", "nothing".to_owned());
        assert_eq!(choices(&query), None);
    }

    #[test]
    fn word_is_added_to_a_list_or_taken_out_of_it() {
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
}
