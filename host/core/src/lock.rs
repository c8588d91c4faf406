//! `host.lock`: which component each reference to a registry meant when it was first pulled.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::config::{Config, Grantee};
use crate::oci::{OciError, OciReference};
use crate::storage::{StorageError, write_file};

/// The name of the file.
pub const LOCK: &str = "host.lock";
const HEAD: &str = "\
# What references to registries meant when they were first pulled. Keep it with the configuration;\n\
# `host plugin pull --update` asks the registries again.\n\n";

/// The file beside a configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockFile {
    /// By reference.
    #[serde(default, rename = "plugin")]
    pub plugins: Vec<Locked>,
}

/// What a reference means.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Locked {
    /// Without a digest.
    pub reference: OciReference,
    /// SHA-256 of the manifest, in hexadecimal.
    pub manifest: String,
    /// SHA-256 of the component.
    pub component: String,
    /// SHA-256 of the component that a grant by name means: the first one that was pulled, until
    /// another is granted anew.
    pub granted: String,
    /// The version that the component says it has.
    pub version: String,
}

impl LockFile {
    /// Where it lies: beside the first of these configurations, or in the current folder if there
    /// is none. One that comes with the program is not where its name says.
    pub fn beside(configurations: &[PathBuf]) -> PathBuf {
        let first = configurations.first().filter(|first| first.exists());
        first.and_then(|first| first.parent()).unwrap_or(Path::new("")).join(LOCK)
    }

    /// What a file says; nothing if it is not there.
    ///
    /// # Errors
    /// If it cannot be read, or says something else.
    pub fn read(path: &Path) -> Result<Self, StorageError> {
        match fs::read_to_string(path) {
            Ok(text) => toml::from_str(&text).map_err(|error| StorageError::Damaged {
                path: path.to_owned(),
                reason: error.message().to_owned(),
            }),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(LockFile::default()),
            Err(error) => Err(StorageError::io("read", path)(error)),
        }
    }

    /// Changes what a file says. Of several processes, each begins with what the one before it
    /// wrote.
    ///
    /// # Errors
    /// If it cannot be read or written, or says something else.
    pub fn change(path: &Path, change: impl FnOnce(&mut Self)) -> Result<(), StorageError> {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let folder = parent.unwrap_or(Path::new("."));
        // The file itself is replaced, so it is the folder that they wait for. Some file systems
        // (NFS) lock no folders; there, who comes last has the word.
        let held = File::open(folder).map_err(StorageError::io("open", folder))?;
        let _unlocked = held.lock();
        let mut lock = Self::read(path)?;
        change(&mut lock);
        lock.write(path)
    }

    fn write(&self, path: &Path) -> Result<(), StorageError> {
        // Strings in tables: there is nothing that TOML could not say.
        let text = toml::to_string(self).unwrap_or_default();
        write_file(path, format!("{HEAD}{text}").as_bytes())
    }

    /// What it says of a reference, whatever the digest; nothing of one that is a digest alone, which
    /// means one component anyway.
    pub fn get(&self, reference: &OciReference) -> Option<&Locked> {
        let reference = reference.unpinned()?;
        self.plugins.iter().find(|known| known.reference == reference)
    }

    /// The reference with the digest that it means, if that is known.
    pub fn meant(&self, reference: &OciReference) -> OciReference {
        match self.get(reference) {
            Some(locked) if reference.digest.is_none() => reference.pinned(&locked.manifest),
            _ => reference.clone(),
        }
    }

    /// Remembers one, in place of what was known of its reference.
    pub fn put(&mut self, locked: Locked) {
        self.plugins.retain(|known| known.reference != locked.reference);
        self.plugins.push(locked);
        self.plugins.sort_by_key(|known| known.reference.to_string());
    }

