//! A remedy that a person has Unwind do: the offer that was confirmed, the request, and its outcome. It is a plan of one step
//! with a hash, a journal entry and a confirmation of its own.
//!
//! # Decisions
//! - The hash covers everything that a person reads before the decision: the act, its target, the blast radius, the losses,
//!   the conditions, and who uses the object that waits. If any of it has changed, the confirmation is for another remedy.
//! - A condition that does not hold refuses. One that the API does not show is answered by a person, in words that are kept
//!   (`statement`).
//! - An attempt is never repeated by itself. A request without an answer may have had its effect: it is treated as one that was done,
//!   and a new diagnosis offers what is right then.

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    act::{Holds, NeedCode, Remedy, RemedyAct, Undo, Withheld},
    command::{self, Purpose},
    namespace, node,
    request::{RECREATED, Request, Verb},
    scale_down,
    statement::{LONGEST_STATEMENT, is_about, is_long_enough},
    switched::SwitchedOff,
};
use crate::{
    api_problem::ApiProblem,
    diagnosis::{Cause, Diagnosis, root_of},
    fetched::Permission,
    index::{Index, UnconfirmedEnd},
    object::{Facts, Object, ObjectRef, Reclaim, Uid},
    plan::{Step, digest},
    suspension::{resume, suspend},
};

/// A person's confirmation of a remedy.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Confirmation {
    /// The id of the diagnosis.
    pub diagnosis: String,
    /// The hash of the remedy, as the page showed it.
    pub remedy: String,
    /// The name of the target, as the person typed it.
    pub confirm: String,
    /// The person's word for the conditions that the API does not show: who checked what.
    #[serde(default)]
    pub statement: String,
}

/// The reasons why a remedy is not done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RemedyRefusal {
    /// The diagnosis has no remedy with this hash any more.
    #[error("the remedy is not what was shown")]
    Changed,
    /// Unwind cannot do it: it is not a change of the API.
    #[error("a person has to do it")]
    ByHand,
    /// It is withheld.
    #[error("it is withheld")]
    Withheld(Withheld),
    /// A condition does not hold.
    #[error("a condition does not hold")]
    NeedFails(NeedCode),
    /// Unwind's own identity does not have this right.
    #[error("Unwind may not {0}")]
    MayNot(Permission),
    /// The typed name is not the target's.
    #[error("the typed name is another one")]
    WrongName,
    /// Nobody has answered for the conditions that the API does not show.
    #[error("a statement is missing")]
    NoStatement,
    /// The answer names another machine than the one that has to be off, or none. Has the names of which one is missing.
    #[error("the statement does not name the machine")]
    OtherMachine(Vec<String>),
    /// Another remedy for the same root is on its way.
    #[error("another remedy for the same root is on its way")]
    Busy,
}

/// One attempt. It is kept for as long as the journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Attempt {
    /// Its identity.
    pub id: String,
    /// The attempt that this one takes back.
    pub undoes: Option<String>,
    /// The id of the diagnosis.
    pub diagnosis: String,
    /// The object where the cause sits.
    pub root: ObjectRef,
    /// The objects that waited then, as far as the card listed them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held: Vec<Uid>,
    /// The action.
    pub act: RemedyAct,
    /// The request.
    pub request: Request,
    /// The request that takes it back, once it can be taken back.
    pub undo: Option<Request>,
    /// The person's name.
    pub by: String,
    /// The person's word for what the API does not show.
    pub statement: String,
    /// The time of the confirmation.
    #[serde(with = "crate::millis::required")]
    pub asked: Timestamp,
    /// The time of the answer.
    #[serde(with = "crate::millis::optional")]
    pub ended: Option<Timestamp>,
    /// The outcome.
    pub outcome: AttemptOutcome,
    /// The namespace that it finished by force has existed again since, and has ended in order.
    #[serde(default)]
    pub settled: bool,
    /// The objects that go from the API alone through it and that nobody has answered for. None unless it was, or may have been,
    /// accepted.
    #[serde(default)]
    pub unconfirmed: Vec<UnconfirmedEnd>,
}

