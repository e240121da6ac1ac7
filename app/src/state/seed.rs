//! The data that the server sends inside the page, so that both first renders are equal.

use jiff::Timestamp;
use leptos::prelude::*;
use serde::{Deserialize, Serialize};
use teardown::{advice::Advice, message::Message, plan::Plan, right::Right};

/// The one value that travels inside the HTML.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PageSeed {
    /// A snapshot of the page's topic.
    pub message: Option<Message>,
    /// The plan that a plan's page shows.
    pub plan: Option<Plan>,
    /// Why the page has nothing to show, as a code.
    pub refusal: Option<String>,
    /// The cluster's time when the server rendered.
    #[serde(with = "teardown::millis::required")]
    pub now: Timestamp,
    /// Advice about the diagnoses and the plan that the page shows, by id.
    pub advice: Vec<(String, Advice)>,
    /// The name of the build; another name means that the server serves another build.
    pub build: String,
    /// Whether the reader may ask the server to do something.
    pub signed_in: bool,
    /// The greatest right of the reader.
    pub right: Right,
}

impl Default for PageSeed {
    fn default() -> Self {
        Self {
            message: None,
            plan: None,
            refusal: None,
            now: Timestamp::UNIX_EPOCH,
            advice: Vec::new(),
            build: String::new(),
            signed_in: false,
            right: Right::Look,
        }
    }
}

impl PageSeed {
    /// The seed that the server packed; in the browser the one that is inside the HTML.
    pub fn load() -> Self {
        // As it is: a string that is written as JSON once more would have every quotation mark escaped twice.
        let packed = SharedValue::new_str(|| use_context::<PackedSeed>().unwrap_or_default().0);
        serde_json::from_str(&packed.into_inner()).unwrap_or_default()
    }
}

/// The seed as JSON. Only the server packs it, so that the browser's module has no code that writes records.
#[derive(Clone, Debug, Default)]
pub struct PackedSeed(String);

impl PackedSeed {
    /// Packs a seed.
    pub fn new(seed: &PageSeed) -> Self {
        Self(serde_json::to_string(seed).unwrap_or_default())
    }
}

/// The seed, for the first page that asks; a page that is navigated to later finds it taken and waits for its stream.
#[derive(Clone, Copy)]
pub struct InitialData(StoredValue<PageSeed>);

impl InitialData {
    /// Holds the seed.
    pub fn new(seed: PageSeed) -> Self {
        Self(StoredValue::new(seed))
    }

    /// Looks at the snapshot, as long as it is there.
    pub fn peek<T>(self, look: impl FnOnce(&Message) -> Option<T>) -> Option<T> {
        self.0.with_value(|seed| seed.message.as_ref().and_then(look))
    }

    /// The snapshot, once.
    pub fn take_message(self) -> Option<Message> {
        self.0.try_update_value(|seed| seed.message.take()).flatten()
    }

    /// The plan, once.
    pub fn take_plan(self) -> Option<Plan> {
        self.0.try_update_value(|seed| seed.plan.take()).flatten()
    }

    /// Why there is nothing, once.
    pub fn take_refusal(self) -> Option<String> {
        self.0.try_update_value(|seed| seed.refusal.take()).flatten()
    }
}
