//! A generated problem: what is read, steps that change it, and what is printed.
//! The same recipe is told in English, written in Python and carried out here.

mod lists;
mod numbers;
mod spoken;
mod words;

use plugin_sdk::Random;
use serde::{Deserialize, Serialize};

/// What a generated problem is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// Whole numbers in a list.
    Lists,
    /// Words of small letters.
    Words,
    /// One whole number.
    Numbers,
    /// One small number, told in single words for tiny policies.
    Spoken,
}

/// Something that is done: in English, in Python, and here.
pub struct Step<T> {
    /// A sentence of the statement.
    told: String,
    /// A line of the program; it changes the variable that the kind names.
    python: String,
    /// What comes of a value.
    applied: Box<dyn Fn(T) -> T>,
}

/// The last step: what is printed.
pub struct Last<T> {
    told: String,
    /// An expression of a string or a number.
    python: String,
    applied: Box<dyn Fn(T) -> String>,
}

fn step<T>(told: String, python: String, applied: impl Fn(T) -> T + 'static) -> Step<T> {
    Step { told, python, applied: Box::new(applied) }
}

fn last<T>(told: &str, python: &str, applied: impl Fn(T) -> String + 'static) -> Last<T> {
    Last { told: told.to_owned(), python: python.to_owned(), applied: Box::new(applied) }
}

/// A problem, told and solved.
pub struct Recipe {
    /// The statement.
    pub statement: String,
    /// A program that solves it.
    pub solution: String,
    answer: Box<dyn Fn(&str) -> String>,
    input: fn(&mut Random) -> String,
}

impl Recipe {
    /// Draw a recipe with so many steps.
    pub fn draw(kind: Kind, steps: usize, random: &mut Random) -> Recipe {
        match kind {
            Kind::Lists => Recipe::of(&lists::FORM, steps, random),
            Kind::Words => Recipe::of(&words::FORM, steps, random),
            Kind::Numbers => Recipe::of(&numbers::FORM, steps, random),
            Kind::Spoken => Recipe::of(&spoken::FORM, steps, random),
        }
    }

    fn of<T: 'static>(form: &Form<T>, steps: usize, random: &mut Random) -> Recipe {
        let mut drawn: Vec<Step<T>> = Vec::new();
        let mut before = usize::MAX;
        while drawn.len() < steps {
            let which = random.below(form.steps.len());
            let next = form.steps[which](random);
            // To do the same twice says little.
            if which != before {
                drawn.push(next);
            }
            before = which;
        }
        let end = form.lasts[random.below(form.lasts.len())]();
        let read = form.parse;
        Recipe {
            statement: form.statement(&drawn, &end),
            solution: form.solution(&drawn, &end),
            answer: Box::new(move |input| {
                let value = drawn.iter().fold(read(input), |value, step| (step.applied)(value));
                (end.applied)(value)
            }),
            input: form.input,
        }
    }

    /// The right output for an input.
    pub fn answer(&self, input: &str) -> String {
        format!("{}\n", (self.answer)(input))
    }

    /// Some input.
    pub fn input(&self, random: &mut Random) -> String {
        (self.input)(random)
    }
}

/// What recipes of a kind are made of.
struct Form<T: 'static> {
    told: &'static str,
    /// How the input is read in Python.
    python: &'static str,
    parse: fn(&str) -> T,
    input: fn(&mut Random) -> String,
    steps: &'static [fn(&mut Random) -> Step<T>],
    lasts: &'static [fn() -> Last<T>],
    style: Style,
}

/// How a problem is told and solved.
enum Style {
    /// In English, by a program of several lines.
    Sentences,
    /// In single words, by a program in one line.
    Words,
}

impl<T> Form<T> {
    fn statement(&self, steps: &[Step<T>], end: &Last<T>) -> String {
        let told = steps.iter().map(|step| step.told.as_str());
        match self.style {
            Style::Sentences => {
                let told = told.enumerate().map(|(index, told)| format!("{}. {told}\n", index + 1));
                let told: String = told.collect();
                format!("{} Do this, in this order:\n{told}{}", self.told, end.told)
            }
            Style::Words => told.chain([end.told.as_str()]).collect::<Vec<_>>().join(" "),
        }
    }

    fn solution(&self, steps: &[Step<T>], end: &Last<T>) -> String {
        let end = format!("print({})", end.python);
        let lines = steps.iter().map(|step| step.python.as_str());
        let lines: Vec<&str> = [self.python].into_iter().chain(lines).chain([&*end]).collect();
        match self.style {
            Style::Sentences => lines.join("\n") + "\n",
            Style::Words => lines.join(" ; "),
        }
    }
}

/// The words of spoken problems and of their programs.
pub fn vocabulary() -> Vec<String> {
    spoken::vocabulary()
}

/// A number from `low` to `high`.
fn within(low: i64, high: i64, random: &mut Random) -> i64 {
    low + random.below((high - low + 1) as usize) as i64
}
