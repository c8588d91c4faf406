//! Reasoner and tool: a reasoner answers, a tool role writes a program whose
//! output is its answer. Where they agree, that is the answer; where they do
//! not, both are told what the other found. The paper's team for mathematics
//! (arXiv 2510.11062).

use plugin_sdk::conclusion::conclusion;
use plugin_sdk::prompt::{Prompt, RolePrompt};
use plugin_sdk::reading::program;
use plugin_sdk::tool::{self, Run};
use plugin_sdk::workflow::{
    Action, ActionKind, Briefing, Configuration, Configured, Description, Directive, Event,
    Problem, Request, Seat, Step, View, Workflow, seen_by,
};
use plugin_sdk::{Kinds, Open, Setting, Settings};
use serde::{Deserialize, Serialize};

const REASONER: RolePrompt = RolePrompt {
    role: "reasoner",
    summary: "Answers by thinking.",
    task: "You are the reasoner. If a colleague's program came to another answer, it stands \
           behind yours: find out who is right.",
    message: "{observation} {disagreement}",
    fields: &["observation", "disagreement", "feedback", "turns_left"],
};
const TOOL: RolePrompt = RolePrompt {
    role: "tool",
    summary: "Answers by a program.",
    task: "You are the tool: write a program that prints the answer, and nothing else. If a \
           colleague came to another answer, it stands behind yours: find out who is right. End \
           your answer with the program in a code block.",
    message: "{observation} {disagreement}",
    fields: &["observation", "disagreement", "feedback", "turns_left"],
};
/// What language models are told instead.
const TO_READ: [(RolePrompt, &str, &str); 2] = [
    (
        REASONER,
        "You are the reasoner in a team of two. You see how things stand now and answer by \
         thinking; at the same time a colleague writes a program that answers. If the two answers \
         agree, yours is done. If not, both stand below what you see, and both of you answer \
         again: find out who is right. After the last round your answer is done. You are \
         rewarded, as a team, for what it achieves.",
        "{observation}\n\nYou did not agree; the answers were these. {disagreement}",
    ),
    (
        TOOL,
        "You are the one who writes programs in a team of two. You see how things stand now; a \
         colleague answers by thinking at the same time. Write a program that works out the \
         answer and prints it, and nothing else. If the two answers do not agree, both stand \
         below what you see, and both of you answer again: find out who is right. You may think \
         first. End your answer with the program in a code block. You are rewarded, as a team, \
         for what is done.",
        "{observation}\n\nYou did not agree; the answers were these. {disagreement}",
    ),
];
/// What stands before what each of them answered.
const ANSWERED: [&str; 2] = ["reasoner:", "tool:"];
/// Characters of an answer that the other gets to see.
const SHOWN: usize = 500;

/// One session of the two.
#[derive(Serialize, Deserialize)]
pub struct ReasonerTool {
    kinds: Kinds,
    language: String,
    rounds: u32,
    reasoner: Prompt,
    tool: Prompt,
    /// What the reasoner and the tool see.
    seen: [String; 2],
    /// Questions to both since the last action, and the one that decides: no later than their last
    /// turn.
    round: u32,
    last: u32,
    /// The reasoner's whole answer, and the tool's program or what it printed.
    said: [String; 2],
    /// Answers since the last action: those that disagree are worth what the next
    /// ones come to, or it would be best to agree.
    open: Open,
}

impl Workflow for ReasonerTool {
    fn describe() -> Description {
        let summary = "A reasoner and a tool answer until they agree.";
        Description::new("reasoner-tool", env!("CARGO_PKG_VERSION"), summary)
            .reusable()
            .calls(&[tool::RUN])
            .setting(Kinds::setting())
            .setting(Setting::integer(
                "rounds",
                "Rounds after which the reasoner's answer counts, agreed or not.",
                1..=8,
                3,
            ))
            .setting(Setting::text("language", "The programs' language.", "python"))
            .prompts(&[REASONER, TOOL])
            .texts_for_language_models(&TO_READ)
    }

    fn configure(
        settings: &[Configured],
        environment: &[ActionKind],
    ) -> Result<Configuration, Problem> {
        Kinds::choose(settings, environment)?;
        let roles = Configuration::default().prompted(&REASONER, 1, settings)?;
        Ok(roles.prompted(&TOOL, 1, settings)?.words(&ANSWERED))
    }

