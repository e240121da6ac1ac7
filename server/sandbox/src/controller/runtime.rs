//! The container runtime of a node, and the failures that its kubelet counts: what a kubelet answers at `/runningpods/` and
//! `/metrics`, as far as it is about Pods that do not go. The shapes are those of `recordings/kubelet/proxy/running-pods.http` and
//! `recordings/kubelet/metrics.txt`.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::read::text;
use crate::store::Key;

/// The runtime of a node.
#[derive(Debug, Default)]
pub(crate) struct Runtime {
    /// The Pods whose sandbox or containers it runs, oldest first.
    pods: Vec<RunningPod>,
    /// The number of unmounts that failed, by volume plugin.
    failed_unmounts: BTreeMap<String, u64>,
}

#[derive(Debug)]
struct RunningPod {
    uid: String,
    namespace: String,
    name: String,
    /// The name and image of each container.
    containers: Vec<(String, String)>,
}

impl Runtime {
    /// Starts the sandbox of a Pod.
    pub(crate) fn start_sandbox(&mut self, key: &Key, uid: &str) {
        if self.pods.iter().all(|pod| pod.uid != uid) {
            let (namespace, name) = (key.namespace.to_string(), key.name.to_string());
            self.pods.push(RunningPod { uid: uid.to_owned(), namespace, name, containers: vec![] });
        }
    }

    /// Runs these containers, and no others, of a Pod that has a sandbox.
    pub(crate) fn run_containers<'a>(
        &mut self,
        containers: impl IntoIterator<Item = &'a Value>,
        uid: &str,
    ) {
        let named = |it: &Value| (text(it, "/name").to_owned(), text(it, "/image").to_owned());
        let containers = containers.into_iter().map(named);
        if let Some(running) = self.pods.iter_mut().find(|pod| pod.uid == uid) {
            running.containers = containers.collect();
        }
    }

    /// Ends the containers of a Pod, and not its sandbox.
    pub(crate) fn stop_containers(&mut self, uid: &str) {
        if let Some(running) = self.pods.iter_mut().find(|pod| pod.uid == uid) {
            running.containers.clear();
        }
    }

    /// Ends what runs of a Pod.
    pub(crate) fn stop(&mut self, uid: &str) {
        self.pods.retain(|pod| pod.uid != uid);
    }

    /// Whether containers of a Pod run.
    pub(crate) fn runs(&self, uid: &str) -> bool {
        self.pods.iter().any(|pod| pod.uid == uid && !pod.containers.is_empty())
    }

    /// Counts an unmount that failed.
    pub(crate) fn count_failed_unmount(&mut self, plugin: String) {
        *self.failed_unmounts.entry(plugin).or_default() += 1;
    }

    /// The list of running Pods, the newest first.
    pub(crate) fn running_pods(&self) -> Value {
        let items = self.pods.iter().rev().map(|pod| {
            let container =
                |(name, image): &(String, String)| json!({"name": name, "image": image, "resources": {}});
            let containers: Vec<Value> = pod.containers.iter().map(container).collect();
            // Go writes a slice without elements as null.
            let containers = if containers.is_empty() { Value::Null } else { containers.into() };
            json!({
                "metadata": {"name": pod.name, "namespace": pod.namespace, "uid": pod.uid},
                "spec": {"containers": containers},
                "status": {},
            })
        });
        let items: Vec<Value> = items.collect();
        let items = if items.is_empty() { Value::Null } else { items.into() };
        json!({"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": items})
    }

    /// The number of containers that run.
    pub(crate) fn running_containers(&self) -> usize {
        self.pods.iter().map(|pod| pod.containers.len()).sum()
    }

    /// The metrics in the text format of Prometheus.
    pub(crate) fn metrics(&self) -> String {
        let running = self.running_containers();
        let mut text = format!(
            "# HELP kubelet_running_containers [ALPHA] Number of containers currently running\n\
             # TYPE kubelet_running_containers gauge\n\
             kubelet_running_containers{{container_state=\"running\"}} {running}\n\
             # HELP kubelet_running_pods [ALPHA] Number of pods that have a running pod sandbox\n\
             # TYPE kubelet_running_pods gauge\n\
             kubelet_running_pods {}\n\
             # HELP storage_operation_duration_seconds [ALPHA] Storage operation duration\n\
             # TYPE storage_operation_duration_seconds histogram\n",
            self.pods.len()
        );
        for (plugin, count) in &self.failed_unmounts {
            text += &format!(
                "storage_operation_duration_seconds_count{{migrated=\"false\",operation_name=\"volume_unmount\",\
                 status=\"fail-unknown\",volume_plugin=\"{plugin}\"}} {count}\n"
            );
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_have_the_shape_that_a_real_kubelet_gave() {
        const RUNNING: &str = include_str!("../../recordings/kubelet/proxy/running-pods.http");
        const METRICS: &str = include_str!("../../recordings/kubelet/metrics.txt");
        let mut runtime = Runtime::default();
        assert_eq!(runtime.running_pods()["items"], Value::Null);
        let containers = [json!({"name": "orderer", "image": "registry.example/app:1"})];
        for (namespace, uid) in [
            ("unkillable", "17e34b86-6782-4fc9-bc68-f3a11ab42c84"),
            ("gone", "113e414d-52b9-4eb7-a1ec-20089ddb2e36"),
            ("kill", "5706607d-b11b-405e-96ba-cd2d3843446e"),
            ("network", "9e8da4c0-40f6-40f5-a830-1af0833d44a6"),
        ] {
            runtime.start_sandbox(&Key::new("", "pods", namespace, "orderer-0"), uid);
            runtime.run_containers(&containers, uid);
            if namespace == "network" {
                runtime.stop_containers(uid);
            }
        }
        runtime.stop("113e414d-52b9-4eb7-a1ec-20089ddb2e36");
        let (_, recorded) = RUNNING.rsplit_once("\n\n").unwrap();
        assert_eq!(runtime.running_pods(), serde_json::from_str::<Value>(recorded).unwrap());

        for _ in 0..40 {
            runtime.count_failed_unmount("kubernetes.io/nfs".to_owned());
        }
        let metrics = runtime.metrics();
        for line in metrics.lines() {
            // Its sandbox counts the three Pods of the test; that of the recording was made minutes later.
            let is_count = line.starts_with("kubelet_running_pods ");
            assert!(is_count || METRICS.lines().any(|it| it == line), "{line}");
        }
        assert!(metrics.contains("volume_plugin=\"kubernetes.io/nfs\"} 40"), "{metrics}");
    }
}
