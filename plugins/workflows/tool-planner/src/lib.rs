//! Tool and planner: a tool role writes a program, which is run in the sandbox
//! and prints a proposal; a planner, who sees the proposal, acts. The paper's
//! team for games and planning (arXiv 2510.11062).

use plugin_sdk::prompt::{Prompt, RolePrompt};
use plugin_sdk::tool::{self, Run};
use plugin_sdk::workflow::{
    Action, ActionKind, Briefing, Configuration, Configured, Description, Directive, Event,
    Problem, Seat, Step, View, Workflow, seen_by,
};
use plugin_sdk::{Kinds, Open, Setting, Settings, reading};
use serde::{Deserialize, Serialize};

const TOOL: RolePrompt = RolePrompt {
    role: "tool",
    summary: "Writes a program that proposes what to do.",
    task: "You are the tool: write a program that works out what to do next and prints it, and \
           nothing else, in the form that the rules ask for. It finds what you are told now on \
           its standard input. End your answer with the program in a code block.",
    message: "{observation}",
    fields: &["observation", "feedback", "turns_left"],
};
const PLANNER: RolePrompt = RolePrompt {
    role: "planner",
    summary: "Sees the proposal and acts.",
    task: "You are the planner: decide what is done. What a program proposed stands after the \
           word `proposal`; follow it unless it is wrong.",
    message: "{observation} proposal {proposal}",
    fields: &["observation", "proposal", "feedback", "turns_left"],
};
/// What language models are told instead.
const TO_READ: [(RolePrompt, &str, &str); 2] = [
    (
        TOOL,
        "You are the one who writes programs in a team of two. You see how things stand now. \
         Write a program that works out what to do next and prints it, and nothing else, in the \
         form that the rules ask for. It finds the text that you see on its standard input. What \
         it prints is proposed to the planner, who acts. You may think first. End your answer \
         with the program in a code block. You are rewarded, as a team, for what the planner \
         achieves.",
        "{observation}",
    ),
    (
        PLANNER,
        "You are the planner in a team of two: what you answer is done. You see how things stand \
         now and, below that, what a colleague's program printed as a proposal, or why it failed. \
         Follow the proposal unless it is wrong. You are rewarded, as a team, for what your \
         answers achieve.",
        "{observation}\n\nThe program says: {proposal}",
    ),
];
/// Characters of a proposal that the planner gets to see.
const PROPOSAL: usize = 2000;

/// One session of the two.
#[derive(Serialize, Deserialize)]
pub struct ToolPlanner {
    kinds: Kinds,
    language: String,
    tool: Prompt,
    planner: Prompt,
    /// What the tool and the planner see.
    seen: [String; 2],
    proposal: String,
    /// Programs whose proposals were not used, and that are not scored.
    programmed: Open,
}

impl Workflow for ToolPlanner {
    fn describe() -> Description {
        let summary = "A tool writes a program that proposes, a planner decides.";
        Description::new("tool-planner", env!("CARGO_PKG_VERSION"), summary)
            .reusable()
            .calls(&[tool::RUN])
            .setting(Kinds::setting())
            .setting(Setting::text("language", "The programs' language.", "python"))
            .prompts(&[TOOL, PLANNER])
            .texts_for_language_models(&TO_READ)
    }

    fn configure(
        settings: &[Configured],
        environment: &[ActionKind],
    ) -> Result<Configuration, Problem> {
        Kinds::choose(settings, environment)?;
        Configuration::default().prompted(&TOOL, 1, settings)?.prompted(&PLANNER, 1, settings)
    }

    fn start(briefing: &Briefing) -> Result<Self, Problem> {
        briefing.require_run()?;
        let kinds = Kinds::choose(&briefing.settings, &briefing.actions)?;
        let language = briefing.settings.text("language")?;
        Ok(ToolPlanner {
            language: language.to_owned(),
            tool: TOOL.begin(briefing, None)?.also(&tool::in_language(language)),
            planner: PLANNER.begin(briefing, Some(kinds.acting()))?,
            kinds,
            seen: Default::default(),
            proposal: String::new(),
            programmed: Open::default(),
        })
    }

    fn advance(&mut self, event: Event) -> Result<Step, Problem> {
        self.tool.note(&event);
        self.planner.note(&event);
        match event {
            Event::Begun(views) => Ok(self.ask_tool(&views)),
            Event::Replied(reply) if reply.seat.role == TOOL.role => {
                if !self.kinds.scores_proposals() {
                    self.programmed.take(&reply);
                }
                let program = reading::program(reply.answer());
                let call = tool::run(&reply.seat, &self.language, program, &self.seen[0]);
                Ok(Directive::Call(vec![call]).into())
            }
            Event::Returned(returned) => {
                let run = returned.first().map(Run::of).transpose()?.unwrap_or_default();
                self.proposal = run.told().chars().take(PROPOSAL).collect();
                // A program that came to no good end proposes nothing.
                let proposed = if run.succeeded { self.proposal.as_str() } else { "" };
                let scored = self.kinds.propose([(Seat::new(TOOL.role), proposed)]);
                Ok(scored.unwrap_or_else(|| self.ask_planner()))
            }
            Event::Replied(reply) => Ok(self.kinds.act(&reply.seat, reply.answer())),
            Event::Acted(seen) if !seen.is_ongoing() => Ok(Step::finish()),
            Event::Acted(seen) if seen.mover().is_some_and(|seat| seat.role == TOOL.role) => {
                Ok(self.ask_planner())
            }
            Event::Acted(seen) => {
                let step = self.ask_tool(&seen.views);
                Ok(self.programmed.settle(step))
            }
        }
    }

    fn demonstrate(&self, seat: &Seat, expert: &Action) -> Option<String> {
        (seat.role == PLANNER.role).then(|| expert.text.clone())
    }
}

impl ToolPlanner {
    fn ask_tool(&mut self, views: &[View]) -> Step {
        self.seen = [TOOL.role, PLANNER.role].map(|role| seen_by(views, &Seat::new(role)));
        let request = self.tool.request(0, &[("observation", &self.seen[0])]);
        Step::ask(self.kinds.to_propose(request))
    }

    fn ask_planner(&mut self) -> Step {
        let values = [("observation", self.seen[1].as_str()), ("proposal", &self.proposal)];
        Step::ask(self.planner.request(0, &values))
    }
}

plugin_sdk::export!(workflow: ToolPlanner);
