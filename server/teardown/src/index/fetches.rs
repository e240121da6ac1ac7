//! The answers to the questions that diagnoses have for the cluster.

use std::{collections::BTreeMap, sync::Arc};

use jiff::{SignedDuration, Timestamp};

use super::Index;
use crate::{
    api_problem::ApiProblem,
    fetched::{Answer, Event, Lease, MANAGER, Permission, Question, Review},
    object::{ConditionStatus, Object},
};

/// The shortest validity of a lease that counts: that of a kubelet's by default (`nodeLeaseDurationSeconds`), which renews it four
/// times in its validity. That of a kube-controller-manager is shorter, and two looks are 20 s apart.
const SHORTEST: SignedDuration = SignedDuration::from_secs(40);
/// The longest one. The API server takes any positive number of seconds, and with years a lease says nothing about its holder.
const LONGEST: SignedDuration = SignedDuration::from_hours(24);

/// The answers that are known, by their questions.
#[derive(Clone, Debug, Default)]
pub(super) struct Fetches {
    answers: BTreeMap<Question, Result<Answer, ApiProblem>>,
    /// The leases by the question that they answer and their names.
    leases: BTreeMap<(Question, Arc<str>), Watched>,
}

/// A lease that is looked at again and again. All times are those of looks, on our clock.
#[derive(Clone, Debug)]
struct Watched {
    renewed: Arc<str>,
    /// The first look that found it as it is.
    since: Timestamp,
    /// The look before the one that found it changed: it was renewed after that.
    moved_after: Option<Timestamp>,
    /// The last look.
    looked: Timestamp,
    /// Its validity; none if it is too long to say anything.
    valid: Option<SignedDuration>,
}

/// The sign of life that a lease gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Renewal {
    /// It is renewed while we watch.
    Renewed,
    /// It has not been renewed for longer than it is valid, while we watched. We saw it change last, or saw it first, then.
    Still(Timestamp),
    /// We have not watched for long enough, or there is no such lease.
    Unknown,
    /// It cannot be read.
    Hidden(ApiProblem),
}

impl Fetches {
    /// Notes an answer, or why there is none.
    pub(super) fn note(
        &mut self,
        question: Question,
        answer: Result<Answer, ApiProblem>,
        now: Timestamp,
    ) {
        if let Ok(Answer::Leases(leases)) = &answer {
            let mut watched = BTreeMap::new();
            for lease in leases {
                let key = (question.clone(), lease.name.clone());
                let before = self.leases.remove(&key);
                watched.insert(key, Watched::after(before, lease, now));
            }
            // A lease that is not in the answer is gone.
            self.leases.retain(|(asked, _), _| *asked != question);
            self.leases.append(&mut watched);
        }
        self.answers.insert(question, answer);
    }

    /// Forgets the answer to a question that is not asked any more: it would grow old unnoticed.
    pub(super) fn forget(&mut self, question: &Question) {
        self.answers.remove(question);
        self.leases.retain(|(asked, _), _| asked != question);
    }

    /// The sign of life of a lease. One that was renewed before its holder fell silent, at `silent`, is none.
    fn renewal(&self, question: Question, name: &str, silent: Option<Timestamp>) -> Renewal {
        if let Some(Err(problem)) = self.answers.get(&question) {
            return Renewal::Hidden(problem.clone());
        }
        let Some(lease) = self.leases.get(&(question, name.into())) else {
            return Renewal::Unknown;
        };
        let unchanged = lease.looked.duration_since(lease.since);
        if lease.valid.is_some_and(|valid| unchanged >= valid) {
            Renewal::Still(lease.since)
        } else if lease.moved_after.is_some_and(|after| silent.is_none_or(|at| after >= at)) {
            Renewal::Renewed
        } else {
            Renewal::Unknown
        }
    }
}

impl Index {
    /// The sign of life that the lease of a node gives.
    pub fn node_renewal(&self, node: &str) -> Renewal {
        // By our clock, as the looks are. If we did not see it fall silent, it was silent before we looked.
        let last = self.transitions().rfind(|it| *it.node.name == *node);
        let silent = last.filter(|it| it.ready.status == ConditionStatus::Unknown).map(|it| it.at);
        self.fetches.renewal(Question::NodeLeases, node, silent)
    }

