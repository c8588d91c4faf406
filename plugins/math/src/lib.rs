//! Math: one question, and one answer that counts.
//!
//! Questions are generated or come from records. An `answer` is final; a `plan`
//! is an answer that is proposed first and paid as a potential, so that a team
//! can reason and calculate before it commits itself.

pub mod algebra;
pub mod answer;
pub mod arithmetic;
pub mod digits;
pub mod draw;
pub mod number_theory;
pub mod picture;
pub mod question;
pub mod record;
pub mod view;

use std::collections::BTreeMap;

use plugin_sdk::environment::{
    Action, Configuration, Configured, Description, Environment, Outcome, Problem, Seat, Task,
};
use plugin_sdk::rendering::Rendering;
use plugin_sdk::{Rendered, Setting, Settings, state};
use serde::{Deserialize, Serialize};

use answer::{Form, Judged};
use question::Question;

/// For an answer that can be read.
const FORMAT: f64 = 0.2;
/// For the right one.
const MATCH: f64 = 0.8;
/// For everybody, when it was given as the answer.
const SOLVED: f64 = 1.0;
/// Rounds of proposals that a team may need.
const TURNS: u32 = 4;

/// One question being answered.
#[derive(Serialize, Deserialize)]
pub struct Math {
    question: Question,
    form: Form,
    near: f64,
    /// What each seat said last was worth, for its form and for being right, and
    /// has been paid for; by role and instance.
    said: BTreeMap<(String, u32), (f64, f64)>,
    /// What was answered, and whether it was right.
    answered: Option<(String, bool)>,
}

impl Environment for Math {
    fn describe() -> Description {
        Description::new(
            "math",
            env!("CARGO_PKG_VERSION"),
            "Answer mathematical questions, generated or of a data set.",
        )
        .setting(Setting::choice(
            "kind",
            "What generated questions are about.",
            ["arithmetic", "algebra", "number-theory", "mixed"],
        ))
        .setting(Setting::choice(
            "operators",
            "What arithmetic does.",
            ["+", "+-", "+-*", "+-*/", "-", "*"],
        ))
        .setting(Setting::integer("operands", "Numbers in an expression.", 2..=6, 2))
        .setting(Setting::integer("digits", "Digits of such a number at most.", 1..=6, 2))
        .setting(Setting::integer(
            "difficulty",
            "Of algebra and number theory: larger numbers, and more to do.",
            1..=5,
            2,
        ))
        .setting(Setting::choice(
            "observation",
            "Digits as words for small policies, or English.",
            ["words", "text"],
        ))
        .setting(Setting::number(
            "near",
            "What a wrong number earns its seat at most: for the share of its digits that is right.",
            0.0..=0.5,
            0.4,
        ))
        .preset("easy", "Sums of two numbers, for small policies.", &[])
        .preset(
            "paper",
            "Questions in English, or records: a reasoner and a tool role agree on an answer.",
            &[
                ("observation", "text".into()),
                ("near", 0.0.into()),
                ("kind", "mixed".into()),
                ("operators", "+-*/".into()),
                ("operands", 4.into()),
                ("difficulty", 3.into()),
            ],
        )
        .preset(
            "hard",
            "The same with long expressions and large numbers.",
            &[
                ("observation", "text".into()),
                ("near", 0.0.into()),
                ("kind", "mixed".into()),
                ("operators", "+-*/".into()),
                ("operands", 6.into()),
                ("digits", 3.into()),
                ("difficulty", 5.into()),
            ],
        )
        .action("answer", "the final answer; in English inside \\boxed{}, as in \\boxed{-17}")
        .action("plan", "an answer to propose, in the same notation")
        .workflows(&["reasoner-tool", "solo"])
    }

    fn configure(settings: &[Configured]) -> Result<Configuration, Problem> {
        draw::check(settings)?;
        let configuration = Configuration::default().max_turns(TURNS);
        Ok(match form(settings)? {
            Form::Words => configuration.vocabulary(digits::vocabulary()),
            Form::Text => configuration.takes_records(),
        })
    }

