//! Text from outside, made safe to show and to keep.

use std::error::Error;

/// The most characters that are kept of a message from outside: enough for a webhook's denial, too few to fill a page.
const MAX_CHARS: usize = 512;

/// Puts the text on one line of at most 512 characters, without control characters and without characters that change
/// the direction of writing.
pub(super) fn bounded(text: &str) -> String {
    let mut line = String::new();
    let mut length = 0;
    let mut gap = false;
    for c in text.chars() {
        if c.is_whitespace() || c.is_control() {
            gap = length > 0;
            continue;
        }
        if is_invisible(c) {
            continue;
        }
        if length + usize::from(gap) + 2 > MAX_CHARS {
            line.push('…');
            break;
        }
        if gap {
            line.push(' ');
            length += 1;
            gap = false;
        }
        line.push(c);
        length += 1;
    }
    line
}

/// An error and its causes on one line. A cause that the previous error already includes is not repeated.
pub(super) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let next = error.to_string();
        if !text.ends_with(&next) {
            text.push_str(": ");
            text.push_str(&next);
        }
        cause = error.source();
    }
    bounded(&text)
}

/// Whether the character is invisible, or changes how its neighbours are read.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_outside_becomes_one_short_line() {
        assert_eq!(
            bounded("  denied:\r\n\tno\u{1b}[31m way \u{202e}back\n"),
            "denied: no [31m way back"
        );
        assert_eq!(bounded(""), "");
        for before in ["", "x"] {
            let long = bounded(&format!("{before}{}", "ä ".repeat(1_000)));
            assert!(long.chars().count() <= MAX_CHARS, "{}", long.chars().count());
            assert!(long.ends_with('…'));
        }
    }
}
