//! Aggregate: several reasoners and several tools propose at the same time, an
//! aggregator sees all proposals and acts.

use plugin_sdk::conclusion::conclusion;
use plugin_sdk::prompt::{Prompt, RolePrompt};
use plugin_sdk::reading::program;
use plugin_sdk::tool::{self, Run};
use plugin_sdk::workflow::{
    Action, ActionKind, Briefing, Configuration, Configured, Description, Directive, Event,
    Problem, Reply, Seat, Step, View, Workflow, seen_by,
};
use plugin_sdk::{Kinds, Open, Setting, Settings};
use serde::{Deserialize, Serialize};

const REASONER: RolePrompt = RolePrompt {
    role: "reasoner",
    summary: "Proposes by thinking.",
    task: "You are one of several reasoners.",
    message: "{observation}",
    fields: &["observation", "feedback", "turns_left"],
};
const TOOL: RolePrompt = RolePrompt {
    role: "tool",
    summary: "Proposes by a program.",
    task: "You are one of several tools: write a program that prints the answer, and nothing \
           else, in the form that the rules ask for. It finds what you are told on its standard \
           input. End your answer with the program in a code block.",
    message: "{observation}",
    fields: &["observation", "feedback", "turns_left"],
};
const AGGREGATOR: RolePrompt = RolePrompt {
    role: "aggregator",
    summary: "Sees all proposals and acts.",
    task: "You are the aggregator: the proposals of your colleagues stand behind the word \
           `proposals`. Decide.",
    message: "{observation} proposals {proposals}",
    fields: &["observation", "proposals", "feedback", "turns_left"],
};
/// What language models are told instead.
const TO_READ: [(RolePrompt, &str, &str); 3] = [
    (
        REASONER,
        "You are one of several reasoners in a team. You see how things stand now and propose an \
         answer. Nothing is done by it: the aggregator sees all proposals and decides. You are \
         rewarded, as a team, for what is done.",
        "{observation}",
    ),
    (
        TOOL,
        "You are one of several colleagues in a team who write programs. You see how things stand \
         now. Write a program that works out the answer and prints it, and nothing else, in the \
         form that the rules ask for. It finds the text that you see on its standard input. What \
         it prints is shown to the aggregator, who decides. You may think first. End your answer \
         with the program in a code block. You are rewarded, as a team, for what is done.",
        "{observation}",
    ),
    (
        AGGREGATOR,
        "You are the aggregator in a team: what you answer is done. You see how things stand now \
         and, below that, what your colleagues propose. Weigh the proposals and decide; you may \
         also find a better answer. You are rewarded, as a team, for what your answer achieves.",
        "{observation}\n\nThe proposals: {proposals}",
    ),
];
/// Between two proposals.
const AND: &str = "|";
/// Characters of a proposal that the aggregator gets to see.
const SHOWN: usize = 500;

/// One session of them all.
#[derive(Serialize, Deserialize)]
pub struct Aggregate {
    kinds: Kinds,
    language: String,
    reasoner: Prompt,
    tool: Prompt,
    aggregator: Prompt,
    /// Seats of reasoners and tools.
    seats: [u32; 2],
    /// What the aggregator sees.
    observation: String,
    /// What each tool sees.
    told: Vec<String>,
    /// What was proposed, by the seats in their order.
    proposals: Vec<String>,
    programs: Vec<String>,
    /// Proposals that the aggregator has made nothing of, where none are scored.
    proposed: Open,
}

impl Workflow for Aggregate {
    fn describe() -> Description {
        let summary = "Several reasoners and tools propose, an aggregator decides.";
        Description::new("aggregate", env!("CARGO_PKG_VERSION"), summary)
            .reusable()
            .calls(&[tool::RUN])
            .setting(Kinds::setting())
            .setting(Setting::integer("reasoners", "Seats of the reasoner.", 1..=16, 2))
            .setting(Setting::integer("tools", "Seats of the tool; they run programs.", 0..=16, 0))
            .setting(Setting::text("language", "The programs' language.", "python"))
            .prompts(&[REASONER, TOOL, AGGREGATOR])
            .texts_for_language_models(&TO_READ)
    }

    fn configure(
        settings: &[Configured],
        environment: &[ActionKind],
    ) -> Result<Configuration, Problem> {
        Kinds::choose(settings, environment)?;
        let [reasoners, tools] = seats(settings)?;
        let mut roles = Configuration::default().prompted(&REASONER, reasoners, settings)?;
        if tools > 0 {
            roles = roles.prompted(&TOOL, tools, settings)?;
        }
        Ok(roles.prompted(&AGGREGATOR, 1, settings)?.words(&[AND]))
    }

