//! Finds the edges between objects: one function per kind of edge, each with the rule for its order. Names match only
//! within the right group and namespace.
//!
//! # Decisions
//! - Edges of Ingresses, webhook configurations, APIServices and role bindings lead to the Pods behind the named object as
//!   well: an edge to the Service alone would let the Pods go first.
//! - Role bindings go after the Pods that run as their accounts, not after the accounts: an account such as `default` may
//!   stay although all its Pods go.
//! - A binding may name accounts one by one, by the name of their user, or as the group of a namespace
//!   (<https://kubernetes.io/docs/reference/access-authn-authz/rbac/#referring-to-subjects>). A binding for the group of all accounts of
//!   the cluster goes after the Pods of its own unit: every Pod has its rights, and it is not kept for those of others.
//! - A copy that is complete needs its source no more, so it goes first and does not keep it.
//! - A finalizer is cleared by a program, so its object goes before the workload that runs the program, and before the owners
//!   of that workload, whose deletion would take it along.

mod access;
mod declare;
mod edge;
mod field_manager;
mod finalizer;
mod finish;
mod guard;
mod hint;
mod lookup;
mod provision;
mod refer;
mod rights;
mod storage;
mod traffic;

use std::{collections::BTreeSet, sync::Arc};

use serde::{Deserialize, Serialize};

#[cfg(test)]
pub(crate) use self::finalizer::project_domains;
pub(crate) use self::{
    declare::parent_of,
    field_manager::{has_name_of, is_a_program, is_called, is_distinct},
    finalizer::{
        is_a_drivers, is_an_attachers, is_built_in, is_external, is_of_manager, is_shipped_with,
        programs_of,
    },
    finish::{is_entitled, may_attach, may_delete_volumes},
    guard::{guarding_rule, is_covered_by, is_guarded_by, unevaluated},
    hint::hints_among,
    refer::GATEWAY_API,
    storage::is_bound_pair,
};
pub use self::{
    edge::{Edge, FoundEdge},
    lookup::EdgeLookup,
};
use crate::{
    index::Index,
    object::{Facts, Kind, Object, PodReference, PodReferenceKind},
    selector::Selector,
};

/// The deletion phases of an object, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum DeletionPhase {
    /// It exists, and no DELETE was accepted.
    Present,
    /// DELETE was accepted: `deletionTimestamp` is set.
    Accepted,
    /// This UID is proven gone.
    Gone,
    /// Gone, and no Pod of it is left: none whose chain of owners ends at its UID, and none that its selector matches.
    PodsGone,
}

/// The meaning of an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum EdgeKind {
    /// The object's `ownerReferences` name the target.
    Owns,
    /// The object lives in the target, a namespace.
    Contains,
    /// A Pod, or a workload with a Pod template, refers to the target: a claim, ConfigMap or Secret, or the class of its claims.
    Mounts,
    /// A StatefulSet made the target, a claim, from its template.
    Claims,
    /// The object is bound to the target: a claim to a volume, a snapshot to its content.
    Binds,
    /// The object's selector matches the target, a Pod or a workload.
    Selects,
    /// The object, an Ingress, sends traffic to the target, a Service.
    Routes,
    /// The object, an autoscaler, sets the target's replicas.
    Scales,
    /// The object, a Pod, runs on the target, a Node.
    RunsOn,
    /// The object runs under the target: Pod under ServiceAccount, which a binding gives a Role, which may have the rules of others; or
    /// its finisher has the rules of the target, a role.
    RunsAs,
    /// The object, a webhook configuration, calls the target.
    Admits,
    /// The object, an APIService, delegates to the target.
    Serves,
    /// The object is of a kind that the target defines, a CustomResourceDefinition, or serves, an APIService.
    Defines,
    /// The object's finalizer is cleared by the target, a workload, or by one that the target owns.
    Finishes,
    /// The object, a CustomResourceDefinition, has its objects converted between versions by the target.
    Converts,
    /// The object's deletion is decided by the target, a webhook configuration.
    Guards,
    /// The object's spec names the target; or the object, a workload or a Pod, uses something that the target, an operator's
    /// object, owns.
    Refers,
    /// The object, a snapshot or a claim, is a copy of the target: a claim or a snapshot.
    Snapshots,
    /// The object, a VolumeAttachment, attaches the target, a volume, to a Node, the other target.
    Attaches,
    /// The object, or a volume or device that it uses, is made and removed by the target: by a class, a driver, or the workload that is
    /// the driver.
    Provisions,
    /// The object is looked after by the target: by a class, or the workload that answers for the class.
    Controls,
    /// The object's marks name the target, a GitOps object that applies it again and again.
    Declares,
    /// An annotation of the object asks a tool to apply or delete it before or after the target.
    Hints,
}

