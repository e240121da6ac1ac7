//! Readers of pages: they fold messages as a browser does, over all server instances, and report violations in what
//! they see.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use server::hub::HubHandle;
use teardown::{
    fold::View,
    message::{Key, Message, Record, Revision, Topic},
};
use tokio::sync::{broadcast::error::RecvError, watch};

use crate::{
    application::contains_secret,
    end_page::{EndPage, Observer, is_over},
    http_client::HttpClient,
    mutant::Mutant,
    oracle::Violation,
    stream::Sent,
};

/// A page as a reader has folded it.
#[derive(Clone)]
pub(crate) struct FoldedPage {
    inner: Arc<Mutex<Inner>>,
    observer: Observer,
}

#[derive(Default)]
struct Inner {
    view: Option<View>,
    violations: Vec<Violation>,
    frames: u64,
    /// The first page that said that its run is over, where the page is a run's.
    end: Option<EndPage>,
}

impl FoldedPage {
    /// A page without any message.
    pub(crate) fn from(observer: Observer) -> Self {
        Self { inner: Arc::default(), observer }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The page as it was folded.
    pub(crate) fn view(&self) -> Option<View> {
        self.lock().view.clone()
    }

    pub(crate) fn violations(&self) -> Vec<Violation> {
        self.lock().violations.clone()
    }

    /// The first page that said that its run is over.
    pub(crate) fn end(&self) -> Option<EndPage> {
        self.lock().end.clone()
    }

    fn revision(&self) -> Option<Revision> {
        self.lock().view.as_ref().map(View::revision)
    }

    /// Applies a message.
    fn fold(&self, topic: &Topic, json: &str) {
        let mut inner = self.lock();
        let Inner { view, violations, frames, end } = &mut *inner;
        *frames += 1;
        if contains_secret(json) {
            violations.push(Violation::new("I10", format!("a secret is on page {topic}")));
        }
        let message: Message = match serde_json::from_str(json) {
            Ok(message) => message,
            Err(error) => {
                violations.push(Violation::new("I4", format!("{topic}: no message: {error}")));
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
            violations.push(Violation::new("I4", text));
        }
        if let Err(gap) = view.apply(message) {
            violations.push(Violation::new("I4", format!("{topic}: {gap}")));
        }
        let Topic::Run(run) = topic else { return };
        let records = view.records().values();
        if end.is_none() {
            *end = self.observer.capture(run.as_str(), records);
        } else if is_over(run.as_str(), records) == Some(false) {
            violations.push(Violation::new("I3", format!("{topic}: was over, and goes on")));
        }
    }
}

/// Follows a topic at the hub for as long as there are servers.
pub(crate) async fn read(
    topic: Topic,
    mut hubs: watch::Receiver<Option<HubHandle>>,
    seen: FoldedPage,
    mutant: Option<Mutant>,
) {
    let mut drops_one = mutant == Some(Mutant::MissedDelta);
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
            // The topic does not exist yet, or no longer.
            tokio::time::sleep(std::time::Duration::from_secs(1)).await;
            continue;
        };
        for frame in &subscription.first {
            seen.fold(&topic, &frame.json);
        }
        loop {
            match subscription.rest.recv().await {
                Ok(_) if std::mem::take(&mut drops_one) => {}
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

/// Follows a topic as a browser does, through the router and as server-sent events, for as long as there are servers.
pub(crate) async fn browse(
    topic: Topic,
    mut hubs: watch::Receiver<Option<HubHandle>>,
    seen: FoldedPage,
) {
    loop {
        let hub = hubs.borrow_and_update().clone();
        let client = match hub {
            Some(hub) => HttpClient::open(hub).await,
            None => Err("there is no server".to_owned()),
        };
        if let Ok(client) = client {
            // A killed server ends its streams silently. A stream that ended is opened again after a second.
            tokio::select! {
                biased;
                changed = hubs.changed() => if changed.is_err() { return } else { continue },
                () = follow(&client, &topic, &seen) => {}
            }
            tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        } else if hubs.changed().await.is_err() {
            return;
        }
    }
}

async fn follow(client: &HttpClient, topic: &Topic, seen: &FoldedPage) {
    let Ok(mut events) = client.follow(topic, seen.revision()).await else { return };
    while let Some(Sent { name, data, .. }) = events.next().await {
        match name.as_str() {
            "snapshot" | "delta" => seen.fold(topic, &data),
            "build" | "ping" => {}
            _ => return,
        }
    }
}

/// The first differences between a folded page and a new snapshot.
pub(crate) fn differences(folded: Option<&View>, fresh: &View) -> String {
    let Some(folded) = folded else { return "nothing was folded".to_owned() };
    let (folded, fresh) = (folded.records(), fresh.records());
    let differs = |(key, record): &(&Key, &Record), other: &BTreeMap<Key, Record>| {
        other.get(key) != Some(record)
    };
    let new = fresh.iter().find(|it| differs(it, folded));
    let old = folded.iter().find(|it| differs(it, fresh));
    format!("there is {new:?}, and was {old:?}")
}
