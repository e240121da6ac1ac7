//! The remedies that persons have Unwind do. Each is in the journal before its request leaves, and its outcome is as soon as it
//! is known.

use std::{collections::BTreeMap, sync::Arc};

use jiff::Timestamp;
use serde_json::Value;
use teardown::{
    api_problem::ApiProblem,
    diagnosis::is_rewritten,
    object::Uid,
    remedy::{
        Attempt, AttemptOutcome, Basis, Confirmation, Premise, RemedyAct, RemedyRefusal,
        switched_off,
    },
    run::Run,
};
use tokio::sync::mpsc;

use super::{
    Answered, HubError, NotKept, Refusal, RemedyCall,
    cluster_state::{ClusterState, Current},
    writer::{Writer, chain},
};
use crate::{
    chance::Chance,
    journal::{AttemptRecord, ClusterId},
};

/// The guards of a request.
struct Guards {
    premises: Vec<Premise>,
    basis: Option<Basis>,
    is_dry_run_safe: bool,
}

/// All attempts of the journal, also those on other clusters.
pub(super) struct Attempts {
    by_id: BTreeMap<String, AttemptRecord>,
    /// The way to the cluster.
    calls: Option<mpsc::Sender<RemedyCall>>,
    /// Whether the server does remedies. What a run suspended it puts back all the same.
    are_allowed: bool,
    /// The attempts that have ended, or were settled, while the journal could not be written.
    unwritten: Vec<AttemptRecord>,
    /// The attempts that cannot be read, by id, each with the reason.
    unreadable: Vec<(String, String)>,
    changed: bool,
}

impl Attempts {
    /// Restores the attempts from the journal. Nobody waits any more for the answer to one that was on its way.
    pub(super) fn open(writer: &mut Writer, now: Timestamp) -> Result<Self, HubError> {
        let mut attempts = Self {
            by_id: BTreeMap::new(),
            calls: None,
            are_allowed: false,
            unwritten: vec![],
            unreadable: vec![],
            changed: false,
        };
        for (id, record) in writer.journal().attempts()? {
            match record {
                Ok(mut record) => {
                    if record.attempt.is_open() {
                        record.attempt.interrupt(now);
                        attempts.unwritten.push(record.clone());
                    }
                    attempts.by_id.insert(id, record);
                }
                Err(error) => {
                    let why = chain(&error);
                    tracing::error!(attempt = id, error = why, "a remedy cannot be read");
                    attempts.unreadable.push((id, why));
                }
            }
        }
        attempts.write_ended(writer, now);
        Ok(attempts)
    }

    /// Writes the attempts that have ended while the journal could not be written.
    pub(super) fn write_ended(&mut self, writer: &mut Writer, now: Timestamp) {
        for record in std::mem::take(&mut self.unwritten) {
            if writer.write(now, |journal| journal.put_attempt(&record)).is_ok() {
                self.by_id.insert(record.attempt.id.clone(), record);
                self.changed = true;
            } else {
                self.unwritten.push(record);
            }
        }
    }

    /// The attempts that ended before this time, except those on other clusters, those whose effect is still there, and those that
    /// sent something away whose end nobody has confirmed.
    pub(super) fn ended_before(&self, time: Timestamp, cluster: &ClusterState) -> Vec<String> {
        let here = self.latest_first(cluster);
        let off = switched_off(here.iter().copied(), cluster.index());
        let is_off = |id: &str| off.iter().any(|(attempt, ..)| attempt.id == id);
        let is_old = |it: &&&Attempt| {
            it.ended.is_some_and(|ended| ended < time)
                && it.unconfirmed.is_empty()
                && !is_off(&it.id)
        };
        here.iter().filter(is_old).map(|attempt| attempt.id.clone()).collect()
    }

    /// Forgets an attempt that the journal does not have any more.
    pub(super) fn forget(&mut self, id: &str) {
        self.by_id.remove(id);
    }

    /// The attempt with this id.
    pub(super) fn get(&self, id: &str) -> Option<&Attempt> {
        self.by_id.get(id).map(|record| &record.attempt)
    }

    /// The attempts that cannot be read, by id, each with the reason.
    pub(super) fn unreadable(&self) -> &[(String, String)] {
        &self.unreadable
    }

