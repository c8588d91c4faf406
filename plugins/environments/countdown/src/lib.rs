//! Countdown: make a target out of numbers, by arithmetic.
//!
//! An answer is judged exactly, in fractions. Nothing but the target pays: how
//! near a wrong answer is says nothing about the right one.

pub mod expression;
pub mod fraction;
pub mod picture;
pub mod puzzle;
pub mod search;

use plugin_sdk::environment::{
    Action, Configuration, Configured, Description, Environment, Outcome, Problem, Seat, Task,
};
use plugin_sdk::rendering::Rendering;
use plugin_sdk::{Format, Proposals, Rendered, Setting, Settings, Unreadable};
use serde::{Deserialize, Serialize};

use expression::Expression;
use puzzle::{Fault, Puzzle};

/// For what is no expression.
/// Signs of an expression.
const SIGNS: &str = "+-*/()×·÷−–";
const UNREADABLE: f64 = -0.3;
/// For numbers that there are not, or not all.
const UNLAWFUL: f64 = -0.2;
/// For another value.
const WRONG: f64 = -0.1;
/// For the target. It exceeds what all wrong answers before it may cost.
const SOLVED: f64 = 4.0;
/// What a right plan is worth: less than the solution.
const PLANNED: f64 = 0.5;

/// One puzzle being solved.
#[derive(Serialize, Deserialize)]
pub struct Countdown {
    puzzle: Puzzle,
    /// An expression that solves it, if it came with one.
    known: Option<String>,
    /// Whether every number must be used.
    all: bool,
    /// Answers that may still be given.
    attempts: u32,
    proposals: Proposals,
    /// Whether observations are short words.
    is_list: bool,
    format: Format,
    /// What the last answer came to.
    last: String,
}

impl Environment for Countdown {
    fn describe() -> Description {
        let words = |text: &str| text.into();
        Description::new(
            "countdown",
            env!("CARGO_PKG_VERSION"),
            "Make a target out of numbers, by arithmetic.",
        )
        .reusable()
        .setting(Setting::integer("numbers", "Numbers of a generated puzzle.", 2..=6, 3))
        .setting(Setting::integer("max_number", "The largest of them.", 4..=1000, 12))
        .setting(Setting::integer("min_target", "The least target.", 1..=10_000, 10))
        .setting(Setting::integer("max_target", "The largest target.", 20..=10_000, 60))
        .setting(Setting::choice("use", "How many of the numbers must be used.", ["all", "some"]))
        .setting(Setting::integer("attempts", "Answers that may be given.", 1..=10, 4))
        .setting(Setting::choice("observation", "What a role sees.", ["list", "text"]))
        .action(
            "answer",
            "an arithmetic expression such as `(a + b) * c`, numbers in place of letters",
        )
        .action("plan", "the expression to be answered, as `(a + b) * c` is one of letters")
        .formats(&["answer", "plan"])
        .preset(
            "language-model",
            "Four numbers, text to read; taken when language models play, below any other preset.",
            &[
                ("numbers", 4.into()),
                ("max_number", 50.into()),
                ("max_target", 200.into()),
                ("observation", words("text")),
            ],
        )
        .preset(
            "paper",
            "Four to six numbers up to 100 in its hardest form: targets from 100 to 999.",
            &[
                ("numbers", 4.into()),
                ("max_number", 100.into()),
                ("min_target", 100.into()),
                ("max_target", 999.into()),
                ("observation", words("text")),
            ],
        )
        .preset(
            "easy",
            "Three small numbers.",
            &[("numbers", 3.into()), ("max_number", 12.into()), ("max_target", 60.into())],
        )
        .preset(
            "hard",
            "Six numbers up to 100, one answer.",
            &[
                ("numbers", 6.into()),
                ("max_number", 100.into()),
                ("min_target", 100.into()),
                ("max_target", 999.into()),
                ("attempts", 1.into()),
                ("observation", words("text")),
            ],
        )
    }

