//! The Pods that the container runtime of a node runs, as its kubelet lists them.
//!
//! The kubelet asks the runtime, not the API server: sandboxes that are ready and containers that run, by the UID of their Pod
//! (`pkg/kubelet/kubelet_getters.go`, `GetRunningPods`; `pkg/kubelet/kuberuntime`, `GetPods`). A Pod of which only the sandbox is
//! left has no containers in the list. The runtime knows no version of a Pod, so a list with one is that of the API server,
//! or of the Pods that the kubelet was given.

use std::{collections::BTreeMap, sync::Arc};

use serde::Deserialize;

use crate::object::Uid;

/// The most containers of one Pod that are kept.
const CONTAINERS: usize = 20;

/// The Pods that a runtime runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunningPods {
    /// The containers that run, by the UID of their Pod.
    pods: BTreeMap<String, Vec<Arc<str>>>,
}

/// The part of a Pod that a runtime still runs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RuntimeState {
    /// These containers.
    Containers(Vec<Arc<str>>),
    /// Its sandbox alone, which holds its network.
    Sandbox,
    /// Nothing.
    Nothing,
}

#[derive(Deserialize)]
struct PodList {
    kind: String,
    #[serde(default)]
    metadata: ListMetadata,
    items: Option<Vec<Pod>>,
}

#[derive(Default, Deserialize)]
struct ListMetadata {
    #[serde(rename = "resourceVersion", default)]
    version: String,
}

#[derive(Deserialize)]
struct Pod {
    metadata: Metadata,
    spec: Option<Spec>,
}

#[derive(Deserialize)]
struct Metadata {
    #[serde(default)]
    uid: String,
    #[serde(rename = "resourceVersion")]
    version: Option<String>,
}

#[derive(Deserialize)]
struct Spec {
    containers: Option<Vec<Container>>,
}

#[derive(Deserialize)]
struct Container {
    name: String,
}

impl RunningPods {
    /// Reads the answer of a kubelet; `None` if it is something else than a list of the Pods that a runtime runs.
    pub fn read(body: &[u8]) -> Option<Self> {
        let list: PodList = serde_json::from_slice(body).ok()?;
        if list.kind != "PodList" {
            return None;
        }
        let listed = list.items.unwrap_or_default();
        let has_version = listed.iter().any(|pod| pod.metadata.version.is_some());
        if has_version || !list.metadata.version.is_empty() {
            return None;
        }
        let pods = listed.into_iter().map(|pod| {
            let containers = pod.spec.and_then(|spec| spec.containers).into_iter().flatten();
            let names = containers.map(|it| it.name).filter(|name| is_label(name));
            (pod.metadata.uid, names.take(CONTAINERS).map(Arc::from).collect())
        });
        Some(Self { pods: pods.collect() })
    }

    /// The part of the Pod of this UID that still runs.
    pub fn state(&self, pod: &Uid) -> RuntimeState {
        match self.pods.get(&pod.to_string()) {
            None => RuntimeState::Nothing,
            Some(containers) if containers.is_empty() => RuntimeState::Sandbox,
            Some(containers) => RuntimeState::Containers(containers.clone()),
        }
    }
}

/// Whether a container can have this name (RFC 1123, as `IsDNS1123Label` in `k8s.io/apimachinery`).
fn is_label(name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    (1..=63).contains(&name.len()) && name.chars().all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORDED: &str =
        include_str!("../../../sandbox/recordings/kubelet/proxy/running-pods.http");

    #[test]
    fn recorded_list_says_which_containers_run_and_which_sandbox_is_left() {
        let (_, body) = RECORDED.rsplit_once("\n\n").unwrap();
        let running = RunningPods::read(body.trim().as_bytes()).unwrap();
        let state = |uid: &str| running.state(&Uid::new(uid));
        let orderer = RuntimeState::Containers(vec!["orderer".into()]);
        assert_eq!(state("5706607d-b11b-405e-96ba-cd2d3843446e"), orderer);
        assert_eq!(state("9e8da4c0-40f6-40f5-a830-1af0833d44a6"), RuntimeState::Sandbox);
        assert_eq!(state("113e414d-52b9-4eb7-a1ec-20089ddb2e36"), RuntimeState::Nothing);
    }

    #[test]
    fn list_of_the_api_server_is_none() {
        let listed =
            r#"{"kind":"PodList","items":[{"metadata":{"uid":"a","resourceVersion":"7"}}]}"#;
        assert_eq!(RunningPods::read(listed.as_bytes()), None);
    }

    #[test]
    fn empty_list_is_a_list_and_anything_else_is_none() {
        let empty = r#"{"kind":"PodList","apiVersion":"v1","metadata":{},"items":null}"#;
        assert_eq!(RunningPods::read(empty.as_bytes()), Some(RunningPods::default()));
        for other in ["", "[]", "{}", r#"{"kind":"Status","items":null}"#, "Debug endpoints are"] {
            assert_eq!(RunningPods::read(other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn names_that_no_container_can_have_are_left_out_and_their_number_is_bounded() {
        let container = |name: &str| serde_json::json!({ "name": name });
        let containers: Vec<_> = (0..100).map(|n| container(&format!("c{n}"))).collect();
        let odd = [container("a\u{202e}b"), container("x")];
        let pod = |uid: &str, containers: &[serde_json::Value]| serde_json::json!({ "metadata": { "uid": uid }, "spec": { "containers": containers } });
        let list = serde_json::json!({
            "kind": "PodList",
            "items": [pod("many", &containers), pod("odd", &odd)],
        });
        let running = RunningPods::read(list.to_string().as_bytes()).unwrap();
        let RuntimeState::Containers(many) = running.state(&Uid::new("many")) else { panic!() };
        assert_eq!(many.len(), CONTAINERS);
        let odd = RuntimeState::Containers(vec!["x".into()]);
        assert_eq!(running.state(&Uid::new("odd")), odd);
    }
}
