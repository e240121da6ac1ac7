//! Tells a chat or a program when deletions get stuck, and when that is over: once for each root, not for each object.
//!
//! ```text
//! hub ◄─ query of the trouble, every 10 s ─ Notifier ─ Outbox: what is due? ─► file
//!                                              └─ Webhook: one at a time ─► receiver
//! ```
//!
//! # Decisions
//! - Nothing is decided while the API server is away or the cluster has not been read: a root that cannot be seen is not
//!   resolved.
//! - A notification is on disk before it is sent, and leaves the file after it was taken. Only a crash in between sends it
//!   twice, with the same `id` and `at`.
//! - One notification is sent at a time, in order, at most one in a second, as chats demand. After a failure all wait, for
//!   1 s at first and for 5 min at most. After 24 h one is given up, which is logged and counted.
//! - Every page says that notifications do not arrive, after a minute and for a day after one was given up: whoever relies on the
//!   chat may have no Prometheus.

mod format;
mod notification;
mod outbox;
mod webhook;
#[cfg(test)]
mod tests;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use data_encoding::HEXLOWER;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use teardown::{
    diagnosis::Cause,
    message::{DiagnosisCard, Message, Record, Topic},
};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};
use tokio_util::sync::CancellationToken;

pub use self::{
    format::Format,
    webhook::{Address, AddressError},
};
use self::{
    notification::Notification,
    outbox::{Outbox, Present},
    webhook::{Failure, Webhook},
};
use crate::{
    hub::{DeliveryStatus, FailingDelivery, HubClosed, HubHandle},
    metrics::NotifyMetrics,
    private_file,
};

/// The time between two looks at the trouble.
const LOOK: Duration = Duration::from_secs(10);
/// The least time between two deliveries.
const PACE: Duration = Duration::from_secs(1);
/// The first wait after a failure; it doubles with each further one.
const RETRY: Duration = Duration::from_secs(1);
/// The longest wait after a failure.
const MAX_RETRY: Duration = Duration::from_secs(300);
/// The time for which deliveries must fail before every page says so: a receiver that restarts is no news.
const FAILING: SignedDuration = SignedDuration::from_secs(60);
/// The version of the file's format.
const VERSION: u32 = 2;

/// The task that looks at the trouble and notifies the receiver.
pub struct Notifier {
    hub: HubHandle,
    cluster: String,
    webhook: Webhook,
    file: PathBuf,
    outbox: Outbox,
    metrics: NotifyMetrics,
    /// A time, and the instant at which it was.
    clock: (Timestamp, Instant),
    /// Failures in a row.
    failures: u32,
    /// The first of them, and the problem with the last one.
    failing: Option<FailingDelivery>,
    /// The state that the hub was told last.
    told: DeliveryStatus,
    /// The earliest instant of the next delivery.
    next: Instant,
}

/// The content of the file.
#[derive(Serialize, Deserialize)]
struct Kept {
    v: u32,
    outbox: Outbox,
}

impl Notifier {
    /// A notifier of this cluster. It continues with the file that an earlier process left in `state`; each cluster has its
    /// own.
    ///
    /// # Errors
    /// [`AddressError`] if nothing can be sent.
    pub fn open(
        hub: HubHandle,
        cluster: &str,
        address: Address,
        format: Format,
        state: &Path,
        now: Timestamp,
    ) -> Result<Self, AddressError> {
        Ok(Self::over(hub, cluster, Webhook::new(address, format)?, state, now))
    }

    fn over(hub: HubHandle, cluster: &str, webhook: Webhook, state: &Path, now: Timestamp) -> Self {
        let digest = Sha256::digest(cluster.as_bytes());
        let digest = HEXLOWER.encode(&digest[..8]);
        let file = state.join(format!("notifications-{digest}.json"));
        let outbox = load(&file);
        let metrics = NotifyMetrics::default();
        metrics.set_pending(outbox.len());
        let (clock, failures, next) = ((now, Instant::now()), 0, Instant::now());
        let (cluster, failing, told) = (cluster.to_owned(), None, DeliveryStatus::default());
        Self { hub, cluster, webhook, file, outbox, metrics, clock, failures, failing, told, next }
    }

    /// Its counters.
    pub fn metrics(&self) -> NotifyMetrics {
        self.metrics.clone()
    }

    /// Notifies until `drain` is cancelled or the hub is gone. Undelivered notifications stay in the file.
    pub async fn run(mut self, drain: CancellationToken) {
        let ended = drain.cancelled_owned();
        tokio::select! {
            biased;
            () = ended => {}
            () = self.notify() => {}
        }
    }

