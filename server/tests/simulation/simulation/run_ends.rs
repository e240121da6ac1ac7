//! Detects that runs are over.

use teardown::{
    message::{Message, Topic},
    run::RunId,
};
use tokio::time::timeout;

use super::{ANSWER_TIMEOUT, Simulation};
use crate::{
    end_page::{EndPage, Observer},
    reader::FoldedPage,
};

impl Simulation {
    pub(super) fn observer(&self) -> Observer {
        let (transcript, sandbox) =
            (self.environment.transcript.clone(), self.environment.sandbox.clone());
        Observer { transcript, sandbox }
    }

    /// Reads the page of each run that has ended. Returns whether every run has ended, and a new reader of its page sees
    /// that.
    pub(super) async fn read_run_ends(&mut self) -> bool {
        let mut is_over = true;
        for (run, has_ended) in self.environment.disk.runs() {
            if has_ended && !self.run_ends.contains_key(&run) {
                let end = self.read_end(&run).await;
                self.run_ends.extend(end.map(|end| (run.clone(), end)));
            }
            is_over &= self.run_ends.contains_key(&run);
        }
        is_over
    }

    /// The page of a run when it says that the run is over. There is none while the server is being killed or reads the
    /// cluster anew.
    async fn read_end(&self, run: &str) -> Option<EndPage> {
        let hub = &self.instance.as_ref()?.hub;
        let looked = timeout(ANSWER_TIMEOUT, hub.query(Topic::Run(RunId::new(run)))).await;
        let Ok(Ok(Ok(Message::Snapshot { records, .. }))) = looked else { return None };
        self.observer().capture(run, records.iter())
    }

    /// Every page that said that its run is over, from readers that followed the run and from new readers.
    pub(super) fn end_pages(&self) -> Vec<EndPage> {
        let follower = self.browser_page.iter().map(|(_, seen)| seen);
        let followed = self.pages.values().chain(follower).filter_map(FoldedPage::end);
        followed.chain(self.run_ends.values().cloned()).collect()
    }
}
