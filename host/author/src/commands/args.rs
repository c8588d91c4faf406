//! Arguments of `host plugin`.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::{Args, Subcommand};

use crate::project::{Kind, Language};
use troupe_core::config::{Config, Grantee};
use troupe_core::oci::OciReference;
use troupe_terminal::GrantArg;

/// `host plugin`.
#[derive(Debug, Subcommand)]
pub enum PluginCommand {
    /// Write the sources of a new plugin, which build as they are.
    #[command(after_help = "\
Examples:
  host plugin new my-game
  host plugin new my-team --kind workflow")]
    New {
        /// Its name, in kebab-case; a folder of this name is made.
        name: String,
        /// What it is written in.
        #[arg(long, value_enum, default_value = "rust")]
        lang: Language,
        /// What it brings.
        #[arg(long, value_enum, default_value = "environment")]
        kind: Kind,
    },
    /// Build a plugin's sources to a component beside them.
    Build {
        /// The folder with `plugin.toml`.
        #[arg(default_value = ".")]
        folder: PathBuf,
    },
    /// Build, check and play one episode, again whenever a source file changes.
    Dev {
        /// The folder with `plugin.toml`.
        #[arg(default_value = ".")]
        folder: PathBuf,
        /// Do it once; exit code 7 if a step fails.
        #[arg(long)]
        once: bool,
    },
    /// List the components in the plugin path.
    List,
    /// Say what a component offers: roles, actions, settings, imports.
    #[command(after_help = "\
Examples:
  host plugin inspect sudoku
  host plugin inspect aggregate --set workflow.reasoners=5")]
    Inspect {
        /// A file, or a bare name.
        plugin: PathBuf,
        /// Override a setting, such as workflow.rounds=3.
        #[arg(long, value_name = "KEY=VALUE")]
        set: Vec<String>,
    },
    /// Test a component against the contract.
    #[command(after_help = "\
Examples:
  host plugin check sudoku
  host plugin check plan-path --tasks 5 --set environment.walls=0
  host plugin check my.wasm --set plugins.limits.memory_mib=256
  host plugin check my.wasm --strict --minutes 2
  host plugin check my.wasm --strict --json > report.json
  host plugin check my.wasm --hunt --minutes 5

Exit code 7 if a check fails.")]
    Check {
        /// Which one.
        #[command(flatten)]
        subject: PluginSubject,
        /// Tasks to try of each split; three times as many sessions.
        #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
        tasks: u32,
        /// Then hunt for episodes that earn much and solve nothing, for a minute unless told
        /// otherwise.
        #[arg(long)]
        hunt: bool,
        /// Go on with other tasks and settings for so long, unless something is found; with
        /// `--hunt`, hunt for so long.
        #[arg(long, value_parser = minutes)]
        minutes: Option<f64>,
        /// A check that had to be skipped counts as failed.
        #[arg(long)]
        strict: bool,
        /// Print the findings as one JSON object.
        #[arg(long)]
        json: bool,
        /// Play an episode again: the reproducer of a finding, as JSON.
        #[arg(long, value_name = "JSON",
            conflicts_with_all = ["hunt", "minutes", "strict", "json"])]
        replay: Option<String>,
        /// Override a setting, such as environment.walls=0.
        #[arg(long, value_name = "KEY=VALUE")]
        set: Vec<String>,
    },
    /// Send a component to an OCI registry, under the name and version that it says it has.
    #[command(after_help = "\
Examples:
  host plugin push sudoku oci://127.0.0.1:5000/sudoku:1.2.0
  host plugin push my-game.wasm oci://registry.example/games/my-game:0.1.0 --license MIT

Credentials are docker's. Without TLS only registries on this machine are spoken to.")]
    Push {
        /// A file, or a bare name.
        plugin: PathBuf,
        /// Where to.
        #[arg(value_name = "REFERENCE")]
        to: OciReference,
        /// Its licence: an SPDX expression.
        #[arg(long, value_name = "SPDX")]
        license: Option<String>,
        /// Where its sources are.
        #[arg(long, value_name = "URL")]
        source: Option<String>,
    },
    /// Bring a component from an OCI registry, say what is about to be trusted, check it, and write
    /// into `host.lock` which one it is.
    #[command(after_help = "\
