//! Builds the records of each topic from the state at one moment.

mod diagnosis_card;
mod memberships;
mod run_cards;
mod run_page;
mod overview_cards;

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    sync::Arc,
};

use jiff::Timestamp;

pub(crate) use self::memberships::KeptMemberships;
pub use self::{
    diagnosis_card::diagnosis_card,
    memberships::Memberships,
    overview_cards::{OverviewCards, Stale},
    run_page::{RunPage, RunPages},
};
use crate::{
    deadlines::Overdue,
    demo::Demo,
    diagnosis::Diagnosis,
    graph::Graph,
    index::{HiddenKind, Index, Presence},
    message::{
        ClusterCard, Counts, Detail, DetailName, EdgeCard, HiddenKindCard, Membership, NodeHealth,
        ObjectCard, Record, State, UnitCard,
    },
    object::{Facts, Object, Reclaim, Uid},
    plan::{Kept, KeptReason, Plan, Step},
    relation::{self, DeletionPhase, Edge, EdgeKind, Strength},
    remedy::{Attempt, Stamps, switched_off},
    run::{PodsLeft, Run},
    unit::{Unit, UnitId, UnitOrigin},
};

/// The most objects outside a unit that its page shows.
const OUTSIDE: usize = 300;
/// The most objects within their expected time that the page of trouble lists, those that become late first.
const IN_TIME: usize = 100;
/// The most entries of an event log that a page shows, the latest ones; the journal has all of them.
const EVENTS: usize = 400;

/// The inputs of a view.
#[derive(Clone, Copy, Debug)]
pub struct World<'a> {
    /// The cluster's name.
    pub cluster: &'a str,
    /// The state of the simulation, if the cluster is simulated.
    pub demo: Option<&'a Demo>,
    /// The index.
    pub index: &'a Index,
    /// Its edges.
    pub graph: &'a Graph,
    /// Its units.
    pub units: &'a BTreeMap<UnitId, Unit>,
    /// Runs of this server, newest first.
    pub runs: &'a [&'a Run],
    /// Remedies that persons had done, newest first.
    pub attempts: &'a [&'a Attempt],
    /// Why deletions wait, the worst first.
    pub diagnoses: &'a [Diagnosis],
    /// The time of the view.
    pub now: Timestamp,
}

