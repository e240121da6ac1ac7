//! The page of a run that is over, and the time at which a reader saw it.

use sandbox::service::Sandbox;
use serde_json::{Value, json};
use teardown::message::Record;

use crate::transcript::Transcript;

/// The page of a run when one reader first saw that the run is over.
#[derive(Clone, Debug)]
pub(crate) struct EndPage {
    pub(crate) run: String,
    /// In milliseconds since the start of the run.
    pub(crate) at: u64,
    /// The revision that the store had reached by then.
    pub(crate) revision: u64,
    /// The records of the page as JSON.
    pub(crate) records: Vec<Value>,
}

/// Gives readers the time and the revision of the store.
#[derive(Clone)]
pub(crate) struct Observer {
    pub(crate) transcript: Transcript,
    pub(crate) sandbox: Sandbox,
}

impl Observer {
    /// Captures a page that says that its run is over; none where it does not.
    pub(crate) fn capture<'a>(
        &self,
        run: &str,
        records: impl Iterator<Item = &'a Record> + Clone,
    ) -> Option<EndPage> {
        if !is_over(run, records.clone())? {
            return None;
        }
        Some(EndPage {
            run: run.to_owned(),
            at: self.transcript.now(),
            revision: self.sandbox.with(|world| world.cluster.store.revision()),
            records: records.map(|record| json!(record)).collect(),
        })
    }
}

/// Whether a page says that its run is over; none where it does not show the run.
pub(crate) fn is_over<'a>(
    run: &str,
    mut records: impl Iterator<Item = &'a Record>,
) -> Option<bool> {
    records.find_map(|record| match record {
        Record::Run(card) if card.id.as_str() == run => Some(card.state.is_ended()),
        _ => None,
    })
}
