//! Code: a coder writes programs, a tester writes tests, and hidden tests decide.
//!
//! Programs run in the sandbox, which the plugin has to be granted. What a test
//! expects never gets there: it is compared here.

pub mod challenge;
pub mod game;
pub mod generated;
pub mod picture;
pub mod recipe;
pub mod record;
mod runs;
pub mod spoken;
pub mod suite;
pub mod trial;
pub mod view;

use plugin_sdk::environment::{
    Action, Award, Configuration, Configured, Description, Environment, Move, Outcome, Problem,
    Recipient, Seat, Split, Status, Task,
};
use plugin_sdk::rendering::Rendering;
use plugin_sdk::{Rendered, Setting, Settings, state};
use serde::{Deserialize, Serialize};

use challenge::Counts;
use game::{End, Game, Terms};
use recipe::Kind;
use trial::Bounds;

/// The roles that write program and tests, where these are two roles.
const CODER: &str = "coder";
const TESTER: &str = "tester";

/// Rounds of programs and tests.
const TURNS: u32 = 5;

/// Bytes that are saved of an episode. The host takes a mebibyte, unless it was told otherwise,
/// and the SDK adds a byte.
const STATE_BYTES: usize = (1 << 20) - 1;

/// One problem being solved.
#[derive(Serialize, Deserialize)]
pub struct Code {
    game: Game,
    /// Whether a seat is there to write tests and nothing else.
    has_tester: bool,
    /// Whether all is said in single words.
    is_spoken: bool,
}

impl Environment for Code {
    fn describe() -> Description {
        let summary = "Write a program that passes hidden tests, and tests that it must pass.";
        Description::new("code", env!("CARGO_PKG_VERSION"), summary)
            .reusable()
            .setting(Setting::choice(
                "kind",
                "What generated problems are about.",
                ["mixed", "lists", "words", "numbers"],
            ))
            .setting(Setting::choice(
                "observation",
                "English, and programs as one writes them; or single words for tiny policies, \
                 about one small number.",
                ["text", "words"],
            ))
            .setting(Setting::integer("steps", "Steps of a generated problem.", 1..=6, 2))
            .setting(Setting::integer(
                "examples",
                "Tests that are shown; of a record that calls some public, those at most.",
                0..=8,
                2,
            ))
            .setting(Setting::integer(
                "hidden_tests",
                "Tests that decide a training task, at most, and a generated one.",
                1..=64,
                8,
            ))
            .setting(Setting::integer(
                "held_out_tests",
                "Tests of its record that decide a validation or test task, at most; 0 for all. A \
                 generated one has `hidden_tests`.",
                0..=10_000,
                0,
            ))
            .setting(Setting::flag(
                "partial",
                "Whether a program is paid for running and for each hidden test that it passes, \
                 or for passing all of them alone.",
                true,
            ))
            .setting(Setting::integer("wanted_tests", "Tests a tester should write.", 1..=8, 3))
            .setting(Setting::choice(
                "end",
                "When it ends: at agreement of program and tests, which somebody has to send, when \
                 all tests pass, or at the first program; auto: at agreement if a coder and a \
                 tester play.",
                ["auto", "agreement", "golden", "first"],
            ))
            .setting(Setting::integer(
                "fuel_millions",
                "What one run of a program may use, in millions of units of fuel.",
                100..=250_000,
                20_000,
            ))
            .setting(Setting::integer("memory_mib", "Memory of one run.", 64..=512, 256))
            .preset("easy", "One step.", &[("steps", 1.into())])
            .preset(
                "words",
                "For tiny policies; a program that passes all tests ends it.",
                &[
                    ("observation", "words".into()),
                    ("hidden_tests", 4.into()),
                    ("examples", 1.into()),
                    // With so small numbers many a wrong program passes some.
                    ("partial", false.into()),
                    ("wanted_tests", 1.into()),
                    // A tiny tester cannot work out two steps.
                    ("end", "golden".into()),
                ],
            )
            .preset(
                "paper",
                "As a coder and a tester are trained: few hidden tests, one test to write.",
                &[("hidden_tests", 4.into()), ("wanted_tests", 1.into()), ("steps", 3.into())],
            )
            .preset(
                "hard",
                "Many steps, no examples, many hidden tests.",
                &[("steps", 5.into()), ("examples", 0.into()), ("hidden_tests", 24.into())],
            )
            .action("program", "a program in Python, written as the rules say")
            .action("tests", "tests, written as the rules say")
            .action("plan", "a program that is only tried, in the same notation")
            .workflows(&["coder-tester", "solo"])
    }

