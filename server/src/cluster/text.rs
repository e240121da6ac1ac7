//! Text that came from outside, made fit to be shown and kept.

use std::error::Error;

/// The most characters of a foreign message that are kept: enough for a webhook's denial, too few to fill a page.
const MAX_CHARS: usize = 512;

/// The text in one line, without control or direction-changing characters, and at most 512 characters long.
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
        if length + 2 > MAX_CHARS {
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

/// An error and its causes in one line. A cause that the error before it already spells out is not said twice.
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

/// Characters that change how their neighbours are read and are not seen themselves.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_becomes_one_short_line() {
        assert_eq!(
            bounded("  denied:\r\n\tno\u{1b}[31m way \u{202e}back\n"),
            "denied: no [31m way back"
        );
        assert_eq!(bounded(""), "");
        let long = bounded(&"ä ".repeat(1_000));
        assert!(long.chars().count() <= MAX_CHARS, "{}", long.chars().count());
        assert!(long.ends_with('…'));
    }
}
