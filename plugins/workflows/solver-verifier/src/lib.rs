//! Solver and verifier: a solver answers; a verifier accepts the answer, and it
//! is done, or criticizes it, and the solver answers again.

use plugin_sdk::conclusion::conclusion;
use plugin_sdk::prompt::{Prompt, RolePrompt};
use plugin_sdk::workflow::{
    Action, ActionKind, Briefing, Configuration, Configured, Description, Event, Problem, Reply,
    Seat, Step, View, Workflow, seen_by,
};
use plugin_sdk::{Kinds, Open, Setting, Settings, reading};
use serde::{Deserialize, Serialize};

const SOLVER: RolePrompt = RolePrompt {
    role: "solver",
    summary: "Answers.",
    task: "You are the solver. If a verifier has criticized your last answer, the answer and the \
           criticism stand behind the word `criticism`.",
    message: "{observation} {criticism}",
    fields: &["observation", "criticism", "solution", "verdict", "feedback", "turns_left"],
};
const VERIFIER: RolePrompt = RolePrompt {
    role: "verifier",
    summary: "Accepts an answer or says what is wrong with it.",
    task: "You are the verifier: a solver's answer stands behind the word `solution`. Check it. \
           End with a line that holds nothing but `accept`, or with one that begins with `reject` \
           and says what is wrong.",
    message: "{observation} solution {solution}",
    fields: &["observation", "solution", "turns_left"],
};
/// What language models are told instead.
const TO_READ: [(RolePrompt, &str, &str); 2] = [
    (
        SOLVER,
        "You are the solver in a team of two. You see how things stand now and answer. A verifier \
         checks your answer: if it is accepted, it is done, and if not, you are shown your answer \
         and what was said of it, and answer again. You are rewarded, as a team, for what the \
         answer that is done achieves.",
        "{observation}\n\nYour last answer:\n{solution}\n\nThe verifier did not accept it:\n{verdict}",
    ),
    (
        VERIFIER,
        "You are the verifier in a team of two. You see how things stand now and, below that, the \
         answer of the solver. Check it. You may think first. End your answer with one line: the \
         word `accept` and nothing else if the answer is right, which has it done, or the word \
         `reject`, a colon and what is wrong, and the solver answers again. You are rewarded, as \
         a team, for what the answer that is done achieves.",
        "{observation}\n\nThe solver's answer:\n{solution}",
    ),
];
/// The first word of a verdict.
const ACCEPT: &str = "accept";
const REJECT: &str = "reject";
/// What a verdict may be called.
const LABEL: &str = "verdict";
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
    /// Answers since the last action, and the one that needs no verdict: no later than the
    /// solver's last turn.
    round: u32,
    last: u32,
    solution: String,
    /// Whether the solution is being done, not only scored.
    decided: bool,
    /// Solutions whose verdict is due, where none are scored.
    proposed: Open,
    /// Verdicts since the last action.
    verdicts: Open,
}

impl Workflow for SolverVerifier {
    fn describe() -> Description {
        let summary = "A solver answers, a verifier accepts or criticizes.";
        Description::new("solver-verifier", env!("CARGO_PKG_VERSION"), summary)
            .reusable()
            .setting(Kinds::setting())
            .setting(Setting::integer(
                "rounds",
                "Answers of the solver at most; the last one is done without a verdict.",
                2..=8,
                3,
            ))
            .prompts(&[SOLVER, VERIFIER])
            .texts_for_language_models(&TO_READ)
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
            last: 0,
            solution: String::new(),
            decided: false,
            proposed: Open::default(),
            verdicts: Open::default(),
        })
    }

    fn advance(&mut self, event: Event) -> Result<Step, Problem> {
        self.solver.note(&event);
        self.verifier.note(&event);
        match event {
            Event::Begun(views) => Ok(self.begin(&views)),
            Event::Replied(reply) if reply.seat.role == SOLVER.role => {
                self.solution = reply.answer().to_owned();
                if !self.kinds.scores_proposals() {
                    self.proposed.take(&reply);
                }
                let scored = self.kinds.propose([(reply.seat, self.solution.as_str())]);
                Ok(scored.unwrap_or_else(|| self.ask_verifier()))
            }
            Event::Replied(reply) => Ok(self.judge(&reply)),
            Event::Acted(seen) if !seen.is_ongoing() => Ok(Step::finish()),
            Event::Acted(seen) if self.decided => {
                let step = self.begin(&seen.views);
                let step = self.proposed.settle(step);
                Ok(self.verdicts.settle(step))
            }
            Event::Acted(_) => Ok(self.ask_verifier()),
            Event::Returned(_) => Err(Problem::unexpected(&event)),
        }
    }

    fn demonstrate(&self, seat: &Seat, expert: &Action) -> Option<String> {
        // A solution that is not the expert's may be right; but most are not.
        let [own, experts] =
            [&self.solution, &expert.text].map(|text| conclusion(text).split_whitespace());
        let is_experts = own.eq(experts);
        Some(match seat.role == SOLVER.role {
            true => expert.text.clone(),
            false => if is_experts { ACCEPT } else { REJECT }.to_owned(),
        })
    }
}