    fn start(briefing: &Briefing) -> Result<Self, Problem> {
        briefing.require_run()?;
        let kinds = Kinds::choose(&briefing.settings, &briefing.actions)?;
        let language = briefing.settings.text("language")?;
        Ok(ReasonerTool {
            language: language.to_owned(),
            rounds: briefing.settings.integer("rounds")?,
            reasoner: REASONER.begin(briefing, Some(kinds.acting()))?,
            tool: TOOL.begin(briefing, None)?.also(&tool::in_language(language)),
            kinds,
            seen: Default::default(),
            round: 0,
            last: 0,
            said: Default::default(),
            open: Open::default(),
        })
    }

    fn advance(&mut self, event: Event) -> Result<Step, Problem> {
        self.reasoner.note(&event);
        self.tool.note(&event);
        match event {
            Event::Begun(views) => Ok(self.begin(&views)),
            Event::Replied(reply) if reply.seat.role == REASONER.role => {
                self.open.take(&reply);
                self.said[0] = reply.answer().to_owned();
                Ok(Step::wait())
            }
            Event::Replied(reply) => {
                self.open.take(&reply);
                let source = program(reply.answer());
                let call = tool::run(&reply.seat, &self.language, source, &self.seen[1]);
                Ok(Directive::Call(vec![call]).into())
            }
            Event::Returned(returned) => {
                let run = returned.first().map(Run::of).transpose()?.unwrap_or_default();
                // A program that came to no good end has no answer.
                self.said[1] = if run.succeeded { run.told().to_owned() } else { String::new() };
                let seats = [REASONER.role, TOOL.role].map(Seat::new);
                let said = self.said.iter().map(String::as_str);
                let scored = self.kinds.propose(seats.into_iter().zip(said));
                Ok(scored.unwrap_or_else(|| self.decide()))
            }
            Event::Acted(seen) if !seen.is_ongoing() => Ok(Step::finish()),
            Event::Acted(seen) if seen.results.len() > 1 => Ok(self.decide()),
            Event::Acted(seen) => {
                let step = self.begin(&seen.views);
                Ok(self.open.settle(step))
            }
        }
    }

    fn demonstrate(&self, seat: &Seat, expert: &Action) -> Option<String> {
        (seat.role == REASONER.role).then(|| expert.text.clone())
    }
}

impl ReasonerTool {
    fn begin(&mut self, views: &[View]) -> Step {
        self.seen = [REASONER.role, TOOL.role].map(|role| seen_by(views, &Seat::new(role)));
        self.round = 0;
        self.last = self.rounds.min(self.reasoner.turns_left(0));
        self.ask("")
    }

    fn ask(&mut self, disagreement: &str) -> Step {
        self.round += 1;
        let values = |seen: usize| {
            [("observation", self.seen[seen].as_str()), ("disagreement", disagreement)]
        };
        let requests = [self.reasoner.request(0, &values(0)), self.tool.request(0, &values(1))];
        Step::ask_all(requests.map(Request::open).into())
    }

    /// Act if both say the same, or if this was the last round.
    fn decide(&mut self) -> Step {
        let answers = [0, 1].map(|who| conclusion(&self.said[who]));
        if agree(answers) || self.round >= self.last {
            return self.kinds.act(REASONER.role, &self.said[0]);
        }
        let shown = |who: usize| -> String { answers[who].chars().take(SHOWN).collect() };
        let disagreement = format!("{} {} {} {}", ANSWERED[0], shown(0), ANSWERED[1], shown(1));
        self.ask(&disagreement)
    }
}

/// Whether two answers are the same, as numbers or, but for white space and
/// letter case, as text. Nothing is no answer.
fn agree(answers: [&str; 2]) -> bool {
    let [Some(one), Some(other)] = answers.map(|answer| answer.parse::<f64>().ok()) else {
        let bare = |text: &str| -> String {
            text.chars().filter(|c| !c.is_whitespace()).flat_map(char::to_lowercase).collect()
        };
        let [one, other] = answers.map(bare);
        return !one.is_empty() && one == other;
    };
    one == other
}

plugin_sdk::export!(workflow: ReasonerTool);

#[cfg(test)]
mod tests {
    use super::agree;

    #[test]
    fn numbers_agree_by_value_and_words_by_letters() {
        assert!(agree(["4", "4.0"]) && agree(["x + 1", "X+1"]));
        assert!(!agree(["4", "5"]) && !agree(["", ""]) && !agree(["", "4"]));
    }
}
