//! `docs/config.md`: every setting, written from the code.

use std::fmt::Write;
use std::path::Path;

use super::Config;
use super::table::{Kind, Setting};

const INTRODUCTION: &str = "\
# Settings

Every key of a configuration, as a TOML file has it or `--set key=value`. `host train
--print-config` shows what a run would use. A key that does not exist, or a value out of
its range, ends with exit code 2 before anything else is done. `host train --explain KEY`
says what one means. This file and its [JSON schema](config.schema.json) are written from the
code, and a test holds them to that. Editors check and complete a configuration that begins
with `#:schema` and the schema's path (taplo and what is built on it).
";

/// The reference, in Markdown: a section for each table.
fn reference() -> String {
    let settings = Config::settings();
    let mut tables: Vec<&str> = Vec::new();
    for setting in &settings {
        if !tables.contains(&table_of(setting)) {
            tables.push(table_of(setting));
        }
    }
    let mut text = INTRODUCTION.to_owned();
    for table in tables {
        let title =
            if table.is_empty() { "Outside of tables".to_owned() } else { format!("`[{table}]`") };
        let _ = write!(
            text,
            "\n## {title}\n\n| key | default | accepts | meaning |\n|---|---|---|---|\n"
        );
        settings
            .iter()
            .filter(|setting| table_of(setting) == table)
            .for_each(|setting| text += &row(setting));
    }
    text
}

fn table_of(setting: &Setting) -> &str {
    setting.key.rsplit_once('.').map_or("", |(table, _)| table)
}

fn row(setting: &Setting) -> String {
    let key = setting.key.rsplit('.').next().unwrap_or(&setting.key);
    let default = match setting.default.as_str() {
        "" => "not set".to_owned(),
        default => format!("`{default}`"),
    };
    let cell = |text: &str| text.replace('|', "\\|");
    format!("| `{key}` | {default} | {} | {} |\n", cell(&setting.accepts), cell(&setting.meaning))
}

#[test]
fn the_reference_of_settings_is_what_the_code_does() {
    let schema = serde_json::to_string_pretty(&Config::schema()).unwrap() + "\n";
    for (name, text) in [("config.md", reference()), ("config.schema.json", schema)] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
        if std::env::var_os("INSTA_UPDATE").is_some_and(|update| update == "always") {
            std::fs::write(&path, text).unwrap();
            continue;
        }
        let written = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            written == text,
            "docs/{name} is not what the code does; write it again with INSTA_UPDATE=always"
        );
    }
}

#[test]
fn every_number_has_a_range() {
    for setting in Config::settings() {
        let number = setting.accepts.contains("number");
        assert!(
            !number || setting.accepts.contains(" from ") || setting.accepts.contains(" above "),
            "{}",
            setting.key
        );
        assert!(!setting.meaning.is_empty(), "{}", setting.key);
    }
}
