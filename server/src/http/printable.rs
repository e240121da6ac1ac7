//! Text from outside, made safe for a line of the log.

/// The most characters of a text from outside that are logged.
const LOGGED_CHARS: usize = 200;

/// Escapes control characters, so that the text can neither end its line nor colour it, and truncates it to
/// [`LOGGED_CHARS`] characters.
pub(super) fn printable(text: &str) -> String {
    let mut printable: String =
        text.chars().take(LOGGED_CHARS).flat_map(char::escape_debug).collect();
    if text.chars().nth(LOGGED_CHARS).is_some() {
        printable.push('…');
    }
    printable
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logged_text_cannot_forge_a_line_or_colour_it() {
        assert_eq!(printable("/u/shop"), "/u/shop");
        assert_eq!(printable("a\nb\u{1b}[31m\u{202e}"), r"a\nb\u{1b}[31m\u{202e}");
        assert_eq!(printable(&"x".repeat(500)).chars().count(), 201);
    }
}
