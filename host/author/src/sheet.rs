//! What is known of a component: what it says of itself, and what was seen when it was tried here.
//! How it is shown, `markup` says.

mod earnings;
mod environment;
mod example;
mod workflow;

use plugin_sdk::testing::Report;

use crate::said::Said;
pub use earnings::Earnings;
pub use environment::{EnvironmentSheet, Look};
pub use example::{Close, Example, Scene, task};
use troupe_core::oci::{OciReference, SHA256};
use troupe_guests::plugin::{
    ComponentFile, InterpreterDescription, Needs, Plugin, PluginError, PluginLibrary,
};
pub use workflow::WorkflowSheet;

/// A component, ready to be shown.
#[derive(Debug)]
pub struct Sheet {
    /// What it says of itself.
    pub said: Said,
    /// Where it is had from.
    pub origin: Origin,
    /// What its file is.
    pub facts: Facts,
    /// Its environment, if it brings one.
    pub environment: Option<EnvironmentSheet>,
    /// Its workflow, if it brings one.
    pub workflow: Option<WorkflowSheet>,
    /// Its interpreter, if it brings one.
    pub interpreter: Option<InterpreterDescription>,
    /// What a check found here, or why there was none.
    pub checked: Result<Vec<Report>, String>,
}

/// Where a component is had from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// How it is named on a command line: a bare name, a file, or a reference with its digest.
    pub named: String,
    /// Its licence, as whoever offers it says.
    pub licence: Option<String>,
}

impl Origin {
    /// Whether everybody who has the program, or reaches the registry, has it under this name.
    pub fn is_shared(&self) -> bool {
        self.reference().is_some() || !self.named.contains(['/', '\\', '.'])
    }

    /// The reference to a registry, if it is had from one.
    pub fn reference(&self) -> Option<OciReference> {
        self.named.parse().ok()
    }
}

/// What a component's file is.
#[derive(Clone, Debug)]
pub struct Facts {
    /// Bytes.
    pub size: usize,
    /// SHA-256, in hexadecimal.
    pub digest: String,
    /// The version of the contract that it is built for.
    pub contract: String,
    /// What it wants from the host.
    pub wants: Vec<Want>,
    /// What one call needs beyond the usual.
    pub needs: Needs,
}

/// Something that a component wants from the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// To run model-written programs, which has to be granted.
    Sandbox,
    /// To search a corpus, which has to be granted.
    Search,
    /// A WASI, in which there is nothing to find.
    Wasi,
}

impl Want {
    /// A word for it.
    pub fn word(self) -> &'static str {
        match self {
            Want::Sandbox => "sandbox",
            Want::Search => "search",
            Want::Wasi => "WASI",
        }
    }

    /// What it comes to.
    pub fn meaning(self) -> &'static str {
        match self {
            Want::Sandbox => "runs model-written programs, once that is granted",
            Want::Search => "searches a corpus, once that is granted",
            Want::Wasi => "finds no files, network, arguments or variables there",
        }
    }

    /// Whether somebody has to grant it.
    pub fn is_granted(self) -> bool {
        self != Want::Wasi
    }
}

impl Facts {
    /// Of a component that was looked at.
    ///
    /// # Errors
    /// If its file cannot be read any more.
    pub fn of(plugin: &Plugin, library: &PluginLibrary) -> Result<Self, PluginError> {
        let read = ComponentFile::read(plugin.file())?;
        let offer = plugin.offer();
        let tools: Vec<&str> =
            library.workflows().iter().flat_map(|one| one.description().tools()).collect();
        let wants = [
            (Want::Sandbox, offer.sandbox || tools.contains(&"run")),
            (Want::Search, offer.retrieval || tools.contains(&"search")),
            (Want::Wasi, offer.wasi),
        ];
        let environments = library.environments().iter().map(|one| &one.description().needs);
        let workflows = library.workflows().iter().map(|one| &one.description().needs);
        Ok(Facts {
            size: read.bytes().len(),
            digest: plugin.digest().to_owned(),
            contract: contract(&read)?,
            wants: wants.into_iter().filter_map(|(want, wanted)| wanted.then_some(want)).collect(),
            needs: environments.chain(workflows).next().cloned().unwrap_or(Needs::NOTHING),
        })
    }

    /// What has to be granted before it is of use.
    pub fn to_grant(&self) -> Vec<&'static str> {
        let wants = self.wants.iter().filter(|want| want.is_granted());
        wants.map(|want| want.word()).collect()
    }

    /// The digest as it is written in references and grants.
    pub fn sha256(&self) -> String {
        format!("{SHA256}{}", self.digest)
    }
}

/// The version of the contract that a component is built for.
///
/// # Errors
/// If it is no component.
pub fn contract(read: &ComponentFile<'_>) -> Result<String, PluginError> {
    let (_, exports) = read.interfaces()?;
    let version =
        exports.iter().find_map(|name| name.strip_prefix("troupe:plugin/")?.split_once('@'));
    Ok(version.map_or("unknown", |(_, version)| version).to_owned())
}

/// The result of trying something, or what went wrong, in words.
fn tried<T, E: std::fmt::Display>(result: Result<T, E>) -> Result<T, String> {
    result.map_err(|error| error.to_string())
}
