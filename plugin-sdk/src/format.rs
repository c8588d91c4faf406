//! The form in which an answer has to stand: the text that asks for it, and the
//! reading of it.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::environment::Description;
use crate::reading;
use crate::settings::{SettingError, Settings};
use crate::types::{Action, Configured, Extra, Setting};
use crate::unreadable::Unreadable;

const SETTING: &str = "format";
/// The key of [`Description::extras`] that says which kinds of action are read in
/// the form of the setting.
const FORMATS: &str = "formats";
/// What an answer may be called, whatever its kind.
const ANSWER: &str = "answer";
/// What stands before an answer.
const HASHES: &str = "####";
/// Braces at which JSON may begin, the last one first.
const BRACES: usize = 64;

/// Where in a text its answer stands. With [`Format::Any`] it is looked for in all
/// usual places; with any other one it counts there alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Format {
    /// Wherever [`reading::last`] looks, in the tags of its kind, in JSON, or behind `####`.
    #[default]
    Any,
    /// `<answer>D D R</answer>`, or the action's kind in place of `answer`.
    Tagged,
    /// `\boxed{D D R}`.
    Boxed,
    /// In a code block.
    Fenced,
    /// The last line that is not blank.
    LastLine,
    /// `#### D D R`, in a line of its own.
    Hashes,
    /// `{"answer": "D D R"}`, or the action's kind in place of `answer`.
    Json,
}

impl Format {
    /// Every form.
    pub const ALL: [Format; 7] = [
        Format::Any,
        Format::Tagged,
        Format::Boxed,
        Format::Fenced,
        Format::LastLine,
        Format::Hashes,
        Format::Json,
    ];

    /// Its name as a value of the setting.
    pub fn name(self) -> &'static str {
        match self {
            Format::Any => "any",
            Format::Tagged => "tagged",
            Format::Boxed => "boxed",
            Format::Fenced => "fenced",
            Format::LastLine => "last-line",
            Format::Hashes => "hashes",
            Format::Json => "json",
        }
    }

    /// The form that the setting `format` names.
    pub fn of(settings: &[Configured]) -> Result<Self, SettingError> {
        let name = settings.text(SETTING)?;
        Ok(Format::ALL.into_iter().find(|format| format.name() == name).unwrap_or_default())
    }

    /// The rules, and behind them the sentence that asks for this form.
    pub fn asked_for(self, rules: String) -> String {
        let form = match self {
            Format::Any => return rules,
            Format::Tagged => "between `<answer>` and `</answer>`",
            Format::Boxed => "in `\\boxed{}`",
            Format::Fenced => "in a code block, between two lines of three backticks",
            Format::LastLine => "in the last line, with nothing else in it",
            Format::Hashes => "behind `####`, in a line of its own",
            Format::Json => "in JSON, as the text in `{\"answer\": \"…\"}`",
        };
        format!("{} An answer counts only {form}.", rules.trim_end())
    }

    /// The words of a language in which answers have this form: where one is asked
    /// for, any, as a word of a vocabulary is neither a tag nor in a box.
    pub fn words(self, vocabulary: Vec<String>) -> Vec<String> {
        if self == Format::Any { vocabulary } else { Vec::new() }
    }

    /// The action, written in this form: what an expert says.
    #[must_use]
    pub fn written(self, Action { kind, text }: Action) -> Action {
        let text = match self {
            Format::Any | Format::LastLine => text,
            Format::Tagged => format!("<{ANSWER}>{text}</{ANSWER}>"),
            Format::Boxed => format!("{}{text}}}", reading::BOX),
            Format::Fenced => format!("```\n{text}\n```"),
            Format::Hashes => format!("{HASHES} {text}"),
            Format::Json => serde_json::json!({ ANSWER: text }).to_string(),
        };
        Action { kind, text }
    }

    /// What `parse` makes of the answer in a text, by the action's kind.
    ///
    /// ```
    /// use plugin_sdk::{format::Format, unreadable::Unreadable};
    ///
    /// let number = |text: &str| text.parse::<u8>().map_err(|_| Unreadable::new("No number."));
    /// assert_eq!(Format::Any.read("moves", "I say\n7", number), Ok(7));
    /// assert_eq!(Format::Json.read("moves", "So: {\"moves\": 7}", number), Ok(7));
    /// assert!(Format::Boxed.read("moves", "I say\n7", number).is_err());
    /// ```
    pub fn read<T>(
        self,
        kind: &str,
        text: &str,
        parse: impl Fn(&str) -> Result<T, Unreadable>,
    ) -> Result<T, Unreadable> {
        match self {
            Format::Any => {
                let tagged = reading::tagged(text, kind).map(|inside| parse(reading::bare(inside)));
                let usual = || reading::last(text, &parse);
                let inside = || parse(reading::bare(&in_json(kind, text)?)).ok();
                let behind = || parse(reading::bare(behind_hashes(text)?)).ok();
                tagged
                    .and_then(Result::ok)
                    .map_or_else(usual, Ok)
                    .or_else(|why| inside().or_else(behind).ok_or(why))
            }
            _ => parse(reading::bare(&self.find(kind, text)?)),
        }
    }

    /// What stands in this form, the last time; all of the text where any form does.
    pub fn find<'t>(self, kind: &str, text: &'t str) -> Result<Cow<'t, str>, Unreadable> {
        let (found, place) = match self {
            Format::Any => (Some(text), ""),
            Format::Tagged => {
                let found = [kind, ANSWER].map(|tag| reading::tagged(text, tag));
                let end = |inside: &&str| inside.as_ptr() as usize + inside.len();
                (found.into_iter().flatten().max_by_key(end), "between `<answer>` and `</answer>`")
            }
            Format::Boxed => (reading::boxed(text), "in `\\boxed{}`"),
            Format::Fenced => (reading::last_block(text), "in a code block"),
            Format::LastLine => (text.trim_end().lines().next_back(), "in the last line"),
            Format::Hashes => (behind_hashes(text), "behind `####`"),
            Format::Json => {
                let found = in_json(kind, text).map(Cow::Owned);
                return found.ok_or_else(|| absent("in `{\"answer\": \"…\"}`"));
            }
        };
        found.map(Cow::Borrowed).ok_or_else(|| absent(place))
    }
}

