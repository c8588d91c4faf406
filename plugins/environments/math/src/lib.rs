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
use plugin_sdk::{Format, Proposals, Rendered, Setting, Settings, Unreadable};
use serde::{Deserialize, Serialize};

use answer::{Form, Judged};
use question::Question;

/// For an answer that cannot be read. One that can be is worth nothing for that.
const UNREADABLE: f64 = -0.2;
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
    format: Format,
    near: f64,
    /// What each seat's last words were worth, as far as they could be read and for being right,
    /// whether it proposed or answered.
    written: Proposals,
    matched: Proposals,
    /// What these words were, by role and instance: a seat sees its own.
    said: BTreeMap<(String, u32), String>,
    /// What was answered, and whether it was right.
    answered: Option<(String, bool)>,
}

impl Environment for Math {
    fn describe() -> Description {
        let described = Description::new(
            "math",
            env!("CARGO_PKG_VERSION"),
            "Answer mathematical questions, generated or of a data set.",
        )
        .reusable()
        .action("answer", "the final answer, written as the rules say")
        .action("plan", "an answer to propose, in the same notation")
        .formats(&["answer", "plan"])
        .workflows(&["reasoner-tool", "solo"]);
        with_presets(with_settings(described))
    }

    fn configure(settings: &[Configured]) -> Result<Configuration, Problem> {
        draw::check(settings)?;
        let configuration = Configuration::default().max_turns(TURNS).private();
        let configuration = plugin_questions::taken(configuration, &["answer"]);
        Ok(match form(settings)? {
            Form::Words => {
                configuration.vocabulary(Format::of(settings)?.words(digits::vocabulary()))
            }
            Form::Text => configuration.takes_records(),
            Form::Plain => configuration,
        })
    }

    fn start(task: &Task) -> Result<Self, Problem> {
        let form = form(&task.settings)?;
        let question = match (plugin_questions::asked(task), &task.entry) {
            (Some(question), _) => record::asked(question, form == Form::Words)?,
            (None, Some(_)) if form != Form::Text => return Err(digits::not_spoken()),
            (None, Some(entry)) => record::read(entry)?,
            (None, None) => draw::draw(task)?,
        };
        let near = task.settings.number("near")?;
        Ok(Math {
            question,
            form,
            format: Format::of(&task.settings)?,
            near,
            written: Proposals::default(),
            matched: Proposals::default(),
            said: BTreeMap::new(),
            answered: None,
        })
    }

    fn rules(&self, _seat: &Seat) -> String {
        self.format.asked_for(view::rules(&self.question, self.form))
    }

    fn observe(&self, seat: &Seat) -> String {
        let said = self.said.get(&(seat.role.clone(), seat.instance)).map(String::as_str);
        let is_right = self.answered.as_ref().map(|(_, is_right)| *is_right);
        view::show(&self.question, self.form, said, is_right)
    }

    fn act(&mut self, seat: &Seat, action: &Action) -> Result<Outcome, Problem> {
        match action.kind.as_str() {
            "answer" => self.answer(seat, action),
            // No seat is told whether a proposal is right.
            "plan" => self.say(seat, action).map(|(.., outcome)| outcome),
            _ => Err(Problem::unknown_kind(action)),
        }
    }

    fn demonstrate(&self, _seat: &Seat) -> Option<Action> {
        let gold = self.question.known_answer()?;
        let text = match (self.form, self.format) {
            (Form::Words, _) => digits::spell(gold),
            (Form::Text, Format::Any) => format!("\\boxed{{{gold}}}"),
            (Form::Text | Form::Plain, _) => gold.to_owned(),
        };
        Some(self.format.written(Action::new("answer", text)))
    }

    fn reveal(&self) -> Option<String> {
        let gold = self.question.known_answer()?;
        Some(if self.form == Form::Words { digits::spell(gold) } else { gold.to_owned() })
    }
}

impl Rendered for Math {
    fn render(&self) -> Rendering {
        picture::draw(&self.question, self.answered.as_ref())
    }
}

