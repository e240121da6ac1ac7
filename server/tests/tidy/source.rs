//! The project's own source files, and which crates and modules their code names.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// Directories whose `.rs` files are ours.
const SOURCES: [&str; 8] = [
    "app/src",
    "app/tests",
    "server/src",
    "server/tests",
    "server/benches",
    "server/teardown",
    "server/sandbox",
    "app/benches",
];

/// A source file.
pub(crate) struct Source {
    /// From the root of the repository, with `/`.
    pub(crate) path: String,
    pub(crate) text: String,
    /// The text with spaces in place of comments and literals, so that lines keep their numbers.
    pub(crate) code: String,
    /// Whether the file is compiled for unit tests alone.
    pub(crate) for_tests: bool,
}

impl Source {
    pub(crate) fn is_under(&self, prefix: &str) -> bool {
        let rest = self.path.strip_prefix(prefix);
        rest.is_some_and(|rest| prefix.ends_with(".rs") || rest == ".rs" || rest.starts_with('/'))
    }

    /// The code before the unit tests, which stand last in a file and may depend on more than it.
    pub(crate) fn without_tests(&self) -> &str {
        self.code.split("#[cfg(test)]\nmod tests").next().unwrap_or_default()
    }

    /// The outermost modules of its own crate that it names outside of tests, by `crate::` or by `super::`.
    pub(crate) fn modules(&self) -> BTreeSet<String> {
        let inside = self.path.split_once("/src/").map_or("", |(_, inside)| inside);
        let stem = inside.trim_end_matches(".rs").trim_end_matches("/mod");
        let climb = "super::".repeat(stem.split('/').count());
        modules_named(&self.without_tests().replace(&climb, "crate::"))
    }

    /// The files that its `mod x;` lines may name, and whether they are for tests alone.
    pub(crate) fn declares(&self) -> Vec<(String, bool)> {
        let stem = self.path.strip_suffix(".rs").unwrap_or_default();
        let dir = match stem.rsplit_once('/') {
            Some((dir, "mod" | "lib" | "main")) => dir,
            Some((dir, _)) if self.is_root() => dir,
            _ => stem,
        };
        let mut declared = vec![];
        let mut before = "";
        for line in self.code.lines().map(str::trim) {
            if let Some((visibility, name)) =
                line.strip_suffix(';').and_then(|line| line.rsplit_once("mod "))
                && (visibility.is_empty() || visibility.starts_with("pub"))
            {
                let for_tests = before == "#[cfg(test)]" || self.for_tests;
                declared.push((format!("{dir}/{name}.rs"), for_tests));
                declared.push((format!("{dir}/{name}/mod.rs"), for_tests));
            }
            before = line;
        }
        declared
    }

    /// Whether it is the root of a crate.
    pub(crate) fn is_root(&self) -> bool {
        let dir = self
            .path
            .strip_suffix("/main.rs")
            .unwrap_or(&self.path)
            .rsplit('/')
            .nth(1)
            .unwrap_or_default();
        ["src/lib.rs", "src/main.rs", "/build.rs"].iter().any(|ending| self.path.ends_with(ending))
            || ["tests", "benches", "examples", "bin", "fuzz_targets"].contains(&dir)
                && !self.path.contains("/src/")
    }
}

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

pub(crate) fn files(dir: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = vec![];
    for entry in fs::read_dir(dir).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            if !path.ends_with("target") && !path.ends_with("node_modules") {
                found.extend(files(&path, ending));
            }
        } else if path.to_string_lossy().ends_with(ending) {
            found.push(path);
        }
    }
    found.sort();
    found
}

pub(crate) fn sources() -> Vec<Source> {
    let root = root();
    let paths = SOURCES.iter().flat_map(|dir| files(&root.join(dir), ".rs"));
    let mut sources: Vec<_> = paths
        .map(|path| {
            let text = fs::read_to_string(&path).unwrap();
            let path = path.strip_prefix(&root).unwrap().to_string_lossy().replace('\\', "/");
            Source { path, code: code(&text), text, for_tests: false }
        })
        .collect();
    // A test module may declare further ones, so this repeats until no more are found.
    loop {
        let for_tests: BTreeSet<_> = sources
            .iter()
            .flat_map(Source::declares)
            .filter_map(|(path, for_tests)| for_tests.then_some(path))
            .collect();
        let mut found = false;
        for source in &mut sources {
            let is_new = !source.for_tests && for_tests.contains(&source.path);
            source.for_tests |= is_new;
            found |= is_new;
        }
        if !found {
            break;
        }
    }
    assert!(sources.len() > 20, "the sources have moved away from SOURCES");
    sources
}

