//! Which Pods there are, and whose.

use std::{collections::HashSet, sync::Arc};

use super::{Index, Visibility};
use crate::{
    object::{Facts, Object, OwnerRef, Phase, Uid},
    selector::{Labels, Selector},
    unknown_reason::UnknownReason,
};

/// Pods, and every kind that has a template of them, with the versions under which a whole group may be hidden.
const USERS: [(&str, &str); 8] = [
    ("pods", "v1"),
    ("replicationcontrollers", "v1"),
    ("daemonsets.apps", "apps/v1"),
    ("deployments.apps", "apps/v1"),
    ("replicasets.apps", "apps/v1"),
    ("statefulsets.apps", "apps/v1"),
    ("cronjobs.batch", "batch/v1"),
    ("jobs.batch", "batch/v1"),
];

impl Index {
    /// The Pods that are left of a workload: those whose chain of owners ends at its UID, and those its selector
    /// matches that nothing else controls.
    ///
    /// # Errors
    /// The reason, where Pods cannot be seen.
    pub fn pods_of(
        &self,
        workload: &Uid,
        namespace: Option<&str>,
        selector: Option<&Selector>,
    ) -> Result<Vec<&Arc<Object>>, UnknownReason> {
        self.check_pods_visible(namespace)?;
        Ok(self
            .of_resource("pods")
            .filter(|pod| pod.namespace.as_deref() == namespace)
            .filter(|pod| self.is_pod_of(&pod.owners, &pod.labels, workload, selector))
            .collect())
    }

    /// Whether the Pods of a namespace can be seen.
    ///
    /// # Errors
    /// The reason why not.
    pub fn check_pods_visible(&self, namespace: Option<&str>) -> Result<(), UnknownReason> {
        match self.visibility("pods", namespace) {
            Visibility::Visible => Ok(()),
            Visibility::Hidden(why) => Err(why),
            Visibility::NotListed | Visibility::NotServed => {
                Err(UnknownReason::NotListed { resource: "pods".to_owned() })
            }
        }
    }

    /// The first kind of Pods and of what has a template of them that cannot be seen in a namespace: one of it may mount
    /// what is there.
    pub fn hidden_pod_kind(&self, namespace: &str) -> Option<&'static str> {
        let is_unseen = |(resource, version): &&(&str, &str)| {
            let visibility = self.visibility(resource, Some(namespace));
            self.hidden.contains_key(*version)
                || matches!(visibility, Visibility::Hidden(_) | Visibility::NotListed)
        };
        USERS.iter().find(is_unseen).map(|(resource, _)| *resource)
    }

    /// The Pods of a namespace that have not run to their end, as far as they are known.
    pub fn running_pods(&self, namespace: &str) -> impl Iterator<Item = &Object> {
        let has_ended = |pod: &Object| match &pod.facts {
            Facts::Pod(pod) => pod.phase.is_some_and(Phase::is_over),
            _ => false,
        };
        self.of_resource("pods")
            .filter(move |pod| pod.namespace.as_deref() == Some(namespace) && !has_ended(pod))
            .map(|pod| &**pod)
    }

    /// Whether a Pod with these owners and labels is (left) of this workload.
    pub fn is_pod_of(
        &self,
        owners: &[OwnerRef],
        labels: &Labels,
        workload: &Uid,
        selector: Option<&Selector>,
    ) -> bool {
        if owners.iter().any(|owner| self.descends(&owner.uid, workload)) {
            return true;
        }
        // A CronJob has no selector, and a Job that is gone is remembered by this process only: the Pod of a Job that
        // nobody knows may be any CronJob's.
        let is_unknown = |owner: &OwnerRef| {
            !self.objects.contains(&owner.uid) && !self.tombstones.contains_key(&owner.uid)
        };
        if selector.is_none() && !self.objects.contains(workload) {
            return owners.iter().any(|it| it.controller && &*it.kind == "Job" && is_unknown(it));
        }
        let controlled_by_another =
            owners.iter().any(|owner| owner.controller && self.objects.contains(&owner.uid));
        !controlled_by_another && selector.is_some_and(|selector| selector.matches(labels))
    }

    /// Whether the chain of owners that begins at `from` reaches `ancestor`; graves are part of the chain.
    pub fn descends(&self, from: &Uid, ancestor: &Uid) -> bool {
        let mut is_there = false;
        self.climb(from, |uid| {
            is_there = uid == ancestor;
            !is_there
        });
        is_there
    }

    /// Goes up the chain of owners, from its beginning, for as long as it is told to.
    fn climb(&self, from: &Uid, mut goes_on: impl FnMut(&Uid) -> bool) {
        let mut open = vec![from.clone()];
        let mut seen = HashSet::new();
        while let Some(uid) = open.pop() {
            if !seen.insert(uid.clone()) {
                continue;
            }
            if !goes_on(&uid) {
                return;
            }
            match (self.get(&uid), self.tombstones.get(&uid)) {
                (Some(object), _) => {
                    open.extend(object.owners.iter().map(|owner| owner.uid.clone()))
                }
                (None, Some(owners)) => open.extend(owners.iter().cloned()),
                (None, None) => {}
            }
        }
    }
}