    fn start(briefing: &Briefing) -> Result<Self, Problem> {
        let kinds = Kinds::choose(&briefing.settings, &briefing.actions)?;
        let seats = seats(&briefing.settings)?;
        if seats[1] > 0 {
            briefing.require_run()?;
        }
        let language = briefing.settings.text("language")?;
        Ok(Aggregate {
            language: language.to_owned(),
            reasoner: REASONER.begin(briefing, Some(kinds.acting()))?,
            tool: TOOL.begin(briefing, None)?.also(&tool::in_language(language)),
            aggregator: AGGREGATOR.begin(briefing, Some(kinds.acting()))?,
            kinds,
            seats,
            observation: String::new(),
            told: Vec::new(),
            proposals: Vec::new(),
            programs: Vec::new(),
            proposed: Open::default(),
        })
    }

    fn advance(&mut self, event: Event) -> Result<Step, Problem> {
        self.reasoner.note(&event);
        self.tool.note(&event);
        self.aggregator.note(&event);
        match event {
            Event::Begun(views) => Ok(self.ask_all(&views)),
            Event::Replied(reply) if reply.seat.role == AGGREGATOR.role => {
                Ok(self.kinds.act(&reply.seat, reply.answer()))
            }
            Event::Replied(reply) => Ok(self.take(&reply)),
            Event::Returned(returned) => {
                for one in &returned {
                    let run = Run::of(one)?;
                    // A program that came to no good end proposes nothing.
                    self.proposals.push(if run.succeeded {
                        run.told().to_owned()
                    } else {
                        String::new()
                    });
                }
                Ok(self.propose())
            }
            Event::Acted(seen) if !seen.is_ongoing() => Ok(Step::finish()),
            Event::Acted(seen) if seen.mover().is_some_and(|it| it.role == AGGREGATOR.role) => {
                let step = self.ask_all(&seen.views);
                Ok(self.proposed.settle(step))
            }
            Event::Acted(_) => Ok(self.ask_aggregator()),
        }
    }

    fn demonstrate(&self, seat: &Seat, expert: &Action) -> Option<String> {
        (seat.role != TOOL.role).then(|| expert.text.clone())
    }
}

impl Aggregate {
    fn ask_all(&mut self, views: &[View]) -> Step {
        let [reasoners, tools] = self.seats;
        let see = |role: &str, instance| seen_by(views, &Seat::numbered(role, instance));
        self.observation = see(AGGREGATOR.role, 0);
        self.told = (0..tools).map(|instance| see(TOOL.role, instance)).collect();
        self.proposals.clear();
        self.programs.clear();
        let reasoned = (0..reasoners).map(|instance| {
            let observation = see(REASONER.role, instance);
            self.reasoner.request(instance, &[("observation", &observation)])
        });
        let programmed = (0..tools).zip(&self.told).map(|(instance, observation)| {
            self.tool.request(instance, &[("observation", observation)])
        });
        let requests = reasoned.chain(programmed);
        Step::ask_all(requests.map(|request| self.kinds.to_propose(request)).collect())
    }

    /// An answer of one who proposes.
    fn take(&mut self, reply: &Reply) -> Step {
        if !self.kinds.scores_proposals() {
            self.proposed.take(reply);
        }
        if reply.seat.role == REASONER.role {
            self.proposals.push(reply.answer().to_owned());
        } else {
            self.programs.push(program(reply.answer()).to_owned());
        }
        let [reasoners, tools] = self.seats.map(|seats| seats as usize);
        if self.proposals.len() < reasoners || self.programs.len() < tools {
            return Step::wait();
        }
        if tools == 0 {
            return self.propose();
        }
        let programs = (0..).zip(self.programs.iter().zip(&self.told));
        let call = |(instance, (source, stdin)): (u32, (&String, &String))| {
            tool::run(Seat::numbered(TOOL.role, instance), &self.language, source, stdin)
        };
        Directive::Call(programs.map(call).collect()).into()
    }

    fn propose(&mut self) -> Step {
        let [reasoners, tools] = self.seats;
        let seats = |role, count| (0..count).map(move |instance| Seat::numbered(role, instance));
        let seats = seats(REASONER.role, reasoners).chain(seats(TOOL.role, tools));
        let said = self.proposals.iter().map(String::as_str);
        self.kinds.propose(seats.zip(said)).unwrap_or_else(|| self.ask_aggregator())
    }

    fn ask_aggregator(&mut self) -> Step {
        let shown = |text: &String| conclusion(text).chars().take(SHOWN).collect();
        let proposals: Vec<String> = self.proposals.iter().map(shown).collect();
        let proposals = proposals.join(&format!(" {AND} "));
        let values = [("observation", self.observation.as_str()), ("proposals", &proposals)];
        Step::ask(self.aggregator.request(0, &values))
    }
}

/// How many reasoners and tools there are.
fn seats(settings: &[Configured]) -> Result<[u32; 2], Problem> {
    Ok([settings.integer("reasoners")?, settings.integer("tools")?])
}

plugin_sdk::export!(workflow: Aggregate);
