//! Finds the workload that clears an object's finalizer, so that the object is proven gone before the workload is asked to
//! go.
//!
//! # Decisions
//! - Candidates are the workloads whose ServiceAccount may update or patch the object: by a rule that names its resource, or all
//!   resources of an operator's group, or by one for everything. The last kind may change anything, so it shows nothing by
//!   itself: such a workload is chosen by its project or by the release of the definition, and otherwise is possible only.
//! - Of several candidates the one that the finalizer's project ships is chosen, then those in the unit or release of the
//!   object's definition, then the only one with the name of the field manager that wrote the finalizer. A single candidate
//!   by name is the finisher.
//! - In the release of the definition, a right by name counts before a rule for everything, as an agent of the whole cluster has
//!   it. Where only such an agent is in the release, those with a right by name stay possible.
//! - Several workloads of one release under one account are one finisher: the controller of an operator, and its webhook. One
//!   that uses what the object owns is no part of it.
//! - In place of the holder of a Lease, the only one that may write the object's status is chosen last. A Lease names a project by
//!   habit alone and takes a request; a tool that changes the objects of an operator has no right to their status, and the rules
//!   are watched anyway.
//! - Where no one is chosen, each candidate is a *possible* finisher. It goes later, where that closes no cycle, and that is
//!   all: it is never kept or shared because of the object.
//! - Where nobody has such rights, or roles or bindings are hidden, rights may be given by what nobody sees. Then the workloads of
//!   the definition's unit, or of the object's, are possible finishers of an operator's object too. While rights are hidden, a
//!   choice by project or release stands, because it does not rest on the rights that others lack.

use std::sync::Arc;

use super::{
    Attribution, DeletionPhase, EdgeCollector, EdgeKind, EdgeLookup, PodReferenceKind, Precedence,
    Reason, Strength,
    field_manager::{is_called, writer},
    finalizer::{is_a_drivers, is_built_in, is_controller, is_provisioner, is_shipped_with},
    refer::uses_what_it_owns,
    rights::{self, Holder, Rights},
    selection, uses,
};
use crate::{
    index::Index,
    labels::PART_OF,
    object::{Facts, Object, RBAC},
};

/// The label by which Helm and others name a release.
const INSTANCE: &str = "app.kubernetes.io/instance";

/// The longest chain of a finisher's owners that is followed.
const DEPTH: usize = 8;

/// Workloads that must still run for an object to go, and how certain that is.
pub(super) struct Programs<'a> {
    pub(super) strength: Strength,
    pub(super) programs: Vec<&'a Arc<Object>>,
}

/// Whether a rule that names the resource of an object lets the ServiceAccount of a program change it. The program itself
/// may be gone.
pub(crate) fn is_entitled(index: &Index, program: &Object, object: &Object) -> bool {
    let Some(namespace) = program.namespace.clone() else { return false };
    let rights = Rights::of_account(index, &(namespace, account_of(program)));
    rights.by_name(object).next().is_some()
}

/// Whether a rule by name lets the ServiceAccount of a program change attachments, as a CSI attacher does.
pub(crate) fn may_attach(index: &Index, program: &Object) -> bool {
    let Some(namespace) = program.namespace.clone() else { return false };
    let rights = Rights::of_account(index, &(namespace, account_of(program)));
    rights.of_resource("storage.k8s.io", "volumeattachments", None).next().is_some()
}

/// Whether a rule by name lets the ServiceAccount of a program delete volumes, as a CSI provisioner does.
pub(crate) fn may_delete_volumes(index: &Index, program: &Object) -> bool {
    let Some(namespace) = program.namespace.clone() else { return false };
    rights::may_delete_volumes(index, &(namespace, account_of(program)))
}

/// The programs of these holders of rights, by UID.
fn programs_of<'a, 'b>(
    holders: impl Iterator<Item = &'b Holder>,
    index: &'a Index,
) -> Vec<&'a Arc<Object>> {
    let of_holder = |holder: &'b Holder| {
        programs_in(&holder.of, index)
            .filter(move |it| holder.account.as_ref().is_none_or(|name| account_of(it) == *name))
    };
    sorted(holders.flat_map(of_holder).collect())
}