/// The strength of an edge: whether its order may be given up where edges form a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Strength {
    /// Its order is kept where that costs nothing.
    Hint,
    /// Its order is kept unless that closes a cycle of harder edges.
    Yielding,
    /// To break its order is wrong.
    Hard,
}

/// The field that an edge is derived from.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Reason {
    /// The field, such as `spec.volumes[0].persistentVolumeClaim.claimName`.
    pub field: Arc<str>,
    /// Its value.
    pub value: Arc<str>,
    /// How it is known which workload clears a finalizer. A field states every other edge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attribution: Option<Attribution>,
}

/// How it is known which workload clears the finalizer of an object, the surest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Attribution {
    /// The project that ships the finalizer ships the workload.
    Project,
    /// It may change such objects, and is of the unit or release of their definition.
    Release,
    /// It may change such objects, by a rule that names them, and is called like the field manager that wrote the finalizer.
    Writer,
    /// It may change such objects, by a rule that names them, and of those with this right it alone may write their status.
    Status,
    /// It may change such objects, by a rule that names them or their group.
    Rights,
    /// It may change such objects, by a rule for everything.
    Wildcard,
    /// Nobody is known to have the right. It is of the unit of the definition or of the object.
    Unit,
}

/// The order of two objects: the one that goes first, and the deletion phase it must reach before the other may start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Precedence {
    /// The source goes first.
    FromFirst(DeletionPhase),
    /// The target goes first.
    ToFirst(DeletionPhase),
    /// The edge is for information and orders nothing.
    Unordered,
}

/// All edges that begin at this object.
///
/// The search reads the index, and of the objects in it their shape (`object/shape.rs`). The index notes what it reads, so
/// that the edges are searched again when that changes, and only then.
pub fn edges_of(object: &Object, index: &Index, pods: &EdgeLookup<'_>) -> Vec<FoundEdge> {
    let mut found = EdgeCollector { from: object, edges: Vec::new() };
    owns(&mut found, index);
    contains(&mut found, index);
    mounts(&mut found, index);
    claims(&mut found, index);
    storage::binds(&mut found, index);
    selects(&mut found, pods);
    traffic::routes(&mut found, index, pods);
    scales(&mut found, index);
    runs_on(&mut found, index);
    runs_as(&mut found, index, pods);
    traffic::admits(&mut found, index, pods);
    traffic::serves(&mut found, index, pods);
    defines(&mut found, pods);
    finish::finishes(&mut found, index, pods);
    traffic::converts(&mut found, index, pods);
    refer::refers(&mut found, index);
    refer::references(&mut found, index, pods);
    storage::snapshots(&mut found, index);
    storage::attaches(&mut found, index);
    provision::provisions(&mut found, index, pods);
    provision::controls(&mut found, index, pods);
    declare::declares(&mut found, index);
    declare::records(&mut found, index);
    hint::depends_on(&mut found, index);
    found.edges
}

/// Collects the edges of one object.
struct EdgeCollector<'a> {
    from: &'a Object,
    edges: Vec<FoundEdge>,
}

impl EdgeCollector<'_> {
    fn push(
        &mut self,
        to: &Object,
        kind: EdgeKind,
        order: Precedence,
        field: impl Into<Arc<str>>,
        value: impl Into<Arc<str>>,
    ) {
        self.push_with(Strength::Hard, to, kind, order, field, value);
    }

    fn push_with(
        &mut self,
        strength: Strength,
        to: &Object,
        kind: EdgeKind,
        order: Precedence,
        field: impl Into<Arc<str>>,
        value: impl Into<Arc<str>>,
    ) {
        let reason = Reason { field: field.into(), value: value.into(), attribution: None };
        self.push_because(strength, to, kind, order, reason);
    }

    fn push_because(
        &mut self,
        strength: Strength,
        to: &Object,
        kind: EdgeKind,
        order: Precedence,
        reason: Reason,
    ) {
        if to.uid == self.from.uid {
            return;
        }
        self.edges.push(FoundEdge {
            from: self.from.uid.clone(),
            to: to.uid.clone(),
            kind,
            order,
            strength,
            reason,
        });
    }

    fn namespace(&self) -> Option<&str> {
        self.from.namespace.as_deref()
    }
}

