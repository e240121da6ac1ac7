//! Worlds: sets of objects that a cluster can begin with, each with a script of the faults that happen to them. The
//! worlds of a release are in `world/`: NAME.json holds the objects, NAME.faults the script.

use std::{collections::HashMap, sync::Arc};

use serde_json::Value;

use crate::{
    cluster::Actor,
    control_plane::ControlPlane,
    fault::BadLine,
    kubectl::export::{self, ExportError},
    object,
    patch::Patch,
    status::Status,
};

/// The worlds of a release: their names, objects and scripts.
const WORLDS: [(&str, &str, &str); 12] = [
    ("consortium", include_str!("world/consortium.json"), ""),
    ("shop", include_str!("world/shop.json"), ""),
    ("s1", include_str!("world/s1.json"), include_str!("world/s1.faults")),
    ("s2", include_str!("world/s2.json"), include_str!("world/s2.faults")),
    ("s3", include_str!("world/s3.json"), include_str!("world/s3.faults")),
    ("s4", include_str!("world/s4.json"), include_str!("world/s4.faults")),
    ("s4-forced", include_str!("world/s4-forced.json"), include_str!("world/s4-forced.faults")),
    ("s5", include_str!("world/s5.json"), include_str!("world/s5.faults")),
    ("s5-cut-off", include_str!("world/s5-cut-off.json"), include_str!("world/s5-cut-off.faults")),
    ("shutdown", include_str!("world/shutdown.json"), include_str!("world/shutdown.faults")),
    (
        "load-balancer",
        include_str!("world/load-balancer.json"),
        include_str!("world/load-balancer.faults"),
    ),
    ("manager", include_str!("world/manager.json"), include_str!("world/manager.faults")),
];

/// The reason why a world cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum WorldError {
    #[error(transparent)]
    Objects(#[from] ExportError),
    #[error("nothing is known of kind {0:?}")]
    Kind(String),
    #[error("the API refuses {name:?}: {message}")]
    Refused { name: String, message: String },
    #[error("its faults cannot be read")]
    Faults(#[source] BadLine),
}

/// The names of the worlds of a release.
pub fn names() -> impl Iterator<Item = &'static str> {
    WORLDS.iter().map(|(name, ..)| *name)
}

/// The objects and the script of the world of this name.
#[must_use]
pub fn text(name: &str) -> Option<(&'static str, &'static str)> {
    let found = WORLDS.iter().find(|(known, ..)| *known == name);
    found.map(|(_, objects, faults)| (*objects, *faults))
}

/// Creates objects (a JSON list, or the output of `kubectl get -o json`), and schedules the faults of a script, whose
/// times count from now.
///
/// # Errors
///
/// The first object or line that cannot be read or is refused. Objects that were created before it stay.
pub fn load(
    control_plane: &mut ControlPlane,
    objects: &str,
    faults: &str,
) -> Result<(), WorldError> {
    let faults = control_plane.parse_faults(faults).map_err(WorldError::Faults)?;
    create_all(control_plane, export::read(objects)?)?;
    control_plane.cluster.faults.extend(faults);
    Ok(())
}

/// Creates objects in the order in which they are given. An object with a UID comes from the export of another cluster:
/// its dependents there become its dependents here, and an object that exists already under its name takes its place.
///
/// # Errors
///
/// The first object that is refused. Objects that were created before it stay.
pub fn create_all(control_plane: &mut ControlPlane, objects: Vec<Value>) -> Result<(), WorldError> {
    let mut uids = HashMap::new();
    for mut object in objects {
        let exported_uid = object::uid(&object).to_owned();
        if exported_uid.is_empty() {
            create(control_plane, object)?;
        } else {
            export::replace_owner_uids(&mut object, &uids);
            let cluster = &control_plane.cluster;
            let existing = cluster.key_of(&object).and_then(|key| cluster.get(&key)).cloned();
            let here = match existing {
                Some(existing) => existing,
                None => create(control_plane, object)?,
            };
            uids.insert(exported_uid, object::uid(&here).to_owned());
        }
        // A namespace needs its service account before Pods come, and a definition is served before its objects.
        control_plane.run_until_idle();
    }
    Ok(())
}

/// Creates one object. A kubelet registers its Node by itself, so one that exists gets the labels and the spec, as a cloud gives it
/// a zone and the name of its machine.
fn create(control_plane: &mut ControlPlane, object: Value) -> Result<Arc<Value>, WorldError> {
    let cluster = &mut control_plane.cluster;
    let unknown = || WorldError::Kind(object::text(&object, &["kind"]).to_owned());
    let key = cluster.key_of(&object).ok_or_else(unknown)?;
    let is_registered = key.is_of("", "nodes") && cluster.get(&key).is_some();
    let somebody = Actor::admin();
    let created = if is_registered {
        cluster.patch(&somebody, &key, &Patch::Merge(object), "")
    } else {
        cluster.create(&somebody, &key.group, &key.plural, &key.namespace, object)
    };
    let refused = |status: Status| WorldError::Refused {
        name: key.name.to_string(),
        message: status.message,
    };
    created.map_err(refused)
}
