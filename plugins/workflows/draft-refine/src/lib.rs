//! Draft and refine: a drafter answers, a solver sees the draft and acts.
//!
//! In tree sampling with the greedy choice of a branch the solver sees the best
//! of K drafts, which is the second stage of iGRPO (arXiv 2602.09000).

use plugin_sdk::prompt::{Prompt, RolePrompt};
use plugin_sdk::workflow::{
    Action, ActionKind, Briefing, Configuration, Configured, Description, Event, Problem, Seat,
    Step, View, Workflow, seen_by,
};
use plugin_sdk::{Kinds, Open};
use serde::{Deserialize, Serialize};

const DRAFTER: RolePrompt = RolePrompt {
    role: "drafter",
    summary: "Answers first.",
    task: "",
    message: "{observation}",
    fields: &["observation", "feedback", "turns_left"],
};
const SOLVER: RolePrompt = RolePrompt {
    role: "solver",
    summary: "Sees a draft and acts.",
    task: "A draft of an answer stands after the word `draft`: make a better one of it.",
    message: "{observation} draft {draft}",
    fields: &["observation", "draft", "feedback", "turns_left"],
};
/// What language models are told instead.
const TO_READ: [(RolePrompt, &str, &str); 2] = [
    (
        DRAFTER,
        "You are the first in a team of two. In each turn you see how things stand now and write \
         a draft of the answer. Nothing is done by it: a colleague sees your draft and gives the \
         answer that counts. You are rewarded, as a team, for what that answer achieves.",
        "{observation}",
    ),
    (
        SOLVER,
        "You are the second in a team of two: what you answer is done. You see how things stand \
         now and, below that, a colleague's draft of the answer. Check it, and give a better \
         answer, or the same one if it is right. You are rewarded, as a team, for what your \
         answer achieves.",
        "{observation}\n\nThe draft:\n{draft}",
    ),
];

/// One session of the two.
#[derive(Serialize, Deserialize)]
pub struct DraftRefine {
    kinds: Kinds,
    drafter: Prompt,
    solver: Prompt,
    /// What the solver sees.
    observation: String,
    draft: String,
    /// Drafts that were not used, and that are not scored.
    drafted: Open,
}

impl Workflow for DraftRefine {
    fn describe() -> Description {
        let summary = "A drafter answers first, a solver improves on the draft.";
        Description::new("draft-refine", env!("CARGO_PKG_VERSION"), summary)
            .reusable()
            .setting(Kinds::setting())
            .prompts(&[DRAFTER, SOLVER])
            .texts_for_language_models(&TO_READ)
    }

    fn configure(
        settings: &[Configured],
        environment: &[ActionKind],
    ) -> Result<Configuration, Problem> {
        Kinds::choose(settings, environment)?;
        Configuration::default().prompted(&DRAFTER, 1, settings)?.prompted(&SOLVER, 1, settings)
    }

    fn start(briefing: &Briefing) -> Result<Self, Problem> {
        let kinds = Kinds::choose(&briefing.settings, &briefing.actions)?;
        Ok(DraftRefine {
            drafter: DRAFTER.begin(briefing, Some(kinds.acting()))?,
            solver: SOLVER.begin(briefing, Some(kinds.acting()))?,
            kinds,
            observation: String::new(),
            draft: String::new(),
            drafted: Open::default(),
        })
    }

    fn advance(&mut self, event: Event) -> Result<Step, Problem> {
        self.drafter.note(&event);
        self.solver.note(&event);
        match event {
            Event::Begun(views) => Ok(self.ask_drafter(&views)),
            Event::Replied(reply) if reply.seat.role == DRAFTER.role => {
                self.draft = reply.answer().to_owned();
                if !self.kinds.scores_proposals() {
                    self.drafted.take(&reply);
                }
                let scored = self.kinds.propose([(reply.seat, self.draft.as_str())]);
                Ok(scored.unwrap_or_else(|| self.ask_solver()))
            }
            Event::Replied(reply) => Ok(self.kinds.act(&reply.seat, reply.answer())),
            Event::Acted(seen) if !seen.is_ongoing() => Ok(Step::finish()),
            Event::Acted(seen) if seen.mover().is_some_and(|seat| seat.role == DRAFTER.role) => {
                Ok(self.ask_solver())
            }
            Event::Acted(seen) => {
                let step = self.ask_drafter(&seen.views);
                Ok(self.drafted.settle(step))
            }
            Event::Returned(_) => Err(Problem::unexpected(&event)),
        }
    }

    fn demonstrate(&self, _seat: &Seat, expert: &Action) -> Option<String> {
        Some(expert.text.clone())
    }
}

impl DraftRefine {
    fn ask_drafter(&mut self, views: &[View]) -> Step {
        self.observation = seen_by(views, &Seat::new(SOLVER.role));
        let observation = seen_by(views, &Seat::new(DRAFTER.role));
        let request = self.drafter.request(0, &[("observation", &observation)]);
        Step::ask(self.kinds.to_propose(request))
    }

    fn ask_solver(&mut self) -> Step {
        let values = [("observation", self.observation.as_str()), ("draft", &self.draft)];
        Step::ask(self.solver.request(0, &values))
    }
}

plugin_sdk::export!(workflow: DraftRefine);
