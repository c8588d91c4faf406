//! The files an interpreter is made from.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

/// Files that become part of a component or say how it is made; the rest is for people.
const KINDS: [&str; 5] = ["py", "js", "mjs", "json", "wit"];

/// Folders that tools make.
const MADE: [&str; 2] = ["node_modules", "__pycache__"];

/// The sources of one interpreter and, below `wit`, the contract; sorted by path.
#[derive(Debug)]
pub struct Sources {
    files: Vec<(PathBuf, Vec<u8>)>,
}

impl Sources {
    /// Reads all that counts in both folders.
    pub fn read(plugin: &Path, wit: &Path) -> Result<Self> {
        let mut files = Vec::new();
        collect(plugin, Path::new(""), &mut files)?;
        collect(wit, Path::new("wit"), &mut files)?;
        files.sort();
        Ok(Self { files })
    }

    /// The SHA-256 digest of all names and contents and of the `tool`, in hexadecimal.
    pub fn digest(&self, tool: &str) -> String {
        let mut digest = Sha256::new();
        let mut add = |bytes: &[u8]| {
            digest.update((bytes.len() as u64).to_le_bytes());
            digest.update(bytes);
        };
        add(tool.as_bytes());
        for (path, bytes) in &self.files {
            add(path.as_os_str().as_encoded_bytes());
            add(bytes);
        }
        format!("{:x}", digest.finalize())
    }

    /// Writes the files to an empty folder.
    pub fn write(&self, folder: &Path) -> Result<()> {
        for (path, bytes) in &self.files {
            let path = folder.join(path);
            fs::create_dir_all(path.parent().unwrap_or(folder))?;
            fs::write(path, bytes)?;
        }
        Ok(())
    }
}

fn collect(folder: &Path, name: &Path, files: &mut Vec<(PathBuf, Vec<u8>)>) -> Result<()> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("reading `{}`", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        let Some(last) = path.file_name() else { continue };
        let name = name.join(last);
        if path.is_dir() {
            if !MADE.iter().any(|made| last == *made) {
                collect(&path, &name, files)?;
            }
        } else if KINDS.iter().any(|kind| path.extension().is_some_and(|found| found == *kind)) {
            files.push((name, fs::read(&path)?));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_component_is_made_from_counts() {
        let root = tempfile::tempdir().unwrap();
        let (plugin, wit) = (root.path().join("plugin"), root.path().join("wit"));
        for folder in ["plugin/src", "plugin/node_modules", "wit"] {
            fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        fs::write(plugin.join("src/a.py"), "a").unwrap();
        fs::write(wit.join("world.wit"), "w").unwrap();
        let digest = || Sources::read(&plugin, &wit).unwrap().digest("tool 1");
        let before = digest();
        fs::write(plugin.join("README.md"), "for people").unwrap();
        fs::write(plugin.join("node_modules/x.js"), "made").unwrap();
        assert_eq!(digest(), before);
        assert_ne!(Sources::read(&plugin, &wit).unwrap().digest("tool 2"), before);
        fs::write(plugin.join("src/a.py"), "b").unwrap();
        assert_ne!(digest(), before);

        let copy = root.path().join("copy");
        Sources::read(&plugin, &wit).unwrap().write(&copy).unwrap();
        assert_eq!(fs::read_to_string(copy.join("src/a.py")).unwrap(), "b");
        assert!(copy.join("wit/world.wit").is_file());
        assert!(!copy.join("README.md").exists());
    }
}
