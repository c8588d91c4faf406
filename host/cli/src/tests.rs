use std::path::PathBuf;

use super::*;
use troupe_author::project::ProjectError;
use troupe_core::config::Config;
use troupe_core::program::{GradingError, SandboxError};
use troupe_core::storage::StorageError;
use troupe_data::{ImportError, RecordFileError};
use troupe_experiment::ExperimentError;
use troupe_guests::foreign::ForeignError;
use troupe_guests::plugin::PluginError;
use troupe_guests::retrieval::CorpusError;
use troupe_guests::scenario::ScenarioError;
use troupe_sandbox::loading::LoadError;
use troupe_server::ServeError;
use troupe_terminal::UsageError;

/// What the process ends with because of an error, however it came.
fn ends_with(error: impl Into<anyhow::Error>) -> Option<u8> {
    code_of(error.into().chain(), &errors()).map(|code| code as u8)
}

fn full() -> io::Error {
    io::Error::from(io::ErrorKind::StorageFull)
}

fn storage() -> StorageError {
    StorageError::io("write", std::path::Path::new("x"))(full())
}

fn plugin() -> PluginError {
    PluginError::Engine { reason: "no".to_owned() }
}

fn corpus() -> CorpusError {
    CorpusError::Missing { name: "x".to_owned() }
}

fn server() -> ForeignError {
    ForeignError::Server { address: "x".to_owned(), reason: "no".to_owned() }
}

#[test]
fn an_error_ends_the_process_with_the_code_of_its_layer() {
    let (text, path) = (|| "x".to_owned(), || PathBuf::from("x"));
    let rows: Vec<(anyhow::Error, Option<u8>)> = vec![
        (Config::load(None, &["nothing=1".to_owned()]).unwrap_err().into(), Some(2)),
        (UsageError(text()).into(), Some(2)),
        (GradingError::UnknownRule { name: text() }.into(), Some(2)),
        (ExperimentError::Invalid { key: text(), reason: text() }.into(), Some(2)),
        (ExperimentError::Storage(storage()).into(), Some(5)),
        (ImportError::OutIsSource { path: path() }.into(), Some(2)),
        (ImportError::Storage(storage()).into(), Some(5)),
        (RecordFileError::Io { path: path(), reason: full() }.into(), Some(2)),
        (LoadError::Plugin(plugin()).into(), Some(3)),
        (LoadError::Corpus(corpus()).into(), Some(2)),
        (ScenarioError::Plugin(plugin()).into(), Some(3)),
        (ScenarioError::NoRecords { environment: text() }.into(), Some(2)),
        (ScenarioError::Foreign(server()).into(), Some(3)),
        (ForeignError::Unfit(text()).into(), Some(2)),
        (ProjectError::Build(text()).into(), Some(3)),
        (ProjectError::Exists(path()).into(), Some(2)),
        (ProjectError::Storage(storage()).into(), Some(5)),
        (SandboxError::UnknownLanguage { language: text(), hint: text() }.into(), Some(3)),
        (SandboxError::Harness { message: text() }.into(), Some(6)),
        (ServeError::NotLoopback { address: ([0, 0, 0, 0], 1).into() }.into(), Some(2)),
        (ServeError::System(full()).into(), Some(5)),
        (storage().into(), Some(5)),
        // What has no room on a disk, whoever met it.
        (full().into(), Some(5)),
        (io::Error::from(io::ErrorKind::FileTooLarge).into(), Some(5)),
        (io::Error::from(io::ErrorKind::QuotaExceeded).into(), Some(5)),
        (io::Error::from(io::ErrorKind::ReadOnlyFilesystem).into(), Some(5)),
        // Nobody's: a fault of the program.
        (io::Error::from(io::ErrorKind::InvalidData).into(), None),
        (anyhow::anyhow!("what is this"), None),
    ];
    for (error, expected) in rows {
        let said = format!("{error:?}");
        assert_eq!(ends_with(error), expected, "{said}");
    }
}

#[test]
fn what_stands_before_an_error_does_not_change_its_code() {
    use anyhow::Context;
    let nested = Err::<(), _>(storage()).context("saving").context("step 3").unwrap_err();
    assert_eq!(ends_with(nested), Some(5));
}

#[test]
fn a_device_is_offered_where_there_is_one_and_nowhere_else() {
    use clap::CommandFactory;
    let mut with_device = Vec::new();
    let root = Cli::command();
    let has = |command: &clap::Command| {
        command.get_arguments().any(|argument| argument.get_id() == "device")
    };
    assert!(!has(&root));
    for command in root.get_subcommands() {
        if has(command) {
            with_device.push(command.get_name());
        }
    }
    let expected = [
        "train",
        "eval",
        "imitate",
        "experiment",
        "advantage",
        "blame",
        "verify",
        "replay",
        "policy",
        "play",
        "serve",
        "resolve-rows",
    ];
    assert_eq!(with_device, expected);
}

#[test]
fn flags_that_would_do_nothing_beside_another_are_refused_beside_it_and_taken_without() {
    let parses = |words: &[&str]| Cli::try_parse_from(words.join(" ").split(' ')).is_ok();
    let rows: [(&str, &str, &[&str]); 5] = [
        (
            "host blame RUN",
            "--roles",
            &["--by reward", "--forks 8", "--at-most 8", "--margin 0.2", "--failures"],
        ),
        (
            "host verify RUN",
            "--bundle FOLDER",
            &["--steps 1", "--seed 1", "--reach 1", "--anyway", "--json"],
        ),
        (
            "host replay RUN --at 3",
            "--groups",
            &[
                "--set a=1",
                "--drop-group 1",
                "--weigh-group 1=2",
                "--swap-sample 1:2",
                "--steps 5",
                "--tasks 5",
            ],
        ),
        (
            "host train",
            "--explain train",
            &["--resume RUN", "--processes 2", "--print-config", "--plan 24", "--forecast"],
        ),
        ("host plugin check FILE", "--replay {}", &["--hunt", "--minutes 1", "--strict", "--json"]),
    ];
    for (command, other, flags) in rows {
        assert!(parses(&[command, other]), "{command} {other}");
        for flag in flags {
            assert!(parses(&[command, flag]), "{command} {flag}");
            assert!(!parses(&[command, other, flag]), "{command} {other} {flag}");
        }
    }
    let advantage = "host advantage --run RUN --compare naive";
    assert!(parses(&[advantage]) && !parses(&[advantage, "--states 5"]));
    assert!(parses(&[advantage, "--states 5", "--truth 8"]));
}
