//! Decides which notifications are due, without sending them: each root is reported once when it is stuck and once when it
//! is resolved, also across restarts.
//!
//! # Decisions
//! - A root is an object, whatever the cause is there: a silent node that somebody deletes becomes a missing one, and that is no
//!   news for whoever was woken by it.
//! - A root counts as resolved once it was absent for [`SETTLED`] in a row, and nothing that waited for it waits for another root.
//!   A cause that comes and goes while controllers retry would otherwise be reported each time.
//! - The queue is bounded, and a root that finds no place in it is not reported yet. Its place in the list of reported roots
//!   and its place in the queue are taken together, so nothing is lost in between.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use teardown::object::Uid;

use super::notification::{Event, Notification};
use crate::hub::LostNotification;

/// The most notifications that wait for their delivery.
const QUEUED: usize = 100;
/// The most roots that are reported as stuck and not yet as resolved.
const REPORTED: usize = 1_000;
/// The most objects of a root that are remembered as waiting.
const WAITING: usize = 50;
/// The time for which a root must be absent to count as resolved.
pub(super) const SETTLED: SignedDuration = SignedDuration::from_secs(60);
/// The most notifications that are remembered as lost.
const LOST: usize = 20;
/// The time for which one is remembered as lost.
const REMEMBERED: SignedDuration = SignedDuration::from_hours(24);
/// The time after which an undelivered notification is given up.
pub(super) const GIVE_UP: SignedDuration = SignedDuration::from_hours(24);

/// The notifications to deliver, and the roots that were reported.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Outbox {
    /// The roots that were reported as stuck, by their ids.
    reported: BTreeMap<String, Reported>,
    queue: VecDeque<Notification>,
    /// Those that were given up or refused lately, the latest last.
    #[serde(default)]
    lost: VecDeque<LostNotification>,
    /// The times since which roots that were reported are absent.
    #[serde(skip)]
    absent: BTreeMap<String, Timestamp>,
}

/// A root that was reported as stuck.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Reported {
    /// The notification, without the text.
    notification: Notification,
    /// Objects that waited for it when it was last there.
    waiting: Vec<Uid>,
}

/// The roots that are there, by their ids, each with the objects that wait for it.
pub(super) type Present<'a> = BTreeMap<&'a str, Vec<&'a Uid>>;

impl Outbox {
    /// Compares the roots that were reported with those that are there now. `stuck` has the notifications of the roots that
    /// are stuck. Returns whether a notification was added.
    pub(super) fn observe(
        &mut self,
        stuck: impl IntoIterator<Item = Notification>,
        present: &Present<'_>,
        now: Timestamp,
    ) -> bool {
        let before = self.queue.len();
        for notification in stuck {
            let has_place = self.queue.len() < QUEUED && self.reported.len() < REPORTED;
            if has_place && !self.reported.contains_key(&notification.id) {
                let without_text = Notification { text: String::new(), ..notification.clone() };
                let reported = Reported { notification: without_text, waiting: Vec::new() };
                self.reported.insert(notification.id.clone(), reported);
                self.queue.push_back(notification);
            }
        }
        let waiting: BTreeSet<&Uid> = present.values().flatten().copied().collect();
        for (id, reported) in &mut self.reported {
            if let Some(held) = present.get(id.as_str()) {
                reported.waiting = held.iter().take(WAITING).map(|uid| (*uid).clone()).collect();
            }
            if reported.waiting.iter().any(|uid| waiting.contains(uid))
                || present.contains_key(id.as_str())
            {
                self.absent.remove(id);
            } else {
                self.absent.entry(id.clone()).or_insert(now);
            }
        }
        let is_settled = |since: &Timestamp| now.duration_since(*since) >= SETTLED;
        let settled: Vec<String> = self
            .absent
            .iter()
            .filter(|(_, since)| is_settled(since))
            .map(|(id, _)| id.clone())
            .collect();
        for id in settled {
            if self.queue.len() == QUEUED {
                break;
            }
            self.absent.remove(&id);
            self.queue.extend(self.reported.remove(&id).map(|it| it.notification.resolved(now)));
        }
        self.queue.len() > before
    }

    /// The next notification to deliver.
    pub(super) fn next(&self) -> Option<&Notification> {
        self.queue.front()
    }

