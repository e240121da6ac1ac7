//! A sandbox on a loopback port. Prints one line of JSON once it is ready, and serves until it is told to end. What it
//! reads meanwhile, if it is to obey, are lines of a script of faults; each is answered with a line of JSON.

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
    controller::{Fall, timing},
    service::{Port, Sandbox, kubeconfig},
    world::{Failure, World},
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
    /// What decides all that chance decides
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Seconds of the cluster per second
    #[arg(long, default_value_t = 1)]
    speed: u32,
    /// A world by name, or a file with its objects as a JSON list; `empty` for none
    #[arg(long, value_name = "NAME|FILE", default_value = "empty")]
    world: String,
    /// How long controllers wait
    #[arg(long, value_enum, default_value_t = Timing::Real)]
    timing: Timing,
    /// A script of faults
    #[arg(long, value_name = "FILE")]
    faults: Option<PathBuf>,
    /// Read more of that script, line by line, from standard input
    #[arg(long)]
    obey: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Timing {
    /// As the real ones do
    Real,
    /// As those of the tests' control plane
    Brisk,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Args { port, kubeconfig: path, seed, speed, world: name, timing, faults, obey } =
        Args::parse();
    let temporary = || env::temp_dir().join(format!("sandbox-{}.kubeconfig", std::process::id()));
    let path = path.unwrap_or_else(temporary);
    let timing = match timing {
        Timing::Real => timing::Timing::default(),
        Timing::Brisk => timing::Timing::brisk(),
    };
    let mut world = World::new(Timestamp::now(), seed, timing);
    world.cluster.clock.set_speed(speed);
    // Machines register, namespaces are furnished.
    world.turn();
    match World::text(&name) {
        _ if name == "empty" => {}
        Some((objects, faults)) => world.load(objects, faults)?,
        None => world.load(&fs::read_to_string(name)?, "")?,
    }
    if let Some(faults) = faults {
        world.load("[]", &fs::read_to_string(faults)?)?;
    }
    // Nobody asks for it here, and it would grow for as long as this runs.
    world.cluster.log.stop();
    let sandbox = Sandbox::of(world);
    let port = Port::bind(port).await?;
    let address = port.address()?;
    fs::write(&path, kubeconfig(address, None))?;
    let ready = json!({"ready": true, "kubeconfig": path, "server": format!("http://{address}")});
    writeln!(io::stdout(), "{ready}")?;
    if obey {
        // Of its own, and ends with the process: nobody can take a read of stdin back.
        let sandbox = sandbox.clone();
        thread::spawn(move || obey_lines(&sandbox));
    }
    let mut terminated = signal(SignalKind::terminate())?;
    tokio::select! {
        () = port.serve(&sandbox) => {}
        failed = tell_failures(&sandbox) => match failed? {},
        interrupted = tokio::signal::ctrl_c() => interrupted?,
        _ = terminated.recv() => {}
    }
    fs::remove_file(&path)?;
    Ok(())
}

/// Plans what it reads, line by line, counted from when it was read. What is to happen at once has happened when it is
/// answered.
fn obey_lines(sandbox: &Sandbox) {
    for line in io::stdin().lines().map_while(Result::ok) {
        let refused = sandbox.with(|world| {
            tell(world).map_err(|why| chain(&why))?;
            world.load("[]", &line).map_err(|why| chain(&why))?;
            world.turn();
            world.take_failures().pop().map_or(Ok(()), |failure| Err(failure.why))
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

/// An error with what is behind it.
fn chain(error: &dyn std::error::Error) -> String {
    error.source().map_or_else(|| error.to_string(), |source| format!("{error}: {}", chain(source)))
}

/// Says what of the script of faults could not happen, and which controllers panicked, for as long as somebody can be told.
async fn tell_failures(sandbox: &Sandbox) -> io::Result<Infallible> {
    let mut second = tokio::time::interval(Duration::from_secs(1));
    loop {
        second.tick().await;
        sandbox.with(tell)?;
    }
}

fn tell(world: &mut World) -> io::Result<()> {
    for Failure { happening, why, .. } in world.take_failures() {
        writeln!(io::stderr(), "{happening:?} could not happen: {why}")?;
    }
    for Fall { controller, message, .. } in world.controllers.take_falls() {
        writeln!(io::stderr(), "{controller} panicked: {message:?}")?;
    }
    Ok(())
}
