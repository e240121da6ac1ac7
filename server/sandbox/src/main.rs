//! A sandbox on a loopback port:
//! `sandbox [--port N] [--kubeconfig FILE] [--seed N] [--speed N] [--world NAME|FILE] [--timing real|brisk] [--faults FILE]`.
//! Prints one line of JSON once it is ready and serves until it is told to end.

use std::{env, fs, io::Write, path::PathBuf};

use jiff::Timestamp;
use sandbox::{
    controller::timing::Timing,
    service::{Port, Sandbox, kubeconfig},
    world::World,
};
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};

struct Args {
    port: u16,
    kubeconfig: PathBuf,
    seed: u64,
    /// Seconds of the cluster per second.
    speed: u32,
    /// A world by name, or a file with its objects.
    world: Option<String>,
    timing: Timing,
    faults: Option<PathBuf>,
}

fn args() -> Result<Args, String> {
    let kubeconfig = env::temp_dir().join(format!("sandbox-{}.kubeconfig", std::process::id()));
    let mut args = Args {
        port: 0,
        kubeconfig,
        seed: 1,
        speed: 1,
        world: None,
        timing: Timing::default(),
        faults: None,
    };
    let mut words = env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words.next().ok_or_else(|| format!("{word} needs a value"))?;
        let number = || value.parse::<u64>().map_err(|_| format!("{value:?} is no number"));
        match word.as_str() {
            "--port" => {
                args.port = u16::try_from(number()?).map_err(|_| format!("{value} is no port"))?
            }
            "--kubeconfig" => args.kubeconfig = value.into(),
            "--seed" => args.seed = number()?,
            "--speed" => {
                args.speed = u32::try_from(number()?).map_err(|_| format!("{value} is too fast"))?
            }
            "--world" => args.world = Some(value).filter(|name| name != "empty"),
            "--timing" if value == "real" => args.timing = Timing::default(),
            "--timing" if value == "brisk" => args.timing = Timing::brisk(),
            "--timing" => return Err(format!("timing is real or brisk, not {value:?}")),
            "--faults" => args.faults = Some(value.into()),
            _ => {
                return Err(format!(
                    "{word:?} is not known; there are --port, --kubeconfig, --seed, --speed, --world, \
                     --timing, --faults"
                ));
            }
        }
    }
    Ok(args)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Args { port, kubeconfig: path, seed, speed, world: name, timing, faults } = args()?;
    let mut world = World::new(Timestamp::now(), seed, timing);
    world.cluster.clock.set_speed(speed);
    // Machines register, namespaces are furnished.
    world.turn();
    if let Some(name) = name {
        match World::text(&name) {
            Some((objects, faults)) => world.load(objects, faults)?,
            None => world.load(&fs::read_to_string(name)?, "")?,
        }
    }
    if let Some(faults) = faults {
        world.load("[]", &fs::read_to_string(faults)?)?;
    }
    let sandbox = Sandbox::of(world);
    let port = Port::bind(port).await?;
    let address = port.address()?;
    fs::write(&path, kubeconfig(address, None))?;
    let ready = json!({"ready": true, "kubeconfig": path, "server": format!("http://{address}")});
    writeln!(std::io::stdout(), "{ready}")?;
    let mut terminated = signal(SignalKind::terminate())?;
    tokio::select! {
        () = port.serve(&sandbox) => {}
        interrupted = tokio::signal::ctrl_c() => interrupted?,
        _ = terminated.recv() => {}
    }
    fs::remove_file(&path)?;
    Ok(())
}
