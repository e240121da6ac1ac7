//! Gives the images of `public/` names with a hash of their content, so that a browser can cache them for ever, and removes
//! the comments from the scripts that every page contains.

use std::{env, fs, io, path::PathBuf};

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

fn main() -> io::Result<()> {
    let package = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").ok_or(io::ErrorKind::NotFound)?);
    let public = package.join("../public");
    for (variable, name) in [("UNWIND_ICONS", "icons"), ("UNWIND_FAVICON", "favicon")] {
        let path = public.join(name).with_extension("svg");
        println!("cargo::rerun-if-changed={}", path.display());
        let hash = Sha256::digest(fs::read(&path)?);
        let hash = HEXLOWER.encode(&hash[..8]);
        println!("cargo::rustc-env={variable}=/{name}.{hash}.svg");
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or(io::ErrorKind::NotFound)?);
    for name in ["theme.js", "start.js"] {
        let path = package.join(name);
        println!("cargo::rerun-if-changed={}", path.display());
        fs::write(out.join(name), without_comments(&fs::read_to_string(path)?))?;
    }
    Ok(())
}

/// The script without indentation, empty lines and comment lines.
fn without_comments(script: &str) -> String {
    let lines = script.lines().map(str::trim);
    let mut code: Vec<_> =
        lines.filter(|line| !line.is_empty() && !line.starts_with("//")).collect();
    code.push("");
    code.join("\n")
}