impl World<'_> {
    /// All units, runs and hidden kinds.
    pub fn overview(&self) -> Vec<Record> {
        self.overview_with(&mut OverviewCards::default(), &Stale::All)
    }

    /// The same, with the cards that were kept since the last time.
    pub fn overview_with(&self, cards: &mut OverviewCards, stale: &Stale) -> Vec<Record> {
        let mut records = self.frame();
        records.extend(cards.of_units(self, stale).into_iter().map(Record::Unit));
        records.extend(cards.of_runs(self).into_iter().map(Record::Run));
        records
    }

    /// Every deletion that waits, with its cause, and the objects that are being deleted and within their expected time.
    pub fn trouble(&self) -> Vec<Record> {
        let mut records = self.frame();
        records.extend(self.diagnoses_of(|_| true));
        let shown = Shown { world: self, run: None };
        let mut in_time: Vec<&Arc<Object>> = self.in_time().collect();
        in_time.sort_by_cached_key(|object| (self.due(object), object.uid.clone()));
        let first = in_time.into_iter().take(IN_TIME);
        records.extend(
            first.map(|object| Record::Object(shown.card(object, Membership::Outside, None))),
        );
        records
    }

    /// The objects that are being deleted and are held by no diagnosis.
    pub(crate) fn in_time(&self) -> impl Iterator<Item = &Arc<Object>> {
        let held: HashSet<&Uid> = self.diagnoses.iter().flat_map(|it| &it.held).collect();
        self.index.going().filter(move |object| !held.contains(&object.uid))
    }

    /// One unit with its graph and its runs. If the unit is gone, its runs remain; `None` if no such unit was ever
    /// known.
    pub fn unit(&self, id: &UnitId) -> Option<Vec<Record>> {
        let unit = self.units.get(id);
        let memberships = unit.map(|it| Memberships::of(self.index, self.graph, it, self.now));
        self.unit_with(id, &memberships.unwrap_or_default())
    }

    /// The same, with the relations of its members, which were kept since the last time.
    pub fn unit_with(&self, id: &UnitId, memberships: &Memberships) -> Option<Vec<Record>> {
        let mut records = self.frame();
        let runs = self.runs.iter().filter(|run| run.plan.unit == *id);
        let runs = runs.map(|run| Record::Run(self.run_card(run)));
        let Some(unit) = self.units.get(id) else {
            let frame = records.len();
            records.extend(runs);
            return (records.len() > frame).then_some(records);
        };
        records.extend(runs);
        let run = self.open_run(id);
        let shown = Shown { world: self, run };
        let around = self.outside(unit);
        for object in unit.members.iter().chain(&around).filter_map(|uid| self.index.get(uid)) {
            let membership = if unit.members.contains(&object.uid) {
                memberships
                    .kept
                    .get(&object.uid)
                    .cloned()
                    .map_or(Membership::Member, Membership::Kept)
            } else {
                Membership::Outside
            };
            let wave = memberships.waves.get(&object.uid).copied();
            records.push(Record::Object(shown.card(object, membership, wave)));
        }
        let drawn: BTreeSet<&Uid> = unit.members.iter().chain(&around).collect();
        let edges = drawn.iter().flat_map(|uid| self.graph.from(uid));
        let both = edges.filter(|edge| drawn.contains(edge.to));
        let place = |uid| memberships.waves.get(uid);
        records.extend(both.map(|edge| {
            // Of two objects in order, the one that goes first has the smaller rank.
            let is_kept = edge.strength == Strength::Hard
                || edge.ordered().is_none_or(|(first, then, _)| {
                    place(first).zip(place(then)).is_none_or(|(first, then)| first < then)
                });
            Record::Edge(EdgeCard { given_up: !is_kept, ..edge_card(edge) })
        }));
        records.push(Record::Unit(self.unit_card(unit, memberships.shared)));
        records.extend(self.diagnoses_of(|uid| unit.members.contains(uid)));
        Some(records)
    }

    /// The records that every page shows: the cluster, and what is hidden in it.
    pub fn frame(&self) -> Vec<Record> {
        let cluster = ClusterCard {
            name: self.cluster.to_owned(),
            version: self.index.version().map(str::to_owned),
            synced: self.index.is_synced(),
            kinds: self.index.kinds(),
            objects: self.index.len(),
            diagnoses: self.diagnoses.len(),
            in_time: self.in_time().count(),
            unreachable: self.index.unreachable().cloned(),
            demo: self.demo.cloned(),
            switched_off: switched_off(self.attempts.iter().copied(), self.index).len(),
            journal: 0,
            notifications: 0,
        };
        let hidden = self.index.hidden_kinds().into_iter().map(
            |(resource, HiddenKind { cause, message, since })| {
                Record::HiddenKind(HiddenKindCard { resource, cause, message, since })
            },
        );
        std::iter::once(Record::Cluster(cluster)).chain(hidden).collect()
    }

    /// The diagnoses that hold one of these objects.
    fn diagnoses_of(&self, concerns: impl Fn(&Uid) -> bool) -> impl Iterator<Item = Record> {
        let is_held = move |it: &&Diagnosis| it.held.iter().any(&concerns);
        let held = self.diagnoses.iter().filter(is_held);
        let mut stamps = Stamps::new(self.index, self.graph);
        held.map(move |diagnosis| {
            let attempts = self.attempts.iter().copied();
            Record::Diagnosis(diagnosis_card(&mut stamps, diagnosis, self.now, self.runs, attempts))
        })
    }

    fn open_run(&self, unit: &UnitId) -> Option<&Run> {
        let mut open =
            self.runs.iter().filter(|run| run.plan.unit == *unit && !run.state().is_ended());
        // A run of unplanned objects is beside the one that is the unit's.
        let first = open.clone().find(|run| run.plan.choices.unplanned().is_none());
        first.or_else(|| open.next()).copied()
    }

    fn unit_card(&self, unit: &Unit, shared: usize) -> UnitCard {
        let run = self.open_run(&unit.id);
        let shown = Shown { world: self, run };
        let members = || unit.members.iter().filter_map(|uid| self.index.get(uid));
        let mut counts = Counts::new();
        for object in members() {
            *counts.entry(shown.state(object).0).or_default() += 1;
        }
        let namespaces: BTreeSet<&str> =
            members().filter_map(|object| object.namespace.as_deref()).collect();
        UnitCard {
            id: unit.id.clone(),
            origin: unit.origin,
            namespaces: namespaces.into_iter().map(str::to_owned).collect(),
            counts,
            shared,
            newest: members().filter_map(|object| object.created).max().map(Timestamp::from),
            run: run.map(|run| run.id.clone()),
            same_as: self.same_as(unit),
        }
    }

    /// The application that has the same objects as a namespace. Objects that the cluster creates in every namespace,
    /// such as `kube-root-ca.crt`, carry no label and are ignored.
    fn same_as(&self, namespace: &Unit) -> Option<UnitId> {
        namespace.id.namespace()?;
        let is_the_clusters =
            |uid: &Uid| self.index.get(uid).is_some_and(|object| object.is_made_by_cluster());
        let own = |unit: &'_ Unit| -> Vec<Uid> {
            unit.members.iter().filter(|uid| !is_the_clusters(uid)).cloned().collect()
        };
        let members = own(namespace);
        let first = members.first()?;
        let mut applications = self
            .units
            .values()
            .filter(|unit| unit.origin != UnitOrigin::Namespace && unit.members.contains(first));
        applications.find(|unit| own(unit) == members).map(|unit| unit.id.clone())
    }

    /// Objects outside a unit that an edge connects with it. Objects that are only in one of its namespaces come last.
    fn outside(&self, unit: &Unit) -> BTreeSet<Uid> {
        let mut found: BTreeMap<(bool, &Uid), ()> = BTreeMap::new();
        for edge in unit.members.iter().flat_map(|uid| self.graph.around(uid)) {
            let other = if unit.members.contains(edge.from) { edge.to } else { edge.from };
            let drawn = self.index.get(other).is_some_and(|object| !object.is_made_by_cluster());
            if drawn && !unit.members.contains(other) {
                found.insert((edge.kind == EdgeKind::Contains, other), ());
            }
        }
        found.into_keys().map(|(_, uid)| uid.clone()).take(OUTSIDE).collect()
    }

    /// A step's state, with the finalizers that its object has now rather than at the time of planning. A run that has
    /// ended no longer reconciles, so its open steps are shown in the object's current state.
    fn step_state(&self, run: &Run, step: &Step) -> State {
        let finalizing =
            || self.index.get(&step.uid).is_some_and(|object| !object.finalizers.is_empty());
        let state = run.shown(step);
        let is_open =
            !matches!(state, State::Gone | State::Kept | State::Skipped | State::CameBack);
        if run.state().is_ended() && is_open {
            let namespace = step.object.namespace.as_deref();
            return match self.index.presence(&step.kind, namespace, &step.uid) {
                Presence::Gone => State::Gone,
                Presence::Unknown(_) => State::Unknown,
                // An object whose deletion was requested or refused may look unchanged.
                Presence::Present(object) => match (self.seen(object).0, state) {
                    (State::Present, State::Unknown) => State::Present,
                    (State::Present, known) => known,
                    (now, _) => now,
                },
            };
        }
        match state {
            State::Terminating if finalizing() => State::Finalizing,
            state => state,
        }
    }

    /// The state of an object that no run concerns, and the time since which it has been in it.
    fn seen(&self, object: &Object) -> (State, Option<Timestamp>) {
        let Some(deletion) = &object.deletion else {
            return (State::Present, object.created.map(Timestamp::from));
        };
        let since = deletion.accepted();
        let waited = self.now.duration_since(since);
        let state = match self.index.deadlines_of(object).overdue(waited) {
            Overdue::Stuck => State::Stuck,
            Overdue::Slow => State::Slow,
            Overdue::No if object.finalizers.is_empty() => State::Terminating,
            Overdue::No => State::Finalizing,
        };
        (state, Some(since))
    }

    /// The time by which the deletion of an object is expected to end; none while nobody deletes it.
    fn due(&self, object: &Object) -> Option<Timestamp> {
        let deletion = object.deletion.as_deref()?;
        deletion.accepted().checked_add(self.index.deadlines_of(object).slow).ok()
    }
}

