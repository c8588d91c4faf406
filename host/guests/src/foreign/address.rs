//! Where a server is.

use std::fmt;

use hyper::Uri;

/// The address of a server: a host, a port, and perhaps the path below which it
/// answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Address {
    host: String,
    port: u16,
    path: String,
}

impl Address {
    /// Reads `http://host:port`, or the same as `ws://`.
    ///
    /// # Errors
    /// What is wrong with it, without repeating what might be a secret.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if text.starts_with("https://") || text.starts_with("wss://") {
            return Err("TLS is not spoken; give an http:// address, such as that of a proxy on \
                        this machine"
                .to_owned());
        }
        let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix("ws://"));
        let wrong = || "give the server's address, such as \"http://127.0.0.1:8000\"".to_owned();
        let uri: Uri =
            format!("http://{}", rest.ok_or_else(wrong)?).parse().map_err(|_| wrong())?;
        let authority = uri.authority().ok_or_else(wrong)?;
        if authority.as_str().contains('@') {
            return Err("it holds a user name or password; leave them out, and name a file with \
                        the token in `token_file`"
                .to_owned());
        }
        if uri.query().is_some() || text.contains('#') || authority.host().is_empty() {
            return Err("it must be a plain address without `?` and `#`, such as \
                        \"http://127.0.0.1:8000\""
                .to_owned());
        }
        Ok(Address {
            host: authority.host().to_owned(),
            port: authority.port_u16().unwrap_or(80),
            path: uri.path().trim_end_matches('/').to_owned(),
        })
    }

    /// What a connection is made to.
    pub(super) fn to_connect(&self) -> (&str, u16) {
        (self.host.trim_start_matches('[').trim_end_matches(']'), self.port)
    }

    /// The header `Host`.
    pub(super) fn authority(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    /// The path of a route.
    pub(super) fn route(&self, route: &str) -> String {
        format!("{}{route}", self.path)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "http://{}{}", self.authority(), self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_with_port_and_path() {
        let address = Address::parse("http://127.0.0.1:8123/env/").unwrap();
        assert_eq!(address.to_connect(), ("127.0.0.1", 8123));
        assert_eq!(address.route("/ws"), "/env/ws");
        assert_eq!(address.to_string(), "http://127.0.0.1:8123/env");
        let address = Address::parse("ws://[::1]").unwrap();
        assert_eq!((address.to_connect(), address.route("/ws")), (("::1", 80), "/ws".to_owned()));
    }

    #[test]
    fn what_is_none_is_refused_and_no_secret_repeated() {
        for (text, expected) in [
            ("", "give the server's address"),
            ("localhost:8000", "give the server's address"),
            ("http://", "give the server's address"),
            ("https://host", "TLS"),
            ("http://me:secret@host", "token_file"),
            ("http://host/?key=secret", "without `?`"),
        ] {
            let message = Address::parse(text).unwrap_err();
            assert!(message.contains(expected) && !message.contains("secret"), "{text}: {message}");
        }
    }
}
