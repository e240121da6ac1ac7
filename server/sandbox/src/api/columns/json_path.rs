//! JSON paths, as far as CustomResourceDefinitions use them for columns:
//! `.status.conditions[?(@.type=="Ready")].status`. Upstream: client-go/util/jsonpath/jsonpath.go.
//!
//! # Decisions
//! - `jsonpath-rust`, which kube brings, speaks RFC 9535 and not the dialect of Kubernetes: it has no `\.` for a dot in a name,
//!   and an item without the member passes its `!=`. Columns with either would differ from a real API server.

use serde_json::Value;

/// A step of a path.
#[derive(Debug, Clone, PartialEq)]
enum Step {
    Member(String),
    /// A negative index counts from the end.
    At(i64),
    All,
    /// The list items in which `path` leads to the value `is`, or to another value if `equal` is false. An item in
    /// which the path leads nowhere is left out, also by `!=` (`evalFilter`).
    Where {
        path: Vec<Step>,
        is: Value,
        equal: bool,
    },
}

/// The values at a path; none if it leads nowhere or is malformed.
pub(super) fn find<'a>(object: &'a Value, path: &str) -> Vec<&'a Value> {
    match steps(path) {
        Some(steps) => follow(vec![object], &steps),
        None => vec![],
    }
}

fn follow<'a>(from: Vec<&'a Value>, steps: &[Step]) -> Vec<&'a Value> {
    steps
        .iter()
        .fold(from, |found, step| found.into_iter().flat_map(|one| next(one, step)).collect())
}

fn next<'a>(from: &'a Value, step: &Step) -> Vec<&'a Value> {
    let list = || from.as_array().into_iter().flatten();
    match step {
        Step::Member(name) => from.get(name).into_iter().collect(),
        Step::At(index) => {
            let count = from.as_array().map_or(0, Vec::len);
            let from_end = || count.checked_sub(usize::try_from(index.unsigned_abs()).ok()?);
            let index = usize::try_from(*index).ok().or_else(from_end);
            index.and_then(|index| from.get(index)).into_iter().collect()
        }
        Step::All => match from {
            Value::Object(map) => map.values().collect(),
            _ => list().collect(),
        },
        Step::Where { path, is, equal } => {
            let fits = |one: &&Value| match follow(vec![*one], path).first() {
                Some(found) => (**found == *is) == *equal,
                None => false,
            };
            list().filter(fits).collect()
        }
    }
}

/// Parses a path; `None` if it is malformed.
fn steps(path: &str) -> Option<Vec<Step>> {
    let mut rest = path.strip_prefix('$').unwrap_or(path);
    let mut steps = vec![];
    while !rest.is_empty() {
        let step;
        (step, rest) = if let Some(inside) = rest.strip_prefix('[') {
            // A filter may itself contain brackets, quoted or not.
            let end = closing(inside)?;
            (bracket(&inside[..end])?, &inside[end + 1..])
        } else {
            member(rest.strip_prefix('.')?)?
        };
        steps.push(step);
    }
    Some(steps)
}

/// Reads a name up to the next step. `\.` is a literal dot.
fn member(text: &str) -> Option<(Step, &str)> {
    let mut name = String::new();
    let mut rest = text.char_indices();
    let mut end = text.len();
    while let Some((at, one)) = rest.next() {
        match one {
            '\\' => name.push(rest.next()?.1),
            '.' | '[' => {
                end = at;
                break;
            }
            _ => name.push(one),
        }
    }
    let step = match name.as_str() {
        "" => return None,
        "*" => Step::All,
        _ => Step::Member(name),
    };
    Some((step, &text[end..]))
}

/// The position of the bracket that closes the one opened before the text.
fn closing(text: &str) -> Option<usize> {
    let (mut depth, mut quote) = (0_usize, None);
    for (at, one) in text.char_indices() {
        match (quote, one) {
            (Some(open), _) if one == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(one),
            (None, '[') => depth += 1,
            (None, ']') if depth == 0 => return Some(at),
            (None, ']') => depth -= 1,
            _ => {}
        }
    }
    None
}

fn bracket(inside: &str) -> Option<Step> {
    let inside = inside.trim();
    if inside == "*" {
        return Some(Step::All);
    }
    if let Some(name) = in_quotes(inside) {
        return Some(Step::Member(name.to_owned()));
    }
    let Some(filter) = inside.strip_prefix("?(").and_then(|it| it.strip_suffix(')')) else {
        return inside.parse().ok().map(Step::At);
    };
    let filter = filter.trim().strip_prefix('@')?;
    let (path, is, equal) = match (filter.split_once("=="), filter.split_once("!=")) {
        (Some((path, is)), _) => (path, is, true),
        (None, Some((path, is))) => (path, is, false),
        (None, None) => return None,
    };
    let is = is.trim();
    let is = match in_quotes(is) {
        Some(text) => text.into(),
        None => serde_json::from_str(is).ok()?,
    };
    Some(Step::Where { path: steps(path.trim())?, is, equal })
}

fn in_quotes(text: &str) -> Option<&str> {
    let within = |quote: char| text.strip_prefix(quote)?.strip_suffix(quote);
    within('"').or_else(|| within('\''))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn path_of_a_column_is_read() {
        let object = json!({
            "spec": {"size": 4, "names": ["a", "b"], "a.b": {"c": true}},
            "status": {"conditions": [
                {"type": "Synced", "status": "False"},
                {"type": "Ready", "status": "True", "at]": 1},
            ]},
        });
        for (path, expected) in [
            (".spec.size", json!([4])),
            ("$.spec.size", json!([4])),
            (".spec.names", json!([["a", "b"]])),
            (".spec.names[*]", json!(["a", "b"])),
            (".spec.names[1]", json!(["b"])),
            (".spec.names[-1]", json!(["b"])),
            (".spec.names[-3]", json!([])),
            (".spec.names[2]", json!([])),
            (r".spec.a\.b.c", json!([true])),
            (".spec['a.b'].c", json!([true])),
            (r#".status.conditions[?(@.type=="Ready")].status"#, json!(["True"])),
            (".status.conditions[?(@.type == 'Ready')].status", json!(["True"])),
            (".status.conditions[?(@.type!='Ready')].status", json!(["False"])),
            (".status.conditions[?(@['at]']==1)].type", json!(["Ready"])),
            (".status.conditions[*].type", json!(["Synced", "Ready"])),
            (".status.none[?(@.a==1)].b", json!([])),
            (".spec.*", json!([{"c": true}, ["a", "b"], 4])),
        ] {
            let mut found = json!(find(&object, path));
            if path == ".spec.*" {
                found.as_array_mut().unwrap().sort_by_key(|it| it.to_string().len());
                found.as_array_mut().unwrap().reverse();
            }
            assert_eq!(found, expected, "{path}");
        }
    }

    #[test]
    fn invalid_path_leads_nowhere() {
        for path in [
            "spec",
            "..",
            ".spec.",
            ".[",
            ".a[",
            ".a[?(",
            ".a[?(@)]",
            ".a[?(@.b)]",
            ".a[?(@.b==)]",
            ".a[x]",
            ".a\\",
            "[",
            "]",
            "[]",
            ".a]",
            ".a['b",
            ".a[?(.b==1)]",
            ".ä[ü]",
        ] {
            assert!(find(&json!({"a": [1], "spec": 1}), path).is_empty(), "{path}");
        }
    }
}
