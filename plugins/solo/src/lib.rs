//! Solo: one role sees, answers and acts, turn after turn.
//!
//! Every turn begins afresh with one system and one user message, so that the
//! prompt stays as short as what there is to see.

use plugin_sdk::environment::Action;
use plugin_sdk::workflow::{
    Briefing, Description, Directive, Event, Problem, Request, Status, Workflow,
};
use plugin_sdk::{Setting, Settings, state};
use serde::{Deserialize, Serialize};

const PLAYER: &str = "player";

/// One player's session.
#[derive(Serialize, Deserialize)]
pub struct Solo {
    kind: String,
    /// Whether the user chose the kind.
    chosen: bool,
    system: String,
}

impl Workflow for Solo {
    fn describe() -> Description {
        Description::new("solo", env!("CARGO_PKG_VERSION"), "One role acts on what it sees.")
            .setting(Setting::text(
                "kind",
                "Kind of action to send; empty for the first that the environment understands.",
                "",
            ))
            .role(PLAYER, "Sees, answers and acts.")
    }

    fn vocabulary(_settings: &Settings) -> Vec<String> {
        vec![PLAYER.to_owned()]
    }

    fn start(briefing: &Briefing) -> Result<Self, Problem> {
        let chosen = briefing.settings.text("kind")?;
        let first = || Problem::InvalidSettings("the environment understands no action".to_owned());
        let kind = match chosen {
            "" => briefing.actions.first().ok_or_else(first)?,
            name => briefing.action(name)?,
        };
        let system = format!(
            "{}\n\nYou may think first. End your answer with a line that holds nothing but {}.",
            briefing.rules, kind.summary
        );
        Ok(Solo { kind: kind.name.clone(), chosen: !chosen.is_empty(), system })
    }

    fn advance(&mut self, event: Event) -> Result<Directive, Problem> {
        match event {
            Event::Begun(observation) => Ok(self.ask(&observation)),
            Event::Replied(reply) => Ok(Directive::act(PLAYER, &self.kind, reply.last_line())),
            Event::Acted(effect) if effect.status == Status::Ongoing => {
                Ok(self.ask(&effect.observation))
            }
            Event::Acted(_) => Ok(Directive::Finish),
            Event::Ran(_) => Err(Problem::unexpected(&event)),
        }
    }

    fn demonstrate(&self, _role: &str, expert: &Action) -> Option<String> {
        // The first kind can say whatever the expert says; another may not.
        (!self.chosen || expert.kind == self.kind).then(|| expert.text.clone())
    }

    fn save(&self) -> Option<Vec<u8>> {
        state::save(self)
    }

    fn resume(bytes: &[u8]) -> Result<Self, Problem> {
        Ok(state::load(bytes)?)
    }
}

impl Solo {
    fn ask(&self, observation: &str) -> Directive {
        let told = format!("{PLAYER} {observation}");
        Directive::ask(Request::new(PLAYER).system(&self.system).user(told))
    }
}

plugin_sdk::export!(workflow: Solo);