/// The outcome of an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum AttemptOutcome {
    /// The request is on its way.
    Sending,
    /// Nothing was done: an object that the remedy depends on is not as it was when the remedy was shown. Either the look before the
    /// request showed that, or the API server refused the request by one of its guards.
    Changed {
        /// The object.
        object: ObjectRef,
    },
    /// Nothing was sent, because the look or the dry run before it failed.
    NotSent {
        /// The problem.
        message: ApiProblem,
    },
    /// Nothing was sent: the server, or the attempt, ended before the request left.
    Interrupted,
    /// The API server refused.
    Refused {
        /// The problem that the server reported.
        message: ApiProblem,
    },
    /// The API server accepted the request. That does not say that the deletion will end.
    Accepted {
        /// An object that the remedy depends on and that changed while the request was on its way.
        meanwhile: Option<ObjectRef>,
    },
    /// The first of two requests was accepted, and the second was not, or its effect is unknown.
    Unfinished {
        /// The problem with the second.
        message: ApiProblem,
        /// An object that the remedy depends on and that changed while the requests were on their way.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        meanwhile: Option<ObjectRef>,
    },
    /// The first of two requests was accepted and made another object than the one that was asked for, so the second was not sent.
    MadeOther {
        /// The object that was asked for.
        object: ObjectRef,
    },
    /// The effect is unknown: no answer, or the server ended before it came.
    Unknown {
        /// The problem, if one is known.
        message: Option<ApiProblem>,
        /// An object that the remedy depends on and that changed while the request was, or may have been, on its way.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        meanwhile: Option<ObjectRef>,
    },
}

/// The users that the card names: a remedy that ends one of them frees the object only if there are no others.
fn users(cause: &Cause) -> &[ObjectRef] {
    match cause {
        Cause::ClaimInUse { pods } | Cause::ClaimHeldByCompletedPods { pods } => pods,
        Cause::InUse { users } => users,
        _ => &[],
    }
}

impl Remedy {
    /// The hash of everything that a person reads before the decision.
    pub fn hash(&self, diagnosis: &Diagnosis) -> String {
        let uid = self.request().and_then(|request| request.uid.as_ref());
        let shown = serde_json::json!([
            diagnosis.id,
            self.act,
            self.harm,
            self.target,
            uid,
            self.needs,
            self.reaches,
            self.loses,
            self.withheld,
            users(&diagnosis.cause),
        ]);
        digest(shown.to_string().as_bytes())
    }

    /// The request that does it; none if a person has to do it.
    pub fn request(&self) -> Option<&Request> {
        self.commands
            .iter()
            .filter(|command| command.purpose == Purpose::Act)
            .find_map(|command| command.request.as_ref())
    }

    /// Whether Unwind could do it now, if a person confirms it.
    ///
    /// # Errors
    /// [`RemedyRefusal`] with the reason.
    pub fn check_offered(&self) -> Result<&Request, RemedyRefusal> {
        if let Some(why) = &self.withheld {
            return Err(RemedyRefusal::Withheld(why.clone()));
        }
        if let Some(need) = self.needs.iter().find(|need| need.holds == Holds::No) {
            return Err(RemedyRefusal::NeedFails(need.code.clone()));
        }
        let request = self.request().ok_or(RemedyRefusal::ByHand)?;
        match self.missing_permission() {
            Some(permission) => Err(RemedyRefusal::MayNot(permission.clone())),
            None => Ok(request),
        }
    }

    /// The request, if the person has confirmed it.
    ///
    /// # Errors
    /// [`RemedyRefusal`] with the reason why nothing may be sent.
    pub fn check_confirmed(&self, given: &Confirmation) -> Result<&Request, RemedyRefusal> {
        let request = self.check_offered()?;
        if given.confirm.trim() != &*request.object.name {
            return Err(RemedyRefusal::WrongName);
        }
        if self.needs_statement() && !is_long_enough(&given.statement) {
            return Err(RemedyRefusal::NoStatement);
        }
        let machine = self.machine();
        if !is_about(&given.statement, &machine) {
            return Err(RemedyRefusal::OtherMachine(machine));
        }
        Ok(request)
    }

    /// Whether the request is dry-run first. A server behind the aggregation layer may ignore `dryRun` and do it for real, so
    /// only kinds are asked of which the index shows that the API server itself stores them.
    pub fn is_dry_run_safe(&self, index: &Index) -> bool {
        let Some(request) = self.request() else { return false };
        if request.object.group.is_empty() {
            return true;
        }
        let Some(target) = request.uid.as_ref().and_then(|uid| index.get(uid)) else {
            return false;
        };
        let kind = &target.kind;
        let name = format!("{}.{}", kind.version, kind.group);
        let serves = index.find("apiregistration.k8s.io", "APIService", None, &name);
        serves
            .is_some_and(|it| matches!(&it.facts, Facts::ApiService(api) if api.service.is_none()))
    }

