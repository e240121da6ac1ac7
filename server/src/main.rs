//! `unwind` tears a Kubernetes application down in order.

use std::process::ExitCode;

use clap::Parser;
use server::args::Args;

fn main() -> ExitCode {
    match server::run(Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("unwind: {error:#}");
            ExitCode::FAILURE
        }
    }
}
