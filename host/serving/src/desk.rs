//! The thread that answers: answers to all requests grow side by side.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use super::news::{News, Teller};
use super::refused::Refused;
use troupe_core::config::LoraConfig;
use troupe_core::seed::Seed;
use troupe_core::trajectory::Completion;
use troupe_model::{Engine, Policy, PolicyError, Question, Request, Sampling, SoFar, attempt};

/// Ways of drawing answers whose idle engines are kept: each has read
/// prompts in memory.
const IDLE_ENGINES: usize = 4;
/// Ways of drawing answers at a time. Each has an engine with memory of its own, and any client may
/// ask for another.
const MOST_WAYS: usize = 8;
/// Bytes of keys and values of one engine.
const CACHE_BYTES: usize = 1 << 30;

/// Why there is no answer once the thread is gone.
pub(super) const ENDED: &str = "the engine has ended; start the server again";

/// What is to be answered.
pub(super) struct Job {
    /// The number of the model.
    pub(super) model: usize,
    pub(super) prompts: Vec<Arc<[u32]>>,
    /// One for each answer to each prompt.
    pub(super) seeds: Vec<Seed>,
    pub(super) sampling: Sampling,
    /// Whether it is told as it grows.
    pub(super) streams: bool,
    pub(super) news: Teller,
}

/// What is handed in.
enum Handed {
    /// To be answered, unless the client leaves.
    Job(Job, Arc<AtomicBool>),
    /// To be made of the models.
    Change(Change),
}

/// Another set of models. Answers that have begun are ended before.
enum Change {
    /// An adapter over the first one, by a number of its own; whether it could be read is told.
    Add { model: usize, adapter: PathBuf, told: Sender<Result<(), PolicyError>> },
    /// One model less.
    Remove { model: usize, told: Sender<()> },
}

/// Where jobs are handed in.
pub(super) struct Desk {
    jobs: Sender<Handed>,
    /// Jobs that are being answered.
    open: Arc<AtomicUsize>,
    answering: JoinHandle<()>,
}

/// Dropping it means that no answer is wanted any more.
pub(super) struct Ticket(Arc<AtomicBool>);

impl Drop for Ticket {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Desk {
    /// Begin to answer with these policies, which are numbered as they come, for as long as the
    /// desk is there.
    pub(super) fn open(policies: Vec<Policy>) -> Self {
        let (jobs, handed_in) = channel();
        let open = Arc::new(AtomicUsize::new(0));
        let counted = open.clone();
        let mut policies: BTreeMap<usize, Policy> = policies.into_iter().enumerate().collect();
        let answering = thread::spawn(move || {
            while let Some(change) = Work::new(&policies, &counted).go_on(&handed_in) {
                change.make(&mut policies);
            }
        });
        Desk { jobs, open, answering }
    }

    /// Answer with an adapter over the first policy, too, by this number.
    pub(super) fn add(&self, model: usize, adapter: PathBuf) -> Result<(), Refused> {
        let (told, heard) = channel();
        self.hand_in(Handed::Change(Change::Add { model, adapter, told }))?;
        Ok(heard.recv().map_err(|_| ended())??)
    }

    /// Answer with a policy no more.
    pub(super) fn remove(&self, model: usize) -> Result<(), Refused> {
        let (told, heard) = channel();
        self.hand_in(Handed::Change(Change::Remove { model, told }))?;
        heard.recv().map_err(|_| ended())
    }

    fn hand_in(&self, handed: Handed) -> Result<(), Refused> {
        self.jobs.send(handed).map_err(|_| ended())
    }

    /// Jobs that are being answered.
    pub(super) fn open_jobs(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }

    /// Whether nobody is there any more to answer: something has gone wrong for which there is no
    /// error.
    pub(super) fn has_ended(&self) -> bool {
        self.answering.is_finished()
    }

