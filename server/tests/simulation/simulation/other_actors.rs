//! Other actors in the cluster: operators of custom resources, and users who create, scale and delete objects during
//! the run.

use std::collections::BTreeSet;

use sandbox::{
    cluster::{Actor, DeleteOptions},
    object::is_deleting,
    store::Key,
};
use serde_json::{Value, json};
use teardown::object::ObjectRef;

use super::Simulation;
use crate::{
    application::{BYSTANDER, FINALIZER, LOAD_BALANCER_FINALIZER, OPERATOR, UNIT},
    fault_schedule::Churn,
    state::{list, owners, text, uid, unit},
};

/// The taint that evicts Pods from a node.
const EVICTION_TAINT: &str = "example.com/away";

impl Simulation {
    /// The operator of the custom resources and the controller of the load balancers: they remove their finalizers from
    /// deleted objects. The operator does so only while it has a Pod.
    pub(super) fn run_operators(&mut self) {
        self.environment.sandbox.with(|world| {
            let cluster = &mut world.cluster;
            let is_operator = |it: &Value| !it["metadata"]["labels"][OPERATOR].is_null();
            let runs =
                cluster.list("", "pods", None).any(|pod| is_operator(pod) && !is_deleting(pod));
            let widgets = runs.then_some(("example.com", "widgets", FINALIZER));
            let services = Some(("", "services", LOAD_BALANCER_FINALIZER));
            for (group, plural, finalizer) in [widgets, services].into_iter().flatten() {
                let going: Vec<Key> = cluster
                    .list(group, plural, None)
                    .filter(|it| is_deleting(it) && sandbox::object::has_finalizer(it, finalizer))
                    .filter_map(|it| cluster.key_of(it))
                    .collect();
                for key in going {
                    _ = cluster.modify(&Actor::admin(), &key, "", |it| {
                        sandbox::object::remove_finalizer(it, finalizer);
                    });
                }
            }
        });
    }