/// The edges between the steps of a plan. They never change: they remain when their objects are gone. The edges to kept objects
/// come from the cluster.
pub fn edges_of_plan(plan: &Plan) -> Vec<Record> {
    let mut records = Vec::new();
    for step in &plan.steps {
        for blocker in &step.after {
            let Some(first) = plan.step(blocker.step) else { continue };
            records.extend(blocker.edges.iter().map(|edge| {
                let (from, to) = if edge.on_first { (first, step) } else { (step, first) };
                Record::Edge(EdgeCard {
                    from: from.uid.clone(),
                    to: to.uid.clone(),
                    kind: edge.kind,
                    strength: edge.strength,
                    reason: edge.reason.clone(),
                    given_up: false,
                })
            }));
        }
    }
    records
}

fn edge_card(edge: Edge<'_>) -> EdgeCard {
    EdgeCard {
        from: edge.from.clone(),
        to: edge.to.clone(),
        kind: edge.kind,
        strength: edge.strength,
        reason: edge.reason.clone(),
        given_up: false,
    }
}

/// The way objects are shown, with or without a run.
struct Shown<'a> {
    world: &'a World<'a>,
    run: Option<&'a Run>,
}

impl<'a> Shown<'a> {
    fn state(&self, object: &Object) -> (State, Option<Timestamp>) {
        if let Some((run, step)) = self.run.zip(self.step(&object.uid)) {
            let since = object.deletion.as_ref().map(|deletion| deletion.accepted());
            return (self.world.step_state(run, step), since);
        }
        let presence =
            self.world.index.presence(&object.kind, object.namespace.as_deref(), &object.uid);
        if matches!(presence, Presence::Unknown(_)) {
            return (State::Unknown, None);
        }
        self.world.seen(object)
    }

