//! Generator, verifier and refiner: one answers, one criticizes, one sees both
//! and acts. The team of MALT (arXiv 2412.01928).

use plugin_sdk::prompt::{Prompt, RolePrompt};
use plugin_sdk::workflow::{
    Action, ActionKind, Briefing, Configuration, Configured, Description, Event, Problem, Seat,
    Step, View, Workflow, seen_by,
};
use plugin_sdk::{Kinds, Open};
use serde::{Deserialize, Serialize};

const GENERATOR: RolePrompt = RolePrompt {
    role: "generator",
    summary: "Answers first.",
    task: "",
    message: "generator {observation}",
    fields: &["observation", "feedback", "turns_left"],
};
const VERIFIER: RolePrompt = RolePrompt {
    role: "verifier",
    summary: "Says what is wrong with the answer.",
    task: "You are the verifier: an answer stands behind the word `solution`. Say what is right \
           and what is wrong with it.",
    message: "verifier {observation} solution {solution}",
    fields: &["observation", "solution", "turns_left"],
};
const REFINER: RolePrompt = RolePrompt {
    role: "refiner",
    summary: "Sees the answer and what was said of it, and acts.",
    task: "You are the refiner: an answer stands behind the word `solution`, what a verifier \
           said of it behind `verdict`. Give the final answer.",
    message: "refiner {observation} solution {solution} verdict {verdict}",
    fields: &["observation", "solution", "verdict", "feedback", "turns_left"],
};
/// What language models are told instead.
const TO_READ: [(RolePrompt, &str, &str); 3] = [
    (
        GENERATOR,
        "You are the generator in a team of three. You see how things stand now and answer first. \
         Nothing is done by it: a verifier says what is right and wrong with your answer, and a \
         refiner sees both and gives the answer that counts. You are rewarded, as a team, for \
         what that answer achieves.",
        "{observation}",
    ),
    (
        VERIFIER,
        "You are the verifier in a team of three. You see how things stand now and, below that, \
         an answer of the generator. Say in a few sentences what is right and what is wrong with \
         it. Nothing is done by what you say: a refiner sees the answer and your verdict and \
         gives the answer that counts. You are rewarded, as a team, for what that answer \
         achieves.",
        "{observation}\n\nThe generator's answer:\n{solution}",
    ),
    (
        REFINER,
        "You are the refiner in a team of three: what you answer is done. You see how things \
         stand now and, below that, an answer of the generator and what a verifier said of it. \
         Weigh both and give the final answer. You are rewarded, as a team, for what it achieves.",
        "{observation}\n\nThe generator's answer:\n{solution}\n\nThe verifier's \
         verdict:\n{verdict}",
    ),
];

/// One session of the three.
#[derive(Serialize, Deserialize)]
pub struct GeneratorVerifierRefiner {
    kinds: Kinds,
    generator: Prompt,
    verifier: Prompt,
    refiner: Prompt,
    /// What the verifier and the refiner see.
    seen: [String; 2],
    solution: String,
    /// Answers whose worth the refiner's will show.
    open: Open,
}

impl Workflow for GeneratorVerifierRefiner {
    fn describe() -> Description {
        let summary = "A generator answers, a verifier criticizes, a refiner decides.";
        Description::new("generator-verifier-refiner", env!("CARGO_PKG_VERSION"), summary)
            .reusable()
            .setting(Kinds::setting())
            .prompts(&[GENERATOR, VERIFIER, REFINER])
            .texts_for_language_models(&TO_READ)
    }

    fn configure(
        settings: &[Configured],
        environment: &[ActionKind],
    ) -> Result<Configuration, Problem> {
        Kinds::choose(settings, environment)?;
        let mut roles = [GENERATOR, VERIFIER, REFINER].into_iter();
        roles.try_fold(Configuration::default(), |all, role| all.prompted(&role, 1, settings))
    }

    fn start(briefing: &Briefing) -> Result<Self, Problem> {
        let kinds = Kinds::choose(&briefing.settings, &briefing.actions)?;
        Ok(GeneratorVerifierRefiner {
            generator: GENERATOR.begin(briefing, Some(kinds.acting()))?,
            verifier: VERIFIER.begin(briefing, None)?,
            refiner: REFINER.begin(briefing, Some(kinds.acting()))?,
            kinds,
            seen: Default::default(),
            solution: String::new(),
            open: Open::default(),
        })
    }

    fn advance(&mut self, event: Event) -> Result<Step, Problem> {
        self.generator.note(&event);
        self.verifier.note(&event);
        self.refiner.note(&event);
        match event {
            Event::Begun(views) => Ok(self.ask_generator(&views)),
            Event::Replied(reply) if reply.seat.role == GENERATOR.role => {
                self.solution = reply.answer().to_owned();
                if !self.kinds.scores_proposals() {
                    self.open.take(&reply);
                }
                let scored = self.kinds.propose([(reply.seat, self.solution.as_str())]);
                Ok(scored.unwrap_or_else(|| self.ask_verifier()))
            }
            Event::Replied(reply) if reply.seat.role == VERIFIER.role => {
                self.open.take(&reply);
                Ok(self.ask_refiner(reply.answer()))
            }
            Event::Replied(reply) => Ok(self.kinds.act(&reply.seat, reply.answer())),
            Event::Acted(seen) if !seen.is_ongoing() => Ok(Step::finish()),
            Event::Acted(seen) if seen.mover().is_some_and(|it| it.role == GENERATOR.role) => {
                Ok(self.ask_verifier())
            }
            Event::Acted(seen) => {
                let step = self.ask_generator(&seen.views);
                Ok(self.open.settle(step))
            }
            Event::Returned(_) => Err(Problem::unexpected(&event)),
        }
    }

    fn demonstrate(&self, _seat: &Seat, expert: &Action) -> Option<String> {
        // A verifier's as well: the best criticism is the answer itself.
        Some(expert.text.clone())
    }
}

impl GeneratorVerifierRefiner {
    fn ask_generator(&mut self, views: &[View]) -> Step {
        self.seen = [VERIFIER.role, REFINER.role].map(|role| seen_by(views, &Seat::new(role)));
        let observation = seen_by(views, &Seat::new(GENERATOR.role));
        let request = self.generator.request(0, &[("observation", &observation)]);
        Step::ask(self.kinds.to_propose(request))
    }

    fn ask_verifier(&mut self) -> Step {
        let values = [("observation", self.seen[0].as_str()), ("solution", &self.solution)];
        Step::ask(self.verifier.request(0, &values).open())
    }

    fn ask_refiner(&mut self, verdict: &str) -> Step {
        let observation = self.seen[1].as_str();
        let values =
            [("observation", observation), ("solution", &self.solution), ("verdict", verdict)];
        Step::ask(self.refiner.request(0, &values))
    }
}

plugin_sdk::export!(workflow: GeneratorVerifierRefiner);
