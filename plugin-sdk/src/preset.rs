//! Presets: values of several settings under one name.

use crate::environment::{Configuration, Description};
use crate::prompt::RolePrompt;
use crate::types::{Extra, Setting, Value};
use crate::workflow;

/// The key of [`Description::extras`] of a preset, and the setting of a user's
/// table that chooses one.
pub const PRESET: &str = "preset";
/// The preset that a host takes, below what its user says, where language models
/// read what the environment says.
pub const LANGUAGE_MODEL: &str = "language-model";
/// The setting that says what of a task is seen, and in which form.
const OBSERVATION: &str = "observation";
/// The key of [`Configuration::extras`] that says that records may be given.
const RECORDS: &str = "records";

/// Values of several settings under one name, such as `paper`.
#[derive(Clone, Debug, PartialEq)]
pub struct Preset {
    /// Its name, in kebab-case.
    pub name: String,
    /// What it is for, in one sentence.
    pub summary: String,
    /// What it sets, as TOML: one `name = value` a line.
    pub settings: String,
}

impl Preset {
    /// The first line has the name, the second one the summary, the others the
    /// settings.
    fn of(extra: &Extra) -> Option<Preset> {
        let mut lines = extra.value.splitn(3, '\n').map(str::to_owned);
        let mut next = || lines.next().unwrap_or_default();
        (extra.key == PRESET).then(|| Preset { name: next(), summary: next(), settings: next() })
    }

    fn extra(name: &str, summary: &str, settings: impl Iterator<Item = (String, Value)>) -> Extra {
        let lines: String = settings.map(|(name, value)| format!("\n{name} = {value}")).collect();
        let value = format!("{name}\n{summary}{lines}");
        Extra { key: PRESET.to_owned(), value }
    }
}

impl Description {
    /// Offer these values of settings under a name; what it does not name stays
    /// at its default.
    #[must_use]
    pub fn preset(mut self, name: &str, summary: &str, settings: &[(&str, Value)]) -> Self {
        let settings = settings.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
        self.extras.push(Preset::extra(name, summary, settings));
        self
    }

    /// Accept the setting `observation`, one of these words, the first by default;
    /// where language models play, `text`. [`Settings::choice`](crate::Settings::choice)
    /// reads it as the author's own type.
    ///
    /// ```
    /// use plugin_sdk::environment::Description;
    ///
    /// let maze = Description::new("maze", "1.0.0", "Find the way.");
    /// let maze = maze.seen_as("What a role sees of the maze.", &["list", "map", "text"]);
    /// assert_eq!(maze.settings[0].name, "observation");
    /// assert_eq!(maze.presets()[0].settings, "observation = \"text\"");
    /// ```
    #[must_use]
    pub fn seen_as(self, summary: &str, words: &[&str]) -> Self {
        let what_for = "Text to read; taken when language models play, below any other preset.";
        self.setting(Setting::one_of(OBSERVATION, summary, words)).preset(
            LANGUAGE_MODEL,
            what_for,
            &[(OBSERVATION, "text".into())],
        )
    }

    /// The presets that it offers, in its order.
    pub fn presets(&self) -> Vec<Preset> {
        self.extras.iter().filter_map(Preset::of).collect()
    }
}

impl workflow::Description {
    /// Tell language models these tasks and messages where tiny policies are told those of the
    /// roles. Messages end with what became of the last answer and with the turns that are left, if
    /// the role may have these fields. What the user says wins.
    #[must_use]
    pub fn texts_for_language_models(mut self, texts: &[(RolePrompt, &str, &str)]) -> Self {
        let settings = texts.iter().flat_map(|(role, task, message)| {
            let texts = [("task", (*task).to_owned()), ("message", role.for_reading(message))];
            texts.map(|(text, told)| (role.setting(text), Value::Text(told)))
        });
        let summary = "Text to read; taken when language models play.";
        self.extras.push(Preset::extra(LANGUAGE_MODEL, summary, settings));
        self
    }

    /// The presets that it offers, in its order.
    pub fn presets(&self) -> Vec<Preset> {
        self.extras.iter().filter_map(Preset::of).collect()
    }
}

impl Configuration {
    /// Tasks are built from records of a data set if the user gives some, and
    /// are generated otherwise.
    #[must_use]
    pub fn takes_records(mut self) -> Self {
        self.extras.push(Extra { key: RECORDS.to_owned(), value: "optional".to_owned() });
        self
    }

    /// Whether tasks can be built from records, though they need not be.
    pub fn may_have_records(&self) -> bool {
        self.extras.iter().any(|extra| extra.key == RECORDS && extra.value == "optional")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_offered_is_what_is_read() {
        let settings = [("size", 6.into()), ("view", "map".into()), ("slip", 0.5.into())];
        let described = Description::new("maze", "1.0.0", "").preset("easy", "Small.", &[]).preset(
            "paper",
            "As published.",
            &settings,
        );
        let [easy, paper] = &described.presets()[..] else { panic!("two presets") };
        assert_eq!((easy.name.as_str(), easy.settings.as_str()), ("easy", ""));
        assert_eq!(paper.summary, "As published.");
        assert_eq!(paper.settings, "size = 6\nview = \"map\"\nslip = 0.5");
    }

    #[test]
    fn records_are_optional_only_where_that_is_said() {
        assert!(Configuration::default().takes_records().may_have_records());
        assert!(!Configuration::default().may_have_records());
    }
}
