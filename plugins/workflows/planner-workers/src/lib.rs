//! Planner and workers: a planner gives instructions; each goes to a worker, who
//! carries it out in a conversation of its own, in a few actions. Then the
//! planner sees how things stand, and gives new ones. The shape of M-GRPO
//! (arXiv 2511.13288) and MATPO (arXiv 2510.04678).

use std::collections::VecDeque;

use plugin_sdk::conclusion::says;
use plugin_sdk::prompt::{Prompt, RolePrompt};
use plugin_sdk::workflow::{
    Action, ActionKind, Briefing, Configuration, Configured, Description, Event, Problem, Reply,
    Seat, Step, View, Workflow, seen_by,
};
use plugin_sdk::{Kinds, Open, Setting, Settings};
use serde::{Deserialize, Serialize};

const PLANNER: RolePrompt = RolePrompt {
    role: "planner",
    summary: "Gives instructions to workers.",
    task: "You are the planner. You do not act: workers do, each of whom sees how things stand \
           and one instruction of yours. Answer with one instruction a line.",
    message: "planner {observation}",
    fields: &["observation", "turns_left"],
};
const WORKER: RolePrompt = RolePrompt {
    role: "worker",
    summary: "Carries out one instruction.",
    task: "You are a worker: carry out the planner's instruction, which stands behind the word \
           `instruction`, in a few turns. When it is carried out, answer `done`.",
    message: "worker {observation} instruction {instruction}",
    fields: &["observation", "instruction", "feedback", "turns_left"],
};
/// What language models are told instead.
const TO_READ: [(RolePrompt, &str, &str); 2] = [
    (
        PLANNER,
        "You are the planner of a team. In each turn you see how things stand now. You do not \
         act yourself: workers do, one after the other. Each of them sees how things stand when \
         its turn comes and one instruction of yours, and knows nothing of the others. Answer \
         with nothing but your instructions, one a line, in the order in which they are to be \
         carried out. You are rewarded, as a team, for what the workers achieve.",
        "{observation}",
    ),
    (
        WORKER,
        "You are a worker in a team: what you answer is done. You see how things stand now and, \
         below that, one instruction of the planner, which you carry out in a few turns. As soon \
         as it is carried out, answer with nothing but the word `done`. You are rewarded, as a \
         team, for what your answers achieve.",
        "{observation}\n\nThe instruction: {instruction}",
    ),
];
/// What a worker says who has nothing left to do.
const DONE: &str = "done";
/// Between two instructions, where they do not stand on lines of their own.
const SEPARATOR: char = ';';
/// Characters of an instruction that a worker gets to see.
const SHOWN: usize = 500;

/// One session of the planner and its workers.
#[derive(Serialize, Deserialize)]
pub struct PlannerWorkers {
    kinds: Kinds,
    planner: Prompt,
    worker: Prompt,
    /// Instructions that one answer may give, and actions that each may take.
    workers: usize,
    turns: u32,
    /// What the planner and a worker see.
    seen: [String; 2],
    plan: Plan,
    /// The planner's last answer, while its instructions are carried out.
    planned: Open,
    /// What workers said since the last action: that they are done is worth what
    /// is done next.
    worked: Open,
}

/// What is left of the planner's last answer.
#[derive(Default, Serialize, Deserialize)]
struct Plan {
    /// The number of the answer.
    answer: u32,
    /// Workers so far, in the whole session: each has a conversation.
    begun: u32,
    /// The instruction at work comes first.
    instructions: VecDeque<String>,
    /// Actions that the worker has taken.
    taken: u32,
}

impl Workflow for PlannerWorkers {
    fn describe() -> Description {
        let summary = "A planner gives instructions, workers carry them out.";
        Description::new("planner-workers", env!("CARGO_PKG_VERSION"), summary)
            .reusable()
            .setting(Kinds::setting())
            .setting(Setting::integer(
                "workers",
                "Instructions of one answer that are carried out; more are left out.",
                1..=8,
                2,
            ))
            .setting(Setting::integer("turns", "Actions of a worker at most.", 1..=8, 2))
            .prompts(&[PLANNER, WORKER])
            .texts_for_language_models(&TO_READ)
    }

    fn configure(
        settings: &[Configured],
        environment: &[ActionKind],
    ) -> Result<Configuration, Problem> {
        Kinds::choose(settings, environment)?;
        let roles = Configuration::default().prompted(&PLANNER, 1, settings)?;
        let separator = SEPARATOR.to_string();
        Ok(roles.prompted(&WORKER, 1, settings)?.words(&[DONE, &separator]))
    }

