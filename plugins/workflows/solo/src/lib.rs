//! Solo: one role sees, answers and acts, turn after turn.
//!
//! Every turn begins afresh with one system and one user message, so that the
//! prompt stays as short as what there is to see.

use plugin_sdk::prompt::{Prompt, RolePrompt};
use plugin_sdk::types::written;
use plugin_sdk::workflow::{
    Action, ActionKind, Briefing, Configuration, Configured, Description, Event, Problem, Seat,
    Step, View, Workflow, parts_for,
};
use plugin_sdk::{Kinds, Settings, Situations};
use serde::{Deserialize, Serialize};

const PLAYER: RolePrompt = RolePrompt {
    role: "player",
    summary: "Sees, answers and acts.",
    task: "",
    message: "player {observation}",
    fields: &["observation", "feedback", "turns_left"],
};
/// What language models are told instead.
const TO_READ: [(RolePrompt, &str, &str); 1] = [(
    PLAYER,
    "You act alone: in each turn you see how things stand now, and what you answer is done. \
         You are rewarded for what your answers achieve.",
    "{observation}",
)];

/// One player's session.
#[derive(Serialize, Deserialize)]
pub struct Solo {
    kinds: Kinds,
    /// Whether the user chose the kind.
    chosen: bool,
    player: Prompt,
    situations: Situations,
}

impl Workflow for Solo {
    fn describe() -> Description {
        Description::new("solo", env!("CARGO_PKG_VERSION"), "One role acts on what it sees.")
            .reusable()
            .setting(Kinds::setting())
            .setting(Situations::setting())
            .prompts(&[PLAYER])
            .texts_for_language_models(&TO_READ)
    }

    fn configure(
        settings: &[Configured],
        environment: &[ActionKind],
    ) -> Result<Configuration, Problem> {
        Kinds::choose(settings, environment)?;
        Situations::of(settings)?;
        Configuration::default().prompted(&PLAYER, 1, settings)
    }

    fn start(briefing: &Briefing) -> Result<Self, Problem> {
        let kinds = Kinds::choose(&briefing.settings, &briefing.actions)?;
        let chosen = !briefing.settings.text("kind")?.is_empty();
        let player = PLAYER.begin(briefing, Some(kinds.acting()))?;
        let situations = Situations::of(&briefing.settings)?;
        Ok(Solo { kinds, chosen, player, situations })
    }

    fn advance(&mut self, event: Event) -> Result<Step, Problem> {
        self.player.note(&event);
        match event {
            Event::Begun(views) => Ok(self.ask(&views)),
            Event::Replied(reply) => Ok(self.kinds.act(&reply.seat, reply.answer())),
            Event::Acted(seen) if seen.is_ongoing() => Ok(self.ask(&seen.views)),
            Event::Acted(_) => Ok(Step::finish()),
            Event::Returned(_) => Err(Problem::unexpected(&event)),
        }
    }

    fn demonstrate(&self, _seat: &Seat, expert: &Action) -> Option<String> {
        // The first kind can say whatever the expert says; another may not.
        (!self.chosen || expert.kind == self.kinds.acting()).then(|| expert.text.clone())
    }
}

impl Solo {
    fn ask(&mut self, views: &[View]) -> Step {
        let parts = parts_for(views, &Seat::new(PLAYER.role)).unwrap_or_default();
        let request = self.player.show(0, parts);
        Step::ask(self.situations.label(request, &written(parts)))
    }
}

plugin_sdk::export!(workflow: Solo);