fn sorted(mut programs: Vec<&Arc<Object>>) -> Vec<&Arc<Object>> {
    programs.sort_by(|a, b| a.uid.cmp(&b.uid));
    programs.dedup_by(|a, b| a.uid == b.uid);
    programs
}

/// The programs that are a CSI driver, or another provisioner: the plugins on the nodes, the controllers that were installed with
/// them, those that are told to be the provisioner of this name, and those of the project whose provisioner has it by default.
pub(super) fn of_driver<'a>(
    driver: &str,
    declared: Option<&Object>,
    lookup: &EdgeLookup<'_>,
    index: &'a Index,
) -> Programs<'a> {
    let plugins: Vec<&Arc<Object>> =
        index.plugins_of(driver).filter(|object| is_program(object, index)).collect();
    let volumes = lookup.rights().of_resource("", "persistentvolumes", None);
    let attachments = lookup.rights().of_resource("storage.k8s.io", "volumeattachments", None);
    let deleters = lookup.rights().of_volume_deleters();
    let mut candidates = programs_of(volumes.chain(attachments).chain(deleters), index);
    let is_its_own = |program: &&Arc<Object>| {
        let with_declared = declared.is_some_and(|it| is_one_release(it, program));
        with_declared
            || plugins.iter().any(|plugin| is_installed_with(plugin, program))
            || is_provisioner(driver, program) && !is_another(driver, program)
    };
    let controllers = candidates.iter().copied().filter(is_its_own);
    let told = index.provisioners_of(driver).filter(|program| {
        is_program(program, index) && may_change_volumes(program, lookup.rights(), index)
    });
    let programs = sorted(controllers.chain(plugins.iter().copied()).chain(told).collect());
    if programs.is_empty() {
        candidates.retain(|program| !is_another(driver, program));
        return Programs { strength: Strength::Yielding, programs: candidates };
    }
    Programs { strength: Strength::Hard, programs }
}

/// Whether a program is told to be a provisioner of other names only.
fn is_another(provisioner: &str, program: &Object) -> bool {
    let Facts::Workload(workload) = &program.facts else { return false };
    let mut names = workload.provisioners.iter();
    !workload.provisioners.is_empty() && names.all(|name| **name != *provisioner)
}

/// Whether the account of a program may change or delete PersistentVolumes. Rights that nobody can read exclude nobody.
fn may_change_volumes(program: &Object, rights: &Rights, index: &Index) -> bool {
    let Some(namespace) = program.namespace.clone() else { return false };
    !index.sees_rights(None) || rights.may_change_volumes(&(namespace, account_of(program)))
}

/// The programs that are a driver of devices: the plugins on the nodes. Where none mounts the folder of the driver, those that may
/// change ResourceSlices, as each driver does for its own.
pub(super) fn of_devices<'a>(
    driver: &str,
    lookup: &EdgeLookup<'_>,
    index: &'a Index,
) -> Programs<'a> {
    let plugins: Vec<&Arc<Object>> =
        index.plugins_of(driver).filter(|object| is_program(object, index)).collect();
    if !plugins.is_empty() {
        return Programs { strength: Strength::Hard, programs: sorted(plugins) };
    }
    let publishers = lookup.rights().of_resource("resource.k8s.io", "resourceslices", None);
    Programs { strength: Strength::Yielding, programs: programs_of(publishers, index) }
}

/// The programs that answer for a class, by the name of the controller in it and the resource whose status they write.
pub(super) fn of_class<'a>(
    controller: &str,
    class: &Object,
    (group, resource): (&str, &str),
    lookup: &EdgeLookup<'_>,
    index: &'a Index,
) -> Programs<'a> {
    let candidates = programs_of(lookup.rights().of_resource(group, resource, None), index);
    let is_its_own = |program: &&Arc<Object>| {
        is_one_release(class, program) || is_controller(controller, program)
    };
    let own: Vec<&Arc<Object>> = candidates.iter().copied().filter(is_its_own).collect();
    if own.is_empty() {
        return Programs { strength: Strength::Yielding, programs: candidates };
    }
    Programs { strength: Strength::Hard, programs: own }
}