fn absent(place: &str) -> Unreadable {
    Unreadable::new(format!("There is no answer {place}."))
}

/// What stands behind the last `####` that begins a line.
fn behind_hashes(text: &str) -> Option<&str> {
    text.lines().rev().find_map(|line| line.trim_start().strip_prefix(HASHES))
}

/// What the last object in a text says under the kind's name, or as its answer.
fn in_json(kind: &str, text: &str) -> Option<String> {
    let read = |at: usize| {
        let read = serde_json::Deserializer::from_str(&text[at..]).into_iter::<Value>().next();
        let object = read?.ok()?;
        [kind, ANSWER].iter().find_map(|name| plain(object.get(name)?))
    };
    text.rmatch_indices('{').take(BRACES).find_map(|(at, _)| read(at))
}

/// A text or a number, or several of them with spaces between them.
fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Array(values) => {
            let words: Option<Vec<String>> = values.iter().map(plain).collect();
            words.map(|words| words.join(" "))
        }
        Value::Null | Value::Bool(_) | Value::Object(_) => None,
    }
}

impl Description {
    /// Accept a setting `format`, and read actions of these kinds in its form.
    #[must_use]
    pub fn formats(mut self, kinds: &[&str]) -> Self {
        let names = Format::ALL.map(Format::name);
        let summary = "Where an answer counts: in any usual form, or in one alone, which the rules \
                       then ask for.";
        self.extras.push(Extra { key: FORMATS.to_owned(), value: kinds.join(" ") });
        self.setting(Setting::choice(SETTING, summary, names))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One answer in each form.
    const WRITTEN: [(Format, &str); 7] = [
        (Format::Any, "Answer: D D"),
        (Format::Tagged, "So <moves>U</moves> or rather <answer> D D </answer>, I say."),
        (Format::Boxed, "$\\boxed{U}$, no, $\\boxed{D D}$ it is."),
        (Format::Fenced, "Like this:\n```text\nD D\n```\nThat is it."),
        (Format::LastLine, "I think U.\n**D D**\n\n"),
        (Format::Hashes, "#### U\nNo, rather\n  #### D D\nThat is it."),
        (Format::Json, "{\"why\": \"{\", \"moves\": [\"D\", \"D\"]} is what I do."),
    ];

    fn read(format: Format, text: &str) -> Result<String, Unreadable> {
        format.read("moves", text, |passage| match passage {
            "D D" => Ok(passage.to_owned()),
            _ => Err(Unreadable::new("These are no moves.")),
        })
    }

    #[test]
    fn each_form_is_read_as_itself_and_only_in_its_own_place() {
        for (format, text) in WRITTEN {
            assert_eq!(read(format, text).as_deref(), Ok("D D"), "{format:?}");
            assert_eq!(read(Format::Any, text).as_deref(), Ok("D D"), "any form of {text}");
            for (other, _) in WRITTEN.iter().filter(|(other, _)| *other != Format::Any) {
                // A label is no form: the line is read without it.
                let is_line = *other == Format::LastLine && format == Format::Any;
                let is_own = format == *other || is_line;
                assert_eq!(read(*other, text).is_ok(), is_own, "{other:?} of {text}");
            }
        }
    }

    #[test]
    fn the_tags_of_a_kind_are_read_wherever_any_form_counts() {
        assert_eq!(read(Format::Any, "<moves>D D</moves> and no more").as_deref(), Ok("D D"));
        assert_eq!(
            read(Format::Tagged, "<answer>U</answer> <moves>D D</moves>").as_deref(),
            Ok("D D")
        );
        assert!(read(Format::Tagged, "<plan>D D</plan>").is_err());
    }

    #[test]
    fn whoever_writes_it_elsewhere_is_told_where_it_belongs() {
        for (format, place) in [
            (Format::Tagged, "between `<answer>` and `</answer>`"),
            (Format::Boxed, "in `\\boxed{}`"),
            (Format::Fenced, "in a code block"),
            (Format::Hashes, "behind `####`"),
            (Format::Json, "in `{\"answer\": \"…\"}`"),
        ] {
            let refused = read(format, "D D").expect_err("it stands elsewhere");
            assert_eq!(refused.why(), format!("There is no answer {place}."));
            assert!(
                format.asked_for("Rules.".to_owned()).starts_with("Rules. An answer counts only ")
            );
        }
        assert_eq!(Format::Any.asked_for("Rules.".to_owned()), "Rules.");
    }

    #[test]
    fn what_is_written_in_a_form_is_read_in_it() {
        for format in Format::ALL {
            let Action { kind, text } = format.written(Action::new("moves", "D D"));
            assert_eq!((kind.as_str(), read(format, &text).as_deref()), ("moves", Ok("D D")));
        }
    }

    #[test]
    fn hostile_json_is_refused_and_not_followed_down() {
        for text in ["{".repeat(1 << 16), "{\"answer\":".repeat(1 << 12), "{\"answer\": {}}".into()]
        {
            assert!(read(Format::Json, &text).is_err());
        }
    }

    #[test]
    fn a_setting_says_which_form_counts() {
        let described = Description::new("maze", "1.0.0", "").formats(&["moves", "plan"]);
        let settings = crate::settings::defaults(&described.settings);
        assert_eq!(Format::of(&settings).ok(), Some(Format::Any));
        for format in Format::ALL {
            let settings = crate::settings::with(settings.clone(), SETTING, format.name());
            assert_eq!(Format::of(&settings).ok(), Some(format));
        }
        let said = described.extras.iter().find(|extra| extra.key == FORMATS);
        assert_eq!(said.map(|extra| extra.value.as_str()), Some("moves plan"));
    }
}