    /// Hand a job in.
    pub(super) fn ask(&self, job: Job) -> Result<Ticket, Refused> {
        let left = Arc::new(AtomicBool::new(false));
        self.hand_in(Handed::Job(job, left.clone()))?;
        Ok(Ticket(left))
    }
}

pub(super) fn ended() -> Refused {
    Refused::internal(ENDED.to_owned())
}

impl Change {
    fn make(self, policies: &mut BTreeMap<usize, Policy>) {
        // The client may have left.
        match self {
            Change::Add { model, adapter, told } => {
                let lora = LoraConfig { path: Some(adapter), ..LoraConfig::default() };
                let adapted = attempt(|| policies[&0].adapt(&lora, Seed::new(0)));
                let added = adapted.map(|adapted| drop(policies.insert(model, adapted)));
                let _ = told.send(added);
            }
            Change::Remove { model, told } => {
                policies.remove(&model);
                let _ = told.send(());
            }
        }
    }
}

/// An engine for one way of drawing, and what it is asked.
struct Way<'p> {
    sampling: Sampling,
    engine: Engine<'p>,
    open: Vec<Open>,
}

/// A job that is being answered.
struct Open {
    job: Job,
    left: Arc<AtomicBool>,
    /// Of its prompts.
    tickets: Vec<usize>,
    done: BTreeMap<usize, Vec<Completion>>,
    /// Tokens that were told so far.
    told: usize,
}

struct Work<'p> {
    /// Their numbers, in the order of the policies.
    models: Vec<usize>,
    policies: Vec<&'p Policy>,
    ways: Vec<Way<'p>>,
    /// Jobs that are not begun, and whether their clients have left.
    waiting: VecDeque<(Job, Arc<AtomicBool>)>,
    /// What others are told of how many jobs are open.
    count: &'p AtomicUsize,
}

impl<'p> Work<'p> {
    fn new(policies: &'p BTreeMap<usize, Policy>, count: &'p AtomicUsize) -> Self {
        let (models, policies) = policies.iter().map(|(model, policy)| (*model, policy)).unzip();
        Work { models, policies, ways: Vec::new(), waiting: VecDeque::new(), count }
    }

    /// Until nothing more can be handed in, or the models are to change. Before they do,
    /// what has begun is answered.
    fn go_on(mut self, handed_in: &Receiver<Handed>) -> Option<Change> {
        let mut change = None;
        loop {
            if self.waiting.is_empty() && self.ways.iter().all(|way| way.open.is_empty()) {
                if change.is_some() {
                    return change;
                }
                change = self.take_in(handed_in.recv().ok()?);
            }
            while change.is_none()
                && let Ok(handed) = handed_in.try_recv()
            {
                change = self.take_in(handed);
            }
            self.begin();
            self.ways.iter_mut().for_each(Way::work);
            let open: usize = self.ways.iter().map(|way| way.open.len()).sum();
            self.count.store(open + self.waiting.len(), Ordering::Relaxed);
            self.let_idle_engines_go();
        }
    }

    fn take_in(&mut self, handed: Handed) -> Option<Change> {
        match handed {
            Handed::Job(job, left) => self.waiting.push_back((job, left)),
            Handed::Change(change) => return Some(change),
        }
        None
    }

    /// Begin what waits, first come first served, up to a job for whose way of drawing there is no
    /// room yet.
    fn begin(&mut self) {
        self.waiting.retain(|(_, left)| !left.load(Ordering::Relaxed));
        while self.waiting.front().is_some_and(|(job, _)| self.has_room(&job.sampling))
            && let Some((job, left)) = self.waiting.pop_front()
        {
            self.take(job, left);
        }
    }

    fn has_room(&self, sampling: &Sampling) -> bool {
        let at_work = || self.ways.iter().filter(|way| !way.open.is_empty());
        at_work().count() < MOST_WAYS || at_work().any(|way| way.sampling == *sampling)
    }

    fn take(&mut self, job: Job, left: Arc<AtomicBool>) {
        let Some(model) = self.models.iter().position(|model| *model == job.model) else {
            let reason = "the adapter was unloaded before it answered".to_owned();
            return job.news.tell(News::Refused(reason));
        };
        let known = self.ways.iter().position(|way| way.sampling == job.sampling);
        let made = match known {
            Some(index) => Ok(self.ways.remove(index)),
            None => self.new_way(&job.sampling),
        };
        match made {
            Ok(mut way) => {
                way.submit(job, model, left);
                // The last is the one that was used last.
                self.ways.push(way);
            }
            Err(error) => job.news.tell(News::Refused(error.to_string())),
        }
    }

