//! `plugin.toml`: what a folder of sources is.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::error::ProjectError;
use super::language::{Kind, Language};
use super::names;

/// The file that makes a folder a project.
pub const FILE: &str = "plugin.toml";
const NAME_BYTES: usize = 64;

/// What a plugin is called, what it brings and what it is written in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProjectManifest {
    /// Its name, in kebab-case.
    pub name: String,
    /// What it is written in.
    pub language: Language,
    /// What it brings.
    pub kind: Kind,
}

impl ProjectManifest {
    /// The one in a folder.
    pub(super) fn read(folder: &Path) -> Result<Self, ProjectError> {
        let path = folder.join(FILE);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(ProjectError::NoProject(folder.to_owned()));
            }
            Err(error) => return Err(ProjectError::manifest(path, &error)),
        };
        let manifest: ProjectManifest =
            toml::from_str(&text).map_err(|error| ProjectError::manifest(path, &error))?;
        manifest.check()?;
        Ok(manifest)
    }

    /// Whether a component, a crate, a package and a file can have the name.
    pub(super) fn check(&self) -> Result<(), ProjectError> {
        let word = |word: &str| {
            !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
        };
        let name = &self.name;
        let fits = name.len() <= NAME_BYTES
            && name.starts_with(|c: char| c.is_ascii_lowercase())
            && name.split('-').all(word);
        if !fits {
            return Err(ProjectError::Name(
                name.clone(),
                "is not in kebab-case, such as `my-game`",
            ));
        }
        Ok(())
    }

    /// Whether a new project can have the name, so that it builds and its own test passes.
    pub(super) fn check_new(&self) -> Result<(), ProjectError> {
        self.check()?;
        match names::objection(self) {
            None => Ok(()),
            Some(reason) => Err(ProjectError::Taken {
                name: self.name.clone(),
                reason,
                proposal: names::proposal(self),
            }),
        }
    }

    /// `my-game` as `my_game`.
    pub fn snake(&self) -> String {
        self.name.replace('-', "_")
    }

    /// `my-game` as `MyGame`.
    pub fn pascal(&self) -> String {
        let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
        self.name.split('-').map(capital).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> ProjectManifest {
        ProjectManifest { name: name.to_owned(), language: Language::Rust, kind: Kind::Environment }
    }

    #[test]
    fn a_name_is_written_as_each_language_wants_it() {
        let manifest = named("my-2nd-game");
        assert_eq!(manifest.snake(), "my_2nd_game");
        assert_eq!(manifest.pascal(), "My2ndGame");
        manifest.check().unwrap();
        for wrong in ["", "My", "a b", "a--b", "-a", "2a", "a_b", "../a"] {
            assert!(named(wrong).check().is_err(), "{wrong:?}");
        }
        assert!(named(&"a".repeat(65)).check().is_err());
    }

    #[test]
    fn a_folder_that_is_no_project_says_what_makes_one() {
        let folder = tempfile::tempdir().unwrap();
        let message = || ProjectManifest::read(folder.path()).unwrap_err().to_string();
        assert!(message().contains("host plugin new"), "{}", message());
        let write = |text: &str| std::fs::write(folder.path().join(FILE), text).unwrap();
        write("name = \"a\"\nlanguage = \"cobol\"\nkind = \"environment\"\n");
        assert!(message().contains("cobol"), "{}", message());
        write("name = \"A\"\nlanguage = \"rust\"\nkind = \"environment\"\n");
        assert!(message().contains("kebab-case"), "{}", message());
    }
}