fn form(settings: &[Configured]) -> Result<Form, Problem> {
    Ok(match settings.text("observation")? {
        "text" => Form::Text,
        "plain" => Form::Plain,
        _ => Form::Words,
    })
}

fn with_settings(description: Description) -> Description {
    description
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
            "largest",
            "The largest of these numbers; 0 leaves it to their digits.",
            0..=999_999,
            0,
        ))
        .setting(Setting::integer(
            "difficulty",
            "Of algebra and number theory: larger numbers, and more to do.",
            1..=5,
            2,
        ))
        .seen_as("Digits as words for tiny policies; English, answered in a box; or the same for \
             small language models, of whose answer the last number counts.", &["words", "text", "plain"])
        .setting(Setting::number(
            "near",
            "What a wrong number earns its seat at most: for the share of its digits that is right.",
            0.0..=0.5,
            0.4,
        ))
}

fn with_presets(description: Description) -> Description {
    description
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
}

impl Math {
    /// The answer that counts.
    fn answer(&mut self, seat: &Seat, action: &Action) -> Result<Outcome, Problem> {
        let (answer, is_right, outcome) = self.say(seat, action)?;
        let outcome = match (&answer, is_right) {
            (Some(_), true) => outcome.team("solved", SOLVED).solved(),
            // Not solved, as far as anybody knows.
            (Some(_), false) if self.question.is_asked => outcome.failed(),
            (Some(_), false) => outcome.feedback("This is not right.").failed(),
            (None, _) => outcome.failed(),
        };
        self.answered = Some((answer.unwrap_or_default(), is_right));
        Ok(outcome)
    }

    /// Hear and pay a seat: what it said, whether it is right, and the outcome so
    /// far. What a seat is paid in an episode adds up to the worth of what it said
    /// last, so it earns by being right, not by repeating.
    fn say(
        &mut self,
        seat: &Seat,
        action: &Action,
    ) -> Result<(Option<String>, bool, Outcome), Problem> {
        let judged = self.judge(action)?;
        let (written, matched) = self.worth(&judged);
        let (written, matched) = (self.written.pay(seat, written), self.matched.pay(seat, matched));
        let is_right = matches!(judged, Judged::Right(_));
        let (answer, outcome) = match judged {
            // It is paid as a potential, so how near it came plays no part.
            Judged::Unreadable(why) => {
                (None, Outcome::unreadable(Unreadable::well_written(why), written))
            }
            Judged::Wrong(answer) | Judged::Right(answer) | Judged::Unjudged(answer) => {
                (Some(answer), Outcome::accepted().local("format", written))
            }
        };
        let name = (seat.role.clone(), seat.instance);
        match &answer {
            Some(answer) => self.said.insert(name, answer.clone()),
            None => self.said.remove(&name),
        };
        Ok((answer, is_right, outcome.local("match", matched)))
    }

    /// What a text answers, and whether it is right. What stands in the form that
    /// is asked for is read as what stands in a box otherwise.
    fn judge(&self, action: &Action) -> Result<Judged, Problem> {
        let found = match self.format.find(&action.kind, &action.text) {
            Ok(found) => found,
            Err(unreadable) => return Ok(Judged::Unreadable(unreadable.why().to_owned())),
        };
        let is_bare = self.form == Form::Text && !found.contains("\\boxed{");
        let found = match self.format {
            Format::Any => found,
            _ if is_bare => format!("\\boxed{{{}}}", found.trim()).into(),
            _ => found,
        };
        answer::judge(&self.question, self.form, &found)
    }

    /// What an answer is worth for how it is written, and for being right.
    fn worth(&self, judged: &Judged) -> (f64, f64) {
        match judged {
            Judged::Unreadable(_) => (UNREADABLE, 0.0),
            Judged::Wrong(answer) => (0.0, self.near * answer::nearness(&self.question, answer)),
            Judged::Right(_) => (0.0, MATCH),
            Judged::Unjudged(_) => (0.0, 0.0),
        }
    }
}

plugin_sdk::export!(environment: Math, rendering: Math);

#[cfg(test)]
mod tests;