    fn card(&self, object: &Object, membership: Membership, wave: Option<u32>) -> ObjectCard {
        let (mut state, since) = self.state(object);
        let is_kept =
            matches!(&membership, Membership::Kept(reason) if *reason != KeptReason::MadeByCluster);
        if state == State::Present && is_kept {
            state = State::Kept;
        }
        ObjectCard {
            uid: object.uid.clone(),
            object: object.reference(),
            version: object.kind.version.to_string(),
            state,
            since,
            membership,
            created: object.created.map(Timestamp::from),
            deletion: object.deletion.as_deref().map(|held| held.deletion),
            due: self.world.due(object),
            finalizers: object.finalizers.iter().map(ToString::to_string).collect(),
            labels: object.labels.clone(),
            node: node_health(object, self.world.index),
            details: details(object),
            phase: if object.deletion.is_some() {
                DeletionPhase::Accepted
            } else {
                DeletionPhase::Present
            },
            final_phase: relation::final_phase(object),
            step: self.step(&object.uid).map(|step| step.id),
            wave,
        }
    }

    /// The card of a kept object that is no longer in the index: somebody else deleted it, or it is hidden.
    fn card_of_missing_object(&self, kept: &Kept) -> ObjectCard {
        let index = self.world.index;
        let check_kind_visible =
            index.is_synced() && index.unreachable().is_none() && index.hidden_kinds().is_empty();
        ObjectCard {
            uid: kept.uid.clone(),
            object: kept.object.clone(),
            version: String::new(),
            state: if check_kind_visible { State::Gone } else { State::Unknown },
            since: None,
            membership: Membership::Kept(kept.reason.clone()),
            created: None,
            deletion: None,
            due: None,
            finalizers: Vec::new(),
            labels: crate::selector::Labels::new(),
            node: None,
            details: Vec::new(),
            phase: if check_kind_visible { DeletionPhase::Gone } else { DeletionPhase::Present },
            final_phase: DeletionPhase::Gone,
            step: None,
            wave: None,
        }
    }

    fn card_of_gone_object(&self, run: &Run, step: &Step, left: &mut PodsLeft<'a>) -> ObjectCard {
        ObjectCard {
            uid: step.uid.clone(),
            object: step.object.clone(),
            version: step.kind.version.to_string(),
            state: self.world.step_state(run, step),
            since: run.progress(step.id).and_then(|progress| progress.gone),
            membership: Membership::Member,
            created: None,
            deletion: None,
            due: None,
            finalizers: Vec::new(),
            labels: crate::selector::Labels::new(),
            node: None,
            details: Vec::new(),
            phase: self.phase_of_gone_object(run, step, left),
            final_phase: relation::final_phase_of(&step.kind),
            step: Some(step.id),
            wave: Some(step.wave),
        }
    }

    fn phase_of_gone_object(
        &self,
        run: &Run,
        step: &Step,
        left: &mut PodsLeft<'a>,
    ) -> DeletionPhase {
        // The object that came back is another one; this one is gone.
        if !matches!(self.world.step_state(run, step), State::Gone | State::CameBack) {
            let progress = run.progress(step.id);
            let is_requested = progress.is_some_and(|progress| progress.requested.is_some());
            return if is_requested { DeletionPhase::Accepted } else { DeletionPhase::Present };
        }
        let index = self.world.index;
        let are_visible = || index.check_pods_visible(step.object.namespace.as_deref()).is_ok();
        match relation::final_phase_of(&step.kind) {
            DeletionPhase::PodsGone if are_visible() && left.is_none_of(step, run, index) => {
                DeletionPhase::PodsGone
            }
            _ => DeletionPhase::Gone,
        }
    }

