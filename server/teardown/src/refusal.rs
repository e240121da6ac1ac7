//! The causes of refusals, by the text of the API server's answer. The texts are those of
//! `staging/src/k8s.io/apiserver/pkg/admission/plugin` and of `apierrors.NewForbidden` over
//! `…/pkg/endpoints/handlers/responsewriters/errors.go`.

use crate::api_problem::ApiProblem;

/// The resources of webhook configurations.
pub(crate) const WEBHOOK_CONFIGURATIONS: [&str; 2] = [
    "validatingwebhookconfigurations.admissionregistration.k8s.io",
    "mutatingwebhookconfigurations.admissionregistration.k8s.io",
];

/// The words behind the name of a webhook that said no.
const DENIED: &str = " denied the request";

/// The party that refused a request, as far as the answer names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RefusalCause<'a> {
    /// A webhook that could not be asked.
    WebhookDown {
        /// `name` of the webhook, not of its configuration.
        webhook: &'a str,
    },
    /// A webhook that said no.
    WebhookDenies {
        /// `name` of the webhook, not of its configuration.
        webhook: &'a str,
    },
    /// A ValidatingAdmissionPolicy.
    PolicyDenies {
        /// The policy's name.
        policy: &'a str,
    },
    /// An authorizer, such as RBAC.
    Forbidden {
        /// The user, the verb, the resource and the namespace, without the object.
        right: &'a str,
    },
    /// The answer names nobody: the object's own validation, a quota, a conflict.
    Other,
}

impl<'a> RefusalCause<'a> {
    /// The cause that a problem names.
    pub(crate) fn of(problem: &'a ApiProblem) -> Self {
        match problem {
            ApiProblem::Quoted(message) => Self::in_text(message),
            ApiProblem::Code(_) => Self::Other,
        }
    }

    /// The cause that an answer of the API server names.
    pub(crate) fn in_text(message: &'a str) -> Self {
        Self::all_in_text(message).into_iter().next().unwrap_or(Self::Other)
    }

    /// The causes that a message names, in its order and each once. A condition joins the answers to several requests.
    pub(crate) fn all_in_text(message: &'a str) -> Vec<Self> {
        let mut causes: Vec<Self> = Vec::new();
        for cause in Self::each_in_text(message) {
            if !causes.contains(&cause) {
                causes.push(cause);
            }
        }
        causes
    }

