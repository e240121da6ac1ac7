//! What somebody saw of a run that was over: its page, and when they read it.

use sandbox::service::Sandbox;
use serde_json::{Value, json};
use teardown::message::Record;

use crate::story::Story;

/// The page of a run, as one reader saw it when it first said that the run is over.
#[derive(Clone, Debug)]
pub(crate) struct Sighting {
    pub(crate) run: String,
    /// In milliseconds since the beginning.
    pub(crate) at: u64,
    /// What the store had reached by then.
    pub(crate) revision: u64,
    /// The records of the page, as they travel.
    pub(crate) records: Vec<Value>,
}

/// Where somebody stands who can tell what time it is, and how far the cluster is.
#[derive(Clone)]
pub(crate) struct Vantage {
    pub(crate) story: Story,
    pub(crate) sandbox: Sandbox,
}

impl Vantage {
    /// Notes a page that says so of its run; none where it does not.
    pub(crate) fn sight<'a>(
        &self,
        run: &str,
        records: impl Iterator<Item = &'a Record> + Clone,
    ) -> Option<Sighting> {
        if !is_over(run, records.clone())? {
            return None;
        }
        Some(Sighting {
            run: run.to_owned(),
            at: self.story.now(),
            revision: self.sandbox.with(|world| world.cluster.store.revision()),
            records: records.map(|record| json!(record)).collect(),
        })
    }
}

/// Whether a page says that its run is over; none where it says nothing of it.
pub(crate) fn is_over<'a>(
    run: &str,
    mut records: impl Iterator<Item = &'a Record>,
) -> Option<bool> {
    records.find_map(|record| match record {
        Record::Run(card) if card.id.as_str() == run => Some(card.state.is_ended()),
        _ => None,
    })
}
