//! The edges that an application has, in what forms.

use std::collections::{BTreeMap, BTreeSet};

use teardown::{
    message::{Message, Record, Topic},
    object::Uid,
    unit::UnitId,
};
use tokio::time::{Duration, sleep, timeout};

use super::{ANSWER, Game, runtime};
use crate::{application::UNIT, log::Log};

/// How long an application runs until it is looked at: what is made every minute has been made once.
const MINUTE: Duration = Duration::from_secs(60);
/// How long the server gets to read the cluster, in seconds.
const READING: u32 = 60;

/// The forms of all edges that the page of the unit shows before anything is done, in the game of a seed: each with the
/// kinds of its two objects and the field that it comes from, without the numbers of list items.
pub(crate) fn forms(seed: u64) -> BTreeSet<String> {
    let _quiet = Log::default().listen();
    runtime().block_on(async {
        let mut game = Game::begin(seed, None).await;
        sleep(MINUTE).await;
        game.start_server();
        let records = game.read_unit().await;
        game.kill("nothing is to be done").await;
        let kinds: BTreeMap<&Uid, &str> = records
            .iter()
            .filter_map(|record| match record {
                Record::Object(card) => Some((&card.uid, &*card.object.kind)),
                _ => None,
            })
            .collect();
        let forms = records.iter().filter_map(|record| {
            let Record::Edge(edge) = record else { return None };
            let field = edge.reason.field.replace(|it: char| it.is_ascii_digit(), "");
            let (from, to) = (kinds.get(&edge.from)?, kinds.get(&edge.to)?);
            Some(format!("{from} {:?} {to} by {field}", edge.kind))
        });
        forms.collect()
    })
}

impl Game {
    /// The page of the unit, once everything has been read that it depends on.
    async fn read_unit(&self) -> Vec<Record> {
        let Some(life) = &self.life else { return vec![] };
        for _ in 0..READING {
            sleep(Duration::from_secs(1)).await;
            let looked = life.hub.query(Topic::Unit(UnitId::new(UNIT)));
            let Ok(Ok(Ok(Message::Snapshot { records, .. }))) = timeout(ANSWER, looked).await
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
