//! Filler and checker: a filler writes digits, a checker, who sees the result,
//! erases mistakes.
//!
//! Every turn begins afresh with one system and one user message, so that the
//! prompt stays as short as what there is to see.

use plugin_sdk::prompt::{Prompt, RolePrompt};
use plugin_sdk::workflow::{
    Action, ActionKind, Briefing, Configuration, Configured, Description, Event, Problem, Seat,
    Step, Workflow, action_kind, seen_by,
};
use serde::{Deserialize, Serialize};

const FILLER: RolePrompt = RolePrompt {
    role: "filler",
    summary: "Fills in what is missing.",
    task: "You are the filler: fill in what you are sure of, or `pass` if something has to be \
           erased first.",
    message: "filler {observation}",
    fields: &["observation", "feedback", "turns_left"],
};
const CHECKER: RolePrompt = RolePrompt {
    role: "checker",
    summary: "Sees what was filled in and erases mistakes.",
    task: "You are the checker: erase what is wrong, or `pass` if nothing is.",
    message: "checker {observation}",
    fields: &["observation", "feedback", "turns_left"],
};
/// What language models are told instead.
const TO_READ: [(RolePrompt, &str, &str); 2] = [
    (
        FILLER,
        "You are the filler in a team of two. In each turn you see how things stand now; fill in \
         what you are sure of, or answer `pass` if something has to be erased first. A checker \
         takes its turn behind yours and erases mistakes. You are rewarded, as a team, for what \
         is filled in rightly.",
        "{observation}",
    ),
    (
        CHECKER,
        "You are the checker in a team of two. A filler fills in, then you see the result: erase \
         what is wrong, or answer `pass` if nothing is. You are rewarded, as a team, for what is \
         filled in rightly.",
        "{observation}",
    ),
];
/// What a role says when it is the other's turn to do something.
const PASS: &str = "pass";

/// One session of the two.
#[derive(Serialize, Deserialize)]
pub struct FillerChecker {
    filler: Prompt,
    checker: Prompt,
}

impl Workflow for FillerChecker {
    fn describe() -> Description {
        let summary = "A filler fills in what is missing, a checker erases mistakes.";
        Description::new("filler-checker", env!("CARGO_PKG_VERSION"), summary)
            .reusable()
            .action("fill")
            .action("erase")
            .prompts(&[FILLER, CHECKER])
            .texts_for_language_models(&TO_READ)
    }

    fn configure(
        settings: &[Configured],
        environment: &[ActionKind],
    ) -> Result<Configuration, Problem> {
        ["fill", "erase"].iter().try_for_each(|kind| action_kind(environment, kind).map(drop))?;
        let roles = Configuration::default().prompted(&FILLER, 1, settings)?;
        Ok(roles.prompted(&CHECKER, 1, settings)?.words(&[PASS]))
    }

    fn start(briefing: &Briefing) -> Result<Self, Problem> {
        Ok(FillerChecker {
            filler: FILLER.begin(briefing, Some("fill"))?,
            checker: CHECKER.begin(briefing, Some("erase"))?,
        })
    }

    fn advance(&mut self, event: Event) -> Result<Step, Problem> {
        self.filler.note(&event);
        self.checker.note(&event);
        match event {
            Event::Begun(views) => Ok(self.ask_filler(&seen_by(&views, &Seat::new(FILLER.role)))),
            Event::Replied(reply) if reply.seat.role == FILLER.role => {
                Ok(Step::act(&reply.seat, "fill", reply.answer()))
            }
            Event::Replied(reply) if reply.seat.role == CHECKER.role => {
                Ok(Step::act(&reply.seat, "erase", reply.answer()))
            }
            Event::Acted(seen) if !seen.is_ongoing() => Ok(Step::finish()),
            Event::Acted(seen) if seen.mover().is_some_and(|seat| seat.role == FILLER.role) => {
                Ok(self.ask_checker(&seen.seen_by(&Seat::new(CHECKER.role))))
            }
            Event::Acted(seen) => Ok(self.ask_filler(&seen.seen_by(&Seat::new(FILLER.role)))),
            _ => Err(Problem::unexpected(&event)),
        }
    }

    fn demonstrate(&self, seat: &Seat, expert: &Action) -> Option<String> {
        let kind = if seat.role == FILLER.role { "fill" } else { "erase" };
        Some(if expert.kind == kind { expert.text.clone() } else { PASS.to_owned() })
    }
}

impl FillerChecker {
    fn ask_filler(&mut self, observation: &str) -> Step {
        Step::ask(self.filler.request(0, &[("observation", observation)]))
    }

    fn ask_checker(&mut self, observation: &str) -> Step {
        Step::ask(self.checker.request(0, &[("observation", observation)]))
    }
}

plugin_sdk::export!(workflow: FillerChecker);
