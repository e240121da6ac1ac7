//! The channel from the watches to the hub. It keeps the order of observations and batches those that are ready.

use teardown::observation::Observation;
use tokio::sync::mpsc;

use crate::hub::Incoming;

/// Observations queued between the watches and the hub. A full queue slows the watches down, and through them the API
/// server; no observation is dropped.
const UNDER_WAY: usize = 1_024;

/// The most observations in one message, so that the hub can publish between two of them.
const TOGETHER: usize = 1_024;

/// The sending half, one for each watch.
#[derive(Clone, Debug)]
pub(super) struct Report {
    sender: mpsc::Sender<Observation>,
}

/// The hub is gone, so the process is about to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HubGone;

impl Report {
    /// Creates both halves of the channel.
    pub(super) fn channel() -> (Self, mpsc::Receiver<Observation>) {
        let (sender, receiver) = mpsc::channel(UNDER_WAY);
        (Self { sender }, receiver)
    }

    /// Sends an observation to the hub.
    pub(super) async fn send(&self, observation: Observation) -> Result<(), HubGone> {
        self.sender.send(observation).await.map_err(|_| HubGone)
    }
}

/// Forwards observations to the mailbox until one side is closed.
pub(super) async fn carry(
    mut observations: mpsc::Receiver<Observation>,
    mailbox: mpsc::Sender<Incoming>,
) {
    let mut batch = Vec::new();
    while observations.recv_many(&mut batch, TOGETHER).await > 0 {
        if mailbox.send(Incoming::Observed(std::mem::take(&mut batch))).await.is_err() {
            return;
        }
    }
}
