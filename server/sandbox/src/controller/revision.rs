//! ControllerRevisions: the templates that a StatefulSet or DaemonSet has had: pkg/controller/history.

use serde_json::{Value, json};

use super::client::Client;
use super::pods::template_hash;
use super::read::{controller_reference, name, namespace, uid};
use super::resource::CONTROLLER_REVISIONS;
use crate::status::Status;

/// The label that distinguishes the Pods of one revision.
pub(super) const HASH: &str = "controller-revision-hash";

/// Records the current template of an owner unless it is recorded. Returns its hash.
pub(super) fn record(owner: &Value, client: &mut Client<'_>) -> Result<String, Status> {
    let template = &owner["spec"]["template"];
    let hash = template_hash(template);
    let revision = format!("{}-{hash}", name(owner));
    if client.find(CONTROLLER_REVISIONS, namespace(owner), &revision).is_none() {
        let mut labels = template.pointer("/metadata/labels").cloned().unwrap_or_else(|| json!({}));
        labels[HASH] = json!(hash);
        let number = client.controlled(CONTROLLER_REVISIONS, uid(owner)).len() + 1;
        let object = json!({
            "metadata": {
                "name": revision,
                "namespace": namespace(owner),
                "labels": labels,
                "ownerReferences": [controller_reference(owner)],
            },
            "data": {"spec": {"template": template}},
            "revision": number,
        });
        client.create_if_absent(CONTROLLER_REVISIONS, object)?;
    }
    Ok(hash)
}
