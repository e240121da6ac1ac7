//! The claims of a StatefulSet's Pods, and their owners by `persistentVolumeClaimRetentionPolicy`:
//! `updateClaimOwnerRefForSetAndPod` in pkg/controller/statefulset/stateful_set_utils.go.

use serde_json::{Value, json};

use super::{ordinal, range};
use crate::controller::client::Client;
use crate::controller::read::{
    controller_reference, list, name, namespace, owners, set, text, uid,
};
use crate::controller::resource::CLAIMS;
use crate::status::Status;

/// Makes a claim from one of the set's templates.
pub(super) fn create(
    owner: &Value,
    template: &Value,
    claim: &str,
    client: &mut Client<'_>,
) -> Result<(), Status> {
    let mut labels = template.pointer("/metadata/labels").cloned().unwrap_or_else(|| json!({}));
    let selected = owner.pointer("/spec/selector/matchLabels").and_then(Value::as_object);
    for (key, value) in selected.into_iter().flatten() {
        labels[key.as_str()] = value.clone();
    }
    let mut object = json!({
        "metadata": {"name": claim, "namespace": namespace(owner), "labels": labels},
        "spec": template["spec"],
    });
    if let Some(annotations) = template.pointer("/metadata/annotations") {
        set(&mut object, &["metadata", "annotations"], annotations.clone());
    }
    if deletes(owner, "whenDeleted") {
        set(&mut object, &["metadata", "ownerReferences"], json!([controller_reference(owner)]));
    }
    client.create_if_absent(CLAIMS, object)
}

fn deletes(owner: &Value, when: &str) -> bool {
    text(&owner["spec"]["persistentVolumeClaimRetentionPolicy"], &format!("/{when}")) == "Delete"
}

/// Sets the owners of a Pod's claims according to the policy. Claims that another controller owns are left alone.
pub(super) fn update(owner: &Value, pod: &Value, client: &mut Client<'_>) -> Result<(), Status> {
    let condemned = ordinal(owner, pod).is_some_and(|at| !range(owner).contains(&at));
    let by_pod = deletes(owner, "whenScaled") && condemned;
    let by_set = deletes(owner, "whenDeleted") && !by_pod;
    for template in list(owner, "/spec/volumeClaimTemplates") {
        let Some(claim) =
            client.find(CLAIMS, namespace(owner), &format!("{}-{}", name(template), name(pod)))
        else {
            continue;
        };
        let ours = |it: &&Value| [uid(owner), uid(pod)].contains(&text(it, "/uid"));
        let foreign: Vec<Value> = owners(&claim).iter().filter(|it| !ours(it)).cloned().collect();
        if foreign.iter().any(|it| crate::controller::read::flag(it, "/controller")) {
            continue;
        }
        let mut wanted = foreign;
        if by_set {
            wanted.push(controller_reference(owner));
        }
        if by_pod {
            wanted.push(controller_reference(pod));
        }
        if wanted != owners(&claim) {
            let key = CLAIMS.key(namespace(&claim), name(&claim));
            client.modify(&key, |it| {
                set(it, &["metadata", "ownerReferences"], Value::Array(wanted))
            })?;
        }
    }
    Ok(())
}
