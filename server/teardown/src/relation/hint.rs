//! The order that annotations ask their tools for. Deletion is the reverse of what was applied: an object goes before what it
//! depends on, and a later wave before an earlier one.
//!
//! | annotation | order | source |
//! |---|---|---|
//! | `config.kubernetes.io/depends-on` | the object before what it names | cli-utils, `pkg/object/dependson`, `pkg/object/graph/depends.go` |
//! | `kapp.k14s.io/change-rule` | `delete after deleting G`: G first; `delete before deleting G`: the object first | kapp, `pkg/kapp/diffgraph` |
//! | | `upsert after upserting G`: the object first; `upsert before upserting G`: G first | the reverse of the same |
//! | `argocd.argoproj.io/sync-wave` | the higher wave first | Argo CD, `controller/sort_delete.go` |
//!
//! # Decisions
//! - All of these are hints: they keep no object and close no cycle, and a plan does not name one that it gives up. A person wrote
//!   them for a tool, and as a rule only applying was ever tried: a Service in a later wave than its Deployment is no reason to
//!   let it go before the Pods.
//! - An object with an owner goes with its owner, so that neither end of a hint has one. Argo CD counts only objects without
//!   owners as those of an Application (`controller/cache/cache.go`).
//! - kapp ignores its `upsert` rules when it deletes. They are read in reverse, unless a `delete` rule of the same object is about
//!   the same group. Groups are names within one application of kapp, by its label.
//! - Waves are those of one Application; an object of it without the annotation is in wave 0. Only waves that follow one another are
//!   linked.
//! - Waves and change rules put many objects before many others, and an edge for each two would be too much. So these edges are
//!   made for a plan alone, [`MOST`] of them. Where that is too few, each object of the larger side is linked with as many of the
//!   smaller side as there is room for, at least with one: every edge is true, but a wave may begin before all of the one
//!   before it is gone. A barrier of its own would need an object that does not exist.
//! - Helm's hooks order nothing. `helm uninstall` leaves what a hook made, because it is no part of the release
//!   (<https://helm.sh/docs/topics/charts_hooks/>); in a unit it goes as any other object. That `helm.sh/resource-policy` keeps an
//!   object is a reason to keep it (`plan/kept.rs`), not an order. `dependsOn` of Flux is in the spec (`relation/refer.rs`).

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{
    EdgeCollector, EdgeKind, FoundEdge, Precedence, Reason, Strength, declare::parent_of,
    final_phase,
};
use crate::{
    declaration::{declaring_parents, kapp_app},
    index::Index,
    object::{CHANGE_RULE, ChangeRule, DEPENDS_ON, Object, ObjectRef, SYNC_WAVE, dependency_text},
};

/// The most edges by waves and change rules in one plan, beyond one for each object that has to be linked.
const MOST: usize = 4_000;

/// The edges to what the annotation depends-on names. They lead to objects of any unit, but order only those of one plan.
pub(super) fn depends_on(found: &mut EdgeCollector<'_>, index: &Index) {
    let object = found.from;
    let order = Precedence::FromFirst(final_phase(object));
    for named in object.hints().into_iter().flat_map(|hints| &hints.depends_on) {
        let ObjectRef { group, kind, namespace, name } = named;
        let target = index.find(group, kind, namespace.as_deref(), name);
        if let Some(target) = target.filter(|target| target.owners.is_empty()) {
            let (field, value) = (field(DEPENDS_ON), dependency_text(named));
            found.push_with(Strength::Hint, target, EdgeKind::Hints, order, field, value);
        }
    }
}

/// The edges by sync waves and change rules among the objects of a plan.
pub(crate) fn hints_among<'a>(
    objects: impl Iterator<Item = &'a Arc<Object>>,
    index: &Index,
) -> Vec<FoundEdge> {
    let objects: Vec<&Object> =
        objects.map(|object| &**object).filter(|object| object.owners.is_empty()).collect();
    let sequences: Vec<Sequence<'_>> =
        by_change_rules(&objects).into_iter().chain(by_waves(&objects, index)).collect();
    let share = MOST / sequences.len().max(1);
    sequences.iter().flat_map(|sequence| sequence.edges(share)).collect()
}

fn field(annotation: &str) -> String {
    format!("metadata.annotations[{annotation}]")
}

/// Objects that go before other objects.
struct Sequence<'a> {
    firsts: Vec<&'a Object>,
    thens: Vec<&'a Object>,
    /// Whether the objects that go first have the annotation.
    is_on_first: bool,
    reason: Reason,
}

