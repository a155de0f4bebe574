//! The token of a runtime, kept as what it is compared by.

use sha2::{Digest as _, Sha256};
use stdx::secret::Secret;
use subtle::ConstantTimeEq;
use vocab::limits::{REMOTE_TOKEN_BYTES_MAX, REMOTE_TOKEN_BYTES_MIN};

/// A token that was found to be one: its digest and its length.
pub struct Token {
    digest: [u8; 32],
    len: u64,
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(…)")
    }
}

/// Why a text is no token. It is never repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// It is too short to be safe, or too long for a header.
    #[error("a token has {REMOTE_TOKEN_BYTES_MIN} to {REMOTE_TOKEN_BYTES_MAX} bytes")]
    Length,
    /// It has nothing but blanks.
    #[error("a token is not blank")]
    Blank,
    /// No header can carry it.
    #[error("a token has no control characters")]
    Unsayable,
}

impl TokenError {
    /// Returns the stable code.
    #[must_use]
    pub fn code(self) -> &'static str {
        "token_invalid"
    }
}

impl Token {
    /// Takes a text as the token.
    ///
    /// # Errors
    /// When it is none.
    pub fn new(text: &Secret) -> Result<Self, TokenError> {
        let bytes = text.expose().as_bytes();
        if !(REMOTE_TOKEN_BYTES_MIN..=REMOTE_TOKEN_BYTES_MAX).contains(&bytes.len()) {
            return Err(TokenError::Length);
        }
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Err(TokenError::Blank);
        }
        if bytes.iter().any(u8::is_ascii_control) {
            return Err(TokenError::Unsayable);
        }
        Ok(Self { digest: digest(bytes), len: bytes.len() as u64 })
    }

    /// Tells whether what was presented is the token, in a time that tells nothing of either.
    pub(super) fn is(&self, presented: &[u8]) -> bool {
        let same = self.digest.ct_eq(&digest(presented));
        let as_long = self.len.ct_eq(&(presented.len() as u64));
        (same & as_long).into()
    }
}

fn digest(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}
