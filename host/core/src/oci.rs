//! Components in registries: how they are named, and where they lie once they were pulled.
//!
//! A component is kept in a folder named for its manifest, beside that manifest; whoever uses it
//! reads both and believes neither: the manifest is what the reference's digest says, and the
//! component what the manifest says.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{Coded, ExitCode};
use crate::installation::user_cache;
use crate::storage::{StorageError, digest, digest_file};

/// How a reference begins.
pub const SCHEME: &str = "oci://";
/// How a digest begins: no other function is used.
pub const SHA256: &str = "sha256:";
/// The name of the manifest beside its component.
pub const MANIFEST: &str = "manifest.json";
/// The media type of the layer that is the component, as the CNCF's guidance for Wasm in OCI says.
pub const COMPONENT: &str = "application/wasm";

/// The annotation that names the licence.
pub const LICENSES: &str = "org.opencontainers.image.licenses";

/// A component in a registry: `oci://registry/repository:tag@sha256:digest`. The digest is its
/// manifest's.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct OciReference {
    /// Host and perhaps port.
    pub registry: String,
    /// Where in the registry.
    pub repository: String,
    /// The version asked for.
    pub tag: Option<String>,
    /// SHA-256 of the manifest, in hexadecimal.
    pub digest: Option<String>,
}

/// A component that was pulled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// The file.
    pub file: PathBuf,
    /// What its manifest says, which is so.
    pub manifest: Manifest,
}

/// Why a reference is no file.
#[derive(Debug, thiserror::Error)]
pub enum OciError {
    /// It is not written as one.
    #[error("`{text}` is no reference to a component: {reason}; write oci://registry/name:1.2.0")]
    Malformed {
        /// What was written.
        text: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// Nothing says which component of that name is meant.
    #[error(
        "`{0}` was never pulled for this configuration, so no `host.lock` says which component it \
         is; `host plugin pull {0}` pulls it"
    )]
    Unknown(Box<OciReference>),
    /// It is known which one, and it is not here.
    #[error("`{0}` is not on this machine; `host plugin pull {0}` brings it")]
    Absent(Box<OciReference>),
    /// What was kept has changed.
    #[error("what is kept of `{reference}` in `{}` is not what was pulled ({reason}); remove the folder and pull it again", folder.display())]
    Altered {
        /// The reference.
        reference: Box<OciReference>,
        /// Where it is kept.
        folder: PathBuf,
        /// What differs.
        reason: String,
    },
    /// There is nowhere to keep components.
    #[error("there is no folder to keep pulled components in: set HOME or XDG_CACHE_HOME")]
    NoCache,
    /// A file cannot be read.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl Coded for OciError {
    fn code(&self) -> Option<ExitCode> {
        match self {
            OciError::Malformed { .. } => Some(ExitCode::Usage),
            OciError::Storage(_) => None,
            _ => Some(ExitCode::Plugin),
        }
    }
}

impl OciReference {
    /// The reference that stands where a file may be named; none if a file is.
    ///
    /// # Errors
    /// If it begins as one and is not.
    pub fn of(named: &Path) -> Result<Option<Self>, OciError> {
        let text = named.to_str().filter(|text| text.starts_with(SCHEME));
        text.map(str::parse).transpose()
    }

    /// The last part of the repository, which is the name of the file.
    pub fn name(&self) -> &str {
        self.repository.rsplit('/').next().unwrap_or(&self.repository)
    }

    /// The same, of one manifest.
    pub fn pinned(&self, digest: &str) -> Self {
        OciReference { digest: Some(digest.to_owned()), ..self.clone() }
    }

    /// The same, of whatever has its tag; nothing without a tag.
    pub fn unpinned(&self) -> Option<Self> {
        self.tag.as_ref().map(|_| OciReference { digest: None, ..self.clone() })
    }

    /// Whether the registry is on this machine, where no network can listen. A name that only begins
    /// like such an address may be anybody's.
    pub fn is_local(&self) -> bool {
        let host = match self.registry.rsplit_once(':') {
            Some((host, port)) if port.bytes().all(|digit| digit.is_ascii_digit()) => host,
            _ => &self.registry,
        };
        let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        host == "localhost" || address.is_ok_and(|address| address.is_loopback())
    }

