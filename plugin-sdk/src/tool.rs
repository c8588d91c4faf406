//! The tool `run`, which runs a program in the host's sandbox, as workflows call
//! it and read what came back.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::types::{Extra, Problem, Seat};
use crate::workflow::{Briefing, Call, Description, Returned};

/// The tool's name.
pub const RUN: &str = "run";
/// The key of a description's extras by which a workflow says what it calls.
const TOOLS: &str = "tools";
/// The key of an answer that says why there was no run.
const ERROR: &str = "error";

/// How a program ended, and what it wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Run {
    /// How it ended, such as `exited` or `out_of_fuel`.
    pub ending: String,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error, and why it was stopped if it was.
    pub stderr: String,
    /// Whether it came to a good end.
    pub succeeded: bool,
}

/// Run a program of this language for a seat.
///
/// ```
/// let call = plugin_sdk::tool::run("coder", "python", "print(1)", "");
/// assert_eq!(call.arguments, r#"{"language":"python","source":"print(1)","stdin":""}"#);
/// ```
pub fn run(seat: impl Into<Seat>, language: &str, source: &str, stdin: &str) -> Call {
    let arguments = json!({ "language": language, "source": source, "stdin": stdin });
    Call { seat: seat.into(), tool: RUN.to_owned(), arguments: arguments.to_string() }
}

/// What a role is told that has to write programs of this language.
pub fn in_language(language: &str) -> String {
    format!("The program has to be written in the language `{language}`.")
}

impl Run {
    /// What a call of the tool returned.
    ///
    /// # Errors
    /// There was no run: nobody can run programs of this language, say.
    pub fn of(returned: &Returned) -> Result<Run, Problem> {
        let fault = |error: serde_json::Error| {
            Problem::internal(format!("the answer of `{}`: {error}", returned.tool))
        };
        let answer: Value = serde_json::from_str(&returned.answer).map_err(fault)?;
        if let Some(error) = answer.get(ERROR).and_then(Value::as_str) {
            return Err(Problem::settings(error));
        }
        let run: Run = serde_json::from_value(answer).map_err(fault)?;
        Ok(Run { succeeded: returned.succeeded, ..run })
    }

    /// What there is to say of it in one piece: what it wrote, or why it did not.
    pub fn told(&self) -> &str {
        if self.succeeded { self.stdout.trim() } else { last_line(&self.stderr) }
    }
}

/// The last line of a trace says what was wrong.
fn last_line(text: &str) -> &str {
    text.trim_end().lines().next_back().unwrap_or_default().trim()
}

impl Description {
    /// It calls these tools, at least under some settings. `host plugin inspect` says so, and how
    /// they are granted.
    #[must_use]
    pub fn calls(mut self, tools: &[&str]) -> Self {
        self.extras.push(Extra { key: TOOLS.to_owned(), value: tools.join(" ") });
        self
    }

    /// The tools that it says it calls.
    pub fn tools(&self) -> impl Iterator<Item = &str> {
        let said = self.extras.iter().filter(|extra| extra.key == TOOLS);
        said.flat_map(|extra| extra.value.split_whitespace())
    }
}

impl Briefing {
    /// A problem, unless the workflow may run programs. How that is granted to a file of this
    /// name the host says, to which the workflow [says what it calls](Description::calls).
    pub fn require_run(&self) -> Result<(), Problem> {
        if self.tools.iter().any(|tool| tool.name == RUN) {
            return Ok(());
        }
        Err(Problem::settings("this workflow runs programs, which was not granted to it"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Fault;

    #[test]
    fn a_workflow_says_which_tools_it_calls() {
        let description = Description::new("a", "1.0.0", "");
        assert_eq!(description.tools().count(), 0);
        let tools: Vec<_> =
            description.calls(&[RUN, "search"]).tools().map(str::to_owned).collect();
        assert_eq!(tools, [RUN, "search"]);
    }

    #[test]
    fn what_came_back_is_told_in_one_piece() {
        let returned = |succeeded, answer: &str| Returned {
            seat: Seat::new("tool"),
            tool: RUN.to_owned(),
            succeeded,
            answer: answer.to_owned(),
        };
        let good = Run::of(&returned(true, r#"{"ending":"exited","stdout":"U R\n","stderr":""}"#));
        assert_eq!(good.unwrap().told(), "U R");
        let bad = r#"{"ending":"failed","stdout":"x","stderr":"Trace\nNameError: y\n"}"#;
        assert_eq!(Run::of(&returned(false, bad)).unwrap().told(), "NameError: y");
        assert!(Run::of(&returned(true, "no JSON")).is_err());
    }

    #[test]
    fn a_language_that_nobody_runs_is_a_problem_of_the_settings_and_no_failed_program() {
        let why = "no program can be run in the language `pyton`";
        let answer = json!({ "error": why }).to_string();
        let (seat, tool) = (Seat::new("tool"), RUN.to_owned());
        let returned = Returned { seat, tool, succeeded: false, answer };
        let problem = Run::of(&returned).unwrap_err();
        assert_eq!((problem.fault, problem.message.as_str()), (Fault::Settings, why));
    }
}
