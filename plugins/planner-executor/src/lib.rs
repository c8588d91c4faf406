//! Planner and executor: a planner proposes a few moves, an executor, who sees
//! the same and the plan, makes them.
//!
//! Every turn begins afresh with one system and one user message, so that the
//! prompt stays as short as what there is to see.

use plugin_sdk::state;
use plugin_sdk::workflow::{
    Action, ActionKind, Briefing, Configuration, Configured, Description, Event, Problem, Request,
    Seat, Step, Workflow, action_kind, seen_by,
};
use serde::{Deserialize, Serialize};

const PLANNER: &str = "planner";
const EXECUTOR: &str = "executor";
/// The word that stands before the plan in the executor's prompt.
const PLAN: &str = "plan";
/// Words of a plan that the executor gets to see.
const PLAN_WORDS: usize = 20;

/// One session of the two.
#[derive(Serialize, Deserialize)]
pub struct PlannerExecutor {
    planner_system: String,
    executor_system: String,
    plan: String,
}

impl Workflow for PlannerExecutor {
    fn describe() -> Description {
        let summary = "A planner proposes moves, an executor makes them.";
        Description::new("planner-executor", env!("CARGO_PKG_VERSION"), summary)
            .action("plan")
            .action("moves")
    }

    fn configure(
        _settings: &[Configured],
        environment: &[ActionKind],
    ) -> Result<Configuration, Problem> {
        ["plan", "moves"].iter().try_for_each(|kind| action_kind(environment, kind).map(drop))?;
        Ok(Configuration::default()
            .role(PLANNER, "Proposes the next moves.")
            .role(EXECUTOR, "Sees the plan and moves.")
            .words(&[PLANNER, EXECUTOR, PLAN]))
    }

    fn start(briefing: &Briefing) -> Result<Self, Problem> {
        let planner_task = "You are the planner: propose the executor's moves.";
        let executor_task = "You are the executor: make the moves. The planner's proposal stands \
                             after the word `plan`; follow it unless it is wrong.";
        Ok(PlannerExecutor {
            planner_system: briefing.instructions(PLANNER, planner_task, "plan")?,
            executor_system: briefing.instructions(EXECUTOR, executor_task, "moves")?,
            plan: String::new(),
        })
    }

    fn advance(&mut self, event: Event) -> Result<Step, Problem> {
        match event {
            Event::Begun(views) => Ok(self.ask_planner(&seen_by(&views, &Seat::new(PLANNER)))),
            Event::Replied(reply) if reply.seat.role == PLANNER => {
                let words = reply.last_line().split_whitespace().take(PLAN_WORDS);
                self.plan = words.collect::<Vec<_>>().join(" ");
                Ok(Step::act(PLANNER, "plan", reply.last_line()))
            }
            Event::Replied(reply) if reply.seat.role == EXECUTOR => {
                Ok(Step::act(EXECUTOR, "moves", reply.last_line()))
            }
            Event::Acted(seen) if !seen.is_ongoing() => Ok(Step::finish()),
            Event::Acted(seen) if seen.mover().is_some_and(|seat| seat.role == PLANNER) => {
                Ok(self.ask_executor(&seen.seen_by(&Seat::new(EXECUTOR))))
            }
            Event::Acted(seen) => Ok(self.ask_planner(&seen.seen_by(&Seat::new(PLANNER)))),
            _ => Err(Problem::unexpected(&event)),
        }
    }

    fn demonstrate(&self, _seat: &Seat, expert: &Action) -> Option<String> {
        // A plan and moves are written alike: the expert's moves are its plan.
        (expert.kind == "moves").then(|| expert.text.clone())
    }

    fn save(&self) -> Option<Vec<u8>> {
        state::save(self)
    }

    fn resume(bytes: &[u8]) -> Result<Self, Problem> {
        Ok(state::load(bytes)?)
    }
}

impl PlannerExecutor {
    fn ask_planner(&self, observation: &str) -> Step {
        let told = format!("{PLANNER} {observation}");
        Step::ask(Request::new(PLANNER).system(&self.planner_system).user(told))
    }

    fn ask_executor(&self, observation: &str) -> Step {
        let told = format!("{EXECUTOR} {observation} {PLAN} {}", self.plan);
        Step::ask(Request::new(EXECUTOR).system(&self.executor_system).user(told.trim_end()))
    }
}

plugin_sdk::export!(workflow: PlannerExecutor);
