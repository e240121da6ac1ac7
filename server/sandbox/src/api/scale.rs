//! Requests for the subresource `scale`.

use std::sync::Arc;

use super::{
    Reply, body,
    request::{Request, Verb},
    write,
};
use crate::{cluster::Cluster, kind::Kind, object, patch::Patch, status::Status, store::Key};

pub(super) fn answer(
    cluster: &mut Cluster,
    request: &Request,
    verb: Verb,
    kind: &Arc<Kind>,
    key: &Key,
) -> Result<Reply, Status> {
    let wanted = match verb {
        Verb::Get => return cluster.scale(key).map(Reply::json),
        Verb::Patch => {
            let patch = match write::read_patch(request, kind)? {
                // The lists in a Scale have no merge keys.
                Patch::Strategic(patch) => Patch::Merge(patch),
                patch => patch,
            };
            patch.apply(kind, &cluster.scale(key)?)?
        }
        _ => body::json(request)?,
    };
    let name = object::name(&wanted);
    if name != &*key.name {
        let why = format!(
            "the name of the object ({name}) does not match the name on the URL ({})",
            key.name
        );
        return Err(Status::bad_request(why));
    }
    let write = write::options(request, "UpdateOptions")?;
    cluster.rescale(&request.actor, &write, key, &wanted).map(Reply::json)
}
