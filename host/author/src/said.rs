//! What a component says of itself, whatever it brings.

use troupe_core::oci::OciReference;
use troupe_guests::plugin::PluginLibrary;
use troupe_terminal::UsageError;

/// What a component says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// What it brings: `environment`, `workflow` or `interpreter`.
    pub kind: &'static str,
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// What it is, in a sentence.
    pub summary: String,
}

impl Said {
    /// Of the first thing that the library's components bring.
    pub fn of(library: &PluginLibrary) -> Option<Self> {
        let said = |kind, name: &str, version: &str, summary: &str| Said {
            kind,
            name: name.to_owned(),
            version: version.to_owned(),
            summary: summary.to_owned(),
        };
        let environment = library.environments().first().map(|one| one.description());
        let workflow = library.workflows().first().map(|one| one.description());
        let interpreter = library.interpreters().first().map(|one| one.description());
        environment
            .map(|d| said("environment", &d.name, &d.version, &d.summary))
            .or_else(|| workflow.map(|d| said("workflow", &d.name, &d.version, &d.summary)))
            .or_else(|| {
                interpreter.map(|d| said("interpreter", &d.language, &d.version, &d.summary))
            })
    }

    /// Interpreters say which program they carry before its version, or before that of the language
    /// in brackets.
    pub fn number(&self) -> &str {
        self.version.rsplit(' ').next().unwrap_or(&self.version).trim_end_matches(')')
    }

    /// Refuses a reference under which nobody would look for this component.
    ///
    /// # Errors
    /// If the reference has another name or version.
    pub fn check(&self, reference: &OciReference) -> Result<(), UsageError> {
        if reference.name() != self.name {
            return Err(UsageError(format!(
                "`{reference}` is no name for `{}`, as this component calls itself: end the \
                 repository in /{}",
                self.name, self.name
            )));
        }
        if !reference.fits(self.number()) {
            return Err(UsageError(format!(
                "`{reference}` contradicts this component, which says that it is version {}; tag \
                 it so, or raise the version in its description",
                self.number()
            )));
        }
        Ok(())
    }
}
