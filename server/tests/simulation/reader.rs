//! Somebody at a page: folds what they are told as a browser does, over all lives of the server, and notes what they may
//! not see.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use server::hub::HubHandle;
use teardown::message::{Message, Revision, Topic, View};
use tokio::sync::{broadcast::error::RecvError, watch};

use crate::{
    application::is_given_away,
    door::Door,
    oracle::Offence,
    saboteur::Saboteur,
    sighting::{Sighting, Vantage, is_over},
    stream::Sent,
};

/// What a reader has seen.
#[derive(Clone)]
pub(crate) struct Seen {
    inner: Arc<Mutex<Inner>>,
    vantage: Vantage,
}

#[derive(Default)]
struct Inner {
    view: Option<View>,
    offences: Vec<Offence>,
    frames: u64,
    /// The end of the run, where the page is a run's.
    end: Option<Sighting>,
}

impl Seen {
    /// Nothing yet.
    pub(crate) fn from(vantage: Vantage) -> Self {
        Self { inner: Arc::default(), vantage }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The page as it was folded.
    pub(crate) fn message(&self) -> Option<Message> {
        self.lock().view.as_ref().map(View::snapshot)
    }

    pub(crate) fn offences(&self) -> Vec<Offence> {
        self.lock().offences.clone()
    }

    /// The first page that said that its run is over.
    pub(crate) fn end(&self) -> Option<Sighting> {
        self.lock().end.clone()
    }

    fn revision(&self) -> Option<Revision> {
        self.lock().view.as_ref().map(View::revision)
    }

    /// Takes a frame in.
    fn fold(&self, topic: &Topic, json: &str) {
        let mut inner = self.lock();
        let Inner { view, offences, frames, end } = &mut *inner;
        *frames += 1;
        if is_given_away(json) {
            offences.push(Offence::new("I10", format!("a secret is on page {topic}")));
        }
        let message: Message = match serde_json::from_str(json) {
            Ok(message) => message,
            Err(error) => {
                offences.push(Offence::new("I4", format!("{topic}: no message: {error}")));
                return;
            }
        };
        let view = view.get_or_insert_with(|| View::new(Revision { boot: 0, count: 0 }, []));
        if let Message::Delta { previous, revision, .. } = &message
            && (*previous != view.revision() || *revision != previous.next())
        {
            let has = view.revision();
            let text =
                format!("{topic}: from {previous} to {revision}, and the reader is at {has}");
            offences.push(Offence::new("I4", text));
        }
        if let Err(gap) = view.apply(message) {
            offences.push(Offence::new("I4", format!("{topic}: {gap}")));
        }
        let Topic::Run(run) = topic else { return };
        let records = view.records().values();
        if end.is_none() {
            *end = self.vantage.sight(run.as_str(), records);
        } else if is_over(run.as_str(), records) == Some(false) {
            offences.push(Offence::new("I3", format!("{topic}: was over, and goes on")));
        }
    }
}

/// Reads a topic for as long as there are servers.
pub(crate) async fn read(
    topic: Topic,
    mut hubs: watch::Receiver<Option<HubHandle>>,
    seen: Seen,
    saboteur: Option<Saboteur>,
) {
    let mut misses_one = saboteur == Some(Saboteur::MissedDelta);
    loop {
        let Some(hub) = hubs.borrow_and_update().clone() else {
            if hubs.changed().await.is_err() {
                return;
            }
            continue;
        };
        let Ok(subscribed) = hub.subscribe(topic.clone(), seen.revision()).await else {
            if hubs.changed().await.is_err() {
                return;
            }
            continue;
        };
        let Ok(mut subscription) = subscribed else {
            // Not known yet, or no more.
            tokio::time::sleep(std::time::Duration::from_secs(1)).await;
            continue;
        };
        for frame in &subscription.first {
            seen.fold(&topic, &frame.json);
        }
        loop {
            match subscription.rest.recv().await {
                Ok(_) if std::mem::take(&mut misses_one) => {}
                Ok(frame) => seen.fold(&topic, &frame.json),
                Err(RecvError::Lagged(_)) => break,
                Err(RecvError::Closed) => {
                    if hubs.changed().await.is_err() {
                        return;
                    }
                    break;
                }
            }
        }
    }
}

/// Reads a topic as a browser does, through the router and as server-sent events, for as long as there are servers.
pub(crate) async fn browse(topic: Topic, mut hubs: watch::Receiver<Option<HubHandle>>, seen: Seen) {
    loop {
        let hub = hubs.borrow_and_update().clone();
        let door = match hub {
            Some(hub) => Door::open(hub).await,
            None => Err("there is no server".to_owned()),
        };
        if let Ok(door) = door {
            // A life ends its streams without a word; a stream that ended is opened again after a moment.
            tokio::select! {
                biased;
                changed = hubs.changed() => if changed.is_err() { return } else { continue },
                () = follow(&door, &topic, &seen) => {}
            }
            tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        } else if hubs.changed().await.is_err() {
            return;
        }
    }
}

async fn follow(door: &Door, topic: &Topic, seen: &Seen) {
    let Ok(mut events) = door.follow(topic, seen.revision()).await else { return };
    while let Some(Sent { name, data, .. }) = events.next().await {
        match name.as_str() {
            "snapshot" | "delta" => seen.fold(topic, &data),
            "build" | "ping" => {}
            _ => return,
        }
    }
}

/// What a folded page and a fresh one do not share.
pub(crate) fn differences(folded: Option<&Message>, fresh: &Message) -> String {
    let (Some(Message::Snapshot { records: folded, .. }), Message::Snapshot { records, .. }) =
        (folded, fresh)
    else {
        return "nothing was folded".to_owned();
    };
    let new = records.iter().find(|record| !folded.contains(record));
    let old = folded.iter().find(|record| !records.contains(record));
    format!("there is {new:?}, and was {old:?}")
}
