//! `host resolve-rows`: what `host train --print-config` says of many rows, in one process.

use std::io;

use anyhow::{Context, bail};
use clap::Parser;

use super::args::{Cli, Command, ConfigArgs};
use troupe_author::commands::provide;
use troupe_core::error::ExitCode;
use troupe_core::installation::HOST;
use troupe_experiment::Resolution;
use troupe_terminal as terminal;

/// Say of each line of standard input, what `host train` would be told as an array, what it
/// resolves to.
///
/// # Errors
/// If a line is none; what is wrong with a row is an answer.
pub fn resolve_rows(
    resolved: impl Fn(&ConfigArgs) -> anyhow::Result<String>,
) -> anyhow::Result<ExitCode> {
    // Who asks says everything before it listens.
    let lines = io::stdin().lines().collect::<Result<Vec<_>, _>>().context("standard input")?;
    let arguments = lines.iter().map(|line| serde_json::from_str(line));
    let arguments = arguments.collect::<Result<Vec<_>, _>>()?;
    for arguments in arguments {
        let resolution = provided(arguments)
            .and_then(|args| resolved(&args))
            .map_or_else(|error| Resolution::Refused(format!("{error:#}")), Resolution::Resolved);
        terminal::line(&serde_json::to_string(&resolution)?);
    }
    Ok(ExitCode::Success)
}

fn provided(arguments: Vec<String>) -> anyhow::Result<ConfigArgs> {
    let train = [HOST, "train"].map(str::to_owned);
    let cli = Cli::try_parse_from(train.into_iter().chain(arguments))?;
    let Command::Train(args) = cli.command else {
        bail!("`host train` is another command");
    };
    provide(&args.config)?;
    Ok(args.config)
}