/// Workloads that clear a finalizer of an object, or may do so, and how that is known.
struct Finishers<'a> {
    strength: Strength,
    attribution: Attribution,
    programs: Vec<&'a Arc<Object>>,
}

/// The programs whose rights let them change an object.
struct Candidates<'a> {
    /// By a rule that names the resource, or the group of an operator.
    named: Vec<&'a Arc<Object>>,
    /// Only by a rule for everything.
    wide: Vec<&'a Arc<Object>>,
}

impl<'a> Candidates<'a> {
    fn of(object: &Object, rights: &Rights, index: &'a Index) -> Self {
        let named = able(object, rights.by_name(object), index);
        let mut wide = able(object, rights.by_wildcard(object), index);
        wide.retain(|it| named.iter().all(|known| known.uid != it.uid));
        Self { named, wide }
    }

    fn that(&self, is_it: impl Fn(&Object) -> bool) -> Vec<&'a Arc<Object>> {
        let all = self.named.iter().chain(&self.wide);
        sorted(all.copied().filter(|program| is_it(program)).collect())
    }

    /// Of those with a right by name; where none of them is meant, of those with a rule for everything.
    fn first_that(&self, is_it: impl Fn(&Object) -> bool) -> Vec<&'a Arc<Object>> {
        let those = |programs: &[&'a Arc<Object>]| -> Vec<&'a Arc<Object>> {
            programs.iter().copied().filter(|program| is_it(program)).collect()
        };
        let named = those(&self.named);
        if named.is_empty() { those(&self.wide) } else { named }
    }
}

/// The programs of these holders that can clear a finalizer of an object, by UID.
fn able<'a, 'b>(
    object: &Object,
    holders: impl Iterator<Item = &'b Holder>,
    index: &'a Index,
) -> Vec<&'a Arc<Object>> {
    let mut found = programs_of(holders, index);
    found.retain(|program| can_finish(program, object, index));
    found
}

/// The programs that clear a finalizer of an object, the surest first. Rights that nobody can read exclude nobody: while a role
/// or binding may be hidden, or every account has the right, a choice among those whose rights are seen is possible only, beside
/// the workloads of the unit.
fn of_finalizer<'a>(
    object: &Object,
    finalizer: &str,
    lookup: &EdgeLookup<'_>,
    index: &'a Index,
) -> Vec<Finishers<'a>> {
    let definition = lookup.definition_of(&object.kind);
    let rights = lookup.rights();
    let is_hidden = !index.sees_rights(object.namespace.as_deref()) || rights.are_everyones(object);
    let mut found = entitled(object, finalizer, definition, is_hidden, lookup, index);
    if is_hidden {
        found.iter_mut().for_each(Finishers::weaken);
    }
    if object.kind.is_an_operators() && (is_hidden || found.is_empty()) {
        let mut unit = neighbours(object, definition, index);
        unit.retain(|it| !found.iter().any(|known| known.has(it)));
        let (shipped, others): (Vec<_>, Vec<_>) =
            unit.into_iter().partition(|it| is_hidden && is_shipped_with(finalizer, it));
        found.push(Finishers::new(Strength::Hard, Attribution::Project, shipped));
        found.push(Finishers::new(Strength::Hint, Attribution::Unit, others));
    }
    found
}

/// The same among the programs whose rights are visible. While other rights are hidden, the release of the definition says
/// more of a program than that it is the only one.
fn entitled<'a>(
    object: &Object,
    finalizer: &str,
    definition: Option<&Object>,
    is_hidden: bool,
    lookup: &EdgeLookup<'_>,
    index: &'a Index,
) -> Vec<Finishers<'a>> {
    let rights = lookup.rights();
    let candidates = Candidates::of(object, rights, index);
    let shipped = candidates.that(|program| is_shipped_with(finalizer, program));
    if !shipped.is_empty() {
        return vec![Finishers::new(Strength::Hard, Attribution::Project, shipped)];
    }
    let is_released =
        |it: &Object| definition.is_some_and(|definition| is_one_release(definition, it));
    let released = candidates.first_that(is_released);
    let Candidates { named, wide } = candidates;
    let is_only = named.len() == 1 && wide.is_empty() && !is_hidden;
    if !released.is_empty() && !is_only {
        let is_by_name = named.iter().any(|it| is_released(it));
        let others = if is_by_name { Vec::new() } else { named };
        return vec![
            one_of(object, finalizer, Attribution::Release, released, rights, index),
            Finishers::new(Strength::Yielding, Attribution::Rights, others),
        ];
    }
    let mut found = Vec::new();
    if !named.is_empty() {
        found.push(one_of(object, finalizer, Attribution::Rights, named, rights, index));
    }
    if !wide.is_empty() {
        found.push(Finishers::new(Strength::Yielding, Attribution::Wildcard, wide));
    }
    found
}

