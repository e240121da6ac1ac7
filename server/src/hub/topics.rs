//! The topics that readers follow: their views, and when these are published.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use app::text;
use teardown::{
    message::{Message, Record, Revision, Topic},
    world::edges_of_plan,
};
use tokio::time::Instant;

use super::{
    Refusal, Subscription, cluster_state::ClusterState, runs::Runs, topic_channel::TopicChannel,
};

/// The interval between two publications: short enough to look instant, long enough to combine a burst into one
/// message.
const PUBLISH: Duration = Duration::from_millis(50);
/// The interval at which pages are updated although no message arrived, because objects become slow or stuck by waiting.
const AGE: Duration = Duration::from_secs(1);
/// The time for which a topic without readers is kept, so that a returning reader receives the deltas they missed.
const LINGER: Duration = Duration::from_secs(60);

/// The channels of the topics that have readers, or had some a short time ago.
pub(super) struct Topics {
    boot: u64,
    channels: BTreeMap<Topic, TopicChannel>,
    published: Instant,
    stale: bool,
}

impl Topics {
    /// No topics yet; `boot` distinguishes the revisions of this process from those of another one.
    pub(super) fn new(boot: u64) -> Self {
        Self { boot, channels: BTreeMap::new(), published: Instant::now(), stale: false }
    }

    /// Notes that something has changed since the last publication.
    pub(super) fn mark_stale(&mut self) {
        self.stale = true;
    }

    pub(super) fn next_publication(&self) -> Instant {
        self.published + if self.stale { PUBLISH } else { AGE }
    }

    /// Brings every topic that has readers up to date, if it is time to.
    pub(super) fn publish(&mut self, cluster: &mut ClusterState, runs: &Runs) {
        let since = self.published.elapsed();
        if !(since >= AGE || self.stale && since >= PUBLISH) {
            return;
        }
        self.published = Instant::now();
        self.stale = false;
        // Also without readers, because the index remembers only so many changes.
        cluster.follow();
        self.channels.values_mut().for_each(TopicChannel::note_readers);
        self.channels.retain(|_, channel| !channel.is_abandoned(LINGER));
        let followed = self.channels.iter().filter(|(_, channel)| channel.has_readers());
        let followed: Vec<Topic> = followed.map(|(topic, _)| topic.clone()).collect();
        for topic in followed {
            if let Err(refusal) = self.refresh(&topic, cluster, runs) {
                tracing::warn!(topic = %topic, refusal = ?refusal, "a topic could not be brought up to date");
            }
        }
        let mut followed = self.channels.values().filter(|channel| channel.has_readers());
        cluster.draw_nodes(followed.any(TopicChannel::has_nodes));
    }

    /// Reads a topic once.
    pub(super) fn query(
        &mut self,
        topic: &Topic,
        cluster: &mut ClusterState,
        runs: &Runs,
    ) -> Result<Message, Refusal> {
        let records = records(topic, cluster, runs)?;
        let channel = self.channel(topic, cluster, runs);
        channel.publish(records);
        Ok(channel.message())
    }

    pub(super) fn subscribe(
        &mut self,
        topic: &Topic,
        after: Option<Revision>,
        cluster: &mut ClusterState,
        runs: &Runs,
    ) -> Result<Subscription, Refusal> {
        // A reader who had the topic open sees how it ended; a new reader receives a refusal. Before the first lists
        // are complete, both wait and see which kinds are missing.
        let records = match records(topic, cluster, runs) {
            Err(Refusal::NotReady) if matches!(topic, Topic::Unit(_)) => Err(Refusal::NotReady),
            Err(refusal) if after.is_none() => return Err(refusal),
            records => records,
        };
        self.publish_to(topic, records, cluster, runs)?;
        Ok(self.channel(topic, cluster, runs).subscribe(after))
    }

    /// Updates a topic's channel, so that its readers see the hub's current state.
    fn refresh(
        &mut self,
        topic: &Topic,
        cluster: &mut ClusterState,
        runs: &Runs,
    ) -> Result<(), Refusal> {
        let records = records(topic, cluster, runs);
        self.publish_to(topic, records, cluster, runs)
    }

