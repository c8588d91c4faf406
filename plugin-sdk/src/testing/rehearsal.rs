//! A session whose roles and environment say what a test has them say.

use std::collections::{BTreeSet, VecDeque};

use crate::preset::LANGUAGE_MODEL;
use crate::settings::{self, defaults};
use crate::tool::RUN;
use crate::types::{Action, ActionKind, Move, Part, Seat, Status, Value};
use crate::workflow::{
    Author, Briefing, Consequence, Credit, Directive, Event, Message, Reply, Request, ResultOfMove,
    Returned, Tool, View, Workflow,
};

/// What is said of every kind of action.
const SUMMARY: &str = "some text";
/// Turns of each seat.
const TURNS: u32 = 9;

/// A workflow at work. Its session is saved and resumed behind every step, so
/// that what it does not save is lost.
///
/// # Panics
/// Every method does where the workflow has a problem, or asks, acts or calls when
/// the test expects something else.
pub struct Rehearsal<W> {
    session: W,
    directive: Directive,
    due: VecDeque<Request>,
    asked: u32,
    answers: u32,
    open: BTreeSet<u32>,
    credits: Vec<Credit>,
    revealed: Option<String>,
    moments: u32,
}

impl<W: Workflow> Rehearsal<W> {
    /// Begin beside an environment with these kinds of action, with these settings
    /// over the defaults.
    pub fn begin(kinds: &[&str], chosen: &[(&str, Value)]) -> Self {
        Rehearsal::with(kinds, owned(chosen), None)
    }

    /// Begin beside an environment that reveals this to critics.
    pub fn begin_revealing(kinds: &[&str], chosen: &[(&str, Value)], revealed: &str) -> Self {
        Rehearsal::with(kinds, owned(chosen), Some(revealed.to_owned()))
    }

    /// Begin so as language models play: with the preset for them below the
    /// settings.
    pub fn of_language_models(kinds: &[&str], chosen: &[(&str, Value)]) -> Self {
        let presets = W::describe().presets();
        let preset = presets.into_iter().find(|preset| preset.name == LANGUAGE_MODEL);
        let preset = preset.expect("a preset for language models").settings;
        let told = preset.lines().map(|line| {
            let (name, value) = line.split_once(" = ").expect("a value");
            let text: String = serde_json::from_str(value).expect("a text");
            (name.to_owned(), Value::Text(text))
        });
        Rehearsal::with(kinds, told.chain(owned(chosen)), None)
    }

    fn with(
        kinds: &[&str],
        chosen: impl Iterator<Item = (String, Value)>,
        revealed: Option<String>,
    ) -> Self {
        let actions = kinds
            .iter()
            .map(|&name| ActionKind { name: name.to_owned(), summary: SUMMARY.to_owned() });
        let declared = W::describe().settings;
        let settings = chosen.fold(defaults(&declared), |all, (name, value)| {
            assert!(declared.iter().any(|one| one.name == name), "there is no setting `{name}`");
            settings::with(all, &name, value)
        });
        let run =
            Tool { name: RUN.to_owned(), summary: String::new(), parameters: "{}".to_owned() };
        let briefing = Briefing {
            environment: "rehearsal".to_owned(),
            rules: vec![(None, "Rules.".to_owned())],
            actions: actions.collect(),
            settings,
            max_turns: TURNS,
            tools: vec![run],
            revealed: revealed.clone(),
        };
        W::configure(&briefing.settings, &briefing.actions).expect("settings that suit");
        let session = W::start(&briefing).expect("a session");
        let mut begun = Rehearsal {
            session,
            directive: Directive::Wait,
            due: VecDeque::new(),
            asked: 0,
            answers: 0,
            open: BTreeSet::new(),
            credits: Vec::new(),
            revealed,
            moments: 0,
        };
        let views = begun.views();
        begun.advance(Event::Begun(views));
        begun
    }

    /// The seat, which is asked, says this.
    pub fn says(&mut self, seat: impl Into<Seat>, text: &str) -> &mut Self {
        let (seat, request) = (seat.into(), self.due.pop_front().expect("nobody is asked"));
        assert_eq!(request.seat, seat, "somebody else is asked");
        let (answer, thread) = (self.answers, request.thread);
        self.answers += 1;
        self.advance(Event::Replied(Reply {
            seat,
            answer,
            thread,
            text: text.to_owned(),
            complete: true,
        }))
    }

    /// What is done was accepted or not, move for move, and this is said of it.
    pub fn becomes(&mut self, results: &[(bool, &str)]) -> &mut Self {
        self.comes_to(results, Status::Ongoing)
    }

    /// What is done is accepted, and ends the episode so.
    pub fn ends(&mut self, status: Status) -> &mut Self {
        self.comes_to(&vec![(true, ""); self.acts().len()], status)
    }

    /// What the environment reveals to critics from now on.
    pub fn reveals(&mut self, revealed: Option<&str>) -> &mut Self {
        self.revealed = revealed.map(str::to_owned);
        self
    }

