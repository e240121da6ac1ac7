//! The causes of refusals, by the text of the API server's answer. The texts are those of
//! `staging/src/k8s.io/apiserver/pkg/admission/plugin` and of `apierrors.NewForbidden` over
//! `…/pkg/endpoints/handlers/responsewriters/errors.go`.

use crate::api_problem::ApiProblem;

/// The resources of webhook configurations.
pub(crate) const WEBHOOK_CONFIGURATIONS: [&str; 2] = [
    "validatingwebhookconfigurations.admissionregistration.k8s.io",
    "mutatingwebhookconfigurations.admissionregistration.k8s.io",
];

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

    /// The cause that a message of the API server names.
    pub(crate) fn in_text(message: &'a str) -> Self {
        if let Some(webhook) = quoted_after(message, "failed calling webhook ") {
            return Self::WebhookDown { webhook };
        }
        if let Some((before, _)) = message.split_once(" denied the request")
            && let Some(webhook) = quoted_after(before, "admission webhook ")
        {
            return Self::WebhookDenies { webhook };
        }
        if let Some((_, rest)) = message.split_once("ValidatingAdmissionPolicy '") {
            return Self::PolicyDenies { policy: rest.split('\'').next().unwrap_or_default() };
        }
        match message.split_once(" is forbidden: User ") {
            Some((_, right)) if right.contains(" cannot ") => Self::Forbidden { right },
            _ => Self::Other,
        }
    }

    /// Whether the refusal has nothing to do with the object, so that another object is refused for the same cause.
    pub(crate) fn is_shared(self) -> bool {
        matches!(self, Self::WebhookDown { .. } | Self::Forbidden { .. })
    }
}

/// The text between quotes after a word: `word "text" …`.
fn quoted_after<'m>(message: &'m str, word: &str) -> Option<&'m str> {
    let (_, rest) = message.split_once(word)?;
    rest.strip_prefix('"')?.split('"').next().filter(|name| !name.is_empty())
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
}
