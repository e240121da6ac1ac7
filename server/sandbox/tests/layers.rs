//! The API server does not depend on the parts of the product that are built on it.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The modules that belong to the product and not to the API server.
const PRODUCT: [&str; 3] = ["world", "demo", "kubectl"];

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = vec![];
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}

/// The modules of the crate that this code names as `crate::x` or in `crate::{x, y::z}`.
fn modules(code: &str) -> Vec<String> {
    let mut modules = vec![];
    for (at, path) in code.match_indices("crate::") {
        let rest = &code[at + path.len()..];
        let mut depth = 0_usize;
        let mut name = String::new();
        let mut is_first = true;
        for char in rest.chars() {
            match char {
                '{' => depth += 1,
                '}' => depth = depth.saturating_sub(1),
                ',' if depth == 1 => {
                    modules.push(std::mem::take(&mut name));
                    is_first = true;
                    continue;
                }
                char if char.is_whitespace() && depth > 0 => continue,
                char if (char.is_alphanumeric() || char == '_') && is_first => {
                    name.push(char);
                    continue;
                }
                char if char.is_alphanumeric() || char == '_' => continue,
                _ => {}
            }
            is_first &= name.is_empty();
            if depth == 0 && char != ':' {
                break;
            }
        }
        modules.push(name);
    }
    modules
}

#[test]
fn api_server_uses_no_product_part() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut violations = vec![];
    let mut product_files = 0;
    for path in sources(&root) {
        let inside = path.strip_prefix(&root).unwrap().to_string_lossy().into_owned();
        let module = inside.split(['/', '.']).next().unwrap_or_default();
        if PRODUCT.contains(&module) {
            product_files += 1;
            continue;
        }
        if ["lib.rs", "main.rs"].contains(&inside.as_str()) {
            continue;
        }
        let code = fs::read_to_string(&path).unwrap();
        for named in modules(&code).iter().filter(|it| PRODUCT.contains(&it.as_str())) {
            violations.push(format!("{inside} uses {named}"));
        }
    }
    assert!(product_files >= PRODUCT.len(), "the product parts are where this test looks for them");
    assert_eq!(violations, Vec::<String>::new());
}

#[test]
fn modules_are_found_in_every_form_of_a_path() {
    let code = "use crate::world::names; use crate::{store::{Key, demo}, kubectl::export};\ncrate::fault::parse(a, b)";
    assert_eq!(modules(code), ["world", "store", "kubectl", "fault"]);
}
