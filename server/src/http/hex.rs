//! Bytes in hexadecimal: request ids, tokens, and hashes of tokens.
//!
//! # Decisions
//! - One way of one encoding is a few lines. `data-encoding` has every other one, and is here only with the WebSockets of axum,
//!   which Leptos turns on and no route uses.

/// Random bytes from the operating system, `N` of them, in hexadecimal.
///
/// # Panics
/// Panics if the operating system gives no random bytes, because tokens and session ids could then be guessed.
pub(super) fn random_hex<const N: usize>() -> String {
    let mut bytes = [0; N];
    #[expect(clippy::expect_used, reason = "there is no safe way to go on without randomness")]
    getrandom::fill(&mut bytes).expect("the operating system gives random bytes");
    hex(&bytes)
}

/// The bytes in lower-case hexadecimal.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        text.push(char::from_digit(u32::from(byte >> 4), 16).unwrap_or('0'));
        text.push(char::from_digit(u32::from(byte & 15), 16).unwrap_or('0'));
        text
    })
}
