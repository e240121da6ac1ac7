//! The texts of a plan and of its confirmation.

mod preflight;

use teardown::{
    object::ObjectRef,
    plan::{
        Blocker, ClaimDeleter, DataFate, Difference, Fate, GivenUp, Propagation, Step, StepAction,
        Unlistable, Waived,
    },
    relation::{DeletionPhase, EdgeKind},
};

pub use self::preflight::preflight;
use super::{
    super::{isolated, named, some_of, words},
    drawer::more,
    many, objects,
};

pub const WILL_DELETE: &str = "To delete";
pub const WILL_KEEP: &str = "Kept";
pub const WILL_LEAVE: &str = "Left to the cluster";
pub const DATA_DESTROYED: &str = "Volumes destroyed";
pub const DATA_SAFE: &str = "Volumes left in place";
pub const NO_DATA_DESTROYED: &str = "No volume’s data is destroyed.";
pub const DATA_TITLE: &str = "Data";
pub const KEPT_TITLE: &str = "Kept, and why";
pub const LEFT_TITLE: &str = "Left to the cluster";
pub const LEFT_LEAD: &str =
    "Kubernetes creates these objects and removes them by itself, with their namespace or owner.";
pub const NOTHING_KEPT: &str = "Nothing of the unit is kept.";
pub const ORDER_TITLE: &str = "Steps";
pub const ORDER_LEAD: &str =
    "Each object goes once everything it waits for is gone. Columns show the earliest turn.";
pub const GIVEN_UP_TITLE: &str = "Order that is not kept";
pub const GIVEN_UP_LEAD: &str = "Keeping it as well would make these objects wait for each other. A stronger reason goes the other way.";
pub const WAITS_FOR_NOTHING: &str = "Waits for no deletion";
pub const EXPORT: &str = "Plan as JSON";
pub const START: &str = "Start teardown…";
pub const PREFLIGHT: &str = "Checks before the teardown";
pub const CHECK_AGAIN: &str = "Check again";
pub const PLAN_AGAIN: &str = "Make a new plan";
pub const NO_PLAN: &str = "This plan is not known";
pub const NO_PLAN_MEANS: &str =
    "Plans are kept for a limited time, and are lost when the server restarts.";
pub const BACK_TO_UNIT: &str = "Back to the unit";
pub const CHOICES: &str = "Choices";
pub const CHOICES_LEAD: &str =
    "They make another plan. Its URL contains them, so you can share it.";
pub const UNCLAIMED: &str = "Unclaimed objects";
pub const UNCLAIMED_LEAD: &str = "Nothing says that they are part of the unit. They stay, with what they need, unless you include them.";
pub const INCLUDE_ALL: &str = "Include all unclaimed objects";
pub const KEEP_DATA: &str = "Keep the data: claims and volumes stay, and their namespaces";
pub const ONLY_NAMESPACES: &str = "Only in these namespaces";
pub const LEAVE_OUT_KINDS: &str = "Leave out kinds";
pub const LEAVE_OUT_OBJECT: &str = "Leave out an object";
pub const OBJECT_FORM: &str = "KIND.GROUP/NAMESPACE/NAME";
pub const OVERRIDE: &str = "Delete although an annotation asks to keep it, or others use it";
pub const WITHOUT_PROOF: &str = "Delete a namespace in which a kind may not be listed";
pub const UNREPORTED_NODE: &str = "A node that never reports how its Pods end";
pub const NODE_FORM: &str = "NODE";
pub const MAKE_PLAN: &str = "Make the plan";
pub const EPHEMERAL_TITLE: &str = "Data that cannot be kept";
pub const EPHEMERAL_LEAD: &str =
    "A Pod owns each of these claims, and Kubernetes deletes them with the Pod.";
pub const BY_NAME: &str =
    "No label says that these are part of the unit. Only their namespace does. Confirm each:";
pub const NOTHING_TO_DO: &str = "Nothing to delete";

/// The subject of a plan: the unit, or the objects that its run waits for outside its plan.
pub fn subject(unit: String, is_beside: bool) -> String {
    if is_beside { format!("objects outside the plan of {unit}") } else { unit }
}

/// A plan's heading.
pub fn plan_title(unit: &str) -> String {
    format!("Teardown of {unit}")
}

