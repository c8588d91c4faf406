//! Designer: a designer writes down a team, with a task for each member and the
//! order in which they are asked; executors play it.

mod design;

use plugin_sdk::prompt::{Prompt, RolePrompt};
use plugin_sdk::workflow::{
    Action, ActionKind, Briefing, Configuration, Configured, Credit, Description, Event, Problem,
    Reply, Seat, Step, View, Workflow, seen_by,
};
use plugin_sdk::{Kinds, Open, Setting, Settings};
use serde::{Deserialize, Serialize};

use design::Design;

const DESIGNER: RolePrompt = RolePrompt {
    role: "designer",
    summary: "Writes down a team.",
    task: "You are the designer: you do not solve the task, you write down the team that does. \
           Answer with a JSON object such as {\"team\": [{\"name\": \"solver\", \"task\": \"Solve \
           it step by step.\"}, {\"name\": \"checker\", \"task\": \"Look for mistakes.\"}], \
           \"order\": [\"solver\", \"checker\", \"solver\"]}. Each member sees what you see, its \
           task and what the one before it said; what the last one answers is done.",
    message: "{observation}",
    fields: &["observation", "feedback", "turns_left"],
};
const EXECUTOR: RolePrompt = RolePrompt {
    role: "executor",
    summary: "Is a member of the team that was designed.",
    task: "You are a member of a team. Your task stands behind the word `task`, what the member \
           before you said behind `before`.",
    message: "{observation} task {task} before {before}",
    fields: &["observation", "task", "before", "feedback", "turns_left"],
};
/// What language models are told instead.
const TO_READ: [(RolePrompt, &str, &str); 2] = [
    (
        DESIGNER,
        "You are the designer: you see how things stand now, but do not answer yourself. You \
         write down the team that does. Each member sees what you see, its task and what the one \
         before it said; what the last one answers is done. You may think first. End your answer \
         with a JSON object such as {\"team\": [{\"name\": \"solver\", \"task\": \"Solve it step \
         by step.\"}, {\"name\": \"checker\", \"task\": \"Look for mistakes.\"}], \"order\": \
         [\"solver\", \"checker\", \"solver\"]}, and nothing after it: `team` has the members, \
         `order` says by name who is asked one after the other, perhaps several times. You are \
         rewarded for what your team achieves, and lose by a design that cannot be read.",
        "{observation}",
    ),
    (
        EXECUTOR,
        "You are a member of a team. You see how things stand now and, below that, your task and \
         what the member before you said. The next member reads your answer; what the last one \
         answers is done. You are rewarded, as a team, for what that achieves.",
        "{observation}\n\nYour task: {task}\n\nThe member before you said:\n{before}",
    ),
];
/// For a design that cannot be read.
const UNREADABLE: f64 = -0.3;
/// Characters that a member gets to see of what was said before.
const SHOWN: usize = 2000;

/// One session of the designer and its team.
#[derive(Serialize, Deserialize)]
pub struct Designer {
    kinds: Kinds,
    designer: Prompt,
    executor: Prompt,
    executors: u32,
    /// What each executor sees.
    seen: Vec<String>,
    design: Design,
    /// The design, and what its members said before the last one: what that does shows
    /// what they were worth.
    open: Open,
    /// The member asked now, as a place in the order.
    place: usize,
}

impl Workflow for Designer {
    fn describe() -> Description {
        let summary = "A designer writes the team that works.";
        Description::new("designer", env!("CARGO_PKG_VERSION"), summary)
            .reusable()
            .setting(Kinds::setting())
            .setting(Setting::integer("executors", "Members of a team at most.", 1..=8, 4))
            .prompts(&[DESIGNER, EXECUTOR])
            .texts_for_language_models(&TO_READ)
    }

    fn configure(
        settings: &[Configured],
        environment: &[ActionKind],
    ) -> Result<Configuration, Problem> {
        Kinds::choose(settings, environment)?;
        let executors = settings.integer("executors")?;
        let roles = Configuration::default().prompted(&DESIGNER, 1, settings)?;
        roles.prompted(&EXECUTOR, executors, settings)
    }

    fn start(briefing: &Briefing) -> Result<Self, Problem> {
        let kinds = Kinds::choose(&briefing.settings, &briefing.actions)?;
        let executors = briefing.settings.integer("executors")?;
        Ok(Designer {
            designer: DESIGNER.begin(briefing, None)?.also(&Design::limits(executors)),
            executor: EXECUTOR.begin(briefing, Some(kinds.acting()))?,
            executors,
            kinds,
            seen: Vec::new(),
            design: Design::default(),
            open: Open::default(),
            place: 0,
        })
    }

    fn advance(&mut self, event: Event) -> Result<Step, Problem> {
        self.designer.note(&event);
        self.executor.note(&event);
        match event {
            Event::Begun(views) => Ok(self.ask_designer(&views)),
            Event::Replied(reply) if reply.seat.role == DESIGNER.role => Ok(self.begin(&reply)),
            Event::Replied(reply) => {
                if !self.design.is_last(self.place) {
                    self.open.take(&reply);
                }
                self.place += 1;
                let before: String = reply.answer().chars().take(SHOWN).collect();
                let next = self.ask_executor(&before);
                Ok(next.unwrap_or_else(|| self.kinds.act(&reply.seat, reply.answer())))
            }
            Event::Acted(seen) if !seen.is_ongoing() => Ok(Step::finish()),
            Event::Acted(seen) => Ok(self.ask_designer(&seen.views)),
            Event::Returned(_) => Err(Problem::unexpected(&event)),
        }
    }

    fn demonstrate(&self, seat: &Seat, expert: &Action) -> Option<String> {
        (seat.role == EXECUTOR.role).then(|| expert.text.clone())
    }
}

impl Designer {
    /// What a design is worth shows in what its team does.
    fn ask_designer(&mut self, views: &[View]) -> Step {
        let executor = |instance| seen_by(views, &Seat::numbered(EXECUTOR.role, instance));
        self.seen = (0..self.executors).map(executor).collect();
        let observation = seen_by(views, &Seat::new(DESIGNER.role));
        let request = self.designer.request(0, &[("observation", &observation)]).open();
        self.open.settle(Step::ask(request))
    }

    fn begin(&mut self, reply: &Reply) -> Step {
        let read = Design::read(reply.answer(), self.executors as usize);
        let readable = read.is_ok();
        self.design = read.unwrap_or_else(|why| {
            self.designer.learn(0, &why);
            Design::of_one()
        });
        self.open.take(reply);
        self.place = 0;
        let mut step = self.ask_executor("").unwrap_or_else(Step::finish);
        if !readable {
            let name = "unreadable".to_owned();
            let (answer, value) = (reply.answer, UNREADABLE);
            step.credits.push(Credit { answer, name, value, is_last: false });
        }
        step
    }

    /// The next of the team; none behind the last one.
    fn ask_executor(&mut self, before: &str) -> Option<Step> {
        let (seat, task) = self.design.at(self.place)?;
        let observation = self.seen.get(seat as usize).map_or("", String::as_str);
        let values = [("observation", observation), ("task", task), ("before", before)];
        let request = self.executor.request(seat, &values);
        let is_last = self.design.is_last(self.place);
        Some(Step::ask(if is_last { request } else { request.open() }))
    }
}

plugin_sdk::export!(workflow: Designer);
