//! A Pod whose end a kubelet still has to bring about.

use std::sync::Arc;

use super::{
    case::Case,
    cause::{Cause, Confidence, Evidence, Verdict},
};
use crate::object::{Container, ContainerState, Deletion, Ending, Facts, Node, Object, Phase, Pod};

/// A Pod that the kubelet is still working on.
pub(super) struct Ended<'a> {
    pub(super) object: &'a Arc<Object>,
    pub(super) pod: &'a Pod,
    pub(super) ending: &'a Ending,
    pub(super) deletion: &'a Deletion,
    pub(super) node: &'a Arc<str>,
}

impl<'a> Ended<'a> {
    pub(super) fn of(object: &'a Arc<Object>) -> Option<Self> {
        let Facts::Pod(pod) = &object.facts else { return None };
        let deletion = object.deletion.as_deref().filter(|deletion| deletion.grace > 0)?;
        let (ending, node) = (pod.ending.as_deref()?, pod.node.as_ref()?);
        Some(Self { object, pod, ending, deletion, node })
    }

    pub(super) fn is_over(&self) -> bool {
        self.pod.phase.is_some_and(Phase::is_over)
    }

    pub(super) fn in_state(&self, state: ContainerState) -> impl Iterator<Item = &'a Container> {
        self.ending.containers.iter().filter(move |container| container.state == state)
    }

    pub(super) fn verdict(&self, cause: Cause) -> Verdict {
        let deadline = Evidence::field(self.object, "metadata.deletionTimestamp", "")
            .since(Some(self.deletion.at));
        Verdict::new(cause, self.object, Confidence::Inferred).with([deadline, self.phase()])
    }

    pub(super) fn phase(&self) -> Evidence {
        let phase = self.pod.phase.map_or("", Phase::name);
        let states = self.ending.containers.iter().map(|container| {
            let state = match container.state {
                ContainerState::Waiting => "waiting",
                ContainerState::Running => "running",
                ContainerState::Terminated => "terminated",
            };
            format!("{} {state}", container.name)
        });
        let states: Vec<String> = states.collect();
        let said = if states.is_empty() {
            phase.to_owned()
        } else {
            format!("{phase}; {}", states.join(", "))
        };
        Evidence::field(self.object, "status", said)
    }
}

/// The Pod's node, if its kubelet reports and the grace period is over. Without condition Ready nobody knows whether it does.
pub(super) fn reporting<'a>(
    case: &Case<'a>,
    pod: &Ended<'_>,
) -> Option<(&'a Arc<Object>, &'a Node)> {
    let is_past = case.now >= pod.deletion.at;
    case.node(pod.node).filter(|(_, node)| is_past && node.ready.is_some() && !node.is_silent())
}