    /// Begins an attempt. The caller keeps it before the request leaves.
    pub fn begin(
        &self,
        id: String,
        diagnosis: &Diagnosis,
        request: Request,
        by: String,
        statement: &str,
        now: Timestamp,
    ) -> Attempt {
        Attempt {
            id,
            undoes: None,
            diagnosis: diagnosis.id.clone(),
            root: diagnosis.root.clone(),
            held: diagnosis.waiting.iter().map(|held| held.uid.clone()).collect(),
            act: self.act.clone(),
            request,
            undo: known_undo(self),
            by,
            statement: statement.trim().chars().take(LONGEST_STATEMENT).collect(),
            asked: now,
            ended: None,
            outcome: AttemptOutcome::Sending,
            settled: false,
            unconfirmed: Vec::new(),
        }
    }
}

impl Attempt {
    /// The request that takes it back now, if one can.
    pub fn undo_now(&self, index: &Index) -> Option<Request> {
        self.switched_off(index)?;
        match &self.act {
            RemedyAct::OutOfServiceTaint { .. } => {
                node::take_taint_off(index.named(&self.request.object)?)
            }
            // The server may have ended before the answer with the UID came.
            RemedyAct::RecreateNamespace { .. } => {
                command::delete(index.named(&self.request.object)?, &json!({}))?.request
            }
            RemedyAct::ScaleDown { keeps_claims: true, .. } => {
                let set = index.named(&self.request.object)?;
                scale_down::left_to_undo(self.undo.as_ref()?, &set.facts)
            }
            _ => self.undo.clone(),
        }
    }

    /// The suspension of a parent by a run. `None` if no path can hold its name.
    pub(crate) fn suspending(
        id: String,
        step: &Step,
        was: &str,
        by: String,
        asked: Timestamp,
    ) -> Option<Self> {
        let Step { kind, object, uid, .. } = step;
        let path = command::path(kind, object)?;
        let request = |body| Request {
            verb: Verb::JsonPatch,
            path: path.clone(),
            body,
            object: object.clone(),
            uid: Some(uid.clone()),
        };
        Some(Self {
            id,
            undoes: None,
            diagnosis: String::new(),
            root: object.clone(),
            held: Vec::new(),
            act: RemedyAct::SuspendParent,
            request: request(suspend(kind, uid, was)),
            undo: Some(request(resume(kind, uid, was))),
            by,
            statement: String::new(),
            asked,
            ended: None,
            outcome: AttemptOutcome::Sending,
            settled: false,
            unconfirmed: Vec::new(),
        })
    }

    /// Whether the target's copy is kept, because it is needed to put it back.
    pub fn keeps_copy(&self) -> bool {
        matches!(
            self.act,
            RemedyAct::DeleteWebhookConfiguration
                | RemedyAct::DeleteApiService { .. }
                | RemedyAct::StopConversion
        )
    }

    /// Whether the object that its request creates is deleted by a second request at once.
    pub fn deletes_at_once(&self) -> bool {
        self.undoes.is_none() && matches!(self.act, RemedyAct::RecreateNamespace { .. })
    }

    /// An attempt to take this one back.
    pub fn undoing(&self, id: String, undo: Request, by: String, now: Timestamp) -> Self {
        Self {
            id,
            undoes: Some(self.id.clone()),
            request: undo,
            undo: None,
            by,
            statement: String::new(),
            asked: now,
            ended: None,
            outcome: AttemptOutcome::Sending,
            settled: false,
            unconfirmed: Vec::new(),
            ..self.clone()
        }
    }

    /// The namespace that it finished, or may have finished, without its controller, unless that has ended in order since.
    pub fn forced_namespace(&self) -> Option<&Arc<str>> {
        let is_last = self.takes_last_spec_finalizer();
        (is_last && self.may_have_effect() && !self.settled).then_some(&self.request.object.name)
    }

    /// The namespace that goes without its controller if the request is accepted.
    pub fn forces_namespace(&self) -> Option<&Uid> {
        self.request.uid.as_ref().filter(|_| self.takes_last_spec_finalizer())
    }

