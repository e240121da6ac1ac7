//! What the server hands over with the page, so that both first renders are equal.

use jiff::Timestamp;
use leptos::prelude::*;
use serde::Serialize;
use teardown::{message::Message, plan::Plan};

use crate::wire;

/// The one value that travels inside the HTML.
#[derive(Clone, Debug, Serialize)]
pub struct Seed {
    /// A snapshot of the page's topic.
    pub message: Option<Message>,
    /// The plan a plan page shows.
    pub plan: Option<Plan>,
    /// Why the page has nothing to show, as a code.
    pub refusal: Option<String>,
    /// The cluster's time when the server rendered.
    pub now: Timestamp,
    /// The build of the assets, letters and digits only; also what tells the browser that a newer build is served.
    pub hash: String,
    /// Whether the reader may ask the server to do something.
    pub signed_in: bool,
}

impl Default for Seed {
    fn default() -> Self {
        Self {
            message: None,
            plan: None,
            refusal: None,
            now: Timestamp::UNIX_EPOCH,
            hash: String::new(),
            signed_in: false,
        }
    }
}

/// The seed as text. Only the server packs it, so that the browser's half holds no code that writes records.
#[derive(Clone)]
pub struct Luggage(String);

impl Luggage {
    /// Packs a seed for the way.
    pub fn pack(seed: &Seed) -> Self {
        Self(serde_json::to_string(seed).unwrap_or_default())
    }

    /// Carries the text into the browser's first render, and unpacks it on either side.
    pub fn carry() -> Seed {
        let text = SharedValue::new_str(|| {
            use_context::<Self>().map(|luggage| luggage.0).unwrap_or_default()
        });
        wire::read(&text.into_inner()).unwrap_or_default()
    }
}

/// The seed, for the first page that asks; a page that is navigated to later finds it taken and waits for its stream.
#[derive(Clone, Copy)]
pub struct Arrival(StoredValue<Seed>);

impl Arrival {
    /// Holds the seed.
    pub fn new(seed: Seed) -> Self {
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
