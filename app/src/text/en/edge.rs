//! Edges in words.

use teardown::{
    object::ObjectRef,
    relation::{EdgeKind, Reason},
};

use super::super::{isolated, named};

/// The verb from the source of an edge to its target.
pub fn edge(kind: EdgeKind) -> &'static str {
    match kind {
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
    }
}

/// The verb from the target of an edge to its source.
pub fn edge_reversed(kind: EdgeKind) -> &'static str {
    match kind {
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

/// An edge as a sentence.
pub fn edge_sentence(from: &ObjectRef, kind: EdgeKind, to: &ObjectRef, why: &Reason) -> String {
    format!("{} {} {} — {}", named(from), edge(kind), named(to), reason(why))
}
