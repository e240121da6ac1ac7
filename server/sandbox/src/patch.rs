//! The patches that a client may send, and their effect on an object.

mod apply;
mod strategic;

use serde_json::Value;

use crate::{
    kind::{Kind, Shape},
    object::{self, json_type},
    status::Status,
};

/// The largest number of operations in a JSON patch (`handlers/patch.go`).
const OPERATIONS: usize = 10_000;
/// The largest total size of the values that `copy` operations copy, in bytes of JSON.
const COPIED: usize = 3 * 1024 * 1024;
/// The depth to which an object may nest between two operations.
const DEPTH: usize = 120;

/// A patch, by its content type.
#[derive(Debug, Clone, PartialEq)]
pub enum Patch {
    /// `application/json-patch+json`
    Json(Value),
    /// `application/merge-patch+json`
    Merge(Value),
    /// `application/strategic-merge-patch+json`
    Strategic(Value),
    /// `application/apply-patch+yaml`, as JSON.
    Apply { object: Value, force: bool },
}

impl Patch {
    /// Applies the patch to an object.
    ///
    /// # Errors
    ///
    /// 400 for a malformed patch, 422 where an operation or a test fails.
    pub fn apply(&self, kind: &Kind, object: &Value) -> Result<Value, Status> {
        match self {
            Self::Json(patch) => json(object, patch),
            Self::Merge(patch) => {
                check_map(patch)?;
                let mut patched = object.clone();
                json_patch::merge(&mut patched, patch);
                Ok(patched)
            }
            Self::Strategic(_) if kind.is_custom() || !kind.api_service.is_empty() => {
                Err(Status::unsupported_media_type(&[
                    "application/json-patch+json",
                    "application/merge-patch+json",
                    "application/apply-patch+yaml",
                ]))
            }
            Self::Strategic(patch) => {
                check_map(patch)?;
                Ok(strategic::merged(object, patch))
            }
            Self::Apply { object: applied, .. } => {
                check_map(applied)?;
                Ok(apply::merged(Shape::of(kind), object, applied))
            }
        }
    }
}

fn check_map(patch: &Value) -> Result<(), Status> {
    if patch.is_object() {
        return Ok(());
    }
    let sort = json_type(patch);
    let why =
        format!("json: cannot unmarshal {sort} into Go value of type map[string]interface {{}}");
    Err(Status::bad_request(format!("error decoding patch: {why}")))
}

/// Applies one operation after the other, so that neither repeated copies nor depth can grow without end.
fn json(object: &Value, patch: &Value) -> Result<Value, Status> {
    let whole = (!patch.is_array()).then_some((patch, "[]handlers.jsonPatchOp"));
    let part = || patch.as_array()?.iter().find(|one| !one.is_object());
    if let Some((odd, expected)) = whole.or_else(|| Some((part()?, "handlers.jsonPatchOp"))) {
        return Err(Status::bad_request(format!(
            "error decoding patch: json: cannot unmarshal {} into Go value of type {expected}",
            json_type(odd)
        )));
    }
    // An invalid operation is an error only when it is applied.
    let operations: json_patch::Patch =
        serde_json::from_value(patch.clone()).map_err(|_| Status::unfit())?;
    if operations.0.len() > OPERATIONS {
        let allowed = format!(
            "Request entity too large: The allowed maximum operations in a JSON patch is {OPERATIONS}, got {}",
            operations.0.len()
        );
        return Err(Status::entity_too_large(allowed));
    }
    let (mut patched, mut copied) = (object.clone(), 0);
    for operation in operations.0 {
        if let json_patch::PatchOperation::Copy(copy) = &operation {
            let size = copy.from.resolve(&patched).map_or(0, |value| value.to_string().len());
            copied += size;
            if copied > COPIED {
                return Err(Status::unfit());
            }
        }
        json_patch::patch(&mut patched, &[operation]).map_err(|_| Status::unfit())?;
        if object::is_deeper_than(&patched, DEPTH) {
            return Err(Status::bad_request("the object nests too deeply"));
        }
    }
    Ok(patched)
}
