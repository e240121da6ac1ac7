//! Who looks whether runs are over.

use teardown::{
    message::{Message, Topic},
    run::RunId,
};
use tokio::time::timeout;

use super::{ANSWER, Game};
use crate::{
    reader::Seen,
    sighting::{Sighting, Vantage},
};

impl Game {
    /// Where a reader of this game stands.
    pub(super) fn vantage(&self) -> Vantage {
        let (story, sandbox) = (self.stage.story.clone(), self.stage.sandbox.clone());
        Vantage { story, sandbox }
    }

    /// Whether every run has ended, and whoever opens its page can read that.
    pub(super) async fn is_over(&mut self) -> bool {
        let mut is_over = true;
        for (run, has_ended) in self.stage.ledger.runs() {
            if has_ended && !self.ends.contains_key(&run) {
                let end = self.read_end(&run).await;
                self.ends.extend(end.map(|end| (run.clone(), end)));
            }
            is_over &= self.ends.contains_key(&run);
        }
        is_over
    }

    /// What the page of a run says when it says that the run is over. A server that is dying, or that is reading the cluster
    /// anew, says nothing.
    async fn read_end(&self, run: &str) -> Option<Sighting> {
        let hub = &self.life.as_ref()?.hub;
        let looked = timeout(ANSWER, hub.query(Topic::Run(RunId::new(run)))).await;
        let Ok(Ok(Ok(Message::Snapshot { records, .. }))) = looked else { return None };
        self.vantage().sight(run, records.iter())
    }

    /// The ends that were seen, by whoever followed a run and by whoever opened its page.
    pub(super) fn sightings(&self) -> Vec<Sighting> {
        let follower = self.browsed.iter().map(|(_, seen)| seen);
        let followed = self.seen.values().chain(follower).filter_map(Seen::end);
        followed.chain(self.ends.values().cloned()).collect()
    }
}