/// The plan's name, in front of its time.
pub fn plan_lead(id: &str) -> String {
    format!("Plan {id}, made")
}

/// `7 × 40Gi`, or `40Gi`.
pub fn times(count: usize, what: &str) -> String {
    if count == 1 { what.to_owned() } else { format!("{count} × {what}") }
}

/// The number of steps.
pub fn waves(count: u32) -> String {
    format!("in {}", many(count as usize, "step", "steps"))
}

/// All objects that a plan speaks of.
pub fn of_objects(count: usize) -> String {
    format!("of {}", objects(count))
}

/// The namespaces that go, with everything in them.
pub fn namespaces_go(names: &[String]) -> String {
    let (what, verb) = match names.len() {
        1 => ("namespace", "goes"),
        _ => ("namespaces", "go"),
    };
    format!("The {what} {} {verb} as well, with everything left inside.", some_of(names, 6))
}

/// The hidden kinds that a plan depends on.
pub fn plan_hidden(kinds: &[String]) -> String {
    let kinds = words(kinds);
    format!(
        "Not visible in this cluster: {kinds}. A step that waits for one of them keeps waiting."
    )
}

/// The choice of a namespace that goes although nobody can prove it empty.
pub fn without_proof(it: &Unlistable) -> String {
    format!(
        "{}, without proof that it holds no {}",
        isolated(&it.namespace),
        isolated(&it.resource)
    )
}

/// The consequence of that choice, which a person confirms.
pub fn goes_unproven(it: &Unlistable) -> String {
    let (namespace, resource) = (isolated(&it.namespace), isolated(&it.resource));
    format!(
        "Namespace {namespace} goes without proof that it holds no {resource}: the cluster deletes everything in it, unseen by Unwind."
    )
}

/// The consequence of taking the Pods of a node as ended, which a person confirms.
pub fn goes_unreported(node: &str) -> String {
    format!(
        "Pods of node {} count as ended once they are gone from the API: their claims are deleted although nothing reports that the containers ended.",
        isolated(node)
    )
}

/// The object that goes although others use it, with what they lose, which a person confirms.
pub fn goes_waived(waived: &Waived) -> String {
    let loss = match waived.edge {
        EdgeKind::Finishes => "nothing clears their finalizers any more, so their deletion hangs",
        EdgeKind::Provisions => "nothing makes, unmounts or removes their volumes any more",
        EdgeKind::Controls => "nothing looks after them any more, nor after their load balancers",
        EdgeKind::Guards => "nothing checks their changes and deletions any more",
        EdgeKind::Routes | EdgeKind::Selects => "their requests fail",
        EdgeKind::RunsAs => "they lose its rights, and their new Pods may fail",
        _ => "they fail when they next need it",
    };
    let mut users: String = waived.users.iter().map(named).collect::<Vec<_>>().join(", ");
    let rest = waived.count.saturating_sub(waived.users.len());
    if rest > 0 {
        users = format!("{users} {}", more(rest));
    }
    format!("{} goes although others use it: {users}. Then {loss}.", named(&waived.object))
}

/// The exception to a plain DELETE.
pub fn action(step: &Step) -> Option<&'static str> {
    match step.action {
        StepAction::Delete { .. } if step.is_parent() => Some("is suspended first"),
        StepAction::Delete { propagation: Propagation::Background } => None,
        StepAction::Delete { propagation: Propagation::Orphan } => {
            Some("its dependents stay at first")
        }
        StepAction::Await => Some("removed by its controller"),
        StepAction::Suspend => Some("is suspended, and stays"),
    }
}

/// An object that is on its way out before the run starts; the moment follows.
pub const TERMINATING_SINCE: &str = "Already terminating; the run waits for it. Deletion accepted";

/// The phase that an object in front of a step must have reached.
pub fn phase(phase: DeletionPhase) -> &'static str {
    match phase {
        DeletionPhase::Present => "exists",
        DeletionPhase::Accepted => "is terminating",
        DeletionPhase::Gone => "is gone",
        DeletionPhase::PodsGone => "and all its Pods are gone",
    }
}

/// The edge that puts something in front of a step.
pub fn blocker(before: &ObjectRef, blocker: &Blocker) -> String {
    format!("after {} {}", named(before), phase(blocker.phase))
}

