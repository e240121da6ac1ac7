//! Edges in words.

use teardown::{
    message::EdgeCard,
    object::ObjectRef,
    relation::{Attribution, EdgeKind, Reason, Strength},
};

use super::{
    super::{isolated, named},
    many,
};

/// The verb from the source of an edge to its target.
pub fn edge(edge: &EdgeCard) -> &'static str {
    match edge.kind {
        EdgeKind::Owns => "is owned by",
        EdgeKind::Contains => "lives in",
        EdgeKind::Mounts => "uses",
        EdgeKind::Claims => "claims",
        EdgeKind::Binds => "is bound to",
        EdgeKind::Selects => "selects",
        EdgeKind::Routes => "routes to",
        EdgeKind::Scales => "scales",
        EdgeKind::RunsOn => "runs on",
        EdgeKind::RunsAs => "runs as",
        EdgeKind::Admits => "calls",
        EdgeKind::Serves => "is served by",
        EdgeKind::Defines => "is defined by",
        EdgeKind::Finishes if edge.strength == Strength::Hard => "has its finalizer cleared by",
        EdgeKind::Finishes => "may have its finalizer cleared by",
        EdgeKind::Converts => "is converted by",
        EdgeKind::Guards => "is guarded by",
        EdgeKind::Refers => "refers to",
        EdgeKind::Snapshots => "is a copy of",
        EdgeKind::Attaches => "attaches",
        EdgeKind::Provisions if edge.strength == Strength::Hard => "is provisioned by",
        EdgeKind::Provisions => "may be provisioned by",
        EdgeKind::Controls if edge.strength == Strength::Hard => "is controlled by",
        EdgeKind::Controls => "may be controlled by",
        EdgeKind::Declares => "is declared by",
    }
}

/// The verb from the target of an edge to its source.
pub fn edge_reversed(edge: &EdgeCard) -> &'static str {
    match edge.kind {
        EdgeKind::Owns => "owns",
        EdgeKind::Contains => "contains",
        EdgeKind::Mounts => "used by",
        EdgeKind::Claims => "claimed by",
        EdgeKind::Binds => "bound to",
        EdgeKind::Selects => "selected by",
        EdgeKind::Routes => "routed to by",
        EdgeKind::Scales => "scaled by",
        EdgeKind::RunsOn => "runs",
        EdgeKind::RunsAs => "used as identity by",
        EdgeKind::Admits => "is called by",
        EdgeKind::Serves => "serves",
        EdgeKind::Defines => "defines",
        EdgeKind::Finishes if edge.strength == Strength::Hard => "must outlive and finish",
        EdgeKind::Finishes => "may have to outlive and finish",
        EdgeKind::Converts => "converts the objects of",
        EdgeKind::Guards => "guards",
        EdgeKind::Refers => "is referred to by",
        EdgeKind::Snapshots => "copied by",
        EdgeKind::Attaches => "attached by",
        EdgeKind::Provisions if edge.strength == Strength::Hard => "provisions",
        EdgeKind::Provisions => "may provision",
        EdgeKind::Controls if edge.strength == Strength::Hard => "controls",
        EdgeKind::Controls => "may control",
        EdgeKind::Declares => "declares",
    }
}

/// The field behind an edge.
pub fn reason(reason: &Reason) -> String {
    if reason.value.is_empty() {
        reason.field.to_string()
    } else {
        format!("{} = {}", reason.field, isolated(&reason.value))
    }
}

/// How sure an edge is, and what becomes of its order; nothing for one that a field of the object states.
pub fn certainty(edge: &EdgeCard) -> &'static str {
    if edge.given_up {
        return "A plan gives this order up: it closes a cycle.";
    }
    if let Some(attribution) = edge.reason.attribution {
        return match attribution {
            Attribution::Project => "Known from the finalizer’s project.",
            Attribution::Release => "Inferred: it is of the release that defines the kind.",
            Attribution::Writer => {
                "Inferred: it has rights, and the name of the finalizer’s writer."
            }
            Attribution::Status => "Inferred: it alone may write the status.",
            Attribution::Rights => "Inferred from its rights.",
            Attribution::Wildcard => "A guess: it has rights to everything.",
            Attribution::Unit => "A guess: it is of the same unit.",
        };
    }
    match edge.strength {
        Strength::Yielding => "Inferred; a cycle may break it.",
        Strength::Hint => "A guess.",
        Strength::Hard => "",
    }
}

/// The objects of one kind that a workload must outlive, because it clears this finalizer of theirs.
pub fn must_outlive(count: usize, kind: &str, finalizer: &str, of: Strength) -> String {
    let must = if of == Strength::Hard { "Must" } else { "May have to" };
    let (kind, finalizer) = (isolated(kind), isolated(finalizer));
    format!(
        "{must} outlive {}: clears their finalizer {finalizer}",
        many(count, &kind, &format!("{kind} objects"))
    )
}

/// An edge as a sentence.
pub fn edge_sentence(from: &ObjectRef, card: &EdgeCard, to: &ObjectRef) -> String {
    format!("{} {} {} — {}", named(from), edge(card), named(to), reason(&card.reason))
}
