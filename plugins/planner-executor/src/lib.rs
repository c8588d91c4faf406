//! Planner and executor: a planner proposes a few moves, an executor, who sees
//! the same and the plan, makes them.
//!
//! Every turn begins afresh with one system and one user message, so that the
//! prompt stays as short as what there is to see.

use plugin_sdk::environment::Action;
use plugin_sdk::workflow::{
    Briefing, Description, Directive, Event, Problem, Request, Status, Workflow,
};
use plugin_sdk::{Settings, state};
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
            .role(PLANNER, "Proposes the next moves.")
            .role(EXECUTOR, "Sees the plan and moves.")
            .action("plan")
            .action("moves")
    }

    fn vocabulary(_settings: &Settings) -> Vec<String> {
        [PLANNER, EXECUTOR, PLAN].map(str::to_owned).to_vec()
    }

    fn start(briefing: &Briefing) -> Result<Self, Problem> {
        let system = |task: &str, kind: &str| -> Result<String, Problem> {
            let format = &briefing.action(kind)?.summary;
            let end = "You may think first. End your answer with a line that holds nothing but";
            Ok(format!("{}\n\n{task} {end} {format}.", briefing.rules))
        };
        let planner_task = "You are the planner: propose the executor's moves.";
        let executor_task = "You are the executor: make the moves. The planner's proposal stands \
                             after the word `plan`; follow it unless it is wrong.";
        Ok(PlannerExecutor {
            planner_system: system(planner_task, "plan")?,
            executor_system: system(executor_task, "moves")?,
            plan: String::new(),
        })
    }

    fn advance(&mut self, event: Event) -> Result<Directive, Problem> {
        match event {
            Event::Begun(observation) => Ok(self.ask_planner(&observation)),
            Event::Replied(reply) if reply.role == PLANNER => {
                let words = reply.last_line().split_whitespace().take(PLAN_WORDS);
                self.plan = words.collect::<Vec<_>>().join(" ");
                Ok(Directive::act(PLANNER, "plan", reply.last_line()))
            }
            Event::Replied(reply) if reply.role == EXECUTOR => {
                Ok(Directive::act(EXECUTOR, "moves", reply.last_line()))
            }
            Event::Acted(effect) if effect.status != Status::Ongoing => Ok(Directive::Finish),
            Event::Acted(effect) if effect.role == PLANNER => {
                Ok(self.ask_executor(&effect.observation))
            }
            Event::Acted(effect) if effect.role == EXECUTOR => {
                Ok(self.ask_planner(&effect.observation))
            }
            _ => Err(Problem::unexpected(&event)),
        }
    }

    fn demonstrate(&self, _role: &str, expert: &Action) -> Option<String> {
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
    fn ask_planner(&self, observation: &str) -> Directive {
        let told = format!("{PLANNER} {observation}");
        Directive::ask(Request::new(PLANNER).system(&self.planner_system).user(told))
    }

    fn ask_executor(&self, observation: &str) -> Directive {
        let told = format!("{EXECUTOR} {observation} {PLAN} {}", self.plan);
        Directive::ask(Request::new(EXECUTOR).system(&self.executor_system).user(told.trim_end()))
    }
}

plugin_sdk::export!(workflow: PlannerExecutor);
