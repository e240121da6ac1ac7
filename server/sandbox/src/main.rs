//! A sandbox on a loopback port. It prints one line of JSON once it is ready, and serves until it is terminated. With
//! `--obey` it reads lines of a script of faults from standard input, and answers each with a line of JSON.

use std::{
    convert::Infallible,
    env, fs,
    io::{self, Write},
    path::PathBuf,
    thread,
    time::Duration,
};

use clap::{Parser, ValueEnum};
use jiff::Timestamp;
use sandbox::{
    control_plane::{ControlPlane, FailedFault},
    controller::{ControllerPanic, timing},
    service::{Port, Sandbox},
    world,
};
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};

/// A Kubernetes API server in memory, on a port of this machine.
#[derive(Parser)]
#[command(name = "sandbox")]
struct Args {
    /// Port to listen on; 0 takes a free one
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Where to write the kubeconfig [default: a file in the directory for temporary files]
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// The seed of all random choices
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many times faster than real time the cluster's clock runs
    #[arg(long, default_value_t = 1)]
    speed: u32,
    /// A world by name, or a file with objects as a JSON list; `empty` for none
    #[arg(long, value_name = "NAME|FILE", default_value = "empty")]
    world: String,
    /// The waits of the controllers
    #[arg(long, value_enum, default_value_t = Timing::Real)]
    timing: Timing,
    /// Have a cloud with its controller, programs that renew the leases by which they lead, and CSI drivers that register on the nodes
    #[arg(long)]
    cloud: bool,
    /// A script of faults
    #[arg(long, value_name = "FILE")]
    faults: Option<PathBuf>,
    /// Read further lines of such a script from standard input
    #[arg(long)]
    obey: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Timing {
    /// Those of Kubernetes
    Real,
    /// Those of the control plane that the tests start
    Brisk,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Args { port, kubeconfig: path, seed, speed, world: name, timing, cloud, faults, obey } =
        Args::parse();
    let temporary = || env::temp_dir().join(format!("sandbox-{}.kubeconfig", std::process::id()));
    let path = path.unwrap_or_else(temporary);
    let timing = match timing {
        Timing::Real => timing::Timing::default(),
        Timing::Brisk => timing::Timing::brisk(),
    };
    let mut control_plane = ControlPlane::new(Timestamp::now(), seed, timing);
    if cloud {
        control_plane.controllers.add_cloud();
        control_plane.controllers.add_leader_election();
        control_plane.controllers.add_csi_nodes();
    }
    control_plane.cluster.clock.set_speed(speed);
    // The nodes register, and the namespaces get their service accounts.
    control_plane.run_until_idle();
    match world::text(&name) {
        _ if name == "empty" => {}
        Some((objects, faults)) => world::load(&mut control_plane, objects, faults)?,
        None => world::load(&mut control_plane, &fs::read_to_string(name)?, "")?,
    }
    if let Some(faults) = faults {
        world::load(&mut control_plane, "[]", &fs::read_to_string(faults)?)?;
    }
    // Nothing reads the log here, and it would grow without end.
    control_plane.cluster.log.stop();
    let sandbox = Sandbox::of(control_plane);
    let port = Port::bind(port).await?;
    let address = port.address();
    port.write_kubeconfig(&path)?;
    let ready = json!({"ready": true, "kubeconfig": path, "server": format!("http://{address}")});
    writeln!(io::stdout(), "{ready}")?;
    if obey {
        // A thread of its own that ends with the process, because a read of standard input cannot be cancelled.
        let sandbox = sandbox.clone();
        thread::spawn(move || obey_lines(&sandbox));
    }
    let mut terminated = signal(SignalKind::terminate())?;
    tokio::select! {
        () = port.serve(&sandbox) => {}
        failed = report_failures(&sandbox) => match failed? {},
        interrupted = tokio::signal::ctrl_c() => interrupted?,
        _ = terminated.recv() => {}
    }
    fs::remove_file(&path)?;
    Ok(())
}

/// Schedules each line that it reads, with times that count from then. A fault at `0s` is applied before the answer.
fn obey_lines(sandbox: &Sandbox) {
    for line in io::stdin().lines().map_while(Result::ok) {
        let refused = sandbox.with(|control_plane| {
            report(control_plane).map_err(|why| chain(&why))?;
            world::load(control_plane, "[]", &line).map_err(|why| chain(&why))?;
            control_plane.run_until_idle();
            control_plane.take_failed_faults().pop().map_or(Ok(()), |failed| Err(failed.reason))
        });
        sandbox.wake();
        let answer = match refused {
            Ok(()) => json!({"done": line}),
            Err(why) => json!({"refused": line, "why": why}),
        };
        if writeln!(io::stdout(), "{answer}").is_err() {
            return;
        }
    }
}

/// An error with its sources.
fn chain(error: &dyn std::error::Error) -> String {
    error.source().map_or_else(|| error.to_string(), |source| format!("{error}: {}", chain(source)))
}

/// Reports the faults that could not be applied and the controllers that panicked, until standard error is closed.
async fn report_failures(sandbox: &Sandbox) -> io::Result<Infallible> {
    let mut second = tokio::time::interval(Duration::from_secs(1));
    loop {
        second.tick().await;
        sandbox.with(report)?;
    }
}

fn report(control_plane: &mut ControlPlane) -> io::Result<()> {
    for FailedFault { fault, reason, .. } in control_plane.take_failed_faults() {
        writeln!(io::stderr(), "{fault:?} could not be applied: {reason}")?;
    }
    for ControllerPanic { controller, message, .. } in control_plane.controllers.take_panics() {
        writeln!(io::stderr(), "{controller} panicked: {message:?}")?;
    }
    Ok(())
}