    fn publish_to(
        &mut self,
        topic: &Topic,
        records: Result<Vec<Arc<Record>>, Refusal>,
        cluster: &mut ClusterState,
        runs: &Runs,
    ) -> Result<(), Refusal> {
        let records = match records {
            // The unit is gone and has readers: they see its last member go, and then an empty page.
            Err(Refusal::UnknownUnit(_)) if self.channels.contains_key(topic) => {
                frame_records(topic, cluster, runs)
            }
            Err(Refusal::NotReady) if matches!(topic, Topic::Unit(_)) => {
                frame_records(topic, cluster, runs)
            }
            records => records?,
        };
        self.channel(topic, cluster, runs).publish(records);
        Ok(())
    }

    fn channel(&mut self, topic: &Topic, cluster: &ClusterState, runs: &Runs) -> &mut TopicChannel {
        let start = Revision { boot: self.boot, count: cluster.milliseconds() };
        let channel = || TopicChannel::new(start, lasting_records(topic, cluster, runs));
        self.channels.entry(topic.clone()).or_insert_with(channel)
    }
}

/// The records of a topic that never change.
fn lasting_records(topic: &Topic, cluster: &ClusterState, runs: &Runs) -> Vec<Record> {
    let mut records = match topic {
        Topic::Run(id) => {
            runs.get(id, cluster).map_or(Vec::new(), |active| edges_of_plan(&active.run.plan))
        }
        Topic::Units | Topic::Unit(_) | Topic::Trouble => Vec::new(),
    };
    records.retain(|record| topic.may_carry(record));
    records
}

/// The records of a topic in the current state.
fn records(
    topic: &Topic,
    cluster: &mut ClusterState,
    runs: &Runs,
) -> Result<Vec<Arc<Record>>, Refusal> {
    let mut records = records_of_cluster(topic, cluster, runs)?;
    records.retain(|record| topic.may_carry(record));
    complete(&mut records, cluster, runs);
    Ok(records)
}

/// Adds to the card of the cluster that the journal or the notifications need a person, and says the cause of each diagnosis.
fn complete(records: &mut [Arc<Record>], cluster: &ClusterState, runs: &Runs) {
    let is_incomplete = |it: &Record| matches!(it, Record::Cluster(_) | Record::Diagnosis(_));
    for record in records.iter_mut().filter(|record| is_incomplete(record)) {
        match Arc::make_mut(record) {
            Record::Cluster(card) => {
                card.journal = runs.journal_problems(cluster);
                card.notifications = cluster.delivery().problems();
            }
            Record::Diagnosis(card) => card.said = text::cause(&card.diagnosis),
            _ => {}
        }
    }
}

fn records_of_cluster(
    topic: &Topic,
    cluster: &mut ClusterState,
    runs: &Runs,
) -> Result<Vec<Arc<Record>>, Refusal> {
    let latest = runs.latest_first(cluster);
    let attempts = runs.attempts().latest_first(cluster);
    let records = match topic {
        Topic::Units => cluster.overview(&latest, &attempts),
        Topic::Trouble => cluster.current().world(&latest, &attempts).trouble(),
        Topic::Unit(id) => {
            let is_synced = cluster.index().is_synced();
            cluster.unit(id, &latest, &attempts).ok_or_else(|| {
                // Before the first lists are complete, a topic that is not found may still exist.
                if is_synced { Refusal::UnknownUnit(id.clone()) } else { Refusal::NotReady }
            })?
        }
        Topic::Run(id) => {
            let active = runs.get(id, cluster)?;
            return Ok(cluster.run(&active.run, &latest, &attempts));
        }
    };
    Ok(shared(records))
}

fn shared(records: Vec<Record>) -> Vec<Arc<Record>> {
    records.into_iter().map(Arc::new).collect()
}

/// The records of every page's frame.
fn frame_records(topic: &Topic, cluster: &mut ClusterState, runs: &Runs) -> Vec<Arc<Record>> {
    let latest = runs.latest_first(cluster);
    let attempts = runs.attempts().latest_first(cluster);
    let mut records = shared(cluster.current().world(&latest, &attempts).frame());
    records.retain(|record| topic.may_carry(record));
    complete(&mut records, cluster, runs);
    records
}
