//! Which build of Troupe this is: a run writes it down, and a page of runs says what made them.

use std::fmt;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use crate::storage::{StorageError, digest_file};

/// Digits of a commit or a digest that people are shown.
const DIGITS: usize = 12;

static THIS: OnceLock<Build> = OnceLock::new();

/// A build of Troupe.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Build {
    /// The version.
    pub version: String,
    /// The last commit that changed what the host is made of; nothing if that is unknown.
    pub commit: Option<String>,
    /// Whether it was built from other sources than the commit's.
    pub changed: bool,
    /// SHA-256 of the program; nothing if it was not computed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub binary: Option<String>,
}

impl Build {
    /// A build of which only the version is known.
    pub fn unknown(version: &str) -> Self {
        Build { version: version.to_owned(), commit: None, changed: false, binary: None }
    }

    /// Declares the build of the running program, which only its `main` knows.
    pub fn declare(commit: Option<&str>, changed: bool) {
        let commit = commit.map(str::to_owned);
        // A program is one build only, whoever asks first.
        let _ = THIS.set(Build { commit, changed, ..Build::this() });
    }

    /// The build of the running program.
    pub fn this() -> Self {
        THIS.get().cloned().unwrap_or_else(|| Build::unknown(env!("CARGO_PKG_VERSION")))
    }

    /// This program's, with the digest of the program where that can be found: without `/proc`
    /// it is unknown.
    ///
    /// # Errors
    /// If the program's file cannot be read.
    pub fn this_with_digest() -> Result<Self, StorageError> {
        let program = std::env::current_exe().ok();
        let binary = program.map(|program| digest_file(&program)).transpose()?;
        Ok(Build { binary, ..Build::this() })
    }
}

/// The line that people read.
impl fmt::Display for Build {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let short = |text: &str| text.chars().take(DIGITS).collect::<String>();
        write!(to, "{} (commit ", self.version)?;
        match &self.commit {
            None => write!(to, "unknown")?,
            Some(commit) => write!(to, "{}", short(commit))?,
        }
        if self.changed {
            write!(to, ", with changes")?;
        }
        match &self.binary {
            None => write!(to, ")"),
            Some(binary) => write!(to, ", program {})", short(binary)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_says_its_commit_and_whether_it_was_made_of_other_sources() {
        let known = |changed, binary: Option<&str>| Build {
            commit: Some("0123456789abcdef".to_owned()),
            changed,
            binary: binary.map(str::to_owned),
            ..Build::unknown("1.2.3")
        };
        for (build, expected) in [
            (Build::unknown("1.2.3"), "1.2.3 (commit unknown)"),
            (known(false, None), "1.2.3 (commit 0123456789ab)"),
            (known(true, None), "1.2.3 (commit 0123456789ab, with changes)"),
            (known(false, Some("ff00")), "1.2.3 (commit 0123456789ab, program ff00)"),
        ] {
            assert_eq!(build.to_string(), expected);
            let text = serde_json::to_string(&build).unwrap();
            assert_eq!(serde_json::from_str::<Build>(&text).unwrap(), build);
        }
        assert!(Build::this_with_digest().unwrap().binary.is_some());
    }
}