    /// The cause of each answer that a message joins and that names one, in its order.
    pub(crate) fn each_in_text(message: &'a str) -> Vec<Self> {
        let behind = |words: &'static str| {
            let found = message.match_indices(words);
            found.filter_map(|(at, words)| Some((at, message.get(at + words.len()..)?)))
        };
        // A webhook may quote in its denial what another server has told it. An answer of the API server's own is joined by a comma.
        let denied = behind(DENIED).next().map(|(at, _)| at);
        let is_quoted = |at: usize| {
            let before = message.get(..at).unwrap_or_default();
            let own = before.strip_suffix("Internal error occurred: ").unwrap_or(before);
            denied.is_some_and(|denied| at > denied) && !own.ends_with(", ")
        };
        let name = |rest: &'a str, end: char| {
            rest.split_once(end).map(|(name, _)| name).filter(|name| !name.is_empty())
        };
        let down = behind("failed calling webhook \"").filter(|(at, _)| !is_quoted(*at));
        let down = down.filter_map(|(at, rest)| {
            name(rest, '"').map(|webhook| (at, Self::WebhookDown { webhook }))
        });
        let denies = behind("admission webhook \"").filter_map(|(at, rest)| {
            let (webhook, rest) = rest.split_once('"')?;
            let is_denial = rest.starts_with(DENIED) && !webhook.is_empty() && !is_quoted(at);
            is_denial.then_some((at, Self::WebhookDenies { webhook }))
        });
        let policies = behind("ValidatingAdmissionPolicy '").filter_map(|(at, rest)| {
            name(rest, '\'').map(|policy| (at, Self::PolicyDenies { policy }))
        });
        let forbidden = behind(" is forbidden: User ")
            .filter(|(_, right)| right.contains(" cannot "))
            .map(|(at, right)| (at, Self::Forbidden { right }));
        let mut found: Vec<(usize, Self)> =
            down.chain(denies).chain(policies).chain(forbidden).collect();
        found.sort_by_key(|(at, _)| *at);
        found.into_iter().map(|(_, cause)| cause).collect()
    }

    /// Whether the refusal has nothing to do with the object, so that another object is refused for the same cause.
    pub(crate) fn is_shared(self) -> bool {
        matches!(self, Self::WebhookDown { .. } | Self::Forbidden { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cause_is_read_from_the_texts_of_the_api_server() {
        let down = r#"Internal error occurred: failed calling webhook "gate.example.com": failed to call webhook: Post "https://gate.guard.svc:443/?timeout=10s": dial tcp: connect: connection refused"#;
        let denied = r#"admission webhook "gate.example.com" denied the request: keep"#;
        let policy = r#"configmaps "a" is forbidden: ValidatingAdmissionPolicy 'keep' with binding 'all' denied request: no"#;
        let forbidden = |name: &str| {
            format!(
                r#"configmaps "{name}" is forbidden: User "li" cannot delete resource "configmaps" in API group "" in the namespace "shop""#
            )
        };
        let (one, two) = (forbidden("a"), forbidden("b"));
        let webhook = "gate.example.com";
        assert_eq!(RefusalCause::in_text(down), RefusalCause::WebhookDown { webhook });
        assert_eq!(RefusalCause::in_text(denied), RefusalCause::WebhookDenies { webhook });
        assert_eq!(RefusalCause::in_text(policy), RefusalCause::PolicyDenies { policy: "keep" });
        assert!(RefusalCause::in_text(&one).is_shared());
        assert_eq!(RefusalCause::in_text(&one), RefusalCause::in_text(&two));
        for other in [
            "",
            "failed calling webhook",
            r#"pods "a" is forbidden: exceeded quota: small, requested: pods=1"#,
            "ConfigMap \"a\" is invalid: metadata.finalizers: Invalid value",
        ] {
            assert_eq!(RefusalCause::in_text(other), RefusalCause::Other, "{other}");
        }
    }

    #[test]
    fn denial_that_quotes_other_servers_is_one_denial() {
        let denial = |quoted: &str| {
            format!(r#"admission webhook "a.example.com" denied the request: cannot ask: {quoted}"#)
        };
        let down = r#"failed calling webhook "b.example.com": failed to call webhook: context deadline exceeded"#;
        let nested = r#"admission webhook "b.example.com" denied the request: no"#;
        let denies = RefusalCause::WebhookDenies { webhook: "a.example.com" };
        for quoted in [down, nested, &format!("Internal error occurred: {down}")] {
            assert_eq!(RefusalCause::all_in_text(&denial(quoted)), [denies], "{quoted}");
        }
        let both = format!("{}, {nested}", denial(down));
        let other = RefusalCause::WebhookDenies { webhook: "b.example.com" };
        assert_eq!(RefusalCause::all_in_text(&both), [denies, other]);
    }

    #[test]
    fn condition_that_joins_answers_names_each_cause_once() {
        let down = |webhook: &str| {
            format!(
                r#"Internal error occurred: failed calling webhook "{webhook}": failed to call webhook: Post "https://gate.ops.svc:443/": connection refused"#
            )
        };
        let denied = r#"admission webhook "b.example.com" denied the request: keep"#;
        let joined = format!(
            "Failed to delete all resource types, 4 remaining: {denied}, {}, {}, {}",
            down("a.example.com"),
            down("c.example.com"),
            down("a.example.com"),
        );
        let expected = [
            RefusalCause::WebhookDenies { webhook: "b.example.com" },
            RefusalCause::WebhookDown { webhook: "a.example.com" },
            RefusalCause::WebhookDown { webhook: "c.example.com" },
        ];
        assert_eq!(RefusalCause::all_in_text(&joined), expected);
    }
}
