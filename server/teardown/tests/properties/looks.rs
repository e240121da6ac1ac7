//! Whatever happens to a cluster, to the calls of a run and to the run itself: a look that concerns a few steps decides the same as
//! one at all steps, by a run that was replayed, the run is woken at the same times, and a page of which few cards are made again
//! is the same as a new one.

use std::{collections::BTreeSet, sync::Arc};

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use teardown::{
    action::{Action, Outcome},
    fixture::{self, kind, now},
    graph::Graph,
    index::Index,
    object::{Object, Uid},
    observation::{AwayCause, HiddenCause, Observation},
    plan::{Choices, Plan, StepId, plan},
    run::{Decision, Input, Run, RunCommand, RunEvent, RunId},
    unit::{UnitId, units},
    world::{RunPage, World},
};

const FLUX: &str =
    "kustomize.toolkit.fluxcd.io/name:web,kustomize.toolkit.fluxcd.io/namespace:shop";
const APPLICATION: &str = "Application.argoproj.io shop/all";

/// Every object with its states. The first is the one when the plan is made; none there if it is empty.
fn objects() -> Vec<Vec<String>> {
    let kustomization = "Kustomization.kustomize.toolkit.fluxcd.io shop/web of=shop";
    let web = "of=shop labels=app:web owner=rs/web-1 uses=config:settings,claim:data,account:web";
    let pod = |state: &str| format!("pod shop/web-1-a {web} node=n1 {state}");
    let lines: [&[&str]; 24] = [
        &["ns shop of=shop", "ns shop of=shop deleted=5", "ns shop of=bank"],
        &["node n1", "node n1 ready=no"],
        &[
            kustomization,
            &format!("{kustomization} state=suspended"),
            &format!("{kustomization} state=suspended,applying"),
        ],
        &[
            "crd kustomizations.kustomize.toolkit.fluxcd.io defines=Kustomization.kustomize.toolkit.fluxcd.io",
        ],
        &[
            &format!("cm shop/settings of=shop labels={FLUX}"),
            "cm shop/settings of=shop",
            "cm shop/settings uid=again",
        ],
        &[
            "cm shop/free of=shop",
            "cm shop/free of=bank",
            "cm shop/free of=shop deleted=40 finalizers=a/b",
            "cm shop/free uid=b",
        ],
        &[
            "deploy shop/web of=shop selector=app:web template=app:web uses=config:settings,claim:data,account:web",
            "deploy shop/web of=shop selector=app:web template=app:web deleted=3",
        ],
        &[
            "rs shop/web-1 owner=deploy/web selector=app:web template=app:web",
            "rs shop/web-1 selector=app:web template=app:web",
        ],
        &[
            &pod(""),
            &pod("ready=no"),
            &pod("deleted=9 grace=30 phase=Succeeded"),
            &pod("deleted=90 containers=c:running"),
            "pod shop/web-1-a labels=app:web of=shop node=n1 uid=c",
        ],
        &[
            "pod shop/web-1-b owner=rs/web-1 labels=app:web uses=config:settings node=n1",
            "pod shop/web-1-b labels=app:other",
        ],
        &[
            "",
            "pod shop/late uses=config:free,claim:data,account:web age=0",
            "pod shop/late phase=Succeeded age=0",
        ],
        &["", "ing shop/late routes=web age=0", "ing shop/late routes=other age=0"],
        &[
            "",
            "secret shop/late age=0",
            "secret shop/late owner=deploy/web age=0",
            "secret shop/late of=bank age=0",
        ],
        &[
            "pvc shop/data of=shop volume=pv-1 finalizers=kubernetes.io/pvc-protection",
            "pvc shop/data of=shop volume=pv-1 deleted=70",
        ],
        &[
            "pv pv-1 claim=shop/data reclaim=Delete",
            "pv pv-1 claim=shop/data reclaim=Delete deleted=70",
            "pv pv-1 claim=shop/data reclaim=Retain",
        ],
        &["", "attachment a volume=pv-1 node=n1", "attachment a volume=pv-2 node=n1"],
        &["svc shop/web of=shop selector=app:web", "svc shop/web of=shop deleted=10"],
        &["sa shop/web of=shop", "sa shop/web of=shop uid=d", "sa shop/web uid=e"],
        &[
            "Topic.example.com shop/t of=shop finalizers=example.com/topic",
            "Topic.example.com shop/t of=shop deleted=200 finalizers=example.com/topic",
        ],
        &["crd topics.example.com defines=Topic.example.com of=shop"],
        &["", "Topic.example.com bank/late"],
        &[
            "",
            "webhook gate service=bank/gate guards=configmaps",
            "webhook gate service=bank/other",
        ],
        &["", "role shop/late of=shop", "role shop/late"],
        &[
            "",
            APPLICATION,
            &format!("{APPLICATION} manages=cm/shop/free"),
            &format!("{APPLICATION} state=suspended"),
        ],
    ];
    lines.iter().map(|states| states.iter().map(ToString::to_string).collect()).collect()
}

