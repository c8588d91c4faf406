//! {{Name}}: a proposer says what to do, a player sees that and acts.

use plugin_sdk::conclusion::conclusion;
use plugin_sdk::prompt::{Prompt, RolePrompt};
use plugin_sdk::workflow::{
    Action, ActionKind, Briefing, Configuration, Configured, Description, Event, Problem, Seat,
    Step, Workflow, seen_by,
};
use plugin_sdk::Kinds;
use serde::{Deserialize, Serialize};

/// What a role is told; `workflow.proposer_task` and `workflow.proposer_message` say otherwise.
/// What became of its last answer (`feedback`) and `turns_left` need no values.
const PROPOSER: RolePrompt = RolePrompt {
    role: "proposer",
    summary: "Proposes what to do.",
    task: "Propose what the player should do.",
    message: "proposer {observation}",
    fields: &["observation", "turns_left"],
};
const PLAYER: RolePrompt = RolePrompt {
    role: "player",
    summary: "Sees the proposal and acts.",
    task: "Act. A proposal stands after the word `proposal`; follow it unless it is wrong.",
    message: "player {observation} proposal {proposal}",
    fields: &["observation", "proposal", "feedback", "turns_left"],
};
/// What language models are told instead.
const TO_READ: [(RolePrompt, &str, &str); 2] = [
    (
        PROPOSER,
        "You are the first of two. You see how things stand now: propose what the player, who \
         acts, should do.",
        "{observation}",
    ),
    (
        PLAYER,
        "You are the player: what you answer is done. You see how things stand now and, below \
         that, a proposal; follow it unless it is wrong.",
        "{observation}\n\nThe proposal: {proposal}",
    ),
];

#[derive(Serialize, Deserialize)]
struct {{Name}} {
    kinds: Kinds,
    proposer: Prompt,
    player: Prompt,
    observation: String,
}

impl Workflow for {{Name}} {
    fn describe() -> Description {
        Description::new("{{name}}", env!("CARGO_PKG_VERSION"), "A proposer and a player.")
            .setting(Kinds::setting())
            .prompts(&[PROPOSER, PLAYER])
            .texts_for_language_models(&TO_READ)
            .reusable()
    }

    fn configure(
        settings: &[Configured],
        environment: &[ActionKind],
    ) -> Result<Configuration, Problem> {
        Kinds::choose(settings, environment)?;
        Configuration::default().prompted(&PROPOSER, 1, settings)?.prompted(&PLAYER, 1, settings)
    }

    fn start(briefing: &Briefing) -> Result<Self, Problem> {
        let kinds = Kinds::choose(&briefing.settings, &briefing.actions)?;
        let proposer = PROPOSER.begin(briefing, Some(kinds.acting()))?;
        let player = PLAYER.begin(briefing, Some(kinds.acting()))?;
        Ok({{Name}} { kinds, proposer, player, observation: String::new() })
    }

    fn advance(&mut self, event: Event) -> Result<Step, Problem> {
        self.proposer.note(&event);
        self.player.note(&event);
        match event {
            Event::Begun(views) => Ok(self.ask(seen_by(&views, &Seat::new(PROPOSER.role)))),
            Event::Replied(reply) if reply.seat.role == PROPOSER.role => {
                let proposal = conclusion(reply.answer());
                let values = [("observation", self.observation.as_str()), ("proposal", proposal)];
                Ok(Step::ask(self.player.request(0, &values)))
            }
            Event::Replied(reply) => Ok(self.kinds.act(&reply.seat, reply.answer())),
            Event::Acted(seen) if seen.is_ongoing() => {
                Ok(self.ask(seen.seen_by(&Seat::new(PROPOSER.role))))
            }
            Event::Acted(_) => Ok(Step::finish()),
            Event::Returned(_) => Err(Problem::unexpected(&event)),
        }
    }

    fn demonstrate(&self, _seat: &Seat, expert: &Action) -> Option<String> {
        Some(expert.text.clone())
    }
}

impl {{Name}} {
    /// What a proposal is worth shows only once the player has acted: it is asked for as open.
    fn ask(&mut self, observation: String) -> Step {
        self.observation = observation;
        Step::ask(self.proposer.request(0, &[("observation", &self.observation)]).open())
    }
}

plugin_sdk::export!(workflow: {{Name}});

#[test]
fn it_keeps_the_contract() {
    plugin_sdk::testing::check_workflow::<{{Name}}>().assert_passed();
}