Examples:
  host plugin pull oci://127.0.0.1:5000/sudoku:1.2.0
  host plugin pull oci://127.0.0.1:5000/sudoku:1.2 --config mine.toml --update

`host train` and its like pull what their configuration names and is not here.")]
    Pull {
        /// Which one.
        #[arg(value_name = "REFERENCE")]
        from: OciReference,
        /// The configuration that uses it; `host.lock` lies beside it.
        #[arg(long, value_name = "CONFIG")]
        config: Vec<PathBuf>,
        /// Take what has its tag now, though it was another component before.
        #[arg(long)]
        update: bool,
    },
    /// Write a page about a component: what it asks, pays and allows, an episode of its expert, and
    /// what a check finds here.
    #[command(after_help = "\
Examples:
  host plugin page sudoku
  host plugin page my-game.wasm --out page.html --license MIT
  host plugin page code --grant code=sandbox
  host plugin page solo --beside plan-path
  host plugin page oci://127.0.0.1:5000/sudoku:0.1.0 --index index.json

The page is one file that asks for nothing, and nothing runs on it.")]
    Page {
        /// Which one.
        #[command(flatten)]
        subject: PluginSubject,
        /// The page; by default named for the component, in the current folder.
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
        /// Put what `host plugin search` reads into this index, too.
        #[arg(long, value_name = "FILE")]
        index: Option<PathBuf>,
        /// How it is made.
        #[command(flatten)]
        options: PageOptions,
        /// Override a setting, such as environment.size=10.
        #[arg(long, value_name = "KEY=VALUE")]
        set: Vec<String>,
    },
    /// Write such pages of several components, a page that leads to them, and an index to search in.
    #[command(after_help = "\
Examples:
  host plugin catalogue sudoku plan-path solo --out catalogue
  host plugin catalogue code search --grant code=sandbox --grant search=search \\
    --grant-retrieval corpus.jsonl --out catalogue")]
    Catalogue {
        /// Which ones: files, bare names, or references to a registry.
        #[arg(required = true)]
        plugins: Vec<PathBuf>,
        /// The folder to write to.
        #[arg(long, value_name = "FOLDER")]
        out: PathBuf,
        /// Grant a component what it asks for; the corpus is that of --grant-retrieval.
        #[arg(long, value_name = "PLUGIN=RIGHT,…")]
        grant: Vec<GrantArg>,
        /// The corpus that is searched by those who were granted that.
        #[arg(long, value_delimiter = ',', value_name = "FILE")]
        grant_retrieval: Vec<PathBuf>,
        /// How pages are made.
        #[command(flatten)]
        options: PageOptions,
    },
    /// Search an index for components by words; prints the line that takes each of them.
    #[command(after_help = "\
Examples:
  host plugin search sudoku
  host plugin search board puzzle --index team.toml --index index.json

Without --index the one that was installed beside the program is searched, if there is one.
docs/registries.md says what an index holds.")]
    Search {
        /// What to look for in names and sentences.
        #[arg(required = true)]
        words: Vec<String>,
        /// An index: TOML if it ends so, otherwise JSON.
        #[arg(long, value_name = "FILE")]
        index: Vec<PathBuf>,
    },
    /// Measure calls and forks: time, fuel, memory and sizes.
    #[command(after_help = "\
Examples:
  host plugin bench sokoban
  host plugin bench sokoban --set environment.size=10 --set plugins.limits.memory_mib=128")]
    Bench {
        /// Which one.
        #[command(flatten)]
        subject: PluginSubject,
        /// Override a setting, such as environment.size=10.
        #[arg(long, value_name = "KEY=VALUE")]
        set: Vec<String>,
    },
}