    /// Whether a component of this version may be called so: tags that are versions say it, or
    /// begin it.
    pub fn fits(&self, version: &str) -> bool {
        let Some(tag) = &self.tag else { return true };
        let is_version = tag.starts_with(|first: char| first.is_ascii_digit());
        let rest = version.strip_prefix(tag.as_str());
        !is_version || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }

    /// The folder that its component is kept in, with a digest.
    ///
    /// # Errors
    /// If there is none for such files.
    pub fn folder(&self, digest: &str) -> Result<PathBuf, OciError> {
        let cache = user_cache().ok_or(OciError::NoCache)?;
        Ok(cache.join("components").join(digest))
    }

    /// Where the component lies that it names, if it was pulled; nothing without a digest.
    pub fn file(&self) -> Option<PathBuf> {
        let folder = self.folder(self.digest.as_ref()?).ok()?;
        Some(folder.join(format!("{}.wasm", self.name())))
    }

    /// The component that was pulled, read and compared.
    ///
    /// # Errors
    /// If it has no digest, is not here, or was altered.
    pub fn stored(&self) -> Result<Stored, OciError> {
        let digest = self.digest.as_ref().ok_or_else(|| OciError::Unknown(self.clone().into()))?;
        let folder = self.folder(digest)?;
        let file = folder.join(format!("{}.wasm", self.name()));
        let Ok(manifest) = fs::read(folder.join(MANIFEST)) else {
            return Err(OciError::Absent(self.clone().into()));
        };
        if !file.is_file() {
            return Err(OciError::Absent(self.clone().into()));
        }
        let altered = |reason: String| OciError::Altered {
            reference: self.clone().into(),
            folder: folder.clone(),
            reason,
        };
        let found = self::digest(&manifest);
        if found != *digest {
            return Err(altered(format!("its manifest has the digest {SHA256}{found}")));
        }
        let manifest = Manifest::read(&manifest).map_err(|it| altered(it.to_owned()))?;
        let found = digest_file(&file)?;
        if found != manifest.component {
            return Err(altered(format!("the component has the digest {SHA256}{found}")));
        }
        Ok(Stored { file, manifest })
    }
}

impl fmt::Display for OciReference {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{SCHEME}{}/{}", self.registry, self.repository)?;
        if let Some(tag) = &self.tag {
            write!(out, ":{tag}")?;
        }
        match &self.digest {
            Some(digest) => write!(out, "@{SHA256}{digest}"),
            None => Ok(()),
        }
    }
}

impl FromStr for OciReference {
    type Err = OciError;

    fn from_str(text: &str) -> Result<Self, OciError> {
        parse(text).map_err(|reason| OciError::Malformed { text: text.to_owned(), reason })
    }
}

fn parse(text: &str) -> Result<OciReference, &'static str> {
    let rest = text.strip_prefix(SCHEME).ok_or("it does not begin with oci://")?;
    let (rest, digest) = match rest.split_once('@') {
        Some((rest, digest)) => (rest, Some(parse_digest(digest)?)),
        None => (rest, None),
    };
    let (registry, rest) = rest.split_once('/').ok_or("it names no repository")?;
    let (repository, tag) = match rest.split_once(':') {
        Some((repository, tag)) => (repository, Some(tag)),
        None => (rest, None),
    };
    let is_host = |c: char| c.is_ascii_alphanumeric() || ".-:[]".contains(c);
    if registry.is_empty() || !registry.chars().all(is_host) {
        return Err("it names no registry");
    }
    // As the distribution specification has them.
    let is_part = |part: &str| {
        let is_letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        part.starts_with(is_letter)
            && part.ends_with(is_letter)
            && part.chars().all(|c| is_letter(c) || "._-".contains(c))
    };
    if !repository.split('/').all(is_part) {
        return Err("a repository is lower-case letters, digits, `.`, `_`, `-` and `/`");
    }
    let is_tag = |tag: &str| {
        (1..=128).contains(&tag.len())
            && !tag.starts_with(['.', '-'])
            && tag.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
    };
    if tag.is_some_and(|tag| !is_tag(tag)) {
        return Err("a tag is letters, digits, `.`, `_` and `-`");
    }
    if tag.is_none() && digest.is_none() {
        return Err("it has neither a tag nor a digest");
    }
    Ok(OciReference {
        registry: registry.to_owned(),
        repository: repository.to_owned(),
        tag: tag.map(str::to_owned),
        digest,
    })
}

