//! Where the program is in what a model wrote.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::error::GradingError;

/// The rules, for messages.
pub(super) const RULE_NAMES: &str =
    "`last-python-fence`, `last-javascript-fence`, `first-fence`, `whole-text`";

/// How to find the program in a completion.
///
/// What a model thinks is not its answer: everything up to the last
/// `</think>` is left out first, and a completion that breaks off inside
/// `<think>` has no program. A fence that is still open where the text ends
/// holds all that follows it, as in verl: whether a truncated program is one is
/// for the interpreter to say. A fence may also close at the end of a line of
/// code, as models do write it. A program of nothing but white space is none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Extraction {
    /// The last block fenced as this language; without one, the first block of
    /// any language; without a fence, none. verl's rule for Python.
    LastFence {
        /// The language: `python` also answers to `py` and `python3`,
        /// `javascript` to `js` and `node`.
        language: String,
    },
    /// The first block, whatever its language.
    FirstFence,
    /// All of it.
    WholeText,
}

impl Extraction {
    /// The program, or none.
    pub fn apply(&self, completion: &str) -> Option<String> {
        let answer = answer(completion)?;
        let program = match self {
            Extraction::WholeText => answer.to_owned(),
            Extraction::FirstFence => blocks(answer).into_iter().next()?.content,
            Extraction::LastFence { language } => {
                let mut blocks = blocks(answer);
                let tagged = blocks.iter().rposition(|block| speaks(language, &block.tag));
                if blocks.is_empty() {
                    return None;
                }
                blocks.swap_remove(tagged.unwrap_or(0)).content
            }
        };
        (!program.trim().is_empty()).then_some(program)
    }
}

/// What is not thought; none if the text ends inside a thought.
fn answer(completion: &str) -> Option<&str> {
    let answer = completion.rsplit_once("</think>").map_or(completion, |(_, answer)| answer);
    (!answer.trim_start().starts_with("<think>")).then_some(answer)
}

fn speaks(language: &str, tag: &str) -> bool {
    match language {
        "python" => matches!(tag, "python" | "py" | "python3"),
        "javascript" => matches!(tag, "javascript" | "js" | "node"),
        other => tag == other,
    }
}

#[derive(Debug)]
struct Block {
    /// The first word after the opening fence, in lower case.
    tag: String,
    content: String,
}

struct Open {
    ticks: usize,
    block: Block,
}

/// The fenced blocks, in order.
fn blocks(text: &str) -> Vec<Block> {
    let mut done = Vec::new();
    let mut open: Option<Open> = None;
    for line in text.split_inclusive('\n') {
        let bare = line.trim();
        let ticks = bare.bytes().take_while(|&byte| byte == b'`').count();
        let tag = bare[ticks..].split_whitespace().next().unwrap_or("").to_ascii_lowercase();
        // A fence with a tag opens a block even inside an open one, which the
        // model forgot to close: it is no line of any program.
        let opens = ticks >= 3 && !tag.contains('`') && (open.is_none() || !tag.is_empty());
        if opens {
            done.extend(open.take().map(|open| open.block));
            open = Some(Open { ticks, block: Block { tag, content: String::new() } });
        } else if let Some(mut current) = open.take() {
            if ticks >= current.ticks {
                done.push(current.block);
            } else if let Some(code) = closed_at_its_end(bare, line, current.ticks) {
                current.block.content.push_str(code);
                done.push(current.block);
            } else {
                current.block.content.push_str(line);
                open = Some(current);
            }
        }
    }
    done.extend(open.map(|open| open.block));
    done
}

/// The code of a line such as `return x` with the closing fence right after it.
fn closed_at_its_end<'a>(bare: &str, line: &'a str, ticks: usize) -> Option<&'a str> {
    let code = bare.strip_suffix(&"`".repeat(ticks))?;
    (!code.contains('`')).then(|| &line[..line.trim_end().len() - ticks])
}

impl fmt::Display for Extraction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Extraction::LastFence { language } => write!(f, "last-{language}-fence"),
            Extraction::FirstFence => f.write_str("first-fence"),
            Extraction::WholeText => f.write_str("whole-text"),
        }
    }
}