    fn start(briefing: &Briefing) -> Result<Self, Problem> {
        let kinds = Kinds::choose(&briefing.settings, &briefing.actions)?;
        let workers: usize = briefing.settings.integer("workers")?;
        let turns: u32 = briefing.settings.integer("turns")?;
        let limits = format!(
            "Instructions that are carried out: {workers} at most, the first ones. Characters of \
             an instruction that its worker sees: {SHOWN}. Turns that it has: {turns} at most."
        );
        Ok(PlannerWorkers {
            planner: PLANNER.begin(briefing, None)?.also(&limits),
            worker: WORKER.begin(briefing, Some(kinds.acting()))?,
            kinds,
            workers,
            turns,
            seen: Default::default(),
            plan: Plan::default(),
            planned: Open::default(),
            worked: Open::default(),
        })
    }

    fn advance(&mut self, event: Event) -> Result<Step, Problem> {
        self.planner.note(&event);
        self.worker.note(&event);
        match event {
            Event::Begun(views) => {
                self.look(&views);
                Ok(self.ask_planner())
            }
            Event::Replied(reply) if reply.seat.role == PLANNER.role => {
                self.planned.take(&reply);
                self.plan.take(&reply, self.workers);
                Ok(self.ask_worker())
            }
            // A worker that is done at once acts all the same, so that no plan goes on forever.
            Event::Replied(reply) if self.plan.taken > 0 && says(reply.answer(), DONE) => {
                self.worked.take(&reply);
                self.end_instruction();
                Ok(self.go_on())
            }
            Event::Replied(reply) => {
                self.worked.take(&reply);
                self.plan.taken += 1;
                Ok(self.kinds.act(&reply.seat, reply.answer()))
            }
            Event::Acted(seen) if !seen.is_ongoing() => Ok(Step::finish()),
            Event::Acted(seen) => {
                self.look(&seen.views);
                if self.plan.taken >= self.turns {
                    self.end_instruction();
                }
                let step = self.go_on();
                Ok(self.worked.settle(step))
            }
            Event::Returned(_) => Err(Problem::unexpected(&event)),
        }
    }

    fn demonstrate(&self, seat: &Seat, expert: &Action) -> Option<String> {
        // What is to be done next is the best instruction, and its answer.
        let worked = seat.role == WORKER.role && self.plan.taken > 0;
        Some(if worked { DONE.to_owned() } else { expert.text.clone() })
    }
}

impl PlannerWorkers {
    fn look(&mut self, views: &[View]) {
        self.seen = [PLANNER.role, WORKER.role].map(|role| seen_by(views, &Seat::new(role)));
    }

    /// The next worker begins a conversation of its own, and knows of none before.
    fn end_instruction(&mut self) {
        self.plan.end_instruction();
        self.worker.forget(0);
    }

    /// The instruction at work, or the planner when all are carried out.
    fn go_on(&mut self) -> Step {
        if self.plan.instructions.is_empty() { self.ask_planner() } else { self.ask_worker() }
    }

    fn ask_planner(&mut self) -> Step {
        let request = self.planner.request(0, &[("observation", &self.seen[0])]).open();
        self.planned.settle(Step::ask(request))
    }

    fn ask_worker(&mut self) -> Step {
        let instruction = self.plan.instructions.front().map_or("", String::as_str);
        let left = self.turns.saturating_sub(self.plan.taken).to_string();
        let values = [
            ("observation", self.seen[1].as_str()),
            ("instruction", instruction),
            ("turns_left", &left),
        ];
        let thread = format!("{}-{}", WORKER.role, self.plan.begun);
        let request = self.worker.request(0, &values).thread(&thread, Some(self.plan.answer));
        Step::ask(request.open())
    }
}

impl Plan {
    /// The instructions of an answer; one, if it holds none, that says nothing.
    fn take(&mut self, reply: &Reply, most: usize) {
        let parts = reply.answer().split(['\n', SEPARATOR]).map(str::trim);
        let shown = |part: &str| part.chars().take(SHOWN).collect();
        self.instructions = parts.filter(|part| !part.is_empty()).take(most).map(shown).collect();
        if self.instructions.is_empty() {
            self.instructions.push_back(String::new());
        }
        self.answer = reply.answer;
        self.taken = 0;
    }

    fn end_instruction(&mut self) {
        self.instructions.pop_front();
        self.begun += 1;
        self.taken = 0;
    }
}

plugin_sdk::export!(workflow: PlannerWorkers);