    fn step(&self, uid: &Uid) -> Option<&Step> {
        self.run.and_then(|run| run.plan.step(run.step_of(uid)?))
    }
}

/// The signs of life of a node.
fn node_health(object: &Object, index: &Index) -> Option<NodeHealth> {
    let Facts::Node(node) = &object.facts else { return None };
    let changed = node.ready.as_ref().and_then(|ready| ready.since).map(Timestamp::from);
    let ready = node.is_ready();
    let seen = index.node_last_seen(&object.name).filter(|(_, has_moved)| *has_moved || !ready);
    Some(NodeHealth { ready, changed, seen: seen.map(|(at, _)| at) })
}

/// The most important fields of a kind.
fn details(object: &Object) -> Vec<Detail> {
    let detail = |name, value: Option<String>| value.map(|value| Detail { name, value });
    let text = |value: &Option<std::sync::Arc<str>>| value.as_deref().map(str::to_owned);
    let own = match &object.facts {
        Facts::Pod(pod) => vec![
            detail(DetailName::Phase, pod.phase.map(|phase| phase.name().to_owned())),
            detail(DetailName::Node, text(&pod.node)),
        ],
        Facts::Workload(workload) => {
            let wanted =
                workload.replicas.map(|wanted| format!("{}/{wanted}", workload.ready.unwrap_or(0)));
            vec![detail(DetailName::Replicas, wanted)]
        }
        Facts::Claim(claim) => vec![
            detail(DetailName::Phase, text(&claim.phase)),
            detail(DetailName::Capacity, text(&claim.capacity)),
            detail(DetailName::Class, text(&claim.class)),
        ],
        Facts::Volume(volume) => {
            let reclaim = match volume.reclaim {
                Reclaim::Retain => "Retain",
                Reclaim::Delete => "Delete",
                Reclaim::Recycle => "Recycle",
            };
            vec![
                detail(DetailName::Phase, text(&volume.phase)),
                detail(DetailName::Capacity, text(&volume.capacity)),
                detail(DetailName::Reclaim, Some(reclaim.to_owned())),
                detail(DetailName::Source, text(&volume.source)),
                detail(DetailName::Class, text(&volume.class)),
            ]
        }
        Facts::Service(service) => vec![
            detail(DetailName::Selector, service.selector.as_ref().map(ToString::to_string)),
            detail(
                DetailName::LoadBalancer,
                service.load_balancer.then(|| "LoadBalancer".to_owned()),
            ),
        ],
        Facts::Disruption(selector) => {
            vec![detail(DetailName::Selector, selector.as_ref().map(ToString::to_string))]
        }
        Facts::NetworkPolicy(selector) => {
            vec![detail(DetailName::Selector, Some(selector.to_string()))]
        }
        Facts::Autoscaler(target) => {
            vec![detail(DetailName::Target, Some(format!("{} {}", target.kind, target.name)))]
        }
        Facts::Parent(parent) => {
            let phase = if parent.active.is_some() { "Active" } else { "Suspended" };
            vec![detail(DetailName::Phase, Some(phase.to_owned()))]
        }
        Facts::None
        | Facts::Node(_)
        | Facts::Ingress(_)
        | Facts::Binding(_)
        | Facts::Role(_)
        | Facts::ServiceAccount(_)
        | Facts::Webhooks(_)
        | Facts::ApiService(_)
        | Facts::Definition(_)
        | Facts::Namespace(_)
        | Facts::CsiNode(_)
        | Facts::Snapshot(_)
        | Facts::References(_) => Vec::new(),
        Facts::SnapshotContent(content) => {
            let reclaim = if content.deletes { "Delete" } else { "Retain" };
            vec![detail(DetailName::Reclaim, Some(reclaim.to_owned()))]
        }
        Facts::Attachment(attachment) => {
            vec![detail(DetailName::Node, Some(attachment.node.to_string()))]
        }
    };
    let owner = object.controller().map(|owner| format!("{} {}", owner.kind, owner.name));
    own.into_iter().chain([detail(DetailName::Owner, owner)]).flatten().collect()
}

#[cfg(test)]
mod tests;
