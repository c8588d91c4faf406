//! Versus: two opposed players take turns.

use plugin_sdk::prompt::{Prompt, RolePrompt};
use plugin_sdk::workflow::{
    Action, ActionKind, Briefing, Configuration, Configured, Description, Event, Problem, Seat,
    Step, View, Workflow, seen_by,
};
use plugin_sdk::{Kinds, Open};
use serde::{Deserialize, Serialize};

const PLAYERS: [RolePrompt; 2] = [
    RolePrompt {
        role: "first",
        summary: "Moves first.",
        task: "You play against another player and move first.",
        message: "{observation}",
        fields: &["observation", "feedback", "turns_left"],
    },
    RolePrompt {
        role: "second",
        summary: "Moves second.",
        task: "You play against another player, who moves first.",
        message: "{observation}",
        fields: &["observation", "feedback", "turns_left"],
    },
];
/// What language models are told instead.
const TO_READ: [(RolePrompt, &str, &str); 2] = [
    (
        PLAYERS[0],
        "You play against another player; you take turns, and you move first. In each turn you \
         see how things stand now, and what you answer is done. If it is refused, it is your turn \
         again. You are rewarded for winning.",
        "{observation}",
    ),
    (
        PLAYERS[1],
        "You play against another player; you take turns, and the other moves first. In each turn \
         you see how things stand now, and what you answer is done. If it is refused, it is your \
         turn again. You are rewarded for winning.",
        "{observation}",
    ),
];

/// One game of the two.
#[derive(Serialize, Deserialize)]
pub struct Versus {
    kinds: Kinds,
    players: [Prompt; 2],
    /// Whose turn it is.
    turn: usize,
    /// Each player's last move, until the other one has replied: what it allows is its own.
    moved: [Open; 2],
}

impl Workflow for Versus {
    fn describe() -> Description {
        let summary = "Two opposed players take turns.";
        Description::new("versus", env!("CARGO_PKG_VERSION"), summary)
            .reusable()
            .setting(Kinds::setting())
            .prompts(&PLAYERS)
            .texts_for_language_models(&TO_READ)
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
        Ok(Versus { players: [first?, second?], kinds, turn: 0, moved: Default::default() })
    }

    fn advance(&mut self, event: Event) -> Result<Step, Problem> {
        self.players.iter_mut().for_each(|player| player.note(&event));
        match event {
            Event::Begun(views) => Ok(self.ask(&views)),
            Event::Replied(reply) => {
                self.moved[self.turn].take(&reply);
                Ok(self.kinds.act(&reply.seat, reply.answer()))
            }
            Event::Acted(seen) if !seen.is_ongoing() => Ok(Step::finish()),
            Event::Acted(seen) => {
                let mover = self.turn;
                let accepted = seen.results.iter().all(|result| result.accepted);
                // A side whose move was refused moves again, and there is nothing to reply to.
                let settled = if accepted { 1 - mover } else { mover };
                self.turn = if accepted { 1 - mover } else { mover };
                let step = self.ask(&seen.views);
                Ok(self.moved[settled].settle(step))
            }
            Event::Returned(_) => Err(Problem::unexpected(&event)),
        }
    }

    fn demonstrate(&self, _seat: &Seat, expert: &Action) -> Option<String> {
        Some(expert.text.clone())
    }
}

impl Versus {
    fn ask(&mut self, views: &[View]) -> Step {
        let observation = seen_by(views, &Seat::new(PLAYERS[self.turn].role));
        let request = self.players[self.turn].request(0, &[("observation", &observation)]);
        Step::ask(request.open())
    }
}

plugin_sdk::export!(workflow: Versus);