    /// Takes the next notification out, because it was delivered or refused.
    pub(super) fn take(&mut self) -> Option<Notification> {
        self.queue.pop_front()
    }

    /// The number of notifications to deliver.
    pub(super) fn len(&self) -> usize {
        self.queue.len()
    }

    /// Takes out the notifications that were not delivered in time. Their roots still count as reported, so that a root is
    /// not tried for another day.
    pub(super) fn give_up(&mut self, now: Timestamp) -> Vec<Notification> {
        let is_old = |it: &Notification| now.duration_since(it.at) >= GIVE_UP;
        let (lost, kept): (VecDeque<_>, VecDeque<_>) = self.queue.drain(..).partition(is_old);
        self.queue = kept;
        lost.into()
    }

    /// Remembers that a notification does not arrive, for the page.
    pub(super) fn lose(&mut self, notification: &Notification, why: &str, now: Timestamp) {
        if self.lost.len() == LOST {
            self.lost.pop_front();
        }
        let (title, why) = (notification.title.clone(), why.to_owned());
        self.lost.push_back(LostNotification { at: now, title, why });
    }

    /// Forgets those that were lost long ago. Returns whether there were any.
    pub(super) fn forget_lost(&mut self, now: Timestamp) -> bool {
        let before = self.lost.len();
        self.lost.retain(|it| now.duration_since(it.at) < REMEMBERED);
        self.lost.len() < before
    }

    /// Those that were lost lately, the latest last.
    pub(super) fn lost(&self) -> impl Iterator<Item = &LostNotification> {
        self.lost.iter()
    }

    /// Whether a root was reported as stuck and has not been reported as resolved.
    #[cfg(test)]
    pub(super) fn is_reported(&self, id: &str) -> bool {
        self.reported.contains_key(id)
    }
}

