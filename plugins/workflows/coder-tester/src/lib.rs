//! Coder and tester: at the same time, one writes a program and one writes
//! tests. What disagrees is shown to both, until nothing does. The paper's team
//! for code (arXiv 2510.11062).

use plugin_sdk::prompt::{Prompt, RolePrompt};
use plugin_sdk::workflow::{
    Action, ActionKind, Briefing, Configuration, Configured, Description, Event, Move, Problem,
    Seat, Step, View, Workflow, action_kind, seen_by,
};
use serde::{Deserialize, Serialize};

const CODER: RolePrompt = RolePrompt {
    role: "coder",
    summary: "Writes the program.",
    task: "You are the coder: write the program. A tester writes tests at the same time; where \
           the two disagree, find out who is wrong.",
    message: "{observation}",
    fields: &["observation", "feedback", "turns_left"],
};
const TESTER: RolePrompt = RolePrompt {
    role: "tester",
    summary: "Writes the tests.",
    task: "You are the tester: write tests that a right program passes and a wrong one does not. \
           A coder writes the program at the same time; where the two disagree, find out who is \
           wrong.",
    message: "{observation}",
    fields: &["observation", "feedback", "turns_left"],
};
/// What language models are told instead.
const TO_READ: [(RolePrompt, &str, &str); 2] = [
    (
        CODER,
        "You are the coder in a team of two: write the program. A tester writes tests at the same \
         time and does not see your program. Where program and tests disagree, both of you are \
         shown it and answer again: find out who is wrong. You are rewarded for a program that \
         does what is asked.",
        "{observation}",
    ),
    (
        TESTER,
        "You are the tester in a team of two: write tests that a right program passes and a wrong \
         one does not. A coder writes the program at the same time and does not see your tests. \
         Where program and tests disagree, both of you are shown it and answer again: find out \
         who is wrong. You are rewarded for tests that are right and, as a team, for a program \
         that does what is asked.",
        "{observation}",
    ),
];
const PROGRAM: &str = "program";
const TESTS: &str = "tests";

/// One session of the two.
#[derive(Serialize, Deserialize)]
pub struct CoderTester {
    coder: Prompt,
    tester: Prompt,
    /// The coder's answer, while the tester's is due.
    program: String,
}

impl Workflow for CoderTester {
    fn describe() -> Description {
        let summary = "A coder and a tester write a program and tests until they agree.";
        Description::new("coder-tester", env!("CARGO_PKG_VERSION"), summary)
            .reusable()
            .action(PROGRAM)
            .action(TESTS)
            .prompts(&[CODER, TESTER])
            .texts_for_language_models(&TO_READ)
    }

    fn configure(
        settings: &[Configured],
        environment: &[ActionKind],
    ) -> Result<Configuration, Problem> {
        [PROGRAM, TESTS].iter().try_for_each(|kind| action_kind(environment, kind).map(drop))?;
        Configuration::default().prompted(&CODER, 1, settings)?.prompted(&TESTER, 1, settings)
    }

    fn start(briefing: &Briefing) -> Result<Self, Problem> {
        Ok(CoderTester {
            coder: CODER.begin(briefing, Some(PROGRAM))?,
            tester: TESTER.begin(briefing, Some(TESTS))?,
            program: String::new(),
        })
    }

    fn advance(&mut self, event: Event) -> Result<Step, Problem> {
        self.coder.note(&event);
        self.tester.note(&event);
        match event {
            Event::Begun(views) => Ok(self.ask(&views)),
            Event::Replied(reply) if reply.seat.role == CODER.role => {
                self.program = reply.answer().to_owned();
                Ok(Step::wait())
            }
            Event::Replied(reply) => Ok(Step::act_together(vec![
                Move::new(CODER.role, PROGRAM, &self.program),
                Move::new(TESTER.role, TESTS, reply.answer()),
            ])),
            Event::Acted(seen) if seen.is_ongoing() => Ok(self.ask(&seen.views)),
            Event::Acted(_) => Ok(Step::finish()),
            Event::Returned(_) => Err(Problem::unexpected(&event)),
        }
    }

    fn demonstrate(&self, seat: &Seat, expert: &Action) -> Option<String> {
        let kind = if seat.role == CODER.role { PROGRAM } else { TESTS };
        (expert.kind == kind).then(|| expert.text.clone())
    }
}

impl CoderTester {
    fn ask(&mut self, views: &[View]) -> Step {
        let see = |role: &str| seen_by(views, &Seat::new(role));
        Step::ask_all(vec![
            self.coder.request(0, &[("observation", &see(CODER.role))]),
            self.tester.request(0, &[("observation", &see(TESTER.role))]),
        ])
    }
}

plugin_sdk::export!(workflow: CoderTester);
