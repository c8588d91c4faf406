//! What `tokenizer_config.json` says, and the older files beside it: which tokens there are
//! besides those of `tokenizer.json`, and which of them are special.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};
use tokenizers::AddedToken;

use crate::keys::Keys;

/// Where `transformers` lists added tokens by their ids.
const LISTED: &str = "added_tokens_decoder";
/// Where special tokens without a purpose of their own are named; the newer name first.
const OTHERS: [&str; 2] = ["extra_special_tokens", "additional_special_tokens"];

/// What a `tokenizer_config.json` may say. Names of tokens, which end in `_token`, are read, too.
const KEYS: Keys = Keys {
    heeded: &[&[LISTED, OTHERS[0], OTHERS[1], "chat_template"]],
    idle: &[
        // Where it comes from, and what it is called elsewhere.
        "_commit_hash",
        "_from_auto",
        "backend",
        "fast",
        "from_slow",
        "init_inputs",
        "is_local",
        "local_files_only",
        "merges_file",
        "model_input_names",
        "name_or_path",
        "processor_class",
        "special_tokens_map_file",
        "tokenizer_class",
        "tokenizer_file",
        "use_fast",
        "vocab_file",
        // What `tokenizer.json` says in its own way, and is believed, as in `transformers`.
        "add_bos_token",
        "add_eos_token",
        "add_prefix_space",
        "legacy",
        "sp_model_kwargs",
        "trim_offsets",
        // Of decoders that are not used, and of templates that are written out.
        "errors",
        "spaces_between_special_tokens",
        "use_default_system_prompt",
        // Nothing is cut off or filled up.
        "max_len",
        "max_length",
        "model_max_length",
        "pad_to_multiple_of",
        "pad_token_type_id",
        "padding",
        "padding_side",
        "stride",
        "truncation",
        "truncation_side",
        "truncation_strategy",
        // What is made of an answer afterwards.
        "chat_control_tokens",
        "response_schema",
        "response_template",
    ],
    fixed: &[
        ("auto_map", &["{}"]),
        ("clean_up_tokenization_spaces", &["false"]),
        ("clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output", &["false"]),
        ("do_lower_case", &["false"]),
        ("fix_mistral_regex", &["false"]),
        ("split_special_tokens", &["false"]),
    ],
};

/// What a `special_tokens_map.json` may say, beside names of tokens.
const NAMES: Keys = Keys { heeded: &[&OTHERS], idle: &[], fixed: &[] };

/// The settings of a tokenizer.
#[derive(Clone, Debug)]
pub(in crate::prompt) struct Settings {
    entries: Map<String, Value>,
    /// Tokens by the ids that they must have.
    listed: BTreeMap<u32, AddedToken>,
}

impl Settings {
    /// Read the three files, or as many as there are. As in `transformers`, the two older ones
    /// count only where the first does not list tokens. `is_bpe` says whether tokens are pairs of
    /// bytes, whose text is left as it is.
    pub(super) fn read(
        config: Option<&[u8]>,
        names: Option<&[u8]>,
        added: Option<&[u8]>,
        is_bpe: bool,
    ) -> Result<Self, String> {
        let config = object("tokenizer_config.json", config)?;
        let rest = |map: &Map<String, Value>, tidies: bool| -> Map<String, Value> {
            let entries = map.iter().filter(|(key, value)| {
                let names_a_token = key.ends_with("_token") && token_text(value).is_some();
                let tidied = *key == "clean_up_tokenization_spaces" && !tidies;
                !(names_a_token || tidied)
            });
            entries.map(|(key, value)| (key.clone(), value.clone())).collect()
        };
        KEYS.check(&rest(&config, !is_bpe))
            .map_err(|reason| format!("`tokenizer_config.json`: {reason}"))?;
        let names = object("special_tokens_map.json", names)?;
        NAMES
            .check(&rest(&names, true))
            .map_err(|reason| format!("`special_tokens_map.json`: {reason}"))?;
        let mut settings = Settings { entries: effective(config, names), listed: BTreeMap::new() };
        match settings.entries.get(LISTED).filter(|listed| !listed.is_null()) {
            Some(listed) => settings.listed = read_listed(listed)?,
            None => settings.listed = settings.older(&object("added_tokens.json", added)?)?,
        }
        Ok(settings)
    }