    fn new_way(&self, sampling: &Sampling) -> Result<Way<'p>, PolicyError> {
        let engine = Engine::new(&self.policies, sampling.clone(), CACHE_BYTES)?;
        Ok(Way { sampling: sampling.clone(), engine, open: Vec::new() })
    }

    fn let_idle_engines_go(&mut self) {
        let mut surplus = self.ways.len().saturating_sub(IDLE_ENGINES);
        self.ways.retain(|way| {
            let goes = surplus > 0 && way.open.is_empty();
            surplus -= usize::from(goes);
            !goes
        });
    }
}

impl Way<'_> {
    /// `model` is its place among the policies.
    fn submit(&mut self, job: Job, model: usize, left: Arc<AtomicBool>) {
        let question = |prompt: &Arc<[u32]>| -> Question {
            (model, Request { prompt: prompt.clone(), seeds: job.seeds.clone() })
        };
        let questions: Vec<Question> = job.prompts.iter().map(question).collect();
        match self.engine.submit(&questions) {
            Ok(tickets) => {
                self.open.push(Open { job, left, tickets, done: BTreeMap::new(), told: 0 });
            }
            Err(error @ PolicyError::Torch(_)) => job.news.tell(News::Failed(error.to_string())),
            Err(error) => job.news.tell(News::Refused(error.to_string())),
        }
    }

    /// Let all answers grow, and tell of them.
    fn work(&mut self) {
        let Way { engine, open, .. } = self;
        open.retain(|open| {
            let left = open.left.load(Ordering::Relaxed);
            if left {
                open.tickets.iter().for_each(|ticket| engine.cancel(*ticket));
            }
            !left
        });
        if open.is_empty() {
            return;
        }
        match engine.advance() {
            Ok(finished) => {
                for (ticket, completions) in finished {
                    let whose = open.iter_mut().find(|open| open.tickets.contains(&ticket));
                    whose
                        .into_iter()
                        .for_each(|open| drop(open.done.insert(ticket, completions.clone())));
                }
                open.iter_mut().filter(|open| open.job.streams).for_each(|open| open.tell(engine));
                open.retain_mut(|open| !open.tell_the_end());
            }
            // What it was asked besides may be what has failed, so none is asked again.
            Err(error) => {
                for Open { job, tickets, .. } in open.drain(..) {
                    tickets.into_iter().for_each(|ticket| engine.cancel(ticket));
                    job.news.tell(News::Failed(error.to_string()));
                }
            }
        }
    }
}

impl Open {
    /// Tell the tokens so far, if there are new ones and the former were heard.
    fn tell(&mut self, engine: &Engine) {
        if self.job.news.is_ahead() {
            return;
        }
        let so_far = |ticket: &usize| match self.done.get(ticket) {
            Some(done) => done.iter().map(SoFar::from).collect(),
            None => engine.so_far(*ticket),
        };
        let grown: Vec<SoFar> = self.tickets.iter().flat_map(so_far).collect();
        let count = grown.iter().map(|one| one.tokens.len()).sum();
        if count > self.told {
            self.told = count;
            self.job.news.tell(News::Grown(grown));
        }
    }

    /// Whether all is answered and told.
    fn tell_the_end(&mut self) -> bool {
        if self.done.len() < self.tickets.len() {
            return false;
        }
        let answers = self.tickets.iter().filter_map(|ticket| self.done.remove(ticket));
        self.job.news.tell(News::Done(answers.flatten().collect()));
        true
    }
}

#[cfg(test)]
mod tests {
    use std::iter;
    use std::time::Duration;

    use super::*;
    use crate::news::{Listener, MOST_UNHEARD, line};
    use crate::tests::policy;

    fn sampling() -> Sampling {
        Sampling {
            temperature: 1.0,
            top_p: 1.0,
            top_k: 0,
            min_p: 0.0,
            repetition_penalty: 1.0,
            stop: Vec::new(),
            constraint: None,
            max_completion_tokens: 24,
            thinking_budget: 0,
        }
    }

