//! Sidecars, the init containers that run beside the containers of a Pod: they end after those, one after the other, the last first
//! (pkg/kubelet/kuberuntime/kuberuntime_termination_order.go).
//!
//! Their preStop hooks begin with those of the containers: a sidecar waits with SIGTERM alone, and for no longer than the grace period
//! of the Pod. Once that is over, all that are left get SIGTERM together, and two seconds (`killContainer` in kuberuntime_container.go).

use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use super::hook::{self, Hook};
use super::kill::MIN_GRACE;
use super::{Held, Stop, pod_status};
use crate::controller::queue::later;
use crate::controller::read::list;

/// The part of a Pod's containers that is being ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// The containers. All sidecars run on.
    Containers,
    /// The sidecars from this one to that before the other, in the order of the spec. Those before them run on.
    Sidecars { from: usize, to: usize, containers: Ended },
}

impl Turn {
    /// The containers and sidecars of a Pod that run.
    pub(super) fn running(self, pod: &Value) -> Vec<&Value> {
        let mut sidecars = sidecars(pod);
        match self {
            Self::Containers => list(pod, "/spec/containers").iter().chain(sidecars).collect(),
            Self::Sidecars { to, .. } => {
                sidecars.truncate(to);
                sidecars
            }
        }
    }

    /// The preStop hooks of those that it ends.
    pub(super) fn hooks<'a>(self, pod: &'a Value, address: &str) -> Vec<Hook<'a>> {
        match self {
            Self::Containers => hook::hooks(pod, address),
            Self::Sidecars { from, to, .. } => {
                let sidecars = sidecars(pod);
                let own = sidecars.get(from..to).unwrap_or_default();
                hook::sidecar_hooks(pod, own, address)
            }
        }
    }

    /// The number of sidecars that run on after it.
    pub(super) fn left(self, pod: &Value) -> usize {
        match self {
            Self::Containers => sidecars(pod).len(),
            Self::Sidecars { from, .. } => from,
        }
    }
}

/// The sidecars of a Pod, in the order of its spec.
pub(super) fn sidecars(pod: &Value) -> Vec<&Value> {
    list(pod, "/spec/initContainers").iter().filter(|it| pod_status::is_sidecar(it)).collect()
}

/// The end of a Pod's containers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ended {
    /// Their exit code.
    pub(super) code: i64,
    /// The time by the wall clock.
    pub(super) at: Timestamp,
}

impl Held {
    /// The next turn, now that one is over; `None` if nothing of the Pod runs any more. `grace_end` is the end of the Pod's grace
    /// period.
    pub(super) fn next_turn(
        &self,
        pod: &Value,
        stop: &Stop,
        containers: Ended,
        grace_end: Timestamp,
        now: Timestamp,
    ) -> Option<Stop> {
        let left = stop.turn.left(pod);
        let last = left.checked_sub(1)?;
        let turn = |from| Turn::Sidecars { from, to: left, containers };
        let least = Duration::from_secs(MIN_GRACE.unsigned_abs());
        let time = pod_status::stop_time(pod);
        let grace = grace_end.duration_since(stop.began).unsigned_abs();
        if now >= grace_end {
            let limit = later(grace_end, least);
            let until = later(grace_end, time).min(limit);
            let (limit, turn) = (Some(limit), turn(0));
            let rest = Stop { since: grace_end, until, limit, hooks: grace, turn, ..*stop };
            return (until > now).then_some(rest);
        }
        let turn = turn(last);
        let hooks = turn.hooks(pod, &self.address);
        let times = hooks.iter().map(|hook| hook.time().unwrap_or(grace).min(grace));
        let hooks = times.max().unwrap_or_default();
        let since = later(stop.began, hooks).max(now);
        let limit = Some(grace_end.max(later(since, least)));
        let (until, grace_end) = (later(since, time), Some(grace_end));
        Some(Stop { since, until, limit, grace_end, hooks, turn, ..*stop })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::controller::read::text;

    #[test]
    fn containers_run_until_their_turn_and_the_last_sidecar_ends_first() {
        let pod = json!({"spec": {
            "initContainers": [
                {"name": "mesh", "restartPolicy": "Always"},
                {"name": "setup"},
                {"name": "logs", "restartPolicy": "Always"},
            ],
            "containers": [{"name": "main"}],
        }});
        let running = |turn: Turn| {
            turn.running(&pod)
                .into_iter()
                .map(|it| text(it, "/name").to_owned())
                .collect::<Vec<_>>()
        };
        let containers = Ended { code: 0, at: Timestamp::UNIX_EPOCH };
        let sidecars = |from, to| Turn::Sidecars { from, to, containers };
        assert_eq!(running(Turn::Containers), ["main", "mesh", "logs"]);
        assert_eq!(running(sidecars(1, 2)), ["mesh", "logs"]);
        assert_eq!(running(sidecars(0, 1)), ["mesh"]);
        assert_eq!(
            [Turn::Containers, sidecars(1, 2), sidecars(0, 1)].map(|it| it.left(&pod)),
            [2, 1, 0]
        );
    }
}