/// `last-python-fence`, `last-javascript-fence`, `first-fence`, `whole-text`.
impl FromStr for Extraction {
    type Err = GradingError;

    fn from_str(name: &str) -> Result<Self, GradingError> {
        let language = name.strip_prefix("last-").and_then(|rest| rest.strip_suffix("-fence"));
        match (name, language) {
            ("first-fence", _) => Ok(Extraction::FirstFence),
            ("whole-text", _) => Ok(Extraction::WholeText),
            (_, Some(language)) if !language.is_empty() => {
                Ok(Extraction::LastFence { language: language.to_owned() })
            }
            _ => Err(GradingError::UnknownExtraction { name: name.to_owned() }),
        }
    }
}

impl TryFrom<String> for Extraction {
    type Error = GradingError;

    fn try_from(name: String) -> Result<Self, GradingError> {
        name.parse()
    }
}

impl From<Extraction> for String {
    fn from(rule: Extraction) -> Self {
        rule.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extract(rule: &str, completion: &str) -> Option<String> {
        rule.parse::<Extraction>().unwrap().apply(completion)
    }

    fn last_python(completion: &str) -> Option<String> {
        extract("last-python-fence", completion)
    }

    #[test]
    fn the_last_block_in_the_language_wins() {
        let text =
            "First:\n```python\na = 1\n```\nBetter:\n```py\nb = 2\n```\nOutput:\n```\n2\n```\n";
        assert_eq!(last_python(text).unwrap(), "b = 2\n");
        assert_eq!(extract("first-fence", text).unwrap(), "a = 1\n");
        assert_eq!(extract("last-javascript-fence", text).unwrap(), "a = 1\n");
    }

    #[test]
    fn without_a_block_in_the_language_the_first_of_any_is_taken() {
        assert_eq!(last_python("```\na\n```\n```text\nb\n```").unwrap(), "a\n");
        assert_eq!(last_python("```js\na\n```").unwrap(), "a\n");
    }

    #[test]
    fn without_a_fence_there_is_no_program() {
        assert_eq!(last_python("print(1)"), None);
        assert_eq!(extract("whole-text", "print(1)").unwrap(), "print(1)");
        assert_eq!(extract("whole-text", " \n"), None);
        assert_eq!(last_python("```python\n\n```"), None);
    }

    #[test]
    fn a_program_that_breaks_off_is_taken_as_far_as_it_goes() {
        assert_eq!(last_python("```python\na = 1\nb =").unwrap(), "a = 1\nb =");
        assert_eq!(last_python("```python\na = 1\n```python\nb = 2").unwrap(), "b = 2");
    }

    #[test]
    fn code_that_is_only_thought_of_is_not_the_answer() {
        let text = "<think>\n```python\nwrong\n```\n</think>\nHere:\n```\nright\n```";
        assert_eq!(last_python(text).unwrap(), "right\n");
        assert_eq!(last_python("<think>\n```python\nwrong\n```\n"), None);
        assert_eq!(last_python("```python\nwrong\n```\n</think> I give up."), None);
    }

    #[test]
    fn fences_may_be_indented_longer_or_at_the_end_of_a_line() {
        assert_eq!(last_python("1. so:\n   ```Python\n   x\n   ```").unwrap(), "   x\n");
        assert_eq!(
            last_python("````python\ns = '''\n```\n'''\n````").unwrap(),
            "s = '''\n```\n'''\n"
        );
        assert_eq!(last_python("```python\nprint(1)```\nDone.").unwrap(), "print(1)");
        assert_eq!(last_python("Use `x` or ```y``` here."), None);
    }

    #[test]
    fn a_rule_is_read_as_it_is_written() {
        for name in ["last-python-fence", "last-javascript-fence", "first-fence", "whole-text"] {
            assert_eq!(name.parse::<Extraction>().unwrap().to_string(), name);
        }
        assert!("last--fence".parse::<Extraction>().is_err());
    }
}
