//! CronJobs: a Job for each time of the schedule, unless suspended or forbidden by one that still runs; finished ones are
//! deleted beyond their history limits: pkg/controller/cronjob/cronjob_controllerv2.go.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::client::{Client, Deletion, EventType};
use super::pods::controllers_of;
use super::queue::Queue;
use super::read::{
    controller_reference, flag, is_deleting, is_true, name, namespace, number, set, text, time,
    uid, written,
};
use super::resource::{CRON_JOBS, JOBS};
use super::schedule::Schedule;
use super::timing::Timing;
use super::{Next, Reconcile};
use crate::cluster::Propagation;
use crate::status::Status;
use crate::store::{Change, Event, Key};

pub(super) struct CronJobs;

impl Reconcile for CronJobs {
    type Work = Key;
    const NAME: &'static str = "cronjob-controller";
    const USER: &'static str = "cronjob-controller";

    fn new(_: &Timing) -> Self {
        Self
    }

    fn observe(&mut self, event: &Event, queue: &mut Queue<Key>) {
        if CRON_JOBS.has(&event.key) && event.change != Change::Deleted {
            queue.add(event.key.clone());
        } else if JOBS.has(&event.key) {
            for key in controllers_of(event, CRON_JOBS) {
                queue.add(key);
            }
        }
    }

    fn reconcile(
        &mut self,
        key: &Key,
        client: &mut Client<'_>,
        _: &mut Queue<Key>,
    ) -> Result<Next, Status> {
        let Some(cron) = client.get(key).filter(|it| !is_deleting(it)) else {
            return Ok(Next::Rest);
        };
        let jobs = client.controlled(JOBS, uid(&cron));
        let (finished, active): (Vec<_>, Vec<_>) =
            jobs.into_iter().partition(|it| is_true(it, "Complete") || is_true(it, "Failed"));
        forget(&cron, finished, client)?;
        let Some(schedule) = Schedule::parse(text(&cron, "/spec/schedule")) else {
            let message = format!("unparseable schedule: {:?}", text(&cron, "/spec/schedule"));
            client.event(&cron, EventType::Warning, "UnparseableSchedule", &message);
            return Ok(Next::Rest);
        };
        let now = client.now();
        let last = time(&cron, "/status/lastScheduleTime")
            .or_else(|| time(&cron, "/metadata/creationTimestamp"));
        // Only the latest of the times that were missed is made up for.
        let mut due = None;
        let mut next = schedule.after(last.unwrap_or(now));
        while let Some(at) = next.filter(|it| *it <= now) {
            due = Some(at);
            next = schedule.after(at);
        }
        let mut changed = Value::clone(&cron);
        let mut running = active;
        let late = |at: jiff::Timestamp| {
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
        let references: Vec<Value> = running
            .iter()
            .map(|it| json!({"apiVersion": "batch/v1", "kind": "Job", "namespace": namespace(it), "name": name(it), "uid": uid(it)}))
            .collect();
        if references.is_empty() {
            super::read::unset(&mut changed, &["status", "active"]);
        } else {
            set(&mut changed, &["status", "active"], Value::Array(references));
        }
        client.update_status(CRON_JOBS, &changed)?;
        let wait = next.map(|it| Duration::try_from(it.duration_since(now)).unwrap_or_default());
        Ok(match wait {
            Some(wait) if !flag(&cron, "/spec/suspend") => Next::After(wait),
            _ => Next::Rest,
        })
    }
}

fn background(job: &Value) -> Deletion {
    Deletion::of(job).propagation(Propagation::Background)
}

fn job_for(cron: &Value, at: jiff::Timestamp) -> Value {
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