    /// Follows what a run suspended. The journal has it as part of the run.
    pub(super) fn follow(&mut self, run: &Run, cluster: &ClusterId) {
        // A PATCH that was refused or recalled has suspended nothing.
        self.by_id.retain(|id, _| !run.is_suspension(id));
        for attempt in run.suspensions() {
            let record = AttemptRecord { attempt, cluster: cluster.clone() };
            self.by_id.insert(record.attempt.id.clone(), record);
        }
    }

    /// Sends requests this way.
    pub(super) fn send_through(&mut self, calls: mpsc::Sender<RemedyCall>) {
        self.calls = Some(calls);
    }

    /// Lets the server do remedies.
    pub(super) fn allow(&mut self) {
        self.are_allowed = true;
    }

    pub(super) fn are_allowed(&self) -> bool {
        self.are_allowed
    }

    /// Whether an attempt has changed since this was last asked.
    pub(super) fn take_changed(&mut self) -> bool {
        std::mem::take(&mut self.changed)
    }

    /// The attempts on this cluster, the latest first.
    pub(super) fn latest_first(&self, cluster: &ClusterState) -> Vec<&Attempt> {
        let id = cluster.id();
        let ours = self.by_id.values().filter(|record| record.cluster.is(&id));
        let mut ours: Vec<&Attempt> = ours.map(|record| &record.attempt).collect();
        ours.sort_by(|a, b| (b.asked, &b.id).cmp(&(a.asked, &a.id)));
        ours
    }

    /// The namespaces that persons had finished by force on this cluster.
    pub(super) fn forced_namespaces(&self, cluster: &ClusterState) -> Vec<Arc<str>> {
        let here = self.latest_first(cluster);
        here.iter().filter_map(|attempt| attempt.forced_namespace()).cloned().collect()
    }

    /// Keeps what after a restart nobody would know: that namespaces which went by force have existed again and then ended in order,
    /// and that the end of an object which went by hand is proven, or that nothing is left behind it.
    pub(super) fn settle(&mut self, cluster: &mut ClusterState, writer: &mut Writer) {
        let index = cluster.index();
        let is_over = |attempt: &Attempt| {
            let forced = attempt.forced_namespace().zip(attempt.request.uid.as_ref());
            forced.is_some_and(|(name, uid)| index.has_ended_in_order_since(name, uid))
        };
        let has_settled = |attempt: &Attempt| index.is_synced() && attempt.has_settled_ends(index);
        let mut settled =
            self.written_where(cluster, |attempt| is_over(attempt) || has_settled(attempt));
        for AttemptRecord { attempt, .. } in &mut settled {
            attempt.settled |= is_over(attempt);
            if has_settled(attempt) {
                attempt.settle_ends(index);
            }
        }
        self.rewrite(settled, cluster, writer);
    }

    /// Keeps that a person answers for the ends of these objects in a run.
    pub(super) fn take_on(
        &mut self,
        objects: &[Uid],
        cluster: &mut ClusterState,
        writer: &mut Writer,
    ) {
        let is_one =
            |attempt: &Attempt| attempt.unconfirmed.iter().any(|end| objects.contains(&end.uid));
        let mut answered = self.written_where(cluster, is_one);
        answered.iter_mut().for_each(|record| record.attempt.forget_ends(objects));
        self.rewrite(answered, cluster, writer);
    }

    /// The attempts on this cluster for which something is so, except those that the journal does not have in their last state.
    fn written_where(
        &self,
        cluster: &ClusterState,
        is_so: impl Fn(&Attempt) -> bool,
    ) -> Vec<AttemptRecord> {
        let id = cluster.id();
        let is_unwritten = |it: &AttemptRecord| {
            self.unwritten.iter().any(|other| other.attempt.id == it.attempt.id)
        };
        let here = self.by_id.values().filter(|record| record.cluster.is(&id));
        here.filter(|record| is_so(&record.attempt) && !is_unwritten(record)).cloned().collect()
    }

    fn rewrite(
        &mut self,
        records: Vec<AttemptRecord>,
        cluster: &mut ClusterState,
        writer: &mut Writer,
    ) {
        if !records.is_empty() {
            self.unwritten.extend(records);
            self.write_ended(writer, cluster.now());
            self.tell_by_hand(cluster);
        }
    }