#[derive(Clone, Debug)]
enum Operation {
    /// An object comes or changes, or goes if it is not there in this state.
    Apply(usize, usize),
    /// An object goes.
    Delete(usize, usize),
    /// The kind of an object is listed as it is.
    List(usize),
    /// The kind of an object is hidden, or visible again.
    Hide(usize, bool),
    /// The kind of an object is watched in the namespace `shop` alone.
    Narrow(usize),
    /// An object loses a finalizer by hand.
    ByHand(usize),
    /// A remedy sent an object away from the API alone, or nothing that is still to be remembered.
    EndByHand(usize, bool),
    /// A person takes it on that nothing is left of what a step waits for, or of all of it but one object.
    TakeOn(usize, bool),
    /// A person answered for the end of an object in another run.
    AnswerFor(usize),
    /// An object changed while a remedy was under way.
    Changed(usize),
    /// The API server is away, or back.
    Away(bool),
    /// A call is answered.
    Answer(usize, usize),
    /// Time passes, or the clock is set back.
    Pass(i64),
    /// A person steers the run.
    Command(usize, u32),
    /// The server starts again.
    Restart,
    /// The journal cannot be written: a decision is lost.
    Lose,
}

fn operation() -> impl Strategy<Value = Operation> {
    let object = || 0..objects().len();
    prop_oneof![
        12 => (object(), 0usize..5).prop_map(|(object, state)| Operation::Apply(object, state)),
        8 => (object(), 0usize..5).prop_map(|(object, state)| Operation::Delete(object, state)),
        1 => object().prop_map(Operation::List),
        1 => (object(), any::<bool>()).prop_map(|(object, hide)| Operation::Hide(object, hide)),
        1 => object().prop_map(Operation::Narrow),
        1 => object().prop_map(Operation::ByHand),
        1 => (object(), any::<bool>()).prop_map(|(object, is_any)| Operation::EndByHand(object, is_any)),
        2 => (0usize..5, any::<bool>()).prop_map(|(step, all)| Operation::TakeOn(step, all)),
        1 => object().prop_map(Operation::AnswerFor),
        1 => object().prop_map(Operation::Changed),
        1 => any::<bool>().prop_map(Operation::Away),
        12 => (0usize..20, 0usize..16).prop_map(|(call, answer)| Operation::Answer(call, answer)),
        5 => prop_oneof![0i64..4, 0i64..200, -20i64..0].prop_map(Operation::Pass),
        2 => (0usize..5, 0u32..30).prop_map(|(command, step)| Operation::Command(command, step)),
        1 => Just(Operation::Restart),
        2 => Just(Operation::Lose),
    ]
}

/// A run with its cluster.
struct Scene {
    index: Index,
    plan: Arc<Plan>,
    run: Run,
    journal: Vec<(Timestamp, RunEvent)>,
    calls: Vec<Action>,
    page: RunPage,
    now: Timestamp,
}

fn state_of(object: usize, state: usize) -> Option<Object> {
    let states = &objects()[object];
    let line = &states[state % states.len()];
    (!line.is_empty()).then(|| fixture::object(line))
}

fn any_state_of(object: usize) -> Object {
    (0..2).find_map(|state| state_of(object, state)).expect("an object has a state")
}

impl Scene {
    fn new() -> Self {
        let first: Vec<String> = objects().into_iter().map(|states| states[0].clone()).collect();
        let mut index = fixture::index(&first.join("\n"));
        index.apply([Observation::Watching(kind("Application.argoproj.io"))], now());
        let graph = Graph::of(&index);
        let units = units(&index, &graph);
        let choices = Choices::default();
        let plan = plan(&index, &graph, &units[&UnitId::new("shop")], &choices, now());
        let plan = Arc::new(plan.expect("a plan"));
        let run = Run::new(RunId::new("r"), plan.clone());
        let (journal, calls, page) = (Vec::new(), Vec::new(), RunPage::default());
        let mut scene = Self { index, plan, run, journal, calls, page, now: now() };
        scene.record(RunEvent::Started { by: "Li".into() });
        scene
    }

    fn record(&mut self, event: RunEvent) {
        self.run.apply(self.now, &event).expect("the event can follow");
        self.journal.push((self.now, event));
    }

    /// The same run, which has not looked at anything yet.
    fn replayed(&self) -> Run {
        let mut run = Run::new(RunId::new("r"), self.plan.clone());
        for (at, event) in &self.journal {
            run.apply(*at, event).expect("the event can follow");
        }
        run
    }