/// Whether objects of this kind go after the running Pods that need them: objects that Pods name, claims among them,
/// objects that select Pods, and the Pods' rights.
pub fn goes_after_pods(kind: &Kind) -> bool {
    match &*kind.group {
        "" => PodReferenceKind::of(kind).is_some() || &*kind.kind == "Service",
        "networking.k8s.io" => &*kind.kind == "NetworkPolicy",
        "policy" => &*kind.kind == "PodDisruptionBudget",
        "rbac.authorization.k8s.io" => matches!(&*kind.kind, "Role" | "RoleBinding"),
        _ => false,
    }
}

/// The namespaces whose Pods may need an object.
pub(crate) fn served_namespaces(object: &Object) -> BTreeSet<&Arc<str>> {
    let Facts::Binding(binding) = &object.facts else { return object.namespace.iter().collect() };
    let of_accounts = binding.accounts.iter().map(|(namespace, _)| namespace);
    of_accounts.chain(binding.served_groups(object.namespace.as_ref())).collect()
}

/// Whether a Pod in one of the namespaces that an object serves needs it to run: because it refers to it, is selected
/// by it, or has rights through it.
pub(crate) fn is_needed(object: &Object, pod: &Object) -> bool {
    let names = |what: PodReferenceKind, name: &str| {
        uses(pod).iter().any(|used| used.what == what && *used.name == *name)
    };
    if let Facts::Binding(binding) = &object.facts {
        let Some(namespace) = &pod.namespace else { return false };
        return binding.served_groups(object.namespace.as_ref()).any(|it| it == namespace)
            || binding.accounts.iter().any(|(of, name)| {
                of == namespace && names(PodReferenceKind::ServiceAccount, name)
            });
    }
    if goes_before_its_pods(&object.facts) {
        return false;
    }
    selection(&object.facts).is_some_and(|(selector, _)| selector.matches(&pod.labels))
        || PodReferenceKind::of(&object.kind).is_some_and(|what| names(what, &object.name))
}

/// The deletion phase in which nothing of an object is left: for a Pod when it is gone, for a workload when its last
/// Pod is gone.
pub(crate) fn final_phase(object: &Object) -> DeletionPhase {
    final_phase_of(&object.kind)
}

/// The same for a kind, because the object may be gone already.
pub(crate) fn final_phase_of(kind: &Kind) -> DeletionPhase {
    let makes_pods = match &*kind.group {
        "" => &*kind.kind == "ReplicationController",
        "apps" => matches!(&*kind.kind, "Deployment" | "ReplicaSet" | "StatefulSet" | "DaemonSet"),
        "batch" => matches!(&*kind.kind, "Job" | "CronJob"),
        _ => false,
    };
    if makes_pods { DeletionPhase::PodsGone } else { DeletionPhase::Gone }
}

/// An owner goes before its dependents: it would re-create them, or the garbage collector would delete them out of
/// order. Where the owner re-creates nothing, the order may be given up: an autoscaler that names the Deployment as its
/// owner still goes before it. An owner in another namespace does not count
/// (<https://kubernetes.io/docs/concepts/architecture/garbage-collection/>).
fn owns(found: &mut EdgeCollector<'_>, index: &Index) {
    let object = found.from;
    for (i, reference) in object.owners.iter().enumerate() {
        let Some(owner) = index.get(&reference.uid).filter(|owner| may_own(owner, object)) else {
            continue;
        };
        let strength = if reference.controller && may_recreate(owner, object) {
            Strength::Hard
        } else {
            Strength::Yielding
        };
        found.push_with(
            strength,
            owner,
            EdgeKind::Owns,
            Precedence::ToFirst(DeletionPhase::Gone),
            format!("metadata.ownerReferences[{i}]"),
            format!("{} {}", reference.kind, reference.name),
        );
    }
}

