//! What is told of a job, and how far whoever listens may stay behind.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use troupe_core::trajectory::Completion;
use troupe_model::SoFar;

/// Tellings of how far a job is that may wait to be heard. Each holds all answers from their
/// beginning, so that the next one makes up for those that were left out, and a client that reads
/// slowly costs one copy of them instead of one for every token.
pub(super) const MOST_UNHEARD: usize = 1;

/// What is told of a job.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum News {
    /// Every answer to every prompt, as far as it is.
    Grown(Vec<SoFar>),
    /// All answers, prompt by prompt.
    Done(Vec<Completion>),
    /// There will be none, because what is asked cannot be.
    Refused(String),
    /// There will be none.
    Failed(String),
}

/// Where the news of a job are told.
pub(super) struct Teller {
    news: Sender<News>,
    unheard: Arc<AtomicUsize>,
    most_unheard: usize,
}

/// Where they are heard.
pub(super) struct Listener {
    news: Receiver<News>,
    unheard: Arc<AtomicUsize>,
}

/// Both ends of a line for the news of one job.
pub(super) fn line(most_unheard: usize) -> (Teller, Listener) {
    let (telling, hearing) = channel();
    let unheard = Arc::new(AtomicUsize::new(0));
    let teller = Teller { news: telling, unheard: unheard.clone(), most_unheard };
    (teller, Listener { news: hearing, unheard })
}

impl Teller {
    /// Whether as much waits to be heard of how far the job is as may wait.
    pub(super) fn is_ahead(&self) -> bool {
        self.unheard.load(Ordering::Relaxed) >= self.most_unheard
    }

    /// Tells it, to nobody if the client has left: the ticket says so.
    pub(super) fn tell(&self, news: News) {
        if let News::Grown(_) = news {
            self.unheard.fetch_add(1, Ordering::Relaxed);
        }
        let _ = self.news.send(news);
    }
}

impl Listener {
    /// What is told next; nothing once there is nobody to tell it.
    pub(super) fn hear(&self) -> Option<News> {
        self.news.recv().ok().inspect(|news| self.count(news))
    }

    /// The same, if it is told soon.
    pub(super) fn hear_within(&self, patience: Duration) -> Result<News, RecvTimeoutError> {
        self.news.recv_timeout(patience).inspect(|news| self.count(news))
    }

    fn count(&self, news: &News) {
        if let News::Grown(_) = news {
            self.unheard.fetch_sub(1, Ordering::Relaxed);
        }
    }
}
