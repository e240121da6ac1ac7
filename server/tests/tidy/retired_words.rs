//! Words of the project's first versions that nobody else uses for these things. Names and prose use the terms of
//! Kubernetes, Rust and distributed systems instead, so that a reader finds a thing by the word that they already know.

use std::fs;

use super::source::{files, root};

/// The folders with the project's own files.
const FOLDERS: [&str; 4] = ["app", "end2end", "server", "style"];

/// The endings of files with names or prose.
const ENDINGS: [&str; 5] = [".css", ".js", ".md", ".mjs", ".rs"];

/// The file that has to name the words.
const THIS: &str = "server/tests/tidy/retired_words.rs";

/// Each retired word, and what to write in its place.
const RETIRED: [(&str, &str); 28] = [
    ("breakage", "node fault"),
    ("bury", "remove"),
    ("complaint", "problem, error"),
    ("convict", "detect"),
    ("deed", "action"),
    ("doubt", "unknown"),
    ("essence", "relevant fields"),
    ("game", "demo"),
    ("grave", "tombstone"),
    ("happening", "event, operation"),
    ("heard", "received"),
    ("hearer", "receiver"),
    ("ladder", "deletion progress"),
    ("lever", "fault switch"),
    ("lodger", "unplanned Pod"),
    ("luggage", "seed"),
    ("mishap", "fault"),
    ("offence", "violation"),
    ("outlook", "expectation"),
    ("patience", "timeout, deadline, toleration"),
    ("playground", "demo"),
    ("pulse", "health"),
    ("rung", "phase"),
    ("saboteur", "mutant"),
    ("sieve", "filter"),
    ("sowing", "page seed"),
    ("stranger", "unauthenticated client, object outside the unit"),
    ("teller", "sender"),
];

/// The endings with which a word is the same word.
const INFLECTIONS: [&str; 5] = ["", "s", "ed", "ing", "ion"];

/// The retired words in the project's files, each with its place.
pub(crate) fn retired_words() -> Vec<String> {
    let root = root();
    let folders = FOLDERS.iter().map(|folder| root.join(folder));
    let mut paths: Vec<_> =
        folders.flat_map(|folder| ENDINGS.map(|ending| files(&folder, ending))).flatten().collect();
    assert!(paths.len() > 100, "the files have moved away from FOLDERS");
    let beside = fs::read_dir(&root).unwrap().map(|entry| entry.unwrap().path());
    paths.extend(beside.filter(|path| path.extension().is_some_and(|it| it == "md")));
    let mut violations = vec![];
    for path in paths {
        let name = path.strip_prefix(&root).unwrap().to_string_lossy().replace('\\', "/");
        if name != THIS {
            violations.extend(retired_in(&name, &fs::read_to_string(&path).unwrap()));
        }
    }
    violations
}

/// The retired words in a text, each with its line.
fn retired_in(path: &str, text: &str) -> Vec<String> {
    let mut violations = vec![];
    for (number, line) in (1..).zip(text.lines()) {
        for word in words(line) {
            let is_it = |retired: &str| {
                word.strip_prefix(retired).is_some_and(|ending| INFLECTIONS.contains(&ending))
            };
            let retired = RETIRED.iter().find(|(retired, _)| is_it(retired));
            violations.extend(retired.map(|(_, instead)| {
                format!("{path}:{number} has the word {word:?}, write: {instead}")
            }));
        }
    }
    violations
}

/// The words of a line in small letters. A name in `snake_case`, `kebab-case` or `CamelCase` has several words.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![];
    let mut word = String::new();
    let mut before = ' ';
    let mut chars = line.chars().peekable();
    while let Some(char) = chars.next() {
        // The last capital of `HTTPServer` begins a word, and so does a capital after a small letter.
        let small_follows = chars.peek().is_some_and(|next| next.is_lowercase());
        let begins = char.is_uppercase()
            && (before.is_lowercase() || before.is_uppercase() && small_follows);
        if (begins || !char.is_alphabetic()) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if char.is_alphabetic() {
            word.extend(char.to_lowercase());
        }
        before = char;
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_is_split_into_the_words_of_its_prose_and_names() {
        let line = "/// A step's `HTTPServer`, step-action and MAX_RUNS2 of toAct";
        let expected = [
            "a", "step", "s", "http", "server", "step", "action", "and", "max", "runs", "of", "to",
            "act",
        ];
        assert_eq!(words(line), expected);
    }

    #[test]
    fn planted_word_is_found_in_prose_and_in_every_form_of_name() {
        for planted in [
            "/// The ladder to gone.",
            "fn next_rung() {}",
            "enum Happening {",
            "const HEAD_PATIENCE: u64 = 1;",
            "let isStranger = true;",
            ".step-deed {",
            "test('judge convicts it', () => {});",
            "Two mishaps, and a Playground.",
        ] {
            let found = retired_in("a.rs", &format!("\n{planted}\n"));
            assert!(found.iter().any(|it| it.starts_with("a.rs:2 ")), "{planted}: {found:?}");
        }
        assert_eq!(retired_in("a.rs", "a Rung"), [r#"a.rs:1 has the word "rung", write: phase"#]);
    }

    #[test]
    fn word_that_only_contains_a_retired_one_is_not_found() {
        for line in
            ["indeed, leverage", "display and replay", "@playwright/test", "gravel", "strung"]
        {
            assert_eq!(retired_in("a.rs", line), [""; 0], "{line}");
        }
    }
}
