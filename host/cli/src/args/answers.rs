//! Arguments of the command that checks mathematical answers.

use std::path::PathBuf;

use clap::Args;
use troupe_answers::{NAMES, Rules};

/// `host check-answer`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  host check-answer '\\frac{3}{4}' 0.75
  host check-answer --rules gsm8k 18 'So she makes 9 * 2 = $18 a day. #### 18'
  host check-answer --pairs pairs.jsonl --list
  host check-answer --pairs pairs.jsonl --json | tail -n 1

The answer may be all that a model wrote: the last box counts, or what the text
says the answer is. A pair is a record {\"gold\", \"answer\", \"expect\"}, and `expect` is
correct, wrong or either, which is not counted. What counts as equal, and the
rules of each data set: docs/answers.md.")]
pub struct CheckAnswerArgs {
    /// What is asked for.
    #[arg(allow_hyphen_values = true, required_unless_present = "pairs")]
    pub gold: Option<String>,
    /// What was answered.
    #[arg(allow_hyphen_values = true, required_unless_present = "pairs")]
    pub answer: Option<String>,
    /// Check a file of pairs instead, one record a line.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["gold", "answer"])]
    pub pairs: Option<PathBuf>,
    /// What counts as equal: the rules of this data set.
    #[arg(long, value_name = "NAME", default_value = "default", value_parser = rules)]
    pub rules: Rules,
    /// How far off the answer may be; one for all parts of the gold, or one for each.
    #[arg(long, value_name = "DISTANCE", value_delimiter = ',', value_parser = tolerance)]
    pub tolerance: Vec<troupe_answers::Tolerance>,
    /// Print the pairs whose verdict is another one than expected.
    #[arg(long, requires = "pairs")]
    pub list: bool,
    /// Print the verdict as JSON; of a file of pairs, what they add up to, on the last line.
    #[arg(long)]
    pub json: bool,
}

fn rules(name: &str) -> Result<Rules, String> {
    let known = || format!("the rules are {}", NAMES.join(", "));
    Rules::named(name).ok_or_else(known)
}

fn tolerance(text: &str) -> Result<troupe_answers::Tolerance, String> {
    let wanted = || "a tolerance is a number such as 0.01 or 1e-6".to_owned();
    troupe_answers::Tolerance::parse(text).ok_or_else(wanted)
}
