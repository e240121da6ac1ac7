//! The common part of the protection controllers: a finalizer that is added at once and removed when nothing uses the
//! object.

use serde_json::Value;

use super::Next;
use super::client::Client;
use super::read::{add_finalizer, has_finalizer, is_deleting, remove_finalizer};
use crate::status::Status;
use crate::store::Key;

/// Adds the finalizer to an object, and removes it from one that is being deleted once nothing uses it.
pub(super) fn protect(
    key: &Key,
    client: &mut Client<'_>,
    finalizer: &str,
    is_used: impl Fn(&Value, &Client<'_>) -> bool,
) -> Result<Next, Status> {
    let Some(object) = client.get(key) else { return Ok(Next::Rest) };
    if is_deleting(&object) {
        if has_finalizer(&object, finalizer) && !is_used(&object, client) {
            client.modify(key, |it| {
                remove_finalizer(it, finalizer);
            })?;
        }
    } else if !has_finalizer(&object, finalizer) {
        client.modify(key, |it| {
            add_finalizer(it, finalizer);
        })?;
    }
    Ok(Next::Rest)
}