    fn start(task: &Task) -> Result<Self, Problem> {
        let form = form(&task.settings)?;
        let question = match &task.entry {
            Some(_) if form == Form::Words => return Err(digits::not_spoken()),
            Some(entry) => record::read(entry)?,
            None => draw::draw(task)?,
        };
        let near = task.settings.number("near")?;
        Ok(Math { question, form, near, said: BTreeMap::new(), answered: None })
    }

    fn rules(&self, _seat: &Seat) -> String {
        view::rules(&self.question, self.form)
    }

    fn observe(&self, _seat: &Seat) -> String {
        view::show(&self.question, self.form)
    }

    fn act(&mut self, seat: &Seat, action: &Action) -> Result<Outcome, Problem> {
        match action.kind.as_str() {
            "answer" => self.answer(seat, &action.text),
            "plan" => self.propose(seat, &action.text),
            _ => Err(Problem::unknown_kind(action)),
        }
    }

    fn demonstrate(&self, _seat: &Seat) -> Option<Action> {
        Some(Action::new(
            "answer",
            match self.form {
                Form::Words => digits::spell(&self.question.gold),
                Form::Text => format!("\\boxed{{{}}}", self.question.gold),
            },
        ))
    }

    fn reveal(&self) -> Option<String> {
        Some(self.question.gold.clone())
    }

    fn save(&self) -> Option<Vec<u8>> {
        state::save(self)
    }

    fn resume(bytes: &[u8]) -> Result<Self, Problem> {
        Ok(state::load(bytes)?)
    }
}

impl Rendered for Math {
    fn render(&self) -> Rendering {
        picture::draw(&self.question, self.answered.as_ref())
    }
}

fn form(settings: &[Configured]) -> Result<Form, Problem> {
    Ok(if settings.text("observation")? == "text" { Form::Text } else { Form::Words })
}

impl Math {
    /// The answer that counts.
    fn answer(&mut self, seat: &Seat, text: &str) -> Result<Outcome, Problem> {
        let judged = answer::judge(&self.question, self.form, text)?;
        let paid = self.worth(&judged);
        let outcome = match &judged {
            Judged::Unreadable(reason) => Outcome::rejected(reason).failed(),
            Judged::Wrong(_) => Outcome::accepted().feedback("This is not right.").failed(),
            Judged::Right(_) => Outcome::accepted().team("solved", SOLVED).solved(),
        };
        self.answered = Some(match judged {
            Judged::Unreadable(_) => (String::new(), false),
            Judged::Wrong(answer) => (answer, false),
            Judged::Right(answer) => (answer, true),
        });
        Ok(self.pay(seat, paid, outcome))
    }

    /// Score a proposal; whether it is right nobody is told.
    fn propose(&mut self, seat: &Seat, text: &str) -> Result<Outcome, Problem> {
        let judged = answer::judge(&self.question, self.form, text)?;
        let paid = self.worth(&judged);
        let outcome = match judged {
            Judged::Unreadable(reason) => Outcome::rejected(reason),
            Judged::Wrong(_) | Judged::Right(_) => Outcome::accepted(),
        };
        Ok(self.pay(seat, paid, outcome))
    }

    /// Pay a seat for what it said. What it is paid in an episode adds up to the
    /// worth of what it said last, so it earns by being right, not by repeating.
    fn pay(&mut self, seat: &Seat, (format, matched): (f64, f64), outcome: Outcome) -> Outcome {
        let seat = (seat.role.clone(), seat.instance);
        let before = self.said.insert(seat, (format, matched)).unwrap_or((0.0, 0.0));
        outcome.local("format", format - before.0).local("match", matched - before.1)
    }

    /// What an answer is worth for being one, and for being right.
    fn worth(&self, judged: &Judged) -> (f64, f64) {
        match judged {
            Judged::Unreadable(_) => (0.0, 0.0),
            Judged::Wrong(answer) => (FORMAT, self.near * answer::nearness(&self.question, answer)),
            Judged::Right(_) => (FORMAT, MATCH),
        }
    }
}

plugin_sdk::export!(environment: Math, rendering: Math);
