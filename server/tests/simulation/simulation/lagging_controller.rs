//! A controller whose cache lags: it still sees a ReplicaSet or StatefulSet that is gone, misses a Pod of it, and creates one. The
//! garbage collector takes the Pod later, because its owner is gone.

use sandbox::store::Change;
use serde_json::{Value, json};

use super::Simulation;
use crate::{
    application::{UNIT, late_object::LAGGING},
    state::{kind, list, name, namespace, uid},
};

impl Simulation {
    /// Creates a Pod for each workload of the unit that has gone since the last time.
    pub(super) fn run_lagging_controller(&mut self) {
        if !self.has_lagging_controller {
            return;
        }
        let new =
            self.events.iter().skip(std::mem::replace(&mut self.lagging_since, self.events.len()));
        let is_one = |it: &Value| {
            matches!(kind(it), "ReplicaSet" | "StatefulSet") && namespace(it).starts_with(UNIT)
        };
        let gone = new.filter(|event| event.change == Change::Deleted && is_one(&event.object));
        for workload in gone.map(|event| event.object.clone()).collect::<Vec<_>>() {
            let pod = pod_of(&workload);
            self.log(format!("a controller that lags creates Pod {}", name(&pod)));
            self.create_object(namespace(&workload), pod);
        }
    }
}

fn pod_of(workload: &Value) -> Value {
    let mut pod = workload["spec"]["template"].clone();
    (pod["apiVersion"], pod["kind"]) = (json!("v1"), json!("Pod"));
    pod["metadata"]["name"] = json!(format!("{}{LAGGING}", name(workload)));
    pod["metadata"]["namespace"] = json!(namespace(workload));
    pod["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "apps/v1", "kind": kind(workload), "name": name(workload), "uid": uid(workload),
        "controller": true, "blockOwnerDeletion": true,
    }]);
    // A set gives its Pods their claims by number.
    if let Some(template) = list(workload, "/spec/volumeClaimTemplates").first() {
        let claim = format!("{}-{}-0", name(template), name(workload));
        let volume = json!({"name": name(template), "persistentVolumeClaim": {"claimName": claim}});
        match pod["spec"]["volumes"].as_array_mut() {
            Some(volumes) => volumes.push(volume),
            None => pod["spec"]["volumes"] = json!([volume]),
        }
    }
    pod
}
