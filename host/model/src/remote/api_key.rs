//! The key to a server.

use std::fmt;

/// A key. It is shown nowhere, and taken out of what a server says.
#[derive(Clone, Default)]
pub(super) struct ApiKey(Option<String>);

impl ApiKey {
    /// The key in an environment variable; without one there is no key.
    pub(super) fn from_variable(name: Option<&str>) -> Result<Self, String> {
        let Some(name) = name else { return Ok(ApiKey(None)) };
        let value = std::env::var(name).unwrap_or_default();
        ApiKey::new(&value).map_err(|fault| {
            format!("the environment variable `{name}`, which `api_key_env` names, {fault}")
        })
    }

    /// A key, if it can be one.
    pub(super) fn new(value: &str) -> Result<Self, &'static str> {
        let value = value.trim();
        if value.is_empty() {
            return Err("is not set; export the server's key in it");
        }
        if !value.chars().all(|c| c.is_ascii_graphic()) {
            return Err("holds characters that no key has, such as blanks");
        }
        Ok(ApiKey(Some(value.to_owned())))
    }

    /// The value of the header that shows the key to the server.
    pub(super) fn shown_in(&self, header: &str) -> Option<String> {
        self.0.as_ref().map(|key| match header {
            "authorization" => format!("Bearer {key}"),
            _ => key.clone(),
        })
    }

    /// The text without the key.
    pub(super) fn hide(&self, text: &str) -> String {
        self.0.as_ref().map_or_else(|| text.to_owned(), |key| text.replace(key, "[key]"))
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "[key]" } else { "none" })
    }
}