    fn configure(settings: &[Configured]) -> Result<Configuration, Problem> {
        let configuration = Configuration::default().max_turns(TURNS).private();
        let configuration = plugin_questions::taken(configuration, &["program"]);
        if !is_spoken(settings)? {
            return Ok(configuration.takes_records());
        }
        match settings.text("kind")? {
            "mixed" | "numbers" => Ok(configuration.vocabulary(spoken::vocabulary())),
            kind => Err(spoken::not_spoken(&format!("problems of the kind `{kind}` are"))),
        }
    }

    fn start(task: &Task) -> Result<Self, Problem> {
        let settings = &task.settings;
        let counts = counts(task)?;
        let is_spoken = is_spoken(settings)?;
        let challenge = match (plugin_questions::asked(task), &task.entry) {
            (Some(statement), _) => record::asked(statement, is_spoken)?,
            (None, Some(_)) if is_spoken => return Err(spoken::not_spoken("records are")),
            (None, Some(entry)) => record::read(entry, counts)?,
            (None, None) => {
                generated::draw(task, kind(settings)?, settings.integer("steps")?, counts)?
            }
        };
        let bounds = Bounds {
            fuel: settings.integer::<u64>("fuel_millions")? * 1_000_000,
            memory_mib: settings.integer("memory_mib")?,
        };
        let plays = |role: &str| task.seats.iter().any(|seat| seat.role == role);
        let has_tester = plays(CODER) && plays(TESTER);
        let end = match settings.text("end")? {
            "agreement" | "auto" if !challenge.takes_tests() => End::Golden,
            "agreement" => End::Agreement,
            "golden" => End::Golden,
            "first" => End::First,
            _ if has_tester => End::Agreement,
            _ => End::Golden,
        };
        let terms = Terms {
            bounds,
            wanted: settings.integer("wanted_tests")?,
            end,
            partial: settings.flag("partial")?,
        };
        Ok(Code { game: Game::new(challenge, terms), has_tester, is_spoken })
    }

    fn rules(&self, _seat: &Seat) -> String {
        if self.is_spoken { spoken::rules() } else { view::rules(&self.game) }
    }

    fn observe(&self, seat: &Seat) -> String {
        let plan = self.game.plan_of(seat);
        if self.is_spoken { spoken::show(&self.game, plan) } else { view::show(&self.game, plan) }
    }

    fn act(&mut self, seat: &Seat, action: &Action) -> Result<Outcome, Problem> {
        let outcome = self.take(seat, action)?;
        Ok(self.game.close(outcome))
    }

    fn act_together(&mut self, moves: &[Move]) -> Result<Outcome, Problem> {
        let mut all = Outcome { effects: Vec::new(), awards: Vec::new(), status: Status::Ongoing };
        for (place, Move { seat, action }) in (0..).zip(moves) {
            let outcome = self.take(seat, action)?;
            all.effects.extend(outcome.effects);
            all.awards.extend(outcome.awards.into_iter().map(|award| match award.to {
                Recipient::Mover(_) => Award { to: Recipient::Mover(place), ..award },
                Recipient::Team | Recipient::Seat(_) => award,
            }));
        }
        Ok(self.game.close(all))
    }

    fn demonstrate(&self, seat: &Seat) -> Option<Action> {
        let Game { challenge, attempt, .. } = &self.game;
        let is_right = attempt.as_ref().is_some_and(|attempt| attempt.is_right);
        let is_tester = self.has_tester && seat.role == TESTER;
        if is_tester || (is_right && self.game.needs_tests()) {
            let hidden = &challenge.problem.tests[challenge.hidden()];
            let tests = match self.is_spoken {
                true => spoken::written(&hidden[..hidden.len().min(self.game.wanted())]),
                false => suite::written(&suite::worth_writing(hidden)),
            };
            return Some(Action::new("tests", tests));
        }
        let solution = challenge.solution.as_ref()?;
        let program = match self.is_spoken {
            true => solution.clone(),
            false => format!("```python\n{}\n```", solution.trim_end()),
        };
        Some(Action::new("program", program))
    }