/// A component to look at.
#[derive(Debug, Args)]
pub struct PluginSubject {
    /// A file, a bare name, or a reference to a registry.
    pub plugin: PathBuf,
    /// Grant it what it asks for; the corpus is retrieval.corpus.
    #[arg(long, value_name = "PLUGIN=RIGHT,…")]
    pub grant: Vec<GrantArg>,
    /// Let it run model-written programs in the sandbox.
    #[arg(long)]
    pub grant_sandbox: bool,
    /// Let it search a corpus of these files.
    #[arg(long, value_delimiter = ',', value_name = "FILE")]
    pub grant_retrieval: Vec<PathBuf>,
}

impl PluginSubject {
    /// A component, with what these grants say of it.
    pub fn granted(plugin: &Path, grants: &[GrantArg], corpus: &[PathBuf]) -> Self {
        let mut subject = PluginSubject {
            plugin: plugin.to_owned(),
            grant: Vec::new(),
            grant_sandbox: false,
            grant_retrieval: Vec::new(),
        };
        let name = subject.name();
        let own = grants.iter().filter(|grant| grant.is_for(&name));
        subject.grant = own.cloned().collect();
        if !subject.grants().retrieval.grant.is_empty() {
            subject.grant_retrieval = corpus.to_vec();
        }
        subject
    }

    /// The name under which it is granted something.
    pub fn name(&self) -> String {
        match OciReference::of(&self.plugin) {
            Ok(Some(reference)) => reference.name().to_owned(),
            _ => self.plugin.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        }
    }

    /// A configuration that grants what it is granted, and says nothing else.
    pub fn grants(&self) -> Config {
        let mut config = Config::default();
        self.grant_in(&mut config);
        config
    }

    /// Have a configuration grant what it is granted.
    pub fn grant_in(&self, config: &mut Config) {
        self.grant.iter().for_each(|grant| grant.apply(config));
        let own = || vec![Grantee::named(&*self.name())];
        if self.grant_sandbox {
            Grantee::extend(&mut config.sandbox.grant, &own());
        }
        if !self.grant_retrieval.is_empty() {
            config.retrieval.corpus.clone_from(&self.grant_retrieval);
            Grantee::extend(&mut config.retrieval.grant, &own());
        }
    }
}

/// How a page about a component is made.
#[derive(Clone, Debug, Args)]
pub struct PageOptions {
    /// Its licence: an SPDX expression; of several components, one component's or that of all. A
    /// reference has one already, if whoever pushed it said so.
    #[arg(long, value_name = "[NAME=]SPDX")]
    pub license: Vec<LicenseArg>,
    /// Name it as `host plugin push` with the same licence would, had it been pushed to this
    /// registry: oci://registry.example/games.
    #[arg(long, value_name = "PREFIX")]
    pub registry: Option<String>,
    /// The environment that a workflow is played in; by default an installed one that suits it.
    #[arg(long, value_name = "FILE")]
    pub beside: Option<PathBuf>,
    /// Tasks to try of each split.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub tasks: u32,
}

impl PageOptions {
    /// The components that a licence was named for.
    pub fn licensed(&self) -> impl Iterator<Item = &str> {
        self.license.iter().filter_map(|it| it.name.as_deref())
    }

    /// The licence of the component that has this name, if one was named.
    pub fn license_of(&self, name: &str) -> Option<String> {
        let own = self.license.iter().find(|it| it.name.as_deref() == Some(name));
        let any = || self.license.iter().find(|it| it.name.is_none());
        own.or_else(any).map(|it| it.expression.clone())
    }
}

/// A licence, and perhaps the one component that has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LicenseArg {
    name: Option<String>,
    expression: String,
}

impl FromStr for LicenseArg {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        // No licence is written with such a sign.
        let (name, expression) = match text.split_once('=') {
            Some((name, expression)) => (Some(name.to_owned()), expression),
            None => (None, text),
        };
        Ok(LicenseArg { name, expression: expression.to_owned() })
    }
}

/// Minutes of a look, up to a day.
fn minutes(text: &str) -> Result<f64, String> {
    let minutes = text.parse::<f64>().ok().filter(|minutes| (0.0..=1440.0).contains(minutes));
    minutes.ok_or_else(|| "must be a number from 0 to 1440".to_owned())
}
