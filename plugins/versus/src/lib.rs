//! Versus: two opposed players take turns.

use plugin_sdk::prompt::{Prompt, RolePrompt};
use plugin_sdk::workflow::{
    Action, ActionKind, Briefing, Configuration, Configured, Description, Event, Problem, Seat,
    Step, View, Workflow, seen_by,
};
use plugin_sdk::{Kinds, state};
use serde::{Deserialize, Serialize};

const PLAYERS: [RolePrompt; 2] = [
    RolePrompt {
        role: "first",
        summary: "Moves first.",
        task: "You play against another player and move first.",
        message: "{observation}",
        fields: &["observation"],
    },
    RolePrompt {
        role: "second",
        summary: "Moves second.",
        task: "You play against another player, who moves first.",
        message: "{observation}",
        fields: &["observation"],
    },
];

/// One game of the two.
#[derive(Serialize, Deserialize)]
pub struct Versus {
    kinds: Kinds,
    players: [Prompt; 2],
    /// Whose turn it is.
    turn: usize,
}

impl Workflow for Versus {
    fn describe() -> Description {
        let summary = "Two opposed players take turns.";
        Description::new("versus", env!("CARGO_PKG_VERSION"), summary)
            .reusable()
            .setting(Kinds::setting())
            .prompts(&PLAYERS)
    }

    fn configure(
        settings: &[Configured],
        environment: &[ActionKind],
    ) -> Result<Configuration, Problem> {
        Kinds::choose(settings, environment)?;
        let mut players = PLAYERS.iter();
        players.try_fold(Configuration::default(), |all, role| all.prompted(role, 1, settings))
    }

    fn start(briefing: &Briefing) -> Result<Self, Problem> {
        let kinds = Kinds::choose(&briefing.settings, &briefing.actions)?;
        let [first, second] = PLAYERS.map(|role| role.begin(briefing, Some(kinds.acting())));
        Ok(Versus { players: [first?, second?], kinds, turn: 0 })
    }

    fn advance(&mut self, event: Event) -> Result<Step, Problem> {
        match event {
            Event::Begun(views) => Ok(self.ask(&views)),
            Event::Replied(reply) => Ok(self.kinds.act(&reply.seat, reply.answer())),
            Event::Acted(seen) if !seen.is_ongoing() => Ok(Step::finish()),
            Event::Acted(seen) => {
                // Whose move was refused moves again.
                if seen.results.iter().all(|result| result.accepted) {
                    self.turn = 1 - self.turn;
                }
                Ok(self.ask(&seen.views))
            }
            Event::Returned(_) => Err(Problem::unexpected(&event)),
        }
    }

    fn demonstrate(&self, _seat: &Seat, expert: &Action) -> Option<String> {
        Some(expert.text.clone())
    }

    fn save(&self) -> Option<Vec<u8>> {
        state::save(self)
    }

    fn resume(bytes: &[u8]) -> Result<Self, Problem> {
        Ok(state::load(bytes)?)
    }
}

impl Versus {
    fn ask(&self, views: &[View]) -> Step {
        let observation = seen_by(views, &Seat::new(PLAYERS[self.turn].role));
        Step::ask(self.players[self.turn].request(0, &[("observation", &observation)]))
    }
}

plugin_sdk::export!(workflow: Versus);
