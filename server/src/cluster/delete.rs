//! The DELETE of one object, and its dry run.

use http::Request;
use kube::client::Body;
use serde_json::json;
use teardown::{
    object::{Kind, ObjectRef, Uid},
    plan::Propagation,
};

use super::{
    convert,
    request::{self, Failure},
};

/// The options of a DELETE.
#[derive(Clone, Copy, Debug)]
pub(super) struct DeleteOptions<'a> {
    /// The object is deleted only if it has this UID.
    pub(super) uid: &'a Uid,
    /// The object is deleted only at this version.
    pub(super) version: Option<&'a str>,
    /// The propagation policy.
    pub(super) propagation: Propagation,
    /// Nothing is deleted, and the answer is the one that a DELETE would have.
    pub(super) dry_run: bool,
}

/// The DELETE of an object; `None` for a name that no path can hold.
pub(super) fn delete(
    kind: &Kind,
    object: &ObjectRef,
    options: &DeleteOptions<'_>,
) -> Option<Result<Request<Body>, Failure>> {
    let mut path = request::object_path(kind, object)?;
    // The policy is explicit, because the default is Orphan for Jobs and ReplicationControllers. Every group accepts
    // DeleteOptions of `v1`.
    let mut body = json!({
        "kind": "DeleteOptions",
        "apiVersion": "v1",
        "preconditions": { "uid": options.uid },
        "propagationPolicy": match options.propagation {
            Propagation::Background => "Background",
            Propagation::Orphan => "Orphan",
        },
    });
    if let Some(version) = options.version {
        body["preconditions"]["resourceVersion"] = version.into();
    }
    if options.dry_run {
        // The API server reads the body alone. The query lets every log of requests distinguish a dry run from a DELETE.
        body["dryRun"] = json!(["All"]);
        path.push_str("?dryRun=All");
    }
    let accept = convert::metadata_media_type(kind);
    Some(request::delete(&path, accept, body.to_string().into_bytes()))
}
