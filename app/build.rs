//! Gives the pictures of `public/` names with hashes of their contents, so that a browser can keep them for ever.

use std::{fs, io, path::Path};

use sha2::{Digest, Sha256};

fn main() -> io::Result<()> {
    let public = Path::new(env!("CARGO_MANIFEST_DIR")).join("../public");
    for (variable, name) in [("UNWIND_ICONS", "icons"), ("UNWIND_FAVICON", "favicon")] {
        let path = public.join(name).with_extension("svg");
        println!("cargo::rerun-if-changed={}", path.display());
        let hash = Sha256::digest(fs::read(&path)?);
        let hash: String = hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        println!("cargo::rustc-env={variable}=/{name}.{hash}.svg");
    }
    Ok(())
}