/// The finishers among programs that an attribution leaves: those that the field manager or the right to the status chooses, or
/// all of them. What is one installation needs no choice: a controller and its webhook run under one account.
fn one_of<'a>(
    object: &Object,
    finalizer: &str,
    attribution: Attribution,
    programs: Vec<&'a Arc<Object>>,
    rights: &Rights,
    index: &'a Index,
) -> Finishers<'a> {
    if programs.len() > 1 {
        let named = able(object, rights.by_name(object), index);
        let is_named = |it: &&Arc<Object>| named.iter().any(|known| known.uid == it.uid);
        let writer = writer(object, finalizer);
        let is_writer = |it: &&Arc<Object>| writer.is_some_and(|name| is_called(it, name));
        let called = programs.iter().copied().filter(is_named).filter(is_writer);
        if let [program] = called.collect::<Vec<_>>().as_slice() {
            return Finishers::new(Strength::Hard, Attribution::Writer, vec![program]);
        }
        let of_status = able(object, rights.of_status(object), index);
        let is_chosen = |it: &&Arc<Object>| programs.iter().any(|known| known.uid == it.uid);
        if !is_one_installation(&programs)
            && of_status.iter().all(is_chosen)
            && is_one_installation(&of_status)
        {
            let chosen = without_users(of_status, object, index);
            return Finishers::new(Strength::Hard, Attribution::Status, chosen);
        }
    }
    if is_one_installation(&programs) {
        return Finishers::new(Strength::Hard, attribution, without_users(programs, object, index));
    }
    Finishers::new(Strength::Yielding, attribution, programs)
}

/// The programs of one installation without those that use what the object owns: an application that shares a chart and an
/// account with its operator goes before its database. All of them where no other is left.
fn without_users<'a>(
    programs: Vec<&'a Arc<Object>>,
    object: &Object,
    index: &Index,
) -> Vec<&'a Arc<Object>> {
    let is_other = |it: &&Arc<Object>| !uses_what_it_owns(it, object, index);
    let others: Vec<&Arc<Object>> = programs.iter().copied().filter(is_other).collect();
    if others.is_empty() { programs } else { others }
}

impl<'a> Finishers<'a> {
    fn new(strength: Strength, attribution: Attribution, programs: Vec<&'a Arc<Object>>) -> Self {
        Self { strength, attribution, programs }
    }

    fn has(&self, program: &Object) -> bool {
        self.programs.iter().any(|it| it.uid == program.uid)
    }

    /// Makes those possible that were chosen because of the rights that others lack.
    fn weaken(&mut self) {
        if matches!(
            self.attribution,
            Attribution::Rights | Attribution::Writer | Attribution::Status
        ) {
            self.strength = self.strength.min(Strength::Yielding);
        }
    }
}

/// Whether programs are one, or several of one release with one account.
fn is_one_installation(programs: &[&Arc<Object>]) -> bool {
    let Some((first, others)) = programs.split_first() else { return false };
    others.iter().all(|other| {
        first.namespace == other.namespace
            && account_of(first) == account_of(other)
            && is_one_release(first, other)
    })
}

/// The programs of a namespace that may clear finalizers: workloads that no workload owns, and such Pods. What runs to
/// completion is none.
fn programs_in<'a>(
    namespace: &str,
    index: &'a Index,
) -> impl Iterator<Item = &'a Arc<Object>> + use<'a> {
    index.workers_in(namespace).filter(move |object| is_program(object, index))
}

