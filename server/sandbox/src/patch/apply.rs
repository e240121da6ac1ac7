//! Server-side apply, as far as it adds and changes: what is applied is merged in, lists by their keys.

use serde_json::Value;

use super::strategic;

/// The object with the applied fields. Fields that an earlier apply had and this one has not are kept: the sandbox
/// does not track who owns which.
pub(super) fn applied(object: &Value, applied: &Value) -> Value {
    strategic::merged(object, applied)
}
