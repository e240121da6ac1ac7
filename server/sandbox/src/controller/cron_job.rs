//! CronJobs: create a Job at each scheduled time, unless they are suspended or their concurrency policy forbids it, and
//! delete finished Jobs beyond the history limits: pkg/controller/cronjob/cronjob_controllerv2.go.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::client::{Client, Deletion, EventType};
use super::pods;
use super::queue::Queue;
use super::read::{
    controller_reference, flag, is_deleting, is_true, list, name, namespace, number, set, text,
    time, uid, written,
};
use super::resource::{CRON_JOBS, JOBS};
use super::timing::Timing;
use super::{Next, Reconcile};
use crate::cluster::Propagation;
use crate::cron::Schedule;
use crate::status::Status;
use crate::store::{Event, Key};

pub(super) struct CronJobs;

impl Reconcile for CronJobs {
    type Work = Key;
    const NAME: &'static str = "cronjob-controller";
    const USER: &'static str = "cronjob-controller";

    fn new(_: &Timing) -> Self {
        Self
    }

    fn observe(&mut self, event: &Event, queue: &mut Queue<Key>) {
        pods::notice(CRON_JOBS, JOBS, event, queue);
    }

    fn reconcile(
        &mut self,
        key: &Key,
        client: &mut Client<'_>,
        _: &mut Queue<Key>,
    ) -> Result<Next, Status> {
        let Some(cron) = client.get(key) else { return Ok(Next::Rest) };
        let jobs = client.controlled(JOBS, uid(&cron));
        let (finished, active): (Vec<_>, Vec<_>) =
            jobs.into_iter().partition(|it| is_true(it, "Complete") || is_true(it, "Failed"));
        let mut changed = Value::clone(&cron);
        observe_finished(&cron, &finished, &mut changed, client);
        if is_deleting(&cron) {
            refer(&mut changed, &active);
            client.update_status(CRON_JOBS, &changed)?;
            return Ok(Next::Rest);
        }
        forget(&cron, finished, client)?;
        let Some(schedule) = Schedule::parse(text(&cron, "/spec/schedule")) else {
            let message = format!("unparseable schedule: {:?}", text(&cron, "/spec/schedule"));
            client.event(&cron, EventType::Warning, "UnparseableSchedule", &message);
            return Ok(Next::Rest);
        };
        let now = client.now();
        let last = time(&cron, "/status/lastScheduleTime")
            .or_else(|| time(&cron, "/metadata/creationTimestamp"));
        let (due, next) = missed(&schedule, last.unwrap_or(now), now);
        let mut running = active;
        let late = |at: Timestamp| {
            number(&cron, "/spec/startingDeadlineSeconds")
                .is_some_and(|it| now.duration_since(at).as_secs() > it)
        };
        if let Some(at) = due.filter(|at| !flag(&cron, "/spec/suspend") && !late(*at)) {
            let policy = text(&cron, "/spec/concurrencyPolicy");
            if policy == "Replace" {
                for job in running.drain(..) {
                    client.delete(&JOBS.key(namespace(&job), name(&job)), &background(&job))?;
                }
            }
            if policy != "Forbid" || running.is_empty() {
                let job = client.create(JOBS, job_for(&cron, at))?;
                let message = format!("Created job {}", name(&job));
                client.event(&cron, EventType::Normal, "SuccessfulCreate", &message);
                running.push(job);
                set(&mut changed, &["status", "lastScheduleTime"], written(at));
            }
        }
        refer(&mut changed, &running);
        client.update_status(CRON_JOBS, &changed)?;
        let wait = next.map(|it| Duration::try_from(it.duration_since(now)).unwrap_or_default());
        Ok(match wait {
            Some(wait) if !flag(&cron, "/spec/suspend") => Next::After(wait),
            _ => Next::Rest,
        })
    }
}

/// Of several missed times only the latest counts. It is searched near now on the assumption that the schedule is about
/// regular, because the first may be long ago (`mostRecentScheduleTime`). Returned with the next time.
fn missed(
    schedule: &Schedule,
    last: Timestamp,
    now: Timestamp,
) -> (Option<Timestamp>, Option<Timestamp>) {
    let first = schedule.after(last);
    let second = first.and_then(|it| schedule.after(it));
    let (Some(first), Some(second)) = (first, second) else {
        return (first.filter(|it| *it <= now), first.filter(|it| *it > now));
    };
    if now < first {
        return (None, Some(first));
    }
    if now < second {
        return (Some(first), Some(second));
    }
    let between = second.duration_since(first).as_secs().max(1);
    let skipped = now.duration_since(first).as_secs() / between - 1;
    let start = first.checked_add(SignedDuration::from_secs(skipped.saturating_mul(between)));
    let mut due = None;
    let mut next = schedule.after(start.unwrap_or(first));
    while let Some(at) = next.filter(|it| *it <= now) {
        due = Some(at);
        next = schedule.after(at);
    }
    (due, next)
}

