//! Jobs: Pods that run to their end, each held by a finalizer until it is counted: pkg/controller/job. Also what that
//! controller does for Pods whose Job is gone, and what ttlafterfinished does for Jobs that are done.

use std::time::Duration;

use serde_json::{Value, json};

use super::client::{Client, Deletion, EventType};
use super::pods;
use super::queue::{Queue, later};
use super::read::{
    controlled_by, ended, flag, has_finalizer, is_deleting, is_true, name, namespace, number,
    phase, remove_finalizer, set, set_condition, small, time, uid, written,
};
use super::resource::{JOBS, PODS};
use super::timing::Timing;
use super::{Next, Reconcile};
use crate::cluster::Propagation;
use crate::status::Status;
use crate::store::{Change, Event, Key};

const TRACKING: &str = "batch.kubernetes.io/job-tracking";

pub(super) struct Jobs;

/// A Job, or a Pod that once had one.
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
        Self
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
                // One that another kind controls is not this controller's: deletion.md, P16.
                let job = match super::read::controller(&pod) {
                    Some(owner) if super::read::text(owner, "/kind") != JOBS.kind => {
                        return Ok(Next::Rest);
                    }
                    Some(owner) => {
                        client.find(JOBS, namespace(&pod), super::read::text(owner, "/name"))
                    }
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
                Some(job) => sync(key, &job, client),
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

/// Takes the tracking finalizer off a Pod.
fn release(pod: &Value, client: &mut Client<'_>) -> Result<(), Status> {
    let key = PODS.key(namespace(pod), name(pod));
    match client.modify(&key, |it| {
        remove_finalizer(it, TRACKING);
    }) {
        Err(status) if !status.is_not_found() => Err(status),
        _ => Ok(()),
    }
}

fn sync(key: &Key, job: &Value, client: &mut Client<'_>) -> Result<Next, Status> {
    if is_finished(job) {
        return expire(key, job, client);
    }
    if is_deleting(job) {
        // Nobody counts any more: `canRemoveFinalizer`.
        for pod in client.controlled(PODS, uid(job)).iter().filter(|it| has_finalizer(it, TRACKING)) {
            release(pod, client)?;
        }
    }
    let owned = client.controlled(PODS, uid(job));
    let count = |pointer: &str, default: i64| small(number(job, pointer).unwrap_or(default));
    let (mut succeeded, mut failed) = (count("/status/succeeded", 0), count("/status/failed", 0));
    let uncounted: Vec<_> =
        owned.iter().filter(|it| has_finalizer(it, TRACKING) && ended(it)).collect();
    for pod in &uncounted {
        match phase(pod) {
            "Succeeded" => succeeded += 1,
            _ => failed += 1,
        }
    }
    let running: Vec<_> = owned.iter().filter(|it| super::read::active(it)).collect();
    let terminating = owned.iter().filter(|it| is_deleting(it) && !ended(it)).count();
    let ready = running.iter().filter(|it| pods::is_ready(it)).count();
    let parallelism = count("/spec/parallelism", 1);
    let completions = number(job, "/spec/completions").map(small);
    let limit = count("/spec/backoffLimit", 6);
    let suspended = flag(job, "/spec/suspend");
    let complete = match completions {
        Some(wanted) => succeeded >= wanted,
        None => succeeded > 0 && running.is_empty(),
    };
    let too_many = failed > limit;
    let mut active = running.len();
    let mut refused = Ok(());
    if !is_deleting(job) {
        if complete || too_many || suspended {
            for pod in &running {
                pods::delete(job, pod, client)?;
                active -= 1;
            }
        } else {
            let left =
                completions.map_or(parallelism, |wanted| (wanted - succeeded).min(parallelism));
            let room = usize::try_from(left)
                .unwrap_or_default()
                .saturating_sub(running.len() + terminating);
            for _ in 0..room {
                refused = pods::create(job, pod_for(job), client);
                if refused.is_err() {
                    break;
                }
                active += 1;
            }
        }
    }
    let mut changed = job.clone();
    let now = client.now();
    for (member, count) in [
        ("succeeded", succeeded),
        ("failed", failed),
        ("active", i64::try_from(active).unwrap_or_default()),
    ] {
        if count > 0 {
            set(&mut changed, &["status", member], json!(count));
        } else {
            super::read::unset(&mut changed, &["status", member]);
        }
    }
    set(&mut changed, &["status", "ready"], json!(ready));
    set(&mut changed, &["status", "terminating"], json!(terminating));
    set(&mut changed, &["status", "uncountedTerminatedPods"], json!({}));
    if !suspended && job.pointer("/status/startTime").is_none() {
        set(&mut changed, &["status", "startTime"], written(now));
    }
    if complete && active == 0 {
        for condition in ["SuccessCriteriaMet", "Complete"] {
            let message = "Reached expected number of succeeded pods";
            set_condition(&mut changed, condition, "True", "CompletionsReached", message, now);
        }
        set(&mut changed, &["status", "completionTime"], written(now));
    } else if too_many && active == 0 {
        for condition in ["FailureTarget", "Failed"] {
            let message = "Job has reached the specified backoff limit";
            set_condition(&mut changed, condition, "True", "BackoffLimitExceeded", message, now);
        }
    }
    let written = client.update_status(JOBS, &changed)?;
    for pod in uncounted {
        release(pod, client)?;
    }
    if is_finished(&written) {
        let (severity, reason, message) = if complete {
            (EventType::Normal, "Completed", "Job completed")
        } else {
            (
                EventType::Warning,
                "BackoffLimitExceeded",
                "Job has reached the specified backoff limit",
            )
        };
        client.event(job, severity, reason, message);
        for pod in owned.iter().filter(|it| has_finalizer(it, TRACKING)) {
            release(pod, client)?;
        }
    }
    refused.map(|()| Next::Rest)
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
