//! The end of a Pod's containers: preStop hooks, SIGTERM, and the tries after a failure (`killContainer` in
//! pkg/kubelet/kuberuntime/kuberuntime_container.go).

use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use super::hook::{self, Hook};
use super::kill::{self, KillFailure, MIN_GRACE};
use super::pod_status::End;
use super::sidecar::{self, Ended, Turn};
use super::{Held, Stage, Stop, after, pod_status};
use crate::controller::Next;
use crate::controller::client::Client;
use crate::controller::queue::later;
use crate::controller::read::{list, number};
use crate::controller::timing::UNMOUNT;
use crate::status::Status;

impl Stop {
    /// The end of a Pod's containers, with SIGTERM at this time.
    fn of_containers(since: Timestamp, until: Timestamp) -> Self {
        let (limit, grace_end, hooks, turn) = (None, None, Duration::ZERO, Turn::Containers);
        Self { began: since, since, until, limit, grace_end, hooks, turn }
    }

    /// The failure that it meets. The network of a Pod is taken down after its last sidecar.
    fn failure(&self, pod: &Value) -> Option<KillFailure> {
        let is_early = self.turn.left(pod) > 0;
        KillFailure::of(pod).filter(|it| !(is_early && *it == KillFailure::Network))
    }
}

impl Held {
    /// Begins to end a Pod's containers: their preStop hooks, or SIGTERM at once. The hooks and the containers have the grace period
    /// of that moment, and no later DELETE cuts them short: `SyncTerminatingPod` has a context of its own. A kubelet that starts
    /// again begins anew, with the period as it is then.
    pub(super) fn kill(&mut self, pod: &Value, client: &mut Client<'_>) {
        let now = client.steady();
        pod_status::announce(pod, "containers", list(pod, "/spec/containers"), client);
        self.announce_sidecars(pod, client);
        let grace = self.grace(pod);
        let hooks = hook::hooks(pod, &self.address);
        self.report_failures(pod, &hooks, client);
        let most = Duration::from_secs(grace.unsigned_abs());
        let times = hooks.iter().map(|hook| hook.time().unwrap_or(most).min(most));
        match times.max().filter(|time| !time.is_zero()) {
            Some(time) => {
                self.stage = Stage::PreStop { since: now, until: later(now, time), grace };
            }
            None => {
                self.terminate(Some(pod), now);
                if let Stage::Stopping(stop) = &mut self.stage {
                    stop.limit = Some(later(now, most));
                }
            }
        }
    }

    /// Begins to end the sidecars of a Pod whose containers have ended by themselves: `computePodActions` in
    /// pkg/kubelet/kuberuntime/kuberuntime_manager.go. Returns whether it has any.
    pub(super) fn kill_sidecars(&mut self, pod: &Value, client: &mut Client<'_>) -> bool {
        let now = client.steady();
        let grace_end = later(now, Duration::from_secs(self.grace(pod).unsigned_abs()));
        let ended = Ended { code: 0, at: client.now() };
        let containers = Stop::of_containers(now, now);
        let Some(stop) = self.next_turn(pod, &containers, ended, grace_end, now) else {
            return false;
        };
        self.announce_sidecars(pod, client);
        self.stage = Stage::Stopping(stop);
        true
    }

    /// Reports that the end of the sidecars begins, with the hooks of theirs that fail at once.
    fn announce_sidecars(&self, pod: &Value, client: &mut Client<'_>) {
        let sidecars = sidecar::sidecars(pod);
        pod_status::announce(pod, "initContainers", sidecars.iter().copied(), client);
        self.report_failures(pod, &hook::sidecar_hooks(pod, &sidecars, &self.address), client);
    }

