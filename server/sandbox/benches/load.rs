//! 5,000 running Pods under 50 watches: requests per second, the time of a list, and the memory.
//! `cargo bench -p sandbox`

#[path = "../tests/load/crowd.rs"]
mod crowd;

use std::{
    io::{self, Write},
    time::{Duration, Instant},
};

use bytes::Bytes;
use futures::future::join_all;
use http::Request;
use http_body_util::{BodyExt, Full};
use tower::ServiceExt;

use crowd::{OBJECTS, WATCHES, cluster, count_events, create, resident, running, watches};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = io::stdout();
    let sandbox = cluster();
    let watching: Vec<_> = watches(&sandbox)
        .await?
        .into_iter()
        .map(|mut body| {
            tokio::spawn(async move {
                let (mut bytes, mut received) = (0, 0);
                while received < OBJECTS {
                    let Some(Ok(frame)) = body.frame().await else { break };
                    let chunk = frame.into_data().unwrap_or_default();
                    bytes += chunk.len();
                    received += count_events(&chunk, "ADDED");
                }
                bytes
            })
        })
        .collect();
    let begun = Instant::now();
    for number in 0..OBJECTS {
        create(&sandbox, number).await?;
        // The watches and the controllers run.
        tokio::task::yield_now().await;
    }
    let created = begun.elapsed();
    let seen: usize = join_all(watching).await.into_iter().filter_map(Result::ok).sum();
    let received = begun.elapsed();
    let rate = OBJECTS as f64 / created.as_secs_f64();
    writeln!(
        out,
        "{OBJECTS} creations under {WATCHES} watches: {created:?}, {rate:.0}/s; all received after {received:?}, {} MB",
        seen >> 20
    )?;
    while running(&sandbox) < OBJECTS {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    writeln!(out, "all run after {:?}", begun.elapsed())?;
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
    let [now, most] = resident().map(|bytes| bytes >> 20);
    writeln!(out, "memory: {now} MB, at most {most} MB")?;
    Ok(())
}