/// The programs of the definition's unit; of the object's unit or namespace if the definition has none.
fn neighbours<'a>(
    object: &Object,
    definition: Option<&Object>,
    index: &'a Index,
) -> Vec<&'a Arc<Object>> {
    let units = definition.into_iter().chain([object]).filter_map(|it| it.labels.get(PART_OF));
    let mut in_units = units.map(|unit| -> Vec<&'a Arc<Object>> {
        index.workers_of(unit).filter(|object| is_program(object, index)).collect()
    });
    let in_namespace = || match &object.namespace {
        Some(namespace) => programs_in(namespace, index).collect(),
        None => Vec::new(),
    };
    let mut programs = in_units.find(|found| !found.is_empty()).unwrap_or_else(in_namespace);
    programs.retain(|program| can_finish(program, object, index));
    programs
}

/// An object goes before the workload that clears its finalizer, and before the owners of that workload.
pub(super) fn finishes(found: &mut EdgeCollector<'_>, index: &Index, lookup: &EdgeLookup<'_>) {
    let object = found.from;
    for (i, finalizer) in object.finalizers.iter().enumerate() {
        // The driver of a volume is found by the name of the driver, which the finalizers have in part or not at all.
        let is_a_volume = matches!(object.facts, Facts::Volume(_) | Facts::Attachment(_));
        if is_built_in(finalizer) || is_a_volume && is_a_drivers(finalizer) {
            continue;
        }
        let field: Arc<str> = format!("metadata.finalizers[{i}]").into();
        for finishers in of_finalizer(object, finalizer, lookup, index) {
            allowed_by(found, &finishers, finalizer, &field, lookup.rights(), index);
            finished_by(found, finishers, finalizer, &field, index);
        }
    }
}

/// The edges to the roles from which the finishers of an object have the right to clear the finalizer, through an aggregated role: its
/// controller takes their rules away with them (`pkg/controller/clusterroleaggregation`), and it may be another application's.
fn allowed_by(
    found: &mut EdgeCollector<'_>,
    finishers: &Finishers<'_>,
    finalizer: &str,
    field: &Arc<str>,
    rights: &Rights,
    index: &Index,
) {
    if finishers.strength < Strength::Hard || *found.from.kind.group == *RBAC {
        return;
    }
    let order = Precedence::FromFirst(DeletionPhase::Gone);
    for program in &finishers.programs {
        let Some(namespace) = program.namespace.clone() else { continue };
        for source in rights.sources_of(found.from, (namespace, account_of(program))) {
            if let Some(role) = index.get(&source.role) {
                let (kind, value) =
                    (EdgeKind::RunsAs, format!("{finalizer} → {}", source.aggregated));
                found.push_with(Strength::Yielding, role, kind, order, field.clone(), value);
            }
        }
    }
}

/// The edges to the finishers of an object, and to their owners.
fn finished_by(
    found: &mut EdgeCollector<'_>,
    finishers: Finishers<'_>,
    finalizer: &Arc<str>,
    field: &Arc<str>,
    index: &Index,
) {
    let (object, order) = (found.from, Precedence::FromFirst(DeletionPhase::Gone));
    let Finishers { strength, attribution, programs } = finishers;
    // A binding goes after the programs that have rights through it, whatever finalizer it has. Rancher sets one on its own
    // bindings.
    let is_rights = *object.kind.group == *RBAC;
    let strength = if is_rights { strength.min(Strength::Yielding) } else { strength };
    let reason =
        |value: Arc<str>| Reason { field: field.clone(), value, attribution: Some(attribution) };
    for program in programs {
        let direct = reason(finalizer.clone());
        found.push_because(strength, program, EdgeKind::Finishes, order, direct);
        for owner in owners(program, index) {
            // An owner of both goes first anyway.
            if owner.uid == object.uid || index.descends(&object.uid, &owner.uid) {
                continue;
            }
            let through = reason(format!("{finalizer} → {}", program.name).into());
            found.push_because(strength, owner, EdgeKind::Finishes, order, through);
        }
    }
}

