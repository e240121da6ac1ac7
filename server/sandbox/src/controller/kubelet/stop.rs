//! The end of a Pod's containers: preStop hooks, SIGTERM, and the tries after a failure (`killContainer` in
//! pkg/kubelet/kuberuntime/kuberuntime_container.go).

use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use super::hook::{self, Hook};
use super::kill::{self, KillFailure, MIN_GRACE};
use super::{Held, Stage, Stop, after, pod_status};
use crate::controller::Next;
use crate::controller::client::Client;
use crate::controller::queue::later;
use crate::controller::read::{number, time};
use crate::controller::timing::UNMOUNT;
use crate::status::Status;

impl Held {
    /// Begins to end a Pod's containers: their preStop hooks, or SIGTERM at once. The hooks run within the grace period, and no
    /// later DELETE cuts them short: `SyncTerminatingPod` has a context of its own.
    pub(super) fn kill(&mut self, pod: &Value, client: &mut Client<'_>) {
        let now = client.steady();
        pod_status::announce(pod, client);
        let grace = number(pod, "/metadata/deletionGracePeriodSeconds").unwrap_or_default().max(1);
        let most = Duration::from_secs(grace.unsigned_abs());
        let hooks = hook::hooks(pod, &self.address);
        for hook in hooks.iter().filter(|hook| hook.fails()) {
            hook.report_failure(pod, &self.node, client);
        }
        let times = hooks.iter().map(|hook| hook.time().unwrap_or(most).min(most));
        match times.max().filter(|time| !time.is_zero()) {
            Some(time) => {
                self.stage = Stage::PreStop { since: now, until: later(now, time), grace };
            }
            None => self.terminate(Some(pod), now, None, Duration::ZERO),
        }
    }

    /// Sends SIGTERM to a Pod's containers.
    pub(super) fn terminate(
        &mut self,
        pod: Option<&Value>,
        since: Timestamp,
        limit: Option<Timestamp>,
        hooks: Duration,
    ) {
        let until = later(since, pod.map_or(pod_status::FORCED_STOP, pod_status::stop_time));
        self.stage = Stage::Stopping(Stop { since, until, limit, hooks });
    }

    pub(super) fn pre_stop(
        &mut self,
        pod: Option<&Value>,
        since: Timestamp,
        until: Timestamp,
        grace: i64,
        client: &mut Client<'_>,
    ) -> Next {
        let now = client.steady();
        if now < until {
            return after(now, until);
        }
        let ran: Duration = until.duration_since(since).try_into().unwrap_or_default();
        for (pod, hook) in self.overrun(pod, ran) {
            hook.log_overrun(pod, grace, &self.node, client);
        }
        // Only whole seconds count.
        let taken = i64::try_from(ran.as_secs()).unwrap_or(i64::MAX);
        let left = grace.saturating_sub(taken).max(MIN_GRACE);
        let limit = later(now, Duration::from_secs(left.unsigned_abs()));
        self.terminate(pod, now, Some(limit), ran);
        Next::Rest
    }

    /// The hooks of a Pod that have not ended after this time.
    fn overrun<'a>(&self, pod: Option<&'a Value>, ran: Duration) -> Vec<(&'a Value, Hook<'a>)> {
        let of =
            |pod: &'a Value| hook::hooks(pod, &self.address).into_iter().map(move |it| (pod, it));
        let all = pod.into_iter().flat_map(of);
        all.filter(|(_, hook)| hook.time().is_none_or(|time| time > ran)).collect()
    }

    pub(super) fn stop(
        &mut self,
        pod: Option<&Value>,
        stop: Stop,
        client: &mut Client<'_>,
    ) -> Result<Next, Status> {
        let now = client.steady();
        // The grace period may have been shortened since.
        let deadline = pod.and_then(|it| time(it, "/metadata/deletionTimestamp"));
        let deadline = stop.limit.or_else(|| deadline.map(|it| client.steady_at(it)));
        let deadline = deadline.unwrap_or(stop.until);
        let until = stop.until.min(deadline.max(now));
        if let Some((pod, failure)) = pod.and_then(|pod| Some((pod, KillFailure::of(pod)?))) {
            let due = failure.due(stop.since, until, deadline);
            if now < due {
                return Ok(after(now, due));
            }
            return self.fail_to_kill(pod, failure, client);
        }
        if now < until {
            return Ok(after(now, until));
        }
        if let Some(pod) = pod {
            let killed =
                number(pod, "/metadata/deletionGracePeriodSeconds").is_some() && deadline <= now;
            pod_status::terminate(
                pod,
                if killed { 137 } else { pod_status::EXIT_CODE },
                &self.address,
                client,
            )?;
        }
        if !stop.hooks.is_zero() {
            for (pod, hook) in self.overrun(pod, stop.hooks) {
                hook.report_cut_off(pod, &self.node, client);
            }
        }
        self.stage = Stage::Unmounting { next: later(now, UNMOUNT), failures: 0 };
        Ok(Next::Rest)
    }

    fn fail_to_kill(
        &mut self,
        pod: &Value,
        failure: KillFailure,
        client: &mut Client<'_>,
    ) -> Result<Next, Status> {
        failure.report(pod, &self.node, client)?;
        self.stage = Stage::Unkilled { next: later(client.steady(), kill::RETRY), failure };
        Ok(Next::Rest)
    }

    /// Tries again to end a Pod whose containers or sandbox could not be ended: at once when the obstacle is gone. Containers that run
    /// get their preStop hooks again.
    pub(super) fn kill_again(
        &mut self,
        pod: Option<&Value>,
        next: Timestamp,
        failure: KillFailure,
        client: &mut Client<'_>,
    ) -> Result<Next, Status> {
        let now = client.steady();
        match pod {
            Some(pod) if KillFailure::of(pod).is_some() && now < next => {
                return Ok(after(now, next));
            }
            Some(pod) if failure != KillFailure::Network => self.kill(pod, client),
            Some(pod) if KillFailure::of(pod) == Some(failure) => {
                return self.fail_to_kill(pod, failure, client);
            }
            _ => self.terminate(pod, now, Some(now), Duration::ZERO),
        }
        Ok(Next::Rest)
    }
}
