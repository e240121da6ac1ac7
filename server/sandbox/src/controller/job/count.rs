//! The counts of a Job's Pods. Each Pod is counted once, even if the controller crashes in between: its UID is in the
//! status before its finalizer is removed, and it is in a number after: `trackJobStatusAndRemoveFinalizers`.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::super::client::Client;
use super::super::queue::later;
use super::super::read::{has_finalizer, is_deleting, list, number, phase, set, small, uid, unset};
use super::super::resource::JOBS;
use super::{Outcome, TRACKING, only_when_failed, release};
use crate::status::Status;

/// The first and the longest wait after failed Pods: `DefaultJobPodFailureBackOff`, `MaxJobPodFailureBackOff`.
const FIRST_WAIT: Duration = Duration::from_secs(10);
const LAST_WAIT: Duration = Duration::from_secs(600);

/// The Pods of a Job that have ended.
pub(super) struct PodCount {
    pub(super) succeeded: i64,
    pub(super) failed: i64,
    /// The succeeded and failed Pods that were not counted before.
    succeeded_now: i64,
    failed_now: i64,
}

impl PodCount {
    pub(super) fn of(job: &Value, pods: &[Arc<Value>]) -> Self {
        let new = |is: &dyn Fn(&Value) -> bool| {
            let found = pods.iter().filter(|it| has_finalizer(it, TRACKING) && !is_noted(job, it));
            i64::try_from(found.filter(|it| is(it)).count()).unwrap_or_default()
        };
        let succeeded_now = new(&|it| phase(it) == "Succeeded");
        let failed_now = new(&|it| has_failed(it, job));
        let before = |member: &str| {
            let noted = list(&job["status"]["uncountedTerminatedPods"], &format!("/{member}"));
            small(number(&job["status"], &format!("/{member}")).unwrap_or_default())
                .saturating_add(i64::try_from(noted.len()).unwrap_or_default())
        };
        Self {
            succeeded: before("succeeded") + succeeded_now,
            failed: before("failed") + failed_now,
            succeeded_now,
            failed_now,
        }
    }
}

/// Whether a Pod counts as failed. A terminating Pod counts at once, because it may never report its end, unless the
/// Job waits for the end of its Pods (`isPodFailed`).
fn has_failed(pod: &Value, job: &Value) -> bool {
    phase(pod) == "Failed"
        || !only_when_failed(job) && is_deleting(pod) && phase(pod) != "Succeeded"
}

/// Whether a Pod is among those that are being counted.
fn is_noted(job: &Value, pod: &Value) -> bool {
    ["/succeeded", "/failed"].iter().any(|member| {
        list(&job["status"]["uncountedTerminatedPods"], member).iter().any(|it| it == uid(pod))
    })
}

/// Writes a count, which is absent if it is zero.
pub(super) fn count(job: &mut Value, member: &str, count: i64) {
    if count > 0 {
        set(job, &["status", member], json!(count));
    } else {
        unset(job, &["status", member]);
    }
}

/// Stores a Job's status and removes the finalizer of the Pods that are counted in it. Returns the stored Job. No Pod
/// is held of a Job that has ended or is being deleted.
pub(super) fn settle(
    mut job: Value,
    pods: &[Arc<Value>],
    outcome: Option<&Outcome>,
    client: &mut Client<'_>,
) -> Result<Value, Status> {
    let held = |it: &&Arc<Value>| has_finalizer(it, TRACKING);
    let is_held = |pod: &Value| pods.iter().filter(held).any(|it| uid(it) == pod);
    let mut noted = ["succeeded", "failed"].map(|member| {
        list(&job["status"]["uncountedTerminatedPods"], &format!("/{member}")).to_vec()
    });
    promote(&mut job, &mut noted, is_held);
    let mut released = Vec::new();
    for pod in pods.iter().filter(held) {
        let failed = has_failed(pod, &job);
        let succeeded = phase(pod) == "Succeeded";
        if !(failed || succeeded || outcome.is_some() || is_deleting(&job)) {
            continue;
        }
        released.push(pod);
        if noted.iter().flatten().any(|it| it == uid(pod)) {
            continue;
        }
        if succeeded {
            noted[0].push(json!(uid(pod)));
        } else if failed || outcome.is_some_and(|it| !it.succeeded) {
            noted[1].push(json!(uid(pod)));
        }
    }
    note(&mut job, &noted);
    let mut job = Value::clone(&*client.update_status(JOBS, &job)?);
    for pod in released {
        release(pod, client)?;
    }
    promote(&mut job, &mut noted, |_| false);
    note(&mut job, &noted);
    client.update_status(JOBS, &job).map(|it| Value::clone(&it))
}

/// Moves the UIDs of released Pods into the counts.
fn promote(job: &mut Value, noted: &mut [Vec<Value>; 2], is_held: impl Fn(&Value) -> bool) {
    for (member, uids) in ["succeeded", "failed"].into_iter().zip(noted) {
        let all = uids.len();
        uids.retain(&is_held);
        let before = small(number(&job["status"], &format!("/{member}")).unwrap_or_default());
        let done = i64::try_from(all - uids.len()).unwrap_or_default();
        count(job, member, before.saturating_add(done));
    }
}

fn note(job: &mut Value, [succeeded, failed]: &[Vec<Value>; 2]) {
    let mut pods = json!({});
    for (member, uids) in [("succeeded", succeeded), ("failed", failed)] {
        if !uids.is_empty() {
            pods[member] = json!(uids);
        }
    }
    set(job, &["status", "uncountedTerminatedPods"], pods);
}

/// The number of failures of Pods since one succeeded, which delays the next Pod.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    failures: u32,
    last: Option<Timestamp>,
}

impl Backoff {
    pub(super) fn note(&mut self, count: &PodCount, now: Timestamp) {
        if count.succeeded_now > 0 {
            *self = Self::default();
        }
        if count.failed_now > 0 {
            let more = u32::try_from(count.failed_now).unwrap_or(u32::MAX);
            self.failures = self.failures.saturating_add(more);
            self.last = Some(now);
        }
    }

    /// The time until there may be another Pod.
    pub(super) fn remaining(&self, now: Timestamp) -> Duration {
        let Some(last) = self.last else { return Duration::ZERO };
        let doublings = self.failures.saturating_sub(1).min(16);
        let due = later(last, FIRST_WAIT.saturating_mul(1 << doublings).min(LAST_WAIT));
        Duration::try_from(due.duration_since(now)).unwrap_or_default()
    }
}
