//! Settings, between the host's types and the SDK's.

use plugin_sdk as sdk;

use crate::plugin as host;

/// What a plugin accepts, as the SDK says it.
pub(super) fn declared(settings: &[host::Setting]) -> Vec<sdk::Setting> {
    let setting = |setting: &host::Setting| sdk::Setting {
        name: setting.name.clone(),
        summary: setting.summary.clone(),
        domain: domain(&setting.domain),
        default: value(&setting.default),
    };
    settings.iter().map(setting).collect()
}

/// What the user chose, as the SDK says it.
pub(super) fn chosen(settings: &host::Settings) -> Vec<(String, sdk::Value)> {
    settings.iter().map(|(name, given)| (name.to_owned(), value(given))).collect()
}

/// The SDK's settings as the table a user would have written.
pub(super) fn table(settings: &sdk::Settings) -> toml::Table {
    let value = |value: &sdk::Value| match value {
        sdk::Value::Integer(value) => toml::Value::Integer(*value),
        sdk::Value::Number(value) => toml::Value::Float(*value),
        sdk::Value::Flag(value) => toml::Value::Boolean(*value),
        sdk::Value::Text(value) => toml::Value::String(value.clone()),
    };
    settings.iter().map(|(name, given)| (name.to_owned(), value(given))).collect()
}

fn domain(domain: &host::Domain) -> sdk::Domain {
    match domain {
        host::Domain::Integer(low, high) => sdk::Domain::Integer(*low, *high),
        host::Domain::Number(low, high) => sdk::Domain::Number(*low, *high),
        host::Domain::Flag => sdk::Domain::Flag,
        host::Domain::Choice(words) => sdk::Domain::Choice(words.clone()),
        host::Domain::Text => sdk::Domain::Text,
    }
}

fn value(value: &host::Value) -> sdk::Value {
    match value {
        host::Value::Integer(value) => sdk::Value::Integer(*value),
        host::Value::Number(value) => sdk::Value::Number(*value),
        host::Value::Flag(value) => sdk::Value::Flag(*value),
        host::Value::Text(value) => sdk::Value::Text(value.clone()),
    }
}
