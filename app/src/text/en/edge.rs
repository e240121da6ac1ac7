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
        EdgeKind::RunsAs => rights(&edge.reason).forward,
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
        EdgeKind::Provisions => provision(edge).forward,
        EdgeKind::Controls if edge.strength == Strength::Hard => "is controlled by",
        EdgeKind::Controls => "may be controlled by",
        EdgeKind::Declares => "is declared by",
        EdgeKind::Hints => "should go before",
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
        EdgeKind::RunsAs => rights(&edge.reason).reversed,
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
        EdgeKind::Provisions => provision(edge).reversed,
        EdgeKind::Controls if edge.strength == Strength::Hard => "controls",
        EdgeKind::Controls => "may control",
        EdgeKind::Declares => "declares",
        EdgeKind::Hints => "should go after",
    }
}

/// The two verbs of an edge.
struct Verbs {
    /// From its source to its target.
    forward: &'static str,
    /// From its target to its source.
    reversed: &'static str,
}

/// The verbs of an edge by which a Pod gets its rights: its field tells an aggregated role and a binding from a Pod, and from an object
/// whose finalizer is cleared by such rights.
fn rights(reason: &Reason) -> Verbs {
    let field = &*reason.field;
    let (forward, reversed) = if field.starts_with("aggregationRule") {
        ("includes the rules of", "has its rules included in")
    } else if field == "roleRef.name" {
        ("grants", "is granted by")
    } else if field.starts_with("subjects") {
        ("gives rights to", "has rights from")
    } else if field.starts_with("metadata") {
        ("needs the rules of", "has rules needed for")
    } else {
        ("runs as", "used as identity by")
    };
    Verbs { forward, reversed }
}

/// The verbs of an edge to a class, a driver or its workload: a driver provisions a volume, and only mounts the inline volume of a
/// Pod.
fn provision(edge: &EdgeCard) -> Verbs {
    let is_certain = edge.strength == Strength::Hard;
    let (forward, reversed) = match &*edge.reason.field {
        "provisioner" | "driver" => ("uses the driver", "is the driver of"),
        "metadata.name" if is_certain => ("is implemented by", "implements"),
        "metadata.name" => ("may be implemented by", "may implement"),
        "spec.attacher" if is_certain => ("is handled by", "handles"),
        "spec.attacher" => ("may be handled by", "may handle"),
        "status.allocation.devices.results" if is_certain => {
            ("has its devices prepared by", "prepares the devices of")
        }
        "status.allocation.devices.results" => {
            ("may have its devices prepared by", "may prepare the devices of")
        }
        // An inline volume, or the class of a template for claims: both are in a list. An annotation names the provisioner of a volume.
        field if is_certain && field.contains('[') && !field.starts_with("metadata") => {
            ("has a volume mounted by", "mounts a volume of")
        }
        _ if is_certain => ("is provisioned by", "provisions"),
        _ => ("may be provisioned by", "may provision"),
    };
    Verbs { forward, reversed }
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
    if edge.kind == EdgeKind::Hints {
        return "An annotation asks for this order; a cycle may break it.";
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

#[cfg(test)]
mod tests {
    use teardown::object::Uid;

    use super::*;

    #[track_caller]
    fn check_verbs(kind: EdgeKind, strength: Strength, field: &str, verbs: [&str; 2]) {
        let card = EdgeCard {
            from: Uid::new("from"),
            to: Uid::new("to"),
            kind,
            strength,
            reason: Reason { field: field.into(), value: "value".into(), attribution: None },
            given_up: false,
        };
        assert_eq!([edge(&card), edge_reversed(&card)], verbs, "{field}");
    }

    #[test]
    fn driver_is_said_to_provision_volumes_and_nothing_else() {
        for (field, verbs) in [
            ("spec.csi.driver", ["is provisioned by", "provisions"]),
            ("spec.volumeName", ["is provisioned by", "provisions"]),
            (
                "metadata.annotations[pv.kubernetes.io/provisioned-by]",
                ["is provisioned by", "provisions"],
            ),
            ("spec.volumes[0].csi.driver", ["has a volume mounted by", "mounts a volume of"]),
            (
                "spec.template.spec.volumes[1].csi.driver",
                ["has a volume mounted by", "mounts a volume of"],
            ),
            (
                "spec.volumeClaimTemplates[0].spec.storageClassName",
                ["has a volume mounted by", "mounts a volume of"],
            ),
            ("spec.attacher", ["is handled by", "handles"]),
            (
                "status.allocation.devices.results",
                ["has its devices prepared by", "prepares the devices of"],
            ),
            ("provisioner", ["uses the driver", "is the driver of"]),
            ("metadata.name", ["is implemented by", "implements"]),
        ] {
            check_verbs(EdgeKind::Provisions, Strength::Hard, field, verbs);
        }
    }

    #[test]
    fn possible_driver_is_said_to_be_possible() {
        for (field, verbs) in [
            ("spec.csi.driver", ["may be provisioned by", "may provision"]),
            (
                "spec.volumeClaimTemplates[0].spec.storageClassName",
                ["may be provisioned by", "may provision"],
            ),
            ("spec.attacher", ["may be handled by", "may handle"]),
            ("metadata.name", ["may be implemented by", "may implement"]),
            (
                "status.allocation.devices.results",
                ["may have its devices prepared by", "may prepare the devices of"],
            ),
        ] {
            check_verbs(EdgeKind::Provisions, Strength::Yielding, field, verbs);
        }
    }

    #[test]
    fn order_that_an_annotation_asks_for_is_said_to_be_no_more() {
        let field = "metadata.annotations[config.kubernetes.io/depends-on]";
        check_verbs(
            EdgeKind::Hints,
            Strength::Hint,
            field,
            ["should go before", "should go after"],
        );
    }

    #[test]
    fn only_what_runs_is_said_to_run_under_an_account() {
        for (field, verbs) in [
            ("spec.serviceAccountName", ["runs as", "used as identity by"]),
            ("roleRef.name", ["grants", "is granted by"]),
            ("subjects[0].name", ["gives rights to", "has rights from"]),
            ("subjects", ["gives rights to", "has rights from"]),
            ("metadata.finalizers[0]", ["needs the rules of", "has rules needed for"]),
            (
                "aggregationRule.clusterRoleSelectors[0]",
                ["includes the rules of", "has its rules included in"],
            ),
        ] {
            check_verbs(EdgeKind::RunsAs, Strength::Hard, field, verbs);
        }
    }
}
