//! 5,000 objects under 50 watches: requests per second, how long a list takes, and the memory of it all.
//! `cargo bench -p sandbox`

use std::{
    fs,
    io::{self, Write},
    time::Instant,
};

use bytes::Bytes;
use futures::future::join_all;
use http::Request;
use http_body_util::{BodyExt, Full};
use jiff::Timestamp;
use sandbox::{controller::Controllers, service::Sandbox};
use serde_json::json;
use tower::{Service, ServiceExt};

const OBJECTS: usize = 5_000;
const WATCHES: usize = 50;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = io::stdout();
    let sandbox = Sandbox::start(Timestamp::UNIX_EPOCH, 1, Controllers::default());
    let mut watches = vec![];
    for _ in 0..WATCHES {
        let request =
            Request::get("/api/v1/pods?watch=1&resourceVersion=0").body(Full::<Bytes>::default())?;
        watches.push(sandbox.clone().oneshot(request).await?.into_body());
    }
    let watching: Vec<_> = watches
        .into_iter()
        .map(|mut body| {
            tokio::spawn(async move {
                let (mut bytes, mut lines) = (0, 0);
                while lines < OBJECTS {
                    let Some(Ok(frame)) = body.frame().await else { break };
                    let chunk = frame.into_data().unwrap_or_default();
                    bytes += chunk.len();
                    lines += chunk.iter().filter(|byte| **byte == b'\n').count();
                }
                bytes
            })
        })
        .collect();
    let begun = Instant::now();
    for number in 0..OBJECTS {
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {
                "name": format!("web-{number}"), "labels": {"app": "web", "part": (number % 50).to_string()},
                "ownerReferences": [
                    {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "u", "controller": true},
                ],
            },
            "spec": {
                "nodeName": "n1",
                "containers": [{"name": "c", "image": "i", "env": [{"name": "A", "value": "b"}], "volumeMounts": [{"name": "d", "mountPath": "/d"}]}],
                "volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": format!("data-{number}")}}],
            },
        });
        let request = Request::post("/api/v1/namespaces/default/pods")
            .body(Full::new(Bytes::from(pod.to_string())))?;
        let mut sandbox = sandbox.clone();
        let response =
            ServiceExt::<Request<Full<Bytes>>>::ready(&mut sandbox).await?.call(request).await?;
        if !response.status().is_success() {
            return Err(format!("{}", response.status()).into());
        }
    }
    let created = begun.elapsed();
    let seen: usize = join_all(watching).await.into_iter().filter_map(Result::ok).sum();
    let told = begun.elapsed();
    let rate = OBJECTS as f64 / created.as_secs_f64();
    writeln!(
        out,
        "{OBJECTS} creations under {WATCHES} watches: {created:?}, {rate:.0}/s; all told after {told:?}, {} MB",
        seen >> 20
    )?;
    for (what, accept) in [
        ("list", "application/json"),
        ("metadata", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"),
        ("table", "application/json;as=Table;g=meta.k8s.io;v=v1"),
    ] {
        let begun = Instant::now();
        let request =
            Request::get("/api/v1/pods").header("accept", accept).body(Full::<Bytes>::default())?;
        let body = sandbox.clone().oneshot(request).await?.into_body().collect().await?.to_bytes();
        writeln!(out, "{what} of {OBJECTS}: {:?}, {} KB", begun.elapsed(), body.len() >> 10)?;
    }
    let begun = Instant::now();
    for number in 0..OBJECTS {
        let request = Request::get(format!("/api/v1/namespaces/default/pods/web-{number}"))
            .body(Full::<Bytes>::default())?;
        sandbox.clone().oneshot(request).await?.into_body().collect().await?;
    }
    writeln!(out, "gets: {:.0}/s", OBJECTS as f64 / begun.elapsed().as_secs_f64())?;
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    for line in status.lines().filter(|line| line.starts_with("VmRSS") || line.starts_with("VmHWM"))
    {
        writeln!(out, "{line}")?;
    }
    Ok(())
}