    /// A look, which is compared with one at all steps.
    fn look(&self) -> Result<Decision, TestCaseError> {
        let (replayed, now) = (self.replayed(), self.now);
        let graph = Graph::of(&self.index);
        let look = |run: &Run| run.decide(&Input::Reconcile, &self.index, &graph, now);
        let decide = |run: &Run| look(run).expect("a look");
        let decision = decide(&self.run);
        prop_assert_eq!(&decision, &decide(&replayed));
        prop_assert_eq!(self.run.wake(&self.index, now), self.replayed().wake(&self.index, now));
        Ok(decision)
    }

    /// Reads the page, which is compared with a new one.
    fn read_page(&mut self) -> Result<(), TestCaseError> {
        let graph = Graph::of(&self.index);
        let world = World {
            cluster: "test",
            demo: None,
            index: &self.index,
            graph: &graph,
            units: &units(&self.index, &graph),
            runs: &[&self.run],
            attempts: &[],
            diagnoses: &[],
            now: self.now,
        };
        let kept = world.run_with(&self.run, &mut self.page);
        prop_assert_eq!(kept, world.run(&self.run).into_iter().map(Arc::new).collect::<Vec<_>>());
        Ok(())
    }

    fn take(&mut self, decision: Decision) {
        decision.events.into_iter().for_each(|event| self.record(event));
        self.calls.extend(decision.actions);
    }

    fn decide(&mut self, input: &Input) {
        let graph = Graph::of(&self.index);
        if let Ok(decision) = self.run.decide(input, &self.index, &graph, self.now) {
            self.take(decision);
        }
    }

    /// The steps that wait for the end of objects that nobody confirmed, with those objects.
    fn unconfirmed(&self) -> Vec<(StepId, Vec<Uid>)> {
        let waiting = self.run.steps().filter_map(|(step, progress)| {
            Some((step.id, progress.hold.problem.as_ref()?.unconfirmed()))
        });
        waiting.filter(|(_, objects)| !objects.is_empty()).collect()
    }

    /// Answers all calls until none is left: what is deleted goes, as if its node did not report it.
    fn run_down(&mut self) -> Result<(), TestCaseError> {
        for _ in 0..MOST {
            let decision = self.look()?;
            self.take(decision);
            for action in std::mem::take(&mut self.calls) {
                let gone = self.index.get(&action.target().uid).cloned();
                let outcome = outcome(15, &action, &self.plan);
                if let (Some(object), Action::Delete { .. }) = (gone, &action) {
                    self.delete(&object);
                }
                self.decide(&Input::CallCompleted { action, outcome });
            }
        }
        Ok(())
    }

    fn observe(&mut self, observation: Observation) {
        self.index.apply([observation], self.now);
    }

    fn delete(&mut self, object: &Object) {
        self.observe(Observation::Deleted { kind: object.kind.clone(), uid: object.uid.clone() });
    }

    fn perform(&mut self, operation: &Operation) -> Result<(), TestCaseError> {
        match operation {
            Operation::Apply(object, state) => match state_of(*object, *state) {
                Some(object) => self.observe(Observation::Applied(Box::new(object))),
                None => self.delete(&any_state_of(*object)),
            },
            Operation::Delete(object, state) => {
                let object = state_of(*object, *state).unwrap_or_else(|| any_state_of(*object));
                self.delete(&object);
            }
            Operation::List(object) => {
                let kind = any_state_of(*object).kind;
                let there = self.index.objects().filter(|it| it.kind == kind);
                let objects = there.map(|object| Object::clone(object)).collect();
                self.observe(Observation::Listed { kind, objects });
            }
            Operation::Hide(object, true) => {
                let resource = any_state_of(*object).kind.resource();
                let (cause, message) = (HiddenCause::Forbidden, "forbidden".into());
                self.observe(Observation::Hidden { resource, cause, message });
            }
            Operation::Hide(object, false) => {
                let resource = any_state_of(*object).kind.resource();
                self.observe(Observation::Visible { resource });
            }
            Operation::Narrow(object) => {
                let kind = any_state_of(*object).kind;
                let namespaces = vec!["shop".into()];
                let message = "forbidden".into();
                self.observe(Observation::PerNamespace { kind, namespaces, message });
            }
            Operation::ByHand(object) => {
                self.index.set_by_hand([any_state_of(*object).uid].into());
            }
            Operation::EndByHand(object, is_any) => {
                let end = self.index.end_of(&any_state_of(*object));
                self.index.set_ends_by_hand(if *is_any { vec![end] } else { vec![] });
            }
            Operation::TakeOn(step, all) => {
                let waiting = self.unconfirmed();
                if !waiting.is_empty() {
                    let (step, mut pods) = waiting[step % waiting.len()].clone();
                    if !all {
                        pods.pop();
                    }
                    self.decide(&Input::TakeOn { step, pods, by: "Li".into() });
                }
            }
            Operation::AnswerFor(object) => {
                self.index.answer_for(&[any_state_of(*object).uid]);
            }
            Operation::Changed(object) => {
                let object = any_state_of(*object).reference();
                self.decide(&Input::Changed { object, by: "Li".into() });
            }
            Operation::Away(true) => {
                let (cause, message) = (AwayCause::Silent, "no route".into());
                self.observe(Observation::Unreachable { cause, message });
            }
            Operation::Away(false) => self.observe(Observation::Reached { version: "v1".into() }),
            Operation::Answer(call, answer) => {
                if !self.calls.is_empty() {
                    let action = self.calls.remove(call % self.calls.len());
                    let outcome = outcome(*answer, &action, &self.plan);
                    self.decide(&Input::CallCompleted { action, outcome });
                }
            }
            Operation::Pass(seconds) => self.now += SignedDuration::from_secs(*seconds),
            Operation::Command(command, step) => {
                let step = StepId(step % self.plan.steps.len() as u32);
                let command = match command {
                    0 => RunCommand::Pause,
                    1 | 2 => RunCommand::Resume,
                    3 => RunCommand::Stop,
                    _ => RunCommand::Skip(step),
                };
                // Most runs are not stopped.
                if command != RunCommand::Stop || step.0 == 0 {
                    self.decide(&Input::Command { command, by: "Li".into() });
                }
            }
            Operation::Restart => {
                self.run = self.replayed();
                self.calls.clear();
                self.decide(&Input::Recover);
            }
            Operation::Lose => drop(self.look()?),
        }
        Ok(())
    }
}

