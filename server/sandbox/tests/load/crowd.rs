//! Many Pods on the nodes that they need, under many watches: shared by the benchmark and the test.

use std::{error::Error, fs};

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use jiff::Timestamp;
use sandbox::{
    control_plane::ControlPlane,
    controller::timing::Timing,
    service::{Body, Sandbox},
};
use serde_json::json;
use tower::ServiceExt;

pub(crate) const OBJECTS: usize = 5_000;
pub(crate) const WATCHES: usize = 50;
/// A kubelet runs at most 110 Pods.
const NODES: usize = OBJECTS.div_ceil(110);

/// A cluster of these nodes, with its controllers.
pub(crate) fn cluster() -> Sandbox {
    let mut control_plane = ControlPlane::new(Timestamp::UNIX_EPOCH, 1, Timing::default());
    control_plane.controllers.node_faults.kubelets =
        (0..NODES).map(|node| format!("node-{node}")).collect();
    // Nothing here reads the log.
    control_plane.cluster.log.stop();
    Sandbox::of(control_plane)
}

/// The number of Pods that run.
pub(crate) fn running(sandbox: &Sandbox) -> usize {
    sandbox.with(|world| {
        let pods = world.cluster.store.list("", "pods", None);
        pods.filter(|pod| pod["status"]["phase"] == "Running").count()
    })
}

/// Opens the watches before anything is created.
pub(crate) async fn watches(sandbox: &Sandbox) -> Result<Vec<Body>, Box<dyn Error>> {
    let mut watches = vec![];
    for _ in 0..WATCHES {
        let request =
            Request::get("/api/v1/pods?watch=1&resourceVersion=0").body(Full::<Bytes>::default())?;
        watches.push(sandbox.clone().oneshot(request).await?.into_body());
    }
    Ok(watches)
}

/// Creates the Pod of this number.
pub(crate) async fn create(sandbox: &Sandbox, number: usize) -> Result<(), Box<dyn Error>> {
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": format!("web-{number}"), "labels": {"app": "web", "part": (number % 50).to_string()},
        },
        "spec": {
            "containers": [{"name": "c", "image": "i", "env": [{"name": "A", "value": "b"}], "volumeMounts": [{"name": "d", "mountPath": "/d"}]}],
            "volumes": [{"name": "d", "emptyDir": {}}],
        },
    });
    let request = Request::post("/api/v1/namespaces/default/pods")
        .body(Full::new(Bytes::from(pod.to_string())))?;
    let response = sandbox.clone().oneshot(request).await?;
    if response.status().is_success() { Ok(()) } else { Err(response.status().to_string().into()) }
}

/// The number of events of a type, such as `ADDED`, in a piece of a watch.
pub(crate) fn count_events(chunk: &[u8], kind: &str) -> usize {
    let begin = format!(r#"{{"type":"{kind}""#);
    chunk.split(|byte| *byte == b'\n').filter(|line| line.starts_with(begin.as_bytes())).count()
}

/// The memory of this process, in bytes: the current size, and the largest so far.
pub(crate) fn resident() -> [usize; 2] {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    ["VmRSS:", "VmHWM:"].map(|field| {
        let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap_or_default();
        let kib: usize = line.trim().trim_end_matches(" kB").parse().unwrap_or(0);
        kib << 10
    })
}
