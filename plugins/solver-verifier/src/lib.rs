//! Solver and verifier: a solver answers; a verifier accepts the answer, and it
//! is done, or criticizes it, and the solver answers again.

use plugin_sdk::prompt::{Prompt, RolePrompt};
use plugin_sdk::workflow::{
    Action, ActionKind, Briefing, Configuration, Configured, Description, Event, Problem, Reply,
    Seat, Step, View, Workflow, seen_by,
};
use plugin_sdk::{Kinds, Setting, Settings, state};
use serde::{Deserialize, Serialize};

const SOLVER: RolePrompt = RolePrompt {
    role: "solver",
    summary: "Answers.",
    task: "You are the solver. If a verifier has criticized your last answer, the answer and the \
           criticism stand behind the word `criticism`.",
    message: "{observation} {criticism}",
    fields: &["observation", "criticism"],
};
const VERIFIER: RolePrompt = RolePrompt {
    role: "verifier",
    summary: "Accepts an answer or says what is wrong with it.",
    task: "You are the verifier: a solver's answer stands behind the word `solution`. Check it. \
           End with a line that holds nothing but `accept`, or with one that begins with `reject` \
           and says what is wrong.",
    message: "{observation} solution {solution}",
    fields: &["observation", "solution"],
};
/// The first word of a verdict.
const ACCEPT: &str = "accept";
const REJECT: &str = "reject";
/// Before an answer that was criticized.
const CRITICISM: &str = "criticism";

/// One session of the two.
#[derive(Serialize, Deserialize)]
pub struct SolverVerifier {
    kinds: Kinds,
    rounds: u32,
    solver: Prompt,
    verifier: Prompt,
    /// What the solver and the verifier see.
    seen: [String; 2],
    /// Answers since the last action.
    round: u32,
    solution: String,
    /// Whether the solution is being done, not only scored.
    decided: bool,
}

impl Workflow for SolverVerifier {
    fn describe() -> Description {
        let summary = "A solver answers, a verifier accepts or criticizes.";
        Description::new("solver-verifier", env!("CARGO_PKG_VERSION"), summary)
            .reusable()
            .setting(Kinds::setting())
            .setting(Setting::integer(
                "rounds",
                "Answers of the solver at most; the last one is done, accepted or not.",
                1..=8,
                3,
            ))
            .prompts(&[SOLVER, VERIFIER])
    }

    fn configure(
        settings: &[Configured],
        environment: &[ActionKind],
    ) -> Result<Configuration, Problem> {
        Kinds::choose(settings, environment)?;
        let roles = Configuration::default().prompted(&SOLVER, 1, settings)?;
        Ok(roles.prompted(&VERIFIER, 1, settings)?.words(&[ACCEPT, REJECT, CRITICISM]))
    }

    fn start(briefing: &Briefing) -> Result<Self, Problem> {
        let kinds = Kinds::choose(&briefing.settings, &briefing.actions)?;
        Ok(SolverVerifier {
            rounds: briefing.settings.integer("rounds")?,
            solver: SOLVER.begin(briefing, Some(kinds.acting()))?,
            verifier: VERIFIER.begin(briefing, None)?,
            kinds,
            seen: Default::default(),
            round: 0,
            solution: String::new(),
            decided: false,
        })
    }

    fn advance(&mut self, event: Event) -> Result<Step, Problem> {
        match event {
            Event::Begun(views) => Ok(self.begin(&views)),
            Event::Replied(reply) if reply.seat.role == SOLVER.role => {
                self.solution = reply.answer().to_owned();
                let scored = self.kinds.propose([(reply.seat, self.solution.as_str())]);
                Ok(scored.unwrap_or_else(|| self.ask_verifier()))
            }
            Event::Replied(reply) => Ok(self.judge(&reply)),
            Event::Acted(seen) if !seen.is_ongoing() => Ok(Step::finish()),
            Event::Acted(seen) if self.decided => Ok(self.begin(&seen.views)),
            Event::Acted(_) => Ok(self.ask_verifier()),
            Event::Returned(_) => Err(Problem::unexpected(&event)),
        }
    }

    fn demonstrate(&self, seat: &Seat, expert: &Action) -> Option<String> {
        Some(if seat.role == SOLVER.role { expert.text.clone() } else { ACCEPT.to_owned() })
    }

    fn save(&self) -> Option<Vec<u8>> {
        state::save(self)
    }

    fn resume(bytes: &[u8]) -> Result<Self, Problem> {
        Ok(state::load(bytes)?)
    }
}

impl SolverVerifier {
    fn begin(&mut self, views: &[View]) -> Step {
        self.seen = [SOLVER.role, VERIFIER.role].map(|role| seen_by(views, &Seat::new(role)));
        self.round = 0;
        self.decided = false;
        self.ask_solver("")
    }

    fn ask_solver(&mut self, criticism: &str) -> Step {
        self.round += 1;
        let values = [("observation", self.seen[0].as_str()), ("criticism", criticism)];
        Step::ask(self.solver.request(0, &values))
    }

    fn ask_verifier(&self) -> Step {
        let values = [("observation", self.seen[1].as_str()), ("solution", &self.solution)];
        Step::ask(self.verifier.request(0, &values))
    }

    /// What is accepted is done, and so is the last answer there may be.
    fn judge(&mut self, verdict: &Reply) -> Step {
        let accepted = verdict.last_line().to_lowercase().starts_with(ACCEPT);
        if accepted || self.round >= self.rounds {
            self.decided = true;
            return self.kinds.act(SOLVER.role, &self.solution);
        }
        let criticism = format!("{CRITICISM} {} {}", self.solution, verdict.answer());
        self.ask_solver(&criticism)
    }
}

plugin_sdk::export!(workflow: SolverVerifier);