impl Sequence<'_> {
    /// About `share` edges, and at least one for each object.
    fn edges(&self, share: usize) -> impl Iterator<Item = FoundEdge> {
        let (firsts, thens) = (self.firsts.len(), self.thens.len());
        let (larger, smaller) = (firsts.max(thens), firsts.min(thens));
        let each = (share / larger.max(1)).max(1).min(smaller);
        let pairs = (0..larger)
            .flat_map(move |one| (0..each).map(move |other| (one, (one * each + other) % smaller)));
        pairs.filter_map(move |(one, other)| {
            let (first, then) = if firsts == larger { (one, other) } else { (other, one) };
            self.edge(self.firsts[first], self.thens[then])
        })
    }

    fn edge(&self, first: &Object, then: &Object) -> Option<FoundEdge> {
        let phase = final_phase(first);
        let (from, to, order) = if self.is_on_first {
            (first, then, Precedence::FromFirst(phase))
        } else {
            (then, first, Precedence::ToFirst(phase))
        };
        (from.uid != to.uid).then(|| FoundEdge {
            from: from.uid.clone(),
            to: to.uid.clone(),
            kind: EdgeKind::Hints,
            order,
            strength: Strength::Hint,
            reason: self.reason.clone(),
        })
    }
}

/// The name of an application of kapp and that of a change group in it.
type ChangeGroup = (Arc<str>, String);

fn by_change_rules<'a>(objects: &[&'a Object]) -> Vec<Sequence<'a>> {
    let mut members: BTreeMap<ChangeGroup, Vec<&Object>> = BTreeMap::new();
    let mut ruled: BTreeMap<(Arc<str>, ChangeRule), Vec<&Object>> = BTreeMap::new();
    for &object in objects {
        let Some((hints, app)) = object.hints().zip(kapp_app(object)) else { continue };
        let groups: BTreeSet<String> =
            hints.groups.iter().filter_map(|name| object.change_group(name)).collect();
        for group in groups {
            members.entry((app.clone(), group)).or_default().push(object);
        }
        for rule in rules(object) {
            ruled.entry((app.clone(), rule)).or_default().push(object);
        }
    }
    let sequences = ruled.into_iter().filter_map(|((app, rule), ruled)| {
        let members = members.get(&(app, rule.group.to_string()))?.clone();
        let is_on_first = rule.goes_first();
        let (firsts, thens) = if is_on_first { (ruled, members) } else { (members, ruled) };
        let value = rule.to_string().into();
        let reason = Reason { field: field(CHANGE_RULE).into(), value, attribution: None };
        Some(Sequence { firsts, thens, is_on_first, reason })
    });
    sequences.collect()
}

/// The change rules of an object that say something about its deletion, with their placeholders filled in.
fn rules(object: &Object) -> BTreeSet<ChangeRule> {
    let rules = object.hints().into_iter().flat_map(|hints| &hints.rules);
    let filled = rules.filter_map(|rule| {
        let group = object.change_group(&rule.group)?;
        Some(ChangeRule { group: group.into(), ..*rule })
    });
    let filled: BTreeSet<ChangeRule> = filled.collect();
    let deleted: BTreeSet<Arc<str>> =
        filled.iter().filter(|rule| rule.deletes).map(|rule| rule.group.clone()).collect();
    filled.into_iter().filter(|rule| rule.deletes || !deleted.contains(&rule.group)).collect()
}

fn by_waves<'a>(objects: &[&'a Object], index: &Index) -> Vec<Sequence<'a>> {
    let wave = |object: &Object| object.hints().and_then(|hints| hints.wave);
    if !objects.iter().any(|object| wave(object).is_some()) {
        return Vec::new();
    }
    let mut waves: BTreeMap<Arc<str>, BTreeMap<i32, Vec<&Object>>> = BTreeMap::new();
    for &object in objects {
        if let Some(application) = application_of(object, index) {
            let of_application = waves.entry(application).or_default();
            of_application.entry(wave(object).unwrap_or_default()).or_default().push(object);
        }
    }
    let mut sequences = Vec::new();
    for waves in waves.into_values() {
        let waves: Vec<(i32, Vec<&Object>)> = waves.into_iter().collect();
        for pair in waves.windows(2) {
            let [(earlier, thens), (later, firsts)] = pair else { continue };
            let value = format!("{later} → {earlier}").into();
            let reason = Reason { field: field(SYNC_WAVE).into(), value, attribution: None };
            let (firsts, thens) = (firsts.clone(), thens.clone());
            sequences.push(Sequence { firsts, thens, is_on_first: true, reason });
        }
    }
    sequences
}

/// The name of the Argo CD Application that an object belongs to.
fn application_of(object: &Object, index: &Index) -> Option<Arc<str>> {
    let named = declaring_parents(object).find(|named| named.kind == "Application")?;
    let is_sure = !named.is_guess || parent_of(&named, object, index).is_some();
    is_sure.then_some(named.name)
}
