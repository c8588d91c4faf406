//! `host train --explain`: what a setting means, accepts, and is.

use troupe_core::config::{Config, ConfigError, Setting};
use troupe_terminal::{self as terminal, ConfigArgs, load_config};

/// Prints one setting, or those of a table.
pub(super) fn run(key: &str, args: &ConfigArgs) -> Result<(), ConfigError> {
    if let Some((kind @ ("environment" | "workflow"), _)) = key.split_once('.') {
        let reason =
            format!("settings of the {kind} are its own: `host plugin inspect` lists them");
        return Err(ConfigError::Invalid { key: "--explain".to_owned(), reason });
    }
    let settings = Config::described(key)?;
    let config = load_config(args)?;
    if let [Setting { accepts, default, meaning, key: pattern }] = &settings[..] {
        terminal::line(pattern);
        terminal::line(&format!("  {meaning}"));
        terminal::line(&format!("  accepts  {accepts}"));
        terminal::line(&format!("  default  {}", shown(default)));
        if let Some(value) = config.value_of(key).filter(|value| value != default) {
            terminal::line(&format!("  here     {value}"));
        }
        return Ok(());
    }
    let row = |setting: &Setting| {
        vec![
            setting.key.clone(),
            config.value_of(&setting.key).unwrap_or_else(|| shown(&setting.default).to_owned()),
            setting.accepts.clone(),
            setting.meaning.clone(),
        ]
    };
    let rows: Vec<Vec<String>> = settings.iter().map(row).collect();
    terminal::table(&["setting", "here", "accepts", "meaning"], &rows);
    Ok(())
}

fn shown(default: &str) -> &str {
    if default.is_empty() { "not set" } else { default }
}
