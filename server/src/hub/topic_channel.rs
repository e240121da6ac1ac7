//! The state that the readers of one topic share: the publication, the deltas that led to it, and the channel on which they
//! are sent.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use teardown::{
    fold::Publication,
    message::{Message, Record, Revision},
};
use tokio::{sync::broadcast, time::Instant};

use super::{Frame, FrameKind, Subscription};

/// The most deltas kept for returning readers: with one every 50 ms, more than ten minutes of a busy run.
const RING: usize = 16 * 1024;
/// The most bytes of deltas kept; the smaller of the two bounds applies.
const RING_BYTES: usize = 8 * 1024 * 1024;
/// The most deltas a reader may lag behind before they get a snapshot instead.
const BEHIND: usize = 256;

/// One topic's records and its readers.
pub(super) struct TopicChannel {
    publication: Publication,
    ring: VecDeque<Frame>,
    ring_bytes: usize,
    snapshot: Option<Frame>,
    readers: broadcast::Sender<Frame>,
    followed: Instant,
    has_nodes: bool,
}

impl TopicChannel {
    /// A channel with the records that never change, and none that do. `start` must be later than every revision that this
    /// topic has had since the server started, so that no revision has two meanings.
    pub(super) fn new(start: Revision, lasting: Vec<Record>) -> Self {
        let (readers, _) = broadcast::channel(BEHIND);
        let (ring, publication) = (VecDeque::new(), Publication::with_lasting(start, lasting));
        Self {
            publication,
            ring,
            ring_bytes: 0,
            snapshot: None,
            readers,
            followed: Instant::now(),
            has_nodes: false,
        }
    }

    /// Replaces the records; readers receive the changes.
    pub(super) fn publish(&mut self, records: Vec<Arc<Record>>) {
        let is_node =
            |it: &Arc<Record>| matches!(&**it, Record::Object(card) if card.node.is_some());
        self.has_nodes = records.iter().any(is_node);
        let Some(delta) = self.publication.advance(records) else { return };
        let frame = frame(&delta, FrameKind::Delta);
        self.snapshot = None;
        self.ring_bytes += frame.json.len();
        self.ring.push_back(frame.clone());
        while self.ring.len() > RING || self.ring_bytes > RING_BYTES {
            let Some(oldest) = self.ring.pop_front() else { break };
            self.ring_bytes -= oldest.json.len();
        }
        // If there is no reader, the ring keeps the frame for those who return.
        let _ = self.readers.send(frame);
    }

    pub(super) fn message(&self) -> Message {
        self.publication.snapshot()
    }

    /// The messages that bring a reader from `after` up to date, and the channel that continues exactly there.
    pub(super) fn subscribe(&mut self, after: Option<Revision>) -> Subscription {
        self.followed = Instant::now();
        let rest = self.readers.subscribe();
        let first =
            after.and_then(|after| self.missed(after)).unwrap_or_else(|| vec![self.snapshot()]);
        Subscription { first, rest }
    }

    /// The deltas since a revision; `None` if some of them are no longer kept.
    fn missed(&self, after: Revision) -> Option<Vec<Frame>> {
        let now = self.publication.revision();
        if after.boot != now.boot || after.count > now.count {
            return None;
        }
        let missed: Vec<Frame> =
            self.ring.iter().filter(|frame| frame.revision.count > after.count).cloned().collect();
        let complete = missed.len() as u64 == now.count - after.count;
        complete.then_some(missed)
    }

    fn snapshot(&mut self) -> Frame {
        let publication = &self.publication;
        self.snapshot
            .get_or_insert_with(|| frame(&publication.snapshot(), FrameKind::Snapshot))
            .clone()
    }

    /// Whether the topic has a reader now.
    pub(super) fn has_readers(&self) -> bool {
        self.readers.receiver_count() > 0
    }

    /// Whether a node is among its records.
    pub(super) fn has_nodes(&self) -> bool {
        self.has_nodes
    }

    /// Notes the time if the topic has a reader now.
    pub(super) fn note_readers(&mut self) {
        if self.has_readers() {
            self.followed = Instant::now();
        }
    }

    /// Whether the topic has no reader, and none was noted for that long.
    pub(super) fn is_abandoned(&self, linger: Duration) -> bool {
        !self.has_readers() && self.followed.elapsed() > linger
    }
}

fn frame(message: &Message, kind: FrameKind) -> Frame {
    #[expect(clippy::expect_used, reason = "records are plain structs with text keys")]
    let json = serde_json::to_string(message).expect("a message can be serialised");
    Frame { revision: message.revision(), kind, json: Arc::from(json) }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use teardown::message::{HiddenCause, HiddenKindCard};

    use super::*;

    fn records(message: &str) -> Vec<Arc<Record>> {
        vec![Arc::new(Record::HiddenKind(HiddenKindCard {
            resource: "widgets.example.com".into(),
            cause: HiddenCause::Failing,
            message: message.into(),
            since: Timestamp::UNIX_EPOCH,
        }))]
    }

    /// The first messages for a reader at this revision.
    fn first(channel: &mut TopicChannel, after: Revision) -> Vec<FrameKind> {
        channel.subscribe(Some(after)).first.iter().map(|frame| frame.kind).collect()
    }

    #[test]
    fn reader_behind_the_ring_gets_a_snapshot() {
        let start = Revision { boot: 7, count: 0 };
        let mut channel = TopicChannel::new(start, Vec::new());
        let long = "x".repeat(1_000);
        // Every record is different, and the bound on bytes applies before the bound on deltas.
        let most = RING_BYTES / long.len();
        for number in 0..most {
            channel.publish(records(&format!("{number} {long}")));
        }
        assert!(channel.ring_bytes <= RING_BYTES);
        assert!(
            channel.ring.len() < most && channel.ring.len() > most / 2,
            "{}",
            channel.ring.len()
        );
        let kept = channel.ring.len() as u64;
        let now = channel.publication.revision();
        let back = |missed: u64| Revision { count: now.count - missed, ..now };
        assert_eq!(first(&mut channel, back(0)), []);
        assert_eq!(first(&mut channel, back(2)), [FrameKind::Delta; 2]);
        assert_eq!(first(&mut channel, back(kept)).len() as u64, kept);
        for gone in [back(kept + 1), start] {
            assert_eq!(first(&mut channel, gone), [FrameKind::Snapshot], "{gone:?}");
        }
        assert_eq!(first(&mut channel, Revision { boot: 8, ..now }), [FrameKind::Snapshot]);
        assert_eq!(first(&mut channel, now.next()), [FrameKind::Snapshot]);
    }
}
