//! The edges of an application, each in the form in which objects create it.

use std::collections::{BTreeMap, BTreeSet};

use teardown::{
    message::{Message, Record, Topic},
    object::Uid,
    unit::UnitId,
};
use tokio::time::{Duration, sleep, timeout};

use super::{ANSWER_TIMEOUT, Simulation, runtime};
use crate::{application::UNIT, server_log::ServerLog};

/// The time for which an application runs before its edges are read. A CronJob of every minute has started a Job by then.
const MINUTE: Duration = Duration::from_secs(60);
/// How many seconds the server gets to read the cluster.
const SYNC_SECONDS: u32 = 60;

/// The forms of all edges on the page of the unit before a run: the kinds of the two objects and the field, without the
/// indexes of list items.
pub(crate) fn edge_forms(seed: u64) -> BTreeSet<String> {
    let _guard = ServerLog::default().capture();
    runtime().block_on(async {
        let mut simulation = Simulation::prepare(seed, None).await;
        sleep(MINUTE).await;
        simulation.start_server();
        let records = simulation.read_unit().await;
        simulation.kill("its edges are read").await;
        let kinds: BTreeMap<&Uid, &str> = records
            .iter()
            .filter_map(|record| match record {
                Record::Object(card) => Some((&card.uid, &*card.object.kind)),
                _ => None,
            })
            .collect();
        let edge_forms = records.iter().filter_map(|record| {
            let Record::Edge(edge) = record else { return None };
            let field = edge.reason.field.replace(|it: char| it.is_ascii_digit(), "");
            let (from, to) = (kinds.get(&edge.from)?, kinds.get(&edge.to)?);
            Some(format!("{from} {:?} {to} by {field}", edge.kind))
        });
        edge_forms.collect()
    })
}

impl Simulation {
    /// The page of the unit, once the server has read everything that it depends on.
    async fn read_unit(&self) -> Vec<Record> {
        let Some(instance) = &self.instance else { return vec![] };
        for _ in 0..SYNC_SECONDS {
            sleep(Duration::from_secs(1)).await;
            let looked = instance.hub.query(Topic::Unit(UnitId::new(UNIT)));
            let Ok(Ok(Ok(Message::Snapshot { records, .. }))) =
                timeout(ANSWER_TIMEOUT, looked).await
            else {
                continue;
            };
            let is_read = |it: &Record| matches!(it, Record::Cluster(card) if card.synced);
            if records.iter().any(is_read) {
                return records;
            }
        }
        vec![]
    }
}
