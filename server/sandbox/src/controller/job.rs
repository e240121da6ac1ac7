//! Jobs: Pods that run to completion, each with a finalizer until it is counted: pkg/controller/job. Also the orphan
//! Pods of that controller, and the time to live of finished Jobs (ttlafterfinished).

mod count;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::client::{Client, Deletion, EventType};
use super::pods;
use super::queue::{Queue, later};
use super::read::{
    condition, controlled_by, ended, flag, has_finalizer, is_deleting, is_true, name, namespace,
    number, remove_finalizer, set, set_condition, small, text, time, uid, written,
};
use super::resource::{JOBS, PODS};
use super::timing::Timing;
use super::{Next, Reconcile};
use crate::cluster::Propagation;
use crate::status::Status;
use crate::store::{Change, Event, Key};
use count::{Backoff, PodCount};

const TRACKING: &str = "batch.kubernetes.io/job-tracking";

#[derive(Default)]
pub(super) struct Jobs {
    /// The backoff of each Job, by its UID.
    backoffs: BTreeMap<String, Backoff>,
}

/// A Job, or a Pod that has lost its Job.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Work {
    Job(Key),
    Orphan(Key),
}

impl Reconcile for Jobs {
    type Work = Work;
    const NAME: &'static str = "job-controller";
    const USER: &'static str = "job-controller";

    fn new(_: &Timing) -> Self {
        Self::default()
    }

    fn observe(&mut self, event: &Event, queue: &mut Queue<Work>) {
        if JOBS.has(&event.key) && event.change != Change::Deleted {
            queue.add(Work::Job(event.key.clone()));
        } else if PODS.has(&event.key) {
            for key in pods::controllers_of(event, JOBS) {
                queue.add(Work::Job(key));
            }
            if event.change != Change::Deleted && has_finalizer(&event.object, TRACKING) {
                queue.add(Work::Orphan(event.key.clone()));
            }
        } else if JOBS.has(&event.key) {
            self.backoffs.remove(uid(&event.object));
            queue.add(Work::Job(event.key.clone()));
        }
    }

    fn reconcile(
        &mut self,
        work: &Work,
        client: &mut Client<'_>,
        queue: &mut Queue<Work>,
    ) -> Result<Next, Status> {
        match work {
            Work::Orphan(key) => {
                let Some(pod) = client.get(key).filter(|it| has_finalizer(it, TRACKING)) else {
                    return Ok(Next::Rest);
                };
                // A Pod that another kind controls is not for this controller.
                let job = match super::read::controller(&pod) {
                    Some(owner) if text(owner, "/kind") != JOBS.kind => {
                        return Ok(Next::Rest);
                    }
                    Some(owner) => client.find(JOBS, namespace(&pod), text(owner, "/name")),
                    None => None,
                };
                let counted = job
                    .as_deref()
                    .is_none_or(|it| !controlled_by(&pod, uid(it)) || is_finished(it));
                if counted {
                    release(&pod, client)?;
                }
                Ok(Next::Rest)
            }
            Work::Job(key) => match client.get(key) {
                Some(job) => self.sync(key, &job, client),
                None => {
                    let pods = client.list(PODS, Some(&key.namespace));
                    for pod in pods.iter().filter(|it| has_finalizer(it, TRACKING)) {
                        queue.add(Work::Orphan(PODS.key(namespace(pod), name(pod))));
                    }
                    Ok(Next::Rest)
                }
            },
        }
    }
}

fn is_finished(job: &Value) -> bool {
    is_true(job, "Complete") || is_true(job, "Failed")
}

/// Removes the tracking finalizer from a Pod.
fn release(pod: &Value, client: &mut Client<'_>) -> Result<(), Status> {
    let key = PODS.key(namespace(pod), name(pod));
    match client.modify(&key, |it| {
        remove_finalizer(it, TRACKING);
    }) {
        Err(status) if !status.is_not_found() => Err(status),
        _ => Ok(()),
    }
}

/// The end of a Job: an interim condition, and the final one when none of its Pods is left.
struct Outcome {
    succeeded: bool,
    reason: String,
    message: String,
}

impl Outcome {
    fn of(reason: &str, message: &str) -> Self {
        let succeeded = reason == "CompletionsReached";
        Self { succeeded, reason: reason.to_owned(), message: message.to_owned() }
    }

