//! Arguments of `host grade` and `host check-answer`.

use std::path::PathBuf;

use clap::Args;
use troupe_answers::{NAMES, Rules};

use crate::{Extraction, Rule};
use troupe_terminal::LimitArgs;

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

/// `host grade`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  host grade --problems problems.jsonl --programs samples.jsonl --out verdicts.jsonl
  host grade --problems apps.jsonl --programs samples.jsonl --k 1,5,10 --out verdicts.jsonl
  host grade --problems p.jsonl --programs s.jsonl --compare tokens --fuel 20000000000 --jobs 4 --out v.jsonl

The same command run again goes on where it was stopped, and tries again what was
void. The layouts of the files, the rules and the verdict lines: docs/grading.md.")]
pub struct GradeArgs {
    /// Problems, one record a line: our own layout, APPS, CodeContests or LiveCodeBench.
    #[arg(long, value_name = "FILE")]
    pub problems: PathBuf,
    /// Programs or completions, one record a line.
    #[arg(long, value_name = "FILE")]
    pub programs: PathBuf,
    /// File to write the verdicts into, one a line.
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
    /// The language of the programs.
    #[arg(long, default_value = "python")]
    pub language: String,
    /// A component that runs the language; by default the one of its name in target/plugins.
    #[arg(long, value_name = "FILE")]
    pub interpreter: Option<PathBuf>,
    /// When an output is right, for all problems; by default what each problem or its layout says.
    #[arg(long, value_name = "RULE")]
    pub compare: Option<Rule>,
    /// Where the program is in a completion; by default in the last block of the language.
    #[arg(long, value_name = "RULE")]
    pub extract: Option<Extraction>,
    /// Run all tests of a program, also after one that failed.
    #[arg(long)]
    pub all_tests: bool,
    /// Programs graded at a time; 0 means one per core.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub jobs: usize,
    /// The k of pass@k; by default 1, 2, 4 and so on, as far as there are samples.
    #[arg(long, value_name = "K", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..))]
    pub k: Vec<u32>,
    /// Throw away the verdicts that are in the file.
    #[arg(long)]
    pub fresh: bool,
    /// Print the summary as JSON.
    #[arg(long)]
    pub json: bool,
    /// Do not show progress.
    #[arg(long, short)]
    pub quiet: bool,
    /// What one run may use.
    #[command(flatten)]
    pub limits: LimitArgs,
}

impl GradeArgs {
    /// Where the program is in a completion.
    pub fn extraction(&self) -> Extraction {
        let last = || Extraction::LastFence { language: self.language.clone() };
        self.extract.clone().unwrap_or_else(last)
    }
}