impl SolverVerifier {
    fn begin(&mut self, views: &[View]) -> Step {
        self.seen = [SOLVER.role, VERIFIER.role].map(|role| seen_by(views, &Seat::new(role)));
        self.round = 0;
        self.last = self.rounds.min(self.solver.turns_left(0));
        self.decided = false;
        self.ask_solver(None)
    }

    /// With what the verifier said of the last answer.
    fn ask_solver(&mut self, verdict: Option<&str>) -> Step {
        self.round += 1;
        let criticized = verdict.map(|verdict| (self.solution.as_str(), verdict));
        let criticism =
            criticized.map(|(solution, verdict)| format!("{CRITICISM} {solution} {verdict}"));
        let (solution, verdict) = criticized.unwrap_or_default();
        let values = [
            ("observation", self.seen[0].as_str()),
            ("criticism", criticism.as_deref().unwrap_or_default()),
            ("solution", solution),
            ("verdict", verdict),
        ];
        let request = self.solver.request(0, &values);
        Step::ask(self.kinds.to_propose(request))
    }

    /// Unless nothing depends on it: the last answer there may be is done.
    fn ask_verifier(&mut self) -> Step {
        if self.round >= self.last {
            return self.decide();
        }
        let values = [("observation", self.seen[1].as_str()), ("solution", &self.solution)];
        Step::ask(self.verifier.request(0, &values).open())
    }

    /// What is accepted is done. A verifier that rejects has the solver answer again, and is
    /// worth what that comes to; the answer that was rejected is worth nothing.
    fn judge(&mut self, verdict: &Reply) -> Step {
        self.verdicts.take(verdict);
        if accepts(verdict.answer()) {
            return self.decide();
        }
        let step = self.ask_solver(Some(verdict.answer()));
        self.proposed.settle(step)
    }

    fn decide(&mut self) -> Step {
        self.decided = true;
        self.kinds.act(SOLVER.role, &self.solution)
    }
}

/// Whether the last line that is a verdict accepts. Without one nothing is accepted.
fn accepts(answer: &str) -> bool {
    let verdict = |passage: &str| {
        let is_label = |(label, _): &(&str, &str)| label.eq_ignore_ascii_case(LABEL);
        let said = passage.split_once(':').filter(is_label).map_or(passage, |(_, said)| said);
        let first = said.split(|letter: char| !letter.is_alphabetic()).find(|it| !it.is_empty());
        match first.map(str::to_lowercase).as_deref() {
            // What follows the word in other lines is not the verdict's.
            _ if passage.contains('\n') => Err("several lines".to_owned()),
            Some(ACCEPT) => Ok(true),
            Some(REJECT) => Ok(false),
            _ => Err("no verdict".to_owned()),
        }
    };
    reading::last(answer, verdict).unwrap_or(false)
}

plugin_sdk::export!(workflow: SolverVerifier);

#[cfg(test)]
mod tests {
    use super::accepts;

    #[test]
    fn a_verdict_is_read_wherever_it_stands() {
        for text in [
            "accept",
            "Looks right.\n**Accept.**",
            "Reject? No, it is fine.\naccept",
            "```\naccept\n```",
            "<answer>accept</answer>",
            "Verdict: accept",
            "accept\n\nThat is all I have to say.",
        ] {
            assert!(accepts(text), "{text}");
        }
        for text in [
            "",
            "reject",
            "I would accept that, but\nreject: it goes through a wall",
            "```\nreject: no\n```",
            "accept at first sight\nreject\nThe second move is not possible.",
            "acceptable",
            "Hm.",
        ] {
            assert!(!accepts(text), "{text}");
        }
    }
}
