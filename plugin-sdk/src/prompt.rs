//! What a role is told: texts that a plugin brings and its user may override.

use serde::{Deserialize, Serialize};

use crate::memory::Memory;
use crate::settings::Settings;
use crate::types::{Configured, Part, Problem, Seat, Setting, written};
use crate::workflow::{Briefing, Configuration, Description, Event, Request};

/// The setting of all workflows that says how many own turns a prompt holds.
const HISTORY: &str = "history";
/// More turns than that are no prompt of a turn any more.
const MOST_HISTORY: i32 = 32;
/// The fields that a [`Prompt`] fills in by itself.
const FEEDBACK: &str = "feedback";
const TURNS_LEFT: &str = "turns_left";
/// How language models are told them.
const TO_READ: [(&str, &str); 2] = [
    (FEEDBACK, "What became of your last answer: {feedback}"),
    (TURNS_LEFT, "Turns left, this one included: {turns_left}"),
];
/// Between two paragraphs of a message.
const PARAGRAPH: &str = "\n\n";

/// A role and the texts for it.
///
/// The user overrides them by the settings `<role>_task` and `<role>_message`,
/// in which a field stands in braces, such as `{observation}`. Two of them need
/// no value: `{feedback}` is what became of the seat's last answer, as far as the
/// observation does not say it, and `{turns_left}` in how many turns it may still
/// answer, this one included. The setting `history` has the seat's last turns
/// stand in its prompt. All three need [`Prompt::note`].
///
/// ```
/// use plugin_sdk::prompt::RolePrompt;
///
/// const PLANNER: RolePrompt = RolePrompt {
///     role: "planner",
///     summary: "Proposes the next moves.",
///     task: "You are the planner: propose the executor's moves.",
///     message: "planner {observation}",
///     fields: &["observation"],
/// };
/// assert_eq!(PLANNER.setting("task"), "planner_task");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct RolePrompt {
    /// The role's name.
    pub role: &'static str,
    /// What it is for, in one sentence.
    pub summary: &'static str,
    /// What it is told to do, behind the rules, in the system message.
    pub task: &'static str,
    /// The user message, with fields in braces.
    pub message: &'static str,
    /// The fields that a message may have, `feedback` and `turns_left` among them if
    /// they are noted.
    pub fields: &'static [&'static str],
}

/// The texts for a role in a session, those of the plugin or of the user, and what
/// its seats remember.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Prompt {
    role: String,
    system: String,
    message: String,
    max_turns: u32,
    memory: Memory,
}

impl RolePrompt {
    /// The setting that overrides the text called `task` or `message`.
    pub fn setting(&self, text: &str) -> String {
        format!("{}_{text}", self.role.replace('-', "_"))
    }

    /// The role's texts in a session. With a kind of action, the system message
    /// ends with what such an action must look like.
    pub fn begin(&self, briefing: &Briefing, kind: Option<&str>) -> Result<Prompt, Problem> {
        let task = briefing.settings.text(&self.setting("task"))?;
        let system = match kind {
            Some(kind) => briefing.instructions(self.role, task, kind)?,
            None => format!("{}\n\n{task}", briefing.rules_for(&Seat::new(self.role))),
        };
        let message = briefing.settings.text(&self.setting("message"))?.to_owned();
        let (role, max_turns) = (self.role.to_owned(), briefing.max_turns);
        let memory = Memory::of(briefing.settings.integer(HISTORY)?);
        Ok(Prompt { role, system, message, max_turns, memory })
    }

    /// The message for language models, with what may be noted behind it.
    pub(crate) fn for_reading(&self, message: &str) -> String {
        let noted = TO_READ.iter().filter(|(field, _)| self.fields.contains(field));
        noted.fold(message.to_owned(), |told, (_, noted)| told + PARAGRAPH + noted)
    }

    fn message_in<'s>(&self, settings: &'s [Configured]) -> Result<&'s str, Problem> {
        Ok(settings.text(&self.setting("message"))?)
    }

    /// A message with a field that is never filled in would be told as it is written.
    fn check(&self, message: &str) -> Result<(), Problem> {
        let known = |name: &str| self.fields.contains(&name);
        let unknown = pieces(message).find_map(|piece| match piece {
            Piece::Field(name) if !known(name) => Some(name),
            _ => None,
        });
        match unknown {
            None => Ok(()),
            Some(name) => {
                let fields: Vec<String> =
                    self.fields.iter().map(|field| format!("`{{{field}}}`")).collect();
                let (setting, fields) = (self.setting("message"), fields.join(", "));
                Err(Problem::settings(format!(
                    "`{setting}` has the field `{{{name}}}`, but may only have {fields}"
                )))
            }
        }
    }
}

