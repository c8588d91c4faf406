//! The secret that clients show.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;

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

    /// This one.
    pub(super) fn of(text: &str) -> Result<Self, String> {
        let is_fit = |letter: u8| letter.is_ascii_alphanumeric() || b"-._~".contains(&letter);
        if text.len() < LEAST {
            return Err(format!("a token has {LEAST} characters at least"));
        }
        if !text.bytes().all(is_fit) {
            return Err("a token is made of letters, digits and `-._~`".to_owned());
        }
        Ok(Token(text.to_owned()))
    }

    /// Whether a request shows it: `Authorization: Bearer <token>`.
    pub(super) fn is_shown(&self, headers: &HeaderMap) -> bool {
        let values = headers.get_all(AUTHORIZATION).iter();
        let mut shown = values
            .filter_map(|value| value.to_str().ok()?.split_once(' '))
            .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
        shown.any(|(_, said)| self.is(said.trim()))
    }

    /// Whether a server that asks for this token, or for none, may listen there.
    ///
    /// # Errors
    /// Other machines can reach the address, and no token is set.
    pub(super) fn check(token: Option<&Token>, address: SocketAddr) -> Result<(), ServeError> {
        if token.is_some() || address.ip().is_loopback() {
            return Ok(());
        }
        Err(ServeError::NoToken { address })
    }

    /// Whether a client sent it, in a time that does not reveal where they
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
    use axum::http::header::HeaderValue;

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
    fn a_request_shows_it_as_a_bearer() {
        let token = Token::of("0123456789abcdef").unwrap();
        let is_shown = |value: &'static str| {
            let value = HeaderValue::from_static(value);
            token.is_shown(&HeaderMap::from_iter([(AUTHORIZATION, value)]))
        };
        assert!(is_shown("Bearer 0123456789abcdef") && is_shown("bearer  0123456789abcdef "));
        for wrong in ["Basic 0123456789abcdef", "Bearer 0123456789abcde", "0123456789abcdef"] {
            assert!(!is_shown(wrong), "{wrong}");
        }
        assert!(!token.is_shown(&HeaderMap::new()));
    }

    #[test]
    fn what_is_short_or_has_other_characters_is_no_token() {
        assert!(Token::of("0123456789abcde").is_err());
        assert!(Token::of("0123456789 abcdef").is_err());
        assert!(Token::of("0123456789abcdef\u{e9}").is_err());
    }
}
