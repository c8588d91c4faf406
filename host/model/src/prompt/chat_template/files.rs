//! Where checkpoints keep their chat templates.

use std::path::Path;

use serde_json::{Map, Value};

use super::super::tokenizer::{effective, token_text};
use super::{ChatTemplate, DEFAULT, refuse};
use crate::error::PolicyError;
use troupe_core::storage::{StorageError, create_folder, list_folder, read_json, write_file};

/// The template of ordinary prompts, in newer checkpoints.
pub(super) const MAIN: &str = "chat_template.jinja";
/// The folder of further ones, by name.
const MORE: &str = "additional_chat_templates";
/// The template in some older checkpoints.
const OLD: &str = "chat_template.json";

impl ChatTemplate {
    /// `chat_template.jinja` and those in `additional_chat_templates`, or
    /// `chat_template` in `tokenizer_config.json` or in `chat_template.json`.
    pub fn load(folder: &Path) -> Result<Self, PolicyError> {
        let settings: Value = read_optional(&folder.join("tokenizer_config.json"))?;
        let names: Value = read_optional(&folder.join("special_tokens_map.json"))?;
        let tokens = special_tokens(effective(entries(&settings), entries(&names)));
        let files = template_files(folder)?;
        if !files.is_empty() {
            let templates = files.iter().map(|(path, text)| (name_of(path), text.clone()));
            return ChatTemplate::parse(templates.collect(), tokens, files);
        }
        if let Some(templates) = settings.get("chat_template").filter(|found| !found.is_null()) {
            return ChatTemplate::parse(named(templates)?, tokens, files);
        }
        let path = folder.join(OLD);
        if path.exists() {
            let text = read(&path)?;
            let content: Value = read_json(&path)?;
            let files = vec![(OLD.to_owned(), text)];
            return ChatTemplate::parse(named(&content["chat_template"])?, tokens, files);
        }
        Err(refuse(format!(
            "`{}` has neither `{MAIN}` nor a `chat_template` in `tokenizer_config.json`; \
             put one there that says how messages become a prompt",
            folder.display()
        )))
    }

    /// Write the files it came in, but for the tokenizer's.
    pub fn save(&self, folder: &Path) -> Result<(), PolicyError> {
        for (name, text) in self.files.iter() {
            let path = folder.join(name);
            if let Some(parent) = path.parent() {
                create_folder(parent)?;
            }
            write_file(&path, text.as_bytes())?;
        }
        Ok(())
    }
}

/// Paths in the folder and content of the templates that are files.
fn template_files(folder: &Path) -> Result<Vec<(String, String)>, PolicyError> {
    let more = list_folder(&folder.join(MORE))?;
    let more = more.into_iter().filter(|name| name.ends_with(".jinja"));
    let paths = std::iter::once(MAIN.to_owned()).chain(more.map(|name| format!("{MORE}/{name}")));
    let present = paths.filter(|path| folder.join(path).exists());
    present.map(|path| Ok((path.clone(), read(&folder.join(&path))?))).collect()
}

/// The name of a template that is a file.
fn name_of(path: &str) -> String {
    if path == MAIN {
        return DEFAULT.to_owned();
    }
    path.trim_start_matches(MORE).trim_start_matches('/').trim_end_matches(".jinja").to_owned()
}

/// Names and sources of one template, or of a list of named ones.
fn named(templates: &Value) -> Result<Vec<(String, String)>, PolicyError> {
    let entry = |entry: &Value| {
        let text = |key: &str| Some(entry.get(key)?.as_str()?.to_owned());
        Some((text("name")?, text("template")?))
    };
    let found = match templates {
        Value::String(source) => Some(vec![(DEFAULT.to_owned(), source.clone())]),
        Value::Array(entries) => entries.iter().map(entry).collect(),
        _ => None,
    };
    found.ok_or_else(|| {
        refuse("`chat_template` must be a text or a list of `name` and `template`".to_owned())
    })
}

fn entries(value: &Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}

/// Entries whose names end in `_token`, as text.
fn special_tokens(settings: Map<String, Value>) -> Map<String, Value> {
    settings
        .iter()
        .filter(|(name, _)| name.ends_with("_token"))
        .filter_map(|(name, token)| Some((name.clone(), token_text(token)?.into())))
        .collect()
}

fn read(path: &Path) -> Result<String, PolicyError> {
    Ok(std::fs::read_to_string(path).map_err(StorageError::io("read", path))?)
}

fn read_optional(path: &Path) -> Result<Value, PolicyError> {
    Ok(if path.exists() { read_json(path)? } else { Value::Null })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::ChatOptions;

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        folder
    }

    fn render(template: &ChatTemplate, tools: Vec<Value>) -> String {
        template.render(&[], &ChatOptions { tools, ..ChatOptions::default() }).unwrap()
    }

    #[test]
    fn every_place_is_looked_at_and_files_come_first() {
        let listed = json!({ "eos_token": { "content": "<e>" }, "chat_template": [
            { "name": "default", "template": "list {{ eos_token }}" },
            { "name": "tool_use", "template": "tools" },
        ] });
        let (listed, single) = (listed.to_string(), json!({ "chat_template": "json" }).to_string());
        for (files, plain, with_tools) in [
            (vec![("tokenizer_config.json", listed.as_str())], "list <e>", "tools"),
            (vec![("chat_template.json", single.as_str())], "json", "json"),
            (
                vec![("tokenizer_config.json", listed.as_str()), (MAIN, "file {{ eos_token }}\n")],
                "file <e>",
                "file <e>",
            ),
            (
                vec![(MAIN, "file"), ("additional_chat_templates/tool_use.jinja", "more")],
                "file",
                "more",
            ),
            (
                vec![
                    (MAIN, "{{ bos_token }}"),
                    ("special_tokens_map.json", r#"{"bos_token": "<b>"}"#),
                ],
                "<b>",
                "<b>",
            ),
        ] {
            let from = folder(&files);
            let template = ChatTemplate::load(from.path()).unwrap();
            assert_eq!(render(&template, Vec::new()), plain);
            assert_eq!(render(&template, vec![json!({})]), with_tools);
            let to = folder(&[]);
            template.save(to.path()).unwrap();
            for (name, text) in files {
                let kept = std::fs::read_to_string(to.path().join(name));
                assert!(
                    kept.map_or(!name.contains("chat_template"), |kept| kept == text),
                    "{name}"
                );
            }
        }
    }

    #[test]
    fn a_folder_without_a_template_is_refused() {
        let error = ChatTemplate::load(folder(&[]).path()).unwrap_err().to_string();
        assert!(error.contains("has neither `chat_template.jinja` nor"), "{error}");
        let odd = folder(&[("tokenizer_config.json", r#"{"chat_template": 3}"#)]);
        let error = ChatTemplate::load(odd.path()).unwrap_err().to_string();
        assert!(error.contains("must be a text or a list"), "{error}");
    }
}
