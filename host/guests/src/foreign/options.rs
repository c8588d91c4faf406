//! What the user says of a server: the table `[environment]` where it has `openenv`.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Map, Value as Json};

use super::address::Address;
use crate::plugin::{Setting, Settings, Value};

/// The setting that makes an environment a foreign one.
pub(super) const OPENENV: &str = "openenv";

/// The names that a reset has for other things.
const TAKEN: [&str; 3] = ["seed", "split", "index"];

/// The validation split, if the server calls it as we do.
const VALIDATION: &str = "validation";

/// The user's settings for a server.
#[derive(Clone, Debug)]
pub(super) struct Options {
    pub(super) address: Address,
    pub(super) token_file: Option<PathBuf>,
    /// The rules, in place of the server's.
    pub(super) rules: Option<String>,
    /// Further fields of every reset.
    pub(super) reset: Map<String, Json>,
    /// What the server calls the validation split.
    pub(super) validation_split: String,
    /// Actions that test whether the server repeats itself.
    pub(super) probe: Vec<String>,
    /// The reward from which an episode is solved, where the server does not say.
    pub(super) solved_from: f64,
    /// The time limit of one answer.
    pub(super) timeout: Duration,
    /// Sessions at a time.
    pub(super) sessions: usize,
}

/// What the table may have.
pub(super) fn declared() -> Vec<Setting> {
    vec![
        Setting::text(OPENENV, "Address of an OpenEnv server, as http://127.0.0.1:8000.", ""),
        Setting::text("token_file", "File with the token that the server wants to be shown.", ""),
        Setting::text("rules", "What players are told; by default what the server says.", ""),
        Setting::text("reset", "Further fields of every reset, as a JSON object.", ""),
        Setting::text(
            "validation_split",
            "The server's split that validation is of, such as test.",
            VALIDATION,
        ),
        Setting::text("probe", "Actions that show whether it repeats itself, a line each.", ""),
        Setting::number(
            "solved_from",
            "Rewards of an episode from which on it is solved, unless the server says a status.",
            -1e12..=1e12,
            1.0,
        ),
        Setting::integer("timeout_s", "How long one answer may take.", 1..=86_400, 60),
        Setting::integer("sessions", "Sessions at a time.", 1..=65_536, 64),
    ]
}

impl Options {
    /// Reads them.
    ///
    /// # Errors
    /// Which setting cannot be used, and why.
    pub(super) fn read(settings: &Settings) -> Result<Self, String> {
        let text = |name: &str| match settings.get(name) {
            Some(Value::Text(text)) => text.as_str(),
            _ => "",
        };
        let count = |name: &str| match settings.get(name) {
            Some(Value::Integer(count)) => count.unsigned_abs(),
            _ => 1,
        };
        let solved_from = match settings.get("solved_from") {
            Some(Value::Number(number)) => *number,
            _ => 1.0,
        };
        let address = Address::parse(text(OPENENV))
            .map_err(|reason| format!("`{OPENENV}` cannot be used: {reason}"))?;
        let some = |text: &str| (!text.trim().is_empty()).then(|| text.to_owned());
        Ok(Options {
            address,
            token_file: some(text("token_file")).map(PathBuf::from),
            rules: some(text("rules")),
            reset: reset_of(text("reset"))?,
            validation_split: some(text("validation_split")).unwrap_or(VALIDATION.to_owned()),
            probe: text("probe").lines().map(str::to_owned).collect(),
            solved_from,
            timeout: Duration::from_secs(count("timeout_s").into()),
            sessions: count("sessions") as usize,
        })
    }
}

fn reset_of(text: &str) -> Result<Map<String, Json>, String> {
    if text.trim().is_empty() {
        return Ok(Map::new());
    }
    let fields: Map<String, Json> = serde_json::from_str(text)
        .map_err(|error| format!("`reset` must be a JSON object: {error}"))?;
    match TAKEN.into_iter().find(|name| fields.contains_key(*name)) {
        Some(name) => {
            Err(format!("`reset` has `{name}`, which says which task it is; leave it out"))
        }
        None => Ok(fields),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(table: &str) -> Result<Options, String> {
        Options::read(&Settings::resolve(&declared(), &table.parse().unwrap()).unwrap())
    }

    #[test]
    fn settings_are_read_and_wrong_ones_named() {
        let table =
            "openenv = 'http://h:1'\nreset = '{\"size\": 4}'\nprobe = \"a\\nb\"\ntimeout_s = 5";
        let options = read(table).unwrap();
        assert_eq!(options.validation_split, "validation");
        assert_eq!((options.reset["size"].as_u64(), options.probe.len()), (Some(4), 2));
        assert_eq!(
            (options.timeout.as_secs(), options.sessions, options.solved_from),
            (5, 64, 1.0)
        );
        assert!(options.rules.is_none() && options.token_file.is_none());
        let error = |more: &str| read(&format!("openenv = 'http://h:1'\n{more}")).unwrap_err();
        assert!(error("reset = '[]'").contains("`reset` must be a JSON object"));
        assert!(error("reset = '{\"seed\": 1}'").contains("`seed`"));
        assert!(read("openenv = 'nowhere'").unwrap_err().contains("`openenv`"));
    }
}