fn outcome(number: usize, action: &Action, plan: &Plan) -> Outcome {
    let refused = |code, message: &str| Outcome::Refused { code, message: message.into() };
    let named = action.step().and_then(|step| plan.step(step)).and_then(|it| it.named.clone());
    match (number, action) {
        (0, _) => Outcome::NotFound,
        (1, _) => Outcome::OtherUid { uid: Some(Uid::new("again")) },
        (2, _) => refused(403, "forbidden: User \"unwind\" cannot delete"),
        (3, _) => refused(500, "failed calling webhook \"gate\": no endpoints available"),
        (4, _) => refused(400, "admission webhook \"gate\" denied the request: no"),
        (5, _) => Outcome::Throttled { after: Some(SignedDuration::from_secs(3)) },
        (6, _) => Outcome::Unanswered { message: "timeout".into(), after: None },
        (7, _) => Outcome::Recalled,
        (_, Action::Read { .. }) => {
            Outcome::Present { terminating: number == 8, version: "1".into(), named, keep: None }
        }
        (_, Action::ReadPods { .. }) => Outcome::Pods(vec![]),
        (_, Action::ReadContent { .. }) => Outcome::Content { objects: vec![], unlisted: vec![] },
        (_, Action::Suspend { .. }) => Outcome::Suspended,
        (_, Action::ReadClaim { .. }) => {
            Outcome::Claim { phase: Some("Bound".into()), terminating: false }
        }
        (_, Action::Delete { .. }) => Outcome::Accepted,
    }
}

/// The most looks that follow one another. More would mean that the run never settles.
const MOST: usize = 100;

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 5_000, ..ProptestConfig::with_cases(300) })]
    #[test]
    fn look_at_a_few_steps_decides_as_a_look_at_all(
        operations in prop::collection::vec(operation(), 1..80),
    ) {
        let mut scene = Scene::new();
        for (number, operation) in operations.iter().enumerate() {
            scene.perform(operation)?;
            if number % 3 == 0 {
                scene.read_page()?;
            }
            // Some changes come one after another, and then a look takes several.
            if matches!(operation, Operation::Apply(_, 3) | Operation::Lose) {
                continue;
            }
            for looks in 0.. {
                prop_assert!(looks < MOST, "the run never settles");
                let decision = scene.look()?;
                if decision.is_empty() {
                    break;
                }
                scene.take(decision);
            }
        }
    }
}

#[test]
fn application_of_the_property_has_many_kinds_of_steps() {
    let scene = Scene::new();
    let kinds: BTreeSet<&str> = scene.plan.steps.iter().map(|step| &*step.kind.kind).collect();
    assert!(kinds.len() >= 10, "{kinds:?}");
}

#[test]
fn person_of_the_property_takes_on_the_end_of_a_pod() {
    let mut scene = Scene::new();
    scene.run_down().unwrap();
    let taken_on = |scene: &Scene| {
        scene.journal.iter().any(|(_, event)| matches!(event, RunEvent::TakenOn { .. }))
    };
    assert!(!taken_on(&scene));
    scene.perform(&Operation::TakeOn(0, false)).unwrap();
    assert!(!taken_on(&scene), "it answers for too little");
    scene.perform(&Operation::TakeOn(0, true)).unwrap();
    assert!(taken_on(&scene), "{:?}", scene.unconfirmed());
}