/// An order that the plan does not keep.
pub fn given_up(given_up: &GivenUp) -> String {
    format!("{} before {}", named(&given_up.first), named(&given_up.then))
}

/// The fate of a volume’s data.
pub fn fate(fate: Fate) -> &'static str {
    match fate {
        Fate::Destroyed => "Destroyed",
        Fate::Unknown => "Not known: the volume cannot be seen",
        Fate::LeftBehind => "Left in place",
        Fate::Kept => "Stays in use",
    }
}

/// The object whose operator deletes a claim.
pub fn deleted_by(by: &ClaimDeleter) -> String {
    format!("{} deletes the claim: {}", named(&by.object), isolated(&by.mark))
}

/// A difference between the cluster and a plan.
pub fn difference(difference: &Difference) -> String {
    match difference {
        Difference::Added { object } => format!("New: {}", named(object)),
        Difference::Removed { object } => format!("No longer to delete: {}", named(object)),
        Difference::Recreated { object } => {
            format!("A new object under the same name: {}", named(object))
        }
        Difference::Changed { object } => format!("Changed: {}", named(object)),
        Difference::Hidden { resource } => format!("No longer visible: {resource}"),
    }
}

// Confirming.

/// The dialog's heading.
pub fn confirm_title(unit: &str) -> String {
    format!("Tear down {unit}?")
}

/// The lead of the confirmation.
pub fn confirm_lead(steps: usize) -> String {
    format!("{} will be deleted. An accepted deletion cannot be undone.", objects(steps))
}

/// The cluster.
pub fn confirm_where(cluster: &str, is_production: bool) -> String {
    let production = if is_production { " (production)" } else { "" };
    format!("Cluster: {}{production}", isolated(cluster))
}

/// The data that is lost.
pub fn confirm_data(volumes: usize) -> String {
    format!("The data on {} will be destroyed.", many(volumes, "volume", "volumes"))
}

/// The data that may be lost.
pub fn confirm_unseen_data(volumes: usize) -> String {
    format!(
        "The data on {} may be destroyed: it cannot be seen.",
        many(volumes, "volume", "volumes")
    )
}

/// A volume as people know it: by its claim, its size and its user. The volume's own name, often a UUID, is for one
/// without a claim.
pub fn volume(data: &DataFate, user: Option<&ObjectRef>) -> String {
    let name = data.claim.as_ref().map_or_else(|| named(&data.volume), named);
    let size = data.capacity.as_ref().map(|capacity| format!(", {capacity}"));
    let user = user.map(|user| format!(", used by {}", named(user)));
    format!("{name}{}{}", size.unwrap_or_default(), user.unwrap_or_default())
}

/// One tick for many volumes.
pub fn tick_all(volumes: usize) -> String {
    format!("Destroy the data on all {volumes} of them")
}

/// The label of the field.
pub fn confirm_type(unit: &str) -> String {
    format!("Type {unit} to confirm")
}

/// The conditions that the button still waits for.
pub fn confirm_missing(unit: &str, ticks: usize, only_volumes: bool, name: bool) -> String {
    let (one, more) = if only_volumes { ("volume", "volumes") } else { ("box", "boxes") };
    let ticks = (ticks > 0).then(|| format!("tick {}", many(ticks, one, more)));
    let name = name.then(|| format!("type {unit}"));
    let missing: Vec<String> = ticks.into_iter().chain(name).collect();
    if missing.is_empty() { String::new() } else { format!("To start: {}", missing.join(", ")) }
}

pub const CONFIRM_MISMATCH: &str = "That is not the unit’s name.";
pub const CONFIRM_START: &str = "Start teardown";
pub const HOLDING: &str = "Nothing has been sent yet.";
pub const STARTING: &str = "Starting…";

/// The countdown.
pub fn starts_in(seconds: u32) -> String {
    format!("Starts in {seconds} s")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn button_says_what_is_missing_until_nothing_is() {
        assert_eq!(confirm_missing("shop", 3, true, true), "To start: tick 3 volumes, type shop");
        assert_eq!(confirm_missing("shop", 1, false, false), "To start: tick 1 box");
        assert_eq!(confirm_missing("shop", 0, true, true), "To start: type shop");
        assert_eq!(confirm_missing("shop", 0, true, false), "");
    }
}
