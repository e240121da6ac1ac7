//! The form of label values (`IsValidLabelValue` in `apimachinery/pkg/api/validate/content`).

/// The API server's explanation of a label value that it refuses.
pub(crate) const LABEL_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and \
    must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for \
    validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

/// Whether something begins and ends with a letter or digit, and has only those, '-', '_' and '.' between.
pub(crate) fn is_label_value(name: &str) -> bool {
    let inside = |one: u8| one.is_ascii_alphanumeric() || b"-_.".contains(&one);
    let edge = |one: Option<&u8>| one.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = name.as_bytes();
    bytes.iter().all(|one| inside(*one)) && edge(bytes.first()) && edge(bytes.last())
}
