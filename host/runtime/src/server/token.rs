//! The secret that clients show.

use std::fs;
use std::path::Path;

use super::error::ServeError;

/// Characters that it has at least.
const LEAST: usize = 16;

/// A secret. It goes into headers and addresses as it is, so it is made of
/// letters, digits and `-._~` alone.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// The one in this file; white space around it does not count.
    ///
    /// # Errors
    /// If the file cannot be read, or what is in it is too short or has other
    /// characters.
    pub fn read(file: &Path) -> Result<Self, ServeError> {
        let unfit = |reason: String| ServeError::Token { file: file.to_owned(), reason };
        let text = fs::read_to_string(file).map_err(|error| unfit(error.to_string()))?;
        Token::of(text.trim()).map_err(unfit)
    }

    fn of(text: &str) -> Result<Self, String> {
        let is_fit = |letter: u8| letter.is_ascii_alphanumeric() || b"-._~".contains(&letter);
        if text.len() < LEAST {
            return Err(format!("a token has {LEAST} characters at least"));
        }
        if !text.bytes().all(is_fit) {
            return Err("a token is made of letters, digits and `-._~`".to_owned());
        }
        Ok(Token(text.to_owned()))
    }

    /// Whether somebody says it. How long that takes says nothing of where they
    /// differ.
    pub(super) fn is(&self, said: &str) -> bool {
        let (own, said) = (self.0.as_bytes(), said.as_bytes());
        let differ = own.iter().zip(said).fold(0, |differ, (own, said)| differ | (own ^ said));
        own.len() == said.len() && std::hint::black_box(differ) == 0
    }
}

impl std::fmt::Debug for Token {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Token(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_token_is_right() {
        let token = Token::of("0123456789abcdef").unwrap();
        assert!(token.is("0123456789abcdef"));
        for wrong in ["", "0123456789abcde", "0123456789abcdef0", "0123456789abcdeF"] {
            assert!(!token.is(wrong), "{wrong}");
        }
        assert_eq!(format!("{token:?}"), "Token(…)");
    }

    #[test]
    fn what_is_short_or_has_other_characters_is_no_token() {
        assert!(Token::of("0123456789abcde").is_err());
        assert!(Token::of("0123456789 abcdef").is_err());
        assert!(Token::of("0123456789abcdef\u{e9}").is_err());
    }
}