pub(super) fn owners<'a>(program: &Object, index: &'a Index) -> Vec<&'a Arc<Object>> {
    let mut found: Vec<&Arc<Object>> = Vec::new();
    let mut open: Vec<&Arc<Object>> = owners_of(program, index).collect();
    for _ in 0..DEPTH {
        let Some(owner) = open.pop() else { break };
        if found.iter().all(|known| known.uid != owner.uid) {
            open.extend(owners_of(owner, index));
            found.push(owner);
        }
    }
    found
}

fn owners_of<'a>(object: &Object, index: &'a Index) -> impl Iterator<Item = &'a Arc<Object>> {
    object.owners.iter().filter_map(|owner| index.get(&owner.uid))
}

/// Whether an object runs a program of its own, and not one from the template of the workload that owns it.
fn is_program(object: &Object, index: &Index) -> bool {
    let runs = match object.facts {
        Facts::Workload(_) => &*object.kind.group != "batch",
        Facts::Pod(_) => true,
        _ => false,
    };
    let is_its_own = || owners_of(object, index).all(|it| !matches!(it.facts, Facts::Workload(_)));
    runs && (is_part_of_a_driver(object) || is_its_own())
}

/// Whether an object is the plugin of a driver or has its sidecars. It may have an operator's Deployment as its owner, as the
/// DaemonSet and the provisioner of Rook do. A ReplicaSet is made from the template of its Deployment, and never counts.
fn is_part_of_a_driver(object: &Object) -> bool {
    let Facts::Workload(workload) = &object.facts else { return false };
    let sidecars = workload.sidecars;
    let has_part = !workload.drivers.is_empty() || sidecars.provisioner || sidecars.attacher;
    has_part && &*object.kind.kind != "ReplicaSet"
}

fn account_of(program: &Object) -> Arc<str> {
    let account = uses(program).iter().find(|used| used.what == PodReferenceKind::ServiceAccount);
    account.map_or_else(|| "default".into(), |used| used.name.clone())
}

/// Whether a program can clear the finalizer of an object: not if the object is its own Pod, or goes only after it because
/// it mounts or serves it.
fn can_finish(program: &Object, object: &Object, index: &Index) -> bool {
    let is_neighbour = program.namespace == object.namespace;
    let mounts = PodReferenceKind::of(&object.kind).is_some_and(|what| {
        uses(program).iter().any(|used| used.what == what && *used.name == *object.name)
    });
    let labels = match &program.facts {
        Facts::Workload(workload) => &workload.template_labels,
        _ => &program.labels,
    };
    let is_selected =
        selection(&object.facts).is_some_and(|(selector, _)| selector.matches(labels));
    program.uid != object.uid
        && !(is_neighbour && (mounts || is_selected))
        && !(matches!(object.facts, Facts::Pod(_) | Facts::Workload(_))
            && index.descends(&object.uid, &program.uid))
}

/// Whether a program was installed with a driver's plugin: it is of the same release, or is in the same namespace and their
/// names say so, as `ebs-csi-node` and `ebs-csi-controller` or `csi-rbdplugin` and `csi-rbdplugin-provisioner` do.
fn is_installed_with(plugin: &Object, program: &Object) -> bool {
    let stem = |name: &str| name.rsplit_once('-').map(|(stem, _)| stem.to_owned());
    let extends =
        |one: &str, other: &str| one.strip_prefix(other).is_some_and(|rest| rest.starts_with('-'));
    let are_named_alike = || {
        let (a, b) = (&*plugin.name, &*program.name);
        extends(a, b) || extends(b, a) || stem(a).is_some_and(|it| stem(b) == Some(it))
    };
    is_one_release(plugin, program) || plugin.namespace == program.namespace && are_named_alike()
}

/// Whether two objects are parts of one unit, or were installed as one release.
fn is_one_release(a: &Object, b: &Object) -> bool {
    [PART_OF, INSTANCE].iter().any(|label| {
        let name = a.labels.get(label).filter(|name| !name.is_empty());
        name.is_some() && name == b.labels.get(label)
    })
}

#[cfg(test)]
mod tests;