    fn waiting(listener: &Listener) -> Vec<News> {
        iter::from_fn(|| listener.hear_within(Duration::ZERO).ok()).collect()
    }

    /// What is heard of some answers by who listens after these steps of the work, and at its end.
    fn heard(listens: fn(usize) -> bool) -> Vec<News> {
        let policies = BTreeMap::from([(0, policy())]);
        let count = AtomicUsize::new(0);
        let mut work = Work::new(&policies, &count);
        let (news, listener) = line(MOST_UNHEARD);
        let prompts: Vec<Arc<[u32]>> = vec![Arc::from([4, 5, 6])];
        let seeds = (0..16).map(|answer| Seed::new(3).at(answer)).collect();
        let job = Job { model: 0, prompts, seeds, sampling: sampling(), streams: true, news };
        work.take(job, Arc::default());
        let (mut all, mut steps) = (Vec::new(), 0);
        while work.ways.iter().any(|way| !way.open.is_empty()) {
            work.ways.iter_mut().for_each(Way::work);
            steps += 1;
            if listens(steps) {
                all.extend(waiting(&listener));
            }
        }
        all.extend(waiting(&listener));
        all
    }

    #[test]
    fn who_reads_slowly_is_told_less_on_the_way_and_the_same_in_the_end() {
        let tokens = |news: &News| match news {
            News::Grown(answers) => Some(answers.iter().map(|it| it.tokens.len()).sum::<usize>()),
            _ => None,
        };
        let grown = |heard: &[News]| -> Vec<usize> { heard.iter().filter_map(tokens).collect() };
        let always = heard(|_| true);
        let seldom = heard(|step| step.is_multiple_of(5));
        let never = heard(|_| false);
        assert!(grown(&always).len() > 10, "{:?}", grown(&always));
        assert!(grown(&seldom).len() < grown(&always).len() / 2, "{:?}", grown(&seldom));
        assert_eq!(grown(&never).len(), 1, "one copy waits, however long the answers become");
        for told in [&always, &seldom] {
            assert!(grown(told).is_sorted_by(|before, after| before < after));
        }
        assert!(matches!(always.last(), Some(News::Done(_))));
        assert_eq!((seldom.last(), never.last()), (always.last(), always.last()));
    }

    #[test]
    fn who_draws_in_one_way_too_many_waits_and_is_answered_all_the_same() {
        let policies = BTreeMap::from([(0, policy())]);
        let count = AtomicUsize::new(0);
        let mut work = Work::new(&policies, &count);
        let ask = |work: &mut Work, tokens: usize| {
            let (news, listener) = line(MOST_UNHEARD);
            let prompts: Vec<Arc<[u32]>> = vec![Arc::from([4, 5, 6])];
            let seeds = vec![Seed::new(3)];
            let sampling = Sampling { max_completion_tokens: tokens, ..sampling() };
            let job = Job { model: 0, prompts, seeds, sampling, streams: false, news };
            let left: Arc<AtomicBool> = Arc::default();
            work.waiting.push_back((job, left.clone()));
            work.begin();
            (listener, left)
        };
        let asked: Vec<_> = (0..=MOST_WAYS).map(|way| ask(&mut work, 10 + way)).collect();
        assert_eq!((work.ways.len(), work.waiting.len()), (MOST_WAYS, 1));
        // Nobody overtakes who waits, and who leaves is waited for no longer.
        let (_, left) = ask(&mut work, 10);
        assert_eq!(work.waiting.len(), 2);
        left.store(true, Ordering::Relaxed);
        while !work.waiting.is_empty() || work.ways.iter().any(|way| !way.open.is_empty()) {
            work.begin();
            work.ways.iter_mut().for_each(Way::work);
            let at_work = work.ways.iter().filter(|way| !way.open.is_empty()).count();
            assert!(at_work <= MOST_WAYS);
        }
        for (listener, _) in &asked {
            assert!(matches!(waiting(listener)[..], [News::Done(_)]));
        }
    }
}
