//! Searcher and reasoner: a searcher searches; a reasoner reads what was found
//! and answers, or has the searcher go on.

use plugin_sdk::conclusion::says;
use plugin_sdk::prompt::{Prompt, RolePrompt};
use plugin_sdk::workflow::{
    Action, ActionKind, Briefing, Configuration, Configured, Description, Event, Problem, Seat,
    Step, View, Workflow, action_kind, seen_by,
};
use plugin_sdk::{Open, Setting, Settings};
use serde::{Deserialize, Serialize};

const SEARCHER: RolePrompt = RolePrompt {
    role: "searcher",
    summary: "Searches.",
    task: "You are the searcher: search for what is still missing to answer the question.",
    message: "searcher {observation}",
    fields: &["observation", "feedback", "turns_left"],
};
const REASONER: RolePrompt = RolePrompt {
    role: "reasoner",
    summary: "Reads what was found and answers, or asks for more.",
    task: "You are the reasoner: answer the question from what was found, or say `more` if \
           something is missing.",
    message: "reasoner {observation}",
    fields: &["observation", "last", "feedback", "turns_left"],
};
/// What language models are told instead.
const TO_READ: [(RolePrompt, &str, &str); 2] = [
    (
        SEARCHER,
        "You are the searcher in a team of two. You see the question and what was found so far. \
         Search for what is still missing; a reasoner reads what is found and answers, or has you \
         search again. You are rewarded, as a team, for the answer.",
        "{observation}",
    ),
    (
        REASONER,
        "You are the reasoner in a team of two. You see the question and what a searcher has \
         found. Answer the question from that. If something is missing, answer with nothing but \
         the word `more`, and the searcher goes on, as long as it may. You are rewarded, as a \
         team, for the answer.",
        "{observation}\n\n{last}",
    ),
];
/// What the reasoner says who has found too little.
const MORE: &str = "more";
/// What the reasoner is told, where its message has the field, when it has to answer.
const LAST: &str = "The searcher cannot go on any more: answer now, as well as you can.";
const QUERY: &str = "query";
const ANSWER: &str = "answer";

/// One session of the two.
#[derive(Serialize, Deserialize)]
pub struct SearcherReasoner {
    searcher: Prompt,
    reasoner: Prompt,
    /// Queries that there may be, no more than there are turns, and those so far.
    rounds: u32,
    round: u32,
    /// What the searcher sees.
    observation: String,
    /// What the reasoner said since it last answered: to ask for more is worth what
    /// the answer will be.
    reasoned: Open,
}

impl Workflow for SearcherReasoner {
    fn describe() -> Description {
        let summary = "A searcher searches, a reasoner reads and answers.";
        Description::new("searcher-reasoner", env!("CARGO_PKG_VERSION"), summary)
            .reusable()
            .setting(Setting::integer(
                "rounds",
                "Queries after which the reasoner's answer counts, whatever it is.",
                1..=16,
                4,
            ))
            .action(QUERY)
            .action(ANSWER)
            .prompts(&[SEARCHER, REASONER])
            .texts_for_language_models(&TO_READ)
    }

    fn configure(
        settings: &[Configured],
        environment: &[ActionKind],
    ) -> Result<Configuration, Problem> {
        [QUERY, ANSWER].iter().try_for_each(|kind| action_kind(environment, kind).map(drop))?;
        let roles = Configuration::default().prompted(&SEARCHER, 1, settings)?;
        Ok(roles.prompted(&REASONER, 1, settings)?.words(&[MORE]))
    }

    fn start(briefing: &Briefing) -> Result<Self, Problem> {
        Ok(SearcherReasoner {
            searcher: SEARCHER.begin(briefing, Some(QUERY))?,
            reasoner: REASONER.begin(briefing, Some(ANSWER))?,
            rounds: briefing.settings.integer::<u32>("rounds")?.min(briefing.max_turns),
            round: 0,
            observation: String::new(),
            reasoned: Open::default(),
        })
    }

    fn advance(&mut self, event: Event) -> Result<Step, Problem> {
        self.searcher.note(&event);
        self.reasoner.note(&event);
        match event {
            Event::Begun(views) => Ok(self.ask_searcher(&views)),
            Event::Replied(reply) if reply.seat.role == SEARCHER.role => {
                self.round += 1;
                Ok(Step::act(&reply.seat, QUERY, reply.answer()))
            }
            Event::Replied(reply) => {
                self.reasoned.take(&reply);
                if says(reply.answer(), MORE) && !self.is_last() {
                    return Ok(self.search());
                }
                Ok(Step::act(&reply.seat, ANSWER, reply.answer()))
            }
            Event::Acted(seen) if !seen.is_ongoing() => Ok(Step::finish()),
            Event::Acted(seen) if seen.mover().is_some_and(|it| it.role == SEARCHER.role) => {
                self.observation = seen.seen_by(&Seat::new(SEARCHER.role));
                let observation = seen.seen_by(&Seat::new(REASONER.role));
                let last = if self.is_last() { LAST } else { "" };
                let values = [("observation", observation.as_str()), ("last", last)];
                Ok(Step::ask(self.reasoner.request(0, &values).open()))
            }
            Event::Acted(seen) => {
                let step = self.ask_searcher(&seen.views);
                Ok(self.reasoned.settle(step))
            }
            Event::Returned(_) => Err(Problem::unexpected(&event)),
        }
    }

    fn demonstrate(&self, seat: &Seat, expert: &Action) -> Option<String> {
        match (seat.role == SEARCHER.role, expert.kind.as_str()) {
            (true, QUERY) | (false, ANSWER) => Some(expert.text.clone()),
            (false, QUERY) => Some(MORE.to_owned()),
            // Nothing is missing: to search for the answer does no harm.
            (true, _) => Some(expert.text.clone()),
            _ => None,
        }
    }
}

impl SearcherReasoner {
    /// Whether the searcher cannot search again, so that to ask for more is an answer.
    fn is_last(&self) -> bool {
        self.round >= self.rounds
    }

    fn ask_searcher(&mut self, views: &[View]) -> Step {
        self.observation = seen_by(views, &Seat::new(SEARCHER.role));
        self.search()
    }

    fn search(&mut self) -> Step {
        Step::ask(self.searcher.request(0, &[("observation", &self.observation)]))
    }
}

plugin_sdk::export!(workflow: SearcherReasoner);