/// Whether a controller makes objects like this one for their owner. The workloads of Kubernetes make Pods, claims and
/// other workloads; its other kinds make nothing that a plan deletes. An operator may make anything for its own objects, and the
/// controllers of Gateway API make workloads and Services for each Gateway
/// (<https://gateway-api.sigs.k8s.io/geps/gep-1762/>).
fn may_recreate(owner: &Object, object: &Object) -> bool {
    match owner.facts {
        Facts::Workload(_) => {
            matches!(object.facts, Facts::Pod(_) | Facts::Workload(_) | Facts::Claim(_))
                || object.kind.is("apps", "ControllerRevision")
        }
        _ => owner.kind.is_an_operators() || owner.kind.is(refer::GATEWAY_API, "Gateway"),
    }
}

/// Whether a reference to an owner is valid: a reference to an object of another namespace is not.
pub(crate) fn may_own(owner: &Object, object: &Object) -> bool {
    owner.namespace.is_none() || owner.namespace == object.namespace
}

/// Content goes before its namespace, because the deletion of a namespace orders nothing but Pods first (KEP-5080).
fn contains(found: &mut EdgeCollector<'_>, index: &Index) {
    let Some(name) = &found.from.namespace else { return };
    if found.from.is_made_by_cluster() {
        return;
    }
    let Some(namespace) = index.find("", "Namespace", None, name) else { return };
    let name = name.clone();
    found.push(
        namespace,
        EdgeKind::Contains,
        Precedence::FromFirst(DeletionPhase::Gone),
        "metadata.namespace",
        name,
    );
}

/// An object that a Pod refers to by name goes after the Pod, and after the last Pod of its workload.
fn mounts(found: &mut EdgeCollector<'_>, index: &Index) {
    let order = Precedence::FromFirst(final_phase(found.from));
    for used in uses(found.from).iter().filter(|used| used.what != PodReferenceKind::ServiceAccount)
    {
        if let Some(target) = used_object(used, found.namespace(), index) {
            found.push(target, EdgeKind::Mounts, order, used.field.clone(), used.name.clone());
        }
    }
}

/// The object that a Pod, or something else in its namespace, refers to by name.
fn used_object<'a>(
    used: &PodReference,
    namespace: Option<&str>,
    index: &'a Index,
) -> Option<&'a Arc<Object>> {
    if used.what == PodReferenceKind::DefaultStorageClass {
        return storage::default_class(index);
    }
    let namespace = namespace.filter(|_| used.what.is_namespaced());
    index.find(used.what.group(), used.what.kind(), namespace, &used.name)
}

fn uses(object: &Object) -> &[PodReference] {
    match &object.facts {
        Facts::Pod(pod) => &pod.uses,
        Facts::Workload(workload) => &workload.uses,
        Facts::Ingress(ingress) => &ingress.uses,
        Facts::ServiceAccount(account) => &account.uses,
        _ => &[],
    }
}

/// A StatefulSet's claims are named `TEMPLATE-SET-ORDINAL` and go after its last Pod. That the StatefulSet itself is
/// gone does not prove that its Pods are
/// (<https://kubernetes.io/docs/concepts/workloads/controllers/statefulset/#limitations>).
fn claims(found: &mut EdgeCollector<'_>, index: &Index) {
    let Facts::Workload(workload) = &found.from.facts else { return };
    let Some(namespace) = found.from.namespace.clone() else { return };
    for (i, template) in workload.claim_templates.iter().enumerate() {
        let prefix = format!("{template}-{}-", found.from.name);
        for claim in index.claims_in(&namespace) {
            if is_numbered(&claim.name, &prefix) {
                let field = format!("spec.volumeClaimTemplates[{i}].metadata.name");
                found.push(
                    claim,
                    EdgeKind::Claims,
                    Precedence::FromFirst(DeletionPhase::PodsGone),
                    field,
                    template.clone(),
                );
            }
        }
    }
}

/// Whether a name consists of a prefix and an ordinal.
fn is_numbered(name: &str, prefix: &str) -> bool {
    let ordinal = name.strip_prefix(prefix);
    ordinal.is_some_and(|o| !o.is_empty() && o.bytes().all(|b| b.is_ascii_digit()))
}