    /// Writes into a configuration which components its references mean, and for which of them its
    /// grants by name hold.
    pub fn pin(&self, config: &mut Config) {
        for file in config.plugins.files.iter_mut().chain(&mut config.sandbox.interpreters) {
            let Ok(Some(reference)) = OciReference::of(file) else { continue };
            let Some(locked) = self.get(&reference) else { continue };
            *file = PathBuf::from(self.meant(&reference).to_string());
            let granted = [(reference.name().to_owned(), locked.granted.clone())];
            Grantee::bind(&mut config.sandbox.grant, &granted);
            Grantee::bind(&mut config.retrieval.grant, &granted);
        }
    }
}

impl Config {
    /// The components that it takes from registries.
    ///
    /// # Errors
    /// Each may be written wrongly.
    pub fn references(&self) -> impl Iterator<Item = Result<OciReference, OciError>> {
        let files = self.plugins.files.iter().chain(&self.sandbox.interpreters);
        files.filter_map(|file| OciReference::of(file).transpose())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn locked(granted: &str) -> Locked {
        Locked {
            reference: "oci://127.0.0.1:5000/code:1.0.0".parse().unwrap(),
            manifest: "aa".repeat(32),
            component: "bb".repeat(32),
            granted: granted.repeat(32),
            version: "1.0.0".to_owned(),
        }
    }

    #[test]
    fn what_is_written_is_read_and_a_reference_has_one_meaning() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(LOCK);
        assert_eq!(LockFile::read(&path).unwrap(), LockFile::default());
        LockFile::change(&path, |lock| lock.put(locked("bb"))).unwrap();
        LockFile::change(&path, |lock| lock.put(locked("cc"))).unwrap();
        assert_eq!(LockFile::read(&path).unwrap().plugins, [locked("cc")]);
        fs::write(&path, "[[plugin]]\nreference = \"oci://x\"\n").unwrap();
        assert!(LockFile::read(&path).unwrap_err().to_string().contains("host.lock"));
    }

    #[test]
    fn of_those_who_change_it_at_once_none_undoes_the_others() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(LOCK);
        std::thread::scope(|scope| {
            for version in 0..8 {
                let path = &path;
                let reference = format!("oci://127.0.0.1:5000/code:{version}").parse().unwrap();
                let locked = Locked { reference, ..locked("cc") };
                scope.spawn(move || LockFile::change(path, |lock| lock.put(locked)).unwrap());
            }
        });
        assert_eq!(LockFile::read(&path).unwrap().plugins.len(), 8);
    }

    #[test]
    fn a_reference_is_pinned_and_a_grant_by_name_is_for_the_component_that_it_was_given_to() {
        let mut lock = LockFile::default();
        lock.put(locked("cc"));
        let text = "
            plugins.files = ['oci://127.0.0.1:5000/code:1.0.0', 'solo', 'oci://other/x:1']
            sandbox.grant = ['code', 'solo']
        ";
        let mut config = Config::from_table(text.parse().unwrap()).unwrap();
        lock.pin(&mut config);
        let files: Vec<_> =
            config.plugins.files.iter().map(|file| file.display().to_string()).collect();
        let pinned = format!("oci://127.0.0.1:5000/code:1.0.0@sha256:{}", "aa".repeat(32));
        assert_eq!(files, [pinned.as_str(), "solo", "oci://other/x:1"]);
        assert_eq!(config.sandbox.grant[0].digest, Some("cc".repeat(32)));
        assert_eq!(config.sandbox.grant[1].digest, None);
    }

    #[test]
    fn it_lies_beside_the_first_configuration_or_here() {
        let folder = tempfile::tempdir().unwrap();
        let files = [folder.path().join("a.toml"), PathBuf::from("b.toml")];
        fs::write(&files[0], "").unwrap();
        assert_eq!(LockFile::beside(&files), folder.path().join(LOCK));
        assert_eq!(LockFile::beside(&files[1..]), Path::new(LOCK));
        assert_eq!(LockFile::beside(&[]), Path::new(LOCK));
        // It comes with the program, and is in none of the folders here.
        let shipped = PathBuf::from("configs/plan-path/quickstart.toml");
        assert_eq!(LockFile::beside(&[shipped]), Path::new(LOCK));
    }
}