    /// The time at which we saw the lease of a node change, and whether we did: if it has not changed since we look, it is the
    /// time of the first look. `None` while nobody looks, and as long as one look says nothing.
    pub fn node_last_seen(&self, node: &str) -> Option<(Timestamp, bool)> {
        let lease = self.fetches.leases.get(&(Question::NodeLeases, node.into()))?;
        let has_moved = lease.moved_after.is_some();
        (lease.looked > lease.since || has_moved).then_some((lease.since, has_moved))
    }

    /// The renewal that the lease of a node had last: its time and its holder; none if the lease is not known.
    pub fn node_lease(&self, node: &str) -> Option<&Arc<str>> {
        let lease = self.fetches.leases.get(&(Question::NodeLeases, node.into()))?;
        Some(&lease.renewed)
    }

    /// The sign of life that the lease of the kube-controller-manager gives.
    pub fn manager_renewal(&self) -> Renewal {
        self.fetches.renewal(Question::ManagerLease, MANAGER, None)
    }

    /// Whether the last look found no lease of the kube-controller-manager.
    pub fn has_no_manager_lease(&self) -> bool {
        let answer = self.fetches.answers.get(&Question::ManagerLease);
        matches!(answer, Some(Ok(Answer::Leases(leases))) if leases.is_empty())
    }

    /// The Events about an object, the latest last, or why they cannot be seen; `None` if there is no answer yet.
    pub fn events(&self, object: &Object) -> Option<Result<&[Event], &ApiProblem>> {
        let question = Question::Events { of: object.reference(), uid: object.uid.clone() };
        match self.fetches.answers.get(&question)? {
            Ok(Answer::Events(events)) => Some(Ok(events)),
            Ok(_) => None,
            Err(problem) => Some(Err(problem)),
        }
    }

    /// The number of ready endpoints of a Service; `None` if it is not known.
    pub fn ready_endpoints(&self, namespace: &Arc<str>, name: &Arc<str>) -> Option<usize> {
        let question = Question::Endpoints { namespace: namespace.clone(), name: name.clone() };
        match self.fetches.answers.get(&question) {
            Some(Ok(Answer::Endpoints(ready))) => Some(*ready),
            _ => None,
        }
    }

    /// Whether our credentials have a right, or why that cannot be found out; `None` if there is no answer yet.
    pub fn review(&self, permission: &Permission) -> Option<Result<&Review, &ApiProblem>> {
        match self.fetches.answers.get(&Question::Permission(permission.clone()))? {
            Ok(Answer::Review(review)) => Some(Ok(review)),
            Ok(_) => None,
            Err(problem) => Some(Err(problem)),
        }
    }

    /// All rights that were asked for, each with its answer.
    pub(crate) fn reviews(
        &self,
    ) -> impl Iterator<Item = (&Permission, &Result<Answer, ApiProblem>)> {
        self.fetches.answers.iter().filter_map(|(question, answer)| match question {
            Question::Permission(permission) => Some((permission, answer)),
            _ => None,
        })
    }

    /// The name by which the API server knows our credentials.
    pub fn identity(&self) -> Option<&Arc<str>> {
        match self.fetches.answers.get(&Question::Identity) {
            Some(Ok(Answer::Identity(name))) => Some(name),
            _ => None,
        }
    }
}

impl Watched {
    fn after(before: Option<Self>, lease: &Lease, now: Timestamp) -> Self {
        let moved_after = before.as_ref().map(|before| before.looked);
        let (looked, valid) = (now, validity(lease));
        match before.filter(|before| before.renewed == lease.renewed) {
            Some(before) => Self { looked, valid, ..before },
            None => Self { renewed: lease.renewed.clone(), since: now, moved_after, looked, valid },
        }
    }
}

/// The time for which a lease stands for a holder that lives; none if it is too long to say anything.
fn validity(lease: &Lease) -> Option<SignedDuration> {
    let written = SignedDuration::from_secs(lease.duration.unwrap_or_default());
    (written <= LONGEST).then(|| written.max(SHORTEST))
}