    fn configure(settings: &[Configured]) -> Result<Configuration, Problem> {
        puzzle::check(settings)?;
        let configuration =
            Configuration::default().max_turns(settings.integer("attempts")?).takes_records();
        Ok(match settings.text("observation")? {
            "list" => configuration.vocabulary(Format::of(settings)?.words(vocabulary(settings)?)),
            _ => configuration,
        })
    }

    fn start(task: &Task) -> Result<Self, Problem> {
        let (puzzle, known) = Puzzle::of(task)?;
        let is_list = task.settings.text("observation")? == "list";
        if is_list && task.entry.is_some() {
            // A vocabulary was promised, and a record may not break it.
            let words = vocabulary(&task.settings)?;
            let is_known = |number: &i64| words.contains(&number.to_string());
            if !puzzle.numbers.iter().chain([&puzzle.target]).all(is_known) {
                let message = "a number of the record is larger than `max_number` and `max_target`: \
                               raise them, or set `observation` to `text`";
                return Err(Problem::settings(message));
            }
        }
        Ok(Countdown {
            puzzle,
            known,
            all: task.settings.text("use")? == "all",
            attempts: task.settings.integer("attempts")?,
            proposals: Proposals::default(),
            is_list,
            format: Format::of(&task.settings)?,
            last: String::new(),
        })
    }

    fn rules(&self, _seat: &Seat) -> String {
        let use_of =
            if self.all { "Use every number exactly once" } else { "Use numbers at most once" };
        let rules = format!(
            "Make the target out of the numbers, with `+`, `-`, `*`, `/` and parentheses. {use_of}; \
             one that is there twice may be used twice. Fractions on the way are fine. An answer \
             is one expression, without `=` and without the target.{}",
            if self.is_list {
                " You see the numbers, the target, and how many answers you may still give. In an \
                 answer, spaces stand around everything: `( a + b ) * c`, numbers in place of letters."
            } else {
                ""
            }
        );
        self.format.asked_for(rules)
    }

    fn observe(&self, _seat: &Seat) -> String {
        let join = |separator: &str| {
            let numbers: Vec<String> = self.puzzle.numbers.iter().map(i64::to_string).collect();
            numbers.join(separator)
        };
        let (target, attempts) = (self.puzzle.target, self.attempts);
        if self.is_list {
            return format!("numbers {} target {target} left {attempts}", join(" "));
        }
        let last = match self.last.as_str() {
            "" => String::new(),
            last => format!("Your last answer was wrong: {last}\n\n"),
        };
        let noun = if attempts == 1 { "answer" } else { "answers" };
        format!(
            "{last}Numbers: {}\nTarget: {target}\n\nYou may still give {attempts} {noun}. Answer \
             with an expression such as `(a + b) * c`, numbers in place of letters.",
            join(", ")
        )
    }

    fn act(&mut self, seat: &Seat, action: &Action) -> Result<Outcome, Problem> {
        match action.kind.as_str() {
            "answer" => Ok(self.answer(action)),
            "plan" => Ok(self.consider(seat, action)),
            _ => Err(Problem::unknown_kind(action)),
        }
    }

    fn demonstrate(&self, _seat: &Seat) -> Option<Action> {
        let way = self.known.clone().or_else(|| search::solve(&self.puzzle, self.all))?;
        Some(self.format.written(Action::new("answer", way)))
    }

    fn reveal(&self) -> Option<String> {
        self.known.clone()
    }
}

impl Rendered for Countdown {
    fn render(&self) -> Rendering {
        let numbers: Vec<String> = self.puzzle.numbers.iter().map(i64::to_string).collect();
        let text = format!("{} -> {}\n{}", numbers.join(" "), self.puzzle.target, self.last);
        Rendering { text, svg: picture::svg(&self.puzzle, &self.last) }
    }
}

impl Countdown {
    fn answer(&mut self, action: &Action) -> Outcome {
        self.attempts = self.attempts.saturating_sub(1);
        let outcome = match self.judge(action) {
            Ok(()) => return Outcome::accepted().team("solved", SOLVED).solved(),
            Err(outcome) => outcome,
        };
        outcome.told().clone_into(&mut self.last);
        if self.attempts == 0 { outcome.failed() } else { outcome }
    }

