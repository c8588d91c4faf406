//! Solo: one role sees, answers and acts, turn after turn.
//!
//! Every turn begins afresh with one system and one user message, so that the
//! prompt stays as short as what there is to see.

use plugin_sdk::workflow::{
    Action, ActionKind, Briefing, Configuration, Configured, Description, Event, Part, Problem,
    Request, Seat, Step, View, Workflow, action_kind, parts_for,
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
    }

    fn configure(
        settings: &[Configured],
        environment: &[ActionKind],
    ) -> Result<Configuration, Problem> {
        kind(settings, environment)?;
        Ok(Configuration::default().role(PLAYER, "Sees, answers and acts.").words(&[PLAYER]))
    }

    fn start(briefing: &Briefing) -> Result<Self, Problem> {
        let kind = kind(&briefing.settings, &briefing.actions)?;
        let system = briefing.instructions(PLAYER, "", &kind.name)?;
        let chosen = !briefing.settings.text("kind")?.is_empty();
        Ok(Solo { kind: kind.name.clone(), chosen, system })
    }

    fn advance(&mut self, event: Event) -> Result<Step, Problem> {
        match event {
            Event::Begun(views) => Ok(self.ask(&views)),
            Event::Replied(reply) => Ok(Step::act(PLAYER, &self.kind, reply.last_line())),
            Event::Acted(seen) if seen.is_ongoing() => Ok(self.ask(&seen.views)),
            Event::Acted(_) => Ok(Step::finish()),
            Event::Returned(_) => Err(Problem::unexpected(&event)),
        }
    }

    fn demonstrate(&self, _seat: &Seat, expert: &Action) -> Option<String> {
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
    fn ask(&self, views: &[View]) -> Step {
        let parts = parts_for(views, &Seat::new(PLAYER)).unwrap_or_default();
        let text: Vec<&str> = parts.iter().filter_map(as_text).collect();
        let told = format!("{PLAYER} {}", text.join("\n"));
        let request = Request::new(PLAYER).system(&self.system).user(told);
        let images = parts.iter().filter_map(|part| match part {
            Part::Image(image) => Some(image.clone()),
            Part::Text(_) => None,
        });
        Step::ask(images.fold(request, Request::image))
    }
}

fn as_text(part: &Part) -> Option<&str> {
    match part {
        Part::Text(text) => Some(text),
        Part::Image(_) => None,
    }
}

/// The kind of action that is sent.
fn kind<'k>(
    settings: &[Configured],
    environment: &'k [ActionKind],
) -> Result<&'k ActionKind, Problem> {
    match settings.text("kind")? {
        "" => {
            let none = || Problem::settings("the environment understands no action");
            environment.first().ok_or_else(none)
        }
        name => action_kind(environment, name),
    }
}

plugin_sdk::export!(workflow: Solo);
