//! The names of objects, labels and finalizers (`apimachinery/pkg/api/validate/content`, `ValidateNameFunc` of each
//! kind).

use std::net::IpAddr;

use serde_json::{Value, json};

use crate::{
    kind::Kind,
    label::{LABEL_VALUE, is_label_value},
    status::Cause,
};

pub(super) const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', \
    and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
pub(crate) const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start \
    and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
pub(super) const QUALIFIED: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
    alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
    '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

/// The reason why a name is invalid for this kind.
pub(super) fn wrong_name(kind: &Kind, name: &str) -> Option<&'static str> {
    if name == "." || name == ".." {
        return Some("may not be '.' or '..'");
    }
    if name.contains('/') {
        return Some("may not contain '/'");
    }
    if name.contains('%') {
        return Some("may not contain '%'");
    }
    match (kind.group.as_str(), kind.plural.as_str()) {
        // Any path segment is valid.
        ("rbac.authorization.k8s.io", _) | ("apiregistration.k8s.io", _) => None,
        ("", "namespaces") if name.len() > 63 => Some("must be no more than 63 characters"),
        ("", "namespaces") => (!is_label(name)).then_some(LABEL),
        ("", "services") if name.len() > 63 => Some("must be no more than 63 characters"),
        ("", "services") if name.contains('.') => Some("must not contain dots"),
        // RelaxedServiceNameValidation: the name may begin with a digit.
        ("", "services") => (!is_label(name)).then_some(LABEL),
        ("networking.k8s.io", "ipaddresses") => {
            let why = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
            name.parse::<IpAddr>().is_err().then_some(why)
        }
        _ if name.len() > 253 => Some("must be no more than 253 characters"),
        _ => (!name.split('.').all(is_label)).then_some(SUBDOMAIN),
    }
}

pub(crate) fn is_label(name: &str) -> bool {
    let inside = |one: u8| one.is_ascii_lowercase() || one.is_ascii_digit() || one == b'-';
    !name.is_empty() && name.bytes().all(inside) && !name.starts_with('-') && !name.ends_with('-')
}

/// `IsQualifiedName`: the errors in a name of at most 63 characters, which may follow a DNS subdomain and a slash.
pub(crate) fn wrong_qualified_name(name: &str) -> Vec<String> {
    let (prefix, end) = match name.split_once('/') {
        Some((_, rest)) if rest.contains('/') => {
            return vec![format!(
                "a qualified name {} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
                QUALIFIED.trim_start_matches("name part ")
            )];
        }
        Some((prefix, end)) => (Some(prefix), end),
        None => (None, name),
    };
    let mut wrong = vec![];
    match prefix {
        Some("") => wrong.push("prefix part must be non-empty".into()),
        Some(prefix) if prefix.len() > 253 => {
            wrong.push("prefix part must be no more than 253 bytes".into());
        }
        Some(prefix) if !prefix.split('.').all(is_label) => {
            wrong.push(format!("prefix part {SUBDOMAIN}"));
        }
        _ => {}
    }
    if end.is_empty() {
        wrong.push("name part must be non-empty".into());
    } else if end.len() > 63 {
        wrong.push("name part must be no more than 63 bytes".into());
    }
    if !is_label_value(end) {
        wrong.push(QUALIFIED.into());
    }
    wrong
}

/// `ValidateLabels`.
pub(super) fn labels(field: &str, labels: &Value, causes: &mut Vec<Cause>) {
    for (name, value) in labels.as_object().into_iter().flatten() {
        for why in wrong_qualified_name(name) {
            causes.push(Cause::invalid(field, &json!(name), &why));
        }
        let value = value.as_str().unwrap_or_default();
        if value.len() > 63 {
            causes.push(Cause::invalid(field, &json!(value), "must be no more than 63 bytes"));
        }
        if !value.is_empty() && !is_label_value(value) {
            causes.push(Cause::invalid(field, &json!(value), LABEL_VALUE));
        }
    }
}
