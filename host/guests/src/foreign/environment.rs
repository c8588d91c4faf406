//! A foreign environment: a server, as an environment of a run.

use std::sync::Arc;

use super::episode::{ForeignEpisode, ForeignState};
use super::options::{OPENENV, Options, declared};
use super::probe::{Findings, probe};
use super::server::{ForeignError, Server};
use super::trouble::Trouble;
use crate::plugin::{
    Cause, EnvironmentConfiguration, EnvironmentDescription, Identity, Meter, PluginFailure, Seat,
    Settings, Task,
};
use troupe_core::config::Limits;

/// Turns that are advised: servers do not say how many there are to be.
const TURNS: u32 = 20;

/// An environment on a server. Clones are handles to the same.
#[derive(Clone, Debug)]
pub struct ForeignEnvironment {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    server: Server,
    settings: Settings,
    description: EnvironmentDescription,
    identity: Identity,
    findings: Findings,
    meter: Arc<Meter>,
    limits: Limits,
}

impl ForeignEnvironment {
    /// Whether a table of settings speaks of a foreign environment.
    pub fn is_meant(table: &toml::Table) -> bool {
        table.contains_key(OPENENV)
    }

    /// The environment that a table of settings speaks of, if it is a foreign one:
    /// the server is asked what it is, and tried.
    ///
    /// # Errors
    /// If a setting cannot be used, or the server does not answer as it should.
    pub fn of(table: &toml::Table, limits: &Limits) -> Result<Option<Self>, ForeignError> {
        if !ForeignEnvironment::is_meant(table) {
            return Ok(None);
        }
        let settings = Settings::resolve(&declared(), table)?;
        let options = Options::read(&settings).map_err(ForeignError::Unfit)?;
        let server = Server::meet(options, limits)?;
        let findings = probe(&server).map_err(|trouble| ForeignError::Server {
            address: server.options.address.to_string(),
            reason: trouble.to_string(),
        })?;
        let mut description =
            EnvironmentDescription::new(&server.name, &server.version, &server.summary);
        description.actions = server.form.kinds();
        description.settings = declared();
        let identity = Identity::new(&server.name, &server.version);
        let meter = Arc::default();
        let shared = Shared {
            server,
            settings,
            description,
            identity,
            findings,
            meter,
            limits: limits.clone(),
        };
        Ok(Some(ForeignEnvironment { shared: Arc::new(shared) }))
    }

    /// Its description of itself.
    pub fn description(&self) -> &EnvironmentDescription {
        &self.shared.description
    }

    /// What the user said of it.
    pub fn settings(&self) -> &Settings {
        &self.shared.settings
    }

    /// Where its server is.
    pub fn address(&self) -> String {
        self.server().options.address.to_string()
    }

    /// The configuration of its turns, seats and kinds of action.
    pub fn configuration(&self) -> EnvironmentConfiguration {
        let seats: Vec<Seat> =
            self.server().form.seats.iter().map(|name| Seat::new(name)).collect();
        let configuration = EnvironmentConfiguration::default().max_turns(TURNS).seats(&seats);
        match self.shared.findings.is_private {
            true => configuration.private(),
            false => configuration,
        }
    }

    /// Why no state of it can be gone back to, if that is so.
    pub fn unforkable(&self) -> Option<&str> {
        self.shared.findings.difference.as_deref()
    }

    /// Refuses a run that goes back to states where that cannot be done.
    ///
    /// # Errors
    /// If it cannot, which names what to choose instead.
    pub fn check_forks(&self) -> Result<(), ForeignError> {
        match self.unforkable() {
            None => Ok(()),
            Some(reason) => {
                Err(ForeignError::Unforkable { address: self.address(), reason: reason.to_owned() })
            }
        }
    }

    /// The sentence about its states that a run prints.
    pub fn caveat(&self) -> String {
        let states = match self.unforkable() {
            None => "it repeated itself when it was tried, so states are gone back to by \
                     replaying the actions"
                .to_owned(),
            Some(reason) => format!("states cannot be gone back to: {reason}"),
        };
        format!(
            "the environment `{}` is played at {}: it is neither isolated nor reproducible; {states}",
            self.description().name,
            self.address()
        )
    }

    /// Counts what is done in it.
    pub fn meter(&self) -> &Arc<Meter> {
        &self.shared.meter
    }

    /// Begins a task.
    ///
    /// # Errors
    /// If the server does not begin it.
    pub fn start(&self, task: &Task) -> Result<ForeignEpisode, PluginFailure> {
        ForeignEpisode::start(self, task)
    }

    /// Goes on from a state.
    ///
    /// # Errors
    /// If its moves have to be replayed, and that is not possible.
    pub fn resume(&self, state: &ForeignState) -> Result<ForeignEpisode, PluginFailure> {
        ForeignEpisode::resume(self, state)
    }

    /// The limits of one call.
    pub fn limits(&self) -> &Limits {
        &self.shared.limits
    }

    /// A failure of a call of this environment, for the cause given.
    pub fn failed(&self, call: &'static str, cause: Cause) -> PluginFailure {
        PluginFailure::new(&self.shared.identity, call, cause)
    }

    pub(super) fn server(&self) -> &Server {
        &self.shared.server
    }

    pub(super) fn is_forkable(&self) -> bool {
        self.unforkable().is_none()
    }

    pub(super) fn count_act(&self) {
        self.shared.meter.count("act", 0);
    }

    pub(super) fn failure(&self, call: &'static str, trouble: Trouble) -> PluginFailure {
        self.failed(call, trouble.into())
    }
}