    /// The tokens of `added_tokens.json`, where they stand by their texts.
    fn older(&self, added: &Map<String, Value>) -> Result<BTreeMap<u32, AddedToken>, String> {
        let special = self.special()?;
        let read = |(text, id): (&String, &Value)| {
            let id = id.as_u64().and_then(|id| u32::try_from(id).ok()).ok_or_else(|| {
                format!("`added_tokens.json`: the id of {text:?} is `{id}`, which is none")
            })?;
            let is_special = special.iter().any(|token| token.content == *text);
            Ok((id, AddedToken::from(text.clone(), is_special)))
        };
        added.iter().map(read).collect()
    }

    /// A token by its purpose, such as `eos_token`.
    pub(super) fn named(&self, purpose: &str) -> Option<&str> {
        token_text(self.entries.get(purpose)?)
    }

    /// The tokens of `added_tokens_decoder`, or of the file that it has taken the place of.
    pub(super) fn listed(&self) -> &BTreeMap<u32, AddedToken> {
        &self.listed
    }

    /// All tokens that are named as special, whether or not they are listed.
    pub(super) fn special(&self) -> Result<Vec<AddedToken>, String> {
        let named = self.entries.iter().filter(|(key, _)| key.ends_with("_token"));
        let mut found: Vec<&Value> = named.map(|(_, token)| token).collect();
        let is_none = |others: &&Value| {
            let is_empty = others.as_array().is_some_and(Vec::is_empty)
                || others.as_object().is_some_and(Map::is_empty);
            others.is_null() || is_empty
        };
        // Where both names are used, the newer one counts.
        let mut others = OTHERS.iter().filter_map(|key| self.entries.get(*key));
        match others.find(|others| !is_none(others)) {
            None => {}
            Some(Value::Array(tokens)) => found.extend(tokens),
            Some(Value::Object(tokens)) => found.extend(tokens.values()),
            Some(other) => return Err(format!("special tokens are listed as `{other}`")),
        }
        let special = found.into_iter().filter(|token| !token.is_boolean() && !token.is_null());
        special.map(|token| Ok(AddedToken { special: true, ..read_token(token, true)? })).collect()
    }
}

/// The settings that count: names of special tokens in a file of their own come first, where
/// tokens are not listed by their ids.
pub(in crate::prompt) fn effective(
    mut config: Map<String, Value>,
    names: Map<String, Value>,
) -> Map<String, Value> {
    if config.get(LISTED).is_none_or(Value::is_null) {
        config.extend(names);
    }
    config
}

/// A token in `tokenizer_config.json`: a text, or an object with one in it.
pub(in crate::prompt) fn token_text(token: &Value) -> Option<&str> {
    token.as_str().or_else(|| token.get("content")?.as_str())
}

fn object(file: &str, content: Option<&[u8]>) -> Result<Map<String, Value>, String> {
    match content {
        Some(text) => {
            serde_json::from_slice(text).map_err(|error| format!("`{file}` is not JSON: {error}"))
        }
        None => Ok(Map::new()),
    }
}

fn read_listed(listed: &Value) -> Result<BTreeMap<u32, AddedToken>, String> {
    let wrong = |reason: String| format!("`tokenizer_config.json`: `{LISTED}` {reason}");
    let tokens = listed.as_object().ok_or_else(|| wrong("is no object".to_owned()))?;
    let read = |(id, token): (&String, &Value)| {
        let known = id.parse().map_err(|_| wrong(format!("has `{id}` in the place of an id")))?;
        Ok((known, read_token(token, false).map_err(wrong)?))
    };
    tokens.iter().map(read).collect()
}

/// A token as `transformers` writes it, field by field.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    content: String,
    #[serde(default)]
    single_word: bool,
    #[serde(default)]
    lstrip: bool,
    #[serde(default)]
    rstrip: bool,
    normalized: Option<bool>,
    #[serde(default)]
    special: bool,
    #[serde(rename = "__type")]
    _type: Option<String>,
}

fn read_token(token: &Value, special: bool) -> Result<AddedToken, String> {
    if let Value::String(text) = token {
        return Ok(AddedToken::from(text.clone(), special));
    }
    let written = Written::deserialize(token)
        .map_err(|error| format!("has a token `{token}` that cannot be read: {error}"))?;
    let Written { content, single_word, lstrip, rstrip, normalized, special, .. } = written;
    let normalized = normalized.unwrap_or(!special);
    Ok(AddedToken { content, single_word, lstrip, rstrip, normalized, special })
}
