//! The thread that answers: answers to all requests grow side by side.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use super::question::Refused;
use crate::policy::{Engine, Policy, PolicyError, Question, Request, Sampling};
use crate::seed::Seed;
use crate::trajectory::Completion;

/// Ways of drawing answers whose engines are kept although nobody uses them: each has read
/// prompts in memory.
const IDLE_ENGINES: usize = 4;
/// Bytes of keys and values of one engine.
const CACHE_BYTES: usize = 1 << 30;

/// What is to be answered.
pub(super) struct Job {
    pub(super) model: usize,
    pub(super) prompts: Vec<Arc<[u32]>>,
    /// One for each answer to each prompt.
    pub(super) seeds: Vec<Seed>,
    pub(super) sampling: Sampling,
    /// Whether it is told as it grows.
    pub(super) streams: bool,
    pub(super) news: Sender<News>,
}

/// What is told of a job.
pub(super) enum News {
    /// The tokens so far, of every answer to every prompt.
    Grown(Vec<Vec<u32>>),
    /// All answers, prompt by prompt.
    Done(Vec<Completion>),
    /// There will be none, because what is asked cannot be.
    Refused(String),
    /// There will be none.
    Failed(String),
}

/// Where jobs are handed in.
pub(super) struct Desk {
    jobs: Sender<(Job, Arc<AtomicBool>)>,
    /// Jobs that are being answered.
    open: Arc<AtomicUsize>,
}

/// Whoever drops it wants no answer any more.
pub(super) struct Ticket(Arc<AtomicBool>);

impl Drop for Ticket {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Desk {
    /// Begin to answer with these policies, for as long as the desk is there.
    pub(super) fn open(policies: Vec<Policy>) -> Self {
        let (jobs, handed_in) = channel();
        let open = Arc::new(AtomicUsize::new(0));
        let counted = open.clone();
        thread::spawn(move || Work::new(&policies, &counted).go_on(&handed_in));
        Desk { jobs, open }
    }

    /// Jobs that are being answered.
    pub(super) fn open_jobs(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }

    /// Hand a job in.
    pub(super) fn ask(&self, job: Job) -> Result<Ticket, Refused> {
        let left = Arc::new(AtomicBool::new(false));
        let sent = self.jobs.send((job, left.clone()));
        sent.map_err(|_| Refused::internal("the engine has ended".to_owned()))?;
        Ok(Ticket(left))
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
    policies: Vec<&'p Policy>,
    ways: Vec<Way<'p>>,
    /// What others are told of how many jobs are open.
    count: &'p AtomicUsize,
}

impl<'p> Work<'p> {
    fn new(policies: &'p [Policy], count: &'p AtomicUsize) -> Self {
        Work { policies: policies.iter().collect(), ways: Vec::new(), count }
    }

    /// Until nobody can hand in anything any more.
    fn go_on(mut self, handed_in: &Receiver<(Job, Arc<AtomicBool>)>) {
        loop {
            if self.ways.iter().all(|way| way.open.is_empty()) {
                let Ok((job, left)) = handed_in.recv() else { return };
                self.take(job, left);
            }
            while let Ok((job, left)) = handed_in.try_recv() {
                self.take(job, left);
            }
            self.ways.iter_mut().for_each(Way::work);
            let open = self.ways.iter().map(|way| way.open.len()).sum();
            self.count.store(open, Ordering::Relaxed);
            self.let_idle_engines_go();
        }
    }

    fn take(&mut self, job: Job, left: Arc<AtomicBool>) {
        let known = self.ways.iter().position(|way| way.sampling == job.sampling);
        let made = match known {
            Some(index) => Ok(self.ways.remove(index)),
            None => self.new_way(&job.sampling),
        };
        match made {
            Ok(mut way) => {
                way.submit(job, left);
                // The last is the one that was used last.
                self.ways.push(way);
            }
            Err(error) => drop(job.news.send(News::Refused(error.to_string()))),
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
    fn submit(&mut self, job: Job, left: Arc<AtomicBool>) {
        let question = |prompt: &Arc<[u32]>| -> Question {
            (job.model, Request { prompt: prompt.clone(), seeds: job.seeds.clone() })
        };
        let questions: Vec<Question> = job.prompts.iter().map(question).collect();
        match self.engine.submit(&questions) {
            Ok(tickets) => {
                self.open.push(Open { job, left, tickets, done: BTreeMap::new(), told: 0 });
            }
            Err(error) => drop(job.news.send(News::Refused(error.to_string()))),
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
                    drop(job.news.send(News::Failed(error.to_string())));
                }
            }
        }
    }
}

impl Open {
    /// Tell the tokens so far, if there are new ones.
    fn tell(&mut self, engine: &Engine) {
        let so_far = |ticket: &usize| match self.done.get(ticket) {
            Some(done) => done.iter().map(|one| one.tokens.clone()).collect(),
            None => engine.so_far(*ticket),
        };
        let tokens: Vec<Vec<u32>> = self.tickets.iter().flat_map(so_far).collect();
        let count = tokens.iter().map(Vec::len).sum();
        if count > self.told {
            self.told = count;
            // Who has left is noticed by the ticket.
            drop(self.job.news.send(News::Grown(tokens)));
        }
    }

    /// Whether all is answered and told.
    fn tell_the_end(&mut self) -> bool {
        if self.done.len() < self.tickets.len() {
            return false;
        }
        let answers = self.tickets.iter().filter_map(|ticket| self.done.remove(ticket));
        drop(self.job.news.send(News::Done(answers.flatten().collect())));
        true
    }
}