    fn takes_last_spec_finalizer(&self) -> bool {
        match &self.act {
            RemedyAct::FinalizeNamespace => true,
            RemedyAct::RemoveSpecFinalizer { .. } => {
                let left = self.request.body.pointer("/spec/finalizers").and_then(Value::as_array);
                left.is_none_or(Vec::is_empty)
            }
            _ => false,
        }
    }

    /// The object of which it removed a finalizer, or may have: that such an object is gone says nothing of what the finalizer
    /// guarded. A Pod is judged by what its kubelet reported.
    pub fn removed_finalizer_of(&self) -> Option<&Uid> {
        let Request { object, uid, .. } = &self.request;
        let is_pod = object.group.is_empty() && &*object.kind == "Pod";
        let is_removal = matches!(self.act, RemedyAct::RemoveFinalizer { .. }) && !is_pod;
        uid.as_ref().filter(|_| is_removal && (self.is_open() || self.may_have_effect()))
    }

    /// Whether it was one for the root of this diagnosis, where the cause may have changed since, or for its node, or for an object
    /// that waits: once one cause is gone, the next may have another root.
    pub fn is_about(&self, diagnosis: &Diagnosis) -> bool {
        if self.diagnosis.is_empty() {
            return false;
        }
        let target = &self.request.object;
        let is_of_it =
            |uid: &Uid| self.held.contains(uid) || self.request.uid.as_ref() == Some(uid);
        let is_node = |node: &Arc<str>| &*target.kind == "Node" && target.name == *node;
        root_of(&self.diagnosis) == diagnosis.root_id()
            || *target == diagnosis.root
            || diagnosis.cause.node().is_some_and(is_node)
            || diagnosis.waiting.iter().any(|held| is_of_it(&held.uid))
    }

    /// Whether this object is gone through it, or may be.
    pub fn removes(&self, uid: &Uid) -> bool {
        let is_removal = self.request.verb == Verb::Delete
            || matches!(self.act, RemedyAct::RemoveFinalizer { .. });
        let may_be = self.is_open() || self.may_have_effect();
        is_removal && may_be && self.request.uid.as_ref() == Some(uid)
    }

    /// Whether its request is on its way.
    pub fn is_open(&self) -> bool {
        self.outcome == AttemptOutcome::Sending
    }

    /// Whether the API server accepted it, or may have.
    pub fn may_have_effect(&self) -> bool {
        matches!(
            self.outcome,
            AttemptOutcome::Accepted { .. }
                | AttemptOutcome::Unfinished { .. }
                | AttemptOutcome::MadeOther { .. }
                | AttemptOutcome::Unknown { .. }
        )
    }

    /// Keeps the target as it was read in the moment before its request, or the object that the first of two requests made.
    /// Returns whether the copy is one of the target: if it is not, nothing could put the target back, or finish it.
    #[must_use]
    pub fn keep_copy(&mut self, copy: &Value) -> bool {
        self.undo = match &self.act {
            RemedyAct::StopConversion => namespace::conversion_again(&self.request, copy),
            RemedyAct::RecreateNamespace { .. } => self.request.deleting(copy),
            _ => self.request.create_again(copy),
        };
        self.undo.is_some()
    }

    /// Ends it.
    pub fn end(&mut self, outcome: AttemptOutcome, now: Timestamp) {
        self.outcome = outcome;
        self.ended = Some(now);
        if !self.may_have_effect() {
            self.undo = None;
            self.unconfirmed.clear();
        }
    }

    /// Ends it after a restart: nobody waits for the answer any more. A request that needs a copy of its target leaves only once the
    /// copy is kept, so without one nothing was sent.
    pub fn interrupt(&mut self, now: Timestamp) {
        if self.is_open() {
            let lacks_copy = self.keeps_copy() && self.undoes.is_none() && self.undo.is_none();
            let unknown = AttemptOutcome::Unknown { message: None, meanwhile: None };
            self.end(if lacks_copy { AttemptOutcome::Interrupted } else { unknown }, now);
        }
    }