impl Event {
    /// The name in the log.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Stuck => "stuck",
            Self::Resolved => "resolved",
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use teardown::{diagnosis::Confidence, object::ObjectRef};

    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + seconds).unwrap()
    }

    fn stuck(id: &str, now: Timestamp) -> Notification {
        let node =
            ObjectRef { group: "".into(), kind: "Node".into(), namespace: None, name: id.into() };
        Notification {
            event: Event::Stuck,
            at: now,
            cluster: "test".into(),
            id: id.into(),
            cause: "nodeSilent".into(),
            root: node,
            confidence: Confidence::Confirmed,
            total: 3,
            since: now,
            sentence: "a cause".into(),
            title: "a title".into(),
            text: "a note".into(),
        }
    }

    /// Observes these roots, all of them stuck, and returns the queue as text.
    fn observe(outbox: &mut Outbox, ids: &[&str], seconds: i64) -> Vec<String> {
        let now = at(seconds);
        let present = ids.iter().map(|id| (*id, Vec::new())).collect();
        let before = outbox.clone();
        let added = outbox.observe(ids.iter().map(|id| stuck(id, now)), &present, now);
        assert_eq!(added, outbox.queue != before.queue);
        outbox.queue.iter().map(|it| format!("{} {}", it.event.name(), it.id)).collect()
    }

    #[test]
    fn root_is_reported_once_as_stuck_and_once_as_resolved() {
        let mut outbox = Outbox::default();
        assert_eq!(observe(&mut outbox, &["a"], 0), ["stuck a"]);
        assert_eq!(observe(&mut outbox, &["a", "b"], 10), ["stuck a", "stuck b"]);
        assert_eq!(observe(&mut outbox, &["b"], 20), ["stuck a", "stuck b"]);
        assert_eq!(observe(&mut outbox, &["b"], 79), ["stuck a", "stuck b"]);
        assert_eq!(observe(&mut outbox, &["b"], 80), ["stuck a", "stuck b", "resolved a"]);
        assert_eq!(observe(&mut outbox, &["b"], 900).len(), 3);
        assert_eq!(observe(&mut outbox, &["a", "b"], 910).last().unwrap(), "stuck a", "again");
    }

    #[test]
    fn root_that_comes_back_soon_is_not_reported_again() {
        let mut outbox = Outbox::default();
        for seconds in 0..20 {
            let ids: &[&str] = if seconds % 2 == 0 { &["a"] } else { &[] };
            assert_eq!(observe(&mut outbox, ids, seconds * 59), ["stuck a"], "{seconds}");
        }
    }

    #[test]
    fn root_that_is_late_again_is_still_the_same() {
        let mut outbox = Outbox::default();
        observe(&mut outbox, &["a"], 0);
        // It is there, and not stuck at the moment.
        for seconds in [10, 500] {
            assert!(!outbox.observe([], &Present::from([("a", Vec::new())]), at(seconds)));
        }
        assert!(outbox.is_reported("a"));
    }

    #[test]
    fn root_is_not_resolved_while_what_waited_for_it_waits_for_another() {
        let mut outbox = Outbox::default();
        let pod = Uid::new("pod");
        outbox.observe([stuck("a", at(0))], &Present::from([("a", vec![&pod])]), at(0));
        // The root is mended, and the Pod waits for its node now.
        for seconds in [10, 80, 300] {
            assert!(!outbox.observe([], &Present::from([("b", vec![&pod])]), at(seconds)));
        }
        assert!(outbox.is_reported("a"));
        assert!(!outbox.observe([], &Present::new(), at(310)));
        assert!(outbox.observe([], &Present::new(), at(370)));
        assert!(!outbox.is_reported("a"));
    }

    #[test]
    fn restart_reports_nothing_again_and_keeps_the_queue() {
        let mut outbox = Outbox::default();
        observe(&mut outbox, &["a", "b"], 0);
        outbox.take();
        let text = serde_json::to_string(&outbox).unwrap();
        let mut outbox: Outbox = serde_json::from_str(&text).unwrap();
        assert_eq!(observe(&mut outbox, &["a", "b"], 60), ["stuck b"]);
        assert_eq!(observe(&mut outbox, &["b"], 70), ["stuck b"]);
        assert_eq!(observe(&mut outbox, &["b"], 130), ["stuck b", "resolved a"]);
    }

    #[test]
    fn undelivered_notification_is_given_up_after_a_day() {
        let mut outbox = Outbox::default();
        observe(&mut outbox, &["a"], 0);
        observe(&mut outbox, &["a", "b"], 3_600);
        assert_eq!(outbox.give_up(at(86_399)), []);
        let lost = outbox.give_up(at(86_400));
        assert_eq!(lost.iter().map(|it| &*it.id).collect::<Vec<_>>(), ["a"]);
        assert_eq!(outbox.next().map(|it| &*it.id), Some("b"));
    }

    proptest! {
        /// However roots come and go, and whenever the queue is drained, the events of a root alternate, and the outbox is
        /// bounded.
        #[test]
        fn events_of_a_root_alternate_and_nothing_is_lost(
            rounds in prop::collection::vec((0_u32..400, 0_u32..400, 0_usize..150, 0_i64..90), 1..30),
        ) {
            let mut outbox = Outbox::default();
            let mut received: BTreeMap<String, Vec<Event>> = BTreeMap::new();
            let mut clock = 0;
            let mut deliver = |outbox: &mut Outbox, most: usize| {
                for _ in 0..most {
                    let Some(it) = outbox.take() else { break };
                    received.entry(it.id).or_default().push(it.event);
                }
            };
            let mut last = vec![];
            for (first, count, delivered, passed) in rounds {
                last = (first..first + count).map(|it| it.to_string()).collect();
                let ids: Vec<&str> = last.iter().map(String::as_str).collect();
                observe(&mut outbox, &ids, clock);
                prop_assert!(outbox.len() <= QUEUED && outbox.reported.len() <= REPORTED);
                deliver(&mut outbox, delivered);
                clock += passed;
            }
            // With time and a receiver, everything is reported.
            let ids: Vec<&str> = last.iter().map(String::as_str).collect();
            for _ in 0..40 {
                observe(&mut outbox, &ids, clock);
                deliver(&mut outbox, QUEUED);
                clock += 60;
            }
            for (id, events) in received {
                prop_assert!(events.iter().step_by(2).all(|it| *it == Event::Stuck), "{id} {events:?}");
                prop_assert!(events.iter().skip(1).step_by(2).all(|it| *it == Event::Resolved));
                prop_assert_eq!(events.len() % 2 == 1, last.contains(&id), "{} {:?}", id, events);
            }
        }
    }
}
