//! What is said of a plan, and before it is confirmed.

use teardown::{
    object::ObjectRef,
    plan::{Blocker, Difference, Fate, Propagation, StepAction},
    relation::DeletionPhase,
};

use super::{many, objects};

pub const WILL_DELETE: &str = "Will be deleted";
pub const WILL_KEEP: &str = "Will be kept";
pub const DATA_DESTROYED: &str = "Data destroyed";
pub const DATA_SAFE: &str = "Data left in place";
pub const NO_DATA_DESTROYED: &str = "No volume’s data is destroyed.";
pub const DATA_TITLE: &str = "What happens to the data";
pub const KEPT_TITLE: &str = "Kept, and why";
pub const NOTHING_KEPT: &str = "Nothing of the unit is kept.";
pub const ORDER_TITLE: &str = "Order";
pub const ORDER_LEAD: &str = "Columns are ranks on the longest path. Nothing waits for a column: each object starts the moment what is in front of it is proven gone.";
pub const STARTS_AT_ONCE: &str = "Starts at once";
pub const EXPORT: &str = "Plan as JSON";
pub const START: &str = "Start teardown…";
pub const PLAN_AGAIN: &str = "Plan again";
pub const NO_PLAN: &str = "This plan is not known";
pub const NO_PLAN_MEANS: &str =
    "Plans are kept for a while only, and not across a restart of the server.";
pub const BACK_TO_UNIT: &str = "Back to the unit";
pub const NOTHING_TO_DO: &str = "Nothing to delete";

/// A plan's heading.
pub fn plan_title(unit: &str) -> String {
    format!("Teardown of {unit}")
}

/// When and under which name a plan was made.
pub fn plan_lead(id: &str) -> String {
    format!("Plan {id}, made")
}

/// `7 × 40Gi`, or `40Gi`.
pub fn times(count: usize, what: &str) -> String {
    if count == 1 { what.to_owned() } else { format!("{count} × {what}") }
}

/// The number of waves.
pub fn waves(count: u32) -> String {
    many(count as usize, "wave", "waves")
}

/// The blind kinds a plan depends on.
pub fn plan_blind(kinds: &str) -> String {
    format!(
        "Cannot be seen in this cluster: {kinds}. A step that waits for one of them goes on waiting."
    )
}

/// What is done with an object.
pub fn action(action: StepAction) -> &'static str {
    match action {
        StepAction::Delete { propagation: Propagation::Background } => "Delete; dependents follow",
        StepAction::Delete { propagation: Propagation::Orphan } => "Delete; dependents stay",
        StepAction::Await => "Wait; its controller removes it",
    }
}

/// What must be proven of an object in front of a step.
pub fn phase(phase: DeletionPhase) -> &'static str {
    match phase {
        DeletionPhase::Present => "is there",
        DeletionPhase::Accepted => "is being deleted",
        DeletionPhase::Gone => "is gone",
        DeletionPhase::PodsGone => "and all its Pods are gone",
    }
}

/// The edge that puts something in front of a step.
pub fn blocker(before: &ObjectRef, blocker: &Blocker) -> String {
    format!("after {before} {}", phase(blocker.phase))
}

/// What becomes of data.
pub fn fate(fate: Fate) -> &'static str {
    match fate {
        Fate::Destroyed => "Destroyed for good",
        Fate::Unknown => "Cannot tell: the volume cannot be seen",
        Fate::LeftBehind => "Left where it is",
        Fate::Kept => "Stays in use",
    }
}

/// How the cluster differs from a plan.
pub fn difference(difference: &Difference) -> String {
    match difference {
        Difference::Added { object } => format!("New: {object}"),
        Difference::Removed { object } => {
            format!("No longer to be deleted: {object}")
        }
        Difference::Recreated { object } => {
            format!("Another object under the same name: {object}")
        }
        Difference::Changed { object } => {
            format!("In another place or way: {object}")
        }
        Difference::Hidden { resource } => format!("Cannot be seen any more: {resource}"),
    }
}

// Confirming.

/// The dialog's heading.
pub fn confirm_title(unit: &str) -> String {
    format!("Tear down {unit}?")
}

/// What cannot be taken back.
pub fn confirm_lead(steps: usize) -> String {
    format!(
        "{} will be deleted. A deletion that the cluster has accepted cannot be taken back.",
        objects(steps)
    )
}

/// Where it is lost.
pub fn confirm_where(cluster: &str, is_production: bool) -> String {
    let production = if is_production { ", a cluster for production" } else { "" };
    format!("This is {cluster}{production}.")
}

/// What data is lost.
pub fn confirm_data(volumes: usize) -> String {
    format!("The data on {} will be destroyed for good.", many(volumes, "volume", "volumes"))
}

/// What data may be lost.
pub fn confirm_unseen_data(volumes: usize) -> String {
    format!(
        "The data on {} may be destroyed: nobody can see it to tell.",
        many(volumes, "volume", "volumes")
    )
}

/// One tick for many volumes.
pub fn tick_all(volumes: usize) -> String {
    format!("I know all {volumes} of them")
}

/// What to type.
pub fn confirm_type(unit: &str) -> String {
    format!("Type {unit} to confirm")
}

pub const CONFIRM_MISMATCH: &str = "That is not the unit’s name.";
pub const CONFIRM_START: &str = "Start in 10 s";
pub const HOLDING: &str = "Nothing has been sent yet.";
pub const STARTING: &str = "Starting…";

/// The countdown.
pub fn starts_in(seconds: u32) -> String {
    format!("Starts in {seconds} s")
}
