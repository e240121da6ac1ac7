//! The one way from the watches to the hub: observations in the order they are sent, all that is ready at once.

use teardown::observation::Observation;
use tokio::sync::mpsc;

use crate::hub::Incoming;

/// Observations under way between the watches and the hub. Full, it slows the watches down, and through them the API
/// server; nothing is dropped.
const UNDER_WAY: usize = 1_024;

/// The most observations in one message, so that the hub can publish between two of them.
const TOGETHER: usize = 1_024;

/// A watch's end of the way.
#[derive(Clone, Debug)]
pub(super) struct Report {
    sender: mpsc::Sender<Observation>,
}

/// The hub is gone, and the process about to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HubGone;

impl Report {
    /// Both ends.
    pub(super) fn channel() -> (Self, mpsc::Receiver<Observation>) {
        let (sender, receiver) = mpsc::channel(UNDER_WAY);
        (Self { sender }, receiver)
    }

    /// Tells the hub.
    pub(super) async fn tell(&self, observation: Observation) -> Result<(), HubGone> {
        self.sender.send(observation).await.map_err(|_| HubGone)
    }
}

/// Carries observations to the mailbox until one side is gone.
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
