//! Label selectors, as Kubernetes matches them.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use crate::labels::Labels;

/// `metav1.LabelSelector`: every requirement must hold. A selector without requirements matches everything. An object
/// without a selector has `None` instead, and matches nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Selector {
    /// `matchLabels`: the label is there with this value.
    pub labels: Labels,
    /// `matchExpressions`.
    pub expressions: Box<[Requirement]>,
}

/// One of a selector's `matchExpressions`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Requirement {
    /// The label's key.
    pub key: Arc<str>,
    /// The comparison of its value.
    pub operator: Operator,
    /// The values of the comparison; empty for [`Operator::Exists`] and [`Operator::DoesNotExist`].
    pub values: Box<[Arc<str>]>,
}

/// `metav1.LabelSelectorOperator`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Operator {
    /// The label is there and its value is one of these.
    In,
    /// The label is absent or its value is none of these.
    NotIn,
    /// The label is there.
    Exists,
    /// The label is absent.
    DoesNotExist,
}

impl Selector {
    /// A selector with `matchLabels` only, such as a Service's.
    pub fn of_labels(labels: Labels) -> Self {
        Self { labels, expressions: Box::default() }
    }

    /// Whether every requirement holds for these labels.
    pub fn matches(&self, labels: &Labels) -> bool {
        self.labels.iter().all(|(key, value)| labels.get(key) == Some(value))
            && self.expressions.iter().all(|requirement| requirement.holds(labels))
    }
}

impl From<Labels> for Selector {
    fn from(labels: Labels) -> Self {
        Self::of_labels(labels)
    }
}

impl Requirement {
    fn holds(&self, labels: &Labels) -> bool {
        let value = labels.get(&self.key);
        match self.operator {
            Operator::In => value.is_some_and(|value| self.values.contains(value)),
            Operator::NotIn => value.is_none_or(|value| !self.values.contains(value)),
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
        }
    }
}

impl std::fmt::Display for Selector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut parts: Vec<String> =
            self.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
        parts.extend(self.expressions.iter().map(|r| match r.operator {
            Operator::In => format!("{} in ({})", r.key, r.values.join(",")),
            Operator::NotIn => format!("{} notin ({})", r.key, r.values.join(",")),
            Operator::Exists => r.key.to_string(),
            Operator::DoesNotExist => format!("!{}", r.key),
        }));
        // The empty selector in Kubernetes' notation.
        f.write_str(if parts.is_empty() { "{}" } else { "" })?;
        f.write_str(&parts.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(text: &str) -> Labels {
        text.split_whitespace()
            .map(|pair| pair.split_once('=').unwrap())
            .map(|(key, value)| (key.into(), value.into()))
            .collect()
    }

    fn requirement(operator: Operator, values: &[&str]) -> Selector {
        let values = values.iter().map(|value| Arc::from(*value)).collect();
        Selector {
            labels: Labels::new(),
            expressions: [Requirement { key: "tier".into(), operator, values }].into(),
        }
    }

    #[test]
    fn labels_must_all_match() {
        let selector = Selector::of_labels(labels("app=web tier=front"));
        assert!(selector.matches(&labels("app=web tier=front more=yes")));
        assert!(!selector.matches(&labels("app=web")));
        assert!(!selector.matches(&labels("app=web tier=back")));
    }

    #[test]
    fn expressions_match_as_in_the_api() {
        let (front, back, none) = (labels("tier=front"), labels("tier=back"), labels("app=web"));
        let answers =
            |selector: Selector| [&front, &back, &none].map(|labels| selector.matches(labels));
        assert_eq!(answers(requirement(Operator::In, &["front"])), [true, false, false]);
        assert_eq!(answers(requirement(Operator::NotIn, &["front"])), [false, true, true]);
        assert_eq!(answers(requirement(Operator::Exists, &[])), [true, true, false]);
        assert_eq!(answers(requirement(Operator::DoesNotExist, &[])), [false, false, true]);
    }

    #[test]
    fn empty_selector_matches_everything() {
        assert!(Selector::default().matches(&Labels::new()));
    }
}
