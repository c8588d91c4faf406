//! Why a plugin cannot be loaded or does not fit the run.

use std::path::{Path, PathBuf};

use super::component::one_line;
use super::contract::{CONTRACT, CONTRACT_VERSION};
use super::failure::PluginFailure;
use super::grants::{Grants, Right, grant_flag, name_of};
use super::setting::SettingError;

use troupe_core::error::{Coded, ExitCode};
use troupe_core::oci::OciError;

/// Why a plugin cannot be used. Found before a run begins; what goes wrong
/// later is a [`PluginFailure`].
#[derive(Debug, thiserror::Error)]
pub enum PluginError {
    /// WebAssembly cannot be run here.
    #[error("cannot set up WebAssembly: {reason}")]
    Engine {
        /// What wasmtime said.
        reason: String,
    },
    /// None of the workflows an environment is made for is there.
    #[error(
        "the environment `{environment}` is played with one of the workflows {advice}, and none \
         of them is there; looked in {searched}; put one beside the environment, or name one with \
         `--plugins`"
    )]
    NoWorkflow {
        /// The environment.
        environment: String,
        /// The workflows it names.
        advice: String,
        /// Where they were looked for.
        searched: String,
    },
    /// There is no such file.
    #[error("there is no plugin `{name}`; looked in {searched}{suggestion}")]
    Missing {
        /// The file or bare name.
        name: String,
        /// Where it was looked for.
        searched: String,
        /// The file that was probably meant.
        suggestion: String,
    },
    /// The file cannot be read.
    #[error("cannot read plugin `{}`: {reason}", .0.display(), reason = .1)]
    Io(PathBuf, std::io::Error),
    /// The file is something other than a component.
    #[error("`{}` is not a plugin: {reason}", .0.display(), reason = .1)]
    NotAComponent(PathBuf, String),
    /// The file is a component that breaks off or is damaged.
    #[error("plugin `{}` is damaged: {reason}; build or fetch it again", .0.display(), reason = .1)]
    Damaged(PathBuf, String),
    /// Compiling it would take, or took, too long or too much memory.
    #[error("plugin `{}` is not compiled: {reason}; honest plugins need far less", .0.display(), reason = .1)]
    TooLarge(PathBuf, String),
    /// It is built for another version of the contract.
    #[error("plugin `{}` speaks contract {theirs} in `{interface}`; this host speaks {ours}; \
             rebuild it against this host's `wit` folder", file.display(), ours = CONTRACT_VERSION)]
    ContractVersion {
        /// The file.
        file: PathBuf,
        /// The interface in which the versions differ.
        interface: String,
        /// The plugin's version.
        theirs: String,
    },
    /// It exports nothing of the contract.
    #[error("`{}` exports no environment, workflow or interpreter of contract `{contract}` (it exports {exports})", file.display(), contract = CONTRACT)]
    NoContract {
        /// The file.
        file: PathBuf,
        /// What it does export.
        exports: String,
    },
    /// It imports what no plugin gets.
    #[error("plugin `{}` imports `{import}`, which is not granted; {hint}", file.display())]
    Import {
        /// The file.
        file: PathBuf,
        /// The import.
        import: String,
        /// What may be imported, or how to grant it.
        hint: String,
    },
    /// The grant is bound to another file of this name.
    #[error(
        "`{name}` was granted `{}` as the file with the digest sha256:{meant}, and `{}` is \
         another one (sha256:{digest}); if you trust it, grant it anew with `--grant {name}={}`",
        right.interface(),
        file.display(),
        right.word(),
        name = name_of(file)
    )]
    AnotherFile {
        /// What was granted.
        right: Right,
        /// The file.
        file: PathBuf,
        /// SHA-256 of the file that was granted it.
        meant: String,
        /// SHA-256 of this one.
        digest: String,
    },
    /// A grant names two different files.
    #[error(
        "`{name}` is granted `{}`, and there are two different files of that name, `{}` and \
         `{}`; say which one is meant with its digest, as in `--grant {name}@sha256:{digest}={}`",
        right.interface(),
        first.display(),
        second.display(),
        right.word(),
        name = name_of(first)
    )]
    Ambiguous {
        /// What is granted.
        right: Right,
        /// One file.
        first: PathBuf,
        /// The other file.
        second: PathBuf,
        /// SHA-256 of the first.
        digest: String,
    },
    /// It says that it needs more than a call gets.
    #[error(
        "plugin `{}` needs more than it gets; grant it that with `{setting} = {needed}`",
        file.display()
    )]
    Needs {
        /// The file.
        file: PathBuf,
        /// The limit that is too low.
        setting: &'static str,
        /// What it needs.
        needed: f64,
    },
    /// An interface has the contract's name but not its shape.
    #[error("plugin `{}` does not fit contract {CONTRACT_VERSION}: {reason}", .0.display(), reason = .1)]
    Shape(PathBuf, String),
    /// It describes itself in a way the contract rules out.
    #[error("plugin `{}` describes its {kind} wrongly: {reason}", file.display())]
    Description {
        /// The file.
        file: PathBuf,
        /// `environment`, `workflow` or `interpreter`.
        kind: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// Two files offer the same.
    #[error("two plugins offer the {kind} `{name}`: `{}` and `{}`; name one of them only", first.display(), second.display())]
    Duplicate {
        /// `environment`, `workflow` or `interpreter`.
        kind: &'static str,
        /// Its name.
        name: String,
        /// One file.
        first: PathBuf,
        /// The other file.
        second: PathBuf,
    },
    /// No plugin offers what is asked for by name.
    #[error("no plugin offers the {kind} `{name}`{suggestion}")]
    Unknown {
        /// `environment`, `workflow` or `interpreter`.
        kind: &'static str,
        /// The name.
        name: String,
        /// What was probably meant.
        suggestion: String,
    },
    /// Several would do, and none is named.
    #[error("the plugins offer {}", offered(kind, names))]
    Unchosen {
        /// `environment` or `workflow`.
        kind: &'static str,
        /// What there is.
        names: Vec<String>,
    },
    /// The environment does not understand what the workflow sends.
    #[error("the workflow `{workflow}` does not fit the environment `{environment}`: {reason}")]
    Misfit {
        /// The workflow.
        workflow: String,
        /// The environment.
        environment: String,
        /// What is missing.
        reason: String,
    },
    /// The user's settings are not what the plugin accepts.
    #[error("the [{kind}] settings do not fit `{plugin}`: {error}")]
    Setting {
        /// `environment` or `workflow`: the config's table.
        kind: &'static str,
        /// The plugin.
        plugin: String,
        /// What is wrong.
        error: SettingError,
    },
    /// A call failed while the plugin was being loaded.
    #[error(transparent)]
    Failure(#[from] PluginFailure),
    /// A component that a registry has is not here.
    #[error(transparent)]
    Reference(#[from] OciError),
}

impl Coded for PluginError {
    fn code(&self) -> Option<ExitCode> {
        match self {
            PluginError::Setting { .. } => Some(ExitCode::Usage),
            PluginError::Reference(error) => error.code(),
            _ => Some(ExitCode::Plugin),
        }
    }
}

impl PluginError {
    /// An interface of the file has the contract's name but not its shape.
    pub fn shape(file: &Path, error: &wasmtime::Error) -> Self {
        PluginError::Shape(file.to_owned(), one_line(error))
    }

    /// The file wants a right that it does not have.
    pub(super) fn without(right: Right, file: &Path, digest: &str, grants: &Grants) -> Self {
        if let Some(meant) = grants.meant(right, file, digest) {
            return PluginError::another_file(right, file, meant, digest);
        }
        let grant = grant_flag(&name_of(file), &[right]);
        let hint = match right {
            Right::Sandbox => format!(
                "if you want it to run model-written programs in the sandbox, grant that with \
                 `{grant}`"
            ),
            Right::Retrieval if grants.retrieval.what.is_none() => format!(
                "if you want it to search a corpus, grant that and name the corpus with `{grant} \
                 --set 'retrieval.corpus=[\"FILE\"]'`"
            ),
            Right::Retrieval => {
                format!("if you want it to search the corpus, grant that with `{grant}`")
            }
        };
        PluginError::Import {
            file: file.to_owned(),
            import: format!("troupe:plugin/{}@{CONTRACT_VERSION}", right.interface()),
            hint,
        }
    }

    /// A right was granted to a file of this name and another digest.
    pub(super) fn another_file(right: Right, file: &Path, meant: &str, digest: &str) -> Self {
        PluginError::AnotherFile {
            right,
            file: file.to_owned(),
            meant: meant.to_owned(),
            digest: digest.to_owned(),
        }
    }
}

fn offered(kind: &str, names: &[String]) -> String {
    if names.is_empty() {
        return format!("no {kind}; name a file that brings one with `--plugins`");
    }
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    format!(
        "several {kind}s ({}); choose one with `plugins.{kind}`, or, to train on several, name one \
         in each entry of [[mix]]",
        names.join(", ")
    )
}
