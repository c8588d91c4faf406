//! Judged: a player acts; after each act a panel of judges says whether it was
//! good, which pays the player at once, and the judges when the episode is over.
//! Policy and step judge of RLAnything (arXiv 2602.02488).

mod change;
mod panel;
mod vote;

use plugin_sdk::prompt::{Prompt, RolePrompt};
use plugin_sdk::types::{Split, text_of};
use plugin_sdk::workflow::{
    Action, ActionKind, Briefing, Configuration, Configured, Consequence, Description, Event, Part,
    Problem, Reply, Request, Seat, Status, Step, View, Workflow, parts_for,
};
use plugin_sdk::{Kinds, Random, Setting, Settings};
use serde::{Deserialize, Serialize};

use change::Change;
use panel::Panel;
use vote::{Vote, mean};

/// As in `solo`.
const PLAYER: RolePrompt = RolePrompt {
    role: "player",
    summary: "Sees, answers and acts.",
    task: "",
    message: "player {observation}",
    fields: &["observation", "feedback", "turns_left"],
};
const JUDGE: RolePrompt = RolePrompt {
    role: "judge",
    summary: "Says whether an act was good.",
    task: "You are a judge of a player's act: what the player answered stands behind the word \
           `answer`, what is seen now behind `then`. End with the word `good` or the word `bad`.",
    message: "judge {before} answer {answer} then {observation}",
    fields: &["before", "answer", "observation", "turns_left"],
};
/// What language models are told instead.
const TO_READ: [(RolePrompt, &str, &str); 2] = [
    (
        PLAYER,
        "You act alone: in each turn you see how things stand now, and what you answer is done. \
         You are rewarded for what your answers achieve.",
        "{observation}",
    ),
    (
        JUDGE,
        "You are one of a panel of judges. You see what a player saw, what it answered, and what \
         is seen now. Say whether it was a good answer: whether it does what was asked for and \
         brings the task nearer to its end. You may think first. End your answer with one line: \
         the word `good` or the word `bad`, and nothing else. The player is rewarded for what the \
         panel says. You are rewarded where your word agrees with those of the panel and with \
         whether the task is solved in the end, and charged where there is neither word.",
        "The player saw:\n{before}\n\nIt answered:\n{answer}\n\nWhat is seen now:\n{observation}",
    ),
];
/// What the player's answer is credited with.
const JUDGED: &str = "judged";

/// Whose verdicts pay the player.
#[derive(Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Verdicts {
    /// The judges'.
    Panel,
    /// Nobody's.
    None,
    /// Those of chance.
    Random,
    /// Those of a judge that knows what is revealed.
    Truth,
}

/// One session of a player and its judges.
#[derive(Serialize, Deserialize)]
pub struct Judged {
    kinds: Kinds,
    /// Whether the user chose the kind.
    chosen: bool,
    verdicts: Verdicts,
    weight: f64,
    judges: u32,
    max_turns: u32,
    player: Prompt,
    judge: Prompt,
    /// Turns of the player so far.
    turn: u32,
    /// What the player sees now.
    seen: Vec<Part>,
    /// The player's last answer, and its number.
    said: String,
    answer: u32,
    status: Status,
    /// What only critics may see: never told, only compared.
    revealed: Option<String>,
    /// What the last act changed.
    change: Option<Change>,
    panel: Panel,
}

impl Workflow for Judged {
    fn describe() -> Description {
        let summary = "A player acts, a panel of judges says how good each act was.";
        let verdicts = "Whose verdicts pay the player: the panel's, nobody's, those of chance, or \
                        those of the truth, where the environment reveals it. Only a panel is asked.";
        let weight = "What the player earns where all verdicts on its act are good.";
        Description::new("judged", env!("CARGO_PKG_VERSION"), summary)
            .reusable()
            .setting(Kinds::setting())
            .setting(Setting::choice("verdicts", verdicts, ["panel", "none", "random", "truth"]))
            .setting(Setting::integer("judges", "Seats of the judge.", 1..=9, 3))
            .setting(Setting::number("weight", weight, 0.0..=100.0, 1.0))
            .prompts(&[PLAYER, JUDGE])
            .texts_for_language_models(&TO_READ)
    }

    fn configure(
        settings: &[Configured],
        environment: &[ActionKind],
    ) -> Result<Configuration, Problem> {
        Kinds::choose(settings, environment)?;
        let player = Configuration::default().prompted(&PLAYER, 1, settings)?;
        let judges = settings.integer("judges")?;
        let mut all = player.prompted(&JUDGE, judges, settings)?.words(&Vote::WORDS);
        // The words stay, so that policies of a control begin as those beside a panel.
        let is_panel = settings.choice::<Verdicts>("verdicts")? == Verdicts::Panel;
        all.roles.retain(|role| is_panel || role.name != JUDGE.role);
        Ok(all)
    }