/// Services, budgets and network policies go after the Pods they select, because a Pod must not lose its isolation
/// while it runs (CVE-2024-7598). A load balancer goes first: clients are drained, and its finalizer needs its
/// controller.
fn selects(found: &mut EdgeCollector<'_>, lookup: &EdgeLookup<'_>) {
    let Some((selector, field)) = selection(&found.from.facts) else { return };
    let first = goes_before_its_pods(&found.from.facts);
    let Some(namespace) = found.from.namespace.clone() else { return };
    for target in lookup.selected(&namespace, selector) {
        let order = if first {
            Precedence::FromFirst(DeletionPhase::Gone)
        } else {
            Precedence::ToFirst(final_phase(target))
        };
        found.push(target, EdgeKind::Selects, order, field, selector.to_string());
    }
}

/// An object's selector of Pods, and its field.
fn selection(facts: &Facts) -> Option<(&Selector, &'static str)> {
    match facts {
        Facts::Service(service) => Some((service.selector.as_ref()?, "spec.selector")),
        Facts::Disruption(selector) => Some((selector.as_deref()?, "spec.selector")),
        Facts::NetworkPolicy(selector) => Some((selector, "spec.podSelector")),
        _ => None,
    }
}

fn goes_before_its_pods(facts: &Facts) -> bool {
    matches!(facts, Facts::Service(service) if service.load_balancer)
}

/// An autoscaler goes before the workload that it scales, because it would scale it up again.
fn scales(found: &mut EdgeCollector<'_>, index: &Index) {
    let Facts::Autoscaler(target) = &found.from.facts else { return };
    let Some(scaled) = index.find(&target.group, &target.kind, found.namespace(), &target.name)
    else {
        return;
    };
    let value = format!("{} {}", target.kind, target.name);
    found.push(
        scaled,
        EdgeKind::Scales,
        Precedence::FromFirst(DeletionPhase::Gone),
        "spec.scaleTargetRef",
        value,
    );
}

/// The node of a Pod is shown because its kubelet confirms the Pod's deletion; a node is never a step.
fn runs_on(found: &mut EdgeCollector<'_>, index: &Index) {
    let Facts::Pod(pod) = &found.from.facts else { return };
    let Some(name) = &pod.node else { return };
    if let Some(node) = index.find("", "Node", None, name) {
        found.push(node, EdgeKind::RunsOn, Precedence::Unordered, "spec.nodeName", name.clone());
    }
}

/// Identity and rights go after the Pods that use them: a preStop hook or a controller still needs them while it
/// cleans up.
fn runs_as(found: &mut EdgeCollector<'_>, index: &Index, lookup: &EdgeLookup<'_>) {
    let order = Precedence::FromFirst(final_phase(found.from));
    for used in uses(found.from).iter().filter(|used| used.what == PodReferenceKind::ServiceAccount)
    {
        if let Some(account) = index.find("", "ServiceAccount", found.namespace(), &used.name) {
            found.push(account, EdgeKind::RunsAs, order, used.field.clone(), used.name.clone());
        }
    }
    access::gives(found, index, lookup);
    access::aggregates(found, index);
}

/// Objects go before the definition of their kind, whose deletion would delete them all at once, and before the
/// aggregated API that serves them, because without it their deletion could not be proven.
fn defines(found: &mut EdgeCollector<'_>, lookup: &EdgeLookup<'_>) {
    let kind = &found.from.kind;
    let order = Precedence::FromFirst(DeletionPhase::Gone);
    if kind.may_have_definition()
        && let Some(target) = lookup.definition_of(kind)
    {
        let value = format!("{} {}", kind.group, kind.kind);
        found.push(target, EdgeKind::Defines, order, "apiVersion, kind", value);
    }
    // The core group is never aggregated.
    if kind.group.is_empty() {
        return;
    }
    let name = format!("{}.{}", kind.version, kind.group);
    if let Some(target) = lookup.aggregated(&name) {
        let value = format!("{}/{}", kind.group, kind.version);
        found.push(target, EdgeKind::Defines, order, "apiVersion", value);
    }
}

#[cfg(test)]
mod tests;
