//! Authorization of requests: [`crate::cluster::rbac`] decides on the verb and the target of each.

use super::{
    query::Query,
    request::{Target, Verb},
};
use crate::{
    cluster::{
        Actor, Cluster,
        rbac::{Attributes, allows, refusal},
    },
    selector::Fields,
    status::Status,
};

/// Authorizes a request, or returns the refusal in kube-apiserver's words.
pub(super) fn check(
    cluster: &Cluster,
    actor: &Actor,
    verb: Verb,
    target: &Target,
    query: &Query,
) -> Result<(), Status> {
    let mut attributes = of_request(verb, target);
    // A field selector on one name narrows the request to that object.
    let selected = Fields::parse(query.get("fieldSelector")).unwrap_or_default();
    if matches!(verb, Verb::List | Verb::Watch | Verb::DeleteCollection)
        && let Some(name) = selected.name()
    {
        attributes.name = name;
    }
    if allows(cluster, actor, &attributes) { Ok(()) } else { Err(refusal(actor, &attributes)) }
}

/// The refusal of a request, even if it would be authorized.
pub(super) fn refused(actor: &Actor, verb: Verb, target: &Target) -> Status {
    refusal(actor, &of_request(verb, target))
}

pub(super) fn of_request(verb: Verb, target: &Target) -> Attributes<'_> {
    match target {
        Target::Path(path) => Attributes { verb: verb.name(), path, ..Attributes::default() },
        Target::Resource { group, namespace, plural, name, subresource, .. } => {
            Attributes::of_resource(verb.name(), (group, plural, subresource), namespace, name)
        }
    }
}