/// The text with spaces in place of comments and literals.
pub(crate) fn code(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut code = bytes.to_vec();
    let mut at = 0;
    let mut blank = |from: usize, to: usize| {
        for byte in &mut code[from..to] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
    };
    let find =
        |from: usize, what: &str| text[from..].find(what).map_or(text.len(), |found| from + found);
    while at < bytes.len() {
        let rest = &bytes[at..];
        let in_word = at > 0 && (bytes[at - 1].is_ascii_alphanumeric() || bytes[at - 1] == b'_');
        let hashes = rest.iter().skip(1).take_while(|byte| **byte == b'#').count();
        let end = if rest.starts_with(b"//") {
            find(at, "\n")
        } else if rest.starts_with(b"/*") {
            (find(at, "*/") + 2).min(text.len())
        } else if !in_word && rest[0] == b'r' && rest.get(1 + hashes) == Some(&b'"') {
            let close = format!("\"{}", "#".repeat(hashes));
            (find(at + hashes + 2, &close) + close.len()).min(text.len())
        } else if rest[0] == b'"' {
            let mut end = at + 1;
            while end < bytes.len() && bytes[end] != b'"' {
                end += if bytes[end] == b'\\' { 2 } else { 1 };
            }
            (end + 1).min(text.len())
        } else if rest.starts_with(b"'\\") {
            find(at + 3, "'") + 1
        } else if rest[0] == b'\'' && text[at + 1..].chars().nth(1) == Some('\'') {
            at + text[at..].chars().take(3).map(char::len_utf8).sum::<usize>()
        } else {
            at += 1;
            continue;
        };
        blank(at, end);
        at = end;
    }
    String::from_utf8(code).unwrap()
}

pub(crate) fn is_word(byte: Option<&u8>) -> bool {
    byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
}

/// The numbers of the lines on which a path begins with `name`.
pub(crate) fn lines_naming(code: &str, name: &str) -> Vec<usize> {
    let bytes = code.as_bytes();
    let begins = |at: usize| {
        let before = &bytes[..at];
        let after = code[at + name.len()..].trim_start();
        let used = code[..at].trim_end().ends_with("use")
            || code[..at].trim_end().ends_with("extern crate");
        !is_word(before.last())
            && !before.ends_with(b"::")
            && !is_word(bytes.get(at + name.len()))
            && (after.starts_with("::")
                || used && (after.starts_with(';') || after.starts_with(" as ")))
    };
    code.match_indices(name)
        .filter(|(at, _)| begins(*at))
        .map(|(at, _)| code[..at].matches('\n').count() + 1)
        .collect()
}

/// The modules of its own crate that some code names, as `crate::x` or in `crate::{x, y}`.
pub(crate) fn modules_named(code: &str) -> BTreeSet<String> {
    let mut modules = BTreeSet::new();
    for (at, _) in code.match_indices("crate::") {
        if is_word(code.as_bytes()[..at].last()) {
            continue;
        }
        let rest = &code[at + "crate::".len()..];
        let mut module = String::new();
        let mut depth = 0;
        let mut naming = true;
        for char in rest.chars() {
            match char {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 1 => {
                    modules.insert(std::mem::take(&mut module));
                    naming = true;
                    continue;
                }
                char if char.is_whitespace() && depth > 0 => continue,
                char if char.is_alphanumeric() || char == '_' => {
                    if naming {
                        module.push(char);
                    }
                    continue;
                }
                _ => {}
            }
            naming &= module.is_empty();
            if depth == 0 {
                break;
            }
        }
        modules.insert(module);
    }
    modules.remove("");
    modules
}

/// The classes in the selectors of a stylesheet, each with its line; without those that only change another class, as in
/// `.pill.live` or `&.bad`.
pub(crate) fn classes(style: &str) -> Vec<(usize, String)> {
    let mut css = String::new();
    for (number, part) in style.split("/*").enumerate() {
        let (comment, rest) = if number == 0 { ("", part) } else { part.split_once("*/").unwrap() };
        css.extend(comment.chars().filter(|it| *it == '\n'));
        css.push_str(rest);
    }
    let mut found = vec![];
    let mut start = 0;
    for (at, _) in css.match_indices(['{', '}', ';']) {
        let selector = &css[start..at];
        if css[at..].starts_with('{') && !selector.trim_start().starts_with('@') {
            for (dot, _) in selector.match_indices('.') {
                let is_in_name = |it: char| it.is_ascii_alphanumeric() || it == '-' || it == '_';
                let name = &selector[dot + 1..];
                let name = &name[..name.find(|it| !is_in_name(it)).unwrap_or(name.len())];
                let ends = |it: char| it.is_whitespace() || ">+~,(".contains(it);
                let before = selector[..dot].rsplit(ends).next().unwrap_or_default();
                if !before.starts_with('&') && !before.contains('.') {
                    let line = css[..start + dot].matches('\n').count() + 1;
                    found.push((line, name.to_owned()));
                }
            }
        }
        start = at + 1;
    }
    found
}
