//! The runs that a remedy halts. A remedy that meets an object other than a person saw it says that the cluster is not the one that
//! was decided about, and a run over the same objects was decided about that cluster too. So it is paused until a person has looked.

use super::attempt::{Attempt, AttemptOutcome};
use crate::{object::ObjectRef, plan::Plan};

impl AttemptOutcome {
    /// The object that changed between the person's decision and the look after the request.
    pub fn changed(&self) -> Option<&ObjectRef> {
        match self {
            Self::Changed { object }
            | Self::Accepted { meanwhile: Some(object) }
            | Self::Unfinished { meanwhile: Some(object), .. }
            | Self::Unknown { meanwhile: Some(object), .. }
            | Self::MadeOther { object } => Some(object),
            Self::Sending
            | Self::NotSent { .. }
            | Self::Interrupted
            | Self::Refused { .. }
            | Self::Accepted { meanwhile: None }
            | Self::Unfinished { meanwhile: None, .. }
            | Self::Unknown { meanwhile: None, .. } => None,
        }
    }

    /// The same outcome with the object that changed, as the look after the request shows it. An outcome without an effect has no such
    /// look, and one that names an object already keeps that.
    #[must_use]
    pub fn with_change(self, meanwhile: Option<ObjectRef>) -> Self {
        match self {
            Self::Accepted { meanwhile: None } => Self::Accepted { meanwhile },
            Self::Unfinished { message, meanwhile: None } => {
                Self::Unfinished { message, meanwhile }
            }
            Self::Unknown { message, meanwhile: None } => Self::Unknown { message, meanwhile },
            other => other,
        }
    }
}

impl Attempt {
    /// Whether a plan deletes the object of this remedy, the object where its cause sits, or the one that changed. An object of a
    /// plan is known by its UID, and one that changed by its name: it may be another object now.
    pub fn concerns(&self, plan: &Plan, changed: &ObjectRef) -> bool {
        plan.steps.iter().any(|step| {
            Some(&step.uid) == self.request.uid.as_ref()
                || step.object == self.root
                || step.object == *changed
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        api_problem::ApiProblem,
        fixture,
        graph::Graph,
        plan::{Choices, plan},
        remedy::{RemedyAct, tests::found},
        unit::{UnitId, units},
    };

    const WORLD: &str = "
        ns shop of=shop
        ns other
        cm shop/settings of=shop
        crd topics.queue.example defines=Topic.queue.example
        Topic.queue.example shop/orders of=shop deleted=400 finalizers=queue.example/topic
        Topic.queue.example other/orders deleted=400 finalizers=queue.example/topic
    ";

    #[test]
    fn remedy_concerns_the_plans_with_its_object_and_with_the_object_that_changed() {
        let index = fixture::index(WORLD);
        let (graph, now) = (Graph::of(&index), fixture::now());
        let units = units(&index, &graph);
        let shop = &units[&UnitId::new("shop")];
        let plan = plan(&index, &graph, shop, &Choices::default(), now).unwrap();
        let concerns = |namespace: &str, changed: &str| {
            let mut all = found(&index).into_iter().flat_map(|(diagnosis, remedies)| {
                remedies.into_iter().map(move |remedy| (diagnosis.clone(), remedy))
            });
            let is_it = |(_, remedy): &(_, crate::remedy::Remedy)| {
                let target = remedy.target.as_ref().and_then(|it| it.namespace.as_deref());
                matches!(remedy.act, RemedyAct::RemoveFinalizer { .. }) && target == Some(namespace)
            };
            let (diagnosis, remedy) = all.find(is_it).expect("a removal");
            let request = remedy.request().unwrap().clone();
            let by = "Li".to_owned();
            let attempt = remedy.begin("1".into(), &diagnosis, request, by, "", now);
            attempt.concerns(&plan, &fixture::object(changed).reference())
        };
        assert!(concerns("shop", "cm lab/elsewhere"), "its object is in the plan");
        assert!(concerns("other", "cm shop/settings"), "what changed is in the plan");
        assert!(!concerns("other", "cm lab/elsewhere"), "nothing of it is in the plan");
    }

    #[test]
    fn only_outcomes_with_a_change_in_between_halt_a_run() {
        let object = || fixture::object("cm shop/a").reference();
        let no = || ApiProblem::from("no");
        for (outcome, halts) in [
            (AttemptOutcome::Changed { object: object() }, true),
            (AttemptOutcome::Accepted { meanwhile: Some(object()) }, true),
            (AttemptOutcome::MadeOther { object: object() }, true),
            (AttemptOutcome::Unfinished { message: no(), meanwhile: Some(object()) }, true),
            (AttemptOutcome::Unknown { message: None, meanwhile: Some(object()) }, true),
            (AttemptOutcome::Accepted { meanwhile: None }, false),
            (AttemptOutcome::Sending, false),
            (AttemptOutcome::Interrupted, false),
            (AttemptOutcome::NotSent { message: no() }, false),
            (AttemptOutcome::Refused { message: no() }, false),
            (AttemptOutcome::Unfinished { message: no(), meanwhile: None }, false),
            (AttemptOutcome::Unknown { message: None, meanwhile: None }, false),
        ] {
            assert_eq!(outcome.changed().is_some(), halts, "{outcome:?}");
            let is_done = matches!(
                outcome,
                AttemptOutcome::Accepted { .. }
                    | AttemptOutcome::Unfinished { .. }
                    | AttemptOutcome::Unknown { .. }
            );
            let looked = outcome.clone().with_change(Some(object()));
            assert_eq!(looked.changed().is_some(), halts || is_done, "{outcome:?}");
            assert_eq!(outcome.clone().with_change(None), outcome);
        }
    }
}
