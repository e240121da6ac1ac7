//! A sandbox on a loopback port: `sandbox [--port N] [--kubeconfig FILE] [--seed N] [--faults FILE]`. Prints where its
//! kubeconfig is and serves until it is interrupted.

use std::{env, fs, io::Write, path::PathBuf};

use jiff::Timestamp;
use sandbox::{
    controller::Controllers,
    fault::Faults,
    service::{Port, Sandbox, kubeconfig},
};

struct Args {
    port: u16,
    kubeconfig: PathBuf,
    seed: u64,
    faults: Option<PathBuf>,
}

fn args() -> Result<Args, String> {
    let kubeconfig = env::temp_dir().join(format!("sandbox-{}.kubeconfig", std::process::id()));
    let mut args = Args { port: 0, kubeconfig, seed: 1, faults: None };
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
            "--faults" => args.faults = Some(value.into()),
            _ => {
                return Err(format!(
                    "{word:?} is not known; there are --port, --kubeconfig, --seed, --faults"
                ));
            }
        }
    }
    Ok(args)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Args { port, kubeconfig: path, seed, faults } = args()?;
    let now = Timestamp::now();
    let sandbox = Sandbox::start(now, seed, Controllers::default());
    // Nobody asks for it here, and it would grow for as long as this runs.
    sandbox.with(|world| world.cluster.log.stop());
    if let Some(faults) = faults {
        let faults = Faults::parse(&fs::read_to_string(faults)?, now)?;
        sandbox.with(|world| world.cluster.faults = faults);
    }
    let port = Port::bind(port).await?;
    fs::write(&path, kubeconfig(port.address()?, None))?;
    writeln!(std::io::stdout(), "KUBECONFIG={}", path.display())?;
    tokio::select! {
        () = port.serve(&sandbox) => {}
        interrupted = tokio::signal::ctrl_c() => interrupted?,
    }
    fs::remove_file(&path)?;
    Ok(())
}