    /// Begins a remedy that a person has confirmed. The remedies are computed anew, and the hash says whether the person saw
    /// the same one.
    pub(super) fn begin(
        &mut self,
        given: &Confirmation,
        by: String,
        cluster: &mut ClusterState,
        writer: &mut Writer,
        chance: &Chance,
    ) -> Answered<String> {
        if !self.are_allowed {
            return Ok(Err(Refusal::RemediesOff));
        }
        let Some((diagnosis, remedies)) = cluster.ways_out(&given.diagnosis) else {
            return Ok(Err(Refusal::UnknownDiagnosis(given.diagnosis.clone())));
        };
        let shown = remedies.iter().find(|remedy| remedy.hash(&diagnosis) == given.remedy);
        let Some(remedy) = shown else {
            return Ok(Err(Refusal::Remedy(RemedyRefusal::Changed)));
        };
        let request = match remedy.check_confirmed(given) {
            Ok(request) => request.clone(),
            Err(refusal) => return Ok(Err(Refusal::Remedy(refusal))),
        };
        let Some(premises) = remedy.premises(&diagnosis, cluster.index()) else {
            return Ok(Err(Refusal::Remedy(RemedyRefusal::ByHand)));
        };
        let is_dry_run_safe = remedy.is_dry_run_safe(cluster.index());
        let Current { index, diagnoses, .. } = cluster.current();
        let basis = Basis::of(remedy, &diagnosis, &premises, diagnoses, index);
        let (id, now) = (new_id(chance)?, cluster.now());
        let mut attempt = remedy.begin(id, &diagnosis, request, by, &given.statement, now);
        attempt.note_ends(cluster.index());
        if let Some(namespace) = attempt.forces_namespace() {
            cluster.note_forcing(namespace.clone());
        }
        let guards = Guards { premises, basis, is_dry_run_safe };
        let sent = self.send(attempt, guards, cluster, writer);
        self.tell_by_hand(cluster);
        Ok(sent)
    }

    /// Lets the cluster know which objects went by hand through a remedy, or may have.
    pub(super) fn tell_by_hand(&self, cluster: &mut ClusterState) {
        let here = self.latest_first(cluster);
        let objects = here.iter().filter_map(|it| it.removed_finalizer_of()).cloned().collect();
        let ends = here.iter().flat_map(|it| &it.unconfirmed).cloned().collect();
        cluster.set_by_hand(objects, ends);
    }

    /// Begins to take back what an attempt switched off, if the person typed the name of its object.
    pub(super) fn undo(
        &mut self,
        attempt: &str,
        confirm: &str,
        by: String,
        cluster: &ClusterState,
        writer: &mut Writer,
        chance: &Chance,
    ) -> Answered<String> {
        if !self.are_allowed && !self.is_suspension(attempt) {
            return Ok(Err(Refusal::RemediesOff));
        }
        let id = cluster.id();
        let known = self.by_id.get(attempt).filter(|record| record.cluster.is(&id));
        if known.is_some_and(|it| confirm.trim() != &*it.attempt.request.object.name) {
            return Ok(Err(Refusal::Remedy(RemedyRefusal::WrongName)));
        }
        self.put_back(attempt, by, cluster, writer, chance)
    }

    /// The same for a parent that a run suspended, and for nothing else.
    pub(super) fn resume(
        &mut self,
        attempt: &str,
        confirm: &str,
        by: String,
        cluster: &ClusterState,
        writer: &mut Writer,
        chance: &Chance,
    ) -> Answered<String> {
        if !self.is_suspension(attempt) {
            return Ok(Err(Refusal::UnknownAttempt(attempt.to_owned())));
        }
        self.undo(attempt, confirm, by, cluster, writer, chance)
    }

    fn is_suspension(&self, attempt: &str) -> bool {
        let known = self.by_id.get(attempt);
        known.is_some_and(|it| matches!(it.attempt.act, RemedyAct::SuspendParent))
    }

