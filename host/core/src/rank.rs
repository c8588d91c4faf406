//! The rank of this process among those of its run, from the variables that `torchrun` sets.

use std::env;
use std::thread;

use crate::error::{Coded, ExitCode};

/// The variables that make a process one of several.
const NEEDED: [&str; 4] = ["RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"];

/// A socket that rank 0 is to serve the meeting at, listening already.
const LISTENER: &str = "TROUPE_LISTENER";

/// The environment's variables are no rank.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{name}={value} in the environment is {reason}; `torchrun` and `--processes` set it, without \
     either unset it"
)]
pub struct RankError {
    name: &'static str,
    value: String,
    reason: &'static str,
}

impl Coded for RankError {
    fn code(&self) -> Option<ExitCode> {
        Some(ExitCode::Usage)
    }
}

/// A process's place among those of its run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rank {
    /// Its number, from 0.
    pub number: usize,
    /// The number of processes.
    pub world: usize,
    /// Its number among those on this machine.
    pub local: usize,
    /// The number of processes on this machine.
    pub neighbors: usize,
    /// The machine where they meet.
    pub host: String,
    /// And its port.
    pub port: u16,
    /// The server of the meeting.
    pub service: Service,
}

/// The server of the place where processes meet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Service {
    /// Rank 0, over this socket if it has been given one.
    First(Option<i32>),
    /// `torchrun`, with the number of restarts so far.
    Agent(String),
}

impl Rank {
    /// Reads the rank from environment variables; none if the run has only this process.
    ///
    /// # Errors
    /// If a variable is malformed, or they contradict each other.
    pub fn from_environment() -> Result<Option<Rank>, RankError> {
        Rank::of(|name| env::var(name).ok())
    }

    fn of(variable: impl Fn(&str) -> Option<String>) -> Result<Option<Rank>, RankError> {
        if NEEDED.iter().any(|name| variable(name).is_none()) {
            return Ok(None);
        }
        let number = |name: &'static str, otherwise: usize| match variable(name) {
            None => Ok(otherwise),
            Some(value) => value.parse().map_err(|_| RankError {
                name,
                value,
                reason: "not a number that it can be",
            }),
        };
        let (world, rank) = (number("WORLD_SIZE", 1)?, number("RANK", 0)?);
        if rank >= world {
            let reason = "not below WORLD_SIZE";
            return Err(RankError { name: "RANK", value: rank.to_string(), reason });
        }
        let port = number("MASTER_PORT", 0)?;
        let port = u16::try_from(port).map_err(|_| RankError {
            name: "MASTER_PORT",
            value: port.to_string(),
            reason: "not a port",
        })?;
        let agent = variable("TORCHELASTIC_USE_AGENT_STORE").as_deref() == Some("True");
        let attempt = || variable("TORCHELASTIC_RESTART_COUNT").unwrap_or_else(|| "0".to_owned());
        let listener = variable(LISTENER).and_then(|socket| socket.parse().ok());
        Ok((world > 1).then_some(Rank {
            number: rank,
            world,
            local: number("LOCAL_RANK", 0)?,
            neighbors: number("LOCAL_WORLD_SIZE", 1)?.max(1),
            host: variable("MASTER_ADDR").unwrap_or_default(),
            port,
            service: if agent { Service::Agent(attempt()) } else { Service::First(listener) },
        }))
    }

    /// The environment variables of the process of this rank.
    pub fn variables(&self) -> Vec<(&'static str, String)> {
        let mut variables = vec![
            ("RANK", self.number.to_string()),
            ("WORLD_SIZE", self.world.to_string()),
            ("LOCAL_RANK", self.local.to_string()),
            ("LOCAL_WORLD_SIZE", self.neighbors.to_string()),
            ("MASTER_ADDR", self.host.clone()),
            ("MASTER_PORT", self.port.to_string()),
        ];
        if let Service::First(Some(listener)) = self.service {
            variables.push((LISTENER, listener.to_string()));
        }
        variables
    }
}

/// The processors that are this process's share of the machine's.
pub fn processors() -> usize {
    let all = thread::available_parallelism().map_or(1, usize::from);
    match Rank::from_environment() {
        Ok(Some(rank)) => (all / rank.neighbors).max(1),
        _ => all,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn of(variables: &[(&'static str, String)]) -> Result<Option<Rank>, RankError> {
        let variables: BTreeMap<&str, &String> =
            variables.iter().map(|(name, value)| (*name, value)).collect();
        Rank::of(|name| variables.get(name).map(|value| (*value).clone()))
    }

    fn rank(number: usize, world: usize) -> Rank {
        Rank {
            number,
            world,
            local: number,
            neighbors: world,
            host: "127.0.0.1".to_owned(),
            port: 29_500,
            service: Service::First((number == 0).then_some(7)),
        }
    }

    #[test]
    fn a_process_is_the_one_that_it_is_told_to_be() {
        for rank in [rank(0, 3), rank(2, 3)] {
            assert_eq!(of(&rank.variables()), Ok(Some(rank)));
        }
        assert_eq!(of(&rank(0, 1).variables()), Ok(None), "one of one is alone");
        assert_eq!(of(&[("WORLD_SIZE", "8".to_owned())]), Ok(None), "said of something else");
    }

    #[test]
    fn torchrun_serves_the_meeting_itself_and_anew_after_a_restart() {
        let variables = [
            ("TORCHELASTIC_USE_AGENT_STORE", "True".to_owned()),
            ("TORCHELASTIC_RESTART_COUNT", "2".to_owned()),
        ];
        let variables = [&rank(1, 2).variables()[..], &variables].concat();
        let rank = of(&variables).unwrap().unwrap();
        assert_eq!(rank.service, Service::Agent("2".to_owned()));
    }

    #[test]
    fn what_cannot_be_is_named() {
        let error = |name, value: &str| {
            let mut variables = rank(1, 2).variables();
            variables
                .iter_mut()
                .filter(|(variable, _)| *variable == name)
                .for_each(|variable| variable.1 = value.into());
            of(&variables).unwrap_err().to_string()
        };
        assert!(
            error("RANK", "2").starts_with("RANK=2 in the environment is not below WORLD_SIZE")
        );
        assert!(error("WORLD_SIZE", "two").contains("WORLD_SIZE=two"));
        assert!(error("MASTER_PORT", "70000").contains("not a port"));
    }
}
