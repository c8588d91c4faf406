//! Debate: several debaters answer, read one another's answers and answer again;
//! what most of them say in the last round is done.

use plugin_sdk::conclusion::conclusion;
use plugin_sdk::prompt::{Prompt, RolePrompt};
use plugin_sdk::workflow::{
    Action, ActionKind, Briefing, Configuration, Configured, Description, Event, Problem, Seat,
    Step, View, Workflow, seen_by,
};
use plugin_sdk::{Kinds, Open, Setting, Settings};
use serde::{Deserialize, Serialize};

const DEBATER: RolePrompt = RolePrompt {
    role: "debater",
    summary: "Answers, reads the others and answers again.",
    task: "You are one of several debaters. What the others answered in the last round stands \
           behind the word `others`: weigh it, and keep or change your answer.",
    message: "{observation} others {others}",
    fields: &["observation", "others", "feedback", "turns_left"],
};
/// What language models are told instead.
const TO_READ: [(RolePrompt, &str, &str); 1] = [(
    DEBATER,
    "You are one of several debaters who see the same and answer at the same time, in rounds. \
         From the second round on, what the others answered in the last one stands below what you \
         see: weigh it, and keep your answer or change it. What most of you answer in the last \
         round is done. You are rewarded, as a team, for what that achieves.",
    "{observation}\n\nThe others answered: {others}",
)];
/// Between two answers.
const AND: &str = "|";
/// Characters of an answer that the others get to see.
const SHOWN: usize = 500;

/// One session of the debaters.
#[derive(Serialize, Deserialize)]
pub struct Debate {
    kinds: Kinds,
    debater: Prompt,
    debaters: u32,
    rounds: u32,
    /// What each of them sees.
    seen: Vec<String>,
    /// Rounds since the last action, and the one that decides: no later than their last turn.
    round: u32,
    last: u32,
    /// What each of them said in this round.
    said: Vec<String>,
    /// Answers that the others read before they decided, where none are scored.
    read: Open,
}

impl Workflow for Debate {
    fn describe() -> Description {
        let summary = "Several debaters answer in rounds, the majority decides.";
        Description::new("debate", env!("CARGO_PKG_VERSION"), summary)
            .reusable()
            .setting(Kinds::setting())
            .setting(Setting::integer("debaters", "Seats of the debater.", 2..=16, 3))
            .setting(Setting::integer("rounds", "Rounds before it is decided.", 1..=8, 2))
            .prompts(&[DEBATER])
            .texts_for_language_models(&TO_READ)
    }

    fn configure(
        settings: &[Configured],
        environment: &[ActionKind],
    ) -> Result<Configuration, Problem> {
        Kinds::choose(settings, environment)?;
        let debaters = settings.integer("debaters")?;
        Ok(Configuration::default().prompted(&DEBATER, debaters, settings)?.words(&[AND]))
    }

    fn start(briefing: &Briefing) -> Result<Self, Problem> {
        let kinds = Kinds::choose(&briefing.settings, &briefing.actions)?;
        Ok(Debate {
            debater: DEBATER.begin(briefing, Some(kinds.acting()))?,
            debaters: briefing.settings.integer("debaters")?,
            rounds: briefing.settings.integer("rounds")?,
            kinds,
            seen: Vec::new(),
            round: 0,
            last: 0,
            said: Vec::new(),
            read: Open::default(),
        })
    }

    fn advance(&mut self, event: Event) -> Result<Step, Problem> {
        self.debater.note(&event);
        match event {
            Event::Begun(views) => Ok(self.begin(&views)),
            Event::Replied(reply) => {
                self.said.push(reply.answer().to_owned());
                if self.is_read() {
                    self.read.take(&reply);
                }
                if self.said.len() < self.debaters as usize {
                    return Ok(Step::wait());
                }
                let said = self.seats().zip(self.said.iter().map(String::as_str));
                Ok(self.kinds.propose(said).unwrap_or_else(|| self.go_on()))
            }
            Event::Acted(seen) if !seen.is_ongoing() => Ok(Step::finish()),
            Event::Acted(seen) if seen.results.len() > 1 => Ok(self.go_on()),
            Event::Acted(seen) => {
                let step = self.begin(&seen.views);
                Ok(self.read.settle(step))
            }
            Event::Returned(_) => Err(Problem::unexpected(&event)),
        }
    }

