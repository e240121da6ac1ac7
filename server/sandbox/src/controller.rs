//! Controllers: each is handed what happened since it last looked, and acts through the verbs of [`Cluster`].

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use crate::{cluster::Cluster, store::Event};

/// A control loop. It is level triggered: events tell it where to look, not what to do. It keeps its own set of work
/// and never goes through all objects because of one event.
pub trait Controller: Send {
    /// As the real controller manager names it: `garbage-collector-controller`.
    fn name(&self) -> &'static str;

    /// Does what there is to do now. `events` is everything since the last call, oldest first; for the first call and
    /// after too long a pause, each object that exists as an `Added` event. Returns when it wants to be called again
    /// even if nothing happens.
    fn sync(&mut self, cluster: &mut Cluster, events: &[Arc<Event>]) -> Option<Timestamp>;
}

/// How a controller is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Condition {
    Running,
    /// Not there: uninstalled, or its process is gone. What it misses it finds again when it is switched on.
    Off,
    /// Looks this much later than it could.
    Slow(SignedDuration),
}

struct Entry {
    controller: Box<dyn Controller>,
    condition: Condition,
    /// Up to which revision it has seen. `None` before its first look.
    seen: Option<u64>,
    /// When it wants to be called.
    due: Option<Timestamp>,
    /// Since when something waits for it that it has not seen, while it is slow.
    waiting: Option<Timestamp>,
}

/// All controllers, and whose turn it is.
#[derive(Default)]
pub struct Controllers {
    entries: Vec<Entry>,
}

/// As often as one turn goes round: controllers that answer each other for ever are cut off, and go on next time.
const ROUNDS: usize = 1_000;

impl Controllers {
    pub fn add(&mut self, controller: Box<dyn Controller>) {
        let entry = Entry {
            controller,
            condition: Condition::Running,
            seen: None,
            due: None,
            waiting: None,
        };
        self.entries.push(entry);
    }

    /// Switches a controller off or on, or slows it; whether there is one of this name.
    pub fn set(&mut self, name: &str, condition: Condition) -> bool {
        let mut found = false;
        for entry in self.entries.iter_mut().filter(|entry| entry.controller.name() == name) {
            entry.condition = condition;
            found = true;
        }
        found
    }

    /// The controllers and how they are.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, Condition)> {
        self.entries.iter().map(|entry| (entry.controller.name(), entry.condition))
    }

    /// Lets every controller that has something to look at or is due do its work, until all is quiet at this moment.
    /// Returns when the next one is due.
    pub fn turn(&mut self, cluster: &mut Cluster) -> Option<Timestamp> {
        let mut order: Vec<usize> = (0..self.entries.len()).collect();
        for _ in 0..ROUNDS {
            let now = cluster.now();
            cluster.rng.shuffle(&mut order);
            let mut quiet = true;
            for index in &order {
                quiet &= !self.entries[*index].look(cluster, now);
            }
            if quiet {
                break;
            }
        }
        self.entries.iter().filter_map(Entry::next).min()
    }
}

impl Entry {
    /// One look; whether there was a reason for it.
    fn look(&mut self, cluster: &mut Cluster, now: Timestamp) -> bool {
        let delay = match self.condition {
            Condition::Off => {
                self.due = None;
                self.waiting = None;
                return false;
            }
            Condition::Running => SignedDuration::ZERO,
            Condition::Slow(by) => by,
        };
        let news = self.seen != Some(cluster.store.revision());
        let is_due = self.due.is_some_and(|due| due <= now);
        if !news && !is_due {
            return false;
        }
        let since = *self.waiting.get_or_insert(now);
        if since.checked_add(delay).is_ok_and(|then| then > now) {
            return false;
        }
        let events = cluster.store.news(self.seen);
        self.seen = Some(cluster.store.revision());
        self.waiting = None;
        self.due = self.controller.sync(cluster, &events);
        true
    }

    fn next(&self) -> Option<Timestamp> {
        match self.condition {
            Condition::Off => None,
            Condition::Running => self.due,
            Condition::Slow(by) => match self.waiting {
                Some(since) => since.checked_add(by).ok(),
                None => self.due,
            },
        }
    }
}
