//! The plan that is checked, and the cluster at that moment.

use std::{collections::HashMap, sync::Arc};

use jiff::Timestamp;

use crate::{
    diagnosis::{Case, Diagnosis},
    graph::Graph,
    index::Index,
    object::{Facts, Object, Phase, Pod, Uid},
    plan::{Disposition, Plan, Step},
};

/// A plan, and the cluster at the moment of the checks.
#[derive(Debug)]
pub(super) struct Subject<'a> {
    pub(super) plan: &'a Plan,
    pub(super) case: Case<'a>,
    pub(super) diagnoses: &'a [Diagnosis],
    steps: HashMap<&'a Uid, &'a Step>,
}

impl<'a> Subject<'a> {
    pub(super) fn new(
        plan: &'a Plan,
        index: &'a Index,
        graph: &'a Graph,
        diagnoses: &'a [Diagnosis],
        now: Timestamp,
    ) -> Self {
        let steps = plan.steps.iter().map(|step| (&step.uid, step)).collect();
        Self { plan, case: Case { index, graph, now }, diagnoses, steps }
    }

    pub(super) fn index(&self) -> &'a Index {
        self.case.index
    }

    /// The steps whose objects exist and go, with the objects.
    pub(super) fn objects(&self) -> impl Iterator<Item = (&'a Step, &'a Arc<Object>)> + use<'a> {
        let index = self.case.index;
        let going = self.plan.steps.iter().filter(|step| step.disposition().is_going());
        going.filter_map(move |step| Some((step, index.get(&step.uid)?)))
    }

    /// The objects that the run deletes by a call of its own.
    pub(super) fn deleted(&self) -> impl Iterator<Item = (&'a Step, &'a Arc<Object>)> + use<'a> {
        self.objects().filter(|(step, _)| step.disposition() == Disposition::Delete)
    }

    /// The objects that go with a namespace of the plan and have no step of their own, each with the step and the object of the
    /// namespace: RoleBindings of people, the account `default`, `kube-root-ca.crt`.
    pub(super) fn contents(
        &self,
    ) -> impl Iterator<Item = (&'a Step, &'a Arc<Object>, &'a Arc<Object>)> + use<'a> {
        let index = self.case.index;
        let namespaces: HashMap<&str, (&Step, &Arc<Object>)> = self
            .deleted()
            .filter(|(_, object)| matches!(object.facts, Facts::Namespace(_)))
            .map(|(step, object)| (&*object.name, (step, object)))
            .collect();
        let all = self.plan.kept.iter().chain(&self.plan.left_to_cluster);
        let along = all.filter(|kept| kept.reason.disposition() == Disposition::GoesAlong);
        along.filter_map(move |kept| {
            let object = index.get(&kept.uid).filter(|it| !index.is_undeletable(&it.kind))?;
            let (step, namespace) = namespaces.get(object.namespace.as_deref()?)?;
            Some((*step, *namespace, object))
        })
    }

    /// The Pods that a kubelet still has to end. One that ran to completion is removed from the API at once
    /// (`pkg/registry/core/pod/strategy.go`, `CheckGracefulDelete`).
    pub(super) fn running_pods(
        &self,
    ) -> impl Iterator<Item = (&'a Arc<Object>, &'a Pod)> + use<'a> {
        self.objects().filter_map(|(_, object)| match &object.facts {
            Facts::Pod(pod) if !pod.phase.is_some_and(Phase::is_over) => Some((object, &**pod)),
            _ => None,
        })
    }

    /// The step of an object, if the plan has one.
    pub(super) fn step_of(&self, uid: &Uid) -> Option<&'a Step> {
        self.steps.get(uid).copied()
    }
}