    fn demonstrate(&self, _seat: &Seat, expert: &Action) -> Option<String> {
        Some(expert.text.clone())
    }
}

impl Debate {
    fn seats(&self) -> impl Iterator<Item = Seat> + use<> {
        (0..self.debaters).map(|instance| Seat::numbered(DEBATER.role, instance))
    }

    fn begin(&mut self, views: &[View]) -> Step {
        self.seen = self.seats().map(|seat| seen_by(views, &seat)).collect();
        self.round = 0;
        self.last = self.rounds.min(self.debater.turns_left(0));
        self.said.clear();
        self.ask()
    }

    /// Ask everybody, with what the others said in the last round.
    fn ask(&mut self) -> Step {
        self.round += 1;
        let is_read = self.is_read();
        let before = std::mem::take(&mut self.said);
        let request = |(instance, observation): (usize, &String)| {
            let others = before.iter().enumerate().filter(|(other, _)| *other != instance);
            let shown = others.map(|(_, said)| conclusion(said).chars().take(SHOWN).collect());
            let others = shown.collect::<Vec<String>>().join(&format!(" {AND} "));
            let values = [("observation", observation.as_str()), ("others", &others)];
            let request = self.debater.request(instance as u32, &values);
            if is_read { request.open() } else { request }
        };
        Step::ask_all(self.seen.iter().enumerate().map(request).collect())
    }

    /// Whether what is said in this round is only read by the others, and not scored.
    fn is_read(&self) -> bool {
        self.round < self.last && !self.kinds.scores_proposals()
    }

    /// One more round, or what most of them say.
    fn go_on(&mut self) -> Step {
        if self.round < self.last {
            return self.ask();
        }
        let chosen = majority(&self.said);
        self.kinds.act(Seat::numbered(DEBATER.role, chosen as u32), &self.said[chosen])
    }
}

/// The first answer that most of them give; in a tie the first one. What says nothing, as one
/// that was cut, is chosen only where nobody says anything.
fn majority(said: &[String]) -> usize {
    let bare = |text: &String| -> String {
        conclusion(text).chars().filter(|c| !c.is_whitespace()).collect()
    };
    let answers: Vec<String> = said.iter().map(bare).collect();
    let says = |one: usize| answers[one].chars().any(char::is_alphanumeric);
    let votes = |one: usize| answers.iter().filter(|other| **other == answers[one]).count();
    (0..answers.len()).rev().max_by_key(|&one| (says(one), votes(one))).unwrap_or(0)
}

plugin_sdk::export!(workflow: Debate);

#[cfg(test)]
mod tests {
    use plugin_sdk::workflow::CUT;

    use super::majority;

    fn of(said: &[&str]) -> usize {
        majority(&said.iter().map(|&s| s.to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn what_most_say_counts_and_of_equals_the_first() {
        assert_eq!(of(&["1", "so\n2", "Answer: 2"]), 1);
        assert_eq!(of(&["1", "```\n2\n```", "So:\n```\n2\n```\nDone."]), 1);
        assert_eq!(of(&["1", "2"]), 0);
        assert_eq!(of(&["3", "1", "1", "2", "2"]), 1);
    }

    #[test]
    fn nothing_and_what_was_cut_is_no_vote() {
        assert_eq!(of(&[CUT, CUT, "2"]), 2);
        assert_eq!(of(&["", "1", "", "2", "2"]), 3);
        assert_eq!(of(&["", CUT, CUT]), 1, "nobody says anything");
    }
}
