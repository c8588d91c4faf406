//! Filler and checker: a filler writes digits, a checker, who sees the result,
//! erases mistakes.
//!
//! Every turn begins afresh with one system and one user message, so that the
//! prompt stays as short as what there is to see.

use plugin_sdk::state;
use plugin_sdk::workflow::{
    Action, ActionKind, Briefing, Configuration, Configured, Description, Event, Problem, Request,
    Seat, Step, Workflow, action_kind, seen_by,
};
use serde::{Deserialize, Serialize};

const FILLER: &str = "filler";
const CHECKER: &str = "checker";
/// What a role says when it is the other's turn to do something.
const PASS: &str = "pass";

/// One session of the two.
#[derive(Serialize, Deserialize)]
pub struct FillerChecker {
    filler_system: String,
    checker_system: String,
}

impl Workflow for FillerChecker {
    fn describe() -> Description {
        let summary = "A filler fills in what is missing, a checker erases mistakes.";
        Description::new("filler-checker", env!("CARGO_PKG_VERSION"), summary)
            .action("fill")
            .action("erase")
    }

    fn configure(
        _settings: &[Configured],
        environment: &[ActionKind],
    ) -> Result<Configuration, Problem> {
        ["fill", "erase"].iter().try_for_each(|kind| action_kind(environment, kind).map(drop))?;
        Ok(Configuration::default()
            .role(FILLER, "Fills in what is missing.")
            .role(CHECKER, "Sees what was filled in and erases mistakes.")
            .words(&[FILLER, CHECKER, PASS]))
    }

    fn start(briefing: &Briefing) -> Result<Self, Problem> {
        let filler_task = "You are the filler: fill in what you are sure of, or `pass` if \
                           something has to be erased first.";
        let checker_task = "You are the checker: erase what is wrong, or `pass` if nothing is.";
        Ok(FillerChecker {
            filler_system: briefing.instructions(FILLER, filler_task, "fill")?,
            checker_system: briefing.instructions(CHECKER, checker_task, "erase")?,
        })
    }

    fn advance(&mut self, event: Event) -> Result<Step, Problem> {
        match event {
            Event::Begun(views) => Ok(self.ask_filler(&seen_by(&views, &Seat::new(FILLER)))),
            Event::Replied(reply) if reply.seat.role == FILLER => {
                Ok(Step::act(FILLER, "fill", reply.last_line()))
            }
            Event::Replied(reply) if reply.seat.role == CHECKER => {
                Ok(Step::act(CHECKER, "erase", reply.last_line()))
            }
            Event::Acted(seen) if !seen.is_ongoing() => Ok(Step::finish()),
            Event::Acted(seen) if seen.mover().is_some_and(|seat| seat.role == FILLER) => {
                Ok(self.ask_checker(&seen.seen_by(&Seat::new(CHECKER))))
            }
            Event::Acted(seen) => Ok(self.ask_filler(&seen.seen_by(&Seat::new(FILLER)))),
            _ => Err(Problem::unexpected(&event)),
        }
    }

    fn demonstrate(&self, seat: &Seat, expert: &Action) -> Option<String> {
        let kind = if seat.role == FILLER { "fill" } else { "erase" };
        Some(if expert.kind == kind { expert.text.clone() } else { PASS.to_owned() })
    }

    fn save(&self) -> Option<Vec<u8>> {
        state::save(self)
    }

    fn resume(bytes: &[u8]) -> Result<Self, Problem> {
        Ok(state::load(bytes)?)
    }
}

impl FillerChecker {
    fn ask_filler(&self, observation: &str) -> Step {
        let told = format!("{FILLER} {observation}");
        Step::ask(Request::new(FILLER).system(&self.filler_system).user(told))
    }

    fn ask_checker(&self, observation: &str) -> Step {
        let told = format!("{CHECKER} {observation}");
        Step::ask(Request::new(CHECKER).system(&self.checker_system).user(told))
    }
}

plugin_sdk::export!(workflow: FillerChecker);