    /// The decision of an earlier reconciliation.
    fn decided(job: &Value) -> Option<Self> {
        let interim = ["SuccessCriteriaMet", "FailureTarget"];
        let found = interim.into_iter().find(|it| is_true(job, it))?;
        let condition = condition(job, found);
        Some(Self {
            succeeded: found == "SuccessCriteriaMet",
            reason: text(condition, "/reason").to_owned(),
            message: text(condition, "/message").to_owned(),
        })
    }

    fn write(&self, condition: &str, job: &mut Value, client: &Client<'_>) {
        set_condition(job, condition, "True", &self.reason, &self.message, client.now());
    }
}

impl Jobs {
    fn sync(&mut self, key: &Key, job: &Value, client: &mut Client<'_>) -> Result<Next, Status> {
        if !["", "kubernetes.io/job-controller"].contains(&text(job, "/spec/managedBy")) {
            return Ok(Next::Rest);
        }
        if is_finished(job) {
            self.backoffs.remove(uid(job));
            return expire(key, job, client);
        }
        let now = client.now();
        let pods = client.controlled(PODS, uid(job));
        let count = PodCount::of(job, &pods);
        let backoff = self.backoffs.entry(uid(job).to_owned()).or_default();
        backoff.note(&count, now);
        let suspended = flag(job, "/spec/suspend");
        let mut changed = job.clone();
        if !suspended && job.pointer("/status/startTime").is_none() {
            set(&mut changed, &["status", "startTime"], written(now));
        }
        let mut next = Next::Rest;
        let mut outcome = Outcome::decided(job);
        let limit = small(number(job, "/spec/backoffLimit").unwrap_or(6));
        if outcome.is_none() && count.failed > limit {
            let message = "Job has reached the specified backoff limit";
            outcome = Some(Outcome::of("BackoffLimitExceeded", message));
        } else if outcome.is_none() && !suspended {
            match remaining(&changed, now) {
                Some(wait) if wait.is_zero() => {
                    let message = "Job was active longer than specified deadline";
                    outcome = Some(Outcome::of("DeadlineExceeded", message));
                }
                Some(wait) => next = Next::After(wait),
                None => {}
            }
        }
        let mut crew: Vec<_> = pods.iter().filter(|it| super::read::active(it)).cloned().collect();
        let mut terminating = pods.iter().filter(|it| is_deleting(it) && !ended(it)).count();
        let mut refused = Ok(());
        let mut made = 0;
        if outcome.is_some() {
            terminating += dismiss(job, &mut crew, 0, client)?;
        } else {
            if !is_deleting(job) {
                let wanted = wanted(job, count.succeeded, crew.len());
                let gone = dismiss(job, &mut crew, wanted, client)?;
                terminating += gone;
                let leaving = if only_when_failed(job) { terminating } else { 0 };
                let missing = wanted.saturating_sub(crew.len() + leaving);
                let wait = backoff.remaining(now);
                if gone == 0 && missing > 0 && !wait.is_zero() {
                    next = next.or_after(wait);
                } else if gone == 0 {
                    for _ in 0..missing.min(pods::BURST) {
                        refused = pods::create(job, pod_for(job), client);
                        if refused.is_err() {
                            break;
                        }
                        made += 1;
                    }
                }
            }
            if is_complete(job, count.succeeded, crew.len() + made) {
                let message = "Reached expected number of succeeded pods";
                outcome = Some(Outcome::of("CompletionsReached", message));
            } else if !is_deleting(job) {
                suspend(job, &mut changed, client);
            }
        }
        let ready = crew.iter().filter(|it| pods::is_ready(it)).count();
        count::count(&mut changed, "active", i64::try_from(crew.len() + made).unwrap_or_default());
        set(&mut changed, &["status", "ready"], json!(ready));
        set(&mut changed, &["status", "terminating"], json!(terminating));
        if let Some(outcome) = &outcome {
            let interim = if outcome.succeeded { "SuccessCriteriaMet" } else { "FailureTarget" };
            outcome.write(interim, &mut changed, client);
        }
        let counted = count::settle(changed, &pods, outcome.as_ref(), client)?;
        if let Some(outcome) = outcome.filter(|_| terminating == 0) {
            finish(counted, &outcome, client)?;
        }
        refused.map(|()| next)
    }
}

/// Writes the final condition of a Job without Pods (`enactJobFinished`).
fn finish(mut job: Value, outcome: &Outcome, client: &mut Client<'_>) -> Result<(), Status> {
    outcome.write(if outcome.succeeded { "Complete" } else { "Failed" }, &mut job, client);
    if outcome.succeeded {
        set(&mut job, &["status", "completionTime"], written(client.now()));
    }
    client.update_status(JOBS, &job)?;
    if outcome.succeeded {
        client.event(&job, EventType::Normal, "Completed", "Job completed");
    } else {
        client.event(&job, EventType::Warning, &outcome.reason, &outcome.message);
    }
    Ok(())
}

