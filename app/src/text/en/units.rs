//! The texts of the table of units.

use teardown::{message::State, unit::UnitOrigin};

use super::{many, state};

pub const UNITS_LEAD: &str = "Applications in this cluster, with all objects that belong to each.";
pub const SEARCH_UNITS: &str = "Search units";
pub const COLUMN_UNIT: &str = "Application";
pub const COLUMN_FOUND: &str = "Found by";
pub const COLUMN_NAMESPACES: &str = "Namespaces";
pub const COLUMN_OBJECTS: &str = "Objects";
pub const COLUMN_STATES: &str = "Deletion state";
pub const COLUMN_SHARED: &str = "Used from outside";
pub const COLUMN_RUN: &str = "Open run";
pub const COLUMN_CHANGED: &str = "Last created";
pub const OPEN_RUNS: &str = "Runs";
pub const NO_RUNS: &str = "No teardown has been started yet.";
pub const OPEN_THE_RUN: &str = "Open the run";
pub const SHARED_HINT: &str = "Something outside this unit uses them, so a plan keeps them";
pub const NONE: &str = "–";
/// In place of a figure that is not known.
pub const UNKNOWN_COUNT: &str = "?";

/// The heading of the group of namespaces.
pub fn namespaces(count: usize) -> String {
    many(count, "namespace", "namespaces")
}

/// In front of the namespaces that are not rows of their group.
pub const LISTED_ABOVE: &str = "Same objects as the application in them:";

/// A filter of the table of units: `2 with stuck objects`.
pub fn units_in_state(of: State, count: usize) -> String {
    format!("{count} with {} objects", state(of).to_ascii_lowercase())
}

/// How many objects a plan deletes.
pub fn to_delete(count: usize) -> String {
    format!("{count} to delete")
}

/// How many objects a plan keeps.
pub fn to_keep(count: usize) -> String {
    format!("{count} kept")
}

/// How many objects the cluster removes by itself.
pub fn left_to_cluster(count: usize) -> String {
    format!("{count} left to the cluster")
}

pub const LEFT_TO_CLUSTER_HINT: &str =
    "Kubernetes creates these objects and removes them by itself";
/// The runs of a unit.
pub const RUNS_OF_UNIT: &str = "Runs of this unit";

pub const NO_UNITS: &str = "No unit was found";
pub const NO_UNITS_MEANS: &str = "An application is all objects with one value of the label app.kubernetes.io/part-of, in any namespace; without it, those of a release, or of an application of Argo CD, Flux or kapp. Each namespace that the cluster does not need is listed too.";
pub const NO_UNITS_DO: &str = "kubectl label deployment web app.kubernetes.io/part-of=shop";
pub const NOTHING_MATCHES: &str = "Nothing matches";
pub const CLEAR_SEARCH: &str = "Clear the search";

/// How a unit was found.
pub fn found(found: UnitOrigin) -> &'static str {
    match found {
        UnitOrigin::PartOf => "Label part-of",
        UnitOrigin::Release => "Release",
        UnitOrigin::ArgoCd => "Argo CD",
        UnitOrigin::Flux => "Flux",
        UnitOrigin::Kapp => "kapp",
        UnitOrigin::Namespace => "Namespace",
    }
}

/// How a unit was found, at length.
pub fn found_hint(found: UnitOrigin) -> &'static str {
    match found {
        UnitOrigin::PartOf => {
            "Its objects carry the label app.kubernetes.io/part-of with this name"
        }
        UnitOrigin::Release => {
            "Its objects carry the label app.kubernetes.io/instance with this name in this namespace, or the annotations of this Helm release"
        }
        UnitOrigin::ArgoCd => "This Argo CD Application tracks its objects",
        UnitOrigin::Flux => {
            "Its objects carry the labels of this Flux Kustomization or HelmRelease"
        }
        UnitOrigin::Kapp => "Its objects carry the label of this kapp application",
        UnitOrigin::Namespace => "A namespace and everything in it",
    }
}