    /// The thing that it switched off and that is still off, by the index.
    pub fn switched_off(&self, index: &Index) -> Option<SwitchedOff> {
        if !self.may_have_effect() || self.undoes.is_some() {
            return None;
        }
        // An object of the same name with another UID is not the one that was changed.
        let named = index.named(&self.request.object);
        let target = named.filter(|it| Some(&it.uid) == self.request.uid.as_ref());
        let (what, is_off) = match &self.act {
            RemedyAct::OutOfServiceTaint { .. } => {
                let is_tainted = target.is_some_and(|it| match &it.facts {
                    Facts::Node(node) => node.is_out_of_service(),
                    _ => false,
                });
                (SwitchedOff::Node, is_tainted)
            }
            RemedyAct::IgnoreWebhook { webhook } => {
                let is_ignored = target.is_some_and(|it| match &it.facts {
                    Facts::Webhooks(webhooks) => {
                        let mut of_it =
                            webhooks.guards.iter().filter(|guard| guard.webhook == *webhook);
                        of_it.any(|guard| !guard.fails_closed)
                    }
                    _ => false,
                });
                (SwitchedOff::Webhook, is_ignored)
            }
            RemedyAct::StopConversion => {
                let is_off = target.is_some_and(
                    |it| matches!(&it.facts, Facts::Definition(definition) if !definition.is_converted),
                );
                (SwitchedOff::Conversion, is_off)
            }
            RemedyAct::RecreateNamespace { .. } => {
                let is_left = named.is_some_and(|it| {
                    let mark = it.labels.get(RECREATED).map(|it| &**it);
                    let made = self.request.mark().and_then(Value::as_str);
                    it.deletion.is_none() && mark.is_some() && mark == made
                });
                (SwitchedOff::Namespace, is_left)
            }
            RemedyAct::DeleteWebhookConfiguration => (SwitchedOff::Configuration, named.is_none()),
            RemedyAct::DeleteApiService { .. } => (SwitchedOff::Api, named.is_none()),
            RemedyAct::SuspendParent => {
                let is_suspended = target.is_some_and(
                    |it| matches!(&it.facts, Facts::Parent(parent) if parent.active.is_none()),
                );
                (SwitchedOff::Parent, is_suspended)
            }
            RemedyAct::ScaleDown { keeps_claims, .. } => {
                return scale_down::switched_off(&target?.facts, *keeps_claims);
            }
            RemedyAct::RetainVolume { .. } => {
                (SwitchedOff::Reclaim, target.is_some_and(|it| may_be_set_back(it, index)))
            }
            _ => return None,
        };
        is_off.then_some(what)
    }
}

/// Whether a volume that is set to keep its data may have its policy back: its claim is there, and nobody deletes it. The data of
/// a volume whose claim has gone, or is going, would be destroyed by that; there the policy has done what it is for.
fn may_be_set_back(volume: &Object, index: &Index) -> bool {
    let Facts::Volume(facts) = &volume.facts else { return false };
    let Some(claim) = &facts.claim else { return false };
    let found = index.find("", "PersistentVolumeClaim", Some(&claim.namespace), &claim.name);
    facts.reclaim == Reclaim::Retain && found.is_some_and(|it| {
        let is_bound =
            matches!(&it.facts, Facts::Claim(it) if it.volume.as_deref() == Some(&*volume.name));
        is_bound && it.deletion.is_none() && claim.uid.as_ref().is_none_or(|uid| *uid == it.uid)
    })
}

/// The attempts that switched something off which is still off, each thing once.
pub fn switched_off<'a>(
    latest_first: impl IntoIterator<Item = &'a Attempt>,
    index: &Index,
) -> Vec<(&'a Attempt, SwitchedOff)> {
    let mut found: Vec<(&Attempt, SwitchedOff)> = Vec::new();
    for attempt in latest_first {
        let Some(what) = attempt.switched_off(index) else { continue };
        let is_same = |(known, it): &(&Attempt, SwitchedOff)| {
            *it == what && known.request.object == attempt.request.object
        };
        if !found.iter().any(is_same) {
            found.push((attempt, what));
        }
    }
    found
}

/// The request that takes a remedy back, where it is known before the remedy is done.
fn known_undo(remedy: &Remedy) -> Option<Request> {
    remedy.undo.filter(|undo| *undo != Undo::TakeAnnotationOff)?;
    let undo = remedy.commands.iter().find(|command| command.purpose == Purpose::Undo)?;
    undo.request.clone()
}

#[cfg(test)]
mod tests;
