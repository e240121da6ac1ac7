//! Names of tests: fewer than three words cannot say what is tested, in which case, and what comes of it.

use super::source::Source;

/// Tests that commands name, in the Makefile and in what a failed simulation prints.
const COMMANDS: [&str; 2] = ["all_seeds", "one_seed"];

/// The beginnings of the attributes that make a function a test.
const ATTRIBUTES: [&str; 2] = ["#[test]", "#[tokio::test"];

/// The tests of a file whose names are too short, each with its place. Those in a macro such as `proptest!` count too.
pub(crate) fn short_names(source: &Source) -> Vec<String> {
    let mut found = vec![];
    for (at, _) in ATTRIBUTES.iter().flat_map(|it| source.code.match_indices(it)) {
        let Some((before, rest)) = source.code[at..].split_once("fn ") else { continue };
        let ends = |it: char| !it.is_alphanumeric() && it != '_';
        let name = rest.split(ends).next().unwrap_or_default();
        let words = name.split('_').filter(|word| !word.is_empty()).count();
        if words < 3 && !COMMANDS.contains(&name) {
            let line = source.code[..at + before.len()].matches('\n').count() + 1;
            found.push(format!("{}:{line} {name}", source.path));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_with_fewer_than_three_words_is_found_inside_a_macro_too() {
        let code = "
            #[test]
            fn owns() {}
            #[tokio::test(start_paused = true)]
            async fn node_off() {}
            proptest! {
                #[test]
                fn any_plan(x in 0..2) {}
            }
            #[test]
            fn one_seed() {}
            #[test]
            #[cfg(unix)]
            fn plan_is_kept() {}
            fn helper() {}
        ";
        let source = Source {
            path: "a.rs".to_owned(),
            text: code.to_owned(),
            code: code.to_owned(),
            for_tests: false,
        };
        assert_eq!(short_names(&source), ["a.rs:3 owns", "a.rs:8 any_plan", "a.rs:5 node_off"]);
    }
}
