//! The languages that are served.

use std::collections::BTreeMap;

use troupe_core::program::RunLimits;
use troupe_guests::plugin::PluginError;
use troupe_sandbox::{Sandbox, StartError};

/// What is looked for when the server starts. A request never names a file:
/// what is not here does not exist for it.
const LANGUAGES: [&str; 2] = ["python", "javascript"];

/// The languages whose interpreters were found, with the digests of these and
/// what they need themselves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Languages {
    digests: BTreeMap<&'static str, String>,
    needs: BTreeMap<&'static str, RunLimits>,
}

impl Languages {
    /// Compiles the interpreters that there are.
    ///
    /// # Errors
    /// One cannot be used, or there is none at all.
    pub fn load(sandbox: &Sandbox) -> Result<Self, StartError> {
        let mut digests = BTreeMap::new();
        let mut missing = None;
        for language in LANGUAGES {
            match sandbox.interpreter(language) {
                Ok(source) => {
                    digests.insert(language, source.digest);
                }
                Err(error @ StartError::Plugin(PluginError::Missing { .. })) => {
                    missing = missing.or(Some(error));
                }
                Err(error) => return Err(error),
            }
        }
        match missing {
            Some(error) if digests.is_empty() => Err(error),
            _ => Ok(Languages { digests, needs: BTreeMap::new() }),
        }
    }

    /// Runs each interpreter once, to know what it needs itself.
    ///
    /// # Errors
    /// One cannot be run, or the limits are below what it needs.
    pub fn check(&mut self, sandbox: &Sandbox, limits: &RunLimits) -> Result<(), String> {
        for &language in self.digests.keys() {
            let needs = sandbox.needs(language).map_err(|error| error.to_string())?;
            self.needs.insert(language, needs);
        }
        self.digests.keys().try_for_each(|language| self.allow(language, limits))
    }

    /// # Errors
    /// The limits are below what the language's interpreter needs itself.
    pub(super) fn allow(&self, language: &str, limits: &RunLimits) -> Result<(), String> {
        let needs = self.needs.get(language);
        needs.and_then(|needs| limits.too_low(needs)).map_or(Ok(()), Err)
    }

    /// Our name of a language, and its interpreter's digest. Other names in
    /// use, SandboxFusion's among them, are understood.
    pub(super) fn find(&self, name: &str) -> Option<(&'static str, &str)> {
        let ours = match name {
            "python" | "python3" | "py" => "python",
            "javascript" | "nodejs" | "node" | "js" => "javascript",
            _ => return None,
        };
        self.digests.get_key_value(ours).map(|(name, digest)| (*name, digest.as_str()))
    }

    /// Names and digests, in the order of the names.
    pub(super) fn all(&self) -> &BTreeMap<&'static str, String> {
        &self.digests
    }

    /// That a language is not served, in words.
    pub(super) fn missing(&self, name: &str) -> String {
        let names: Vec<String> = self.digests.keys().map(|name| format!("`{name}`")).collect();
        format!("programs in `{name}` cannot be run here, only in {}", names.join(" and "))
    }
}

/// What a made-up interpreter needs.
#[cfg(test)]
const NEEDS: RunLimits = RunLimits { fuel: 3, timeout_ms: 10, memory_mib: 32, output_bytes: 0 };

#[cfg(test)]
impl Languages {
    /// These languages with made-up digests.
    pub(super) fn pretended(names: &[&'static str]) -> Self {
        Languages {
            digests: names.iter().map(|name| (*name, format!("digest of {name}"))).collect(),
            needs: names.iter().map(|name| (*name, NEEDS)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_language_answers_to_its_other_names_and_a_file_to_none() {
        let languages = Languages::pretended(&["python"]);
        for name in ["python", "python3", "py"] {
            assert_eq!(languages.find(name), Some(("python", "digest of python")));
        }
        for name in ["nodejs", "sudoku", "python.wasm", "/etc/passwd", "../python", "Python", ""] {
            assert_eq!(languages.find(name), None, "{name}");
        }
    }
}