/// Records finished Jobs: they are no longer active, and the last success is kept.
fn observe_finished(
    cron: &Value,
    finished: &[Arc<Value>],
    changed: &mut Value,
    client: &mut Client<'_>,
) {
    for job in finished {
        if list(cron, "/status/active").iter().any(|it| text(it, "/uid") == uid(job)) {
            let condition = if is_true(job, "Complete") { "Complete" } else { "Failed" };
            let message = format!("Saw completed job: {}, condition: {condition}", name(job));
            client.event(cron, EventType::Normal, "SawCompletedJob", &message);
        }
        let success = time(job, "/status/completionTime").filter(|_| is_true(job, "Complete"));
        if success > time(changed, "/status/lastSuccessfulTime") {
            let success = job["status"]["completionTime"].clone();
            set(changed, &["status", "lastSuccessfulTime"], success);
        }
    }
}

/// Writes the list of active Jobs.
fn refer(cron: &mut Value, jobs: &[Arc<Value>]) {
    let references: Vec<Value> = jobs
        .iter()
        .map(|it| json!({"apiVersion": "batch/v1", "kind": "Job", "namespace": namespace(it), "name": name(it), "uid": uid(it)}))
        .collect();
    if references.is_empty() {
        super::read::unset(cron, &["status", "active"]);
    } else {
        set(cron, &["status", "active"], Value::Array(references));
    }
}

fn background(job: &Value) -> Deletion {
    Deletion::of(job).propagation(Propagation::Background)
}

fn job_for(cron: &Value, at: Timestamp) -> Value {
    let template = &cron["spec"]["jobTemplate"];
    let mut annotations =
        template.pointer("/metadata/annotations").cloned().unwrap_or_else(|| json!({}));
    annotations["batch.kubernetes.io/cronjob-scheduled-timestamp"] = written(at);
    json!({
        "metadata": {
            "name": format!("{}-{}", name(cron), at.as_second() / 60),
            "namespace": namespace(cron),
            "labels": template.pointer("/metadata/labels").cloned().unwrap_or_else(|| json!({})),
            "annotations": annotations,
            "ownerReferences": [controller_reference(cron)],
        },
        "spec": template["spec"],
    })
}

/// Deletes finished Jobs beyond the history limits, oldest first.
fn forget(cron: &Value, finished: Vec<Arc<Value>>, client: &mut Client<'_>) -> Result<(), Status> {
    let (failed, succeeded): (Vec<_>, Vec<_>) =
        finished.into_iter().partition(|it| is_true(it, "Failed"));
    for (mut jobs, pointer, limit) in [
        (succeeded, "/spec/successfulJobsHistoryLimit", 3),
        (failed, "/spec/failedJobsHistoryLimit", 1),
    ] {
        jobs.sort_by_key(|it| time(it, "/status/startTime"));
        let kept = usize::try_from(number(cron, pointer).unwrap_or(limit)).unwrap_or_default();
        for job in &jobs[..jobs.len().saturating_sub(kept)] {
            client.delete(&JOBS.key(namespace(job), name(job)), &background(job))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_latest_missed_time_counts_however_long_ago_the_last_was() {
        for (schedule, last, now, due, next) in [
            ("*/5 * * * *", "21T08:00", "21T08:03", None, "21T08:05"),
            ("*/5 * * * *", "21T08:00", "21T08:06", Some("21T08:05"), "21T08:10"),
            ("*/5 * * * *", "21T08:00", "21T08:59", Some("21T08:55"), "21T09:00"),
            ("0,1 * * * *", "21T08:00", "21T11:30", Some("21T11:01"), "21T12:00"),
            // Kubernetes misses the time of a less regular schedule too.
            ("59 8,9 * * *", "21T08:00", "21T11:30", None, "22T08:59"),
        ] {
            let at = |text: &str| format!("2026-11-{text}:00Z").parse::<Timestamp>().unwrap();
            let found = missed(&Schedule::parse(schedule).unwrap(), at(last), at(now));
            assert_eq!(found, (due.map(at), Some(at(next))), "{schedule}");
        }
        let long_ago = Timestamp::MIN;
        let now = "2026-11-21T08:00:30Z".parse().unwrap();
        let (due, _) = missed(&Schedule::parse("* * * * *").unwrap(), long_ago, now);
        assert_eq!(due, Some("2026-11-21T08:00:00Z".parse().unwrap()));
    }
}