    async fn notify(&mut self) {
        let mut looks = interval(LOOK);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                _ = looks.tick() => {
                    let Ok(answer) = self.hub.query(Topic::Trouble).await else { return };
                    if let Ok(Message::Snapshot { records, .. }) = answer {
                        self.look(&records);
                    }
                }
                () = sleep_until(self.next), if self.outbox.len() > 0 => self.deliver().await,
            }
            if self.tell().await.is_err() {
                return;
            }
        }
    }

    fn now(&self) -> Timestamp {
        let (time, instant) = self.clock;
        let passed = SignedDuration::try_from(instant.elapsed()).unwrap_or(SignedDuration::MAX);
        time.saturating_add(passed).unwrap_or(Timestamp::MAX)
    }

    /// Looks at the trouble, unless it is not known at the moment.
    fn look(&mut self, records: &[Record]) {
        let sees = records.iter().any(
            |it| matches!(it, Record::Cluster(card) if card.synced && card.unreachable.is_none()),
        );
        let now = self.now();
        self.give_up(now);
        if !sees {
            return;
        }
        let cards = || {
            records.iter().filter_map(|record| match record {
                Record::Diagnosis(card) => Some(card),
                _ => None,
            })
        };
        let mut present = Present::new();
        for card in cards() {
            present.entry(card.diagnosis.root_id()).or_default().extend(&card.diagnosis.held);
        }
        // Somebody has solved it, and the controller only has to look again.
        let is_over =
            |card: &DiagnosisCard| matches!(card.diagnosis.cause, Cause::LooksAgain { .. });
        let stuck = cards()
            .filter(|card| card.diagnosis.stuck && !is_over(card))
            .map(|card| Notification::stuck(card, &self.cluster, now));
        let stuck: Vec<Notification> = stuck.collect();
        if self.outbox.observe(stuck, &present, now) {
            self.save();
        }
        self.metrics.looked(now);
    }

    fn give_up(&mut self, now: Timestamp) {
        let lost = self.outbox.give_up(now);
        let has_forgotten = self.outbox.forget_lost(now);
        for notification in &lost {
            self.lose(notification, "not delivered within 24 hours", now);
        }
        if has_forgotten || !lost.is_empty() {
            self.save();
        }
    }

    /// Tells the hub what a person should see to.
    async fn tell(&mut self) -> Result<(), HubClosed> {
        let now = self.now();
        let is_old = |it: &&FailingDelivery| now.duration_since(it.since) >= FAILING;
        let status = DeliveryStatus {
            failing: self.failing.as_ref().filter(is_old).cloned(),
            waiting: self.outbox.len(),
            lost: self.outbox.lost().cloned().collect(),
        };
        // How many wait is news only for whoever reads that they do not arrive.
        if status.problems() == 0 && self.told.problems() == 0 || status == self.told {
            return Ok(());
        }
        self.hub.note_delivery(status.clone()).await?;
        self.told = status;
        Ok(())
    }

    /// Delivers the next notification.
    async fn deliver(&mut self) {
        let Some(notification) = self.outbox.next() else { return };
        let body = self.webhook.format().body(notification);
        let delivered = self.webhook.deliver(body).await;
        self.metrics.delivered(delivered.is_ok());
        let wait = match delivered {
            Ok(()) => {
                self.failures = 0;
                self.failing = None;
                self.outbox.take();
                self.save();
                PACE
            }
            Err(Failure::Refused(status)) => {
                self.failures = 0;
                self.failing = None;
                if let Some(notification) = self.outbox.take() {
                    let why = format!("the receiver refuses it with status {status}");
                    self.lose(&notification, &why, self.now());
                }
                self.save();
                PACE
            }
            Err(failure) => {
                let wait = RETRY.saturating_mul(1 << self.failures.min(16)).min(MAX_RETRY);
                self.failures = self.failures.saturating_add(1);
                if self.failures == 1 {
                    tracing::warn!(receiver = %self.webhook.address(), reason = %failure, "a notification could not be delivered; it is tried again for 24 hours");
                }
                let since = self.failing.take().map_or_else(|| self.now(), |it| it.since);
                self.failing = Some(FailingDelivery { since, why: failure.to_string() });
                match failure {
                    Failure::Status(_, Some(after)) => wait.max(after.min(MAX_RETRY)),
                    _ => wait,
                }
            }
        };
        self.next = Instant::now() + wait;
    }

    /// Gives a notification up. The name of its root is left out of the log, because it is text of the cluster.
    fn lose(&mut self, notification: &Notification, reason: &str, now: Timestamp) {
        self.outbox.lose(notification, reason, now);
        self.metrics.lost();
        let (cause, event) = (&notification.cause, notification.event.name());
        tracing::error!(receiver = %self.webhook.address(), cause, event, reason, "a notification is lost");
    }

    /// Saves the outbox. A failure does not stop the notifications; only a restart needs the file.
    fn save(&self) {
        self.metrics.set_pending(self.outbox.len());
        let kept = Kept { v: VERSION, outbox: self.outbox.clone() };
        let bytes = serde_json::to_vec(&kept).map_err(std::io::Error::from);
        let saved = bytes.and_then(|bytes| private_file::replace(&self.file, &bytes));
        if let Err(error) = saved {
            tracing::warn!(error = %error, path = ?self.file, "cannot save the notifications; after a restart some are sent again");
        }
    }
}

/// Reads the file. A file that is missing or cannot be used counts as empty, so that what is stuck is reported again.
fn load(path: &Path) -> Outbox {
    let bytes = match private_file::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Outbox::default(),
        Err(error) => {
            tracing::warn!(error = %error, path = ?path, "cannot read the saved notifications");
            return Outbox::default();
        }
    };
    match serde_json::from_slice::<Kept>(&bytes) {
        Ok(kept) if kept.v == VERSION => kept.outbox,
        _ => {
            tracing::warn!(path = ?path, "the saved notifications are damaged or of another version");
            Outbox::default()
        }
    }
}
