//! What others do in the cluster while the server works: an operator, strangers, whoever scales and whoever loses Pods.

use sandbox::{
    cluster::{Actor, DeleteOptions},
    store::Key,
};
use serde_json::{Value, json};

use super::Game;
use crate::{
    adversity::Stir,
    application::{FINALIZER, UNIT},
    state::{owners, text},
};

impl Game {
    /// The operator of the custom resources: cleans up behind those that go.
    pub(super) fn operate(&mut self) {
        self.stage.sandbox.with(|world| {
            let cluster = &mut world.cluster;
            let going: Vec<Key> = cluster
                .list("example.com", "widgets", None)
                .filter(|it| {
                    sandbox::object::is_deleting(it)
                        && sandbox::object::has_finalizer(it, FINALIZER)
                })
                .filter_map(|it| cluster.key_of(it))
                .collect();
            for key in going {
                _ = cluster.modify(&Actor::admin(), &key, "", |it| {
                    sandbox::object::remove_finalizer(it, FINALIZER);
                });
            }
        });
    }

    pub(super) fn stranger(&mut self, namespace: &str, claim: &str) {
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"namespace": namespace, "name": "stranger"},
            "spec": {
                "containers": [{"name": "main", "image": "example.com/main"}],
                "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}],
            },
        });
        self.put(namespace, "pods", pod);
    }

    /// Somebody makes something.
    pub(super) fn put(&self, namespace: &str, plural: &str, object: Value) {
        let made = self.stage.sandbox.with(|world| {
            let cluster = &mut world.cluster;
            cluster.create(&Actor::admin(), "", plural, namespace, object).map(|_| ())
        });
        self.tell(format!("  {:?}", made.map_err(|status| status.message)));
    }

    /// Somebody scales a Deployment, if it is there.
    pub(super) fn scale(&self, namespace: &str, name: &str, replicas: u32) {
        let key = Key::new("apps", "deployments", namespace, name);
        self.stage.sandbox.with(|world| {
            let scaled = |it: &mut Value| it["spec"]["replicas"] = json!(replicas);
            // One that is gone needs no more.
            _ = world.cluster.modify(&Actor::admin(), &key, "", scaled);
        });
    }

    /// What controllers have to do while a person reads a plan.
    pub(super) fn stir(&self, stir: Stir) {
        self.tell(format!("{stir:?}"));
        self.stage.sandbox.with(|world| {
            let cluster = &mut world.cluster;
            let ours = |it: &Value| text(it, "/metadata/namespace").starts_with(UNIT);
            match stir {
                Stir::PodsLost => {
                    let pods = cluster.list("", "pods", None);
                    let lost = pods.filter(|pod| ours(pod) && owners(pod).next().is_some());
                    let lost: Vec<Key> = lost.filter_map(|pod| cluster.key_of(pod)).collect();
                    for key in lost {
                        _ = cluster.delete(&Actor::admin(), &key, &DeleteOptions::default());
                    }
                }
                Stir::ScaledUp => {
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
}