    /// Begins to take back what an attempt switched off.
    pub(super) fn put_back(
        &mut self,
        attempt: &str,
        by: String,
        cluster: &ClusterState,
        writer: &mut Writer,
        chance: &Chance,
    ) -> Answered<String> {
        let id = cluster.id();
        let known = self.by_id.get(attempt).filter(|record| record.cluster.is(&id));
        let Some(AttemptRecord { attempt, .. }) = known else {
            return Ok(Err(Refusal::UnknownAttempt(attempt.to_owned())));
        };
        let Some(undo) = attempt.undo_now(cluster.index()) else {
            return Ok(Err(Refusal::NothingToUndo));
        };
        let premises = attempt.undo_premises(&undo, cluster.index());
        let undoing = attempt.undoing(new_id(chance)?, undo, by, cluster.now());
        let guards = Guards { premises, basis: None, is_dry_run_safe: false };
        Ok(self.send(undoing, guards, cluster, writer))
    }

    /// Keeps an attempt, and then sends its request. One root, and one object, gets one remedy at a time.
    fn send(
        &mut self,
        attempt: Attempt,
        guards: Guards,
        cluster: &ClusterState,
        writer: &mut Writer,
    ) -> Result<String, Refusal> {
        let mut here = self.latest_first(cluster).into_iter();
        let is_same = |other: &&Attempt| {
            other.root == attempt.root || other.request.object == attempt.request.object
        };
        if here.any(|other| other.is_open() && is_same(&other)) {
            return Err(Refusal::Remedy(RemedyRefusal::Busy));
        }
        let calls = self.calls.as_ref().ok_or(Refusal::RemediesOff)?;
        let permit = calls.try_reserve().map_err(|_| Refusal::Remedy(RemedyRefusal::Busy))?;
        let call = RemedyCall {
            attempt: attempt.id.clone(),
            request: attempt.request.clone(),
            premises: guards.premises,
            basis: guards.basis.map(Arc::new),
            is_dry_run_safe: guards.is_dry_run_safe,
            keeps_copy: attempt.keeps_copy() && attempt.undoes.is_none(),
            deletes_at_once: attempt.deletes_at_once(),
        };
        let id = attempt.id.clone();
        let record = AttemptRecord { attempt, cluster: cluster.id() };
        let written = writer.write(cluster.now(), |journal| journal.put_attempt(&record));
        written.map_err(|failing| Refusal::Journal(failing.why))?;
        permit.send(call);
        self.by_id.insert(id.clone(), record);
        self.changed = true;
        Ok(id)
    }

    /// Keeps the copy of the target that an attempt is about to change, or of the object that it made and is about to delete, so
    /// that it can be put back or finished whatever happens next.
    ///
    /// # Errors
    /// [`NotKept`]; then nothing more may be sent.
    pub(super) fn keep_copy(
        &mut self,
        id: &str,
        copy: &Value,
        cluster: &ClusterState,
        writer: &mut Writer,
    ) -> Result<(), NotKept> {
        let known = self.by_id.get_mut(id).filter(|record| record.attempt.is_open());
        let record = known.ok_or(NotKept::Ended)?;
        let mut copied = record.clone();
        if !copied.attempt.keep_copy(copy) {
            return Err(NotKept::OtherObject(copied.attempt.request.object));
        }
        let written = writer.write(cluster.now(), |journal| journal.put_attempt(&copied));
        written.map_err(|failing| NotKept::Journal(ApiProblem::Quoted(failing.why)))?;
        *record = copied;
        Ok(())
    }

    /// Keeps the outcome of an attempt. The attempt stays open until the journal has it.
    pub(super) fn complete(
        &mut self,
        id: &str,
        outcome: AttemptOutcome,
        cluster: &mut ClusterState,
        writer: &mut Writer,
    ) {
        let Some(record) = self.by_id.get(id) else { return };
        if let AttemptOutcome::Refused { message: ApiProblem::Quoted(said) } = &outcome
            && is_rewritten(said)
            && let Some(uid) = record.attempt.request.uid.clone()
        {
            cluster.note_refused_update(uid, said);
        }
        let mut ended = record.clone();
        ended.attempt.end(outcome, cluster.now());
        self.unwritten.push(ended);
        self.write_ended(writer, cluster.now());
        self.tell_by_hand(cluster);
    }
}

fn new_id(chance: &Chance) -> Result<String, HubError> {
    Ok(format!("{:016x}", chance.number()?))
}