impl Description {
    /// Accept other texts for these roles, and have them remember turns.
    #[must_use]
    pub fn prompts(self, prompts: &[RolePrompt]) -> Self {
        let summary = "Own turns, the last ones, that stand in the prompt of the next.";
        let history = Setting::integer(HISTORY, summary, 0..=MOST_HISTORY, 0);
        prompts.iter().fold(self.setting(history), |description, prompt| {
            let (task, message) = (prompt.setting("task"), prompt.setting("message"));
            let role = prompt.role;
            let fields = prompt.fields.iter().map(|field| format!("{{{field}}}"));
            let fields = fields.collect::<Vec<_>>().join(" ");
            description
                .setting(Setting::text(&task, &format!("The {role}'s task."), prompt.task))
                .setting(Setting::text(
                    &message,
                    &format!("What the {role} is told, with {fields}."),
                    prompt.message,
                ))
        })
    }
}

impl Configuration {
    /// Have this role, with so many seats, and the words of its messages.
    pub fn prompted(
        self,
        prompt: &RolePrompt,
        seats: u32,
        settings: &[Configured],
    ) -> Result<Self, Problem> {
        let message = prompt.message_in(settings)?;
        prompt.check(message)?;
        let words: Vec<&str> = pieces(message)
            .flat_map(|piece| match piece {
                Piece::Text(text) => text.split_whitespace().collect(),
                Piece::Field(_) => Vec::new(),
            })
            .collect();
        Ok(self.seats(prompt.role, prompt.summary, seats).words(&words))
    }
}

impl Prompt {
    /// The same, but the system message ends with this, whatever task its user gives.
    #[must_use]
    pub fn also(mut self, sentence: &str) -> Self {
        self.system.push(' ');
        self.system.push_str(sentence);
        self
    }

    /// How often the seat may still be asked.
    pub fn turns_left(&self, instance: u32) -> u32 {
        self.max_turns.saturating_sub(self.memory.asked(instance))
    }

    /// Take in what happened: what the role's seats said, and what became of it.
    /// Called with every event, before anything is made of it.
    pub fn note(&mut self, event: &Event) {
        self.memory.note(&self.role, event);
    }

    /// The seat's last answer came to this, which the environment does not know.
    pub fn learn(&mut self, instance: u32, sentence: &str) {
        self.memory.learn(instance, sentence.to_owned());
    }

    /// The seat forgets what was said before: it begins another
    /// conversation.
    pub fn forget(&mut self, instance: u32) {
        self.memory.forget(instance);
    }

    /// A request to a seat of the role, with these values of its fields. What
    /// a field leaves empty leaves no blank at the end, and no paragraph behind the
    /// first.
    pub fn request(&mut self, instance: u32, values: &[(&str, &str)]) -> Request {
        let given = |name: &str| values.iter().find(|(field, _)| *field == name);
        let seen = given("observation").map_or("", |(_, seen)| seen);
        let feedback = self.memory.feedback(instance, seen);
        let left = self.turns_left(instance).to_string();
        let value = |name: &str| match (given(name), name) {
            (Some((_, value)), _) => value,
            (None, FEEDBACK) => feedback.as_str(),
            (None, TURNS_LEFT) => left.as_str(),
            (None, _) => "",
        };
        let told = filled(&self.message, value);
        let seat = Seat::numbered(&self.role, instance);
        let request = self.memory.remind(instance, Request::new(seat).system(&self.system));
        self.memory.tell(instance, &told);
        request.user(told)
    }

    /// A request to a seat of the role that sees these parts: their text is the field
    /// `{observation}`, and pictures follow the message.
    pub fn show(&mut self, instance: u32, parts: &[Part]) -> Request {
        let request = self.request(instance, &[("observation", &written(parts))]);
        let images = parts.iter().filter_map(|part| match part {
            Part::Image(image) => Some(image.clone()),
            Part::Text(_) => None,
        });
        images.fold(request, Request::image)
    }
}

/// The message with the values of its fields. Of its paragraphs behind the first,
/// those whose fields are all empty are left out.
fn filled<'v>(message: &str, value: impl Fn(&str) -> &'v str) -> String {
    let mut told = String::new();
    for (place, paragraph) in message.split(PARAGRAPH).enumerate() {
        let mut fields = pieces(paragraph).filter_map(|piece| match piece {
            Piece::Field(name) => Some(value(name)),
            Piece::Text(_) => None,
        });
        let is_said = fields
            .next()
            .is_none_or(|first| !first.is_empty() || fields.any(|other| !other.is_empty()));
        if place > 0 && !is_said {
            continue;
        }
        if place > 0 {
            told.push_str(PARAGRAPH);
        }
        told.extend(pieces(paragraph).map(|piece| match piece {
            Piece::Text(text) => text,
            Piece::Field(name) => value(name),
        }));
    }
    told.truncate(told.trim_end().len());
    told
}

