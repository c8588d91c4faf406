//! Filler and checker: a filler writes digits, a checker, who sees the result,
//! erases mistakes.
//!
//! Every turn begins afresh with one system and one user message, so that the
//! prompt stays as short as what there is to see.

use plugin_sdk::environment::Action;
use plugin_sdk::workflow::{
    Briefing, Description, Directive, Event, Problem, Request, Status, Workflow,
};
use plugin_sdk::{Settings, state};
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
            .role(FILLER, "Fills in what is missing.")
            .role(CHECKER, "Sees what was filled in and erases mistakes.")
            .action("fill")
            .action("erase")
    }

    fn vocabulary(_settings: &Settings) -> Vec<String> {
        [FILLER, CHECKER, PASS].map(str::to_owned).to_vec()
    }

    fn start(briefing: &Briefing) -> Result<Self, Problem> {
        let system = |task: &str, kind: &str| -> Result<String, Problem> {
            let format = &briefing.action(kind)?.summary;
            let end = "You may think first. End your answer with a line that holds nothing but";
            Ok(format!("{}\n\n{task} {end} {format}.", briefing.rules))
        };
        let filler_task = "You are the filler: fill in what you are sure of, or `pass` if \
                           something has to be erased first.";
        let checker_task = "You are the checker: erase what is wrong, or `pass` if nothing is.";
        Ok(FillerChecker {
            filler_system: system(filler_task, "fill")?,
            checker_system: system(checker_task, "erase")?,
        })
    }

    fn advance(&mut self, event: Event) -> Result<Directive, Problem> {
        match event {
            Event::Begun(observation) => Ok(self.ask_filler(&observation)),
            Event::Replied(reply) if reply.role == FILLER => {
                Ok(Directive::act(FILLER, "fill", reply.last_line()))
            }
            Event::Replied(reply) if reply.role == CHECKER => {
                Ok(Directive::act(CHECKER, "erase", reply.last_line()))
            }
            Event::Acted(effect) if effect.status != Status::Ongoing => Ok(Directive::Finish),
            Event::Acted(effect) if effect.role == FILLER => {
                Ok(self.ask_checker(&effect.observation))
            }
            Event::Acted(effect) if effect.role == CHECKER => {
                Ok(self.ask_filler(&effect.observation))
            }
            _ => Err(Problem::unexpected(&event)),
        }
    }

    fn demonstrate(&self, role: &str, expert: &Action) -> Option<String> {
        let kind = if role == FILLER { "fill" } else { "erase" };
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
    fn ask_filler(&self, observation: &str) -> Directive {
        let told = format!("{FILLER} {observation}");
        Directive::ask(Request::new(FILLER).system(&self.filler_system).user(told))
    }

    fn ask_checker(&self, observation: &str) -> Directive {
        let told = format!("{CHECKER} {observation}");
        Directive::ask(Request::new(CHECKER).system(&self.checker_system).user(told))
    }
}

plugin_sdk::export!(workflow: FillerChecker);
