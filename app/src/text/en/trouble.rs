//! The page of everything that is being deleted.

use super::{
    super::{NAMED, words},
    many,
    unit::LANE_CLUSTER,
};

pub const TROUBLE: &str = "Trouble";
pub const TROUBLE_LEAD: &str = "Everything that is being deleted, in a run or not.";
pub const LIST_ORDER: &str = "Order";
pub const BY_HARM: &str = "By cause, harm first";
pub const BY_AGE: &str = "By age";
pub const BY_NAMESPACE: &str = "By namespace";

/// How many objects are being deleted and are not late.
pub fn in_time(count: usize) -> String {
    format!(
        "{} being deleted, within the expected time",
        many(count, "other object", "other objects")
    )
}

/// Between the age of a deletion and the time by which it ends.
pub const DUE: &str = ", expected to end by ";

/// The heading of the causes for which objects in these namespaces wait.
pub fn in_namespaces(names: &[String]) -> String {
    if names.is_empty() {
        return LANE_CLUSTER.to_owned();
    }
    let (shown, more) = names.get(..NAMED).map_or((names, ""), |first| (first, ", …"));
    let more = if shown.len() < names.len() { more } else { "" };
    format!("Namespace {}{more}", words(shown))
}

pub const NO_TROUBLE: &str = "No deletion is in trouble";
pub const NO_TROUBLE_MEANS: &str =
    "Everything that is being deleted is within its expected time, as far as Unwind can see.";
