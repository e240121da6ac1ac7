//! A preflight of one plan, from the checks over the index to the last answer of the API server.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::{
    answer::{Answer, merged},
    card::CheckState,
    manager::ManagerWatch,
    note::{Note, NoteCode, Severity, Unasked},
    question::{Question, QuestionId, questions},
};
use crate::{
    index::Index,
    object::ObjectRef,
    plan::{Plan, StepId},
};

/// The most notes that are shown.
const NOTES: usize = 100;
/// The most objects that a shown note names.
const NAMED: usize = 10;

/// A preflight of one plan.
#[derive(Clone, Debug)]
pub struct Preflight {
    of_index: Vec<Note>,
    questions: Vec<Question>,
    /// The objects that are over the limit.
    over: Vec<ObjectRef>,
    answers: BTreeMap<QuestionId, Answer>,
    /// Set once no more answers come: the reason why some are missing, if any are.
    ended: Option<Option<Unasked>>,
    manager: ManagerWatch,
    at: Timestamp,
}

/// A preflight as it is shown, bounded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PreflightView {
    /// Its state.
    pub state: CheckState,
    /// The number of objects about which the API server has answered everything.
    pub checked: usize,
    /// The number of objects about which it is asked.
    pub total: usize,
    /// Whether nothing but a word about the kube-controller-manager is still to come.
    pub awaits_manager: bool,
    /// The time of the last answer; none before the first preflight.
    pub at: Option<Timestamp>,
    /// The notes, the worst first, at most 100, each with at most 10 of its objects.
    pub notes: Vec<Note>,
    /// The number of notes that are left off.
    pub more: usize,
    /// The number of all notes of the severity [`Severity::Refusal`].
    pub refusals: usize,
}

impl Preflight {
    /// A preflight with these notes about the index, and with the questions about the plan.
    pub(super) fn new(
        of_index: Vec<Note>,
        manager: ManagerWatch,
        plan: &Plan,
        index: &Index,
        now: Timestamp,
    ) -> Self {
        let (questions, over) = questions(plan, index);
        let ended = questions.is_empty().then_some(None);
        Self { of_index, questions, over, answers: BTreeMap::new(), ended, manager, at: now }
    }

    /// The questions for the API server, in the order in which they are asked.
    pub fn questions(&self) -> &[Question] {
        &self.questions
    }

    /// Whether answers are still to come.
    pub fn is_asking(&self) -> bool {
        self.ended.is_none()
    }

    /// Whether answers are still to come, or a word about the kube-controller-manager.
    pub fn is_running(&self) -> bool {
        self.is_asking() || self.manager.is_open()
    }

    /// Looks at what is known of the kube-controller-manager by now.
    pub fn look_at_manager(&mut self, index: &Index, now: Timestamp) {
        if self.manager.look(index, now) {
            self.at = now;
        }
    }

    /// Nobody looks at the lease of the kube-controller-manager, so no word about it comes.
    pub fn leave_manager(&mut self) {
        self.manager.give_up();
    }

    /// Takes the answer to a question.
    pub fn answer(&mut self, question: QuestionId, answer: Answer, now: Timestamp) {
        if self.is_asking() && self.questions.iter().any(|it| it.id == question) {
            self.answers.insert(question, answer);
            self.at = now;
        }
    }

    /// No more answers come. `why` is the reason for those that are missing.
    pub fn end(&mut self, why: Option<Unasked>, now: Timestamp) {
        if self.is_asking() {
            self.ended = Some(why);
            self.at = now;
        }
    }

    /// The preflight as it is shown.
    pub fn view(&self) -> PreflightView {
        let unanswered = |it: &&Question| !self.answers.contains_key(&it.id);
        let mut notes = merged(&self.of_index, &self.questions, &self.answers);
        self.manager.add_to(&mut notes);
        let not_asked = |why| NoteCode::NotAsked { why };
        for object in &self.over {
            notes.add(Severity::Info, not_asked(Unasked::Limit), object.clone());
        }
        if let Some(Some(why)) = self.ended {
            for question in self.questions.iter().filter(unanswered) {
                notes.add_once(Severity::Info, not_asked(why), question.object.clone());
            }
        }
        let steps = |asked: &mut dyn Iterator<Item = &Question>| -> usize {
            asked.map(|it| it.id.step).collect::<BTreeSet<StepId>>().len()
        };
        let total = steps(&mut self.questions.iter());
        let open = steps(&mut self.questions.iter().filter(unanswered));
        let mut notes = notes.into_list();
        let refusals = notes.iter().filter(|note| note.severity == Severity::Refusal).count();
        let more = notes.len().saturating_sub(NOTES);
        notes.truncate(NOTES);
        notes.iter_mut().for_each(|note| note.objects.truncate(NAMED));
        PreflightView {
            state: if self.is_running() { CheckState::Running } else { CheckState::Done },
            checked: total - open,
            total,
            awaits_manager: self.manager.is_open() && !self.is_asking(),
            at: Some(self.at),
            notes,
            more,
            refusals,
        }
    }
}