    /// Score a plan without answering.
    fn consider(&mut self, seat: &Seat, action: &Action) -> Outcome {
        let (worth, outcome) = match self.judge(action) {
            Ok(()) => (PLANNED, Outcome::accepted()),
            Err(outcome) => (0.0, outcome),
        };
        outcome.local("plan", self.proposals.pay(seat, worth))
    }

    /// What is wrong with it, and what that costs.
    fn judge(&self, action: &Action) -> Result<(), Outcome> {
        let read = self.format.read(&action.kind, &action.text, expression);
        let read = read.map_err(|why| Outcome::unreadable(why, UNREADABLE))?;
        self.puzzle.judge(&read, self.all).map_err(|fault| match fault {
            Fault::Numbers(why) => Outcome::rejected(why).local("unlawful", UNLAWFUL),
            Fault::Value(why) => Outcome::accepted().feedback(why).local("wrong", WRONG),
        })
    }
}

/// The expression of a text that holds nothing else.
fn expression(text: &str) -> Result<Expression, Unreadable> {
    let is_part = |letter: char| letter.is_ascii_digit() || SIGNS.contains(letter);
    let known = |word: &str| word.chars().all(is_part);
    Expression::read(text).map_err(|why| Unreadable::new(why).among(text.split_whitespace(), known))
}

/// Every word of a short observation and of expressions.
fn vocabulary(settings: &[Configured]) -> Result<Vec<String>, Problem> {
    let largest: i32 = settings.integer::<i32>("max_number")?.max(settings.integer("max_target")?);
    let signs = ["numbers", "target", "left", "+", "-", "*", "/", "(", ")"].map(str::to_owned);
    Ok(signs.into_iter().chain((0..=largest.max(10)).map(|number| number.to_string())).collect())
}

plugin_sdk::export!(environment: Countdown, rendering: Countdown);

#[cfg(test)]
mod tests {
    use super::*;
    use plugin_sdk::Random;
    use plugin_sdk::environment::{Split, Status};

    fn task(seed: u32) -> Task {
        Task::of::<Countdown>(Split::Test, seed).with("numbers", 3 + seed as i32 % 4)
    }

