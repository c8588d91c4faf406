//! The sources of a plugin: a folder with a `plugin.toml`, which needs nothing
//! of Troupe but this program. `host plugin new` writes one, `host plugin
//! build` makes a component of it.

mod c;
mod error;
mod javascript;
mod language;
mod manifest;
mod names;
mod python;
mod rust;
mod sdk;
mod template;

use std::path::{Path, PathBuf};

pub use error::ProjectError;
pub use language::{Kind, Language};
pub use manifest::ProjectManifest;

use troupe_core::storage::{StorageError, beside, remove_folder, rename, write_file};

/// A plugin's folder.
#[derive(Clone, Debug)]
pub struct Project {
    folder: PathBuf,
    manifest: ProjectManifest,
}

impl Project {
    /// Writes a new one, into a folder of its name in `parent`: a template that
    /// builds and is sound, the contract and the SDK.
    ///
    /// # Errors
    /// If the name does not do, there is something of that name, or it cannot be written.
    pub fn create(parent: &Path, manifest: ProjectManifest) -> Result<Self, ProjectError> {
        manifest.check_new()?;
        let folder = parent.join(&manifest.name);
        if folder.exists() {
            return Err(ProjectError::Exists(folder));
        }
        // It appears when it is whole.
        let partial = beside(&folder);
        let written = template::write(&manifest, &partial)
            .and_then(|()| rename(&partial, &folder).map_err(StorageError::io("write", &folder)));
        if let Err(error) = written {
            // What is wrong was said; that a part of it is left is no news.
            let _ = remove_folder(&partial);
            return Err(error.into());
        }
        Ok(Project { folder, manifest })
    }

    /// The one that lies in a folder.
    ///
    /// # Errors
    /// If there is none, or its `plugin.toml` is wrong.
    pub fn open(folder: &Path) -> Result<Self, ProjectError> {
        Ok(Project { folder: folder.to_owned(), manifest: ProjectManifest::read(folder)? })
    }

    /// Its name, kind and language.
    pub fn manifest(&self) -> &ProjectManifest {
        &self.manifest
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where its component is written.
    pub fn component(&self) -> PathBuf {
        self.folder.join(&self.manifest.name).with_extension("wasm")
    }

    /// Builds the component with the language's tools, which write to the
    /// terminal what they have to say; the size of the component in bytes.
    ///
    /// # Errors
    /// If a tool is missing, or the sources do not compile.
    pub fn build(&self) -> Result<usize, ProjectError> {
        let component = match self.manifest.language {
            Language::Rust => rust::build(self)?,
            Language::Python => python::build(self)?,
            Language::JavaScript => javascript::build(self)?,
            Language::C => c::build(self)?,
        };
        write_file(&self.component(), &component)?;
        Ok(component.len())
    }
}
