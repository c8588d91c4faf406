//! What plugins were granted: which file may use which import.

use std::path::Path;
use std::sync::Arc;

use super::sandbox::SandboxGrant;
use crate::retrieval::Corpus;
use troupe_core::config::Grantee;

/// A right that has to be granted before a plugin can use it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Right {
    /// To have model-written programs run.
    Sandbox,
    /// To search a corpus.
    Retrieval,
}

impl Right {
    /// The interface of the contract.
    pub(super) fn interface(self) -> &'static str {
        match self {
            Right::Sandbox => "sandbox",
            Right::Retrieval => "retrieval",
        }
    }

    /// The right that has to be granted for a tool.
    pub fn for_tool(tool: &str) -> Option<Self> {
        match tool {
            "run" => Some(Right::Sandbox),
            "search" => Some(Right::Retrieval),
            _ => None,
        }
    }

    /// Its word in `--grant NAME=WORD`.
    pub fn word(self) -> &'static str {
        match self {
            Right::Sandbox => "sandbox",
            Right::Retrieval => "search",
        }
    }
}

/// The flag that grants these rights to a file of this name.
pub fn grant_flag(name: &str, rights: &[Right]) -> String {
    let words: Vec<&str> = rights.iter().map(|right| right.word()).collect();
    format!("--grant {name}={}", words.join(","))
}

/// A capability, and the plugins that are granted it.
#[derive(Clone, Debug)]
pub struct Grant<T> {
    /// The capability; none where nothing is set up.
    pub what: Option<T>,
    /// The plugins that get it.
    pub to: Vec<Grantee>,
}

impl<T> Default for Grant<T> {
    fn default() -> Self {
        Grant { what: None, to: Vec::new() }
    }
}

impl<T: Clone> Grant<T> {
    fn of(&self, name: &str, digest: &str) -> Option<T> {
        let granted = self.to.iter().any(|grantee| grantee.means(name, digest));
        if granted { self.what.clone() } else { None }
    }
}

/// Everything that some plugins are granted.
#[derive(Clone, Debug, Default)]
pub struct Grants {
    /// The right to have programs run.
    pub sandbox: Grant<SandboxGrant>,
    /// The right to search.
    pub retrieval: Grant<Arc<Corpus>>,
    /// Whether plugins are only looked at: one that asks for more than it was
    /// granted is loaded, and fails when it uses that.
    pub for_a_look: bool,
}

/// The capabilities of one plugin.
#[derive(Clone, Debug, Default)]
pub struct Granted {
    /// The right to run programs.
    pub sandbox: Option<SandboxGrant>,
    /// The corpus that it may search.
    pub corpus: Option<Arc<Corpus>>,
}

impl Granted {
    /// Whether it was granted this.
    pub(super) fn has(&self, right: Right) -> bool {
        match right {
            Right::Sandbox => self.sandbox.is_some(),
            Right::Retrieval => self.corpus.is_some(),
        }
    }
}

impl Grants {
    /// The capabilities of the plugin in this file, which has this digest.
    pub(super) fn of(&self, file: &Path, digest: &str) -> Granted {
        let name = &name_of(file);
        Granted { sandbox: self.sandbox.of(name, digest), corpus: self.retrieval.of(name, digest) }
    }

    fn to(&self, right: Right) -> &[Grantee] {
        match right {
            Right::Sandbox => &self.sandbox.to,
            Right::Retrieval => &self.retrieval.to,
        }
    }

    /// Rights that are granted under the name of this file.
    fn namesakes(&self, file: &Path) -> impl Iterator<Item = (Right, &Grantee)> {
        let name = name_of(file);
        [Right::Sandbox, Right::Retrieval]
            .into_iter()
            .flat_map(|right| self.to(right).iter().map(move |grantee| (right, grantee)))
            .filter(move |(_, grantee)| grantee.name == name)
    }

    /// The digest that a right was granted to under the name of this file, which
    /// is another one.
    pub(super) fn meant(&self, right: Right, file: &Path, digest: &str) -> Option<&str> {
        let mut grants = self.namesakes(file).filter(|(granted, _)| *granted == right).peekable();
        let first = grants.peek()?.1.digest.as_deref();
        if grants.any(|(_, grantee)| grantee.means(&grantee.name, digest)) { None } else { first }
    }

    /// A right that is granted to any file of this name, whatever its digest.
    pub(super) fn unbound(&self, file: &Path) -> Option<Right> {
        let mut grants = self.namesakes(file);
        grants.find(|(_, grantee)| grantee.digest.is_none()).map(|(right, _)| right)
    }
}

/// The name under which a file is granted something.
pub(super) fn name_of(file: &Path) -> String {
    file.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}