/// The time that a Job may still be active, if it has a deadline.
fn remaining(job: &Value, now: Timestamp) -> Option<Duration> {
    let seconds = u64::try_from(number(job, "/spec/activeDeadlineSeconds")?).ok()?;
    let due = later(time(job, "/status/startTime")?, Duration::from_secs(seconds));
    Some(Duration::try_from(due.duration_since(now)).unwrap_or_default())
}

/// The number of Pods that a Job should have (`manageJob`).
fn wanted(job: &Value, succeeded: i64, active: usize) -> usize {
    let parallelism = small(number(job, "/spec/parallelism").unwrap_or(1));
    let wanted = match number(job, "/spec/completions").map(small) {
        _ if flag(job, "/spec/suspend") => 0,
        Some(completions) => (completions - succeeded).min(parallelism),
        None if succeeded > 0 => return active,
        None => parallelism,
    };
    usize::try_from(wanted).unwrap_or_default()
}

fn is_complete(job: &Value, succeeded: i64, active: usize) -> bool {
    let enough = match number(job, "/spec/completions").map(small) {
        Some(wanted) => succeeded >= wanted,
        None => succeeded > 0,
    };
    enough && active == 0
}

/// Whether a Pod is replaced only once it has ended (`onlyReplaceFailedPods`).
fn only_when_failed(job: &Value) -> bool {
    text(job, "/spec/podReplacementPolicy") == "Failed"
        || job.pointer("/spec/podFailurePolicy").is_some()
}

/// Deletes the surplus Pods. Returns their number.
fn dismiss(
    job: &Value,
    crew: &mut Vec<Arc<Value>>,
    wanted: usize,
    client: &mut Client<'_>,
) -> Result<usize, Status> {
    let extra = crew.len().saturating_sub(wanted);
    crew.sort_by_cached_key(|it| pods::rank(it));
    for pod in crew.drain(..extra) {
        pods::delete(job, &pod, client)?;
    }
    Ok(extra)
}

/// Records whether a Job is suspended. A Job that never was has no such condition.
fn suspend(job: &Value, changed: &mut Value, client: &mut Client<'_>) {
    let now = client.now();
    if flag(job, "/spec/suspend") {
        if set_condition(changed, "Suspended", "True", "JobSuspended", "Job suspended", now) {
            client.event(job, EventType::Normal, "Suspended", "Job suspended");
            super::read::unset(changed, &["status", "startTime"]);
        }
    } else if !condition(job, "Suspended").is_null()
        && set_condition(changed, "Suspended", "False", "JobResumed", "Job resumed", now)
    {
        client.event(job, EventType::Normal, "Resumed", "Job resumed");
        set(changed, &["status", "startTime"], written(now));
    }
}

fn pod_for(job: &Value) -> Value {
    let mut pod = pods::from_template(job, &job["spec"]["template"]);
    for (key, value) in [
        ("batch.kubernetes.io/controller-uid", uid(job)),
        ("batch.kubernetes.io/job-name", name(job)),
        ("controller-uid", uid(job)),
        ("job-name", name(job)),
    ] {
        set(&mut pod, &["metadata", "labels", key], json!(value));
    }
    set(&mut pod, &["metadata", "finalizers"], json!([TRACKING]));
    pod
}

/// Deletes a finished Job when `ttlSecondsAfterFinished` has passed.
fn expire(key: &Key, job: &Value, client: &mut Client<'_>) -> Result<Next, Status> {
    let Some(seconds) =
        number(job, "/spec/ttlSecondsAfterFinished").and_then(|it| u64::try_from(it).ok())
    else {
        return Ok(Next::Rest);
    };
    let finished = ["Complete", "Failed"]
        .into_iter()
        .find(|it| is_true(job, it))
        .and_then(|it| time(super::read::condition(job, it), "/lastTransitionTime"));
    let (Some(finished), false) = (finished, is_deleting(job)) else { return Ok(Next::Rest) };
    let due = later(finished, Duration::from_secs(seconds));
    if due <= client.now() {
        client.delete(key, &Deletion::of(job).propagation(Propagation::Foreground))?;
        return Ok(Next::Rest);
    }
    let wait = due.duration_since(client.now());
    Ok(Next::After(Duration::try_from(wait).unwrap_or_default()))
}
