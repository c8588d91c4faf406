//! What a server tells of itself.

use serde::Deserialize;
use serde_json::Value;

use super::super::failure::{RemoteFailure, RemoteFailureKind};
use super::super::server::Server;
use super::dialect::Dialect;
use super::quoted_list;
use troupe_core::seed::Seed;

/// What a server tells of itself.
pub(super) struct Survey {
    /// What it calls the base.
    pub(super) base: String,
    /// Tokens that a prompt and its answer may have.
    pub(super) positions: Option<usize>,
    /// Its settings, where it tells them.
    settings: Option<Value>,
}

#[derive(Deserialize)]
struct ServedModels {
    data: Vec<ServedModel>,
}

#[derive(Deserialize)]
struct ServedModel {
    id: String,
    root: Option<String>,
    parent: Option<String>,
    max_model_len: Option<usize>,
}

impl Survey {
    /// Ask the server; `wanted` is the base's name, if it was given.
    pub(super) fn of(
        server: &Server,
        dialect: &dyn Dialect,
        wanted: Option<&str>,
    ) -> Result<Self, RemoteFailure> {
        let mut bases = models(server)?;
        bases.retain(|model| model.parent.is_none());
        let names = quoted_list(bases.iter().map(|model| model.id.as_str()));
        let found = match (wanted, bases.len()) {
            (Some(wanted), _) => bases.iter().position(|model| model.id == wanted),
            (None, count) => (count == 1).then_some(0),
        };
        let Some(found) = found else {
            let reason = match wanted {
                Some(wanted) => format!("it has no model `{wanted}`; it lists {names}"),
                None => format!("`model` must say which of its models is the base: {names}"),
            };
            return Err(RemoteFailureKind::Refused.because(reason));
        };
        let ServedModel { id: base, max_model_len: positions, .. } = bases.swap_remove(found);
        Ok(Survey { base, positions, settings: settings(server, dialect) })
    }

    /// Adapters on the server: what each is called, and the path it was read from.
    pub(super) fn adapters(
        server: &Server,
    ) -> Result<Vec<(String, Option<String>)>, RemoteFailure> {
        let adapters = models(server)?.into_iter().filter(|model| model.parent.is_some());
        Ok(adapters.map(|model| (model.id, model.root)).collect())
    }

    /// Refuse a server that says that it cannot hold so many adapters of this rank.
    pub(super) fn check_slots(
        &self,
        dialect: &dyn Dialect,
        (adapters, rank): (usize, i64),
    ) -> Result<(), String> {
        let number = |key| self.settings.as_ref().and_then(|all| find(all, key)?.as_i64());
        for (key, flag, needed) in dialect.needs(adapters, rank) {
            if let Some(there) = number(key).filter(|there| *there < needed) {
                return Err(format!(
                    "it was started with `{flag} {there}`, and {needed} are needed; start it with \
                     `{flag} {needed}`"
                ));
            }
        }
        Ok(())
    }
}

fn models(server: &Server) -> Result<Vec<ServedModel>, RemoteFailure> {
    let reply = server.ask("models", None, Seed::new(0).named("models"))?;
    if !reply.is_success() {
        return Err(reply.refusal());
    }
    let models: ServedModels = serde_json::from_slice(&reply.body).map_err(|error| {
        RemoteFailureKind::Malformed.because(format!(
            "its list of models cannot be read ({error}); check that `url` is where the interface \
             begins, usually at `/v1`"
        ))
    })?;
    Ok(models.data)
}

/// The server's settings. Most servers do not tell them.
fn settings(server: &Server, dialect: &dyn Dialect) -> Option<Value> {
    let reply = server.try_get(dialect.settings()).ok()?;
    reply.is_success().then(|| serde_json::from_slice(&reply.body).ok())?
}

/// The first value of a key, however deep it lies.
fn find<'v>(value: &'v Value, key: &str) -> Option<&'v Value> {
    match value {
        Value::Object(entries) => {
            entries.get(key).or_else(|| entries.values().find_map(|entry| find(entry, key)))
        }
        Value::Array(entries) => entries.iter().find_map(|entry| find(entry, key)),
        _ => None,
    }
}
