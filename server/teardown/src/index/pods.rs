//! Finds Pods, and the workloads they belong to.

use std::{collections::HashMap, sync::Arc};

use super::{Index, visibility::Visibility};
use crate::{
    object::{Facts, Object, OwnerRef, Phase, Uid},
    selector::{Labels, Selector},
    unknown_reason::UnknownReason,
};

/// Pods and every kind with a Pod template, each with the version under which its whole group may be hidden.
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

/// The Pods of a namespace by their owners. It answers as [`Index::pods_of`] does, for a reader who asks about many workloads.
#[derive(Clone, Debug)]
pub(crate) struct PodsByOwner<'a> {
    index: &'a Index,
    /// By each owner, direct or not: the Pods whose controllers are there. They belong to no workload by its selector.
    owned: HashMap<&'a Uid, Vec<&'a Arc<Object>>>,
    /// A few: the Pods without a controller.
    others: Vec<&'a Arc<Object>>,
}

impl<'a> PodsByOwner<'a> {
    /// The remaining Pods of a workload of the namespace.
    pub(crate) fn of(
        &self,
        workload: &Uid,
        selector: Option<&Selector>,
    ) -> impl Iterator<Item = &'a Arc<Object>> {
        let belongs = move |pod: &&&Arc<Object>| {
            self.index.is_pod_of(&pod.owners, &pod.labels, workload, selector)
        };
        let owned = self.owned.get(workload).into_iter().flatten();
        owned.chain(self.others.iter().filter(belongs)).copied()
    }
}

impl Index {
    /// The remaining Pods of a workload: those whose chain of owners ends at its UID, and those that its selector
    /// matches and that no other object controls.
    ///
    /// # Errors
    /// The reason why Pods are not visible.
    pub fn pods_of(
        &self,
        workload: &Uid,
        namespace: Option<&str>,
        selector: Option<&Selector>,
    ) -> Result<Vec<&Arc<Object>>, UnknownReason> {
        self.check_pods_visible(namespace)?;
        Ok(self
            .pods_in(namespace.unwrap_or_default())
            .filter(|pod| self.is_pod_of(&pod.owners, &pod.labels, workload, selector))
            .collect())
    }

    /// Checks that the Pods of a namespace are visible.
    ///
    /// # Errors
    /// The reason why they are not visible.
    pub fn check_pods_visible(&self, namespace: Option<&str>) -> Result<(), UnknownReason> {
        match self.visibility("pods", namespace) {
            Visibility::Visible => Ok(()),
            Visibility::Hidden(why) => Err(why),
            Visibility::NotListed | Visibility::NotServed => {
                Err(UnknownReason::NotListed { resource: "pods".to_owned() })
            }
        }
    }

    /// The first kind that is hidden in a namespace, among Pods and the kinds with a Pod template. An object of such a
    /// kind may mount a claim of the namespace.
    pub fn hidden_pod_kind(&self, namespace: &str) -> Option<&'static str> {
        let is_unseen = |(resource, version): &&(&str, &str)| {
            let visibility = self.visibility(resource, Some(namespace));
            self.hidden.contains_key(*version)
                || matches!(visibility, Visibility::Hidden(_) | Visibility::NotListed)
        };
        USERS.iter().find(is_unseen).map(|(resource, _)| *resource)
    }

    /// The known Pods of a namespace that have not run to completion.
    pub fn running_pods(&self, namespace: &str) -> impl Iterator<Item = &Object> {
        let has_ended = |pod: &Object| match &pod.facts {
            Facts::Pod(pod) => pod.phase.is_some_and(Phase::is_over),
            _ => false,
        };
        self.pods_in(namespace).filter(move |pod| !has_ended(pod)).map(|pod| &**pod)
    }

    /// The known Pods of a namespace.
    pub(crate) fn pods_in(&self, namespace: &str) -> impl Iterator<Item = &Arc<Object>> {
        self.workers_in(namespace).filter(|object| matches!(object.facts, Facts::Pod(_)))
    }

    /// Whether a Pod with these owners and labels belongs to this workload, even if the workload is gone.
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
        // A CronJob has no selector, and only this process remembers a Job that is gone. So the Pod of an unknown Job
        // may belong to any CronJob.
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

    /// The Pods of a namespace by all their owners; none if they are not visible.
    pub(crate) fn pods_by_owner(&self, namespace: &str) -> PodsByOwner<'_> {
        let mut pods = PodsByOwner { index: self, owned: HashMap::new(), others: Vec::new() };
        if self.check_pods_visible(Some(namespace)).is_err() {
            return pods;
        }
        for pod in self.pods_in(namespace) {
            let mut controllers = pod.owners.iter().filter(|owner| owner.controller);
            let is_there = |owner: &OwnerRef| self.objects.contains(&owner.uid);
            if controllers.clone().next().is_some() && controllers.all(is_there) {
                for owner in self.owners_above(pod) {
                    pods.owned.entry(owner).or_default().push(pod);
                }
            } else {
                pods.others.push(pod);
            }
        }
        pods
    }

    /// The owners of an object, and theirs. Tombstones are part of the chain.
    fn owners_above<'a>(&'a self, object: &'a Object) -> Vec<&'a Uid> {
        let mut above: Vec<&Uid> = Vec::new();
        let mut next = 0;
        let add = |above: &mut Vec<&'a Uid>, owner: &'a Uid| {
            if !above.contains(&owner) {
                above.push(owner);
            }
        };
        object.owners.iter().for_each(|owner| add(&mut above, &owner.uid));
        while let Some(uid) = above.get(next).copied() {
            next += 1;
            self.owners_of(uid).for_each(|owner| add(&mut above, owner));
        }
        above
    }

    /// Whether the chain of owners that begins at `from` reaches `ancestor`. Tombstones are part of the chain.
    pub fn descends<'a>(&'a self, from: &'a Uid, ancestor: &Uid) -> bool {
        self.descends_from(from, |uid| uid == ancestor)
    }

    /// Whether an object is such a one, or an owner in its chain is, or was one.
    pub(crate) fn descends_from<'a>(
        &'a self,
        from: &'a Uid,
        is_one: impl Fn(&Uid) -> bool,
    ) -> bool {
        // Chains are short, and this is asked for many Pods.
        let mut chain = vec![from];
        let mut next = 0;
        while let Some(uid) = chain.get(next).copied() {
            if is_one(uid) {
                return true;
            }
            next += 1;
            for owner in self.owners_of(uid) {
                if !chain.contains(&owner) {
                    chain.push(owner);
                }
            }
        }
        false
    }

    /// The owners of an object, or those that it had.
    fn owners_of<'a>(&'a self, uid: &Uid) -> impl Iterator<Item = &'a Uid> + use<'a> {
        let object = self.get(uid);
        let tombstone = if object.is_none() { self.tombstones.get(uid) } else { None };
        let now = object.into_iter().flat_map(|object| object.owners.iter());
        let before = tombstone.into_iter().flat_map(|tombstone| &tombstone.owners);
        now.map(|owner| &owner.uid).chain(before)
    }
}
