//! Random bytes in hexadecimal: request ids and tokens.

use data_encoding::HEXLOWER;

/// Random bytes from the operating system, `N` of them, in hexadecimal.
///
/// # Panics
/// Panics if the operating system gives no random bytes, because tokens and session ids could then be guessed.
pub(super) fn random_hex<const N: usize>() -> String {
    let mut bytes = [0; N];
    #[expect(clippy::expect_used, reason = "there is no safe way to go on without randomness")]
    getrandom::fill(&mut bytes).expect("the operating system gives random bytes");
    HEXLOWER.encode(&bytes)
}