    fn report_failures(&self, pod: &Value, hooks: &[Hook<'_>], client: &mut Client<'_>) {
        for hook in hooks.iter().filter(|hook| hook.fails()) {
            hook.report_failure(pod, &self.node, client);
        }
    }

    /// The seconds that a Pod has for its end.
    fn grace(&self, pod: &Value) -> i64 {
        let asked = number(pod, "/metadata/deletionGracePeriodSeconds");
        let asked = asked.or_else(|| number(pod, "/spec/terminationGracePeriodSeconds"));
        let asked = asked.unwrap_or_default();
        self.shutdown.map_or(asked, |most| asked.min(most)).max(1)
    }

    /// Sends SIGTERM to a Pod's containers.
    pub(super) fn terminate(&mut self, pod: Option<&Value>, since: Timestamp) {
        let until = later(since, pod.map_or(pod_status::FORCED_STOP, pod_status::stop_time));
        self.stage = Stage::Stopping(Stop::of_containers(since, until));
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
        for (pod, hook) in self.overrun(pod, Turn::Containers, ran) {
            hook.log_overrun(pod, grace, &self.node, client);
        }
        // Only whole seconds count.
        let taken = i64::try_from(ran.as_secs()).unwrap_or(i64::MAX);
        let left = grace.saturating_sub(taken).max(MIN_GRACE);
        self.terminate(pod, now);
        if let Stage::Stopping(stop) = &mut self.stage {
            stop.began = since;
            stop.limit = Some(later(now, Duration::from_secs(left.unsigned_abs())));
            stop.grace_end = Some(later(since, Duration::from_secs(grace.unsigned_abs())));
            stop.hooks = ran;
        }
        Next::Rest
    }

    /// The hooks of a turn that have not ended after this time.
    fn overrun<'a>(
        &self,
        pod: Option<&'a Value>,
        turn: Turn,
        ran: Duration,
    ) -> Vec<(&'a Value, Hook<'a>)> {
        let of =
            |pod: &'a Value| turn.hooks(pod, &self.address).into_iter().map(move |it| (pod, it));
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
        let is_killed = stop.limit.is_some_and(|it| it <= now);
        let deadline = stop.limit.unwrap_or(stop.until);
        let until = stop.until.min(deadline.max(now));
        if let Some((pod, failure)) = pod.and_then(|pod| Some((pod, stop.failure(pod)?))) {
            let due = failure.due(stop.since, until, deadline);
            if now < due {
                return Ok(after(now, due));
            }
            return self.fail_to_kill(pod, failure, client);
        }
        if now < until {
            return Ok(after(now, until));
        }
        let code = if is_killed { 137 } else { pod_status::EXIT_CODE };
        let (containers, sidecars) = match stop.turn {
            Turn::Containers => (Ended { code, at: client.now() }, pod_status::EXIT_CODE),
            Turn::Sidecars { containers, .. } => (containers, code),
        };
        let grace_end = stop.grace_end.unwrap_or(deadline);
        let next = pod.and_then(|pod| self.next_turn(pod, &stop, containers, grace_end, now));
        if let (Some(pod), None) = (pod, next) {
            self.report_end(pod, containers, sidecars, client)?;
        }
        self.report_cut_off(pod, &stop, client);
        self.stage = match next {
            Some(next) => Stage::Stopping(next),
            None => Stage::Unmounting { next: later(now, UNMOUNT), failures: 0 },
        };
        Ok(Next::Rest)
    }

    /// Reports the hooks that the end of their containers has cut off. Of those of the containers the log has said before that
    /// their time is over.
    fn report_cut_off(&self, pod: Option<&Value>, stop: &Stop, client: &mut Client<'_>) {
        if stop.hooks.is_zero() {
            return;
        }
        for (pod, hook) in self.overrun(pod, stop.turn, stop.hooks) {
            if stop.turn != Turn::Containers {
                hook.log_overrun(pod, self.grace(pod), &self.node, client);
            }
            hook.report_cut_off(pod, &self.node, client);
        }
    }

    /// Reports that all containers have ended, and the sidecars with this code.
    fn report_end(
        &self,
        pod: &Value,
        containers: Ended,
        sidecars: i64,
        client: &mut Client<'_>,
    ) -> Result<(), Status> {
        let Ended { code, at } = containers;
        let end = End { code, at, sidecars, by_shutdown: self.shutdown.is_some() };
        pod_status::terminate(pod, end, &self.address, client)
    }

    /// Reports the end of a Pod whose containers all end now, with this code.
    pub(super) fn report_end_now(
        &self,
        pod: &Value,
        code: i64,
        client: &mut Client<'_>,
    ) -> Result<(), Status> {
        let at = client.now();
        self.report_end(pod, Ended { code, at }, code, client)
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
            _ => {
                // Whatever ran in the sandbox has ended.
                let containers = Ended { code: pod_status::EXIT_CODE, at: client.now() };
                self.terminate(pod, now);
                if let Stage::Stopping(stop) = &mut self.stage {
                    stop.limit = Some(now);
                    stop.turn = Turn::Sidecars { from: 0, to: 0, containers };
                }
            }
        }
        Ok(Next::Rest)
    }
}