    fn record() -> Countdown {
        let entry = Some(r#"{"numbers": [3, 7, 25], "target": 46}"#.to_owned());
        let task = Task { entry, ..task(0).with("observation", "text") };
        Countdown::start(&task).expect("a record")
    }

    fn act(game: &mut Countdown, kind: &str, text: &str) -> Outcome {
        game.act(&Seat::new("player"), &Action::new(kind, text)).expect("a known kind")
    }

    fn worth(outcome: &Outcome) -> f64 {
        (100.0 * (outcome.for_team() + outcome.for_mover(0))).round() / 100.0
    }

    #[test]
    fn mistakes_cost_and_say_why_and_the_target_ends_the_episode() {
        let mut game = record();
        for (text, worth_of_it, told) in [
            ("it is hard", -0.38, "`i` has no place in the expression."),
            ("25 + 7", -0.2, "3 is not used."),
            ("3 + 7 + 25", -0.1, "This is 35, not 46."),
        ] {
            let outcome = act(&mut game, "answer", text);
            assert_eq!((worth(&outcome), outcome.told()), (worth_of_it, told), "{text}");
            assert!(game.observe(&Seat::new("player")).contains(told));
        }
        let outcome = act(&mut game, "answer", "7 * 3 is 21, so\n<answer>25 + 7*3</answer>");
        assert_eq!((worth(&outcome), outcome.status), (SOLVED, Status::Solved));
    }

    #[test]
    fn the_last_answer_ends_the_episode() {
        let mut game = record();
        let ends = [(); 4].map(|()| act(&mut game, "answer", "").status);
        assert_eq!(ends[2..], [Status::Ongoing, Status::Failed]);
    }

    #[test]
    fn plans_are_paid_for_what_they_add_to_the_last_one() {
        let mut game = record();
        let worths = ["3 + 7 + 25", "25 + 7 * 3", "25 + 7 * 3", "", "25 + 3 * 7"]
            .map(|plan| worth(&act(&mut game, "plan", plan)));
        assert_eq!(worths, [-0.1, 0.5, 0.0, -0.88, 0.5]);
        assert_eq!(game.attempts, 4);
    }

    #[test]
    fn the_expert_solves_a_thousand_tasks_and_records() {
        for seed in 0..1000 {
            let mut game = Countdown::start(&task(seed)).expect("a task");
            let way = game.demonstrate(&Seat::new("player")).expect("a way");
            assert_eq!(act(&mut game, "answer", &way.text).status, Status::Solved, "{seed}");
        }
        let mut game = record();
        let way = game.demonstrate(&Seat::new("player")).expect("a way");
        assert_eq!(act(&mut game, "answer", &way.text).status, Status::Solved);
    }

    #[test]
    fn nobody_earns_by_anything_but_a_solution_what_the_worst_solution_pays() {
        let mut random = Random::new(Split::Train, 0, "aimless");
        let worst = SOLVED + 10.0 * UNREADABLE;
        for seed in 0..120 {
            for text in ["", "(1 + 2) * 3", "(a + b) * c", "1", "1 + 1"] {
                for kinds in [["answer", "answer"], ["plan", "plan"], ["plan", "answer"]] {
                    let mut game = Countdown::start(&task(seed)).expect("a task");
                    let mut earned = 0.0;
                    for turn in 0..20 {
                        let outcome = act(&mut game, kinds[turn % 2], text);
                        earned += worth(&outcome);
                        if outcome.status != Status::Ongoing {
                            break;
                        }
                    }
                    assert!(earned < worst, "{seed} {text}");
                }
            }
            let mut game = Countdown::start(&task(seed)).expect("a task");
            let numbers: Vec<String> = game.puzzle.numbers.iter().map(i64::to_string).collect();
            let mut earned = 0.0;
            loop {
                let mut order = numbers.clone();
                random.shuffle(&mut order);
                let sign = random.choose(&[" + ", " - ", " * ", " / "]).expect("a sign");
                let outcome = act(&mut game, "answer", &order.join(sign));
                earned += worth(&outcome);
                if outcome.status != Status::Ongoing {
                    assert!(outcome.status == Status::Solved || earned < 0.0);
                    break;
                }
            }
            let mut game = Countdown::start(&task(seed)).expect("a task");
            let way = game.demonstrate(&Seat::new("player")).expect("a way").text;
            let earned: f64 = (0..20).map(|_| worth(&act(&mut game, "plan", &way))).sum();
            assert!((earned - PLANNED).abs() < 1e-9 && earned < worst);
        }
    }

    /// A task as language models play it.
    fn four_numbers(split: Split, seed: u32) -> Countdown {
        let task = Task::of::<Countdown>(split, seed).with("numbers", 4).with("max_number", 50);
        let task = task.with("max_target", 200).with("observation", "text");
        Countdown::start(&task).expect("a task")
    }

    /// Tasks stay what they are for ever.
    #[test]
    fn the_first_tasks_of_every_split_are_these() {
        let looks = Split::ALL.map(|split| {
            let Puzzle { numbers, target } = four_numbers(split, 0).puzzle;
            format!("{numbers:?} {target}")
        });
        assert_eq!(looks, ["[32, 4, 32, 36] 104", "[37, 42, 25, 5] 49", "[42, 14, 16, 17] 30"]);
    }

    #[test]
    fn the_first_fifty_tasks_of_every_split_have_these_digests() {
        let digests = Split::ALL.map(|split| {
            let look = |seed| four_numbers(split, seed).observe(&Seat::new("player"));
            let looks: Vec<String> = (0..50).map(look).collect();
            // Chance that is seeded by a text is a digest of it.
            format!("{:016x}", Random::new(split, 0, &looks.join("\n")).bits())
        });
        assert_eq!(digests, ["349c0e440b61f59d", "d87eb035239b8d35", "3eb71aecbcb2d6a3"]);
    }
}