    fn comes_to(&mut self, results: &[(bool, &str)], status: Status) -> &mut Self {
        let moves = self.acts();
        assert_eq!(moves.len(), results.len(), "moves are {moves:?}");
        let result = |(one, (accepted, feedback)): (&Move, &(bool, &str))| ResultOfMove {
            seat: one.seat.clone(),
            accepted: *accepted,
            feedback: (*feedback).to_owned(),
        };
        let results = moves.iter().zip(results).map(result).collect();
        let (views, revealed) = (self.views(), self.revealed.clone());
        self.advance(Event::Acted(Consequence { results, views, revealed, status }))
    }

    /// The programs that are run end well or not, with this output.
    pub fn returns(&mut self, runs: &[(bool, &str)]) -> &mut Self {
        let Directive::Call(calls) = &self.directive else { panic!("nothing is called") };
        assert_eq!(calls.len(), runs.len(), "calls are {calls:?}");
        let returned = calls.iter().zip(runs).map(|(call, (succeeded, wrote))| Returned {
            seat: call.seat.clone(),
            tool: call.tool.clone(),
            succeeded: *succeeded,
            answer: serde_json::json!({ "stdout": wrote, "stderr": wrote }).to_string(),
        });
        let returned = returned.collect();
        self.advance(Event::Returned(returned))
    }

    /// What is done now.
    pub fn acts(&self) -> Vec<Move> {
        let Directive::Act(moves) = &self.directive else { panic!("nothing is done") };
        moves.clone()
    }

    /// The answers, by their numbers, whose worth is open: those that were asked for
    /// as open, due or given, without a last credit yet.
    pub fn open(&self) -> Vec<u32> {
        self.open.iter().copied().collect()
    }

    /// What the answer with this number was credited with so far: names and values.
    pub fn credited(&self, answer: u32) -> Vec<(&str, f64)> {
        let own = self.credits.iter().filter(|credit| credit.answer == answer);
        own.map(|credit| (credit.name.as_str(), credit.value)).collect()
    }

    /// Whether the session is over.
    pub fn is_over(&self) -> bool {
        self.directive == Directive::Finish
    }

    /// The seats that are asked, in the order of their answers.
    pub fn asked(&self) -> Vec<String> {
        self.due.iter().map(|request| request.seat.to_string()).collect()
    }

    /// How the seat, which is asked, would phrase what an expert does.
    pub fn demonstrates(&self, seat: impl Into<Seat>, kind: &str, text: &str) -> Option<String> {
        self.session.demonstrate(&seat.into(), &Action::new(kind, text))
    }

    /// What the seat, which is asked, is told now.
    pub fn told(&self, seat: impl Into<Seat>) -> String {
        self.prompt(seat).last().expect("a message").text()
    }

    /// What a seat, which is asked, is to remember: its own turns, as it was told
    /// and as it said.
    pub fn history(&self, seat: impl Into<Seat>) -> Vec<(String, String)> {
        let prompt = self.prompt(seat);
        let between = &prompt[1..prompt.len() - 1];
        let turn = |pair: &[Message]| {
            assert_eq!((pair[0].author, pair[1].author), (Author::User, Author::Assistant));
            (pair[0].text(), pair[1].text())
        };
        between.chunks(2).map(turn).collect()
    }

    /// The messages to the seat, which is asked.
    pub fn prompt(&self, seat: impl Into<Seat>) -> Vec<Message> {
        self.request(&seat.into()).messages.clone()
    }

    /// The situation in which the seat is asked.
    pub fn situation(&self, seat: impl Into<Seat>) -> Option<String> {
        self.request(&seat.into()).situation.clone()
    }

    fn request(&self, seat: &Seat) -> &Request {
        let asked = self.due.iter().find(|request| request.seat == *seat);
        asked.expect("the seat is not asked")
    }

    fn views(&mut self) -> Vec<View> {
        self.moments += 1;
        vec![View { seat: None, parts: vec![Part::Text(format!("seen {}", self.moments))] }]
    }

    fn advance(&mut self, event: Event) -> &mut Self {
        let step = self.session.advance(event).expect("a step");
        let saved = self.session.save().expect("a state that can be saved");
        self.session = W::resume(&saved).expect("a session that is resumed");
        for credit in &step.credits {
            assert!(self.open.contains(&credit.answer), "answer {} is not open", credit.answer);
            if credit.is_last {
                self.open.remove(&credit.answer);
            }
        }
        self.credits.extend(step.credits);
        if let Directive::Ask(requests) = &step.directive {
            for request in requests {
                self.open.extend(request.is_open.then_some(self.asked));
                self.asked += 1;
            }
            self.due.extend(requests.iter().cloned());
        }
        self.directive = step.directive;
        self
    }
}

fn owned<'c>(chosen: &'c [(&str, Value)]) -> impl Iterator<Item = (String, Value)> + use<'c> {
    chosen.iter().map(|(name, value)| ((*name).to_owned(), value.clone()))
}