    fn reveal(&self) -> Option<String> {
        self.game.challenge.solution.clone()
    }

    /// Nothing where the tests are too long to be saved beside every answer: the task has them,
    /// from which the host replays what was written.
    fn save(&self) -> Option<Vec<u8>> {
        if self.game.challenge.bytes() > STATE_BYTES {
            return None;
        }
        state::save(self).filter(|state| state.len() <= STATE_BYTES)
    }
}

impl Rendered for Code {
    fn render(&self) -> Rendering {
        let Game { attempt, suite, .. } = &self.game;
        picture::draw(&view::show(&self.game, None), attempt.as_ref(), suite)
    }
}

impl Code {
    fn take(&mut self, seat: &Seat, action: &Action) -> Result<Outcome, Problem> {
        match action.kind.as_str() {
            "program" => self.game.program(seat, &action.text),
            "tests" => self.game.tests(seat, &action.text),
            "plan" => self.game.plan(seat, &action.text),
            _ => Err(Problem::unknown_kind(action)),
        }
    }
}

/// How many tests a task has: held-out ones are decided by all, unless a setting says
/// otherwise.
fn counts(task: &Task) -> Result<Counts, Problem> {
    let settings = &task.settings;
    let (hidden, held_out): (usize, usize) =
        (settings.integer("hidden_tests")?, settings.integer("held_out_tests")?);
    let of_record = match (task.split, held_out) {
        (Split::Train, _) => Some(hidden),
        (_, 0) => None,
        (_, held_out) => Some(held_out),
    };
    let shown = settings.integer("examples")?;
    Ok(Counts { shown, hidden: of_record, generated: hidden })
}

fn is_spoken(settings: &[Configured]) -> Result<bool, Problem> {
    Ok(settings.text("observation")? == "words")
}

fn kind(settings: &[Configured]) -> Result<Option<Kind>, Problem> {
    Ok(match settings.text("kind")? {
        _ if is_spoken(settings)? => Some(Kind::Spoken),
        "lists" => Some(Kind::Lists),
        "words" => Some(Kind::Words),
        "numbers" => Some(Kind::Numbers),
        _ => None,
    })
}

plugin_sdk::export!(environment: Code, rendering: Code);

#[cfg(test)]
mod tests {
    use super::*;

    /// A record with so many tests, of which one is shown.
    fn record(tests: usize) -> String {
        let test = |n: usize| format!(r#"{{"input": "{n}", "output": "{n}"}}"#);
        let tests: Vec<String> = (0..tests).map(test).collect();
        format!(r#"{{"id": 1, "text": "S", "public": 1, "tests": [{}]}}"#, tests.join(","))
    }

    /// The hidden tests of a record in a split.
    fn hidden(split: Split, tests: usize, settings: &[(&str, i32)]) -> usize {
        let mut task = Task { entry: Some(record(tests)), ..Task::of::<Code>(split, 0) };
        for &(name, value) in settings {
            task.settings = plugin_sdk::settings::with(task.settings, name, value);
        }
        let code = Code::start(&task).expect("a problem");
        code.game.challenge.hidden().len()
    }

    #[test]
    fn what_is_held_out_is_decided_by_all_tests_whatever_training_takes() {
        for split in [Split::Validation, Split::Test] {
            // More than `hidden_tests` may ever be, too.
            for tests in [9, 65, 201] {
                assert_eq!(hidden(split, tests, &[("hidden_tests", 4)]), tests - 1, "{split}");
            }
            assert_eq!(hidden(split, 201, &[("held_out_tests", 20)]), 20, "{split}");
        }
        assert_eq!(hidden(Split::Train, 201, &[("hidden_tests", 4)]), 4);
        assert_eq!(hidden(Split::Train, 201, &[("held_out_tests", 20)]), 8);
    }

    #[test]
    fn a_generated_problem_has_as_many_tests_in_all_splits() {
        let hidden = |name: &str, count: i32| {
            let mut task = Task::of::<Code>(Split::Test, 0);
            task.settings = plugin_sdk::settings::with(task.settings, name, count);
            Code::start(&task).expect("a problem").game.challenge.hidden().len()
        };
        assert_eq!((hidden("held_out_tests", 0), hidden("held_out_tests", 10_000)), (8, 8));
        assert_eq!(hidden("hidden_tests", 12), 12);
    }
}