    pub(super) fn mount_claim(&mut self, namespace: &str, claim: &str) {
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"namespace": namespace, "name": "unplanned"},
            "spec": {
                "containers": [{"name": "main", "image": "example.com/main"}],
                "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}],
            },
        });
        self.create_object(namespace, "pods", pod);
    }

    /// Creates an object as an administrator.
    pub(super) fn create_object(&self, namespace: &str, plural: &str, object: Value) {
        let made = self.environment.sandbox.with(|world| {
            let cluster = &mut world.cluster;
            cluster.create(&Actor::admin(), "", plural, namespace, object).map(|_| ())
        });
        self.log(format!("  {:?}", made.map_err(|status| status.message)));
    }

    /// Scales a Deployment, if it exists.
    pub(super) fn scale(&self, namespace: &str, name: &str, replicas: u32) {
        let key = Key::new("apps", "deployments", namespace, name);
        self.environment.sandbox.with(|world| {
            let scaled = |it: &mut Value| it["spec"]["replicas"] = json!(replicas);
            // A deleted Deployment needs no scaling.
            _ = world.cluster.modify(&Actor::admin(), &key, "", scaled);
        });
    }

    /// Suspends a Kustomization, as a person does whom a page asks for it.
    pub(super) fn suspend(&self, parent: &ObjectRef) {
        let namespace = parent.namespace.as_deref().unwrap_or_default();
        let key = Key::new(&parent.group, "kustomizations", namespace, &parent.name);
        self.environment.sandbox.with(|world| {
            let suspended = |it: &mut Value| it["spec"]["suspend"] = json!(true);
            // One that is gone makes nothing again.
            _ = world.cluster.modify(&Actor::admin(), &key, "", suspended);
        });
    }

    /// Adds the taint that evicts Pods from a node, or removes it.
    pub(super) fn taint(&self, node: &str, is_tainted: bool) {
        let key = Key::new("", "nodes", "", node);
        self.environment.sandbox.with(|world| {
            let tainted = |it: &mut Value| {
                let taints = it["spec"]["taints"].as_array();
                let others =
                    taints.into_iter().flatten().filter(|taint| taint["key"] != EVICTION_TAINT);
                let own = is_tainted.then(|| json!({"key": EVICTION_TAINT, "effect": "NoExecute"}));
                it["spec"]["taints"] = others.cloned().chain(own).collect();
            };
            _ = world.cluster.modify(&Actor::admin(), &key, "", tainted);
        });
    }

    /// Changes the cluster while the operator reads the plan.
    pub(super) fn churn(&self, churn: Churn) {
        self.log(format!("{churn:?}"));
        self.environment.sandbox.with(|world| {
            let cluster = &mut world.cluster;
            let ours = |it: &Value| text(it, "/metadata/namespace").starts_with(UNIT);
            match churn {
                Churn::PodsLost => {
                    let pods = cluster.list("", "pods", None);
                    let lost = pods.filter(|pod| ours(pod) && owners(pod).next().is_some());
                    let lost: Vec<Key> = lost.filter_map(|pod| cluster.key_of(pod)).collect();
                    for key in lost {
                        _ = cluster.delete(&Actor::admin(), &key, &DeleteOptions::default());
                    }
                }
                Churn::ScaledUp => {
                    for plural in ["deployments", "statefulsets"] {
                        let all = cluster.list("apps", plural, None).filter(|it| ours(it));
                        let keys: Vec<Key> = all.filter_map(|it| cluster.key_of(it)).collect();
                        for key in keys {
                            let one_more = |it: &mut Value| {
                                let replicas = it["spec"]["replicas"].as_u64().unwrap_or_default();
                                it["spec"]["replicas"] = json!(replicas + 1);
                            };
                            _ = cluster.modify(&Actor::admin(), &key, "", one_more);
                        }
                    }
                }
            }
        });
    }

    /// Deletes the terminating Pods that mount a claim by force, so that no kubelet reports their end.
    pub(super) fn delete_by_force(&self) {
        self.environment.sandbox.with(|world| {
            let cluster = &mut world.cluster;
            let mounts = |pod: &Value| {
                list(pod, "/spec/volumes").iter().any(|it| !it["persistentVolumeClaim"].is_null())
            };
            let pods = cluster.list("", "pods", None).filter(|pod| {
                let is_going = !pod["metadata"]["deletionTimestamp"].is_null();
                is_going && mounts(pod) && text(pod, "/metadata/namespace").starts_with(UNIT)
            });
            let pods: Vec<Key> = pods.filter_map(|pod| cluster.key_of(pod)).collect();
            for key in pods {
                let now = DeleteOptions { grace_period_seconds: Some(0), ..Default::default() };
                _ = cluster.delete(&Actor::admin(), &key, &now);
            }
        });
    }

    /// Deletes objects outside of the plan: re-created ones and unplanned ones.
    pub(super) fn clean_up(&mut self, with_late_objects: bool) {
        let Some(plan) = self.plan.clone() else { return };
        let transcript = self.environment.transcript.clone();
        self.environment.sandbox.with(|world| {
            let cluster = &mut world.cluster;
            let unplanned: Vec<Key> = cluster
                .list("", "pods", None)
                .filter(|pod| text(pod, "/metadata/name").starts_with("unplanned"))
                .filter(|pod| pod["metadata"]["deletionTimestamp"].is_null())
                .filter_map(|pod| cluster.key_of(pod))
                .collect();
            let again = plan.steps.iter().filter_map(|step| {
                let namespace = step.object.namespace.as_deref().unwrap_or_default();
                let key =
                    Key::new(&step.kind.group, &step.kind.plural, namespace, &step.object.name);
                let object = cluster.get(&key)?;
                let is_new = uid(object) != step.uid.to_string()
                    && object["metadata"]["deletionTimestamp"].is_null();
                is_new.then_some(key)
            });
            let late_object = cluster
                .list("", "configmaps", None)
                .filter(|it| with_late_objects && text(it, "/metadata/name") == "unplanned");
            let late_object = late_object.filter_map(|it| cluster.key_of(it)).collect::<Vec<_>>();
            // An object that a StatefulSet created just before it was orphaned has no owner, and the page lists it.
            let planned =
                |it: &Value| plan.steps.iter().any(|step| step.uid.to_string() == uid(it));
            let is_left = |it: &Value| {
                with_late_objects
                    && text(it, "/metadata/namespace").starts_with(UNIT)
                    && it["metadata"]["deletionTimestamp"].is_null()
                    && unit(it) != BYSTANDER
                    && !planned(it)
                    && owners(it).all(|owner| cluster.get_by_uid(text(owner, "/uid")).is_none())
                    && !plan.kept.iter().any(|kept| kept.uid.to_string() == uid(it))
            };
            let pods = cluster.list("", "pods", None);
            let left = pods.chain(cluster.list("", "persistentvolumeclaims", None));
            let left: Vec<Key> =
                left.filter(|it| is_left(it)).filter_map(|it| cluster.key_of(it)).collect();
            let all = again.chain(unplanned).chain(late_object).chain(left);
            for key in all.collect::<BTreeSet<_>>() {
                transcript.log(format!("a user deletes {key}, which is not part of the plan"));
                _ = cluster.delete(&Actor::admin(), &key, &DeleteOptions::default());
            }
        });
    }
}