    fn start(briefing: &Briefing) -> Result<Self, Problem> {
        let settings = &briefing.settings;
        let kinds = Kinds::choose(settings, &briefing.actions)?;
        let (judges, max_turns) = (settings.integer("judges")?, briefing.max_turns);
        let verdicts = settings.choice("verdicts")?;
        if verdicts == Verdicts::Panel {
            check_credits(judges, max_turns)?;
        }
        Ok(Judged {
            chosen: !settings.text("kind")?.is_empty(),
            verdicts,
            weight: settings.number("weight")?,
            judges,
            max_turns,
            player: PLAYER.begin(briefing, Some(kinds.acting()))?,
            judge: JUDGE.begin(briefing, None)?,
            kinds,
            turn: 0,
            seen: Vec::new(),
            said: String::new(),
            answer: 0,
            status: Status::Ongoing,
            revealed: briefing.revealed.clone(),
            change: None,
            panel: Panel::default(),
        })
    }

    fn advance(&mut self, event: Event) -> Result<Step, Problem> {
        self.player.note(&event);
        self.judge.note(&event);
        match event {
            Event::Begun(views) => {
                self.look(&views);
                Ok(self.ask_player())
            }
            Event::Replied(reply) if reply.seat.role == PLAYER.role => {
                reply.answer().clone_into(&mut self.said);
                self.answer = reply.answer;
                Ok(self.kinds.act(&reply.seat, &self.said))
            }
            Event::Replied(reply) => Ok(self.hear(&reply)),
            Event::Acted(seen) => Ok(self.take_in(seen)),
            Event::Returned(_) => Err(Problem::unexpected(&event)),
        }
    }

    fn demonstrate(&self, seat: &Seat, expert: &Action) -> Option<String> {
        if seat.role == JUDGE.role {
            return Some(self.change?.vote().word()?.to_owned());
        }
        // The first kind can say whatever the expert says; another may not.
        (!self.chosen || expert.kind == self.kinds.acting()).then(|| expert.text.clone())
    }
}

impl Judged {
    fn look(&mut self, views: &[View]) {
        let seen = parts_for(views, &Seat::new(PLAYER.role));
        self.seen = seen.unwrap_or_default().to_vec();
    }

    fn ask_player(&mut self) -> Step {
        self.turn += 1;
        let request = self.player.show(0, &self.seen);
        let is_judged = self.verdicts != Verdicts::None;
        Step::ask(if is_judged { request.open() } else { request })
    }

    /// Whoever judges does, also what ended the episode.
    fn take_in(&mut self, seen: Consequence) -> Step {
        let before = text_of(&self.seen);
        self.look(&seen.views);
        self.status = seen.status;
        let (known, solved) = (self.revealed.as_deref(), self.status == Status::Solved);
        self.change = Change::between(known, seen.revealed.as_deref(), solved);
        self.revealed = seen.revealed;
        match self.verdicts {
            Verdicts::Panel => self.ask_judges(&before),
            Verdicts::None => self.go_on(),
            Verdicts::Random => self.pay(mean(&self.coins(&before))),
            Verdicts::Truth => self.pay(self.change.map_or(0.0, Change::value)),
        }
    }

    fn ask_judges(&mut self, before: &str) -> Step {
        let now = text_of(&self.seen);
        let values =
            [("before", before), ("answer", self.said.as_str()), ("observation", now.as_str())];
        let request = |instance| {
            let request = self.judge.request(instance, &values).open();
            self.change.map(Change::word).into_iter().fold(request, Request::situation)
        };
        Step::ask_all((0..self.judges).map(request).collect())
    }

    /// Once all judges have answered, the player is paid.
    fn hear(&mut self, reply: &Reply) -> Step {
        if self.panel.hear(reply) < self.judges as usize {
            return Step::wait();
        }
        // Before the player is asked again, which is another turn.
        let is_over = self.is_over();
        let paid = self.pay(self.panel.mean());
        let step = self.panel.compare(paid);
        if is_over { self.panel.close(step, self.status == Status::Solved) } else { step }
    }

    /// A session has no seed: a coin for each judge, of all that one would be told. The
    /// player's answer is part of it, or all that are compared with it would be paid alike.
    fn coins(&self, before: &str) -> Vec<Vote> {
        let told = format!("{before}\n{}\n{}", self.said, text_of(&self.seen));
        let mut random = Random::new(Split::Train, self.turn, &told);
        (0..self.judges).map(|_| Vote::drawn(&mut random)).collect()
    }

    fn pay(&mut self, verdict: f64) -> Step {
        self.go_on().credit(self.answer, JUDGED, self.weight * verdict)
    }

    fn go_on(&mut self) -> Step {
        if self.is_over() { Step::finish() } else { self.ask_player() }
    }

    /// Whether no act follows the last one. Also at the turn limit: a host that ends the
    /// session gives no last credits.
    fn is_over(&self) -> bool {
        self.status != Status::Ongoing || self.turn >= self.max_turns
    }
}

/// The last step credits every judge's answer and the player's.
fn check_credits(judges: u32, max_turns: u32) -> Result<(), Problem> {
    let most = u32::try_from(Step::MOST_CREDITS).unwrap_or(u32::MAX);
    let credits = judges.saturating_mul(max_turns.saturating_add(1)).saturating_add(1);
    if credits <= most {
        return Ok(());
    }
    Err(Problem::settings(format!(
        "{judges} judges of {max_turns} turns are credited {credits} times at the end, and a step \
         has {most} credits at most: have fewer judges (`judges`) or turns (`rollout.max_turns`)"
    )))
}

plugin_sdk::export!(workflow: Judged);
