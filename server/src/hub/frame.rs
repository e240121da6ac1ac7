//! The messages of a topic as readers get them.

use std::sync::Arc;

use teardown::message::Revision;
use tokio::sync::broadcast;

/// A message as it is sent: serialised once, shared by all readers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The revision of a reader after it.
    pub revision: Revision,
    /// The kind of the message.
    pub kind: FrameKind,
    /// The message as JSON.
    pub json: Arc<str>,
}

/// The kinds of messages; also the name of the server-sent event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    /// `snapshot`
    Snapshot,
    /// `delta`
    Delta,
}

/// The messages for a reader: the first ones bring the reader up to date, and the channel continues exactly there. A
/// receiver that lags too far behind must subscribe again.
#[derive(Debug)]
pub struct Subscription {
    /// A snapshot, or the deltas since the revision that the reader has; empty if there are none.
    pub first: Vec<Frame>,
    /// The deltas after those.
    pub rest: broadcast::Receiver<Frame>,
}
