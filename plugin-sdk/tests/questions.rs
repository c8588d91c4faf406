//! Questions that are alike but for a number, which is what is asked.

use plugin_sdk::Random;
use plugin_sdk::environment::{
    self, Action, Configured, Environment, Outcome, Problem, Seat, Split, Task,
};
use plugin_sdk::testing::check_environment;
use serde::{Deserialize, Serialize};

/// What is asked of a number.
const ITS_ONES: u8 = 0;
/// Nothing is: the number is the task's, and the question is one of a few.
const NOTHING: u8 = 1;

/// A number, and a question with a short answer.
#[derive(Serialize, Deserialize)]
struct Question<const OF: u8> {
    number: u32,
    answer: String,
    over: bool,
}

impl<const OF: u8> Environment for Question<OF> {
    fn describe() -> environment::Description {
        environment::Description::new("question", "1.0.0", "Answer the question.")
            .action("answer", "a number in digits")
    }

    fn configure(_settings: &[Configured]) -> Result<environment::Configuration, Problem> {
        Ok(environment::Configuration::default().max_turns(1))
    }

    fn start(task: &Task) -> Result<Self, Problem> {
        let mut random = Random::new(task.split, task.seed, "number");
        let number = loop {
            let number = random.below(1_000_000) as u32;
            if Split::owning(&number.to_le_bytes()) == task.split {
                break number;
            }
        };
        let answer = match OF {
            ITS_ONES => number.count_ones().to_string(),
            _ => "31".to_owned(),
        };
        Ok(Question { number, answer, over: false })
    }

    fn rules(&self, _seat: &Seat) -> String {
        "Answer in digits.".to_owned()
    }

    fn observe(&self, _seat: &Seat) -> String {
        match OF {
            ITS_ONES => format!("How many ones has {} in binary ?", self.number),
            _ => format!("Question {} : how many days has May ?", self.number),
        }
    }

    fn act(&mut self, _seat: &Seat, action: &Action) -> Result<Outcome, Problem> {
        if self.over || action.text.is_empty() || !action.text.bytes().all(|b| b.is_ascii_digit()) {
            return Ok(Outcome::rejected("Answer in digits."));
        }
        self.over = true;
        Ok(match action.text == self.answer {
            true => Outcome::accepted().team("right", 1.0).solved(),
            false => Outcome::accepted().failed(),
        })
    }

    fn demonstrate(&self, _seat: &Seat) -> Option<Action> {
        Some(Action::new("answer", self.answer.as_str()))
    }
}

#[test]
fn a_number_that_says_what_is_asked_is_no_number_on_the_same_task() {
    let report = check_environment::<Question<ITS_ONES>>();
    let found = report.finding("splits").unwrap();
    assert!(found.verdict == plugin_sdk::testing::Verdict::Passed, "{report}");
}

#[test]
fn a_number_that_says_nothing_is() {
    let report = check_environment::<Question<NOTHING>>();
    assert!(report.to_string().contains("but for a number or a name, like"), "{report}");
}
