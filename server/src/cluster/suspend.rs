//! The PATCH that suspends a declaring parent, and its dry run.

use http::{Method, Request};
use kube::client::Body;
use serde_json::Value;
use teardown::object::{Kind, ObjectRef};

use super::request::{self, Failure};

/// The PATCH of an object by a JSON patch; `None` for a name that no path can hold. With `dry_run` nothing is changed, and the answer
/// is the one that the PATCH would have.
pub(super) fn suspend(
    kind: &Kind,
    object: &ObjectRef,
    patch: &Value,
    dry_run: bool,
) -> Option<Result<Request<Body>, Failure>> {
    let mut path = request::object_path(kind, object)?;
    if dry_run {
        // Unlike that of a DELETE, the body of a PATCH has no options
        // (`staging/src/k8s.io/apiserver/pkg/endpoints/handlers/patch.go`).
        path.push_str("?dryRun=All");
    }
    Some(request::with_body(Method::PATCH, &path, Some((request::JSON_PATCH, patch))))
}
