//! Presets: values of several settings under one name.

use plugin_sdk::preset::{LANGUAGE_MODEL, PRESET};

use plugin_sdk::{Preset, Setting};

use super::setting::{SettingError, Settings};
use troupe_core::config::Audience;
use troupe_core::error::suggestion;

/// The presets of an environment or a workflow, by name.
#[derive(Debug)]
pub(super) struct Presets(Vec<(String, toml::Table)>);

impl Presets {
    /// Those of a description with these settings; what is wrong with them, if something is.
    pub(super) fn of(presets: Vec<Preset>, settings: &[Setting]) -> Result<Self, String> {
        let taken = settings.iter().any(|setting| setting.name == PRESET);
        if taken && !presets.is_empty() {
            return Err(format!("it has presets, so no setting may be named `{PRESET}`"));
        }
        let read = |preset: Preset| {
            let fault =
                |reason: &dyn std::fmt::Display| format!("the preset `{}`: {reason}", preset.name);
            let table: toml::Table = preset
                .settings
                .parse()
                .map_err(|error: toml::de::Error| fault(&error.message()))?;
            Settings::resolve(settings, &table).map_err(|error| fault(&error))?;
            Ok((preset.name, table))
        };
        Ok(Presets(presets.into_iter().map(read).collect::<Result<_, String>>()?))
    }

    /// What the user's table says to these readers, checked and completed: from what presets say
    /// and otherwise with defaults.
    pub(super) fn resolve(
        &self,
        declared: &[Setting],
        audience: Audience,
        table: &toml::Table,
    ) -> Result<Settings, SettingError> {
        let table = self.spelled_out(table)?;
        let whole = match audience {
            Audience::Words => table,
            Audience::Language => self.for_language_models(table),
        };
        Settings::resolve(declared, &whole)
    }

    /// The user's table with what the preset that it names says in place of the
    /// name; what the user says besides wins.
    fn spelled_out(&self, table: &toml::Table) -> Result<toml::Table, SettingError> {
        let Some(given) = table.get(PRESET).filter(|_| !self.0.is_empty()) else {
            return Ok(table.clone());
        };
        let named = self.0.iter().find(|(name, _)| given.as_str() == Some(name));
        let Some((_, preset)) = named else {
            let names: Vec<&str> = self.0.iter().map(|(name, _)| name.as_str()).collect();
            let suggestion = suggestion(given.as_str().unwrap_or_default(), names);
            return Err(SettingError::UnknownPreset { given: given.to_string(), suggestion });
        };
        let mut whole = preset.clone();
        whole.extend(table.clone().into_iter().filter(|(name, _)| name != PRESET));
        Ok(whole)
    }

    /// What is said, over the preset for language models.
    fn for_language_models(&self, table: toml::Table) -> toml::Table {
        let preset = self.0.iter().find(|(name, _)| name == LANGUAGE_MODEL);
        let mut whole = preset.map(|(_, preset)| preset.clone()).unwrap_or_default();
        whole.extend(table);
        whole
    }
}

#[cfg(test)]
mod tests {
    use plugin_sdk::environment::Description;

    use super::*;

    fn of(description: &Description) -> Result<Presets, String> {
        Presets::of(description.presets(), &description.settings)
    }

    fn described() -> Description {
        Description::new("maze", "1.0.0", "A maze.")
            .setting(Setting::integer("size", "Rows.", 4..=20, 10))
            .setting(Setting::integer("walls", "Walls.", 0..=50, 12))
            .preset("easy", "Small.", &[("size", 5.into()), ("walls", 2.into())])
            .preset("hard", "Large.", &[("size", 20.into())])
    }

    fn spelled_out(table: &str) -> Result<String, String> {
        let presets = of(&described()).unwrap();
        let whole = presets.spelled_out(&table.parse().unwrap());
        whole.map(|table| table.to_string()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_preset_stands_for_its_settings_and_what_the_user_says_besides_wins() {
        assert_eq!(spelled_out("preset = \"easy\"\nwalls = 3").unwrap(), "size = 5\nwalls = 3\n");
        assert_eq!(spelled_out("walls = 3").unwrap(), "walls = 3\n");
    }

    #[test]
    fn language_models_get_their_preset_below_what_is_said() {
        let described = described().preset("language-model", "", &[("walls", 9.into())]);
        let presets = of(&described).unwrap();
        let shown = |settings: &str| {
            let table = presets.spelled_out(&settings.parse().unwrap()).unwrap();
            presets.for_language_models(table).to_string()
        };
        assert_eq!(shown("size = 7"), "size = 7\nwalls = 9\n");
        assert_eq!(shown("preset = \"easy\""), "size = 5\nwalls = 2\n");
        assert_eq!(shown("preset = \"hard\""), "size = 20\nwalls = 9\n");
    }

    #[test]
    fn an_unknown_preset_is_named_with_those_there_are() {
        let error = spelled_out("preset = \"eays\"").unwrap_err();
        assert_eq!(error, "there is no preset \"eays\"; did you mean `easy`?");
        assert!(spelled_out("preset = 3").unwrap_err().starts_with("there is no preset 3"));
    }

    #[test]
    fn a_preset_outside_its_settings_is_the_plugins_fault() {
        let fault = |description: Description| of(&description).unwrap_err();
        let wrong = described().preset("huge", "", &[("size", 99.into())]);
        assert!(fault(wrong).starts_with("the preset `huge`: `size` is 99, but must be"));
        let taken = described().setting(Setting::flag("preset", "", true));
        assert!(fault(taken).contains("no setting may be named `preset`"));
    }
}
