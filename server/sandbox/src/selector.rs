//! Label and field selectors, from objects and from query strings.

use serde_json::Value;

use crate::{
    label::{LABEL_VALUE, is_label_value},
    object,
};

/// A label selector. All requirements must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Labels {
    requirements: Vec<Requirement>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Requirement {
    key: String,
    operator: Operator,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Operator {
    In(Vec<String>),
    NotIn(Vec<String>),
    Exists,
    DoesNotExist,
    GreaterThan(i64),
    LessThan(i64),
}

impl Labels {
    /// Reads a `metav1.LabelSelector`. A null selector selects nothing (`None`), an empty one everything.
    #[must_use]
    pub fn from_object(selector: &Value) -> Option<Self> {
        let selector = selector.as_object()?;
        let mut requirements = vec![];
        for (key, value) in
            selector.get("matchLabels").and_then(Value::as_object).into_iter().flatten()
        {
            let operator = Operator::In(vec![value.as_str()?.into()]);
            requirements.push(Requirement { key: key.clone(), operator });
        }
        for one in selector.get("matchExpressions").and_then(Value::as_array).into_iter().flatten()
        {
            let values: Vec<String> = object::texts(one, &["values"]).map(String::from).collect();
            let operator = match object::text(one, &["operator"]) {
                "In" => Operator::In(values),
                "NotIn" => Operator::NotIn(values),
                "Exists" => Operator::Exists,
                "DoesNotExist" => Operator::DoesNotExist,
                _ => return None,
            };
            requirements.push(Requirement { key: object::text(one, &["key"]).into(), operator });
        }
        Some(Self { requirements })
    }

    /// Reads a plain map of labels, such as a Service's selector. An empty one selects nothing.
    #[must_use]
    pub fn from_map(selector: &Value) -> Option<Self> {
        let map = selector.as_object().filter(|map| !map.is_empty())?;
        let requirement = |(key, value): (&String, &Value)| {
            let operator = Operator::In(vec![value.as_str()?.into()]);
            Some(Requirement { key: key.clone(), operator })
        };
        Some(Self { requirements: map.iter().map(requirement).collect::<Option<_>>()? })
    }

    /// Parses a query: `app=web,tier in (a,b),!old,x!=y`.
    ///
    /// # Errors
    ///
    /// The message of the API server for a malformed query.
    pub fn parse(text: &str) -> Result<Self, String> {
        let unable = || format!("unable to parse requirement: invalid label selector {text:?}");
        let mut requirements = vec![];
        for part in split_outside_parentheses(text) {
            let part = part.trim();
            if part.is_empty() {
                continue;
            }
            if let Some(odd) = part.chars().next().filter(|one| "=<>)(".contains(*one)) {
                return Err(format!("found '{odd}', expected: !, identifier, or 'end of string'"));
            }
            let words: Vec<&str> = part.splitn(2, char::is_whitespace).collect();
            if let [_, rest] = words.as_slice()
                && let Some(("in" | "notin", values)) = rest.trim().split_once(char::is_whitespace)
                && !values.trim().starts_with('(')
            {
                let found = values.split_whitespace().next().unwrap_or_default();
                return Err(format!("unable to parse requirement: found '{found}' expected: '('"));
            }
            let requirement = if let Some(key) = part.strip_prefix('!') {
                (key.trim(), Operator::DoesNotExist)
            } else if let [key, rest] = words.as_slice()
                && let Some(values) = set(rest.trim(), "notin")
            {
                (*key, Operator::NotIn(values))
            } else if let [key, rest] = words.as_slice()
                && let Some(values) = set(rest.trim(), "in")
            {
                (*key, Operator::In(values))
            } else if let Some((key, value)) = part.split_once("!=") {
                (key.trim(), Operator::NotIn(vec![value.trim().into()]))
            } else if let Some((key, value)) =
                part.split_once("==").or_else(|| part.split_once('='))
            {
                (key.trim(), Operator::In(vec![value.trim().into()]))
            } else if let Some((key, value)) = part.split_once('>') {
                (key.trim(), Operator::GreaterThan(value.trim().parse().map_err(|_| unable())?))
            } else if let Some((key, value)) = part.split_once('<') {
                (key.trim(), Operator::LessThan(value.trim().parse().map_err(|_| unable())?))
            } else {
                (part, Operator::Exists)
            };
            let (key, operator) = requirement;
            if let Some((_, second)) = key.split_once(char::is_whitespace) {
                let second = second.split_whitespace().next().unwrap_or_default();
                let expected = "in, notin, =, ==, !=, gt, lt";
                return Err(format!(
                    "unable to parse requirement: found '{second}', expected: {expected}"
                ));
            }
            if key.is_empty()
                || key.contains(|one: char| one.is_whitespace() || "()=!<>,".contains(one))
            {
                return Err(unable());
            }
            if let Operator::In(values) | Operator::NotIn(values) = &operator {
                let odd = |value: &String| !value.is_empty() && !is_label_value(value);
                if let Some((index, value)) =
                    values.iter().enumerate().find(|(_, value)| odd(value))
                {
                    return Err(format!(
                        "unable to parse requirement: values[{index}][{key}]: Invalid value: {value:?}: {LABEL_VALUE}"
                    ));
                }
            }
            requirements.push(Requirement { key: key.into(), operator });
        }
        Ok(Self { requirements })
    }

    /// Whether the selector is empty, so that it selects everything.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// Whether an object or a Pod template has matching labels.
    #[must_use]
    pub fn matches(&self, object: &Value) -> bool {
        let labels = &object["metadata"]["labels"];
        self.requirements.iter().all(|Requirement { key, operator }| {
            let value = labels.get(key).and_then(Value::as_str);
            let number = || value.and_then(|value| value.parse::<i64>().ok());
            match operator {
                Operator::In(values) => {
                    value.is_some_and(|value| values.iter().any(|one| one == value))
                }
                Operator::NotIn(values) => {
                    value.is_none_or(|value| values.iter().all(|one| one != value))
                }
                Operator::Exists => value.is_some(),
                Operator::DoesNotExist => value.is_none(),
                Operator::GreaterThan(than) => number().is_some_and(|value| value > *than),
                Operator::LessThan(than) => number().is_some_and(|value| value < *than),
            }
        })
    }
}

fn set(text: &str, word: &str) -> Option<Vec<String>> {
    let inside = text.strip_prefix(word)?.trim().strip_prefix('(')?.strip_suffix(')')?;
    Some(inside.split(',').map(|value| value.trim().to_owned()).collect())
}

fn split_outside_parentheses(text: &str) -> Vec<&str> {
    let (mut parts, mut start, mut depth) = (vec![], 0, 0_usize);
    for (at, one) in text.char_indices() {
        match one {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

/// A field selector: `status.phase=Running,spec.nodeName!=n1`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fields {
    /// The field, whether it must be equal, and the value.
    terms: Vec<(String, bool, String)>,
}

impl Fields {
    /// Parses a query.
    ///
    /// # Errors
    ///
    /// The message of the API server for a malformed query.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut terms = vec![];
        for part in text.split(',').filter(|part| !part.is_empty()) {
            let (field, equal, value) = if let Some((field, value)) = part.split_once("!=") {
                (field, false, value)
            } else if let Some((field, value)) =
                part.split_once("==").or_else(|| part.split_once('='))
            {
                (field, true, value)
            } else {
                return Err(format!("invalid selector: '{text}'; can't understand '{part}'"));
            };
            terms.push((field.into(), equal, value.into()));
        }
        Ok(Self { terms })
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// The fields in the query.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.terms.iter().map(|(field, ..)| field.as_str())
    }

    /// The single name that the query selects, if it does.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        let mut names =
            self.terms.iter().filter(|(field, equal, _)| field == "metadata.name" && *equal);
        names.next().map(|(.., name)| name.as_str())
    }

    #[must_use]
    pub fn matches(&self, object: &Value) -> bool {
        self.terms.iter().all(|(field, equal, wanted)| {
            let path: Vec<&str> = field.split('.').collect();
            let is = match object::at(object, &path) {
                Value::Bool(value) => *wanted == value.to_string(),
                value => value.as_str().unwrap_or_default() == wanted,
            };
            is == *equal
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn labels_as_kubectl_writes_them() {
        let object = json!({"metadata": {"labels": {"app": "web", "n": "5"}}});
        for (text, expected) in [
            ("app=web", true),
            ("app==web,n", true),
            ("app!=web", false),
            ("app in (db, web),!old", true),
            ("app notin (web)", false),
            ("tier notin (x)", true),
            ("n>4,n<6", true),
            ("", true),
        ] {
            assert_eq!(Labels::parse(text).unwrap().matches(&object), expected, "{text}");
        }
        assert!(
            Labels::parse("a b c").is_err()
                && Labels::parse("=x").is_err()
                && Labels::parse("n>x").is_err()
        );
        assert_eq!(Labels::from_object(&Value::Null), None);
        assert!(Labels::from_object(&json!({})).unwrap().matches(&object));
        assert_eq!(Labels::from_map(&json!({})), None);
        let fields = Fields::parse("metadata.labels.app=web,spec.x!=1").unwrap();
        assert!(fields.matches(&object) && Fields::parse("nonsense").is_err());
    }
}
