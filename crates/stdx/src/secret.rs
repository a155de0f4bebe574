//! A value that cannot be printed, compared by accident or left in memory after its last use.

use std::fmt;

use subtle::ConstantTimeEq;

/// A secret text. It has no `Display` and no serialisation; `Debug` says only that it is there.
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    /// Takes ownership of a secret text.
    #[must_use]
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// Takes ownership of bytes, as files hold them. What is no UTF-8 is replaced, and the bytes wiped.
    #[must_use]
    pub fn from_bytes(bytes: Vec<u8>) -> Self {
        match String::from_utf8(bytes) {
            Ok(text) => Self(text),
            Err(error) => {
                let mut bytes = error.into_bytes();
                let text = String::from_utf8_lossy(&bytes).into_owned();
                wipe(&mut bytes);
                Self(text)
            }
        }
    }

    /// Hands out the text. The name makes every place that does so easy to find.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Compares in time that depends on the length alone.
    #[must_use]
    pub fn matches(&self, presented: &[u8]) -> bool {
        self.0.as_bytes().ct_eq(presented).into()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl Drop for Secret {
    fn drop(&mut self) {
        wipe(&mut std::mem::take(&mut self.0).into_bytes());
    }
}

fn wipe(bytes: &mut [u8]) {
    bytes.fill(0);
    std::hint::black_box(&bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_become_a_secret_without_a_copy() {
        let bytes = b"hunter2".to_vec();
        let at = bytes.as_ptr();
        let secret = Secret::from_bytes(bytes);
        assert_eq!((secret.expose(), secret.expose().as_ptr()), ("hunter2", at));
        assert_eq!(Secret::from_bytes(vec![b'a', 0xff]).expose(), "a\u{fffd}");
    }

    #[test]
    fn a_secret_never_shows_in_debug_output() {
        let secret = Secret::new("hunter2".into());
        assert_eq!(format!("{secret:?}"), "Secret(…)");
        assert!(secret.matches(b"hunter2"));
        assert!(!secret.matches(b"hunter"));
    }
}
