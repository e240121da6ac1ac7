//! Values of earlier versions of the format, brought to the present one step by step. From version 4 on every version stays
//! readable.
//!
//! To change the format: raise [`VERSION`], and add the step from the version before to [`UPCASTS`]. Record the version
//! before first, see `server/src/hub/tests/recorded.rs`.

use serde_json::Value;

use super::place::Place;

/// The version that this program writes.
pub(super) const VERSION: u32 = OLDEST + UPCASTS.len() as u32;
/// The oldest version that this program reads.
pub(super) const OLDEST: u32 = 4;

/// Turns a value of one version into one of the next.
type Upcast = fn(&Place<'_>, Value) -> Value;

/// The step from each version to the next; the first is from [`OLDEST`].
const UPCASTS: [Upcast; 5] = [
    // Version 5 has an epoch in front of each value. The values are the same.
    |_, value| value,
    // Version 6 also has the call `readContent`.
    |_, value| value,
    // Version 7 also has the event `unproven`, the choices `unproven` and `unreported`, and whether an attempt is settled. Without
    // it none is.
    |_, value| value,
    // Version 8 also has the event `keptClaim`, the reason `noDeleteVerb` to keep an object, the outcome `madeOther` of an attempt,
    // and the objects that an attempt sent away without confirmation. Without them there are none.
    |_, value| value,
    // Version 9 also has the outcome `interrupted` of an attempt, whether one keeps claims, the objects that waited when it was
    // made, the object that changed around one whose outcome is unknown or that is unfinished, the change that paused a run, the
    // reason `askedToKeep` for which a step waits, the object that names the unit for a step, the choice `waive` and what a plan
    // waives. Without them there are none.
    |_, value| value,
];

/// A value of an earlier version as the present one has it.
pub(super) fn upcast(version: u32, place: &Place<'_>, value: Value) -> Value {
    upcast_by(&UPCASTS, version, place, value)
}

fn upcast_by(table: &[Upcast], version: u32, place: &Place<'_>, value: Value) -> Value {
    let first = version.saturating_sub(OLDEST) as usize;
    table.iter().skip(first).fold(value, |value, step| step(place, value))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn value_goes_through_the_steps_from_its_version_on() {
        let rename: Upcast = |place, mut value| {
            if let (Place::Head(_), Some(fields)) = (place, value.as_object_mut())
                && let Some(by) = fields.remove("by")
            {
                fields.insert("person".to_owned(), by);
            }
            value
        };
        let nest: Upcast = |_, value| json!({ "nested": value });
        let table = [rename, nest];
        let (head, plan) = (Place::Head("r"), Place::Plan("p"));
        let old = json!({ "by": "Li" });
        assert_eq!(
            upcast_by(&table, OLDEST, &head, old.clone()),
            json!({ "nested": { "person": "Li" } })
        );
        assert_eq!(
            upcast_by(&table, OLDEST, &plan, old.clone()),
            json!({ "nested": { "by": "Li" } })
        );
        assert_eq!(
            upcast_by(&table, OLDEST + 1, &head, old.clone()),
            json!({ "nested": { "by": "Li" } })
        );
        assert_eq!(upcast_by(&table, OLDEST + 2, &head, old.clone()), old);
    }
}
