//! Which clients are admitted.

use std::future::{Ready, ready};

use axum::extract::Request;
use axum::http::HeaderMap;
use axum::http::header::SEC_WEBSOCKET_PROTOCOL;

use crate::guard::admit_own_page;
use crate::refusal::Refusal;
use crate::token::Token;

/// The sub-protocol of the page's socket. A page cannot set headers, so it names
/// its token as a second sub-protocol, which is never chosen.
pub(super) const PROTOCOL: &str = "troupe";
const TOKEN_PROTOCOL: &str = "troupe.token.";

/// Whether a request shows the token, if one is asked for.
fn is_let_in(headers: &HeaderMap, token: Option<&Token>) -> bool {
    let Some(token) = token else { return true };
    let mut offered = protocols(headers).filter_map(|name| name.strip_prefix(TOKEN_PROTOCOL));
    token.is_shown(headers) || offered.any(|said| token.is(said))
}

/// What lets requests pass that show the token, if one is asked for.
pub(super) fn token_only(
    token: Option<Token>,
) -> impl Fn(Request) -> Ready<Result<Request, Refusal>> + Clone {
    move |request| match is_let_in(request.headers(), token.as_ref()) {
        true => ready(Ok(request)),
        false => ready(Err(Refusal::unauthorized())),
    }
}

/// What lets requests pass that no other site's page makes; a public server may have other names.
pub(super) fn own_page_only(
    public: bool,
) -> impl Fn(Request) -> Ready<Result<Request, Refusal>> + Clone {
    move |request| ready(admit_own_page(request.headers(), public).map(|()| request))
}

fn protocols(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let lists = headers.get_all(SEC_WEBSOCKET_PROTOCOL).iter();
    lists.filter_map(|list| list.to_str().ok()).flat_map(|list| list.split(',')).map(str::trim)
}

#[cfg(test)]
mod tests {
    use axum::http::header::{AUTHORIZATION, HeaderName, HeaderValue};

    use super::*;

    #[test]
    fn the_token_comes_in_a_header_or_as_a_sub_protocol_of_a_page() {
        let token = Token::of("0123456789abcdef").unwrap();
        let let_in = |name: HeaderName, value: &'static str| {
            let headers = HeaderMap::from_iter([(name, HeaderValue::from_static(value))]);
            is_let_in(&headers, Some(&token))
        };
        assert!(let_in(AUTHORIZATION, "Bearer 0123456789abcdef"));
        assert!(let_in(SEC_WEBSOCKET_PROTOCOL, "troupe, troupe.token.0123456789abcdef"));
        assert!(!let_in(AUTHORIZATION, "Bearer 0123456789abcde"));
        assert!(!let_in(SEC_WEBSOCKET_PROTOCOL, "0123456789abcdef"));
        assert!(!is_let_in(&HeaderMap::new(), Some(&token)));
        assert!(is_let_in(&HeaderMap::new(), None));
    }
}
