//! Planner and executor: a planner proposes a few moves, an executor, who sees
//! the same and the plan, makes them.
//!
//! Every turn begins afresh with one system and one user message, so that the
//! prompt stays as short as what there is to see.

use plugin_sdk::Situations;
use plugin_sdk::conclusion::conclusion;
use plugin_sdk::prompt::{Prompt, RolePrompt};
use plugin_sdk::workflow::{
    Action, ActionKind, Briefing, Configuration, Configured, Description, Event, Problem, Seat,
    Step, Workflow, action_kind, seen_by,
};
use serde::{Deserialize, Serialize};

const PLANNER: RolePrompt = RolePrompt {
    role: "planner",
    summary: "Proposes the next moves.",
    task: "You are the planner: propose the executor's moves.",
    message: "planner {observation}",
    fields: &["observation", "feedback", "turns_left"],
};
const EXECUTOR: RolePrompt = RolePrompt {
    role: "executor",
    summary: "Sees the plan and moves.",
    task: "You are the executor: make the moves. The planner's proposal stands after the word \
           `plan`; follow it unless it is wrong.",
    message: "executor {observation} plan {plan}",
    fields: &["observation", "plan", "feedback", "turns_left"],
};
/// What language models are told instead.
const TO_READ: [(RolePrompt, &str, &str); 2] = [
    (
        PLANNER,
        "You are the planner in a team of two. In each turn you see how things stand now and \
         propose what is to be done next. Your plan is scored, but nothing is done by it: the \
         executor, who may see less than you, is shown your plan and acts. You are rewarded for a \
         good plan and, as a team, for what the executor achieves.",
        "{observation}",
    ),
    (
        EXECUTOR,
        "You are the executor in a team of two: what you answer is done. In each turn you see how \
         things stand now and, below that, the plan of the planner, who may see more than you. \
         Follow the plan unless it is wrong. You are rewarded, as a team, for what your answers \
         achieve.",
        "{observation}\n\nThe planner proposes this plan: {plan}",
    ),
];
/// Characters of a plan that the executor gets to see.
const PLAN: usize = 2000;

/// One session of the two.
#[derive(Serialize, Deserialize)]
pub struct PlannerExecutor {
    planner: Prompt,
    executor: Prompt,
    plan: String,
    situations: Situations,
}

impl Workflow for PlannerExecutor {
    fn describe() -> Description {
        let summary = "A planner proposes moves, an executor makes them.";
        Description::new("planner-executor", env!("CARGO_PKG_VERSION"), summary)
            .reusable()
            .action("plan")
            .action("moves")
            .setting(Situations::setting())
            .prompts(&[PLANNER, EXECUTOR])
            .texts_for_language_models(&TO_READ)
    }

    fn configure(
        settings: &[Configured],
        environment: &[ActionKind],
    ) -> Result<Configuration, Problem> {
        ["plan", "moves"].iter().try_for_each(|kind| action_kind(environment, kind).map(drop))?;
        Situations::of(settings)?;
        let roles = Configuration::default().prompted(&PLANNER, 1, settings)?;
        roles.prompted(&EXECUTOR, 1, settings)
    }

    fn start(briefing: &Briefing) -> Result<Self, Problem> {
        Ok(PlannerExecutor {
            planner: PLANNER.begin(briefing, Some("plan"))?,
            executor: EXECUTOR.begin(briefing, Some("moves"))?,
            plan: String::new(),
            situations: Situations::of(&briefing.settings)?,
        })
    }

    fn advance(&mut self, event: Event) -> Result<Step, Problem> {
        self.planner.note(&event);
        self.executor.note(&event);
        match event {
            Event::Begun(views) => Ok(self.ask_planner(&seen_by(&views, &Seat::new(PLANNER.role)))),
            Event::Replied(reply) if reply.seat.role == PLANNER.role => {
                let words: Vec<&str> = conclusion(reply.answer()).split_whitespace().collect();
                self.plan = words.join(" ").chars().take(PLAN).collect();
                Ok(Step::act(&reply.seat, "plan", reply.answer()))
            }
            Event::Replied(reply) if reply.seat.role == EXECUTOR.role => {
                Ok(Step::act(&reply.seat, "moves", reply.answer()))
            }
            Event::Acted(seen) if !seen.is_ongoing() => Ok(Step::finish()),
            Event::Acted(seen) if seen.mover().is_some_and(|seat| seat.role == PLANNER.role) => {
                Ok(self.ask_executor(&seen.seen_by(&Seat::new(EXECUTOR.role))))
            }
            Event::Acted(seen) => Ok(self.ask_planner(&seen.seen_by(&Seat::new(PLANNER.role)))),
            _ => Err(Problem::unexpected(&event)),
        }
    }

    fn demonstrate(&self, _seat: &Seat, expert: &Action) -> Option<String> {
        // A plan and moves are written alike: the expert's moves are its plan.
        (expert.kind == "moves").then(|| expert.text.clone())
    }
}

impl PlannerExecutor {
    fn ask_planner(&mut self, observation: &str) -> Step {
        let request = self.planner.request(0, &[("observation", observation)]);
        Step::ask(self.situations.label(request, observation))
    }

    fn ask_executor(&mut self, observation: &str) -> Step {
        let values = [("observation", observation), ("plan", self.plan.as_str())];
        let request = self.executor.request(0, &values);
        Step::ask(self.situations.label(request, observation))
    }
}

plugin_sdk::export!(workflow: PlannerExecutor);