/// The hexadecimal digits of `sha256:…`.
fn parse_digest(text: &str) -> Result<String, &'static str> {
    let digits = text.strip_prefix(SHA256).ok_or("its digest does not begin with sha256:")?;
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    if digits.len() != 64 || !digits.bytes().all(is_digit) {
        return Err("its digest has not 64 hexadecimal digits");
    }
    Ok(digits.to_owned())
}

/// What is read of an image manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// SHA-256 of the component, in hexadecimal.
    pub component: String,
    /// Its bytes.
    pub size: u64,
    /// The licence, as whoever pushed it says.
    pub licenses: Option<String>,
}

#[derive(Deserialize)]
struct Written {
    layers: Vec<Layer>,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Layer {
    media_type: String,
    digest: String,
    size: u64,
}

impl Manifest {
    /// Reads one that names a component.
    ///
    /// # Errors
    /// If it names none, or more than one; in words.
    pub fn read(bytes: &[u8]) -> Result<Self, &'static str> {
        let mut written: Written =
            serde_json::from_slice(bytes).map_err(|_| "it is no manifest of an image")?;
        match &written.layers[..] {
            [layer] if layer.media_type == COMPONENT => Ok(Manifest {
                component: parse_digest(&layer.digest)?,
                size: layer.size,
                licenses: written.annotations.remove(LICENSES),
            }),
            [_] => Err("its layer is no WebAssembly component"),
            _ => Err("it has not one layer"),
        }
    }
}

impl TryFrom<String> for OciReference {
    type Error = OciError;

    fn try_from(text: String) -> Result<Self, OciError> {
        text.parse()
    }
}

impl From<OciReference> for String {
    fn from(reference: OciReference) -> Self {
        reference.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_is_written_as_it_was_read() {
        let digest = "ab".repeat(32);
        for text in [
            "oci://127.0.0.1:5000/sudoku:1.2.0".to_owned(),
            "oci://ghcr.io/some/one/plan-path:latest".to_owned(),
            format!("oci://[::1]:5000/sudoku@sha256:{digest}"),
            format!("oci://registry.example/games/sudoku:1.2@sha256:{digest}"),
        ] {
            assert_eq!(text.parse::<OciReference>().unwrap().to_string(), text);
            assert!(OciReference::of(Path::new(&text)).unwrap().is_some());
        }
        assert!(OciReference::of(Path::new("sudoku.wasm")).unwrap().is_none());
    }

    #[test]
    fn what_is_no_reference_is_refused_with_what_is_wrong() {
        for (text, reason) in [
            ("oci://sudoku", "no repository"),
            ("oci:///sudoku:1", "no registry"),
            ("oci://registry/Sudoku:1", "lower-case"),
            ("oci://registry/../sudoku:1", "lower-case"),
            ("oci://registry/sudoku", "neither a tag nor a digest"),
            ("oci://registry/sudoku:a b", "a tag is letters"),
            ("oci://registry/sudoku@sha512:00", "sha256:"),
            ("oci://registry/sudoku@sha256:00", "64 hexadecimal"),
        ] {
            let error = OciReference::of(Path::new(text)).unwrap_err().to_string();
            assert!(error.contains(reason) && error.contains(text), "{text}: {error}");
        }
    }

    #[test]
    fn a_tag_that_is_a_version_is_that_of_the_component_or_its_beginning() {
        let fits = |tag: &str, version: &str| {
            format!("oci://registry/sudoku:{tag}").parse::<OciReference>().unwrap().fits(version)
        };
        for tag in ["1.2.0", "1.2", "1", "latest", "stable"] {
            assert!(fits(tag, "1.2.0"), "{tag}");
        }
        for tag in ["1.2.1", "1.20", "1.", "2", "1.2.0.0"] {
            assert!(!fits(tag, "1.2.0"), "{tag}");
        }
    }

    #[test]
    fn only_this_machine_is_spoken_to_without_encryption() {
        let local = |registry: &str| {
            format!("oci://{registry}/x:1").parse::<OciReference>().unwrap().is_local()
        };
        assert!(local("127.0.0.1:5000") && local("127.0.0.1") && local("localhost"));
        assert!(local("[::1]:5000") && local("[::1]") && local("localhost:5000"));
        assert!(!local("127.0.0.1.example") && !local("127.example:5000"));
        assert!(!local("registry.example") && !local("10.0.0.1:5000"));
        assert!(!local("localhost.example:5000"));
    }
}