/// A stretch of a template.
enum Piece<'t> {
    Text(&'t str),
    /// The name between two braces.
    Field(&'t str),
}

/// Text and fields in their order. A brace that begins no name in braces is text.
fn pieces(template: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = template;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (piece, after) = match field_at_start(rest) {
            Some((name, after)) => (Piece::Field(name), after),
            None => {
                let starts = rest.char_indices().skip(1).map(|(at, _)| at);
                let end = starts.into_iter().find(|&at| field_at_start(&rest[at..]).is_some());
                let (text, after) = rest.split_at(end.unwrap_or(rest.len()));
                (Piece::Text(text), after)
            }
        };
        rest = after;
        Some(piece)
    })
}

/// The name, if the text begins with one in braces, and what follows.
fn field_at_start(text: &str) -> Option<(&str, &str)> {
    let (name, after) = text.strip_prefix('{')?.split_once('}')?;
    let is_name = name.chars().all(|letter| letter.is_ascii_lowercase() || letter == '_');
    (is_name && !name.is_empty()).then_some((name, after))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings;
    use crate::types::{ActionKind, Image};

    const VERIFIER: RolePrompt = RolePrompt {
        role: "first-verifier",
        summary: "Checks.",
        task: "Say what is wrong.",
        message: "verifier {observation} proposed {proposal}",
        fields: &["observation", "proposal"],
    };

    fn settings_with(message: &str) -> Vec<Configured> {
        let declared = Description::new("pair", "1.0.0", "").prompts(&[VERIFIER]).settings;
        settings::with(settings::defaults(&declared), "first_verifier_message", message)
    }

    fn briefing(message: &str) -> Briefing {
        Briefing {
            environment: "test".to_owned(),
            rules: vec![(None, "Rules.".to_owned())],
            actions: vec![ActionKind { name: "moves".to_owned(), summary: "moves".to_owned() }],
            settings: settings_with(message),
            max_turns: 4,
            tools: Vec::new(),
            revealed: None,
        }
    }

    fn told(message: &str, values: &[(&str, &str)]) -> String {
        let mut prompt = VERIFIER.begin(&briefing(message), None).unwrap();
        let request = prompt.request(1, values);
        assert_eq!(request.seat, Seat::numbered("first-verifier", 1));
        assert_eq!(request.messages[0].text(), "Rules.\n\nSay what is wrong.");
        request.messages[1].text()
    }

    #[test]
    fn fields_are_filled_in_and_braces_of_values_are_text() {
        let values = [("observation", "a {proposal}"), ("proposal", "U")];
        assert_eq!(told(VERIFIER.message, &values), "verifier a {proposal} proposed U");
        assert_eq!(told("{proposal}{proposal} { x } {A}", &values), "UU { x } {A}");
        assert_eq!(told("see {observation} {proposal}", &values[..1]), "see a {proposal}");
        let paragraphs = "{other}\n\nA: {proposal}{other}\n\nB: {other}\n\nC";
        assert_eq!(told(paragraphs, &values), "\n\nA: U\n\nC");
    }

    #[test]
    fn what_is_seen_is_told_as_text_and_pictures_follow_it() {
        let (media_type, description) = ("image/png".to_owned(), "a maze".to_owned());
        let maze = Part::Image(Image { media_type, data: vec![1], description });
        let parts = [Part::Text("a".to_owned()), maze.clone(), Part::Text("b".to_owned())];
        let request = VERIFIER.begin(&briefing("see {observation}"), None).unwrap().show(0, &parts);
        assert_eq!(request.messages[1].parts, [Part::Text("see a\nb".to_owned()), maze]);
    }

    #[test]
    fn words_of_a_message_are_declared_and_unknown_fields_refused_by_name() {
        let configured = |message: &str| {
            Configuration::default().prompted(&VERIFIER, 2, &settings_with(message))
        };
        let configuration = configured("one {observation}two {proposal}").unwrap();
        assert_eq!(configuration.vocabulary, ["one", "two"]);
        assert_eq!(configuration.roles[0].seats, 2);
        let refused = configured("{plan}").unwrap_err().message;
        assert_eq!(
            refused,
            "`first_verifier_message` has the field `{plan}`, but may only have `{observation}`, \
             `{proposal}`"
        );
    }
}
